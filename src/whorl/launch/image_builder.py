"""Builds the images that whorl ships: each routine, for each known layout and processor.

`make images` runs it. What it writes depends on the sources and on LLVM alone: the same on every
machine, whichever interpreter runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from whorl.lazy import load

from .known_layouts import KNOWN_LAYOUTS
from .level import ARM_LEVELS, X86_LEVELS
from .routine import launcher_for
from .shipped_images import IMAGES, image_file
from .stored_routine import StoredRoutine


def shipped_routines() -> Iterator[StoredRoutine]:
    """Every routine, for each layout and each architecture that it is shipped for."""
    for lowest in (X86_LEVELS[0], ARM_LEVELS[0]):
        for layout in KNOWN_LAYOUTS.values():
            yield launcher_for(layout, lowest)
        yield from load("whorl.native_walk.walk_loading").shipped_walks(lowest)


def build_images(directory: Path, routines: Iterable[StoredRoutine]) -> list[Path]:
    """Write the images of routines into a directory, and remove all others from it."""
    directory.mkdir(exist_ok=True)
    written = []
    for routine in routines:
        entry = routine.image_entry()
        path = directory / image_file(entry.key)
        path.write_bytes(entry.data)
        written.append(path)
    for path in directory.iterdir():
        if path not in written:
            path.unlink()
    return written


if __name__ == "__main__":
    paths = build_images(Path(IMAGES), shipped_routines())
    print(f"{len(paths)} images, {sum(path.stat().st_size for path in paths)} bytes, in {IMAGES}")
