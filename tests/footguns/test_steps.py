"""Surprises of cached functions and steps: right as they are, stated and pinned."""

from __future__ import annotations

import functools
import sys
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import whorl
import whorl.testing
from tests.steps.programs import ran

SCALE = 2


@pytest.fixture(autouse=True)
def _own_cache() -> Iterator[None]:
    with whorl.testing.fresh_cache():
        yield


def test_an_array_cannot_be_written_to_even_by_who_made_it() -> None:
    zeros = whorl.cached(lambda n: np.zeros(n) + 0)
    with pytest.raises(ValueError, match="read-only"):
        zeros(3)[0] = 1
    mine = zeros(3).copy()
    mine[0] = 1
    assert zeros(3)[0] == 0


def test_a_result_is_not_the_object_that_the_function_returned() -> None:
    made: list[object] = []

    @whorl.cached(ignores=["made"])
    def make(n: int) -> list[int]:
        made.append([n])
        return made[-1]  # type: ignore[return-value]

    assert make(1) == made[0]
    assert make(1) is not made[0]
    assert make(1) is not make(1)


def test_a_result_in_the_process_is_one_object_for_all() -> None:
    make = whorl.cached(store="process")(lambda n: [n])
    make(1).append(5)
    assert make(1) == [1, 5]


def test_another_name_for_a_local_variable_is_other_code() -> None:
    def one(x: int) -> int:
        total = x + 1
        return total

    def other(x: int) -> int:
        result = x + 1
        return result

    other.__name__, other.__qualname__ = one.__name__, one.__qualname__
    assert whorl.cached(one).key(1) != whorl.cached(other).key(1)


def test_what_lru_cache_keeps_survives_a_change_of_what_it_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @functools.lru_cache
    def helper(x: int) -> int:
        return x * SCALE

    work = whorl.cached(lambda x: helper(x))  # noqa: PLW0108  # one call away is what is meant
    assert work(1) == 2
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3)
    assert work(1) == 2, "it ran again, and lru_cache gave it the old answer"
    assert ran(work) == 2


def test_the_class_of_an_argument_counts_with_all_its_methods() -> None:
    class Point:
        def used(self) -> int:
            return 1

    read = whorl.cached(lambda point: point.used())
    before = read.key(Point())
    Point.unused = lambda self: 2  # type: ignore[attr-defined]
    assert read.key(Point()) != before


def test_a_file_that_a_library_opens_is_not_seen(tmp_path: Any) -> None:
    file = tmp_path / "data.txt"
    file.write_text("1")
    read: Callable[[str], bytes] = whorl.cached(lambda path: bytes(np.memmap(path, mode="r")))
    with pytest.raises(whorl.UnsupportedFunction, match="file system"):
        read(str(file))  # this one is in the table
    is_archive: Callable[[str], bool] = whorl.cached(lambda path: zipfile.is_zipfile(path) is True)
    assert is_archive(str(file)) is False
    with zipfile.ZipFile(file, "w"):
        pass
    assert is_archive(str(file)) is False, "declare it: by_content=['path']"


def test_a_dict_argument_in_another_order_is_the_same_call() -> None:
    names = whorl.cached(lambda held: list(held))  # noqa: PLW0108  # the order of what it is given
    assert names({"a": 1, "b": 2}) == ["a", "b"]
    assert names({"b": 2, "a": 1}) == ["a", "b"], "say ordered=['held'] where the order counts"


def test_reading_the_whole_module_makes_everything_in_it_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def function(x: int) -> object:
        return eval("x")

    with pytest.raises(whorl.UnsupportedFunction):  # the fixture of pytest above, for one
        whorl.cached(function)(1)
    assert whorl.cached(ignores=["eval"])(function)(1) == 1


def test_what_was_made_of_an_old_answer_of_lru_cache_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @functools.lru_cache
    def helper(x: int) -> int:
        return x * SCALE

    work = whorl.cached(lambda x: helper(x))  # noqa: PLW0108  # one call away is what is meant
    helper(1)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3)
    assert work(1) == 2
    helper.cache_clear()  # as in a process that begins
    assert (helper(1), work(1)) == (3, 2), "clear it before the run"


def test_what_a_cached_property_holds_does_not_count() -> None:
    class Model:
        scale = 2

        @functools.cached_property
        def factor(self) -> int:
            return self.scale

    filled = Model()
    filled.__dict__["factor"] = 5
    read: Callable[[Model], int] = whorl.cached(lambda model: model.factor)
    assert read(filled) == 5
    assert read(Model()) == 5, "and not 2"


def test_the_order_of_an_array_in_memory_does_not_count() -> None:
    strides: Callable[[Any], Any] = whorl.cached(lambda array: array.strides)
    array = np.zeros((2, 3))
    assert strides(array) == strides(np.asfortranarray(array)) == (24, 8)


def test_arrays_that_share_memory_come_back_apart() -> None:
    @whorl.cached(writable=True)
    def views() -> dict[str, Any]:
        whole = np.arange(4)
        return {"whole": whole, "half": whole[:2]}

    found = views()
    found["whole"][0] = 7
    assert found["half"][0] == 0
    assert views.uncached()["half"].base is not None, "they do share it where nothing is kept"
