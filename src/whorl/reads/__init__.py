"""What a compile looked at: reads, their facts, traces and shapes."""

from __future__ import annotations

from .trace import Aspect, Path, Plain, Read, Seen, Shape, Step, Trace

__all__ = ["Aspect", "Path", "Plain", "Read", "Seen", "Shape", "Step", "Trace"]
