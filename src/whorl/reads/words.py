"""A fact in, words for people out."""

from __future__ import annotations

from typing import Any

from whorl.fingerprint.rules.builtin import shortened

from .trace import Aspect, Plain

__all__ = ["words"]


def words(fact: Plain, aspect: Aspect | None = None) -> str:
    """A fact for people.

    >>> words(["list", 1, ["dict", ("a", 2)]], Aspect.VALUE), words(("int",), Aspect.TYPE)
    ("[1, {'a': 2}]", 'int')
    """
    if aspect is Aspect.VALUE and type(fact) is not dict:
        return shortened(_as_written(fact))
    match fact:
        case {"absent": True}:
            return "absent"
        case {"refused": (str(name), str(reason))}:
            return f"{name}, of which nothing can be recorded ({reason})"
        case ("array", dtype, dimensions, layout, access):
            how = "writeable" if access == "rw" else "read-only"
            plural = "" if dimensions == 1 else "s"
            return f"array of {dtype}, {dimensions} dimension{plural}, {layout}, {how}"
        case ("code", str(digest), str(), *_):
            return f"code {digest[:8]}"
        case {"library": str(name), "version": str(version)}:
            return f"{name} ({version})"
        case {"digest": digest, "of": label}:
            return f"{label} ({digest[:8]})"
        case (str(name), int(items)):
            return f"{name} of {items}"
        case (str(name),):
            return name
        case _:
            return shortened(fact)


def _as_written(fact: Plain) -> Any:
    """The value that a fact is the exact encoding of, as far as it is one."""
    if type(fact) is tuple:
        return tuple(map(_as_written, fact))
    if type(fact) is list and fact[:1] == ["list"]:
        return [_as_written(item) for item in fact[1:]]
    if type(fact) is list and fact[:1] == ["dict"]:
        return {_Shown(_as_written(key)): _as_written(held) for key, held in fact[1:]}
    if type(fact) is dict:
        return _Shown(words(fact))
    return fact


class _Shown:
    """Something that shows itself as a text."""

    def __init__(self, held: Any) -> None:
        self._text = held if type(held) is str and "(" in held else repr(held)

    def __repr__(self) -> str:
        return self._text
