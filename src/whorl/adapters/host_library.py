"""The versions of a library that an adapter is for, and what it says when it steps aside."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from whorl.errors import UnsupportedFunction, UnsupportedValue
from whorl.fast_dataclasses import dataclass
from whorl.lazy import logger

_said: Final[set[str]] = set()

log = logger("whorl.adapters")


def say_once(message: str) -> None:
    """Log a warning, unless this process has said so before. It never raises, whatever `-W` says.

    >>> say_once("numba 0.59 is too old: whorl does nothing for it")
    >>> say_once("numba 0.59 is too old: whorl does nothing for it")  # not said again
    """
    if message not in _said:
        _said.add(message)
        log.warning("%s", message)


def say_not_cached(name: str, error: Exception) -> None:
    """Say once that something of a library is not cached, and why.

    >>> say_not_cached("solver.step", ValueError("no value"))
    """
    explains = isinstance(error, UnsupportedFunction | UnsupportedValue)
    reason = str(error) if explains else f"{type(error).__name__}: {error}"
    say_once(f"{name} is not cached: {reason}")


@dataclass(frozen=True, slots=True)
class HostLibrary:
    """A library that an adapter is for, from the release `first` to those before `beyond`.

    `name` is that of its distribution.

    >>> numpy = HostLibrary("numpy", (2, 0), (99, 0))
    >>> numpy.is_supported(), numpy.toolchain() == f"numpy {numpy.version()}"
    (True, True)
    """

    name: str
    first: tuple[int, int]
    beyond: tuple[int, int]

    def version(self) -> str:
        """The installed version; empty if there is none.

        >>> HostLibrary("no-such-library", (1, 0), (2, 0)).version()
        ''
        """
        try:
            return version(self.name)
        except PackageNotFoundError:
            return ""

    def toolchain(self) -> str:
        """The name and the version, as entries say what they were made by."""
        return f"{self.name} {self.version()}".rstrip()

    def is_supported(self) -> bool:
        """Whether the adapter knows the installed version. If not, that is said, once.

        >>> HostLibrary("numpy", (0, 1), (0, 2)).is_supported()
        False
        """
        installed = self.version()
        if self.first <= release(installed) < self.beyond:
            return True
        first, beyond = (".".join(map(str, numbers)) for numbers in (self.first, self.beyond))
        is_here = f"this is {installed}" if installed else "it is not installed"
        say_once(
            f"whorl's adapter for {self.name} does nothing: it knows the versions from {first} "
            f"to those before {beyond}, and {is_here}"
        )
        return False


def release(text: str) -> tuple[int, ...]:
    """The first two numbers of a version.

    >>> release("3.10.0rc1"), release("0.68"), release("")
    ((3, 10), (0, 68), ())
    """
    found = re.match(r"(\d+)\.(\d+)", text)
    return () if found is None else (int(found[1]), int(found[2]))
