"""For the tests of whorl's users: fresh caches, forbidden compiles, recorded events, audits.

What is asked for is imported then: the pytest plugin in here is loaded by every run of pytest
wherever whorl is installed, and most of them have no use for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .auditing import Finding, Report, audit
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

_HOMES = {"Finding": "auditing", "Report": "auditing", "audit": "auditing"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f".{_HOMES.get(name, 'contexts')}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
