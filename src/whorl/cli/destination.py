"""Writes the output file of a command.

A file is replaced as a whole or not at all, and so is the target of a link. A pipe or a device is
not replaced, but written into.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from whorl.fast_dataclasses import dataclass

from .failures import CommandFailure, UsageFailure
from .units import printable

__all__ = ["Destination"]


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
