"""The state of one walk of the emitters: its budget and its memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .tokens import Chunker

__all__ = ["Emit", "EmitRun", "Learn", "Overrun", "Table", "collapse", "spend"]


class Overrun(Exception):
    """The quick walk has done too much to be walking a tree."""


class EmitRun:
    """The state of one walk: how much it may still collapse, what it remembers.

    What is remembered by address must stay alive: `alive` has the objects that rules create.
    """

    __slots__ = ("alive", "budget", "chunk", "memo", "own_code")

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self.chunk: Chunker | None = None
        self.memo: dict[int, list[object]] = {}
        self.own_code: dict[int, list[object]] = {}
        self.alive: list[object] = []


def collapse(out: list[object], start: int, run: EmitRun) -> None:
    """Replace the tokens from `start` on by their chunk."""
    tokens = out[start:]
    spend(run, len(tokens))
    chunk = run.chunk
    if chunk is None:
        chunk = run.chunk = Chunker()
    out[start:] = chunk(tokens)


def spend(run: EmitRun, tokens: int) -> None:
    """Count tokens that were collapsed: without collapses, no walk grows beyond its value."""
    run.budget -= tokens
    if run.budget < 0:
        raise Overrun


Emit = Callable[[Any, list[object], EmitRun], None]
"""Appends the tokens of a value to a list."""

Table = dict[type, Emit]
Learn = Callable[[type], Emit]
"""Makes the emitter of a class that a table does not have."""
