"""Options of a kernel: another kernel, and the old one as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from whorl.launch.level import host_level
from whorl.store import Cache, MemoryStore

SCALE = 2.0


@pytest.fixture(autouse=True)
def _fresh(fresh_cache: Path) -> None:
    """Each test has a cache of its own."""


def plain(x: Any, i: int) -> Any:
    return SCALE * x[i]


def test_a_kernel_in_debug_is_another_kernel() -> None:
    kernel = whorl.kernel(plain)
    careful = kernel.with_options(debug=True)
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        careful(np.ones(2), 5)
    assert kernel.compiler.debug is None
    assert careful.with_options(debug=False).compiler.debug is False
    assert kernel(np.ones(2), 1) == careful(np.ones(2), 1) == 2.0


def test_every_option_of_the_decorator_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Cache(MemoryStore())
    kernel: Any = whorl.kernel(nogil=True)(plain)
    other = kernel.with_options(target=host_level(), on_drift="raise", store=store)
    assert other(np.ones(2), 0) == 2.0
    assert (other.compiler.level, other.compiler.nogil) == (host_level(), True)
    assert len(list(store.store.iterate())) > 0
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    with pytest.raises(whorl.Drifted):
        other(np.ones(2), 0)
    assert kernel(np.ones(2), 0) == 3.0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"debgu": True}, "has no option 'debgu'; it has cache, debug, nogil, on_drift, store"),
        ({"on_drift": "explode"}, "on_drift"),
        ({"target": "vax"}, "vax"),
    ],
)
def test_an_option_that_there_is_not_is_an_error(options: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        whorl.kernel(plain).with_options(**options)
