"""Cached functions: `whorl.cached` and what it returns."""

from __future__ import annotations

import functools
import inspect
import os
import types
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Generic, Literal, ParamSpec, TypeVar, cast, overload

from whorl.calls.events import emit, listeners
from whorl.calls.explanation import Explanation
from whorl.errors import show_users_frames
from whorl.fingerprint import Digest, Fingerprinter
from whorl.fingerprint.markers import exclude as excluded
from whorl.fingerprint.names import full_name
from whorl.fingerprint.tokens import dumps
from whorl.lazy import importing
from whorl.store import Cache, Store

from .arguments import SHORT, CountedParameters, KeyFunction, leaf_test
from .declared_inputs import as_list
from .dependencies import Declarations
from .request import OnDrift, RequestBuilder, ResultOptions, ResultRequest
from .result_format import Serializer
from .result_store import ProcessStore, result_store
from .results import Results, settings_epoch

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

AnyStore = Cache | Store | ProcessStore | str | os.PathLike[str] | Literal["process"]


# The fingerprint of a cached function is made of its function and its options; the names and texts
# that it has copied from the function count there, if at all.
@excluded(*functools.WRAPPER_ASSIGNMENTS, "__wrapped__")
@excluded("_are_leaves", "_bind", "_parameters", "_results", "_select")
class CachedFunction(Generic[P, R]):
    """A function whose results are kept; made by `whorl.cached`.

    It can be called by several threads at once, be a method, and be pickled by name like the
    function it replaces.
    """

    __name__: str
    __qualname__: str
    __wrapped__: Callable[P, R]

    def __init__(self, function: types.FunctionType, options: _Options) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.options = options
        names = self._read_parameters()
        self._results = options.results(function, names)

    def _read_parameters(self) -> tuple[str, ...]:
        """Prepare for calls with the parameters of the function as it is now; what counts."""
        function, key = self.function, self.options.key
        self._parameters = parameters = CountedParameters(function, dict(self.options.parameters))
        self._bind = parameters.bind
        self._select: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None
        names = parameters.names
        if callable(key) and not isinstance(key, Fingerprinter):
            self._select, names = KeyFunction(parameters.binding, key), ("key",)
        elif not parameters.all_count:
            self._select = parameters.counted
        self._are_leaves = leaf_test(len(names))
        return names

    def _renew(self) -> bool:
        """Follow the function's parameters and defaults; whether they were others until now."""
        binding = self._parameters.binding
        if not binding.has_parameters:
            self._results.requests.names = self._read_parameters()
            return True
        was_current = binding.has_defaults
        self._bind = binding.bind
        return not was_current

    @property
    def __whorl_function__(self) -> types.FunctionType:
        """The function itself, for readers of its code."""
        return self.function

    def __whorl_declarations__(self) -> Declarations:
        """What cached functions that call this one need to know."""
        has_all_files = not self.options.marked("by_content")
        return self._results.requests.declarations(has_all_files=has_all_files)

    def __repr__(self) -> str:
        return f"<cached {self._results.name}>"

    def __reduce__(self) -> str:
        return self.function.__qualname__

    @overload
    def __get__(self, instance: None, owner: type) -> CachedFunction[P, R]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> BoundCached[R]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else BoundCached(self, instance)

    # -- calling --------------------------------------------------------------------------

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """The result: recalled, found or made. Hot: see `bench/steps.py`."""
        try:
            results = self._results
            if results.epoch is not settings_epoch[0]:
                results.reset()
            if results.is_off:
                return cast("R", results.run_without_cache(lambda: self.function(*args, **kwargs)))
            try:
                values = self._bind(*args, **kwargs)
                if self._select is not None:
                    values = self._select(values)
            except TypeError:  # maybe because parameters or defaults are others by now
                if not self._renew():
                    raise
                values = self._values(args, kwargs)
            # The same as `results.memo`, faster for a few leaves.
            if results.has_declared or not self._are_leaves(values):
                memo: object = results.memo(values)
            else:
                memo = dumps(values, 2)
                if len(memo) > SHORT:
                    memo = results.memo(values)
            row = results.rows.get(memo)
            if row is not None and row[0]():
                results.recalled += 1
                if listeners:
                    emit("recalled", results.name)
                result = row[1]
                return cast("R", result.constant if result.is_constant else result.value())
            run = functools.partial(self.function, *args, **kwargs)
            return cast("R", results.obtain(lambda: self._request(args, kwargs), run))
        except Exception as error:
            show_users_frames(error)
            raise

    def _values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """What counts of the arguments: the slow twin of the beginning of a call."""
        values = self._bind(*args, **kwargs)
        return values if self._select is None else self._select(values)

    def _request(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[object, ResultRequest]:
        """The memo key and the request of a call, with the function as it is now."""
        self._renew()
        values = self._values(args, kwargs)
        return self._results.memo(values), self._results.request(values)

    # -- inspection -----------------------------------------------------------------------

    def key(self, /, *args: P.args, **kwargs: P.kwargs) -> Digest:
        """The key under which the result of a call is kept, without making it."""
        return self._request(args, kwargs)[1].key

    def explain(self, /, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        """Whether a call would be a hit, and if not what differs, without making it."""
        return self._results.explain(self._request(args, kwargs)[1])

    def uncached(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """The function itself: nothing is looked up, nothing is kept."""
        return cast("R", self.function(*args, **kwargs))

    def invalidate(self, /, *args: P.args, **kwargs: P.kwargs) -> bool:
        """Forget the result of a call; whether there was one."""
        return self._results.forget(self._request(args, kwargs)[1])

    def invalidate_all(self) -> int:
        """Forget every result of this function, also those of earlier code; how many."""
        return self._results.forget_all()

    def clear(self) -> int:
        """The same as `invalidate_all`, by the name that joblib has for it."""
        return self.invalidate_all()

    def stats(self) -> dict[str, int]:
        """How often each ending was met in this process."""
        return self._results.stats()


class BoundCached(Generic[R_co]):
    """A cached function as a method of an object."""

    __slots__ = ("__func__", "__self__", "__weakref__")

    def __init__(self, cached: CachedFunction[..., R_co], instance: object) -> None:
        self.__func__ = cached
        self.__self__ = instance

    def __call__(self, /, *args: Any, **kwargs: Any) -> R_co:
        """The result of the method."""
        try:
            return self.__func__(self.__self__, *args, **kwargs)
        except Exception as error:
            show_users_frames(error)
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__func__, name)

    def __repr__(self) -> str:
        return f"<cached method {self.__func__._results.name} of {type(self.__self__).__name__}>"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BoundCached)
            and self.__self__ is other.__self__
            and self.__func__ is other.__func__
        )

    def __hash__(self) -> int:
        return hash((id(self.__self__), id(self.__func__)))

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.__self__, self.__func__.function.__name__)

    def key(self, /, *args: Any, **kwargs: Any) -> Digest:
        """The key under which the result of a call is kept, without making it."""
        return self.__func__.key(self.__self__, *args, **kwargs)

    def explain(self, /, *args: Any, **kwargs: Any) -> Explanation:
        """Whether a call would be a hit, and if not what differs, without making it."""
        return self.__func__.explain(self.__self__, *args, **kwargs)

    def uncached(self, /, *args: Any, **kwargs: Any) -> R_co:
        """The method itself: nothing is looked up, nothing is kept."""
        return self.__func__.uncached(self.__self__, *args, **kwargs)

    def invalidate(self, /, *args: Any, **kwargs: Any) -> bool:
        """Forget the result of a call; whether there was one."""
        return self.__func__.invalidate(self.__self__, *args, **kwargs)


