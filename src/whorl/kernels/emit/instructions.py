"""LLVM's instructions for each operation of the program, by a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from whorl.kernels import ir
from whorl.kernels.types import Scalar
from whorl.launch.scalar_functions import SCALAR_FUNCTIONS, ScalarFunction

from .complex_instructions import complex_operation, complex_product, complex_sum, is_complex
from .llvm_types import literal, llvm_type
from .writer import FunctionWriter

__all__ = ["checked_index", "combined", "iterations_between", "minimum", "operation"]

_OF_BOOLS: Final = {"add": "or", "max": "or", "mul": "and", "min": "and"}
_COMPARISONS: Final = ("eq", "ne", "lt", "le", "gt", "ge")


def operation(writer: FunctionWriter, op: ir.Op, *args: str) -> str:
    """The result of an operation, by the table at the end of this module."""
    if is_complex(op):
        return complex_operation(writer, op, *args)
    return _OPERATIONS[op.name](writer, op, *args)


def minimum(writer: FunctionWriter, left: str, right: str) -> str:
    """The smaller of two signed integers."""
    test = writer.let(f"icmp slt i64 {left}, {right}")
    return writer.let(f"select i1 {test}, i64 {left}, i64 {right}")


def combined(writer: FunctionWriter, name: str, kind: Scalar, left: str, right: str) -> str:
    """Two results of a reduction, or an element and what is added to it, as one."""
    type = llvm_type(kind)
    if kind.kind == "b":  # as numbers of one bit, True would be -1, and twice True would be False
        return writer.let(f"{_OF_BOOLS[name]} {type} {left}, {right}")
    if kind.is_complex:
        combine = {"add": complex_sum, "mul": complex_product}[name]
        return combine(writer, kind, left, right)
    if name in ("add", "mul"):
        return writer.let(f"{_of_kind(writer, name, kind)} {type} {left}, {right}")
    if name in ("fmin", "fmax"):
        intrinsic = f"llvm.{'minimum' if name == 'fmin' else 'maximum'}.f{kind.bits}"
        return writer.call(intrinsic, type, left, right)
    sign = "o" if kind.is_float else "u" if kind.kind == "u" else "s"
    compare = "fcmp" if kind.is_float else "icmp"
    test = writer.let(f"{compare} {sign}{'lt' if name == 'min' else 'gt'} {type} {right}, {left}")
    return writer.let(f"select i1 {test}, {type} {right}, {type} {left}")


def _of_kind(writer: FunctionWriter, name: str, kind: Scalar) -> str:
    """An instruction by its name among those of integers; that of floats has flags."""
    return f"f{name}{writer.module.flags}" if kind.is_float else name


def _scalar(expr: ir.Expr) -> Scalar:
    assert isinstance(expr.type, Scalar)
    return expr.type


def _scalar_function(row: ScalarFunction) -> Callable[..., str]:
    def emit_op(writer: FunctionWriter, op: ir.Op, *args: str) -> str:
        kind = _scalar(op)
        name = f"llvm.{row.intrinsic}.f{kind.bits}"
        if not row.intrinsic:
            name = row.operation + ("f" if kind.bits == 32 else "")
        return writer.call(name, llvm_type(kind), *args, flags=writer.module.flags)

    return emit_op


def _arithmetic(name: str) -> Callable[..., str]:
    def emit_op(writer: FunctionWriter, op: ir.Op, left: str, right: str) -> str:
        instruction = _of_kind(writer, name, _scalar(op))
        return writer.let(f"{instruction} {llvm_type(op.type)} {left}, {right}")

    return emit_op


def _instruction(name: str) -> Callable[..., str]:
    return lambda writer, op, left, right: writer.let(
        f"{name} {llvm_type(op.type)} {left}, {right}"
    )


def _compare(name: str) -> Callable[..., str]:
    def emit_op(writer: FunctionWriter, op: ir.Op, left: str, right: str) -> str:
        kind = _scalar(op.args[0])
        if kind.is_float:
            test = f"fcmp{writer.module.flags} {'une' if name == 'ne' else 'o' + name}"
        else:
            sign = "" if name in ("eq", "ne") else "s" if kind.kind == "i" else "u"
            test = f"icmp {sign}{name}"
        return writer.let(f"{test} {llvm_type(kind)} {left}, {right}")

    return emit_op


def _cast(writer: FunctionWriter, op: ir.Op, value: str) -> str:
    source, to = _scalar(op.args[0]), _scalar(op)
    a, b = llvm_type(source), llvm_type(to)
    if to.kind == "b":
        if source.kind == "b":
            return value
        test = "fcmp une" if source.is_float else "icmp ne"
        return writer.let(f"{test} {a} {value}, {literal(source, 0)}")
    if source.is_float and to.is_float:
        if a == b:
            return value
        return writer.let(f"{'fpext' if source.bits < to.bits else 'fptrunc'} {a} {value} to {b}")
    if to.is_float:
        return writer.let(f"{'sitofp' if source.kind == 'i' else 'uitofp'} {a} {value} to {b}")
    if source.is_float:
        return _float_to_int(writer, source, to, value)
    if a == b:
        return value
    if source.bits > to.bits and source.kind != "b":
        return writer.let(f"trunc {a} {value} to {b}")
    return writer.let(f"{'sext' if source.kind == 'i' else 'zext'} {a} {value} to {b}")


def _float_to_int(writer: FunctionWriter, source: Scalar, to: Scalar, value: str) -> str:
    """Cut off towards zero; what does not fit is some number, but the same one everywhere."""
    a, b = llvm_type(source), llvm_type(to)

    def frozen(text: str, type: str) -> str:
        return writer.let(f"freeze {type} {writer.let(text)}")

    if to.kind == "u" and to.bits == 64:
        signed = frozen(f"fptosi {a} {value} to i64", "i64")
        unsigned = frozen(f"fptoui {a} {value} to i64", "i64")
        test = writer.let(f"fcmp olt {a} {value}, {literal(source, 2.0**63)}")
        return writer.let(f"select i1 {test}, i64 {signed}, i64 {unsigned}")
    if to.bits < 32 or to.kind == "u":
        wide = frozen(f"fptosi {a} {value} to i64", "i64")
        return writer.let(f"trunc i64 {wide} to {b}")
    return frozen(f"fptosi {a} {value} to {b}", b)


def _floordiv(writer: FunctionWriter, op: ir.Op, left: str, right: str) -> str:
    return _divided(writer, op, left, right)[0]


def _mod(writer: FunctionWriter, op: ir.Op, left: str, right: str) -> str:
    return _divided(writer, op, left, right)[1]


def _remainder(writer: FunctionWriter, op: ir.Op, left: str, right: str) -> str:
    """What a division that is cut off leaves; of integers 0 where the divisor is 0 or -1."""
    kind = _scalar(op)
    type, let = llvm_type(kind), writer.let
    if kind.is_float:
        return let(f"frem {type} {left}, {right}")
    # 0 and -1 leave what 1 leaves, and would trap: the latter with the lowest number.
    is_odd = let(f"icmp eq {type} {right}, 0")
    if kind.kind == "i":
        is_odd = let(f"or i1 {is_odd}, {let(f'icmp eq {type} {right}, -1')}")
    divisor = let(f"select i1 {is_odd}, {type} 1, {type} {right}")
    return let(f"{'s' if kind.kind == 'i' else 'u'}rem {type} {left}, {divisor}")


def _divided(writer: FunctionWriter, op: ir.Op, left: str, right: str) -> tuple[str, str]:
    """Quotient and remainder as Python has them: rounded down, with the divisor's sign."""
    kind = _scalar(op)
    type = llvm_type(kind)
    let = writer.let
    if kind.is_float:
        return _divided_floats(writer, kind, left, right)
    if op.site >= 0:
        writer.fail_unless(let(f"icmp ne {type} {right}, 0"), op.site, ())
    is_known = right.lstrip("-").isdigit() and right not in ("0", "-1")
    if kind.kind == "u":
        divisor = right
        if not is_known:
            is_zero = let(f"icmp eq {type} {right}, 0")
            divisor = let(f"select i1 {is_zero}, {type} 1, {type} {right}")
        quotient = let(f"udiv {type} {left}, {divisor}")
        rest = let(f"urem {type} {left}, {divisor}")
        if not is_known:
            quotient = let(f"select i1 {is_zero}, {type} 0, {type} {quotient}")
            rest = let(f"select i1 {is_zero}, {type} 0, {type} {rest}")
        return quotient, rest
    divisor = right
    if not is_known:
        # Division by zero is 0 as in NumPy, and the lowest number by -1 wraps: never a trap.
        is_zero = let(f"icmp eq {type} {right}, 0")
        is_minus = let(f"icmp eq {type} {right}, -1")
        is_odd = let(f"or i1 {is_zero}, {is_minus}")
        divisor = let(f"select i1 {is_odd}, {type} 1, {type} {right}")
    cut = let(f"sdiv {type} {left}, {divisor}")
    over = let(f"srem {type} {left}, {divisor}")
    has_rest = let(f"icmp ne {type} {over}, 0")
    is_across = let(f"icmp slt {type} {let(f'xor {type} {over}, {divisor}')}, 0")
    is_off = let(f"and i1 {has_rest}, {is_across}")
    quotient = let(f"select i1 {is_off}, {type} {let(f'sub {type} {cut}, 1')}, {type} {cut}")
    rest = let(f"select i1 {is_off}, {type} {let(f'add {type} {over}, {divisor}')}, {type} {over}")
    if not is_known:
        turned = let(f"sub {type} 0, {left}")
        quotient = let(f"select i1 {is_minus}, {type} {turned}, {type} {quotient}")
        quotient = let(f"select i1 {is_zero}, {type} 0, {type} {quotient}")
        rest = let(f"select i1 {is_odd}, {type} 0, {type} {rest}")
    return quotient, rest


