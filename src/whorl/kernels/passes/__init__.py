"""The passes over the typed program, by name, in the order they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whorl.fast_dataclasses import dataclass
from whorl.kernels import ir

from .indices import direct_indices
from .loop_versions import version_loops
from .prune import prune
from .resume import resume
from .stack_memory import stack_memory
from .threads import run_on_threads
from .updates import own_updates
from .verifier import verify

__all__ = ["PASSES", "Pass", "run_passes"]


@dataclass(frozen=True, slots=True)
class Pass:
    """A step from one program to an equal one.

    >>> [each.name for each in PASSES]
    ['prune', 'threads', 'resume', 'stack', 'versions', 'indices', 'updates']
    """

    name: str
    run: Callable[[ir.Function], None]


PASSES: Final = (
    Pass("prune", prune),
    Pass("threads", run_on_threads),
    Pass("resume", resume),
    Pass("stack", stack_memory),
    Pass("versions", version_loops),
    Pass("indices", direct_indices),
    Pass("updates", own_updates),
)


def run_passes(
    function: ir.Function, seen: Callable[[str, ir.Function], None] = lambda name, function: None
) -> None:
    """Run every pass; `seen` gets the program after each, and before the first: "lower"."""
    verify(function, "lower")
    seen("lower", function)
    for each in PASSES:
        each.run(function)
        verify(function, each.name)
        seen(each.name, function)
