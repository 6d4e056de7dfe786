"""Functions that the compiler knows by itself: builtins, `math`, NumPy's, and whorl's own.

Each is a row: the name that the function has of its own, and what it becomes. `math` computes
with Python's floats, so its results are weak; NumPy's functions keep the type of what they are
given.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, Final, TypeAlias

import numpy as np

from whorl.errors import UnsupportedRead
from whorl.kernels import ir
from whorl.kernels.types import (
    BOOL,
    F32,
    F64,
    WEAK_BOOL,
    WEAK_FLOAT,
    WEAK_INT,
    Scalar,
    is_scalar_value,
    promote,
    scalar_of_dtype,
)
from whorl.reads import implicit_calls as implicit
from whorl.reads.library import own_name

from . import vectors
from .arithmetic import (
    I8,
    NEGATIVE_POWER,
    NotPossible,
    as_float,
    binary,
    cast,
    constant,
    power,
    scalar_type,
    truth,
)
from .expressions import looked_at, number_at, parts
from .frame import Frame
from .joins import OneScalar, join
from .operands import ArrayOf, Items, Known, Operand, Place, Value, Vec, describe, kind_of
from .subscripts import check_writeable, element_of, spread
from .values import is_scalar

__all__ = ["METHODS", "handler_of"]

Handler: TypeAlias = Callable[[Frame, ast.Call, list[Operand], dict[str, Operand]], Operand]
Make: TypeAlias = Callable[..., ir.Expr]


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


def _convert(
    to: Scalar, frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]
) -> Operand:
    (operand,) = _exactly(frame, node, args, named, 1)
    operand = looked_at(operand)
    if isinstance(operand, Known) and is_scalar_value(operand.value):
        try:
            with np.errstate(all="ignore"):
                return Known(_PYTHON.get(to, to.dtype.type)(operand.value))
        except Exception as error:
            frame.refuse(node, f"this raises {type(error).__name__}: {error}")
    if isinstance(operand, Known) and to == WEAK_BOOL:
        return Known(bool(operand.value))
    expr = number_at(frame, node, operand)
    if to.kind == "b":
        return Value(cast(truth(expr), to))
    return Value(cast(expr, to))


_PYTHON: Final[dict[Scalar, type]] = {WEAK_INT: int, WEAK_FLOAT: float, WEAK_BOOL: bool}


def _exactly(
    frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand], *counts: int
) -> list[Operand]:
    if named or len(args) not in counts:
        wanted = " or ".join(map(str, counts))
        noun = "argument" if counts == (1,) else "arguments"
        frame.refuse(node, f"{ast.unparse(node.func)} takes {wanted} positional {noun} here")
    return args


def _numbers(frame: Frame, node: ast.Call, args: list[Operand]) -> list[ir.Expr]:
    nodes = node.args if len(node.args) == len(args) else [node] * len(args)
    return [number_at(frame, at, arg) for at, arg in zip(nodes, args, strict=True)]


def _of_numbers(count: int, make: Make) -> Handler:
    """A function of numbers; NumPy's are also applied to vectors, component by component."""

    def handle(
        frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]
    ) -> Operand:
        args = [looked_at(arg) for arg in _exactly(frame, node, args, named, count)]
        shapes = {arg.shape for arg in args if isinstance(arg, Vec)}
        if len(shapes) == 1 and all(isinstance(a, Vec) or is_scalar(a) for a in args):
            return vectors.elementwise(frame, shapes.pop(), make, *args)
        try:
            # An argument may be used more than once.
            return Value(make(*(frame.lowering.keep(a) for a in _numbers(frame, node, args))))
        except NotPossible as error:
            frame.refuse(node, error.reason, error.remedy)

    return handle


def _power(frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]) -> Operand:
    site = -1
    if frame.lowering.debug:
        site = frame.lowering.site("ValueError", NEGATIVE_POWER, frame.line(node))
    handle = _of_numbers(2, lambda left, right: power(left, right, site))
    return handle(frame, node, args, named)


# -- functions of floats ----------------------------------------------------------------


def _math(name: str, count: int = 1) -> Handler:
    def make(*exprs: ir.Expr) -> ir.Expr:
        return ir.Op(name, WEAK_FLOAT, tuple(cast(expr, WEAK_FLOAT) for expr in exprs))

    return _of_numbers(count, make)


def _ufunc(name: str, count: int = 1) -> Handler:
    def make(*exprs: ir.Expr) -> ir.Expr:
        together = reduce(promote, map(scalar_type, exprs)).strong
        if not together.is_float:
            # NumPy makes float16 of bools and 8-bit integers, which no kernel has.
            together = F32 if together.bits == 16 else F64
        return ir.Op(name, together, tuple(cast(expr, together) for expr in exprs))

    return _of_numbers(count, make)


