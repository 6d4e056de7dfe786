"""Kernels with checkpoints as methods: what is bound, called and resumed is like a bound method."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import pickle
import sys
import threading
import types
import weakref
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.native_calls import needs_native
from whorl import GraphStatus
from whorl.launch.launched_kernel import BoundKernel
from whorl.launch.resumption import Resumption

pytestmark = needs_native

# mypy: disable-error-code="no-untyped-def"


class Stage(IntEnum):
    LOAD = 0
    SIM = 1


class Other(IntEnum):
    SIM = 1


class Number(int):
    pass


class Solver:
    def __init__(self, stop: int = 0) -> None:
        self.x, self.stop = np.zeros(3), np.full((), stop, np.int32)

    @whorl.kernel
    def step(self, add: float = 1.0):
        """One step."""
        self.x[0] += add
        with whorl.checkpoint(Stage.LOAD, yield_on=self.stop):
            self.x[1] += add
        with whorl.checkpoint(Stage.SIM, yield_on=self.stop):
            self.x[2] += add

    @whorl.kernel(debug=True)
    def checked(self, i):
        with whorl.checkpoint(Stage.SIM, yield_on=self.stop):
            self.x[i] += 1


class Slotted:
    __slots__ = ("stop", "x")

    step = Solver.step

    def __init__(self) -> None:
        self.x, self.stop = np.zeros(3), np.zeros((), np.int32)


@whorl.kernel
def by_number(x, stop):
    with whorl.checkpoint(1, yield_on=stop):
        x[0] += 1


def warm(solver: Any) -> None:
    for _ in range(8):
        solver.step.resume(from_checkpoint=Stage.SIM)
        solver.step.resume(1.0, from_checkpoint=Stage.SIM)


@pytest.fixture
def solver() -> Iterator[Solver]:
    made = Solver()
    warm(made)
    resume: Any = Solver.step.resume
    assert len(resume.tables)
    made.x[:] = 0
    yield made
    Solver.step.__dict__.pop("note", None)


# -- what is called ------------------------------------------------------------------------


def one_step() -> Any:
    """A class of its own, with a kernel of its own that has one checkpoint."""

    class OneStep:
        def __init__(self) -> None:
            self.x, self.stop = np.zeros(1), np.zeros((), np.int32)

        @whorl.kernel
        def step(self):
            with whorl.checkpoint(1, yield_on=self.stop):
                self.x[0] += 1

    return OneStep


def test_resumes_are_launched_natively(solver: Solver) -> None:
    resumption: Any = Solver.step.resume
    before = resumption.python_calls
    for _ in range(5):
        solver.step.resume(1.0, from_checkpoint=Stage.SIM)
    assert resumption.python_calls == before


def test_a_native_resume_runs_from_its_label_on(solver: Solver) -> None:
    for _ in range(100):
        assert solver.step.resume(from_checkpoint=Stage.SIM) == GraphStatus(False)
    assert solver.x.tolist() == [0, 0, 100]
    solver.step.resume(2.0, from_checkpoint=Stage.LOAD)
    assert solver.x.tolist() == [0, 2, 102]
    solver.step.resume(add=3.0, from_checkpoint=Stage.LOAD)
    assert solver.x.tolist() == [0, 5, 105]
    solver.stop[()] = 1
    status = solver.step.resume(from_checkpoint=Stage.LOAD)
    assert status.checkpoint is Stage.LOAD


def test_objects_take_turns(solver: Solver) -> None:
    many: list[Any] = [Solver() for _ in range(5)] + [Slotted() for _ in range(5)]
    for _ in range(50):
        for each in many:
            each.step.resume(from_checkpoint=Stage.SIM)
    assert {each.x[2] for each in many} == {50.0}


def test_labels_are_those_of_the_kernel(solver: Solver) -> None:
    label: Any
    for label in (1, Number(1), Stage.SIM):
        solver.x[:] = 0
        for _ in range(6):
            solver.step.resume(from_checkpoint=label)
        assert solver.x.tolist() == [0, 0, 6]
    for label in (Other.SIM, 2, True, "SIM", None, 1.0, GraphStatus(True, Stage.SIM), 2**70):
        for _ in range(3):
            with pytest.raises(whorl.UnknownCheckpoint):
                solver.step.resume(from_checkpoint=label)
    assert solver.x.tolist() == [0, 0, 6]


def test_labels_of_functions_are_told_apart_too() -> None:
    x, stop, kernel = np.zeros(1), np.zeros((), np.int32), by_number
    label: Any
    for label in (1, Number(1), Other.SIM) * 6:
        kernel.resume(x, stop, from_checkpoint=label)
    assert isinstance(kernel.resume, Resumption)
    assert "resume" in vars(kernel)
    for label in (True, 1.0, 2, None):
        with pytest.raises(whorl.UnknownCheckpoint):
            kernel.resume(x, stop, from_checkpoint=label)
    assert x[0] == 18


def test_other_ways_to_call_say_what_is_missing(solver: Solver) -> None:
    bound: Any = solver.step
    for _ in range(3):
        with pytest.raises(TypeError, match="from_checkpoint"):
            bound.resume()
        with pytest.raises(TypeError, match="from_checkpoint"):
            bound.resume(1.0)
        with pytest.raises(TypeError):
            bound.resume(1.0, Stage.SIM)
        with pytest.raises(TypeError):
            bound.resume(1.0, 2.0, from_checkpoint=Stage.SIM)
        with pytest.raises(TypeError):
            bound.resume(other=1.0, from_checkpoint=Stage.SIM)
        with pytest.raises(TypeError):
            bound.resume(from_checkpoint=Stage.SIM, **{"": 1})
        with pytest.raises(TypeError):
            bound(from_checkpoint=Stage.SIM)
        bound.resume(**{"from_" + "checkpoint": Stage.SIM})  # a name that is equal, not the same
        bound.resume(*(), **{"add": 1.0}, from_checkpoint=Stage.SIM)
    assert solver.x.tolist() == [0, 0, 6]


def test_the_class_resumes_with_the_object_as_an_argument(solver: Solver) -> None:
    assert type(Solver.step).__name__ == "NumericKernel"
    assert Solver.step.__get__(None, Solver) is Solver.step
    assert vars(Solver)["step"] is Solver.step
    Solver.step.resume(solver, from_checkpoint=Stage.SIM)
    Solver.step.__get__(solver).resume(from_checkpoint=Stage.SIM)
    functools.partial(solver.step.resume, from_checkpoint=Stage.SIM)()
    list(map(functools.partial(solver.step.resume, from_checkpoint=1), [1.0, 2.0]))
    assert solver.x.tolist() == [0, 0, 6]


def test_a_subclass_resumes_what_it_overrides(solver: Solver) -> None:
    class Louder(Solver):
        def step(self) -> Any:  # type: ignore[override] # another kind of attribute
            return super().step

    louder = Louder()
    for _ in range(5):
        louder.step().resume(from_checkpoint=Stage.SIM)
    assert louder.x.tolist() == [0, 0, 5]


def test_a_failing_launch_raises_and_lets_go() -> None:
    solver = Solver()
    for _ in range(8):
        solver.checked.resume(1, from_checkpoint=Stage.SIM)
    resume: Any = Solver.checked.resume
    assert len(resume.tables)
    before = sys.getrefcount(solver), sys.getrefcount(Solver.checked)
    for _ in range(200):
        with pytest.raises(IndexError):
            solver.checked.resume(7, from_checkpoint=Stage.SIM)
    assert (sys.getrefcount(solver), sys.getrefcount(Solver.checked)) == before
    solver.checked.resume(2, from_checkpoint=Stage.SIM)
    assert solver.x.tolist() == [0, 8, 1]


def test_a_change_of_settings_reaches_native_resumes(solver: Solver) -> None:
    before = whorl.configure()
    try:
        whorl.configure(interpret=True)
        solver.step.resume(from_checkpoint=Stage.SIM)
        whorl.configure(interpret=False, debug=True)
        solver.step.resume(from_checkpoint=Stage.SIM)
    finally:
        whorl.settings.restore(before)
    for _ in range(20):
        solver.step.resume(from_checkpoint=Stage.SIM)
    assert solver.x.tolist() == [0, 0, 22]


def test_threads_resume_their_own_objects(solver: Solver) -> None:
    solvers = [Solver() for _ in range(6)]
    failures: list[Exception] = []

    def work(mine: Solver) -> None:
        try:
            for number in range(400):
                mine.step.resume(from_checkpoint=Stage.SIM)
                held = mine.step.resume, mine.step
                assert held[1].__self__ is mine
                held[0](float(number % 2), from_checkpoint=Stage.LOAD)
        except Exception as failure:
            failures.append(failure)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(mine,)) for mine in solvers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures
    assert {tuple(mine.x.tolist()) for mine in solvers} == {(0.0, 200.0, 600.0)}


def test_what_replaces_resume_is_what_is_called(
    solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(Solver.step, "resume", lambda *args, **kwargs: calls.append((args, kwargs)))
    solver.step.resume(2.0, from_checkpoint=Stage.SIM)
    assert calls == [((solver, 2.0), {"from_checkpoint": Stage.SIM})]
    monkeypatch.undo()
    solver.step.resume(2.0, from_checkpoint=Stage.SIM)
    assert (solver.x[2], len(calls)) == (2.0, 1)


def test_what_has_replaced_resume_can_be_taken_away_again() -> None:
    @whorl.kernel
    def counted(x, stop):
        with whorl.checkpoint(1, yield_on=stop):
            x[0] += 1

    kernel: Any = counted
    x, stop = np.zeros(1), np.zeros((), np.int32)
    for _ in range(3):
        for _ in range(10):
            kernel.resume(x, stop, from_checkpoint=1)
        kernel.resume = lambda *args, **kwargs: "mine"
        assert kernel.resume(x, stop, from_checkpoint=1) == "mine"
        del kernel.resume
    assert kernel.resume(x, stop, from_checkpoint=1) == GraphStatus(False)
    assert x[0] == 31
    kernel.note = 1
    del kernel.note
    with pytest.raises(AttributeError, match="note"):
        del kernel.note


def test_a_kernel_whose_resume_was_replaced_follows_its_code() -> None:
    @whorl.kernel
    def counted(x):
        x[0] += 1

    def by_two(x):
        x[0] += 2

    kernel: Any = counted
    x = np.zeros(1)
    kernel(x)
    kernel.resume = lambda *args, **kwargs: "mine"
    kernel.function.__code__ = by_two.__code__
    kernel(x)
    assert x[0] == 3


def test_resuming_from_within_a_launch_is_another_launch() -> None:
    class Nested:
        def __init__(self) -> None:
            self.x, self.off, self.depth = np.zeros(2), np.zeros((), np.int32), 0

        @property
        def stop(self) -> Any:
            if self.depth:
                self.depth -= 1
                self.step.resume(from_checkpoint=1)
            return self.off

        @whorl.kernel
        def step(self):
            with whorl.checkpoint(1, yield_on=self.stop):
                self.x[0] += 1

    nested = Nested()
    for _ in range(8):
        nested.step.resume(from_checkpoint=1)
    done = nested.x[0]
    nested.depth = 3
    nested.step.resume(from_checkpoint=1)
    assert nested.x[0] == done + 4


# -- what it is ----------------------------------------------------------------------------


def test_bound_kernels_are_what_they_were(solver: Solver) -> None:
    for _ in range(3):
        bound: Any = solver.step
        assert type(bound) is BoundKernel
        assert (bound.func, bound.args, bound.keywords) == (Solver.step, (solver,), {})
        assert bound.__self__ is solver
        assert bound.__func__ is Solver.step
        assert bound == solver.step
        assert hash(bound) == hash(solver.step)
        assert bound != Solver().step
        assert (bound.__name__, bound.__doc__) == ("step", "One step.")
        assert str(inspect.signature(bound)) == "(add: 'float' = 1.0)"
        assert repr(bound) == f"<bound method {Solver.step!r} of {solver!r}>"
        assert bound.specializations() == Solver.step.specializations()
        assert not hasattr(bound, "nothing")
        with pytest.raises(AttributeError, match="nothing"):
            _ = bound.nothing
    Solver.step.__dict__["note"] = "later"
    assert solver.step.note == "later"


def test_a_bound_resume_is_like_a_bound_method(solver: Solver) -> None:
    resume = solver.step.resume
    assert resume != Solver().step.resume
    assert resume.__self__ == solver.step
    assert resume.__func__ is BoundKernel.resume
    assert (resume.__name__, resume.__qualname__) == ("resume", "BoundKernel.resume")
    assert resume.__doc__ == BoundKernel.resume.__doc__
    method = types.MethodType(BoundKernel.resume, solver.step)
    assert repr(resume) == repr(method)
    assert inspect.signature(resume) == inspect.signature(method)
    assert not hasattr(resume, "nothing")
    assert callable(resume)


def test_both_have_a_fingerprint_which_no_launch_changes(solver: Solver) -> None:
    def digests() -> list[str]:
        return [whorl.fingerprint(each) for each in (solver.step, solver.step.resume, Solver.step)]

    before = digests()
    for _ in range(5):
        solver.step.resume(add=0.0, from_checkpoint=Stage.SIM)
        solver.step.resume(0.0, from_checkpoint=Stage.SIM)
    assert digests() == before
    solver.x[0] = 1
    after = digests()
    assert [one == two for one, two in zip(before, after, strict=True)] == [False, False, True]


kept = Solver()  # which a module can name


def test_both_are_pickled_by_their_object(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Solver, "__reduce__", lambda self: "kept", raising=False)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        bound, resume = pickle.loads(pickle.dumps((kept.step, kept.step.resume), protocol))
        assert (bound.__self__, resume.__self__.__self__) == (kept, kept)
    assert copy.copy(kept.step) == kept.step
    assert copy.deepcopy(kept.step.resume).__self__ == kept.step


class Careful(Solver):
    def step(self, add: float = 1.0) -> Any:  # type: ignore[override] # no kernel
        return super().step(add)

    @property
    def plainly(self) -> Any:
        return super().step


def test_deep_copies_call_the_same_kernel_for_a_copy_of_the_object(solver: Solver) -> None:
    for original in (solver, Careful()):
        bound = original.plainly if isinstance(original, Careful) else original.step
        pair: Any = copy.deepcopy((original, bound, bound.resume))
        assert pair[0] is not original
        for each in (pair[1], pair[2].__self__):
            assert type(each) is BoundKernel
            assert each.__func__ is Solver.step
            assert each.__self__ is pair[0]
        pair[2](from_checkpoint=Stage.SIM)
        assert (pair[0].x[2], original.x[2]) == (1, 0)


def test_attributes_belong_to_the_object_that_they_were_set_on(solver: Solver) -> None:
    bound: Any = solver.step
    bound.note = 7
    bound.resume = lambda **given: given
    assert bound.resume(from_checkpoint=3) == {"from_checkpoint": 3}
    assert (bound.note, vars(bound).keys()) == (7, {"note", "resume"})
    del bound
    for _ in range(3):
        assert not hasattr(solver.step, "note")
        assert not vars(solver.step)
        assert solver.step.resume(from_checkpoint=Stage.SIM) == GraphStatus(False)


def test_held_ones_stay_as_they_are(solver: Solver) -> None:
    other = Solver()
    first, second = solver.step, other.step
    third, fourth = first.resume, second.resume
    for _ in range(10):
        Solver().step.resume(from_checkpoint=Stage.SIM)
        third(from_checkpoint=Stage.SIM)
        fourth(2.0, from_checkpoint=Stage.SIM)
        first.resume(from_checkpoint=Stage.SIM)
    assert (solver.x[2], other.x[2]) == (20.0, 20.0)
    assert (first.__self__, second.__self__) == (solver, other)
    assert (third.__self__, fourth.__self__) == (first, second)
    arguments = first.args
    del first, second, third, fourth
    for _ in range(3):
        other.step.resume(from_checkpoint=Stage.SIM)
    assert arguments == (solver,)  # a tuple that somebody has is theirs


def test_keywords_that_somebody_writes_into_are_not_used_again(solver: Solver) -> None:
    bound = solver.step
    keywords = bound.keywords
    del bound
    keywords["add"] = 100.0
    solver.step()
    solver.step.resume(from_checkpoint=Stage.SIM)
    bound = solver.step
    bound.keywords["add"] = 100.0
    del bound
    solver.step.resume(from_checkpoint=Stage.SIM)
    assert solver.step.keywords == {}
    assert solver.x.tolist() == [1, 1, 3]


def test_a_state_that_is_set_by_hand_is_what_is_called(solver: Solver) -> None:
    bound = solver.step
    bound.__setstate__((divmod, (7,), {}, None))
    assert bound(2) == (3, 1)
    del bound
    assert solver.step.__self__ is solver
    assert solver.step.resume(from_checkpoint=Stage.SIM) == GraphStatus(False)


# -- who keeps what ------------------------------------------------------------------------


def test_references_are_given_back(solver: Solver) -> None:
    kernel, label = Solver.step, Stage.SIM
    watched = (solver, kernel, kernel.resume, label, BoundKernel, None)

    def counts() -> list[int]:
        return [sys.getrefcount(each) for each in watched]

    def both() -> None:
        solver.step.resume(from_checkpoint=label)
        held, resume = solver.step, solver.step.resume
        held.resume(from_checkpoint=label)
        resume(from_checkpoint=label)
        held()
        with pytest.raises(whorl.UnknownCheckpoint):
            solver.step.resume(from_checkpoint=9)
        weakref.ref(solver.step)
        _ = getattr(solver.step, "nothing", None), kernel.__get__(solver), Solver.step

    for _ in range(5):
        both()
    before = counts()
    for _ in range(300):
        both()
    after = counts()
    assert after[:-1] == before[:-1]
    assert abs(after[-1] - before[-1]) < 100  # others use None too


def test_nothing_keeps_an_object_alive() -> None:
    solver = Solver()
    warm(solver)
    there = weakref.ref(solver)
    solver.step.resume(from_checkpoint=Stage.SIM)
    _ = solver.step, solver.step.resume
    del _, solver
    assert there() is None


@pytest.mark.parametrize("is_collected_before", [False, True])
def test_cycles_through_bound_kernels_are_collected(*, is_collected_before: bool) -> None:
    class Cyclic(Solver):
        bound: Any
        resume: Any

    warm(Cyclic())
    gone: list[Any] = []
    for _ in range(20):
        if is_collected_before:
            gc.collect()
        solver = Cyclic()
        solver.bound, solver.resume = solver.step, solver.step.resume
        gone.append(weakref.ref(solver))
        solver.resume(from_checkpoint=Stage.SIM)
        del solver
        if is_collected_before and len(gone) == 3:
            break
    gc.collect()
    assert [each() for each in gone] == [None] * len(gone)
    fresh = Cyclic()
    fresh.step.resume(from_checkpoint=Stage.SIM)
    assert fresh.x.tolist() == [0, 0, 1]


def test_a_kernel_that_was_resumed_is_collected() -> None:
    def made() -> Any:
        Local = one_step()

        local = Local()
        for _ in range(8):
            local.step.resume(from_checkpoint=1)
        assert len(Local.step.resume.tables)
        return weakref.ref(Local.step), weakref.ref(local)

    kernel, local = made()
    gc.collect()
    assert (kernel(), local()) == (None, None)


def test_weak_references_to_bound_kernels_end_with_them(solver: Solver) -> None:
    said: list[str] = []
    bound, resume = solver.step, solver.step.resume
    one = weakref.ref(bound, lambda _: said.append("bound"))
    two = weakref.ref(resume, lambda _: said.append("resume"))
    solver.step.resume(from_checkpoint=Stage.SIM)
    assert (one(), two()) == (bound, resume)
    del bound, resume
    assert said == ["bound", "resume"]
    assert (one(), two()) == (None, None)
    solver.step.resume(from_checkpoint=Stage.SIM)


def test_an_object_that_resumes_while_it_is_let_go() -> None:
    done: list[float] = []

    class Last(Solver):
        def __del__(self) -> None:
            self.step.resume(from_checkpoint=Stage.SIM)
            done.append(self.x[2])

    warm(Last())
    done.clear()
    for _ in range(10):
        Last().step.resume(from_checkpoint=Stage.SIM)
    assert done == [2.0] * 10
    cyclic: Any = Last()
    cyclic.me = cyclic.step.resume
    del cyclic
    gc.collect()
    assert done == [2.0] * 10 + [1.0]


def test_calls_and_resumes_take_turns() -> None:
    plain = one_step()()
    for _ in range(10):
        plain.step.resume(from_checkpoint=1)
        plain.step()
    assert plain.x[0] == 20


def test_what_is_bound_while_a_cycle_is_collected_is_whole(solver: Solver) -> None:
    taken: list[Any] = []

    def take(_: object) -> None:
        taken.append((solver.step, solver.step.resume))

    for _ in range(3):
        cyclic, members = Solver(), list[Any]()
        cyclic.members = members  # type: ignore[attr-defined] # what makes the cycle
        # An array is not known to the collector: it is let go among what is being cleared.
        array = np.zeros(1)
        taker = weakref.ref(array, take)
        members.extend([cyclic, array, cyclic.step, cyclic.step.resume])
        del cyclic, members, array
        gc.collect()
        assert taker() is None
        ((bound, resume),) = taken
        assert (bound.func, bound.args) == (Solver.step, (solver,))
        assert resume(from_checkpoint=Stage.SIM) == GraphStatus(False)
        taken.clear()
