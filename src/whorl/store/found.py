"""A lookup's usual two endings, and the keys that it may be asked for."""

from __future__ import annotations

from typing import Final

from whorl.artifacts import Entry
from whorl.fingerprint.digest import Digest, ProcessDigest, StableDigest
from whorl.late import dataclass

__all__ = ["ABSENT", "Absent", "Found", "check_key"]


@dataclass(slots=True)
class Found:
    """The entry asked for, checked. Not frozen, and made by hand: every hit makes one.

    >>> from whorl.artifacts import Artifact, Label, encode
    >>> entry = encode(Artifact(), Label("artifact", StableDigest("0" * 32)))
    >>> Found(entry).entry is entry
    True
    """

    entry: Entry

    def __init__(self, entry: Entry) -> None:
        self.entry = entry


@dataclass(frozen=True, slots=True)
class Absent:
    """There is no such entry.

    >>> Absent()
    Absent()
    """


ABSENT: Final = Absent()


def check_key(key: object, under: object = None) -> None:
    """Refuse what may not name something that outlives the process."""
    if under is not None:
        check_key(under)
    if isinstance(key, StableDigest):
        return
    if isinstance(key, ProcessDigest):
        raise TypeError(
            f"ProcessDigest {key} names something of this process only and is no key of a store; "
            "use a stable rule instead of by_identity"
        )
    known = " (a plain Digest does not say how long it lives)" if isinstance(key, Digest) else ""
    raise TypeError(f"the key of a store is a StableDigest, not {type(key).__name__}{known}")
