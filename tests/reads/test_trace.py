"""Reads and traces say in words what was looked at."""

from __future__ import annotations

import pytest

from whorl.reads import Aspect, Path, Read, Seen, Shape, Step, Trace, world
from whorl.reads.trace import ROOTS


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (Path("arg", "n"), "arg:n"),
        (Path("arg", "self", (Step("attr", "x"), Step("item", 0))), "arg:self.x[0]"),
        (Path("global", "solver.SCALE", (Step("item", "k"),)), "global:solver.SCALE['k']"),
        (Path("env", "WHORL_X"), "env:WHORL_X"),
        (Path("arg", "f", (Step("cell", "n"),)), "arg:f.cell('n')"),
    ],
)
def test_a_path_reads_like_python(path: Path, text: str) -> None:
    assert str(path) == text


def test_the_shape_of_a_trace_is_its_reads_without_facts() -> None:
    reads = (
        Read(Path("arg", "a"), Aspect.ALIAS, (Path("arg", "b"),)),
        Read(Path("arg", "n"), Aspect.TYPE),
    )
    one = Trace((Seen(reads[0], "distinct"), Seen(reads[1], "int64")))
    other = Trace((Seen(reads[0], "same", "line 3"), Seen(reads[1], "float64")))
    assert one.shape == other.shape == Shape(reads)
    assert str(one.seen[0]) == "arg:a, arg:b alias = 'distinct'"
    assert hash(one.shape) == hash(other.shape)


def test_a_path_begins_where_a_world_can_find_something() -> None:
    assert set(world._ROOTS) == ROOTS
