"""The parts of a loaded kernel in, a callable out that packs the launch record.

The callable is generated. It reads each slot by the path the compile found it at, and calls
another one with the values: that packs the record, calls the machine code, and unpacks the
results. The second can be a builtin function that does the same; see `packing`.
"""

from __future__ import annotations

import ctypes
import struct
import types
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from whorl.late import replace
from whorl.lazy import importing
from whorl.reads import Path, World
from whorl.reads.operations import walk
from whorl.reads.trace import Plain

from .launch import RESULTS, Changed, Parts, entry_of, fits, names_of, record_of
from .raised import not_packed
from .record import CHECKPOINT, STATUS, offsets, words_of
from .runtime import parallel_address, thread_count
from .types import ArrayType, Scalar

__all__ = ["generated", "reading"]

_PYTHON: Final = {"b": bool, "i": int, "f": float}
_C, _F, _ALIGNED, _WRITEABLE = 0x001, 0x002, 0x100, 0x400  # flags of an array, as numbers
_LAYOUTS: Final = {"C": (_C, _C), "F": (_C | _F, _F), "strided": (_C | _F, 0)}


def generated(parts: Parts, function: types.FunctionType) -> tuple[Callable[..., Any], Parts]:
    """A callable with the arguments of a kernel's function, and its parts with what was made."""
    names = names_of(function)
    scope = _scope(parts, function, names)
    if parts.checkpoints is not None:
        exec(_source_with_checkpoints(parts, names, scope), scope)
        return scope["launch"], parts
    exec(_source(parts), scope)
    parts = replace(parts, from_slots=scope["launch"])
    return reading(parts, function, scope["launch"]), parts


def reading(
    parts: Parts, function: types.FunctionType, launch: Callable[..., Any]
) -> Callable[..., Any]:
    """A callable with a kernel's arguments, of one with the values of its slots."""
    names = names_of(function)
    given = _given(names)
    scope: dict[str, Any] = {
        "launch": launch,
        "find": lambda path: World(function, {}).find(path),
        "kept": parts,
    }
    slots = [_reading(path, names, scope, f"s{i}") for i, (path, _) in enumerate(parts.slots)]
    if slots == given:
        return launch
    lines = [
        f"def read({', '.join(given)}):",
        *_reads(parts, slots, scope),
        f"    return launch({', '.join(_slots(parts))})",
    ]
    exec("\n".join(lines), scope)
    made: Callable[..., Any] = scope["read"]
    return made


def _given(names: tuple[str, ...]) -> list[str]:
    """What a kernel's arguments are called in the text."""
    return [f"p{i}" for i in range(len(names))]


def _scope(parts: Parts, function: types.FunctionType, names: tuple[str, ...]) -> dict[str, Any]:
    """What the generated callable uses."""
    results, build = _unpacking(parts.result)
    head = record_of(parts, results)
    return {
        "pack": head.pack,
        "unpack": struct.Struct("<" + "".join(results)).unpack_from,
        "buffer": (ctypes.c_char * head.size).from_buffer_copy,
        "entry": entry_of(parts),
        "threads": thread_count,
        "parallel": parallel_address,
        "printer": parts.printer,
        "failed": parts.failed,
        "not_packed": partial(not_packed, parts.slots),
        "build": build,
        "struct_error": struct.error,
        "addressof": ctypes.addressof,
        "beginning": (ctypes.c_char * 0).from_buffer,
        "find": lambda path: World(function, {}).find(path),
        "number": struct.Struct("<q").unpack_from,
        "ended": lambda number, values: _ended(
            parts.checkpoints, number, World(function, dict(zip(names, values, strict=True)))
        ),
        "kept": parts,
    }


def _ended(checkpoints: Plain, number: int, world: World) -> Any:
    with importing:
        from .labels import status_of

    return status_of(checkpoints, number, world)


def _source(parts: Parts) -> str:
    """The text of the callable with the values of all slots: pack, enter, unpack."""
    _, results = offsets([type for _, type in parts.slots])
    slots = _slots(parts)
    lines = [f"def launch({', '.join(slots)}):", *_entering(parts, "0")]
    if parts.result is not None:
        lines.append(f"    return build(unpack(packed, {results * 8}))")
    return "\n".join(lines)


def _source_with_checkpoints(parts: Parts, names: tuple[str, ...], scope: dict[str, Any]) -> str:
    """The text of a callable that says where it has ended, and can begin at a checkpoint."""
    given = _given(names)
    values = "".join(f"{name}, " for name in given)
    slots = [_reading(path, names, scope, f"s{i}") for i, (path, _) in enumerate(parts.slots)]
    lines = [
        f"def launch({', '.join((*given, 'start=0'))}):",
        *_reads(parts, slots, scope),
        *_entering(parts, "start"),
        f"    return ended(number(packed, {CHECKPOINT * 8})[0], ({values}))",
    ]
    return "\n".join(lines)


