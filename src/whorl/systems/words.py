"""Numbers of the machine, as Python objects: integers that wrap, and floats.

An operator takes two numbers of one type, or one and a plain `int` such as a literal. Anything else
is a `TypeError` here and an error where the function is compiled: nothing is converted unasked.

>>> u64(2**64 - 1) + 1, u64(1) - 2 == 2**64 - 1, i8(200)
(u64(0), True, i8(-56))
>>> u64(1) + u32(1)
Traceback (most recent call last):
TypeError: u64 and u32: convert one of them
"""

from __future__ import annotations

from typing import ClassVar, Self

__all__ = ["Float", "Word", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]


class Word(int):
    """An integer of so many bits. An address is a `u64`."""

    __slots__ = ()
    bits: ClassVar[int]
    is_signed: ClassVar[bool] = False

    def __new__(cls, value: float = 0) -> Self:
        """A number as this type: what does not fit is cut off."""
        number = int(value) & ((1 << cls.bits) - 1)
        if cls.is_signed and number >> (cls.bits - 1):
            number -= 1 << cls.bits
        return int.__new__(cls, number)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"

    def _as(self, other: int) -> int:
        if type(other) is type(self) or type(other) is int:
            return int(other)
        mine, theirs = type(self).__name__, type(other).__name__
        raise TypeError(f"{mine} and {theirs}: convert one of them")

    def __add__(self, other: int) -> Self:
        return type(self)(int(self) + self._as(other))

    def __sub__(self, other: int) -> Self:
        return type(self)(int(self) - self._as(other))

    def __rsub__(self, other: int) -> Self:
        return type(self)(self._as(other) - int(self))

    def __mul__(self, other: int) -> Self:
        return type(self)(int(self) * self._as(other))

    def __and__(self, other: int) -> Self:
        return type(self)(int(self) & self._as(other))

    def __or__(self, other: int) -> Self:
        return type(self)(int(self) | self._as(other))

    def __xor__(self, other: int) -> Self:
        return type(self)(int(self) ^ self._as(other))

    def __lshift__(self, other: int) -> Self:
        return type(self)(int(self) << self._as(other))

    def __rshift__(self, other: int) -> Self:
        return type(self)(int(self) >> self._as(other))

    def __rlshift__(self, other: int) -> Self:
        return type(self)(self._as(other) << int(self))

    __radd__, __rmul__ = __add__, __mul__


class u8(Word):  # as the types of kernels are called, here and below
    """Eight bits."""

    bits = 8


class u16(Word):
    """16 bits."""

    bits = 16


class u32(Word):
    """32 bits."""

    bits = 32


class u64(Word):
    """64 bits: a machine word, an address."""

    bits = 64


class i8(Word):
    """Eight bits, with a sign."""

    bits, is_signed = 8, True


class i16(Word):
    """16 bits, with a sign."""

    bits, is_signed = 16, True


class i32(Word):
    """32 bits, with a sign."""

    bits, is_signed = 32, True


class i64(Word):
    """64 bits, with a sign."""

    bits, is_signed = 64, True


class Float(float):
    """A float of so many bits."""

    __slots__ = ()
    bits: ClassVar[int]


class f32(Float):
    """A float of 32 bits."""

    bits = 32


class f64(Float):
    """A float of 64 bits."""

    bits = 64
