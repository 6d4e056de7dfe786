"""Images of whorl's own routines that are shipped with it, for the layouts of released Pythons.

One file for each, named by its key, which a process forms from the layout that it has discovered:
there is nothing to list, and what was built from other sources or for another layout is not found.
`make images` writes them (see `image_builder`); a checkout in which nobody has done so has none.
"""

from __future__ import annotations

import os
from typing import Final

from whorl.artifacts import Artifact, Damaged, Entry, decode
from whorl.fingerprint.digest import StableDigest
from whorl.lazy import logger

log = logger("whorl.launch")

IMAGES: Final = os.path.join(os.path.dirname(__file__), "images")


def image_file(key: StableDigest) -> str:
    """The name of the file that an image of this key is in."""
    return f"{key}.whorl"


def shipped_image(key: StableDigest) -> Artifact | None:
    """The image of a key; None if none is shipped, or if its file is damaged.

    >>> shipped_image(StableDigest("0" * 32)) is None
    True
    """
    path = os.path.join(IMAGES, image_file(key))
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError, PermissionError):  # a zip file has none
        return None
    try:
        artifact = decode(Entry.checked(data, key))
    except Damaged as damaged:
        log.warning("the shipped file %s is not used: %s", path, damaged)
        return None
    return artifact if isinstance(artifact, Artifact) else None
