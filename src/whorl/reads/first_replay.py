"""The first replay of a shape in a process: the facts of a call in both spellings at once.

A table leads from live facts to what was found under durable ones, so the two have to be of the
same moment: see `facts.pair`. From the second call on, live facts are enough.
"""

from __future__ import annotations

from typing import Any

from whorl.fast_dataclasses import NamedTuple

from .facts import Unmatched
from .replay import add_live, fact_pair
from .trace import Plain, Shape
from .value_fact import is_only_here
from .world import World, other_modules, own_module, scope_of

__all__ = ["Facts", "first_facts"]


class Facts(NamedTuple):
    """The facts of a call in both spellings."""

    live: tuple[Any, ...]
    durable: tuple[Plain, ...]
    referents: tuple[object, ...]  # what has to stay alive for the live ones to mean the same

    @property
    def is_only_here(self) -> bool:
        """Whether one of them means nothing in another process."""
        return is_only_here(self.durable)


def first_facts(shape: Shape, world: World, *, by_identity: bool = False) -> Facts:
    """The facts of a call. Where a value has none, they say so, or are of its identity."""
    function = world.function
    others = other_modules(shape, own_module(function))
    scopes = [scope_of(function, name) for name in others]  # before anything exchanges a module
    live: list[Any] = []
    durable: list[Plain] = []
    referents: list[object] = [*scopes]
    for read in shape.reads:
        pair = fact_pair(read, world, by_identity)
        add_live(live, read, pair.live)
        durable.append(pair.durable)
        referents += pair.referents
    for name, scope in zip(others, scopes, strict=True):
        live.append(id(scope) if scope_of(function, name) is scope else Unmatched())
    return Facts((*live,), (*durable,), (*referents,))
