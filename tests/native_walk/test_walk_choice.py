"""When a process takes the native walk, and that what fails costs speed and one warning."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import pytest

import whorl.testing
from tests.native_walk.compiled_walk import compiled_walk, needs_native_walk
from whorl import settings
from whorl.errors import KernelError
from whorl.fingerprint import walk_choice
from whorl.fingerprint.describe import Describer
from whorl.fingerprint.policy import Policy
from whorl.fingerprint.tokens import FORMAT
from whorl.fingerprint.walk_choice import COMPILE_AFTER, LOAD_AFTER, NativeWalks, Walks
from whorl.launch import failure, shipped_images, stored_routine
from whorl.launch.callable import NotKnown
from whorl.launch.image_builder import build_images, shipped_routines
from whorl.launch.level import ARM_LEVELS, X86_LEVELS, lowest_level
from whorl.launch.mapped import Unmappable
from whorl.launch.stored_routine import COMPILED, FOUND, SHIPPED, origins
from whorl.native_walk import walk_loading
from whorl.native_walk.walk_layout import KNOWN_WALK_LAYOUTS, walk_layout

pytestmark = needs_native_walk

VERSION = "{}.{}".format(*sys.version_info[:2])


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[NativeWalks]:
    """As in a new process of a wheel without images."""
    native = NativeWalks()
    monkeypatch.setattr(walk_choice, "NATIVE", native)
    monkeypatch.setattr(failure, "_reasons", {})
    monkeypatch.setattr(shipped_images, "IMAGES", str(tmp_path / "none"))
    monkeypatch.delitem(origins, walk_loading.NAME, raising=False)
    with whorl.testing.fresh_cache():
        yield native


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Counts what is compiled, with the text that was compiled before."""
    texts: list[str] = []
    text = walk_loading.walk_text(walk_layout())

    def counted(layout: object) -> str:
        texts.append("text")
        return text

    monkeypatch.setattr(walk_loading, "walk_text", counted)
    return texts


def new_walks() -> Walks:
    return Walks(Describer(Policy()), (FORMAT,))


@pytest.mark.skipif(VERSION not in KNOWN_WALK_LAYOUTS, reason="a Python that has no row yet")
def test_the_row_of_this_python_is_what_is_found_in_it() -> None:
    assert KNOWN_WALK_LAYOUTS[VERSION] == walk_layout()


def test_each_known_layout_is_shipped_for_each_architecture() -> None:
    shipped = [routine for routine in shipped_routines() if routine.name == walk_loading.NAME]
    for lowest in (X86_LEVELS[0], ARM_LEVELS[0]):
        layouts = {routine.layout for routine in shipped if routine.level == lowest}
        assert len(layouts) == len(KNOWN_WALK_LAYOUTS)


def test_small_fingerprints_load_nothing(
    new_process: NativeWalks, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def ask(*, compiles: bool) -> None:
        asked.append(compiles)

    monkeypatch.setattr(walk_loading, "new_digests", ask)
    new_process.spend(LOAD_AFTER / 2)
    assert not asked
    new_process.spend(LOAD_AFTER)
    assert asked == [False]


def test_it_is_loaded_from_the_store_first_and_compiled_only_when_that_pays(
    new_process: NativeWalks, no_compiler: list[str]
) -> None:
    walks = new_walks()
    expected = walks.digest([1, [2]])
    new_process.spend(LOAD_AFTER)
    assert not new_process.new
    assert no_compiler == []
    new_process.spend(COMPILE_AFTER)
    assert new_process.new
    assert (no_compiler, origins[walk_loading.NAME]) == (["text"], COMPILED)
    assert walks.native_digest([1, [2]]) == expected == walks.digest([1, [2]])

    other = NativeWalks()  # another process
    other.spend(LOAD_AFTER)
    assert other.new
    assert (no_compiler, origins[walk_loading.NAME]) == (["text"], FOUND)
    assert other._due == inf


def test_a_shipped_image_is_used_and_nothing_is_compiled(
    new_process: NativeWalks,
    no_compiler: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    build_images(tmp_path / "images", [walk_loading.walk_for(walk_layout(), lowest_level())])
    monkeypatch.setattr(shipped_images, "IMAGES", str(tmp_path / "images"))
    no_compiler.clear()
    new_process.spend(LOAD_AFTER)
    assert new_process.new
    assert (no_compiler, origins[walk_loading.NAME]) == ([], SHIPPED)
    assert walk_loading.status() == (True, f"the {walk_loading.NAME} is {SHIPPED}")


@pytest.mark.parametrize(
    ("module", "step", "error"),
    [
        (walk_loading, "walk_text", KernelError("this is not in the dialect", "")),
        (walk_loading, "walk_layout", NotKnown("a text is not laid out as expected")),
        (stored_routine, "load_routine", Unmappable("this system lets nothing run")),
    ],
)
def test_what_fails_costs_speed_and_one_warning(
    module: Any,
    step: str,
    error: Exception,
    new_process: NativeWalks,
    no_compiler: list[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(*args: Any) -> Any:
        raise error

    walks = new_walks()
    expected = walks.digest([1, {"a": 2}])
    monkeypatch.setattr(module, step, fails)
    with caplog.at_level(logging.WARNING, "whorl"):
        for _ in range(3):
            new_process.spend(COMPILE_AFTER)
            assert walks.digest([1, {"a": 2}]) == expected
    assert new_process.new is None
    assert [record.getMessage() for record in caplog.records] == [
        f"{walk_loading.IN_PYTHON}: {failure.reasons()[0]}"
    ]


def test_the_doctor_says_why_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> Any:
        raise NotKnown("a text is not laid out as expected")

    assert walk_loading.status().on
    monkeypatch.setattr(walk_loading, "walk_layout", fails)
    assert walk_loading.status() == (False, "a text is not laid out as expected")


def test_where_nothing_may_be_compiled_plain_walks_go_on(
    new_process: NativeWalks, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stored_routine, "is_hit_required", lambda: True)
    with caplog.at_level(logging.WARNING, "whorl"):
        new_process.spend(COMPILE_AFTER)
    assert new_process.new is None
    assert not caplog.records


def test_a_fingerprint_that_is_taken_while_it_is_loaded_is_a_plain_one(
    new_process: NativeWalks, monkeypatch: pytest.MonkeyPatch
) -> None:
    walks, met = new_walks(), []

    def loads(*, compiles: bool) -> Any:
        met.append(walks.digest([1]))
        new_process.spend(COMPILE_AFTER)
        return compiled_walk()

    monkeypatch.setattr(walk_loading, "new_digests", loads)
    new_process.spend(COMPILE_AFTER)
    assert met == [walks.digest([1])]


PROGRAM = """
import sys, whorl
value = [{"k": [i]} for i in range(20_000)]
first = whorl.fingerprint(value)
from whorl.fingerprint.walk_choice import NATIVE
assert NATIVE.new is not None, "it is not loaded"
assert whorl.fingerprint(value) == first
print([name for name in ("numpy", "llvmlite") if name in sys.modules])
"""


def test_a_process_that_finds_it_imports_no_numpy_and_no_compiler(
    new_process: NativeWalks, no_compiler: list[str]
) -> None:
    assert new_process.prepare(compiles=True)
    store = settings.current().cache_dir.value
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "WHORL_CACHE_DIR": str(store)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
