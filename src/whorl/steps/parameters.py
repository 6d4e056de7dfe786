"""Which parameters of a cached function count, and how.

A parameter can be left out, count by its type, as this very object, with the order of its keys,
or by the content of the file that it names. Positional and keyword arguments are the same call,
and so is a default that is spelled out.
"""

from __future__ import annotations

import functools
import os
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from whorl.calls.binding import Binding
from whorl.fingerprint.markers import exclude
from whorl.fingerprint.modes import ByIdentity, ByType, InOrder

from .declared_inputs import content_of

__all__ = ["Content", "CountedParameters", "leaf_test"]

Names = Iterable[str]

_VARKEYWORDS: Final = 0x08  # a flag of code


@exclude("path")
class Content:
    """The content of a file, which counts instead of its name."""

    __slots__ = ("digest", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.digest = content_of(path)

    def has_changed(self) -> bool:
        """Whether the content of the file is another by now."""
        return content_of(self.path) != self.digest


def _by_content(value: object) -> object:
    if value is None:
        return None
    if not isinstance(value, str | bytes | os.PathLike):
        raise TypeError(
            f"by_content= is for parameters that are paths, not {type(value).__name__}: {value!r}"
        )
    return Content(os.fsdecode(value))


def _keywords(given: dict[str, Any]) -> object:
    """The `**keywords` of a call; a function sees their order."""
    return InOrder(given) if len(given) > 1 else given


_WRAPS: Final[Mapping[str, Callable[[Any], object]]] = {
    "by_type": ByType,
    "by_identity": ByIdentity,
    "ordered": InOrder,
    "by_content": _by_content,
    "keywords": _keywords,
}


@functools.cache
def leaf_test(count: int) -> Callable[[tuple[Any, ...]], bool]:
    """A function that says whether so many values are all leaves. Hot: 30 ns for a value.

    >>> leaf_test(2)((1, "a")), leaf_test(2)((1, []))
    (True, False)
    """
    names = [f"v{i}" for i in range(count)]
    test = " and ".join(
        f"((k := type({v})) is int or k is str or k is float or k is bool or {v} is None"
        f" or k is complex or {v} is ...)"
        for v in names
    )
    unpacked = f"    {', '.join(names)}, = values\n" if names else ""
    scope: dict[str, Any] = {}
    exec(f"def are_leaves(values):\n{unpacked}    return {test or True}\n", scope)
    return cast("Callable[[tuple[Any, ...]], bool]", scope["are_leaves"])


class CountedParameters:
    """How the arguments of a function are bound, and which of them count how.

    >>> def f(a, b=2, *, log=None): ...
    >>> parameters = CountedParameters(f, {"exclude": ["log"]})
    >>> parameters.names, parameters.counted(parameters.bind(1, log=print))
    (('a', 'b'), (1, 2))
    """

    def __init__(self, function: types.FunctionType, options: Mapping[str, Names]) -> None:
        self._binding = Binding(function)
        every = self._binding.names
        kinds = _kinds(function.__qualname__, every, options)
        if function.__code__.co_flags & _VARKEYWORDS:
            kinds.setdefault(every[-1], "keywords")
        self.names = tuple(name for name in every if kinds.get(name) != "exclude")
        self._places = tuple(
            (i, _WRAPS.get(kinds.get(name, "")))
            for i, name in enumerate(every)
            if kinds.get(name) != "exclude"
        )
        self.all_count = not kinds

    @property
    def bind(self) -> Callable[..., tuple[Any, ...]]:
        """Called like the function, it returns the values of all parameters."""
        return self._binding.bind

    def counted(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """What counts of the values."""
        if self.all_count:
            return values
        return tuple(values[i] if wrap is None else wrap(values[i]) for i, wrap in self._places)


def _kinds(function: str, every: tuple[str, ...], options: Mapping[str, Names]) -> dict[str, str]:
    """How each parameter counts that an option names."""
    kinds: dict[str, str] = {}
    for kind, names in options.items():
        if isinstance(names, str):
            raise TypeError(f"{kind}= takes a list of parameters: {kind}=[{names!r}]")
        for name in names:
            if name not in every:
                raise TypeError(
                    f"{kind}= names {name!r}, which is no parameter of {function}; it has "
                    f"{', '.join(every) or 'none'}"
                )
            if name in kinds:
                raise TypeError(f"{name!r} is both {kinds[name]} and {kind}")
            kinds[name] = kind
    return kinds
