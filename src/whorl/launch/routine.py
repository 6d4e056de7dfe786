"""The address of the launcher, which is one for all kernels of a process."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Final

from whorl.fast_dataclasses import NamedTuple
from whorl.lazy import lazy_module, load, logger
from whorl.locks import RLock
from whorl.signals import pass_on
from whorl.store import Cache

from .callable import IN_PYTHON
from .image import Image
from .layout_search import object_layout
from .level import lowest_level
from .mapped import map_image
from .native import whorl_launch
from .object_layout import ObjectLayout
from .object_reads import constants_of
from .object_words import at
from .stored_routine import NotPrepared, StoredRoutine

if TYPE_CHECKING:
    from . import failure
else:
    failure = lazy_module("whorl.launch.failure", globals())  # for what goes wrong

__all__ = ["NativeLaunch", "launcher_at", "launcher_for", "launcher_text", "status"]

log = logger("whorl.launch")

_lock: Final = [RLock()]  # another one in a forked child
_addresses: dict[str, int | None] = {}  # of the launcher; None: it cannot be made or loaded here


class NativeLaunch(NamedTuple):
    """Whether kernels are launched natively in this process, and why not."""

    on: bool
    reason: str


def status() -> NativeLaunch:
    """Whether kernels are launched natively here, and why not, without compiling anything.

    >>> on, reason = status()
    >>> on == (reason == "")
    True
    """
    try:
        object_layout()
        if None in _addresses.values():
            why = ("the launcher could not be loaded", *failure.reasons()[:1])
            return NativeLaunch(False, ": ".join(why))
        if not _addresses:  # it has not been tried yet
            map_image(Image(b"\xc3", {"nothing": 0}, ()))
    except Exception as error:  # whatever it is, it is why there are none
        pass_on(error)
        return NativeLaunch(False, failure.reason_of(error))
    return NativeLaunch(True, "")


def launcher_at(cache: Cache) -> int | None:
    """The address of the launcher; None if it cannot be made or loaded here."""
    with _lock[0]:
        name = whorl_launch.__name__
        if name not in _addresses:
            try:
                _addresses[name] = launcher_for(object_layout(), lowest_level()).address(cache)
            except NotPrepared as reason:
                log.info("%s: %s", IN_PYTHON, reason)
                _addresses[name] = None
            except Exception as error:  # a call that has its result must not fail for this
                if not failure.turns_off(error, IN_PYTHON):
                    return None
                _addresses[name] = None
        return _addresses[name]


def launcher_for(layout: ObjectLayout, level: str) -> StoredRoutine:
    """The launcher for a layout and a level. It is as quick for the lowest level as for others."""
    return StoredRoutine(
        "launcher",
        "launcher 5",
        whorl_launch.__name__,
        layout.name,
        level,
        lambda: launcher_text(layout),
    )


@cache
def launcher_text(layout: ObjectLayout) -> str:
    """The launcher for a layout, as LLVM's text.

    This is the one place that needs the compiler of kernels, which stands above this package; it is
    imported where no process has compiled the launcher yet.
    """
    with at.as_given(constants_of(layout)):
        text: str = load("whorl.kernels.systems_compiler").llvm_text(whorl_launch)
    return text


def _after_fork() -> None:
    _lock[0] = RLock()  # a thread that is not in the child may hold the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
