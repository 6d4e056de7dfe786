"""Types as people write them in annotations: `list[int]`, `Optional[int]`, type variables."""

from __future__ import annotations

import sys
import types
import typing
from typing import Any, Final

from ..annotations import Unevaluated
from ..modes import Mode
from ..names import known_module_name
from ..source import code_digest
from ..static_lookup import class_vars, derives, instance_dict, type_name
from ..tokens import Node
from .rule import Rule, RuleContext

__all__ = ["RULES"]


def _alias(value: Any, context: RuleContext) -> Node:
    """An alias by its stored attributes; attribute access would go on to its origin."""
    stored = instance_dict(value) or {}
    if derives(type(value), types.GenericAlias):
        origin, arguments, unpacked = (
            class_vars(types.GenericAlias)[name].__get__(value)
            for name in ("__origin__", "__args__", "__unpacked__")
        )
    elif derives(type(value), types.UnionType):
        origin, arguments, unpacked = typing.Union, value.__args__, False
    else:
        origin, arguments, unpacked = stored["__origin__"], stored.get("__args__", ()), False
    if origin is typing.Union or origin is typing.Literal:
        # Optional[int], Union[None, int] and int | None are one type.
        tag = b"union" if origin is typing.Union else b"literal"
        if context.mode is not Mode.DATA:  # code that asks for the arguments sees their order
            return Node(b"read " + tag, arguments, lambda i: f".__args__[{i}]")
        return Node(tag, (), lambda i: ".__args__", items=[(a,) for a in arguments])
    if "__metadata__" in stored:
        return Node(b"annotated", (origin, *stored["__metadata__"]))
    spelled = stored.get("_name")  # typing.List[int] is not list[int]
    parts = (origin, spelled, unpacked, *arguments)
    return Node(b"alias", parts, lambda i: f".__args__[{i - 3}]" if i > 2 else ".__origin__")


_VARIABLE_ATTRIBUTES: Final = (
    "__bound__",
    "__constraints__",
    "__covariant__",
    "__contravariant__",
    "__infer_variance__",
    "__default__",
)


def _variable(value: Any, context: RuleContext) -> Node:
    attributes = [getattr(value, name, None) for name in _VARIABLE_ATTRIBUTES]
    return Node(b"type variable", (type_name(type(value)), value.__name__, *attributes))


def _special(value: Any, context: RuleContext) -> Node:
    return Node(b"special form", (value._name,))


def _forward(value: Any, context: RuleContext) -> Node:
    module = value.__forward_module__
    return Node(b"forward reference", (value.__forward_arg__, module and str(module)))


def _new_type(value: Any, context: RuleContext) -> Node:
    module = known_module_name(value.__module__)
    return Node(b"new type", (module, value.__qualname__, value.__supertype__))


def _lazy_alias(value: Any, context: RuleContext) -> Node:
    """`type Name = ...`, from Python 3.12 on."""
    return Node(b"type alias", (value.__name__, value.__value__, *value.__type_params__))


def _unevaluated(value: Unevaluated, context: RuleContext) -> Node:
    """An annotation that only the user's code could evaluate.

    A function in it counts by its own code: its annotations may lead back to it.
    """
    return Node(b"unevaluated", (value.operation, *map(_operand, value.operands)))


def _operand(value: Any) -> object:
    if type(value) is types.FunctionType:
        own = code_digest(value.__code__)
        return Node(b"named in an annotation", (value.__qualname__, own.origin, own.digest))
    if type(value) is tuple or type(value) is list:
        return type(value)(map(_operand, value))
    if type(value) is dict:
        return {name: _operand(each) for name, each in value.items()}
    return value


RULES: Final[dict[type, Rule]] = {
    Unevaluated: _unevaluated,
    types.GenericAlias: _alias,
    types.UnionType: _alias,
    type(typing.List[int]): _alias,  # noqa: UP006 - the class of the old spelling is meant
    type(typing.List): _special,  # noqa: UP006 - as above
    type(typing.Optional[int]): _alias,  # noqa: UP045 - as above
    type(typing.Literal[1]): _alias,
    type(typing.Annotated[int, 1]): _alias,
    type(typing.Callable[[int], int]): _alias,
    type(typing.Callable): _special,
    type(typing.Tuple): _special,  # noqa: UP006 - as above
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
