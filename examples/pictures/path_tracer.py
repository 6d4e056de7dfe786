"""A path tracer: spheres of chalk, metal and glass under a lamp.

Light is followed backwards, from the eye to the lamp, along random paths. The random numbers follow
from the pixel and the number of the path (`whorl.random`), so the picture is the same for any
number of threads.

    python -m examples.pictures.path_tracer spheres.png
"""

from __future__ import annotations

from typing import Any

import numpy as np

import whorl

from .png import saved_as_told

CHALK, METAL, GLASS, LAMP = 0, 1, 2, 3
FAR = 1e9
EYE = whorl.vec(0.0, 1.1, 5.2)
SPHERES = (  # kind, centre, radius, colour
    (CHALK, (0.0, -1000.0, 0.0), 1000.0, (0.75, 0.75, 0.75)),
    (CHALK, (-1005.0, 0.0, 0.0), 1002.0, (0.75, 0.25, 0.22)),
    (CHALK, (1005.0, 0.0, 0.0), 1002.0, (0.25, 0.38, 0.75)),
    (CHALK, (0.0, 0.0, -1005.0), 1002.5, (0.75, 0.72, 0.65)),
    (LAMP, (0.0, 6.6, 0.5), 3.0, (2.6, 2.45, 2.2)),
    (METAL, (-1.3, 0.9, -0.7), 0.9, (0.92, 0.85, 0.7)),
    (GLASS, (1.15, 0.8, 0.5), 0.8, (1.0, 1.0, 1.0)),
    (CHALK, (-0.15, 0.45, 0.9), 0.45, (0.35, 0.7, 0.35)),
    (METAL, (0.35, 0.35, -1.2), 0.35, (0.9, 0.55, 0.4)),
    (LAMP, (-1.0, 0.22, 1.6), 0.22, (3.0, 1.6, 0.8)),
)


class Scene:
    """Spheres, a row of the arrays for each."""

    def __init__(self) -> None:
        self.kind = np.array([kind for kind, *_ in SPHERES])
        self.centre = np.array([centre for _, centre, *_ in SPHERES])
        self.radius = np.array([radius for *_, radius, _ in SPHERES])
        self.colour = np.array([colour for *_, colour in SPHERES])

    def nearest(self, origin: Any, ray: Any) -> tuple[int, float]:
        """The first sphere that a ray meets, and how far away it is."""
        found, distance = -1, FAR
        for k in range(len(self.radius)):
            to = self.centre[k] - origin
            along = ray.dot(to)
            inside = along * along - to.dot(to) + self.radius[k] ** 2
            if inside > 0:
                root = np.sqrt(inside)
                # The side that is nearer, or the far one from within.
                reach = along - root if along - root > 1e-4 else along + root
                if 1e-4 < reach < distance:
                    found, distance = k, reach
        return found, distance

    def light(self, start: Any, direction: Any, pixel: int, path: int, bounces: int) -> Any:
        """What comes along a ray, by one random path."""
        origin, ray = whorl.vec(start), whorl.vec(direction)
        through, total = whorl.vec(1.0, 1.0, 1.0), whorl.vec(0.0, 0.0, 0.0)
        for bounce in range(bounces):
            k, distance = self.nearest(origin, ray)
            if k < 0:
                break
            through = through * self.colour[k]
            if self.kind[k] == LAMP:
                total = through
                break
            origin = origin + ray * distance
            normal = (origin - self.centre[k]) / self.radius[k]
            one = whorl.random(pixel, path, bounce, 0)
            two = whorl.random(pixel, path, bounce, 1)
            if self.kind[k] == CHALK:
                ray = (normal + on_sphere(one, two)).normalized()
            elif self.kind[k] == METAL:
                ray = (reflected(ray, normal) + on_sphere(one, two) * 0.05).normalized()
            else:
                ray = refracted(ray, normal, one)
        return total

    @whorl.kernel
    def render(self, pixels: Any, paths: int, bounces: int) -> None:
        """All pixels, each the mean of many paths."""
        height, width = pixels.shape[0], pixels.shape[1]
        for i, j in whorl.prange(whorl.ndrange(height, width)):
            total, pixel = whorl.zeros(3), i * width + j
            for path in range(paths):
                x = (j + whorl.random(pixel, path, 0, 2) - width / 2) / height
                y = (height / 2 - i - whorl.random(pixel, path, 0, 3)) / height
                ray = whorl.vec(x, y - 0.05, -1.0).normalized()
                total += self.light(EYE, ray, pixel, path, bounces)
            pixels[i, j] = np.sqrt(total / paths)


def on_sphere(one: float, two: float) -> Any:
    """A random direction."""
    z, angle = 1 - 2 * one, 2 * np.pi * two
    side = np.sqrt(1 - z * z)
    return whorl.vec(side * np.cos(angle), side * np.sin(angle), z)


def reflected(ray: Any, normal: Any) -> Any:
    """A ray after a mirror."""
    return ray - normal * (2 * ray.dot(normal))


def refracted(ray: Any, normal: Any, choice: float) -> Any:
    """A ray after a surface of glass: a part of the light goes through, a part comes back."""
    cosine, ratio, side = -ray.dot(normal), 1 / 1.5, 1.0
    if cosine < 0:  # on the way out
        cosine, ratio, side = -cosine, 1.5, -1.0
    square = 1 - ratio * ratio * (1 - cosine * cosine)
    back = 0.04 + 0.96 * (1 - cosine) ** 5
    if square < 0 or choice < back:
        return reflected(ray, normal)
    return (ray * ratio + normal * (side * (ratio * cosine - np.sqrt(square)))).normalized()


def picture(height: int = 300, paths: int = 120, bounces: int = 8) -> Any:
    """The scene."""
    pixels = np.zeros((height, height * 4 // 3, 3))
    Scene().render(pixels, paths, bounces)
    return pixels


if __name__ == "__main__":
    saved_as_told(picture(), "spheres.png")
