"""Checks and converts operands as their annotations declare them."""

from __future__ import annotations

import ast
from typing import Any, Final

import numpy as np

from whorl.errors import KernelError
from whorl.fingerprint.syntax import syntax_tree
from whorl.kernels import language
from whorl.kernels.function_source import bound_names, functions_around
from whorl.kernels.types import (
    WEAK_BOOL,
    WEAK_COMPLEX,
    WEAK_FLOAT,
    WEAK_INT,
    Scalar,
    is_scalar_value,
    scalar_of_dtype,
    scalar_of_value,
)
from whorl.reads.view import AbsentRead, View

from .arithmetic import cast, constant, scalar_type
from .expressions import expression, remedy_for_subclass
from .frame import Frame
from .joins import Itself, OneScalar, Several, Template
from .operands import ArrayOf, Known, Operand, Value, ViewOperand, describe
from .run_values import is_scalar, number, resolve

__all__ = ["annotated", "declared_result", "parameter"]

UNKNOWN = object()
_NUMBERS: Final[dict[Any, Scalar]] = {
    int: WEAK_INT, float: WEAK_FLOAT, bool: WEAK_BOOL, complex: WEAK_COMPLEX,
}  # fmt: skip


def parameter(frame: Frame, argument: ast.arg, operand: Operand) -> Operand:
    """A parameter's value as its annotation says."""
    assert argument.annotation is not None
    frame.at(argument)
    is_own = frame.outer is None  # those of nested functions belong to the code around them
    if is_own:
        written = frame.source.written_parameters
        frame.code.annotation(written.get(argument.arg, argument.arg))
    try:
        is_hidden = is_own and bool(_hidden(frame, argument.annotation))
        wanted = _evaluated(frame, argument) if is_hidden else _meaning(frame, argument.annotation)
    except _Unresolved:
        wanted = _evaluated(frame, argument) if is_own else UNKNOWN
    return _fitting(frame, argument, wanted, operand, f"parameter {argument.arg!r}")


def annotated(frame: Frame, node: ast.expr, operand: Operand) -> Operand:
    """A local variable's value as its annotation says."""
    for name in _hidden(frame, node):
        frame.refuse(
            node,
            f"{name!r} is a variable of the function around, which Python does not keep for "
            "annotations of local variables",
            f"Annotate a parameter by it, or use it in the body: `{name}(...)`.",
        )
    try:
        wanted = _meaning(frame, node)
    except _Unresolved:
        return operand
    return _fitting(frame, node, wanted, operand, "the variable")


def declared_result(frame: Frame) -> Template | None:
    """The kind of variable for what a function says that it returns; None if that is unknown."""
    returns = getattr(frame.source.tree, "returns", None)
    if returns is None or (frame.outer is None and _hidden(frame, returns)):
        return None
    try:
        return _declared(frame, returns)
    except _Unresolved:
        return None


def _declared(frame: Frame, node: ast.expr) -> Template | None:
    match node:
        case ast.Constant(None):
            return Itself(Known(None))
        case ast.Subscript(ast.Name("tuple"), ast.Tuple(items)):
            parts = [_declared(frame, item) for item in items]
            known = tuple(part for part in parts if part is not None)
            return Several(known, is_list=False) if len(known) == len(parts) else None
    wanted = _meaning(frame, node)
    if wanted in _NUMBERS:
        return OneScalar(_NUMBERS[wanted])
    if _is_number_class(wanted):
        scalar = scalar_of_dtype(np.dtype(wanted))
        return None if scalar is None else OneScalar(scalar)
    return None


def _hidden(frame: Frame, node: ast.expr) -> list[str]:
    """The names in an annotation that are variables of the functions around, and not kept.

    To look for them among the globals would find others.
    """
    names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    names -= set(frame.code.cell_names)
    for inside in frame.scopes:
        names -= inside.bound | inside.names.keys()
    if not names:
        return []
    around = [bound_names(tree) for tree in functions_around(frame.code.function.__code__)]
    return sorted(names & frozenset().union(*around))


class _Unresolved(Exception):
    """A name in an annotation leads to nothing here. That it does not is a read."""


def _fitting(frame: Frame, at: ast.AST, wanted: Any, operand: Operand, what: str) -> Operand:
    if wanted is UNKNOWN:
        return operand
    if wanted is language.static:
        return _known(frame, at, operand, what)
    if wanted is language.Array:  # of any elements and dimensions
        wanted = np.ndarray
    if isinstance(wanted, language.Array) or wanted is np.ndarray:
        return _array(frame, at, operand, wanted, what)
    if (isinstance(wanted, type) and wanted in _NUMBERS) or _is_number_class(wanted):
        return _scalar(frame, at, operand, wanted, what)
    if isinstance(wanted, type) and isinstance(operand, ViewOperand):
        operand.view.type()
        try:
            is_one = isinstance(operand.view.peek(), wanted)
        except TypeError:  # typing.Any, a protocol: nothing that a value is an instance of
            return operand
        if not is_one:
            _refuse(frame, at, what, wanted.__name__, operand)
    return operand


