"""Functions that the compiler knows by itself: builtins, `math`, NumPy's, and whorl's own.

Each is a row: the name that the function has of its own, and what handles its calls. Functions of
numbers are in `scalar_calls`.
"""

from __future__ import annotations

import inspect
import types
from functools import partial
from typing import Any, Final

import numpy as np

from whorl.errors import UnsupportedRead
from whorl.fast_dataclasses import replace
from whorl.kernels import graph_names as graph
from whorl.kernels import ir, language
from whorl.kernels.library import LIBRARY, LibraryFunction, number_functions
from whorl.kernels.types import (
    WEAK_BOOL,
    WEAK_FLOAT,
    WEAK_INT,
    Scalar,
    is_scalar_value,
    scalar_of_dtype,
)
from whorl.reads.library import own_name
from whorl.reads.static_functions import checked_classes
from whorl.signals import pass_on

from . import vectors
from .arithmetic import ZERO_DIVISION, binary, cast, constant, scalar_type, truth
from .array_arguments import array_arguments, with_arrays
from .array_creation import ARRAY_CREATION, CREATION_METHODS
from .array_expressions import is_array
from .array_shapes import SHAPE_METHODS, SHAPES
from .array_statements import UNALIGNED
from .blas_calls import ROUTINE_CALLS
from .c_calls import C_CALLS
from .complex_calls import COMPLEX_CALLS
from .data_classes import is_instance
from .element_scans import sum_in_order
from .joins import OneScalar, join
from .known_calls import Handler, KnownCall
from .matrix_products import PRODUCT_METHODS, PRODUCTS
from .number_calls import NUMBER_CALLS, NUMBER_METHODS
from .operands import (
    ArrayOf,
    Elementwise,
    Items,
    Iteration,
    Known,
    Operand,
    Records,
    Value,
    Vec,
    ViewOperand,
    describe,
    kind_of,
)
from .reduction_calls import REDUCTION_METHODS, REDUCTIONS
from .requirements import REQUIREMENTS
from .run_values import resolve
from .scalar_calls import SCALAR_CALLS, of_elements
from .subscripts import check_writeable, element_of, spread
from .type_queries import TYPE_QUERIES, TYPE_QUERY_CLASSES
from .vector_calls import VECTOR_CALLS, VECTOR_METHODS, of_vectors

__all__ = [
    "ARRAY_METHODS",
    "FUNCTIONS",
    "GRAPH",
    "METHODS",
    "NUMBER_METHODS",
    "handler_of",
    "known_function",
]

GRAPH: Final = frozenset((graph.do_while, graph.checkpoint, graph.parallel_context, graph.parallel))
LOOPS: Final = (
    "builtins.range", "builtins.enumerate", "builtins.zip", "builtins.reversed", "whorl.prange",
    "whorl.ndrange",
)  # fmt: skip
_LOOP_CLASSES: Final = (np.ndindex, np.ndenumerate)


def handler_of(function: Any) -> Handler | None:
    """What handles the calls of a function that the compiler knows by itself; None for others."""
    if isinstance(function, type) and function in TYPE_QUERY_CLASSES:
        return TYPE_QUERY_CLASSES[function]
    return FUNCTIONS.get(own_name(function) or "") or _casts(function)


def known_function(callee: Operand) -> Any:
    """The function, if it is one that the compiler knows by itself; None for all others."""
    if isinstance(callee, Known):
        return callee.value if _is_known(callee.value) else None
    if not isinstance(callee, ViewOperand):
        return None
    value = callee.view.peek()
    if not _is_known(value):
        return None
    # That this name means this function is a fact.
    if isinstance(value, types.FunctionType):
        callee.view.code()
    else:
        callee.view.value()
    return value


def _is_known(value: Any) -> bool:
    if handler_of(value) is not None or own_name(value) in LOOPS:
        return True
    return value is language.static or any(value is each for each in (*GRAPH, *_LOOP_CLASSES))


# -- conversions ------------------------------------------------------------------------


def _casts(function: Any) -> Handler | None:
    """The conversion that a class stands for; None if it is not the class of a number."""
    to = _CASTS.get(own_name(function) or "")
    if to is None and isinstance(function, type) and issubclass(function, np.generic):
        try:
            to = scalar_of_dtype(np.dtype(function))
        except TypeError:
            return None
    return None if to is None else partial(_convert, to)


_CASTS: Final = {
    "builtins.int": WEAK_INT, "builtins.float": WEAK_FLOAT, "builtins.bool": WEAK_BOOL,
}  # fmt: skip


