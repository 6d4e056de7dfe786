"""How a launch of a kernel with checkpoints ended: at its end, or at a checkpoint."""

from __future__ import annotations

import enum
from typing import Any, Final

from whorl.fast_dataclasses import dataclass

__all__ = ["ENDED", "GraphStatus"]


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
