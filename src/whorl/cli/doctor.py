"""Nothing in, a report about this installation out: is all well?"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from itertools import groupby
from pathlib import Path

import click

from whorl.errors import BadSetting
from whorl.settings import Setting, Settings

from .health import Check, checks
from .opened import cache_place
from .output import common, console, heading, line, say
from .words import printable

__all__ = ["command"]

_MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "broken": ("BROKEN", "red bold")}


@click.command("doctor")
@common
@click.pass_context
def command(context: click.Context, as_json: bool, cache_dir: str | None) -> None:
    """Settings and where they come from, the directory, the toolchain, launch, threads.

    A small kernel is compiled and run; the cache is not touched. Exit code 1 if something is
    broken.

    \b
    Example:
      whorl doctor
      whorl doctor --json
    """  # \b is click's
    found = list(checks(_place(cache_dir)))
    if as_json:
        say([check._asdict() for check in found])
    else:
        for area, rows in groupby(found, key=lambda check: check.area):
            heading(area)
            _print(list(rows))
        bad = sum(check.state == "broken" for check in found)
        line()
        line("all is well" if not bad else f"{bad} broken", "green" if not bad else "red bold")
    context.exit(1 if any(check.state == "broken" for check in found) else 0)


def _place(cache_dir: str | None) -> Setting[Path]:
    try:
        return cache_place(cache_dir)
    except BadSetting:  # which is the first thing that will be said
        named = {name: text for name, text in os.environ.items() if name == "WHORL_CACHE_DIR"}
        with suppress(BadSetting):
            return Settings.from_environment(named).cache_dir
        return Settings.from_environment({}).cache_dir


def _print(rows: list[Check]) -> None:
    width = max(len(check.name) for check in rows)
    for check in rows:
        mark, style = _MARKS[check.state]
        name, text = printable(check.name).ljust(width), printable(check.text)
        if not sys.stdout.isatty():
            click.echo(f"  {mark:6}  {name}  {text}")
            continue
        from rich.text import Text

        console().print(
            Text.assemble("  ", (f"{mark:6}", style), "  ", (name, "cyan"), f"  {text}")
        )
