"""Values in, exact identities out, and caches on top of them: the public names of whorl."""

from __future__ import annotations

from whorl.artifacts import Artifact, Manifest
from whorl.errors import BadSetting, UnsafeDirectory, UnsupportedValue, WhorlError
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
from whorl.settings import Setting, Settings, configure

__all__ = [
    "NOTHING",
    "Artifact",
    "BadSetting",
    "Boundary",
    "Difference",
    "Digest",
    "FieldRule",
    "Fingerprinter",
    "Manifest",
    "Marker",
    "ProcessDigest",
    "Setting",
    "Settings",
    "StableDigest",
    "UnsafeDirectory",
    "UnsupportedValue",
    "WhorlError",
    "by_identity",
    "by_type",
    "configure",
    "diff",
    "exclude",
    "fields",
    "fingerprint",
    "ordered",
]
__version__ = "0.1.0"
