"""The first bytes of an entry, or the lines of its label in; what it says of itself out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whorl.fingerprint.digest import StableDigest

from .damage import unlike
from .entry import HEAD, OPENING, Damaged, Label, Part, line_of, sizes_in

__all__ = ["label_end", "label_of", "peek_label"]


def peek_label(start: bytes) -> Label:
    """The label in the first bytes of an entry, unchecked: good for display and for eviction."""
    if start[:16] != OPENING or len(start) < HEAD:
        raise unlike(start[:16], len(start))
    text = start[HEAD : HEAD + sizes_in(start)[1]]
    fields, end = line_of(text, 0)
    return label_of(fields | line_of(text, end)[0])


def label_end(start: bytes) -> int:
    """Where the label ends of an entry that begins like this; 0 if it is none."""
    return HEAD + sizes_in(start)[1] if len(start) >= HEAD else 0


def label_of(fields: Mapping[str, Any]) -> Label:
    """The label whose two lines have these fields."""
    try:
        under = fields["under"]
        return Label(
            str(fields["kind"]),
            StableDigest(fields["key"]),
            None if under is None else StableDigest(under),
            tuple(Part(str(name), str(text)) for name, text in fields["parts"]),
            str(fields["toolchain"]),
            float(fields["made"]),
            float(fields["seconds"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Damaged.unreadable(repr(error)) from error
