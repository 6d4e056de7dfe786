"""A kernel compiles exactly when something it read is different."""

from __future__ import annotations

import copy
import functools
import gc
import os
import pickle
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import numpy as np
import pytest

import whorl
from tests.jit.compilers import Looking, Make, Thing, compiles
from whorl.fingerprint.digest import StableDigest
from whorl.jit.compiler import Target
from whorl.jit.kernel import Kernel
from whorl.reads import AbsentRead, Inputs
from whorl.store import Cache, MemoryStore
from whorl.store.cache import StoredSources


def again(kernel: Kernel) -> Kernel:
    """The same kernel as a new process would have it: with an empty memory."""
    compiler: Any = copy.copy(kernel.compiler)
    compiler.compiles = 0
    return Kernel(kernel.function, compiler, kernel.choices, kernel.own_cache)


def stored(kernel: Kernel) -> list[StableDigest]:
    """The keys of a kernel's artifacts in the store."""
    cache = kernel.lookup.cache
    start = kernel.lookup.start(cache, StoredSources(cache.store))
    return list(cache.store.iterate(start.program.digest))


# -- what is read, and what is not ------------------------------------------------------


def test_a_value_that_was_used_as_a_type_may_change(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").type())
    assert [kernel(value) for value in (1, 2, 3)] == [("int",)] * 3
    assert kernel(1.5) == ("float",)
    assert kernel(True) == ("bool",)
    assert compiles(kernel) == 3


def test_a_value_that_was_used_as_a_constant_may_not(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").value())
    assert [kernel(value) for value in (1, 2, 1, 2)] == [1, 2, 1, 2]
    assert compiles(kernel) == 2
    warm = again(kernel)
    assert (warm(2), warm(1), compiles(warm)) == (2, 1, 0)


CONSTANTS: list[Any] = [
    1, True, 1.0, 0, False, 0.0, -0.0, float("nan"), "1", b"1", None, 1 + 0j, np.int64(1),
    np.float32(1), (1,), (True,), (1.0,), [1], {"a": 1}, {"a": True}, (0.0,), (-0.0,), 2**70,
]  # fmt: skip


def test_constants_that_compare_equal_never_share_a_specialization(make: Make) -> None:
    kernel = make(lambda inputs: repr(inputs.arg("x").value()))
    for _ in range(3):
        for value in CONSTANTS:
            assert kernel(value) == repr(value)
    assert compiles(kernel) == len(CONSTANTS)
    warm = again(kernel)
    for value in CONSTANTS:
        assert warm(value) == repr(value)
    assert compiles(warm) == 0


def test_an_unread_member_neither_changes_the_key_nor_fails(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").attr("tile").value())
    cyclic = Thing(tile=64)
    cyclic.me = cyclic
    for thing in (
        Thing(tile=64),
        Thing(tile=64, uid=uuid4()),
        Thing(tile=64, file=sys.stdout, lock=threading.Lock()),
        cyclic,
    ):
        assert kernel(thing) == 64
    assert compiles(kernel) == 1


def test_an_unread_member_may_be_deleted(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").attr("a").value())
    thing = Thing(a=1, b=2)
    kernel(thing)
    del thing.b
    kernel(thing)
    assert compiles(kernel) == 1


def test_arrays_are_known_by_dtype_dimensions_layout_and_access(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").array())
    base = np.zeros((4, 4))
    frozen = np.zeros((4, 4))
    frozen.flags.writeable = False
    for same in (base, np.ones((7, 3)), np.zeros((0, 2))):
        kernel(same)
    assert compiles(kernel) == 1
    others = [base[0], base.T[:, :2], base.astype("f4"), frozen, base.astype(">f8"), base[::2, ::2]]
    for i, other in enumerate(others, 2):
        kernel(other)
        assert compiles(kernel) == i
    warm = again(kernel)
    for other in others:
        warm(other)
    assert compiles(warm) == 0


def test_an_array_changed_in_place_is_looked_at_anew(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").attr("a").array())
    thing = Thing(a=np.zeros(4))
    assert kernel(thing)[1:3] == ("<f8", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer NumPys do not like it, and still do it
        thing.a.shape = (2, 2)
    assert kernel(thing)[1:3] == ("<f8", 2)
    thing.a = thing.a.astype("f4")
    assert kernel(thing)[1:3] == ("<f4", 2)
    thing.a = np.zeros(3, "i8")
    assert kernel(thing)[1:3] == ("<i8", 1)


def test_a_value_without_a_signature_is_an_error_with_its_path(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").attr("uid").array())
    with pytest.raises(whorl.UnsupportedRead, match=r"arg:x\.uid is a 'object'") as caught:
        kernel(Thing(uid=object()))
    assert caught.value.path == "arg:x.uid"
    assert "test_kernel.py" in caught.value.line
    assert 'cache="process"' in str(caught.value)


def test_a_value_that_cannot_be_a_constant_is_an_error_with_its_path(make: Make) -> None:
    kernel = make(lambda inputs: str(inputs.arg("x").attr("lock").value()))
    with pytest.raises(whorl.UnsupportedRead, match=r"arg:x\.lock"):
        kernel(Thing(lock=threading.Lock()))


def test_by_option_what_cannot_be_recorded_is_known_by_identity_in_this_process(
    make: Make,
) -> None:
    kernel = make(lambda inputs: id(inputs.arg("x").value()), cache="process")
    one, other = threading.Lock(), threading.Lock()
    assert [kernel(lock) == id(lock) for lock in (one, other, one, other)] == [True] * 4
    assert compiles(kernel) == 2
    assert stored(kernel) == []


def test_by_option_what_cannot_be_recorded_is_compiled_for_every_call_with_a_warning(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    kernel = make(lambda inputs: id(inputs.arg("x").value()), cache="call")
    lock = threading.Lock()
    assert [kernel(lock) == id(lock) for _ in range(3)] == [True] * 3
    assert compiles(kernel) == 3
    assert len(caplog.records) == 3


@dataclass
class Known:
    """Known by identity alone where it is used as a constant."""

    lock: Annotated[Any, whorl.by_identity]


def test_what_is_known_by_identity_is_kept_in_this_process_only(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").attr("held").value() is not None)
    one, other = Thing(held=Known(threading.Lock())), Thing(held=Known(threading.Lock()))
    for thing in (one, other, one, other):
        assert kernel(thing) is True
    assert compiles(kernel) == 2
    assert stored(kernel) == []
    strict = make(lambda inputs: str(inputs.arg("x").attr("held").value()), strict=True)
    with pytest.raises(whorl.UnsupportedRead, match="identity"):
        strict(one)


# -- code, globals, cells, defaults -----------------------------------------------------

SCALE = 2.0


def doubled(x: float) -> float:
    return 2 * x


def tripled(x: float) -> float:
    return 3 * x


FORCE = doubled


def reads_scale(x: Any = None) -> Any:
    return SCALE * FORCE(x)


def look_at_globals(inputs: Inputs) -> Any:
    code = inputs.function()
    force = code.glob("FORCE").code()
    return (code.glob("SCALE").value(), force.digest)


def test_a_global_that_was_read_is_read_on_every_call(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(look_at_globals, reads_scale)
    assert kernel(1)[0] == 2.0
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    assert kernel(1)[0] == 3.0
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 2.0)
    assert kernel(1)[0] == 2.0
    assert compiles(kernel) == 2


def test_the_code_of_a_global_function_is_a_read(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(look_at_globals, reads_scale)
    before = kernel(1)
    monkeypatch.setattr(sys.modules[__name__], "FORCE", tripled)
    assert kernel(1) != before
    monkeypatch.setattr(sys.modules[__name__], "FORCE", functools.partial(doubled))
    assert kernel(1) == before
    assert compiles(kernel) == 3  # a partial may bring arguments along
    monkeypatch.undo()
    saved = doubled.__code__
    try:
        doubled.__code__ = tripled.__code__
        assert kernel(1) != before
    finally:
        doubled.__code__ = saved
    assert kernel(1) == before
    assert compiles(kernel) == 3


def test_a_global_defined_later_is_noticed_and_a_deleted_one_too(make: Make) -> None:
    def look(inputs: Inputs) -> Any:
        try:
            return inputs.function().glob("COMES_LATER").value()
        except AbsentRead:
            return "absent"

    kernel = make(look)
    scope: dict[str, Any] = kernel.function.__globals__
    assert kernel() == "absent"
    try:
        scope["COMES_LATER"] = 1
        assert kernel() == 1
        scope["COMES_LATER"] = 2
        assert kernel() == 2
    finally:
        del scope["COMES_LATER"]
    assert kernel() == "absent"
    assert compiles(kernel) == 3


def test_a_closed_over_variable_and_a_default_are_reads(make: Make) -> None:
    tile = 64

    def kernel_function(x: Any = None, *, n: int = 3) -> Any:
        return tile

    def look(inputs: Inputs) -> Any:
        code = inputs.function()
        return (code.cell("tile").value(), code.default("n").value(), inputs.arg("n").value())

    kernel = make(look, kernel_function)
    assert kernel() == (64, 3, 3)
    tile = 32
    assert kernel() == (32, 3, 3)
    kernel_function.__kwdefaults__ = {"n": 4}
    assert kernel() == (32, 4, 4)
    assert kernel(n=3) == (32, 4, 3)


def test_methods_are_resolved_as_a_call_would_resolve_them(make: Make) -> None:
    class Base:
        def force(self) -> int:
            return 1

    class Sub(Base):
        def force(self) -> int:
            return 2

    kernel = make(lambda inputs: inputs.arg("x").attr("force").code().digest)
    base, sub = kernel(Base()), kernel(Sub())
    assert base != sub
    for _ in range(3):
        assert (kernel(Base()), kernel(Sub())) == (base, sub)
    assert compiles(kernel) == 2


def test_class_attributes_properties_slots_and_getattr_are_read_as_python_reads_them(
    make: Make,
) -> None:
    class Rigid:
        __slots__ = ("held",)
        gravity = 9.81

        @property
        def twice(self) -> float:
            return 2 * float(self.held)

        def __getattr__(self, name: str) -> str:
            if name == "dynamic":
                return "made up"
            raise AttributeError(name)

    names = ("gravity", "twice", "dynamic", "held")
    kernel = make(lambda inputs: [inputs.arg("x").attr(name).value() for name in names])
    rigid: Any = Rigid()
    rigid.held = 1.0
    assert kernel(rigid) == [9.81, 2.0, "made up", 1.0]
    Rigid.gravity = 1.62
    assert kernel(rigid)[0] == 1.62
    rigid.held = 2.0
    assert kernel(rigid)[1] == 4.0


class Mode(IntEnum):
    FAST = 1
    SLOW = 2


@dataclass
class Config:
    mode: Mode
    shape: tuple[int, ...]


def test_enums_tuples_dataclasses_and_modules_are_constants(make: Make) -> None:
    cfg: Any = types.ModuleType("cfg")
    cfg.TILE = 8

    def look(inputs: Inputs) -> Any:
        x = inputs.arg("x")
        return [
            repr(x.attr("mode").value()),
            x.attr("shape").value(),
            inputs.arg("y").attr("TILE").value(),
        ]

    kernel = make(look)
    assert kernel(Config(Mode.FAST, (1, 2)), cfg) == ["<Mode.FAST: 1>", (1, 2), 8]
    assert kernel(Config(Mode.SLOW, (1, 2)), cfg)[0] == "<Mode.SLOW: 2>"
    cfg.TILE = 16
    assert kernel(Config(Mode.SLOW, (1, 2)), cfg)[2] == 16
    assert compiles(kernel) == 3


@dataclass
class Table:
    rows: dict[str, int]


def test_the_order_of_a_dict_is_a_read_wherever_it_lies(make: Make) -> None:
    kernel = make(lambda inputs: list(inputs.arg("x").value().rows))
    assert kernel(Table({"a": 1, "b": 2})) == ["a", "b"]
    assert kernel(Table({"b": 2, "a": 1})) == ["b", "a"]
    nested = make(lambda inputs: list(inputs.arg("x").value()[0].rows))
    assert nested([Table({"a": 1, "b": 2})]) == ["a", "b"]
    assert nested([Table({"b": 2, "a": 1})]) == ["b", "a"]
    assert compiles(kernel) == compiles(nested) == 2


class Unhashable(type):
    def __eq__(cls, other: object) -> bool:
        return cls is other


class Refusing(type):
    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("classes are not compared")

    def __hash__(cls) -> int:
        raise RuntimeError("nor hashed")


class OfUnhashable(metaclass=Unhashable):
    tile = 8


class OfRefusing(metaclass=Refusing):
    tile = 8


@pytest.mark.parametrize("cls", [OfUnhashable, OfRefusing])
@pytest.mark.parametrize("aspect", ["type", "value"])
def test_classes_whose_metaclass_cannot_be_hashed_are_read_like_others(
    make: Make, cls: Any, aspect: str
) -> None:
    held: list[Any] = [cls, cls(), (cls,), (cls(),), [cls()], {"k": cls}, Thing(c=cls())]
    kernel = make(lambda inputs: getattr(inputs.arg("x"), aspect)() is not None)
    for value in held:
        assert [kernel(value) for _ in range(5)] == [True] * 5
    assert compiles(kernel) == len(held)
    warm = again(kernel)
    assert [warm(value) for value in held] == [True] * len(held)
    assert compiles(warm) == 0


def test_instances_of_a_class_that_cannot_be_hashed_are_told_apart(make: Make) -> None:
    one, other = OfUnhashable(), OfUnhashable()
    vars(other)["n"] = 1
    kernel = make(lambda inputs: len(vars(inputs.arg("x").value())))
    assert [kernel(value) for value in (one, other, one, other)] == [0, 1, 0, 1]


# -- shapes -----------------------------------------------------------------------------


def look_by_flag(inputs: Inputs) -> Any:
    x = inputs.arg("x")
    if x.attr("flag").value():
        return ("a", x.attr("a").value())
    return ("b", x.attr("b").value())


def test_two_specializations_that_read_different_members_keep_apart(make: Make) -> None:
    kernel = make(look_by_flag)
    assert kernel(Thing(flag=True, a=1, b=1)) == ("a", 1)
    assert kernel(Thing(flag=False, a=1, b=1)) == ("b", 1)
    assert kernel(Thing(flag=True, a=1, b=99)) == ("a", 1)
    assert kernel(Thing(flag=False, a=99, b=1)) == ("b", 1)
    assert kernel(Thing(flag=True, a=1)) == ("a", 1)
    assert compiles(kernel) == 2
    assert kernel(Thing(flag=True, a=2)) == ("a", 2)
    warm = again(kernel)
    assert warm(Thing(flag=False, b=1)) == ("b", 1)
    assert warm(Thing(flag=True, a=2, b=object())) == ("a", 2)
    assert compiles(warm) == 0


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_instances_of_different_make_work_in_every_order(
    make: Make, order: tuple[int, ...]
) -> None:
    def look(inputs: Inputs) -> Any:
        x = inputs.arg("x")
        if not x.has("extra"):
            return "none"
        extra = x.attr("extra")
        return extra.type()[0]

    kernel = make(look)
    things = [Thing(), Thing(extra=np.zeros(3)), Thing(extra=3)]
    expected = ["none", "array", "int"]
    for _ in range(2):
        assert [kernel(things[i]) for i in order] == [expected[i] for i in order]
    assert compiles(kernel) == 3


def test_aliasing_is_a_fact_when_it_was_asked_for(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").alias(inputs.arg("y")))
    a, b = np.zeros(4), np.zeros(4)
    assert [kernel(a, b), kernel(a, a), kernel(a[:3], a[1:]), kernel(b, a)] == [
        "distinct", "same", "overlapping", "distinct",
    ]  # fmt: skip
    assert compiles(kernel) == 3


def test_iteration_records_how_many_there_are(make: Make) -> None:
    kernel = make(lambda inputs: [view.value() for view in inputs.arg("x")])
    assert kernel([1, 2]) == [1, 2]
    assert kernel([1, 2, 3]) == [1, 2, 3]
    assert kernel((1, 2)) == [1, 2]
    assert kernel({"a": 1}) == ["a"]
    warm = again(kernel)
    assert warm([1, 2, 3]) == [1, 2, 3]
    assert compiles(warm) == 0


# -- environment, options, target -------------------------------------------------------


def test_a_declared_variable_is_live_and_unset_is_its_default(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WHORL_TEST_OPT", raising=False)
    kernel = make(
        lambda inputs: inputs.env("WHORL_TEST_OPT"), extra={"environment": {"WHORL_TEST_OPT": "2"}}
    )
    assert kernel() == "2"
    monkeypatch.setenv("WHORL_TEST_OPT", "3")
    assert kernel() == "3"
    monkeypatch.setenv("WHORL_TEST_OPT", "2")
    assert kernel() == "2"
    assert compiles(kernel) == 2


def test_a_variable_that_is_not_declared_is_an_error(make: Make) -> None:
    with pytest.raises(KeyError, match="does not declare"):
        make(lambda inputs: inputs.env("HOME"))()


def test_options_give_a_new_kernel_and_leave_the_old_one(make: Make) -> None:
    kernel = make(lambda inputs: inputs.option("opt"), options={"opt": 2})
    faster = kernel.with_options(opt=3)
    assert (kernel(), faster(), kernel()) == (2, 3, 2)
    with pytest.raises(TypeError, match="has no option 'optt'"):
        kernel.with_options(optt=1)


def test_a_new_target_is_honoured_at_once(make: Make) -> None:
    target = [Target("x86", "cpu:0", {"lanes": 4})]
    kernel = make(lambda inputs: inputs.target("lanes"), extra={"target": lambda: target[0]})
    assert kernel() == 4
    target[0] = Target("arm", "cpu:0", {"lanes": 4})
    assert kernel() == 4
    assert compiles(kernel) == 2
    target[0] = Target("x86", "cpu:1", {"lanes": 4})
    assert kernel() == 4
    assert compiles(kernel) == 2
    compiler: Any = kernel.compiler
    assert compiler.loads == ["cpu:0", "cpu:0", "cpu:1"]
    target[0] = Target("x86", "cpu:1", {"lanes": 8})
    assert kernel() == 8


def test_another_version_or_toolchain_of_the_compiler_is_another_program(make: Make) -> None:
    kernel = make(lambda inputs: 1)
    kernel()
    for change in ({"version": "2"}, {"toolchain": "cc 14"}):
        other = again(kernel)
        vars(other.compiler).update(change)
        other()
        assert compiles(other) == 1


# -- drift ------------------------------------------------------------------------------


def test_on_drift_raise_names_what_has_changed_and_recovers(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(look_at_globals, reads_scale, on_drift="raise")
    kernel(1)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    with pytest.raises(whorl.Drifted) as caught:
        kernel(1)
    assert caught.value.changes == (("global:tests.jit.test_kernel.SCALE", "2.0", "3.0"),)
    monkeypatch.undo()
    assert kernel(1)[0] == 2.0
    assert kernel("another argument that was not read")[0] == 2.0
    assert compiles(kernel) == 1


def test_on_drift_raise_does_not_mind_other_arguments(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").value(), on_drift="raise")
    assert (kernel(1), kernel(2)) == (1, 2)


def test_on_drift_ignore_goes_on_with_what_there_is(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(look_at_globals, reads_scale, on_drift="ignore")
    kernel(1)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    assert kernel(1)[0] == 2.0
    assert compiles(kernel) == 1


# -- threads, forks, lives --------------------------------------------------------------


def test_threads_that_call_at_once_compile_once(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").value())
    results: list[Any] = []

    def work() -> None:
        results.extend(kernel(i % 3) for i in range(30))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted([i % 3 for i in range(30)] * 8)
    assert compiles(kernel) == 3


def test_a_fork_after_use_works(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").value())
    kernel(1)
    child = os.fork()
    if not child:
        os._exit(0 if (kernel(1), kernel(2)) == (1, 2) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert kernel(2) == 2
    assert compiles(kernel) == 1


def test_a_kernel_is_a_method_and_a_copy_of_its_instance_is_another(make: Make) -> None:
    def step(self: Any, dt: float) -> None: ...

    class Solver:
        def __init__(self, n: int) -> None:
            self.n = n

    cls: Any = Solver
    cls.step = make(lambda inputs: inputs.arg("self").attr("n").value(), step)
    solver: Any = Solver(3)
    other = copy.copy(solver)
    other.n = 4
    assert (solver.step(0.1), other.step(dt=0.1), solver.step(0.2)) == (3, 4, 3)
    assert cls.step(solver, 0.1) == 3


def test_a_collected_argument_leaks_nothing(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").attr("n").value())
    thing = Thing(n=1, data=np.zeros(10))
    gone = weakref.ref(thing)
    kernel(thing)
    kernel(thing)
    del thing
    gc.collect()
    assert gone() is None


def test_a_function_made_by_exec_works_and_is_found_by_code(make: Make, store: Cache) -> None:
    def made(body: str) -> Kernel:
        scope: dict[str, Any] = {"__name__": "made_up", "K": 5}
        exec(f"def f(x):\n    {body}\n", scope)
        return whorl.jit(Looking(lambda i: i.function().glob("K").value()), store=store)(scope["f"])

    first, same, other = made("return x"), made("return x"), made("return x + 1")
    assert (first(1), same(1), other(1)) == (5, 5, 5)
    assert [compiles(kernel) for kernel in (first, same, other)] == [1, 0, 1]


def test_the_functions_own_code_may_be_exchanged(make: Make) -> None:
    def one(x: Any = None) -> int:
        return 1

    def other(x: Any = None) -> int:
        return 2

    kernel = make(lambda inputs: inputs.function().digest, one)
    before = kernel()
    one.__code__ = other.__code__
    assert kernel() != before


# -- what an example compiler found -----------------------------------------------------


def test_functions_of_other_names_are_other_programs_even_without_source(store: Cache) -> None:
    class Named(Looking):
        def compile(self, program: Any, inputs: Inputs) -> whorl.Artifact:
            return whorl.Artifact({}, {"made": program.function.__name__})

    def made(name: str) -> Kernel:
        scope: dict[str, Any] = {"__name__": "made"}
        exec(f"def {name}(v): pass", scope)
        return whorl.jit(Named(lambda inputs: None), store=store)(scope[name])

    assert (made("one")(1), made("two")(1)) == ("one", "two")


def test_a_toolchain_that_depends_on_the_environment_is_asked_again(
    store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = {"gcc": "gcc 12", "clang": "clang 17"}

    def kernel() -> Kernel:
        compiler = Looking(
            lambda inputs: installed[str(inputs.env("PROBE_CC"))],
            environment={"PROBE_CC": "gcc"},
            toolchain=lambda: installed[os.environ.get("PROBE_CC", "gcc")],
        )

        def function() -> None: ...

        return whorl.jit(compiler, store=store)(function)

    for version in ("clang 17", "clang 18"):
        installed["clang"] = version
        fresh = kernel()
        monkeypatch.delenv("PROBE_CC", raising=False)
        assert fresh() == "gcc 12"
        monkeypatch.setenv("PROBE_CC", "clang")
        assert fresh() == version


def test_what_changes_while_an_artifact_is_stored_is_noticed_by_the_next_call(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from whorl.calls.events import Event, Happened, listeners

    for moment in (Happened.STORED, Happened.FOUND, Happened.COMPILED):
        monkeypatch.setattr(sys.modules[__name__], "SCALE", 1.0)
        kernel = again(make(lambda inputs: inputs.function().glob("SCALE").value(), reads_scale))

        def other_thread(event: Event, moment: Happened = moment) -> None:
            if event.what is moment:
                monkeypatch.setattr(sys.modules[__name__], "SCALE", 2.0)

        listeners.append(other_thread)
        try:
            kernel(1)
        finally:
            listeners.remove(other_thread)
        monkeypatch.setattr(sys.modules[__name__], "SCALE", 2.0)
        assert (kernel(1), kernel(1)) == (2.0, 2.0)


def test_options_are_taken_as_they_are_when_the_kernel_is_made(make: Make) -> None:
    held = ["a"]
    kernel = make(lambda inputs: list(inputs.option("h")), options={"h": held})
    kernel()
    held.append("b")
    assert kernel() == again(kernel)() == ["a"]
    assert kernel.with_options(h=held)() == ["a", "b"]


RECURSIVE: Any = None


def fibonacci(x: Any = None) -> Any:
    return RECURSIVE(x)


class Wide:
    """Reads everything, and remembers nothing."""

    name, version, toolchain = "wide", "1", "none"

    def compile(self, program: Any, inputs: Inputs) -> whorl.Artifact:
        return whorl.Artifact({}, {"made": inputs.everything()["x"]})

    def load(self, artifact: whorl.Artifact, device: str) -> Callable[..., Any]:
        return lambda *arguments: artifact.metadata["made"]


def test_a_function_that_names_a_kernel_has_a_wide_key(
    store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = whorl.jit(Wide(), store=store)(fibonacci)
    monkeypatch.setattr(sys.modules[__name__], "RECURSIVE", kernel)
    assert [kernel(1), kernel(1), kernel(2)] == [1, 1, 2]
    assert kernel.stats()["compiled"] == 2
    assert whorl.fingerprint(kernel) == whorl.fingerprint(whorl.jit(Wide())(fibonacci))


# -- misuse -----------------------------------------------------------------------------


def test_a_call_with_wrong_arguments_is_a_type_error_like_any_other(make: Make) -> None:
    kernel = make(lambda inputs: 1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        kernel(z=1)


def test_what_is_no_compiler_is_refused() -> None:
    with pytest.raises(TypeError, match="'name' is not a str"):
        whorl.jit(object())  # type: ignore[arg-type]  # what is tested
    with pytest.raises(TypeError, match="functions"):
        whorl.jit(Looking(lambda inputs: 1))(print)
    with pytest.raises(ValueError, match="on_drift"):
        whorl.jit(Looking(lambda inputs: 1), on_drift="explode")  # type: ignore[arg-type]  # as above


def test_what_is_neither_a_path_nor_a_store_nor_a_cache_is_refused() -> None:
    with pytest.raises(TypeError, match="a store has the methods get, put, remove, iterate; int"):
        whorl.jit(Looking(lambda inputs: 1), store=3)  # type: ignore[arg-type]  # what is tested


def test_a_store_need_not_be_wrapped_in_a_cache(make: Make, tmp_path: Path) -> None:
    for store in (MemoryStore(), tmp_path / "own"):
        for outcome in ("compiled", "found"):
            kernel = make(lambda inputs: inputs.arg("x").value(), store=store)
            assert (kernel(1), kernel.stats()[outcome]) == (1, 1)


def test_an_option_that_cannot_be_copied_is_named() -> None:
    with pytest.raises(TypeError, match="option 'lock' cannot be copied"):
        whorl.jit(Looking(lambda inputs: 1), options={"lock": threading.Lock()})


def test_a_compiler_that_returns_something_else_is_named(make: Make) -> None:
    kernel = make(lambda inputs: 1)
    compiler: Any = kernel.compiler
    compiler.compile = lambda program, inputs: None
    with pytest.raises(whorl.CompilerFailed, match=r"looking\.compile returned None"):
        kernel()


def test_a_compile_that_raises_leaves_nothing_behind(make: Make) -> None:
    tries: Iterator[int] = iter(range(5))

    def look(inputs: Inputs) -> Any:
        if next(tries) == 0:
            raise RuntimeError("not now")
        return inputs.arg("x").value()

    kernel = make(look)
    with pytest.raises(RuntimeError, match="not now"):
        kernel(1)
    assert kernel(1) == 1


def test_what_changes_during_its_own_compile_is_not_kept(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    thing = Thing(n=1)

    def look(inputs: Inputs) -> Any:
        value = inputs.arg("x").attr("n").value()
        thing.n = value + 1
        return value

    kernel = make(look)
    assert kernel(thing) == 1
    assert "changed while it was compiled" in caplog.text
    assert kernel(Thing(n=1)) == 1
    assert compiles(kernel) == 2


def test_without_any_store_it_works_from_memory(make: Make) -> None:
    from whorl.store import NullStore

    kernel = make(lambda inputs: inputs.arg("x").value(), store=Cache(NullStore()))
    assert [kernel(value) for value in (1, 2, 1)] == [1, 2, 1]
    assert compiles(kernel) == 2


def test_a_kernel_is_pickled_by_name() -> None:
    loaded = pickle.loads(pickle.dumps(at_the_top))
    assert loaded is at_the_top


@whorl.jit(Looking(lambda inputs: 1), store=Cache(MemoryStore()))
def at_the_top() -> None: ...


def test_a_function_with_builtins_of_its_own_is_refused() -> None:
    scope: dict[str, Any] = {"__builtins__": {"abs": lambda x: 7}}
    exec("def own(x): return abs(x)", scope)
    with pytest.raises(TypeError, match="own has builtins of its own"):
        whorl.kernel(scope["own"])
