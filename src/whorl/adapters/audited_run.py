"""Runs a program against the cache of its own compiler, and collects what that cache served.

An adapter that can do this has a row in `AUDITORS`: the variables by which the compiler of a
program, in all its processes, lets an auditor of the adapter look on. The auditor writes a line of
JSON for each entry that it sees.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from whorl.fast_dataclasses import dataclass
from whorl.store.journal import Change

LINES: Final = "WHORL_AUDIT_LINES"
"""The variable that names the file which auditors add their lines to."""

AUDITORS: Final[dict[str, dict[str, str]]] = {
    "numba": {"NUMBA_CACHE_LOCATOR_CLASSES": "whorl.adapters.numba.Auditor"},
}

STALE: Final = "stale"
RIGHT: Final = "right"
UNKNOWN: Final = "unknown"
COMPILED: Final = "compiled"


@dataclass(frozen=True, slots=True)
class SeenEntry:
    """One entry of a compiler's own cache, as it was found or made.

    `verdict` is "stale" if something differs from when it was made, "right" if nothing does,
    "unknown" if it was made before it could be recorded, or if nobody can tell what it was made of,
    and "compiled" if it was made now. `reason` says why it is unknown, `newer` which files were
    written after it.
    """

    function: str
    types: str
    verdict: str
    entry: str
    changes: tuple[Change, ...] = ()
    reason: str = ""
    newer: tuple[str, ...] = ()

    def as_plain(self) -> dict[str, Any]:
        """As values for JSON."""
        fields = ("path", "old", "new", "line")
        return {
            "function": self.function,
            "types": self.types,
            "verdict": self.verdict,
            "entry": self.entry,
            "changes": [dict(zip(fields, change, strict=False)) for change in self.changes],
            "reason": self.reason,
            "newer": list(self.newer),
        }


@dataclass(frozen=True, slots=True)
class AuditedRun:
    """How a program ended, and the entries that it was served or made."""

    code: int
    entries: list[SeenEntry]


def add_line(seen: SeenEntry) -> None:
    """Report an entry to the process that runs the audit; nothing without one."""
    file = os.environ.get(LINES)
    if file:
        line = json.dumps(seen.as_plain()) + "\n"
        with Path(file).open("ab", buffering=0) as stream:  # whole lines, whoever else writes
            stream.write(line.encode())


def run_audited(
    adapter: str,
    words: Sequence[str],
    environment: Mapping[str, str],
    *,
    output: int | None = None,
) -> AuditedRun:
    """Run Python with these words under an auditor. `output` is a file's number.

    >>> run_audited("numba", ["-c", "pass"], os.environ)
    AuditedRun(code=0, entries=[])
    """
    with tempfile.TemporaryDirectory(prefix="whorl-audit-") as folder:
        lines = Path(folder) / "lines"
        code = subprocess.run(
            [sys.executable, *words],
            env={**environment, **AUDITORS[adapter], LINES: str(lines)},
            stdout=output,
            check=False,
        ).returncode
        return AuditedRun(code, [*_entries(lines)] if lines.exists() else [])


def _entries(lines: Path) -> Iterator[SeenEntry]:
    for line in lines.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        row["changes"] = tuple(Change(**change) for change in row["changes"])
        row["newer"] = tuple(row["newer"])
        yield SeenEntry(**row)
