"""Loops and sections that run inside of one launch: the public names of graphs."""

from __future__ import annotations

from whorl.kernels.graph_names import do_while, parallel, parallel_context

__all__ = ["do_while", "parallel", "parallel_context"]
