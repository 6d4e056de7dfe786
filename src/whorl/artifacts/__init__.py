"""Artifacts and manifests <-> the bytes of an entry."""

from __future__ import annotations

from .entry import FORMAT, HINT, Damage, Damaged, Entry, Label, Part, Payload
from .record import Artifact, Manifest, Record, decode, encode

__all__ = [
    "FORMAT",
    "HINT",
    "Artifact",
    "Damage",
    "Damaged",
    "Entry",
    "Label",
    "Manifest",
    "Part",
    "Payload",
    "Record",
    "decode",
    "encode",
]
