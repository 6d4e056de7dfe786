"""`whorl diff`: shows the differences between two entries."""

from __future__ import annotations

from typing import Any

import click

from .cache_directory import open_store
from .output import common_options, print_facts, print_heading, print_json, print_line
from .selection import find_entry
from .show import describe_entry


@click.command("diff")
@click.argument("one")
@click.argument("other")
@common_options
@click.pass_context
def command(
    context: click.Context, one: str, other: str, as_json: bool, cache_dir: str | None
) -> None:
    """Show the differences between two entries: parts of their keys, facts, payloads.

    Exit code 0 if nothing differs, 1 if something does.

    \b
    Example:
      whorl diff 3fa9 81c0
    """  # \b is click's
    store = open_store(cache_dir)
    two = [describe_entry(*find_entry(store, key)) for key in (one, other)]
    rows = differences(*two)
    if as_json:
        print_json({"one": two[0]["key"], "other": two[1]["key"], "differences": rows})
    else:
        _print(two, rows)
    context.exit(1 if rows else 0)


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[dict[str, str]]:
    """The differences between two entries; a side that lacks a part has "absent".

    >>> left = {"kind": "artifact", "parts": [{"name": "code", "text": "ab"}], "payloads": []}
    >>> right = {**left, "parts": [{"name": "code", "text": "cd"}]}
    >>> differences(left, right)
    [{'what': 'part', 'name': 'code', 'one': 'ab', 'other': 'cd'}]
    """
    result = []
    for what, select in (("kind", _kinds), ("part", _parts), ("payload", _payloads)):
        left, right = select(one), select(other)
        result += [
            {
                "what": what, "name": name, "one": left.get(name, "absent"),
                "other": right.get(name, "absent"),
            }
            for name in {**left, **right}
            if left.get(name) != right.get(name)
        ]  # fmt: skip
    return result


def _kinds(entry: dict[str, Any]) -> dict[str, str]:
    return {"kind": entry["kind"]}


def _parts(entry: dict[str, Any]) -> dict[str, str]:
    return {part["name"]: part["text"] for part in entry["parts"]}


def _payloads(entry: dict[str, Any]) -> dict[str, str]:
    return {p["name"]: f"{p['size']} bytes, digest {p['digest']}" for p in entry["payloads"]}


def _print(two: list[dict[str, Any]], rows: list[dict[str, str]]) -> None:
    for sign, entry in zip("-+", two, strict=True):
        print_heading(f"{sign} {entry['key']}  {entry['kind']}  {entry['program']}")
    if not rows:
        print_line("nothing differs")
    for each in rows:
        label = "" if each["what"] == "part" else f"{each['what']} "
        print_line()
        print_line(f"{label}{each['name']}", "cyan")
        print_facts([("-", each["one"]), ("+", each["other"])], "  ")
