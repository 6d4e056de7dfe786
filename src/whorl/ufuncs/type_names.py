"""Signatures of vectorized functions as people write them: `float64(float64, int32)`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

__all__ = ["Signature", "core_extents", "parsed_signature", "signatures_of"]

Signature = tuple[tuple[np.dtype[Any], ...], np.dtype[Any] | None]
"""The dtypes of the inputs, and of the result; None: `void`, or nothing is said about it."""

_SHORT: Final = re.compile(r"([fiuc])(16|32|64|128)")
_KINDS: Final = {"f": "float", "i": "int", "u": "uint", "c": "complex"}
_ARRAY: Final = re.compile(r"\[[:,\s\d]*\]")


def signatures_of(given: Any) -> list[Signature]:
    """The signatures in what was given: a text, a tuple of dtypes, or several of these.

    >>> signatures_of("float64(float64, int32)")
    [((dtype('float64'), dtype('int32')), dtype('float64'))]
    """
    if given is None:
        return []
    if isinstance(given, str):
        return [parsed_signature(given)]
    if isinstance(given, tuple) and given and not isinstance(given[0], (str, tuple)):
        return [(tuple(_dtype(each) for each in given), None)]
    if isinstance(given, Iterable) and not isinstance(given, (bytes, type)):
        return [signature for each in given for signature in signatures_of(each)]
    if hasattr(given, "__whorl_signature_text__"):
        return [parsed_signature(given.__whorl_signature_text__)]
    raise TypeError(
        f"{given!r} is no signature. Write it as text: 'float64(float64, int32)', or give a list "
        "of such texts."
    )


def parsed_signature(text: str) -> Signature:
    """The dtypes in a text.

    >>> parsed_signature("void(f64[:], f64[:])")
    ((dtype('float64'), dtype('float64')), None)
    """
    plain = _ARRAY.sub("", text)
    match = re.fullmatch(r"\s*([\w.]*)\s*\(([\w\s,.]*)\)\s*", plain)
    if match is None:
        raise ValueError(
            f"{text!r} is no signature. Write the type of the result, then those of the arguments "
            "in parentheses: 'float64(float64, int32)'."
        )
    result, inputs = match.groups()
    names = [name.strip() for name in inputs.split(",") if name.strip()]
    if not names:
        raise ValueError(f"{text!r} has no arguments: a ufunc has one at least")
    return tuple(_dtype(name) for name in names), (
        None if result in ("", "void", "none") else _dtype(result)
    )


def _dtype(given: Any) -> np.dtype[Any]:
    name = given
    if isinstance(given, str):
        if given in ("i8", "u8"):
            raise ValueError(
                f"{given!r} is eight bits to some and eight bytes to others. Write int8 or int64."
            )
        short = _SHORT.fullmatch(given)
        name = _KINDS[short[1]] + short[2] if short else {"boolean": "bool"}.get(given, given)
    try:
        dtype: np.dtype[Any] = np.dtype(name)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in "biufc" or dtype.itemsize > 16 or dtype.char in "egG":
        raise ValueError(
            f"{given!r} is no type of numbers that kernels know. They know bool, int8 to int64, "
            "uint8 to uint64, float32, float64, complex64 and complex128."
        )
    return dtype


def core_extents(text: str) -> tuple[list[tuple[str, ...]], int]:
    """The extents that each operand names in a layout such as `(m,n),(n)->(m)`, and how many
    operands are inputs.

    >>> core_extents("(m,n),(n)->(m)")
    ([('m', 'n'), ('n',), ('m',)], 2)
    """
    plain = re.sub(r"\s", "", text) if isinstance(text, str) else ""
    operand = r"\((?:\w+(?:,\w+)*)?\)"
    many = rf"{operand}(?:,{operand})*"
    if not re.fullmatch(rf"{many}->(?:{many})?", plain):
        raise ValueError(
            f"{text!r} is no layout of operands. Write the extents of each one, those of the "
            "inputs before the arrow: '(m,n),(n)->(m)'."
        )
    inputs, outputs = plain.split("->")
    sides = [
        [tuple(filter(None, each[1:-1].split(","))) for each in re.findall(operand, side)]
        for side in (inputs, outputs)
    ]
    return sides[0] + sides[1], len(sides[0])
