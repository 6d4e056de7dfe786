"""Steps, chains of steps, and cached steps, which run once for each input.

A step is anything that is called with one value and returns another: a function, or an instance
of a frozen dataclass whose fields are its configuration. A key contains the code of a step with all
that it reads, and its configuration; if either changes between two calls, so does the key.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar, cast, overload

from whorl.calls.explanation import Explanation
from whorl.errors import show_users_frames
from whorl.fingerprint import Digest, Fingerprinter, StableDigest
from whorl.fingerprint.markers import exclude
from whorl.fingerprint.names import full_name
from whorl.fingerprint.static_lookup import find
from whorl.store import Cache, Store

from .dependencies import Declarations
from .request import RequestBuilder, ResultOptions, ResultRequest
from .result_format import Serializer
from .result_store import ProcessStore, result_store
from .results import Results

In = TypeVar("In")
Out = TypeVar("Out")
In_contra = TypeVar("In_contra", contravariant=True)
Out_co = TypeVar("Out_co", covariant=True)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
G = TypeVar("G")


class Step(Generic[In_contra, Out_co]):
    """A base for steps that have a configuration; a plain function is a step without one.

    >>> from dataclasses import dataclass
    >>> import whorl
    >>> @dataclass(frozen=True)
    ... class Repeat(whorl.Step[str, str]):
    ...     times: int = 2
    ...     def __call__(self, value: str, /) -> str:
    ...         return value * self.times
    >>> Repeat(3).then(len)("ab")
    6
    """

    def __call__(self, value: In_contra, /) -> Out_co:
        """What the step makes of a value."""
        raise NotImplementedError(f"{type(self).__qualname__} has no __call__")

    def then(self, following: Callable[[Out_co], G]) -> Chain[In_contra, G]:
        """This step and another one after it."""
        return Chain((*_steps_of(self), *_steps_of(following)))


@dataclass(frozen=True, slots=True, repr=False)
class Chain(Step[In_contra, Out_co]):
    """Steps, one after the other; made by `whorl.chain`."""

    __whorl_constant__: ClassVar[bool] = True

    steps: tuple[Callable[[Any], Any], ...]

    def __call__(self, value: In_contra, /) -> Out_co:
        """What all steps in turn make of a value."""
        result: Any = value
        for step in self.steps:
            result = step(result)
        return cast("Out_co", result)

    def __repr__(self) -> str:
        return f"chain({', '.join(map(step_name, self.steps))})"

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Callable[[Any], Any]]:
        return iter(self.steps)

    def replaced(
        self, step: Callable[[Any], Any], by: Callable[[Any], Any]
    ) -> Chain[In_contra, Out_co]:
        """The same chain with another step in the place of one.

        >>> import whorl
        >>> whorl.chain(str.strip, len).replaced(len, str.upper)("  ab ")
        'AB'
        """
        if not any(known is step for known in self.steps):
            raise ValueError(f"{step_name(step)} is no step of {self!r}")
        return Chain(tuple(by if known is step else known for known in self.steps))


def _steps_of(step: Any) -> tuple[Callable[[Any], Any], ...]:
    return step.steps if type(step) is Chain else (step,)


@overload
def chain(a: Callable[[A], B], /) -> Chain[A, B]: ...
@overload
def chain(a: Callable[[A], B], b: Callable[[B], C], /) -> Chain[A, C]: ...
@overload
def chain(a: Callable[[A], B], b: Callable[[B], C], c: Callable[[C], D], /) -> Chain[A, D]: ...
@overload
def chain(
    a: Callable[[A], B], b: Callable[[B], C], c: Callable[[C], D], d: Callable[[D], E], /
) -> Chain[A, E]: ...
@overload
def chain(
    a: Callable[[A], B],
    b: Callable[[B], C],
    c: Callable[[C], D],
    d: Callable[[D], E],
    e: Callable[[E], F],
    /,
) -> Chain[A, F]: ...
@overload
def chain(
    a: Callable[[A], B],
    b: Callable[[B], C],
    c: Callable[[C], D],
    d: Callable[[D], E],
    e: Callable[[E], F],
    f: Callable[[F], G],
    /,
    *more: Callable[[Any], Any],
) -> Chain[A, Any]: ...
def chain(*steps: Callable[[Any], Any]) -> Chain[Any, Any]:
    """One step that is several, each given what the one before returned.

    A chain in a chain is its steps. Type checkers follow the types through five steps.

    >>> import whorl
    >>> value_text = whorl.chain(str.split, len)
    >>> whorl.chain(str.strip, value_text)("  one two "), whorl.chain(str.strip, value_text)
    (2, chain(str.strip, str.split, len))
    """
    if not steps:
        raise TypeError("a chain has at least one step")
    for step in steps:
        if not callable(step):
            raise TypeError(f"a step is something to call, not {step!r}")
    return Chain(tuple(inner for step in steps for inner in _steps_of(step)))


def step_name(step: object) -> str:
    """The name of a step, the same in every process.

    >>> step_name(len), step_name(chain(str.strip, len))
    ('len', 'chain(str.strip, len)')
    """
    if isinstance(step, Chain):
        return repr(step)
    if isinstance(step, CachedStep):
        return step.name
    named = step if hasattr(step, "__qualname__") else type(step)
    if not getattr(named, "__module__", None) or named.__module__ == "builtins":
        return cast("str", named.__qualname__)
    return full_name(named)


def _home_of(step: Any) -> Mapping[str, Any]:
    """The names in the module that a step is from."""
    if isinstance(step, types.FunctionType):
        return step.__globals__
    module = getattr(step, "__module__", None)
    loaded = sys.modules.get(module) if isinstance(module, str) else None
    return {} if loaded is None else vars(loaded)


Persistent = Cache | Store | str | os.PathLike[str]


# The fingerprint of a cached step is made of its step and its options.
@exclude("_key", "_results", "store")
class CachedStep(Step[In, Out]):
    """A step that runs once for each input that counts as another.

    `key` says what counts of an input: a `Fingerprinter` with rules (one that skips source
    locations for what is kept on disk, one that sees them for what lives in the process), or a
    function that returns a digest or a tuple of what counts. `store` is a directory, a cache, or
    a `ProcessStore` (or "process") for results that are live objects. The other options are those
    of `whorl.cached`.

    >>> import whorl
    >>> def parse(text: str) -> list[str]:
    ...     print("parsing")
    ...     return text.split()
    >>> step = whorl.CachedStep(parse, store="process")
    >>> step("a b"), step("a b")
    parsing
    (['a', 'b'], ['a', 'b'])
    """

    __whorl_constant__: ClassVar[bool] = True

    @overload
    def __init__(
        self,
        step: Callable[[In], Out],
        *,
        key: Fingerprinter
        | Callable[[In], StableDigest]
        | Callable[[In], tuple[object, ...]]
        | None = None,
        store: Persistent | None = None,
        salt: str = "",
        reads: Iterable[object] = (),
        ignores: Iterable[object] = (),
        files: Iterable[str | os.PathLike[str]] = (),
        environment: Mapping[str, str | None] | Iterable[str] = (),
        serializer: Serializer | None = None,
        writable: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        step: Callable[[In], Out],
        *,
        key: Fingerprinter
        | Callable[[In], Digest]
        | Callable[[In], tuple[object, ...]]
        | None = None,
        store: ProcessStore | Literal["process"],
        salt: str = "",
        reads: Iterable[object] = (),
        ignores: Iterable[object] = (),
        files: Iterable[str | os.PathLike[str]] = (),
        environment: Mapping[str, str | None] | Iterable[str] = (),
    ) -> None: ...
    def __init__(
        self,
        step: Callable[[In], Out],
        *,
        key: Any = None,
        store: Persistent | ProcessStore | None = None,
        salt: str = "",
        reads: Iterable[object] = (),
        ignores: Iterable[object] = (),
        files: Iterable[str | os.PathLike[str]] = (),
        environment: Mapping[str, str | None] | Iterable[str] = (),
        serializer: Serializer | None = None,
        writable: bool = False,
    ) -> None:
        if not callable(step):
            raise TypeError(f"a step is something to call, not {step!r}")
        code = _code_of(step)
        if code is not None and code.co_flags & _NO_PLAIN_FUNCTION:
            raise TypeError(
                f"{step_name(step)} is a generator or a coroutine: its values come to be while "
                "they are consumed and cannot be kept. Let the step return a list; coroutines can "
                "be kept by whorl.cached"
            )
        self.step = step
        self.salt = salt
        self.store = store
        self.name = step_name(step)
        self._key = None if isinstance(key, Fingerprinter) else key
        options = ResultOptions(
            key=key, reads=reads, ignores=ignores, files=files, environment=environment,
            salt=salt, store=store, serializer=serializer, writable=writable,
        )  # fmt: skip
        names = ("input" if self._key is None else "key",)
        requests = RequestBuilder(self.name, step, names, options, _folder_of(step))
        self._results = Results(requests, result_store(self.name, options, _home_of(step)))

    def __whorl_declarations__(self) -> Declarations:
        """What cached functions and steps that call this one need to know."""
        return self._results.requests.declarations(has_all_files=True)

    def __repr__(self) -> str:
        return f"<cached step {self.name}>"

    def __call__(self, value: In, /) -> Out:
        """What the step makes of a value, or has made of it before."""
        try:
            results = self._results
            results.follow_settings()
            if results.is_off:
                return cast("Out", results.run_without_cache(lambda: self.step(value)))
            memo = results.memo((value if self._key is None else self._key(value),))
            result = results.recall(memo)
            if result is not None:
                return cast("Out", result.value())
            return cast(
                "Out",
                results.obtain(lambda: (memo, self._request(value)), lambda: self.step(value)),
            )
        except Exception as error:
            show_users_frames(error)
            raise

    def _request(self, value: In) -> ResultRequest:
        if self._key is None:
            return self._results.request((value,))
        counted = self._key(value)
        if not isinstance(counted, Digest | tuple):
            raise TypeError(
                f"the key of {self.name} is {type(counted).__name__} {counted!r}; it should be a "
                "digest, or a tuple of what counts"
            )
        return self._results.request((counted,))

    def key(self, value: In, /) -> Digest:
        """The key under which the result for an input is kept, without making it."""
        return self._request(value).key

    def explain(self, value: In, /) -> Explanation:
        """Whether an input would be a hit, and if not what differs, without running the step."""
        return self._results.explain(self._request(value))

    def uncached(self, value: In, /) -> Out:
        """The step itself: nothing is looked up, nothing is kept."""
        return self.step(value)

    def invalidate(self, value: In, /) -> bool:
        """Forget the result for an input; whether there was one."""
        return self._results.forget(self._request(value))

    def invalidate_all(self) -> int:
        """Forget every result of this step, also those of earlier code; how many."""
        return self._results.forget_all()

    def stats(self) -> dict[str, int]:
        """How often each ending was met in this process."""
        return self._results.stats()


_NO_PLAIN_FUNCTION: Final = 0x20 | 0x80 | 0x200  # generator, coroutine, asynchronous generator


def _code_of(step: Any) -> types.CodeType | None:
    """The code that runs when a step is called, if it is written in Python."""
    called: Any = find(type(step), "__call__")
    code = getattr(step, "__code__", getattr(called, "__code__", None))
    return code if isinstance(code, types.CodeType) else None


def _folder_of(step: Any) -> str:
    code = _code_of(step)
    file = code.co_filename if code is not None else ""
    return os.path.dirname(os.path.abspath(file))  # noqa: PTH100, PTH120  # need not be there
