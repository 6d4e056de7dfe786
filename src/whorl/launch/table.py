"""The reads of a specialization in, the table that makes them again natively out.

Each path is walked into a register, shared parts once; each read becomes a check; what the
kernel is launched with goes into the record on the way. Every check is at least as strict as
the fact it stands for: what a table lets pass, the plain replay would have found to be the same.
A read that cannot be checked natively makes the whole specialization one of the plain way.
"""

from __future__ import annotations

import builtins
import ctypes
import inspect
import struct
import sys
import types
from abc import ABCMeta
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from whorl.calls.events import audits, listeners
from whorl.late import NamedTuple, dataclass, field
from whorl.reads import Aspect, Path, Read, Shape, Step, World
from whorl.reads.fact import is_constant, own_module
from whorl.reads.once import Once, owner_of
from whorl.reads.replay import is_as_the_code
from whorl.reads.signature import signature
from whorl.reads.world import ABSENT, function_behind, scope_of

from .detours import ALL_BITS, Fixed, without_detours
from .enums import members_of, place_of_dict
from .instances import (
    INLINE_VALUES,
    MANAGED_DICT,
    held,
    held_in_dict,
    shared_number,
    slot_offset,
)
from .keys import own_key, pair_of
from .layout import layout
from .members import HELD_WORDS
from .modules import module_scope
from .native import BY_KEYWORD, KINDS, OP_WORDS, SPECIAL_WORDS
from .selector import ATTRIBUTE, IDENTITY, INT, META, SLOT, Mark, Marks, array_mark, mark_of

__all__ = [
    "Chosen", "Launch", "NotNative", "SlotWords", "Table", "result_words", "table_of",
]  # fmt: skip

_C, _F, _ALIGNED, _WRITEABLE = 0x001, 0x002, 0x100, 0x400
_LAYOUTS: Final = {"C": (_C, _C), "F": (_C | _F, _F), "strided": (_C | _F, 0)}
_RESULTS: Final = {
    ("f", 64): 0, ("f", 32): 1, ("b", 8): 2, ("i", 8): 3, ("i", 16): 4, ("i", 32): 5,
    ("i", 64): 6, ("u", 8): 7, ("u", 16): 8, ("u", 32): 9, ("u", 64): 10,
}  # fmt: skip
_BY_CLASS: Final = frozenset(("int", "float", "bool", "str"))
_LIBRARY: Final = ("numpy", "whorl", "math", "builtins")
_HEAP_CLASS: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_ANY_NUMBER: Final = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


_RUNS_CODE: Final = frozenset(KINDS[name] for name in ("ATTR", "ITEM"))
_ABOUT: Final = frozenset(KINDS[name] for name in ("INT", "FLOAT", "BOOL", "SCALAR"))
_MEMBERS: Final = Step("attr", "_member_map_")
_BESIDE: Final = frozenset(("target", "compiler", "option"))
"""What is read of these is the same until somebody drops all tables."""

_UNKNOWN: Final = 0xFFFFFFFF  # a number at which no name stands


@dataclass(frozen=True, slots=True)
class Member:
    """Where an attribute of an object is, as long as its class has this version."""

    cls: type
    version: int
    name: str
    offset: int | None  # None: in the instance's dict, or among its inline values
    shared: int = _UNKNOWN  # at which number the name stands, among the keys of the class
    own: int = _UNKNOWN  # and in a dict with keys of its own

    @property
    def numbers(self) -> int:
        """Both in one word."""
        return _word(self.shared | self.own << 32)


class NotNative(Exception):
    """A specialization with something that is not checked natively, and what that is."""


@dataclass(frozen=True, slots=True)
class SlotWords:
    """Where a slot goes in the record, and as what: "int", "float", "bool", "scalar", "array"."""

    kind: str
    word: int
    extents: int = 0  # of an array: `members.EXTENTS`, `STRIDES` or `BARE`


