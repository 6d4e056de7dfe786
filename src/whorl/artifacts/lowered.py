"""Artifacts, manifests and plain values in, what JSON has out; `record` reads it again."""

from __future__ import annotations

import itertools
import math
from typing import Any, Final, cast

from whorl.reads.trace import Path, Read, Shape

from .entry import Entry, Label
from .record import DOUBLE, Manifest, Record

__all__ = ["NotPlain", "encoded", "lowered", "shape_out"]

_LARGE: Final = 1 << 63


class NotPlain(TypeError):
    """A value that cannot be written exactly; `path` leads to it."""

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(path, kind)
        self.path = path
        self.kind = kind

    def __str__(self) -> str:
        return (
            f"{self.path} is a {self.kind!r}, which cannot be kept in an entry.\n"
            "  Keep None, bool, int, float, complex, str, bytes, tuples, lists and dicts of these; "
            "put anything else into a payload as bytes."
        )


def lowered(value: object, path: str = "value") -> Any:
    """A plain value as what JSON has; `NotPlain` if it is none.

    >>> lowered({"tile": (64, 1.5)})
    {'dict': [['tile', {'tuple': [64, 1.5]}]]}
    """
    try:
        return _lowered(value, path)
    except RecursionError:
        raise NotPlain(path, "value nested too deeply") from None


def _lowered(value: object, path: str) -> object:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        text = cast("str", value)
        return text if _is_unicode(text) else {"text": text.encode("utf-8", "surrogatepass").hex()}
    if kind is int:
        number = cast("int", value)
        return number if -_LARGE <= number < _LARGE else {"int": hex(number)}
    if kind is float:
        real = cast("float", value)
        return real if math.isfinite(real) else {"float": DOUBLE.pack(real).hex()}
    if kind is bytes:
        return {"bytes": cast("bytes", value).hex()}
    if kind is complex:
        both = cast("complex", value)
        return {"complex": [_lowered(both.real, path), _lowered(both.imag, path)]}
    if kind is list or kind is tuple:
        items = [_lowered(item, f"{path}[{i}]") for i, item in enumerate(cast("list[Any]", value))]
        return items if kind is list else {"tuple": items}
    if kind is dict:
        pairs = cast("dict[Any, Any]", value).items()
        return {
            "dict": [[_lowered(k, f"{path} key"), _lowered(v, f"{path}[{k!r}]")] for k, v in pairs]
        }
    raise NotPlain(path, f"{kind.__module__}.{kind.__qualname__}")


def _is_unicode(text: str) -> bool:
    """Whether a text has no surrogates: JSON makes one character of two of them."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def encoded(record: Record, label: Label) -> Entry:
    """A record as the entry that its label names."""
    if isinstance(record, Manifest):
        shapes = list(map(shape_out, record.shapes))
        return Entry.made(label, {}, ["manifest", str(record.program), shapes])
    for name, payload in record.payloads.items():
        if type(name) is not str or not isinstance(payload, bytes | bytearray | memoryview):
            raise TypeError(
                f"payload {name!r} is a {type(payload).__name__!r}: payloads are bytes under a "
                "str. Serialize it first."
            )
    for name in record.metadata:
        if type(name) is not str:
            raise TypeError(f"metadata are kept under a str, not under {name!r}")
    metadata = {n: lowered(value, f"metadata[{n!r}]") for n, value in record.metadata.items()}
    seen = [
        [
            _read_out(seen.read),
            lowered(seen.fact, str(seen.read)),
            seen.line,
        ]
        for seen in record.trace.seen
    ]
    return Entry.made(label, record.payloads, ["artifact", [*metadata.items()]], seen)


def shape_out(shape: Shape) -> str | list[object]:
    """A shape as a text or as a list."""
    rows = [_read_out(read) for read in shape.reads]
    texts = [row.rsplit(" ", 1) for row in rows if type(row) is str]
    if not rows or len(texts) != len(rows):
        return rows
    alike = itertools.groupby(texts, lambda text: text[0])
    return ";".join(" ".join((kind, *(place for _, place in each))) for kind, each in alike)


def _read_out(read: Read) -> object:
    (root, name, steps), aspect, beside = read
    if not beside and all(step.operation == "attr" for step in steps):
        names = [name, *(step.name for step in steps)]
        if all(map(_is_word, names)):
            return f"{aspect.value} {root} {'/'.join(names)}"
    paths = [_path_out(path) for path in (read.path, *read.beside)]
    return [read.aspect.value, *paths]


def _path_out(path: Path) -> list[object]:
    where = str(path)
    steps = ([step.operation, lowered(step.name, where)] for step in path.steps)
    return [path.root, lowered(path.name, where), *steps]


def _is_word(name: str) -> bool:
    return name.split() == [name] and not {*";/"} & {*name} and _is_unicode(name)
