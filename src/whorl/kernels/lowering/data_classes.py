"""Instances of dataclasses that are made in a kernel: values with names, in registers."""

from __future__ import annotations

import ast
from dataclasses import MISSING
from typing import Any, TypeGuard

from whorl.fingerprint.names import resolve as find_by_name

from .frame import Frame
from .operands import Items, Known, Operand, ViewOperand

__all__ = ["check_returned", "is_data_class", "is_instance", "make_instance"]


def is_data_class(value: object) -> bool:
    """Whether this is a class that `dataclasses.dataclass` has been applied to itself.

    >>> from dataclasses import dataclass
    >>> is_data_class(dataclass(type("Point", (), {}))), is_data_class(int)
    (True, False)
    """
    return isinstance(value, type) and "__dataclass_fields__" in vars(value)


def is_instance(operand: Operand) -> TypeGuard[Items]:
    """Whether an operand is an instance of a dataclass that the kernel has made."""
    return isinstance(operand, Items) and is_data_class(operand.cls)


def make_instance(
    frame: Frame,
    node: ast.Call,
    callee: ViewOperand,
    positional: list[Operand],
    named: dict[str, Operand],
) -> Items:
    """An instance with the arguments of a call as its fields."""
    cls: Any = callee.view.peek()
    name = cls.__qualname__
    _check_plain(frame, node, cls)
    callee.view.attr("__init__").code()  # as it was made from the fields: that is a fact
    fields: tuple[str, ...] = callee.view.attr("__match_args__").value()
    if len(positional) > len(fields):
        frame.refuse(node, f"{len(positional)} values for the fields {', '.join(fields)}")
    given = dict(zip(fields, positional, strict=False))
    for field, operand in named.items():
        if field not in fields or field in given:
            frame.refuse(node, f"{name} takes the fields {', '.join(fields)}, each once")
        given[field] = operand
    for field in fields:
        if field not in given:
            if cls.__dataclass_fields__[field].default is MISSING:
                frame.refuse(node, f"there is no value for the field {field!r}")
            described = callee.view.attr("__dataclass_fields__").item(field)
            given[field] = Known(described.attr("default").value())
    frame.lowering.classes[cls] = callee
    return Items(tuple(given[field] for field in fields), cls=cls)


def _check_plain(frame: Frame, node: ast.AST, cls: Any) -> None:
    """Refuse a class whose instances are more than what their fields say."""
    name = cls.__qualname__
    fields = cls.__dataclass_fields__
    own = vars(cls)
    is_generated = "__init__" in own and own["__init__"].__code__.co_filename == "<string>"
    has_more = any(hasattr(cls, each) for each in ("__post_init__", "__getattr__"))
    is_changed = any(
        getattr(cls, each) is not getattr(object, each) for each in ("__getattribute__", "__new__")
    )
    if not is_generated or has_more or is_changed:
        what = f"{name} objects are made by code of their own"
        frame.refuse(node, what, "Use a dataclass without __init__, __new__ or __post_init__.")
    if tuple(fields) != getattr(cls, "__match_args__", None):
        frame.refuse(
            node,
            f"{name} has fields that are given by keyword alone, or not at all",
            "Use a dataclass whose fields are all given by place.",
        )


def check_returned(frame: Frame, node: ast.AST, cls: Any) -> None:
    """Refuse to return instances of a class that is not found again when the kernel returns."""
    name = cls.__qualname__
    if find_by_name(cls.__module__, name) != cls:
        frame.refuse(
            node,
            f"{name} is not found under its name when the kernel returns",
            "Define it at the top of a module, or return a tuple.",
        )
