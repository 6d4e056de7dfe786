"""Computes the temperatures of a heated plate with holes, by conjugate gradients in one launch.

The plate's equations form a sparse matrix. Its size is not known before it is assembled, and the
number of iterations is not known at all. So both buffers start too small. The kernel stops at a
checkpoint when one of them is full; the host enlarges the buffer, and the launch resumes there,
inside the loop. Run it with `python examples/conjugate.py`, or see `make demo`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

import whorl


class Stage(IntEnum):
    """Where a launch can stop."""

    ASSEMBLE = 0
    RECORD = 1


@whorl.func
def product(plate, i):  # type: ignore[no-untyped-def] # followed by a kernel, by its arguments
    """A row of the matrix times the direction."""
    total = 0.0
    for k in range(plate.starts[i], plate.starts[i + 1]):
        total += plate.values[k] * plate.direction[plate.columns[k]]
    return total


class Plate:
    """The unknown temperatures of a plate that is held at zero at its border and holes."""

    def __init__(self, size: int, *, tolerance: float = 1e-10) -> None:
        inside = np.zeros((size, size), np.bool_)
        inside[1:-1, 1:-1] = True
        y, x = np.mgrid[0:size, 0:size] / size
        for hole_x, hole_y in ((0.3, 0.35), (0.7, 0.4), (0.45, 0.75)):
            inside[(x - hole_x) ** 2 + (y - hole_y) ** 2 < 0.01] = False
        self.cells = np.argwhere(inside)
        self.number = np.full((size, size), -1)
        self.number[inside] = np.arange(len(self.cells))
        n = len(self.cells)
        self.heat = np.ones(n) / size**2
        self.temperature, self.residual, self.direction = np.zeros(n), np.zeros(n), np.zeros(n)
        self.image = np.zeros(n)  # of the direction
        # The matrix, by rows: far too small at first.
        self.starts = np.zeros(n + 1, np.int64)
        self.columns, self.values = np.zeros(n, np.int64), np.zeros(n)
        self.history = np.zeros(16)
        # The state of the loop.
        self.tolerance = tolerance
        self.error, self.steps = np.zeros(()), np.zeros((), np.int64)
        self.goes_on, self.is_full = np.zeros((), np.int32), np.zeros((), np.int32)

    @whorl.kernel
    def solve(self):  # type: ignore[no-untyped-def] # a kernel, by its arguments
        """Assemble the matrix, and iterate down to the tolerance."""
        n = self.heat.size
        with whorl.checkpoint(Stage.ASSEMBLE, yield_on=self.is_full):
            used = 0
            for i in range(n):
                self.starts[i] = used
                row, column = self.cells[i, 0], self.cells[i, 1]
                for a, b, weight in ((0, 0, 4.0), (-1, 0, -1.0), (0, -1, -1.0), (0, 1, -1.0),
                                     (1, 0, -1.0)):  # fmt: skip
                    j = self.number[row + a, column + b]
                    if j >= 0:
                        if used < self.values.size:
                            self.columns[used] = j
                            self.values[used] = weight
                        used += 1
            self.starts[n] = used
            if used > self.values.size:
                self.is_full[()] = 1
        error = 0.0
        for i in whorl.prange(n):
            self.temperature[i] = 0.0
            self.residual[i] = self.heat[i]
            self.direction[i] = self.heat[i]
            error += self.heat[i] * self.heat[i]
        self.error[()] = error
        self.steps[()] = 0
        while whorl.graph.do_while(self.goes_on):
            steepness = 0.0
            for i in whorl.prange(n):
                self.image[i] = product(self, i)  # type: ignore[no-untyped-call] # as above
                steepness += self.direction[i] * self.image[i]
            step = self.error[()] / steepness
            error = 0.0
            for i in whorl.prange(n):
                self.temperature[i] += step * self.direction[i]
                self.residual[i] -= step * self.image[i]
                error += self.residual[i] * self.residual[i]
            turn = error / self.error[()]
            for i in whorl.prange(n):
                self.direction[i] = self.residual[i] + turn * self.direction[i]
            self.error[()] = error
            with whorl.checkpoint(Stage.RECORD, yield_on=self.is_full):
                if self.steps[()] < self.history.size:
                    self.history[self.steps[()]] = self.error[()]
                else:
                    self.is_full[()] = 1
            self.steps[()] += 1
            self.goes_on[()] = self.error[()] > self.tolerance * self.tolerance

    def run(self) -> list[Stage]:
        """Solve the equations, enlarge full buffers, and return where the launch had to stop."""
        stops: list[Stage] = []
        status = self.solve()
        while status.yielded:
            stops.append(status.checkpoint)
            self.grow(status.checkpoint)
            self.is_full[()] = 0
            status = self.solve.resume(from_checkpoint=status.checkpoint)
        return stops

    def grow(self, stage: Stage) -> None:
        """Double the size of the buffer that is full."""
        match stage:
            case Stage.ASSEMBLE:
                self.columns, self.values = grown(self.columns), grown(self.values)
            case Stage.RECORD:
                self.history = grown(self.history)

    def imbalance(self) -> float:
        """How far the temperatures are from solving the equations, worked out by NumPy."""
        padded = np.append(self.temperature, 0.0)  # what has no number is zero
        near = sum(
            padded[self.number[self.cells[:, 0] + a, self.cells[:, 1] + b]]
            for a, b in ((-1, 0), (1, 0), (0, -1), (0, 1))
        )
        return float(np.linalg.norm(4 * self.temperature - near - self.heat))


def grown(buffer: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """A buffer of twice the size, with the same content."""
    return np.concatenate([buffer, np.zeros_like(buffer)])


def report(plate: Plate, stops: list[Stage]) -> str:
    """Describe the result."""
    names = ", ".join(f"{stage.name} {stops.count(stage)}" for stage in Stage)
    return (
        f"{plate.heat.size} unknowns, {plate.starts[-1]} entries, {plate.steps} iterations; "
        f"stopped for a larger buffer: {names}; off by {plate.imbalance():.1e}"
    )


if __name__ == "__main__":
    plate = Plate(200)
    print(report(plate, plate.run()))
