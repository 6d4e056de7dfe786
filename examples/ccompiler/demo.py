"""Two C kernels in, what each call of them took out: in a process that compiles, and in one after.

Run with `python -m examples.ccompiler.demo` from the checkout. The store is a temporary one, so
the first process always compiles.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import whorl
from whorl.calls.events import Event, Happened, listeners

from .ccompiler import CCompiler

SCALE = 2.0
SAXPY = """
void saxpy(int64_t n, {x.dtype} a, const {x.dtype}* x, {x.dtype}* restrict y)
{
    #pragma GCC unroll {option.unroll}
    for (int64_t i = 0; i < n; i++) y[i] += a * x[i] * {SCALE};
}
"""

WEIGHTS = "{ 0.25, 0.5, 0.25 }"  # text is C code
SMOOTH = """
#include <math.h>

double smooth(int64_t n, const {u.dtype}* u, {u.dtype}* restrict out)
{
    static const double weights[3] = {WEIGHTS};
    double change = 0;
    out[0] = u[0];
    for (int64_t i = 1; i < n - 1; i++) {
        out[i] = weights[0] * u[i - 1] + weights[1] * u[i] + weights[2] * u[i + 1];
        change = fmax(change, fabs(out[i] - u[i]));
    }
    out[n - 1] = u[n - 1];
    return change;
}
"""


@whorl.jit(CCompiler(), options={"template": "SAXPY", "unroll": 4})
def saxpy(n: int, a: float, x: Any, y: Any) -> None:
    """y += a * x * SCALE."""


@whorl.jit(CCompiler(), options={"template": "SMOOTH"})
def smooth(n: int, u: Any, out: Any) -> None:
    """One step of a 1-D stencil; returns the largest change."""


def main() -> None:
    """Run the kernels in two processes, one after the other, that share a store."""
    with tempfile.TemporaryDirectory() as store:
        for title in ("a first process", "a second process, which finds what the first one left"):
            print(title, flush=True)
            subprocess.run(
                [sys.executable, "-m", "examples.ccompiler.demo", "calls"],
                env={**os.environ, "WHORL_CACHE_DIR": store},
                check=True,
            )


def calls() -> None:
    """Call each kernel twice, and say which steps that took and how long."""
    x, y = np.arange(1000.0), np.ones(1000)
    for name in ("saxpy", "saxpy again"):
        timed(name, lambda: saxpy(x.size, 0.5, x, y))
    assert np.array_equal(y, 1 + 2 * 0.5 * SCALE * x)

    u, out = np.sin(np.linspace(0, 3, 1000)), np.empty(1000)
    for name in ("smooth", "smooth again"):
        change = timed(name, lambda: smooth(u.size, u, out))
    assert np.allclose(out[1:-1], 0.25 * u[:-2] + 0.5 * u[1:-1] + 0.25 * u[2:])
    assert change == np.abs(out - u).max()


def timed(name: str, call: Callable[[], Any]) -> Any:
    """Call, and print the steps with the time they took together."""
    steps.clear()
    begun = time.perf_counter()
    result = call()
    taken = time.perf_counter() - begun
    print(f"  {name:<14}{taken * 1e6:>10.0f} us   {', '.join(steps)}")
    return result


def listen(event: Event) -> None:
    """Remember a step; of a miss, with the reason."""
    if event.what is Happened.MISSED:
        steps.append(f"missed ({event.detail['why'].reason})")
    else:
        steps.append(event.what.value)


steps: list[str] = []

if __name__ == "__main__":
    if sys.argv[1:] == ["calls"]:  # one of the two processes
        listeners.append(listen)
        calls()
    else:
        main()
