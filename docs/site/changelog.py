"""Gathers the news fragments into CHANGELOG.md: `make changelog`.

The fragments become the part of the page about the version that `src/whorl/version.py` names, by
the numbers of their issues, and are removed. What is there already of that version stays.
"""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FRAGMENTS = ROOT / "changelog.d"
PAGE = ROOT / "CHANGELOG.md"
HEAD = """# Changelog

What users notice, newest first. What comes next is in [changelog.d](changelog.d/README.md).
"""
NAME = re.compile(r"(\d+)\.(\w+)\.md")


def lines_of(fragments: Iterable[Path]) -> list[str]:
    """A line for each fragment, by issue and topic."""
    rows = []
    for path in fragments:
        match = NAME.fullmatch(path.name)
        if match is None:
            raise SystemExit(f"{path.name} is no name of a fragment: write <issue>.<topic>.md")
        text = " ".join(path.read_text(encoding="utf-8").split())
        if not text.endswith("."):
            raise SystemExit(f"{path.name} is no sentence: it does not end with a full stop")
        rows.append((int(match[1]), match[2], text))
    return [f"- {text}" for _, _, text in sorted(rows)]


def gathered(page: str, version: str, date: str, lines: list[str]) -> str:
    """The page with lines about a version, which come behind those that it has.

    >>> print(gathered("", "0.2.0", "2027-01-31", ["- One."]).partition("##")[2])
     0.2.0 (2027-01-31)
    <BLANKLINE>
    - One.
    <BLANKLINE>
    """
    parts = page.split("\n## ")[1:]
    if parts and parts[0].startswith(f"{version} "):
        lines = [*(line for line in parts.pop(0).splitlines() if line.startswith("- ")), *lines]
    new = "\n".join([f"{version} ({date})", "", *lines, ""])
    return "\n## ".join([HEAD, new, *parts])


def main() -> int:
    """Write the page and remove the fragments."""
    fragments = [path for path in sorted(FRAGMENTS.glob("*.md")) if path.name != "README.md"]
    source = (ROOT / "src" / "whorl" / "version.py").read_text(encoding="utf-8")
    version = re.findall(r'__version__ = "(.*)"', source)[0]
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    PAGE.write_text(gathered(page, version, date, lines_of(fragments)), encoding="utf-8")
    for path in fragments:
        path.unlink()
    print(f"{len(fragments)} fragments are in {PAGE.name}, under {version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
