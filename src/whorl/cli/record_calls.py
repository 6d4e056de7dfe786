"""`whorl record`: runs a script and writes the list of calls that it compiles or finds."""

from __future__ import annotations

import os
from pathlib import Path

import click

from whorl.fleet.call_list import BadCall, RecordedCall, read_calls, write_calls
from whorl.fleet.recorded_run import run_recorded

from .cache_directory import cache_root
from .failures import CommandFailure, PathParameter, UsageFailure
from .output import common_options, print_json


@click.command(
    "record", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.option("-m", "--module", is_flag=True, help="SCRIPT is the name of a module.")
@click.option(
    "-o",
    "--output",
    type=PathParameter(),
    default="calls.jsonl",
    show_default=True,
    metavar="FILE",
    help="The list to write.",
)
@click.option("-a", "--append", is_flag=True, help="Keep the calls that are in FILE already.")
@common_options
@click.argument("script", type=PathParameter())
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(
    context: click.Context,
    module: bool,
    output: str,
    append: bool,
    as_json: bool,
    cache_dir: str | None,
    script: str,
    arguments: tuple[str, ...],
) -> None:
    """Run SCRIPT and write which kernels it calls, and for which types, to a list.

    `whorl warm --calls FILE` compiles such a list elsewhere, without the data of the run. It runs
    like `python SCRIPT ARGUMENTS...`, with all its processes. Options of `whorl record` come
    before SCRIPT. The exit code is that of SCRIPT.

    \b
    Example:
      whorl record -o calls.jsonl solve.py --steps 10
    """  # \b is click's
    if not module and not Path(script).exists():
        raise UsageFailure(f"{script} does not exist.")
    earlier = _earlier(output) if append else []
    words = ("-m", script) if module else (script,)
    environment = {**os.environ, "WHORL_CACHE_DIR": str(cache_root(cache_dir))}
    to = 2 if as_json else None  # standard error: the output of this command is JSON then
    run = run_recorded([*words, *arguments], environment, output=to)
    code, calls = run.code, run.calls
    try:
        number = write_calls(output, [*earlier, *calls])
    except OSError as error:
        raise CommandFailure(f"{output} cannot be written: {error.strerror}.") from None
    exit_code = code if code >= 0 else 128 - code
    if as_json:
        print_json(
            {"output": output, "calls": number, "recorded": len(calls), "exit_code": exit_code}
        )
    else:
        kernels = len({call.kernel for call in calls})
        click.echo(f"{output}: {_count(number, 'call')}, {len(calls)} of this run", err=True)
        if not kernels:
            click.echo("whorl: the script called no kernel.", err=True)
    context.exit(exit_code)


def _earlier(output: str) -> list[RecordedCall]:
    if not Path(output).exists():
        return []
    try:
        return read_calls(output)
    except (BadCall, OSError) as error:
        raise CommandFailure(f"{output} is no list to append to: {error}.") from None


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
