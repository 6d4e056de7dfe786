"""Loads the native walk: from what is shipped with whorl, from the store, or compiled now."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

from whorl.fast_dataclasses import NamedTuple
from whorl.launch import failure
from whorl.launch.level import lowest_level
from whorl.launch.object_words import at
from whorl.launch.shipped_images import shipped_image
from whorl.launch.stored_routine import NotPrepared, StoredRoutine, origins
from whorl.lazy import load, logger
from whorl.signals import pass_on
from whorl.store import default_cache

from .native_digest import NativeDigest
from .token_walk import whorl_walk
from .walk_layout import KNOWN_WALK_LAYOUTS, WalkLayout, constants_of, walk_layout

log = logger("whorl.fingerprint")

NAME = "walk of fingerprints"
IN_PYTHON = "fingerprints are taken in Python, which takes longer"


class NativeWalk(NamedTuple):
    """Whether a process that takes many fingerprints walks natively, and by what, or why not."""

    on: bool
    text: str


def walk_for(layout: WalkLayout, level: str) -> StoredRoutine:
    """The walk for a layout and a level. It is as quick for the lowest level as for others."""
    return StoredRoutine(
        NAME, "walk 1", whorl_walk.__name__, layout.name, level, lambda: walk_text(layout)
    )


@cache
def walk_text(layout: WalkLayout) -> str:
    """The walk for a layout, as LLVM's text. It needs the compiler of kernels, imported now."""
    with at.as_given(constants_of(layout)):
        text: str = load("whorl.kernels.systems_compiler").llvm_text(whorl_walk)
    return text


def shipped_walks(level: str) -> Iterator[StoredRoutine]:
    """The walk for each layout that it is shipped for."""
    return (walk_for(layout, level) for layout in KNOWN_WALK_LAYOUTS.values())


def new_digests(*, compiles: bool) -> partial[NativeDigest] | None:
    """What makes the native walk of a describer; None if it is in no store, or cannot be had.

    `NotPrepared`: it is nowhere yet, and may be compiled later. What fails is warned about once.
    """
    try:
        layout = walk_layout()
        routine = walk_for(layout, lowest_level())
        if not compiles and not is_prepared(routine):
            raise NotPrepared(f"the {NAME} is not in the cache")
        return partial(NativeDigest, routine.address(default_cache(), compiles=compiles), layout)
    except NotPrepared as reason:
        if not compiles:
            raise
        log.info("%s: %s", IN_PYTHON, reason)
    except Exception as error:  # a fingerprint must not fail for this
        failure.turns_off(error, IN_PYTHON)
    return None


def is_prepared(routine: StoredRoutine) -> bool:
    """Whether a routine is shipped, or in the store of this process."""
    return shipped_image(routine.key) is not None or routine.is_stored(default_cache().store)


def status() -> NativeWalk:
    """Whether fingerprints are taken natively here, without compiling anything.

    >>> on, text = status()
    >>> isinstance(on, bool), bool(text)
    (True, True)
    """
    try:
        routine = walk_for(walk_layout(), lowest_level())
        if not is_prepared(routine):
            return NativeWalk(True, f"the {NAME} is compiled when plain ones have taken 2 s")
        routine.address(default_cache(), compiles=False)
    except Exception as error:  # whatever it is, it is why there is none
        pass_on(error)
        return NativeWalk(False, failure.reason_of(error))
    return NativeWalk(True, f"the {NAME} is {origins[NAME]}")
