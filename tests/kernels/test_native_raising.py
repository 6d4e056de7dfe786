"""What code of the user raises during a native call goes to the caller, and is run once."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.native_calls import needs_native, warmed

pytestmark = needs_native


class Remote:
    """Its member is read through code, which may raise."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.is_flaky = False
        self.runs = 0
        self.held = np.ones(3)

    def read(self) -> Any:
        self.runs += 1
        error = self.error
        if self.is_flaky:
            self.error = None
        if error is not None:
            raise error
        return self.held

    @property
    def x(self) -> Any:
        return self.read()


class Asked:
    """The same through `__getattr__`."""

    def __init__(self) -> None:
        self.remote = Remote()

    def __getattr__(self, name: str) -> Any:
        if name == "x":
            return self.remote.read()
        raise AttributeError(name)


class Described:
    """The same through a descriptor of the user's."""

    class Descriptor:
        def __get__(self, instance: Any, owner: type) -> Any:
            return instance.remote.read()

        def __set__(self, instance: Any, value: Any) -> None:
            raise AttributeError

    x = Descriptor()

    def __init__(self) -> None:
        self.remote = Remote()


def first(o: Any) -> Any:
    return o.x[0]


KINDS: list[type[Any]] = [Remote, Asked, Described]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_flaky", [True, False])
@pytest.mark.parametrize("error", [ConnectionError("gone"), KeyError("x"), OSError(5, "no")])
def test_an_error_is_raised_to_the_caller_and_the_code_is_run_once(
    kind: type[Any], is_flaky: bool, error: Exception
) -> None:
    kernel, thing = whorl.kernel(first), kind()
    warmed(kernel, thing)
    remote = getattr(thing, "remote", thing)
    for _ in range(3):
        remote.error, remote.is_flaky, remote.runs = error, is_flaky, 0
        with pytest.raises(type(error)) as caught:
            kernel(thing)
        assert caught.value is error
        assert remote.runs == 1
    remote.error = None
    assert kernel(thing) == 1.0


class Late(Exception):
    """What a handler raises."""


class Handling:
    """Handlers of other kinds than functions."""

    def method(self, number: int, frame: Any) -> None:
        raise Late

    def __call__(self, number: int, frame: Any) -> None:
        raise Late


def handler(number: int, frame: Any) -> None:
    raise Late


HANDLERS: dict[str, Callable[..., Any]] = {
    "function": handler,
    "method": Handling().method,
    "object": Handling(),
    "partial": partial(handler),
}


@pytest.fixture
def handled() -> Iterator[Callable[[Any], None]]:
    before = signal.getsignal(signal.SIGUSR1)

    def install(handler: Any) -> None:
        signal.signal(signal.SIGUSR1, handler)

    yield install
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("name", HANDLERS)
@pytest.mark.parametrize("calls", [1, 2, 3, 6])
def test_no_signal_inside_of_a_property_is_lost(
    name: str, calls: int, handled: Callable[[Any], None]
) -> None:
    class Signalled:
        is_due = False

        @property
        def x(self) -> Any:
            if self.is_due:
                self.is_due = False
                signal.raise_signal(signal.SIGUSR1)
            return np.ones(3)

    handled(HANDLERS[name])
    kernel, thing = whorl.kernel(first), Signalled()
    for _ in range(calls):
        kernel(thing)
    for _ in range(10):
        thing.is_due = True
        with pytest.raises(Late):
            kernel(thing)
        assert kernel(thing) == 1.0


def test_what_a_call_would_not_come_to_is_not_raised() -> None:
    class Optional:
        def __init__(self, *, has_x: bool) -> None:
            self.has_x = has_x

        @property
        def x(self) -> Any:
            if not self.has_x:
                raise RuntimeError("it has none")
            return np.ones(3)

    @whorl.kernel
    def either(o: Any) -> Any:
        if whorl.static(o.has_x):
            return o.x[0]
        return 7.0

    with_x, without = Optional(has_x=True), Optional(has_x=False)
    for _ in range(3):
        for _ in range(6):
            assert either(with_x) == 1.0
        for _ in range(6):
            assert either(without) == 7.0


def test_an_attribute_error_of_a_property_leads_to_getattr_as_in_python() -> None:
    class Fallback:
        is_broken = False

        @property
        def x(self) -> Any:
            if self.is_broken:
                raise AttributeError("x")
            return np.ones(3)

        def __getattr__(self, name: str) -> Any:
            if name != "x":
                raise AttributeError(name)
            return np.full(3, 5.0)

    kernel, thing = whorl.kernel(first), Fallback()
    warmed(kernel, thing)
    thing.is_broken = True
    assert kernel(thing) == 5.0
    thing.is_broken = False
    assert kernel(thing) == 1.0


def test_an_attribute_error_is_absence_where_that_is_a_fact() -> None:
    class Maybe:
        is_there = True

        @property
        def x(self) -> Any:
            if not self.is_there:
                raise AttributeError("x")
            return np.ones(3)

    @whorl.kernel
    def either(o: Any) -> Any:
        if hasattr(o, "x"):
            return o.x[0]
        return 7.0

    thing = Maybe()
    for _ in range(3):
        for _ in range(6):
            assert either(thing) == 1.0
        thing.is_there = False
        for _ in range(6):
            assert either(thing) == 7.0
        thing.is_there = True


def test_an_error_of_a_key_of_a_dict_is_raised_to_the_caller() -> None:
    class Key:
        error: Exception | None = None

        def __hash__(self) -> int:
            return hash("x")

        def __eq__(self, other: object) -> bool:
            if self.error is not None:
                raise self.error
            return False

    @whorl.kernel
    def of_dict(d):  # type: ignore[no-untyped-def] # an annotation would be read
        return d["x"][0]

    key = Key()
    things = {key: 1, "x": np.ones(3)}
    assert warmed(of_dict, things) == 1.0
    key.error = ConnectionError("gone")
    with pytest.raises(ConnectionError):
        of_dict(things)
    key.error = None
    assert of_dict(things) == 1.0


def test_an_error_while_a_kernel_is_resumed_is_the_callers() -> None:
    @whorl.kernel
    def paused(o, stop):  # type: ignore[no-untyped-def] # an annotation would be read
        o.x[0] += 1
        with whorl.checkpoint(7, yield_on=stop):
            o.x[1] += 1

    thing, stop = Remote(), np.zeros((), np.int32)
    for _ in range(6):
        paused(thing, stop)
        paused.resume(thing, stop, from_checkpoint=7)
    for call in (paused, partial(paused.resume, from_checkpoint=7)):
        thing.error, thing.runs = ConnectionError("gone"), 0
        with pytest.raises(ConnectionError):
            call(thing, stop)
        assert thing.runs == 1
        thing.error = None
        call(thing, stop)
