"""What a third attack on cached functions found."""

from __future__ import annotations

import datetime
import enum
import sys
import types
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from whorl.store import Cache, DirectoryStore


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(DirectoryStore(tmp_path / "store"))


@pytest.mark.parametrize("text", ["import {0}", "import {0} as q", "import {0}.inner"])
def test_a_module_that_is_imported_in_the_body_is_watched(
    store: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    name = f"late_{abs(hash((text, str(tmp_path))))}"
    module, inner = types.ModuleType(name), types.ModuleType(f"{name}.inner")
    module.__dict__.update(x=1, inner=inner, __path__=[])
    monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, f"{name}.inner", inner)
    path = tmp_path / "program.py"
    used = "q" if " as " in text else name
    path.write_text(f"def f():\n    {text.format(name)}\n    return {used}.x\n", encoding="utf-8")
    scope: dict[str, Any] = {"__name__": "program_of_this_test"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    cached = whorl.cached(store=store)(scope["f"])
    assert (cached(), cached()) == (1, 1)
    module.__dict__["x"] = 2
    assert cached() == 2


class Planet(enum.Enum):
    A = 1
    B = 2


Planet.A.mass = 1  # type: ignore[attr-defined]  # as programs do


def test_what_is_set_on_a_member_counts(store: Cache) -> None:
    @whorl.cached(store=store)
    def mass() -> Any:
        return Planet.A.mass  # type: ignore[attr-defined]  # set above

    try:
        assert mass() == 1
        Planet.A.mass = 2  # type: ignore[attr-defined]  # as above
        assert mass() == 2
    finally:
        Planet.A.mass = 1  # type: ignore[attr-defined]  # as above


@pytest.mark.parametrize(
    "made",
    [
        lambda: np.random.default_rng(1),
        lambda: np.random.PCG64(1),
        lambda: np.random.SeedSequence(1),
        lambda: np.random.RandomState(1),
    ],
)
def test_generators_may_be_arguments(store: Cache, made: Callable[[], Any]) -> None:
    @whorl.cached(store=store)
    def kind(generator: Any) -> str:
        return type(generator).__name__

    assert kind(made()) == kind(made()) == type(made()).__name__
    assert kind.stats()["ran"] == 1
    assert "hit" in str(kind.explain(made()))


def test_an_empty_directory_inside_of_one_that_is_declared_counts(
    store: Cache, tmp_path: Path
) -> None:
    place = tmp_path / "data"
    place.mkdir()

    @whorl.cached(store=store, files=[place])
    def listed() -> list[str]:
        return sorted(held.name for held in place.iterdir())

    assert listed() == []
    (place / "new").mkdir()
    assert listed() == ["new"]
    (place / "new" / "inner").mkdir()
    assert listed() == ["new"]


moment = datetime.datetime.now


class Later(datetime.datetime):
    """A subclass has the clock of its base."""


TABLE = {"clock": datetime.datetime.now}


def imported_inside() -> Any:
    from datetime import datetime

    return datetime.now()


def module_inside() -> Any:
    import datetime

    return datetime.datetime.now()


def under_another_name() -> Any:
    d = datetime.datetime
    return d.now()


def a_class_under_another_name() -> Any:
    d = date
    return d.today()


def bound_before() -> Any:
    return moment()


def in_a_table() -> Any:
    return TABLE["clock"]()


def by_a_subclass() -> Any:
    return Later.now()


def at_home() -> Any:
    from pathlib import Path

    return Path.home()


def seeded_by_nothing() -> Any:
    return np.random.Generator(np.random.PCG64())


def archived() -> Any:
    import tarfile

    return tarfile.open("x.tar")


def zipped() -> Any:
    import zipfile

    return zipfile.ZipFile("x.zip")


def parsed() -> Any:
    import xml.etree.ElementTree as ET

    return ET.parse("x.xml")


def by_default(now: Any = datetime.datetime.now) -> Any:
    return now()


def calls_by_default() -> Any:
    return by_default()


@pytest.mark.parametrize(
    "function",
    [
        imported_inside, module_inside, under_another_name, a_class_under_another_name,
        bound_before, in_a_table, by_a_subclass, at_home, seeded_by_nothing, archived, zipped,
        parsed, calls_by_default,
    ],
)  # fmt: skip
def test_a_clock_or_a_file_is_noticed(store: Cache, function: Callable[[], Any]) -> None:
    with pytest.raises(whorl.WhorlError, match="cannot be kept"):
        whorl.cached(store=store)(function)()


def fixed() -> Any:
    import datetime as clock

    d = clock.datetime
    return d(2020, 1, 1).isoformat(), date(2020, 1, 2).isoformat()


def test_a_date_that_is_given_is_no_clock(store: Cache) -> None:
    assert whorl.cached(store=store)(fixed)() == fixed()


MODELS = """
import pydantic

class Inner(pydantic.BaseModel):
    y: int = {default}

class Outer(pydantic.BaseModel):
    x: Inner = pydantic.Field(default_factory=Inner)
    all: list[Inner | None] = []

def f():
    return Outer(x={{}}).x.y

def g():
    return Outer(all=[{{}}]).all[0].y
"""


@pytest.mark.parametrize("name", ["f", "g"])
def test_models_inside_of_models_count(store: Cache, tmp_path: Path, name: str) -> None:
    found = []
    for default in (1, 2, 1):
        path = tmp_path / f"models_{default}.py"
        text = MODELS.format(default=default)
        path.write_text(text, encoding="utf-8")
        module = types.ModuleType("models_of_this_test")
        sys.modules["models_of_this_test"] = module
        try:
            exec(compile(text, str(path), "exec"), module.__dict__)
            cached = whorl.cached(store=store)(module.__dict__[name])
            found.append((cached(), cached.stats()["ran"]))
        finally:
            del sys.modules["models_of_this_test"]
    assert found == [(1, 1), (2, 1), (1, 0)]
