"""Artifacts and manifests <-> the bytes of an entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .entry import FORMAT, HINT, LAUNCHER, Damage, Damaged, Entry, Label, Part, Payload
    from .record import Artifact, Manifest, Record, decode, encode
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "entry": "Damage Damaged Entry FORMAT HINT LAUNCHER Label Part Payload",
            "record": "Artifact Manifest Record decode encode",
        },
    )

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
