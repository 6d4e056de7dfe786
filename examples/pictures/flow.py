"""A lattice Boltzmann flow: a stream past a cylinder, which sheds eddies.

On each cell of a grid, nine numbers say how much of the fluid goes into each of nine directions.
Every step they are passed on to the neighbours, and drawn together towards equilibrium. The picture
shows how fast the fluid turns, to the left and to the right.

    python -m examples.pictures.flow flow.png
"""

from __future__ import annotations

from typing import Any

import numpy as np

import whorl

from .png import saved_as_told

DIRECTIONS = np.array([(x, y) for x in (0, 1, -1) for y in (0, 1, -1)])
WEIGHTS = np.outer((4.0, 1.0, 1.0), (4.0, 1.0, 1.0)) / 36
OPPOSITE = np.array([np.argmax((-each == DIRECTIONS).all(axis=1)) for each in DIRECTIONS])
SPEED = 0.1


class Stream:
    """A channel, with the stream from the left, and a cylinder in it."""

    def __init__(self, width: int = 520, height: int = 180, reynolds: float = 160.0) -> None:
        self.width, self.height, radius = width, height, height / 9
        x, y = np.meshgrid(np.arange(width), np.arange(height), indexing="ij")
        self.is_solid = (x - width / 5) ** 2 + (y - height / 2 - 2) ** 2 < radius**2
        self.relaxation = 1 / (3 * (2 * radius * SPEED / reynolds) + 0.5)
        self.velocity = np.zeros((width, height, 2))
        self.velocity[..., 0] = SPEED * (1 + 0.01 * np.sin(2 * np.pi * y / height))
        self.now = np.zeros((width, height, 9))
        self.begin()
        self.after = self.now.copy()

    @whorl.kernel
    def begin(self) -> None:
        """Equilibrium everywhere."""
        for i, j in whorl.prange(np.ndindex(self.is_solid.shape)):
            for k in range(9):
                self.now[i, j, k] = equilibrium(1.0, self.velocity[i, j], k)

    @whorl.kernel
    def advance(self) -> None:
        """One step: pass on, and draw together."""
        for i, j in whorl.prange(whorl.ndrange(self.width, self.height)):
            if not self.is_solid[i, j]:
                density, momentum = 0.0, whorl.vec(0.0, 0.0)
                for k in range(9):
                    m = i - DIRECTIONS[k, 0]
                    n = (j - DIRECTIONS[k, 1]) % self.height
                    if m < 0 or m >= self.width:  # the ends of the channel
                        part = equilibrium(1.0, whorl.vec(SPEED, 0.0), k)
                        if m >= self.width:
                            part = self.now[i, j, k]
                    elif self.is_solid[m, n]:  # what went there has come back
                        part = self.now[i, j, OPPOSITE[k]]
                    else:
                        part = self.now[m, n, k]
                    self.after[i, j, k] = part
                    density += part
                    momentum += DIRECTIONS[k] * part
                velocity = momentum / density
                self.velocity[i, j] = velocity
                for k in range(9):
                    apart = equilibrium(density, velocity, k) - self.after[i, j, k]
                    self.after[i, j, k] += self.relaxation * apart
            else:
                self.velocity[i, j] = whorl.vec(0.0, 0.0)

    @whorl.kernel
    def paint(self, pixels: Any) -> None:
        """How fast the fluid turns: red to the left, blue to the right."""
        for i, j in whorl.prange(whorl.ndrange(self.width, self.height)):
            left, right = max(i - 1, 0), min(i + 1, self.width - 1)
            low, high = max(j - 1, 0), min(j + 1, self.height - 1)
            along = self.velocity[right, j].y - self.velocity[left, j].y
            turning = (along - self.velocity[i, high].x + self.velocity[i, low].x) * 14
            strength = min(abs(turning), 1.0) ** 0.7
            colour = whorl.vec(0.85, 0.2, 0.15) if turning > 0 else whorl.vec(0.1, 0.3, 0.8)
            if self.is_solid[i, j]:
                colour, strength = whorl.vec(0.25, 0.25, 0.28), 1.0
            white = whorl.vec(0.97, 0.97, 0.95)
            pixels[self.height - 1 - j, i] = white + (colour - white) * strength

    def run(self, steps: int) -> None:
        """Let the fluid flow."""
        for _ in range(steps):
            self.advance()
            self.now, self.after = self.after, self.now

    def picture(self) -> Any:
        """The stream from the side."""
        pixels = np.zeros((self.height, self.width, 3))
        self.paint(pixels)
        return pixels


@whorl.func
def equilibrium(density: float, velocity: Any, k: int) -> Any:
    """How much goes into a direction, where nothing disturbs it."""
    along = 3 * (velocity[0] * DIRECTIONS[k, 0] + velocity[1] * DIRECTIONS[k, 1])
    square = velocity[0] * velocity[0] + velocity[1] * velocity[1]
    return WEIGHTS[k // 3, k % 3] * density * (1 + along + along * along / 2 - 1.5 * square)


if __name__ == "__main__":
    stream = Stream()
    stream.run(6000)
    saved_as_told(stream.picture(), "flow.png")