@dataclass(frozen=True, slots=True)
class Chosen:
    """A result that is one of some objects: that of the number in a word."""

    word: int
    objects: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """The compiled kernel behind a table."""

    entry: int
    template: int  # the address of the record's first eight words
    words: int
    results: tuple[tuple[str, int, int], ...] | tuple[str, int, int] | Chosen | None
    """Kind, bits and word of a number, or of several; or one of some objects."""
    failed: Any  # called with the status words of a launch that failed; it raises
    releases: bool
    keeps: bool = False  # whether other code may run meanwhile, and replace what is launched with


@dataclass(slots=True, eq=False)
class Table:
    """A table in memory, and what it refers to by address."""

    address: int
    arguments: int
    marks: Marks  # what tells it apart from others
    form: tuple[int | bytes, ...]  # equal for tables that fit the same calls
    kept: list[Any] = field(default_factory=list)
    owner: object = None  # what it launches
    paths: dict[int, Path] = field(default_factory=dict)  # by the register with what is there
    shape: Shape = field(default_factory=Shape)
    facts: tuple[Any, ...] = ()  # of the calls that fit, for the reads of the shape


def table_of(
    shape: Shape,
    slots: Mapping[Path, SlotWords],
    world: World | Once,
    names: Sequence[str],
    launch: Launch,
    *label: object,
    given: int | None = None,
) -> Table:
    """The table for calls whose facts are those of a world; `NotNative` if there is none.

    With a label it is for calls that have it as the one keyword `from_checkpoint`. `given` is how
    many arguments are given, if not all are: the others are those of the function's defaults.
    """
    code = world.function.__code__
    if code.co_kwonlyargcount or code.co_flags & _ANY_NUMBER:
        raise NotNative("its arguments are not all positional")
    every = [*names, *("from_checkpoint" for _ in label)]
    maker = _Maker(world, every, slots, keeps=launch.keeps)
    for each in label:
        maker.label(each)
    if given is not None and given < len(names):
        maker.defaults(given)
    maker.plan(shape.reads)
    maker.surroundings()
    for read in shape.reads:
        maker.read(read)
    maker.check_slots()
    return maker.table(launch)


