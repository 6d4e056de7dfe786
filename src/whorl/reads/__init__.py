"""An object the compiler sees -> reads, facts, traces, shapes; and their replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .facts import register_signature, signature
    from .trace import Aspect, Path, Plain, Read, Seen, Shape, Step, Trace
    from .view import AbsentRead, CodeView, Inputs, Recorder, View
    from .world import World
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "evaluate": "",
            "facts": "register_signature signature",
            "trace": "Aspect Path Plain Read Seen Shape Step Trace",
            "view": "AbsentRead CodeView Inputs Recorder View",
            "world": "World",
        },
    )

__all__ = [
    "AbsentRead",
    "Aspect",
    "CodeView",
    "Inputs",
    "Path",
    "Plain",
    "Read",
    "Recorder",
    "Seen",
    "Shape",
    "Step",
    "Trace",
    "View",
    "World",
    "register_signature",
    "signature",
]
