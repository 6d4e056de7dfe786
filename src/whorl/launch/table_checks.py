"""The checks of a table: one per read of the specialization.

Every check is at least as strict as the fact it stands for: what a table lets pass, the plain
replay would have found to be the same. What the kernel is launched with goes into the record on
the way. A read that cannot be checked natively makes the whole specialization `NotNative`.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import types
from typing import Any, Final

import numpy as np

from whorl.calls.events import audits, listeners
from whorl.reads import Aspect, Path, Read
from whorl.reads.facts import flags_of, signature
from whorl.reads.replay import is_as_the_code
from whorl.reads.value_fact import is_constant
from whorl.reads.world import ABSENT, function_behind, owner_of

from .layout_search import object_layout
from .member_places import signed_word, version_of
from .selector import IDENTITY, INT, META, array_mark
from .table_paths import BESIDE, global_row, register_of, register_of_holder, same_module
from .table_state import ArrayRun, NotNative, TableState, row

_BY_CLASS: Final = frozenset(("int", "float", "bool", "str"))
_LIBRARY: Final = ("numpy", "whorl", "math", "cmath", "builtins")
_HEAP_CLASS: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_BOUND: Final = types.MethodType | types.MethodWrapperType | staticmethod | classmethod


# -- what is around a call --------------------------------------------------------------


def check_label(table: TableState, label: object) -> None:
    """That the last argument is a label."""
    register = len(table.parameters.names) - 1
    if type(label) is int and -(2**63) <= label < 2**63:
        table.op("EQINT", register, 0, 0, label)
        table.mark(register, INT, label % (1 << 64))
    else:
        table.op("SAME", register, 0, table.address(label))
        table.mark(register, IDENTITY, id(label))


def check_defaults(table: TableState) -> None:
    """That the arguments which are not given are those of the function's defaults."""
    missing = [number for number in range(len(table.names)) if number not in table.given]
    if not missing:
        return
    function, at = table.world.function, object_layout()
    place = table.address(function)
    defaults, keyword = function.__defaults__, function.__kwdefaults__
    positional = [number for number in missing if number < table.parameters.positional]
    if positional:
        _check_word(table, place + at.function_defaults, table.address(defaults))
    for register in positional:  # a tuple that is the same holds the same
        value = table.address(table.world.arguments[table.names[register]])
        table.before.append(row("CONST", 0, register, value))
    if len(positional) == len(missing):
        return
    if type(keyword) is not dict:
        raise NotNative("defaults of parameters by keyword are in no plain dict")
    _check_word(table, place + at.function_keyword_defaults, table.address(keyword))
    for register in missing[len(positional) :]:
        loaded = global_row(table, register, keyword, sys.intern(table.names[register]))
        loaded[6] = 1  # to be kept: code of the user may run after it
        table.before.append(loaded)


def _check_word(table: TableState, place: int, word: int) -> None:
    """That there is this word at an address, and nobody listens."""
    listening, auditing = _watchers(table)
    table.before.append(row("CELLS", listening, 0, auditing, 0, place, word))


def _watchers(table: TableState) -> tuple[int, int]:
    """Where it says how many listen and how many audit."""
    listening, auditing = (
        table.address(each) + object_layout().list_size for each in (listeners, audits)
    )
    return listening, auditing


def check_surroundings(table: TableState) -> None:
    """That nobody listens, that the function has its code, and its module is still there."""
    listening, auditing = _watchers(table)
    function = table.world.function
    place = table.address(function) + object_layout().function_code
    table.op("CELLS", listening, 0, auditing, 0, place, table.address(function.__code__))
    home = function.__globals__.get("__name__")
    module = sys.modules.get(home) if isinstance(home, str) else None
    if isinstance(home, str) and module is not None:
        same_module(table, home, module)


# -- reads ------------------------------------------------------------------------------


def check_read(table: TableState, read: Read) -> None:
    """A check for a read."""
    path, aspect, find = read.path, read.aspect, table.world.find
    if path.root in BESIDE:
        return
    if is_as_the_code(path):  # as it is written: that is as fixed as the code
        owner = owner_of(path)
        _check_code(table, register_of(table, owner), find(owner))
        return
    value = find(path)
    if value is ABSENT:
        raise NotNative(f"{path} is absent")
    if aspect in (Aspect.ARRAY, Aspect.TYPE, Aspect.VALUE):
        table.mark_member(path, value)
    if aspect is Aspect.ARRAY:
        _check_array(table, path, value)
        return
    register = register_of(table, path)
    match aspect:
        case Aspect.PRESENT:
            pass  # it was walked to
        case Aspect.TYPE:
            _check_type(table, path, register, value)
        case Aspect.VALUE:
            _check_value(table, path, register, value)
        case Aspect.CODE:
            _check_code(table, register, value)
        case Aspect.ALIAS if find(read.beside[0]) is value:
            table.op("EQUAL", register, 0, 0, register_of(table, read.beside[0]))
        case _:
            raise NotNative(f"{read} is not read natively")


