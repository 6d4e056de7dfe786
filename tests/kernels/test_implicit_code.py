# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, index, attr-defined, arg-type"
# Kernels take their types from the arguments.
"""Methods that no line names are never run unread: their answers would be stale after an edit."""

from __future__ import annotations

import enum
import functools
from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.test_language import same

THRESHOLD = 0


class Every:
    """Says everything by a global that nobody reads."""

    def __bool__(self):
        return THRESHOLD == 0

    def __len__(self):
        return 1 + THRESHOLD

    def __int__(self):
        return THRESHOLD

    __index__ = __float__ = __abs__ = __round__ = __trunc__ = __floor__ = __int__

    def __str__(self):
        return str(THRESHOLD)

    def __iter__(self):
        return iter((THRESHOLD,))

    def __getitem__(self, i):
        return THRESHOLD

    def __eq__(self, other):
        return THRESHOLD == 0

    def __hash__(self):
        return THRESHOLD

    def __lt__(self, other):
        return THRESHOLD == 0

    def __instancecheck__(self, value):
        return THRESHOLD == 0


class Kind(enum.Enum):
    A = 1

    def __bool__(self):
        return THRESHOLD == 0

    def __str__(self):
        return str(THRESHOLD)


class Number(enum.IntEnum):
    A = 1

    def __add__(self, other):
        return THRESHOLD

    def __eq__(self, other):
        return THRESHOLD == 0

    __hash__ = enum.IntEnum.__hash__


class Plain(enum.Enum):
    A = 1
    B = 2


class Text(str):
    __slots__ = ()

    def __eq__(self, other):
        return THRESHOLD == 0

    __hash__ = str.__hash__


class Holding(list):  # type: ignore[type-arg] # as users write them
    def __iter__(self):
        return iter((THRESHOLD,))


IT, KIND, NUMBER, TEXT, HOLDING = Every(), Kind.A, Number.A, Text("t"), Holding((1, 2))
TABLE = {1: 2}
PATH_LIKE = np.dtype("f4")

STATIC = [
    "1 if IT else 2", "[q for q in (1, 2) if IT]", "bool(IT)", "any([IT])", "all((IT,))",
    "list(filter(None, [IT]))", "not IT", "IT and 1", "int(IT)", "float(IT)", "abs(IT)",
    "round(IT)", "list(range(IT))", "(1, 2)[IT]", "str(IT)", "repr([IT])", "format(IT)",
    "f'{IT}'", "f'{IT!s}'", "'{}'.format(IT)", "'%s' % IT", "sum(IT)", "list(IT)", "tuple(IT)",
    "list(zip(IT, IT))", "[*IT]", "[q for q in IT]", "list(enumerate(IT))", "[[IT]] == [[3]]",
    "{1: IT} == {1: 3}", "(IT,) < (IT,)", "TABLE.get(IT)", "{IT: 1}", "{IT}", "IT in (1, 2)",
    "isinstance(1, IT)", "1 if KIND else 2", "f'{KIND}'", "str(KIND)", "NUMBER + 1",
    "NUMBER == 7", "TEXT == 'u'", "sorted([IT, IT])", "sum([q for q in HOLDING])",
    "list(HOLDING)", "max(IT, IT)", "IT if IT else 1", "{q: 1 for q in [IT]}",
    "{q for q in [IT]}", "dict([(IT, 1)])", "set([IT])", "pow(IT, 2)",
]  # fmt: skip


@pytest.mark.parametrize("expression", STATIC)
def test_what_static_would_run_unread_is_refused(expression: str) -> None:
    from whorl.errors import NotStatic
    from whorl.reads import Inputs, Recorder, World
    from whorl.reads.evaluate import Evaluator

    recorder = Recorder(World(in_this_module, {}))
    with pytest.raises(NotStatic, match="code that is not read"):
        Evaluator(Inputs(recorder).function()).value(expression)


def in_this_module() -> None: ...


