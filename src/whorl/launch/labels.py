"""The labels of checkpoints: from plain data to the objects that the source names, and back."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from whorl.errors import UnknownCheckpoint
from whorl.reads import Path, Step, World
from whorl.reads.item import key_of
from whorl.reads.trace import Plain
from whorl.reads.world import ABSENT

__all__ = ["is_same_label", "label_of", "labels_of", "number_of"]


def label_of(plain: Plain, world: World) -> Any:
    """The object that a label is in this process, found as the source finds it.

    Whether it is still the object of the compile is one of the facts of the call.
    """
    if plain[0] == "key":
        return key_of(plain[1])
    _, root, name, steps = plain
    label = world.find(Path(root, name, tuple(Step(*step) for step in steps)))
    if label is ABSENT:  # rebound since the launch began
        raise LookupError(f"the label {root}:{name} of a checkpoint is gone")
    return label


def labels_of(plain: Plain, world: World) -> tuple[Any, ...]:
    """The objects that all labels are, in order."""
    return tuple(label_of(each, world) for each in plain)


def number_of(wanted: object, labels: Sequence[Any], kernel: str) -> int:
    """The number of the checkpoint with a label; `UnknownCheckpoint` if there is none."""
    for number, label in enumerate(labels, 1):
        if is_same_label(label, wanted):
            return number
    raise UnknownCheckpoint(kernel, wanted, tuple(labels))


def is_same_label(label: Any, wanted: object) -> bool:
    """Whether they are equal ints, and not members of two enums, or of one that was edited."""
    if label is wanted:
        return True
    if not isinstance(wanted, int) or isinstance(wanted, bool):
        return False
    if isinstance(label, enum.Enum) and isinstance(wanted, enum.Enum):
        mine, theirs = type(label), type(wanted)
        if (mine.__module__, mine.__qualname__) != (theirs.__module__, theirs.__qualname__):
            return False
        return label.name == wanted.name
    return bool(int(label) == int(wanted))
