"""What was wrong once more: code that is exchanged, calls inside of calls, odd names."""

from __future__ import annotations

import copy
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from tests.jit.compilers import Looking, Make, compiles
from tests.jit.test_hint import Watched, hints_in
from whorl import settings
from whorl.artifacts import HINT, Entry, Label
from whorl.fingerprint import source
from whorl.jit import hint
from whorl.jit import kernel as module
from whorl.jit.binding import Binding
from whorl.jit.compiler import Program
from whorl.jit.kernel import Kernel
from whorl.reads import AbsentRead, Inputs
from whorl.store import Cache, DirectoryStore, default_cache


def fresh(made: Kernel, **extra: Any) -> Kernel:
    """The kernel as a new process has it."""
    source._known.clear()
    hint._of_files.clear()
    compiler: Any = copy.copy(made.compiler)
    compiler.compiles = 0
    vars(compiler).update(extra)
    return Kernel(made.function, compiler, made.choices, made._own_cache)


def within(seconds: float, do: Callable[[], object]) -> list[object]:
    """What it returned, if it was done in time."""
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(do()), daemon=True)
    thread.start()
    thread.join(seconds)
    return found


def test_code_that_was_exchanged_while_it_was_compiled_is_not_kept(make: Make) -> None:
    def one(n: int) -> int:
        return 1

    def other(n: int) -> int:
        return 2

    first = one.__code__

    def look(inputs: Inputs) -> Any:
        one.__code__ = other.__code__
        return inputs.function().source

    kernel = make(look, one)
    kernel(1)
    one.__code__ = first
    again = fresh(kernel, look=lambda inputs: inputs.function().source)
    assert "return 1" in str(again(1))
    assert compiles(again) == 1


def test_a_name_that_was_changed_after_the_kernel_was_made_is_in_the_key(make: Make) -> None:
    def named(n: int) -> None: ...

    class Naming(Looking):
        def compile(self, program: Program, inputs: Inputs) -> whorl.Artifact:
            self.compiles += 1
            inputs.arg("n").type()
            return whorl.Artifact({"code": b"x"}, {"made": program.function.__name__})

    kernel = make(lambda inputs: None, named)
    kernel.compiler = Naming(lambda inputs: None)
    named.__name__ = "renamed"
    assert kernel(1) == "renamed"
    named.__name__ = "named"
    assert fresh(kernel)(1) == "named"
    named.__name__ = "again"
    assert kernel(1.5) == "again"  # by a start that was made before
    named.__name__ = "renamed"
    assert fresh(kernel)(1.5) == "renamed"


def test_the_source_of_a_lambda_is_the_lambda_alone(make: Make, tmp_path: Path) -> None:
    found = []
    for text in ("first", "second"):
        path = tmp_path / f"{text}.py"
        path.write_text(f"f, X = (lambda n: n + 1), {text!r}\n", encoding="utf-8")
        names: dict[str, Any] = {"__name__": "lambdas"}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
        kernel = make(lambda inputs: inputs.function().source, names["f"])
        found.append((kernel(1), compiles(kernel)))
    assert found == [("lambda n: n + 1", 1), ("lambda n: n + 1", 0)]


