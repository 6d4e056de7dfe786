"""A call whose like is to be launched natively: what was found for it."""

from __future__ import annotations

from typing import Any

from whorl.fast_dataclasses import NamedTuple
from whorl.jit.specialization import KnownShape
from whorl.reads import World

from .parts import Parts

__all__ = ["NativeCall"]


class NativeCall(NamedTuple):
    """A call, and what was found for it."""

    known: KnownShape
    found: Any  # what its facts lead to
    world: World
    parts: Parts
    given: tuple[int, frozenset[str]]  # how many arguments by position, and which by keyword
    number: int  # of the checkpoint to resume from; 0 for a call of the kernel itself
