"""A call -> bind, look up, compile, store, load, launch; and why it missed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from whorl.calls.events import Event, Happened
    from whorl.calls.explanation import Change, Explanation

    from .compiler import Compiler, Program
    from .decorator import jit
    from .kernel import Kernel
    from .specialization import Specialization
    from .target import Target, host
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "compiler": "Compiler Program",
            "decorator": "jit",
            "kernel": "Kernel",
            "specialization": "Specialization",
            "target": "Target host",
            "whorl.calls.events": "Event Happened",
            "whorl.calls.explanation": "Change Explanation",
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