def _divided_floats(writer: FunctionWriter, kind: Scalar, left: str, right: str) -> tuple[str, str]:
    type, let = llvm_type(kind), writer.let
    zero = literal(kind, 0.0)

    def with_sign_of(value: str) -> str:
        return writer.call(f"llvm.copysign.f{kind.bits}", type, zero, value)

    over = let(f"frem {type} {left}, {right}")
    cut = let(f"fdiv {type} {let(f'fsub {type} {left}, {over}')}, {right}")
    has_rest = let(f"fcmp une {type} {over}, {zero}")
    signs = [let(f"fcmp olt {type} {value}, {zero}") for value in (right, over)]
    differ = let(f"xor i1 {signs[0]}, {signs[1]}")
    is_off = let(f"and i1 {has_rest}, {differ}")
    moved = let(f"select i1 {is_off}, {type} {let(f'fadd {type} {over}, {right}')}, {type} {over}")
    rest = let(f"select i1 {has_rest}, {type} {moved}, {type} {with_sign_of(right)}")
    lower = let(f"fsub {type} {cut}, {literal(kind, 1.0)}")
    cut = let(f"select i1 {is_off}, {type} {lower}, {type} {cut}")
    down = writer.call(f"llvm.floor.f{kind.bits}", type, cut)
    far = let(f"fcmp ogt {type} {let(f'fsub {type} {cut}, {down}')}, {literal(kind, 0.5)}")
    up = let(f"fadd {type} {down}, {literal(kind, 1.0)}")
    near = let(f"select i1 {far}, {type} {up}, {type} {down}")
    plain = let(f"fdiv {type} {left}, {right}")
    small = with_sign_of(plain)
    is_zero = let(f"fcmp oeq {type} {cut}, {zero}")
    quotient = let(f"select i1 {is_zero}, {type} {small}, {type} {near}")
    by_zero = let(f"fcmp oeq {type} {right}, {zero}")
    return let(f"select i1 {by_zero}, {type} {plain}, {type} {quotient}"), rest


