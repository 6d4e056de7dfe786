"""A path to write to in, what was made for it in its place out.

A file is replaced, whole or not at all, and so is the file that a link leads to. A pipe or a
device is nothing to be replaced: it is written into, and stays what it is.
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

from whorl.late import dataclass

from .refusal import Refusal, Trouble
from .words import printable

__all__ = ["Destination"]


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a command writes to, and what is there when it begins."""

    path: Path
    status: os.stat_result | None  # of what a link leads to; None where there is nothing yet

    @classmethod
    def of(cls, path: Path, *, as_json: bool) -> Destination:
        """The destination that a path names; `Refusal` if JSON would be mixed with it."""
        try:
            status = path.stat()
        except FileNotFoundError:
            status = None
        except OSError as error:
            raise unwritable(path, error) from None
        found = cls(path, status)
        if as_json and found.is_standard_output:
            raise Refusal(f"{path} is the standard output, which --json is for: name a file.")
        return found

    @property
    def is_file(self) -> bool:
        """Whether there is a file, or will be one, as opposed to a pipe or a device."""
        return self.status is None or stat.S_ISREG(self.status.st_mode)

    @property
    def is_standard_output(self) -> bool:
        """Whether it is what the command prints to anyway."""
        try:
            output = os.fstat(sys.stdout.fileno())
        except (OSError, ValueError):  # it has no descriptor
            return False
        return self.status is not None and os.path.samestat(self.status, output)

    @contextmanager
    def put(self) -> Iterator[Path]:
        """A path to make a file at, which goes where it belongs when the block is done."""
        is_replaced = self.is_file and not self.is_standard_output
        try:
            place = Path(os.path.realpath(self.path))
            beside = place.parent if is_replaced else None
            with tempfile.TemporaryDirectory(prefix=".whorl-", dir=beside) as folder:
                made = Path(folder, "made")
                yield made
                if not is_replaced:
                    self._write(made)
                    return
                if self.status is not None:
                    made.chmod(stat.S_IMODE(self.status.st_mode))
                made.replace(place)
        except OSError as error:
            if isinstance(error, BrokenPipeError) and self.is_standard_output:
                raise  # whoever read the output has gone, which is no error
            raise unwritable(self.path, error) from None

    def _write(self, made: Path) -> None:
        with made.open("rb") as source:
            if self.is_standard_output:  # at the place that it has come to
                sys.stdout.flush()
                shutil.copyfileobj(source, sys.stdout.buffer)
                return
            with self.path.open("wb") as sink:
                shutil.copyfileobj(source, sink)

    def tell(self, text: str) -> None:
        """Print a line, but not into what was written."""
        click.echo(printable(text), err=self.is_standard_output)


def unwritable(path: Path, error: OSError) -> Trouble:
    """What to say of a path that cannot be written to."""
    return Trouble(f"{path} cannot be written: {error.strerror or error}.")
