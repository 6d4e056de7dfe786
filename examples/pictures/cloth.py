"""A cloth of masses and springs falls over a ball.

Each node is a record: its place, its velocity now and next, and where it faces. Springs hold each
node to those around it, up to two nodes away, so that the cloth neither stretches nor folds too
easily.

    python -m examples.pictures.cloth cloth.png
"""

from __future__ import annotations

from typing import Any

import numpy as np

import whorl

from .png import saved_as_told

VECTOR = ("f8", (3,))
NODE = np.dtype(
    [("place", *VECTOR), ("velocity", *VECTOR), ("next", *VECTOR), ("normal", *VECTOR)], align=True
)
GRAVITY = whorl.vec(0.0, -9.8, 0.0)
BALL = whorl.vec(0.0, 0.0, 0.0)
RADIUS = 0.4
LIGHT = whorl.vec(0.4, 0.8, 0.45)


class Cloth:
    """A square of `size` by `size` nodes, 1.6 wide, above the ball."""

    def __init__(self, size: int = 96) -> None:
        self.size, self.width = size, 1.6 / (size - 1)
        self.nodes = np.zeros((size, size), NODE)
        along = (np.arange(size) - (size - 1) / 2) * self.width
        turn = 0.35  # so that its corners hang to the sides
        self.nodes["place"][..., 0] = along[:, None] * np.cos(turn) - along * np.sin(turn)
        self.nodes["place"][..., 1] = RADIUS + 0.12
        self.nodes["place"][..., 2] = along[:, None] * np.sin(turn) + along * np.cos(turn)
        self.stiffness, self.damping = 2.0e4 * (size / 96) ** 2, 55.0
        self.dt = 4e-4 * 96 / size

    @whorl.kernel
    def pull(self) -> None:
        """What the springs and gravity do to velocities."""
        n = self.size
        for i, j in whorl.prange(whorl.ndrange(n, n)):
            here, velocity = whorl.vec(self.nodes[i, j].place), whorl.vec(self.nodes[i, j].velocity)
            force = GRAVITY + velocity * -0.3
            for di, dj in whorl.ndrange((-2, 3), (-2, 3)):
                k, m = i + di, j + dj
                if (di != 0 or dj != 0) and 0 <= k < n and 0 <= m < n and abs(di * dj) < 4:
                    apart = self.nodes[k, m].place - here
                    length = apart.norm()
                    rest = self.width * np.sqrt(1.0 * (di * di + dj * dj))
                    towards = apart / length
                    force += towards * (self.stiffness * (length - rest))
                    slower = (self.nodes[k, m].velocity - velocity).dot(towards)
                    force += towards * (self.damping * slower)
            self.nodes[i, j].next = velocity + force * self.dt

    @whorl.kernel
    def move(self) -> None:
        """New velocities, but none into the ball, and new places."""
        for i, j in whorl.prange(whorl.ndrange(self.size, self.size)):
            velocity, place = whorl.vec(self.nodes[i, j].next), whorl.vec(self.nodes[i, j].place)
            out = place - BALL
            if out.norm() < RADIUS + 0.012:
                normal = out.normalized()
                inwards = min(velocity.dot(normal), 0.0)
                velocity = (velocity - normal * inwards) * (1 - 6.0 * self.dt)
                place = BALL + normal * (RADIUS + 0.012)
            self.nodes[i, j].velocity = velocity
            self.nodes[i, j].place = place + velocity * self.dt

    @whorl.kernel
    def turn(self) -> None:
        """The directions that the cloth faces."""
        last = self.size - 1
        for i, j in whorl.prange(whorl.ndrange(self.size, self.size)):
            down, up = self.nodes[max(i - 1, 0), j].place, self.nodes[min(i + 1, last), j].place
            left, right = self.nodes[i, max(j - 1, 0)].place, self.nodes[i, min(j + 1, last)].place
            self.nodes[i, j].normal = whorl.vec(right - left).cross(up - down).normalized()

    def run(self, steps: int) -> None:
        """Let time pass."""
        for _ in range(steps):
            self.pull()
            self.move()

    def picture(self, size: int = 480) -> Any:
        """The cloth and the ball, seen from above and in front, with what is nearer on top."""
        self.turn()
        pixels = np.full((size, size, 3), (0.93, 0.92, 0.9))
        depth = np.full((size, size), -1e9)
        draw(self.nodes, pixels, depth)
        return pixels


@whorl.func
def seen(place: Any) -> Any:
    """A place from the eye: to the right, up, and nearer, for a width and height of 1."""
    turned = whorl.vec(
        place[0] * 0.92 - place[2] * 0.39,
        place[1] * 0.87 - (place[0] * 0.39 + place[2] * 0.92) * 0.5,
        place[1] * 0.5 + (place[0] * 0.39 + place[2] * 0.92) * 0.87,
    )
    return turned * 0.55 + whorl.vec(0.5, 0.5, 0.0)


@whorl.func
def shade(colour: Any, normal: Any) -> Any:
    """A colour in the light: both sides of the cloth have one."""
    light = abs(normal.dot(whorl.vec(LIGHT).normalized()))
    return colour * (0.3 + 0.7 * light) + 0.25 * light**30


@whorl.kernel
def draw(nodes: Any, pixels: Any, depth: Any) -> None:
    size, n = pixels.shape[0], nodes.shape[0]
    for i, j in whorl.prange(whorl.ndrange(size, size)):  # the ball
        x, y = (j + 0.5) / size - 0.5, 0.5 - (i + 0.5) / size
        reach = RADIUS * 0.55
        if x * x + y * y < reach * reach:
            normal = whorl.vec(x, y, np.sqrt(reach * reach - x * x - y * y)) / reach
            depth[i, j] = normal.z * reach
            pixels[i, j] = shade(whorl.vec(0.35, 0.55, 0.65), normal)
    fine = 12
    for i, j in whorl.ndrange(n - 1, n - 1):  # each mesh of the cloth, as many dots
        for a, b in whorl.ndrange(fine, fine):
            s, t = a / fine, b / fine
            place = (nodes[i, j].place * (1 - s) + nodes[i + 1, j].place * s) * (1 - t) + (
                nodes[i, j + 1].place * (1 - s) + nodes[i + 1, j + 1].place * s
            ) * t
            at = seen(place)
            row, column = int((1 - at.y) * size), int(at.x * size)
            if 0 <= row < size and 0 <= column < size and at.z > depth[row, column]:
                depth[row, column] = at.z
                is_dark = (i * 8 // n + j * 8 // n) % 2
                colour = whorl.vec(0.78, 0.2, 0.22) if is_dark else whorl.vec(0.95, 0.83, 0.62)
                pixels[row, column] = shade(colour, whorl.vec(nodes[i, j].normal))


if __name__ == "__main__":
    cloth = Cloth()
    cloth.run(2600)
    saved_as_told(cloth.picture(), "cloth.png")
