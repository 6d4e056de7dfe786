"""A hint and the one on a server in, hints that lose no lead of either out."""

from __future__ import annotations

from collections.abc import Iterator

from whorl.artifacts import Entry
from whorl.fingerprint.digest import StableDigest
from whorl.jit.key import Hint

__all__ = ["merged_hints"]


def merged_hints(mine: Entry, theirs: Entry | None) -> Iterator[Entry]:
    """The entries to put in place of one on a server; none if that has all of it already.

    The hint of a file that is full keeps its leads; a new lead gets a hint of its own then, where
    `FileHint` looks for it.
    """
    if theirs is None:
        yield mine
        return
    ours, others = Hint.of_entry(mine), Hint.of_entry(theirs)
    both = ours.merged(others)
    if both.is_full and not ours.leads.keys() <= others.leads.keys():
        for lead in ours.leads.keys() - others.leads.keys():
            single = Hint(ours.rows, {lead: ours.leads[lead]})
            yield single.entry(StableDigest(lead))
        both = Hint(both.rows, {lead: both.leads[lead] for lead in others.leads})
    if both.leads != others.leads or both.rows.keys() != others.rows.keys():
        yield both.entry(mine.key)
