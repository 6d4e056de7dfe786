"""A refusal lists everything that is wrong, not one thing per run."""

from __future__ import annotations

import os
import pickle
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import whorl


def _stamp() -> float:
    return time.time()


def _report(name: str) -> Any:
    return name, os.environ["HOME"], Path("notes.txt").read_text(), _stamp()


def test_every_read_from_outside_is_listed_with_its_remedy() -> None:
    with pytest.raises(whorl.UnsupportedFunction) as caught:
        whorl.cached(_report)("x")
    text = str(caught.value)
    for what in ("os.environ", ".read_text", "time.time"):
        assert text.count(f"uses {what}") == 1, text
    assert len(caught.value.others) == 2
    assert str(pickle.loads(pickle.dumps(caught.value))) == text


def test_what_was_listed_can_be_declared_at_once() -> None:
    error: Any = None
    try:
        whorl.cached(_report)("x")
    except whorl.UnsupportedFunction as caught:
        error = caught
    assert all("ignores=[" in each.remedy for each in (error, *error.others))
    declared = whorl.cached(ignores=["time.time", ".read_text", "os.environ"])(_report)
    assert declared.key("x")


def test_every_argument_without_a_fingerprint_is_listed() -> None:
    @whorl.cached
    def solve(lock: Any, n: int, numbers: Any) -> int:
        return n

    with pytest.raises(whorl.UnsupportedValue) as caught:
        solve(threading.Lock(), 1, (i for i in range(3)))
    text = str(caught.value)
    assert "argument lock of" in text
    assert "argument numbers of" in text
    assert [each.path.split()[1] for each in caught.value.others] == ["numbers"]
