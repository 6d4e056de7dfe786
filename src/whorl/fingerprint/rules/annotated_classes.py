"""Finds the user's classes in annotations."""

from __future__ import annotations

import enum
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..annotations import Unevaluated, annotations_of
from ..bytecode import reads_of
from ..static_lookup import ABSENT, class_vars, derives, find, module_name, module_vars, mro
from ..syntax import syntax_tree
from .rule import RuleContext

__all__ = ["classes_in", "home_scope", "named_classes"]


_FOR_PYDANTIC: Final = (
    "__pydantic_fields__",
    "__get_pydantic_core_schema__",
    "__get_validators__",
)


def home_scope(cls: type) -> Mapping[str, Any]:
    """The scope in which the texts in a class's annotations find their names."""
    module = sys.modules.get(module_name(cls))
    is_plain = module is not None and derives(type(module), types.ModuleType)
    return module_vars(typing.cast("types.ModuleType", module)) if is_plain else {}


def named_classes(
    owner: types.FunctionType | type, scope: Mapping[str, Any], context: RuleContext
) -> tuple[type | types.FunctionType, ...]:
    """The user's classes that are named in the annotations of a function or class.

    And the functions that are called there when somebody evaluates them.
    """
    annotations = annotations_of(owner).values()
    classes = _users((cls for each in annotations for cls in _named(each, scope)), context)
    return classes + tuple(
        part
        for each in annotations
        for part in _inside(each)
        if type(part) is types.FunctionType
        and context.home_of_globals(part.__globals__).kind == "user"
    )


def _inside(annotation: object) -> Iterator[object]:
    """The operands of an unevaluated annotation, and theirs."""
    waiting = [annotation]
    while waiting:
        part = waiting.pop()
        if type(part) is Unevaluated:
            waiting += reversed(part.operands)
        elif type(part) is tuple or type(part) is list:
            waiting += reversed(part)
        elif type(part) is dict:
            waiting += reversed(part.values())
        else:
            yield part


def classes_in(
    annotation: object, scope: Mapping[str, Any], context: RuleContext
) -> tuple[type, ...]:
    """The user's classes that a validating library inspects because of an annotation.

    It validates dataclasses, tuples and typed dicts by their own annotations, and so on. For any
    other class without a method for the library, it only tests whether a value is an instance.
    """
    classes: dict[int, type] = {}
    waiting = [*_users(_named(annotation, scope), context)]
    while waiting:
        cls = waiting.pop(0)
        is_data = "__dataclass_fields__" in class_vars(cls) or derives(cls, tuple, dict)
        is_known = any(find(cls, name) is not ABSENT for name in _FOR_PYDANTIC)
        if id(cls) in classes or not (is_data or is_known or derives(type(cls), enum.EnumMeta)):
            continue
        classes[id(cls)] = cls
        if is_data and "__pydantic_fields__" not in class_vars(cls):  # which lists its own
            for base in mro(cls):
                named = named_classes(base, home_scope(base), context)
                waiting += [each for each in named if not isinstance(each, types.FunctionType)]
    return tuple(classes.values())


def _users(classes: Iterator[type], context: RuleContext) -> tuple[type, ...]:
    unique = {id(cls): cls for cls in classes}
    return tuple(cls for cls in unique.values() if context.home(module_name(cls)).kind == "user")


def _named(annotation: object, scope: Mapping[str, Any]) -> Iterator[type]:
    """The classes in an annotation, in the order in which they are written."""
    waiting = [annotation]
    read: set[str] = set()
    while waiting:
        part: Any = waiting.pop()
        if type(part) is Unevaluated:
            is_named = part.operation in ("undefined", ".")  # by texts that are not annotations
            inner = [each for each in _inside(part) if not (is_named and type(each) is str)]
            waiting += reversed(inner)
            continue
        if derives(type(part), type):
            yield part
        if type(part) is typing.ForwardRef:
            part = part.__forward_arg__
        if type(part) is str:
            if part not in read:  # a name may lead to a text that leads back
                read.add(part)
                waiting += reversed(_values_in(part, scope))
            continue
        for name in ("__value__", "__bound__", "__supertype__"):
            waiting += [value for value in (_stored(part, name),) if value is not None]
        waiting += reversed(_stored(part, "__args__") or ())


def _stored(part: Any, name: str) -> Any:
    """An attribute of a form of typing; None for a class of the user."""
    if derives(type(part), type) or type(part).__module__ not in ("typing", "types"):
        return None
    return getattr(part, name, None)


def _values_in(text: str, scope: Mapping[str, Any]) -> list[object]:
    """The values of the names in a text that are known."""
    try:
        tree = syntax_tree(text, "eval")
        code = compile(tree, "<annotation>", "eval", dont_inherit=True)
    except (SyntaxError, ValueError):
        return []
    values: list[object] = []
    for read in reads_of(code).globals:
        value: Any = scope.get(read.name, ABSENT)
        for attribute in read.attributes:
            if derives(type(value), types.ModuleType):
                value = module_vars(value).get(attribute, ABSENT)
            elif derives(type(value), type):
                value = class_vars(value).get(attribute, ABSENT)
            else:
                value = ABSENT
        values.append(value)
    return values