def _convert(to: Scalar, call: KnownCall) -> Operand:
    (operand,) = call.decided(1)
    if isinstance(operand, Known) and is_scalar_value(operand.value):
        try:
            with np.errstate(all="ignore"):
                return Known(_PYTHON.get(to, to.dtype.type)(operand.value))
        except Exception as error:
            pass_on(error)
            call.refuse(f"this raises {type(error).__name__}: {error}")
    if isinstance(operand, Known) and isinstance(operand.value, str) and to in _PYTHON:
        return Known(_PYTHON[to](operand.value))  # float("inf")
    if isinstance(operand, Known) and to == WEAK_BOOL:
        return Known(bool(operand.value))
    if is_array(operand) and to not in _PYTHON:  # NumPy's types make arrays of arrays
        return CREATION_METHODS["astype"](replace(call, args=[operand, Known(to.dtype)]))
    expr = call.number(operand)
    if to.kind == "b":
        return Value(cast(truth(expr), to))
    return Value(cast(expr, to))


_PYTHON: Final[dict[Scalar, type]] = {WEAK_INT: int, WEAK_FLOAT: float, WEAK_BOOL: bool}


# -- builtins ---------------------------------------------------------------------------


def _least(name: str, call: KnownCall) -> Operand:
    if call.named:
        call.refuse("min and max take no keywords in a kernel")
    if len(call.args) == 1 and (is_array(call.args[0]) or isinstance(call.args[0], Iteration)):
        function = number_functions.least if name == "lt" else number_functions.greatest
        return call.frame.lowering.syntax.library(call, function)
    items = [resolve(a) for a in (call.parts(call.args[0]) if len(call.args) == 1 else call.args)]
    if not items:
        call.refuse("min and max of nothing")
    if all(isinstance(item, Known) for item in items):
        choose = min if name == "lt" else max
        with np.errstate(all="ignore"):
            return Known(choose(item.value for item in items if isinstance(item, Known)))
    keep = call.frame.lowering.keep
    exprs = [keep(call.number(item)) for item in items]
    template = join([
        item if isinstance(item, Known) and is_scalar_value(item.value) else Value(expr)
        for item, expr in zip(items, exprs, strict=True)
    ])  # fmt: skip
    together = template.type if isinstance(template, OneScalar) else scalar_type(exprs[0])
    least, *others = (cast(expr, together) for expr in exprs)
    for other in others:
        # Python keeps the first unless the second is really smaller (larger).
        chosen = ir.Op(name, WEAK_BOOL, (other, least))
        least = keep(ir.Op("select", together, (chosen, other, least)))
    return Value(least)


def _len(call: KnownCall) -> Operand:
    (operand,) = call.decided(1)
    match operand:
        case ArrayOf(array) | Records(array, indices=()) if array.type.ndim:
            return Value(array.extents[0])
        case Elementwise(extents=extents) | Iteration(extents=extents) if extents:
            return Value(extents[0])
        case Items(items) if not is_instance(operand):
            return Known(len(items))
        case Vec(shape=shape):
            return Known(shape[0])
        case ViewOperand(view) if hasattr(view.peek(), "__len__"):
            return Known(view.len())
        case Known(value) if hasattr(value, "__len__"):
            return Known(len(value))
    call.refuse(f"{describe(operand)} has no length")


def _sum(call: KnownCall) -> Operand:
    operands = call.positional(1, 2)
    total = call.number(operands[1]) if len(operands) > 1 else constant(0, WEAK_INT)
    operand = resolve(operands[0])
    if is_array(operand) or isinstance(operand, Iteration):
        return sum_in_order(call, operand, total)
    for item in call.parts(operand):
        total = binary("add", total, call.number(item))
    return Value(call.frame.lowering.keep(total))


def _divmod(call: KnownCall) -> Operand:
    left, right = call.numbers(call.positional(2))
    site = call.frame.check(call.node, *ZERO_DIVISION)
    both = (binary(op, left, right, site) for op in ("floordiv", "mod"))
    return Items(tuple(Value(call.frame.lowering.keep(expr)) for expr in both))


def _isinstance(call: KnownCall) -> Operand:
    operand, classes = call.positional(2)
    try:
        wanted = checked_classes(call.known_value(classes))
    except TypeError as error:
        call.refuse(str(error))
    match operand:
        case ViewOperand(view):
            try:
                return Known(view.is_instance(wanted))
            except UnsupportedRead:
                raise
            except TypeError as error:
                call.refuse(f"this raises TypeError: {error}")
        case Known(value):
            return Known(isinstance(value, wanted))
        case Items() if is_instance(operand):
            return Known(issubclass(operand.cls, wanted))
        case Items():
            return Known(issubclass(list if operand.is_list else tuple, wanted))
        case Value(expr):
            return Known(issubclass(_class_of_number(expr), wanted))
        case ArrayOf() | Elementwise() if is_array(operand):
            return Known(issubclass(np.ndarray, wanted))
    call.refuse(f"isinstance of {describe(operand)}", "Ask about a parameter or a member.")


