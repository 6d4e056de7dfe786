# mypy: disable-error-code="no-untyped-def, no-untyped-call, valid-type"
# ruff: noqa: SIM102, SIM117, PLW0120
# Kernels take their types from the arguments, and some are written for what they nest.
"""Loops and checkpoints: what runs, what does not, and what a launch says about it."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
import pytest

import whorl
import whorl.testing
from tests.kernels.native_calls import is_native, needs_native
from whorl import GraphStatus
from whorl.graph import do_while

FIRST, SECOND = 10, 20


class Stage(IntEnum):
    LOAD = 0
    SIM = 1
    SAVE = 2


class Outer:
    class Inner:
        class Deep(IntEnum):
            A = 5
            B = 6


def flag(value: int = 0) -> Any:
    return np.array(value, np.int32)


@dataclass
class Log:
    """What a kernel has done, in order, and the flags of its loops and checkpoints."""

    seen: Any = field(default_factory=lambda: np.zeros(400, np.int64))
    count: Any = field(default_factory=lambda: np.zeros((), np.int64))
    outer: Any = field(default_factory=flag)
    inner: Any = field(default_factory=flag)
    stop: Any = field(default_factory=flag)
    other: Any = field(default_factory=flag)
    n: int = 3

    @property
    def steps(self) -> list[int]:
        return self.seen[: self.count].tolist()  # type: ignore[no-any-return] # an array's


def note(log, step):
    log.seen[log.count[()]] = step
    log.count[()] += 1


def run(kernel: Any, log: Log, host: Callable[[Log], None] = lambda log: None) -> list[GraphStatus]:
    """Launch, and resume until it is done; `host` does what the host does in between.

    What is compiled and what is interpreted have to agree on all of it.
    """
    twin = copy.deepcopy(log)
    ends = []
    for launch, resume, state in (
        (kernel, kernel.resume, log),
        (kernel.interpret, kernel.interpret_resumed, twin),
    ):
        found = [launch(state)]
        while found[-1] is not None and found[-1].yielded:
            assert len(found) < 50
            host(state)
            found.append(resume(state, from_checkpoint=found[-1].checkpoint))
        ends.append(found)
    assert ends[0] == ends[1]
    assert log.steps == twin.steps
    for name in ("outer", "inner", "stop", "other"):
        assert getattr(log, name) == getattr(twin, name)
    return ends[0]


def go_on(log: Log) -> None:
    log.stop[()] = 0
    log.other[()] = 0


# -- loops ------------------------------------------------------------------------------


@whorl.kernel
def counting(log):
    while whorl.graph.do_while(log.outer):
        note(log, 1)
        log.outer[()] -= 1
    note(log, 2)


@pytest.mark.parametrize(("begin", "rounds"), [(1, 1), (3, 3)])
def test_a_do_while_repeats_while_its_condition_is_not_zero(begin: int, rounds: int) -> None:
    log = Log(outer=flag(begin))
    assert run(counting, log) == [None]
    assert log.steps == [1] * rounds + [2]


@whorl.kernel
def once(log):
    while whorl.graph.do_while(log.outer):
        note(log, 1)


def test_a_do_while_runs_its_body_at_least_once() -> None:
    log = Log(outer=flag(0))
    run(once, log)
    assert log.steps == [1]


@whorl.kernel
def nested(log):
    while do_while(condition=log.outer):
        log.inner[()] = 2
        while do_while(log.inner):
            note(log, 1)
            log.inner[()] -= 1
        for i in range(2):
            log.inner[()] = 1
            while do_while(log.inner):
                note(log, 10 + i)
                log.inner[()] -= 1
        log.outer[()] -= 1
    while do_while(log.outer):
        note(log, 3)


def test_loops_nest_stand_beside_each_other_and_mix_with_plain_ones() -> None:
    log = Log(outer=flag(2))
    run(nested, log)
    assert log.steps == [1, 1, 10, 11, 1, 1, 10, 11, 3]


@whorl.kernel
def jumping(log):
    while do_while(log.outer):
        log.outer[()] -= 1
        if log.outer[()] == 3:
            continue
        if log.outer[()] == 1:
            break
        note(log, log.outer[()])
    else:
        note(log, 99)
    k = 0
    while do_while(log.inner):
        k += 1
        last = k * 10
    else:
        note(log, 98)
    note(log, last)


def test_break_continue_and_else_are_those_of_a_while() -> None:
    log = Log(outer=flag(5))
    run(jumping, log)
    assert log.steps == [4, 2, 98, 10]


def looped(log, condition):
    while do_while(condition):
        note(log, 7)
        condition[()] -= 1


class Nested:
    def __init__(self) -> None:
        self.deep = Log(outer=flag(2))
        self.extra = "not read"

    @whorl.kernel
    def by_self(self):
        while do_while(self.deep.outer):
            note(self.deep, 7)
            self.deep.outer[()] -= 1

    @whorl.kernel
    def by_name(self):
        state = self.deep
        condition = state.outer
        while do_while(condition):
            note(state, 7)
            condition -= 1

    @whorl.kernel
    def by_call(self):
        looped(condition=self.deep.outer, log=self.deep)


@pytest.mark.parametrize("name", ["by_self", "by_name", "by_call"])
def test_a_condition_is_found_wherever_an_array_is(name: str) -> None:
    for launch in (getattr(Nested, name), getattr(Nested, name).interpret):
        nest = Nested()
        launch(nest)
        assert nest.deep.steps == [7, 7]
        assert nest.deep.outer == 0


@whorl.kernel
def of_parameter(x, condition):
    while do_while(condition):
        x[0] += 1
        condition[()] -= 1


def test_another_array_as_the_condition_does_not_compile_again() -> None:
    x = np.zeros(1)
    for n in (1, 2, 3):
        of_parameter(x, flag(n))
    many = np.zeros((4, 3), np.int32)
    many[1, 2] = 4
    of_parameter(x, many[1, 2, ...])
    assert x[0] == 10
    assert of_parameter.stats()["compiled"] == 1


@whorl.kernel
def chosen(x, a, b, which: bool):
    c = a if which else b
    while do_while(c):
        x[0] += 1
        c[()] -= 1


def test_a_condition_may_be_one_of_two_arrays() -> None:
    for launch in (chosen, chosen.interpret):
        x, a, b = np.zeros(1), flag(2), flag(5)
        launch(x, a, b, True)
        launch(x, a, b, False)
        assert (x[0], a, b) == (7, 0, 0)


# -- checkpoints ------------------------------------------------------------------------


@whorl.kernel
def stages(log):
    note(log, 1)
    with whorl.checkpoint(Stage.LOAD, yield_on=log.other):
        note(log, 2)
    note(log, 3)
    with whorl.checkpoint(Stage.SIM, yield_on=log.stop):
        note(log, 4)
    note(log, 5)


def test_without_a_yield_everything_runs_and_the_status_says_so() -> None:
    log = Log()
    assert run(stages, log) == [GraphStatus(yielded=False)]
    assert log.steps == [1, 2, 3, 4, 5]


def test_a_yield_skips_what_follows_and_a_resume_what_precedes() -> None:
    log = Log(stop=flag(1))
    ends = run(stages, log, go_on)
    assert ends == [GraphStatus(True, Stage.SIM), GraphStatus(False)]
    assert ends[0].checkpoint is Stage.SIM
    assert log.steps == [1, 2, 3, 4, 4, 5]


def test_the_first_yielder_wins_and_the_flags_are_never_written() -> None:
    log = Log(stop=flag(7), other=flag(-3))
    assert stages(log) == GraphStatus(True, Stage.LOAD)
    assert (log.stop, log.other) == (7, -3)
    assert stages.resume(log, from_checkpoint=Stage.LOAD) == GraphStatus(True, Stage.LOAD)
    log.other[()] = 0
    assert stages.resume(log, from_checkpoint=Stage.LOAD) == GraphStatus(True, Stage.SIM)
    assert log.steps == [1, 2, 2, 2, 3, 4]


def test_a_flag_that_stays_set_yields_again() -> None:
    log = Log(stop=flag(1))
    first = stages(log)
    assert stages.resume(log, from_checkpoint=first.checkpoint) == first
    assert log.steps == [1, 2, 3, 4, 4]


def advance(log, k):
    note(log, k)
    with whorl.checkpoint(SECOND, yield_on=log.stop):
        note(log, k + 1)
        if log.outer[()] == 2:
            if log.inner[()] == 1:
                if log.n > log.count[()]:
                    log.stop[()] = 1
    note(log, k + 2)
    return k + 3


@whorl.kernel
def deep(log):
    half = log.n // 2
    if log.n > 5:
        k = half + 100
    else:
        k = half
    note(log, 1)
    while do_while(log.outer):
        note(log, 2)
        log.inner[()] = 2
        while do_while(log.inner):
            note(log, advance(log, k))
            log.inner[()] -= 1
        note(log, 3)
        log.outer[()] -= 1
    note(log, k)


def test_a_resume_goes_on_inside_of_nested_loops_and_calls() -> None:
    def host(log: Log) -> None:
        log.stop[()] = 0

    log = Log(outer=flag(3), n=40)
    ends = run(deep, log, host)
    first = [2, 120, 121, 122, 123, 120, 121, 122, 123, 3]
    assert ends[:-1] == [GraphStatus(True, 20)] * (len(ends) - 1)
    assert ends[0].checkpoint == SECOND
    assert log.steps[:11] == [1, *first]
    assert log.steps[11:17] == [2, 120, 121, 122, 123, 120]
    again = len(ends)
    assert log.steps[17 : 17 + again] == [121] * again
    assert log.steps[17 + again :] == [122, 123, 3, *first, 120]
    assert again > 2


@whorl.kernel
def branched(log, case: whorl.static, kind):
    note(log, 1)
    if whorl.static(case == 1):
        note(log, 2)
        with whorl.checkpoint(FIRST, yield_on=log.stop):
            note(log, 3)
        note(log, 4)
    elif kind[()] > 0:
        with whorl.checkpoint(SECOND, yield_on=log.stop):
            note(log, 5)
        note(log, 6)
    else:
        note(log, 7)
    note(log, 8)


def test_a_branch_with_the_label_is_entered_whatever_its_test_says_by_then() -> None:
    for launch, resume in (
        (branched, branched.resume),
        (branched.interpret, branched.interpret_resumed),
    ):
        log, kind = Log(stop=flag(1)), np.array(1)
        assert launch(log, 0, kind) == GraphStatus(True, SECOND)
        go_on(log)
        kind[()] = 0
        assert not resume(log, 0, kind, from_checkpoint=SECOND).yielded
        assert log.steps == [1, 5, 5, 6, 8]
        log = Log(stop=flag(1))
        assert launch(log, 1, kind) == GraphStatus(True, FIRST)
        go_on(log)
        resume(log, 1, kind, from_checkpoint=FIRST)
        assert log.steps == [1, 2, 3, 3, 4, 8]


def test_specializations_have_tables_of_their_own() -> None:
    kind, before = np.array(1), branched.stats().get("compiled", 0)
    for case, label in ((0, SECOND), (1, FIRST), (0, SECOND), (1, FIRST)) * 3:
        log = Log(stop=flag(1))
        assert branched(log, case, kind) == GraphStatus(True, label)
        log.stop[()] = 0
        with pytest.raises(whorl.UnknownCheckpoint):
            branched.resume(log, case, kind, from_checkpoint=FIRST + SECOND - label)
        assert branched.resume(log, case, kind, from_checkpoint=label) == GraphStatus(False)
    assert branched.stats()["compiled"] <= before + 2


@whorl.kernel
def removed(log, is_there: whorl.static):
    if whorl.static(is_there):
        with whorl.checkpoint(1, yield_on=log.stop):
            note(log, 1)
    note(log, 2)


def test_a_kernel_with_a_checkpoint_in_its_source_always_returns_a_status() -> None:
    log = Log(stop=flag(1))
    assert removed(log, False) == GraphStatus(False)
    assert removed(log, True) == GraphStatus(True, 1)
    assert removed(log, False) == removed.interpret(log, False) == GraphStatus(False)
    with pytest.raises(whorl.UnknownCheckpoint, match="in static branches"):
        removed.resume(log, False, from_checkpoint=1)


def test_native_launches_return_the_same_statuses() -> None:
    log = Log(stop=flag(1))
    ends = {id(stages(log)) for _ in range(20)}
    log.count[()] = 0
    log.stop[()] = 0
    assert {stages(log) for _ in range(5)} == {GraphStatus(False)}
    log.count[()] = 0
    log.other[()] = 1
    assert {stages(log).checkpoint for _ in range(5)} == {Stage.LOAD}
    assert len(stages.tables)
    assert len(ends) < 20


def test_native_resumes_are_those_of_their_label() -> None:
    log = Log()
    for _ in range(20):
        log.count[()] = 0
        stages(log)
        assert stages.resume(log, from_checkpoint=Stage.SIM) == GraphStatus(False)
        assert stages.resume(log, from_checkpoint=Stage.LOAD) == GraphStatus(False)
        assert log.steps == [1, 2, 3, 4, 5, 4, 5, 2, 3, 4, 5]
    assert len(stages.resume.tables) == 2  # type: ignore[attr-defined] # an object by now
    log.stop[()] = 1
    assert stages.resume(log, from_checkpoint=Stage.SIM).checkpoint is Stage.SIM
    assert stages.resume(log, from_checkpoint=1).checkpoint is Stage.SIM
    with pytest.raises(whorl.UnknownCheckpoint):
        stages.resume(log, from_checkpoint=7)
    with pytest.raises(TypeError, match="from_checkpoint"):
        stages.resume(log)
    untyped: Any = stages
    with pytest.raises(TypeError, match="from_checkpoint"):
        stages.resume(log, Stage.SIM)
    with pytest.raises(TypeError):
        untyped(log, from_checkpoint=Stage.SIM)
    with pytest.raises(TypeError):
        untyped(from_checkpoint=log)
    assert stages.resume(log=log, from_checkpoint=Stage.SIM).yielded


def test_a_native_resume_follows_its_arguments_and_globals(monkeypatch: Any) -> None:
    x, stop = np.zeros(3), flag()
    for _ in range(8):
        by_constant.resume(x, stop, from_checkpoint=SHIFTING)
    assert x.tolist() == [0, 8, 8]
    monkeypatch.setitem(globals(), "SHIFTING", 41)
    with pytest.raises(whorl.UnknownCheckpoint, match="It has 41"):
        by_constant.resume(x, stop, from_checkpoint=40)
    by_constant.resume(x, stop, from_checkpoint=41)
    whole = np.zeros(3, np.int64)
    by_constant.resume(whole, stop, from_checkpoint=41)
    assert (x.tolist(), whole.tolist()) == ([0, 9, 9], [0, 1, 1])


@needs_native
def test_a_native_launch_notices_what_becomes_of_a_member() -> None:
    class Made(IntEnum):
        A = 1
        B = 2

    def status() -> Any:
        assert by_made.resume(np.zeros(1), flag(1), from_checkpoint=Made.A) == by_made(
            np.zeros(1), flag(1)
        )
        return by_made(np.zeros(1), flag(1)).checkpoint

    @whorl.kernel
    def by_made(x, stop):
        with whorl.checkpoint(Made.A, yield_on=stop):
            x[0] += 1

    for _ in range(8):
        assert status() is Made.A
    assert is_native(by_made)
    member: Any = Made.A
    members: Any = Made._member_map_
    member._value_ = 7
    compiled = len(by_made.specializations())
    assert status() is Made.A
    assert len(by_made.specializations()) == compiled + 1
    member.__dict__ = {**vars(member), "_value_": 8}  # another dict
    assert status() is Made.A
    assert len(by_made.specializations()) == compiled + 2
    member._value_ = 1
    assert status() is Made.A
    assert len(by_made.specializations()) == compiled + 2
    members["A"] = Made.B
    assert by_made(np.zeros(1), flag(1)).checkpoint is Made.B
    members["A"] = member
    assert status() is Made.A
    type.__setattr__(Made, "_member_map_", {"A": Made.B, "B": Made.B})
    assert by_made(np.zeros(1), flag(1)).checkpoint is Made.B
    type.__setattr__(Made, "_member_map_", members)
    assert status() is Made.A
    old = member

    class Made(IntEnum):  # type: ignore[no-redef] # what is tested
        A = 1

    assert by_made(np.zeros(1), flag(1)).checkpoint is Made.A is not old


SHIFTING = 40


@whorl.kernel
def by_constant(x, stop):
    x[0] += 1
    with whorl.checkpoint(SHIFTING, yield_on=stop):
        x[1] += 1
    x[2] += 1


@whorl.kernel
def with_its_name(x, from_checkpoint, stop):
    x[0] = from_checkpoint + stop[()]


def test_a_parameter_may_have_the_name_of_the_keyword() -> None:
    x = np.zeros(1)
    for n in range(9):
        with_its_name(x, n, flag(1))
        with_its_name(x, from_checkpoint=n, stop=flag(2))
        assert x[0] == n + 2
        untyped: Any = with_its_name
        with pytest.raises(TypeError):
            untyped(x, n, from_checkpoint=flag(1))


@whorl.kernel
def left(log):
    while do_while(log.outer):
        with whorl.checkpoint(FIRST, yield_on=log.stop):
            log.outer[()] -= 1
            note(log, 1)
            for i in range(3):
                if i == 1:
                    break
                note(log, 20 + i)
            if log.outer[()] == 2:
                continue
            if log.outer[()] == 1:
                break
            note(log, 3)
        note(log, 4)
    with whorl.checkpoint(SECOND, yield_on=log.other):
        note(log, 5)
        if log.n == 3:
            return
    note(log, 6)


@pytest.mark.parametrize(("stop", "other", "n"), [(0, 0, 3), (1, 0, 3), (0, 1, 3), (1, 1, 4)])
def test_a_checkpoint_that_is_left_by_a_jump_ends_there(stop: int, other: int, n: int) -> None:
    log = Log(outer=flag(4), stop=flag(stop), other=flag(other), n=n)
    ends = run(left, log, go_on)
    assert len(ends) == 1 + (stop or other)
    tail = [5] * (1 + (other and not stop)) + [6] * (n != 3)
    body = [1, 20, 3, 1, 20, 1, 20] if stop else [1, 20, 3, 4, 1, 20, 1, 20]
    assert log.steps == body + tail


@whorl.kernel
def guarded(log):
    if log.n == 0:
        return
    with whorl.checkpoint(FIRST, yield_on=log.stop):
        note(log, 1)
    while log.outer[()] > 0:
        log.outer[()] -= 1
        with whorl.checkpoint(SECOND, yield_on=log.other):
            note(log, 2)
            if log.outer[()] == 1:
                if log.inner[()] == 0:
                    log.other[()] = 1
                    log.inner[()] = 1
        note(log, 3)


def test_a_return_before_the_label_is_not_taken_by_a_resume() -> None:
    for launch, resume in (
        (guarded, guarded.resume),
        (guarded.interpret, guarded.interpret_resumed),
    ):
        log = Log(n=0)
        assert launch(log) == GraphStatus(False)
        assert resume(log, from_checkpoint=FIRST) == GraphStatus(False)
        assert log.steps == [1]


def test_a_checkpoint_in_a_plain_while_resumes_inside_of_it() -> None:
    log = Log(outer=flag(3))
    run(guarded, log, go_on)
    assert log.steps == [1, 2, 3, 2, 2, 3, 2, 3]


def asked(log, label, stop):
    with whorl.checkpoint(label, yield_on=stop):
        note(log, label)
    return log.n > 2


@whorl.kernel
def in_expressions(log):
    if log.inner[()] > 0 and asked(log, 31, log.stop):
        note(log, 1)
    k = log.n + 1 if log.inner[()] < 5 else asked(log, 32, log.other)
    note(log, k)
    while asked(log, 33, log.other):
        note(log, 2)
        log.outer[()] += 1
        if log.outer[()] > 1:
            break


def test_a_checkpoint_in_a_part_of_an_expression_is_resumed_there() -> None:
    for launch, resume in (
        (in_expressions, in_expressions.resume),
        (in_expressions.interpret, in_expressions.interpret_resumed),
    ):
        log = Log(inner=flag(1), stop=flag(1))
        assert launch(log) == GraphStatus(True, 31)
        log.stop[()], log.inner[()] = 0, 0
        assert resume(log, from_checkpoint=31) == GraphStatus(False)
        assert resume(log, from_checkpoint=32) == GraphStatus(False)
        log.other[()] = 1
        assert resume(log, from_checkpoint=33) == GraphStatus(True, 33)
        tail = [33, 2, 33, 2]
        assert log.steps == [31, 31, 1, 4, *tail, 32, 1, *tail[:2], 33]


@whorl.kernel
def defines(log):
    k = log.n * 2

    def inside(step, more=5):
        note(log, step + k)
        with whorl.checkpoint(FIRST, yield_on=log.stop):
            note(log, more)
        while do_while(log.inner):
            note(log, more + 1)
            log.inner[()] -= 1
        return more + k

    double = lambda value: 2 * value
    note(log, double(inside(100)))


def test_functions_inside_of_a_kernel_have_loops_and_checkpoints_too() -> None:
    log = Log(stop=flag(1), inner=flag(2))
    run(defines, log, go_on)
    assert log.steps == [106, 5, 5, 6, 6, 22]


class Quiet:
    """Another class with a method of the same name."""

    def __init__(self) -> None:
        self.x = np.zeros(1)

    def step(self):
        self.x[0] += 1


@whorl.kernel
def quiet(one, solver):
    one.step()
    one.x[0] += solver.left[()]


def test_a_checkpoint_that_is_not_called_makes_no_status() -> None:
    one = Quiet()
    assert quiet(one, Solver()) is None
    assert quiet.interpret(one, Solver()) is None
    assert one.x[0] == 6
    for resume in (quiet.resume, quiet.interpret_resumed):
        with pytest.raises(whorl.NoCheckpoints):
            resume(one, Solver(), from_checkpoint=1)


@whorl.kernel
def endless(log):
    while True:
        with whorl.checkpoint(1, yield_on=log.stop):
            note(log, 1)
            log.outer[()] -= 1
            if log.outer[()] == 1:
                log.stop[()] = 1
        if log.outer[()] < 1:
            break
    note(log, 2)


def test_a_checkpoint_in_an_endless_loop_is_resumed_there() -> None:
    log = Log(outer=flag(3))
    assert len(run(endless, log, go_on)) == 2
    assert log.steps == [1, 1, 1, 2]


@whorl.kernel
def only_a_place(log):
    note(log, 1)
    with whorl.checkpoint(FIRST):
        note(log, 2)


def test_a_checkpoint_without_a_flag_is_a_place_to_resume_from() -> None:
    log = Log(stop=flag(1))
    assert only_a_place(log) == GraphStatus(False)
    only_a_place.resume(log, from_checkpoint=FIRST)
    only_a_place.interpret_resumed(log, from_checkpoint=FIRST)
    assert log.steps == [1, 2, 2, 2]


@whorl.kernel
def parallel_body(log, x):
    with whorl.checkpoint(FIRST, yield_on=log.stop):
        total = 0.0
        for i in whorl.prange(x.size):
            x[i] += 1
            total += x[i]
        note(log, total)
        if total < 3000:
            log.stop[()] = 1
    note(log, 5)


def test_bare_statements_and_parallel_loops_run_in_a_checkpoint() -> None:
    log, x = Log(), np.zeros(1000)
    status = parallel_body(log, x)
    while status.yielded:
        log.stop[()] = 0
        status = parallel_body.resume(log, x, from_checkpoint=status.checkpoint)
    assert log.steps == [1000, 2000, 3000, 5]


@whorl.kernel
def grown(data, need, full):
    size = data.size
    scale = 1.0 / size
    with whorl.checkpoint(FIRST, yield_on=full):
        if need[()] > size:
            full[()] = 1
    for i in range(size):
        data[i] += scale


def test_what_follows_from_the_arguments_is_that_of_the_resumed_launch() -> None:
    for launch, resume in ((grown, grown.resume), (grown.interpret, grown.interpret_resumed)):
        need, full = np.array(4), flag()
        assert launch(np.zeros(2), need, full).yielded
        full[()] = 0
        data = np.zeros(8)
        assert not resume(data, need, full, from_checkpoint=FIRST).yielded
        assert data.tolist() == [0.125] * 8


@whorl.kernel
def vectors(out, a, stop):
    v = whorl.vec(a, 2.0, 3.0)
    v[1] = a * 2
    w = v + 1.0
    with whorl.checkpoint(FIRST, yield_on=stop):
        out[0] = v[0]
    u = whorl.zeros(3)
    for k in whorl.static(range(3)):
        u[k] = w[k]
    out[1] = u[0] + u[1] + v[1]


def test_vectors_that_follow_from_the_arguments_are_kept() -> None:
    for launch, resume in (
        (vectors, vectors.resume),
        (vectors.interpret, vectors.interpret_resumed),
    ):
        out, stop = np.zeros(2), flag(1)
        launch(out, 5.0, stop)
        stop[()] = 0
        resume(out, 7.0, stop, from_checkpoint=FIRST)
        assert out.tolist() == [7.0, 8.0 + 15.0 + 14.0]


@whorl.kernel
def vector_in_a_branch(out, a, which, stop):
    v = whorl.vec(a, 2.0)
    if which[()] > 0:
        v[1] = 50.0
        out[1] = v[1]
    else:
        with whorl.checkpoint(FIRST, yield_on=stop):
            out[0] = v[0] + v[1]


def test_what_another_branch_would_set_is_not_worked_out_again() -> None:
    for launch, resume in (
        (vector_in_a_branch, vector_in_a_branch.resume),
        (vector_in_a_branch.interpret, vector_in_a_branch.interpret_resumed),
    ):
        out, stop = np.zeros(2), flag(1)
        assert launch(out, 5.0, np.array(0), stop).yielded
        stop[()] = 0
        resume(out, 6.0, np.array(1), stop, from_checkpoint=FIRST)
        assert out.tolist() == [8.0, 0.0]


@whorl.kernel
def broken_off(out, n, stop):
    j = 0.5
    for i in whorl.static(range(3)):
        if n <= i:
            j = 10.0 + i
            break
        j += 1.0
    else:
        j = 99.0
    with whorl.checkpoint(FIRST, yield_on=stop):
        out[0] = 1.0
    out[1] = j


@whorl.kernel
def left_out(out, n, stop):
    v = whorl.vec(0.0, 1.0)
    for i in whorl.static(range(2)):
        if n == i:
            continue
        v[i] += 10.0
    with whorl.checkpoint(FIRST, yield_on=stop):
        out[0] = v[0]
    out[1] = v[1]


@whorl.kernel
def a_label_a_round(out, n, stop):
    j = 1.0
    for i in whorl.static(range(2)):
        if n == i:
            j = j * 8
        with whorl.checkpoint(i, yield_on=stop):
            out[i] += j
        j += 1.0


def stored(out, n):
    out[0] += 100.0
    return 2.0 * n


@whorl.kernel
def after_a_store(out, n, stop):
    j = stored(out, n)
    with whorl.checkpoint(FIRST, yield_on=stop):
        out[1] = j


@pytest.mark.parametrize("n", range(4))
@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (broken_off, [[1, 10], [1, 11], [1, 12], [1, 99]]),
        (left_out, [[0, 11], [10, 1], [10, 11], [10, 11]]),
        (a_label_a_round, [[16, 9], [2, 16], [2, 2], [2, 2]]),
        (after_a_store, [[100, 0], [100, 2], [100, 4], [100, 6]]),
    ],
)
def test_what_loops_that_are_written_out_and_calls_set_is_worked_out_again(
    kernel: Any, expected: list[list[float]], n: int
) -> None:
    for launch, resume in (
        (kernel, kernel.resume),
        (kernel.interpret, kernel.interpret_resumed),
    ):
        out, stop = np.zeros(2), flag(1)
        status = launch(out, n, stop)
        stop[()] = 0
        assert resume(out, n, stop, from_checkpoint=status.checkpoint) == GraphStatus(False)
        assert out.tolist() == expected[n]


LARGE = "\n    ".join(f"note(log, {i})" for i in range(70))


def test_a_large_function_with_a_checkpoint_is_resumed_too(tmp_path: Any) -> None:
    path = tmp_path / "large_function.py"
    path.write_text(
        "import whorl\n"
        "def note(log, step):\n    log.seen[log.count[()]] = step\n    log.count[()] += 1\n"
        f"def large(log):\n    note(log, 1)\n    with whorl.checkpoint(3, yield_on=log.stop):\n"
        f"        note(log, 2)\n    {LARGE}\n"
        "@whorl.kernel\ndef start(log):\n    note(log, 0)\n    large(log)\n    note(log, 100)\n"
    )
    spec = whorl_module(path)
    log = Log(stop=flag(1))
    run(spec.start, log, go_on)
    assert log.steps == [0, 1, 2, 2, *range(70), 100]


def whorl_module(path: Any) -> Any:
    import importlib.util

    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


# -- labels -----------------------------------------------------------------------------


@whorl.kernel
def labelled(log):
    with whorl.checkpoint(Outer.Inner.Deep.B, yield_on=log.stop):
        note(log, 1)
    stage = Stage.SAVE
    with whorl.checkpoint(stage, yield_on=log.stop):
        note(log, 2)
    with whorl.checkpoint(label=-4, yield_on=log.stop):
        note(log, 3)
    with whorl.checkpoint(FIRST, yield_on=log.stop):
        note(log, 4)


def test_labels_come_back_as_the_objects_of_the_source() -> None:
    log = Log(stop=flag(1))
    status = labelled(log)
    assert status.checkpoint is Outer.Inner.Deep.B
    with pytest.raises(whorl.UnknownCheckpoint) as caught:
        labelled.resume(log, from_checkpoint=77)
    assert caught.value.known == (Outer.Inner.Deep.B, Stage.SAVE, -4, FIRST)
    assert "It has Outer.Inner.Deep.B, Stage.SAVE, -4, 10." in str(caught.value)
    known: Any = caught.value.known
    for label in known:
        found = labelled.resume(log, from_checkpoint=label).checkpoint
        assert found is label or type(label) is int
        assert labelled.interpret_resumed(log, from_checkpoint=label).checkpoint == label


def by_parameter(log, label, stop):
    with whorl.checkpoint(label, yield_on=stop):
        note(log, label)


@whorl.kernel
def unrolled(log, more: whorl.static):
    by_parameter(log, Stage.LOAD, log.stop)
    for stage in whorl.static((Stage.SIM, Stage.SAVE)):
        by_parameter(log, stage, log.stop)
    by_parameter(log, more, log.stop)


def test_labels_go_through_parameters_and_loops_that_are_written_out() -> None:
    log = Log(stop=flag(1))
    label: Any = unrolled(log, 9).checkpoint
    seen = [label]
    for following in (Stage.SIM, Stage.SAVE, 9):
        log.stop[()] = 0
        assert not unrolled.resume(log, 9, from_checkpoint=label).yielded
        log.stop[()] = 1
        assert unrolled.resume(log, 9, from_checkpoint=following).checkpoint is following
        label = following
    assert seen == [Stage.LOAD]


def test_an_int_of_the_same_value_is_the_label_and_a_member_of_another_enum_is_not() -> None:
    class Other(IntEnum):
        X = 1

    log = Log()
    assert stages.resume(log, from_checkpoint=1) == GraphStatus(False)
    wrong: Any
    for wrong in (Other.X, True, 1.0, "SIM", None, np.float64(1)):
        for resume in (stages.resume, stages.interpret_resumed):
            with pytest.raises(whorl.UnknownCheckpoint, match=r"Stage\.LOAD, Stage\.SIM"):
                resume(log, from_checkpoint=wrong)
    assert log.steps == [4, 5]


def test_resuming_what_has_not_yielded_says_so() -> None:
    log = Log()
    status = stages(log)
    with pytest.raises(whorl.UnknownCheckpoint, match="has not yielded"):
        stages.resume(log, from_checkpoint=status.checkpoint)


def test_resuming_a_kernel_without_checkpoints_says_so() -> None:
    for resume in (counting.resume, counting.interpret_resumed):
        with pytest.raises(whorl.NoCheckpoints, match="counting has no checkpoints"):
            resume(Log(), from_checkpoint=1)
    with pytest.raises(whorl.NoCheckpoints, match="by_self has no checkpoints"):
        Nested.by_self.resume(Nested(), from_checkpoint=1)


def test_resuming_from_a_whole_status_says_what_to_give() -> None:
    kernel: Any = stages
    for resume in (kernel.resume, kernel.interpret_resumed):
        with pytest.raises(whorl.UnknownCheckpoint, match=r"from the \.checkpoint of a status"):
            resume(Log(), from_checkpoint=GraphStatus(True, Stage.SIM))


def test_resuming_needs_a_label() -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match=r"stages\.resume\(\) .*from_checkpoint"):
            stages.resume(Log())
        stages.resume(Log(), from_checkpoint=Stage.SIM)


def test_a_bound_resume_needs_a_label() -> None:
    with pytest.raises(TypeError, match="from_checkpoint"):
        Solver().step.resume()


# -- methods ----------------------------------------------------------------------------


class Solver:
    def __init__(self, size: int = 2) -> None:
        self.x, self.need = np.zeros(size), np.array(5)
        self.full, self.left = flag(), flag(2)

    @whorl.kernel
    def step(self, add: float = 1.0):
        """One step."""
        while do_while(self.left):
            with whorl.checkpoint(Stage.SIM, yield_on=self.full):
                if self.x.size < self.need[()]:
                    self.full[()] = 1
                else:
                    for i in range(self.x.size):
                        self.x[i] += add
            self.left[()] -= 1

    @whorl.kernel
    def through(self):
        self.step(2.0)


def test_a_method_is_resumed_on_its_object() -> None:
    solver, other = Solver(), Solver(9)
    status = solver.step()
    assert status == GraphStatus(True, Stage.SIM)
    while status.yielded:
        solver.x = np.zeros(2 * solver.x.size)
        solver.full[()] = 0
        status = solver.step.resume(from_checkpoint=status.checkpoint)
    assert solver.x.tolist() == [2.0] * 8
    assert other.x.sum() == 0
    assert other.step.resume(3.0, from_checkpoint=Stage.SIM) == GraphStatus(False)
    assert other.x.tolist() == [6.0] * 9
    assert len(Solver.step.specializations()) == 1


def test_a_bound_kernel_is_like_a_bound_method() -> None:
    solver = Solver(9)
    bound = solver.step
    assert bound.__self__ is solver
    assert bound.__func__ is Solver.step
    assert bound == solver.step
    assert hash(bound) == hash(solver.step)
    assert bound != Solver().step
    assert (bound.__name__, bound.__doc__) == ("step", "One step.")
    assert str(inspect.signature(bound)) == "(add: 'float' = 1.0)"
    assert bound(add=2.0) == GraphStatus(False)
    assert solver.x.tolist() == [4.0] * 9
    assert bound.stats() == Solver.step.stats()
    assert "step" in repr(bound)
    assert not hasattr(bound, "nothing")


def test_a_kernel_calls_another_one_with_checkpoints() -> None:
    solver = Solver()
    status = solver.through()
    assert status == GraphStatus(True, Stage.SIM)
    solver.x, solver.full = np.zeros(5), flag()
    assert not solver.through.resume(from_checkpoint=status.checkpoint).yielded
    assert solver.x.tolist() == [4.0] * 5


# -- statuses ---------------------------------------------------------------------------


def test_a_status_is_a_frozen_value_that_can_be_pickled() -> None:
    for label in (None, 3, Stage.SIM, Outer.Inner.Deep.A):
        status = GraphStatus(True, label)
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(status, protocol))
            assert again == status
            assert again.checkpoint is label or type(label) is int
        assert copy.deepcopy(status) == status
        assert hash(status) == hash(GraphStatus(True, label))
    with pytest.raises(AttributeError):
        status.yielded = False  # type: ignore[misc] # what is tested


def test_under_the_interpreter_setting_everything_is_interpreted() -> None:
    log = Log(stop=flag(1))
    before = whorl.configure()
    try:
        whorl.configure(interpret=True)
        with whorl.testing.forbid_compile():
            status = stages(log)
            log.stop[()] = 0
            stages.resume(log, from_checkpoint=status.checkpoint)
    finally:
        whorl.settings.restore(before)
    assert log.steps == [1, 2, 3, 4, 4, 5]


def test_outside_of_a_kernel_the_names_say_where_they_belong() -> None:
    for name in (do_while, whorl.graph.parallel, whorl.graph.parallel_context):
        with pytest.raises(RuntimeError, match=r"of a kernel"):
            name(*(flag(),) * (name is do_while))
    with pytest.raises(RuntimeError, match=r"whorl.checkpoint is for the `with` of a kernel"):
        whorl.checkpoint(1)


def test_threads_resume_one_kernel_at_once() -> None:
    logs = [Log(stop=flag(1)) for _ in range(8)]

    def work(log: Log) -> None:
        for _ in range(20):
            log.count[()], log.stop[()] = 0, 1
            status = stages(log)
            log.stop[()] = 0
            stages.resume(log, from_checkpoint=status.checkpoint)

    threads = [threading.Thread(target=work, args=(log,)) for log in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [log.steps for log in logs] == [[1, 2, 3, 4, 4, 5]] * 8


def test_a_debug_kernel_fails_in_a_checkpoint_as_anywhere() -> None:
    with pytest.raises(IndexError):
        checked(np.zeros(3), flag(), 7)
    x = np.zeros(3)
    assert checked(x, flag(1), 1) == GraphStatus(True, 1)
    with pytest.raises(IndexError):
        checked.resume(x, flag(0), 9, from_checkpoint=1)


@whorl.kernel(debug=True)
def checked(x, stop, i):
    with whorl.checkpoint(1, yield_on=stop):
        x[i] = 1.0


# -- sections ---------------------------------------------------------------------------


@whorl.kernel
def sections(x, y, z, left, stop):
    n = x.size
    with whorl.checkpoint(1, yield_on=stop):
        with whorl.graph.parallel_context():
            with whorl.graph.parallel():
                s = 0.0
                for i in whorl.prange(n):
                    x[i] = i
                    s += i
                y[0] = s
            with whorl.graph.parallel():
                s = 1.0
                while do_while(left):
                    z[left[()]] = s + left[()]
                    left[()] -= 1
    for i in range(n):
        x[i] += z[1]


def test_sections_give_the_same_results_on_any_number_of_threads() -> None:
    results = []
    for threads in (1, 2, 0):
        x, y, z, left = np.zeros(100), np.zeros(1), np.zeros(4), flag(3)
        if threads:
            whorl.configure(threads=threads)
        launch = sections if threads else sections.interpret
        assert launch(x, y, z, left, flag()) == GraphStatus(False)
        results.append((x.tolist(), y.tolist(), z.tolist(), int(left)))
    assert results[0] == results[1] == results[2]
    assert results[0][1:] == ([4950.0], [0.0, 2.0, 3.0, 4.0], 0)


@whorl.kernel
def one_section(x):
    with whorl.graph.parallel_context():
        with whorl.graph.parallel():
            for i in whorl.prange(x.size):
                x[i] = 1.0


@whorl.kernel
def in_one(x, y, stop):
    with whorl.checkpoint(4, yield_on=stop), whorl.graph.parallel_context():
        with whorl.graph.parallel():
            x[0] += 1
        with whorl.graph.parallel():
            y[0] += 2
    with whorl.graph.parallel_context(), whorl.graph.parallel():
        x[0] += 10


def test_several_managers_in_one_with_are_one_in_the_other() -> None:
    for launch, resume in ((in_one, in_one.resume), (in_one.interpret, in_one.interpret_resumed)):
        x, y, stop = np.zeros(1), np.zeros(1), flag(1)
        assert launch(x, y, stop) == GraphStatus(True, 4)
        stop[()] = 0
        assert resume(x, y, stop, from_checkpoint=4) == GraphStatus(False)
        assert (x[0], y[0]) == (12, 4)


def test_a_single_section_keeps_its_parallel_loops() -> None:
    x = np.zeros(50)
    one_section(x)
    assert x.sum() == 50
    assert "parallel i in range" in one_section.inspect()


def test_sections_wait_for_each_other_at_the_same_time() -> None:
    """Each waits for what the other one writes: that ends only if both run."""
    if whorl.launch.runtime.find_runtime() is None:
        pytest.skip("no OpenMP runtime")
    whorl.configure(threads=2)
    a, b = flag(), flag()
    meeting(a, b)
    assert (a, b) == (1, 1)


@whorl.kernel(nogil=True)
def meeting(a, b):
    with whorl.graph.parallel_context():
        with whorl.graph.parallel():
            whorl.atomic_add(a, (), 1)
            while whorl.atomic_add(b, (), 0) == 0:
                pass
        with whorl.graph.parallel():
            whorl.atomic_add(b, (), 1)
            while whorl.atomic_add(a, (), 0) == 0:
                pass