class _Maker:
    """A table that is being made."""

    def __init__(
        self,
        world: World | Once,
        names: Sequence[str],
        slots: Mapping[Path, SlotWords],
        *,
        keeps: bool,
    ) -> None:
        self._world = world
        self._names = list(names)
        self._slots = slots
        self._keeps = keeps
        self._filled: set[Path] = set()
        # Whatever can run code of the user comes first. What is loaded after that may be
        # borrowed: nobody else runs until the launch is over, unless it lets other code run.
        self._first: list[int] = []
        self._then: list[int] = []
        self._runs: dict[_Run, list[bytes]] = {}
        self._registers: dict[Path, int] = {}
        self._places: dict[tuple[Path, bool], int] = {}
        self._members: dict[Path, Member] = {}
        self._early: set[Path] = set()
        self._marks: dict[Mark, int] = {}
        self._marked: dict[Mark, tuple[int, int, int]] = {}  # where members with a mark are
        self._entries: dict[int, bytes] = {}  # of each run, by where it is
        self._count = self._arguments = self._given = len(self._names)
        self._before: list[list[int]] = []
        self._modules: set[str] = set()
        self._fixed: Fixed = {}
        self._lasting: set[int] = set()  # registers with what is hardly replaced by an equal object
        self._kept: list[Any] = []

    def plan(self, reads: Sequence[Read]) -> None:
        """Decide how each path is walked, and which have to be walked first."""
        paths = {
            owner_of(path) if is_as_the_code(path) else path: read.aspect
            for read in reads
            for path in (read.path, *read.beside)
            if path.root not in _BESIDE
        }
        every = dict.fromkeys(prefix for path in paths for prefix in _prefixes(path))
        for path in every:
            if path.steps and path.steps[-1].operation == "attr":
                holder, found = self._world.find(owner_of(path)), self._world.find(path)
                member = _member(holder, path.steps[-1].name, found)
                if member is not None:
                    self._members[path] = member
        for path in every:
            is_method = type(self._world.find(path)) is types.MethodType  # it is asked for more
            if (path.steps and path not in self._members) or is_method:
                self._early.update(_prefixes(path))

    # -- operations ---------------------------------------------------------------------

    def _op(
        self, kind: str, source: int = 0, target: int = 0, *rest: int, first: bool = False
    ) -> None:
        padded = (*rest, *([0] * (OP_WORDS - 3 - len(rest))))
        (self._first if first else self._then).extend([KINDS[kind], source, target, *padded])

    def _address(self, value: object) -> int:
        """The address of an object, which is then kept alive."""
        self._kept.append(value)
        return id(value)

    def _new(self, count: int = 1) -> int:
        self._count += count
        return self._count - count

    def label(self, label: object) -> None:
        """That the last argument is a label, by keyword."""
        self._arguments = len(self._names) | BY_KEYWORD
        register = len(self._names) - 1
        if type(label) is int and -(2**63) <= label < 2**63:
            self._op("EQINT", register, 0, 0, label)
            self._mark(register, INT, label % (1 << 64))
        else:
            self._op("SAME", register, 0, self._address(label))
            self._mark(register, IDENTITY, id(label))

    def defaults(self, given: int) -> None:
        """That the arguments which are not given are those of the function's defaults."""
        self._arguments = self._given = given
        function = self._world.function
        heard, audited = self._watchers()
        place = self._address(function) + layout().function_defaults
        same = self._address(function.__defaults__)
        self._before.append([KINDS["CELLS"], heard, 0, audited, 0, place, same, 0])
        for register in range(given, len(self._names)):
            value = self._address(self._world.arguments[self._names[register]])
            self._before.append([KINDS["CONST"], 0, register, value, 0, 0, 0, 0])

    def _watchers(self) -> tuple[int, int]:
        """Where it says how many listen and how many audit."""
        heard, audited = (self._address(each) + layout().list_size for each in (listeners, audits))
        return heard, audited

    def surroundings(self) -> None:
        """That nobody listens, that the function has its code, and its module is still there."""
        heard, audited = self._watchers()
        function = self._world.function
        place = self._address(function) + layout().function_code
        self._op("CELLS", heard, 0, audited, 0, place, self._address(function.__code__))
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
        self._global(register, sys.modules, key)
        self._op("SAME", register, 0, self._address(module))

    def _global(self, register: int, scope: dict[Any, Any], key: str) -> None:
        """Load what a key leads to in a dict that stays the same one."""
        key = own_key(scope, key)
        number = number_of(scope, key)
        self._op(
            "GLOBAL", 0, register, self._address(scope), self._address(key), number, first=True
        )

    # -- paths --------------------------------------------------------------------------

    def _walk(self, path: Path) -> int:
        """The register with what is at a path."""
        if path not in self._registers:
            self._registers.setdefault(path, self._walked(path))
        return self._registers[path]

    def _walked(self, path: Path) -> int:
        if not path.steps:
            return self._root(path)
        register = self._of_enum(path)
        if register is not None:
            return register
        before = Path(path.root, path.name, path.steps[:-1])
        step = path.steps[-1]
        owner = self._walk(before)
        member = self._members.get(path)
        if member is not None:
            return self._load(path, before, owner, member)
        register = self._new()
        if self._of_module(before, step, owner, register):
            return register
        match step:
            case Step("attr", str(name)):
                self._op("ATTR", owner, register, self._address(sys.intern(name)), first=True)
            case Step("item", key):
                holder = self._world.find(before)
                if type(holder) not in (tuple, list, dict) or not is_constant(key):
                    raise NotNative(f"{path} is an item of a {type(holder).__name__}")
                self._op("TYPE", owner, 0, self._address(type(holder)), first=True)
                self._op("ITEM", owner, register, self._address(key), first=True)
            case Step("behind" | "cell" | "default" | "global"):
                self._of_function(path, owner, register, step)
            case _:
                raise NotNative(f"{path} is not walked natively")
        return register

    def _of_enum(self, path: Path) -> int | None:
        """The register of a member of an enum, or of what it holds; None if it is neither.

        That the dicts are still the ones that are asked follows from the version of the class,
        and from what the member refers to.
        """
        before, step = owner_of(path), path.steps[-1]
        if step.operation == "item" and before.steps[-1:] == (_MEMBERS,):
            cls, member = self._world.find(owner_of(before)), self._world.find(path)
            version = _version(cls) if isinstance(cls, type) else 0  # as it is when looked at
            scope = members_of(cls, step.name, member)
            if scope is None or not version:
                return None
            self._op("SAME", self._walk(owner_of(before)), 0, self._address(cls))
        elif step.operation == "attr" and isinstance(step.name, str):
            member = self._world.find(before)
            cls = type(member)
            version = _version(cls)
            place = place_of_dict(member, step.name)
            if not place or not version:
                return None
            scope, owner = vars(member), self._walk(before)
            self._op("SAME", owner, 0, self._address(member))
            self._op("CLASS", owner, 0, self._address(cls), version)
            self._fixed[place, ALL_BITS] = id(scope)
            self._lasting.add(self._count)  # what a member holds is set once
        else:
            return None
        register = self._new()
        self._global(register, scope, sys.intern(step.name))
        if step.operation == "item":
            self._op("CLASS", register, 0, self._address(cls), version)
        return register

    def _of_module(self, before: Path, step: Step, owner: int, register: int) -> bool:
        """Load what a module holds under a name; whether it is a plain module that does.

        A module has one dict all its life. What is in it is what the module has under that name,
        as long as its class neither has the name nor its own way to look for it.
        """
        module = self._world.find(before)
        cls = type(module)
        version = _version(cls)  # before it is looked at: another thread may change it meanwhile
        scope = module_scope(module, step)
        if scope is None or not version:
            return False
        self._op("SAME", owner, 0, self._address(module))
        self._op("CLASS", owner, 0, self._address(cls), version)
        self._global(register, scope, sys.intern(step.name))
        return True

    def _of_function(self, path: Path, owner: int, register: int, step: Step) -> None:
        """Something that a function has: an attribute, a closed-over variable, a default."""
        function = self._world.find(owner_of(path))
        if type(function) is not types.FunctionType:
            raise NotNative(f"{path} is reached through a {type(function).__name__}")
        self._op("SAME", owner, 0, self._address(function), first=True)
        match step:
            case Step("behind", str(name)):
                self._op("ATTR", owner, register, self._address(sys.intern(name)), first=True)
            case Step("cell", str(name)):  # which cell a function has for a name never changes
                cells = dict(
                    zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
                )
                self._op("CONST", 0, register, self._address(cells[name]), first=True)
                name = sys.intern("cell_contents")
                self._op("ATTR", register, register, self._address(name), first=True)
            case Step("global", str(name)) if (
                type(function.__globals__) is dict and name in function.__globals__
            ):
                self._global(register, function.__globals__, sys.intern(name))
            case Step("default", str(name)) if name not in (function.__kwdefaults__ or {}):
                every = sys.intern("__defaults__")
                self._op("ATTR", owner, register, self._address(every), first=True)
                defaults = self._address(function.__defaults__)
                self._op("SAME", register, 0, defaults, first=True)
                value = self._new()  # a tuple that is the same holds the same
                self._op("CONST", 0, value, self._address(self._world.find(path)), first=True)
                self._registers[path] = value
            case _:
                raise NotNative(f"{path} is not walked natively")

    def _load(self, path: Path, before: Path, owner: int, member: Member) -> int:
        """Load a member that lies in the object, or among its attributes, at a known place."""
        is_early = path in self._early
        keep = int(is_early or self._keeps)
        place = self._place(before, owner, member, is_early=is_early)
        register = self._new()
        if member.offset is not None:
            self._op("SLOT", place, register, keep, member.offset, first=is_early)
        else:
            name = self._address(member.name)
            self._op("KEY", place, register, keep, name, member.numbers, first=is_early)
        return register

    def _place(self, before: Path, owner: int, member: Member, *, is_early: bool) -> int:
        """The register of an object whose class is as it was, or of where it keeps attributes.

        What is found early is used at once and never again: code of the user may run after it.
        """
        is_slot = member.offset is not None
        found = None if is_early else self._places.get((before, is_slot))
        if found is not None:
            return found
        cls = self._address(member.cls)
        self._mark(owner, META, id(member.cls))
        if is_slot:
            place = owner
            self._op("CLASS", owner, 0, cls, member.version, first=is_early)
        else:
            place = self._new(HELD_WORDS)
            at = _held_at(member.cls)
            self._op("HOLD", owner, place, cls, member.version, *at, first=is_early)
        if not is_early:
            self._places[before, is_slot] = place
        return place

    def _mark(self, register: int, kind: int, number: int) -> None:
        """What an argument has in every call that fits."""
        if register < self._given:
            self._marks.setdefault(Mark(register, kind), number)

    def _mark_member(self, path: Path, value: Any) -> None:
        """What a member of an argument has in every call that fits."""
        member = self._members.get(path)
        if member is None or path.root != "arg" or len(path.steps) != 1:
            return
        cls, argument = self._address(member.cls), self._names.index(path.name)
        if argument >= self._given:
            return
        name = self._address(member.name)
        if member.offset is not None:
            mark = Mark(argument, SLOT, cls, name)
            self._marked[mark] = (member.offset, 0, 0)
        else:
            mark = Mark(argument, ATTRIBUTE, cls, name)
            self._marked[mark] = (*_held_at(member.cls), member.numbers)
        self._marks[mark] = mark_of(value)

    def _root(self, path: Path) -> int:
        if path.root == "arg":
            return self._names.index(path.name)
        if path.root == "func":
            register = self._new()
            self._op("CONST", 0, register, self._address(self._world.function), first=True)
            return register
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
        register, key = self._new(), sys.intern(name)
        if name in scope:
            self._global(register, scope, key)
        else:  # a builtin, as long as no global hides it
            self._op("NOKEY", 0, 0, self._address(scope), self._address(key), first=True)
            self._global(register, vars(builtins), key)
        return register

    # -- reads --------------------------------------------------------------------------

    def read(self, read: Read) -> None:
        """A check for a read."""
        path, aspect = read.path, read.aspect
        if path.root in _BESIDE:
            return
        if is_as_the_code(path):  # as it is written: that is as fixed as the code
            owner = owner_of(path)
            self._code(self._walk(owner), self._world.find(owner))
            return
        value = self._world.find(path)
        if value is ABSENT:
            raise NotNative(f"{path} is absent")
        if aspect in (Aspect.ARRAY, Aspect.TYPE, Aspect.VALUE):
            self._mark_member(path, value)
        if aspect is Aspect.ARRAY:
            self._array(path, value)
            return
        register = self._walk(path)
        match aspect:
            case Aspect.PRESENT:
                pass  # it was walked to
            case Aspect.TYPE:
                self._type(path, register, value)
            case Aspect.VALUE:
                self._value(path, register, value)
            case Aspect.CODE:
                self._code(register, value)
            case Aspect.ALIAS if self._world.find(read.beside[0]) is value:
                self._op("EQUAL", register, 0, 0, self._walk(read.beside[0]))
            case _:
                raise NotNative(f"{read} is not read natively")

    def _array(self, path: Path, value: Any) -> None:
        slot = self._slots.get(path)
        if type(value) is not np.ndarray or slot is None or slot.kind != "array":
            raise NotNative(f"{path} is no plain array that is passed")
        flags = value.flags
        layout_ = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "strided"
        mask, bits = _LAYOUTS[layout_]
        mask |= _ALIGNED | _WRITEABLE
        bits |= _ALIGNED | (_WRITEABLE if flags.writeable else 0)
        checks = (self._address(value.dtype), value.ndim, mask | bits << 32, slot.extents)
        self._filled.add(path)
        member = self._members.get(path)
        if member is None or path in self._early or path in self._registers or self._keeps:
            register = self._walk(path)
            self._mark(register, META, array_mark(value))
            is_about = register < len(self._names)
            run = _Run("ARRAYS", 0, is_about, *checks)
            entry = struct.pack("<2I", 8 * register, slot.word)
        else:
            before = owner_of(path)
            place = self._place(before, self._walk(before), member, is_early=False)
            if member.offset is not None:
                run = _Run("SLOTTED", place, False, *checks)
                entry = struct.pack("<2I", member.offset, slot.word)
            else:
                run = _Run("KEYED", place, False, *checks)
                name = self._address(member.name)
                entry = struct.pack("<Q4I", name, slot.word, member.shared, member.own, 0)
        self._runs.setdefault(run, []).append(entry)

    def _type(self, path: Path, register: int, value: Any) -> None:
        slot = self._slots.get(path)
        cls = type(value)
        if slot is None:
            self._mark(register, META, id(cls))
            if value is None or isinstance(value, type):
                self._op("SAME", register, 0, self._address(value))
            elif (kind := signature(value)[0]) in ("object", "enum"):
                # What its class derives from, and whether it says its own signature, is read too.
                version = _version(cls)
                if not version:
                    raise NotNative(f"{path} is of a class without a version")
                self._op("CLASS", register, 0, self._address(cls), version)
            elif kind in _BY_CLASS:
                self._op("TYPE", register, 0, self._address(cls))
            else:  # there is more to its signature than the class
                raise NotNative(f"{path} is a {cls.__name__} known by its signature")
            return
        self._mark(register, META, id(cls))
        if slot.kind in ("int", "float", "bool"):
            self._op(slot.kind.upper(), register, slot.word)
        elif isinstance(value, np.generic):
            mask = (1 << 8 * value.dtype.itemsize) - 1
            offset = _scalar_offset(cls)
            self._op("SCALAR", register, slot.word, self._address(cls), _word(mask), offset)
        else:
            raise NotNative(f"{path} is a {cls.__name__}")
        self._filled.add(path)

    def _value(self, path: Path, register: int, value: Any) -> None:
        cls = type(value)
        self._mark(register, META, id(cls))
        if register in self._lasting and is_constant(value):
            self._op("SAME", register, 0, self._address(value))
        elif cls is int and -(2**63) <= value < 2**63:
            self._mark(register, INT, value % (1 << 64))
            self._op("EQINT", register, 0, 0, value)
        elif cls is float:
            (bits,) = struct.unpack("<q", struct.pack("<d", value))
            self._op("EQFLOAT", register, 0, 0, bits)
        elif is_constant(value) or _is_of_library(value):
            self._mark(register, IDENTITY, id(value))
            self._op("SAME", register, 0, self._address(value))
            if isinstance(value, types.FunctionType):
                self._code(register, value)
        else:
            raise NotNative(f"{path} is a {cls.__name__}, which can change")

    def _code(self, register: int, value: Any) -> None:
        function = function_behind(value)
        if isinstance(value, types.MethodType):
            inner = self._new()
            self._op("TYPE", register, 0, self._address(types.MethodType), first=True)
            self._op("ATTR", register, inner, self._address(sys.intern("__func__")), first=True)
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

    def _ordered(self) -> list[int]:
        """The operations in order.

        What is about the arguments themselves tells most specializations apart, so it comes
        before everything else, unless code of the user runs after it and could change them.
        """
        first, then = _rows(self._first), _rows(self._then)
        without_detours(first, then, self._fixed, self._loaded())
        stays = [row for row in first if row[0] == KINDS["STAYS"]]
        first = [row for row in first if row[0] != KINDS["STAYS"]]
        if stays:  # after all that runs code of the user
            first.append(self._stays(stays))
        runs = {run: self._run(run, entries) for run, entries in self._runs.items()}
        runs_code = any(operation[0] in _RUNS_CODE for operation in first)
        for operation in first:
            if operation[0] == KINDS["GLOBAL"]:
                operation[6] = int(runs_code or self._keeps)  # whether to keep it
        count = len(self._names)
        about = [
            *(words for run, words in runs.items() if run.is_about),
            *(each for each in then if each[0] in _ABOUT and each[1] < count),
        ]
        rest = [
            *(each for each in then if each[0] not in _ABOUT or each[1] >= count),
            *([self._words()] if self._fixed else []),
            *(words for run, words in runs.items() if not run.is_about),
        ]
        order = (*first, *about, *rest) if runs_code else (*about, *first, *rest)
        return [word for operation in (*self._before, *order) for word in operation]

    def _loaded(self) -> set[int]:
        """The registers that runs of arrays look into."""
        arrays = {
            struct.unpack_from("<I", entry)[0] // 8
            for run, entries in self._runs.items()
            if run.kind == "ARRAYS"
            for entry in entries
        }
        return arrays | {run.place for run in self._runs if run.kind != "ARRAYS"}

    def _stays(self, rows: list[list[int]]) -> list[int]:
        """The operation that sees whether keys lead where they did, one after the other."""
        looked = [(scope, key, found, number) for _, _, _, scope, key, found, number, _ in rows]
        entries = b"".join(struct.pack("<8Q", *row, *pair_of(row[0], row[3])) for row in looked)
        # Where a dict keeps its keys now says nothing about which calls fit.
        place = self._memory(entries, b"".join(struct.pack("<3Q", *row[:3]) for row in looked))
        return [KINDS["STAYS"], 0, len(rows), place, 0, 0, 0, 0]

    def _words(self) -> list[int]:
        """The operation that checks words at fixed addresses, one after the other."""
        rows = [(place, mask, word) for (place, mask), word in self._fixed.items()]
        joined = b"".join(struct.pack("<3Q", *row) for row in rows)
        return [KINDS["WORDS"], 0, len(rows), self._memory(joined), 0, 0, 0, 0]

    def _run(self, run: _Run, entries: list[bytes]) -> list[int]:
        """The operation that checks arrays of one kind, one after the other."""
        place = self._memory(b"".join(entries))
        checks = (run.dtype, run.ndim, run.flags, place, run.extents)
        return [KINDS[run.kind], run.place, len(entries), *checks]

    def _memory(self, entries: bytes, form: bytes | None = None) -> int:
        """Where the entries of an operation are; `form` is what of them tells calls apart."""
        memory = ctypes.create_string_buffer(entries)
        self._kept.append(memory)
        self._entries[ctypes.addressof(memory)] = entries if form is None else form
        return ctypes.addressof(memory)

    def table(self, launch: Launch) -> Table:
        """The table in memory."""
        every = self._ordered()
        operations = (ctypes.c_int64 * len(every))(*every)
        results = result_words(launch.results)
        words = (
            self._arguments,
            self._count,
            launch.words,
            launch.entry,
            launch.template,
            ctypes.addressof(operations),
            len(every) // OP_WORDS,
            ctypes.addressof(results),
            id(launch.failed),
            int(launch.releases),
        )
        memory = (ctypes.c_int64 * SPECIAL_WORDS)(*words)
        kept = [*self._kept, operations, results, memory, launch]
        form = (launch.entry, *(self._entries.get(word, word) for word in every))
        marks = Marks(self._marks, self._marked)
        paths = {register: path for path, register in self._registers.items()}
        return Table(ctypes.addressof(memory), self._arguments, marks, form, kept, paths=paths)


