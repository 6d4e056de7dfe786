# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""Large functions become subroutines: one for all calls alike, with the same results."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from whorl.kernels.lowering.subroutines import LARGE

PROGRAM = """
import whorl

def large(x, i, k, pair):
    s = 0.0
    if i < 0:
        return s, k
{lines}
    s += pair[0] * pair[1]
    for j in range(x.size):
        s += x[j] * k
    return s, k

@whorl.kernel{options}
def thrice(x, y):
    a, _ = large(x, 0, 1.0, (2, 3.0))
    b, _ = large(y, x.size - 1, 2.0, (2, 3.0))
    c, _ = large(y, 1, 2.0, (2, 3.0))
    d, n = large(x, -1, 3, (2, 3.0))
    return a, b, c, d, n

@whorl.kernel
def alike(x, n):
    a, _ = large(x, n - 1, n * 1.5, (2, 3.0))
    b, _ = large(x, n - 2, n * 2.5, (2, 3.0))
    return a, b

def counting(counts, i):
    s = 0
{counts}
    whorl.atomic_add(counts, i % counts.size, 1)
    return s

@whorl.kernel
def parallel(counts, n):
    total = 0
    for i in whorl.prange(n):
        total += counting(counts, i)
    return total

def endless(n):
{counts_n}
    return endless(n)

@whorl.kernel
def recursive(n):
    return endless(n)
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(name: str, options: str = "") -> Any:
        lines = "\n".join(f"    s += x[i] * {n}" for n in range(LARGE))
        counts = "\n".join("    s += i" for n in range(LARGE))
        counts_n = "\n".join("    n += 1" for n in range(LARGE))
        text = PROGRAM.format(lines=lines, counts=counts, counts_n=counts_n, options=options)
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return make


def test_calls_alike_share_a_subroutine(program: Any) -> None:
    module = program("large_alike")
    x = np.arange(4.0)
    assert module.alike(x, 3) == pytest.approx(module.alike.interpret(x, 3))
    shown = module.alike.inspect("ir")
    assert (shown.count("  def large"), shown.count("= large_0(")) == (1, 2)


def test_calls_that_differ_in_what_is_known_have_subroutines_of_their_own(program: Any) -> None:
    module = program("large_calls")
    x, y = np.arange(4.0), np.arange(4.0) + 1
    assert module.thrice(x, y) == pytest.approx(module.thrice.interpret(x, y))
    shown = module.thrice.inspect("ir")
    assert shown.count("  def large") == 4
    assert module.thrice(x.astype("f4"), y) == pytest.approx(module.thrice.interpret(x, y))


def test_errors_in_a_subroutine_come_out(program: Any) -> None:
    module = program("large_checked", "(debug=True)")
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        module.thrice(np.zeros(10), np.zeros(4))


def test_subroutines_in_parallel_loops_are_atomic(program: Any) -> None:
    module = program("large_parallel")
    ours, theirs = np.zeros(4, np.int64), np.zeros(4, np.int64)
    assert module.parallel(ours, 1000) == module.parallel.interpret(theirs, 1000)
    assert ours.tolist() == theirs.tolist() == [250] * 4
    assert "  def counting" in module.parallel.inspect("ir")


def test_recursion_is_found_in_large_functions_too(program: Any) -> None:
    module = program("large_recursive")
    with pytest.raises(whorl.KernelError, match="calls itself"):
        module.recursive(3)


def padded(head: str, *body: str) -> str:
    """A function that is large: most of it comes to nothing."""
    padding = ["t = 0.0"] + ["t += 0.0 * x"] * LARGE
    return "\n    ".join([head, *padding, *body]) + "\n"


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name: str, *parts: str) -> Any:
        (tmp_path / f"{name}.py").write_text("\n\n".join(parts))
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return write


def test_a_large_function_that_calls_another_of_its_name_calls_that_one(written: Any) -> None:
    written("stages_of_one_name", padded("def step(x):", "return x * 10.0 + t"))
    module = written(
        "one_name",
        "import whorl, stages_of_one_name as stages",
        padded("def step(x):", "return stages.step(x) + 1.0 + t"),
        "@whorl.kernel\ndef run(x):\n    return step(x)",
    )
    assert module.run(2.0) == module.run.interpret(2.0) == 21.0


def test_numbers_in_names_of_large_functions_are_no_numbers_of_subroutines(written: Any) -> None:
    calls = [f"f(x, {n})" for n in range(1, 12)]
    module = written(
        "numbered",
        "import whorl",
        padded("def f1(x):", "return x * 1000.0 + t"),
        padded("def f(x, n):", "return x + n + t"),
        f"@whorl.kernel\ndef run(x):\n    return f1(x), {', '.join(calls)}",
    )
    assert module.run(2.0) == module.run.interpret(2.0)


def test_loops_of_one_large_function_say_nothing_about_those_of_another(written: Any) -> None:
    text = padded("def step(x, n):", "s = {first}", "for i in range(n):", "    s = s + i")
    written("loops_of_one_name", text.format(first="0.5") + "    return s\n")
    module = written(
        "loop_names",
        "import whorl, loops_of_one_name as loops",
        text.format(first="0") + "    return loops.step(x, n), s, s // 2\n",
        "@whorl.kernel\ndef run(x, n):\n    return step(x, n)",
    )
    found = module.run(2.0, 4)
    assert found == module.run.interpret(2.0, 4) == (6.5, 6, 3)
    assert [type(each) for each in found] == [float, int, int]


SCALED = "def scaled(factor):\n" + "".join(
    f"    {line}\n"
    for line in [*padded("def scale(x):", "return x * factor + t").splitlines(), "return scale"]
)


def test_large_closures_of_one_factory_are_functions_of_their_own(written: Any) -> None:
    module = written(
        "one_factory",
        "import whorl",
        SCALED,
        "one, ten = scaled(1.0), scaled(10.0)",
        "@whorl.kernel\ndef run(x):\n    return one(x), ten(x), one(x)",
    )
    assert module.run(2.0) == module.run.interpret(2.0) == (2.0, 20.0, 2.0)
    assert module.run.inspect("ir").count("  def scale") == 2


def test_large_functions_with_one_code_and_other_globals_are_their_own(written: Any) -> None:
    module = written(
        "other_globals",
        "import types, whorl",
        "FACTOR = 3.0",
        padded("def scale(x):", "return x * FACTOR + t"),
        "other = types.FunctionType(scale.__code__, {'FACTOR': 5.0}, 'other')",
        "@whorl.kernel\ndef run(x):\n    return scale(x), other(x)",
    )
    assert module.run(2.0) == module.run.interpret(2.0) == (6.0, 10.0)


def test_a_large_function_under_a_second_name_is_followed_when_that_one_changes(
    written: Any,
) -> None:
    module = written(
        "two_names",
        "import whorl",
        SCALED,
        "one = scaled(1.0)\nalso = one",
        "@whorl.kernel\ndef run(x):\n    return one(x), also(x)",
    )
    assert module.run(2.0) == (2.0, 2.0)
    module.also = module.scaled(10.0)
    assert module.run(2.0) == (2.0, 20.0)


ROUNDS_LIKE_LINES = """
import whorl

def half(n):
    s = 0
    if n > 0:
        s = 0
        t = 0
        t = 0
        t = 0
        if n > 1:
            for i in range(n):  # line 9, column 12
                s += 0.5
    return s

@whorl.kernel
def run(n):
    h = half(n)  # line 3, column 8
    found = 0

    for a in whorl.static(range(4)):
        for b in whorl.static(range(9)):
            s = 0
            for i in range(n):  # line 9, column 12, in round 3 and 8
                s += 7
            if whorl.static((a, b) == (3, 8)):
                found = s
    return h, found
"""


def test_rounds_that_are_written_out_are_not_taken_for_lines_of_calls(written: Any) -> None:
    found = written("rounds_like_lines", ROUNDS_LIKE_LINES).run(2)
    assert found == (1.0, 14)
    assert [type(each) for each in found] == [float, int]
