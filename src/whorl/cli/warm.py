"""`whorl warm`: runs scripts, several at a time, to fill the cache."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import IO, Any, Final

import click

from whorl.fast_dataclasses import dataclass
from whorl.store import Ending, Totals

from . import units
from .cache_directory import cache_root
from .failures import PathParameter, UsageFailure
from .output import Column, common_options, print_json, print_line, print_table, progress
from .warm_calls import warm_list

TOO_LONG: Final = 124  # as timeout(1) returns
_SHOWN: Final = 20  # lines of the output of a script that failed
_LOST: Final = (Ending.SKIPPED, Ending.NO_SPACE, Ending.NOT_WRITABLE, Ending.NOT_STORED)


@dataclass(frozen=True, slots=True)
class Run:
    """One script with its arguments, and the outcome of its run."""

    words: tuple[str, ...]
    code: int = 0
    seconds: float = 0.0
    totals: Totals = Totals()  # frozen
    output: str = ""

    @property
    def found(self) -> int:
        """The number of hits."""
        return sum(sums.found for sums in self.totals.programs.values())

    @property
    def made(self) -> int:
        """The number of entries that were produced."""
        return sum(sums.made for sums in self.totals.programs.values())

    @property
    def lost(self) -> int:
        """The number of entries that were produced and could not be stored."""
        return sum(self.totals.endings.get(ending, 0) for ending in _LOST)

    def as_plain(self) -> dict[str, Any]:
        """The run as JSON."""
        return {
            "command": list(self.words), "exit_code": self.code, "seconds": self.seconds,
            "found": self.found, "made": self.made, "lost": self.lost,
            "programs": {
                name: {"found": sums.found, "made": sums.made, "seconds_spent": sums.spent}
                for name, sums in self.totals.programs.items()
            },
        }  # fmt: skip


@click.command(
    "warm", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.option("-m", "--module", is_flag=True, help="SCRIPT is the name of a module.")
@click.option(
    "--with",
    "argument_sets",
    multiple=True,
    metavar="ARGS",
    help="Run SCRIPT with these arguments. May be repeated, one run each.",
)
@click.option(
    "--list",
    "listing",
    type=click.File("rb"),
    metavar="FILE",
    help="Run each line of FILE (- for standard input): a script and its arguments.",
)
@click.option(
    "--calls",
    type=PathParameter(),
    metavar="FILE",
    help="Compile the calls that `whorl record` has written to FILE; nothing is run.",
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="The number of scripts, or compiles, at a time.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Stop a script that takes longer.",
)
@click.option("-v", "--show-output", is_flag=True, help="Show the output of the scripts.")
@common_options
@click.argument("script", type=PathParameter(), required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(
    context: click.Context,
    module: bool,
    argument_sets: tuple[str, ...],
    listing: IO[bytes] | None,
    calls: str | None,
    jobs: int,
    timeout: float | None,
    show_output: bool,
    as_json: bool,
    cache_dir: str | None,
    script: str | None,
    arguments: tuple[str, ...],
) -> None:
    """Run SCRIPT once, so that the cache has everything that it compiles.

    It runs like `python SCRIPT ARGUMENTS...`, with the cache on. With --with or --list there
    are several runs. With --calls recorded calls are compiled, and nothing is run. Options of
    `whorl warm` come before SCRIPT. The exit code is that of the first failing run, in the order
    of the command line; 1 if an entry could not be stored or a call could not be compiled.

    \b
    Example:
      whorl warm solve.py --steps 10
      whorl warm --jobs 4 --with "--n 16" --with "--n 32" solve.py
      whorl warm --jobs 4 --calls calls.jsonl
    """  # \b is click's
    if calls is not None:
        if script is not None or listing is not None or argument_sets or module or timeout:
            raise UsageFailure("--calls goes with --jobs alone: it runs no script.")
        context.exit(warm_list(calls, cache_root(cache_dir), jobs, as_json=as_json))
    runs = _runs(script, arguments, argument_sets, listing, is_module=module)
    root = cache_root(cache_dir)
    done = _run_all(runs, root, jobs, timeout, show_output=show_output)
    if as_json:
        print_json({"directory": str(root), "runs": [run.as_plain() for run in done]})
    else:
        _print(done, show_output=show_output)
    is_lost = any(run.lost for run in done)
    context.exit(next((run.code for run in done if run.code), int(is_lost)))


def _runs(
    script: str | None,
    arguments: tuple[str, ...],
    argument_sets: tuple[str, ...],
    listing: Iterable[bytes] | None,
    *,
    is_module: bool,
) -> list[tuple[str, ...]]:
    """The command lines to run, without `python`."""
    runs = []
    if script is not None:
        first = ("-m", script) if is_module else (script,)
        sets = [_split(text, "--with") for text in argument_sets] or [()]
        runs += [(*first, *arguments, *each) for each in sets]
    elif argument_sets or is_module:
        raise UsageFailure("--with and --module need a SCRIPT.")
    # File names are bytes, whatever the locale is.
    lines = [os.fsdecode(line).strip() for line in listing or ()]
    runs += [_split(text, "--list") for text in lines if text and not text.startswith("#")]
    if not runs:
        raise UsageFailure("there is nothing to run: name a SCRIPT, or a file with --list.")
    for each in runs:
        if each[0] != "-m" and not Path(each[0]).exists():
            raise UsageFailure(f"{each[0]} does not exist.")
    return runs


def _split(text: str, option: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text, posix=os.name != "nt"))
    except ValueError as error:
        raise UsageFailure(
            f"{option} {text.strip()!r} cannot be split into arguments: {error}."
        ) from None


def _run_all(
    runs: list[tuple[str, ...]],
    root: Path,
    jobs: int,
    timeout: float | None,
    *,
    show_output: bool,
) -> list[Run]:
    stopping = threading.Event()
    with (
        progress("warming", len(runs)) as advance,
        ThreadPoolExecutor(min(jobs, len(runs))) as pool,
    ):
        futures = {
            pool.submit(_run, each, root, timeout, stopping, show_output=show_output): number
            for number, each in enumerate(runs)
        }
        done: dict[int, Run] = {}
        try:
            for future in as_completed(futures):
                done[futures[future]] = future.result()
                advance(1)
        except BaseException:
            stopping.set()
            for future in futures:
                future.cancel()
            raise
    return [run for _, run in sorted(done.items())]


def _run(
    words: tuple[str, ...],
    root: Path,
    timeout: float | None,
    stopping: threading.Event,
    *,
    show_output: bool,
) -> Run:
    """Run one script as its user would, with the cache on, and collect its statistics."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="whorl-warm-") as folder:
        summary, output = Path(folder) / "summary.jsonl", Path(folder) / "output"
        environment = {
            **os.environ, "WHORL_CACHE": "on", "WHORL_CACHE_DIR": str(root),
            "WHORL_SUMMARY": str(summary), "WHORL_REQUIRE_HIT": "0", "WHORL_INTERPRET": "0",
        }  # fmt: skip
        with output.open("wb") as sink:
            to: Any = sys.stderr if show_output and _has_descriptor(sys.stderr) else sink
            child = subprocess.Popen(
                [sys.executable, *words], stdin=subprocess.DEVNULL, stdout=to, stderr=to,
                env=environment,
            )  # fmt: skip
            code = _exit_code(child, timeout, stopping)
        text = output.read_text(encoding="utf-8", errors="replace")
        return Run(words, code, time.monotonic() - begun, Totals.in_file(summary), text)


