"""A function that is compiled when it is called: bind, recall, look up, compile, load, launch.

    bind       the arguments in the order of the parameters
    recall     in memory: the facts of a known shape lead to a specialization
    look up    by the hint of the file, by the manifest, in the store
    compile    once among all threads and processes; what it reads makes shape, facts and key
    load       once per device
    launch

A kernel is thin: `specialization` has the table that calls are recalled from, `kernel_lookup`
finds what is not in it, and `compiling` compiles what is nowhere.
"""

from __future__ import annotations

import builtins
import functools
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from whorl.calls.events import audits, emit, listeners
from whorl.errors import CompilerFailed, KernelError, RequiredHit, show_users_frames
from whorl.fast_dataclasses import replace
from whorl.fingerprint.names import full_name
from whorl.fingerprint.static_lookup import uncounted
from whorl.lazy import lazy_module, load
from whorl.locks import ForkSafeLock
from whorl.settings import Settings, current, on_change
from whorl.store import Cache
from whorl.store.cache import StoredSources, prepare

from .compiler import Compiler, Target, check_compiler, target_of
from .kernel_lookup import (
    AnyStore,
    CacheMode,
    Choices,
    KernelLookup,
    LookupRequest,
    OnDrift,
    Setup,
    check_choices,
    copied_options,
)
from .specialization import Specialization

if TYPE_CHECKING:
    from whorl.calls.explanation import Explanation

    from . import compiling, explain, shipped_lookup
else:  # what a process that finds everything has no need of
    compiling = lazy_module("whorl.jit.compiling", globals())
    explain = lazy_module("whorl.jit.explain", globals())
    shipped_lookup = lazy_module("whorl.jit.shipped_lookup", globals())


class _Counts(dict[str, int]):
    """Counts by name; a missing one is 0."""

    def __missing__(self, name: str) -> int:
        return 0