def _to_whole(name: str) -> Handler:
    """Whole numbers of floats, as floats; integers and bools are whole already."""

    def make(expr: ir.Expr) -> ir.Expr:
        type = scalar_type(expr).strong
        expr = cast(expr, type)
        return ir.Op(name, type, (expr,)) if type.is_float else expr

    return _of_numbers(1, make)


def _fmod(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """The remainder with the sign of the left side."""
    together = promote(scalar_type(left), scalar_type(right)).strong
    if together.kind == "b":
        together = I8
    return ir.Op("fmod", together, (cast(left, together), cast(right, together)))


def _math_to_int(name: str) -> Handler:
    def make(expr: ir.Expr) -> ir.Expr:
        if not scalar_type(expr).is_float:
            return cast(expr, WEAK_INT)
        found = cast(expr, WEAK_FLOAT)
        return cast(ir.Op(name, WEAK_FLOAT, (found,)), WEAK_INT)

    return _of_numbers(1, make)


def _round(expr: ir.Expr) -> ir.Expr:
    if not scalar_type(expr).is_float:
        return cast(expr, WEAK_INT)
    return cast(ir.Op("rint", scalar_type(expr), (expr,)), WEAK_INT)


def _test(name: str, result: Scalar) -> Handler:
    def make(expr: ir.Expr) -> ir.Expr:
        return ir.Op(name, result, (as_float(expr),))

    return _of_numbers(1, make)


def _scaled(factor: float) -> Handler:
    def make(expr: ir.Expr) -> ir.Expr:
        return binary("mul", cast(expr, WEAK_FLOAT), ir.Const(WEAK_FLOAT, factor))

    return _of_numbers(1, make)


def _abs(expr: ir.Expr) -> ir.Expr:
    type = scalar_type(expr)
    if type.kind == "b" and type.weak:
        return cast(expr, WEAK_INT)
    return expr if type.kind in "bu" else ir.Op("abs", type, (expr,))


def _square(expr: ir.Expr) -> ir.Expr:
    type = scalar_type(expr).strong
    expr = cast(expr, I8 if type.kind == "b" else type)
    return binary("mul", expr, expr)


def _sign(expr: ir.Expr) -> ir.Expr:
    type = scalar_type(expr).strong
    expr = cast(expr, type)
    zero, one = constant(0, type), constant(1, type)
    below = constant(-1, type) if type.kind != "u" else zero
    rest = ir.Op("select", type, (ir.Op("eq", BOOL, (expr, zero)), zero, expr))  # NaN stays
    above = ir.Op("select", type, (ir.Op("gt", BOOL, (expr, zero)), one, rest))
    return ir.Op("select", type, (ir.Op("lt", BOOL, (expr, zero)), below, above))


def _select(test: ir.Expr, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    together = promote(scalar_type(left), scalar_type(right)).strong
    return ir.Op("select", together, (truth(test), cast(left, together), cast(right, together)))


def _clip(expr: ir.Expr, low: ir.Expr, high: ir.Expr) -> ir.Expr:
    return _extreme("fmin", _extreme("fmax", expr, low), high)


def _extreme(name: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """NumPy's minimum and maximum: NaN wins."""
    together = promote(scalar_type(left), scalar_type(right)).strong
    if together.kind == "b":
        return ir.Op(
            {"fmin": "and", "fmax": "or"}[name], BOOL, (cast(left, BOOL), cast(right, BOOL))
        )
    op = name if together.is_float else name[1:]
    return ir.Op(op, together, (cast(left, together), cast(right, together)))


# -- builtins ---------------------------------------------------------------------------


def _least(
    name: str, frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]
) -> Operand:
    if named:
        frame.refuse(node, "min and max take no keywords in a kernel")
    items = [looked_at(a) for a in (parts(frame, node, args[0]) if len(args) == 1 else args)]
    if not items:
        frame.refuse(node, "min and max of nothing")
    if all(isinstance(item, Known) for item in items):
        choose = min if name == "lt" else max
        with np.errstate(all="ignore"):
            return Known(choose(item.value for item in items if isinstance(item, Known)))
    keep = frame.lowering.keep
    exprs = [keep(number_at(frame, node, item)) for item in items]
    template = join([
        item if isinstance(item, Known) and is_scalar_value(item.value) else Value(expr)
        for item, expr in zip(items, exprs, strict=True)
    ])  # fmt: skip
    together = template.type if isinstance(template, OneScalar) else scalar_type(exprs[0])
    found, *others = (cast(expr, together) for expr in exprs)
    for other in others:
        # Python keeps the first unless the second is really smaller (larger).
        chosen = ir.Op(name, WEAK_BOOL, (other, found))
        found = keep(ir.Op("select", together, (chosen, other, found)))
    return Value(found)


def _len(frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]) -> Operand:
    (operand,) = _exactly(frame, node, args, named, 1)
    operand = looked_at(operand)
    match operand:
        case ArrayOf(array) if array.type.ndim:
            return Value(array.extents[0])
        case Items(items):
            return Known(len(items))
        case Vec(shape=shape):
            return Known(shape[0])
        case Place(view) if hasattr(view.peek(), "__len__"):
            return Known(view.len())
        case Known(value) if hasattr(value, "__len__"):
            return Known(len(value))
    frame.refuse(node, f"{describe(operand)} has no length")


def _sum(frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]) -> Operand:
    operands = _exactly(frame, node, args, named, 1, 2)
    total = number_at(frame, node, operands[1]) if len(operands) > 1 else constant(0, WEAK_INT)
    operand = looked_at(operands[0])
    if isinstance(operand, ArrayOf):
        frame.refuse(node, "sum of an array", "Write a loop that adds the elements up.")
    for item in parts(frame, node, operand):
        total = binary("add", total, number_at(frame, node, item))
    return Value(frame.lowering.keep(total))


