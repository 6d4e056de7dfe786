"""The parts of a loaded kernel: its code, its slots, its results."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

from whorl.artifacts import Artifact
from whorl.fast_dataclasses import dataclass
from whorl.lazy import importing
from whorl.reads.trace import Path, Plain, Step

from . import machine
from .image import Image
from .launch_errors import print_site, raise_status
from .launch_record import ENTRY
from .mapped import Unmappable, map_image
from .returned_arrays import ArrayKind, call_back
from .slot_types import ArrayType, Scalar

__all__ = ["Parts", "parts_of", "slots_from", "unpacked"]


@dataclass(frozen=True, slots=True)
class Parts:
    """What a launch needs of a loaded kernel."""

    address: int
    parameters: tuple[str, ...]
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
    returns_arrays: bool
    references: object  # the code and the printer, as long as they are needed


_number: Final = cache(Scalar)  # there are few


def slots_from(plain: Plain) -> list[tuple[Path, Scalar | ArrayType]]:
    """Slots from plain data."""
    slots: list[tuple[Path, Scalar | ArrayType]] = []
    for root, name, steps, kind, bits, weak, *array in plain:
        path = Path(root, name, tuple([Step(*step) for step in steps]))
        number = _number(kind, bits, weak)
        slots.append((path, ArrayType(number, *array) if array else number))
    return slots


def parts_of(artifact: Artifact, level: str) -> Parts:
    """An artifact loaded."""
    described = artifact.metadata
    address, engine = _load(artifact, level)
    sites = described["sites"]
    arrays = described["arrays"]
    calls_back = described["prints"] or arrays
    printer, address_of_printer = _printer(sites, arrays) if calls_back else (None, 0)
    return Parts(
        address,
        tuple(described["parameters"]),
        slots_from(described["slots"]),
        described["result"],
        address_of_printer,
        partial(raise_status, sites),
        described["parallel"],
        described["nogil"] or described["prints"],
        described["polls"],
        frozenset(described["lean"]),
        described["checkpoints"],
        bool(sites) or described["polls"],
        bool(arrays),
        (engine, printer),
    )


def _printer(sites: Plain, arrays: Plain) -> tuple[object, int]:
    """A function for machine code to call, which prints, or makes arrays; and its address."""
    kinds = [ArrayKind.from_plain(each) for each in arrays]

    def call(site: int, count: int, values: Any) -> None:
        if site >= 0:
            print_site(sites[site], values)
        else:
            call_back(kinds, -1 - site, values)

    printer = _printer_type()(call)
    return printer, ctypes.cast(printer, ctypes.c_void_p).value or 0


@cache
def _printer_type() -> Any:
    return ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))


def _load(artifact: Artifact, level: str) -> tuple[int, object]:
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
