"""The plain launch, which packs the launch record in Python: the reference for native launches.

It launches the calls that are not native. What does not change from call to call is worked out
once: the order of the arguments, and how each slot is read, checked and put down. Measured by
`bench/launch.py`: 3 µs with three arrays and an int.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache, lru_cache, partial
from typing import Any, Final

import numpy as np

from whorl.artifacts import Artifact
from whorl.fast_dataclasses import NamedTuple, dataclass
from whorl.jit.specialization import KnownShape
from whorl.lazy import importing
from whorl.reads.facts import NoSignature, array_signature, flags_of
from whorl.reads.trace import Path, Plain, Step
from whorl.reads.world import World, walk

from . import machine
from .graph_status import ENDED, GraphStatus
from .image import Image
from .launch_errors import Changed, not_packed, print_site, raise_status
from .launch_record import CHECKPOINT, ENTRY, RESULTS, STATUS, format_of, offsets, words_of
from .mapped import Unmappable, map_image
from .returned_arrays import ArrayKind, Launching, take_array
from .runtime import parallel_address, thread_count
from .slot_types import ArrayType, Scalar, is_scalar_value, scalar_of_value

# The parts of a loaded kernel: its code, its slots, its results.


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
    streams: tuple[Path, ...]  # bit generators, which are locked in a launch
    arrays: tuple[bool, ...]  # of those that are made or returned, whether machine code makes it
    references: object  # the code and the printer, as long as they are needed


_number: Final = cache(Scalar)  # there are few


def slots_from(plain: Plain) -> list[tuple[Path, Scalar | ArrayType]]:
    """Slots from plain data."""
    slots: list[tuple[Path, Scalar | ArrayType]] = []
    for root, name, steps, kind, bits, weak, *array in plain:
        path = _path(root, name, steps)
        number = _number(kind, bits, weak)
        slots.append((path, ArrayType(number, *array) if array else number))
    return slots


def _path(root: str, name: str, steps: Plain) -> Path:
    return Path(root, name, tuple([Step(*step) for step in steps]))


def parts_of(artifact: Artifact) -> Parts:
    """An artifact loaded."""
    described = artifact.metadata
    address, engine = _load(artifact)
    sites = described["sites"]
    arrays = described["arrays"]
    are_new = tuple(is_new for *_, is_new in arrays)
    calls_back = described["prints"] or not all(are_new)
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
        tuple(_path(*each) for each in described["streams"]),
        are_new,
        (engine, printer),
    )


def _printer(sites: Plain, arrays: Plain) -> tuple[object, int]:
    """A function for machine code to call, which prints, or takes arrays that are returned; and
    its address."""
    kinds = [ArrayKind.from_plain(each) for each in arrays]

    def call(site: int, count: int, values: Any) -> None:
        if site >= 0:
            print_site(sites[site], values)
        else:
            take_array(kinds, -1 - site, values)

    printer = _printer_type()(call)
    return printer, ctypes.cast(printer, ctypes.c_void_p).value or 0


@cache
def _printer_type() -> Any:
    return ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))


def _load(artifact: Artifact) -> tuple[int, object]:
    """The address of a kernel's code, and what keeps it in memory: mapped, or loaded by LLVM."""
    plain = artifact.metadata.get("image")
    if plain is not None:
        try:
            mapped = map_image(Image.from_plain(bytes(artifact.payloads["image"]), plain))
        except (Unmappable, ValueError):  # LLVM can load the object
            pass
        else:
            return mapped.addresses[ENTRY], mapped
    return machine.load_object(unpacked(artifact, "object"), ENTRY)


def unpacked(artifact: Artifact, name: str) -> bytes:
    """A payload that is kept small."""
    with importing:
        from zlib import decompress

    return decompress(artifact.payloads[name])


# -- a call that native ones are prepared from -----------------------------------------
#
# A call in Python that native calls of its kind are prepared from.


class NativeCall(NamedTuple):
    """A call, and the specialization that was launched for it."""

    known: KnownShape
    match: Any  # what its facts lead to
    world: World
    parts: Parts
    given: tuple[int, frozenset[str]]  # how many arguments by position, and which by keyword
    number: int  # of the checkpoint to resume from; 0 for a call of the kernel itself


# -- the launch in Python --------------------------------------------------------------


_PYTHON: Final = {"b": bool, "i": int, "f": float, "c": complex}
_record: Final = lru_cache(256)(struct.Struct)  # many kernels are called alike
_start_of: Final = (ctypes.c_char * 0).from_buffer
_address_of: Final = ctypes.addressof
_give_back: Final = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_DecRef", ctypes.pythonapi))
_number_at: Final = struct.Struct("<q").unpack_from


class _Kind(NamedTuple):
    """How an array is put down."""

    is_buffer: bool  # its buffer says where it is
    has_extents: bool
    has_strides: bool


_NUMBER: Final = _Kind(False, False, False)
_COMPLEX: Final = _Kind(False, True, False)


