"""Compiles a list of recorded calls in processes, for `whorl warm --calls`."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

import click

from whorl import settings
from whorl.fast_dataclasses import replace
from whorl.fleet.call_list import BadCall, RecordedCall, read_calls
from whorl.fleet.warming import WarmResult, warm

from . import units
from .failures import CommandFailure, UsageFailure
from .output import Column, print_json, print_table


def warm_list(path: str, root: Path, jobs: int, *, as_json: bool) -> int:
    """Compile every call of a list, and print what came of it; the exit code."""
    results = _results(_calls(path), root, jobs)
    if as_json:
        print_json({"directory": str(root), "calls": [_plain(result) for result in results]})
    else:
        _print(results)
    return 0 if all(result.is_ready for result in results) else 1


def _calls(path: str) -> list[RecordedCall]:
    """The calls, with the files of programs as they are seen from here."""
    try:
        calls = read_calls(path)
    except OSError as error:
        raise UsageFailure(f"{path} cannot be read: {error.strerror}.") from None
    except BadCall as error:
        raise UsageFailure(f"{error}.") from None
    return [
        replace(call, file=str(Path(call.file).absolute())) if call.file else call
        for call in calls
    ]  # fmt: skip


def _results(calls: list[RecordedCall], root: Path, jobs: int) -> list[WarmResult]:
    if not calls:
        return []
    context = get_context("spawn")  # each begins as a new program does
    with ProcessPoolExecutor(
        min(jobs, len(calls)), context, _begin, (str(root), str(Path.cwd()))
    ) as pool:
        try:
            return warm(calls, pool)
        except BrokenProcessPool:
            raise CommandFailure(
                "a process ended while it compiled; --jobs 1 with fewer calls shows which."
            ) from None


def _begin(root: str, here: str) -> None:
    """In a new process: modules are found as `python -m` finds them, and the cache is on."""
    sys.path.insert(0, here)
    settings.configure(cache="on", cache_dir=root, require_hit=False, interpret=False)


def _plain(result: WarmResult) -> dict[str, object]:
    return {
        "kernel": result.kernel, "outcome": result.outcome, "seconds": result.seconds,
        "key": result.key or None, "problem": result.problem or None,
    }  # fmt: skip


def _print(results: list[WarmResult]) -> None:
    for result in results:
        if result.problem:
            lines = result.problem.splitlines()
            click.echo(f"whorl: {units.printable(result.kernel)}: {lines[0]}", err=True)
            for line in lines[1:]:
                click.echo(f"  {units.printable(line)}", err=True)
    columns = [Column("kernel", can_fold=True), Column("outcome"), Column("took", True)]
    rows = [(each.kernel, each.outcome, units.duration(each.seconds)) for each in results]
    print_table(columns, rows)
