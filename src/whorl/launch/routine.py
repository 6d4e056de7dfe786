"""The launcher's text in, its address out: compiled once per layout, then mapped from the store."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from whorl.artifacts import LAUNCHER, Artifact, Entry, Label, Part, decode, encode
from whorl.fingerprint.digest import StableDigest, hash_hex
from whorl.locks import Lock
from whorl.store import Cache

from .image import Image, Unlinkable, link
from .layout import NotKnown, layout
from .mapped import Mapped, Unmappable, map_image
from .native import API, ENTRY, launcher_text

__all__ = ["api_table", "routine_address"]

_lock: Final = [Lock()]  # another one in a forked child
_found: dict[str, tuple[Mapped, int] | None] = {}


def routine_address(cache: Cache, level: str, compile_it: Callable[[str], bytes]) -> int | None:
    """Where the launcher is; None if there is no native way here.

    `compile_it` makes an object file of LLVM's text; it is called if no process has done so yet.
    """
    with _lock[0]:
        if level not in _found:
            try:
                _found[level] = _mapped(cache, level, compile_it)
            except (NotKnown, Unlinkable, Unmappable):
                _found[level] = None
        found = _found[level]
        return None if found is None else found[1]


def _mapped(cache: Cache, level: str, compile_it: Callable[[str], bytes]) -> tuple[Mapped, int]:
    text = launcher_text(layout())
    key = StableDigest(hash_hex(repr(("launcher", layout().name, level, text)).encode()))
    assert isinstance(key, StableDigest)

    def produce() -> Entry:
        from whorl.store.required import is_hit_required

        if is_hit_required():
            raise Unlinkable("the launcher is not in the cache, and nothing may be compiled")
        image = link(compile_it(text))
        toolchain = f"{layout().name} {level}"
        label = Label("artifact", key, parts=(Part("name", LAUNCHER),), toolchain=toolchain)
        return encode(Artifact({"text": image.text}, {"image": image.plain}), label)

    obtained = cache.obtain(key, produce, what="the launcher")
    artifact = decode(obtained.entry)
    assert isinstance(artifact, Artifact)
    image = Image.from_plain(bytes(artifact.payloads["text"]), artifact.metadata["image"])
    mapped = map_image(image)
    # Kernels that outlive this module at the end of the process still enter it.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(mapped))
    return mapped, mapped.addresses[ENTRY]


def _after_fork() -> None:
    _lock[0] = Lock()  # a thread that is not in the child may hold the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def api_table() -> Any:
    """The addresses that the launcher needs: objects, and functions of CPython's C API."""
    objects = {
        "ndarray": np.ndarray, "int": int, "float": float, "true": True, "false": False,
        "none": None, "exception": Exception,
    }  # fmt: skip
    addresses = [
        id(objects[name])
        if name in objects
        else ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        for name in API
    ]
    return (ctypes.c_int64 * len(addresses))(*addresses)