# To a fingerprint a kernel is its function, its compiler and its choices; names and texts
# that it has copied from the function count there, if at all.
@uncounted(*functools.WRAPPER_ASSIGNMENTS, "__wrapped__")
@uncounted("_lock", "_setup", "lookup", "own_cache")
class Kernel:
    """A function that is compiled when it is called, and never twice for the same facts.

    Made by `whorl.jit`. It can be called by several threads at once, be a method, and be
    pickled by name like the function it replaces.
    """

    def __init__(
        self,
        function: types.FunctionType,
        compiler: Compiler,
        choices: Choices,
        cache: Cache | None = None,
    ) -> None:
        if vars(builtins) is not cast("Any", function).__builtins__:  # which compilers look in
            raise TypeError(
                f"{function.__qualname__} has builtins of its own, by `exec` with `__builtins__`: "
                "only what is defined with Python's can be compiled"
            )
        functools.update_wrapper(self, function)
        self.function = function
        self.compiler = compiler
        self.choices = choices
        self.own_cache = cache
        name = full_name(function)
        self._setup = Setup(name, function, compiler, choices, cache, _Counts(), set())
        self._lock = ForkSafeLock()  # reentrant: a finalizer or a signal handler may call it
        if cache is None:
            prepare()
        self._renew()
        _ALIVE.add(self)

    def __repr__(self) -> str:
        return f"<kernel {self.lookup.name} by {self.compiler.name}>"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """By name; one with other options by the name of the kernel that it was made of."""
        named: Any = sys.modules.get(self.function.__module__)
        for name in self.function.__qualname__.split("."):
            named = getattr(named, name, None)
        if isinstance(named, Kernel) and named is not self and self._is_variant_of(named):
            return _with_options, (named, self._options())
        return self.function.__qualname__

    def __copy__(self) -> Kernel:
        return self  # as functions do

    def __deepcopy__(self, memo: object) -> Kernel:
        return self

    @property
    def __whorl_function__(self) -> types.FunctionType:
        """The function itself, for readers of its code."""
        return self.function

    # -- for kinds of kernels -----------------------------------------------------------

    def _renew(self) -> None:
        """Begin with an empty table: the function's code, module or compiler has changed."""
        self.lookup = KernelLookup(self._setup)

    def _callable(self, specialization: Specialization, target: Target) -> Any:
        """Make an artifact callable."""
        return self.compiler.load(specialization.artifact, target.device)

    def _options(self) -> dict[str, Any]:
        """The options as `with_options` takes them, but for a store."""
        return dict(self.choices.options)

    def _is_variant_of(self, other: Kernel) -> bool:
        """Whether the other one with this one's options is this one."""
        return (
            other.function is self.function
            and other.compiler is self.compiler
            and other.own_cache is self.own_cache
            and replace(other.choices, options=self.choices.options) == self.choices
        )

    def _with_choices(self, choices: Choices) -> Kernel:
        """A kernel of the same function and compiler."""
        return type(self)(self.function, self.compiler, choices, self.own_cache)

    # -- calling ------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Compile if need be, and call."""
        try:
            launch, values, _, _ = self._prepare(*args, **kwargs)
            return launch(*values)
        except Exception as error:
            show_users_frames(error)
            raise

    def _prepare(
        self, /, *args: Any, **kwargs: Any
    ) -> tuple[Callable[..., Any], tuple[Any, ...], Specialization, Target]:
        """What to launch with which values, found or compiled, and loaded."""
        lookup = self.lookup
        if not lookup.is_current():
            lookup = self._current_lookup()
        values = lookup.binding.bind(*args, **kwargs)
        target = target_of(self.compiler)
        specialization = lookup.table.recall(values, target)
        if specialization is None:
            specialization = obtain(lookup, values, target)
            self._record(values, specialization)
        launch = specialization.loaded.get(target.device)
        if launch is None:
            launch = self._load(specialization, target)
        for audit in audits:
            audit(self, specialization, values, target)
        if listeners:
            emit("launched", lookup.name, device=target.device)
        return launch, values, specialization, target

    def _record(self, values: tuple[Any, ...], specialization: Specialization) -> None:
        """Note a specialization for other processes, if the settings say so: a layer above does."""
        if current().record.value:
            load("whorl.fleet.recording").note(self, values, specialization)

    def _current_lookup(self) -> KernelLookup:
        """The lookup for the function and the compiler as they are now."""
        with self._lock:  # somebody else may have renewed it by now
            if not self.lookup.is_current() and not self.lookup.is_equivalent():
                self._renew()
            return self.lookup

    def _load(self, specialization: Specialization, target: Target) -> Callable[..., Any]:
        launch = specialization.loaded.get(target.device)
        if launch is None:
            launch = self._callable(specialization, target)
            if not callable(launch):
                raise CompilerFailed(self.compiler.name, "load", repr(launch), "a callable")
            launch = specialization.loaded.setdefault(target.device, launch)
            emit("loaded", self.lookup.name, device=target.device)
        return launch

    # -- inspection ---------------------------------------------------------------------

    def explain(self, /, *args: Any, **kwargs: Any) -> Explanation:
        """Why a call with these arguments would be a hit or a miss, or raise, without compiling.

        The call is compared with the nearest compile known here or in the store.
        """
        lookup = self._current_lookup()
        values = lookup.binding.bind(*args, **kwargs)
        return explain.explain_call(lookup, values, target_of(self.compiler))

    def specialize(self, /, *args: Any, **kwargs: Any) -> Specialization:
        """Find or compile what a call with these arguments would launch, without launching it.

        >>> import numpy as np, whorl
        >>> @whorl.kernel
        ... def first(x):
        ...     return x[0]
        >>> first.specialize(np.zeros(3)) is first.specialize(np.ones(5))
        True
        """
        try:
            lookup = self._current_lookup()
            values, target = lookup.binding.bind(*args, **kwargs), target_of(self.compiler)
            specialization = lookup.table.recall(values, target)
            if specialization is None:
                specialization = obtain(lookup, values, target)
                self._record(values, specialization)
            return specialization
        except Exception as error:
            show_users_frames(error)
            raise

    def specializations(self) -> list[Specialization]:
        """The specializations in memory, the oldest first."""
        return self.lookup.table.all()

    def stats(self) -> dict[str, int]:
        """The counts of hits, misses and compiles in this process; missing ones are 0."""
        return _Counts(self.lookup.counts)

    def with_options(self, **options: Any) -> Kernel:
        """The same function with some options as given: a new kernel, this one stays as it is."""
        known = self.choices.options
        unknown = options.keys() - known.keys() if known else ()
        if unknown:
            raise TypeError(
                f"{self.lookup.name} has no option {min(unknown)!r}; it has "
                f"{', '.join(sorted(known))}"
            )
        merged = {**known, **copied_options(options)}
        return self._with_choices(replace(self.choices, options=merged))


