"""`whorl doctor`: checks this installation."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from itertools import groupby
from pathlib import Path

import click

from whorl.errors import BadSetting
from whorl.settings import Setting, Settings

from .cache_directory import cache_dir_setting
from .health import Check, run_checks
from .output import common_options, console, print_heading, print_json, print_line
from .units import printable

_MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "broken": ("BROKEN", "red bold")}


@click.command("doctor")
@common_options
@click.pass_context
def command(context: click.Context, as_json: bool, cache_dir: str | None) -> None:
    """Check the settings and their origins, the cache directory, toolchain, launch and threads.

    It compiles and runs a small kernel, and does not touch the cache. Exit code 1 if something
    is broken.

    \b
    Example:
      whorl doctor
      whorl doctor --json
    """  # \b is click's
    checks = list(run_checks(_cache_dir(cache_dir)))
    if as_json:
        print_json([check._asdict() for check in checks])
    else:
        for area, rows in groupby(checks, key=lambda check: check.area):
            print_heading(area)
            _print(list(rows))
        bad = sum(check.state == "broken" for check in checks)
        print_line()
        print_line(
            "all is well" if not bad else f"{bad} broken", "green" if not bad else "red bold"
        )
    context.exit(1 if any(check.state == "broken" for check in checks) else 0)


def _cache_dir(cache_dir: str | None) -> Setting[Path]:
    try:
        return cache_dir_setting(cache_dir)
    except BadSetting:  # the checks report it first
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
