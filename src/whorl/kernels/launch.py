"""An artifact and the function it was made of in, a callable out that packs the launch record.

The callable is generated. It reads each slot by the path the compile found it at, and calls
another one with the values: that packs the record, calls the machine code, and unpacks the
results. The second can be a builtin function that does the same; see `packing`.
"""

from __future__ import annotations

import builtins
import ctypes
import struct
import types
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np

from whorl.artifacts import Artifact
from whorl.late import dataclass, replace
from whorl.launch import Image, Unmappable, map_image
from whorl.reads import Path, Step, World
from whorl.reads.trace import Plain

from .machine import load_object
from .record import CHECKPOINT, ENTRY, STATUS, offsets, words_of
from .runtime import parallel_address, thread_count
from .types import ArrayType, Scalar, is_scalar_value, scalar_of_value

if TYPE_CHECKING:
    from whorl.errors import KernelError

__all__ = [
    "RESULTS", "TRIES", "Changed", "Parts", "entry_of", "fits", "generated", "names_of",
    "never_the_same", "not_packed", "parts_of", "plain_slots", "reading", "record_of",
    "slots_from",
]  # fmt: skip

PRINTER: Final = ctypes.CFUNCTYPE(
    None, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)
)

_PYTHON: Final = {"b": bool, "i": int, "f": float}
_C, _F, _ALIGNED, _WRITEABLE = 0x001, 0x002, 0x100, 0x400  # flags of an array, as numbers
_LAYOUTS: Final = {"C": (_C, _C), "F": (_C | _F, _F), "strided": (_C | _F, 0)}


class Changed(Exception):
    """What is at a path has changed between two looks at it: the call has to begin again."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


TRIES: Final = 20  # of a call, while what it reads changes


def never_the_same(kernel: str, path: Path) -> KernelError:
    """What to say of a call that has been begun again too often."""
    from whorl.errors import KernelError

    return KernelError(
        f"{kernel} is not launched: {path} is of another type each time it is read",
        "Read it once, and pass what it is as an argument.",
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
    lean: frozenset[int]  # the slots of arrays whose extents are not used
    checkpoints: Plain  # their labels; None if it has none, not even in static branches
    can_fail: bool
    kept: object  # the code and the printer, as long as they are needed
    from_slots: Callable[..., Any] | None = None  # launches with the values of all slots


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


def parts_of(artifact: Artifact, level: str) -> Parts:
    """An artifact loaded."""
    told = artifact.metadata
    address, engine = _loaded(artifact, level)
    sites = told["sites"]
    printer = PRINTER(lambda site, count, values: _print(sites[site], values))
    return Parts(
        address,
        slots_from(told["slots"]),
        told["result"],
        ctypes.cast(printer, ctypes.c_void_p).value or 0,
        partial(_raise, sites),
        told["parallel"],
        told["nogil"] or told["prints"],
        frozenset(told.get("lean", ())),  # artifacts of an older version do not say
        told["checkpoints"],
        bool(sites),
        (engine, printer),
    )


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


def names_of(function: types.FunctionType) -> tuple[str, ...]:
    """The parameters of a kernel, in the order in which values are handed to a launch."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


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


def record_of(parts: Parts, results: list[str]) -> struct.Struct:
    """How a kernel's record is packed, with room for results of these formats."""
    formats = "".join(_format(type) for _, type in parts.slots)
    return struct.Struct("<8q" + formats + "8x" * len(results))


def entry_of(parts: Parts) -> Callable[[Any], None]:
    """A kernel's machine code, as a function of its record."""
    prototype = ctypes.CFUNCTYPE if parts.releases else ctypes.PYFUNCTYPE
    return prototype(None, ctypes.c_void_p)(parts.address)


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


def _loaded(artifact: Artifact, level: str) -> tuple[int, object]:
    """The address of a kernel's code, and what keeps it in memory: mapped, or loaded by LLVM."""
    plain = artifact.metadata.get("image")
    if plain is not None:
        try:
            mapped = map_image(Image.from_plain(bytes(artifact.payloads["image"]), plain))
        except (Unmappable, ValueError):  # LLVM can load the object
            pass
        else:
            return mapped.addresses[ENTRY], mapped
    return load_object(bytes(artifact.payloads["object"]), ENTRY, level)


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


def fits(value: Any, type: Scalar | ArrayType) -> bool:
    """Whether a value is of a slot's type."""
    from whorl.reads.signature import NoSignature, array_signature

    if isinstance(type, Scalar):
        return is_scalar_value(value) and scalar_of_value(value) == type
    access = "rw" if type.writeable else "r"
    wanted = ("array", type.element.dtype.str, type.ndim, type.layout, access)
    try:
        return bool(array_signature(value) == wanted)
    except NoSignature:
        return False


def _walk(path: Path, value: Any) -> Any:
    from whorl.reads.world import walk

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


def _format(type: Scalar | ArrayType) -> str:
    if isinstance(type, ArrayType):
        return "q" * words_of(type)
    return {
        ("f", 64): "d", ("f", 32): "f4x", ("b", 8): "?7x", ("u", 64): "Q",
    }.get((type.kind, type.bits), "q")  # fmt: skip


RESULTS: Final = {
    ("f", 32): "f4x", ("f", 64): "d", ("b", 8): "?7x",
    ("i", 8): "b7x", ("i", 16): "h6x", ("i", 32): "i4x", ("i", 64): "q",
    ("u", 8): "B7x", ("u", 16): "H6x", ("u", 32): "I4x", ("u", 64): "Q",
}  # fmt: skip


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


# -- what goes wrong, and what prints ---------------------------------------------------


def not_packed(slots: list[Any], error: Exception, values: tuple[Any, ...]) -> NoReturn:
    """Raise what says which value does not fit into its slot."""
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


def _raise(sites: Plain, status: bytes) -> None:
    """Raise what the status words of a launch say."""
    number, *values = struct.unpack("<4q", status)
    error, text, line, _ = sites[number - 1]
    raise getattr(builtins, error)(f"{text.format(*values)}\n  at {line}")
