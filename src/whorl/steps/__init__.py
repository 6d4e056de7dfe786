"""Functions and build steps in, results out that last as long as they are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .cached import BoundCached, CachedFunction, cached
    from .process_store import ProcessStore
    from .step import CachedStep, Chain, Step, chain
    from .values import Serializer
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "cached": "BoundCached CachedFunction cached",
            "process_store": "ProcessStore",
            "step": "CachedStep Chain Step chain",
            "values": "Serializer",
        },
    )

__all__ = [
    "BoundCached",
    "CachedFunction",
    "CachedStep",
    "Chain",
    "ProcessStore",
    "Serializer",
    "Step",
    "cached",
    "chain",
]