def _type(call: KnownCall) -> Operand:
    (operand,) = call.positional(1)
    match operand:
        case ViewOperand(view):
            value = view.peek()
            kind = view.attr("__class__")
            if kind.peek() is not type(value):
                call.refuse(
                    f"{view.path} is {kind_of(value)}, whose __class__ is another class",
                    "Name the class that is meant.",
                )
            return operand.then(kind)
        case Known(value):
            return Known(type(value))
        case Items() if is_instance(operand):
            return Known(operand.cls)
        case Items():
            return Known(list if operand.is_list else tuple)
        case Value(expr):
            return Known(_class_of_number(expr))
        case ArrayOf() | Elementwise() if is_array(operand):
            return Known(np.ndarray)
    call.refuse(f"type of {describe(operand)}", "Ask about a parameter or a member.")


def _class_of_number(expr: ir.Expr) -> type:
    """The class that a number of the run has in Python."""
    number = scalar_type(expr)
    return _PYTHON.get(number, complex) if number.weak else number.dtype.type


def _dtype(call: KnownCall) -> Operand:
    (operand,) = call.positional(1)
    return Known(np.dtype(call.known_value(operand)))


def _hasattr(call: KnownCall) -> Operand:
    owner, name = call.positional(2)
    if not isinstance(owner, ViewOperand):
        call.refuse(f"hasattr of {describe(owner)}")
    return Known(owner.view.has(call.known_value(name)))


def _getattr(call: KnownCall) -> Operand:
    owner, name, *default = call.positional(2, 3)
    if not isinstance(owner, ViewOperand):
        call.refuse(f"getattr of {describe(owner)}")
    text = call.known_value(name)
    if default and not owner.view.has(text):
        return default[0]
    return owner.then(owner.view.attr(text))


def _print(call: KnownCall) -> Operand:
    if call.named:
        call.refuse("print takes no keywords in a kernel")
    lowering, line = call.frame.lowering, call.frame.line(call.node)
    if not lowering.debug:
        lowering.silent[line] = None
        return Known(None)
    words: list[str] = []
    exprs: list[ir.Expr] = []
    for arg in map(resolve, call.args):
        if isinstance(arg, Known):
            words.append(str(arg.value).replace("{", "{{").replace("}", "}}"))
            continue
        items = call.parts(arg) if isinstance(arg, Items | Vec) else [arg]
        for item in items:
            words.append("{}")
            exprs.append(call.number(item))
    site = lowering.site("", " ".join(words), line, tuple(map(scalar_type, exprs)))
    lowering.emit(ir.Print(site, tuple(exprs)))
    return Known(None)


def _slice(call: KnownCall) -> Operand:
    parts = [resolve(part) for part in call.positional(1, 2, 3)]
    if not all(isinstance(part, Known) for part in parts):
        call.refuse(
            "the bounds of a slice object are known at compile time",
            "Write the slice where it is used: x[a:b].",
        )
    return Known(slice(*(part.value for part in parts if isinstance(part, Known))))


# -- atomics ----------------------------------------------------------------------------


def _distinct(call: KnownCall) -> Operand:
    (index,) = call.decided(1)
    expr = call.number(index)
    if scalar_type(expr).kind not in "iu":
        call.refuse(f"an index is an integer, not {describe(index)}")
    return Value(ir.Op("distinct", WEAK_INT, (cast(expr, WEAK_INT),)))


def _atomic(name: str, call: KnownCall) -> Operand:
    names = ("array", "index", "value")
    given = {**dict(zip(names, call.args, strict=False)), **call.named}
    if len(call.args) + len(call.named) != 3 or set(given) != set(names):
        call.refuse(f"{call.function} takes an array, an index and a value")
    array = resolve(given["array"])
    if not isinstance(array, ArrayOf):
        call.refuse(f"atomics are for arrays, not for {describe(array)}")
    check_writeable(call.frame, call.node, array.array)
    indices = spread([given["index"]])
    if len(indices) != array.array.type.ndim:
        call.refuse(f"{len(indices)} indices for {describe(array)}")
    element = element_of(call.frame, call.node, array.array, indices)
    type = array.array.type.element
    value = cast(call.number(given["value"]), type)
    if type.kind == "b":
        call.refuse("atomics are for numbers, not for bools")
    if array.array.type.alignment == "none":
        call.refuse(*UNALIGNED)
    if type.is_complex and name != "add":
        call.refuse("complex numbers have no order", "Use x.real or x.imag.")
    old = ir.Local("old", type)
    call.frame.lowering.emit(ir.Atomic(name, element, value, old))
    return Value(ir.Get(old))


