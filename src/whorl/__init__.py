"""Values in, exact identities out, and caches on top of them: the public names of whorl."""

from __future__ import annotations

from whorl.errors import UnsupportedValue, WhorlError
from whorl.fingerprint import (
    NOTHING,
    Boundary,
    Difference,
    Digest,
    FieldRule,
    Fingerprinter,
    Marker,
    ProcessDigest,
    StableDigest,
    by_identity,
    by_type,
    diff,
    exclude,
    fields,
    fingerprint,
    ordered,
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
    "UnsupportedValue",
    "WhorlError",
    "by_identity",
    "by_type",
    "diff",
    "exclude",
    "fields",
    "fingerprint",
    "ordered",
]
__version__ = "0.1.0"
