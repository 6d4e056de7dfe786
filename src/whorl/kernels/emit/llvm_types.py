"""Types, numbers and function attributes as LLVM's text spells them."""

from __future__ import annotations

import math
import struct
from typing import Final

from whorl.kernels.types import Pointer, Scalar, Type, VectorType

__all__ = ["ALONE", "INLINED", "ONCE", "literal", "llvm_type", "memory_type"]

INLINED: Final = "#0"  # the attributes of most functions, which `machine` defines
ALONE: Final = "#1"  # of functions that are never inlined
ONCE: Final = "noinline optnone nounwind"  # of functions that run too seldom to be optimised


def llvm_type(type: Type) -> str:
    """The type of a value in a register."""
    match type:
        case Scalar("b"):
            return "i1"
        case Scalar("f", bits):
            return "float" if bits == 32 else "double"
        case Scalar("c"):
            part = llvm_type(type.part)
            return f"{{ {part}, {part} }}"
        case Scalar(_, bits):
            return f"i{bits}"
        case Pointer():
            return "ptr"
        case VectorType(element):
            return f"[{type.size} x {memory_type(element)}]"
    raise AssertionError(type)


def memory_type(type: Scalar) -> str:
    """The type of a number in memory: a bool is a byte there."""
    return "i8" if type.kind == "b" else llvm_type(type)


def literal(type: Scalar, value: complex) -> str:
    """A constant: floats by their bits, complex numbers by their parts."""
    if type.is_complex:
        part = type.part
        parts = (value.real, value.imag)
        text = ", ".join(f"{llvm_type(part)} {literal(part, each)}" for each in parts)
        return f"{{ {text} }}"
    assert not isinstance(value, complex)
    if type.kind == "b":
        return "true" if value else "false"
    if not type.is_float:
        return str(int(value))
    if type.bits == 32 and math.isfinite(value):
        value = struct.unpack("f", struct.pack("f", value))[0]
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"
