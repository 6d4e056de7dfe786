"""Artifacts and manifests <-> the bytes of an entry."""

from __future__ import annotations

from .entry import FORMAT, HINT, LAUNCHER, Damage, Damaged, Entry, Label, Part, Payload
from .record import Artifact, Manifest, Record, decode, encode

__all__ = [
    "FORMAT",
    "HINT",
    "LAUNCHER",
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
