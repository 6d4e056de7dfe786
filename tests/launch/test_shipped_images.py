"""Routines are built ahead for known layouts; a process that has such an image compiles none."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import pytest

import whorl
import whorl.testing
from tests.kernels.native_calls import is_native, needs_native
from whorl.fast_dataclasses import replace
from whorl.launch import failure, routine, shipped_images, stored_routine
from whorl.launch.image_builder import build_images
from whorl.launch.known_layouts import KNOWN_LAYOUTS
from whorl.launch.layout_search import object_layout
from whorl.launch.level import lowest_level
from whorl.launch.mapped import Unmappable
from whorl.launch.routine import launcher_at, launcher_for
from whorl.launch.stored_routine import COMPILED, FOUND, SHIPPED, origins
from whorl.store import Cache, MemoryStore

pytestmark = needs_native

VERSION = "{}.{}".format(*sys.version_info[:2])


def launchers() -> list[stored_routine.StoredRoutine]:
    return [launcher_for(layout, "x86-64") for layout in KNOWN_LAYOUTS.values()]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("images")
    build_images(directory, launchers())
    return directory


@pytest.fixture
def nothing_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in a new process of a wheel without images."""
    monkeypatch.setattr(routine, "_addresses", {})
    monkeypatch.setattr(failure, "_reasons", {})
    monkeypatch.setattr(shipped_images, "IMAGES", str(tmp_path / "none"))


def doubled(n: int) -> int:
    return 2 * n


def native_kernel() -> Any:
    kernel: Any = whorl.kernel(doubled)
    assert [kernel(n) for n in range(9)] == [2 * n for n in range(9)]
    return kernel


def forbid_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def text(layout: object) -> str:
        raise AssertionError("a routine is compiled")

    monkeypatch.setattr(routine, "launcher_text", text)


def own_image(images: Path) -> Path:
    return images / shipped_images.image_file(launcher_for(object_layout(), lowest_level()).key)


@pytest.mark.skipif(VERSION not in KNOWN_LAYOUTS, reason="a Python that has no row yet")
def test_the_row_of_this_python_is_what_is_found_in_it() -> None:
    assert KNOWN_LAYOUTS[VERSION] == object_layout()


def test_each_layout_has_images(images: Path) -> None:
    names = {path.name for path in images.iterdir()}
    for layout in KNOWN_LAYOUTS.values():
        assert shipped_images.image_file(launcher_for(layout, "x86-64").key) in names


def test_images_are_the_same_bytes_each_time_and_old_ones_go(images: Path, tmp_path: Path) -> None:
    (tmp_path / "old.whorl").write_bytes(b"of another release")
    build_images(tmp_path, launchers())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in images.iterdir()
    }


@pytest.mark.usefixtures("nothing_loaded")
def test_a_shipped_image_is_used_and_nothing_is_compiled_or_stored(
    images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped_images, "IMAGES", str(images))
    forbid_text(monkeypatch)
    store = MemoryStore()
    assert launcher_at(Cache(store))
    assert origins["launcher"] == SHIPPED
    assert not launcher_for(object_layout(), lowest_level()).is_stored(store)
    with whorl.testing.fresh_cache():
        assert is_native(native_kernel())


@pytest.mark.usefixtures("nothing_loaded")
def test_a_shipped_image_is_used_where_nothing_may_be_compiled(
    images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped_images, "IMAGES", str(images))
    monkeypatch.setattr(stored_routine, "is_hit_required", lambda: True)
    assert launcher_at(Cache(MemoryStore()))


@pytest.mark.usefixtures("nothing_loaded")
def test_a_layout_that_fits_nothing_shipped_is_compiled_once_and_then_found(
    images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped_images, "IMAGES", str(images))
    other = replace(object_layout(), array_flags=object_layout().array_flags + 128)
    monkeypatch.setattr(routine, "object_layout", lambda: other)
    cache = Cache(MemoryStore())
    for origin in (COMPILED, FOUND):
        monkeypatch.setattr(routine, "_addresses", {})
        assert launcher_at(cache)
        assert origins["launcher"] == origin
    assert launcher_for(other, lowest_level()).is_stored(cache.store)


@pytest.mark.usefixtures("nothing_loaded")
@pytest.mark.parametrize("damage", ["cut off", "flipped", "empty", "of another layout"])
def test_a_damaged_image_costs_one_warning_and_a_compile(
    damage: str,
    images: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    data = bytearray(own_image(images).read_bytes())
    match damage:
        case "cut off":
            del data[-1]
        case "flipped":
            data[5000] ^= 1
        case "empty":
            data.clear()
        case _:
            other = next(path for path in images.iterdir() if path != own_image(images))
            data = bytearray(other.read_bytes())
    (tmp_path / own_image(images).name).write_bytes(data)
    monkeypatch.setattr(shipped_images, "IMAGES", str(tmp_path))
    with whorl.testing.fresh_cache(), caplog.at_level(logging.WARNING, "whorl.launch"):
        for _ in range(2):
            assert is_native(native_kernel())
    (message,) = (record.getMessage() for record in caplog.records)
    assert message.startswith(f"the shipped file {tmp_path / own_image(images).name} is not used: ")
    assert origins["launcher"] == COMPILED


@pytest.mark.usefixtures("nothing_loaded")
def test_an_image_that_this_system_does_not_map_is_compiled_for_llvm_to_load(
    images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(image: object) -> Any:
        raise Unmappable("not here")

    monkeypatch.setattr(shipped_images, "IMAGES", str(images))
    monkeypatch.setattr(stored_routine, "map_image", refuse)
    assert launcher_at(Cache(MemoryStore()))
    assert origins["launcher"] == COMPILED
