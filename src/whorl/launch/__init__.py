"""Machine code in, something to call out: images that are mapped without a compiler."""

from __future__ import annotations

from .image import Image, Unlinkable, link
from .mapped import Mapped, Unmappable, map_image

__all__ = ["Image", "Mapped", "Unlinkable", "Unmappable", "link", "map_image"]
