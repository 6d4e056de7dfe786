"""The order of the pages of the manual, and the pages from outside `docs/`."""

from __future__ import annotations

__all__ = ["BESIDE", "CONCEPTS", "GUIDES"]

# A page that is not listed comes after those that are.
GUIDES = (
    "first-kernel",
    "kernels",
    "objects",
    "loops",
    "ufuncs",
    "numba",
    "caching",
    "compiler",
    "adapters",
    "adapters_jax",
    "adapters_numba",
    "adapters_triton",
    "adapters_gt4py",
    "adapters_quadrants",
    "adapters_cuda_core",
    "prebuilt",
    "wheels",
    "clusters",
    "sharing",
    "recompiled",
    "command_line",
)
CONCEPTS = ("key", "reads", "fingerprints", "store", "launch")

# Pages of the manual that are not in `docs/`: their path, and their path on the site.
BESIDE = {
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "bench/README.md": "measurements.md",
}
