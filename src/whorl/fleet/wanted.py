"""What the trace of a compile has read of its arguments, as a tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from whorl.fast_dataclasses import dataclass, field
from whorl.fingerprint.static_lookup import ABSENT
from whorl.reads.trace import Aspect, Path, Read, Step, key_of

__all__ = ["NOTHING", "Wanted"]

_ITEMS: Final = frozenset(("item", "keyed", "key", "member", "with code"))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was read at a path, and below it.

    >>> reads = [Read(Path("arg", "self", (Step("attr", "x"),)), Aspect.ARRAY)]
    >>> [str(step) for step in Wanted.of(reads)["self"].steps]
    ['.x']
    """

    aspects: set[Aspect] = field(default_factory=set)
    steps: dict[Step, Wanted] = field(default_factory=dict)

    @staticmethod
    def of(reads: Iterable[Read]) -> dict[str, Wanted]:
        """What was read of each argument."""
        roots: dict[str, Wanted] = {}
        for read in reads:
            for path in (read.path, *read.beside):
                if path.root == "arg":
                    roots.setdefault(path.name, Wanted()).add(path, read.aspect)
        return roots

    def add(self, path: Path, aspect: Aspect) -> None:
        """Want what is at a path as well."""
        node = self
        for step in path.steps:
            node = node.steps.setdefault(step, Wanted())
        node.aspects.add(aspect)

    def attribute(self, name: str) -> Wanted | None:
        """What was read of an attribute; None if nothing was."""
        return self.steps.get(Step("attr", name))

    def item(self, key: object) -> Wanted:
        """What was read of an item."""
        for step, below in self.steps.items():
            if step.operation == "item" and _is_same(step.name, key):
                return below
            if step.operation == "keyed" and _is_same(_key(step.name), key):
                return below
        return NOTHING

    @property
    def wants_content(self) -> bool:
        """Whether elements were read, not only where they are."""
        return Aspect.VALUE in self.aspects or any(s.operation in _ITEMS for s in self.steps)


def _is_same(one: object, other: object) -> bool:
    return type(one) is type(other) and bool(one == other)


def _key(code: Any) -> object:
    try:
        return key_of(code)
    except Exception:
        return ABSENT


NOTHING: Final = Wanted()
