"""Removes whorl's own frames from the traceback of an error that goes to the user."""

from __future__ import annotations

from types import TracebackType
from typing import Final

__all__ = ["show_users_frames"]

_HERE: Final = __file__.rpartition("frames.")[0]


def show_users_frames(error: BaseException) -> None:
    """Leave the user's frames in the traceback of an error of whorl's own, and no others.

    To be called where whorl was called, in an `except` block that ends with a bare `raise`: that
    adds no entry for the frame in which it stands. Other errors, which may be whorl's fault or come
    from code of the user's, keep all of their frames.
    """
    if all(base.__module__ != "whorl.errors" for base in type(error).__mro__):
        return
    entries: list[TracebackType] = []
    entry = error.__traceback__
    while entry is not None:
        if not entry.tb_frame.f_code.co_filename.startswith((_HERE, "<whorl")):
            entries.append(entry)
        entry = entry.tb_next
    following: TracebackType | None = None
    for entry in reversed(entries):
        entry.tb_next = following
        following = entry
    error.__traceback__ = following
