"""The launcher against tables written by hand: what fits launches, all else goes on to Python.

Most tests run twice: with the launcher as machine code, and with its twin in plain Python.
"""

from __future__ import annotations

import ctypes
import gc
import math
import sys
import types
import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.launch.twin_calls import twin_call
from whorl.launch import callable as native_callable
from whorl.launch import link, map_image
from whorl.launch.c_api import api_table
from whorl.launch.layout_search import object_layout
from whorl.launch.level import host_level
from whorl.launch.machine import machine_code
from whorl.launch.native import SPECIAL_WORDS, whorl_launch
from whorl.launch.routine import launcher_text
from whorl.launch.selector import Marks, header_of
from whorl.launch.table_operations import KINDS, OP_WORDS

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or host_level() == "generic", reason="images are for x86-64 Linux"
)

# Copies word 8 to word 15, and fails if that is 99.
KERNEL = """
define void @kernel(ptr %r) {
  %p = getelementptr i64, ptr %r, i64 8
  %n = load i64, ptr %p
  %q = getelementptr i64, ptr %r, i64 15
  store i64 %n, ptr %q
  %bad = icmp eq i64 %n, 99
  %s = zext i1 %bad to i64
  %t = getelementptr i64, ptr %r, i64 3
  store i64 %s, ptr %t
  ret void
}
"""


@pytest.fixture(scope="module")
def addresses() -> Any:
    launcher = map_image(link(machine_code(launcher_text(object_layout()), host_level())))
    kernel = map_image(link(machine_code(KERNEL, host_level())))
    return launcher, kernel


class Made:
    """Everything that a native callable refers to."""

    def __init__(self, addresses: Any, *, is_twin: bool = False) -> None:
        launcher, kernel = addresses
        self.is_twin = is_twin
        self.entry = launcher.addresses[whorl_launch.__name__]
        self.kernel = kernel.addresses["kernel"]
        self.api = api_table()
        self.template = (ctypes.c_int64 * 8)()
        self.kept: list[Any] = []

    def words(self, *values: int) -> int:
        memory = (ctypes.c_uint64 * len(values))(*(value % 2**64 for value in values))
        self.kept.append(memory)
        return ctypes.addressof(memory)

    def special(self, count: int, *ops: tuple[Any, ...], result: tuple[int, ...] = (-1,)) -> int:
        flat: list[int] = []
        for kind, *rest in ops:
            padded = [*rest, *[0] * (OP_WORDS - 1 - len(rest))]
            flat += [KINDS[kind], *padded]
        values = (
            count,
            16,
            16,
            self.kernel,
            ctypes.addressof(self.template),
            self.words(*flat),
            len(ops),
            self.words(*result),
            id(failed),
            0,
        )
        assert len(values) == SPECIAL_WORDS
        return self.words(*values)

    def callable(self, *specials: int) -> Any:
        class Native(native_callable.native_base()):  # type: ignore[misc] # made at run time
            """A native callable."""

            def __get__(self, instance: object, owner: type | None = None) -> Any:
                return self if instance is None else types.MethodType(self, instance)

        native_callable.make_native(Native)
        made = Native()
        marked = [(special, Marks({})) for special in specials]
        header = header_of(ctypes.addressof(self.api), id(slow), 1, marked, id(raised))
        self.kept.append(header)
        native_callable.set_entry(made, self.entry, header.address)
        return partial(twin_call, made) if self.is_twin else made


@pytest.fixture(params=["native", "twin"])
def made(addresses: Any, request: pytest.FixtureRequest) -> Made:
    return Made(addresses, is_twin=request.param == "twin")


@pytest.fixture
def native_made(addresses: Any) -> Made:
    return Made(addresses)


def slow(*args: Any, **kwargs: Any) -> Any:
    return ("slow", args, kwargs)


def raised(error: Exception, table: int, register: int, /, *args: Any, **kwargs: Any) -> Any:
    """What is absent is for the slow way; everything else is for the caller."""
    assert table > 2**12
    assert register in range(16)
    if isinstance(error, AttributeError | LookupError):
        return slow(*args, **kwargs)
    raise error


def failed(status: bytes) -> None:
    raise IndexError(f"site {int.from_bytes(status[:8], 'little')}")


class Sub(np.ndarray[Any, Any]):
    """No plain array."""


ONE_INT = (-2, 6, 15)
ONE_FLOAT = (-2, 0, 15)


def test_an_int_travels_and_comes_back(made: Made) -> None:
    call = made.callable(made.special(1, ("INT", 0, 8), result=ONE_INT))
    for value in (0, 1, -1, 2**62, -(2**63), 2**63 - 1):
        assert call(value) == value
    for other in (2**63, 1.0, True, "1", None, np.int64(1)):
        assert call(other) == ("slow", (other,), {})


def test_a_float_travels_exactly(made: Made) -> None:
    call = made.callable(made.special(1, ("FLOAT", 0, 8), result=ONE_FLOAT))
    for value in (0.5, -0.0, math.inf, 5e-324):
        assert str(call(value)) == str(value)
    assert math.isnan(call(math.nan))
    assert call(1)[0] == "slow"