class _Run(NamedTuple):
    """What arrays have in common that are checked in one loop."""

    kind: str
    place: int
    is_about: bool  # arguments, and nothing else
    dtype: int
    ndim: int
    flags: int
    extents: int


def _rows(words: list[int]) -> list[list[int]]:
    """Operations one by one."""
    return [words[at : at + OP_WORDS] for at in range(0, len(words), OP_WORDS)]


def _prefixes(path: Path) -> list[Path]:
    """A path's beginnings, itself included."""
    return [Path(path.root, path.name, path.steps[:i]) for i in range(len(path.steps) + 1)]


def _member(holder: Any, name: str, value: Any) -> Member | None:
    """Where an attribute is kept; None if only `getattr` knows."""
    cls = type(holder)
    if type(cls) not in (type, ABCMeta) or _in_class(cls, "__getattribute__") is not _GENERIC:
        return None
    version = _version(cls)
    if not version:
        return None
    found = _in_class(cls, name)
    if isinstance(found, types.MemberDescriptorType):
        if found.__objclass__ not in cls.__mro__ or "__slots__" not in vars(found.__objclass__):
            return None
        offset = slot_offset(found, layout().descriptor)
        if not 0 < offset < cls.__basicsize__:
            return None
        is_there = ctypes.c_int64.from_address(id(holder) + offset).value == id(value)
        return Member(cls, version, sys.intern(name), offset) if is_there else None
    if found is not None and type(found) not in _HIDDEN_BY_INSTANCES:
        return None
    return _attribute(holder, cls, version, sys.intern(name), value)


