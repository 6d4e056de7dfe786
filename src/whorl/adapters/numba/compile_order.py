"""Which functions this process has compiled under an earlier state of what they read.

Numba links a function with those that it calls as they were when they were first compiled: a global
that was changed since then is old in them. And a function without options takes some from the one
that it is first compiled for. So what is made then depends on what went before.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Iterable, Iterator
from functools import wraps
from typing import Any, Final

from numba.core import event
from numba.core.dispatcher import Dispatcher
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.ufuncbuilder import UFuncDispatcher

from whorl.adapters.code_description import CodeDescription
from whorl.errors import UnsupportedFunction, UnsupportedValue
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.bytecode import nested_codes
from whorl.signals import pass_on

from .ignored_names import described
from .owner import name_of, own_options, resolved_options

_KIND: Final = "numba:compile"


@dataclass(frozen=True, slots=True, eq=False)
class _Compile:
    """One compile: what the function was made of then, if that is known, and what it was passed."""

    description: CodeDescription | None
    passed: tuple[str, ...]

    def is_that_of(self, description: CodeDescription | None) -> bool:
        """Whether it is this very description: checking one takes milliseconds."""
        return description is not None and self.description is description

    def is_current(self) -> bool:
        return self.description is not None and self.description.holds()

    def reads(self, owner: object) -> bool:
        met = () if self.description is None else self.description.met
        return any(value is owner for _, value in met)


class CompileOrder(event.Listener):  # type: ignore[misc]  # Numba has no types
    """Listens to the compiles of this process, those of functions without a cache too."""

    def __init__(self) -> None:
        self._compiles: weakref.WeakKeyDictionary[Any, list[_Compile]] = weakref.WeakKeyDictionary()
        event.register(_KIND, self)
        self._listen_to_ufuncs()

    def on_start(self, event: Any) -> None:
        """Note what a function is made of before it is compiled."""
        dispatcher = event.data["dispatcher"]
        if isinstance(dispatcher, Dispatcher):
            self.note(dispatcher, None)

    def _listen_to_ufuncs(self) -> None:
        """Note the inner functions of ufuncs too, whose compiles are no events."""
        compile_core = UFuncDispatcher._compile_core

        @wraps(compile_core)
        def noting(dispatcher: Any, *words: Any, **options: Any) -> Any:
            self.note(dispatcher, None)
            return compile_core(dispatcher, *words, **options)

        UFuncDispatcher._compile_core = noting

    def on_end(self, event: Any) -> None:
        """Nothing is to be done then."""

    def note(self, dispatcher: Any, description: CodeDescription | None) -> None:
        """Note that a function is compiled or loaded now."""
        if str(dispatcher.py_func.__module__).partition(".")[0] == "numba":
            return
        noted = self._compiles.setdefault(dispatcher, [])
        passed = resolved_options({})
        last = noted[-1] if noted and noted[-1].passed == passed else None
        if last is not None and (last.is_that_of(description) or last.is_current()):
            return
        noted.append(_Compile(description or _description_of(dispatcher), passed))

    def note_loaded(self, owner: Any, description: CodeDescription) -> None:
        """Note that a function was found in a cache."""
        if isinstance(owner, Dispatcher | UFuncDispatcher):
            self.note(owner, description)

    def obstacle_after(self, owner: object, described: Iterable[CodeDescription]) -> str:
        """The same after a compile, while which other threads can have changed something."""
        described = tuple(described)
        if not all(each.holds() for each in described):
            return "something that it reads was changed while it was compiled"
        return self.obstacle(owner, described)

    def obstacle(self, owner: object, described: Iterable[CodeDescription]) -> str:
        """Why other processes must not have what was compiled; empty if they may."""
        described = tuple(described)
        for dispatcher in self._called(owner, described):
            noted = self._compiles.get(dispatcher)
            callee = name_of(dispatcher.py_func)
            if noted is None:
                return (
                    f"it calls {callee}, which was compiled before whorl took note. Give {callee} "
                    "a cache too (cache=True), or begin the program with "
                    "whorl.adapters.numba.install()"
                )
            if not all(each.is_current() for each in noted):
                return f"it calls {callee}, and something that {callee} read has changed since"
        partner = self._partner(owner, described)
        if partner:
            return f"it and {partner} call each other, and Numba cannot load such functions"
        return ""

    def _partner(self, owner: object, described: Iterable[CodeDescription]) -> str:
        """The name of a function that calls this one and is called by it; empty if there is none.

        Each refers to the code of the other: Numba crashes when it loads one of them.
        """
        others = (
            value
            for each in described
            for _, value in each.met
            if isinstance(value, Dispatcher) and value is not owner
        )
        for other in others:
            if any(noted.reads(owner) for noted in self._compiles.get(other, ())):
                return name_of(other.py_func)
        return ""

    def passed(self, owner: object, described: Iterable[CodeDescription]) -> tuple[str, ...]:
        """The options that called functions have taken from others before."""
        own = own_options(owner)
        return tuple(
            sorted(
                f"{name_of(dispatcher.py_func)}: {' '.join(each.passed)}"
                for dispatcher in self._called(owner, described)
                for each in self._compiles.get(dispatcher, ())
                if each.passed != own
            )
        )

    def _called(self, owner: object, described: Iterable[CodeDescription]) -> Iterator[Any]:
        """The functions that have been compiled and can be called by one that is described."""
        met = [value for each in described for _, value in each.met]
        seen = {id(owner)}
        for value in (_dispatcher_of(each) for each in met):
            if value is not None and value.overloads and id(value) not in seen:
                seen.add(id(value))
                yield value
        codes = {
            id(inner)
            for value in met
            if type(value) is types.FunctionType
            for inner in nested_codes(value.__code__)
        }
        for dispatcher in list(self._compiles):
            if id(dispatcher) not in seen and id(dispatcher.py_func.__code__) in codes:
                yield dispatcher


def _dispatcher_of(value: object) -> Any:
    """What compiles a function or a ufunc; None for other values."""
    inner = value._dispatcher if isinstance(value, DUFunc) else value
    return inner if isinstance(inner, Dispatcher | UFuncDispatcher) else None


def _description_of(dispatcher: Any) -> CodeDescription | None:
    try:
        function = dispatcher.py_func
        return described(name_of(function), function, dispatcher)
    except (UnsupportedFunction, UnsupportedValue):
        return None
    except Exception as error:
        pass_on(error)
        return None
