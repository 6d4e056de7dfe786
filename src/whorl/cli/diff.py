"""The keys of two entries in, the parts and facts that differ out."""

from __future__ import annotations

from typing import Any

import click

from .opened import opened
from .output import common, facts, heading, line, say
from .selection import entry_named
from .show import described

__all__ = ["command", "differences"]


@click.command("diff")
@click.argument("one")
@click.argument("other")
@common
@click.pass_context
def command(
    context: click.Context, one: str, other: str, as_json: bool, cache_dir: str | None
) -> None:
    """What differs between two entries: parts of their keys, facts that were read, payloads.

    Exit code 0 if they were made of the same, 1 if something differs.

    \b
    Example:
      whorl diff 3fa9 81c0
    """  # \b is click's
    store = opened(cache_dir)
    two = [described(*entry_named(store, key)) for key in (one, other)]
    found = differences(*two)
    if as_json:
        say({"one": two[0]["key"], "other": two[1]["key"], "differences": found})
    else:
        _print(two, found)
    context.exit(1 if found else 0)


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[dict[str, str]]:
    """Where two entries differ, what is absent on one side as such.

    >>> left = {"kind": "artifact", "parts": [{"name": "code", "text": "ab"}], "payloads": []}
    >>> right = {**left, "parts": [{"name": "code", "text": "cd"}]}
    >>> differences(left, right)
    [{'what': 'part', 'name': 'code', 'one': 'ab', 'other': 'cd'}]
    """
    found = []
    for what, rows in (("kind", _kinds), ("part", _parts), ("payload", _payloads)):
        left, right = rows(one), rows(other)
        found += [
            {
                "what": what, "name": name, "one": left.get(name, "absent"),
                "other": right.get(name, "absent"),
            }
            for name in {**left, **right}
            if left.get(name) != right.get(name)
        ]  # fmt: skip
    return found


def _kinds(told: dict[str, Any]) -> dict[str, str]:
    return {"kind": told["kind"]}


def _parts(told: dict[str, Any]) -> dict[str, str]:
    return {part["name"]: part["text"] for part in told["parts"]}


def _payloads(told: dict[str, Any]) -> dict[str, str]:
    return {p["name"]: f"{p['size']} bytes, digest {p['digest']}" for p in told["payloads"]}


def _print(two: list[dict[str, Any]], found: list[dict[str, str]]) -> None:
    for sign, told in zip("-+", two, strict=True):
        heading(f"{sign} {told['key']}  {told['kind']}  {told['program']}")
    if not found:
        line("nothing differs")
    for each in found:
        label = "" if each["what"] == "part" else f"{each['what']} "
        line()
        line(f"{label}{each['name']}", "cyan")
        facts([("-", each["one"]), ("+", each["other"])], "  ")