def _has_descriptor(stream: IO[str]) -> bool:
    try:
        stream.fileno()
    except (OSError, ValueError):
        return False
    return True


def _exit_code(
    child: subprocess.Popen[bytes], timeout: float | None, stopping: threading.Event
) -> int:
    """The exit code of a child, as in a shell; a child that takes too long is killed."""
    begun = time.monotonic()
    try:
        while True:
            try:
                code = child.wait(0.1)
            except subprocess.TimeoutExpired:
                is_late = timeout is not None and time.monotonic() - begun > timeout
                if is_late or stopping.is_set():
                    child.kill()
                    child.wait()
                    return TOO_LONG
                continue
            return code if code >= 0 else 128 - code
    except BaseException:
        child.kill()
        child.wait()
        raise


def _print(done: list[Run], *, show_output: bool) -> None:
    for run in done:
        if run.code and not show_output:
            end = "took too long" if run.code == TOO_LONG else f"ended with exit code {run.code}"
            colon = ":" if run.output.strip() else "."
            command_line = units.printable(shlex.join(run.words))
            click.echo(f"whorl: {command_line} {end}{colon}", err=True)
            for text in run.output.splitlines()[-_SHOWN:]:
                click.echo(f"  {units.printable(text)}", err=True)
    columns = [
        Column("script", can_fold=True), Column("made", True), Column("found", True),
        Column("took", True), Column("exit code", True),
    ]  # fmt: skip
    print_table(
        columns,
        [
            (shlex.join(run.words), str(run.made), str(run.found), units.duration(run.seconds),
             str(run.code))
            for run in done
        ],
    )  # fmt: skip
    lost = sum(run.lost for run in done)
    if lost:
        click.echo(f"whorl: {units.entries(lost)} could not be stored; see whorl doctor.", err=True)
    made = [name for run in done for name, sums in run.totals.programs.items() if sums.made]
    if made:
        print_line()
        print_line("made: " + ", ".join(sorted(set(made))))
