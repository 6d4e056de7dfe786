"""Seven programs of numeric work, each written once: for one thread and for many.

Each file holds a kernel, the same in NumPy, and a problem to try both on. A kernel's last
argument is where its result goes; what was there before does not matter.

    python -m examples.programs          runs all of them and compares
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from whorl.kernels import NumericKernel

from . import histogram, mandelbrot, matmul, nbody, saxpy, spmv, stencil

__all__ = ["PROGRAMS", "Program"]


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel, what it should compute, and arguments of a size for both."""

    name: str
    kernel: NumericKernel
    reference: Callable[..., Any]
    problem: Callable[[int], tuple[Any, ...]]


PROGRAMS = (
    Program("saxpy", saxpy.saxpy, saxpy.reference, saxpy.problem),
    Program("stencil", stencil.stencil, stencil.reference, stencil.problem),
    Program("n-body", nbody.forces, nbody.reference, nbody.problem),
    Program("mandelbrot", mandelbrot.mandelbrot, mandelbrot.reference, mandelbrot.problem),
    Program("sparse matrix-vector", spmv.spmv, spmv.reference, spmv.problem),
    Program("matrix multiply", matmul.matmul, matmul.reference, matmul.problem),
    Program("histogram", histogram.histogram, histogram.reference, histogram.problem),
)
