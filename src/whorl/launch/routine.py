"""The address of the launcher: compiled once per layout, then mapped from the store."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from whorl.artifacts import LAUNCHER, Artifact, Entry, Label, Part, decode, encode
from whorl.fast_dataclasses import NamedTuple
from whorl.fingerprint.digest import StableDigest, hash_hex
from whorl.lazy import lazy_module, load, logger
from whorl.locks import RLock
from whorl.signals import pass_on
from whorl.store import Cache
from whorl.store.miss_recording import is_hit_required

from . import machine
from .image import Image
from .layout_search import object_layout
from .linking import Unlinkable, link
from .mapped import Unmappable, map_image
from .native import ENTRY, whorl_launch
from .object_layout import ObjectLayout
from .object_reads import at, constants_of
from .toolchain import toolchain

if TYPE_CHECKING:
    from . import failure
else:
    failure = lazy_module("whorl.launch.failure", globals())  # for what goes wrong

__all__ = ["NativeLaunch", "launcher_at", "launcher_text", "status"]

log = logger("whorl.launch")

_lock: Final = [RLock()]  # another one in a forked child
_addresses: dict[str, int | None] = {}  # by level; None: it cannot be made or loaded here


class NativeLaunch(NamedTuple):
    """Whether kernels are launched natively in this process, and why not."""

    on: bool
    reason: str


class NotPrepared(Unmappable):
    """Nothing may be compiled in this process, and no other one has made the launcher."""


def status() -> NativeLaunch:
    """Whether kernels are launched natively here, and why not, without compiling anything.

    >>> on, reason = status()
    >>> on == (reason == "")
    True
    """
    try:
        object_layout()
        if None in _addresses.values():
            why = ("the launcher could not be loaded", *failure.reasons()[:1])
            return NativeLaunch(False, ": ".join(why))
        if not _addresses:  # it has not been tried yet
            map_image(Image(b"\xc3", {"nothing": 0}, ()))
    except Exception as error:  # whatever it is, it is why there are none
        pass_on(error)
        return NativeLaunch(False, failure.reason_of(error))
    return NativeLaunch(True, "")


def launcher_at(cache: Cache, level: str) -> int | None:
    """The address of the launcher for a level; None if it cannot be made or loaded here."""
    with _lock[0]:
        if level not in _addresses:
            try:
                _addresses[level] = _obtain(cache, level)
            except NotPrepared as reason:
                log.info("kernels are launched in Python: %s", reason)
                _addresses[level] = None
            except Exception as error:  # a call that has its result must not fail for this
                if not failure.turns_off(error):
                    return None
                _addresses[level] = None
        return _addresses[level]


def _obtain(cache: Cache, level: str) -> int:
    address, code = _load(_compile(cache, level, object_layout()), level)
    # Kernels that outlive this module at the end of the process still enter it.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))
    return address


@cache
def launcher_text(layout: ObjectLayout) -> str:
    """The launcher for a layout, as LLVM's text.

    This is the one place that needs the compiler of kernels, which stands above this package; it is
    imported where no process has compiled the launcher yet.
    """
    with at.as_given(constants_of(layout)):
        text: str = load("whorl.kernels.systems_compiler").llvm_text(whorl_launch)
    return text


def _compile(cache: Cache, level: str, layout: ObjectLayout) -> Artifact:
    """What is in the store for a layout, compiled if no process has done so yet."""
    parts = ("launcher 3", layout.name, level, toolchain())
    key = StableDigest(hash_hex(repr(parts).encode()))

    def produce() -> Entry:
        if is_hit_required():
            raise NotPrepared("the launcher is not in the cache, and nothing may be compiled")
        code = machine.machine_code(launcher_text(layout), level, effort=2)  # as quick, made sooner
        payloads, described = {"object": code}, {}
        try:
            image = link(code)
        except Unlinkable:  # LLVM can load it
            pass
        else:
            payloads["text"], described["image"] = image.text, image.plain
        label = Label(
            "artifact", key, parts=(Part("name", LAUNCHER),), toolchain=f"{layout.name} {level}"
        )
        return encode(Artifact(payloads, described), label)

    obtained = cache.obtain(key, produce, what="the launcher")
    artifact = decode(obtained.entry)
    assert isinstance(artifact, Artifact)
    return artifact


def _load(artifact: Artifact, level: str) -> tuple[int, Any]:
    plain = artifact.metadata.get("image")
    if plain is not None:
        try:
            mapped = map_image(Image.from_plain(bytes(artifact.payloads["text"]), plain))
        except Unmappable:
            pass
        else:
            return mapped.addresses[ENTRY], mapped
    return machine.load_object(bytes(artifact.payloads["object"]), ENTRY, level)


def _after_fork() -> None:
    _lock[0] = RLock()  # a thread that is not in the child may hold the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
