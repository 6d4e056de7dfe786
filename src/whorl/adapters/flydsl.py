"""FlyDSL's compiled kernels under keys that count all that their code reads.

    import whorl.adapters.flydsl

    whorl.adapters.flydsl.install()

FlyDSL's own key has the text of a function and of the helpers beside it, and the values of globals.
It leaves out constants that are read as `module.NAME`, attributes of objects and classes, defaults
that are given by a name, and plain helpers in other directories. Files stay where FlyDSL has them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, Final

from whorl.fingerprint.names import known_module_name
from whorl.lazy import load
from whorl.signals import pass_on

from .code_description import describe, key_of
from .host_library import HostLibrary, say_not_cached

__all__ = ["LIBRARY", "install"]

LIBRARY: Final = HostLibrary("flydsl", (0, 4), (0, 5))

_ignored: Final[set[str]] = set()


def install(*, ignores: Iterable[str] = ()) -> bool:
    """Let FlyDSL use exact keys from now on, in this process; false for unknown versions.

    `ignores` are globals that do not count (`LOCK`, `kernels.LOCK`), in addition to those of
    earlier calls. Functions that have been called before keep their keys.
    """
    if not LIBRARY.is_supported():
        return False
    _ignored.update(ignores)
    function: Any = load("flydsl.compiler.jit_function").JitFunction
    own = function._ensure_cache_manager
    if not hasattr(own, "__wrapped__"):

        @functools.wraps(own)
        def ensure_cache_manager(self: Any, owner_cls: type | None = None) -> None:
            before = self.manager_key
            own(self, owner_cls)
            if self.cache_manager is not None and self.manager_key != before:
                _make_exact(self, owner_cls)

        function._ensure_cache_manager = ensure_cache_manager
    return True


def _make_exact(launcher: Any, owner: type | None) -> None:
    """Give a function a key that counts all, and the directory of that key; or no directory."""
    compiler = load("flydsl.compiler.jit_function")
    function = launcher._original_func
    name = f"{known_module_name(function.__module__)}.{function.__qualname__}"
    try:
        code = describe(
            name,
            launcher,
            owner,
            ignores=_ignored,
            leaving_out="whorl.adapters.flydsl.install(ignores=[NAME])",
            pure=True,  # kernels are Python code that runs while it is traced
        )
    except Exception as error:
        pass_on(error)
        say_not_cached(name, error)
        launcher.cache_manager = None
        return
    launcher.manager_key = str(key_of("flydsl", compiler._flydsl_key(), code.digest))
    place = launcher.cache_manager.cache_dir.parent
    directory = place / f"{function.__name__}_{launcher.manager_key}"
    launcher.cache_manager = compiler.JitCacheManager(directory)
    launcher.cache_manager.load_all()
