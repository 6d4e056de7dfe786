"""Types as people write them in annotations: `list[int]`, `Optional[int]`, type variables."""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..lookup import type_name
from ..names import known_module_name
from ..tokens import Node

if TYPE_CHECKING:
    from ..describe import Describer

__all__ = ["RULES"]

TableRule = Callable[[Any, "Describer"], Node]


def _alias(value: Any, describer: Describer) -> Node:
    origin = typing.get_origin(value)
    arguments = typing.get_args(value)
    if origin is typing.Union or origin is types.UnionType:
        # Optional[int], Union[None, int] and int | None are one type.
        return Node(b"union", (), lambda i: ".__args__", items=[(a,) for a in arguments])
    if origin is typing.Literal:
        return Node(b"literal", (), lambda i: ".__args__", items=[(a,) for a in arguments])
    if origin is typing.Annotated:
        return Node(b"annotated", (value.__origin__, *value.__metadata__))
    spelled = getattr(value, "_name", None)  # typing.List[int] is not list[int]
    flattened = [[*a] if type(a) is list else a for a in arguments]
    return Node(b"alias", (origin, spelled, *flattened), lambda i: f".__args__[{i - 2}]")


def _variable(value: Any, describer: Describer) -> Node:
    name = type_name(type(value))
    bound = getattr(value, "__bound__", None)
    constraints = getattr(value, "__constraints__", ())
    return Node(b"type variable", (name, value.__name__, bound, constraints))


def _special(value: Any, describer: Describer) -> Node:
    return Node(b"special form", (value._name,))


def _forward(value: Any, describer: Describer) -> Node:
    return Node(b"forward reference", (value.__forward_arg__,))


def _new_type(value: Any, describer: Describer) -> Node:
    module = known_module_name(value.__module__)
    return Node(b"new type", (module, value.__qualname__, value.__supertype__))


def _any_instance(name: str) -> Any:
    return getattr(typing, name, None)


def _lazy_alias(value: Any, describer: Describer) -> Node:
    """`type Name = ...`, from Python 3.12 on."""
    return Node(b"type alias", (value.__name__, value.__value__, *value.__type_params__))


RULES: Final[dict[type, TableRule]] = {
    types.GenericAlias: _alias,
    types.UnionType: _alias,
    type(typing.List[int]): _alias,  # noqa: UP006 - the class of the old spelling is meant
    type(typing.List): _special,  # noqa: UP006
    type(typing.Optional[int]): _alias,  # noqa: UP045
    type(typing.Literal[1]): _alias,
    type(typing.Annotated[int, 1]): _alias,
    type(typing.Callable[[int], int]): _alias,
    type(typing.Callable): _special,
    type(typing.Tuple): _special,  # noqa: UP006
    type(typing.Union): _special,
    type(typing.ClassVar): _special,
    type(typing.Literal): _special,
    typing.TypeVar: _variable,
    typing.ParamSpec: _variable,
    typing.TypeVarTuple: _variable,
    typing.ForwardRef: _forward,
    typing.NewType: _new_type,
}
if sys.version_info >= (3, 12):
    RULES[typing.TypeAliasType] = _lazy_alias
if sys.version_info >= (3, 14):
    # Unions of both spellings are one class there, and `typing.Union` is that class.
    RULES[typing.Union] = _alias
RULES.pop(type, None)
