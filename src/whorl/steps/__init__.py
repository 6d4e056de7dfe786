"""Functions and build steps in, results out that last as long as they are right."""

from __future__ import annotations

from .cached import BoundCached, CachedFunction, cached
from .process_store import ProcessStore
from .values import Serializer

__all__ = ["BoundCached", "CachedFunction", "ProcessStore", "Serializer", "cached"]
