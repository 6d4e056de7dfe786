"""A call -> bind, look up, compile, store, load, launch; and why it missed."""

from __future__ import annotations

from .compiler import Compiler, Program
from .events import Event, Happened
from .explain import Change, Explanation
from .kernel import Kernel, jit
from .specialization import Specialization
from .target import Target, host

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
