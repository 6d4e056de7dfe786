"""Simulates waves in a basin of water, and draws a picture of their interference.

Two whorl kernels, both methods of a plain class. `advance` takes one step of the wave equation
with reflecting walls and damped borders; `render` converts heights to pixels. Run it with
`python examples/waves.py out.png`, or see `make demo`.
"""

from __future__ import annotations

import math
import struct
import sys
import zlib
from pathlib import Path
from uuid import uuid4

import numpy as np

import whorl

SPEED = 0.5  # of a wave, in cells per step
SLIT = 9  # cells


@whorl.func
def shade(height: float, slope: float) -> tuple[float, float, float]:
    """The colour of water of a height, lit from the left."""
    light = min(1.0, max(0.0, 0.5 + 2.2 * slope))
    foam = min(1.0, max(0.0, (height - 0.55) * 2.0))
    return (
        (0.02 + 0.35 * light) * (1.0 - foam) + foam,
        (0.10 + 0.62 * light) * (1.0 - foam) + foam,
        (0.25 + 0.75 * light) * (1.0 - foam) + foam,
    )


class Basin:
    """Heights of the water now and a moment ago, a wall with two slits, and a source."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.now = np.zeros((rows, columns), np.float32)
        self.before = np.zeros((rows, columns), np.float32)
        self.is_open = np.ones((rows, columns), np.bool_)
        self.keeps = np.ones((rows, columns), np.float32)
        self.time = 0
        self.id = uuid4()  # no kernel reads it, so it is in no key
        wall = columns // 3
        self.is_open[:, wall : wall + 3] = False
        for slit in (rows // 2 - 5 * SLIT, rows // 2 + 4 * SLIT):
            self.is_open[slit : slit + SLIT, wall : wall + 3] = True
        border = np.arange(24, dtype=np.float32)
        for side in (self.keeps, self.keeps[::-1], self.keeps.T, self.keeps.T[::-1]):
            side[:24] *= (1 - 0.02 * (1 - border / 24))[:, None]

    @whorl.kernel
    def advance(self, drive: float):  # type: ignore[no-untyped-def] # a kernel, by its arguments
        """One step: the heights before become those after."""
        for i in whorl.prange(1, self.rows - 1):
            for j in range(1, self.columns - 1):
                if self.is_open[i, j]:
                    around = (
                        self.now[i - 1, j] + self.now[i + 1, j]
                        + self.now[i, j - 1] + self.now[i, j + 1]
                    )  # fmt: skip
                    pull = SPEED * SPEED * (around - 4 * self.now[i, j])
                    after = 2 * self.now[i, j] - self.before[i, j] + pull
                    self.before[i, j] = after * self.keeps[i, j]
        for i in range(self.rows // 4, 3 * self.rows // 4):
            self.before[i, 30] = drive

    @whorl.kernel
    def render(self, pixels):  # type: ignore[no-untyped-def] # as above
        """The heights as colours."""
        for i in whorl.prange(self.rows):
            for j in range(self.columns):
                left = self.now[i, max(j - 1, 0)]
                red, green, blue = shade(self.now[i, j], self.now[i, j] - left)
                if not self.is_open[i, j]:
                    red, green, blue = 0.35, 0.27, 0.2
                pixels[i, j, 0] = int(255 * red)
                pixels[i, j, 1] = int(255 * green)
                pixels[i, j, 2] = int(255 * blue)

    def run(self, steps: int) -> None:
        """Let the water move."""
        for _ in range(steps):
            self.advance(math.sin(0.28 * self.time))
            self.now, self.before = self.before, self.now
            self.time += 1

    def picture(self) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
        """The water, from above."""
        pixels = np.zeros((self.rows, self.columns, 3), np.uint8)
        self.render(pixels)
        return pixels


def write_png(path: Path, pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> None:
    """Write pixels as a PNG file."""
    rows, columns, _ = pixels.shape

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)

    head = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(lines, 6)), chunk(b"IEND", b""))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))


if __name__ == "__main__":
    basin = Basin(400, 600)
    basin.run(1400)
    write_png(Path(sys.argv[1] if len(sys.argv) > 1 else "waves.png"), basin.picture())
