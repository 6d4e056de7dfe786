"""JAX: compiled programs in whorl's cache, and functions that notice changed globals.

    import whorl.adapters.jax

    whorl.adapters.jax.install()    # executables are kept, found by other processes, and shared

    @whorl.adapters.jax.jit         # in place of jax.jit: globals that change are noticed
    def step(x):
        return x * SCALE

JAX traces a function in every process, and its key is a digest of the traced program: nothing is
stale between processes. Within a process it remembers traces by the identity of functions: a global
that changes after the first call makes no difference. `jit` and `watch` look at all that a function
reads, with every call, and have JAX trace again when something has changed. See docs/adr/0053.
"""

from __future__ import annotations

import functools
import platform
import types
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, Final, overload

from whorl.fingerprint.digest import StableDigest
from whorl.fingerprint.names import known_module_name
from whorl.lazy import load
from whorl.locks import ForkSafeLock, local
from whorl.signals import pass_on
from whorl.store import Cache, KeyPart, default_cache

from .code_description import CodeDescription, describe, key_of
from .host_library import HostLibrary, say_once

__all__ = ["LIBRARY", "ExecutableCache", "WatchedFunction", "install", "jit", "uninstall", "watch"]

LIBRARY: Final = HostLibrary("jax", (0, 6), (0, 11))

# -- compiled programs -----------------------------------------------------------------


def install(cache: Cache | None = None, *, min_seconds: float = 0.0) -> bool:
    """Let JAX keep compiled programs in whorl's cache, in this process; false for unknown versions.

    Without a `cache`, they are kept in the one of this process. What compiles in less than
    `min_seconds` is not kept. JAX's own directory is not used any more.
    """
    if not _is_supported():
        return False
    load("jax").config.update("jax_persistent_cache_min_compile_time_secs", min_seconds)
    own: Any = load("jax._src.compilation_cache")
    own.reset_cache()
    own._cache = ExecutableCache(cache)
    own._cache_initialized = True
    return True


def uninstall() -> None:
    """Let JAX use its own directory again, if it has one."""
    own: Any = load("jax._src.compilation_cache")
    if isinstance(own._cache, ExecutableCache):
        own.reset_cache()


class ExecutableCache:
    """What JAX asks for compiled programs: bytes by a text, in whorl's cache.

    >>> from whorl.store import MemoryStore
    >>> executables = ExecutableCache(Cache(MemoryStore()))
    >>> executables.get("jit_step-5f3a") is None
    True
    >>> executables.put("jit_step-5f3a", b"program")
    >>> executables.get("jit_step-5f3a")
    b'program'
    """

    _path = "whorl"  # which JAX logs

    def __init__(self, cache: Cache | None = None) -> None:
        self._cache = cache
        self._asked = _Asked()

    def get(self, key: str) -> bytes | None:
        """The program of a key, or None."""
        entry = self._store.find(_key_of_program(key))
        if entry is None:
            self._asked.when[key] = perf_counter()
            return None
        return bytes(entry.payloads["executable"])

    def put(self, key: str, value: bytes) -> None:
        """Keep a program. What it took is the time since this thread has asked for it."""
        now = perf_counter()
        name, _, digest = key.rpartition("-")
        parts = [KeyPart("computation", digest), KeyPart("processor", _processor()[:12])]
        self._store.keep(
            _key_of_program(key),
            {"executable": value},
            name=name or "jax",
            parts=parts,
            seconds=now - self._asked.when.pop(key, now),
            toolchain=LIBRARY.toolchain(),
        )
        self._asked.when.clear()  # others were found to be too quick to be kept

    @property
    def _store(self) -> Cache:
        return self._cache or default_cache()


class _Asked(local):
    """When this thread has asked for programs that were not there."""

    def __init__(self) -> None:
        self.when: dict[str, float] = {}


def _key_of_program(key: str) -> StableDigest:
    """JAX's key, and the processor: JAX compiles for the one it runs on, and does not name it."""
    return key_of("jax", key, _processor())


@functools.cache
def _processor() -> str:
    features: dict[str, bool] = load("numpy._core._multiarray_umath").__cpu_features__
    names = sorted(name for name, is_there in features.items() if is_there)
    return str(key_of(platform.system(), platform.machine(), names))


@functools.cache
def _is_supported() -> bool:
    return LIBRARY.is_supported()


# -- changed globals -------------------------------------------------------------------


class WatchedFunction:
    """A function from `jax.jit` that is traced again when something that it reads has changed.

    All that the function reads through globals, captured variables, defaults and the functions it
    calls is looked at with every call. What is looked at does not count as an argument: a call with
    unchanged globals costs a few hundred nanoseconds more.
    """

    def __init__(self, jitted: Any, ignores: Iterable[str] = ()) -> None:
        functools.update_wrapper(self, jitted)
        self._jitted = jitted
        self._ignores = frozenset(ignores)
        self._lock = ForkSafeLock()
        self._description: CodeDescription | None = None
        self._holds: Callable[[], bool] = _never

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        if not self._holds():
            self._renew()
        return self._jitted(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """What else `jax.jit` has made: `lower`, `trace`, `eval_shape`."""
        if name.startswith("__") or name in ("_jitted", "_holds"):
            raise AttributeError(name)
        if not self._holds():
            self._renew()
        return getattr(self._jitted, name)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """A method, where it is found in a class."""
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<watched {self._jitted!r}>"

    def _renew(self) -> None:
        """Have everything traced again, unless what has changed is only its identity."""
        with self._lock:
            if self._holds():  # another thread was faster
                return
            before, now = self._description, self._described()
            if before is not None and (now is None or now.digest != before.digest):
                load("jax").clear_caches()  # functions that it calls have been traced too
            self._description = now
            self._holds = _always if now is None else now.holds

    def _described(self) -> CodeDescription | None:
        function = self._jitted.__wrapped__
        name = f"{known_module_name(function.__module__)}.{function.__qualname__}"
        try:
            return describe(
                name,
                self._jitted,
                ignores=self._ignores,
                leaving_out="whorl.adapters.jax.jit(ignores=[NAME])",
            )
        except Exception as error:
            pass_on(error)
            say_once(f"changes of what {name} reads are not noticed: {error}")
            return None


def _never() -> bool:
    return False


def _always() -> bool:
    return True


def watch(jitted: Any, *, ignores: Iterable[str] = ()) -> WatchedFunction:
    """A function from `jax.jit`, made to notice changes of what it reads.

    `ignores` are globals and captured variables that do not count. For versions of JAX that are not
    known, the function is returned as it is.
    """
    if not hasattr(jitted, "__wrapped__") or not hasattr(jitted, "clear_cache"):
        raise TypeError(f"watch() takes a function from jax.jit, not {type(jitted).__name__!r}")
    return WatchedFunction(jitted, ignores) if _is_supported() else jitted


@overload
def jit(
    function: Callable[..., Any], /, *, ignores: Iterable[str] = (), **options: Any
) -> WatchedFunction: ...
@overload
def jit(
    *, ignores: Iterable[str] = (), **options: Any
) -> Callable[[Callable[..., Any]], WatchedFunction]: ...
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    ignores: Iterable[str] = (),
    **options: Any,
) -> Any:
    """`jax.jit`, for functions whose globals change: `watch(jax.jit(function, **options))`."""
    if function is None:
        return functools.partial(jit, ignores=ignores, **options)
    return watch(load("jax").jit(function, **options), ignores=ignores)
