"""The order of the manual's pages, and which pages of the checkout are among them, as data."""

from __future__ import annotations

__all__ = ["BESIDE", "CONCEPTS", "GUIDES"]

# A page that is in its folder and not here comes after those that are here.
GUIDES = (
    "first-kernel",
    "kernels",
    "objects",
    "loops",
    "caching",
    "compiler",
    "prebuilt",
    "clusters",
    "sharing",
    "recompiled",
    "command_line",
)
CONCEPTS = ("key", "reads", "fingerprints", "store", "launch")

# Pages of the manual that are not in `docs/`: where they are, and where on the site.
BESIDE = {
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "bench/README.md": "measurements.md",
}
