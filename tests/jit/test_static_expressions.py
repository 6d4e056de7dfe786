"""What a static expression uses is read: methods, operators, partials, classes, source."""

from __future__ import annotations

import contextlib
import functools
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import whorl
from tests.jit.compilers import Look, Make, Thing, compiles
from tests.jit.running import run
from whorl.reads import Inputs, Recorder, World
from whorl.reads.evaluate import Evaluator


def static(expression: str) -> Look:
    """A compiler that works out one expression over its arguments."""

    def look(inputs: Inputs) -> Any:
        views = {name: inputs.arg(name) for name in inputs.names}
        return Evaluator(inputs.function(), views).value(expression)

    return look


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
