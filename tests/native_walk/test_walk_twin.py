"""The functions of the native walk as plain Python: the same digests, and no wrong address."""

from __future__ import annotations

import ctypes
import enum
import gc
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from tests.native_walk.compiled_walk import needs_native_walk, new_walks
from whorl.fast_dataclasses import replace
from whorl.fingerprint.walk import walk
from whorl.fingerprint.walk_choice import Walks
from whorl.launch.instances import MANAGED_DICT
from whorl.launch.object_words import at
from whorl.native_walk.native_digest import NativeDigest, workspace
from whorl.native_walk.token_walk import whorl_walk
from whorl.native_walk.walk_layout import constants_of, walk_layout
from whorl.systems import u64
from whorl.systems.live_memory import DeadAddress, LiveMemory
from whorl.systems.raw_memory import checking, own_stack

pytestmark = needs_native_walk


@dataclass(slots=True)
class Pair:
    left: Any
    right: Any


@dataclass
class Open:
    x: Any


class Colour(enum.Enum):
    RED = "red"


def shared() -> list[Any]:
    part = [["deep", [1]]]
    return [part, part, part]


VALUES: dict[str, Any] = {
    "leaves": [1, -1, 2**40, -(2**70), "a", "\xe4\u0436", b"x", 2.5, 1j, None, True, ...],
    "nested": [[1, [2, (3,)]], (4, 5), {"b": 1, "a": [2, []]}, {2: "x", 1: "y"}],
    "instances": [Pair(1, [Open(2)]), Open(Pair(None, Colour.RED))],
    "described": [{1, "a"}, frozenset({2}), range(3), {(1,): 2}],
    "shared": shared(),
    "a chunk": [[i] for i in range(300)],
}


class TwinWalk:
    """The native walk of a describer, run as plain Python."""

    def __init__(self, native: NativeDigest) -> None:
        self.owner: bytes = native.walk.__self__  # type: ignore[attr-defined]  # of a builtin
        self.memory: LiveMemory | None = None

    def __call__(self, value: object, *answers: bytes) -> Any:
        args = (ctypes.c_uint64 * 2)(id(value), *map(id, answers))
        place = u64(ctypes.addressof(args))
        with at.as_given(constants_of(walk_layout())), own_stack(), ExitStack() as stack:
            if self.memory is not None:
                add_array(self.memory, args)
                stack.enter_context(checking(self.memory))
            found = whorl_walk(u64(id(self.owner)), place, u64(1 + len(answers)))
        result: Any = ctypes.cast(int(found), ctypes.py_object).value
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(result))
        return result


def add_array(memory: LiveMemory, array: Any) -> None:
    memory.add(ctypes.addressof(array), ctypes.sizeof(array))


def memory_of(value: object, native: NativeDigest) -> LiveMemory:
    """What a walk may read: the objects of a value, their rows, the state and the plans."""
    memory = LiveMemory()
    seen, pending = {id(value): value}, [value, native.walk.owner]  # type: ignore[attr-defined]
    while pending:
        each = pending.pop()
        kind: Any = type(each)
        size = max(kind.__sizeof__(each), kind.__basicsize__)
        before = 40 if type(each).__flags__ & MANAGED_DICT else 0  # what Python keeps there
        memory.add(id(each) - before, (size + before + 15) // 8 * 8)  # up to the end of a word
        if type(each) is list and each:
            memory.add(ctypes.c_uint64.from_address(id(each) + 24).value, 8 * len(each))
        if type(each) is dict and each:
            keys, row = (ctypes.c_uint64.from_address(id(each) + at).value for at in (32, 40))
            bits = ctypes.c_uint8.from_address(keys + 9).value
            entries = ctypes.c_uint64.from_address(keys + 24).value
            memory.add(keys, 32 + (1 << bits) + 24 * entries)
            if row:
                memory.add(row - 8, 8 * entries + 16)
        if before and vars(each):  # which gives it a dict
            pending.append(vars(each))
        names = list(each) if type(each) is dict else []  # which the collector does not visit
        for part in (type(each), *gc.get_referents(each), *names):
            if id(part) not in seen and not isinstance(each, type):
                seen[id(part)] = part
                pending.append(part)
    workspace, plans = native._state, native.plans
    for array in (workspace.words, native._policy, native._head, plans._words):
        add_array(memory, array)
    for kept in (*workspace._kept, *plans._kept):
        if isinstance(kept, ctypes.Array):
            add_array(memory, kept)
        for name in kept if isinstance(kept, list | tuple) else ():
            memory.add(id(name), name.__sizeof__() + 8)
    return memory


@pytest.fixture
def twin() -> tuple[NativeDigest, Walks]:
    workspace.cache_clear()  # no buffer has grown yet
    native, plain = new_walks()
    object.__setattr__(native, "walk", TwinWalk(native))
    return native, plain


@pytest.mark.parametrize("name", VALUES)
def test_the_twin_gives_the_digest_of_the_plain_walk(
    name: str, twin: tuple[NativeDigest, Walks]
) -> None:
    native, plain = twin
    expected = plain.plain_digest(VALUES[name])
    assert native(VALUES[name]) == expected
    walk.forget()


@pytest.mark.parametrize("name", ["leaves", "nested", "instances", "shared"])
def test_no_address_is_read_that_belongs_to_nothing(
    name: str, twin: tuple[NativeDigest, Walks]
) -> None:
    native, plain = twin
    value = VALUES[name]
    native(value)  # from now on all classes are known
    native.walk.memory = memory_of(value, native)  # type: ignore[attr-defined]
    assert native(value) == plain.plain_digest(value)


def test_a_wrong_offset_is_found(twin: tuple[NativeDigest, Walks]) -> None:
    native, _ = twin
    value = [["text"]]
    native(value)
    native.walk.memory = memory_of(value, native)  # type: ignore[attr-defined]
    wrong = replace(walk_layout().values, list_items=walk_layout().values.list_items + 64)
    args = (ctypes.c_uint64 * 1)(id(value))
    add_array(native.walk.memory, args)  # type: ignore[attr-defined]
    places = id(native.walk.owner), ctypes.addressof(args), 1  # type: ignore[attr-defined]
    with (
        at.as_given(constants_of(replace(walk_layout(), values=wrong))),
        own_stack(),
        checking(native.walk.memory),  # type: ignore[attr-defined]
        pytest.raises(DeadAddress),
    ):
        whorl_walk(*map(u64, places))
