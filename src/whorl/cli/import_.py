"""`whorl import`: checks a bundle and stores its entries."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from whorl.fast_dataclasses import replace
from whorl.store.bundle import BadBundle, Imported, contents, unpack

from .cache_directory import open_store
from .failures import CommandFailure, PathParameter, UsageFailure
from .output import common_options, print_json, print_line, progress, silence_logger
from .units import entries, printable


@click.command("import")
@click.argument("bundle", type=PathParameter(path_type=Path))
@click.option("--allow-pickles", is_flag=True,
              help="Include pickled values, which can execute code of their author.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Check the bundle, and store nothing.")
@common_options
@click.pass_context
def command(
    context: click.Context,
    bundle: Path,
    allow_pickles: bool,
    dry_run: bool,
    as_json: bool,
    cache_dir: str | None,
) -> None:
    """Check every byte of BUNDLE, then store its entries in the cache.

    A bundle contains compiled code, which runs when an entry is a hit: import only bundles
    that you trust.
    Exit code 1 if the bundle is damaged, or if entries were refused or could not be stored.

    \b
    Example:
      whorl import kernels.whorl
      WHORL_REQUIRE_HIT=1 python solve.py
    """  # \b is click's
    if not bundle.is_file():
        what = "not a file" if bundle.exists() else "missing"
        raise UsageFailure(f"{bundle} is {what}.")
    try:
        done = _import(bundle, cache_dir, with_pickles=allow_pickles, dry_run=dry_run)
    except BadBundle as error:
        raise CommandFailure(f"{bundle} is not imported: {error}.") from None
    except OSError as error:
        raise CommandFailure(f"{bundle} cannot be read: {error.strerror or error}.") from None
    if as_json:
        print_json({
            "bundle": str(bundle), "dry_run": dry_run, "stored": done.stored,
            "known": done.known, "refused": done.refused, "failed": list(done.failed),
        })  # fmt: skip
    else:
        _print(done, dry_run=dry_run)
    context.exit(1 if done.refused or done.failed else 0)


def _import(bundle: Path, cache_dir: str | None, *, with_pickles: bool, dry_run: bool) -> Imported:
    store = open_store(cache_dir, for_writing=not dry_run)
    with bundle.open("rb") as file:
        total = 2 * contents(file).size
        file.seek(0)
        with silence_logger("whorl.store"), progress("importing", total) as advance:
            done = unpack(file, store, with_pickles=with_pickles, watch=advance)
    # The store of a dry run is read-only: what it refuses is what would be stored.
    return replace(done, stored=len(done.failed), failed=()) if dry_run else done


def _print(done: Imported, *, dry_run: bool) -> None:
    for reason, number in Counter(text.partition(": ")[2] for text in done.failed).items():
        click.echo(f"whorl: {number} could not be stored: {printable(reason)}", err=True)
    if done.refused:
        click.echo(
            f"whorl: refused {done.refused} with pickled values; --allow-pickles imports them, "
            "which can execute code of their author.",
            err=True,
        )
    stored = entries(done.stored)
    if dry_run:
        print_line(f"the bundle is intact: {stored} would be imported; {done.known} exist already")
        return
    print_line(f"imported {stored}; {done.known} existed already")
