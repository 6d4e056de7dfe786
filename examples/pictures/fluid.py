"""A material point fluid: water, jelly and snow fall into a box.

Particles carry velocity and deformation. In each step they hand their momentum to a grid, the grid
moves it, and they take it back (the material point method, with affine velocities). Vectors and
matrices are rows of arrays; what several particles add to one node of the grid is added atomically.

    python -m examples.pictures.fluid fluid.png
"""

from __future__ import annotations

from typing import Any

import numpy as np

import whorl

from .png import saved_as_told

WATER, JELLY, SNOW = 0, 1, 2
COLOURS = np.array([[0.15, 0.45, 0.85], [0.93, 0.33, 0.25], [0.95, 0.95, 0.98]])
STIFFNESS = 1000.0
GRAVITY = whorl.vec(0.0, -50.0)
WALL = 3  # nodes at the edges of the grid


class Fluid:
    """Particles in the unit square, and a grid of `nodes` by `nodes`."""

    def __init__(self, nodes: int = 96, per_block: int = 2500) -> None:
        random = np.random.default_rng(1)
        corners = ((0.08, 0.05), (0.38, 0.35), (0.62, 0.62))
        blocks = [corner + 0.26 * random.random((per_block, 2)) for corner in corners]
        self.x = np.concatenate(blocks)
        count = len(self.x)
        self.kind = np.repeat(np.array([WATER, JELLY, SNOW]), per_block)
        self.v = np.zeros((count, 2))
        self.v[self.kind == SNOW] = (-3.0, -8.0)
        self.affine = np.zeros((count, 2, 2))
        self.deformation = np.tile(np.eye(2), (count, 1, 1))
        self.packed = np.ones(count)  # how much snow has been pressed together for good
        self.nodes, self.dx = nodes, 1.0 / nodes
        self.dt = 0.2 * self.dx / 20.0
        self.volume = 0.26**2 / per_block
        self.momentum = np.zeros((nodes, nodes, 2))
        self.mass = np.zeros((nodes, nodes))

    def stress(self, p: int) -> Any:
        """What a particle does to its surroundings; changes its deformation where it gives way."""
        f, kind = whorl.mat(self.deformation[p]), self.kind[p]
        shear, bulk = 0.4 * STIFFNESS, 0.55 * STIFFNESS
        if kind == WATER:
            shear = 0.0
        elif kind == SNOW:
            hardening = min(max(np.exp(8.0 * (1.0 - self.packed[p])), 0.1), 6.0)
            shear, bulk = shear * hardening, bulk * hardening
        u, s, vh = whorl.svd(f)
        volume = s.x * s.y
        if kind == SNOW:
            kept = np.minimum(np.maximum(s, 1 - 0.025), 1 + 0.0045)
            self.packed[p] *= volume / (kept.x * kept.y)
            f = (u * kept) @ vh
            volume = kept.x * kept.y
        elif kind == WATER:
            f = whorl.mat((1.0, 0.0), (0.0, 1.0)) * np.sqrt(volume)
        self.deformation[p] = f
        turned = (f - u @ vh) @ f.T
        return turned * (2 * shear) + whorl.mat((1.0, 0.0), (0.0, 1.0)) * (
            bulk * volume * (volume - 1)
        )

    @whorl.kernel
    def particles_to_grid(self) -> None:
        for i, j in whorl.prange(np.ndindex(self.mass.shape)):
            self.mass[i, j] = 0.0
            self.momentum[i, j] = whorl.vec(0.0, 0.0)
        for p in whorl.prange(len(self.x)):
            self.deformation[p] += self.affine[p] @ self.deformation[p] * self.dt
            around = self.stress(p) * (-4 * self.dt * self.volume / self.dx**2)
            affine = around + whorl.mat(self.affine[p]) * self.volume
            base, offset, weights = weights_of(whorl.vec(self.x[p]) / self.dx)
            for i, j in whorl.ndrange(3, 3):
                apart = (whorl.vec(i, j) - offset) * self.dx
                weight = weights[i].x * weights[j].y
                node = base.x + i, base.y + j
                self.mass[node] += weight * self.volume
                self.momentum[node] += (self.v[p] * self.volume + affine @ apart) * weight

    @whorl.kernel
    def move_grid(self) -> None:
        last = self.nodes - WALL
        for i, j in whorl.prange(np.ndindex(self.mass.shape)):
            if self.mass[i, j] > 0:
                self.momentum[i, j] /= self.mass[i, j]
                self.momentum[i, j] += GRAVITY * self.dt
                v = whorl.vec(self.momentum[i, j])
                if (i < WALL and v.x < 0) or (i > last and v.x > 0):
                    v.x = 0.0
                if (j < WALL and v.y < 0) or (j > last and v.y > 0):
                    v.y = 0.0
                self.momentum[i, j] = v

    @whorl.kernel
    def grid_to_particles(self) -> None:
        for p in whorl.prange(len(self.x)):
            base, offset, weights = weights_of(whorl.vec(self.x[p]) / self.dx)
            v, affine = whorl.zeros(2), whorl.zeros((2, 2))
            for i, j in whorl.ndrange(3, 3):
                part = self.momentum[base.x + i, base.y + j] * (weights[i].x * weights[j].y)
                v += part
                affine += whorl.vec(part).outer((whorl.vec(i, j) - offset) * (4 / self.dx))
            self.v[p] = v
            self.affine[p] = affine
            self.x[p] += v * self.dt

    def run(self, steps: int) -> None:
        """Let time pass."""
        for _ in range(steps):
            self.particles_to_grid()
            self.move_grid()
            self.grid_to_particles()

    def picture(self, size: int = 480) -> Any:
        """The particles as soft dots."""
        pixels = np.full((size, size, 3), (0.07, 0.09, 0.12))
        draw(self.x, COLOURS[self.kind], pixels, 1.3 * size / 480)
        return pixels[::-1]


@whorl.func
def weights_of(place: Any) -> Any:
    """The lower of three nodes in each direction, where the place is beyond it, three weights."""
    base = (place - 0.5).cast(int)
    offset = place - base
    return (
        base,
        offset,
        ((1.5 - offset) ** 2 * 0.5, 0.75 - (offset - 1.0) ** 2, (offset - 0.5) ** 2 * 0.5),
    )


@whorl.kernel
def draw(x: Any, colours: Any, pixels: Any, radius: float) -> None:
    size, reach = pixels.shape[0], int(radius + 1)
    for p in range(len(x)):
        centre = whorl.vec(x[p]) * size
        column, row = int(centre.x), int(centre.y)
        for i, j in whorl.ndrange(
            (row - reach, row + reach + 1), (column - reach, column + reach + 1)
        ):
            if 0 <= i < size and 0 <= j < size:
                distance = (whorl.vec(j + 0.5, i + 0.5) - centre).norm()
                cover = min(max(radius - distance + 0.5, 0.0), 1.0)
                pixels[i, j] += (colours[p] - pixels[i, j]) * cover


if __name__ == "__main__":
    fluid = Fluid()
    fluid.run(2600)
    saved_as_told(fluid.picture(), "fluid.png")
