"""`whorl export`: copies selected entries into one portable file."""

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

from . import units
from .cache_directory import open_store
from .exported_functions import export_for_c
from .failures import NAME, CommandFailure, PathParameter, UsageFailure
from .output import Destination, common_options, print_json, progress, silence_logger
from .selection import KeyPrefix, Selection, selection_options, unknown_key

_NO_FILE: Final = " and is not a file; --force writes into it"


@click.command("export")
@click.argument("bundle", type=PathParameter(dir_okay=False, path_type=Path))
@selection_options
@click.option("--key", "keys", type=NAME, multiple=True, metavar="KEY",
              help="An entry by its key, or the first digits of it. May be repeated.")  # fmt: skip
@click.option("--allow-pickles", is_flag=True, help="Include entries with pickled values.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--c", "as_c", is_flag=True, help="Write a header and a shared library for C.")
@click.option(
    "--kernel",
    "kernels",
    type=NAME,
    multiple=True,
    metavar="KERNEL(TYPES)",
    help="With --c: a kernel for types, 'solver:step(f64[:, ::1], i64) as solve'.",
)
@click.option(
    "--target",
    type=NAME,
    metavar="LEVEL",
    help="With --c: the processors it is for, such as x86-64-v3.",
)
@common_options
@click.pass_context
def command(
    context: click.Context,
    bundle: Path,
    selection: Selection,
    keys: tuple[str, ...],
    allow_pickles: bool,
    force: bool,
    as_c: bool,
    kernels: tuple[str, ...],
    target: str | None,
    as_json: bool,
    cache_dir: str | None,
) -> None:
    """Write entries into BUNDLE, one portable file, for import elsewhere.

    Without selecting options it contains all entries. Manifests that lead to the selected
    entries are included. On another kind of machine the entries are not found, and do no
    harm. Exit code 1 if an entry cannot be read and is left out.

    With --c, kernels become plain functions of C: BUNDLE.h and libBUNDLE.so.

    \b
    Example:
      whorl export kernels.whorl --program 'solver.*'
      whorl import kernels.whorl
      whorl export solver --c --kernel 'solver:step(f64[:, ::1], f64)'
    """  # \b is click's
    if as_c or kernels or target:
        export_for_c(bundle, kernels, target, force=force, is_asked=as_c, as_json=as_json)
        return
    destination = Destination.of(bundle, as_json=as_json)
    if destination.status is not None and not force:
        what = "; --force replaces it" if destination.is_file else _NO_FILE
        raise UsageFailure(f"{bundle} exists already{what}.")
    store = open_store(cache_dir)
    rows = list(catalogue(store))
    prefixes = [_key_prefix(store, rows, key) for key in keys]
    chosen = _choose(rows, selection, prefixes)
    if not chosen:
        raise CommandFailure(f"no entry of {store.root} matches: there is nothing to export.")
    packing = _Packing(store, allow_pickles)
    with destination.put() as file:
        pack(str(file), packing.entries(chosen))
        size = file.stat().st_size
        if not packing.packed:
            packing.report_left_out()
            raise CommandFailure("nothing is left to export.")
    _report(destination, size, packing, as_json=as_json)
    context.exit(0 if packing.is_ok else 1)


def _key_prefix(store: DirectoryStore, rows: list[Listed], key: str) -> KeyPrefix:
    prefix = KeyPrefix.parse(key)
    if not any(prefix.matches(row.name) for row in rows):
        raise unknown_key(store, key)
    return prefix


def _choose(rows: list[Listed], selection: Selection, prefixes: list[KeyPrefix]) -> list[Listed]:
    """The selected entries, and the manifests that lead to them."""
    if selection == Selection() and not prefixes:
        return rows
    selected = [
        row
        for row in selection.filter(rows)
        if not prefixes or any(prefix.matches(row.name) for prefix in prefixes)
    ]
    programs = {row.program for row in selected if row.program}
    chosen = {row.name: row for row in selected}
    if not chosen:
        return []
    for row in rows:
        leads_to_selected = row.kind == "manifest" and row.program in programs
        is_for_all = row.program == LAUNCHER and row.name.under is None
        if leads_to_selected or is_for_all:
            chosen[row.name] = row
    return list(chosen.values())


@dataclass
class _Packing:
    """Packs entries into a bundle, and remembers which were left out and why."""

    store: DirectoryStore
    allow_pickles: bool
    packed: list[Listed] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    is_ok: bool = True

    @property
    def programs(self) -> list[str]:
        """The programs whose entries are in the bundle."""
        programs = {row.program for row in self.packed if not row.is_bookkeeping}
        return sorted(programs - {"", LAUNCHER})

    def entries(self, rows: list[Listed]) -> Iterator[Entry]:
        """The entries of these rows that can and may be exported."""
        with silence_logger("whorl.store"), progress("exporting", len(rows)) as advance:
            for row in rows:
                advance(1)
                entry = self._entry(row)
                if isinstance(entry, str):
                    self.left_out.append(f"{row.name.key}: {entry}")
                    continue
                self.packed.append(row)
                yield entry

    def _entry(self, row: Listed) -> Entry | str:
        """The entry of a row, or why it is left out."""
        got = self.store.get(row.name.key, row.name.under)
        if isinstance(got, Absent):
            return "it is gone"
        if isinstance(got, Failed):
            self.is_ok = False
            return got.reason
        try:
            _ = got.entry.label  # needed for an import
            is_refused = is_pickled(got.entry) and not self.allow_pickles
        except Damaged as damaged:
            self.is_ok = False
            return str(damaged)
        return "it holds a pickled value (--allow-pickles)" if is_refused else got.entry

    def report_left_out(self) -> None:
        """Print which entries are missing."""
        for text in self.left_out:
            click.echo(f"whorl: left out {units.printable(text)}", err=True)


def _report(destination: Destination, size: int, packing: _Packing, *, as_json: bool) -> None:
    count, programs = len(packing.packed), packing.programs
    if as_json:
        report: dict[str, Any] = {"bundle": str(destination.path), "entries": count, "size": size}
        print_json({**report, "programs": programs, "left_out": packing.left_out})
        return
    packing.report_left_out()
    of = "program" if len(programs) == 1 else "programs"
    exported = f"exported {units.entries(count)} of {len(programs)} {of} to {destination.path}"
    destination.report(f"{exported}, {units.size(size)}")