ALLOWED = {
    "1 if PLAIN else 2": 1, "f'{PLAIN}'": "Plain.A", "PLAIN == PLAIN": True, "{PLAIN: 1}[PLAIN]": 1,
    "int(NUMBER)": 1, "[q for q in (1, 2) if q > 1]": [2], "str(PATH_LIKE)": "float32",
    "isinstance(1, (int, float))": True, "isinstance(1, int | str)": True, "1 if BARE else 2": 1,
    "isinstance(BARE, BARE_CLASS)": True, "[1, 2].count(TWO)": 1, "(1, TWO).index(2)": 1,
    "[TWO, 3].index(TWO)": 0, "sorted([TWO, 1])": [1, 2], "[[TWO]] == [[2]]": True,
    "'{} {}'.format(TWO, 'a')": "2 a", "'-'.join([NAME, 'b'])": "a-b", "max(TWO, 1.5)": 2,
    "HOLDING[0]": 1,
}  # fmt: skip
PLAIN, TWO, NAME = Plain.A, 2, "a"


class Bare:
    pass


BARE, BARE_CLASS = Bare(), Bare


@pytest.mark.parametrize("expression", ALLOWED)
def test_what_python_itself_does_is_done(expression: str) -> None:
    from whorl.reads import Inputs, Recorder, World
    from whorl.reads.evaluate import Evaluator

    recorder = Recorder(World(in_this_module, {}))
    found = Evaluator(Inputs(recorder).function()).value(expression)
    assert found == ALLOWED[expression]
    assert type(found) is type(ALLOWED[expression])


@whorl.kernel
def truthy():
    return 1 if KIND else 2


@whorl.kernel
def negated():
    return not KIND


@whorl.kernel
def added():
    return NUMBER + 1


@whorl.kernel
def compared():
    return NUMBER == 7


@whorl.kernel
def texts():
    return TEXT == "u"


@whorl.kernel
def contained():
    return TEXT in ("u", "v")


@whorl.kernel
def checked():
    return isinstance(3, IT)


@pytest.mark.parametrize("kernel", [truthy, negated, added, compared, texts, contained, checked])
def test_what_a_kernel_would_run_unread_is_refused(kernel: Any) -> None:
    with pytest.raises(whorl.KernelError, match="code that is not read"):
        kernel()


@whorl.kernel
def usual(x):
    total = 0
    if PLAIN == Plain.A:
        total += 1
    if PLAIN in (Plain.A, Plain.B):
        total += 10
    if NAME == "a" and not NAME != "a":
        total += 100
    return total + x[0]


def test_members_and_texts_of_python_are_compared() -> None:
    same(usual, np.ones(1))


# -- defaults are those of the definition ----------------------------------------------------


@whorl.kernel
def lambda_default(x):
    s = 2.0
    f = lambda v, q=s: v * q
    s = 7.0
    return f(x[1]) + s


@whorl.kernel
def def_default(x, y):
    s = 2.0
    a = x

    def f(v, q=s, *, w=a):
        return v * q + w[0]

    s = 7.0
    a = y
    return f(x[1]) + s + a[0]


@whorl.kernel
def loop_default(x):
    total = 0.0
    for i in range(4):
        f = lambda v, k=i: v * k
        j = i
        i = 100
        total += f(x[j])
    return total


def test_defaults_are_worked_out_where_a_function_is_defined() -> None:
    x, y = np.arange(1.0, 5.0), np.arange(10.0, 14.0)
    same(lambda_default, x)
    same(def_default, x, y)
    same(loop_default, x)


def followed(n):
    s = n
    f = lambda v, q=s: v * q
    s = 100
    return f(3) + s


def late(n):
    t = [lambda: i for i in range(n)]  # noqa: B023  # that is what is tested
    return t[0]()


@whorl.kernel
def in_static():
    return whorl.static(followed(5)), whorl.static(late(3))


def test_static_follows_defaults_and_names_as_python_does() -> None:
    assert in_static() == (followed(5), late(3)) == (115, 2)


# -- names and columns -------------------------------------------------------------------------


