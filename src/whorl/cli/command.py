"""The words of a command line in, the command that they name run, its exit code out.

    0     it is done, and all is well
    1     it is done, and something is wrong: damaged entries, a broken set-up, a refused bundle
    2     the command line cannot be followed: an unknown option, key or file, an empty name
    130   interrupted
    141   whoever read the output has gone

A command is imported when it is asked for, so that none waits for what another needs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click

from whorl.errors import BadSetting, UnsafeDirectory

from .given import Place
from .refusal import Refusal, Trouble

__all__ = ["COMMANDS", "main", "whorl"]

# In the order in which a person meets them: the command, its module, what it does.
COMMANDS: Final = {
    "stats": ("stats", "hits, misses by reason, time saved, size"),
    "ls": ("ls", "the entries of the cache"),
    "show": ("show", "one entry: every part of its key, what it holds"),
    "why": ("why", "the recent misses, and what differed"),
    "diff": ("diff", "what differs between two entries"),
    "gc": ("gc", "remove what was not used for long, or is too much"),
    "verify": ("verify", "check every entry; set damaged ones aside"),
    "export": ("export", "entries into one portable file"),
    "import": ("import_", "entries from such a file, checked"),
    "warm": ("warm", "run scripts once, so that the cache has what they need"),
    "remote": ("shared", "shared caches: check, push, pull, ls"),
    "keys": ("sealing_keys", "the keys that shared entries are sealed with"),
    "doctor": ("doctor", "settings, the directory, the toolchain: is all well?"),
    "demo": ("demo", "a kernel is compiled, found again, edited, explained"),
    "report": ("report", "all of it as one HTML page"),
}


class _Commands(click.Group):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found = import_module(f"{__package__}.{COMMANDS[cmd_name][0]}").command
        assert isinstance(found, click.Command)
        return found

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
            raise Refusal(f"there is no command {args[0]!r}; {hint}")
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
@click.option("--cache-dir", type=Place(), metavar="DIR",
              help="The cache directory, instead of WHORL_CACHE_DIR.")  # fmt: skip
@click.pass_context
def whorl(context: click.Context, cache_dir: str | None) -> None:
    """Look after the cache of compiled code: what is in it, why something was compiled.

    \b
    Exit codes: 0 all is well, 1 something is wrong, 2 the command line cannot
    be followed.

    \b
    Example:
      whorl stats
      whorl why solver.step
    """  # \b is click's
    context.obj = cache_dir


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; the exit code.

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
            Refusal(str(error)).show()
            return 2
        except UnsafeDirectory as error:
            Trouble(str(error)).show()
            return 1
    except (KeyboardInterrupt, click.Abort):
        return 130
    except BrokenPipeError:
        _forget_output()
        return 141
    except OSError as error:  # of the output: commands say themselves what else cannot be done
        _forget_output()
        Trouble(f"cannot go on: {error.strerror or error}.").show()
        return 1


def _run(arguments: Sequence[str] | None) -> int:
    """Without what click does about pipes and interrupts, which says less by its codes."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if "_WHORL_COMPLETE" in os.environ:  # a shell wants to know how a line can go on
        whorl.main(words, prog_name="whorl")
    try:
        with whorl.make_context("whorl", words) as context:
            whorl.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.NoSuchOption as error:
        if error.option_name == "--json":  # every command has it, so it is of one that is missing
            raise Refusal("--json stands after the command: whorl stats --json") from None
        raise
    return 0


def _prepare_output() -> None:
    """See to it that there is something to write to, and that it takes every character."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # it was closed before we began
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 # for good
        elif "utf" not in (getattr(stream, "encoding", None) or "utf").lower():
            stream.reconfigure(errors="backslashreplace")


def _forget_output() -> None:
    """Let the interpreter flush to nowhere when it ends, instead of complaining."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # no descriptor: then there is nothing to flush either
        pass
