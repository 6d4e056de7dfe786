"""Where Numba keeps what it compiles: in whorl's cache, instead of files beside the program."""

from __future__ import annotations

import types
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from numba.core import caching, config

from whorl import settings
from whorl.adapters.host_library import say_once

from .compile_order import CompileOrder
from .ignored_names import IGNORED
from .installation import LIBRARY
from .overload_key import KeyMaker
from .owner import find_owner
from .registrations import Registrations
from .stored_overloads import StoredOverloads

_NAME: Final = "whorl.adapters.numba.Locator"


class Locator:
    """A cache locator for Numba's setting NUMBA_CACHE_LOCATOR_CLASSES.

    Numba asks it where the files of a function are. It answers with whorl's cache directory, and
    with a stamp that stands for the function: `install` lets Numba keep what has such a stamp with
    `StoredOverloads`, under a key that is made when the function is first compiled.
    """

    def __init__(self, owner: Any, function: types.FunctionType, file: str) -> None:
        self._py_file = file  # Numba reads it for warnings
        self._stamp = _Stamp(owner, function)
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, py_func: types.FunctionType, py_file: str) -> Any:
        """The locator of a function: one of Numba's own if whorl does not know this Numba."""
        if not LIBRARY.is_supported() or not _prepare():
            return own_locator(py_func, py_file)
        return cls(find_owner(py_func), py_func, py_file)

    def get_cache_path(self) -> str:
        """The directory of whorl's cache."""
        return str(settings.current().cache_place.value)

    def ensure_cache_path(self) -> None:
        """Nothing: the cache makes its directory when it writes."""

    def get_source_stamp(self) -> object:
        """The function, for `StoredOverloads`."""
        return self._stamp

    def get_disambiguator(self) -> str:
        """The line of the function."""
        return str(self._line)


class _Stamp:
    """Stands for a function where Numba expects the time of a file."""

    def __init__(self, owner: Any, function: types.FunctionType) -> None:
        self.owner = owner
        self.function = function


class _NotStored:
    """The files of a function that is not cached."""

    def load(self, key: Any) -> None:
        """Nothing is found."""

    def save(self, key: Any, data: Any) -> None:
        """Nothing is kept."""

    def flush(self) -> None:
        """Nothing is there."""


def put_first(ignores: Iterable[str]) -> bool:
    """Let Numba ask `Locator` before its own locators; false if Numba is not as it is known."""
    if not _prepare():
        return False
    IGNORED.update(ignores)
    known = getattr(config, "CACHE_LOCATOR_CLASSES", "")
    if known and _NAME not in known.split(","):
        config.CACHE_LOCATOR_CLASSES = f"{_NAME},{known}"
    locators = caching.CacheImpl._locator_classes
    if Locator not in locators:
        locators.insert(0, Locator)
    return True


@cache
def _prepare() -> bool:
    """Let stamps of this module lead to whorl's cache. False if Numba is not as it is known."""
    files = getattr(caching, "IndexDataCacheFile", None)
    if files is None:
        say_once("whorl's adapter for numba does nothing: this numba keeps its files otherwise")
        return False
    order, registrations = CompileOrder(), Registrations()

    def cache_file(cache_path: str, filename_base: str, source_stamp: object) -> Any:
        if not isinstance(source_stamp, _Stamp):
            return files(cache_path, filename_base, source_stamp)
        owner, function = source_stamp.owner, source_stamp.function
        if owner is None:
            return _NotStored()
        return StoredOverloads(owner, KeyMaker(owner, function, registrations, order), order)

    caching.IndexDataCacheFile = cache_file
    return True


def own_locator(function: types.FunctionType, file: str) -> Any:
    """The locator that Numba would use by itself; None if there is none."""
    for cls in caching.CacheImpl._locator_classes:
        if cls is not Locator:
            found = cls.from_function(function, file)
            if found is not None:
                return found
    return None
