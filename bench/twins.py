"""The seven programs of `examples/programs` as one writes them for Numba.

`prange` is `range` where a function is compiled for one thread. Numba has no atomics for
processors: on several threads, each counts a histogram of its own, and these are added up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import njit, prange

from examples.programs.histogram import BINS
from examples.programs.mandelbrot import HEIGHT, LEFT, TOP, WIDTH
from examples.programs.matmul import BLOCK
from examples.programs.nbody import SOFTENING

# Dividing by zero gives infinity, as in whorl: the default is a branch that raises.
serial = njit(error_model="numpy")
parallel = njit(error_model="numpy", parallel=True)


def saxpy(a, x, y, out):
    for i in prange(x.size):
        out[i] = a * x[i] + y[i]


def stencil(u, rate, out):
    rows, columns = u.shape
    for i in prange(1, rows - 1):
        for j in range(1, columns - 1):
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            out[i, j] = u[i, j] + rate * (around - 4.0 * u[i, j])


def forces(position, mass, out):
    n = mass.size
    for i in prange(n):
        x, y, z = position[i, 0], position[i, 1], position[i, 2]
        ax = ay = az = 0.0
        for j in range(n):
            dx = position[j, 0] - x
            dy = position[j, 1] - y
            dz = position[j, 2] - z
            squared = dx * dx + dy * dy + dz * dz + SOFTENING
            pull = mass[j] / (squared * math.sqrt(squared))
            ax += pull * dx
            ay += pull * dy
            az += pull * dz
        out[i, 0] = ax
        out[i, 1] = ay
        out[i, 2] = az


@serial
def escape(real, imaginary, most):
    x = y = 0.0
    for step in range(most):
        xx, yy = x * x, y * y
        if xx + yy > 4.0:
            return step
        x, y = xx - yy + real, 2.0 * x * y + imaginary
    return most


def mandelbrot(most, out):
    rows, columns = out.shape
    for i in prange(rows):
        for j in range(columns):
            out[i, j] = escape(LEFT + WIDTH * j / columns, TOP + HEIGHT * i / rows, most)


def spmv(starts, columns, values, x, out):
    for row in prange(out.size):
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        out[row] = total


def matmul(a, b, out):
    rows, inner = a.shape
    columns = b.shape[1]
    for block in prange((rows + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        last = min(first + BLOCK, rows)
        for i in range(first, last):
            for j in range(columns):
                out[i, j] = 0.0
        for k0 in range(0, inner, BLOCK):
            k1 = min(k0 + BLOCK, inner)
            for j0 in range(0, columns, BLOCK):
                j1 = min(j0 + BLOCK, columns)
                for i in range(first, last):
                    for k in range(k0, k1):
                        factor = a[i, k]
                        for j in range(j0, j1):
                            out[i, j] += factor * b[k, j]


def histogram(values, out):
    for bin in range(BINS):
        out[bin] = 0
    for i in range(values.size):
        out[int(values[i] * BINS)] += 1


def histogram_of_many(values, out):
    threads = numba.get_num_threads()
    counts = np.zeros((threads, BINS), np.int64)
    for thread in prange(threads):
        for i in range(thread * values.size // threads, (thread + 1) * values.size // threads):
            counts[thread, int(values[i] * BINS)] += 1
    for bin in range(BINS):
        out[bin] = 0
        for thread in range(threads):
            out[bin] += counts[thread, bin]


FUNCTIONS = {
    "saxpy": (saxpy, saxpy),
    "stencil": (stencil, stencil),
    "n-body": (forces, forces),
    "mandelbrot": (mandelbrot, mandelbrot),
    "sparse matrix-vector": (spmv, spmv),
    "matrix multiply": (matmul, matmul),
    "histogram": (histogram, histogram_of_many),
}
"""For one thread, and for several."""


def twins(threads: int) -> dict[str, Callable[..., Any]]:
    """Each program for a number of threads."""
    numba.set_num_threads(threads)
    if threads == 1:
        return {name: serial(alone) for name, (alone, _) in FUNCTIONS.items()}
    return {name: parallel(together) for name, (_, together) in FUNCTIONS.items()}
