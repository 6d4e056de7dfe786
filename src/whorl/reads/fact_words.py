"""Facts in words, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from whorl.fingerprint.rules.builtin import shortened

from .trace import Aspect, Plain, Read, Seen, Trace
from .value_fact import same_fact


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
        case ("code", str(digest), str(), _, *wrappers):
            return "".join(f"{name} of " for name in wrappers) + f"code {digest[:8]}"
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


def reads_in_words(reads: Sequence[Read], facts: Sequence[Plain]) -> list[tuple[str, str]]:
    """What was read, and each fact, for people."""
    pairs = zip(reads, facts, strict=True)
    return [(str(read), words(fact, read.aspect)) for read, fact in pairs]


def differences(
    trace: Trace, before: Sequence[Plain], now: Sequence[Plain]
) -> list[tuple[Seen, tuple[str, str, str]]]:
    """The reads of a trace whose facts differ: where in them, and both sides in words."""
    return [
        (seen, contrast(old, new, seen.read.aspect))
        for seen, old, new in zip(trace.seen, before, now, strict=True)
        if not same_fact(old, new)
    ]


def contrast(old: Plain, new: Plain, aspect: Aspect | None = None) -> tuple[str, str, str]:
    """Where two facts of one read differ, and both in words that can be told apart.

    >>> contrast(["list", *range(30), 1], ["list", *range(30), 2], Aspect.VALUE)
    ('[30]', '1', '2')
    """
    one, other = words(old, aspect), words(new, aspect)
    if one != other:
        return "", one, other
    where = ""
    while (inner := _first_difference(old, new)) is not None:
        step, old, new = inner
        where += step
    one, other = words(old, Aspect.VALUE), words(new, Aspect.VALUE)
    if one != other:
        return where, one, other
    return (where, *_distinguished(old, new, one))


def _first_difference(old: Plain, new: Plain) -> tuple[str, Plain, Plain] | None:
    """The first part in which two facts of values differ that hold as many."""
    if type(old) is not type(new) or len(parts := _parts(old)) != len(others := _parts(new)):
        return None
    for (step, part), (other_step, other) in zip(parts, others, strict=True):
        if step != other_step:
            return None
        if not same_fact(part, other):
            return step, part, other
    return None


def _parts(fact: Plain) -> list[tuple[str, Plain]]:
    if type(fact) is list and fact[:1] == ["dict"]:
        return [(f"[{words(key, Aspect.VALUE)}]", item) for key, item in fact[1:]]
    if type(fact) is list and fact[:1] == ["list"]:
        fact = tuple(fact[1:])
    return [(f"[{i}]", item) for i, item in enumerate(fact)] if type(fact) is tuple else []


def _distinguished(old: Plain, new: Plain, same: str) -> tuple[str, str]:
    """Two facts that have the same words, in more of them."""
    match old, new:
        case ("code", _, _, scope, *_), ("code", _, _, other, *_) if scope != other:
            return f"{same} in {scope}", f"{same} in {other}"
        case {"order": _, "digest": digest}, {"digest": other} if digest == other:
            return same, f"{same} in another order"
    if len(_parts(old)) != len(_parts(new)):
        return f"{same} ({len(_parts(old))} items)", f"{same} ({len(_parts(new))} items)"
    if type(old) is type(new) and type(old) in (str, bytes, int):
        try:
            texts = repr(old), repr(new)
        except ValueError:  # a number of more digits than Python is willing to write
            texts = hex(old), hex(new)
        pairs = enumerate(zip(*texts, strict=False))
        begin = max(0, next((i for i, (a, b) in pairs if a != b), 0) - _BEFORE)
        return _from(begin, texts[0]), _from(begin, texts[1])
    return same, f"another {same}"


def _from(begin: int, text: str) -> str:
    end = begin + _ENOUGH
    return f"...{text[begin:end]}{'...' if end < len(text) else ''}"


_BEFORE: Final = 12  # characters that are shown before those that differ
_ENOUGH: Final = 60


def _as_written(fact: Plain) -> Any:
    """The value that a fact is the exact encoding of, as far as it is one."""
    if type(fact) is tuple:
        return tuple(map(_as_written, fact))
    if type(fact) is list and fact[:1] == ["list"]:
        return [_as_written(item) for item in fact[1:]]
    if type(fact) is list and fact[:1] == ["dict"]:
        return {_Shown(_as_written(key)): _as_written(item) for key, item in fact[1:]}
    if type(fact) is dict:
        return _Shown(words(fact))
    return fact


class _Shown:
    """Something that shows itself as a text."""

    def __init__(self, value: Any) -> None:
        self._text = value if type(value) is str and "(" in value else shortened(value)

    def __repr__(self) -> str:
        return self._text
