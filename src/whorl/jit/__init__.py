"""A call -> bind, look up, compile, store, load, launch; and why it missed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from whorl.calls.events import Event, Happened
    from whorl.calls.explanation import Explanation
    from whorl.store.journal import Change

    from .compiler import Compiler, Program, Target, host
    from .kernel import Kernel, jit
    from .specialization import Specialization
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "compiler": "Compiler Program Target host",
            "kernel": "Kernel jit",
            "specialization": "Specialization",
            "whorl.calls.events": "Event Happened",
            "whorl.calls.explanation": "Explanation",
            "whorl.store.journal": "Change",
        },
    )

__all__ = [
    "Change",
    "Compiler",
    "Event",
    "Explanation",
    "Happened",
    "Kernel",
    "Program",
    "Specialization",
    "Target",
    "host",
    "jit",
]
