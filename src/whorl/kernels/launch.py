"""An artifact and the function it was made of in, a callable out that packs the launch record.

The callable is generated: one line per slot. It reads each slot by the path the compile found
it at, packs the record, calls the machine code, and unpacks the results.
"""

from __future__ import annotations

import builtins
import ctypes
import struct
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from whorl.artifacts import Artifact
from whorl.launch import Image, Unmappable, map_image
from whorl.reads import Path, Step, World
from whorl.reads.trace import Plain

from .machine import load_object
from .record import ENTRY, STATUS, offsets
from .runtime import parallel_address, thread_count
from .types import ArrayType, Scalar

__all__ = ["Parts", "launcher", "plain_slots", "slots_from"]

PRINTER: Final = ctypes.CFUNCTYPE(
    None, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a native launch needs of a loaded kernel."""

    address: int
    slots: list[tuple[Path, Scalar | ArrayType]]
    result: Plain
    printer: int
    failed: Callable[[bytes], None]
    is_parallel: bool
    releases: bool
    kept: object  # the code and the printer, as long as they are needed


# -- slots as plain data ----------------------------------------------------------------


def plain_type(type: Scalar | ArrayType) -> Plain:
    """A slot's type as plain data."""
    if isinstance(type, Scalar):
        return (type.kind, type.bits, type.weak)
    return (plain_type(type.element), type.ndim, type.layout, type.writeable)


def type_from(plain: Plain) -> Scalar | ArrayType:
    """A slot's type from plain data."""
    if isinstance(plain[0], str):
        return Scalar(*plain)
    element = type_from(plain[0])
    assert isinstance(element, Scalar)
    return ArrayType(element, *plain[1:])


def plain_slots(paths: tuple[Path, ...], kinds: list[Scalar | ArrayType]) -> Plain:
    """Where slots are found and what they are, as plain data."""
    return tuple(
        (path.root, path.name, tuple((step.operation, step.name) for step in path.steps),
         plain_type(type))
        for path, type in zip(paths, kinds, strict=True)
    )  # fmt: skip


def slots_from(plain: Plain) -> list[tuple[Path, Scalar | ArrayType]]:
    """Slots from plain data."""
    return [
        (Path(root, name, tuple(Step(*step) for step in steps)), type_from(type))
        for root, name, steps, type in plain
    ]


# -- the callable -----------------------------------------------------------------------


def launcher(artifact: Artifact, function: types.FunctionType, level: str) -> Callable[..., Any]:
    """Load the machine code of an artifact, and make it callable with the function's arguments."""
    told = artifact.metadata
    address, engine = _loaded(artifact, level)
    slots = slots_from(told["slots"])
    prototype = ctypes.CFUNCTYPE if told["nogil"] or told["prints"] else ctypes.PYFUNCTYPE
    entry = prototype(None, ctypes.c_void_p)(address)
    sites = told["sites"]
    printer = PRINTER(lambda site, count, values: _print(sites[site], values))
    _, results = offsets([type for _, type in slots])
    formats = "".join(_format(type) for _, type in slots)
    out, build = _unpacking(told["result"])
    head = struct.Struct("<8q" + formats + "8x" * out.count)
    tail = struct.Struct("<" + out.formats)
    scope: dict[str, Any] = {
        "pack": head.pack,
        "unpack": tail.unpack_from,
        "buffer": (ctypes.c_char * head.size).from_buffer_copy,
        "entry": entry,
        "threads": thread_count if told["parallel"] else _one,
        "parallel": parallel_address if told["parallel"] else _zero,
        "printer": ctypes.cast(printer, ctypes.c_void_p).value or 0,
        "failed": lambda buffer: _raise(sites, buffer),
        "not_packed": lambda error, values: _not_packed(error, slots, values),
        "build": build,
        "struct_error": struct.error,
        "find": lambda path: World(function, {}).find(path),
        "engine": (engine, printer),
    }
    names = function.__code__.co_varnames[
        : function.__code__.co_argcount + function.__code__.co_kwonlyargcount
    ]
    parameters = [f"p{i}" for i in range(len(names))]
    lines = [f"def launch({', '.join(parameters)}):"]
    words = []
    for i, (path, type) in enumerate(slots):
        lines.append(f"    s{i} = {_reading(path, names, scope, i)}")
        words.append(_words(f"s{i}", type))
    lines += [
        "    try:",
        "        packed = buffer(pack(threads(), parallel(), printer, 0, 0, 0, 0, 0, "
        + "".join(f"{word}, " for word in words)
        + "))",
        "    except struct_error as error:",
        f"        not_packed(error, ({''.join(f's{i}, ' for i in range(len(slots)))}))",
        "    entry(packed)",
    ]
    if sites:
        lines += [f"    if any(packed[{STATUS * 8} : {STATUS * 8 + 8}]):", "        failed(packed)"]
    if out.count:
        lines.append(f"    return build(unpack(packed, {results * 8}))")
    elif told["result"] is not None:
        lines.append("    return build(())")
    exec("\n".join(lines), scope)
    made = scope["launch"]
    made.parts = Parts(
        address, slots, told["result"], scope["printer"], partial(_raise_status, sites),
        told["parallel"], told["nogil"] or told["prints"], (engine, printer),
    )  # fmt: skip
    launch: Callable[..., Any] = made
    return launch


def _loaded(artifact: Artifact, level: str) -> tuple[int, object]:
    """The address of a kernel's code, and what keeps it in memory: mapped, or loaded by LLVM."""
    plain = artifact.metadata.get("image")
    if plain is not None:
        try:
            mapped = map_image(Image.from_plain(bytes(artifact.payloads["image"]), plain))
        except Unmappable:
            pass
        else:
            return mapped.addresses[ENTRY], mapped
    return load_object(bytes(artifact.payloads["object"]), ENTRY, level)


def _one() -> int:
    return 1


def _zero() -> int:
    return 0


def _reading(path: Path, names: tuple[str, ...], scope: dict[str, Any], number: int) -> str:
    """The expression that reads a slot."""
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
        scope[f"path{number}"] = path
        scope[f"root{number}"] = Path(path.root, path.name)
        scope["walk"] = _walk
        return f"walk(path{number}, p{names.index(path.name)})"
    scope[f"path{number}"] = path
    return f"find(path{number})"


def _walk(path: Path, value: Any) -> Any:
    from whorl.reads.world import walk

    for step in path.steps:
        value = walk(value, step)
    return value


def _words(name: str, type: Scalar | ArrayType) -> str:
    if isinstance(type, Scalar):
        return name
    parts = [f"{name}.ctypes.data"]
    if type.ndim:
        parts.append(f"*{name}.shape")
    if type.layout not in ("C", "F"):
        parts.append(f"*{name}.strides")
    return ", ".join(parts)


def _format(type: Scalar | ArrayType) -> str:
    if isinstance(type, ArrayType):
        strides = type.ndim if type.layout not in ("C", "F") else 0
        return "q" * (1 + type.ndim + strides)
    return {
        ("f", 64): "d", ("f", 32): "f4x", ("b", 8): "?7x", ("u", 64): "Q",
    }.get((type.kind, type.bits), "q")  # fmt: skip


class _Out:
    """How results are unpacked."""

    def __init__(self) -> None:
        self.formats = ""
        self.count = 0


def _unpacking(result: Plain) -> tuple[_Out, Callable[[tuple[Any, ...]], Any]]:
    """The format of the results, and what builds them from the unpacked numbers."""
    out = _Out()

    def plan(part: Plain) -> str:
        if part is None:
            return "None"
        if part[0] == "tuple":
            return f"({''.join(plan(inner) + ', ' for inner in part[1])})"
        kind, bits = part[1], part[2]
        out.formats += {"f": {32: "f4x", 64: "d"}.get(bits, ""), "b": "?7x"}.get(kind, "") or (
            {8: "b7x", 16: "h6x", 32: "i4x", 64: "q"}[bits].upper().replace("X", "x")
            if kind == "u"
            else {8: "b7x", 16: "h6x", 32: "i4x", 64: "q"}[bits]
        )
        out.count += 1
        return f"r[{out.count - 1}]"

    text = plan(result)
    made: Callable[[tuple[Any, ...]], Any] = eval(f"lambda r: {text}")
    return out, made


# -- what goes wrong, and what prints ---------------------------------------------------


def _not_packed(error: Exception, slots: list[Any], values: tuple[Any, ...]) -> None:
    for (path, type), value in zip(slots, values, strict=True):
        if isinstance(type, Scalar):
            try:
                struct.pack("<" + _format(type), value)
            except struct.error:
                raise OverflowError(
                    f"{path} is {value!r}, which does not fit into {type.bits} bits"
                ) from None
    raise error


def _number(type: Plain, bits: int) -> Any:
    kind, size, _ = type
    raw = struct.pack("<q", bits)
    if kind == "f":
        return struct.unpack_from("<d" if size == 64 else "<f", raw)[0]
    if kind == "b":
        return bool(bits & 0xFF)
    return int.from_bytes(raw[: size // 8], "little", signed=kind == "i")


def _print(site: Plain, values: Any) -> None:
    _, text, _, types = site
    print(text.format(*(_number(type, values[i]) for i, type in enumerate(types))))


def _raise(sites: Plain, buffer: Any) -> None:
    _raise_status(sites, bytes(buffer)[STATUS * 8 : STATUS * 8 + 32])


def _raise_status(sites: Plain, status: bytes) -> None:
    """Raise what the status words of a launch say."""
    number, *values = struct.unpack("<4q", status)
    error, text, line, _ = sites[number - 1]
    raise getattr(builtins, error)(f"{text.format(*values)}\n  at {line}")