@excluded("lifetime", "on_drift", "store", "writable")
class _Options(ResultOptions):
    """The options of `whorl.cached`; `parameters` says how each of them counts."""

    def __init__(self, parameters: Mapping[str, Iterable[str]], **options: Any) -> None:
        self.parameters = tuple((kind, tuple(as_list(kind, n))) for kind, n in parameters.items())
        super().__init__(**options)
        has_markers = any(names for _, names in self.parameters)
        if has_markers and self.key is not None and not isinstance(self.key, Fingerprinter):
            raise TypeError("key= says what counts of all arguments; no other option can")
        if self.marked("by_identity"):
            if self.store is None:
                self.store = "process"
            elif self.store != "process" and not isinstance(self.store, ProcessStore):
                raise TypeError(
                    "by_identity= means something in this process only, and this store outlives "
                    "it; use store='process' or a whorl.ProcessStore"
                )

    def marked(self, kind: str) -> tuple[str, ...]:
        """The parameters that count in this way."""
        return dict(self.parameters)[kind]

    def results(self, function: types.FunctionType, names: tuple[str, ...]) -> Results:
        """The results of a function whose arguments have these names."""
        folder = str(Path(function.__code__.co_filename).absolute().parent)
        has_paths = bool(self.marked("by_content"))
        name = full_name(function)
        requests = RequestBuilder(name, function, names, self, folder, has_paths=has_paths)
        store = result_store(name, self, function.__globals__)
        return Results(requests, store, self.lifetime)


