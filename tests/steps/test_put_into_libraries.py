"""What a program puts into a library counts, by whatever name it is used."""

# ruff: noqa: PLW0108  # a lambda that calls is what is tested: what it calls is one call away

from __future__ import annotations

import math
from xml.sax import saxutils

import numpy as np
import pytest

import whorl
import whorl.testing
from tests.steps.programs import Edits, named, ran


def test_what_is_put_into_a_library_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    root = whorl.cached(lambda x: math.sqrt(x))
    power = whorl.cached(lambda x: np.linalg.matrix_power(x, 2))
    assert [root(4), power(np.eye(1)).tolist()] == [2.0, [[1.0]]]
    monkeypatch.setattr(math, "sqrt", lambda x: -x)
    monkeypatch.setattr(np.linalg, "matrix_power", lambda x, n: n)
    assert [root(4), power(np.eye(1))] == [-4, 2]
    monkeypatch.undo()
    assert [root(4), power(np.eye(1)).tolist()] == [2.0, [[1.0]]]
    assert [ran(root), ran(power)] == [2, 2]


def test_a_number_in_a_library_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = whorl.cached(lambda: 2 * math.pi)
    assert turn() == 2 * math.pi
    monkeypatch.setattr(math, "pi", 3)
    assert turn() == 6


PUT: dict[str, str] = {
    "an attribute": "def f(): return math.sqrt(4)",
    "imported in the body": "def f():\n    from math import sqrt\n    return sqrt(4)",
    "a module that is imported in the body": "def f():\n    import math\n    return math.sqrt(4)",
    "a module that is renamed in the body": "def f():\n    import math as m\n    return m.sqrt(4)",
    "a local name": "def f():\n    m = math\n    return m.sqrt(4)",
    "a local name of a part of a library":
        "def f():\n    m = xml.sax.saxutils\n    return m.escape('4')",
    "a method": "class Own:\n    def root(self, x): return root(x)\nmath.sqrt = Own().root\n"
        "def f():\n    from math import sqrt\n    return sqrt(4)",
}  # fmt: skip


@named(PUT)
def test_a_function_that_was_put_into_a_library_counts(
    edits: Edits, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(math, "sqrt", math.sqrt)  # put back in the end
    monkeypatch.setattr(saxutils, "escape", saxutils.escape)
    begin = "import math, xml.sax.saxutils\ndef root(x): return {{1 => 2}}\n"
    edits.is_noticed(f"{begin}math.sqrt = xml.sax.saxutils.escape = root\n{program}")


def test_a_number_of_a_library_under_a_local_name_counts(
    edits: Edits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(math, "tau", math.tau)
    edits.is_noticed(
        "import math\nmath.tau = {{1 => 2}}\ndef f():\n    m = math\n    return m.tau\n"
    )


@pytest.mark.parametrize("number", range(len(PUT) - 1))
def test_a_function_that_is_put_into_a_library_later_is_noticed(
    edits: Edits, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    scope = edits.load(f"import math, xml.sax.saxutils\n{[*PUT.values()][number]}", 0)
    cached = whorl.cached(store=edits.store)(scope["f"])
    before = cached()
    assert cached() == before == scope["f"]()
    monkeypatch.setattr(math, "sqrt", lambda x: 7)
    monkeypatch.setattr(saxutils, "escape", lambda x: 7)
    assert cached() == 7
    monkeypatch.undo()
    assert cached() == before
    assert cached.stats()["ran"] == 2
