"""Laws of cached functions: a result is what a run would give, whatever happened before."""

from __future__ import annotations

import json
import random
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import whorl
import whorl.testing
from tests.properties.specs import Spec, build, changes, specs
from whorl.artifacts import Entry, Label
from whorl.fingerprint.digest import StableDigest
from whorl.steps.plain_format import CannotRestore
from whorl.steps.result_format import decode_result, encode_result

KEY = StableDigest("0" * 32)


@given(specs(), st.integers(0, 2**32))
def test_a_result_comes_back_from_an_entry_as_it_was(spec: Spec, seed: int) -> None:
    value = build(spec, random.Random(seed))
    written = encode_result(value)
    made = Entry.build(Label("result", KEY), written.payloads, written.record)
    entry = Entry.checked(made.data, KEY)
    back = decode_result(entry.record, entry.payload, {})
    assert type(back) is type(value)
    assert whorl.fingerprint(back) == whorl.fingerprint(value)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from("tdszifcubyrl.anpeo"), inner, min_size=1, max_size=2)
    ),
    max_leaves=12,
)


@given(_json, st.booleans(), st.binary(max_size=64))
def test_whatever_an_entry_holds_is_read_or_refused(
    written: object, constant: bool, data: bytes
) -> None:
    record = json.loads(json.dumps(["plain", written, constant]))
    with suppress(CannotRestore):
        decode_result(record, lambda name: memoryview(data), {})


# -- what is read changes, again and again ----------------------------------------------------


class Point:
    unit = 1

    def __init__(self, x: int) -> None:
        self.x = x

    def size(self) -> int:
        return self.x * self.unit


SOURCE = """
import functools

N = 1
TABLE = {"a": 1, "b": [1, 2]}
ITEMS = [1, 2]
POINT = Point(1)

def helper(x, by=1, *, plus=0):
    return x * by + N + plus

def other(x):
    return -x

ORIGINAL = helper
PASSES = [helper]
PART = functools.partial(helper, by=2)

def made(n):
    held = [n]
    def inner(x):
        return x + held[0]
    inner.held = held
    return inner

INNER = made(1)

def work(x):
    return (
        N, sorted(TABLE["b"]), TABLE.get("a"), len(ITEMS), sum(ITEMS), POINT.size(), helper(x),
        [run(x) for run in PASSES], PART(x), INNER(x), len(str(x)),
    )
"""


def _fresh() -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "program of a property", "Point": Point}
    exec(SOURCE, scope)
    return scope


CHANGES: list[Callable[[dict[str, Any], int], object]] = [
    lambda scope, n: scope.update(N=n),
    lambda scope, n: scope["TABLE"].update(a=n),
    lambda scope, n: scope["TABLE"]["b"].append(n),
    lambda scope, n: scope["TABLE"].update(b=[n]),
    lambda scope, n: scope["ITEMS"].insert(0, n),
    lambda scope, n: scope["ITEMS"].clear(),
    lambda scope, n: setattr(scope["POINT"], "x", n),
    lambda scope, n: scope.update(POINT=Point(n)),
    lambda scope, n: setattr(Point, "unit", n),
    lambda scope, n: setattr(scope["ORIGINAL"], "__defaults__", (n,)),
    lambda scope, n: scope["ORIGINAL"].__kwdefaults__.update(plus=n),
    lambda scope, n: scope["PASSES"].append(scope["other"] if n % 2 else scope["helper"]),
    lambda scope, n: scope["PASSES"].__setitem__(slice(None), [scope["helper"]]),
    lambda scope, n: scope["PART"].keywords.update(by=n),
    lambda scope, n: scope["INNER"].held.__setitem__(0, n),
    lambda scope, n: scope.update(INNER=scope["made"](n)),
    lambda scope, n: scope.update(helper=scope["other"] if n == 3 else scope["ORIGINAL"]),
    lambda scope, n: scope.update(len=lambda held: n) if n < 3 else scope.pop("len", None),
    lambda scope, n: scope.update(unrelated=n),
]


@contextmanager
def _point_as_before() -> Iterator[None]:
    try:
        yield
    finally:
        Point.unit = 1


@given(
    st.lists(
        st.tuples(st.integers(0, len(CHANGES) - 1), st.integers(0, 3), st.integers(1, 3)),
        min_size=1,
        max_size=12,
    ),
    st.booleans(),
)
def test_after_any_changes_a_cached_function_returns_what_a_run_returns(
    steps: list[tuple[int, int, int]], on_disk: bool
) -> None:
    with whorl.testing.fresh_cache(), _point_as_before():
        scope = _fresh()
        function: types.FunctionType = scope["work"]
        work: Any = whorl.cached(store=None if on_disk else "process")(function)
        assert work(1) == function(1)
        for which, n, x in steps:
            CHANGES[which](scope, n)
            assert work(x) == function(x)
            before = work.stats()["ran"]
            assert work(x) == function(x)
            assert work.stats()["ran"] == before, "nothing has changed since"


@given(specs())
def test_arguments_that_differ_in_one_place_never_share_a_result(spec: Spec) -> None:
    others = list(changes(spec))
    with whorl.testing.fresh_cache():
        told = whorl.cached(store="process", ignores=["whorl"])(_told)
        value = build(spec)
        assert told(value) == _told(value)
        for other in others[:8]:
            made = build(other)
            assert told(made) == _told(made)
        assert told(value) == _told(value)


def _told(value: object) -> str:
    return str(whorl.fingerprint(value))
