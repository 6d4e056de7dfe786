"""Loops and parallel sections inside one launch: the public names of `whorl.graph`."""

from __future__ import annotations

from whorl.kernels.graph_names import do_while, parallel, parallel_context

__all__ = ["do_while", "parallel", "parallel_context"]