def test_keywords_and_other_counts_go_on_to_python(made: Made) -> None:
    call = made.callable(made.special(1, ("INT", 0, 8), result=ONE_INT))
    assert call(x=1) == ("slow", (), {"x": 1})
    assert call(1, 2) == ("slow", (1, 2), {})
    assert call() == ("slow", (), {})
    assert call(*[3], **{}) == 3


def test_arrays_are_checked_by_dtype_dimensions_and_flags(made: Made) -> None:
    dtype = np.dtype("f8")
    op = ("ARRAYS", 0, 1, id(dtype), 2, 0x501 | 0x501 << 32, made.words(8 << 32))
    call = made.callable(made.special(1, op, result=ONE_INT))
    array = np.zeros((3, 4))
    assert call(array) == array.ctypes.data
    for other in (
        np.zeros(3), np.zeros((3, 4), "f4"), np.zeros((3, 4), order="F"), array[:, ::2],
        array.tolist(), array.view(Sub), None,
    ):  # fmt: skip
        assert call(other)[0] == "slow"
    array.flags.writeable = False
    assert call(array)[0] == "slow"


def test_the_second_specialization_is_tried_when_the_first_does_not_fit(made: Made) -> None:
    ints = made.special(1, ("INT", 0, 8), result=ONE_INT)
    floats = made.special(1, ("FLOAT", 0, 8), result=ONE_FLOAT)
    call = made.callable(ints, floats)
    assert (call(3), call(2.5), call("x")[0]) == (3, 2.5, "slow")


def test_attributes_items_constants_and_identities(made: Made) -> None:
    class Thing:
        pass

    thing = Thing()
    thing.n = (5, 6)  # type: ignore[attr-defined] # any attribute
    names = [sys.intern("n"), 1]
    made.kept.append(names)
    call = made.callable(
        made.special(
            1,
            ("TYPE", 0, 0, id(Thing)),
            ("ATTR", 0, 1, id(names[0])),
            ("ITEM", 1, 2, id(names[1])),
            ("EQINT", 2, 0, 0, 6),
            ("INT", 2, 8),
            result=ONE_INT,
        )
    )
    assert call(thing) == 6
    thing.n = (5, 7)  # type: ignore[attr-defined] # any attribute
    assert call(thing)[0] == "slow"
    del thing.n  # type: ignore[attr-defined] # any attribute
    assert call(thing)[0] == "slow"
    assert call(object())[0] == "slow"


def test_a_global_is_looked_up_and_a_hidden_builtin_is_noticed(made: Made) -> None:
    scope: dict[str, Any] = {"a": 4}
    keys = [sys.intern("a"), sys.intern("range")]
    made.kept += [scope, keys]
    call = made.callable(
        made.special(
            0,
            ("GLOBAL", 0, 1, id(scope), id(keys[0])),
            ("NOKEY", 0, 0, id(scope), id(keys[1])),
            ("INT", 1, 8),
            result=ONE_INT,
        )
    )
    assert call() == 4
    scope["range"] = None
    assert call()[0] == "slow"
    del scope["range"], scope["a"]
    assert call()[0] == "slow"


def test_a_launch_that_fails_raises(made: Made) -> None:
    call = made.callable(made.special(1, ("INT", 0, 8), result=ONE_INT))
    with pytest.raises(IndexError, match="site 1"):
        call(99)
    assert call(98) == 98


def test_several_results_are_a_tuple(made: Made) -> None:
    call = made.callable(made.special(1, ("INT", 0, 8), result=(3, 6, 15, 3, 15, 2, 15)))
    assert call(1) == (1, 1, True)
    assert made.callable(made.special(1, ("INT", 0, 8)))(1) is None


def test_nothing_leaks_and_the_object_is_a_normal_one(native_made: Made) -> None:
    made = native_made

    class Thing:
        def __init__(self) -> None:
            self.x = np.zeros(3)

    thing = Thing()
    name = sys.intern("x")
    dtype = np.dtype("f8")
    call = made.callable(
        made.special(
            1,
            ("ATTR", 0, 1, id(name)),
            ("ARRAYS", 0, 1, id(dtype), 1, 1 | 1 << 32, made.words(8 << 32 | 8)),
            result=ONE_INT,
        )
    )
    counts = [sys.getrefcount(o) for o in (thing, thing.x, dtype, None)]
    for _ in range(10_000):
        call(thing)
        call(3)
    after = [sys.getrefcount(o) for o in (thing, thing.x, dtype, None)]
    assert after[:3] == counts[:3]
    assert abs(after[3] - counts[3]) < 100
    call.anything = call
    assert call.__doc__ == "A native callable."
    gone = weakref.ref(call)
    del call
    gc.collect()
    assert gone() is None


def test_methods_get_their_object(native_made: Made) -> None:
    call = native_made.callable(native_made.special(2, ("INT", 1, 8), result=ONE_INT))

    class Thing:
        method = call

    thing = Thing()
    bound = thing.method
    assert (thing.method(7), bound(8), Thing.method(thing, 9)) == (7, 8, 9)
