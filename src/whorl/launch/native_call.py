"""A call in Python that native calls of its kind are prepared from."""

from __future__ import annotations

from typing import Any

from whorl.fast_dataclasses import NamedTuple
from whorl.jit.specialization import KnownShape
from whorl.reads import World

from .parts import Parts

__all__ = ["NativeCall"]


class NativeCall(NamedTuple):
    """A call, and the specialization that was launched for it."""

    known: KnownShape
    match: Any  # what its facts lead to
    world: World
    parts: Parts
    given: tuple[int, frozenset[str]]  # how many arguments by position, and which by keyword
    number: int  # of the checkpoint to resume from; 0 for a call of the kernel itself
