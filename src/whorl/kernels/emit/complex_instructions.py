"""LLVM's instructions for operations on complex numbers, by a table.

A complex number is a pair of floats. Sums, products and quotients are NumPy's: the product is the
plain one of C without the repair of infinities, the quotient is Smith's. A quotient of two Python
numbers is Python's, which divides by the denominator where NumPy multiplies by its inverse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whorl.kernels import ir
from whorl.kernels.types import F64, Scalar
from whorl.launch.scalar_functions import SCALAR_FUNCTIONS

from .llvm_types import INLINED, literal, llvm_type
from .writer import FunctionWriter

__all__ = ["complex_operation", "complex_product", "complex_sum", "is_complex"]

_LARGEST_PRODUCT: Final = 100  # whole powers below are products, as NumPy has them


def is_complex(op: ir.Op) -> bool:
    """Whether an operation is about complex numbers."""
    return any(isinstance(each.type, Scalar) and each.type.is_complex for each in (op, *op.args))


def complex_operation(writer: FunctionWriter, op: ir.Op, *args: str) -> str:
    """The result of such an operation, by the table at the end of this module."""
    return _OPERATIONS[op.name](writer, op, *args)


def _kind(expr: ir.Expr) -> Scalar:
    assert isinstance(expr.type, Scalar)
    return expr.type


def complex_sum(writer: FunctionWriter, kind: Scalar, left: str, right: str) -> str:
    """Part by part."""
    return _by_parts(writer, "fadd", kind, left, right)


def _by_parts(writer: FunctionWriter, name: str, kind: Scalar, left: str, right: str) -> str:
    type, flags = llvm_type(kind.part), writer.module.flags
    pairs = zip(writer.split(kind, left), writer.split(kind, right), strict=True)
    return writer.joined(kind, *(writer.let(f"{name}{flags} {type} {a}, {b}") for a, b in pairs))


def _difference(writer: FunctionWriter, op: ir.Op, left: str, right: str) -> str:
    return _by_parts(writer, "fsub", _kind(op), left, right)


def complex_product(writer: FunctionWriter, kind: Scalar, left: str, right: str) -> str:
    """The product, each operation rounded."""
    type, let = f"{writer.module.flags} {llvm_type(kind.part)}", writer.let
    (a, b), (c, d) = writer.split(kind, left), writer.split(kind, right)
    ac, bd, ad, bc = (let(f"fmul{type} {x}, {y}") for x, y in ((a, c), (b, d), (a, d), (b, c)))
    real = let(f"fsub{type} {ac}, {bd}")
    return writer.joined(kind, real, let(f"fadd{type} {ad}, {bc}"))


def _fused_product(writer: FunctionWriter, op: ir.Op, left: str, right: str) -> str:
    """The product as NumPy's loops have it on processors that multiply and add in one step."""
    kind = _kind(op)
    if not writer.module.fuses:
        return complex_product(writer, kind, left, right)
    type, let, name = llvm_type(kind.part), writer.let, f"llvm.fma.f{kind.part.bits}"
    (a, b), (c, d) = writer.split(kind, left), writer.split(kind, right)
    bd, bc = let(f"fmul {type} {b}, {d}"), let(f"fmul {type} {b}, {c}")
    real = writer.call(name, type, a, c, let(f"fneg {type} {bd}"))
    return writer.joined(kind, real, writer.call(name, type, a, d, bc))


def _quotient(writer: FunctionWriter, op: ir.Op, left: str, right: str) -> str:
    """Smith's quotient. The larger part of the divisor divides; zero divides each part."""
    kind = _kind(op)
    part, let = kind.part, writer.let
    type = llvm_type(part)
    (a, b), (c, d) = writer.split(kind, left), writer.split(kind, right)
    size_c, size_d = (writer.call(f"llvm.fabs.f{part.bits}", type, each) for each in (c, d))
    is_first = let(f"fcmp oge {type} {size_c}, {size_d}")

    def chosen(one: str, other: str) -> str:
        return let(f"select i1 {is_first}, {type} {one}, {type} {other}")

    def op2(name: str, one: str, other: str) -> str:
        return let(f"{name} {type} {one}, {other}")

    large, small, p, q = chosen(c, d), chosen(d, c), chosen(a, b), chosen(b, a)
    ratio = op2("fdiv", small, large)
    denominator = op2("fadd", large, op2("fmul", small, ratio))
    scaled_p, scaled_q = op2("fmul", p, ratio), op2("fmul", q, ratio)
    real = op2("fadd", p, scaled_q)
    imaginary = chosen(op2("fsub", q, scaled_p), op2("fsub", scaled_p, q))
    if kind.weak:
        parts = [op2("fdiv", each, denominator) for each in (real, imaginary)]
    else:
        scale = op2("fdiv", literal(part, 1.0), denominator)
        parts = [op2("fmul", each, scale) for each in (real, imaginary)]
    tests = [let(f"fcmp oeq {type} {each}, {literal(part, 0.0)}") for each in (size_c, size_d)]
    is_zero = let(f"and i1 {', '.join(tests)}")
    parts = [
        let(f"select i1 {is_zero}, {type} {op2('fdiv', side, size_c)}, {type} {each}")
        for side, each in zip((a, b), parts, strict=True)
    ]
    return writer.joined(kind, *parts)


