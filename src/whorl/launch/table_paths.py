"""How a table walks to what a specialization reads: each path leads to a register."""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Sequence
from typing import Any, Final

from whorl.reads import Path, Read, Step
from whorl.reads.replay import is_as_the_code
from whorl.reads.value_fact import is_constant
from whorl.reads.world import own_module, owner_of, scope_of

from .attribute_rows import HELD_WORDS
from .member_places import (
    Member,
    address_of_dict,
    attribute_places,
    key_number,
    member_dict,
    member_of,
    module_dict,
    own_key,
    version_of,
)
from .selector import META
from .table_state import ALL_BITS, NotNative, TableState, row

BESIDE: Final = frozenset(("target", "compiler", "option"))
"""What is read of these is the same until somebody drops all tables."""
_MEMBERS: Final = Step("attr", "_member_map_")


def plan_paths(table: TableState, reads: Sequence[Read]) -> None:
    """Decide how each path is walked, and which have to be walked first."""
    find = table.world.find
    paths = {
        owner_of(path) if is_as_the_code(path) else path: read.aspect
        for read in reads
        for path in (read.path, *read.beside)
        if path.root not in BESIDE
    }
    every = dict.fromkeys(prefix for path in paths for prefix in _prefixes(path))
    for path in every:
        if path.steps and path.steps[-1].operation == "attr":
            member = member_of(find(owner_of(path)), path.steps[-1].name, find(path))
            if member is not None:
                table.members[path] = member
    for path in every:
        is_method = type(find(path)) is types.MethodType  # its function is asked for
        if (path.steps and path not in table.members) or is_method:
            table.early.update(_prefixes(path))


def _prefixes(path: Path) -> list[Path]:
    """A path's beginnings, itself included."""
    return [Path(path.root, path.name, path.steps[:i]) for i in range(len(path.steps) + 1)]


def register_of(table: TableState, path: Path) -> int:
    """The register with what is at a path."""
    if path not in table.registers:
        table.registers.setdefault(path, _walk(table, path))
    return table.registers[path]


def _walk(table: TableState, path: Path) -> int:
    if not path.steps:
        return _root(table, path)
    register = _of_enum(table, path)
    if register is not None:
        return register
    before, step = owner_of(path), path.steps[-1]
    owner = register_of(table, before)
    member = table.members.get(path)
    if member is not None:
        return _load(table, path, before, owner, member)
    register = table.new()
    if _of_module(table, before, step, owner, register):
        return register
    match step:
        case Step("attr", str(name)):
            table.op("ATTR", owner, register, table.address(sys.intern(name)), first=True)
        case Step("item", key):
            holder = table.world.find(before)
            if type(holder) not in (tuple, list, dict) or not is_constant(key):
                raise NotNative(f"{path} is an item of a {type(holder).__name__}")
            table.op("TYPE", owner, 0, table.address(type(holder)), first=True)
            table.op("ITEM", owner, register, table.address(key), first=True)
        case Step("behind" | "cell" | "default" | "global"):
            _of_function(table, path, owner, register, step)
        case _:
            raise NotNative(f"{path} is not walked natively")
    return register


def _root(table: TableState, path: Path) -> int:
    if path.root == "arg":
        return table.names.index(path.name)
    if path.root == "func":
        register = table.new()
        table.op("CONST", 0, register, table.address(table.world.function), first=True)
        return register
    if path.root != "global":
        raise NotNative(f"{path} is not an argument or a global")
    module, _, name = path.name.rpartition(".")
    function = table.world.function
    scope = scope_of(function, module)
    if type(scope) is not dict:
        raise NotNative(f"{path} is in no plain module")
    if module != own_module(function):
        loaded = sys.modules.get(module)
        if loaded is None or vars(loaded) is not scope:
            raise NotNative(f"{path} is in a module of another name")
        same_module(table, module, loaded)
    register, key = table.new(), sys.intern(name)
    if name in scope:
        _global(table, register, scope, key)
    else:  # a builtin, as long as no global hides it
        table.op("NOKEY", 0, 0, table.address(scope), table.address(key), first=True)
        _global(table, register, vars(builtins), key)
    return register


def same_module(table: TableState, name: str, module: Any) -> None:
    """Check that a name still leads to the same module."""
    if name in table.modules:
        return
    table.modules.add(name)
    register = table.new()
    _global(table, register, sys.modules, sys.intern(name))
    table.op("SAME", register, 0, table.address(module))


def _global(table: TableState, register: int, scope: dict[Any, Any], key: str) -> None:
    """Load what a key leads to in a dict that stays the same one."""
    table.first.append(global_row(table, register, scope, key))


def global_row(table: TableState, register: int, scope: dict[Any, Any], key: str) -> list[int]:
    """The operation that loads what a key leads to in a dict."""
    key = own_key(scope, key)
    number = key_number(scope, key)
    return row("GLOBAL", 0, register, table.address(scope), table.address(key), number)