class Scaled:
    def __init__(self) -> None:
        self.factor = 2.0

    @whorl.kernel
    def times(self, w):
        return self.factor * w


def test_self_may_be_given_by_its_name() -> None:
    assert [Scaled.times(self=Scaled(), w=3) for _ in range(6)] == [6.0] * 6


@whorl.kernel
def accented(x):
    é, y = 1, "日本語" in x  # noqa: PLC2401  # that is what is tested
    return y + é


def test_columns_are_those_of_characters() -> None:
    with pytest.raises(whorl.KernelError) as caught:
        accented(np.ones(2))
    line, caret = str(caught.value).splitlines()[1:3]
    assert line[caret.index("^") : caret.rindex("^") + 1] == '"日本語" in x'


# -- ranges near the end of the numbers --------------------------------------------------------


@whorl.kernel
def counted(a, b, c):
    n = 0
    last = 0
    for i in range(a, b, c):
        n += 1
        last = i
    return n, last


@whorl.kernel
def by_threes(a, b):
    n = 0
    last = 0
    for i in range(a, b, 3):
        n += 1
        last = i
    for i in range(b, a, -3):
        n += 1
        last = i
    return n, last


END = 2**63 - 1
RANGES = [
    (END - 2, END, 3), (END - 3, END, 3), (END - 10, END, 4), (-END, -END - 1, -3), (0, 10, 3),
    (-END + 5, -END - 1, -4), (10, 0, -3), (0, 0, 2), (5, 0, 2), (0, 5, -2), (0, 5, 0), (0, 9, END),
    (END, -END - 1, -END), (-END - 1, END, END), (-END - 1, END, 2**62), (0, 1, 1), (3, -3, -1),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "c"), RANGES)
def test_ranges_end_where_python_ends_them(a: int, b: int, c: int) -> None:
    found = range(a, b, c) if c else range(0)
    assert counted(a, b, c) == (len(found), found[-1] if found else 0)


@pytest.mark.parametrize(("a", "b"), [(END - 2, END), (END - 9, END), (-END - 1, -END + 7), (0, 9)])
def test_constant_steps_end_there_too(a: int, b: int) -> None:
    n = len(range(a, b, 3)) + len(range(b, a, -3))
    assert by_threes(a, b) == (n, range(b, a, -3)[-1])


class Bits(enum.IntFlag):
    A = 1
    B = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2

    def __str__(self):
        return self.name


@whorl.kernel
def flagged(x):
    a = x[0] & Bits.A
    b = x[0] | Bits.B
    x[1] |= Bits.B
    x[2] = Bits.B
    x[3] = Level.HIGH
    return a, b, int(Bits.A | Bits.B), x[0] + Bits.B, Level.HIGH * 3, x[0] > Level.LOW


@whorl.kernel
def with_own_operators(x):
    return x[0] + NUMBER


def test_flags_are_numbers_unless_they_have_operators_of_their_own() -> None:
    same(flagged, np.array([5, 0, 0, 0]))
    with pytest.raises(whorl.KernelError, match="is no number"):
        with_own_operators(np.ones(1))


# -- arguments that are passed on --------------------------------------------------------------


def logged(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


@logged
@logged
def scaled(x, by=2, *, plus=0):
    return x * by + plus


def first(a, /, b=1, **more):
    return rest(a, b, **more)


def rest(x, y, a=10, c=100):
    return x + y + a + c


@whorl.kernel
def passing(x):
    return (
        scaled(x[0]), scaled(x[0], 3), scaled(x[0], by=4), scaled(x[1], 5, plus=1),
        first(x[0], a=7), first(x[0], 2, c=3), first(x[1], b=4),
    )  # fmt: skip


@whorl.kernel
def twice_named(x):
    return first(x[0], x=1)


def test_arguments_by_name_are_passed_on() -> None:
    same(passing, np.array([1.5, 2.5]))
    with pytest.raises(whorl.KernelError, match="two values for the parameter 'x'"):
        twice_named(np.ones(1))