class _Member:
    """A slot that is not an argument itself, but read from one, or from the function's world."""

    def __init__(self, path: Path, wanted: Scalar | ArrayType, argument: int) -> None:
        self._path = path
        self._wanted = wanted
        self._argument = argument  # -1: a global, or something of the function
        self._mask = self._bits = self._ndim = 0
        if isinstance(wanted, Scalar):
            self._class: Any = _PYTHON[wanted.kind] if wanted.weak else wanted.dtype.type
            self._dtype = None
        else:
            self._class, self._dtype, self._ndim = np.ndarray, wanted.element.dtype, wanted.ndim
            if wanted.record:
                self._class = None  # `_fits` looks at each
            self._mask, self._bits = flags_of(wanted.layout, writeable=wanted.writeable)

    def read(self, launch: PlainLaunch, values: Sequence[Any]) -> Any:
        """What is there now; `Changed` if it is not of the type that the code is for."""
        if self._argument < 0:
            value: Any = launch.world(values).find(self._path)
        else:
            value = values[self._argument]
            for step in self._path.steps:
                value = walk(value, step)
        if type(value) is self._class and (
            self._dtype is None
            or (
                value.dtype is self._dtype
                and value.ndim == self._ndim
                and value.flags.num & self._mask == self._bits
            )
        ):
            return value
        if not _fits(value, self._wanted):  # which knows what is unusual, too
            raise Changed(self._path)
        return value


class PlainLaunch:
    """Launches a kernel with the values of its parameters, in their order."""

    def __init__(self, parts: Parts, function: types.FunctionType | None = None) -> None:
        self.parts = parts
        self.function = function  # for globals and closures among the slots, and for labels
        types_of_slots = [type for _, type in parts.slots]
        self._slots = [_source(path, type, parts.parameters) for path, type in parts.slots]
        self._is_direct = self._slots == list(range(len(parts.parameters)))
        self._kinds = [
            _kind(type, is_lean=number in parts.lean) for number, type in enumerate(types_of_slots)
        ]
        formats = list(_formats(parts.result))
        words = [
            "q" + "8x" * (words_of(type) - 1) if number in parts.lean else format_of(type)
            for number, type in enumerate(types_of_slots)
        ]
        numbers = _record("<" + "".join(formats))
        objects = "8x" * len(parts.arrays)
        record = _record(f"<8q{''.join(words)}{numbers.size}x{objects}")
        self._pack = record.pack
        self._copy = (ctypes.c_char * record.size).from_buffer_copy
        self._unpack = numbers.unpack_from
        self._results = 8 * offsets(types_of_slots)[1]
        self._objects = self._results + numbers.size
        self._entry: Callable[[Any], None] = _prototype(parts.releases)(parts.address)
        self._is_parallel, self._can_fail = parts.is_parallel, parts.can_fail
        self._printer, self._result = parts.printer, parts.result
        self._checkpoints = parts.checkpoints
        self._arrays = parts.arrays
        self._takes_arrays = not all(parts.arrays)

    def __call__(self, /, *values: Any) -> Any:
        """The kernel's result."""
        return self.enter(self.read(values), values)

    def world(self, values: Sequence[Any]) -> World:
        """Where labels, globals and variables of closures are looked up."""
        if self.function is None:
            raise TypeError("the kernel reads globals: it is loaded together with its function")
        return World(self.function, dict(zip(self.parts.parameters, values, strict=True)))

    def read(self, values: tuple[Any, ...]) -> Sequence[Any]:
        """The values of all slots: each path is walked once. `Changed` if one is of another type
        than when its facts were taken."""
        if self._is_direct:
            return values
        return [
            values[slot] if type(slot) is int else slot.read(self, values)  # type: ignore[union-attr]
            for slot in self._slots
        ]

    def enter(self, slots: Sequence[Any], values: Sequence[Any], start: int = 0) -> Any:
        """Pack the record of these slots, run the machine code, and make the result.

        `start` is the number of the checkpoint to resume from. `values` are those of the
        parameters: labels may be found there.
        """
        words: list[Any] = []
        for value, kind in zip(slots, self._kinds):  # noqa: B905  # as many as there are slots
            if kind is _NUMBER:
                words.append(value)
                continue
            if kind is _COMPLEX:
                words += (value.real, value.imag)
                continue
            words.append(_address_of(_start_of(value)) if kind.is_buffer else value.ctypes.data)
            if kind.has_extents:
                words += value.shape
                if kind.has_strides:
                    words += value.strides
        head = (thread_count(), parallel_address()) if self._is_parallel else (1, 0)
        try:
            record = self._copy(self._pack(*head, self._printer, 0, 0, 0, 0, start, *words))
        except struct.error as error:
            not_packed(self.parts.slots, error, slots)
        arrays: dict[int, Any] = {}
        if self._takes_arrays:
            with Launching(slots, arrays, lambda: self._new_arrays(record)):
                self._run(record, values)
        else:
            self._run(record, values)
        if self._can_fail and _number_at(record, 8 * STATUS)[0]:
            self.parts.failed(record.raw[8 * STATUS : 8 * STATUS + 32])
        if self._checkpoints is not None:
            number = _number_at(record, 8 * CHECKPOINT)[0]
            return self._yielded(number, values) if number else ENDED
        if self._result is None:
            return None
        numbers = iter(self._unpack(record, self._results))
        if self._arrays:
            arrays |= self._new_arrays(record)
        result = _build(self._result, numbers, slots, arrays)
        for number in _arrays_in(self._result):
            if self._arrays[number]:  # the record's own reference
                _give_back(arrays[number])
        return result

    def _run(self, record: Any, values: Sequence[Any]) -> None:
        """Run the machine code; the streams that it draws from are those of this thread alone."""
        if not self.parts.streams:
            self._entry(record)
            return
        world = self.world(values)
        locks = {id(lock): lock for lock in (world.find(path).lock for path in self.parts.streams)}
        with ExitStack() as held:
            for _, lock in sorted(locks.items()):  # in one order for all threads
                held.enter_context(lock)
            self._entry(record)

    def _new_arrays(self, record: Any) -> dict[int, Any]:
        """The arrays that machine code has made, by their numbers."""
        arrays = {}
        for number, is_new in enumerate(self._arrays):
            address = _number_at(record, self._objects + 8 * number)[0] if is_new else 0
            if address:
                arrays[number] = ctypes.cast(address, ctypes.py_object).value
        return arrays

    def _yielded(self, number: int, values: Sequence[Any]) -> GraphStatus:
        with importing:
            from .graph_status import label_of

        return GraphStatus(True, label_of(self._checkpoints[number - 1], self.world(values)))


