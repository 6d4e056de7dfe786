"""What was wrong once: each as the smallest program that showed it."""

from __future__ import annotations

import contextlib
import enum
import functools
import gc
import inspect
import linecache
import os
import signal
import subprocess
import sys
import textwrap
import threading
import types
import weakref
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from tests.jit.compilers import Look, Looking, Make, Thing, compiles
from whorl import testing
from whorl.jit.compiler import Program
from whorl.jit.events import Event, Happened
from whorl.jit.kernel import Kernel
from whorl.jit.listening import listeners
from whorl.jit.target import Target
from whorl.reads import AbsentRead, Inputs, Recorder, World
from whorl.reads.evaluate import Evaluator
from whorl.store import Cache, MemoryStore, NullStore


def static(expression: str) -> Look:
    """A compiler that works out one expression over its arguments."""

    def look(inputs: Inputs) -> Any:
        views = {name: inputs.arg(name) for name in inputs.names}
        return Evaluator(inputs.function(), views).value(expression)

    return look


def module_of(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    module: Any = types.ModuleType(name)
    exec(textwrap.dedent(text), module.__dict__)
    monkeypatch.setitem(sys.modules, name, module)
    return module


def run(directory: Path, *command: str, **variables: str) -> str:
    """A real process, with its own memory and a cache beside its files."""
    root = Path(__file__).parents[2]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{directory}{os.pathsep}{root}",
        "WHORL_CACHE_DIR": str(directory.parent / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
        **variables,
    }
    done = subprocess.run(
        [sys.executable, *command],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# -- stale: globals of two modules ------------------------------------------------------


def test_two_functions_of_the_same_code_read_the_globals_of_their_own_modules(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "def step(x=None):\n    return SCALE\n"
    one = module_of("found_one", f"SCALE = 2\n{text}", monkeypatch)
    other = module_of("found_other", f"SCALE = 3\n{text}", monkeypatch)
    look = lambda inputs: inputs.function().glob("SCALE").value()
    assert make(look, one.step)() == 2
    assert make(look, other.step)() == 3


def test_a_function_exchanged_for_one_of_the_same_code_reads_the_globals_of_its_own_module(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "def force(x):\n    return x * K\n"
    one = module_of("found_one", f"K = 2\n{text}", monkeypatch)
    other = module_of("found_other", f"K = 3\n{text}", monkeypatch)
    kernel = make(lambda inputs: inputs.arg("x").code().glob("K").value())
    assert kernel(one.force) == 2
    assert kernel(other.force) == 3


# -- stale: what walking tells ----------------------------------------------------------


def test_that_a_member_was_there_is_a_read(make: Make) -> None:
    def look(inputs: Inputs) -> str:
        try:
            inputs.arg("x").attr("extra")
        except AbsentRead:
            return "without"
        return "with"

    kernel = make(look)
    assert kernel(Thing(extra=1)) == "with"
    assert kernel(Thing()) == "without"


def test_what_lacks_a_part_is_told_from_what_lacks_the_whole(make: Make) -> None:
    def look(inputs: Inputs) -> str:
        try:
            extra = inputs.arg("x").attr("extra")
        except AbsentRead:
            return "no extra"
        return "both" if extra.has("part") else "extra without part"

    kernel = make(look)
    assert kernel(Thing(extra=Thing())) == "extra without part"
    assert kernel(Thing()) == "no extra"


def test_a_tuple_that_says_absent_is_told_from_what_is_absent(make: Make) -> None:
    def look(inputs: Inputs) -> Any:
        try:
            return inputs.arg("x").attr("a").value()
        except AbsentRead:
            return "nothing"

    kernel = make(look)
    assert kernel(Thing(a=("absent",))) == ("absent",)
    assert kernel(Thing()) == "nothing"


# -- stale: the evaluator ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "before", "after"),
    [
        ("x.upper()", "slow", "fast"),
        ("x.get('k')", {"k": 1}, {"k": 2}),
        ("[k for k in x.items()]", {"k": 1}, {"k": 2}),
        ("x.count(1)", [1, 1], [1]),
        ("x.bit_length()", 3, 300),
    ],
)
def test_a_method_of_a_builtin_type_reads_the_value_it_is_called_on(
    make: Make, expression: str, before: Any, after: Any
) -> None:
    kernel = make(static(expression))
    for value in (before, after):
        assert kernel(value) == eval(expression, {"x": value})


def scaled(n: int, k: int = 1) -> int:
    return 10 * n + k


CALLED: Any = scaled


def test_a_function_replaced_by_a_partial_of_itself_is_noticed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(static("CALLED(x)"), in_this_module)
    assert kernel(2) == 21
    monkeypatch.setitem(globals(), "CALLED", functools.partial(scaled, 7))
    assert kernel(2) == CALLED(2) == 72


def in_this_module(x: Any = None, y: Any = None) -> None: ...


class Solver:
    def __init__(self, n: int) -> None:
        self.n = n

    def scaled(self, k: int, m: int = 0) -> int:
        return self.n * k + m


def test_a_bound_method_of_another_object_reads_that_object(make: Make) -> None:
    kernel = make(static("x.force(2)"))
    other = Solver(5)
    holder = Thing(n=5, force=other.scaled)
    assert kernel(holder) == 10
    other.n = 6
    assert kernel(holder) == holder.force(2) == 12


def test_a_bound_method_that_is_an_argument_is_kept_like_any_other(make: Make) -> None:
    kernel = make(static("x(2)"))
    solver = Solver(5)
    assert [kernel(solver.scaled) for _ in range(3)] == [10, 10, 10]
    assert compiles(kernel) == 1


def test_a_partial_of_a_bound_method_keeps_its_self(make: Make) -> None:
    class Adding:
        def add(self, a: int, b: int = 0) -> int:
            return 10 * a + b

    bound = functools.partial(Adding().add, 1)
    assert make(static("x(2)"))(bound) == bound(2) == 12


class Labels(list[str]):
    pass


def test_an_instance_of_a_derived_list_is_told_from_a_list(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(static("isinstance(x, Labels)"), in_this_module)
    assert kernel([]) is False
    assert kernel(Labels()) is True


class Marked:
    pass


def test_instances_of_two_local_classes_of_one_name_are_told_apart(make: Make) -> None:
    def made(*bases: type) -> Any:
        return type("Local", bases, {"__qualname__": "made.<locals>.Local"})()

    kernel = make(static("isinstance(x, Marked)"), in_this_module)
    assert kernel(made()) is False
    assert kernel(made(Marked)) is True


@dataclass
class Vector:
    x: int

    def __add__(self, other: Vector) -> int:
        return self.x + other.x


def test_the_code_of_an_operator_of_a_users_class_is_a_read(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(static("x + y"))
    try:
        assert kernel(Vector(1), Vector(2)) == 3
        monkeypatch.setattr(Vector, "__add__", lambda self, other: 100)
        assert kernel(Vector(1), Vector(2)) == 100
    except whorl.NotStatic:
        pass  # to refuse is right as well


def evaluated(expression: str, **arguments: Any) -> tuple[Any, list[str]]:
    function: Any = in_this_module
    recorder = Recorder(World(function, arguments))
    inputs = Inputs(recorder)
    views = {name: inputs.arg(name) for name in arguments}
    value = Evaluator(inputs.function(), views).value(expression)
    return value, [str(seen.read) for seen in recorder.trace.seen]


@pytest.mark.parametrize("expression", ["((n,),)", "[[n]]", "[[n]] == [[5]]", "{'a': [[n]]}"])
def test_a_view_inside_nested_displays_is_read(expression: str) -> None:
    expected = eval(expression, {"n": 5})
    assert evaluated(expression, n=5) == (expected, ["arg:n value"])


FIRST, SECOND = lambda n: n + 1, lambda n: n * 10


def aliased_list() -> int:
    items: list[int] = []
    same = items
    items += [1]
    return len(same)


def test_a_list_that_is_added_to_in_place_is_the_same_list() -> None:
    try:
        found = evaluated("aliased_list()")[0]
    except whorl.NotStatic:
        return  # to refuse is right as well
    assert found == aliased_list() == 1


def test_an_expression_does_not_change_what_it_looks_at() -> None:
    items, tags = [1, 2], {1, 2}
    for expression in ("x.__setitem__(0, 9)", "y.difference_update(y)", "x.__init__()"):
        with pytest.raises(whorl.NotStatic):
            evaluated(expression, x=items, y=tags)
    assert (items, tags) == ([1, 2], {1, 2})


# -- stale: arrays and containers -------------------------------------------------------


def test_dtypes_of_extensions_that_share_their_short_name_are_told_apart(make: Make) -> None:
    kinds = pytest.importorskip("ml_dtypes")
    kernel = make(lambda inputs: inputs.arg("x").array())
    kernel(np.zeros(2, kinds.int4))
    kernel(np.zeros(2, kinds.uint4))
    assert compiles(kernel) == 2


def test_the_safe_wide_key_knows_scalars_and_bytes_by_value(make: Make) -> None:
    kernel = make(lambda inputs: repr(inputs.everything()["x"]))
    for value in (np.float64(1), np.float64(2), b"one", b"two", bytearray(b"x"), bytearray(b"y")):
        assert kernel(value) == repr(value)


@dataclass
class Table:
    rows: dict[str, int]


# -- stale: options, targets, time ------------------------------------------------------


def test_an_option_that_is_changed_in_place_is_noticed(make: Make) -> None:
    flags = ["fast"]
    kernel = make(lambda inputs: list(inputs.option("flags")), options={"flags": flags})
    assert kernel() == ["fast"]
    flags.append("loose")
    # either the option was copied when it was given, or the change is seen
    fresh = make(lambda inputs: list(inputs.option("flags")), options=kernel.choices.options)
    assert kernel() == fresh()


def test_what_a_compiler_takes_from_the_target_it_is_handed_is_a_read(store: Cache) -> None:
    class Targeting(Looking):
        def compile(self, program: Program, inputs: Inputs) -> whorl.Artifact:
            return whorl.Artifact({}, {"made": program.target.properties["lanes"]})

    target = [Target("x86", "cpu", {"lanes": 4})]
    compiler = Targeting(lambda inputs: None, target=lambda: target[0])

    @whorl.jit(compiler, store=store)
    def kernel() -> None: ...

    assert kernel() == 4
    target[0] = Target("x86", "cpu", {"lanes": 8})
    assert kernel() == 8


def test_what_changes_during_its_compile_is_not_kept_in_the_process_either(make: Make) -> None:
    thing = Thing(n=1)

    def look(inputs: Inputs) -> Any:
        value = inputs.arg("x").attr("n").value()
        thing.n = 2
        return value

    kernel = make(look, cache="process")
    assert kernel(thing) == 1
    assert kernel(Thing(n=2)) == 2


def test_code_exchanged_during_a_compile_is_not_stored_as_the_new_code(make: Make) -> None:
    def one(x: Any = None) -> int:
        return 1

    def other(x: Any = None) -> int:
        return 2

    saved = one.__code__
    nested: list[Any] = []

    def look(inputs: Inputs) -> Any:
        digest = inputs.function().digest
        if not nested:
            nested.append(None)
            one.__code__ = other.__code__
            kernel.explain("elsewhere")  # as another thread's call would
            if one.__code__ is not kernel._code:
                kernel._forget()
        return digest

    kernel = make(look, one)
    old = kernel()
    fresh = make(lambda inputs: inputs.function().digest, one)
    assert fresh() != old
    one.__code__ = saved


# -- needless misses --------------------------------------------------------------------


def test_a_compile_that_reads_nothing_is_kept_in_the_process(make: Make) -> None:
    kernel = make(lambda inputs: 1, cache="process")
    assert [kernel() for _ in range(3)] == [1, 1, 1]
    assert compiles(kernel) == 1


def test_what_can_be_recorded_is_stored_also_when_the_rest_is_compiled_each_time(
    make: Make,
) -> None:
    look = lambda inputs: inputs.arg("x").value()
    make(look, cache="call")(1)
    fresh = make(look, cache="call")
    assert fresh(1) == 1
    assert compiles(fresh) == 0


def test_threads_without_leases_compile_once() -> None:
    kernel = whorl.jit(Looking(lambda inputs: inputs.arg("x").value()), store=Cache(NullStore()))(
        in_this_module
    )
    both_missed = threading.Barrier(2)
    first_done = threading.Event()

    def on(event: Event) -> None:
        if event.what is Happened.MISSED:
            both_missed.wait(10)
            if threading.current_thread().name == "second":
                first_done.wait(10)

    def work() -> None:
        kernel(1)
        if threading.current_thread().name == "first":
            first_done.set()

    threads = [threading.Thread(target=work, name=name) for name in ("first", "second")]
    listeners.append(on)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        listeners.remove(on)
    assert compiles(kernel) == 1


SOLVER = """
from dataclasses import dataclass
import whorl
from tests.jit.compilers import Looking

@dataclass
class Config:
    n: int

CONFIG = Config(3)

def helper(x):
    return x

def look(inputs):
    code = inputs.function()
    return (code.glob("CONFIG").value().n, code.glob("helper").value() is None)

compiler = Looking(look)

@whorl.jit(compiler)
def kernel(x):
    return CONFIG, helper

def main():
    kernel(1)
    print(compiler.compiles)

if __name__ == "__main__":
    main()
"""


def test_a_program_that_is_started_finds_what_it_made_when_it_was_imported(tmp_path: Path) -> None:
    directory = tmp_path / "src"
    directory.mkdir()
    (directory / "solver.py").write_text(SOLVER)
    assert run(directory, "-c", "import solver; solver.main()") == "1"
    assert run(directory, "-c", "import solver; solver.main()") == "0"
    assert run(directory, "solver.py") == "0"


def test_a_set_that_is_iterated_over_is_found_under_another_hash_seed(tmp_path: Path) -> None:
    directory = tmp_path / "src"
    directory.mkdir()
    (directory / "solver.py").write_text(
        textwrap.dedent(
            """
            import whorl
            from tests.jit.compilers import Looking
            compiler = Looking(lambda inputs: sorted(v.value() for v in inputs.arg("x")))
            @whorl.jit(compiler)
            def kernel(x): ...
            kernel({"alpha", "beta", "gamma", "delta"})
            print(compiler.compiles)
            """
        )
    )
    found = [run(directory, "solver.py", PYTHONHASHSEED=str(seed)) for seed in range(4)]
    assert found == ["1", "0", "0", "0"]


# -- stale on disk ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('def kernel(x: "f32"):', 'def kernel(x: "f64"):'),
        ("def kernel(x, n=1):", "def kernel(x, n=2):"),
    ],
)
def test_what_the_source_shows_to_a_compiler_is_part_of_the_key(
    tmp_path: Path, before: str, after: str
) -> None:
    directory = tmp_path / "src"
    directory.mkdir()
    text = textwrap.dedent(
        """
        import whorl
        from tests.jit.compilers import Looking
        @whorl.jit(Looking(lambda inputs: inputs.function().source))
        HEAD
            return x
        print(kernel(1).splitlines()[0])
        """
    )
    for head in (before, after):
        (directory / "solver.py").write_text(text.replace("HEAD", head))
        assert run(directory, "solver.py").replace("'", '"') == head


def test_a_function_whose_file_was_edited_after_its_import_is_not_followed_by_the_new_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Make
) -> None:
    path = tmp_path / "found_edited.py"
    path.write_text("def helper(x):\n    return x * 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import found_edited  # type: ignore[import-not-found]  # just written

    path.write_text("def helper(x):\n    return x * 3\n")
    kernel = make(static("x(5)"))
    with contextlib.suppress(whorl.NotStatic):  # to refuse is right as well
        assert kernel(found_edited.helper) == found_edited.helper(5) == 10


def test_a_class_that_no_longer_derives_from_another_is_noticed_in_the_next_process(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "src"
    directory.mkdir()
    text = textwrap.dedent(
        """
        import whorl
        from tests.jit.compilers import Looking
        from whorl.reads.evaluate import evaluate
        class Base: ...
        HEAD
        def look(inputs):
            return evaluate(inputs.function(), "isinstance(x, Base)", x=inputs.arg("x"))
        @whorl.jit(Looking(look))
        def kernel(x): ...
        print(kernel(Sub()))
        """
    )
    (directory / "solver.py").write_text(text.replace("HEAD", "class Sub(Base): ..."))
    assert run(directory, "solver.py") == "True"
    (directory / "solver.py").write_text(text.replace("HEAD", "class Sub: ..."))
    assert run(directory, "solver.py") == "False"


def test_a_changed_default_of_a_declared_variable_is_seen_or_was_copied(make: Make) -> None:
    environment: dict[str, str | None] = {"WHORL_TEST_Q": "1"}
    look = lambda inputs: inputs.env("WHORL_TEST_Q")
    kernel = make(look, extra={"environment": environment})
    before = [kernel() for _ in range(4)]
    environment["WHORL_TEST_Q"] = "2"
    assert kernel() == kernel.world((None, None), Target("x")).environment["WHORL_TEST_Q"]
    assert before == ["1"] * 4


# -- crashes ----------------------------------------------------------------------------


def test_a_parameter_that_is_asked_for_and_is_not_there_does_no_harm_later(make: Make) -> None:
    def look(inputs: Inputs) -> str:
        try:
            inputs.arg("extra")
        except AbsentRead:
            return "none"
        return "some"

    kernel = make(look)
    assert [kernel(1) for _ in range(5)] == ["none"] * 5


@pytest.mark.parametrize(
    "value",
    [("code", 1, 2), 1 << 20000, "\udcff", ("array", 1, 2, 3, 4), [[[]]], {"digest": 1}],
    ids=["code", "large", "surrogate", "array", "lists", "digest"],
)
def test_every_plain_constant_can_be_kept_and_explained(make: Make, value: Any) -> None:
    kernel = make(lambda inputs: type(inputs.arg("x").value()).__name__)
    assert kernel(value) == type(value).__name__
    assert kernel.explain(0).changes


def test_a_constant_that_is_nested_deeply_or_in_itself_is_kept(make: Make) -> None:
    deep: list[Any] = []
    for _ in range(3000):
        deep = [deep]
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    kernel = make(lambda inputs: len(inputs.arg("x").value()))
    assert [kernel(deep), kernel(cyclic)] == [1, 1]


class Mode(enum.Enum):
    FAST = 1


@whorl.by_identity("token")
class Session:
    def __init__(self, n: int) -> None:
        self.token = object()
        self.n = n


def test_two_objects_known_by_identity_are_two_calls(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").value().n)
    one, other = Session(1), Session(2)
    assert [kernel(one), kernel(other), kernel(one), kernel(other)] == [1, 2, 1, 2]


class Odd:
    def __whorl_signature__(self) -> Any:
        return {1, 2}


def test_an_unread_argument_with_an_odd_signature_does_no_harm(make: Make) -> None:
    assert make(lambda inputs: inputs.arg("x").value())(1, Odd()) == 1


class Strange(type):
    def __eq__(cls, other: object) -> bool:
        return cls is other


@dataclass
class Unhashable(metaclass=Strange):
    n: int = 1


def test_code_may_be_exchanged_for_code_of_other_parameters(make: Make) -> None:
    def one(x: Any = None) -> int:
        return 1

    def other(a: Any, b: Any) -> int:
        return 2

    kernel = make(lambda inputs: inputs.names, one)
    assert kernel(1) == ("x",)
    one.__code__, one.__defaults__ = other.__code__, None
    assert kernel(1, 2) == ("a", "b")


@pytest.mark.parametrize("name", ["class", "lambda", "None"])
def test_a_function_may_be_called_like_a_keyword(make: Make, name: str) -> None:
    def one(x: Any = None) -> None: ...

    one.__name__ = name
    assert make(lambda inputs: 1, one)() == 1


def test_a_long_chain_of_members_is_replayed(make: Make) -> None:
    def look(inputs: Inputs) -> Any:
        view = inputs.arg("x")
        for _ in range(1200):
            view = view.attr("next")
        return view.attr("n").value()

    head = Thing(n=7)
    for _ in range(1200):
        head = Thing(next=head)
    kernel = make(look)
    assert [kernel(head) for _ in range(5)] == [7] * 5


def test_what_stands_in_for_a_module_is_read_like_one(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "found_fancy", Thing(TILE=8))

    def look(inputs: Inputs) -> Any:
        try:
            return inputs.glob("found_fancy", "TILE").value()
        except AbsentRead:
            return "absent"

    assert make(look)() in (8, "absent")


def fibonacci(x: int = 0, y: int = 0) -> Any:
    return RECURSIVE(x - 1) if x else 0


RECURSIVE: Any = None


def test_a_property_may_call_the_kernel_that_reads_it(make: Make) -> None:
    numbers = count()

    class Calling:
        flag = True

        @property
        def n(self) -> int:
            kernel(Thing(flag=False, m=next(numbers)))
            return 7

    def look(inputs: Inputs) -> Any:
        x = inputs.arg("x")
        return x.attr("n" if x.attr("flag").value() else "m").value()

    kernel = make(look)
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(kernel(Calling())), daemon=True)
    thread.start()
    thread.join(10)
    assert done == [7]


def test_a_fork_while_a_thread_asks_a_property_does_not_hang_the_child(make: Make) -> None:
    asking, go_on = threading.Event(), threading.Event()

    class Slow:
        flag = True
        asked = 0

        @property
        def n(self) -> int:
            Slow.asked += 1
            if Slow.asked == 2:  # after the compile, when what it read is looked at again
                asking.set()
                go_on.wait(20)
            return 7

    def look(inputs: Inputs) -> Any:
        x = inputs.arg("x")
        return x.attr("n" if x.attr("flag").value() else "m").value()

    kernel = make(look, store=Cache(MemoryStore()))
    thread = threading.Thread(target=kernel, args=(Slow(),), daemon=True)
    thread.start()
    assert asking.wait(10)
    child = os.fork()
    if not child:
        signal.alarm(5)
        os._exit(0 if kernel(Thing(flag=False, m=3)) == 3 else 1)
    status = os.waitpid(child, 0)[1]
    go_on.set()
    thread.join(10)
    assert status == 0


def test_a_signature_that_a_function_shows_to_others_is_not_how_it_is_called(make: Make) -> None:
    def shown(a: Any, b: Any = 1) -> None: ...

    def function(*args: Any) -> None: ...

    function.__signature__ = inspect.signature(shown)  # type: ignore[attr-defined]  # what is tested
    kernel = make(lambda inputs: inputs.names, function)
    assert kernel(1, 2, 3) == ("args",)


def test_compiles_that_call_each_others_kernels_in_two_threads_end(tmp_path: Path) -> None:
    store = Cache(MemoryStore())
    both_compile = threading.Barrier(2)

    def crossing(other: list[Kernel]) -> Look:
        def look(inputs: Inputs) -> Any:
            x = inputs.arg("x").value()
            if x == 1:
                both_compile.wait(10)
                return other[0](0)
            return x

        return look

    a: list[Kernel] = []
    b: list[Kernel] = []

    def first(x: Any) -> str:
        return "a"

    def second(x: Any) -> str:
        return "b"

    a.append(whorl.jit(Looking(crossing(b)), store=store)(first))
    b.append(whorl.jit(Looking(crossing(a)), store=store)(second))
    done: list[Any] = []
    threads = [
        threading.Thread(target=lambda k=k: done.append(k(1)), daemon=True) for k in (a[0], b[0])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert done == [0, 0]


# -- leaks ------------------------------------------------------------------------------


def test_a_function_whose_code_was_read_is_not_kept_alive(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").code().digest)

    def made() -> tuple[Any, weakref.ref[Thing]]:
        held = Thing(data=np.zeros(10))
        return (lambda: held), weakref.ref(held)

    function, gone = made()
    kernel(function)
    kernel(function)
    del function
    gc.collect()
    assert gone() is None


def test_a_new_function_of_known_code_is_recalled_from_memory(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").code().digest)

    def made() -> Any:
        return lambda x: x

    kernel(made())
    with testing.recorded_events() as events:
        kernel(made())
    assert events[0].what is Happened.RECALLED


def test_the_generated_replays_of_a_collected_kernel_are_forgotten(make: Make) -> None:
    kernel = make(lambda inputs: inputs.option("n"), options={"n": 0})
    before = len(linecache.cache)
    for n in range(20):
        other = kernel.with_options(n=n)
        for _ in range(4):
            other()
    del other
    gc.collect()
    assert len(linecache.cache) - before < 5


# -- explanations and drift -------------------------------------------------------------


def test_an_explanation_after_an_exchange_of_code_is_that_of_the_next_call(make: Make) -> None:
    def one(x: Any = None) -> int:
        return 1

    def other(x: Any = None) -> int:
        return 2

    kernel = make(lambda inputs: inputs.function().digest, one)
    kernel()
    one.__code__ = other.__code__
    assert kernel.explain().outcome == "miss"


LIMIT = 1


def reads_limit(x: Any = None) -> int:
    return LIMIT


def look_at_limit(inputs: Inputs) -> Any:
    return (inputs.arg("x").value(), inputs.function().glob("LIMIT").value())


def test_a_drift_is_raised_also_for_arguments_that_were_not_seen_before(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(look_at_limit, reads_limit, on_drift="raise")
    kernel(1)
    monkeypatch.setitem(globals(), "LIMIT", 2)
    with pytest.raises(whorl.Drifted):
        kernel(2)


def test_an_ignored_drift_is_ignored_for_all_arguments(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(look_at_limit, reads_limit, on_drift="ignore")
    kernel(1)
    monkeypatch.setitem(globals(), "LIMIT", 2)
    kernel(2)
    monkeypatch.setitem(globals(), "LIMIT", 1)
    assert kernel(2) == (2, 1)


def test_an_explanation_leaves_the_counts_as_they_were(make: Make) -> None:
    look = lambda inputs: inputs.arg("x").value()
    make(look)(1)
    kernel = make(look)
    before = kernel.stats()
    kernel.explain(1)
    assert kernel.stats() == before


def test_what_was_restored_after_a_drift_recovers_for_all_arguments(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(look_at_limit, reads_limit, on_drift="raise")
    kernel(1)
    with monkeypatch.context() as changed:
        changed.setitem(globals(), "LIMIT", 2)
        with contextlib.suppress(whorl.Drifted):
            kernel(2)
    assert kernel(2) == (2, 1)


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


# -- testing helpers --------------------------------------------------------------------


def test_an_audit_of_two_threads_leaves_the_environment_as_it_was() -> None:
    inside = threading.Barrier(2)
    first_out = threading.Event()

    def look(inputs: Inputs) -> Any:
        inside.wait(10)
        if inputs.arg("x").type() == ("float",):
            first_out.wait(10)
        return 1

    kernel = whorl.jit(Looking(look), store=Cache(MemoryStore()))(in_this_module)
    before = os.environ

    def work(value: Any) -> None:
        kernel(value)
        first_out.set()

    with testing.audit(rate=0):
        threads = [threading.Thread(target=work, args=(value,)) for value in (1, 1.0)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    after, os.environ = os.environ, before
    assert after is before


def test_an_audit_finds_variables_read_through_a_name_for_the_environment() -> None:
    from os import environ

    kernel = whorl.jit(
        Looking(lambda inputs: environ.get("WHORL_TEST_Z")), store=Cache(MemoryStore())
    )(in_this_module)
    with testing.audit(rate=0) as report:
        kernel()
    assert [finding.detail for finding in report.findings] == ["WHORL_TEST_Z"]


def test_a_compile_may_merge_the_environment_while_it_is_audited() -> None:
    kernel = whorl.jit(
        Looking(lambda inputs: len(os.environ | {"A": "1"}) > 0), store=Cache(MemoryStore())
    )(in_this_module)
    with testing.audit(rate=0):
        assert kernel() is True


def test_a_view_is_not_taken_for_true(make: Make) -> None:
    kernel = make(lambda inputs: "on" if inputs.arg("x") else "off")
    with pytest.raises(TypeError):
        kernel(False)
