"""Where compiled kernels were not what plain Python is: reductions, names, vectors, messages."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl

INTEGERS = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]


# -- reductions of bools, and of the ends of integer types ------------------------------


@whorl.kernel
def greatest(start, x):
    s = start
    for i in whorl.prange(x.size):
        s = max(s, x[i])
    return s


@whorl.kernel
def least(start, x):
    s = start
    for i in whorl.prange(x.size):
        s = min(s, x[i])
    return s


@whorl.kernel
def added(start, x):
    s = start
    for i in whorl.prange(x.size):
        s += x[i]
    return s


@whorl.kernel
def multiplied(start, x):
    s = start
    for i in whorl.prange(x.size):
        s *= x[i]
    return s


REDUCTIONS = [greatest, least, added, multiplied]


def several_bools() -> list[Any]:
    rows = [np.zeros(200, bool), np.ones(200, bool), np.arange(200) % 2 == 0]
    rows += [np.arange(200) == place for place in (0, 77, 199)]
    return [each for row in rows for each in (row, ~row)] + [np.zeros(0, bool), np.ones(3, bool)]


@pytest.mark.parametrize("kernel", REDUCTIONS)
@pytest.mark.parametrize("kind", [bool, np.bool_])
@pytest.mark.parametrize("threads", [1, 2])
def test_bools_are_reduced_as_python_does_it(kernel: Any, kind: Any, threads: int) -> None:
    whorl.configure(threads=threads)
    for start in (kind(False), kind(True)):
        for x in several_bools():
            assert kernel(start, x) == kernel.interpret(start, x), (start, x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_ends_of_integer_types_are_found_by_reductions(dtype: Any) -> None:
    info = np.iinfo(dtype)
    for value in (info.min, info.min + 1, 0, info.max - 1, info.max):
        x = np.full(100, value, dtype)
        for start in (dtype.type(info.min), dtype.type(info.max)):
            assert greatest(start, x) == max(int(start), value)
            assert least(start, x) == min(int(start), value)


# -- private names ----------------------------------------------------------------------


class Private:
    __shared = 3.0
    __static = 5

    def __init__(self) -> None:
        self.__k, self.data = 2.0, np.arange(3.0)

    def __getattr__(self, name: str) -> float:  # what is asked for by a wrong name is 100
        if name.startswith("__"):
            raise AttributeError(name)
        return 100.0

    def __scaled(self, x, __by=10.0):
        return x * __by

    @whorl.kernel
    def read(self, x):
        return self.__k * x + self.__shared

    @whorl.kernel
    def called(self, x):
        by_name = self.__scaled(x, _Private__by=4.0)  # type: ignore[call-arg] # so it is called
        return self.__scaled(x), self.__scaled(x, 2.0), by_name

    @whorl.kernel
    def given(self, __a, *, __b: int = 7):
        __c = __a + __b
        return __c * 2, __b

    @whorl.kernel
    def nested(self, x):
        def __inner(__y):
            return self.__k + __y

        __other = lambda __z: __z + self.__k  # what is tested
        return __inner(x), __other(x)

    @whorl.kernel
    def known(self, x):
        return whorl.static(self.__static + 1) * x

    class Inside:
        def __init__(self) -> None:
            self.__k = 7.0

        @whorl.kernel
        def read(self):
            return self.__k


class __Underlined__:  # its underscores are what is tested
    def __init__(self) -> None:
        self.__k = 9.0

    @whorl.kernel
    def read(self):
        return self.__k


class ___:  # there is no name to mangle by
    def __init__(self) -> None:
        self.__k = 11.0

    @whorl.kernel
    def read(self):
        return self.__k


class Looping:
    def __init__(self) -> None:
        self.__left, self.seen = np.full((), 3, np.int32), np.zeros(1)

    @whorl.kernel
    def run(self, __by: float, _Looping__also: float):
        while whorl.graph.do_while(self.__left):
            self.seen[0] += __by + __also  # type: ignore[name-defined] # noqa: F821 # it is
            self.__left[()] -= 1


class Dunder:
    __kept__ = 13.0

    @whorl.kernel
    def read(self):
        return self.__kept__


@pytest.mark.parametrize(
    ("owner", "name", "args"),
    [
        (Private(), "read", (4.0,)),
        (Private(), "called", (4.0,)),
        (Private(), "given", (4,)),
        (Private(), "nested", (4.0,)),
        (Private(), "known", (4.0,)),
        (Private.Inside(), "read", ()),
        (__Underlined__(), "read", ()),
        (___(), "read", ()),
        (Dunder(), "read", ()),
    ],
)
def test_private_names_are_those_of_the_class_they_stand_in(
    owner: Any, name: str, args: Any
) -> None:
    assert getattr(owner, name)(*args) == getattr(type(owner), name).interpret(owner, *args)


def test_a_private_parameter_is_given_by_the_name_that_python_has_for_it() -> None:
    assert Private().given(4, _Private__b=1) == (10, 1)
    with pytest.raises(whorl.KernelError, match="'_Private__b' is declared as int"):
        Private().given(4, _Private__b=1.5)


def test_private_names_are_found_where_loops_are_walked_as_python() -> None:
    ours, theirs = Looping(), Looping()
    ours.run(2.0, 0.5)
    Looping.run.interpret(theirs, 2.0, 0.5)
    assert ours.seen[0] == theirs.seen[0] == 7.5


def test_private_names_in_functions_that_methods_return_are_those_of_the_class() -> None:
    class Maker:
        def __init__(self) -> None:
            self.__k = 5.0

        def made(self) -> Any:
            def read(x):
                return self.__k * x

            return read

    read = Maker().made()

    @whorl.kernel
    def k(x):
        return read(x)

    assert k(3.0) == 15.0


def test_outside_of_classes_nothing_is_private() -> None:
    class Open:
        pass

    opened = Open()
    setattr(opened, "__k", 5.0)  # the name as it is

    @whorl.kernel
    def k(held):
        return held.__k

    assert k(opened) == 5.0


# -- vectors ----------------------------------------------------------------------------


@whorl.kernel
def turned(x):
    v = whorl.vec(x, x + 1, x + 2)
    v[1], v[2], v[0] = v
    return v[0], v[1], v[2]


@whorl.kernel
def turned_in_part(x):
    v = whorl.vec(x, x + 1, x + 2, x + 3)
    v[3], *rest, v[0] = v
    v[1], (v[2], a) = v[0], v[:2]
    return v[0], v[1], v[2], v[3], rest[0], rest[1], a


@whorl.kernel
def rows_turned(x):
    m = whorl.vec((x, x + 1), (x + 2, x + 3))
    m[1], m[0] = m
    return m[0, 0], m[0, 1], m[1, 0], m[1, 1]


@pytest.mark.parametrize("kernel", [turned, turned_in_part, rows_turned])
def test_a_vector_is_taken_apart_before_its_components_are_set(kernel: Any) -> None:
    assert kernel(10.0) == kernel.interpret(10.0)


# -- functions that outlive their makers ------------------------------------------------


def picked_early(q):
    z = 1

    def f():
        return z

    if q > 2:
        return f
    z = 2
    return f


def picked_in_a_loop(q):
    z = 0

    def f():
        return z * 10

    while True:
        if z >= q:
            return f
        z += 1


def picked_alike(q):
    z = q + 1

    def f(by=2):
        return z * by

    def g():
        return f(3)

    if q > 2:
        return f, g
    beside = q * 2
    if beside > 100:
        return f, g
    return f, g


def made_twice(q):
    def outer():
        def inner():
            return z + q

        return inner

    z = 1
    inner = outer()
    z = 2
    if q > 2:
        return inner
    return inner


@whorl.kernel
def of_early(q):
    return picked_early(q)()


def picked_by_number(q):
    z = q * 2

    def f():
        return z

    if q > 2:
        return f
    z = q * 3
    return f


@whorl.kernel
def of_other_numbers(q):
    return picked_by_number(q)()


@whorl.kernel
def of_loop(q):
    return picked_in_a_loop(q)()


@whorl.kernel
def of_alike(q):
    f, g = picked_alike(q)
    return f(), g(), f(7)


@whorl.kernel
def of_twice(q):
    return made_twice(q)()


@pytest.mark.parametrize("kernel", [of_loop, of_alike, of_twice])
@pytest.mark.parametrize("q", [0, 3])
def test_a_function_keeps_the_names_of_its_maker_as_they_were(kernel: Any, q: int) -> None:
    assert kernel(q) == kernel.interpret(q)


def test_a_function_that_is_returned_with_other_values_of_a_name_is_refused() -> None:
    with pytest.raises(whorl.KernelError) as caught:
        of_early(3)
    words = "what is returned is f, whose 'z' is int (1) on one way here and int (2) on another"
    assert words in str(caught.value)
    assert "Pass 'z' to f as an argument" in str(caught.value)
    with pytest.raises(whorl.KernelError, match="whose 'z' is not the same on every way to here"):
        of_other_numbers(3)


# -- remainders -------------------------------------------------------------------------


@whorl.kernel
def remainder(a, b):
    return np.fmod(a, b)


@whorl.kernel
def remainder_of_seven(a):
    return np.fmod(a, 7)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_remainders_are_numpys_at_the_ends_of_integer_types(dtype: Any) -> None:
    info = np.iinfo(dtype)
    values = {info.min, info.min + 1, -100, -7, -1, 0, 1, 7, 100, info.max - 1, info.max}
    numbers = [dtype.type(value) for value in sorted(values) if info.min <= value <= info.max]
    for a in numbers:
        with np.errstate(all="ignore"):
            assert remainder_of_seven(a) == np.fmod(a, dtype.type(7)), a
            for b in numbers:
                assert remainder(a, b) == np.fmod(a, b), (a, b)


# -- in place ---------------------------------------------------------------------------


@whorl.kernel
def halved(v0):
    v = whorl.vec(v0, 2)
    v /= v0 + 1
    return v[0]


@whorl.kernel
def halved_in_part(v0):
    v = whorl.vec(v0, 2, 3)
    v[1:] += 0.5
    return v[1]


@whorl.kernel
def halved_row(v0):
    m = whorl.vec((v0, 2), (3, 4))
    m[0] *= 0.5
    return m[0, 0]


@whorl.kernel
def halved_without_dimensions(total):
    total += 0.5


@pytest.mark.parametrize(
    ("kernel", "argument", "sign", "written"),
    [
        (halved, 1, "/=", "v = v / (v0 + 1)"),
        (halved_in_part, 1, "+=", "v[1:] = v[1:] + 0.5"),
        (halved_row, 1, "*=", "m[0] = m[0] * 0.5"),
        (halved_without_dimensions, np.zeros((), np.int64), "+=", "total[()] = total + 0.5"),
    ],
)
def test_what_numpy_does_not_put_into_integers_in_place_is_refused(
    kernel: Any, argument: Any, sign: str, written: str
) -> None:
    with pytest.raises(TypeError):
        kernel.interpret(argument)
    with pytest.raises(whorl.KernelError, match="as NumPy refuses to") as caught:
        kernel(argument)
    assert f"`{sign}` in place would put f64 into i64" in str(caught.value)
    assert written in caught.value.remedy


@whorl.kernel
def changed_in_place(x, y):
    v = whorl.vec(x, x)
    v += y
    v[:1] -= y
    return v[0], v[1]


KINDS = [np.bool_, np.int8, np.uint8, np.int64, np.uint64, np.float32, np.float64, int, float]


@pytest.mark.parametrize("of", KINDS[:-2])
@pytest.mark.parametrize("by", KINDS)
def test_vectors_take_in_place_what_numpy_takes(of: Any, by: Any) -> None:
    with np.errstate(all="ignore"):
        try:
            expected = changed_in_place.interpret(of(1), by(2))
        except TypeError:
            with pytest.raises(whorl.KernelError):
                changed_in_place(of(1), by(2))
            return
    assert changed_in_place(of(1), by(2)) == expected


# -- indices that are wrong -------------------------------------------------------------

ROW, STEP, FAR = 1, 2, 7
PAIR = (1.0, 2.0)


@whorl.kernel
def step_of_nothing(x):
    v = whorl.vec(x, x, x)
    return v[::0][0]


@whorl.kernel
def step_of_half(x):
    v = whorl.vec(x, x, x)
    return v[::0.5][0]


@whorl.kernel
def begin_of_text(x):
    v = whorl.vec(x, x, x)
    return v["a":][0]


@whorl.kernel
def row_too_far(x):
    m = whorl.vec((x, x), (x, x))
    return m[FAR][0]


@whorl.kernel
def row_of_float(x):
    m = whorl.vec((x, x), (x, x))
    return m[0.0][0]


@whorl.kernel
def row_of_bool(x):
    m = whorl.vec((x, x), (x, x))
    return m[True][0, 0, 0]


@whorl.kernel
def row_of_none(x):
    m = whorl.vec((x, x), (x, x))
    return m[None][0, 0, 0]


@whorl.kernel
def tuple_by_nothing(x):
    pair = (x, x)
    return pair[::0][0]  # type: ignore[misc] # what is tested


@whorl.kernel
def global_by_nothing(x):
    return PAIR[::0][0] * x  # type: ignore[misc] # what is tested


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (step_of_nothing, "the step of a slice is an int that is known at compile time, not 0"),
        (step_of_half, "an index is an int, not float (0.5)"),
        (begin_of_text, "an index is an int, not str"),
        (row_too_far, "index 7 is out of bounds for axis 0 of f64[2, 2]"),
        (row_of_float, "an index is an int, not float"),
        (row_of_bool, "an index is an int, not bool"),
        (row_of_none, "an index is an int, not None"),
        (tuple_by_nothing, "slice step cannot be zero"),
        (global_by_nothing, "slice step cannot be zero"),
    ],
)
def test_wrong_indices_of_small_things_are_said_with_their_place(kernel: Any, words: str) -> None:
    with pytest.raises(whorl.KernelError) as caught:
        kernel(1.0)
    assert words in str(caught.value)
    assert caught.value.text.strip().startswith("return ")
    assert "^" in str(caught.value)


@whorl.kernel
def by_globals(x):
    m = whorl.vec((x, x + 1), (x + 2, x + 3))
    return m[ROW][0], m[:ROW][0, 1], m[0][::STEP][0], m[-ROW, -1]


def test_rows_and_slices_of_vectors_are_taken_by_globals_too() -> None:
    assert by_globals(1.0) == by_globals.interpret(1.0)


# -- warnings ---------------------------------------------------------------------------

HUGE, LOST = 1e300, np.float64(1e300)


@whorl.kernel
def times_huge(x):
    return x[0] * 1e300


@whorl.kernel
def as_single(x):
    return np.float32(1e300) + np.float32(HUGE) + x[0]


@whorl.kernel
def as_integer(x):
    return np.int32(LOST) * 0 + np.int32(np.float32(np.inf)) * 0 + x[0]


@whorl.kernel
def less_than_huge(x):
    return max(np.float32(1), x[0]) < HUGE, min(x[0], 1e300), x[0] == 1e300


ONE = np.float32(1)


@whorl.kernel
def known_beside_huge(x):
    return ONE < HUGE, ONE in (HUGE, 1e301), max(ONE, HUGE) == HUGE, min(ONE, 1e300) * x[0]


@whorl.kernel
def vector_of_huge(x):
    v = whorl.vec(x[0], 1e300)
    v += 1e300
    return v[0]


@whorl.kernel
def declared(x, by: np.float32):
    y: np.float32 = 1e300  # type: ignore[assignment] # what is tested
    return x[0] * y + by


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "kernel",
    [
        times_huge,
        as_single,
        as_integer,
        less_than_huge,
        known_beside_huge,
        vector_of_huge,
        declared,
    ],
)
def test_numbers_that_do_not_fit_warn_nobody_while_a_kernel_is_compiled(kernel: Any) -> None:
    x, more = np.ones(2, np.float32), (1e300,) if kernel is declared else ()
    with np.errstate(all="ignore"):
        expected = kernel.interpret(x, *more)
    found = kernel(x, *more)
    if kernel is not declared:  # annotations convert nothing where it is interpreted
        assert found == expected
    else:
        assert found == np.inf


# -- what is said, and what need not be -------------------------------------------------


@whorl.kernel
def halved_until(n):
    while (y := n * 2) > 2:
        n -= 1
    return y


@whorl.kernel
def halved_with_breaks(n):
    steps = 0
    while (y := n * 2) > 2 and n + steps > 0:
        n -= 1
        if n == 5:
            break
        y = 100.5
        steps += 1
    else:
        y += 1000
    return y, steps


@whorl.kernel
def known_by_half(n):
    while n > 2 and (y := n * 2) > 6:
        n -= 1
    return y


@pytest.mark.parametrize("kernel", [halved_until, halved_with_breaks])
def test_what_the_test_of_a_while_names_has_a_value_after_it(kernel: Any) -> None:
    for n in (0, 3, 9):
        assert kernel(n) == kernel.interpret(n)


OFF = False


@whorl.kernel
def never(n):
    while OFF:
        n += 1
    return n


@whorl.kernel
def never_but_else(n):
    m = n
    while y := whorl.static(not True):
        m += 1.5
    m += 10
    return m, y


@pytest.mark.parametrize("kernel", [never, never_but_else])
def test_a_while_whose_test_is_known_to_be_false_has_no_round(kernel: Any) -> None:
    assert kernel(3) == kernel.interpret(3)


def test_what_only_part_of_a_test_names_has_none() -> None:
    with pytest.raises(whorl.KernelError, match="'y' has a value on some ways to here"):
        known_by_half(5)


class Sized:
    N = 3

    def __init__(self) -> None:
        self.x = 2.0

    @whorl.kernel
    def read(self):
        return type(self).N * self.x, type(self) is Sized, type(self.x) is float


class Larger(Sized):
    N = 4


class Pretending(Sized):
    @property  # type: ignore[misc] # what is tested
    def __class__(self):
        return Larger


@whorl.kernel
def kinds_of(x):
    return type((x, x)) is tuple, type(x) is tuple, type(whorl.static("a")) is str


@whorl.kernel
def kind_of_the_run(x):
    y = x + 1
    return type(y) is float


def test_the_class_of_an_object_is_asked_for_by_type() -> None:
    for each in (Sized(), Larger()):
        assert each.read() == Sized.read.interpret(each)
    Larger.N = 5
    assert Larger().read()[0] == 10.0
    assert kinds_of(1) == kinds_of.interpret(1) == (True, False, True)


def test_a_class_that_is_not_what_an_object_says_is_refused() -> None:
    with pytest.raises(
        whorl.KernelError, match="is a Pretending, and says that it is of another class"
    ):
        Pretending().read()


def test_the_type_of_a_number_of_the_run_is_refused_with_a_remedy() -> None:
    with pytest.raises(whorl.KernelError) as caught:
        kind_of_the_run(1.0)
    assert "type of float" in str(caught.value)
    assert "Ask about a parameter or a member." in str(caught.value)


class Count(int):
    pass


class Length(float):
    pass


@whorl.kernel
def doubled(x):
    return x * 2


@whorl.kernel
def converted(x):
    return float(x)


@whorl.kernel
def compared(x):
    return x < 2


@whorl.kernel
def wanted(x: int):
    return x


@pytest.mark.parametrize("kernel", [doubled, converted, compared, wanted])
@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (Count(3), "Pass a plain int"),
        (Length(3.0), "Pass a plain float"),
        (None, "Pass a number, or ask `is None` before."),
    ],
)
def test_what_is_nearly_a_number_is_refused_with_a_remedy(
    kernel: Any, value: Any, remedy: str
) -> None:
    if kernel is wanted and value is None:
        remedy = "Pass such a value, or change the annotation."
    with pytest.raises(whorl.KernelError) as caught:
        kernel(value)
    assert remedy in caught.value.remedy