def _shift(name: str) -> Callable[..., str]:
    def emit_op(writer: FunctionWriter, op: ir.Op, left: str, right: str) -> str:
        kind = _scalar(op)
        type, let = llvm_type(kind), writer.let
        is_small = let(f"icmp ult {type} {right}, {kind.bits}")
        safe = let(f"select i1 {is_small}, {type} {right}, {type} 0")
        if name == "shl":
            shifted = let(f"shl {type} {left}, {safe}")
            return let(f"select i1 {is_small}, {type} {shifted}, {type} 0")
        if kind.kind == "u":
            shifted = let(f"lshr {type} {left}, {safe}")
            return let(f"select i1 {is_small}, {type} {shifted}, {type} 0")
        most = let(f"select i1 {is_small}, {type} {right}, {type} {kind.bits - 1}")
        return let(f"ashr {type} {left}, {most}")

    return emit_op


def _extreme(name: str) -> Callable[..., str]:
    def emit_op(writer: FunctionWriter, op: ir.Op, left: str, right: str) -> str:
        return combined(writer, name, _scalar(op), left, right)

    return emit_op


def _absolute(writer: FunctionWriter, op: ir.Op, value: str) -> str:
    kind = _scalar(op)
    type = llvm_type(kind)
    if kind.is_float:
        flags = writer.module.flags
        return writer.call(f"llvm.fabs.f{kind.bits}", type, value, flags=flags)
    name = writer.module.declare(f"llvm.abs.i{kind.bits}", type, type, "i1")
    return writer.let(f"call {type} @{name}({type} {value}, i1 false)")


