"""Records why a step of the native set-up failed, and warns once.

A call never fails because it could not be launched natively. Whatever is raised while layouts,
routines, classes and tables are made ends here: it turns native launches off, for a kernel or for
the process, and calls go on in Python.
"""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from typing import Final

from whorl.lazy import logger
from whorl.signals import pass_on

from .callable import NotKnown
from .mapped import Unmappable

log = logger("whorl.launch")

_reasons: Final[dict[str, str]] = {}  # why, and what follows from it


def turns_off(error: Exception, consequence: str) -> bool:
    """Whether something is done in Python for good because of an error, which is then warned
    about, once for each reason. What a handler of a signal has raised goes on to the caller.
    """
    pass_on(error)
    if is_passing(error):
        return False
    reason = reason_of(error)
    if reason not in _reasons:
        _reasons[reason] = consequence
        log.warning("%s: %s", consequence, reason)
    return True


def reasons() -> list[str]:
    """Why something is done in Python, in the order in which that came up."""
    return list(_reasons)


def reason_of(error: Exception) -> str:
    """An error in one line, with its place if it is not one of these."""
    if isinstance(error, NotKnown | Unmappable):  # which say what they found
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{''.join(traceback.format_exception_only(error)).strip()}{place}"


def is_passing(error: Exception) -> bool:
    """Whether a step may succeed later: the stack was deep, or no more files can be opened."""
    if not isinstance(error, ImportError | OSError):
        return isinstance(error, RecursionError)
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return True
    return False
