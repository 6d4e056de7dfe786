"""Machine code of whorl's own: shipped with it, found in the store, or compiled.

A routine is an entry point of the systems dialect with all that it calls. There are two, the
launcher (`routine`) and the walk of fingerprints (`native_walk`). Each is the same bytes in every
process of one layout. Wheels hold images for the layouts of released interpreters (see
`shipped_images`); for others a routine is compiled once, kept in the store, and mapped. Nothing
here needs NumPy.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, Final

from whorl.artifacts import LAUNCHER, Artifact, Entry, Label, Part, decode, encode
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.digest import StableDigest, hash_hex
from whorl.store import BaseStore, Cache, Ending, Found
from whorl.store.journal import is_hit_required

from . import machine
from .image import Image
from .linking import Unlinkable, link
from .mapped import Unmappable, map_image
from .shipped_images import shipped_image
from .toolchain import own_identity, toolchain

SHIPPED: Final = "shipped with whorl"
FOUND: Final = "found in the cache"
COMPILED: Final = "compiled once for this Python"

origins: Final[dict[str, str]] = {}
"""Where this process has each routine from, by its name."""


class NotPrepared(Unmappable):
    """Nothing may be compiled in this process, and no other one has made the routine."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredRoutine:
    """A routine for one layout and one level of the processor."""

    name: str  # what it is called in the log: "launcher"
    format: str  # part of the key: another one whenever what the routine is called with changes
    entry: str  # the symbol
    layout: str  # the name of the layout
    level: str
    text: Callable[[], str]  # gives LLVM's text, if it has to be compiled

    def address(self, cache: Cache, *, compiles: bool = True) -> int:
        """Where it is in memory, for the rest of the process. `NotPrepared`: it is in no store."""
        address, code, origins[self.name] = self._shipped() or self._stored(cache, compiles)
        # What outlives this module at the end of the process still enters it.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))
        return address

    @property
    def key(self) -> StableDigest:
        """The key of its shipped image: all that decides what its code is, except for LLVM."""
        parts = (self.format, self.layout, sys.platform, self.level, own_identity())
        return StableDigest(hash_hex(repr(parts).encode()))

    @property
    def stored_key(self) -> StableDigest:
        """Its key in a store, where LLVM counts too."""
        return StableDigest(hash_hex(f"{self.key} {toolchain()}".encode()))

    def is_stored(self, store: BaseStore) -> bool:
        """Whether a store has it."""
        return isinstance(store.get(self.stored_key), Found)

    def image_entry(self) -> Entry:
        """What is shipped of it: an image, the same bytes wherever it is built."""
        with machine.untuned():
            image = link(machine.machine_code(self.text(), self.level, effort=2))
        return encode(
            Artifact({"text": image.text}, {"image": image.plain}), self._label(self.key, "")
        )

    def _label(self, key: StableDigest, toolchain: str) -> Label:
        parts = (Part("name", LAUNCHER), Part("routine", self.name), Part("level", self.level))
        return Label("artifact", key, parts=parts, toolchain=toolchain)

    def _shipped(self) -> tuple[int, Any, str] | None:
        """Its shipped image, mapped; None if none fits."""
        artifact = shipped_image(self.key)
        if artifact is None:
            return None
        try:
            return *load_routine(artifact, self.entry), SHIPPED
        except Unmappable:  # LLVM may still load what is compiled here
            return None

    def _stored(self, cache: Cache, compiles: bool) -> tuple[int, Any, str]:
        """What is in the store, compiled if no process has done so yet."""

        def produce() -> Entry:
            if is_hit_required() or not compiles:
                reason = f"the {self.name} is not in the cache, and nothing may be compiled"
                raise NotPrepared(reason)
            return self._compiled()

        obtained = cache.obtain(self.stored_key, produce, what=f"the {self.name}")
        artifact = decode(obtained.entry)
        assert isinstance(artifact, Artifact)
        origin = FOUND if obtained.how is Ending.HIT else COMPILED
        return *load_routine(artifact, self.entry), origin

    def _compiled(self) -> Entry:
        """What is stored of it: an image if it can be linked, and the object for LLVM to load."""
        code = machine.machine_code(self.text(), self.level, effort=2)  # as quick, made sooner
        payloads, described = {"object": code}, {}
        try:
            image = link(code)
        except Unlinkable:  # LLVM can load it
            pass
        else:
            payloads["text"], described["image"] = image.text, image.plain
        return encode(Artifact(payloads, described), self._label(self.stored_key, toolchain()))


def load_routine(artifact: Artifact, entry: str) -> tuple[int, Any]:
    """The address of a routine, and what keeps it in memory."""
    plain = artifact.metadata.get("image")
    if plain is not None:
        try:
            mapped = map_image(Image.from_plain(bytes(artifact.payloads["text"]), plain))
        except Unmappable:
            if "object" not in artifact.payloads:
                raise
        else:
            return mapped.addresses[entry], mapped
    return machine.load_object(bytes(artifact.payloads["object"]), entry)