def _is_number_class(wanted: Any) -> bool:
    """Whether it is a class of NumPy's that has a dtype: np.floating has none."""
    if not isinstance(wanted, type) or not issubclass(wanted, np.generic):
        return False
    try:
        np.dtype(wanted)
    except TypeError:
        return False
    return True


def _refuse(frame: Frame, at: ast.AST, what: str, wanted: str, operand: Operand) -> None:
    near = remedy_for_subclass(operand.view.peek()) if isinstance(operand, ViewOperand) else ""
    frame.refuse(
        at,
        f"{what} is declared as {wanted}, and is given {describe(resolve(operand))}",
        near or "Pass such a value, or change the annotation.",
    )


def _meaning(frame: Frame, node: ast.expr) -> Any:
    """What an annotation says; UNKNOWN if that is nothing to a kernel."""
    match node:
        case ast.Constant(str(text)):
            try:
                return _meaning(frame, ast.copy_location(syntax_tree(text, "eval").body, node))
            except SyntaxError:
                return UNKNOWN
        case ast.Name() | ast.Attribute():
            return _class(frame, node)
        case ast.Subscript(value, parameters):
            owner = _meaning(frame, value)
            if owner is language.static:
                return owner
            if owner is not language.Array:
                return UNKNOWN
            items = parameters.elts if isinstance(parameters, ast.Tuple) else [parameters]
            try:
                return language.Array.__class_getitem__(tuple(_argument(frame, i) for i in items))
            except (TypeError, ValueError) as error:
                frame.refuse(node, str(error))
    return UNKNOWN


def _argument(frame: Frame, node: ast.expr) -> Any:
    """What stands in the brackets of `Array[...]`."""
    if isinstance(node, ast.Name | ast.Attribute):
        return _meaning(frame, node)
    return ast.literal_eval(node)


def _class(frame: Frame, node: ast.expr) -> Any:
    try:
        operand = expression(frame, node)
    except (AbsentRead, KernelError) as error:
        raise _Unresolved from error
    match operand:
        case ViewOperand(view):
            return _read(view)
        case Known(value):
            return value
    return UNKNOWN


def _evaluated(frame: Frame, argument: ast.arg) -> Any:
    """What an annotation was when the function was made: its names may be those of another one.

    Names that are there for type checkers alone leave a text.
    """
    try:
        return _read(frame.code.evaluated_annotation(argument.arg))
    except AbsentRead:
        return UNKNOWN


def _read(view: View) -> Any:
    """What an annotation leads to: that of an array by what it says, all else by its name."""
    value = view.peek()
    view.value() if isinstance(value, language.Array) else view.type()
    is_known = isinstance(value, type | language.Array) or value is language.static
    return value if is_known else UNKNOWN


def _known(frame: Frame, at: ast.AST, operand: Operand, what: str) -> Operand:
    match operand:
        case Known():
            return operand
        case ViewOperand(view):
            return Known(view.value())
    frame.refuse(
        at,
        f"{what} is static, and is given {describe(operand)}, a value of the run",
        "Pass something that is known at compile time.",
    )


def _array(frame: Frame, at: ast.AST, operand: Operand, wanted: Any, what: str) -> Operand:
    array = resolve(operand)
    name = "an array" if wanted is np.ndarray else repr(wanted)
    if not isinstance(array, ArrayOf):
        _refuse(frame, at, what, name, operand)
    assert isinstance(array, ArrayOf)
    type = array.array.type
    if wanted is not np.ndarray and (type.element.dtype.name, type.ndim) != (
        wanted.dtype,
        wanted.ndim,
    ):
        _refuse(frame, at, what, name, array)
    return array


def _scalar(frame: Frame, at: ast.AST, operand: Operand, wanted: type, what: str) -> Operand:
    if not is_scalar(operand):
        _refuse(frame, at, what, wanted.__name__, operand)
    number_operand = resolve(operand)
    given = scalar_type(number(number_operand))
    if wanted is float:
        if given.is_float:
            return number_operand
        to = WEAK_FLOAT if given.weak else Scalar("f", 64)
    elif wanted is complex:
        if given.is_complex:
            return number_operand
        to = WEAK_COMPLEX if given.weak else Scalar("c", 128)
    elif wanted is int:
        if not given.is_integer:
            _refuse(frame, at, what, "int", operand)
        return number_operand
    elif wanted is bool:
        if given.kind != "b":
            _refuse(frame, at, what, "bool", operand)
        return number_operand
    else:
        known = scalar_of_dtype(np.dtype(wanted))
        if known is None:
            frame.refuse(at, f"{wanted.__name__} is no type of a kernel")
        to = known
        if not np.can_cast(given.dtype, to.dtype, "same_kind") and not (
            given.weak and given.is_integer and to.is_integer
        ):
            _refuse(frame, at, what, str(to), operand)
    if isinstance(number_operand, Known) and is_scalar_value(number_operand.value):
        if scalar_of_value(number_operand.value) == to:
            return Value(number(number_operand))
        return Value(constant(number_operand.value, to))
    return Value(cast(number(number_operand), to))
