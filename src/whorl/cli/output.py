"""Rows and facts in, text for a terminal, for a pipe or for a program out.

On a terminal there are colours and long cells are cut. In a pipe there are neither: columns
are aligned and whole. Nothing that comes from the cache is understood as mark-up.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from whorl.late import dataclass

from .given import Place
from .words import printable

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "Column", "common", "console", "facts", "heading", "line", "progress", "say", "silenced",
    "table",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])


def common(function: F) -> F:
    """The options that every command has."""
    function = click.option(
        "--cache-dir", type=Place(), metavar="DIR",
        help="The cache directory, instead of WHORL_CACHE_DIR.",
    )(function)  # fmt: skip
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def say(data: object) -> None:
    """Print JSON."""
    text = json.dumps(data, indent=2, ensure_ascii=True, allow_nan=False)
    click.echo(text)


def console(*, err: bool = False) -> Console:
    """Where to write to, with colours if it is a terminal and NO_COLOR does not forbid them."""
    from rich.console import Console

    # The stream is asked for at each write: tests and callers may have replaced it.
    stream = sys.stderr if err else sys.stdout
    is_terminal = stream.isatty()
    return Console(
        file=stream, markup=False, highlight=False, emoji=False, soft_wrap=not is_terminal,
        force_terminal=is_terminal, width=None if is_terminal else 1 << 15, legacy_windows=False,
    )  # fmt: skip


def line(text: str = "", style: str = "") -> None:
    """Print one line."""
    if sys.stdout.isatty():
        console().print(printable(text), style=style or None)
    else:
        click.echo(printable(text))


def heading(text: str) -> None:
    """Print what the lines below are about."""
    line(text, "bold")


@dataclass(frozen=True, slots=True)
class Column:
    """How a column of a table looks."""

    title: str
    is_number: bool = False
    style: str = ""
    can_fold: bool = False  # when there is no room for it, it is written on several lines


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
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


def facts(rows: Iterable[tuple[str, str]], indent: str = "") -> None:
    """Print names and what they stand for, one to a line."""
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
def silenced(logger: str) -> Iterator[None]:
    """Say nothing through a logger in the block, because the command says it itself."""
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
    """A bar on the standard error, if that is a terminal; it is gone when the work is done.

    What it gives is told how much has been done since.
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
