"""For the tests of whorl's users: fresh caches, forbidden compiles, recorded events, audits."""

from __future__ import annotations

from .audit import Finding, Report, audit
from .contexts import CompileForbidden, forbid_compile, fresh_cache, recorded_events

__all__ = [
    "CompileForbidden",
    "Finding",
    "Report",
    "audit",
    "forbid_compile",
    "fresh_cache",
    "recorded_events",
]
