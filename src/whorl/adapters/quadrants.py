"""Exact keys for Quadrants' fastcache: a kernel counts by its code and all that it reads.

Quadrants finds a kernel again by the text of the kernel, the texts of the functions that it has
called, and its arguments. It does not see an enum or a constant of another file, the attributes of
a class, or what `static(mod.X)` reads: after an edit of these it launches the old kernel. With

    import whorl.adapters.quadrants
    whorl.adapters.quadrants.install()

the key of a kernel is the digest of its code and of all that it reads, through every call. A
comment, or the same program in another directory, changes nothing. The compiled kernels stay where
Quadrants keeps them; why one had to be compiled is written down in whorl's cache, for `whorl why`.

A key is made when a kernel is compiled or loaded, once for each specialization in a process.
Launches do not come here.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.boundary import DEFAULT_BOUNDARY
from whorl.fingerprint.source import code_digest, tree_of
from whorl.fingerprint.static_lookup import instance_dict, module_name
from whorl.fingerprint.survey import module_of
from whorl.lazy import importing
from whorl.signals import pass_on
from whorl.store import default_cache

from .code_description import CodeDescription, describe, key_of
from .host_library import HostLibrary, say_not_cached, say_once

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.fingerprint.digest import StableDigest

__all__ = ["install"]

_QUADRANTS: Final = HostLibrary("quadrants", (1, 3), (1, 4))
_OPTION: Final = "whorl.adapters.quadrants.install(ignores=[NAME])"
_CALLABLES: Final = "quadrants.lang._quadrants_callable"
_MANY: Final = 4096  # objects in arguments; whoever has more of them has arrays in lists


def install(*, ignores: Iterable[str] = ()) -> bool:
    """Let `@qd.kernel(fastcache=True)` find a kernel exactly when nothing that it reads changed.

    It makes no difference whether kernels were defined before. `ignores` are globals that do not
    count (`LOCK`, `solver.LOCK`). A kernel for which it cannot be known exactly is compiled in each
    process, and a warning says so once. Returns whether this version of Quadrants is a known one;
    for others nothing is done, with a warning.

    >>> install()  # doctest: +SKIP
    True
    """
    if not _QUADRANTS.is_supported():
        return False
    _hooks.ignores = frozenset(ignores)
    _hooks.join()
    return True


@dataclass(frozen=True, slots=True)
class _Described:
    """A kernel with what it is made of, from its lookup until it is stored.

    `digest` is that of the code, and of the lines that it is on if they are compiled into it.
    """

    name: str
    code: CodeDescription
    digest: StableDigest
    started: float


class _Hooks:
    """What Quadrants calls in place of its own functions, and those."""

    def __init__(self) -> None:
        self.ignores: frozenset[str] = frozenset()
        self.here = threading.local()  # what this thread looks up, and what it compiles
        self.compiled: dict[str, _Described] = {}  # by the keys under which they will be stored
        self.is_joined = False

    def join(self) -> None:
        """Take the places of Quadrants' functions."""
        if self.is_joined:
            return
        self.is_joined = True
        with importing:
            from quadrants.lang._fast_caching import function_hasher, src_hasher
            from quadrants.lang.kernel import Kernel

        _replace(Kernel, "_try_load_fastcache", self.load)
        _replace(Kernel, "_maybe_persist_l1_and_set_l2_key", self.set_key)
        _replace(src_hasher, "make_source_config_key", self.source_key)
        _replace(src_hasher, "store", self.store)
        _replace(function_hasher, "hash_kernel", self.hash_kernel)
        # All that they would check is in the key.
        _replace(function_hasher, "hash_functions", lambda original, infos: [])

    # -- in the order in which they are called ---------------------------------------------

    def load(self, original: Callable[..., Any], kernel: Any, args: Any, key: Any) -> Any:
        """Look a kernel up under an exact key; not at all if there is none."""
        described = None
        if kernel.quadrants_callable is not None and kernel.quadrants_callable.is_pure:
            described = self._describe(kernel, args)
            if described is None:
                return _leave_out(kernel)
        self.here.compiling = kernel, described
        self.here.described = described
        try:
            return original(kernel, args, key)
        finally:
            self.here.described = None

    def source_key(self, original: Callable[..., str], info: Any) -> str:
        """The key of a kernel's code and configuration, wherever its file is."""
        if self._here() is None:
            return original(info)
        return original(info.model_copy(update={"filepath": "", "start_lineno": 0}))

    def hash_kernel(self, original: Callable[..., str], info: Any) -> str:
        """What stands for the text of a kernel in its key."""
        described = self._here()
        return original(info) if described is None else f"whorl {described.digest}"

    def set_key(self, original: Callable[..., Any], kernel: Any, key: Any, args: Any) -> Any:
        """Choose the key to store a kernel under, now that its functions are known."""
        compiling, described = getattr(self.here, "compiling", (None, None))
        self.here.compiling = None, None
        if compiling is not kernel:
            described = None
        if described is not None:
            reason = _unknown_code(described.code, kernel.visited_functions)
            if reason:
                say_once(f"{described.name} is not cached: {reason}")
                return _leave_out(kernel)
        original(kernel, key, args)
        if described is not None and kernel.fast_checksum:
            if len(self.compiled) > 64:  # whose compiles have failed
                self.compiled.clear()
            self.compiled[kernel.fast_checksum] = described
        return None

    def store(
        self, original: Callable[..., Any], compiled: str, key: str, *rest: Any, **more: Any
    ) -> Any:
        """Store a kernel, and write down why it had to be compiled."""
        original(compiled, key, *rest, **more)
        described = self.compiled.pop(key, None)
        if described is not None:
            _keep(key, described)

    # -- what a kernel is made of ----------------------------------------------------------

    def _here(self) -> _Described | None:
        described: _Described | None = getattr(self.here, "described", None)
        return described

    def _describe(self, kernel: Any, args: Any) -> _Described | None:
        started = time.perf_counter()
        name = f"{module_of(kernel.func)}.{kernel.func.__qualname__}"
        try:
            beside = dict(_of_arguments(args))
            code = describe(
                name,
                kernel.quadrants_callable,
                beside=beside,
                ignores=self.ignores,
                leaving_out=_OPTION,
                pure=True,
            )
        except Exception as error:  # the program goes on without the cache
            pass_on(error)
            say_not_cached(name, error)
        else:
            digest = key_of(code.digest, _lines(code)) if _is_debugging() else code.digest
            return _Described(name, code, digest, started)
        return None


