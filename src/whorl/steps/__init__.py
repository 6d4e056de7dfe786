"""Functions and build steps in, results out that last as long as they are right."""

from __future__ import annotations

from .cached import BoundCached, CachedFunction, cached
from .process_store import ProcessStore
from .step import CachedStep, Chain, Step, chain
from .values import Serializer

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
