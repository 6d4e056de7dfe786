"""`whorl why`: prints the recent misses and their causes."""

from __future__ import annotations

import time
from typing import Any

import click

from whorl.store.journal import READ_DIFFERS, Journal, Miss

from . import units
from .cache_directory import open_store, report_missing_cache
from .failures import NAME
from .other_machines import Comparison, OtherMachines
from .output import common_options, print_json, print_line
from .selection import matches_program
from .units import age


@click.command("why")
@click.argument("program", type=NAME, required=False)
@click.option("-n", "--limit", type=click.IntRange(0), default=20, show_default=True,
              help="Show at most this many of the last ones; 0 for all.")  # fmt: skip
@click.option("--since", type=age, metavar="AGE", help="Only misses of this time: 30m, 12h, 7d.")
@click.option("--cause", type=NAME, metavar="TEXT",
              help="Only misses with this cause, such as 'a read differs'.")  # fmt: skip
@click.option("--shared", is_flag=True,
              help="Compare with what other machines have stored in shared caches.")  # fmt: skip
@common_options
def command(
    program: str | None,
    limit: int,
    since: float | None,
    cause: str | None,
    shared: bool,
    as_json: bool,
    cache_dir: str | None,
) -> None:
    """Show recent misses: the reads that differed, old -> new, and the lines that read them.

    PROGRAM is a name, the end of one, or a pattern with * and ?. The last miss comes last. With
    --shared each kernel that was compiled here is compared with the nearest one of each shared
    cache: what differed on the machine that stored it, and here.

    \b
    Example:
      whorl why
      whorl why solver.step --since 1h
    """  # \b is click's
    store = open_store(cache_dir)
    earliest = 0.0 if since is None else time.time() - since
    journal = [
        miss
        for miss in Journal(store.root).misses()
        if program is None or matches_program(miss.program, program)
    ]
    misses = [
        miss for miss in journal if miss.time >= earliest and (cause is None or cause == miss.cause)
    ]
    shown = misses[-limit:] if limit else misses
    machines = OtherMachines(store) if shared else None
    if as_json:
        print_json([_plain(miss, machines) for miss in shown])
        return
    if report_missing_cache(store):
        return
    if not shown:
        click.echo(units.printable(f"whorl: {_no_miss(journal, program, since, cause)}."), err=True)
        return
    if len(shown) < len(misses):
        print_line(f"{len(misses) - len(shown)} earlier ones; --limit 0 shows all", "dim")
    for miss in shown:
        _print(miss)
        for each in () if machines is None else machines.compare(miss):
            _print_comparison(each)


def _plain(miss: Miss, machines: OtherMachines | None) -> dict[str, Any]:
    plain = miss.as_plain()
    if machines is not None:
        plain["shared"] = [each.as_plain() for each in machines.compare(miss)]
    return plain


def _print_comparison(comparison: Comparison) -> None:
    where = f"  {comparison.tier}: {comparison.key[:12]}, stored by {comparison.machine}"
    if not comparison.changes:
        print_line(f"{where}, is the same")
        return
    print_line(f"{where}, differs")
    for each in comparison.changes:
        print_line(f"    {each.path}: {each.old} there, {each.new} here")


def _no_miss(
    journal: list[Miss], program: str | None, since: float | None, cause: str | None
) -> str:
    """The message if no miss is shown: there is none, or the filters match none."""
    of = "" if program is None else f" of {program}"
    if not journal:
        return f"no miss{of} is in the journal"
    are = f"1 miss{of} is" if len(journal) == 1 else f"{len(journal)} misses{of} are"
    text = f"{are} in the journal, none"
    if since is not None:
        text += f" from the last {units.duration(since)}"
    if cause is not None:
        text += f" with the cause {cause!r}"
    causes = sorted({miss.cause for miss in journal})
    if cause is not None and cause not in causes:
        text += f"; there {'is' if len(causes) == 1 else 'are'} {', '.join(map(repr, causes))}"
    return text


def _print(miss: Miss) -> None:
    what = miss.reason if miss.cause == READ_DIFFERS else miss.cause
    print_line(f"{units.moment(miss.time)}  {miss.program}: {what}", "bold")
    for each in miss.differences:
        print_line(f"  {each.path}: {each.old} -> {each.new}")
        is_code = each.path.partition(":")[0] == "code"
        if each.line:
            print_line(f"    {'in' if is_code else 'read at'} {each.line}", "dim")
    if miss.left_out:
        print_line(f"  and {miss.left_out} more differences")
    print_line(f"  {_ending(miss)}", "dim")


def _ending(miss: Miss) -> str:
    took = units.duration(miss.seconds)
    endings: dict[str, Any] = {
        "made": f"made in {took}" + (f", {miss.key[:12]}" if miss.key else ", not kept"),
        "refused": "refused: WHORL_REQUIRE_HIT is set",
    }
    return str(endings.get(miss.ending, f"{miss.ending}, {took}"))
