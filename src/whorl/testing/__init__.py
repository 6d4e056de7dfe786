"""Helpers for the tests of programs that use whorl: fresh caches, forbidden compiles, audits.

Names are imported when they are used: every run of pytest loads the plugin of this package if whorl
is installed, and most runs do not need it.
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