def _class_test(test: str) -> Callable[..., str]:
    def emit_op(writer: FunctionWriter, op: ir.Op, value: str) -> str:
        kind = _scalar(op.args[0])
        type = llvm_type(kind)
        if test == "uno":
            return writer.let(f"fcmp uno {type} {value}, {value}")
        size = writer.call(f"llvm.fabs.f{kind.bits}", type, value)
        return writer.let(f"fcmp {test} {type} {size}, {literal(kind, math.inf)}")

    return emit_op


def _negative(writer: FunctionWriter, op: ir.Op, value: str) -> str:
    type = llvm_type(op.type)
    if isinstance(op.type, Scalar) and op.type.is_float:
        return writer.let(f"fneg{writer.module.flags} {type} {value}")
    return writer.let(f"sub {type} 0, {value}")


def _select(writer: FunctionWriter, op: ir.Op, test: str, left: str, right: str) -> str:
    type = llvm_type(op.type)
    flags = writer.module.flags if type in ("float", "double") else ""
    return writer.let(f"select{flags} i1 {test}, {type} {left}, {type} {right}")


def _count_bits(writer: FunctionWriter, op: ir.Op, value: str) -> str:
    type = llvm_type(op.type)
    return writer.call(f"llvm.ctpop.{type}", type, value)


def _bit_length(writer: FunctionWriter, op: ir.Op, value: str) -> str:
    """How many bits a number has without the zeros before them."""
    type = llvm_type(op.type)
    name = writer.module.declare(f"llvm.ctlz.{type}", type, type, "i1")
    zeros = writer.let(f"call {type} @{name}({type} {value}, i1 false)")
    return writer.let(f"sub {type} {_scalar(op).bits}, {zeros}")


def _ldexp(writer: FunctionWriter, op: ir.Op, value: str, power: str) -> str:
    """A number times a power of two; powers beyond those of an int of C are all alike."""
    type, let, kind = llvm_type(op.type), writer.let, _scalar(op)
    writer.module.declare("llvm.smin.i64", "i64", "i64", "i64")
    writer.module.declare("llvm.smax.i64", "i64", "i64", "i64")
    least = let(f"call i64 @llvm.smin.i64(i64 {power}, i64 100000)")
    short = let(f"trunc i64 {let(f'call i64 @llvm.smax.i64(i64 {least}, i64 -100000)')} to i32")
    name = "ldexp" + ("f" if kind.bits == 32 else "")
    writer.module.declare(name, type, type, "i32")
    return let(f"call {type} @{name}({type} {value}, i32 {short})")


def _frame_address(writer: FunctionWriter, op: ir.Op) -> str:
    """Where on the stack this function is."""
    writer.module.declare("llvm.frameaddress.p0", "ptr", "i32")
    place = writer.let("call ptr @llvm.frameaddress.p0(i32 0)")
    return writer.let(f"ptrtoint ptr {place} to i64")


def _offset(writer: FunctionWriter, op: ir.Op, base: str, bytes_: str) -> str:
    return writer.let(f"getelementptr inbounds i8, ptr {base}, i64 {bytes_}")


def checked_index(
    writer: FunctionWriter,
    index: str,
    extent: Callable[[], str],
    site: int,
    axis: int = 0,
    *,
    wraps: bool,
) -> str:
    """An index, a negative one counted from the end if it wraps; checked if there is a site.

    The extent is only worked out where it is needed.
    """
    place = index
    if wraps and not index.isdigit():
        if index.lstrip("-").isdigit():
            place = writer.let(f"add i64 {extent()}, {index}")
        else:
            is_negative = writer.let(f"icmp slt i64 {index}, 0")
            from_end = writer.let(f"add i64 {index}, {extent()}")
            place = writer.let(f"select i1 {is_negative}, i64 {from_end}, i64 {index}")
    if site >= 0:
        is_inside = writer.let(f"icmp ult i64 {place}, {extent()}")
        writer.fail_unless(is_inside, site, (index, str(axis), extent()))
    return place


def _wrap(writer: FunctionWriter, op: ir.Op, index: str, extent: str) -> str:
    return checked_index(writer, index, lambda: extent, op.site, wraps=True)


