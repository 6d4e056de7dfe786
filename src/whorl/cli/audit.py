"""`whorl audit`: runs a script, and reports stale entries that its own compiler's cache serves."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import click

from whorl.adapters.audited_run import (
    AUDITORS,
    COMPILED,
    RIGHT,
    STALE,
    UNKNOWN,
    SeenEntry,
    run_audited,
)

from .cache_directory import cache_root
from .failures import PathParameter, UsageFailure
from .output import common_options, print_json, print_line

_ORDER = (STALE, UNKNOWN, RIGHT, COMPILED)


@click.command(
    "audit", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.option(
    "--adapter", type=click.Choice(sorted(AUDITORS)), required=True, help="The compiler to look at."
)
@click.option("-m", "--module", is_flag=True, help="SCRIPT is the name of a module.")
@common_options
@click.argument("script", type=PathParameter())
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(
    context: click.Context,
    adapter: str,
    module: bool,
    as_json: bool,
    cache_dir: str | None,
    script: str,
    arguments: tuple[str, ...],
) -> None:
    """Run SCRIPT with the cache of its own compiler, and report what that serves stale.

    The first audit writes down what each new entry was made of. A later one compares: an entry is
    stale if something that its function reads has changed, and the compiler does not notice. It
    runs like `python SCRIPT ARGUMENTS...`, with all its processes; nothing is cached by whorl.
    Options of `whorl audit` come before SCRIPT. The exit code is 1 if an entry is stale, otherwise
    that of SCRIPT.

    \b
    Example:
      whorl audit --adapter numba solve.py --steps 10
    """  # \b is click's
    if not module and not Path(script).exists():
        raise UsageFailure(f"{script} does not exist.")
    words = ("-m", script) if module else (script,)
    environment = {**os.environ, "WHORL_CACHE_DIR": str(cache_root(cache_dir))}
    to = 2 if as_json else None  # standard error: the output of this command is JSON then
    run = run_audited(adapter, [*words, *arguments], environment, output=to)
    entries = sorted(dict.fromkeys(run.entries), key=lambda seen: _ORDER.index(seen.verdict))
    if as_json:
        print_json({"exit_code": run.code, "entries": [seen.as_plain() for seen in entries]})
    else:
        _print(adapter, entries)
    is_stale = any(seen.verdict == STALE for seen in entries)
    own = run.code if run.code >= 0 else 128 - run.code
    context.exit(1 if is_stale else own)


def _print(adapter: str, entries: list[SeenEntry]) -> None:
    for seen in entries:
        if seen.verdict in (STALE, UNKNOWN):
            _print_entry(seen)
    counts = Counter(seen.verdict for seen in entries)
    served = sum(counts[verdict] for verdict in (STALE, UNKNOWN, RIGHT))
    parts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in (STALE, UNKNOWN, RIGHT))
    entries_text = "1 entry" if served == 1 else f"{served} entries"
    print_line(f"{adapter} was served {entries_text}: {parts}; it compiled {counts[COMPILED]}")
    if not entries:
        click.echo(f"whorl: the script asked no cache of {adapter}.", err=True)


def _print_entry(seen: SeenEntry) -> None:
    print_line(f"{seen.function} {seen.types}: {seen.verdict}", "bold")
    for change in seen.changes:
        print_line(f"  {change.path}: {change.old} -> {change.new}")
        if change.line:
            is_code = change.path.startswith("code:")
            print_line(f"    {'in' if is_code else 'read at'} {change.line}", "dim")
    if seen.reason:
        print_line(f"  {seen.reason}")
    for file in seen.newer:
        print_line(f"  {file} was written after it")
    print_line(f"  served from {seen.entry}", "dim")
