"""Watches what Numba's own cache serves, and compares it with what whorl's key is made of."""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from numba.core import caching

from whorl.adapters.audited_run import COMPILED, RIGHT, STALE, UNKNOWN, SeenEntry, add_line
from whorl.adapters.code_description import key_of
from whorl.adapters.host_library import say_not_cached
from whorl.artifacts import Entry, Label, Part
from whorl.fingerprint.boundary import DEFAULT_BOUNDARY
from whorl.fingerprint.digest import StableDigest
from whorl.signals import pass_on
from whorl.store import Found, KeyPart, default_cache
from whorl.store.foreign_entry import DESCRIPTION, FOREIGN, changed_key_parts, key_parts

from .compile_order import CompileOrder
from .installation import LIBRARY
from .locator import own_locator
from .overload_key import KeyMaker, OverloadKey, toolchain
from .owner import find_owner
from .registrations import Registrations

_GROUP: Final = key_of("what entries of Numba's own cache were made of")
_EARLIER: Final = "it was made when no audit took note"


class Auditor:
    """A cache locator for Numba's setting NUMBA_CACHE_LOCATOR_CLASSES, set by `whorl audit`.

    It leaves all to Numba's own locators, and looks on.
    """

    @classmethod
    def from_function(cls, py_func: types.FunctionType, py_file: str) -> Any:
        """The locator that Numba uses by itself."""
        if LIBRARY.is_supported():
            _watch().begun = find_owner(py_func), py_func
        return own_locator(py_func, py_file)


class _Watch:
    """Puts `AuditedFile` in the place of the files of Numba's cache."""

    def __init__(self) -> None:
        self.begun: tuple[object | None, types.FunctionType] | None = None
        self._files = caching.IndexDataCacheFile
        self._order, self._registrations = CompileOrder(), Registrations()
        caching.IndexDataCacheFile = self.cache_file

    def cache_file(self, cache_path: str, filename_base: str, source_stamp: object) -> Any:
        files = self._files(cache_path, filename_base, source_stamp)
        owner, function = self.begun or (None, None)
        self.begun = None
        if owner is None or function is None:
            return files
        keys = KeyMaker(owner, function, self._registrations, self._order)
        return AuditedFile(files, owner, keys, self._order)


@cache
def _watch() -> _Watch:
    return _Watch()


class AuditedFile:
    """Has the methods of `numba.core.caching.IndexDataCacheFile`, and does what that does."""

    def __init__(self, files: Any, owner: Any, keys: KeyMaker, order: CompileOrder) -> None:
        self._files = files
        self._owner = owner
        self._keys = keys
        self._order = order
        self._begun: dict[object, OverloadKey] = {}

    def load(self, key: Any) -> Any:
        """What Numba finds; a line about it is written."""
        found = self._files.load(key)
        try:
            self._see(key, found is not None)
        except Exception as error:
            pass_on(error)
            say_not_cached(f"the audit of {self._keys.name}", error)
        return found

    def _see(self, key: Any, is_found: bool) -> None:
        place = self._place(key) if is_found else None
        try:
            now = self._keys.key(*key[:2])
        except Exception as error:
            pass_on(error)
            self._report(key, UNKNOWN if is_found else COMPILED, place, reason=str(error))
            return
        if place is None:
            self._begun[key[0]] = now
            self._report(key, COMPILED, None)
            return
        self._order.note_loaded(self._owner, now.described[0])
        made_of = _recorded(place)
        if made_of is None:
            newer = tuple(sorted(_files_after(place.stat().st_mtime, now)))
            self._report(key, UNKNOWN, place, reason=_EARLIER, newer=newer)
            return
        changes = changed_key_parts(made_of, now.parts())
        self._report(key, STALE if changes else RIGHT, place, changes=changes)

    def _report(self, key: Any, verdict: str, place: Path | None, **more: Any) -> None:
        entry = "" if place is None else str(place)
        add_line(SeenEntry(self._keys.name, str(key[0]), verdict, entry, **more))

    def _place(self, key: Any) -> Path:
        """The file of an entry."""
        return Path(self._files._data_path(self._files._load_index()[key]))

    def save(self, key: Any, data: Any) -> None:
        """Numba keeps it, and what it was made of is written down, if that is certain."""
        self._files.save(key, data)
        begun = self._begun.pop(key[0], None)
        try:
            if begun is not None and not self._order.obstacle_after(self._owner, begun.described):
                _record(self._place(key), self._keys.name, begun)
        except Exception as error:
            pass_on(error)
            say_not_cached(f"the audit of {self._keys.name}", error)

    def flush(self) -> None:
        """Numba forgets its entries."""
        self._files.flush()


# -- what entries were made of ---------------------------------------------------------


def _key_of_file(place: Path) -> StableDigest:
    return key_of("numba", place.name, place.read_bytes())


def _record(place: Path, name: str, key: OverloadKey) -> None:
    parts = key.parts()
    label = Label(
        DESCRIPTION,
        _key_of_file(place),
        _GROUP,
        (Part("name", name), *(Part(part.path, part.text) for part in parts)),
        toolchain(),
        time.time(),
        0.0,
    )
    more = [list(part) for part in parts]
    default_cache().store.put_near(Entry.build(label, {}, [FOREIGN, name, ""], more))


def _recorded(place: Path) -> tuple[KeyPart, ...] | None:
    got = default_cache().store.get(_key_of_file(place), _GROUP)
    return key_parts(got.entry) if isinstance(got, Found) else None


def _files_after(moment: float, key: OverloadKey) -> Iterator[str]:
    """The files of the user's code behind a function that were written after a moment."""
    modules = {
        str(function.__globals__.get("__name__"))
        for each in key.described
        for function in each.functions()
    }
    modules |= {inner for module in modules for inner in _imported_by(module)}
    for name in modules:
        file = getattr(sys.modules.get(name), "__file__", None) or ""
        is_users = file and DEFAULT_BOUNDARY.home(name, file).kind == "user"
        if is_users and Path(file).exists() and Path(file).stat().st_mtime > moment:
            yield file


def _imported_by(module: str) -> Iterator[str]:
    for value in list(vars(sys.modules.get(module, types)).values()):
        if isinstance(value, types.ModuleType):
            yield value.__name__
