"""A call -> bind, look up, compile, store, load, launch; and why it missed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .compiler import Compiler, Program
    from .decorator import jit
    from .events import Event, Happened
    from .explain import Change, Explanation
    from .kernel import Kernel
    from .specialization import Specialization
    from .target import Target, host
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "compiler": "Compiler Program",
            "decorator": "jit",
            "events": "Event Happened",
            "explain": "Change Explanation",
            "kernel": "Kernel",
            "specialization": "Specialization",
            "target": "Target host",
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
