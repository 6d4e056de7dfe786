"""Options of a kernel: another kernel, and the old one as it was."""

from __future__ import annotations

import pickle
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
        (
            {"debgu": True},
            "has no option 'debgu'; it has cache, debug, fastmath, nogil, on",
        ),
        ({"on_drift": "explode"}, "on_drift"),
        ({"target": "vax"}, "vax"),
    ],
)
def test_an_option_that_there_is_not_is_an_error(options: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        whorl.kernel(plain).with_options(**options)


def test_a_store_can_be_a_path_or_a_store(tmp_path: Path) -> None:
    for store in (tmp_path, str(tmp_path), MemoryStore()):
        kernel: Any = whorl.kernel(store=store)(plain)
        assert kernel(np.ones(2), 0) == 2.0
    assert kernel.stats()["compiled"] == 1
    again: Any = whorl.kernel(plain).with_options(store=tmp_path)
    assert again(np.ones(2), 0) == 2.0
    assert again.stats()["found"] == 1


def test_a_store_of_the_process_is_refused_with_the_option_for_it() -> None:
    with pytest.raises(TypeError, match="write cache='process'"):
        whorl.kernel(store="process")
    kernel: Any = whorl.kernel(cache="process")(plain)
    assert kernel(np.ones(2), 0) == 2.0


class Either:
    """Kernels below and above the decorators of a class."""

    factor = 3.0

    @staticmethod
    @whorl.kernel
    def below(x: Any) -> Any:
        return x[0] * 2.0

    @whorl.kernel
    @staticmethod
    def above(x: Any) -> Any:
        return x[0] * 2.0

    @classmethod
    @whorl.kernel
    def class_below(cls: Any, x: Any) -> Any:
        return x[0] * cls.factor

    @whorl.kernel()
    @classmethod
    def class_above(cls: Any, x: Any) -> Any:
        return x[0] * cls.factor


class Derived(Either):
    factor = 5.0


def test_a_kernel_above_staticmethod_and_classmethod_is_as_one_below() -> None:
    x = np.full(1, 2.0)
    owners: Any = ((Either, 6.0), (Derived, 10.0))
    for owner, of_class in owners:
        for place in (owner, owner()):
            for _ in range(6):  # natively, too
                assert place.below(x) == place.above(x) == 4.0
                assert place.class_below(x) == place.class_above(x) == of_class
    for name in ("below", "above"):
        kernel = getattr(Either, name)
        assert pickle.loads(pickle.dumps(kernel)) is kernel
