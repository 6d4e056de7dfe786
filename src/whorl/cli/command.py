"""Parses the command line of `whorl`, runs the subcommand and returns its exit code.

    0     done, no problem found
    1     done, and something is wrong: damaged entries, a broken installation, a refused bundle
    2     wrong usage: an unknown option, key or file, an empty name
    130   interrupted
    141   the reader of the output has closed the pipe

The module of a subcommand is imported when it is used, so that no command waits for the imports
of another.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click

from whorl.errors import BadSetting, UnsafeDirectory

from .failures import CommandFailure, PathParameter, UsageFailure

# In the order of the help text: the command, its module, what it does.
COMMANDS: Final = {
    "stats": ("stats", "show hits, misses by reason, time saved, size"),
    "ls": ("ls", "list the entries of the cache"),
    "show": ("show", "show one entry: every part of its key, its payloads"),
    "why": ("why", "show recent misses, and what differed"),
    "diff": ("diff", "show the differences between two entries"),
    "gc": ("gc", "remove old entries, or enough to fit a size"),
    "verify": ("verify", "check every entry; quarantine damaged ones"),
    "export": ("export", "copy entries into one portable file"),
    "import": ("import_", "check such a file and store its entries"),
    "record": ("record_calls", "run a script, and list the calls that it compiles"),
    "warm": ("warm", "run scripts or compile recorded calls, to fill the cache"),
    "audit": ("audit", "run a script, and report stale entries of its own compiler's cache"),
    "remote": ("shared", "check, fill, read and list shared caches"),
    "keys": ("sealing_keys", "manage the keys that seal shared entries"),
    "doctor": ("doctor", "check settings, directory, toolchain and launch"),
    "demo": ("demo", "compile a kernel, reuse it, edit it, explain it"),
    "report": ("report", "write statistics, misses and entries as one HTML page"),
}


class _Commands(click.Group):
    """A group that imports the module of a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"{__package__}.{COMMANDS[cmd_name][0]}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, row[1]) for name, row in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean {near[0]}?" if near else "whorl --help lists the commands."
            raise UsageFailure(f"there is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"whorl {vars(sys.modules['whorl'])['__version__']}")
        ctx.exit()


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
@click.option(
    "--version", is_flag=True, callback=_version, expose_value=False, is_eager=True,
    help="Show the version and exit.",
)  # fmt: skip
@click.option("--cache-dir", type=PathParameter(), metavar="DIR",
              help="The cache directory, instead of WHORL_CACHE_DIR.")  # fmt: skip
@click.pass_context
def whorl(context: click.Context, cache_dir: str | None) -> None:
    """Inspect and maintain the cache of compiled code, and explain misses.

    \b
    Exit codes: 0 no problem found, 1 something is wrong, 2 wrong usage.

    \b
    Example:
      whorl stats
      whorl why solver.step
    """  # \b is click's
    context.obj = cache_dir


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code.

    >>> main(["--version"])
    whorl ...
    0
    """
    _prepare_output()
    try:
        try:
            code = _run(arguments)
            sys.stdout.flush()
            return code
        except click.ClickException as error:
            error.show()
            return error.exit_code
        except BadSetting as error:
            UsageFailure(str(error)).show()
            return 2
        except UnsafeDirectory as error:
            CommandFailure(str(error)).show()
            return 1
    except (KeyboardInterrupt, click.Abort):
        return 130
    except BrokenPipeError:
        _forget_output()
        return 141
    except OSError as error:  # of the output: commands handle other errors
        _forget_output()
        CommandFailure(f"cannot write the output: {error.strerror or error}.").show()
        return 1


def _run(arguments: Sequence[str] | None) -> int:
    """Run without click's handling of pipes and interrupts, whose exit codes say less."""
    line = sys.argv[1:] if arguments is None else list(arguments)
    if "_WHORL_COMPLETE" in os.environ:  # the shell completes a line
        whorl.main(line, prog_name="whorl")
    try:
        with whorl.make_context("whorl", line) as context:
            whorl.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.NoSuchOption as error:
        if error.option_name == "--json":  # every command has this option
            raise UsageFailure("--json comes after the command: whorl stats --json") from None
        raise
    return 0


def _prepare_output() -> None:
    """Replace closed streams, and escape characters that the encoding of a stream lacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed before the start
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 # for good
        elif "utf" not in (getattr(stream, "encoding", None) or "utf").lower():
            stream.reconfigure(errors="backslashreplace")


def _forget_output() -> None:
    """Redirect the output to the null device, so that the last flush raises no error."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # no descriptor: then there is nothing to flush either
        pass
