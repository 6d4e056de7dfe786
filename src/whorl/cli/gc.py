"""A size and an age in, a smaller store out."""

from __future__ import annotations

import os

import click

from . import words
from .opened import opened, said_to_be_empty
from .output import common, line, say
from .refusal import Trouble
from .words import age, byte_count

__all__ = ["command"]


@click.command("gc")
@click.option("--max-size", type=byte_count, metavar="SIZE",
              help="Leave no more: 500M, 5G, 0. [default: WHORL_CACHE_MAX_SIZE]")  # fmt: skip
@click.option("--older-than", type=age, metavar="AGE",
              help="Remove what was not used for so long: 12h, 7d, 4w.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
@common
def command(
    max_size: int | None,
    older_than: float | None,
    dry_run: bool,
    as_json: bool,
    cache_dir: str | None,
) -> None:
    """Remove entries: what is too old, then the least recently used until the rest fits.

    What killed processes left behind goes as well. A removed entry is made again when it is
    needed.

    \b
    Example:
      whorl gc --older-than 30d --dry-run
      whorl gc --max-size 1G
    """  # \b is click's
    store = opened(cache_dir, for_writing=not dry_run)
    if store.root.is_dir() and not dry_run and not os.access(store.root, os.W_OK):
        raise Trouble(f"{store.root} cannot be written to: nothing is removed.")
    done = store.collect(max_size, unused_for=older_than, is_rehearsal=dry_run)
    store.statistics.flush()
    if as_json:
        say({
            "directory": str(store.root), "dry_run": dry_run, "removed": done.removed,
            "freed": done.freed, "left": done.left,
        })  # fmt: skip
        return
    if said_to_be_empty(store):
        return
    verb = "would remove" if dry_run else "removed"
    freed, left = words.size(done.freed), words.size(done.left)
    line(f"{verb} {words.entries(done.removed)}, {freed}; {left} {'would be ' * dry_run}left")
