"""Lists the entries of a directory: one row for each, read without executing anything."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any, Final

from whorl.artifacts import Damaged
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.digest import StableDigest

from .directory import DirectoryStore
from .foreign_entry import DESCRIPTION
from .journal import is_time
from .listing import Name, StoredFile, entry_files, read_label

BOOKKEEPING: Final = frozenset(("manifest", "source", "hint", DESCRIPTION))
_NAMING: Final = ("function", "program", "step", "name")  # parts that name a program, best first
_CODE: Final = "code:"


@dataclass(frozen=True, slots=True)
class Listed:
    """What is known of an entry from its label and its file.

    `trouble` says why the label cannot be read; then there is nothing but the file to go by.

    >>> Listed(Name(StableDigest("0" * 32)), "manifest").is_bookkeeping
    True
    """

    name: Name
    kind: str = ""
    program: str = ""
    size: int = 0
    made: float = 0.0
    seconds: float = 0.0
    used: float = 0.0
    toolchain: str = ""
    target: str = ""
    compiler: str = ""
    trouble: str = ""

    @property
    def is_bookkeeping(self) -> bool:
        """Whether it only leads to others, or spares a parse."""
        return self.kind in BOOKKEEPING

    def as_plain(self) -> dict[str, Any]:
        """The same as what JSON has."""
        return {
            "key": str(self.name.key),
            "group": None if self.name.under is None else str(self.name.under),
            "kind": self.kind, "program": self.program, "size": self.size, "made": self.made,
            "seconds": self.seconds, "used": self.used, "toolchain": self.toolchain,
            "target": self.target, "compiler": self.compiler, "trouble": self.trouble or None,
        }  # fmt: skip


def names(store: DirectoryStore) -> Iterator[tuple[Name, StoredFile]]:
    """Every entry of this format by what it is found by, with its file."""
    for file in entry_files(store.place):
        if file.rank != 0:  # of this format
            with contextlib.suppress(ValueError):
                yield named(file.path), file


def named(path: str) -> Name:
    """What the entry in a file of the store is found by; ValueError if it is no such file.

    >>> named(os.path.join("v1", "entries", "00", "0" * 30)).key == "0" * 32
    True
    """
    above, name = os.path.split(path)
    if len(name) == 30:
        return Name(StableDigest(os.path.basename(above) + name))
    shard, rest = os.path.split(above)
    return Name(StableDigest(name), StableDigest(os.path.basename(shard) + rest))


def catalogue(store: DirectoryStore) -> Iterator[Listed]:
    """Every entry of the store, in no order. About 50 us each.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     list(catalogue(DirectoryStore(root)))
    []
    """
    for name, file in names(store):
        listed = listed_file(name, file)
        if listed is not None:
            yield listed


def listed_file(name: Name, file: StoredFile) -> Listed | None:
    """What is known of an entry; None if its file is gone."""
    try:
        label = read_label(file.path)
    except FileNotFoundError:
        return None
    except (OSError, Damaged) as error:
        trouble = error.strerror if isinstance(error, OSError) else str(error)
        return Listed(
            name, "unreadable", size=file.size, used=file.used, trouble=trouble or str(error)
        )
    parts = dict(reversed(label.parts))  # of two of one name, the first
    program = next((parts[part] for part in _NAMING if part in parts), None)
    if program is None:  # a function is the first whose code counts for its results
        code = next((part for part, _ in label.parts if part.startswith(_CODE)), "")
        program = code.removeprefix(_CODE)
    return Listed(
        name, label.kind, program, file.size, _sane(label.made), _sane(label.seconds), file.used,
        label.toolchain or parts.get("toolchain", ""), parts.get("target", ""),
        parts.get("compiler", ""),
    )  # fmt: skip


def _sane(seconds: float) -> float:
    """A time in a label; 0 if it makes no sense."""
    return seconds if is_time(seconds) else 0.0
