"""What one thread knows while it takes one fingerprint, and forgets afterwards.

Rules are called deep inside a walk and have no other way to tell it two things: that an
identity was used, so that the digest is good for this process only; and the digests of code
that was walked on the way, so that functions that read each other are walked once, not once
for each of them.
"""

from __future__ import annotations

from whorl.locks import local

__all__ = ["walk"]


class _Walk(local):
    """The walk of this thread."""

    identities = 0
    """How often an identity has been asked for; only ever grows."""

    def __init__(self) -> None:
        self.codes: dict[tuple[str, int, int], tuple[object, str]] = {}
        self.under_way: set[tuple[str, int, int]] = set()

    def forget(self) -> None:
        """End the walk. What it remembered holds only while nothing can have changed."""
        if self.codes:
            self.codes = {}


walk = _Walk()
"""`codes`: (mode, describer, address) -> the object, kept alive, and its digest. `under_way`:
what is being computed, to notice what leads back to itself."""
