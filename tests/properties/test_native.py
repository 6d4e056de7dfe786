# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""Whatever becomes of objects, classes and globals, a native kernel says what Python says."""

from __future__ import annotations

import copy
import linecache
import sys
from dataclasses import dataclass
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import whorl
from tests.property_settings import MACHINES
from whorl.launch.level import host_level

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or host_level() == "generic", reason="the native way is for x86-64"
)
FACTOR: Any = 2.0
TABLE: Any = (1, 2)
GLOBALS = globals()


def helper(v, k=1.0):
    return v + k


class Plain:
    bias: Any = 1

    def change(self, v):
        return v * 2.0


class Other:
    bias: Any = 3

    def change(self, v):
        return v * 3.0


class Slotted:
    __slots__ = ("bias", "change", "inner", "n", "x")


class Inner:
    __slots__ = ("y", "z")


@whorl.kernel
def kernel(o, k):
    s = 0.0
    for i in range(o.n):
        s += helper(o.x[i]) * FACTOR + o.inner.y[i] + o.inner.z
    if whorl.static(TABLE[0] == 1):
        s += 100.0
    return s + o.change(s), o.bias, k


ARRAYS = st.builds(
    lambda dtype, step, n: np.arange(2 * n).astype(dtype)[::step],
    st.sampled_from(["f8", "f4", "i8", "i4", "u1"]), st.sampled_from([1, 2, -1]),
    st.integers(4, 6),
)  # fmt: skip
NUMBERS = st.sampled_from([1, 2, True, 1.0, 2.5, -0.0, np.int8(-3), np.float32(1.5), np.True_])
CODES = [(lambda v, k=1.0: v + k).__code__, (lambda v, k=1.0: v - k).__code__, helper.__code__]


def _doubled(v):
    return v * 5.0


class Mutations(RuleBasedStateMachine):
    """Changes one at a time; each is followed by a few calls, of which the last are native."""

    def __init__(self) -> None:
        super().__init__()
        self.objects: list[Any] = [Plain(), Slotted()]
        for thing in self.objects:
            thing.x, thing.n, thing.inner = np.ones(4), 4, Inner()
            thing.inner.y, thing.inner.z = np.ones(4), 1.0
        self.objects[1].bias, self.objects[1].change = 1, _doubled
        self.k: Any = 1

    def teardown(self) -> None:
        GLOBALS.update(FACTOR=2.0, TABLE=(1, 2))
        Plain.bias = 1
        helper.__code__, helper.__defaults__ = CODES[2], (1.0,)

    @rule(which=st.integers(0, 1), array=ARRAYS, inner=st.booleans())
    def rebind_an_array(self, which: int, array: Any, inner: bool) -> None:
        if inner:
            self.objects[which].inner.y = array
        else:
            self.objects[which].x = array

    @rule(which=st.integers(0, 1), flag=st.booleans())
    def change_an_array_in_place(self, which: int, flag: bool) -> None:
        self.objects[which].x.flags.writeable = flag

    @rule(which=st.integers(0, 1))
    def alias(self, which: int) -> None:
        self.objects[which].x = self.objects[which].inner.y

    @rule(which=st.integers(0, 1), number=NUMBERS, name=st.sampled_from(["z", "bias"]))
    def rebind_a_number(self, which: int, number: Any, name: str) -> None:
        thing = self.objects[which]
        setattr(thing.inner if name == "z" else thing, name, number)

    @rule(number=NUMBERS)
    def rebind_in_the_class(self, number: Any) -> None:
        vars(self.objects[0]).pop("bias", None)
        Plain.bias = number

    @rule(cls=st.sampled_from([Plain, Other]))
    def give_it_another_class(self, cls: type) -> None:
        self.objects[0].__class__ = cls

    @rule()
    def exchange_the_dict(self) -> None:
        self.objects[0].__dict__ = dict(reversed(vars(self.objects[0]).items()))

    @rule(which=st.integers(0, 1))
    def exchange_the_inner_object(self, which: int) -> None:
        old: Any = self.objects[which].inner
        new: Any = Inner()
        new.y, new.z = old.y.copy(), old.z
        self.objects[which].inner = new

    @rule(own=st.booleans())
    def exchange_a_method(self, own: bool) -> None:
        if own:
            self.objects[0].change = _doubled
        else:
            vars(self.objects[0]).pop("change", None)

    @rule(number=NUMBERS)
    def rebind_a_global(self, number: Any) -> None:
        GLOBALS["FACTOR"] = number

    @rule(table=st.sampled_from([(1, 2), [1], (2, 1), (True,), (1.0, 3)]))
    def rebind_a_constant(self, table: Any) -> None:
        GLOBALS["TABLE"] = table

    @rule(code=st.sampled_from(CODES), default=st.sampled_from([1.0, 2.0, 3]))
    def edit_the_helper(self, code: Any, default: Any) -> None:
        helper.__code__, helper.__defaults__ = code, (default,)

    @rule(number=NUMBERS)
    def pass_something_else(self, number: Any) -> None:
        self.k = number

    @invariant()
    def both_say_the_same(self) -> None:
        for thing in self.objects:
            wanted = kernel.interpret(thing, self.k)
            for _ in range(3):
                found = kernel(thing, self.k)
                assert list(map(type, found[1:])) == list(map(type, wanted[1:]))
                np.testing.assert_allclose(found, wanted, rtol=1e-5)


Mutations.TestCase.settings = MACHINES
TestMutations = Mutations.TestCase


