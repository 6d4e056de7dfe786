"""`whorl show`: prints everything about one entry, without executing anything in it."""

from __future__ import annotations

import sys
import zlib
from typing import Any, Final

import click

from whorl.artifacts import Artifact, Damaged, Entry, Manifest, decode
from whorl.reads.fact_words import words as fact_words
from whorl.store.catalogue import Listed
from whorl.store.foreign_entry import FOREIGN, key_parts

from . import units
from .cache_directory import open_store
from .failures import CommandFailure, UsageFailure
from .output import common_options, print_facts, print_heading, print_json, print_line
from .selection import find_entry


@click.command("show")
@click.argument("key")
@click.option(
    "--extract",
    metavar="PAYLOAD",
    help="Write this payload to the standard output, decompressed if necessary.",
)
@common_options
def command(key: str, extract: str | None, as_json: bool, cache_dir: str | None) -> None:
    """Show one entry: every part of its key, its payloads, its age, how long it took.

    KEY is a key as `whorl ls` prints it, or enough of its first digits to identify one entry.

    \b
    Example:
      whorl show 3fa9
      whorl show 3fa9 --extract llvm | less
    """  # \b is click's
    if extract is not None and as_json:
        raise UsageFailure("--extract writes the payload itself, not JSON: leave out --json.")
    row, entry = find_entry(open_store(cache_dir), key)
    if extract is not None:
        _extract(entry, extract)
        return
    description = describe_entry(row, entry)
    if as_json:
        print_json(description)
    else:
        _print(description)


def describe_entry(row: Listed, entry: Entry) -> dict[str, Any]:
    """Everything about an entry, as JSON; `CommandFailure` if it cannot be decoded."""
    try:
        return _describe_entry(row, entry)
    except Damaged as damaged:
        raise _unreadable(entry, damaged) from None


def _unreadable(entry: Entry, damaged: Damaged) -> CommandFailure:
    return CommandFailure(f"{entry.key} cannot be read: {damaged}. See whorl verify.")


def _describe_entry(row: Listed, entry: Entry) -> dict[str, Any]:
    label = entry.label
    reads = [
        {"path": str(each.read.path), "aspect": each.read.aspect.value,
         "fact": fact_words(each.fact, each.read.aspect), "line": each.line}
        for each in _trace(entry)
    ] + [
        {"path": part.path, "aspect": "value", "fact": part.text, "line": part.place}
        for part in key_parts(entry)
    ]  # fmt: skip
    return {
        **row.as_plain(),
        "parts": [{"name": part.name, "text": part.text} for part in label.parts],
        "reads": reads,
        "metadata": _metadata(entry),
        "payloads": [
            {"name": place.name, "size": place.size, "digest": place.digest}
            for place in entry.payloads
        ],
    }


def _trace(entry: Entry) -> tuple[Any, ...]:
    try:
        record = decode(entry)
    except Damaged:  # neither an artifact nor a manifest
        return ()
    return record.trace.seen if isinstance(record, Artifact) else ()


def _metadata(entry: Entry) -> dict[str, str]:
    """The metadata of an entry, as text."""
    try:
        record = decode(entry)
    except Damaged:
        match entry.record:
            case [kind, _, signature] if kind == FOREIGN:
                return {"sealed": "yes" if signature else "no"}
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
        raise UsageFailure(f"{entry.key} has no payload {name!r}; it has {has}.") from None
    except Damaged as damaged:
        raise _unreadable(entry, damaged) from None
    sys.stdout.flush()
    sys.stdout.buffer.write(_decompressed(bytes(data)))


def _decompressed(data: bytes) -> bytes:
    """Decompress a payload if it is compressed, as the texts of kernels are."""
    if data[:1] != _ZLIB:
        return data
    decompressor = zlib.decompressobj()
    try:
        whole = decompressor.decompress(data) + decompressor.flush()
    except zlib.error:
        return data
    return whole if decompressor.eof and not decompressor.unused_data else data


_ZLIB: Final = b"\x78"  # the first byte of a zlib stream


def _print(entry: dict[str, Any]) -> None:
    print_heading(f"{entry['key']}  {entry['kind']}")
    print_facts(
        [
            ("program", entry["program"] or "-"),
            ("made", f"{units.moment(entry['made'])}, {units.ago(entry['made'])}"),
            ("took", units.duration(entry["seconds"])),
            ("last used", units.ago(entry["used"])),
            ("size", units.size(entry["size"])),
            ("toolchain", entry["toolchain"] or "-"),
            *([("group", entry["group"])] if entry["group"] else []),
        ],
        "  ",
    )
    _section("parts of the key", [(part["name"], part["text"]) for part in entry["parts"]])
    _section(
        "payloads",
        [(p["name"], f"{units.size(p['size'])}, digest {p['digest']}") for p in entry["payloads"]],
    )
    lines = [(f"{r['path']}", r["line"]) for r in entry["reads"] if r["line"]]
    _section("read at", lines)
    _section("metadata", [(name, _short(text)) for name, text in entry["metadata"].items()])


def _section(title: str, rows: list[tuple[str, str]]) -> None:
    if rows:
        print_line()
        print_heading(title)
        print_facts(rows, "  ")


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:299]}…  (--json has all of it)"
