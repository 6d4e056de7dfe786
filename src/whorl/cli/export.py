"""Entries that are meant in, one portable file out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from whorl.artifacts import LAUNCHER, Damaged, Entry
from whorl.store import Absent, DirectoryStore, Failed
from whorl.store.bundle import is_pickled, pack
from whorl.store.catalogue import Listed, catalogue

from . import words
from .destination import Destination
from .given import NAME, Place
from .opened import opened
from .output import common, progress, say, silenced
from .refusal import Refusal, Trouble
from .selection import Digits, Selection, selecting, unknown_key

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
@click.pass_context
def command(
    context: click.Context,
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
    are not found, and do no harm. Exit code 1 if an entry cannot be read and is left out.

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
    rows = list(catalogue(store))
    wanted = [_wanted(store, rows, key) for key in keys]
    chosen = _chosen(rows, selection, wanted)
    if not chosen:
        raise Trouble(f"no entry of {store.root} is like that: there is nothing to export.")
    packing = _Packing(store, allow_pickles)
    with destination.put() as made:
        pack(str(made), packing.entries(chosen))
        size = made.stat().st_size
        if not packing.packed:
            packing.tell_left_out()
            raise Trouble("nothing is left to export.")
    _tell(destination, size, packing, as_json=as_json)
    context.exit(0 if packing.is_well else 1)


def _wanted(store: DirectoryStore, rows: list[Listed], key: str) -> Digits:
    digits = Digits.of(key)
    if not any(digits.name(row.name) for row in rows):
        raise unknown_key(store, key)
    return digits


def _chosen(rows: list[Listed], selection: Selection, wanted: list[Digits]) -> list[Listed]:
    """What is meant, and what leads to it."""
    if selection == Selection() and not wanted:
        return rows
    meant = [
        row
        for row in selection.of(rows)
        if not wanted or any(digits.name(row.name) for digits in wanted)
    ]
    programs = {row.program for row in meant if row.program}
    chosen = {row.name: row for row in meant}
    if not chosen:
        return []
    for row in rows:
        is_on_the_way = row.kind == "manifest" and row.program in programs
        is_for_all = row.program == LAUNCHER and row.name.under is None
        if is_on_the_way or is_for_all:
            chosen[row.name] = row
    return list(chosen.values())


@dataclass
class _Packing:
    """Entries on their way into a bundle: which went in, and which were left out and why."""

    store: DirectoryStore
    allow_pickles: bool
    packed: list[Listed] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    is_well: bool = True

    @property
    def programs(self) -> list[str]:
        """The programs that the bundle is for."""
        named = {row.program for row in self.packed if not row.is_bookkeeping}
        return sorted(named - {"", LAUNCHER})

    def entries(self, rows: list[Listed]) -> Iterator[Entry]:
        """The entries of these rows that can go and may."""
        with silenced("whorl.store"), progress("exporting", len(rows)) as advance:
            for row in rows:
                advance(1)
                got = self._entry(row)
                if isinstance(got, str):
                    self.left_out.append(f"{row.name.key}: {got}")
                    continue
                self.packed.append(row)
                yield got

    def _entry(self, row: Listed) -> Entry | str:
        """The entry of a row, or why it does not go."""
        got = self.store.get(row.name.key, row.name.under)
        if isinstance(got, Absent):
            return "it is gone"
        if isinstance(got, Failed):
            self.is_well = False
            return got.reason
        try:
            _ = got.entry.label  # without which nobody can import it
            is_refused = is_pickled(got.entry) and not self.allow_pickles
        except Damaged as damaged:
            self.is_well = False
            return str(damaged)
        return "it holds a pickled value (--allow-pickles)" if is_refused else got.entry

    def tell_left_out(self) -> None:
        """Say what is missing."""
        for text in self.left_out:
            click.echo(f"whorl: left out {words.printable(text)}", err=True)


def _tell(destination: Destination, size: int, packing: _Packing, *, as_json: bool) -> None:
    count, programs = len(packing.packed), packing.programs
    if as_json:
        told: dict[str, Any] = {"bundle": str(destination.path), "entries": count, "size": size}
        say({**told, "programs": programs, "left_out": packing.left_out})
        return
    packing.tell_left_out()
    of = "program" if len(programs) == 1 else "programs"
    exported = f"exported {words.entries(count)} of {len(programs)} {of} to {destination.path}"
    destination.tell(f"{exported}, {words.size(size)}")
