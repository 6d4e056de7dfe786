"""A Markdown page in, what a reader is told to do out: files to save, edits, commands with output.

Blocks with a title are steps. What they are is said by their language:

    ```python title="heat.py"      save this file
    ```diff title="heat.py"        edit it: lines with - and a space become lines with + and a space
    ```console title="in a shell"  run what follows each $, and see the lines below it

Commands run one by one in the reader's directory, so nothing that one sets is there for the
next. In output `...` stands for whatever there is, as in doctests, and how long something took
(`12 ms`) may differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r'^(?P<ticks>`{3,})(?P<language>[\w+-]+) title="(?P<title>[^"]+)"\n(?P<text>.*?)^(?P=ticks)$',
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Save:
    """A file that the page shows."""

    line: int
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to a file that is there."""

    line: int
    name: str
    old: str
    new: str

    def apply(self, directory: Path) -> None:
        path = directory / self.name
        text = path.read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"line {self.line}: what is to be edited is not once in {self.name}")
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Command:
    """A command, and what it prints."""

    line: int
    text: str
    output: str


Step = Save | Edit | Command


def steps(page: str) -> list[Step]:
    """What a page tells its reader to do, in order."""
    found: list[Step] = []
    for block in FENCE.finditer(page):
        line = page.count("\n", 0, block.start()) + 2
        name, text = block["title"], block["text"]
        match block["language"]:
            case "console":
                found += _commands(line, text)
            case "diff":
                found.append(_edit(line, name, text))
            case _:
                found.append(Save(line, name, text))
    return found


def _commands(line: int, text: str) -> list[Step]:
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    if parts[0].strip():
        raise ValueError(f"line {line}: output without a command")
    commands: list[Step] = []
    for part in parts[1:]:
        command = re.match(r"(?:[^\n]*\\\n)*[^\n]*\n?", part)
        assert command is not None  # it matches whatever there is
        commands.append(Command(line, command[0].rstrip("\n"), part[command.end() :].rstrip("\n")))
        line += part.count("\n")
    return commands


def _edit(line: int, name: str, text: str) -> Edit:
    rows = [(row[:1] or " ", row[1:]) for row in text.splitlines()]
    strange = [row for row in rows if row[0] not in "+- "]
    if strange:
        raise ValueError(f"line {line}: a line of an edit begins with +, - or a space")
    old, new = ("".join(f"{row}\n" for sign, row in rows if sign != other) for other in ("+", "-"))
    return Edit(line, name, old, new)
