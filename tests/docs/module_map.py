"""The list of all modules in ARCHITECTURE.md, made from their docstrings.

`python -m tests.docs.module_map` writes it anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.processes.programs import ROOT

__all__ = ["PAGE", "module_map", "written_map"]

PAGE = ROOT / "ARCHITECTURE.md"
HEADING = "## Every module\n"
PACKAGES = (
    "", "fingerprint", "fingerprint/rules", "reads", "artifacts", "store", "calls", "jit", "steps",
    "systems", "launch", "native_walk", "kernels", "kernels/library", "kernels/lowering",
    "kernels/passes", "kernels/emit", "ufuncs", "compat", "compat/numba", "adapters",
    "adapters/numba", "fleet",
    "remote", "shipping", "testing", "cli",
)  # fmt: skip


def module_map(source: Path = ROOT / "src" / "whorl") -> str:
    """A table for each package: its modules, with the first sentence of each."""
    listed = {path.parent for path in source.rglob("*.py")}
    missing = listed - {source / package for package in PACKAGES}
    assert not missing, f"these packages have no place in PACKAGES: {missing}"
    return "\n".join(line for package in PACKAGES for line in _table(source, package))


def written_map() -> str:
    """What the page says now."""
    return PAGE.read_text().partition(HEADING)[2].strip() + "\n"


def _table(source: Path, package: str) -> Iterator[str]:
    yield f"### `{package or 'whorl'}/`\n"
    yield "| module | |"
    yield "|---|---|"
    for path in sorted((source / package).glob("*.py")):
        if not path.stem.startswith("__"):
            yield f"| `{path.stem}` | {_first_sentence(path)} |"
    yield ""


def _first_sentence(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring, f"{path} has no docstring"
    return " ".join(docstring.partition("\n\n")[0].split()).replace("|", "\\|")


if __name__ == "__main__":
    text = PAGE.read_text().partition(HEADING)[0]
    PAGE.write_text(f"{text}{HEADING}\n{module_map()}".rstrip() + "\n")
