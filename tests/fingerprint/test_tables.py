"""Tables of pandas have a fingerprint: by labels, columns and what is said about them."""

from __future__ import annotations

import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

import whorl
from tests.processes.programs import printed


class Index:
    """Like an index of pandas: it has a number of its own and remembers what it was asked."""

    def __init__(self, data: list[int]) -> None:
        self._data = data
        self._id = object()
        self._cache: dict[str, object] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Index, (self._data,)


class Column(Index):
    """Its reduction may bring along what it remembers."""

    def __reduce__(self) -> tuple[Any, ...]:
        state = {"_cache": self._cache} if self._cache else None
        return (Column, (self._data, *([state] if state else [])))


class Block:
    def __init__(self, places: list[int], values: Any) -> None:
        self.mgr_locs = types.SimpleNamespace(as_array=Places(places))
        self.values = values


class Places:
    def __init__(self, places: list[int]) -> None:
        self._places = places

    def tolist(self) -> list[int]:
        return self._places


class Rows:
    ndim = 2

    def __init__(self, *rows: list[int]) -> None:
        self._rows = rows

    def __iter__(self) -> Any:
        return iter(self._rows)


class DataFrame:
    """Like a table of pandas: a manager of blocks, and attributes."""

    def __init__(self, axes: list[Index], blocks: list[Block], **attrs: object) -> None:
        self._mgr = types.SimpleNamespace(axes=axes, blocks=blocks)
        self._attrs = attrs

    def __getstate__(self) -> dict[str, object]:
        return {"_mgr": self._mgr, "attrs": self._attrs}


@pytest.fixture
def _like_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("pandas")
    vars(module).update(Index=Index, Series=DataFrame, DataFrame=DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", module)


def table(*blocks: Block, labels: tuple[int, ...] = (0, 1), **attrs: object) -> DataFrame:
    return DataFrame([Index([*labels]), Index([7, 8])], [*blocks], **attrs)


@pytest.mark.usefixtures("_like_pandas")
def test_a_table_counts_by_labels_columns_and_what_is_said_about_it() -> None:
    first = table(Block([0, 1], Rows([1, 2], [3, 4])))
    apart = table(Block([1], Rows([3, 4])), Block([0], Rows([1, 2])))
    assert whorl.fingerprint(first) == whorl.fingerprint(apart)
    others = [
        table(Block([0, 1], Rows([1, 2], [3, 5]))),
        table(Block([1, 0], Rows([1, 2], [3, 4]))),
        table(Block([0, 1], Rows([1, 2], [3, 4])), labels=(0, 2)),
        table(Block([0, 1], Rows([1, 2], [3, 4])), unit="m"),
    ]
    beside = table(Block([0, 1], Rows([1, 2], [3, 4])))
    vars(beside)["scale"] = 2
    assert len({whorl.fingerprint(each) for each in (first, beside, *others)}) == 6


@pytest.mark.usefixtures("_like_pandas")
def test_what_an_index_remembers_does_not_count() -> None:
    index, column = Index([1, 2]), Column([1, 2])
    before = whorl.fingerprint([index, column])
    index._cache["is_unique"] = column._cache["is_unique"] = True
    assert whorl.fingerprint([index, column]) == before
    assert whorl.fingerprint(Index([1, 3])) != whorl.fingerprint(index)


_IN_PLACE_OF_ANOTHER = """
import collections, json, sys, types
import whorl

class Index:
    def __init__(self, data): self._data, self._cache = data, {}
    def __reduce__(self): return Index, (self._data,)

sys.modules["beside"] = types.ModuleType("beside")
whorl.fingerprint(collections.deque())
del sys.modules["beside"]
sys.modules["pandas"] = types.ModuleType("pandas")
sys.modules["pandas"].Index = Index

index = Index([1, 2])
before = whorl.fingerprint(index)
index._cache["is_unique"] = True
print(json.dumps(whorl.fingerprint(index) == before))
"""


def test_a_library_that_is_imported_when_another_module_has_gone_has_its_rules() -> None:
    assert printed("-c", _IN_PLACE_OF_ANOTHER)


@pytest.mark.usefixtures("_like_pandas")
def test_a_table_that_is_kept_otherwise_is_refused() -> None:
    strange = table()
    strange._mgr = types.SimpleNamespace(columns=[])
    with pytest.raises(whorl.UnsupportedValue, match="version of pandas cannot be read"):
        whorl.fingerprint(strange)


def _made() -> dict[str, Callable[[], Any]]:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame
    return {
        "plain": lambda: frame({"a": [1, 2, 3], "b": ["x", "y", "z"]}),
        "value": lambda: frame({"a": [1, 2, 4], "b": ["x", "y", "z"]}),
        "text": lambda: frame({"a": [1, 2, 3], "b": ["x", "y", "w"]}),
        "column": lambda: frame({"a": [1, 2, 3], "c": ["x", "y", "z"]}),
        "type": lambda: frame({"a": [1.0, 2, 3], "b": ["x", "y", "z"]}),
        "labels": lambda: frame({"a": [1, 2, 3], "b": ["x", "y", "z"]}, index=[1, 2, 3]),
        "order": lambda: frame({"b": ["x", "y", "z"], "a": [1, 2, 3]}),
        "flags": lambda: frame({"a": [1]}).set_flags(allows_duplicate_labels=False),
        "no flags": lambda: frame({"a": [1]}),
        "categories": lambda: frame({"c": pandas.Categorical(["a", "b"])}),
        "other order": lambda: frame({"c": pandas.Categorical(["a", "b"], ["b", "a"])}),
        "ordered": lambda: frame({"c": pandas.Categorical(["a", "b"], ordered=True)}),
        "dates": lambda: frame({"c": pandas.date_range("2020", periods=3)}),
        "zone": lambda: frame({"c": pandas.date_range("2020", periods=3, tz="UTC")}),
        "dated": lambda: frame({"c": [1, 2, 3]}, index=pandas.date_range("2020", periods=3)),
        "periods": lambda: pandas.Series(pandas.period_range("2020", periods=2, freq="M")),
        "masked": lambda: pandas.Series([1, None], dtype="Int64"),
        "sparse": lambda: pandas.Series(pandas.arrays.SparseArray([0, 0, 1])),
        "levels": lambda: pandas.Series(
            [1, 2], index=pandas.MultiIndex.from_tuples([(1, "a"), (2, "b")])
        ),
        "name": lambda: pandas.Series([1], name="n"),
        "other name": lambda: pandas.Series([1], name="m"),
    }


def test_tables_of_pandas_count_by_what_is_in_them_before_and_after_they_are_used() -> None:
    found = {}
    for name, make in _made().items():
        value = make()
        found[name] = whorl.fingerprint(value)
        assert whorl.fingerprint(make()) == found[name], name
        repr(value), value.describe(), value.isna(), value.loc[value.index[0]], value.to_numpy()
        assert whorl.fingerprint(value) == found[name], name
        if "pyarrow" not in sys.modules:  # whose buffers come back in other pieces
            again = pickle.loads(pickle.dumps(value))
            assert whorl.fingerprint(again) == found[name], name
    assert len({*found.values()}) == len(found)


def test_a_cached_function_of_a_table_is_kept_and_runs_again_for_another() -> None:
    made = _made()

    @whorl.cached(store="process")
    def total(frame: Any) -> int:
        return int(frame["a"].sum())

    assert [total(made["plain"]()), total(made["plain"]()), total(made["value"]())] == [6, 6, 7]
    assert total.stats()["ran"] == 2
