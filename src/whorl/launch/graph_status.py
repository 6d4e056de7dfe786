"""Checkpoints at run time: how a launch ended, and the labels that it is resumed from."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Final

from whorl.errors import UnknownCheckpoint
from whorl.fast_dataclasses import dataclass
from whorl.reads import Path, Step, World
from whorl.reads.trace import Plain, key_of
from whorl.reads.world import ABSENT


@dataclass(frozen=True, slots=True)
class GraphStatus:
    """How a launch of a kernel with checkpoints ended.

    `yielded` says whether it stopped at a checkpoint, and `checkpoint` at which: the very object
    that the source names; None if it came to its end. It can be pickled, and a launch be resumed
    from it elsewhere.

    >>> GraphStatus(yielded=False)
    GraphStatus(yielded=False, checkpoint=None)
    """

    yielded: bool
    checkpoint: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        # By name, whatever Python does: a member whose number was edited is still that member.
        if isinstance(self.checkpoint, enum.Enum):
            name = self.checkpoint.name
            return _restored, (self.yielded, type(self.checkpoint), name)
        return GraphStatus, (self.yielded, self.checkpoint)


def _restored(yielded: bool, cls: type[enum.Enum], name: str) -> GraphStatus:
    try:
        return GraphStatus(yielded, cls[name])
    except KeyError:
        raise LookupError(
            f"the status names {cls.__qualname__}.{name}, which is no member of "
            f"{cls.__qualname__} any more; it has {', '.join(cls.__members__)}"
        ) from None


ENDED: Final = GraphStatus(yielded=False)


NO_LABEL: Final = ...  # `resume` was called without one


# -- labels of checkpoints -------------------------------------------------------------
#
# The labels of checkpoints: from plain data to the objects that the source names, and back.


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
