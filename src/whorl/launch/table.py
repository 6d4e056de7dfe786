"""The reads of a specialization in, the table that makes them again natively out.

Each path is walked into a register, shared parts once; each read becomes a check; what the
kernel is launched with goes into the record on the way. Every check is at least as strict as
the fact it stands for: what a table lets pass, the plain replay would have found to be the same.
A read that cannot be checked natively makes the whole specialization one of the plain way.
"""

from __future__ import annotations

import builtins
import ctypes
import struct
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from whorl.jit.events import audits, listeners
from whorl.reads import Aspect, Path, Read, Shape, Step, World
from whorl.reads.fact import function_behind, is_constant, own_module
from whorl.reads.signature import signature
from whorl.reads.world import ABSENT, scope_of

from .layout import layout
from .native import KINDS, OP_WORDS, SPECIAL_WORDS

__all__ = ["Launch", "NotNative", "SlotWords", "Table", "table_of"]

_C, _F, _ALIGNED, _WRITEABLE = 0x001, 0x002, 0x100, 0x400
_LAYOUTS: Final = {"C": (_C, _C), "F": (_C | _F, _F), "strided": (_C | _F, 0)}
_RESULTS: Final = {
    ("f", 64): 0, ("f", 32): 1, ("b", 8): 2, ("i", 8): 3, ("i", 16): 4, ("i", 32): 5,
    ("i", 64): 6, ("u", 8): 7, ("u", 16): 8, ("u", 32): 9, ("u", 64): 10,
}  # fmt: skip
_BY_CLASS: Final = frozenset(("object", "enum", "int", "float", "bool", "str"))
_LIBRARY: Final = ("numpy", "whorl", "math", "builtins")


class NotNative(Exception):
    """A specialization with something that is not checked natively, and what that is."""


@dataclass(frozen=True, slots=True)
class SlotWords:
    """Where a slot goes in the record, and as what: "int", "float", "bool", "scalar", "array"."""

    kind: str
    word: int
    with_strides: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """The compiled kernel behind a table."""

    entry: int
    template: int  # the address of the record's first eight words
    words: int
    results: tuple[tuple[str, int, int], ...] | tuple[str, int, int] | None  # kind, bits, word
    failed: Any  # called with the status words of a launch that failed; it raises
    releases: bool


@dataclass(slots=True)
class Table:
    """A table in memory, and what it refers to by address."""

    address: int
    kept: list[Any] = field(default_factory=list)


def table_of(
    shape: Shape,
    slots: Mapping[Path, SlotWords],
    world: World,
    names: Sequence[str],
    launch: Launch,
) -> Table:
    """The table for calls whose facts are those of a world; `NotNative` if there is none."""
    maker = _Maker(world, names, slots)
    maker.surroundings()
    for read in shape.reads:
        maker.read(read)
    maker.check_slots()
    return maker.table(launch)