def test_a_thread_that_calls_while_a_kernel_begins_again_waits_for_that(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one(n: int) -> int:
        return 1

    def other(n: int) -> int:
        return 2

    kernel = make(lambda inputs: inputs.function().source, one)
    kernel(1)
    found: list[object] = []
    threads: list[threading.Thread] = []
    binding = Binding

    def slow(function: types.FunctionType) -> Any:
        if not threads:
            threads.append(threading.Thread(target=lambda: found.append(kernel(1))))
            threads[0].start()
            threads[0].join(0.2)
        return binding(function)

    monkeypatch.setattr(module, "Binding", slow)
    one.__code__ = other.__code__
    assert "return 2" in str(kernel(1))
    threads[0].join(5)
    assert "return 2" in str(found)


def test_a_kernel_can_be_called_by_whoever_interrupts_one(make: Make) -> None:
    """By a finalizer or a signal handler: it runs between any two instructions of its thread."""
    kernel = make(lambda inputs: inputs.arg("x").value())

    def interrupted() -> list[Any]:
        with kernel._lock:
            return [kernel(1), kernel(1), kernel(2)]

    assert within(10, interrupted) == [[1, 1, 2]]


def test_loading_may_call_the_kernel(make: Make) -> None:
    class Calling(Looking):
        def load(self, artifact: whorl.Artifact, device: str) -> Callable[..., Any]:
            if artifact.metadata["made"] == 1:
                kernel(2)
            return super().load(artifact, device)

    kernel = make(lambda inputs: None)
    kernel.compiler = Calling(lambda inputs: inputs.arg("x").value())
    assert within(10, lambda: kernel(1)) == [1]


def test_what_was_found_in_another_directory_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = settings.current()

    def kernel(x: int) -> None: ...

    made = whorl.jit(Looking(lambda inputs: inputs.arg("x").value()))(kernel)
    try:
        whorl.configure(cache_dir=tmp_path / "one")
        made(1)
        made._begin_again()

        def between() -> Cache:
            found = default_cache()
            monkeypatch.setattr(module, "default_cache", default_cache)
            whorl.configure(cache_dir=tmp_path / "other")
            return found

        monkeypatch.setattr(module, "default_cache", between)
        made(1)
        made(1)
        assert sorted((tmp_path / "other").rglob("groups/*/*/*")) != []
    finally:
        settings.restore(before)


PAIR = "\ud83d\ude00"  # two surrogates, which are no character


def test_two_surrogates_stay_two(make: Make) -> None:
    kernel = make(lambda inputs: [PAIR, inputs.arg("x").value()])
    assert kernel(PAIR) == [PAIR, PAIR]
    again = fresh(kernel)
    assert (again(PAIR), compiles(again)) == ([PAIR, PAIR], 0)
    assert (again("\U0001f600"), compiles(again)) == ([PAIR, "\U0001f600"], 1)


def test_names_with_surrogates_are_found_again(make: Make) -> None:
    def kernel(x: Any) -> None: ...

    scope = {"__name__": "apart", PAIR: 3}
    function = types.FunctionType(kernel.__code__, scope, "kernel")

    def look(inputs: Inputs) -> Any:
        return [inputs.arg("x").attr(PAIR).value(), inputs.function().glob(PAIR).value()]

    made = make(look, function)
    held = types.SimpleNamespace(**{PAIR: 5})
    assert made(held) == [5, 3]
    again = fresh(made)
    assert (again(held), compiles(again)) == ([5, 3], 0)


@pytest.mark.parametrize(
    "nonsense", [["value file \0"], 7, "abc", ["value env \ud800"], "value arg x y;", {}]
)
def test_a_hint_that_makes_no_sense_is_no_matter_to_an_explanation(
    make: Make, tmp_path: Path, nonsense: Any
) -> None:
    def kernel(x: Any) -> None: ...

    store = DirectoryStore(tmp_path / "store")
    made = make(lambda inputs: inputs.arg("x").value(), kernel, store=Cache(store))
    made(1)
    (kept,) = hints_in(store)
    kind, rows, leads = kept.record
    ((lead, shapes),) = leads.items()
    told = [kind, rows, {lead: [nonsense, *shapes]}]
    store.put(Entry.made(Label(HINT, kept.key), {}, told))
    assert fresh(made).explain(1).outcome == "hit"
    assert fresh(made).explain(2).outcome == "miss"
    again = fresh(made)
    assert (again(1), again(2.5), compiles(again)) == (1, 2.5, 1)


def test_a_hint_names_all_functions_however_many_there_are(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "many.py"
    names = [f"f{number}" for number in range(80)]
    defined = "".join(f"def {name}(): return {name!r}\n" for name in names)
    path.write_text(f"{defined}def kernel(x): return [{', '.join(names)}]\n", encoding="utf-8")
    scope: dict[str, Any] = {"__name__": "many"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)

    def look(inputs: Inputs) -> Any:
        return [inputs.function().glob(name).code().digest for name in names]

    source._known.clear()
    made = make(look, scope["kernel"], store=Cache(DirectoryStore(tmp_path / "store")))
    made(1)
    for _ in range(2):
        store = Watched(tmp_path / "store")
        again = fresh(made)
        again._own_cache = Cache(store)
        again(1)
        assert (compiles(again), len(store.gets), store.hints_put) == (0, 2, 0)


class Posing(type):
    """Its classes say that they are `int`."""

    def __eq__(cls, other: object) -> bool:
        return other is int

    def __hash__(cls) -> int:
        return hash(int)


def test_a_class_that_says_it_is_int_is_not(make: Make) -> None:
    class NoInt(metaclass=Posing):
        pass

    kernel = make(lambda inputs: str(inputs.arg("x").type()))
    number = kernel(1)
    assert [kernel(1) for _ in range(5)] == [number] * 5
    assert [kernel(NoInt()) == number for _ in range(5)] == [False] * 5


def test_structured_types_are_told_apart_by_their_fields(make: Make) -> None:
    two = np.dtype([("x", "<f4"), ("y", "<f4")])
    posing = np.dtype({"names": ["x@0:<f4, y"], "formats": ["<f4"], "offsets": [4], "itemsize": 8})
    arrays = make(lambda inputs: inputs.arg("x").array()[1])
    assert arrays(np.zeros(1, two)) != arrays(np.zeros(1, posing))
    ints = np.dtype([("x", "<i4"), ("y", "<i4")])
    scalars = make(lambda inputs: str(inputs.arg("x").type()))
    assert scalars(np.zeros(1, two)[0]) != scalars(np.zeros(1, ints)[0])


@pytest.mark.parametrize("name", ["\0", "\ud800", "a\0b"])
def test_a_file_that_cannot_be_is_absent(make: Make, name: str) -> None:
    def look(inputs: Inputs) -> str:
        try:
            return inputs.file(name).decode()
        except AbsentRead:
            return "absent"

    kernel = make(look)
    assert kernel(1) == "absent"
    again = fresh(kernel)
    assert (again(1), compiles(again)) == ("absent", 0)


def test_a_global_with_a_dot_in_its_name_is_found(make: Make) -> None:
    globals()["dotted.name"] = 7
    try:

        def kernel(x: Any) -> None: ...

        made = make(lambda inputs: inputs.function().glob("dotted.name").value(), kernel)
        assert made(1) == 7
        assert (fresh(made)(1)) == 7
        globals()["dotted.name"] = 8
        assert made(1) == 8
    finally:
        del globals()["dotted.name"]
