"""Cached functions and build steps: results are kept for as long as they are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .cached import BoundCached, CachedFunction, cached
    from .result_format import Serializer
    from .result_store import ProcessStore
    from .step import CachedStep, Chain, Step, chain
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "cached": "BoundCached CachedFunction cached",
            "result_store": "ProcessStore",
            "step": "CachedStep Chain Step chain",
            "result_format": "Serializer",
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