def _negative(writer: FunctionWriter, op: ir.Op, value: str) -> str:
    kind = _kind(op)
    type = llvm_type(kind.part)
    return writer.joined(
        kind, *(writer.let(f"fneg {type} {each}") for each in writer.split(kind, value))
    )


def _conjugate(writer: FunctionWriter, op: ir.Op, value: str) -> str:
    kind = _kind(op)
    real, imaginary = writer.split(kind, value)
    return writer.joined(kind, real, writer.let(f"fneg {llvm_type(kind.part)} {imaginary}"))


def _compare(name: str) -> Callable[..., str]:
    compare, both = {"eq": ("oeq", "and"), "ne": ("une", "or")}[name]

    def emit_op(writer: FunctionWriter, op: ir.Op, left: str, right: str) -> str:
        kind = _kind(op.args[0])
        pairs = zip(writer.split(kind, left), writer.split(kind, right), strict=True)
        type = llvm_type(kind.part)
        first, second = (writer.let(f"fcmp {compare} {type} {a}, {b}") for a, b in pairs)
        return writer.let(f"{both} i1 {first}, {second}")

    return emit_op


def _cast(writer: FunctionWriter, op: ir.Op, value: str) -> str:
    """Another precision."""
    return converted(writer, value, _kind(op.args[0]), _kind(op))


def converted(writer: FunctionWriter, value: str, source: Scalar, to: Scalar) -> str:
    """A complex number in another precision."""
    if source.bits == to.bits:
        return value
    a, b = llvm_type(source.part), llvm_type(to.part)
    how = "fpext" if source.bits < to.bits else "fptrunc"
    parts = (writer.let(f"{how} {a} {each} to {b}") for each in writer.split(source, value))
    return writer.joined(to, *parts)


def _select(writer: FunctionWriter, op: ir.Op, test: str, left: str, right: str) -> str:
    kind = _kind(op)
    type = llvm_type(kind.part)
    pairs = zip(writer.split(kind, left), writer.split(kind, right), strict=True)
    parts = (writer.let(f"select i1 {test}, {type} {a}, {type} {b}") for a, b in pairs)
    return writer.joined(kind, *parts)


def _part(number: int) -> Callable[..., str]:
    return lambda writer, op, value: writer.split(_kind(op.args[0]), value)[number]


def _absolute(writer: FunctionWriter, op: ir.Op, value: str) -> str:
    part = _kind(op)
    name = "hypot" + ("f" if part.bits == 32 else "")
    return writer.call(name, llvm_type(part), *writer.split(_kind(op.args[0]), value))


# -- functions of the C library ---------------------------------------------------------

_WIDE: Final = Scalar("c", 128)


def _library_function(name: str) -> Callable[..., str]:
    """A function of pairs of doubles, which single precision uses too: how pairs of floats are
    passed differs from machine to machine."""

    def emit_op(writer: FunctionWriter, op: ir.Op, *args: str) -> str:
        kind = _kind(op)
        wide = [converted(writer, arg, kind, _WIDE) for arg in args]
        return converted(writer, called(writer, name, *wide), _WIDE, kind)

    return emit_op


def called(writer: FunctionWriter, name: str, *args: str) -> str:
    """A call of a function of the C library with complex doubles."""
    whole, part = llvm_type(_WIDE), llvm_type(F64)
    writer.module.declare(name, whole, *[part] * (2 * len(args)))
    parts = [f"{part} {each}" for arg in args for each in writer.split(_WIDE, arg)]
    return writer.let(f"call {whole} @{name}({', '.join(parts)})")


def _power(writer: FunctionWriter, op: ir.Op, base: str, exponent: str) -> str:
    """A power as NumPy has it, in a function of its own."""
    kind = _kind(op)
    type, name = llvm_type(kind), f"whorl_power_c{kind.bits}"
    if writer.module.begins(name):
        _write_power(writer, name, kind)
    return writer.let(f"call {type} @{name}({type} {base}, {type} {exponent})")