def obtain(lookup: KernelLookup, values: tuple[Any, ...], target: Target) -> Specialization:
    """A specialization that is not in memory under the facts of this call.

    Errors about the kernel's own text say where in it: the frames of the compiler, some twenty,
    would only hide that. What a user's property raised keeps its own.
    """
    cache = lookup.cache  # after the lookup: a kernel with another cache has another one by then
    sources = StoredSources(cache.store)
    try:
        with sources:
            is_hinted = lookup.is_hinted(cache.store, sources)
            if not is_hinted:  # which is quicker to say than that the cache has nothing
                specialization = _find_shipped(lookup, values, target, cache)
                if specialization is not None:
                    return specialization
            request = lookup.request(values, target, cache, sources)
            if lookup.choices.on_drift == "recompile":
                specialization = lookup.find(request, count=True)
            else:
                specialization = _find_unless_drifted(lookup, request)
            if specialization is None and is_hinted:
                specialization = _find_shipped(lookup, values, target, cache)
            return specialization or compiling.compile_once(lookup, request)
    except (KernelError, RequiredHit) as error:
        cause = error.__cause__
        is_own = type(cause).__module__.startswith("whorl.")
        raise error.with_traceback(None) from (None if is_own else cause)


def _find_shipped(
    lookup: KernelLookup, values: tuple[Any, ...], target: Target, cache: Cache
) -> Specialization | None:
    """What a distribution ships for a call."""
    if not lookup.uses_bundles(cache):
        return None
    return shipped_lookup.find_shipped(lookup, values, target, cache)


def _find_unless_drifted(lookup: KernelLookup, request: LookupRequest) -> Specialization | None:
    """A specialization in memory that fits is right; drift is detected before the store is read."""
    return (
        lookup.find(request, count=True, in_memory=True)
        or explain.used_despite_drift(lookup, request)
        or lookup.find(request, count=True)
    )


def _with_options(kernel: Kernel, options: dict[str, Any]) -> Kernel:
    return kernel.with_options(**options)


_ALIVE: Final[weakref.WeakSet[Kernel]] = weakref.WeakSet()


def _on_settings(before: Settings, after: Settings) -> None:
    """With another cache, begin again: the specializations in memory are from the old one."""
    is_other = before.cache_place.value != after.cache_place.value
    if is_other or before.cache.value != after.cache.value:
        for kernel in list(_ALIVE):
            if kernel.own_cache is None:
                with kernel._lock:
                    kernel._renew()


on_change(_on_settings)


# -- the decorator ---------------------------------------------------------------------
#
# The decorator `whorl.jit`: functions become kernels of a compiler.


def jit(
    compiler: Compiler,
    *,
    options: Mapping[str, Any] | None = None,
    on_drift: OnDrift = "recompile",
    cache: CacheMode = "disk",
    strict: bool = False,
    store: AnyStore | None = None,
) -> Callable[[Callable[..., Any]], Kernel]:
    """Let a compiler compile a function when it is called, and keep what it makes.

    `options` are what the compiler reads with `inputs.option`, as they are now. `on_drift`
    says what happens when a global, a closed-over variable or an environment variable that was
    read has changed: "recompile" (find or make what fits), "raise" or "ignore". `cache` is
    "disk", "process" (also for what cannot be recorded), or "call" (what cannot be recorded is
    compiled for every call). `strict` raises when a result is good for this process only. `store`
    is a directory, a `whorl.store.Cache` or a store, instead of the cache that settings describe.

    >>> import whorl
    >>> class Doubling:
    ...     name, version = "doubling", "1"
    ...     def compile(self, program, inputs):
    ...         return whorl.Artifact({}, {"type": inputs.arg("x").type()})
    ...     def load(self, artifact, device):
    ...         return lambda x: 2 * x
    >>> @whorl.jit(Doubling(), cache="process")
    ... def double(x): ...
    >>> double(2), double(3), double(1.5), double.stats()["compiled"]
    (4, 6, 3.0, 2)
    """
    check_compiler(compiler)
    own_cache = check_choices(on_drift, cache, store)
    choices = Choices(copied_options(options or {}), on_drift, cache, strict)

    def decorate(function: Any) -> Any:
        if isinstance(function, staticmethod | classmethod):
            return type(function)(decorate(function.__func__))
        if not isinstance(function, types.FunctionType):
            raise TypeError(f"whorl.jit compiles functions, not {type(function).__name__}")
        return Kernel(function, compiler, choices, own_cache)

    return decorate
