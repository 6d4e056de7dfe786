"""`whorl gc`: removes old entries, and enough others to fit a size."""

from __future__ import annotations

import os

import click

from . import units
from .cache_directory import open_store, report_missing_cache
from .failures import CommandFailure
from .output import common_options, print_json, print_line
from .units import age, byte_count


@click.command("gc")
@click.option("--max-size", type=byte_count, metavar="SIZE",
              help="The size to keep: 500M, 5G, 0. [default: WHORL_CACHE_MAX_SIZE]")  # fmt: skip
@click.option("--older-than", type=age, metavar="AGE",
              help="Remove entries that were not used for this time: 12h, 7d, 4w.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print what would be removed, and remove nothing.")
@common_options
def command(
    max_size: int | None,
    older_than: float | None,
    dry_run: bool,
    as_json: bool,
    cache_dir: str | None,
) -> None:
    """Remove old entries, then the least recently used ones until the rest fits.

    It also removes temporary files of killed processes. A removed entry is produced again
    when it is needed.

    \b
    Example:
      whorl gc --older-than 30d --dry-run
      whorl gc --max-size 1G
    """  # \b is click's
    store = open_store(cache_dir, for_writing=not dry_run)
    if store.root.is_dir() and not dry_run and not os.access(store.root, os.W_OK):
        raise CommandFailure(f"{store.root} cannot be written to: nothing is removed.")
    done = store.collect(max_size, unused_for=older_than, is_rehearsal=dry_run)
    store.statistics.flush()
    if as_json:
        print_json({
            "directory": str(store.root), "dry_run": dry_run, "removed": done.removed,
            "freed": done.freed, "left": done.left,
        })  # fmt: skip
        return
    if report_missing_cache(store):
        return
    verb = "would remove" if dry_run else "removed"
    freed, left = units.size(done.freed), units.size(done.left)
    print_line(f"{verb} {units.entries(done.removed)}, {freed}; {left} {'would be ' * dry_run}left")