@overload
def cached(function: Callable[P, R], /) -> CachedFunction[P, R]: ...
@overload
def cached(
    *,
    exclude: Iterable[str] = (),
    by_type: Iterable[str] = (),
    by_identity: Iterable[str] = (),
    by_content: Iterable[str] = (),
    ordered: Iterable[str] = (),
    key: Callable[..., object] | Fingerprinter | None = None,
    reads: Iterable[object] = (),
    ignores: Iterable[object] = (),
    files: Iterable[str | os.PathLike[str]] = (),
    environment: Mapping[str, str | None] | Iterable[str] = (),
    salt: str = "",
    store: AnyStore | None = None,
    serializer: Serializer | None = None,
    writable: bool = False,
    on_drift: OnDrift = "rerun",
    expires: float | timedelta | None = None,
) -> Callable[[Callable[P, R]], CachedFunction[P, R]]: ...
def cached(
    function: Callable[..., Any] | None = None,
    /,
    *,
    exclude: Iterable[str] = (),
    by_type: Iterable[str] = (),
    by_identity: Iterable[str] = (),
    by_content: Iterable[str] = (),
    ordered: Iterable[str] = (),
    key: Callable[..., object] | Fingerprinter | None = None,
    reads: Iterable[object] = (),
    ignores: Iterable[object] = (),
    files: Iterable[str | os.PathLike[str]] = (),
    environment: Mapping[str, str | None] | Iterable[str] = (),
    salt: str = "",
    store: AnyStore | None = None,
    serializer: Serializer | None = None,
    writable: bool = False,
    on_drift: OnDrift = "rerun",
    expires: float | timedelta | None = None,
) -> Any:
    """Keep the results of a function: it runs again when its code or what it reads is another.

    Of the parameters, those in `exclude` do not count, `by_type` count by their type,
    `by_identity` as these very objects (in this process only), `by_content` are paths of files
    whose content counts, `ordered` are dicts whose order counts; `key` is called like the function,
    with its defaults, and returns what stands for all arguments, or is a `Fingerprinter` with
    rules.

    `reads` are values, functions and modules that count though the function does not show it;
    `ignores` are names (or things) that do not count though it does. `files` and `environment`
    are what it reads from outside of the program; relative names of files begin in the folder of
    the function's own file.

    `salt` makes all keys new. `store` is a directory, a cache, or "process" for results that live
    as long as the process. `serializer` has `dumps` and `loads`. With `writable`, arrays come as
    copies that can be written to; otherwise they cannot be. With `on_drift="raise"`, a global or
    function that has changed since the first call of this process is an error that names it.
    After `expires` (seconds, or a timedelta) a result is made anew.

    >>> import whorl
    >>> @whorl.cached(store="process")
    ... def scaled(x, by=2):
    ...     print("running")
    ...     return by * x
    >>> scaled(2), scaled(x=2, by=2)
    running
    (4, 4)
    >>> scaled(2.0)
    running
    4.0
    """
    parameters = {
        "exclude": exclude, "by_type": by_type, "by_identity": by_identity,
        "by_content": by_content, "ordered": ordered,
    }  # fmt: skip
    options = _Options(
        parameters, key=key, reads=reads, ignores=ignores, files=files, environment=environment,
        salt=salt, store=store, serializer=serializer, writable=writable, on_drift=on_drift,
        expires=expires,
    )  # fmt: skip

    def decorate(function: Any) -> Any:
        if isinstance(function, staticmethod | classmethod):
            return type(function)(decorate(function.__func__))
        if isinstance(function, CachedFunction):
            raise TypeError(f"{function!r} is cached already")
        if not isinstance(function, types.FunctionType):
            raise TypeError(
                f"whorl.cached is for functions written in Python, not {type(function).__name__}: "
                f"{function!r}"
            )
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"{function.__qualname__} is a generator: its values come to be while they "
                "are consumed and cannot be kept. Cache a function that returns a list"
            )
        if inspect.iscoroutinefunction(function):
            with importing:
                from .coroutine import CachedCoroutine

            return CachedCoroutine(function, options)
        return CachedFunction(function, options)

    return decorate if function is None else decorate(function)
