"""Named tuples that are made in a kernel: tuples whose items have names."""

from __future__ import annotations

import ast
from typing import Any, TypeGuard

from whorl.fingerprint.names import resolve as find_by_name

from .frame import Frame
from .operands import Items, Known, Operand, ViewOperand

__all__ = ["is_named_tuple", "make_named_tuple"]


def is_named_tuple(value: object) -> TypeGuard[type[Any]]:
    """Whether this is a class of named tuples that makes its instances as all such classes do.

    >>> from collections import namedtuple
    >>> is_named_tuple(namedtuple("Point", "x y")), is_named_tuple(tuple)
    (True, False)
    """
    if not isinstance(value, type) or not issubclass(value, tuple) or value is tuple:
        return False
    *derived, base = [cls for cls in value.__mro__ if issubclass(cls, tuple) and cls is not tuple]
    is_changed = any({"__new__", "__init__"} & vars(cls).keys() for cls in derived)
    return "_fields" in vars(base) and not is_changed


def make_named_tuple(
    frame: Frame,
    node: ast.Call,
    callee: ViewOperand,
    positional: list[Operand],
    named: dict[str, Operand],
) -> Items:
    """A named tuple of the arguments of a call."""
    cls: Any = callee.view.peek()
    fields: tuple[str, ...] = callee.view.attr("_fields").value()
    if find_by_name(cls.__module__, cls.__qualname__) != cls:
        frame.refuse(
            node,
            f"{cls.__qualname__} is not found under its name when the kernel returns",
            "Define it at the top of a module, or return a tuple.",
        )
    if len(positional) > len(fields):
        frame.refuse(node, f"{len(positional)} values for the fields {', '.join(fields)}")
    given = dict(zip(fields, positional, strict=False))
    for name, operand in named.items():
        if name not in fields or name in given:
            frame.refuse(node, f"{cls.__name__} takes the fields {', '.join(fields)}, each once")
        given[name] = operand
    defaults = callee.view.attr("_field_defaults")
    for name in fields:
        if name not in given:
            if name not in cls._field_defaults:
                frame.refuse(node, f"there is no value for the field {name!r}")
            given[name] = Known(defaults.item(name).value())
    return Items(tuple(given[name] for name in fields), cls=cls)
