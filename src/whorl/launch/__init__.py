"""Everything between a call and the machine code: records, tables, images, checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .image import Image
    from .linking import Unlinkable, link
    from .mapped import Mapped, Unmappable, map_image
    from .routine import NativeLaunch, status
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "image": "Image",
            "linking": "Unlinkable link",
            "mapped": "Mapped Unmappable map_image",
            "routine": "NativeLaunch status",
        },
    )

__all__ = [
    "Image", "Mapped", "NativeLaunch", "Unlinkable", "Unmappable", "link", "map_image", "status",
]  # fmt: skip