# -- members of objects, wherever they lie ------------------------------------------------

NAMES = [f"m{i}" for i in range(8)]
MANY = [f"m{i}" for i in range(34)]  # more than instances share keys for


class Loose:
    pass


class Deeper(Loose):
    m0 = None
    __slots__ = ("m1", "m5")


class Narrow:
    __slots__ = tuple(MANY)


@dataclass
class Data:
    m0: Any = None
    m3: Any = None


KINDS: list[Any] = [Loose, Deeper, Narrow, Data, SimpleNamespace]


@whorl.kernel
def of_members(o):
    s = 0.0
    if whorl.static(o.m7 is not None):
        s += o.m7[0]
    return (
        s + o.m0[0] + 2 * o.m1[0] + 3 * o.m2[0] + 4 * o.m3[0] + 5 * o.m4[0] + 6 * o.m5[0]
    ), o.m6[1]


SOURCES: dict[str, tuple[int, None, list[str], str]] = {}
"""What is in no file. Whoever clears the cache of lines, as a doctest does, would lose it."""


def of_many_members() -> Any:
    lines = "".join(f"    s += {i + 1} * o.{name}[0]\n" for i, name in enumerate(MANY))
    text = f"@whorl.kernel\ndef of_many(o):\n    s = 0.0\n{lines}    return s\n"
    file = f"<{__name__}: of_many>"
    SOURCES[file] = (len(text), None, text.splitlines(keepends=True), file)
    linecache.cache.update(SOURCES)
    exec(compile(text, file, "exec"), GLOBALS)
    return GLOBALS["of_many"]


of_many = of_many_members()
WHICH = st.integers(0, len(KINDS) - 1)


class MembersOfObjects(RuleBasedStateMachine):
    """Attributes come, go and move; what a native kernel reads is what Python reads."""

    def __init__(self) -> None:
        super().__init__()
        linecache.cache.update(SOURCES)
        self.numbers = count()
        self.objects: list[Any] = [kind() for kind in KINDS]
        for thing in self.objects:
            self.fill(thing, MANY)

    def fill(self, thing: Any, names: Any) -> None:
        for name in names:
            setattr(thing, name, np.full(2, float(next(self.numbers))))

    def teardown(self) -> None:
        for name in NAMES:
            if name in vars(Loose):
                delattr(Loose, name)

    @rule(which=WHICH, name=st.sampled_from(MANY))
    def rebind(self, which: int, name: str) -> None:
        self.fill(self.objects[which], [name])

    @rule(which=WHICH, kind=st.integers(0, 3))
    def rebind_to_another_kind(self, which: int, kind: int) -> None:
        others: Any = [np.ones(3, "f4"), np.arange(8.0)[::2], None, np.ones(4)]
        self.objects[which].m7 = others[kind]

    @rule(which=WHICH, name=st.sampled_from(MANY), again=st.booleans())
    def delete(self, which: int, name: str, again: bool) -> None:
        thing = self.objects[which]
        is_own = hasattr(thing, name) and not isinstance(getattr(type(thing), name, None), property)
        if is_own and name != "m0":
            delattr(thing, name)
            if again:  # it is the last one now
                self.fill(thing, [name])

    @rule(which=WHICH)
    def write_to_the_dict(self, which: int) -> None:
        if hasattr(self.objects[which], "__dict__"):
            vars(self.objects[which])["m2"] = np.full(2, 77.0)

    @rule(which=WHICH)
    def exchange_the_dict(self, which: int) -> None:
        thing = self.objects[which]
        if hasattr(thing, "__dict__") and type(thing) is not SimpleNamespace:
            thing.__dict__ = dict(reversed(vars(thing).items()))

    @rule(which=WHICH)
    def add_a_key_that_is_no_text(self, which: int) -> None:
        if hasattr(self.objects[which], "__dict__"):
            own: Any = vars(self.objects[which])
            own[5] = 5

    @rule(which=WHICH, names=st.permutations(MANY))
    def begin_again_in_another_order(self, which: int, names: list[str]) -> None:
        self.objects[which] = KINDS[which]()
        self.fill(self.objects[which], names)

    @rule(which=WHICH, few=st.integers(7, 12))
    def begin_again_with_few(self, which: int, few: int) -> None:
        self.objects[which] = KINDS[which]()
        self.fill(self.objects[which], MANY[:few])

    @rule(which=WHICH)
    def copy_it(self, which: int) -> None:
        self.objects[which] = copy.copy(self.objects[which])

    @rule(name=st.sampled_from(NAMES[1:5]))
    def put_it_into_the_class(self, name: str) -> None:
        if name in vars(Loose):
            delattr(Loose, name)
        else:
            setattr(Loose, name, property(lambda self: np.full(2, 33.0), lambda self, value: None))

    @invariant()
    def both_say_the_same(self) -> None:
        for thing in self.objects:
            for kernel_ in (of_members, of_many):
                wanted = said(kernel_.interpret, thing)
                for _ in range(3):
                    assert said(kernel_, thing) == wanted


def said(call: Any, thing: Any) -> Any:
    """What a call returns; that it fails, if it does: with an attribute, or with what is None."""
    try:
        return call(thing)
    except (AttributeError, TypeError, whorl.KernelError):
        return "failed"


MembersOfObjects.TestCase.settings = settings(MACHINES, phases=[Phase.explicit, Phase.generate])
TestMembersOfObjects = MembersOfObjects.TestCase
