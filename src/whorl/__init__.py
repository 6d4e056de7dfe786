"""Values in, exact identities out, and caches on top of them: the public names of whorl."""

from __future__ import annotations

from whorl.artifacts import Artifact, Manifest
from whorl.errors import (
    BadSetting,
    CompilerFailed,
    Drifted,
    NotStatic,
    UnsafeDirectory,
    UnsupportedRead,
    UnsupportedValue,
    WhorlError,
)
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
from whorl.jit import Compiler, Explanation, Kernel, Program, Target, jit
from whorl.reads import Inputs, register_signature
from whorl.settings import Setting, Settings, configure

__all__ = [
    "NOTHING",
    "Artifact",
    "BadSetting",
    "Boundary",
    "Compiler",
    "CompilerFailed",
    "Difference",
    "Digest",
    "Drifted",
    "Explanation",
    "FieldRule",
    "Fingerprinter",
    "Inputs",
    "Kernel",
    "Manifest",
    "Marker",
    "NotStatic",
    "ProcessDigest",
    "Program",
    "Setting",
    "Settings",
    "StableDigest",
    "Target",
    "UnsafeDirectory",
    "UnsupportedRead",
    "UnsupportedValue",
    "WhorlError",
    "by_identity",
    "by_type",
    "configure",
    "diff",
    "exclude",
    "fields",
    "fingerprint",
    "jit",
    "ordered",
    "register_signature",
]
__version__ = "0.1.0"
