"""What is worked out at compile time is right, and leaves its reads behind."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whorl
from whorl.reads import Inputs, Recorder, World
from whorl.reads.evaluate import Evaluator

TILE = 64
TABLE = {"a": 1, "b": [2, 3]}


class Config:
    factor = 3

    def __init__(self, n: int = 5) -> None:
        self.n = n
        self.uid = object()
        self.shape = (4, 6)

    @property
    def twice(self) -> int:
        return 2 * self.n

    def scaled(self, k: int = 2, *, plus: int = 0) -> int:
        """Called at compile time."""
        total = 0
        for i in range(k):
            if i == 7:
                break
            total += self.n * self.factor
        else:
            total += plus
        return total


def helper(x: int, y: int = 1) -> int:
    z = x + y
    return z * TILE


def by_loop(limit: int) -> int:
    count, n = 0, limit
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


adding = functools.partial(helper, 10)
negate = lambda x: -x


FIRST, SECOND = lambda n: n + 1, lambda n: n * 10
ROWS = {
    "wide": lambda n: n * 100,  # part of a longer statement
    "tall": lambda n: (
        n * 1000
    ),
}  # fmt: skip
NESTED: Any = lambda n: lambda m: m + TILE
SAME, TWIN = lambda n: n + 2, lambda n: n + 2


def kernel(cfg: Any = None, n: Any = None) -> None: ...


FUNCTION: Any = kernel


def seen(expression: str, **arguments: Any) -> tuple[Any, list[str]]:
    recorder = Recorder(World(FUNCTION, arguments))
    inputs = Inputs(recorder)
    views = {name: inputs.arg(name) for name in arguments}
    value = Evaluator(inputs.function(), views).value(expression)
    return value, [str(entry.read) for entry in recorder.trace.seen]


@pytest.mark.parametrize(
    ("expression", "value", "reads"),
    [
        ("1 + 2 * 3", 7, []),
        ("n + 1", 6, ["arg:n value"]),
        ("TILE // 2", 32, ["global:tests.reads.test_evaluate.TILE value"]),
        ("cfg.n", 5, ["arg:cfg.n value"]),
        ("cfg.shape[1]", 6, ["arg:cfg.shape[1] value"]),
        ("cfg.factor", 3, ["arg:cfg.factor value"]),
        ("cfg.twice", 10, ["arg:cfg.twice value"]),
        ("cfg.n if n > 3 else cfg.missing", 5, ["arg:n value", "arg:cfg.n value"]),
        ("n > 9 and cfg.missing", False, ["arg:n value"]),
        ("n is None", False, ["arg:n type"]),
        ("cfg is not None and n", 5, ["arg:cfg type", "arg:n value"]),
        ("TABLE['b'][1]", 3, ["global:tests.reads.test_evaluate.TABLE['b'][1] value"]),
        ("1 < n < 9", True, ["arg:n value"]),
        ("'fast' if n in (4, 5) else 'slow'", "fast", ["arg:n value"]),
        ("f'{n:03d}-{n!r}'", "005-5", ["arg:n value"]),
        ("'a,b'.split(',')", ["a", "b"], []),
        ("-n", -5, ["arg:n value"]),
        ("(lambda k, m=2: k * m)(3)", 6, []),
        ("[i * j for i in (1, 2) for j in (3, 4) if i != j]", [3, 4, 6, 8], []),
        ("{i: i * i for i in (1, 2)}", {1: 1, 2: 4}, []),
        ("(1, 2, 3)[1:]", (2, 3), []),
        ("(m := 4) + m", 8, []),
    ],
)  # fmt: skip
def test_an_expression_has_its_value_and_its_reads(
    expression: str, value: Any, reads: list[str]
) -> None:
    assert seen(expression, cfg=Config(), n=5) == (value, reads)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("x.dtype == np.float32", True),
        ("x.dtype != np.float64", True),
        ("x.dtype == 'float32'", True),
        ("x.dtype in (np.int32, np.float32)", True),
        ("x.dtype == np.dtype('f4')", True),
        ("np.issubdtype(x.dtype, np.integer)", False),
        ("np.result_type(x.dtype, np.float64) == np.float64", True),
    ],
)
def test_types_of_elements_can_be_compared(expression: str, value: bool) -> None:
    assert seen(expression, x=np.zeros(2, np.float32))[0] is value


def builtin(name: str) -> str:
    return f"global:tests.reads.test_evaluate.{name} value"


def test_functions_that_only_look_do_not_read_the_value() -> None:
    cfg = Config()
    assert seen("len(cfg.shape)", cfg=cfg) == (2, [builtin("len"), "arg:cfg.shape len"])
    assert seen("hasattr(cfg, 'grad')", cfg=cfg) == (
        False, [builtin("hasattr"), "arg:cfg.grad present"],
    )  # fmt: skip
    assert seen("getattr(cfg, 'grad', 7)", cfg=cfg)[0] == 7
    assert seen("isinstance(n, int)", n=3) == (
        True, [builtin("isinstance"), builtin("int"), "arg:n type"],
    )  # fmt: skip


def test_iterating_over_a_view_reads_how_many_and_each() -> None:
    value, reads = seen("sum(s for s in cfg.shape)", cfg=Config())
    assert value == 10
    assert reads == [
        builtin("sum"), "arg:cfg.shape len", "arg:cfg.shape[0] value", "arg:cfg.shape[1] value",
    ]  # fmt: skip


def test_a_method_is_followed_and_leaves_its_reads() -> None:
    value, reads = seen("cfg.scaled(3, plus=1)", cfg=Config())
    assert value == Config().scaled(3, plus=1) == 46
    assert "arg:cfg.scaled code" in reads
    assert "arg:cfg.scaled.__self__.n value" in reads  # of whatever object the method is of
    assert "arg:cfg.scaled.__self__.factor value" in reads
    assert not any("uid" in read for read in reads)


def test_a_default_of_a_followed_function_is_a_read() -> None:
    value, reads = seen("helper(2)")
    assert value == helper(2)
    assert "global:tests.reads.test_evaluate.helper code" in reads
    assert "global:tests.reads.test_evaluate.helper.default('y') value" in reads
    assert "global:tests.reads.test_evaluate.TILE value" in reads


def test_partials_lambdas_and_closures_are_followed() -> None:
    offset = 100

    def inner(x: int) -> int:
        return x + offset

    assert seen("adding(n)", n=3)[0] == adding(3)
    assert seen("negate(n)", n=3)[0] == -3
    value, reads = seen("cfg(1)", cfg=inner)
    assert value == 101
    assert "arg:cfg.cell('offset') value" in reads


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (FIRST, 4),
        (SECOND, 30),
        (ROWS["wide"], 300),
        (ROWS["tall"], 3000),
        (NESTED(3), 67),
        (SAME, 5),
        (TWIN, 5),
    ],
    ids=["first", "second", "wide", "tall", "nested", "same", "twin"],
)
def test_lambdas_that_share_a_line_are_told_apart(function: Any, expected: int) -> None:
    assert seen("cfg(n)", cfg=function, n=3)[0] == function(3) == expected


def test_lambdas_of_one_line_with_other_defaults_have_their_own() -> None:
    made = [lambda n, k=k: n * k for k in (2, 3)]
    assert [seen("cfg(n)", cfg=function, n=3)[0] for function in made] == [6, 9]


def test_loops_of_followed_functions_run() -> None:
    assert seen("by_loop(n)", n=27)[0] == by_loop(27) == 111


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("open('x')", "not a pure function"),
        ("print(1)", "not a pure function"),
        ("Config(3)", "classes are not made"),
        ("undefined_name", "is not defined"),
        ("1 // 0", "ZeroDivisionError"),
        ("cfg.shape.append(1)", "AttributeError"),
        ("[].append(1)", "not a pure function"),
        ("endless()", "more than"),
        ("recursive(1)", "too deeply"),
        ("(yield 1)", "Yield"),
        ("unsupported()", "With is not supported"),
    ],
)
def test_what_cannot_be_followed_says_where_and_why(expression: str, reason: str) -> None:
    with pytest.raises((whorl.NotStatic, AttributeError)) as caught:
        seen(expression, cfg=Config())
    if isinstance(caught.value, whorl.NotStatic):
        assert reason in str(caught.value)
        assert "test_evaluate.py:" in caught.value.line
        assert "pass the result in" in str(caught.value)


def endless() -> None:
    while True:
        pass


def recursive(n: int) -> int:
    return recursive(n + 1)


def unsupported() -> None:
    with math:  # type: ignore[attr-defined]  # never run
        pass


def test_absence_is_recorded_and_raised() -> None:
    recorder = Recorder(World(FUNCTION, {"cfg": Config()}))
    inputs = Inputs(recorder)
    with pytest.raises(AttributeError):
        Evaluator(inputs.function(), {"cfg": inputs.arg("cfg")}).value("cfg.missing")
    assert [str(entry) for entry in recorder.trace.seen] == ["arg:cfg.missing present = False"]


OPERATORS = ["+", "-", "*", "<", "==", "and", "or"]
operands = st.sampled_from(["n", "TILE", "cfg.n", "cfg.shape[0]", "3", "2.5", "True"])
expressions: st.SearchStrategy[str] = st.recursive(
    operands,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(OPERATORS), inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("[{}, {}][0]".format, inner, inner),
        st.builds("abs({})".format, inner),
        st.builds("max({}, {})".format, inner, inner),
        st.builds("(lambda q: q + {})({})".format, inner, inner),
    ),
    max_leaves=8,
)  # fmt: skip


@given(expressions, st.integers(-5, 5))
def test_expressions_are_what_python_says_they_are(expression: str, n: int) -> None:
    expected = eval(expression, {**globals(), "cfg": Config(), "n": n})
    found = seen(expression, cfg=Config(), n=n)[0]
    assert (type(found), found) == (type(expected), expected) or math.isnan(expected)
