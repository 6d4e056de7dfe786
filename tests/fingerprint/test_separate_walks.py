"""One walk ends with itself: nothing of it is kept, repeated or changed for the next one."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import whorl
from tests.fingerprint.programs import Programs
from whorl.fingerprint.describe import Describer
from whorl.fingerprint.value_graph import Graph


def test_a_registry_of_functions_that_read_it_is_walked_once(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"def f{i}(x): return OPS, x + {i}" for i in range(50)]
    lines.append(f"OPS = {{{', '.join(f'{i}: f{i}' for i in range(50))}}}")
    module = programs.load("\n".join(lines) + "\n")
    walks = []
    graph = Describer.graph

    def counted(self: Describer, value: object, where: str = "value") -> Graph:
        walks.append(value)
        return graph(self, value, where)

    monkeypatch.setattr(Describer, "graph", counted)
    whorl.fingerprint(module.OPS)
    assert len([value for value in walks if value is not module.OPS]) == 1


def test_a_refused_value_leaves_nothing_behind_for_the_next(programs: Programs) -> None:
    module = programs.load("K = 1\ndef f(): return K\n")
    before = whorl.fingerprint(module.f)
    with pytest.raises(whorl.UnsupportedValue):
        whorl.fingerprint([module.f, object()])
    module.K = 2
    assert whorl.fingerprint(module.f) != before


def test_a_difference_leaves_nothing_behind_for_the_next(programs: Programs) -> None:
    module = programs.load("K = 1\ndef f(): return K\ndef g(): return K + 1\n")
    before = whorl.fingerprint(module.f)
    assert whorl.diff([module.f], [module.g])
    module.K = 2
    assert whorl.fingerprint(module.f) != before
    assert whorl.diff([module.f], [module.f]) == []


def test_what_was_walked_is_let_go() -> None:
    def make() -> Callable[[], int]:
        return lambda: 1

    function = make()
    gone = weakref.ref(function)
    with pytest.raises(whorl.UnsupportedValue):
        whorl.fingerprint([function, object()])
    whorl.diff(function, 1)
    del function
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "value",
    [
        OSError(1, "a"), OSError(2, "b", "file"), StopIteration(3), SystemExit(2), ValueError(1),
        AttributeError("x"), ExceptionGroup("m", [ValueError(1)]), KeyError("k"),
        UnicodeDecodeError("utf8", b"x", 0, 1, "r"), SyntaxError("m", ("f", 1, 2, "t")),
        ImportError("m", name="n"), NameError("n"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_looking_at_an_exception_does_not_change_it(value: Any) -> None:
    first = whorl.fingerprint(value)
    assert [whorl.fingerprint(value) for _ in range(3)] == [first] * 3
    value.note = 1
    assert whorl.fingerprint(value) != first
    del value.note
    assert whorl.fingerprint(value) == first