_HIDDEN_BY_INSTANCES: Final = frozenset(
    (int, float, bool, str, tuple, type(None), np.ndarray, types.FunctionType)
)
"""What a class may hold under a name of which an instance has its own: no data descriptors, and
their classes never become such."""


def _attribute(holder: Any, cls: type, version: int, name: str, value: Any) -> Member | None:
    """Where an attribute is that the instance holds itself; None if it does not."""
    at = layout()
    place = held(holder, at.inside, at.instance)
    if place is None:
        return None
    number = place.number(name)
    if number < 0 or place.value(number) != id(value):
        return None
    shared = shared_number(cls, name, at.inside, at.instance) if place.is_combined else number
    # Where the other kind of place is not known, the same number is as good a guess as any.
    return Member(cls, version, name, None, number if shared < 0 else shared, number)


def _held_at(cls: type) -> tuple[int, int]:
    """Where instances of a class have their dict, and their inline values, for HOLD."""
    at = layout().instance
    if not cls.__flags__ & MANAGED_DICT:
        return cls.__dictoffset__, 0
    if at.inline == "embedded":
        return at.dict, cls.__basicsize__ if cls.__flags__ & INLINE_VALUES else 0
    return at.dict, int(bool(at.inline))


def number_of(scope: dict[Any, Any], key: str) -> int:
    """At which number a key stands in a dict: a hint."""
    place = held_in_dict(id(scope), layout().inside, layout().instance)
    return max(place.number(key), 0) if place is not None else 0


