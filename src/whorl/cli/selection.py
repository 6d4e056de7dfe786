"""Options that select entries, and the search for one entry by its key."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any, Final, TypeVar

import click

from whorl.artifacts import Entry
from whorl.fast_dataclasses import dataclass
from whorl.store import DirectoryStore, Found
from whorl.store.catalogue import Listed, listed_file, names
from whorl.store.listing import Name

from .failures import NAME, CommandFailure, UsageFailure
from .units import age, ago, byte_count, size

F = TypeVar("F", bound=Callable[..., Any])
_KEY: Final = re.compile(r"(?:([0-9a-f]{32})/)?([0-9a-f]{1,32})")
_CANDIDATES: Final = 10


def matches_program(program: str, pattern: str) -> bool:
    """Whether a pattern matches a program: its name, the end of it, or with * and ?.

    >>> [matches_program("solver.step", pattern) for pattern in ("step", "sol*", "ste")]
    [True, True, False]
    """
    return fnmatchcase(program, pattern) or fnmatchcase(program, f"*.{pattern}")


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions on entries."""

    programs: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    older_than: float | None = None
    newer_than: float | None = None
    larger_than: int | None = None
    smaller_than: int | None = None
    everything: bool = False

    def filter(self, rows: Iterable[Listed]) -> Iterator[Listed]:
        """The rows that meet the conditions."""
        return (row for row in rows if self._matches(row))

    def _matches(self, row: Listed) -> bool:
        passed = time.time() - (row.made or row.used)
        return (
            (self.everything or bool(self.kinds) or not row.is_bookkeeping)
            and (not self.programs or any(matches_program(row.program, p) for p in self.programs))
            and (not self.kinds or row.kind in self.kinds)
            and (self.older_than is None or passed > self.older_than)
            and (self.newer_than is None or passed < self.newer_than)
            and (self.larger_than is None or row.size > self.larger_than)
            and (self.smaller_than is None or row.size < self.smaller_than)
        )


def selection_options(function: F) -> F:
    """Add the options that select entries; the command gets them as one `Selection`."""

    @functools.wraps(function)
    def with_selection(*args: Any, **kwargs: Any) -> Any:
        conditions = {name: kwargs.pop(name) for name in Selection.__slots__}
        return function(*args, selection=Selection(**conditions), **kwargs)

    options = (
        click.option(
            "-p", "--program", "programs", type=NAME, multiple=True, metavar="NAME",
            help="Only this program: a name, the end of one, or with * and ?. May be repeated.",
        ),
        click.option(
            "--kind", "kinds", type=NAME, multiple=True, metavar="KIND",
            help="Only this kind: artifact, manifest, source, hint, ... May be repeated.",
        ),
        click.option("--older-than", type=age, metavar="AGE", help="Older than: 30m, 12h, 7d."),
        click.option("--newer-than", type=age, metavar="AGE", help="Newer than: 30m, 12h, 7d."),
        click.option("--larger-than", type=byte_count, metavar="SIZE", help="Above: 100K, 5M."),
        click.option("--smaller-than", type=byte_count, metavar="SIZE", help="Below: 100K, 5M."),
        click.option(
            "-a", "--all", "everything", is_flag=True,
            help="Include manifests, sources and hints, which only lead to other entries.",
        ),
    )  # fmt: skip
    decorated: Any = with_selection
    for option in reversed(options):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]  # the signature does not change


@dataclass(frozen=True, slots=True)
class KeyPrefix:
    """The first digits of a key, optionally with its group."""

    group: str | None
    digits: str

    @classmethod
    def parse(cls, text: str) -> KeyPrefix:
        """Parse a key, or the first digits of one; `UsageFailure` if it is neither.

        >>> KeyPrefix.parse("3FA9")
        KeyPrefix(group=None, digits='3fa9')
        """
        match = _KEY.fullmatch(text.strip().lower())
        if match is None:
            raise UsageFailure(
                f"{text!r} is not a key: a key has up to 32 hexadecimal digits (whorl ls)."
            )
        return cls(match[1], match[2])

    def matches(self, entry: Name) -> bool:
        """Whether the key of an entry begins with the digits."""
        return entry.key.startswith(self.digits) and self.group in (None, entry.under)


def unknown_key(store: DirectoryStore, text: str) -> UsageFailure:
    """The failure for a key that no entry has."""
    return UsageFailure(f"no entry of {store.root} has a key that begins with {text!r}.")


def find_entry(store: DirectoryStore, text: str) -> tuple[Listed, Entry]:
    """Find the entry with a key, or with its first digits; `UsageFailure` if not exactly one."""
    prefix = KeyPrefix.parse(text)
    files = [(name, file) for name, file in names(store) if prefix.matches(name)]
    rows = [row for row in (listed_file(*each) for each in files) if row is not None]
    # A few digits are more likely meant for an artifact than for a manifest or a hint.
    rows = [row for row in rows if not row.is_bookkeeping] or rows
    if not rows:
        raise unknown_key(store, text)
    if len(rows) > 1:
        raise UsageFailure(_ambiguous(text, rows))
    return rows[0], _read(store, rows[0].name)


def _ambiguous(text: str, rows: list[Listed]) -> str:
    is_same = len({row.name.key for row in rows}) == 1
    lines = [
        f"  {row.name if is_same else row.name.key}  {row.kind}  {row.program}  "
        f"{size(row.size)}, {ago(row.made)}"
        for row in sorted(rows, key=lambda row: -row.made)[:_CANDIDATES]
    ]
    if len(rows) > _CANDIDATES:
        lines.append(f"  and {len(rows) - _CANDIDATES} more")
    return "\n".join([f"{text!r} matches {len(rows)} entries:", *lines])


def _read(store: DirectoryStore, name: Name) -> Entry:
    got = store.get(name.key, name.under)
    if not isinstance(got, Found):
        reason = getattr(got, "reason", "it is gone")
        raise CommandFailure(f"{name.key} cannot be read: {reason}. See whorl verify.")
    return got.entry
