"""A native walk for which there is no memory hands the value back, and the next one is right."""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Iterator
from typing import Any

import pytest

from tests.native_walk.compiled_walk import needs_native_walk, new_walks
from whorl.native_walk import walk_state as words
from whorl.native_walk.native_digest import workspace
from whorl.native_walk.walk_layout import walk_layout

pytestmark = needs_native_walk

_NEW = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_uint64)
_ENLARGE = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)


class Ration:
    """Gives a workspace so many pieces of memory, and then none."""

    def __init__(self) -> None:
        self.left = 0
        self._new = _NEW(("PyMem_RawMalloc", ctypes.pythonapi))
        self._enlarge = _ENLARGE(("PyMem_RawRealloc", ctypes.pythonapi))
        self._calls = _NEW(self.new), _ENLARGE(self.enlarge)

    def new(self, size: int) -> int | None:
        self.left -= 1
        return self._new(size) if self.left >= 0 else None

    def enlarge(self, place: int, size: int) -> int | None:
        self.left -= 1
        return self._enlarge(place, size) if self.left >= 0 else None

    def serve(self) -> None:
        """Serve the workspace of the process from now on."""
        memory = workspace(walk_layout()).words
        for name, call in zip(("PyMem_RawMalloc", "PyMem_RawRealloc"), self._calls, strict=True):
            address = ctypes.cast(call, ctypes.c_void_p).value
            assert address
            memory[words.API.index(name)] = address


@pytest.fixture
def _own_workspace() -> Iterator[None]:
    workspace.cache_clear()
    yield
    workspace.cache_clear()


class Bare:
    pass


Member = enum.Enum("Member", {f"m{i}": [i, [i]] for i in range(60)})  # type: ignore[misc]


def _bare(count: int) -> Bare:
    made = Bare()
    vars(made).update({f"name{i}": [[i]] for i in range(count)})
    return made


def _deep(depth: int) -> object:
    value: object = 0
    for i in range(depth):
        value = [value, {1: value, "s": i}] if i % 3 else {"a": value, "b": "x" * i}
    return value


_SHARED = [[[i]] for i in range(2_000)]
_VALUES: dict[str, Any] = {
    "dicts of mixed keys": _deep(40),
    "many mixed keys": {**{i: [[i]] for i in range(600)}, **{str(i): i for i in range(600)}},
    "attributes": [_bare(i) for i in range(60)],
    "members": [*Member] * 3,
    "shared": [_SHARED, _SHARED, _SHARED, [_SHARED]],
    "long": ["é" * 5_000, "x" * 100_000, b"y" * 500, 1 << 90_000],
    "ints as keys": [{j: [j, [j]] for j in range(i)} for i in range(80)],
    "sets": [{(i, "a" * i, j) for j in range(20)} for i in range(40)],
}


@pytest.mark.usefixtures("_own_workspace")
@pytest.mark.parametrize("kind", _VALUES)
def test_whichever_piece_of_memory_is_missing_there_is_no_digest_or_the_right_one(
    kind: str,
) -> None:
    value = _VALUES[kind]
    usual = new_walks()[1].plain_digest(value)
    digest, pieces = None, 0
    while digest is None and pieces < 200:
        workspace.cache_clear()
        native, _ = new_walks()
        ration = Ration()
        ration.serve()
        ration.left = pieces
        digest = native(value)
        assert digest in (None, usual)
        ration.left = 1_000_000
        assert native(value) == usual
        pieces += 1
    assert digest == usual
    assert pieces > 1
