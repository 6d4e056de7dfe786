"""What the adapters for JAX and Triton cost: a call of a watched function, a lookup of a kernel.

`.venv-adapters/bin/python bench/gpu_adapters.py`, after `make test-adapters`. It needs no device.
"""

from __future__ import annotations

import os
import tempfile
import timeit
from collections.abc import Callable

ROUNDS = 40
RATE = 2.0


def best(call: Callable[[], object], number: int) -> float:
    """Seconds of one call, in the best of several rounds."""
    return min(timeit.repeat(call, number=number, repeat=5)) / number


def scaled(x):
    return x * RATE


def jax_calls() -> None:
    import jax
    import jax.numpy as jnp

    import whorl.adapters.jax

    def step(x):
        return scaled(x) + jnp.sin(x)

    plain, watched = jax.jit(step), whorl.adapters.jax.jit(step)
    x = jnp.ones(3)
    plain(x), watched(x)
    pairs = [(best(lambda: plain(x), 500), best(lambda: watched(x), 500)) for _ in range(ROUNDS)]
    before, after = (min(column) * 1e6 for column in zip(*pairs, strict=True))
    print(f"jax.jit {before:.2f} µs, watched {after:.2f} µs: {after - before:.2f} µs more")


def triton_lookups(place: str) -> None:
    os.environ["TRITON_CACHE_DIR"] = f"{place}/triton"
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    import whorl.adapters.triton

    @triton.jit
    def kernel(x, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(x + i, tl.load(x + i) * 2.0)

    def look_up() -> object:
        source = ASTSource(kernel, {"x": "*fp32", "N": "constexpr"}, {"N": 128})
        return triton.compile(source, GPUTarget("cuda", 80, 32))

    for name in ("Triton's own", "whorl's"):
        if name == "whorl's":
            whorl.adapters.triton.install()
        look_up()
        print(f"{name} lookup of a kernel that is there: {best(look_up, 5) * 1e3:.2f} ms")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        os.environ["WHORL_CACHE_DIR"] = f"{directory}/whorl"
        jax_calls()
        triton_lookups(directory)
