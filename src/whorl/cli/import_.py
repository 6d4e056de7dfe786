"""A bundle in, its entries in the store out: all of them checked, or none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from whorl.late import replace
from whorl.store.bundle import BadBundle, Imported, contents, unpack

from .given import Place
from .opened import opened
from .output import common, line, progress, say, silenced
from .refusal import Refusal, Trouble
from .words import entries, printable

__all__ = ["command"]


@click.command("import")
@click.argument("bundle", type=Place(path_type=Path))
@click.option("--allow-pickles", is_flag=True,
              help="With pickled values, which run code of whoever made them.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Check the bundle, and put nothing anywhere.")
@common
@click.pass_context
def command(
    context: click.Context,
    bundle: Path,
    allow_pickles: bool,
    dry_run: bool,
    as_json: bool,
    cache_dir: str | None,
) -> None:
    """Put the entries of BUNDLE into the cache, after every byte of it was checked.

    A bundle holds compiled code that will be run when it is found: import only what you trust.
    Exit code 1 if the bundle is damaged, or if entries were refused or could not be stored.

    \b
    Example:
      whorl import kernels.whorl
      WHORL_REQUIRE_HIT=1 python solve.py
    """  # \b is click's
    if not bundle.is_file():
        what = "not a file" if bundle.exists() else "not there"
        raise Refusal(f"{bundle} is {what}.")
    try:
        done = _imported(bundle, cache_dir, with_pickles=allow_pickles, dry_run=dry_run)
    except BadBundle as error:
        raise Trouble(f"{bundle} is not imported: {error}.") from None
    except OSError as error:
        raise Trouble(f"{bundle} cannot be read: {error.strerror or error}.") from None
    if as_json:
        say({
            "bundle": str(bundle), "dry_run": dry_run, "stored": done.stored,
            "known": done.known, "refused": done.refused, "failed": list(done.failed),
        })  # fmt: skip
    else:
        _print(done, dry_run=dry_run)
    context.exit(1 if done.refused or done.failed else 0)


def _imported(
    bundle: Path, cache_dir: str | None, *, with_pickles: bool, dry_run: bool
) -> Imported:
    store = opened(cache_dir, for_writing=not dry_run)
    with bundle.open("rb") as file:
        total = 2 * contents(file).size
        file.seek(0)
        with silenced("whorl.store"), progress("importing", total) as advance:
            done = unpack(file, store, with_pickles=with_pickles, watch=advance)
    # A store for looking takes nothing: what it was not given is what would be stored.
    return replace(done, stored=len(done.failed), failed=()) if dry_run else done


def _print(done: Imported, *, dry_run: bool) -> None:
    for reason, number in Counter(text.partition(": ")[2] for text in done.failed).items():
        click.echo(f"whorl: {number} could not be stored: {printable(reason)}", err=True)
    if done.refused:
        click.echo(
            f"whorl: refused {done.refused} that hold pickled values; --allow-pickles takes them, "
            "which runs code of whoever made them.",
            err=True,
        )
    stored = entries(done.stored)
    if dry_run:
        line(f"the bundle is whole: {stored} would be imported; {done.known} are there already")
        return
    line(f"imported {stored}; {done.known} were there already")