# -- the library ------------------------------------------------------------------------


def _of_library(row: LibraryFunction) -> Handler:
    """A function of the library: its body is followed, for the whole arrays or for each element."""
    function = row.function
    if not row.is_elementwise:
        is_numpys = bool(row.method) or row.names[0].startswith("numpy.")
        arrays = array_arguments(function) if is_numpys else None

        def follow(call: KnownCall) -> Operand:
            call = call if arrays is None else with_arrays(call, *arrays)
            return call.frame.lowering.syntax.library(call, function)

        return follow

    def handle(call: KnownCall) -> Operand:
        parameters = inspect.signature(function).parameters
        names = list(parameters)
        defaults = sum(each.default is not each.empty for each in parameters.values())
        out, args = call.named.get("out"), list(call.args)
        places = sum(each.kind == each.POSITIONAL_OR_KEYWORD for each in parameters.values())
        if len(args) == places + 1 and out is None:
            out = args.pop()
        rest = {name: operand for name, operand in call.named.items() if name != "out"}
        given = replace(call, args=args, named=rest).bound(*names, required=len(names) - defaults)
        operands = {name: operand for name, operand in given.items() if operand is not None}
        mapped = [n for n in operands if n in names[:1] or not isinstance(operands[n], Known)]

        def make(*exprs: ir.Expr) -> ir.Expr:
            values = operands | {n: Value(e) for n, e in zip(mapped, exprs, strict=True)}
            one = replace(call, args=[], named=values)
            return call.number(call.frame.lowering.syntax.library(one, function))

        every = [operands[name] for name in mapped]
        named = {} if out is None else {"out": out}
        return of_elements(len(every), make)(replace(call, args=every, named=named))

    return handle


def _where(call: KnownCall) -> Operand:
    """`np.where(test)` is `np.nonzero(test)`."""
    is_alone = len(call.args) == 1 and not call.named
    return (_LIBRARY["numpy.nonzero"] if is_alone else SCALAR_CALLS["numpy.where"])(call)


# -- the tables -------------------------------------------------------------------------

_LIBRARY: Final = {name: _of_library(row) for row in LIBRARY for name in row.names}
FUNCTIONS: Final[dict[str, Handler]] = {
    **_LIBRARY,
    **REQUIREMENTS,
    **ROUTINE_CALLS,
    **C_CALLS,
    **TYPE_QUERIES,
    **SCALAR_CALLS,
    **NUMBER_CALLS,
    **COMPLEX_CALLS,
    **ARRAY_CREATION,
    **SHAPES,
    **REDUCTIONS,
    **PRODUCTS,
    "builtins.min": partial(_least, "lt"),
    "builtins.max": partial(_least, "gt"),
    "builtins.len": _len,
    "builtins.sum": _sum,
    "builtins.divmod": _divmod,
    "builtins.isinstance": _isinstance,
    "builtins.type": _type,
    "numpy.dtype": _dtype,
    "builtins.hasattr": _hasattr,
    "builtins.getattr": _getattr,
    "builtins.print": _print,
    "builtins.slice": _slice,
    "numpy.where": _where,
    **VECTOR_CALLS,
    "numpy.dot": of_vectors(2, vectors.dot, PRODUCTS["numpy.dot"]),
    "numpy.cross": of_vectors(2, vectors.cross, _LIBRARY["numpy.cross"]),
    "numpy.linalg.norm": of_vectors(1, vectors.norm, _LIBRARY["numpy.linalg.norm"]),
    "whorl.distinct": _distinct,
    "whorl.atomic_add": partial(_atomic, "add"),
    "whorl.atomic_min": partial(_atomic, "min"),
    "whorl.atomic_max": partial(_atomic, "max"),
}
"""By the name that a function has of its own: a program can bind it to any other."""
METHODS: Final[dict[str, Handler]] = {
    **VECTOR_METHODS,
    "dot": of_vectors(2, vectors.dot, PRODUCT_METHODS["dot"]),
    "sum": of_vectors(1, vectors.total, REDUCTION_METHODS["sum"]),
}
"""Methods of small vectors, before those of arrays."""
ARRAY_METHODS: Final[dict[str, Handler]] = {
    **{row.method: _of_library(row) for row in LIBRARY if row.method},
    **CREATION_METHODS,
    **SHAPE_METHODS,
    **REDUCTION_METHODS,
    **PRODUCT_METHODS,
    "conj": SCALAR_CALLS["numpy.conjugate"],
    "conjugate": SCALAR_CALLS["numpy.conjugate"],
}
"""Methods of arrays; the array is the first argument."""
