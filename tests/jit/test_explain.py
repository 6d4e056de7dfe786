"""Why a call missed: by path, old and new, with the line that asked."""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

import whorl
from tests.jit.compilers import Looking, Make, program_kernel
from whorl import testing
from whorl.calls.events import Happened
from whorl.jit.compiler import Target
from whorl.jit.kernel_lookup import OnDrift
from whorl.reads import Inputs
from whorl.store import Cache, MemoryStore

LIMIT = 10


def look(inputs: Inputs) -> Any:
    return (inputs.arg("x").value(), inputs.function().glob("LIMIT").value())


def kernel_of(store: Cache, version: str = "1") -> whorl.Kernel:
    @whorl.jit(Looking(look, version), store=store)
    def kernel(x: Any, y: Any = None) -> Any:
        return LIMIT

    return kernel


def test_the_first_compile_is_said_to_be_that(store: Cache) -> None:
    explanation = kernel_of(store).explain(1)
    assert (explanation.outcome, explanation.reason) == ("miss", "first compile")


def test_a_hit_is_said_to_be_in_memory_or_in_the_store(store: Cache) -> None:
    kernel = kernel_of(store)
    kernel(1)
    assert "in memory" in str(kernel.explain(1))
    assert "in the store" in str(kernel_of(store).explain(1))


