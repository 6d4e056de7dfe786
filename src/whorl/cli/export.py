"""Entries that are meant in, one portable file out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from whorl.artifacts import LAUNCHER, Entry
from whorl.store import DirectoryStore, Found
from whorl.store.bundle import is_pickled, pack
from whorl.store.catalogue import Listed, catalogue

from . import words
from .destination import Destination
from .given import NAME, Place
from .opened import opened
from .output import common, progress, say
from .refusal import Refusal, Trouble
from .selection import Selection, selecting

__all__ = ["command"]

_NO_FILE: Final = " and is no file; --force writes into it"


@click.command("export")
@click.argument("bundle", type=Place(dir_okay=False, path_type=Path))
@selecting
@click.option("--key", "keys", type=NAME, multiple=True, metavar="KEY",
              help="An entry whose key begins like this. May be repeated.")  # fmt: skip
@click.option("--allow-pickles", is_flag=True, help="With entries that hold pickled values.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@common
def command(
    bundle: Path,
    selection: Selection,
    keys: tuple[str, ...],
    allow_pickles: bool,
    force: bool,
    as_json: bool,
    cache_dir: str | None,
) -> None:
    """Write entries into BUNDLE, one portable file, to be imported elsewhere.

    Without an option that selects, that is everything. What is needed to find the selected
    entries goes with them. Entries are for the kind of machine that made them: elsewhere they
    are not found, and do no harm.

    \b
    Example:
      whorl export kernels.whorl --program 'solver.*'
      whorl import kernels.whorl
    """  # \b is click's
    destination = Destination.of(bundle, as_json=as_json)
    if destination.status is not None and not force:
        what = "; --force replaces it" if destination.is_file else _NO_FILE
        raise Refusal(f"{bundle} is there already{what}.")
    store = opened(cache_dir)
    rows = _chosen(list(catalogue(store)), selection, keys)
    if not rows:
        raise Trouble(f"no entry of {store.root} is like that: there is nothing to export.")
    left_out: list[str] = []
    with destination.put() as made:
        told = pack(str(made), _entries(store, rows, left_out, allow_pickles=allow_pickles))
        size = made.stat().st_size
    named = {row.program for row in rows if not row.is_bookkeeping}
    programs = sorted(named - {"", LAUNCHER})
    _tell(destination, size, len(told.entries), programs, left_out, as_json=as_json)


def _chosen(rows: list[Listed], selection: Selection, keys: tuple[str, ...]) -> list[Listed]:
    """What is meant, and what leads to it."""
    if selection == Selection() and not keys:
        return [row for row in rows if not row.trouble]
    meant = [
        row
        for row in selection.of(rows)
        if not keys or any(row.name.key.startswith(key.lower()) for key in keys)
    ]
    programs = {row.program for row in meant if row.program}
    chosen = {row.name: row for row in meant if not row.trouble}
    if not chosen:
        return []
    for row in rows:
        is_on_the_way = row.kind == "manifest" and row.program in programs
        is_for_all = row.program == LAUNCHER and row.name.under is None
        if is_on_the_way or is_for_all:
            chosen[row.name] = row
    return list(chosen.values())


def _entries(
    store: DirectoryStore, rows: list[Listed], left_out: list[str], *, allow_pickles: bool
) -> Iterator[Entry]:
    with progress("exporting", len(rows)) as advance:
        for row in rows:
            advance(1)
            got = store.get(row.name.key, row.name.under)
            if not isinstance(got, Found):
                left_out.append(f"{row.name.key}: {getattr(got, 'reason', 'it is gone')}")
            elif is_pickled(got.entry) and not allow_pickles:
                left_out.append(f"{row.name.key}: it holds a pickled value (--allow-pickles)")
            else:
                yield got.entry


def _tell(
    destination: Destination,
    size: int,
    count: int,
    programs: list[str],
    left_out: list[str],
    *,
    as_json: bool,
) -> None:
    bundle = destination.path
    if as_json:
        told: dict[str, Any] = {"bundle": str(bundle), "entries": count, "size": size}
        say({**told, "programs": programs, "left_out": left_out})
        return
    for text in left_out:
        click.echo(f"whorl: left out {words.printable(text)}", err=True)
    of = "program" if len(programs) == 1 else "programs"
    exported = f"exported {count} entries of {len(programs)} {of} to {bundle}"
    destination.tell(f"{exported}, {words.size(size)}")