def _of_enum(table: TableState, path: Path) -> int | None:
    """The register of a member of an enum, or of what it holds; None if it is neither.

    That the dicts are still the ones that are asked follows from the version of the class,
    and from what the member refers to.
    """
    find = table.world.find
    before, step = owner_of(path), path.steps[-1]
    if step.operation == "item" and before.steps[-1:] == (_MEMBERS,):
        cls, member = find(owner_of(before)), find(path)
        version = version_of(cls) if isinstance(cls, type) else 0  # as it is now
        scope = member_dict(cls, step.name, member)
        if scope is None or not version:
            return None
        table.op("SAME", register_of(table, owner_of(before)), 0, table.address(cls))
    elif step.operation == "attr" and isinstance(step.name, str):
        member = find(before)
        cls = type(member)
        version = version_of(cls)
        place = address_of_dict(member, step.name)
        if not place or not version:
            return None
        scope, owner = vars(member), register_of(table, before)
        table.op("SAME", owner, 0, table.address(member))
        table.op("CLASS", owner, 0, table.address(cls), version)
        table.fixed[place, ALL_BITS] = id(scope)
        table.lasting.add(table.count)  # what a member holds is set once
    else:
        return None
    register = table.new()
    _global(table, register, scope, sys.intern(step.name))
    if step.operation == "item":
        table.op("CLASS", register, 0, table.address(cls), version)
    return register


def _of_module(table: TableState, before: Path, step: Step, owner: int, register: int) -> bool:
    """Load what a module holds under a name; whether it is a plain module that does.

    A module has one dict all its life. What is in it is what the module has under that name,
    as long as its class neither has the name nor its own way to look for it.
    """
    module = table.world.find(before)
    cls = type(module)
    version = version_of(cls)  # before it is looked at: another thread may change it meanwhile
    scope = module_dict(module, step)
    if scope is None or not version:
        return False
    table.op("SAME", owner, 0, table.address(module))
    table.op("CLASS", owner, 0, table.address(cls), version)
    _global(table, register, scope, sys.intern(step.name))
    return True


def _of_function(table: TableState, path: Path, owner: int, register: int, step: Step) -> None:
    """Load something that a function has: an attribute, a variable of its closure, a default."""
    function = table.world.find(owner_of(path))
    if type(function) is not types.FunctionType:
        raise NotNative(f"{path} is reached through a {type(function).__name__}")
    table.op("SAME", owner, 0, table.address(function), first=True)
    match step:
        case Step("behind", str(name)):
            table.op("ATTR", owner, register, table.address(sys.intern(name)), first=True)
        case Step("cell", str(name)):  # which cell a function has for a name never changes
            cells = dict(
                zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
            )
            table.op("CONST", 0, register, table.address(cells[name]), first=True)
            name = sys.intern("cell_contents")
            table.op("ATTR", register, register, table.address(name), first=True)
        case Step("global", str(name)) if (
            type(function.__globals__) is dict and name in function.__globals__
        ):
            _global(table, register, function.__globals__, sys.intern(name))
        case Step("default", str(name)) if name not in (function.__kwdefaults__ or {}):
            every = sys.intern("__defaults__")
            table.op("ATTR", owner, register, table.address(every), first=True)
            defaults = table.address(function.__defaults__)
            table.op("SAME", register, 0, defaults, first=True)
            value = table.new()  # a tuple that is the same holds the same
            table.op("CONST", 0, value, table.address(table.world.find(path)), first=True)
            table.registers[path] = value
        case _:
            raise NotNative(f"{path} is not walked natively")


def _load(table: TableState, path: Path, before: Path, owner: int, member: Member) -> int:
    """Load a member that lies in the object, or among its attributes, at a known place."""
    is_early = path in table.early
    keep = int(is_early or table.keeps)
    place = register_of_holder(table, before, owner, member, is_early=is_early)
    register = table.new()
    if member.offset is not None:
        table.op("SLOT", place, register, keep, member.offset, first=is_early)
    else:
        name = table.address(member.name)
        table.op("KEY", place, register, keep, name, member.numbers, first=is_early)
    return register


def register_of_holder(
    table: TableState, before: Path, owner: int, member: Member, *, is_early: bool
) -> int:
    """The register of an object whose class is as it was, or of where it keeps attributes.

    What is found early is used at once and never again: code of the user may run after it.
    """
    is_slot = member.offset is not None
    known = None if is_early else table.places.get((before, is_slot))
    if known is not None:
        return known
    cls = table.address(member.cls)
    table.mark(owner, META, id(member.cls))
    if is_slot:
        place = owner
        table.op("CLASS", owner, 0, cls, member.version, first=is_early)
    else:
        place = table.new(HELD_WORDS)
        at = attribute_places(member.cls)
        table.op("HOLD", owner, place, cls, member.version, *at, first=is_early)
    if not is_early:
        table.places[before, is_slot] = place
    return place