_hooks: Final = _Hooks()


def _replace(owner: Any, name: str, hook: Callable[..., Any]) -> None:
    original = getattr(owner, name)

    def replacement(*args: Any, **more: Any) -> Any:
        return hook(original, *args, **more)

    setattr(owner, name, replacement)


def _leave_out(kernel: Any) -> None:
    """Leave a kernel out of the cache: it is neither looked up nor stored."""
    kernel._l1_key = kernel._pruning_paths_from_l1 = kernel.fast_checksum = None


def _keep(key: str, described: _Described) -> None:
    """Write down what a key was made of. The kernel itself is with Quadrants."""
    seconds = time.perf_counter() - described.started
    try:
        default_cache().keep(
            key_of("quadrants", key),
            {},
            name=described.name,
            parts=described.code.parts(),
            seconds=seconds,
            toolchain=_QUADRANTS.toolchain(),
        )
    except Exception as error:  # it has been stored: only the explanation is missing
        pass_on(error)
        say_once(f"why {described.name} was compiled is not written down: {error}")


def _is_debugging() -> bool:
    """Whether kernels say on which line they have failed."""
    with importing:
        from quadrants.lang import impl

    return bool(impl.current_cfg().debug)


def _lines(code: CodeDescription) -> list[tuple[str, int, tuple[str, ...]]]:
    """Where code is and how it is written, which its key leaves out otherwise."""
    codes = [function.__code__ for function in code.functions()]
    return sorted(
        (each.co_filename, each.co_firstlineno, tuple(code_digest(each).written)) for each in codes
    )


# -- arguments -------------------------------------------------------------------------


def _of_arguments(args: Iterable[object]) -> Iterator[tuple[str, object]]:
    """What counts of arguments and is not in Quadrants' own key: classes, and functions in them.

    The methods and attributes of a class are compiled into the kernel, and so are the functions
    that an instance holds.
    """
    seen: set[int] = set()
    waiting = [(f"argument:{i}", value) for i, value in enumerate(args)]
    for path, value in waiting:  # which grows
        cls = type(value)
        if id(value) in seen or len(seen) > _MANY:
            continue
        seen.add(id(value))
        if module_name(cls) == _CALLABLES:
            yield path, getattr(value, "quadrants_callable", value)
        elif _is_users(cls):
            yield f"class:{path}", cls
            slots = getattr(cls, "__dataclass_fields__", ())
            members = dict.fromkeys((*slots, *(instance_dict(value) or ())))
            waiting += [(f"{path}.{name}", getattr(value, name, None)) for name in members]


def _is_users(cls: type) -> bool:
    module = module_name(cls)
    file = getattr(sys.modules.get(module), "__file__", None)
    return module != "builtins" and DEFAULT_BOUNDARY.home(module, file).kind == "user"


# -- functions that a compile has read -------------------------------------------------


def _unknown_code(code: CodeDescription, visited: Iterable[Any]) -> str:
    """Why a key does not cover all that a compile has read; empty if it does."""
    known = {
        (os.path.realpath(function.__code__.co_filename), function.__code__.co_firstlineno):
            tree_of(function.__code__) is not None
        for function in code.functions()
    }  # fmt: skip
    for info in visited:
        file = os.path.realpath(info.filepath)
        place = f"{info.function_name} in {Path(file).name}"
        if known.get((file, info.start_lineno)) is False:
            return f"{place} was edited after it was imported. Start the program again"
        if (file, info.start_lineno) not in known and _is_users_file(file):
            return f"what {place} reads is not known. Call it by a global name or as a method"
    return "" if code.holds() else "what it reads was changed during its compile"


def _is_users_file(file: str) -> bool:
    for name, module in list(sys.modules.items()):
        if os.path.realpath(getattr(module, "__file__", None) or "") == file:
            return DEFAULT_BOUNDARY.home(name, file).kind == "user"
    return True
