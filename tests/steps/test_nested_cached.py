"""A cached function that calls another takes over what that one reads, declares and ignores."""

# ruff: noqa: PLW0108  # a lambda that calls is what is tested: what it calls is one call away

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import whorl
import whorl.testing
from tests.steps.programs import Edits, ran


def test_an_explanation_of_two_functions_of_one_name(here: Callable[[str, object], None]) -> None:
    def made(by: int) -> Callable[[int], int]:
        return lambda x: x * by

    here("first", made(1))
    here("second", made(2))
    both = whorl.cached(lambda x: (first(x), second(x)))  # type: ignore[name-defined]  # noqa: F821
    both(1)
    here("second", made(3))
    changes = both.explain(1).changes
    assert [(change.old, change.new) for change in changes] == [("2", "3")]


def test_the_docstring_of_a_cached_function_is_nothing_to_who_calls_it() -> None:
    def made(doc: str) -> Any:
        def inner(x: int) -> int:
            return x

        inner.__doc__ = doc
        cached = whorl.cached(inner)
        return whorl.cached(lambda x: cached(x))

    assert made("One.").key(1) == made("Two.").key(1)


def test_the_module_name_of_a_cached_function_is_nothing_to_who_calls_it() -> None:
    def made(module: str) -> Any:
        scope: dict[str, Any] = {"__name__": module}
        exec("def inner(x): return x", scope)
        cached = whorl.cached(scope["inner"])
        assert cached.__module__ == module
        return whorl.cached(lambda x: cached(x))

    assert made("app").key(1) == made("__main__").key(1)


def test_what_a_cached_function_declares_counts_for_who_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "table"
    table.write_text("1")

    def text() -> str:
        return table.read_text()

    read = whorl.cached(files=[table])(lambda: text())
    mode: Any = whorl.CachedStep(
        lambda x: os.environ.get("MODE", "a") + x, environment={"MODE": "a"}
    )
    both = whorl.cached(lambda: read() + mode("!"))
    assert [both(), both(), ran(both)] == ["1a!", "1a!", 1]
    table.write_text("2")
    assert both() == "2a!"
    monkeypatch.setenv("MODE", "b")
    (change,) = both.explain().changes
    assert (change.path, change.old, change.new) == ("declared:env:MODE", "'a'", "'b'")
    assert [both(), ran(both)] == ["2b!", 3]
    with pytest.raises(whorl.UnsupportedFunction, match="read_text"):  # not by way of `read`
        whorl.cached(lambda: text()).key()


def test_what_a_cached_function_ignores_is_ignored_for_who_calls_it(
    here: Callable[[str, object], None],
) -> None:
    here("LOCK", threading.Lock())
    guarded = whorl.cached(ignores=["LOCK"])(lambda x: (LOCK.locked(), x))  # type: ignore[name-defined]  # noqa: F821
    call = whorl.cached(lambda x: guarded(x))
    assert [call(1), call(1), ran(call)] == [(False, 1), (False, 1), 1]
    with pytest.raises(whorl.UnsupportedFunction, match="LOCK"):
        whorl.cached(lambda x: (guarded(x), LOCK)).key(1)  # type: ignore[name-defined]  # noqa: F821


def test_what_an_inner_cached_function_has_declared_counts_for_the_outer_one(
    edits: Edits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIFTH_A", "1")
    monkeypatch.setenv("FIFTH_B", "2")
    program = (
        "import os, whorl\n"
        "@whorl.cached(environment=['FIFTH_B'])\n"
        "def inner(): return os.environ['FIFTH_B']\n"
        "def f(): return os.environ['FIFTH_A'] + inner()\n"
    )
    cached = whorl.cached(store=edits.store, environment=["FIFTH_A"])(edits.load(program, 0)["f"])
    assert cached() == "12"