@cache
def _prototype(releases: bool) -> Any:
    """The class of functions of a record. `ctypes` would make another one each time."""
    return (ctypes.CFUNCTYPE if releases else ctypes.PYFUNCTYPE)(None, ctypes.c_void_p)


def _source(path: Path, type: Scalar | ArrayType, parameters: tuple[str, ...]) -> int | _Member:
    """Where the value of a slot comes from: the number of an argument, or a member."""
    argument = parameters.index(path.name) if path.root == "arg" else -1
    return argument if argument >= 0 and not path.steps else _Member(path, type, argument)


def _kind(type: Scalar | ArrayType, *, is_lean: bool) -> _Kind:
    """How a slot is put down. Only a writeable buffer says where it is, at a fifth of the cost."""
    if isinstance(type, Scalar):
        return _COMPLEX if type.is_complex else _NUMBER
    is_buffer = type.layout == "C" and type.writeable
    return _Kind(is_buffer, not is_lean and type.ndim > 0, type.has_strides)


def _fits(value: Any, wanted: Scalar | ArrayType) -> bool:
    """Whether a value is of a slot's type."""
    if isinstance(wanted, Scalar):
        return is_scalar_value(value) and scalar_of_value(value) == wanted
    access = "rw" if wanted.writeable else "r"
    if wanted.record:
        return _fits_records(value, wanted, access)
    signature = ("array", wanted.element.dtype.str, wanted.ndim, wanted.layout, access)
    try:
        return bool(array_signature(value) == signature)
    except NoSignature:
        return False


def _fits_records(value: Any, wanted: ArrayType, access: str) -> bool:
    """Whether a value is an array of such records. In what order they lie does not count."""
    try:
        signature: Any = array_signature(value)
    except NoSignature:
        return False
    _, dtype, ndim, layout, *rest = signature
    is_aligned = (layout != "unaligned") == (wanted.alignment != "none")
    return is_aligned and (dtype, ndim, rest[0]) == (wanted.record, wanted.ndim, access)


def named_tuple_class(module: str, name: str, count: int) -> Any:
    """The class of a named tuple or dataclass: in a module that is loaded, with so many fields."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if isinstance(found, type) and len(getattr(found, "__match_args__", ())) == count:
        return found
    return lambda *items: items  # the class is gone: a plain tuple


def _formats(result: Plain) -> Iterator[str]:
    """How each number of a result is unpacked."""
    if result is None:
        return
    if result[0] in ("tuple", "named"):
        for part in result[1]:
            yield from _formats(part)
    elif result[0] == "number":
        yield RESULTS[result[1], result[2]]


def _arrays_in(result: Plain) -> Iterator[int]:
    """The numbers of the arrays in a result, each once."""
    if result is None:
        return
    if result[0] == "tuple":
        yield from dict.fromkeys(number for part in result[1] for number in _arrays_in(part))
    elif result[0] == "array":
        yield result[1]


def _build(
    result: Plain, numbers: Iterator[Any], slots: Sequence[Any], arrays: Mapping[int, Any]
) -> Any:
    """A result of its numbers, in order, of arguments, and of arrays that were made."""
    if result is None:
        return None
    match result[0]:
        case "tuple":
            return tuple([_build(part, numbers, slots, arrays) for part in result[1]])
        case "named":
            make = named_tuple_class(result[2], result[3], len(result[1]))
            return make(*[_build(part, numbers, slots, arrays) for part in result[1]])
        case "array":
            return arrays[result[1]]
        case "slot":
            return slots[result[1]]
    return complex(next(numbers), next(numbers)) if result[1] == "c" else next(numbers)
