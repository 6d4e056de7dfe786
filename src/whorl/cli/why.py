"""The journal of misses in, what was made lately and what had changed out."""

from __future__ import annotations

from typing import Any

import click

from whorl.store.journal import Journal, Miss

from . import words
from .given import NAME
from .opened import opened, said_to_be_empty
from .output import common, line, say
from .selection import is_of
from .words import age

__all__ = ["command"]


@click.command("why")
@click.argument("program", type=NAME, required=False)
@click.option("-n", "--limit", type=click.IntRange(0), default=20, show_default=True,
              help="Show so many of the last; 0 for all.")  # fmt: skip
@click.option("--since", type=age, metavar="AGE", help="Only misses since: 30m, 12h, 7d.")
@click.option("--cause", type=NAME, metavar="TEXT",
              help="Only misses of a cause, such as 'a read differs'.")  # fmt: skip
@common
def command(
    program: str | None,
    limit: int,
    since: float | None,
    cause: str | None,
    as_json: bool,
    cache_dir: str | None,
) -> None:
    """The recent misses: what was read that differed, old -> new, and the line that read it.

    PROGRAM is a name, the end of one, or with * and ?. The last miss comes last.

    \b
    Example:
      whorl why
      whorl why solver.step --since 1h
    """  # \b is click's
    import time

    store = opened(cache_dir)
    earliest = 0.0 if since is None else time.time() - since
    noted = [
        miss
        for miss in Journal(store.root).misses()
        if program is None or is_of(miss.program, program)
    ]
    misses = [
        miss for miss in noted if miss.time >= earliest and (cause is None or cause == miss.cause)
    ]
    shown = misses[-limit:] if limit else misses
    if as_json:
        say([miss.as_plain() for miss in shown])
        return
    if said_to_be_empty(store):
        return
    if not shown:
        click.echo(words.printable(f"whorl: {_none(noted, program, since, cause)}."), err=True)
        return
    if len(shown) < len(misses):
        line(f"{len(misses) - len(shown)} earlier ones; --limit 0 shows all", "dim")
    for miss in shown:
        _print(miss)


def _none(noted: list[Miss], program: str | None, since: float | None, cause: str | None) -> str:
    """What to say where no miss is shown: there is none, or none that passes the filters."""
    of = "" if program is None else f" of {program}"
    if not noted:
        return f"no miss{of} is in the journal"
    are = f"1 miss{of} is" if len(noted) == 1 else f"{len(noted)} misses{of} are"
    text = f"{are} in the journal, none"
    if since is not None:
        text += f" from the last {words.duration(since)}"
    if cause is not None:
        text += f" with the cause {cause!r}"
    causes = sorted({miss.cause for miss in noted})
    if cause is not None and cause not in causes:
        text += f"; there {'is' if len(causes) == 1 else 'are'} {', '.join(map(repr, causes))}"
    return text


def _print(miss: Miss) -> None:
    what = miss.reason if miss.cause == "a read differs" else miss.cause
    line(f"{words.moment(miss.time)}  {miss.program}: {what}", "bold")
    for each in miss.differences:
        line(f"  {each.path}: {each.old} -> {each.new}")
        if each.line:
            line(f"    {'in' if each.path == 'code' else 'read at'} {each.line}", "dim")
    if miss.left_out:
        line(f"  and {miss.left_out} more differences")
    line(f"  {_ending(miss)}", "dim")


def _ending(miss: Miss) -> str:
    took = words.duration(miss.seconds)
    endings: dict[str, Any] = {
        "made": f"made in {took}" + (f", {miss.key[:12]}" if miss.key else ", not kept"),
        "refused": "refused: WHORL_REQUIRE_HIT is set",
    }
    return str(endings.get(miss.ending, f"{miss.ending}, {took}"))
