"""A compiler's name and a number of threads in, the seven programs of `examples/programs` served.

    python bench/fields.py taichi 2 PIPE          asked by `workers.py`

Taichi and Quadrants, which began as a copy of it, are written alike: one text for both, statement
for statement that of the examples, as far as their languages go: no step in a `range`, no `return`
from the middle of a function, `a = a + b` where `a += b` would be atomic.

The data lie in fields, which both address by constants. Beside their own arrays and NumPy's, fields
were as fast or faster on one thread, by a quarter or more for stencil and matrix multiply. On one
thread the outermost loop is serial, which lets LLVM see the loop. On two it runs over rows or
blocks of elements, a few at a time. By default, a loop of some hundred iterations runs on one
thread in both, however long each takes; the options of `init` are those that heed `block_dim`
instead. Neither has fast-math. A histogram's block counts in a row of a field, where whorl has a
local vector.
"""

# No `from __future__ import annotations`: the compilers look at what annotations are.
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import workers

sys.path.append(str(Path(__file__).parent.parent))

from examples.programs import PROGRAMS  # found by the line before
from examples.programs.histogram import BINS, BLOCKS
from examples.programs.mandelbrot import HEIGHT, LEFT, TOP, WIDTH
from examples.programs.matmul import BLOCK
from examples.programs.nbody import SOFTENING

COMPILER, THREADS = sys.argv[1], int(sys.argv[2])
SERIAL = THREADS == 1
STRETCH = 65_536  # elements of a vector that are one thread's at a time

compiler: Any = import_module(COMPILER)
OPTIONS = {
    "taichi": {"make_cpu_multithreading_loop": False, "cpu_block_dim_adaptive": False},
    "quadrants": {"make_cpu_multithreading_loop": False},
}
compiler.init(
    arch=compiler.cpu,
    cpu_max_num_threads=THREADS,
    default_fp=compiler.f64,
    fast_math=False,
    offline_cache=False,
    log_level=compiler.ERROR,
    **OPTIONS[COMPILER],
)
field = compiler.template()


@compiler.kernel
def saxpy(a: compiler.f32, x: field, y: field, out: field):
    n = x.shape[0]
    compiler.loop_config(serialize=SERIAL, block_dim=1)
    for stretch in range((n + STRETCH - 1) // STRETCH):
        for i in range(stretch * STRETCH, min(stretch * STRETCH + STRETCH, n)):
            out[i] = a * x[i] + y[i]


@compiler.kernel
def stencil(u: field, rate: compiler.f64, out: field):
    rows, columns = u.shape[0], u.shape[1]
    compiler.loop_config(serialize=SERIAL, block_dim=4)
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            out[i, j] = u[i, j] + rate * (around - 4.0 * u[i, j])


@compiler.kernel
def forces(position: field, mass: field, out: field):
    n = mass.shape[0]
    compiler.loop_config(serialize=SERIAL, block_dim=4)
    for i in range(n):
        x, y, z = position[i, 0], position[i, 1], position[i, 2]
        ax, ay, az = 0.0, 0.0, 0.0
        for j in range(n):
            dx = position[j, 0] - x
            dy = position[j, 1] - y
            dz = position[j, 2] - z
            squared = dx * dx + dy * dy + dz * dz + SOFTENING
            pull = mass[j] / (squared * compiler.sqrt(squared))
            ax += pull * dx
            ay += pull * dy
            az += pull * dz
        out[i, 0] = ax
        out[i, 1] = ay
        out[i, 2] = az


@compiler.func
def escape(real, imaginary, most):
    x, y = 0.0, 0.0
    steps = most
    for step in range(most):
        xx, yy = x * x, y * y
        if xx + yy > 4.0:
            steps = step
            break
        y = 2.0 * x * y + imaginary
        x = xx - yy + real
    return steps


@compiler.kernel
def mandelbrot(most: compiler.i32, out: field):
    rows, columns = out.shape[0], out.shape[1]
    compiler.loop_config(serialize=SERIAL, block_dim=1)
    for i in range(rows):
        for j in range(columns):
            out[i, j] = escape(LEFT + WIDTH * j / columns, TOP + HEIGHT * i / rows, most)


@compiler.kernel
def spmv(starts: field, columns: field, values: field, x: field, out: field):
    compiler.loop_config(serialize=SERIAL, block_dim=512)
    for row in range(out.shape[0]):
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        out[row] = total


@compiler.kernel
def matmul(a: field, b: field, out: field):
    rows, inner, columns = a.shape[0], a.shape[1], b.shape[1]
    compiler.loop_config(serialize=SERIAL, block_dim=1)
    for block in range((rows + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        last = min(first + BLOCK, rows)
        for i in range(first, last):
            for j in range(columns):
                out[i, j] = 0.0
        for k_block in range((inner + BLOCK - 1) // BLOCK):
            k0, k1 = k_block * BLOCK, min(k_block * BLOCK + BLOCK, inner)
            for j_block in range((columns + BLOCK - 1) // BLOCK):
                j0, j1 = j_block * BLOCK, min(j_block * BLOCK + BLOCK, columns)
                for i in range(first, last):
                    for k in range(k0, k1):
                        factor = a[i, k]
                        for j in range(j0, j1):
                            out[i, j] = out[i, j] + factor * b[k, j]


@compiler.kernel
def histogram(values: field, counts: field, out: field):
    n = values.shape[0]
    for bin in range(BINS):
        out[bin] = 0
    compiler.loop_config(serialize=SERIAL, block_dim=1)
    for block in range(BLOCKS):
        for bin in range(BINS):
            counts[block, bin] = 0
        for i in range(block * n // BLOCKS, (block + 1) * n // BLOCKS):
            at = int(values[i] * BINS)
            counts[block, at] = counts[block, at] + 1
        for bin in range(BINS):
            out[bin] += counts[block, bin]


KERNELS = {
    "saxpy": saxpy,
    "stencil": stencil,
    "n-body": forces,
    "mandelbrot": mandelbrot,
    "sparse matrix-vector": spmv,
    "matrix multiply": matmul,
    "histogram": histogram,
}
TYPES = {
    np.dtype(np.float32): compiler.f32,
    np.dtype(np.float64): compiler.f64,
    np.dtype(np.int32): compiler.i32,
    np.dtype(np.int64): compiler.i64,
}


class OnFields:
    """A program whose arrays are copied into fields; scalars are Python's."""

    def __init__(self, name: str, size: int) -> None:
        problem = next(program.problem for program in PROGRAMS if program.name == name)
        args = [placed(arg) for arg in problem(size)]
        if name == "histogram":
            args.insert(1, compiler.field(compiler.i64, (BLOCKS, BINS)))
        self._kernel, self._args = KERNELS[name], args

    def call(self) -> None:
        self._kernel(*self._args)
        compiler.sync()

    def result(self) -> Any:
        return self._args[-1].to_numpy()


def placed(arg: Any) -> Any:
    if not isinstance(arg, np.ndarray):
        return arg.item() if isinstance(arg, np.generic) else arg
    copy = compiler.field(TYPES[arg.dtype], arg.shape)
    copy.from_numpy(arg)
    return copy


if __name__ == "__main__":
    workers.serve(OnFields)