def _write_power(outer: FunctionWriter, name: str, kind: Scalar) -> None:
    whole, part = llvm_type(kind), llvm_type(kind.part)
    head = f"{whole} %base, {whole} %exponent"
    writer = FunctionWriter(outer.module, name, head, result=whole, attributes=INLINED)
    let, zero = writer.let, literal(kind.part, 0.0)
    (a, b), (c, d) = writer.split(kind, "%base"), writer.split(kind, "%exponent")

    def are_zero(one: str, other: str) -> str:
        tests = (let(f"fcmp oeq {part} {each}, {zero}") for each in (one, other))
        return let(f"and i1 {', '.join(tests)}")

    with writer.only_if(are_zero(c, d)):
        writer.end(f"ret {whole} {literal(kind, 1)}")
    with writer.only_if(are_zero(a, b)):
        is_real = let(f"fcmp oeq {part} {d}, {zero}")
        is_right = let(f"and i1 {let(f'fcmp ogt {part} {c}, {zero}')}, {is_real}")
        nan = float("nan")
        number = let(f"select i1 {is_right}, {part} {zero}, {part} {literal(kind.part, nan)}")
        writer.end(f"ret {whole} {writer.joined(kind, number, number)}")
    whole_part = writer.call(f"llvm.trunc.f{kind.part.bits}", part, c)
    size = writer.call(f"llvm.fabs.f{kind.part.bits}", part, c)
    tests = (
        let(f"fcmp oeq {part} {d}, {zero}"),
        let(f"fcmp oeq {part} {whole_part}, {c}"),
        let(f"fcmp olt {part} {size}, {literal(kind.part, _LARGEST_PRODUCT)}"),
    )
    is_product = tests[0]
    for test in tests[1:]:
        is_product = let(f"and i1 {is_product}, {test}")
    with writer.only_if(is_product):
        _write_whole_power(writer, kind, size, c)
    wide = [converted(writer, each, kind, _WIDE) for each in ("%base", "%exponent")]
    writer.end(f"ret {whole} {converted(writer, called(writer, 'cpow', *wide), _WIDE, kind)}")
    writer.finish()


def _write_whole_power(writer: FunctionWriter, kind: Scalar, size: str, exponent: str) -> None:
    """By squaring, from the lowest bit of the exponent up; the inverse of a negative power."""
    whole, part, let = llvm_type(kind), llvm_type(kind.part), writer.let
    # Up to the third power NumPy multiplies by the base alone, which keeps infinities.
    for count in (1, 2, 3):
        is_count = let(f"fcmp oeq {part} {exponent}, {literal(kind.part, count)}")
        with writer.only_if(is_count):
            value = "%base"
            for _ in range(count - 1):
                value = complex_product(writer, kind, "%base", value)
            writer.end(f"ret {whole} {value}")
    result, square, left = (
        ir.Local("result", kind),
        ir.Local("square", kind),
        writer.alloca("i64", "left"),
    )
    writer.set(result, literal(kind, 1))
    writer.set(square, "%base")
    writer.do(f"store i64 {let(f'fptosi {part} {size} to i64')}, ptr {left}")
    with writer.loop() as go_on_if:
        now = let(f"load i64, ptr {left}")
        with writer.only_if(let(f"trunc i64 {now} to i1")):
            writer.set(
                result, complex_product(writer, kind, writer.get(result), writer.get(square))
            )
        half = let(f"lshr i64 {now}, 1")
        writer.do(f"store i64 {half}, ptr {left}")
        go_on_if(let(f"icmp ne i64 {half}, 0"))
        value = writer.get(square)
        writer.set(square, complex_product(writer, kind, value, value))
    value = writer.get(result)
    with writer.only_if(let(f"fcmp olt {part} {exponent}, {literal(kind.part, 0.0)}")):
        one = ir.Get(ir.Local("one", kind))
        inverse = _quotient(writer, ir.Op("fdiv", kind, (one, one)), literal(kind, 1), value)
        writer.end(f"ret {whole} {inverse}")
    writer.end(f"ret {whole} {value}")


_OPERATIONS: Final[dict[str, Callable[..., str]]] = {
    **{
        row.operation: _library_function(f"c{row.operation}")
        for row in SCALAR_FUNCTIONS
        if row.is_complex
    },
    "abs": _absolute,
    "add": lambda writer, op, left, right: complex_sum(writer, _kind(op), left, right),
    "cast": _cast,
    "complex": lambda writer, op, real, imaginary: writer.joined(_kind(op), real, imaginary),
    "conj": _conjugate,
    "eq": _compare("eq"),
    "fdiv": _quotient,
    "fused_mul": _fused_product,
    "imag": _part(1),
    "mul": lambda writer, op, left, right: complex_product(writer, _kind(op), left, right),
    "ne": _compare("ne"),
    "neg": _negative,
    "pow": _power,
    "real": _part(0),
    "select": _select,
    "sub": _difference,
}