class _Maker:
    """A table that is being made."""

    def __init__(self, world: World, names: Sequence[str], slots: Mapping[Path, SlotWords]) -> None:
        self._world = world
        self._names = list(names)
        self._slots = slots
        self._filled: set[Path] = set()
        self._operations: list[int] = []
        self._registers: dict[Path, int] = {}
        self._count = len(self._names)
        self._modules: set[str] = set()
        self._checked: set[Path] = set()
        self._kept: list[Any] = []

    # -- operations ---------------------------------------------------------------------

    def _op(self, kind: str, source: int = 0, target: int = 0, *rest: int) -> None:
        padded = (*rest, *([0] * (OP_WORDS - 3 - len(rest))))
        self._operations += [KINDS[kind], source, target, *padded]

    def _address(self, value: object) -> int:
        """The address of an object, which is then kept alive."""
        self._kept.append(value)
        return id(value)

    def _new(self) -> int:
        self._count += 1
        return self._count - 1

    def surroundings(self) -> None:
        """That nobody listens, that the function has its code, and its module is still there."""
        for watchers in (listeners, audits):
            self._op("CELL", 0, 0, self._address(watchers) + layout().list_size, 0)
        function = self._world.function
        register = self._new()
        self._op("CONST", 0, register, self._address(function))
        self._code(register, function)
        home = function.__globals__.get("__name__")
        module = sys.modules.get(home) if isinstance(home, str) else None
        if isinstance(home, str) and module is not None:
            self._module(home, module)

    def _module(self, name: str, module: Any) -> None:
        """That a name still leads to the same module."""
        if name in self._modules:
            return
        self._modules.add(name)
        register = self._new()
        key = sys.intern(name)
        self._op("GLOBAL", 0, register, self._address(sys.modules), self._address(key))
        self._op("SAME", register, 0, self._address(module))

    # -- paths --------------------------------------------------------------------------

    def _walk(self, path: Path) -> int:
        """The register with what is at a path."""
        found = self._registers.get(path)
        if found is None:
            found = self._registers[path] = self._walked(path)
        return found

    def _walked(self, path: Path) -> int:
        if not path.steps:
            return self._root(path)
        before = Path(path.root, path.name, path.steps[:-1])
        step = path.steps[-1]
        owner = self._walk(before)
        register = self._new()
        match step:
            case Step("attr", str(name)):
                self._op("ATTR", owner, register, self._address(sys.intern(name)))
            case Step("item", key):
                holder = self._world.find(before)
                if type(holder) not in (tuple, list, dict) or not is_constant(key):
                    raise NotNative(f"{path} is an item of a {type(holder).__name__}")
                self._op("TYPE", owner, 0, self._address(type(holder)))
                self._op("ITEM", owner, register, self._address(key))
            case _:
                raise NotNative(f"{path} is not walked natively")
        return register

    def _root(self, path: Path) -> int:
        if path.root == "arg":
            return self._names.index(path.name)
        if path.root != "global":
            raise NotNative(f"{path} is not an argument or a global")
        module, _, name = path.name.rpartition(".")
        function = self._world.function
        scope = scope_of(function, module)
        if type(scope) is not dict:
            raise NotNative(f"{path} is in no plain module")
        if module != own_module(function):
            loaded = sys.modules.get(module)
            if loaded is None or vars(loaded) is not scope:
                raise NotNative(f"{path} is in a module of another name")
            self._module(module, loaded)
        register, key = self._new(), self._address(sys.intern(name))
        if name in scope:
            self._op("GLOBAL", 0, register, self._address(scope), key)
        else:  # a builtin, as long as no global hides it
            self._op("NOKEY", 0, 0, self._address(scope), key)
            self._op("GLOBAL", 0, register, self._address(vars(builtins)), key)
        return register

    # -- reads --------------------------------------------------------------------------

    def read(self, read: Read) -> None:
        """A check for a read."""
        path, aspect = read.path, read.aspect
        if path.root in ("target", "compiler", "option"):
            return  # whoever changes these drops the tables
        if path.root == "func" and aspect is Aspect.VALUE and path.steps:
            raise NotNative(f"{path} is not read natively")
        value = self._world.find(path)
        if value is ABSENT:
            raise NotNative(f"{path} is absent")
        register = self._walk(path)
        match aspect:
            case Aspect.PRESENT:
                pass  # it was walked to
            case Aspect.ARRAY:
                self._array(path, register, value)
            case Aspect.TYPE:
                self._type(path, register, value)
            case Aspect.VALUE:
                self._value(path, register, value)
            case Aspect.CODE:
                self._code(register, value)
            case _:
                raise NotNative(f"{read} is not read natively")

    def _array(self, path: Path, register: int, value: Any) -> None:
        slot = self._slots.get(path)
        if type(value) is not np.ndarray or slot is None or slot.kind != "array":
            raise NotNative(f"{path} is no plain array that is passed")
        flags = value.flags
        layout_ = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "strided"
        mask, bits = _LAYOUTS[layout_]
        mask |= _ALIGNED | _WRITEABLE
        bits |= _ALIGNED | (_WRITEABLE if flags.writeable else 0)
        self._op(
            "ARRAY", register, slot.word, self._address(value.dtype), value.ndim, mask, bits,
            int(slot.with_strides),
        )  # fmt: skip
        self._filled.add(path)

    def _type(self, path: Path, register: int, value: Any) -> None:
        slot = self._slots.get(path)
        cls = type(value)
        if slot is None:
            if value is None or isinstance(value, type):
                self._op("SAME", register, 0, self._address(value))
            elif signature(value)[0] in _BY_CLASS:
                self._op("TYPE", register, 0, self._address(cls))
            else:  # there is more to its signature than the class
                raise NotNative(f"{path} is a {cls.__name__} known by its signature")
            return
        if slot.kind in ("int", "float", "bool"):
            self._op(slot.kind.upper(), register, slot.word)
        elif isinstance(value, np.generic):
            offset = _scalar_offset(cls)
            self._op(
                "SCALAR", register, slot.word, self._address(cls), value.dtype.itemsize, offset
            )
        else:
            raise NotNative(f"{path} is a {cls.__name__}")
        self._filled.add(path)

    def _value(self, path: Path, register: int, value: Any) -> None:
        cls = type(value)
        if cls is int and -(2**63) <= value < 2**63:
            self._op("EQINT", register, 0, 0, value)
        elif cls is float:
            (bits,) = struct.unpack("<q", struct.pack("<d", value))
            self._op("EQFLOAT", register, 0, 0, bits)
        elif is_constant(value) or _is_of_library(value):
            self._op("SAME", register, 0, self._address(value))
            if isinstance(value, types.FunctionType):
                self._code(register, value)
        else:
            raise NotNative(f"{path} is a {cls.__name__}, which can change")

    def _code(self, register: int, value: Any) -> None:
        function = function_behind(value)
        if isinstance(value, types.MethodType):
            inner = self._new()
            self._op("ATTR", register, inner, self._address(sys.intern("__func__")))
            register, value = inner, value.__func__
        if value is not function or type(function) is not types.FunctionType:
            raise NotNative("a function that is wrapped is followed in Python")
        self._op("SAME", register, 0, self._address(function))
        code = self._address(function.__code__)
        self._op("CODE", register, 0, code, self._address(types.FunctionType))

    def check_slots(self) -> None:
        """Every slot is filled by one of the reads."""
        for path in self._slots:
            if path not in self._filled:
                raise NotNative(f"{path} is not read on its own")

    # -- the whole ----------------------------------------------------------------------

    def table(self, launch: Launch) -> Table:
        """The table in memory."""
        operations = (ctypes.c_int64 * len(self._operations))(*self._operations)
        results = _results(launch.results)
        words = (
            len(self._names),
            self._count,
            launch.words,
            launch.entry,
            launch.template,
            ctypes.addressof(operations),
            len(self._operations) // OP_WORDS,
            ctypes.addressof(results),
            id(launch.failed),
            int(launch.releases),
        )
        memory = (ctypes.c_int64 * SPECIAL_WORDS)(*words)
        kept = [*self._kept, operations, results, memory, launch]
        return Table(ctypes.addressof(memory), kept)


def _results(results: Any) -> Any:
    if results is None:
        words = [-1]
    elif isinstance(results[0], str):
        kind, bits, word = results
        words = [-2, _RESULTS[kind, bits], word]
    else:
        words = [len(results)]
        for kind, bits, word in results:
            words += [_RESULTS[kind, bits], word]
    return (ctypes.c_int64 * len(words))(*words)


def _is_of_library(value: Any) -> bool:
    """Whether an object is a function, class or module of a library that does not change."""
    if isinstance(value, np.ufunc | types.ModuleType):
        return True
    owner = value if isinstance(value, types.FunctionType | type) else type(value)
    name = owner.__module__
    return isinstance(name, str) and name.partition(".")[0] in _LIBRARY and callable(value)


def _scalar_offset(cls: type) -> int:
    """Where a NumPy scalar keeps its number: looked for in one that is known."""
    sample = cls(1)
    raw = np.array(sample).tobytes()
    memory = (ctypes.c_char * cls.__basicsize__).from_address(id(sample)).raw
    place = memory.find(raw, 16)
    if place < 0:
        raise NotNative(f"a {cls.__name__} is not laid out as expected")
    return place
