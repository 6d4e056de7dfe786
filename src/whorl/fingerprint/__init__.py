"""A value -> a digest: the same in every process, and different when the value is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .boundary import Boundary
    from .difference import NOTHING, Difference
    from .digest import Digest, ProcessDigest, StableDigest
    from .fingerprinter import Fingerprinter, diff, fingerprint
    from .markers import FieldRule, Marker, by_identity, by_type, exclude, fields, ordered
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "boundary": "Boundary",
            "difference": "NOTHING Difference",
            "digest": "Digest ProcessDigest StableDigest",
            "fingerprinter": "Fingerprinter diff fingerprint",
            "markers": "FieldRule Marker by_identity by_type exclude fields ordered",
        },
    )

__all__ = [
    "NOTHING",
    "Boundary",
    "Difference",
    "Digest",
    "FieldRule",
    "Fingerprinter",
    "Marker",
    "ProcessDigest",
    "StableDigest",
    "by_identity",
    "by_type",
    "diff",
    "exclude",
    "fields",
    "fingerprint",
    "ordered",
]
