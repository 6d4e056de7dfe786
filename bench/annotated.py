"""The kernel of `medium.py` as text for compilers that want types beside the arguments.

Taichi and Quadrants get the same loops, statements and functions, with what their languages ask
for: a function returns once, at its end, and a loop that is not to be divided among threads says
so. Constants are in the functions that use them: Quadrants' quickest cache, `fastcache`, leaves
globals out of its keys. Both take NumPy's arrays where they lie; their own would have to be filled
by kernels of their own first.
"""

from __future__ import annotations

from typing import Any

TAICHI, QUADRANTS = "taichi", "quadrants"
COMPILERS = (TAICHI, QUADRANTS)

HEAD = """\
from typing import Tuple

import {compiler} as compiler

func, kernel = compiler.func, compiler.{kernel}
f64 = compiler.f64
vector = compiler.types.ndarray(dtype=f64, ndim=1)
matrix = compiler.types.ndarray(dtype=f64, ndim=2)
"""
KEPT = {TAICHI: "kernel", QUADRANTS: "kernel(fastcache=True)"}
"""The decorator of a kernel that is kept in the cache of its compiler."""


def head_for(compiler: str, *, kept: bool) -> str:
    """The first lines of the file, with or without a cache."""
    return HEAD.format(compiler=compiler, kernel=KEPT[compiler] if kept else "kernel")


def options_of(module: Any) -> dict[str, Any]:
    """What `init` is told: the kernel has no loop for a second thread, and no fast-math."""
    return {
        "arch": module.cpu,
        "cpu_max_num_threads": 1,
        "default_fp": module.f64,
        "fast_math": False,
        "log_level": module.ERROR,
    }


TEXT = """

@func
def pressure(density, momentum, energy):
    kinetic = 0.5 * momentum * momentum / density
    inner = energy - kinetic
    if inner < 1e-12:
        inner = 1e-12
    return (1.4 - 1.0) * inner


@func
def sound(density, p):
    ratio = 1.4 * p / density
    speed = 0.0
    if ratio >= 0.0:
        speed = compiler.sqrt(ratio)
    return speed


@func
def limited(left, right):
    slope = 0.0
    if left * right > 0.0:
        slope = right
        if abs(left) < abs(right):
            slope = left
    return slope


@func
def flux(density, momentum, energy):
    p = pressure(density, momentum, energy)
    speed = momentum / density
    return momentum, momentum * speed + p, (energy + p) * speed


@func
def between(left, right, left_flux, right_flux, wave):
    mean = 0.5 * (left_flux + right_flux)
    jump = 0.5 * wave * (right - left)
    return mean - jump


@kernel
def step(
    density: vector,
    momentum: vector,
    energy: vector,
    slopes: matrix,
    fluxes: matrix,
    dx: f64,
    most: f64,
) -> Tuple[f64, f64]:
    n = density.shape[0]
    fastest = 1e-12
    total = 0.0
    compiler.loop_config(serialize=True)
    for i in range(n):
        p = pressure(density[i], momentum[i], energy[i])
        speed = abs(momentum[i] / density[i]) + sound(density[i], p)
        total += density[i]
        if speed > fastest:
            fastest = speed
    dt = 0.4 * dx / fastest
    if dt > most:
        dt = most
    compiler.loop_config(serialize=True)
    for i in range(1, n - 1):
        slopes[0, i] = limited(density[i] - density[i - 1], density[i + 1] - density[i])
        slopes[1, i] = limited(momentum[i] - momentum[i - 1], momentum[i + 1] - momentum[i])
        slopes[2, i] = limited(energy[i] - energy[i - 1], energy[i + 1] - energy[i])
    compiler.loop_config(serialize=True)
    for i in range(1, n - 2):
        r0 = density[i] + 0.5 * slopes[0, i]
        m0 = momentum[i] + 0.5 * slopes[1, i]
        e0 = energy[i] + 0.5 * slopes[2, i]
        r1 = density[i + 1] - 0.5 * slopes[0, i + 1]
        m1 = momentum[i + 1] - 0.5 * slopes[1, i + 1]
        e1 = energy[i + 1] - 0.5 * slopes[2, i + 1]
        p0 = pressure(r0, m0, e0)
        p1 = pressure(r1, m1, e1)
        wave = max(abs(m0 / r0) + sound(r0, p0), abs(m1 / r1) + sound(r1, p1))
        fr0, fm0, fe0 = flux(r0, m0, e0)
        fr1, fm1, fe1 = flux(r1, m1, e1)
        fr = between(r0, r1, fr0, fr1, wave)
        fm = between(m0, m1, fm0, fm1, wave)
        fe = between(e0, e1, fe0, fe1, wave)
        scale = dt / dx
        fluxes[0, i] = fr * scale
        fluxes[1, i] = fm * scale
        fluxes[2, i] = fe * scale
        if i > 1:
            density[i] = density[i] - (fluxes[0, i] - fluxes[0, i - 1])
            momentum[i] = momentum[i] - (fluxes[1, i] - fluxes[1, i - 1])
            energy[i] = energy[i] - (fluxes[2, i] - fluxes[2, i - 1])
    return dt, total
"""