def _divmod(
    frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]
) -> Operand:
    args = _exactly(frame, node, args, named, 2)
    left, right = (frame.lowering.keep(expr) for expr in _numbers(frame, node, args))
    site = -1
    if frame.lowering.debug:
        site = frame.lowering.site(
            "ZeroDivisionError", "integer division by zero", frame.line(node)
        )
    both = (binary(op, left, right, site) for op in ("floordiv", "mod"))
    return Items(tuple(Value(frame.lowering.keep(expr)) for expr in both))


def _isinstance(
    frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]
) -> Operand:
    operand, classes = _exactly(frame, node, args, named, 2)
    try:
        wanted = implicit.classes(known_value(frame, node, classes))
    except TypeError as error:
        frame.refuse(node, str(error))
    match operand:
        case Place(view):
            try:
                return Known(view.is_instance(wanted))
            except UnsupportedRead:
                raise
            except TypeError as error:
                frame.refuse(node, f"this raises TypeError: {error}")
        case Known(value):
            return Known(isinstance(value, wanted))
        case Items():
            return Known(issubclass(list if operand.is_list else tuple, wanted))
    frame.refuse(node, f"isinstance of {describe(operand)}", "Ask about a parameter or a member.")


def _type(frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]) -> Operand:
    (operand,) = _exactly(frame, node, args, named, 1)
    match operand:
        case Place(view):
            value = view.peek()
            kind = view.attr("__class__")
            if kind.peek() is not type(value):
                frame.refuse(
                    node,
                    f"{view.path} is {kind_of(value)}, and says that it is of another class",
                    "Name the class that is meant.",
                )
            return operand.then(kind)
        case Known(value):
            return Known(type(value))
        case Items():
            return Known(list if operand.is_list else tuple)
    frame.refuse(node, f"type of {describe(operand)}", "Ask about a parameter or a member.")


def known_value(frame: Frame, node: ast.AST, operand: Operand) -> Any:
    """A value that has to be known now."""
    match operand:
        case Known(value):
            return value
        case Place(view):
            return view.value()
        case Items(items):
            return tuple(known_value(frame, node, item) for item in items)
    frame.refuse(
        node,
        f"{describe(operand)} is not known at compile time",
        "Use a literal, a global, or whorl.static(...).",
    )


def _dtype(frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]) -> Operand:
    (operand,) = _exactly(frame, node, args, named, 1)
    return Known(np.dtype(known_value(frame, node, operand)))


def _hasattr(
    frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]
) -> Operand:
    owner, name = _exactly(frame, node, args, named, 2)
    if not isinstance(owner, Place):
        frame.refuse(node, f"hasattr of {describe(owner)}")
    return Known(owner.view.has(known_value(frame, node, name)))


def _getattr(
    frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]
) -> Operand:
    owner, name, *default = _exactly(frame, node, args, named, 2, 3)
    if not isinstance(owner, Place):
        frame.refuse(node, f"getattr of {describe(owner)}")
    text = known_value(frame, node, name)
    if default and not owner.view.has(text):
        return default[0]
    return owner.then(owner.view.attr(text))


