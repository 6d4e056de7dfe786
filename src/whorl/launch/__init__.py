"""Machine code in, something to call out: images that are mapped without a compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .image import Image, Unlinkable, link
from .mapped import Mapped, Unmappable, map_image

if TYPE_CHECKING:
    from .routine import NativeLaunch

__all__ = ["Image", "Mapped", "Unlinkable", "Unmappable", "link", "map_image", "status"]


def status() -> NativeLaunch:
    """Whether kernels are launched natively in this process, and why not.

    >>> from whorl import launch
    >>> on, reason = launch.status()
    >>> on == (reason == "")
    True
    """
    from . import routine  # which needs more than images do

    return routine.status()
