"""A drift is raised, ignored or followed for all arguments alike."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

import whorl
from tests.jit.compilers import Make
from whorl.reads import Inputs

LIMIT = 1


def reads_limit(x: Any = None) -> int:
    return LIMIT


def look_at_limit(inputs: Inputs) -> Any:
    return (inputs.arg("x").value(), inputs.function().glob("LIMIT").value())


def test_a_drift_is_raised_also_for_arguments_that_were_not_seen_before(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(look_at_limit, reads_limit, on_drift="raise")
    kernel(1)
    monkeypatch.setitem(globals(), "LIMIT", 2)
    with pytest.raises(whorl.Drifted):
        kernel(2)


def test_an_ignored_drift_is_ignored_for_all_arguments(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(look_at_limit, reads_limit, on_drift="ignore")
    kernel(1)
    monkeypatch.setitem(globals(), "LIMIT", 2)
    kernel(2)
    monkeypatch.setitem(globals(), "LIMIT", 1)
    assert kernel(2) == (2, 1)


def test_what_was_restored_after_a_drift_recovers_for_all_arguments(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(look_at_limit, reads_limit, on_drift="raise")
    kernel(1)
    with monkeypatch.context() as changed:
        changed.setitem(globals(), "LIMIT", 2)
        with contextlib.suppress(whorl.Drifted):
            kernel(2)
    assert kernel(2) == (2, 1)