def _print(frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]) -> Operand:
    if named:
        frame.refuse(node, "print takes no keywords in a kernel")
    if not frame.lowering.debug:
        frame.lowering.silent[frame.line(node)] = None
        return Known(None)
    words: list[str] = []
    exprs: list[ir.Expr] = []
    for arg in map(looked_at, args):
        if isinstance(arg, Known):
            words.append(str(arg.value).replace("{", "{{").replace("}", "}}"))
            continue
        items = parts(frame, node, arg) if isinstance(arg, Items | Vec) else [arg]
        for item in items:
            words.append("{}")
            exprs.append(number_at(frame, node, item))
    types = tuple(map(scalar_type, exprs))
    site = frame.lowering.site("", " ".join(words), frame.line(node), types)
    frame.lowering.emit(ir.Print(site, tuple(exprs)))
    return Known(None)


# -- vectors ----------------------------------------------------------------------------


def _element_type(frame: Frame, node: ast.Call, operand: Operand | None) -> Scalar | None:
    if operand is None:
        return None
    try:
        found = scalar_of_dtype(np.dtype(known_value(frame, node, operand)))
    except TypeError:
        found = None
    if found is None:
        frame.refuse(node, "the dtype is not one of a kernel")
    return found


def _vec(frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]) -> Operand:
    element = _element_type(frame, node, named.pop("dtype", None))
    if named:
        frame.refuse(node, f"whorl.vec has no parameter {next(iter(named))!r}")
    return vectors.vector_of(frame, [looked_at(arg) for arg in args], element)


def _array(frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]) -> Operand:
    if len(args) == 2:
        named.setdefault("dtype", args.pop())
    if len(args) != 1:
        frame.refuse(node, f"{ast.unparse(node.func)} takes the components, and a dtype")
    (operand,) = args
    if isinstance(looked_at(operand), ArrayOf):
        frame.refuse(node, "arrays are not made in a kernel", "Make it outside and pass it in.")
    items = [looked_at(item) for item in parts(frame, node, looked_at(operand))]
    if "dtype" not in named and all(is_scalar(item) for item in items):
        # Unlike whorl.vec, NumPy counts Python's numbers as strong here.
        types = [scalar_type(number_at(frame, node, item)).strong for item in items]
        named["dtype"] = Known(reduce(promote, types).dtype)
    return _vec(frame, node, items, named)


def _filled(value: float) -> Handler:
    def handle(
        frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]
    ) -> Operand:
        if len(args) == 2:
            named.setdefault("dtype", args.pop())
        element = _element_type(frame, node, named.pop("dtype", None)) or F64
        (operand,) = _exactly(frame, node, args, named, 1)
        sizes = operand.items if isinstance(operand, Items) else (operand,)
        if any(isinstance(size, Value) for size in sizes):
            frame.refuse(
                node,
                f"{ast.unparse(node.func)} makes a small vector: its length has to be known at "
                "compile time",
                "Make the array outside and pass it in.",
            )
        shape = known_value(frame, node, operand)
        if isinstance(shape, int):
            shape = (shape,)
        return vectors.filled(frame, tuple(map(operator.index, shape)), constant(value, element))

    return handle


def _of_vectors(count: int, make: Callable[..., Operand]) -> Handler:
    def handle(
        frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]
    ) -> Operand:
        args = _exactly(frame, node, args, named, count)
        for arg in args:
            if not isinstance(arg, Vec):
                frame.refuse(
                    node,
                    f"{ast.unparse(node.func)} is for small vectors, not for {describe(arg)}",
                    "Make one with whorl.vec(...), or write a loop.",
                )
        return make(frame, *args)

    return handle


# -- atomics ----------------------------------------------------------------------------


def _atomic(
    name: str, frame: Frame, node: ast.Call, args: list[Operand], named: dict[str, Operand]
) -> Operand:
    names = ("array", "index", "value")
    given = {**dict(zip(names, args, strict=False)), **named}
    if len(args) + len(named) != 3 or set(given) != set(names):
        frame.refuse(node, f"{ast.unparse(node.func)} takes an array, an index and a value")
    array = looked_at(given["array"])
    if not isinstance(array, ArrayOf):
        frame.refuse(node, f"atomics are for arrays, not for {describe(array)}")
    check_writeable(frame, node, array.array)
    indices = spread([given["index"]])
    if len(indices) != array.array.type.ndim:
        frame.refuse(node, f"{len(indices)} indices for {describe(array)}")
    element = element_of(frame, node, array.array, indices)
    type = array.array.type.element
    value = cast(number_at(frame, node, given["value"]), type)
    if type.kind == "b":
        frame.refuse(node, "atomics are for numbers, not for bools")
    old = ir.Local("old", type)
    frame.lowering.emit(ir.Atomic(name, element, value, old))
    return Value(ir.Get(old))


