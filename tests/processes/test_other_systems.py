"""Nothing that only POSIX has is imported where a module begins: whorl can be imported anywhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes.programs import ROOT

ONLY_POSIX = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
SOURCES = sorted((ROOT / "src" / "whorl").rglob("*.py"))


def imported_at_once(body: list[ast.stmt]) -> Iterator[str]:
    """What the statements of a module import while it is imported, unless that may fail."""
    for node in body:
        match node:
            case ast.Import(names):
                yield from (each.name.partition(".")[0] for each in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
            case ast.If() if "sys.platform" in ast.unparse(node.test):
                pass  # who asks for the system knows what it has
            case ast.If() | ast.With() | ast.For() | ast.ClassDef():
                yield from imported_at_once(node.body)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_begins_without_what_only_posix_has(path: Path) -> None:
    found = {*imported_at_once(ast.parse(path.read_text(encoding="utf-8")).body)} & ONLY_POSIX
    assert not found


def test_such_an_import_would_be_noticed() -> None:
    for text in ("import fcntl", "from pwd import getpwuid", "if True:\n    import resource"):
        assert {*imported_at_once(ast.parse(text).body)} & ONLY_POSIX
    quiet = "try:\n    import fcntl\nexcept ImportError:\n    pass\ndef f():\n    import pwd"
    assert not {*imported_at_once(ast.parse(quiet).body)} & ONLY_POSIX
