"""A world in, the same world out in which each path is walked once."""

from __future__ import annotations

from typing import Any

from .operations import ABSENT, walk
from .trace import Path
from .world import World

__all__ = ["Once", "owner_of"]


class Once:
    """A world in which each path is walked once, so that all that is made of it agrees.

    A property may say something else each time, and another thread may rebind what it leads to:
    the facts of what was found here are those of the table.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._found: dict[Path, Any] = {}
        self.function = world.function
        self.arguments = world.arguments
        self.environment = world.environment

    def find(self, path: Path) -> Any:
        """What is at a path, or ABSENT."""
        if path not in self._found:
            if path.steps:
                before = self.find(owner_of(path))
                found = ABSENT if before is ABSENT else walk(before, path.steps[-1])
            else:
                found = self._world.find(path)
            self._found[path] = found
        return self._found[path]


def owner_of(path: Path) -> Path:
    """What a path's last step is taken from."""
    return Path(path.root, path.name, path.steps[:-1])
