"""The text of a function of C around a kernel, for LLVM: arguments into a launch record, and back.

The kernel's own text is in the same module, so LLVM sees through the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from whorl.artifacts import Artifact
from whorl.launch.launch_record import ENTRY, FIRST_SLOT, offsets
from whorl.launch.plain_launch import slots_from, unpacked
from whorl.launch.slot_types import ArrayType, Scalar

__all__ = ["C_ENTRY", "entry_text"]

C_ENTRY: Final = "whorl_c_entry"
_NO_END: Final = 1 << 60
"""The extent of an array of which only the address is known."""


def entry_text(
    artifact: Artifact, parameters: Sequence[np.dtype[Any] | None], result: np.dtype[Any] | None
) -> str:
    """The text of a module; a parameter is a number of a dtype, or an address: None."""
    described = artifact.metadata
    slots = slots_from(described["slots"])
    first, results = offsets([type for _, type in slots])
    words = max(results + 1, FIRST_SLOT)
    lines = [
        f"  %record = alloca [{words} x i64], align 16",
        f"  store [{words} x i64] zeroinitializer, ptr %record",
        "  store i64 1, ptr %record",
    ]
    order = list(described["parameters"])
    for (path, type), word in zip(slots, first, strict=True):
        number = order.index(path.name)
        if isinstance(type, ArrayType):
            lines += [*_place(word), f"  store ptr %a{number}, ptr %w{word}"]
            lines += [*_place(word + 1), f"  store i64 {_NO_END}, ptr %w{word + 1}"]
        else:
            dtype = parameters[number]
            assert dtype is not None
            lines += [*_place(word), *_stored(number, dtype, type, word)]
    lines.append(f"  call void @{ENTRY}(ptr %record)")
    lines += _returned(described["result"], result, results)
    declared = ", ".join(f"{_parameter(each)} %a{i}" for i, each in enumerate(parameters))
    head = f"define {'void' if result is None else _llvm(result)} @{C_ENTRY}({declared}) {{"
    own = unpacked(artifact, "llvm").decode()
    return "\n".join([own, "", head, *lines, "}", ""])


def _place(word: int) -> list[str]:
    return [f"  %w{word} = getelementptr i64, ptr %record, i64 {word}"]


def _llvm(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "f":
        return "float" if dtype.itemsize == 4 else "double"
    return "i8" if dtype.kind == "b" else f"i{8 * dtype.itemsize}"


def _parameter(dtype: np.dtype[Any] | None) -> str:
    if dtype is None:
        return "ptr"
    is_small = dtype.kind != "f" and dtype.itemsize < 4
    extension = (" signext" if dtype.kind == "i" else " zeroext") if is_small else ""
    return f"{_llvm(dtype)}{extension}"


def _stored(number: int, dtype: np.dtype[Any], type: Scalar, word: int) -> list[str]:
    """A number in its word: integers fill it."""
    if dtype.kind == "f" or dtype.itemsize == 8:
        return [f"  store {_llvm(dtype)} %a{number}, ptr %w{word}"]
    extend = "sext" if dtype.kind == "i" else "zext"
    wide = f"  %e{number} = {extend} {_llvm(dtype)} %a{number} to i64"
    return [wide, f"  store i64 %e{number}, ptr %w{word}"]


def _returned(plain: Any, result: np.dtype[Any] | None, word: int) -> list[str]:
    """The result of the kernel as the type that C is told."""
    if result is None:
        return ["  ret void"]
    _, kind, bits = plain
    given = np.dtype("?" if kind == "b" else f"{kind}{bits // 8}")
    lines = [
        f"  %r = getelementptr i64, ptr %record, i64 {word}",
        f"  %v = load {_llvm(given)}, ptr %r",
    ]
    cast = _cast(given, result)
    if cast is None:
        return [*lines, f"  ret {_llvm(result)} %v"]
    return [
        *lines,
        f"  %c = {cast} {_llvm(given)} %v to {_llvm(result)}",
        f"  ret {_llvm(result)} %c",
    ]


def _cast(given: np.dtype[Any], result: np.dtype[Any]) -> str | None:
    """The instruction that turns one type of numbers into another; None if there is no need."""
    if _llvm(given) == _llvm(result):
        return None
    if given.kind == "f" and result.kind == "f":
        return "fptrunc" if result.itemsize < given.itemsize else "fpext"
    if result.kind == "f":
        return "sitofp" if given.kind == "i" else "uitofp"
    if given.kind == "f":
        return "fptosi" if result.kind == "i" else "fptoui"
    if result.itemsize < given.itemsize:
        return "trunc"
    return "sext" if given.kind == "i" else "zext"
