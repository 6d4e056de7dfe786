"""The files and environment variables that a function has declared, and their content now.

A file counts by its content, a directory by the names and contents in it, a variable by its
value; one that is not set is the same as its default. They are checked on every call. A file is
read again only if its state (times, size, inode) has changed, or if it was written so shortly
before it was last read that a second write could have left the same state.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from whorl.fingerprint.digest import hash_hex
from whorl.fingerprint.tokens import marshalled

_TICK: Final = 2_000_000_000  # nanoseconds: the coarsest clock of a file system in use
_KEPT: Final = 4096
_known: Final[dict[str, tuple[tuple[int, ...], str]]] = {}


@dataclass(frozen=True, slots=True)
class DeclaredInputs:
    """Declared files and variables; `base` is where relative names of files begin.

    >>> import os
    >>> declared = DeclaredInputs(environment=(("WHORL_EXAMPLE", "2"),))
    >>> before = declared.now()
    >>> os.environ["WHORL_EXAMPLE"] = "2"
    >>> same = declared.now() == before
    >>> os.environ["WHORL_EXAMPLE"] = "3"
    >>> same, declared.now() == before
    (True, False)
    >>> del os.environ["WHORL_EXAMPLE"]
    """

    environment: tuple[tuple[str, str | None], ...] = ()
    files: tuple[str, ...] = ()
    base: str = field(default="", compare=False)

    def __bool__(self) -> bool:
        return bool(self.environment or self.files)

    def now(self) -> list[list[object]]:
        """The values of variables and the digests of files, by name."""
        get = os.environ.get
        variables: list[list[object]] = [
            [f"env:{name}", get(name, default)] for name, default in self.environment
        ]
        files: list[list[object]] = [
            [f"file:{name}", content_of(os.path.join(self.base, name))]  # noqa: PTH118  # sooner
            for name in self.files
        ]
        return variables + files

    def has(self, name: str) -> bool:
        """Whether a variable or file of this name was declared, or a directory that it is in.

        A relative name may begin anywhere, so the ends of paths are compared.

        >>> declared = DeclaredInputs((("A", None),), ("/data/tables",))
        >>> [declared.has(name) for name in ("A", "B", "tables/x.csv", "x.csv")]
        [True, False, True, False]
        """
        if any(name == variable for variable, _ in self.environment):
            return True
        path = Path(os.path.normpath(name))
        for file in self.files:
            known = Path(os.path.normpath(os.path.join(self.base, file)))  # noqa: PTH118  # as below
            for place in (path, *path.parents):
                if place.parts and known.parts[-len(place.parts) :] == place.parts:
                    return True
            if any(Path(base, path).is_relative_to(known) for base in (self.base, Path.cwd())):
                return True
        return False

    def missing(self) -> list[str]:
        """The files that were declared and are not there."""
        return [name for name in self.files if not os.path.exists(os.path.join(self.base, name))]  # noqa: PTH110, PTH118  # as above


def as_list(name: str, given: Iterable[Any]) -> list[Any]:
    """The value of an option as a list; a text is not the list of its letters.

    >>> as_list("files", ["a.csv"])
    ['a.csv']
    """
    if isinstance(given, str | bytes | os.PathLike) or not isinstance(given, Iterable):
        raise TypeError(f"{name}= takes a list: {name}=[{given!r}]")
    return list(given)


def content_of(path: str | os.PathLike[str]) -> str | None:
    """The digest of the content of a file or directory; None if there is none.

    >>> content_of("no such file") is None
    True
    """
    place = os.path.abspath(path)  # noqa: PTH100  # resolve() would follow links
    try:
        status = os.stat(place)  # noqa: PTH116  # a text is sooner
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(status.st_mode):
        return _directory(Path(place))
    state = (
        status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev,
    )  # fmt: skip
    known = _known.get(place)
    if known is not None and known[0] == state:
        return known[1]
    start = time.time_ns()
    try:
        digest = hash_hex(Path(place).read_bytes())
    except OSError:
        return None
    if start - max(status.st_mtime_ns, status.st_ctime_ns) > _TICK:
        if len(_known) >= _KEPT:
            _known.clear()
        _known[place] = state, digest
    else:
        _known.pop(place, None)
    return digest


def _directory(root: Path) -> str:
    """The names and contents in a directory, also behind links; a link into a circle is a name."""
    rows: list[list[object]] = []
    pending = [(str(root), "", frozenset((os.path.realpath(root),)))]
    while pending:
        place, name, above = pending.pop()
        for item in _entries(place):
            below = f"{name}{item.name}"
            if not item.is_dir():
                rows.append([below, content_of(item.path) if item.is_file() else None])
            elif (real := os.path.realpath(item.path)) in above:
                rows.append([below, "a circle"])
            else:
                rows.append([f"{below}/", None])
                pending.append((item.path, f"{below}/", above | {real}))
    return hash_hex(marshalled(sorted(rows, key=lambda row: str(row[0]))))


def _entries(place: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(place) as entries:
            return list(entries)
    except OSError:  # the function cannot read it either
        return []


def variable_pairs(environment: Mapping[str, str | None] | Iterable[str]) -> Any:
    """Declared variables as pairs of names and defaults.

    >>> variable_pairs(["A"]), variable_pairs({"B": "2"})
    ((('A', None),), (('B', '2'),))
    """
    if isinstance(environment, str):
        raise TypeError(f"environment= takes names of variables, not the text {environment!r}")
    pairs = environment.items() if isinstance(environment, Mapping) else (
        (name, None) for name in environment
    )  # fmt: skip
    checked = tuple(pairs)
    for name, default in checked:
        if not isinstance(name, str) or not (default is None or isinstance(default, str)):
            raise TypeError(
                f"environment= maps names to defaults that are texts, not {name!r} to {default!r}"
            )
    return checked
