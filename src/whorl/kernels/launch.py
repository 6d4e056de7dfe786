"""An artifact in, the parts of a loaded kernel out: its code, its slots, its record.

What launches it is made of these: `plain_launch` for the first calls, `generated` for more,
`packing` and `tables` natively.
"""

from __future__ import annotations

import ctypes
import struct
import types
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from whorl.artifacts import Artifact
from whorl.late import dataclass
from whorl.launch import Image, Unmappable, map_image
from whorl.lazy import importing, room
from whorl.reads.trace import Path, Plain, Step

from .record import ENTRY, words_of
from .types import ArrayType, Scalar, is_scalar_value, scalar_of_value

if TYPE_CHECKING:
    from . import machine, raised
else:  # most launches neither fail nor print, and need no LLVM
    machine = room("whorl.kernels.machine", globals())
    raised = room("whorl.kernels.raised", globals())

__all__ = [
    "RESULTS", "TRIES", "Changed", "Parts", "entry_of", "fits", "format_of", "names_of",
    "parts_of", "record_of", "slots_from", "unpacked",
]  # fmt: skip


class Changed(Exception):
    """What is at a path has changed between two looks at it: the call has to begin again."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


TRIES: Final = 20  # of a call, while what it reads changes


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
    polls: bool  # whether handlers of signals may run during a launch
    lean: frozenset[int]  # the slots of arrays whose extents are not used
    checkpoints: Plain  # their labels; None if it has none, not even in static branches
    can_fail: bool
    kept: object  # the code and the printer, as long as they are needed
    from_slots: Callable[..., Any] | None = None  # launches with the values of all slots


# -- slots as plain data ----------------------------------------------------------------


_number: Final = cache(Scalar)  # there are few


def slots_from(plain: Plain) -> list[tuple[Path, Scalar | ArrayType]]:
    """Slots from plain data."""
    slots: list[tuple[Path, Scalar | ArrayType]] = []
    for root, name, steps, kind, bits, weak, *array in plain:
        path = Path(root, name, tuple([Step(*step) for step in steps]))
        number = _number(kind, bits, weak)
        slots.append((path, ArrayType(number, *array) if array else number))
    return slots


# -- the parts --------------------------------------------------------------------------


def parts_of(artifact: Artifact, level: str) -> Parts:
    """An artifact loaded."""
    told = artifact.metadata
    address, engine = _loaded(artifact, level)
    sites = told["sites"]
    printer, address_of_printer = _printer(sites) if told["prints"] else (None, 0)
    return Parts(
        address,
        slots_from(told["slots"]),
        told["result"],
        address_of_printer,
        partial(_failed, sites),
        told["parallel"],
        told["nogil"] or told["prints"],
        told["polls"],
        frozenset(told.get("lean", ())),  # artifacts of an older version do not say
        told["checkpoints"],
        bool(sites) or told["polls"],
        (engine, printer),
    )


def _failed(sites: Plain, status: bytes) -> None:
    raised.raise_status(sites, status)


def _printer(sites: Plain) -> tuple[object, int]:
    """A function for machine code to call, which prints; and its address."""
    printer = _printer_type()(lambda site, count, values: raised.print_site(sites[site], values))
    return printer, ctypes.cast(printer, ctypes.c_void_p).value or 0


@cache
def _printer_type() -> Any:
    return ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))


def names_of(function: types.FunctionType) -> tuple[str, ...]:
    """The parameters of a kernel, in the order in which values are handed to a launch."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def record_of(parts: Parts, results: list[str]) -> struct.Struct:
    """How a kernel's record is packed, with room for results of these formats."""
    formats = "".join([format_of(type) for _, type in parts.slots])
    return _record("<8q" + formats + "8x" * len(results))


_record: Final = lru_cache(256)(struct.Struct)  # many kernels are called alike


def entry_of(parts: Parts) -> Callable[[Any], None]:
    """A kernel's machine code, as a function of its record."""
    entry: Callable[[Any], None] = _prototype(parts.releases)(parts.address)
    return entry


@cache
def _prototype(releases: bool) -> Any:
    """The class of such functions. `ctypes` would make another one each time."""
    return (ctypes.CFUNCTYPE if releases else ctypes.PYFUNCTYPE)(None, ctypes.c_void_p)


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
    return machine.load_object(unpacked(artifact, "object"), ENTRY, level)


def unpacked(artifact: Artifact, name: str) -> bytes:
    """A payload that is kept small."""
    with importing:
        from zlib import decompress

    return decompress(artifact.payloads[name])


def format_of(type: Scalar | ArrayType) -> str:
    """How a slot is packed."""
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


def fits(value: Any, type: Scalar | ArrayType) -> bool:
    """Whether a value is of a slot's type."""
    with importing:
        from whorl.reads.signature import NoSignature, array_signature

    if isinstance(type, Scalar):
        return is_scalar_value(value) and scalar_of_value(value) == type
    access = "rw" if type.writeable else "r"
    wanted = ("array", type.element.dtype.str, type.ndim, type.layout, access)
    try:
        return bool(array_signature(value) == wanted)
    except NoSignature:
        return False
