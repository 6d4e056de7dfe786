"""What a command line says about entries in, the rows that are meant out."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any, Final, TypeVar

import click

from whorl.artifacts import Entry
from whorl.late import dataclass
from whorl.store import DirectoryStore, Found
from whorl.store.catalogue import Listed, Name, listed_file, names

from .given import NAME
from .refusal import Refusal, Trouble
from .words import age, ago, byte_count, size

__all__ = ["Digits", "Selection", "entry_named", "is_of", "selecting", "unknown_key"]

F = TypeVar("F", bound=Callable[..., Any])
_KEY: Final = re.compile(r"(?:([0-9a-f]{32})/)?([0-9a-f]{1,32})")
_CANDIDATES: Final = 10


def is_of(program: str, pattern: str) -> bool:
    """Whether a program is meant by a pattern: its name, the end of it, or with * and ?.

    >>> is_of("solver.step", "step"), is_of("solver.step", "sol*"), is_of("solver.step", "ste")
    (True, True, False)
    """
    return fnmatchcase(program, pattern) or fnmatchcase(program, f"*.{pattern}")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which entries are meant."""

    programs: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    older_than: float | None = None
    newer_than: float | None = None
    larger_than: int | None = None
    smaller_than: int | None = None
    everything: bool = False

    def of(self, rows: Iterable[Listed]) -> Iterator[Listed]:
        """Those of the rows that are meant."""
        return filter(self._means, rows)

    def _means(self, row: Listed) -> bool:
        passed = time.time() - (row.made or row.used)
        return (
            (self.everything or bool(self.kinds) or not row.is_bookkeeping)
            and (not self.programs or any(is_of(row.program, p) for p in self.programs))
            and (not self.kinds or row.kind in self.kinds)
            and (self.older_than is None or passed > self.older_than)
            and (self.newer_than is None or passed < self.newer_than)
            and (self.larger_than is None or row.size > self.larger_than)
            and (self.smaller_than is None or row.size < self.smaller_than)
        )


def selecting(function: F) -> F:
    """The options that say which entries are meant; they come as one `Selection`."""
    import functools

    @functools.wraps(function)
    def with_selection(*args: Any, **kwargs: Any) -> Any:
        given = {name: kwargs.pop(name) for name in Selection.__slots__}
        return function(*args, selection=Selection(**given), **kwargs)

    options = (
        click.option(
            "-p", "--program", "programs", type=NAME, multiple=True, metavar="NAME",
            help="Of this program: a name, the end of one, or with * and ?. May be repeated.",
        ),
        click.option(
            "--kind", "kinds", type=NAME, multiple=True, metavar="KIND",
            help="Of this kind: artifact, manifest, source, hint, ... May be repeated.",
        ),
        click.option("--older-than", type=age, metavar="AGE", help="Made before: 30m, 12h, 7d."),
        click.option("--newer-than", type=age, metavar="AGE", help="Made since: 30m, 12h, 7d."),
        click.option("--larger-than", type=byte_count, metavar="SIZE", help="Above: 100K, 5M."),
        click.option("--smaller-than", type=byte_count, metavar="SIZE", help="Below a size."),
        click.option(
            "-a", "--all", "everything", is_flag=True,
            help="With what only leads to others: manifests, sources, hints.",
        ),
    )  # fmt: skip
    decorated: Any = with_selection
    for option in reversed(options):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]  # the same function for whoever calls it


@dataclass(frozen=True, slots=True)
class Digits:
    """The first digits of a key, maybe with the group that it is in."""

    group: str | None
    first: str

    @classmethod
    def of(cls, text: str) -> Digits:
        """The digits that a text has; `Refusal` if it has none.

        >>> Digits.of("3FA9")
        Digits(group=None, first='3fa9')
        """
        found = _KEY.fullmatch(text.strip().lower())
        if found is None:
            raise Refusal(f"{text!r} is no key: a key is up to 32 hexadecimal digits (whorl ls).")
        return cls(found[1], found[2])

    def name(self, entry: Name) -> bool:
        """Whether an entry is named by them."""
        return entry.key.startswith(self.first) and self.group in (None, entry.under)


def unknown_key(store: DirectoryStore, text: str) -> Refusal:
    """What to say of digits that no entry has."""
    return Refusal(f"no entry of {store.root} has a key that begins with {text!r}.")


def entry_named(store: DirectoryStore, text: str) -> tuple[Listed, Entry]:
    """The one entry that a key, or the beginning of one, names; `Refusal` if there is not one."""
    digits = Digits.of(text)
    found = [(name, file) for name, file in names(store) if digits.name(name)]
    rows = [row for row in (listed_file(*each) for each in found) if row is not None]
    # Who looks for an entry by a few digits means one that holds something.
    rows = [row for row in rows if not row.is_bookkeeping] or rows
    if not rows:
        raise unknown_key(store, text)
    if len(rows) > 1:
        raise Refusal(_ambiguous(text, rows))
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
    return "\n".join([f"{text!r} names {len(rows)} entries:", *lines])


def _read(store: DirectoryStore, name: Name) -> Entry:
    got = store.get(name.key, name.under)
    if not isinstance(got, Found):
        reason = getattr(got, "reason", "it is gone")
        raise Trouble(f"{name.key} cannot be read: {reason}. See whorl verify.")
    return got.entry
