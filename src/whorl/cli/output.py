"""Prints lines, tables and JSON, and writes the files of commands.

On a terminal there are colours, and long cells are cut. In a pipe there are neither. Text from the
cache is never interpreted as mark-up.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from whorl.fast_dataclasses import dataclass

from .failures import CommandFailure, PathParameter, UsageFailure
from .units import printable

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F", bound=Callable[..., Any])


def common_options(function: F) -> F:
    """Add the options that every command has."""
    function = click.option(
        "--cache-dir", type=PathParameter(), metavar="DIR",
        help="The cache directory, instead of WHORL_CACHE_DIR.",
    )(function)  # fmt: skip
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def print_json(data: object) -> None:
    """Print JSON."""
    text = json.dumps(data, indent=2, ensure_ascii=True, allow_nan=False)
    click.echo(text)


def console(*, err: bool = False) -> Console:
    """A console for the output, with colours if it is a terminal and NO_COLOR is not set."""
    from rich.console import Console

    # The stream is looked up at each write, because tests and callers may have replaced it.
    stream = sys.stderr if err else sys.stdout
    is_terminal = stream.isatty()
    return Console(
        file=stream, markup=False, highlight=False, emoji=False, soft_wrap=not is_terminal,
        force_terminal=is_terminal, width=None if is_terminal else 1 << 15, legacy_windows=False,
    )  # fmt: skip


def print_line(text: str = "", style: str = "") -> None:
    """Print one line."""
    if sys.stdout.isatty():
        console().print(printable(text), style=style or None)
    else:
        click.echo(printable(text))


def print_heading(text: str) -> None:
    """Print a heading."""
    print_line(text, "bold")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    is_number: bool = False
    style: str = ""
    can_fold: bool = False  # a long cell is wrapped instead of cut


def print_table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """Print a table."""
    texts = [[printable(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        _plain_table(columns, texts)
        return
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        shown.add_column(
            column.title,
            justify="right" if column.is_number else "left",
            style=column.style or None,
            overflow="fold" if column.can_fold else "ellipsis",
            no_wrap=not column.can_fold,
        )
    for row in texts:
        shown.add_row(*map(Text, row))
    console().print(shown)


def _plain_table(columns: Sequence[Column], rows: list[list[str]]) -> None:
    lines = [[column.title for column in columns], *rows]
    widths = [max(len(row[i]) for row in lines) for i in range(len(columns))]
    for row in lines:
        cells = (
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for cell, width, column in zip(row, widths, columns, strict=True)
        )
        click.echo("  ".join(cells).rstrip())


def print_facts(rows: Iterable[tuple[str, str]], indent: str = "") -> None:
    """Print names and their values, one pair per line."""
    pairs = [(printable(name), printable(text)) for name, text in rows]
    width = max((len(name) for name, _ in pairs), default=0)
    if not sys.stdout.isatty():
        for name, text in pairs:
            click.echo(f"{indent}{name.ljust(width)}  {text}".rstrip())
        return
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="cyan", no_wrap=width <= 40, overflow="fold")
    grid.add_column(overflow="fold")
    for name, text in pairs:
        grid.add_row(Text(f"{indent}{name}"), Text(text))
    console().print(grid)


@contextlib.contextmanager
def silence_logger(logger: str) -> Iterator[None]:
    """Turn a logger off in the block, because the command reports the same itself."""
    import logging

    def nothing(record: logging.LogRecord) -> bool:
        return False

    logging.getLogger(logger).addFilter(nothing)
    try:
        yield
    finally:
        logging.getLogger(logger).removeFilter(nothing)


@contextlib.contextmanager
def progress(what: str, total: float) -> Iterator[Callable[[float], object]]:
    """Show a progress bar on the standard error, if that is a terminal, until the block ends.

    The value is a function that advances the bar by an amount.
    """
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console(err=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


# -- files that commands write ---------------------------------------------------------
#
# Writes the output file of a command.
#
# A file is replaced as a whole or not at all, and so is the target of a link. A pipe or a device is
# not replaced, but written into.


@dataclass(frozen=True, slots=True)
class Destination:
    """The path that a command writes to, and what exists there before."""

    path: Path
    status: os.stat_result | None  # of the target of a link; None if nothing exists

    @classmethod
    def of(cls, path: Path, *, as_json: bool) -> Destination:
        """The destination at a path; `UsageFailure` if JSON would be mixed with it."""
        try:
            status = path.stat()
        except FileNotFoundError:
            status = None
        except OSError as error:
            raise unwritable(path, error) from None
        destination = cls(path, status)
        if as_json and destination.is_standard_output:
            raise UsageFailure(f"{path} is the standard output, which --json uses: name a file.")
        return destination

    @property
    def is_file(self) -> bool:
        """Whether it is or will be a file, not a pipe or a device."""
        return self.status is None or stat.S_ISREG(self.status.st_mode)

    @property
    def is_standard_output(self) -> bool:
        """Whether it is the standard output of the command."""
        try:
            output = os.fstat(sys.stdout.fileno())
        except (OSError, ValueError):  # it has no descriptor
            return False
        return self.status is not None and os.path.samestat(self.status, output)

    @contextmanager
    def put(self) -> Iterator[Path]:
        """A path for a temporary file, which the end of the block moves to the destination."""
        is_replaced = self.is_file and not self.is_standard_output
        try:
            target = Path(os.path.realpath(self.path))
            beside = target.parent if is_replaced else None
            with tempfile.TemporaryDirectory(prefix=".whorl-", dir=beside) as folder:
                file = Path(folder, "output")
                yield file
                if not is_replaced:
                    self._write(file)
                    return
                if self.status is not None:
                    file.chmod(stat.S_IMODE(self.status.st_mode))
                file.replace(target)
        except OSError as error:
            if isinstance(error, BrokenPipeError) and self.is_standard_output:
                raise  # the reader of the pipe has closed it, which is no error
            raise unwritable(self.path, error) from None

    def _write(self, file: Path) -> None:
        with file.open("rb") as source:
            if self.is_standard_output:  # append at the current position
                sys.stdout.flush()
                shutil.copyfileobj(source, sys.stdout.buffer)
                return
            with self.path.open("wb") as sink:
                shutil.copyfileobj(source, sink)

    def report(self, text: str) -> None:
        """Print a line, but not into the output itself."""
        click.echo(printable(text), err=self.is_standard_output)


def unwritable(path: Path, error: OSError) -> CommandFailure:
    """The failure for a path that cannot be written."""
    return CommandFailure(f"{path} cannot be written: {error.strerror or error}.")