def _power(writer: FunctionWriter, op: ir.Op, base: str, exponent: str) -> str:
    """A whole power: by squaring, in a function of its own."""
    type = llvm_type(op.type)
    is_signed = _scalar(op).kind == "i"
    if op.site >= 0:
        writer.fail_unless(writer.let(f"icmp sge {type} {exponent}, 0"), op.site, ())
    name = f"whorl_power_{'' if is_signed else 'u'}{type}"
    if writer.module.begins(name):
        sign = "s" if is_signed else "u"
        text = _POWER.format(name=name, type=type, gt=f"{sign}gt", lt=f"{sign}lt")
        writer.module.functions.append(text)
    return writer.let(f"call {type} @{name}({type} {base}, {type} {exponent})")


_POWER: Final = """define internal {type} @{name}({type} %b, {type} %e) #0 {{
entry:
  br label %head
head:
  %base = phi {type} [ %b, %entry ], [ %square, %body ]
  %left = phi {type} [ %e, %entry ], [ %half, %body ]
  %found = phi {type} [ 1, %entry ], [ %chosen, %body ]
  %more = icmp {gt} {type} %left, 0
  br i1 %more, label %body, label %end
body:
  %odd = trunc {type} %left to i1
  %times = mul {type} %found, %base
  %chosen = select i1 %odd, {type} %times, {type} %found
  %square = mul {type} %base, %base
  %half = lshr {type} %left, 1
  br label %head
end:
  %negative = icmp {lt} {type} %e, 0
  %result = select i1 %negative, {type} 0, {type} %found
  ret {type} %result
}}"""


def iterations_between(writer: FunctionWriter, start: str, stop: str, step: str) -> str:
    """How many iterations a range has, as an unsigned number."""
    if step.lstrip("-").isdigit():
        is_up, size = int(step) > 0, str(abs(int(step)) or 1)
        low, high = (start, stop) if is_up else (stop, start)
        moves = "true" if int(step) else "false"
    else:
        up = writer.let(f"icmp sgt i64 {step}, 0")
        low = writer.let(f"select i1 {up}, i64 {start}, i64 {stop}")
        high = writer.let(f"select i1 {up}, i64 {stop}, i64 {start}")
        down = writer.let(f"sub i64 0, {step}")
        moves = writer.let(f"icmp ne i64 {step}, 0")
        size = writer.let(f"select i1 {up}, i64 {step}, i64 {down}")
        size = writer.let(f"select i1 {moves}, i64 {size}, i64 1")
    span = writer.let(f"sub i64 {high}, {low}")
    whole = writer.let(f"udiv i64 {writer.let(f'sub i64 {span}, 1')}, {size}")
    count = writer.let(f"add i64 {whole}, 1")
    inside = writer.let(f"icmp slt i64 {low}, {high}")
    inside = writer.let(f"and i1 {inside}, {moves}")
    return writer.let(f"select i1 {inside}, i64 {count}, i64 0")


_OPERATIONS: Final[dict[str, Callable[..., str]]] = {
    **{row.operation: _scalar_function(row) for row in SCALAR_FUNCTIONS},
    "abs": _absolute,
    "address": lambda writer, op, base: writer.let(f"ptrtoint ptr {base} to i64"),
    "add": _arithmetic("add"),
    "and": _instruction("and"),
    "cast": _cast,
    "distinct": lambda writer, op, index: index,
    "fdiv": _arithmetic("div"),
    "floordiv": _floordiv,
    "fmod": _remainder,
    "frame_address": _frame_address,
    "inv": lambda writer, op, value: writer.let(f"xor {llvm_type(op.type)} {value}, -1"),
    "ipow": _power,
    "bit_length": _bit_length,
    "count_bits": _count_bits,
    "isfinite": _class_test("olt"),
    "isinf": _class_test("oeq"),
    "isnan": _class_test("uno"),
    "ldexp": _ldexp,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "mod": _mod,
    "mul": _arithmetic("mul"),
    "neg": _negative,
    "null": lambda writer, op: "null",
    "not": lambda writer, op, value: writer.let(f"xor i1 {value}, true"),
    "offset": _offset,
    "or": _instruction("or"),
    "pointer": lambda writer, op, address: writer.let(f"inttoptr i64 {address} to ptr"),
    "select": _select,
    "shl": _shift("shl"),
    "shr": _shift("shr"),
    "sub": _arithmetic("sub"),
    "ult": lambda writer, op, a, b: writer.let(f"icmp ult i64 {a}, {b}"),
    "wrap": _wrap,
    "xor": _instruction("xor"),
    **{name: _compare(name) for name in _COMPARISONS},
}
