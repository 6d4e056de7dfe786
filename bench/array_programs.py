"""Seventeen programs over whole arrays: one text for NumPy, for whorl and for Numba.

Each is a plain function. It writes its results into its arguments, or returns an array. What Numba
does not compile is written in another way for all: rows in a loop instead of `axis` of `np.max`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["PROGRAMS", "ArrayProgram"]


@dataclass(frozen=True, slots=True)
class ArrayProgram:
    """A function, and its arguments for a size; a call takes some milliseconds in NumPy."""

    name: str
    function: Callable[..., Any]
    arguments: Callable[[int], tuple[Any, ...]]
    size: int
    small: int  # for compiling alone


# -- Stencils ----------------------------------------------------------------------------------


def rod(a, b, steps):
    for _ in range(steps):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3.0
        a[1:-1] = (b[:-2] + b[1:-1] + b[2:]) / 3.0


def plate(a, b, steps):
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (
            a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
        )
        a[1:-1, 1:-1] = 0.2 * (
            b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1]
        )


def block(a, b):
    b[1:-1, 1:-1, 1:-1] = (
        0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
        + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
        + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
        + a[1:-1, 1:-1, 1:-1]
    )


def horizontal_diffusion(field, weight, out):
    lap = 4.0 * field[1:-1, 1:-1, :] - (
        field[2:, 1:-1, :] + field[:-2, 1:-1, :] + field[1:-1, 2:, :] + field[1:-1, :-2, :]
    )
    along = lap[1:, 1:-1, :] - lap[:-1, 1:-1, :]
    flux_x = np.where(along * (field[2:-1, 2:-2, :] - field[1:-2, 2:-2, :]) > 0.0, 0.0, along)
    across = lap[1:-1, 1:, :] - lap[1:-1, :-1, :]
    flux_y = np.where(across * (field[2:-2, 2:-1, :] - field[2:-2, 1:-2, :]) > 0.0, 0.0, across)
    out[2:-2, 2:-2, :] = field[2:-2, 2:-2, :] - weight[2:-2, 2:-2, :] * (
        flux_x[1:, :, :] - flux_x[:-1, :, :] + flux_y[:, 1:, :] - flux_y[:, :-1, :]
    )


def channel_flow(u, v, p, b, steps, dt, dx, dy, density, viscosity):
    for _ in range(steps):
        un = u.copy()
        vn = v.copy()
        ux = (un[1:-1, 2:] - un[1:-1, :-2]) / (2.0 * dx)
        vy = (vn[2:, 1:-1] - vn[:-2, 1:-1]) / (2.0 * dy)
        uy = (un[2:, 1:-1] - un[:-2, 1:-1]) / (2.0 * dy)
        vx = (vn[1:-1, 2:] - vn[1:-1, :-2]) / (2.0 * dx)
        b[1:-1, 1:-1] = density * ((ux + vy) / dt - ux * ux - 2.0 * uy * vx - vy * vy)
        for _ in range(4):
            pn = p.copy()
            p[1:-1, 1:-1] = (
                (pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2
            ) / (2.0 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2.0 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0.0
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - dt / (2.0 * density * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + viscosity
            * (
                dt / dx**2 * (un[1:-1, 2:] - 2.0 * un[1:-1, 1:-1] + un[1:-1, :-2])
                + dt / dy**2 * (un[2:, 1:-1] - 2.0 * un[1:-1, 1:-1] + un[:-2, 1:-1])
            )
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            - dt / (2.0 * density * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + viscosity
            * (
                dt / dx**2 * (vn[1:-1, 2:] - 2.0 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
                + dt / dy**2 * (vn[2:, 1:-1] - 2.0 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
            )
        )
        u[0, :] = 0.0
        u[:, 0] = 0.0
        u[:, -1] = 0.0
        u[-1, :] = 1.0
        v[0, :] = 0.0
        v[-1, :] = 0.0


# -- Statistics and learning -------------------------------------------------------------------


def softmax(x, out):
    for i in range(x.shape[0]):
        e = np.exp(x[i] - np.max(x[i]))
        out[i] = e / np.sum(e)


def layer(x, w1, b1, w2, b2):
    hidden = np.maximum(x @ w1 + b1, 0.0)
    return np.maximum(hidden @ w2 + b2, 0.0)


def covariance(data):
    n = data.shape[0]
    apart = data - np.sum(data, axis=0) / n
    return apart.T @ apart / (n - 1.0)


def masks(x, out, low, high):
    out[:] = x
    out[x < low] = low
    out[x > high] = high
    inner = x[(x >= low) & (x <= high)]
    out -= np.sum(inner) / inner.size
    return np.sum(np.where(out > 0.0, out, -out))


def distances(points, centres, out):
    for k in range(centres.shape[0]):
        out[k] = np.sqrt(np.sum((points - centres[k]) ** 2, axis=1))


# -- Linear algebra ----------------------------------------------------------------------------


def gram_schmidt(a, q, r):
    for k in range(a.shape[1]):
        r[k, k] = np.sqrt(np.sum(a[:, k] * a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = np.sum(q[:, k] * a[:, j])
            a[:, j] -= q[:, k] * r[k, j]


def cholesky(a):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] = (a[i, j] - np.dot(a[i, :j], a[j, :j])) / a[j, j]
        a[i, i] = np.sqrt(a[i, i] - np.dot(a[i, :i], a[i, :i]))


def shortest_paths(d):
    for k in range(d.shape[0]):
        d[:] = np.minimum(d, d[:, k : k + 1] + d[k])


def power_iteration(a, x, steps):
    for _ in range(steps):
        y = a @ x
        x = y / np.sqrt(np.sum(y * y))
    return x


# -- Others ------------------------------------------------------------------------------------


def fft(real, imaginary, cosine, sine):
    n = real.size
    a = real.copy()
    b = imaginary.copy()
    c = np.empty(n)
    d = np.empty(n)
    s = 1
    while s < n:
        m = n // (2 * s)
        x = a.reshape((2 * m, s))
        y = b.reshape((2 * m, s))
        u = c.reshape((m, 2, s))
        v = d.reshape((m, 2, s))
        cos = cosine[::s][:, None]
        sin = sine[::s][:, None]
        u[:, 0, :] = x[:m] + x[m:]
        v[:, 0, :] = y[:m] + y[m:]
        p = x[:m] - x[m:]
        q = y[:m] - y[m:]
        u[:, 1, :] = p * cos - q * sin
        v[:, 1, :] = p * sin + q * cos
        a, b, c, d = c, d, a, b
        s *= 2
    return a, b


def bodies(position, velocity, mass, dt, softening):
    x = position[:, 0:1]
    y = position[:, 1:2]
    z = position[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    near = dx * dx + dy * dy + dz * dz + softening
    pull = 1.0 / (near * np.sqrt(near))
    velocity[:, 0] += dt * ((dx * pull) @ mass)
    velocity[:, 1] += dt * ((dy * pull) @ mass)
    velocity[:, 2] += dt * ((dz * pull) @ mass)
    position += dt * velocity


def sparse_rows(starts, columns, values, x, out):
    for i in range(out.size):
        inside = columns[starts[i] : starts[i + 1]]
        out[i] = np.dot(values[starts[i] : starts[i + 1]], x[inside])


# -- Arguments ---------------------------------------------------------------------------------


def _random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).random(shape)


def _channel(n: int) -> tuple[Any, ...]:
    zeros = [np.zeros((n, n)) for _ in range(4)]
    return (*zeros, 4, 1e-4, 2.0 / (n - 1), 2.0 / (n - 1), 1.0, 0.1)


def _fft(n: int) -> tuple[Any, ...]:
    angle = -2.0 * np.pi * np.arange(n // 2) / n
    return _random(n), _random(n, seed=1), np.cos(angle), np.sin(angle)


def _positive(n: int) -> Any:
    a = _random(n, n)
    return a @ a.T + n * np.eye(n)


def _sparse(n: int) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 64, n))])
    columns = random.integers(0, n, starts[-1])
    return starts, columns, random.random(starts[-1]), random.random(n), np.zeros(n)


def _bodies(n: int) -> tuple[Any, ...]:
    return _random(n, 3), np.zeros((n, 3)), _random(n, seed=1), 0.01, 0.01


def _layer(n: int) -> tuple[Any, ...]:
    return _random(n, 256), _random(256, 128), _random(128), _random(128, 64), _random(64)


PROGRAMS = (
    ArrayProgram("1-D stencil", rod, lambda n: (_random(n), _random(n), 10), 200_000, 20),
    ArrayProgram("2-D stencil", plate, lambda n: (_random(n, n), _random(n, n), 2), 1000, 8),
    ArrayProgram("3-D stencil", block, lambda n: (_random(n, n, n), np.zeros((n,) * 3)), 120, 8),
    ArrayProgram(
        "horizontal diffusion",
        horizontal_diffusion,
        lambda n: (_random(n, n, 64), _random(n, n, 64), np.zeros((n, n, 64))),
        128,
        8,
    ),
    ArrayProgram("channel flow", channel_flow, _channel, 300, 8),
    ArrayProgram("softmax", softmax, lambda n: (_random(n, n), np.zeros((n, n))), 800, 8),
    ArrayProgram("network layer", layer, _layer, 1000, 8),
    ArrayProgram("covariance", covariance, lambda n: (_random(n, 200),), 5000, 8),
    ArrayProgram("masks", masks, lambda n: (_random(n), np.zeros(n), 0.25, 0.75), 1_000_000, 20),
    ArrayProgram(
        "distances",
        distances,
        lambda n: (_random(n, 8), _random(16, 8, seed=1), np.zeros((16, n))),
        40_000,
        8,
    ),
    ArrayProgram(
        "Gram-Schmidt",
        gram_schmidt,
        lambda n: (_random(2 * n, n), np.zeros((2 * n, n)), np.zeros((n, n))),
        100,
        4,
    ),
    ArrayProgram("Cholesky", cholesky, lambda n: (_positive(n),), 300, 4),
    ArrayProgram("Floyd-Warshall", shortest_paths, lambda n: (_random(n, n),), 250, 4),
    ArrayProgram(
        "power iteration", power_iteration, lambda n: (_random(n, n), _random(n), 20), 1000, 4
    ),
    ArrayProgram("FFT", fft, _fft, 1 << 17, 8),
    ArrayProgram("n-body by matrices", bodies, _bodies, 1000, 4),
    ArrayProgram("sparse rows", sparse_rows, _sparse, 40_000, 8),
)