# -- the tables -------------------------------------------------------------------------


def handler_of(function: Any) -> Handler | None:
    """What the compiler makes of a call of a function that it knows by itself; None for others."""
    return _FUNCTIONS.get(own_name(function) or "") or _casts(function)


_FLOAT: Final = {
    "sqrt": "sqrt", "sin": "sin", "cos": "cos", "tan": "tan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "exp": "exp", "expm1": "expm1", "log": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p",
}  # fmt: skip

_FUNCTIONS: Final[dict[str, Handler]] = {
    **{f"math.{name}": _math(op) for name, op in _FLOAT.items()},
    **{f"numpy.{name}": _ufunc(op) for name, op in _FLOAT.items()},
    "math.asin": _math("asin"),
    "math.acos": _math("acos"),
    "math.atan": _math("atan"),
    "math.exp2": _math("exp2"),
    "math.cbrt": _math("cbrt"),
    "math.erf": _math("erf"),
    "math.erfc": _math("erfc"),
    "math.gamma": _math("tgamma"),
    "math.lgamma": _math("lgamma"),
    "math.fabs": _math("abs"),
    "math.atan2": _math("atan2", 2),
    "math.hypot": _math("hypot", 2),
    "math.pow": _math("pow", 2),
    "math.fmod": _math("fmod", 2),
    "math.copysign": _math("copysign", 2),
    "math.floor": _math_to_int("floor"),
    "math.ceil": _math_to_int("ceil"),
    "math.trunc": _math_to_int("trunc"),
    "math.isnan": _test("isnan", WEAK_BOOL),
    "math.isinf": _test("isinf", WEAK_BOOL),
    "math.isfinite": _test("isfinite", WEAK_BOOL),
    "math.radians": _scaled(0.017453292519943295),
    "math.degrees": _scaled(57.29577951308232),
    "numpy.arcsin": _ufunc("asin"),
    "numpy.arccos": _ufunc("acos"),
    "numpy.arctan": _ufunc("atan"),
    "numpy.exp2": _ufunc("exp2"),
    "numpy.cbrt": _ufunc("cbrt"),
    "numpy.fabs": _ufunc("abs"),
    "numpy.floor": _to_whole("floor"),
    "numpy.ceil": _to_whole("ceil"),
    "numpy.trunc": _to_whole("trunc"),
    "numpy.rint": _ufunc("rint"),
    "numpy.arctan2": _ufunc("atan2", 2),
    "numpy.hypot": _ufunc("hypot", 2),
    "numpy.fmod": _of_numbers(2, _fmod),
    "numpy.copysign": _ufunc("copysign", 2),
    "numpy.isnan": _test("isnan", BOOL),
    "numpy.isinf": _test("isinf", BOOL),
    "numpy.isfinite": _test("isfinite", BOOL),
    "numpy.absolute": _of_numbers(1, _abs),
    "numpy.square": _of_numbers(1, _square),
    "numpy.sign": _of_numbers(1, _sign),
    "numpy.power": _power,
    "numpy.where": _of_numbers(3, _select),
    "numpy.clip": _of_numbers(3, _clip),
    "numpy.minimum": _of_numbers(2, partial(_extreme, "fmin")),
    "numpy.maximum": _of_numbers(2, partial(_extreme, "fmax")),
    "builtins.abs": _of_numbers(1, _abs),
    "builtins.pow": _power,
    "builtins.round": _of_numbers(1, _round),
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
    "whorl.vec": _vec,
    "whorl.zeros": _filled(0.0),
    "numpy.array": _array,
    "numpy.zeros": _filled(0.0),
    "numpy.ones": _filled(1.0),
    "whorl.dot": _of_vectors(2, vectors.dot),
    "whorl.cross": _of_vectors(2, vectors.cross),
    "whorl.norm": _of_vectors(1, vectors.norm),
    "numpy.dot": _of_vectors(2, vectors.dot),
    "numpy.cross": _of_vectors(2, vectors.cross),
    "numpy.linalg.norm": _of_vectors(1, vectors.norm),
    "whorl.atomic_add": partial(_atomic, "add"),
    "whorl.atomic_min": partial(_atomic, "min"),
    "whorl.atomic_max": partial(_atomic, "max"),
}
"""By the names that they have of their own: anybody can put something else in their place."""
METHODS: Final[dict[str, Handler]] = {
    "copy": _of_vectors(1, vectors.copy_of),
    "dot": _of_vectors(2, vectors.dot),
    "sum": _of_vectors(1, vectors.total),
}
"""Methods of small vectors."""
