"""`whorl verify`: checks every entry, and quarantines damaged ones."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import click

from whorl.artifacts import Damaged, Entry
from whorl.store import DirectoryStore, Ending, Failed, Found
from whorl.store.catalogue import names
from whorl.store.listing import Name

from . import units
from .cache_directory import open_store, report_missing_cache
from .output import common_options, print_json, print_line, progress, silence_logger


@dataclass
class Verdict:
    """The result of checking every entry."""

    checked: int = 0
    size: int = 0
    damaged: list[dict[str, Any]] = field(default_factory=list)
    unreadable: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_ok(self) -> bool:
        """Whether no entry is damaged or unreadable."""
        return not self.damaged and not self.unreadable


@click.command("verify")
@click.option("--dry-run", is_flag=True, help="Do not move damaged entries.")
@common_options
@click.pass_context
def command(context: click.Context, dry_run: bool, as_json: bool, cache_dir: str | None) -> None:
    """Check every byte of every entry, and quarantine damaged ones.

    Damaged files are moved to the directory quarantine/ of the cache, and the entries are
    produced again when they are needed. Exit code 1 if an entry is damaged or cannot be read.

    \b
    Example:
      whorl verify
      whorl verify --dry-run --json
    """  # \b is click's
    store = open_store(cache_dir)
    verdict = _verdict(store, None if dry_run else open_store(cache_dir, for_writing=True))
    if as_json:
        print_json({
            "directory": str(store.root), "checked": verdict.checked, "size": verdict.size,
            "damaged": verdict.damaged, "unreadable": verdict.unreadable,
        })  # fmt: skip
    elif not report_missing_cache(store):
        _print(verdict)
    context.exit(0 if verdict.is_ok else 1)


def _verdict(store: DirectoryStore, writable: DirectoryStore | None) -> Verdict:
    verdict = Verdict()
    files = list(names(store))
    with silence_logger("whorl.store"), progress("checking", len(files)) as advance:
        for name, file in files:
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
            writable.get(name.key, name.under)  # this quarantines it
        verdict.damaged.append(_row(name, got.reason, _is_gone(store, name)))
    elif isinstance(got, Failed):
        verdict.unreadable.append(_row(name, got.reason, False))
    else:
        verdict.checked -= 1  # another process has removed it


def _is_gone(store: DirectoryStore, name: Name) -> bool:
    return not os.path.lexists(store.path(name.key, name.under))


def _unreadable_label(entry: Entry) -> Damaged | None:
    """The error in the label of an entry whose checksums are right."""
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
        aside = "quarantined" if row["set_aside"] else "not moved"
        print_line(f"{row['key']} is damaged: {row['reason']}; {aside}", "red")
    for row in verdict.unreadable:
        print_line(f"{row['key']} cannot be read: {row['reason']}", "red")
    bad = len(verdict.damaged) + len(verdict.unreadable)
    result = "all intact" if not bad else f"{bad} not intact"
    print_line(f"checked {units.entries(verdict.checked)}, {units.size(verdict.size)}: {result}")
