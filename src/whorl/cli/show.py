"""The key of an entry in, everything that it says of itself out; nothing in it is executed."""

from __future__ import annotations

import sys
import zlib
from typing import Any, Final

import click

from whorl.artifacts import Artifact, Damaged, Entry, Manifest, decode
from whorl.reads.fact_words import words as fact_words
from whorl.store.catalogue import Listed

from . import words
from .opened import opened
from .output import common, facts, heading, line, say
from .refusal import Refusal, Trouble
from .selection import entry_named

__all__ = ["command", "described"]


@click.command("show")
@click.argument("key")
@click.option(
    "--extract",
    metavar="PAYLOAD",
    help="Write this payload to the standard output, unpacked if it is kept compressed.",
)
@common
def command(key: str, extract: str | None, as_json: bool, cache_dir: str | None) -> None:
    """Show one entry: every part of its key, what it holds, when it was made, how long it took.

    KEY is a key as `whorl ls` prints it, or its first digits as long as they name one entry.

    \b
    Example:
      whorl show 3fa9
      whorl show 3fa9 --extract llvm | less
    """  # \b is click's
    if extract is not None and as_json:
        raise Refusal("--extract writes the payload as it is, not JSON: leave --json out.")
    row, entry = entry_named(opened(cache_dir), key)
    if extract is not None:
        _extract(entry, extract)
        return
    told = described(row, entry)
    if as_json:
        say(told)
    else:
        _print(told)


def described(row: Listed, entry: Entry) -> dict[str, Any]:
    """Everything that an entry says of itself, as what JSON has; `Trouble` if it makes no sense."""
    try:
        return _described(row, entry)
    except Damaged as damaged:
        raise _unreadable(entry, damaged) from None


def _unreadable(entry: Entry, damaged: Damaged) -> Trouble:
    return Trouble(f"{entry.key} cannot be read: {damaged}. See whorl verify.")


def _described(row: Listed, entry: Entry) -> dict[str, Any]:
    label = entry.label
    seen = [
        {"path": str(each.read.path), "aspect": each.read.aspect.value,
         "fact": fact_words(each.fact, each.read.aspect), "line": each.line}
        for each in _trace(entry)
    ]  # fmt: skip
    return {
        **row.as_plain(),
        "parts": [{"name": part.name, "text": part.text} for part in label.parts],
        "reads": seen,
        "metadata": _metadata(entry),
        "payloads": [
            {"name": place.name, "size": place.size, "digest": place.digest}
            for place in entry.payloads
        ],
    }


def _trace(entry: Entry) -> tuple[Any, ...]:
    try:
        record = decode(entry)
    except Damaged:  # an entry of another kind than these two
        return ()
    return record.trace.seen if isinstance(record, Artifact) else ()


def _metadata(entry: Entry) -> dict[str, str]:
    """What is kept beside the payloads, in words."""
    try:
        record = decode(entry)
    except Damaged:
        return {"record": repr(entry.record)}
    if isinstance(record, Manifest):
        rows = {f"shape {i}": f"{len(s.reads)} reads" for i, s in enumerate(record.shapes)}
        return {"program": str(record.program), **rows}
    return {name: repr(value) for name, value in record.metadata.items()}


def _extract(entry: Entry, name: str) -> None:
    try:
        data = entry.payload(name)
    except KeyError:
        has = ", ".join(place.name for place in entry.payloads) or "none"
        raise Refusal(f"{entry.key} has no payload {name!r}; it has {has}.") from None
    except Damaged as damaged:
        raise _unreadable(entry, damaged) from None
    sys.stdout.flush()
    sys.stdout.buffer.write(_unpacked(bytes(data)))


def _unpacked(data: bytes) -> bytes:
    """A payload as it was before it was kept small; kernels keep their texts so."""
    if data[:1] != _ZLIB:
        return data
    unpacking = zlib.decompressobj()
    try:
        whole = unpacking.decompress(data) + unpacking.flush()
    except zlib.error:
        return data
    return whole if unpacking.eof and not unpacking.unused_data else data


_ZLIB: Final = b"\x78"  # what a stream of zlib's begins with


def _print(told: dict[str, Any]) -> None:
    heading(f"{told['key']}  {told['kind']}")
    facts(
        [
            ("program", told["program"] or "-"),
            ("made", f"{words.moment(told['made'])}, {words.ago(told['made'])}"),
            ("took", words.duration(told["seconds"])),
            ("last used", words.ago(told["used"])),
            ("size", words.size(told["size"])),
            ("toolchain", told["toolchain"] or "-"),
            *([("group", told["group"])] if told["group"] else []),
        ],
        "  ",
    )
    _section("parts of the key", [(part["name"], part["text"]) for part in told["parts"]])
    _section(
        "payloads",
        [(p["name"], f"{words.size(p['size'])}, digest {p['digest']}") for p in told["payloads"]],
    )
    lines = [(f"{r['path']}", r["line"]) for r in told["reads"] if r["line"]]
    _section("read at", lines)
    _section("metadata", [(name, _short(text)) for name, text in told["metadata"].items()])


def _section(title: str, rows: list[tuple[str, str]]) -> None:
    if rows:
        line()
        heading(title)
        facts(rows, "  ")


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:299]}…  (--json has all of it)"
