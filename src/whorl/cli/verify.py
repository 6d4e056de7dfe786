"""Every entry of a directory in, those that are damaged out, set aside."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import click

from whorl.artifacts import Damaged, Entry
from whorl.store import DirectoryStore, Ending, Failed, Found
from whorl.store.catalogue import Name, names

from . import words
from .opened import opened, said_to_be_empty
from .output import common, line, progress, say, silenced

__all__ = ["command"]


@dataclass
class Verdict:
    """What looking at every entry came to."""

    checked: int = 0
    size: int = 0
    damaged: list[dict[str, Any]] = field(default_factory=list)
    unreadable: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_well(self) -> bool:
        """Whether nothing was found."""
        return not self.damaged and not self.unreadable


@click.command("verify")
@click.option("--dry-run", is_flag=True, help="Leave damaged entries where they are.")
@common
@click.pass_context
def command(context: click.Context, dry_run: bool, as_json: bool, cache_dir: str | None) -> None:
    """Check every byte of every entry; set aside what is damaged, so that it is made again.

    Exit code 1 if an entry is damaged or cannot be read. Damaged files are kept in the
    directory quarantine/ of the cache.

    \b
    Example:
      whorl verify
      whorl verify --dry-run --json
    """  # \b is click's
    store = opened(cache_dir)
    verdict = _verdict(store, None if dry_run else opened(cache_dir, for_writing=True))
    if as_json:
        say({
            "directory": str(store.root), "checked": verdict.checked, "size": verdict.size,
            "damaged": verdict.damaged, "unreadable": verdict.unreadable,
        })  # fmt: skip
    elif not said_to_be_empty(store):
        _print(verdict)
    context.exit(0 if verdict.is_well else 1)


def _verdict(store: DirectoryStore, writable: DirectoryStore | None) -> Verdict:
    verdict = Verdict()
    found = list(names(store))
    with silenced("whorl.store"), progress("checking", len(found)) as advance:
        for name, file in found:
            advance(1)
            verdict.checked += 1
            verdict.size += file.size
            _check(store, writable, name, verdict)
    return verdict


def _check(
    store: DirectoryStore, writable: DirectoryStore | None, name: Name, verdict: Verdict
) -> None:
    got = store.get(name.key, name.under)
    if isinstance(got, Found):
        damaged = _unreadable_label(got.entry)
        if damaged is not None:
            if writable is not None:
                writable.set_aside(name.key, name.under, damaged)
            verdict.damaged.append(_row(name, str(damaged), _is_gone(store, name)))
    elif isinstance(got, Failed) and got.ending is Ending.DAMAGED:
        if writable is not None:
            writable.get(name.key, name.under)  # which sets it aside
        verdict.damaged.append(_row(name, got.reason, _is_gone(store, name)))
    elif isinstance(got, Failed):
        verdict.unreadable.append(_row(name, got.reason, False))
    else:
        verdict.checked -= 1  # it was removed meanwhile


def _is_gone(store: DirectoryStore, name: Name) -> bool:
    return not os.path.lexists(store.path(name.key, name.under))


def _unreadable_label(entry: Entry) -> Damaged | None:
    """What is wrong with the label of an entry whose bytes are those that were written."""
    try:
        for place in entry.payloads:
            entry.view(place)
        _ = entry.label, entry.record, entry.more
    except Damaged as damaged:
        return damaged
    return None


def _row(name: Name, reason: str, is_aside: bool) -> dict[str, Any]:
    group = None if name.under is None else str(name.under)
    return {"key": str(name.key), "group": group, "reason": reason, "set_aside": is_aside}


def _print(verdict: Verdict) -> None:
    for row in verdict.damaged:
        aside = "set aside" if row["set_aside"] else "left where it is"
        line(f"{row['key']} is damaged: {row['reason']}; {aside}", "red")
    for row in verdict.unreadable:
        line(f"{row['key']} cannot be read: {row['reason']}", "red")
    bad = len(verdict.damaged) + len(verdict.unreadable)
    result = "all whole" if not bad else f"{bad} not whole"
    line(f"checked {words.entries(verdict.checked)}, {words.size(verdict.size)}: {result}")
