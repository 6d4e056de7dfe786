"""Private names of a class are mangled as Python mangles them."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl


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
    private: Any = Private()
    assert private.given(4, _Private__b=1) == (10, 1)
    with pytest.raises(whorl.KernelError, match="'_Private__b' is declared as int"):
        private.given(4, _Private__b=1.5)


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
