"""A program with cached functions and a compiler gives its results whatever system call of the
store fails: see `tests/store/test_failing_system_calls.py`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import whorl
from tests.store.failing import OpenFiles, failing
from whorl import settings
from whorl.store import Cache, DirectoryStore

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")

SOURCES = (f"whorl{os.sep}store{os.sep}", f"store{os.sep}signature")


class Adding:
    """Compiles to what adds a constant that it reads."""

    name, version, toolchain = "adding", "1", "none"

    def compile(self, program: Any, inputs: Any) -> whorl.Artifact:
        inputs.arg("x").type()
        return whorl.Artifact({"code": b"add"}, {"more": 10})

    def load(self, artifact: whorl.Artifact, device: str) -> Callable[[int], int]:
        more: Any = artifact.metadata["more"]
        return lambda x: x + more


def plain(x: int) -> list[int]:
    return [x, x * x]


def pickled(x: int) -> Fraction:
    return Fraction(x, 7)


def compiled(x: int) -> int:
    return x + 10


def program(directory: Path) -> list[Any]:
    """What a program gets that finds one half of what it asks for, and makes the other."""
    cache = Cache(DirectoryStore(directory))
    first, second = whorl.cached(store=cache)(plain), whorl.cached(store=cache)(pickled)
    kernel = whorl.jit(Adding(), store=cache)(compiled)
    results = [f(x) for f in (first, second, kernel) for x in (1, 2)]
    cache.statistics.flush()
    return results


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory for signing keys and for what else is kept; the settings are put back."""
    before = settings.current()
    whorl.configure(cache_dir=tmp_path / "default")
    yield tmp_path
    settings.restore(before)


EXPECTED = [[1, 1], [2, 4], Fraction(1, 7), Fraction(2, 7), 11, 12]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("error", ["EIO", "ENOSPC", "MemoryError"])
@pytest.mark.parametrize("is_warm", [False, True], ids=["cold", "warm"])
def test_a_program_gives_its_results_whatever_system_call_fails(
    error: str, is_warm: bool, source: str, place: Path
) -> None:
    from whorl.store import signature

    assert program(place / "warm") == EXPECTED
    with failing(0, error, only_in=source) as counting:
        signature._keys.clear()
        program(place / ("warm" if is_warm else "cold"))
    files = OpenFiles()
    step = max(1, counting.count // 60)
    for number in range(1, counting.count + 2, step):
        signature._keys.clear()
        directory = place / ("warm" if is_warm else f"cold {number}")
        with failing(number, error, only_in=source):
            assert program(directory) == EXPECTED
        assert not files.leaks()
        assert program(directory) == EXPECTED