def _check_array(table: TableState, path: Path, value: Any) -> None:
    slot = table.slots.get(path)
    if type(value) is not np.ndarray or slot is None or slot.kind != "array":
        raise NotNative(f"{path} is no plain array that is passed")
    flags = value.flags
    order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "strided"
    mask, bits = flags_of(order, writeable=flags.writeable)
    checks = (table.address(value.dtype), value.ndim, mask | bits << 32, slot.extents)
    table.filled.add(path)
    member = table.members.get(path)
    if member is None or path in table.early or path in table.registers or table.keeps:
        register = register_of(table, path)
        table.mark(register, META, array_mark(value))
        is_about = register < len(table.parameters.names)
        run = ArrayRun("ARRAYS", 0, is_about, *checks)
        entry = struct.pack("<2I", 8 * register, slot.word)
    else:
        before = owner_of(path)
        owner = register_of(table, before)
        place = register_of_holder(table, before, owner, member, is_early=False)
        if member.offset is not None:
            run = ArrayRun("SLOTTED", place, False, *checks)
            entry = struct.pack("<2I", member.offset, slot.word)
        else:
            run = ArrayRun("KEYED", place, False, *checks)
            name = table.address(member.name)
            entry = struct.pack("<Q4I", name, slot.word, member.shared, member.own, 0)
    table.runs.setdefault(run, []).append(entry)


def _check_type(table: TableState, path: Path, register: int, value: Any) -> None:
    slot = table.slots.get(path)
    cls = type(value)
    table.mark(register, META, id(cls))
    if slot is None:
        if value is None or isinstance(value, type):
            table.op("SAME", register, 0, table.address(value))
        elif (kind := signature(value)[0]) in ("object", "enum"):
            # What its class derives from, and whether it says its own signature, is read too.
            version = version_of(cls)
            if not version:
                raise NotNative(f"{path} is of a class without a version")
            table.op("CLASS", register, 0, table.address(cls), version)
        elif kind in _BY_CLASS:
            table.op("TYPE", register, 0, table.address(cls))
        else:  # there is more to its signature than the class
            raise NotNative(f"{path} is a {cls.__name__} known by its signature")
        return
    if slot.kind in ("int", "float", "bool"):
        table.op(slot.kind.upper(), register, slot.word)
    elif isinstance(value, np.generic | complex):
        size, offset = np.dtype(cls).itemsize, _scalar_offset(cls)
        mask = (1 << 8 * min(size, 8)) - 1
        for i in range(0, size, 8):  # a complex128 takes two words
            place = (slot.word + i // 8, table.address(cls), signed_word(mask), offset + i)
            table.op("SCALAR", register, *place)
    else:
        raise NotNative(f"{path} is a {cls.__name__}")
    table.filled.add(path)


def _check_value(table: TableState, path: Path, register: int, value: Any) -> None:
    cls = type(value)
    table.mark(register, META, id(cls))
    if register in table.lasting and is_constant(value):
        table.op("SAME", register, 0, table.address(value))
    elif cls is int and -(2**63) <= value < 2**63:
        table.mark(register, INT, value % (1 << 64))
        table.op("EQINT", register, 0, 0, value)
    elif cls is float:
        (bits,) = struct.unpack("<q", struct.pack("<d", value))
        table.op("EQFLOAT", register, 0, 0, bits)
    elif is_constant(value) or is_of_library(value):
        table.mark(register, IDENTITY, id(value))
        table.op("SAME", register, 0, table.address(value))
        if isinstance(value, types.FunctionType):
            _check_code(table, register, value)
    else:
        raise NotNative(f"{path} is a {cls.__name__}, which can change")


def _check_code(table: TableState, register: int, value: Any) -> None:
    function = function_behind(value)
    if isinstance(value, types.MethodType):
        inner = table.new()
        table.op("TYPE", register, 0, table.address(types.MethodType), first=True)
        table.op("ATTR", register, inner, table.address(sys.intern("__func__")), first=True)
        register, value = inner, value.__func__
    if value is not function or type(function) is not types.FunctionType:
        raise NotNative("a function that is wrapped is followed in Python")
    table.op("SAME", register, 0, table.address(function))
    code = table.address(function.__code__)
    table.op("CODE", register, 0, code, table.address(types.FunctionType))


def is_of_library(value: Any) -> bool:
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