def _slots(parts: Parts) -> list[str]:
    """What the values of a kernel's slots are called in the text."""
    return [f"s{i}" for i in range(len(parts.slots))]


def _entering(parts: Parts, begin: str) -> list[str]:
    """The lines that pack the record of all slots, enter the kernel, and raise if it failed."""
    slots = _slots(parts)
    words = [
        _words(name, type, is_lean=number in parts.lean)
        for number, (name, (_, type)) in enumerate(zip(slots, parts.slots, strict=True))
    ]
    outside = "threads(), parallel()" if parts.is_parallel else "1, 0"
    record = ", ".join((f"{outside}, printer, 0, 0, 0, 0, {begin}", *words))
    lines = [
        "    try:",
        f"        packed = buffer(pack({record}))",
        "    except struct_error as error:",
        f"        not_packed(error, ({''.join(f'{name}, ' for name in slots)}))",
        "    entry(packed)",
    ]
    if parts.can_fail:
        status = f"packed[{STATUS * 8} : {STATUS * 8 + 32}]"
        lines += [f"    if any({status}[:8]):", f"        failed({status})"]
    return lines


def _reading(path: Path, names: tuple[str, ...], scope: dict[str, Any], name: str) -> str:
    """The expression that reads a slot; what it needs goes into the scope."""
    if path.root == "arg":
        text = f"p{names.index(path.name)}"
        for step in path.steps:
            if step.operation == "attr" and step.name.isidentifier():
                text += f".{step.name}"
            elif step.operation == "item" and isinstance(step.name, int | str):
                text += f"[{step.name!r}]"
            else:
                break
        else:
            return text
        scope[f"path_{name}"] = path
        scope["walk"] = _walk
        return f"walk(path_{name}, p{names.index(path.name)})"
    scope[f"path_{name}"] = path
    return f"find(path_{name})"


def _reads(parts: Parts, slots: list[str], scope: dict[str, Any]) -> list[str]:
    """The lines that read all slots, and look whether each is what the code was compiled for.

    What a call reads was looked at to find the code, and is read again here. A property may say
    something else now, and another thread may have bound something else; an argument stays.
    """
    lines = []
    for number, (text, (path, type)) in enumerate(zip(slots, parts.slots, strict=True)):
        name = f"s{number}"
        lines.append(f"    {name} = {text}")
        if path.steps or path.root != "arg":
            scope.update(ndarray=np.ndarray, fits=fits, Changed=Changed)
            scope.update({f"path_{name}": path, f"type_{name}": type})
            quick = _fits_quickly(name, type, scope)
            lines.append(f"    if not ({quick}) and not fits({name}, type_{name}):")
            lines.append(f"        raise Changed(path_{name})")
    return lines


def _fits_quickly(name: str, type: Scalar | ArrayType, scope: dict[str, Any]) -> str:
    """The expression that says of what is usual whether it is of a slot's type."""
    if isinstance(type, Scalar):
        scope[f"class_{name}"] = _PYTHON[type.kind] if type.weak else type.dtype.type
        return f"type({name}) is class_{name}"
    scope[f"dtype_{name}"] = type.element.dtype
    mask, bits = _LAYOUTS[type.layout]
    mask, bits = mask | _ALIGNED | _WRITEABLE, bits | _ALIGNED | _WRITEABLE * type.writeable
    return (
        f"type({name}) is ndarray and {name}.dtype is dtype_{name} and {name}.ndim == {type.ndim}"
        f" and {name}.flags.num & {mask} == {bits}"
    )


def _walk(path: Path, value: Any) -> Any:
    for step in path.steps:
        value = walk(value, step)
    return value


def _words(name: str, type: Scalar | ArrayType, *, is_lean: bool) -> str:
    if isinstance(type, Scalar):
        return name
    # A buffer that can be written says where it is at a quarter of the cost.
    is_buffer = type.layout == "C" and type.writeable
    parts = [f"addressof(beginning({name}))" if is_buffer else f"{name}.ctypes.data"]
    if is_lean:
        return ", ".join([*parts, *["0"] * (words_of(type) - 1)])
    if type.ndim:
        parts.append(f"*{name}.shape")
    if type.has_strides:
        parts.append(f"*{name}.strides")
    return ", ".join(parts)


def _unpacking(result: Plain) -> tuple[list[str], Callable[[tuple[Any, ...]], Any]]:
    """The formats of the results, and what builds them from the unpacked numbers."""
    formats: list[str] = []

    def plan(part: Plain) -> str:
        if part is None:
            return "None"
        if part[0] == "tuple":
            return f"({''.join(plan(inner) + ', ' for inner in part[1])})"
        formats.append(RESULTS[part[1], part[2]])
        return f"r[{len(formats) - 1}]"

    made: Callable[[tuple[Any, ...]], Any] = eval(f"lambda r: {plan(result)}")
    return formats, made