def test_what_differs_is_named_with_both_sides_and_the_line(
    store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel_of(store)(1)
    for fresh in (kernel_of(store), kernel_of(store)):
        (change,) = fresh.explain(2).changes
        assert (change.path, change.old, change.new) == ("arg:x", "1", "2")
        assert "test_explain.py" in change.line
        assert "inputs.arg" in change.line
    monkeypatch.setitem(globals(), "LIMIT", 20)
    (change,) = kernel_of(store).explain(1).changes
    assert str(change).startswith("global:tests.jit.test_explain.LIMIT: 10 -> 20")


def test_the_nearest_of_several_is_compared_with(store: Cache) -> None:
    @whorl.jit(Looking(lambda inputs: [inputs.arg(name).value() for name in "abc"]), store=store)
    def kernel(a: int, b: int, c: int) -> None: ...

    for call in ((1, 1, 1), (2, 2, 2), (3, 3, 3)):
        kernel(*call)
    explanation = kernel.explain(2, 2, 9)
    assert [change.path for change in explanation.changes] == ["arg:c"]
    assert explanation.shapes_tried == 1


def test_another_version_of_the_compiler_is_the_reason(store: Cache) -> None:
    kernel_of(store, "1.4")(1)
    explanation = kernel_of(store, "1.5").explain(1)
    assert explanation.reason == "its code, compiler or toolchain has changed"
    assert [str(change) for change in explanation.changes] == [
        "compiler: looking 1.4 -> looking 1.5"
    ]


def test_an_edit_of_the_kernel_is_the_reason(store: Cache) -> None:
    compiler = Looking(lambda inputs: inputs.arg("n").value())

    def of(body: int) -> whorl.Kernel:
        namespace: dict[str, Any] = {"__name__": __name__}
        exec(f"def kernel(n): return {body}", namespace)
        return whorl.jit(compiler, store=store)(namespace["kernel"])

    of(1)(1)
    explanation = of(2).explain(1)
    assert explanation.reason == "its code was edited"
    assert [change.path for change in explanation.changes] == ["code"]


def test_misses_are_logged_when_somebody_asks_why(
    store: Cache, caplog: pytest.LogCaptureFixture
) -> None:
    kernel = kernel_of(store)
    with caplog.at_level(logging.INFO, "whorl.why"):
        kernel(1)
        kernel(2)
        kernel(2)
    assert len(caplog.records) == 2
    assert "arg:x: 1 -> 2" in caplog.text


# -- drift and targets ------------------------------------------------------------------


def drifting(store: Cache, on_drift: OnDrift) -> whorl.Kernel:
    @whorl.jit(Looking(look), store=store, on_drift=on_drift)
    def kernel(x: Any, y: Any = None) -> Any:
        return LIMIT

    return kernel


def test_a_drift_that_would_be_raised_is_explained_as_that(
    store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = drifting(store, "raise")
    kernel(1)
    monkeypatch.setitem(globals(), "LIMIT", 20)
    drifting(store, "recompile")(1)  # it is in the store, and still the call raises
    explanation = kernel.explain(1)
    assert (explanation.outcome, explanation.reason) == (
        "raises",
        'on_drift is "raise" and what it was compiled from has changed',
    )
    assert [change.path for change in explanation.changes] == [
        "global:tests.jit.test_explain.LIMIT"
    ]
    with pytest.raises(whorl.Drifted):
        kernel(1)


def test_a_drift_that_is_ignored_is_explained_as_that(
    store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = drifting(store, "ignore")
    kernel(1)
    monkeypatch.setitem(globals(), "LIMIT", 20)
    explanation = kernel.explain(1)
    assert (explanation.outcome, explanation.reason) == (
        "hit",
        'on_drift is "ignore" and only what it was compiled from has changed',
    )
    assert "LIMIT: 10 -> 20" in str(explanation)
    assert kernel.explain(2).outcome == "miss"  # an argument has changed as well
    assert kernel(1) == (1, 10)


def test_a_drift_that_is_followed_is_explained_as_that(
    store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = drifting(store, "recompile")
    kernel(1)
    monkeypatch.setitem(globals(), "LIMIT", 20)
    explanation = kernel.explain(1)
    assert explanation.outcome == "miss"
    assert explanation.reason == (
        '1 of its reads differs from the nearest compile, and on_drift is "recompile"'
    )
    monkeypatch.undo()
    assert "on_drift" not in kernel.explain(2).reason


def test_an_explanation_changes_nothing_about_the_next_call(
    store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    drifting(store, "raise")(1)
    kernel = drifting(store, "raise")
    assert kernel.explain(1).outcome == "hit"
    assert kernel.specializations() == []
    monkeypatch.setitem(globals(), "LIMIT", 20)
    assert kernel(1) == (1, 20)  # the first call of this kernel: nothing has drifted from it


@pytest.mark.parametrize(("on_drift", "said"), [("raise", "raises, "), ("ignore", "hit, ")])
def test_a_drift_is_logged_when_somebody_asks_why(
    store: Cache,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    on_drift: OnDrift,
    said: str,
) -> None:
    kernel = drifting(store, on_drift)
    kernel(1)
    monkeypatch.setitem(globals(), "LIMIT", 20)
    with caplog.at_level(logging.INFO, "whorl.why"):
        for _ in range(3):
            with contextlib.suppress(whorl.Drifted):
                kernel(1)
    assert f"{said}on_drift is" in caplog.text
    assert "LIMIT: 10 -> 20" in caplog.text
    assert len(caplog.records) == 1  # once for the same change


@pytest.mark.parametrize("is_new", [False, True], ids=["in memory", "in the store"])
def test_what_was_made_for_another_target_is_named(store: Cache, is_new: bool) -> None:
    target = [Target("x86-64-v3")]

    def made() -> whorl.Kernel:
        @whorl.jit(Looking(look, target=lambda: target[0]), store=store)
        def kernel(x: Any) -> Any:
            return LIMIT

        return kernel

    kernel = made()
    kernel(1)
    target[0] = Target("armv8")
    explanation = (made() if is_new else kernel).explain(1)
    assert explanation.reason == "it was compiled for another target"
    assert [str(change) for change in explanation.changes] == [
        "target:architecture: x86-64-v3 -> armv8"
    ]
    explanation = (made() if is_new else kernel).explain(2)
    assert [change.path for change in explanation.changes] == ["target:architecture", "arg:x"]


def test_the_nearest_compile_for_this_target_is_preferred(store: Cache) -> None:
    target = [Target("x86-64-v3")]

    @whorl.jit(Looking(look, target=lambda: target[0]), store=store)
    def kernel(x: Any) -> Any:
        return LIMIT

    kernel(1)
    target[0] = Target("armv8")
    kernel(2)
    assert [change.path for change in kernel.explain(1).changes] == ["arg:x"]


def kind(inputs: Inputs) -> Any:
    return inputs.arg("x").type()


@pytest.mark.parametrize("cache", ["disk", "process"])
def test_of_compiles_that_are_as_near_the_last_is_compared_with(store: Cache, cache: Any) -> None:
    @whorl.jit(Looking(kind), store=store, cache=cache)
    def kernel(x: Any) -> None: ...

    values: list[Any] = [1, 1.5, None, 1j, b"", True]
    for number, value in enumerate(values, 1):
        kernel(value)
        (change,) = kernel.explain("text").changes
        assert (change.old, change.new) == (type(value).__name__, "str")
        made = [found.facts for found in kernel.specializations()]
        assert made == [((type(each).__name__,),) for each in values[:number]]


def test_of_compiles_in_the_store_that_are_as_near_the_last_is_compared_with(store: Cache) -> None:
    def made() -> whorl.Kernel:
        @whorl.jit(Looking(kind), store=store)
        def kernel(x: Any) -> None: ...

        return kernel

    for value in (1, 1.5, None, 1j, b"", True):
        made()(value)
        (change,) = made().explain("text").changes
        assert change.old == type(value).__name__


# -- testing ----------------------------------------------------------------------------


def test_every_step_of_a_call_is_an_event(store: Cache) -> None:
    kernel = kernel_of(store)
    with testing.recorded_events() as events:
        kernel(1)
    assert [event.what for event in events] == [
        Happened.MISSED,
        Happened.COMPILING,
        Happened.COMPILED,
        Happened.STORED,
        Happened.LOADED,
        Happened.LAUNCHED,
    ]
    with testing.recorded_events() as events:
        kernel(1)
        kernel_of(store)(1)
    assert [event.what for event in events] == [
        Happened.RECALLED,
        Happened.LAUNCHED,
        Happened.FOUND,
        Happened.LOADED,
        Happened.LAUNCHED,
    ]


def test_a_compile_can_be_forbidden_and_the_reason_is_said(store: Cache) -> None:
    kernel = kernel_of(store)
    kernel(1)
    with testing.forbid_compile():
        kernel(1)
        with pytest.raises(testing.CompileForbidden, match="arg:x: 1 -> 2"):
            kernel(2)
    kernel(2)


def test_a_fresh_cache_is_empty_and_gone_after() -> None:
    @whorl.jit(Looking(lambda inputs: inputs.arg("x").value()))
    def kernel(x: Any) -> None: ...

    with testing.fresh_cache() as directory:
        kernel(1)
        assert list(directory.rglob("groups/*"))
    assert not directory.exists()


def test_a_fresh_cache_is_fresh_also_for_a_kernel_that_was_used_before() -> None:
    @whorl.jit(Looking(lambda inputs: inputs.arg("x").value()))
    def kernel(x: Any) -> None: ...

    for _ in range(2):
        with testing.fresh_cache() as directory:
            kernel(1)
            kernel(1)
            assert list(directory.rglob("groups/*"))
    assert kernel.stats()["compiled"] == 2


def test_an_audit_finds_a_compiler_that_reads_what_it_does_not_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hidden = ["a"]
    store = Cache(MemoryStore())

    @whorl.jit(Looking(lambda inputs: (inputs.arg("x").type(), hidden[0])), store=store)
    def kernel(x: Any) -> None: ...

    with testing.audit() as report:
        kernel(1)
        kernel(2)
    assert report.findings == []
    assert report.compared == 2
    hidden[0] = "b"
    with testing.audit() as report:
        kernel(1)
    assert [finding.kind for finding in report.findings] == ["stale"]


def test_an_audit_finds_compilers_that_are_not_deterministic() -> None:
    count = iter(range(100))

    @whorl.jit(Looking(lambda inputs: next(count)), store=Cache(MemoryStore()))
    def kernel() -> None: ...

    with testing.audit() as report:
        kernel()
    assert [finding.kind for finding in report.findings] == ["not deterministic"]


def test_an_audit_finds_variables_that_are_not_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    def look_aside(inputs: Inputs) -> Any:
        return [inputs.env("WHORL_TEST_X"), os.environ.get("WHORL_TEST_Y"), os.getenv("HOME")]

    compiler = Looking(look_aside, environment={"WHORL_TEST_X": "0"})

    @whorl.jit(compiler, store=Cache(MemoryStore()))
    def kernel() -> None: ...

    before = os.environ
    with testing.audit(rate=0) as report:
        kernel()
    assert os.environ is before
    assert {finding.detail for finding in report.findings} == {"WHORL_TEST_Y", "HOME"}


def test_an_audit_finds_reads_that_keep_causing_misses() -> None:
    @whorl.jit(Looking(look), store=Cache(MemoryStore()))
    def kernel(x: Any) -> Any:
        return LIMIT

    with testing.audit(rate=0) as report:
        for i in range(10):
            kernel(i)
    assert [(finding.kind, finding.detail) for finding in report.findings] == [
        ("churn", "arg:x keeps changing")
    ]


@pytest.mark.parametrize("rate", [-1, 1.5])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"), testing.audit(rate):
        pass


def test_of_compiles_that_are_as_near_the_latest_is_compared_with() -> None:
    kernel = whorl.jit(Looking(lambda inputs: inputs.arg("x").type()), cache="process")(
        lambda x: None
    )
    for value in (1, 2.0, b"", None, 1j):
        kernel(value)
    types = [made.facts[0] for made in kernel.specializations()]
    assert types == [("int",), ("float",), ("bytes",), ("NoneType",), ("complex",)]
    assert [change.old for change in kernel.explain("text").changes] == ["complex"]


def test_an_explanation_leaves_the_counts_as_they_were(make: Make) -> None:
    look = lambda inputs: inputs.arg("x").value()
    make(look)(1)
    kernel = make(look)
    before = kernel.stats()
    kernel.explain(1)
    assert kernel.stats() == before


def test_what_is_known_by_identity_is_not_said_to_have_changed(make: Make) -> None:
    lock = threading.Lock()
    look = lambda inputs: (inputs.arg("x").value() is None, inputs.arg("y").value())
    kernel = make(look, cache="process")
    kernel(lock, 1)
    assert [change.path for change in kernel.explain(lock, 2).changes] == ["arg:y"]


def test_a_list_is_explained_as_python_writes_it(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").value())
    kernel([1, 2])
    (change,) = kernel.explain({"a": 1}).changes
    assert (change.old, change.new) == ("[1, 2]", "{'a': 1}")


def test_a_tuple_of_one_text_is_explained_as_a_tuple(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").value())
    kernel(("int",))
    (change,) = kernel.explain("int").changes
    assert change.old != change.new.strip("'")


TABLE = list(range(100))


FLAGS = "-O2 -Wall -Wextra -fno-math-errno -fno-trapping-math -march=x86-64-v2"


LONG = "x" * 70


NESTED = {"a": {"b": list(range(50)), "c": LONG + "1"}}


NUMBER = 10**80


MANY = list(range(100))


def called() -> None: ...


@pytest.mark.parametrize(
    ("name", "new", "where", "old_words", "new_words"),
    [
        ("TABLE", [*range(99), 0], "[99]", "99", "0"),
        ("FLAGS", FLAGS.replace("v2", "v3"), "", "...rch=x86-64-v2'", "...rch=x86-64-v3'"),
        ("NUMBER", 10**80 + 1, "", "...0000000000000", "...0000000000001"),
        ("NESTED", {"a": {"b": [*range(49), 7], "c": LONG + "1"}}, "['a']['b'][49]", "49", "7"),
        ("NESTED", {"a": {"b": [*range(50)], "c": LONG + "2"}}, "['a']['c']", "...xxxxxxxxxxxx1'",
         "...xxxxxxxxxxxx2'"),
    ],
)  # fmt: skip
def test_an_explanation_shows_where_two_values_differ(
    name: str,
    new: Any,
    where: str,
    old_words: str,
    new_words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = program_kernel(lambda program, inputs: inputs.glob(__name__, name).value() and None)
    kernel()
    monkeypatch.setitem(globals(), name, new)
    (change,) = kernel.explain().changes
    assert change.path == f"global:{__name__}.{name}{where}"
    assert (change.old, change.new) == (old_words, new_words)


def test_an_explanation_tells_lengths_wrappers_and_modules_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def told(look: Callable[[whorl.Program, Inputs], Any], name: str, new: Any) -> tuple[str, str]:
        kernel = program_kernel(look)
        kernel()
        monkeypatch.setitem(globals(), name, new)
        (change,) = kernel.explain().changes
        return change.old, change.new

    old, new = told(lambda _, inputs: str(inputs.glob(__name__, "TABLE").value()), "TABLE", [0] * 9)
    assert old != new
    old, new = told(
        lambda _, inputs: str(inputs.glob(__name__, "MANY").value()), "MANY", [*range(101)]
    )
    assert (old.rpartition("(")[2], new.rpartition("(")[2]) == ("100 items)", "101 items)")
    old, new = told(
        lambda _, inputs: inputs.glob(__name__, "called").code().digest,
        "called",
        functools.partial(called),
    )
    assert new == f"partial of {old}"
