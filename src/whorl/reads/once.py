"""A world in which each path is walked once."""

from __future__ import annotations

from typing import Any

from .operations import ABSENT, walk
from .trace import Path
from .world import World

__all__ = ["Once", "owner_of"]


class Once(World):
    """A world in which each path is walked once, so that all that is made of it agrees.

    A property may say something else each time, and another thread may rebind what it leads to:
    the facts of what was found here are those of the table.
    """

    def __init__(self, world: World) -> None:
        super().__init__(
            world.function,
            world.arguments,
            world.options,
            world.environment,
            world.target,
            world.compiler,
        )
        self._values: dict[Path, Any] = {}

    def find(self, path: Path) -> Any:
        """What is at a path, or ABSENT."""
        if path not in self._values:
            if path.steps:
                before = self.find(owner_of(path))
                value = ABSENT if before is ABSENT else walk(before, path.steps[-1])
            else:
                value = super().find(path)
            self._values[path] = value
        return self._values[path]


def owner_of(path: Path) -> Path:
    """What a path's last step is taken from."""
    return Path(path.root, path.name, path.steps[:-1])