def _word(number: int) -> int:
    """A word without a sign, as a table holds it."""
    return number - (1 << 64) if number >= 1 << 63 else number


def _version(cls: type) -> int:
    """A number that a class keeps until it, or what it derives from, changes; 0 if none."""
    return ctypes.c_uint32.from_address(id(cls) + layout().type_version).value


def _in_class(cls: type, name: str) -> Any:
    """What a class or its bases hold under a name, without asking them."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


_BOUND: Final = types.MethodType | types.MethodWrapperType | staticmethod | classmethod
_GENERIC: Final = object.__dict__["__getattribute__"]


def result_words(results: Any) -> Any:
    """What is made of the results in a record, as words for the launcher."""
    if results is None:
        words = [-1]
    elif isinstance(results, Chosen):
        words = [-3, results.word, *map(id, results.objects)]
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
    cls = type(value)
    if cls is types.BuiltinFunctionType:  # of something that can change, as `[].append` is
        return value.__self__ is None or type(value.__self__) is types.ModuleType
    if isinstance(value, types.ModuleType):
        name: Any = value.__name__
    elif isinstance(value, types.FunctionType | type):
        name = value.__module__
    elif isinstance(value, _BOUND) or hasattr(cls, "__whorl_function__"):
        return False
    else:
        name = cls.__module__
        if cls.__flags__ & _HEAP_CLASS and str(name).partition(".")[0] != "whorl":
            return False  # np.vectorize and the like hold what can be exchanged
    return (
        isinstance(name, str)
        and name.partition(".")[0] in _LIBRARY
        and (callable(value) or isinstance(value, types.ModuleType))
    )


def _scalar_offset(cls: type) -> int:
    """Where a NumPy scalar keeps its number: looked for in one that is known."""
    sample = cls(1)
    raw = np.array(sample).tobytes()
    memory = (ctypes.c_char * cls.__basicsize__).from_address(id(sample)).raw
    place = memory.find(raw, 16)
    if place < 0 or place + 8 > cls.__basicsize__:  # a whole word is read
        raise NotNative(f"a {cls.__name__} is not laid out as expected")
    return place
