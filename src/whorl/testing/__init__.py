"""For the tests of whorl's users: fresh caches, forbidden compiles, recorded events, audits.

What is asked for is imported then: the pytest plugin in here is loaded by every run of pytest
wherever whorl is installed, and most of them have no use for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .auditing import Finding, Report, audit
    from .contexts import CompileForbidden, forbid_compile, fresh_cache, recorded_events
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "auditing": "Finding Report audit",
            "contexts": "CompileForbidden forbid_compile fresh_cache recorded_events",
        },
    )

__all__ = [
    "CompileForbidden",
    "Finding",
    "Report",
    "audit",
    "forbid_compile",
    "fresh_cache",
    "recorded_events",
]
