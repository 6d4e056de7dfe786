"""Rules for objects of other compilers, by the names of their classes: nothing is imported.

A function that was wrapped by Numba, JAX or another compiler counts as what it is made of: the
function that it wraps, and its options. whorl knows the classes that `names` lists. A compiler that
is not among them joins with `add`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whorl.fingerprint.describe import forget_chosen_rules
from whorl.fingerprint.rules.compiled_functions import ROWS, row_of

__all__ = ["add", "content", "names"]


def add(class_name: str, rule: Callable[[Any], object]) -> None:
    """Let objects of a class, and of classes derived from it, count as what a rule returns.

    `class_name` is the module and the qualified name of the class, which need not be imported. The
    rule returns what counts of an object: functions, texts, numbers, tuples and dicts of these. It
    replaces one that was there.

    >>> import whorl
    >>> class Compiled:
    ...     def __init__(self, function, level): self.function, self.level = function, level
    >>> add(f"{Compiled.__module__}.{Compiled.__qualname__}", lambda f: (f.function, f.level))
    >>> whorl.fingerprint(Compiled(len, 2)) == whorl.fingerprint(Compiled(len, 3))
    False
    """
    module, _, name = class_name.rpartition(".")
    if not module or not name:
        raise ValueError(f"{class_name!r} is no name of a class: write 'package.module.Class'")
    if not callable(rule):
        raise TypeError(f"the rule for {class_name} is a function, not {type(rule).__name__!r}")
    ROWS[class_name] = rule
    forget_chosen_rules()


def names() -> tuple[str, ...]:
    """The classes that have a rule.

    >>> "numba.core.dispatcher.Dispatcher" in names()
    True
    """
    return tuple(sorted(ROWS))


def content(value: object) -> object:
    """What counts of an object whose class has a rule; LookupError for other objects.

    >>> content(1)
    Traceback (most recent call last):
      ...
    LookupError: there is no rule for int
    """
    row = row_of(type(value))
    if row is None:
        raise LookupError(f"there is no rule for {type(value).__name__}")
    return row[1](value)
