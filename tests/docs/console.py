"""A Markdown page in, its console blocks run: every `$ command` with the output below it.

Run as a script with the name of a page: prints the page with the outputs of now.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Step", "outputs", "steps", "unlike"]

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SHELL = 'python() { "$PYTHON" "$@"; }; whorl() { "$PYTHON" -m whorl "$@"; }; '

# What is another each time: digests, moments, numbers, the processor.
_VARYING = (
    (re.compile(r"x86-64(-v\d)?|generic"), "LEVEL"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "MOMENT"),
    (re.compile(r"\b[0-9a-f]{8,32}\b"), "DIGEST"),
    (re.compile(r"\b\d+(\.\d+)?( (µs|ms|s|min|B|KiB|MiB))?( \d+ s)?\b"), "N"),
    (re.compile(r"[ \t]+"), " "),
)


class Step(NamedTuple):
    """A command, and what stands below it."""

    command: str
    shown: str


def steps(page: str) -> list[Step]:
    """The commands of a page in order."""
    found = []
    for block in _BLOCK.finditer(page):
        for part in re.split(r"^\$ ", block[1], flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            found.append(Step(command, shown))
    return found


def outputs(page: str, folder: Path) -> Iterator[str]:
    """What the commands of a page print, run in a folder that holds its program as solver.py."""
    program = _PROGRAM.search(page)
    assert program is not None
    (folder / "solver.py").write_text(program[1], encoding="utf-8")
    clean = {name: text for name, text in os.environ.items() if not name.startswith("WHORL_")}
    variables = {**clean, "PYTHON": sys.executable, "WHORL_CACHE_DIR": str(folder / "cache")}
    for step in steps(page):
        done = subprocess.run(
            ["bash", "-c", _SHELL + step.command],
            cwd=folder, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=60, check=False,
        )  # fmt: skip
        yield done.stdout.replace(str(folder), "~")


def unlike(text: str) -> str:
    """A text without what is another each time."""
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text.strip()


def _renewed(page: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        printed = outputs(page, Path(folder))
        return _BLOCK.sub(
            lambda block: (
                "```console\n"
                + "".join(f"$ {step.command}\n{next(printed)}" for step in steps(f"{block[0]}\n"))
                + "```"
            ),
            page,
        )


if __name__ == "__main__":
    sys.stdout.write(_renewed(Path(sys.argv[1]).read_text(encoding="utf-8")))
