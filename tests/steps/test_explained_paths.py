"""An explanation names the item or attribute that differs, not only what holds it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import whorl


@pytest.fixture(autouse=True)
def _fresh(fresh_cache: Path) -> None:
    """Each test has a cache of its own."""


class Options:
    def __init__(self) -> None:
        self.tile = 8
        self.passes = ["fold", "inline"]


@dataclass
class Job:
    name: str
    line: int = field(default=0, metadata=whorl.exclude)


CONFIG: dict[str, Any] = {"grid": {"n": [1, 2]}, "tile": 8}
OPTIONS = Options()


def changes(function: Any, *args: Any) -> list[tuple[str, str, str]]:
    return [(each.path, each.old, each.new) for each in function.explain(*args).changes]


def test_the_item_of_a_global_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    read = whorl.cached(lambda: (CONFIG["grid"]["n"][0], CONFIG["tile"]))
    read()
    monkeypatch.setitem(CONFIG["grid"], "n", [7, 2])
    assert changes(read) == [(f"global:{__name__}.CONFIG['grid']['n']", "[1, 2]", "[7, 2]")]


def test_the_attribute_of_a_global_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    read = whorl.cached(lambda: OPTIONS.tile)
    read()
    monkeypatch.setattr(OPTIONS, "tile", 16)
    assert changes(read) == [(f"global:{__name__}.OPTIONS.tile", "8", "16")]


def test_the_part_of_an_argument_is_named() -> None:
    read = whorl.cached(lambda config: config["grid"]["n"])
    read({"grid": {"n": (1, "a")}, "tile": [[1], [2]]})
    config = {"grid": {"n": (1, "a")}, "tile": [[1], [3]]}
    assert changes(read, config) == [("arg:config['tile'][1]", "[2]", "[3]")]


def test_what_does_not_count_is_not_named() -> None:
    read = whorl.cached(lambda jobs: jobs[0].name)
    read([Job("a", 1), Options()])
    ((path, _, _),) = changes(read, [Job("b", 2), Options()])
    assert path == "arg:jobs[0]"
    by_name = whorl.Fingerprinter(rules={Options: whorl.fields(exclude=["tile"])})
    ruled = whorl.cached(key=by_name)(lambda options: options.passes)
    ruled(Options())
    other = Options()
    other.tile, other.passes = 9, ["fold"]
    assert [path for path, _, _ in changes(ruled, other)] == ["arg:options"]


def test_a_large_value_is_named_as_a_whole() -> None:
    read = whorl.cached(lambda rows: len(rows) + 1)
    read([[i, [i]] for i in range(100)])
    assert [path for path, _, _ in changes(read, [[i, [i]] for i in range(99)])] == ["arg:rows"]
