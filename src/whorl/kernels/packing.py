"""A loaded kernel in, a builtin function out that packs its record and launches it.

It takes the place of the generated Python function once a specialization has been called a few
times: calls that are checked in Python, because they pass arguments by keyword or read what no
table checks, are launched by it. It asks objects through the documented C API only, so it is there
where a native launch is not.
"""

from __future__ import annotations

import ctypes
import types
from collections.abc import Callable
from typing import Any

from whorl.launch.members import BARE
from whorl.launch.packed import packed_function, plan_of
from whorl.launch.table import NotNative, result_words

from .generated import reading
from .launch import Parts
from .record import offsets
from .types import ArrayType, Scalar

__all__ = ["packed_launch", "result_plan"]


def packed_launch(
    parts: Parts, function: types.FunctionType, python: Callable[..., Any], address: int, api: Any
) -> Callable[..., Any]:
    """A callable like `python`, which launches from a kernel's arguments; that one, if need be."""
    if parts.from_slots is None or parts.is_parallel:
        return python  # it resumes; how many threads there are is asked at every launch
    first, results = offsets([type for _, type in parts.slots])
    try:
        count, plan = result_plan(parts.result, results)
    except NotNative:
        return python
    slots = [
        (*_slot(type, is_lean=number in parts.lean), word)
        for number, ((_, type), word) in enumerate(zip(parts.slots, first, strict=True))
    ]
    built = result_words(plan)
    words = plan_of(
        ctypes.addressof(api),
        id(parts.from_slots),
        parts.address,
        releases=parts.releases,
        failed=id(parts.failed),
        results=ctypes.addressof(built),
        words=results + max(1, count),
        template=(1, 0, parts.printer, 0, 0, 0, 0, 0),
        slots=[(kind, word, ndim, extents) for kind, ndim, extents, word in slots],
    )
    packed = packed_function(address, words, built, api, parts)
    return reading(parts, function, packed)


def _slot(type: Scalar | ArrayType, *, is_lean: bool) -> tuple[str, int, int]:
    """The kind of a slot, the dimensions of an array and what of it is put down."""
    if isinstance(type, ArrayType):
        return "array", type.ndim, BARE if is_lean else int(type.has_strides)
    match type.kind, type.bits:
        case "f", 32:
            return "float", 0, 0
        case "f", _:
            return "double", 0, 0
        case "b", _:
            return "bool", 0, 0
        case "u", 64:
            return "unsigned", 0, 0
    return "int", 0, 0


def result_plan(result: Any, word: int) -> tuple[int, Any]:
    """How many words the results take, and what each is; `NotNative` for what is not made so."""
    if result is None:
        return 0, None
    if result[0] == "number":
        return 1, (result[1], result[2], word)
    plan = []
    for i, part in enumerate(result[1]):
        if part is None or part[0] != "number":
            raise NotNative("it returns tuples in tuples")
        plan.append((part[1], part[2], word + i))
    if not plan:
        raise NotNative("it returns an empty tuple")
    return len(plan), tuple(plan)
