"""`whorl ls`: lists entries, filtered and sorted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import click

from whorl.store.catalogue import Listed, catalogue

from . import units
from .cache_directory import open_store, report_missing_cache
from .output import Column, common_options, print_json, print_line, print_table
from .selection import Selection, selection_options

TERMINAL_LIMIT: Final = 50

# What to sort by, the most interesting first.
_ORDERS: Final[dict[str, Callable[[Listed], Any]]] = {
    "made": lambda row: -row.made,
    "used": lambda row: -row.used,
    "size": lambda row: -row.size,
    "seconds": lambda row: -row.seconds,
    "program": lambda row: row.program,
    "key": lambda row: row.name.key,
}


@click.command("ls")
@selection_options
@click.option("--sort", type=click.Choice(list(_ORDERS)), default="made", show_default=True,
              help="Sort by this, the latest, largest or longest first.")  # fmt: skip
@click.option("--reverse", is_flag=True, help="Reverse the order.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(0),
    default=None,
    help="Show at most this many; 0 for all.  [default: 50 on a terminal, all elsewhere]",
)
@click.option("-q", "--keys", is_flag=True, help="Print only keys.")
@common_options
def command(
    selection: Selection,
    sort: str,
    reverse: bool,
    limit: int | None,
    keys: bool,
    as_json: bool,
    cache_dir: str | None,
) -> None:
    """List the entries of the cache.

    \b
    Example:
      whorl ls --program solver.step --newer-than 1d
      whorl ls --larger-than 1M --sort size --json
      whorl show $(whorl ls --program step --limit 1 --keys)
    """  # \b is click's
    store = open_store(cache_dir)
    every = list(catalogue(store))
    rows = sorted(selection.filter(every), key=_ORDERS[sort], reverse=reverse)
    if limit is None:
        limit = TERMINAL_LIMIT if sys.stdout.isatty() and not as_json else 0
    shown = rows[:limit] if limit else rows
    if as_json:
        print_json([str(row.name.key) if keys else row.as_plain() for row in shown])
        return
    if keys:
        for row in shown:
            click.echo(row.name.key)
        return
    if report_missing_cache(store):
        return
    if not rows:
        none = f"no entry matches; whorl ls --all shows all ({units.entries(len(every))})"
        text = none if every else f"{store.root} has no entries"
        click.echo(units.printable(f"whorl: {text}."), err=True)
        return
    _print(shown)
    if len(shown) < len(rows):
        print_line(f"and {len(rows) - len(shown)} more; --limit 0 shows all", "dim")
    unreadable = sum(bool(row.trouble) for row in rows)
    if unreadable:
        click.echo(f"whorl: {unreadable} of these cannot be read; see whorl verify.", err=True)


def _print(rows: list[Listed]) -> None:
    is_short = sys.stdout.isatty()
    columns = [
        Column("key", style="cyan"), Column("kind"), Column("program", can_fold=True),
        Column("size", True), Column("took", True), Column("made", True), Column("used", True),
    ]  # fmt: skip
    print_table(
        columns,
        [
            (row.name.key[:12] if is_short else row.name.key, row.kind,
             row.program or row.trouble or row.toolchain or "-", units.size(row.size),
             units.duration(row.seconds) if row.seconds else "-",
             units.ago(row.made), units.ago(row.used))
            for row in rows
        ],
    )  # fmt: skip
