"""A kernel of medium size as text, for whichever compiler is named in its first line.

One step of a gas in a tube: 3 loops, 60 statements, 5 functions that are called. `annotated.py`
has it for the compilers that want types beside the arguments.
"""

from __future__ import annotations

import json
import time
from importlib import import_module
from typing import Any

import annotated
import numpy as np

MODULE = "tube"
HEADS = {
    "whorl": "from whorl import func, kernel",
    "numba": "from numba import njit as func, njit as kernel",
}

TEXT = """
import math

GAMMA = 1.4
COURANT = 0.4
SMALL = 1e-12


@func
def pressure(density, momentum, energy):
    kinetic = 0.5 * momentum * momentum / density
    inner = energy - kinetic
    if inner < SMALL:
        inner = SMALL
    return (GAMMA - 1.0) * inner


@func
def sound(density, p):
    ratio = GAMMA * p / density
    if ratio < 0.0:
        return 0.0
    return math.sqrt(ratio)


@func
def limited(left, right):
    if left * right <= 0.0:
        return 0.0
    if abs(left) < abs(right):
        return left
    return right


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
def step(density, momentum, energy, slopes, fluxes, dx, most):
    n = density.size
    fastest = SMALL
    total = 0.0
    for i in range(n):
        p = pressure(density[i], momentum[i], energy[i])
        speed = abs(momentum[i] / density[i]) + sound(density[i], p)
        total += density[i]
        if speed > fastest:
            fastest = speed
    dt = COURANT * dx / fastest
    if dt > most:
        dt = most
    for i in range(1, n - 1):
        slopes[0, i] = limited(density[i] - density[i - 1], density[i + 1] - density[i])
        slopes[1, i] = limited(momentum[i] - momentum[i - 1], momentum[i + 1] - momentum[i])
        slopes[2, i] = limited(energy[i] - energy[i - 1], energy[i + 1] - energy[i])
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
            density[i] -= fluxes[0, i] - fluxes[0, i - 1]
            momentum[i] -= fluxes[1, i] - fluxes[1, i - 1]
            energy[i] -= fluxes[2, i] - fluxes[2, i - 1]
    return dt, total
"""


def text_for(compiler: str) -> str:
    """The file as a user of a compiler has it, who keeps nothing in a cache but by default."""
    if compiler in annotated.COMPILERS:
        return annotated.head_for(compiler, kept=False) + annotated.TEXT
    return f"{HEADS[compiler]}\n{TEXT}"


def arguments(n: int = 100) -> tuple[Any, ...]:
    """A tube with a high pressure on the left."""
    density = np.where(np.arange(n) < n // 2, 1.0, 0.125)
    energy = np.where(np.arange(n) < n // 2, 2.5, 0.25)
    return density, np.zeros(n), energy, np.zeros((3, n)), np.zeros((3, n)), 1.0 / n, 0.01


def first_call(compiler: str) -> None:
    """In a new process: import a compiler, then time the file's import and its first call."""
    module = import_module(compiler)
    if compiler in annotated.COMPILERS:
        module.init(offline_cache=False, **annotated.options_of(module))
    args = arguments()
    start = time.perf_counter()
    found = import_module(MODULE).step(*args)
    print(json.dumps({"seconds": time.perf_counter() - start, "found": found}))
