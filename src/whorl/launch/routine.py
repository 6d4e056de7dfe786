"""The routines' text in, their addresses out: compiled once per layout, then mapped from the store.

There are two: the launcher, which checks and launches, and the packer, which only launches. The
first needs to know how objects are laid out; where that is not known there is only the second.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from whorl.artifacts import LAUNCHER, Artifact, Entry, Label, Part, decode, encode
from whorl.fingerprint.digest import StableDigest, hash_hex
from whorl.late import NamedTuple
from whorl.lazy import importing, logger, room
from whorl.locks import RLock
from whorl.store import Cache

from .image import Image
from .layout import Layout, layout
from .linking import Unlinkable, link
from .mapped import Unmappable, map_image
from .native import API, ENTRY, routine_text
from .packed import PACKED

if TYPE_CHECKING:
    from . import failure
else:
    failure = room("whorl.launch.failure", globals())  # for what goes wrong

__all__ = ["NativeLaunch", "Routines", "api_table", "functions_with", "routines", "status"]

log = logger("whorl.launch")

_lock: Final = [RLock()]  # another one in a forked child
_found: dict[str, Routines | None] = {}

Compile = Callable[[str], bytes]
Load = Callable[[bytes, tuple[str, ...]], tuple[dict[str, int], object]]


class NativeLaunch(NamedTuple):
    """Whether kernels are launched natively in this process, and why not."""

    on: bool
    reason: str


class NotPrepared(Unmappable):
    """Nothing may be compiled in this process, and no other one has made the launcher."""


class Routines(NamedTuple):
    """Where the routines are. No launcher: objects are laid out in a way that is not known."""

    launch: int | None
    packed: int
    kept: object


def status() -> NativeLaunch:
    """Whether kernels are launched natively here, and why not, without compiling anything.

    >>> on, reason = status()
    >>> on == (reason == "")
    True
    """
    try:
        layout()
        if None in _found.values():
            why = ("the launcher could not be loaded", *failure.reasons()[:1])
            return NativeLaunch(False, ": ".join(why))
        if not _found:  # it has not been tried yet
            map_image(Image(b"\xc3", {"nothing": 0}, ()))
    except Exception as error:  # whatever it is, it is why there are none
        return NativeLaunch(False, failure.reason_of(error))
    return NativeLaunch(True, "")


def routines(cache: Cache, level: str, compile_it: Compile, load_it: Load) -> Routines | None:
    """The routines; None if they cannot be made or loaded here.

    `compile_it` makes an object file of LLVM's text; it is called if no process has done so yet.
    `load_it` loads an object file through LLVM, where its image cannot be mapped.
    """
    with _lock[0]:
        if level not in _found:
            try:
                _found[level] = _obtained(cache, level, _layout(), compile_it, load_it)
            except NotPrepared as reason:
                log.info("kernels are launched in Python: %s", reason)
                _found[level] = None
            except Exception as error:  # a call that has its result must not fail for this
                if not failure.turns_off(error):
                    return None
                _found[level] = None
        return _found[level]


def _layout() -> Layout | None:
    """The layout of objects; None if it is not known, and there is only the packer."""
    try:
        return layout()
    except Exception as error:
        if not failure.turns_off(error):
            raise
        return None


def _obtained(
    cache: Cache, level: str, known: Layout | None, compile_it: Compile, load_it: Load
) -> Routines:
    text = routine_text(known)
    name = "any layout" if known is None else known.name
    artifact = _compiled(cache, level, name, text, compile_it)
    names = (PACKED,) if known is None else (PACKED, ENTRY)
    addresses, kept = _loaded(artifact, names, load_it)
    _keep_for_ever(kept)
    return Routines(addresses.get(ENTRY), addresses[PACKED], kept)


def functions_with(
    cache: Cache,
    level: str,
    known: Layout,
    text: str,
    compile_it: Compile,
    outside: Mapping[str, int],
) -> dict[str, int]:
    """The addresses of functions that use memory of this process, by the names in their text.

    They are made and kept as the routines are. `Unmappable` if they are not to be had.
    """
    artifact = _compiled(cache, level, known.name, text, compile_it, frozenset(outside))
    plain = artifact.metadata.get("image")
    if plain is None:
        raise Unmappable("its object cannot be linked")
    mapped = map_image(Image.from_plain(bytes(artifact.payloads["text"]), plain), outside)
    _keep_for_ever(mapped)
    return mapped.addresses


def _compiled(
    cache: Cache,
    level: str,
    name: str,
    text: str,
    compile_it: Compile,
    outside: frozenset[str] = frozenset(),
) -> Artifact:
    """What is in the store for a text, compiled if no process has done so yet."""
    key = StableDigest(hash_hex(repr(("launcher 2", name, level, text)).encode()))

    def produce() -> Entry:
        with importing:
            from whorl.store.miss_recording import is_hit_required

        if is_hit_required():
            raise NotPrepared("the launcher is not in the cache, and nothing may be compiled")
        code = compile_it(text)
        payloads, told = {"object": code}, {}
        try:
            image = link(code, outside)
        except Unlinkable:  # LLVM can load it
            pass
        else:
            payloads["text"], told["image"] = image.text, image.plain
        label = Label("artifact", key, parts=(Part("name", LAUNCHER),), toolchain=f"{name} {level}")
        return encode(Artifact(payloads, told), label)

    obtained = cache.obtain(key, produce, what="the launcher")
    artifact = decode(obtained.entry)
    assert isinstance(artifact, Artifact)
    return artifact


def _keep_for_ever(kept: object) -> None:
    """Kernels that outlive this module at the end of the process still enter it."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


def _loaded(
    artifact: Artifact, names: tuple[str, ...], load_it: Load
) -> tuple[dict[str, int], Any]:
    plain = artifact.metadata.get("image")
    if plain is not None:
        try:
            mapped = map_image(Image.from_plain(bytes(artifact.payloads["text"]), plain))
        except Unmappable:
            pass
        else:
            return mapped.addresses, mapped
    return load_it(bytes(artifact.payloads["object"]), names)


def _after_fork() -> None:
    _lock[0] = RLock()  # a thread that is not in the child may hold the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


_LABEL: Final = sys.intern("from_checkpoint")  # which lives as long as this module


def api_table() -> Any:
    """The addresses that the launcher needs: objects, and functions of CPython's C API."""
    objects = {
        "ndarray": np.ndarray, "int": int, "float": float, "true": True, "false": False,
        "none": None, "exception": Exception, "recursion": RecursionError,
        "from_checkpoint": _LABEL,
    }  # fmt: skip
    addresses = [
        id(objects[name])
        if name in objects
        else ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        for name in API
    ]
    return (ctypes.c_int64 * len(addresses))(*addresses)
