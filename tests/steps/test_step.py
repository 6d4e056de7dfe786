"""Steps, chains and cached steps: typed, composable, and exact about code and configuration."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import whorl
from tests.steps.programs import ran
from whorl.store import DirectoryStore, MemoryStore

FACTOR = 2


@dataclass(frozen=True)
class Scale(whorl.Step[int, int]):
    by: int = 2

    def __call__(self, value: int, /) -> int:
        return value * self.by * FACTOR


@dataclass(frozen=True)
class Span:
    line: int


@dataclass(frozen=True)
class Node:
    name: str
    span: Span
    children: tuple[Node, ...] = ()


def show(value: int) -> str:
    return f"<{value}>"


def size(node: Node) -> int:
    return 1 + sum(size(child) for child in node.children)


# -- chains ---------------------------------------------------------------------------------


def test_a_chain_is_its_steps_in_order() -> None:
    chain = whorl.chain(Scale(3), show, len)
    assert chain(2) == 4
    assert len(chain) == 3
    assert repr(chain) == f"chain({__name__}.Scale, {__name__}.show, len)"


def test_chains_in_chains_are_flat() -> None:
    inner = whorl.chain(Scale(), show)
    assert whorl.chain(inner, len).steps == (*inner.steps, len)
    assert inner.then(len).steps == (*inner.steps, len)
    assert Scale().then(inner).steps == (Scale(), *inner.steps)


def test_a_step_of_a_chain_can_be_exchanged() -> None:
    chain = whorl.chain(Scale(1), show)
    other = chain.replaced(show, str)
    assert chain(2) == "<4>"
    assert other(2) == "4"
    with pytest.raises(ValueError, match="is no step of"):
        chain.replaced(len, str)


def test_a_chain_is_frozen_and_comparable() -> None:
    chain = whorl.chain(Scale(1), show)
    assert chain == whorl.chain(Scale(1), show)
    with pytest.raises(AttributeError):
        chain.steps = ()  # type: ignore[misc]


def test_a_chain_of_nothing_and_of_no_steps_is_refused() -> None:
    with pytest.raises(TypeError, match="at least one step"):
        whorl.chain()  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="something to call"):
        whorl.chain(len, 5)  # type: ignore[call-overload]


def test_a_step_without_a_call_says_so() -> None:
    class Bare(whorl.Step[int, int]): ...

    with pytest.raises(NotImplementedError, match="Bare has no __call__"):
        Bare()(1)


# -- cached steps ---------------------------------------------------------------------------


def test_a_cached_step_runs_once_for_an_input() -> None:
    step = whorl.CachedStep(Scale(3))
    assert [step(2), step(2), step(4)] == [12, 12, 24]
    assert ran(step) == 2


def test_configuration_counts() -> None:
    keys = {whorl.CachedStep(Scale(by)).key(1) for by in (1, 2, 3)}
    assert len(keys) == 3
    assert whorl.CachedStep(Scale(1)).key(1) == whorl.CachedStep(Scale(1)).key(1)


def test_what_the_code_of_a_step_reads_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    step = whorl.CachedStep(Scale(3))
    assert step(1) == 6
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 5)
    assert step(1) == 15
    monkeypatch.setattr(Scale, "__call__", lambda self, value: -value)
    assert step(1) == -1
    monkeypatch.undo()
    assert step(1) == 6
    assert ran(step) == 3


def test_configuration_that_is_changed_in_spite_of_all_counts() -> None:
    @dataclass
    class Loose(whorl.Step[int, int]):
        by: int

        def __call__(self, value: int, /) -> int:
            return value * self.by

    loose = Loose(2)
    step = whorl.CachedStep(loose)
    assert step(3) == 6
    loose.by = 5
    assert step(3) == 15


def test_a_cached_step_among_others_and_a_cached_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = whorl.CachedStep(Scale(3))
    chain = whorl.chain(inner, show)
    whole = whorl.CachedStep(chain)
    assert whole(1) == chain(1) == "<6>"
    before = whole.key(1)
    inner(7)
    assert whole.key(1) == before, "what a cached step has kept is no part of it"
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 5)
    assert whole(1) == "<15>"


def test_skipping_source_locations_on_disk_and_keeping_them_in_the_process() -> None:
    without_spans = whorl.Fingerprinter(rules={Span: whorl.exclude})
    persistent = whorl.CachedStep(size, key=without_spans)
    live = whorl.CachedStep(size, store="process")
    one = Node("a", Span(1), (Node("b", Span(2)),))
    moved = Node("a", Span(10), (Node("b", Span(20)),))
    assert [step(node) for step in (persistent, live) for node in (one, moved)] == [2] * 4
    assert (ran(persistent), ran(live)) == (1, 2)


def test_a_key_function_returns_a_digest_or_a_tuple() -> None:
    by_name = whorl.CachedStep(size, key=lambda node: (node.name,))
    by_digest = whorl.CachedStep(size, key=lambda node: whorl.Fingerprinter().stable(node.name))
    one, other = Node("a", Span(1)), Node("a", Span(2), (Node("b", Span(3)),))
    assert [step(node) for step in (by_name, by_digest) for node in (one, other)] == [1] * 4
    odd: Any = whorl.CachedStep(size, key=lambda node: node.name)
    with pytest.raises(TypeError, match="it should be a digest, or a tuple"):
        odd(one)


def test_the_code_of_a_key_function_counts() -> None:
    one = whorl.CachedStep(size, key=lambda node: (node.name,))
    other = whorl.CachedStep(size, key=lambda node: (node.name, 1))
    assert one.key(Node("a", Span(1))) != other.key(Node("a", Span(1)))


def _by_identity(node: Node) -> whorl.Digest:
    return whorl.fingerprint(node, by="identity")


def _process_key(node: Node) -> whorl.ProcessDigest:
    found = whorl.fingerprint(node, by="identity")
    assert isinstance(found, whorl.ProcessDigest)
    return found


def test_a_process_digest_is_for_a_process_store_only(tmp_path: Path) -> None:
    node, twin = Node("a", Span(1)), Node("a", Span(1))
    live = whorl.CachedStep(size, key=_process_key, store=whorl.ProcessStore())
    assert [live(node), live(node), live(twin)] == [1, 1, 1]
    assert ran(live) == 2
    stores: list[Any] = [
        None,
        tmp_path / "store",
        MemoryStore(),
        DirectoryStore(tmp_path / "other"),
    ]
    for store in stores:
        # The type checker refuses this, and so does the step.
        refused = whorl.CachedStep(size, key=_process_key, store=store)
        with pytest.raises(TypeError, match="ProcessDigest"):
            refused(node)
        assert ran(refused) == 0


def test_a_digest_of_unknown_durability_is_refused_too() -> None:
    live = whorl.CachedStep(size, key=_by_identity, store="process")
    assert live(Node("a", Span(1))) == 1
    refused = whorl.CachedStep(size, key=_by_identity)  # type: ignore[arg-type]  # a Digest
    with pytest.raises(TypeError, match="ProcessDigest"):
        refused(Node("a", Span(1)))


def test_a_stable_digest_or_an_error() -> None:
    plain = whorl.Fingerprinter()
    assert plain.stable([1]) == whorl.fingerprint([1])
    by_identity = whorl.Fingerprinter(rules={Span: whorl.by_identity})
    with pytest.raises(TypeError, match="by_identity, which means nothing in another process"):
        by_identity.stable([Span(1)])


def test_live_results_are_the_very_objects() -> None:
    def make(name: str) -> Callable[[], str]:
        return lambda: name

    step = whorl.CachedStep(make, store="process")
    assert step("a") is step("a")
    assert step("a")() == "a"


def test_a_process_store_forgets_what_was_used_least() -> None:
    store = whorl.ProcessStore(max_entries=2)
    step = whorl.CachedStep(show, store=store)
    for value in (1, 2, 3):
        step(value)
    assert len(store) == 2
    with pytest.raises(ValueError, match="1 or more"):
        whorl.ProcessStore(0)


def test_explaining_and_forgetting(monkeypatch: pytest.MonkeyPatch) -> None:
    step = whorl.CachedStep(Scale(3))
    assert step.explain(1).reason == "no result is stored yet"
    step(1)
    assert step.explain(1).outcome == "hit"
    assert [str(change) for change in step.explain(2).changes] == ["arg:input: 1 -> 2"]
    assert step.invalidate(1)
    assert step.explain(1).outcome == "miss"
    step(1)
    assert step.invalidate_all() == 1
    assert step.uncached(1) == 6


def test_a_failing_step_leaves_nothing() -> None:
    def fails(value: int) -> int:
        raise ValueError(value)

    step = whorl.CachedStep(fails)
    for _ in range(2):
        with pytest.raises(ValueError, match="1"):
            step(1)
    assert step.explain(1).outcome == "miss"


def test_builtins_and_classes_can_be_steps() -> None:
    steps: list[Any] = [sorted, tuple, len]
    assert [whorl.CachedStep(step)([3, 1]) for step in steps] == [[1, 3], (3, 1), 2]
    assert whorl.CachedStep(str.upper)("a") == "A"


def test_what_is_no_step_is_refused() -> None:
    with pytest.raises(TypeError, match="something to call"):
        whorl.CachedStep(5)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="key= is"):
        whorl.CachedStep(len, key=5)  # type: ignore[call-overload]


def test_a_mapping_whose_order_matters_can_be_declared_so() -> None:
    @whorl.ordered("passes")
    @dataclass(frozen=True)
    class Plan:
        passes: dict[str, int]

    def in_order(plan: Plan) -> list[str]:
        return list(plan.passes)

    names = whorl.CachedStep(in_order)
    assert names(Plan({"a": 1, "b": 2})) == ["a", "b"]
    assert names(Plan({"b": 2, "a": 1})) == ["b", "a"]


def test_a_step_is_replaced_by_one_with_another_configuration() -> None:
    step = Scale(3)
    assert whorl.CachedStep(replace(step, by=4))(1) == 8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"salt": 5}, "salt= is a text"),
        ({"serializer": object()}, "serializer= has dumps and loads"),
        ({"key": 3}, "key= is a function or a whorl.Fingerprinter"),
        ({"files": "a.csv"}, "files= takes a list"),
    ],
)
def test_options_of_a_cached_step_are_checked_as_those_of_a_cached_function(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(TypeError, match=words):
        whorl.CachedStep(len, **options)
    with pytest.raises(TypeError, match=words):
        whorl.cached(**options)
