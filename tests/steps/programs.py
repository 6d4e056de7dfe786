"""Programs in the versions that an edit makes of them, and how often their functions ran."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import whorl
from whorl.store import Cache


def ran(function: Any) -> int:
    """How often a cached function or step ran."""
    return int(function.stats()["ran"])


class Edits:
    """A program of one module, in the versions that an edit makes of it."""

    def __init__(self, folder: Path, store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.store = store
        self._patch = monkeypatch

    def load(self, text: str, number: int) -> dict[str, Any]:
        """The module with this text, as a process that begins now has it."""
        path = self.folder / f"version_{number}.py"
        path.write_text(text, encoding="utf-8")
        module = type(sys)("program_of_this_test")
        self._patch.setitem(sys.modules, module.__name__, module)
        exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)
        return module.__dict__

    def answers(self, program: str, **options: Any) -> list[tuple[Any, Any, int]]:
        """For the program before the edit, after it and before it again: what the cached `f`
        returns, what it should return, and how often it ran."""
        program = textwrap.dedent(program)
        found = []
        for number, group in enumerate((1, 2, 1)):
            text = re.sub(r"\{\{(.*?) => (.*?)\}\}(?!\})", rf"\{group}", program, flags=re.DOTALL)
            scope = self.load(text, number)
            cached = whorl.cached(store=self.store, **options)(scope["f"])
            found.append((cached(), scope["f"](), cached.stats()["ran"]))
        return found

    def is_noticed(self, program: str, **options: Any) -> None:
        """The edit changes what the function returns, and the cached one returns just that."""
        found = self.answers(program, **options)
        assert [answer for answer, _, _ in found] == [truth for _, truth, _ in found]
        assert found[0][1] != found[1][1], "an edit that nobody can see"
        assert [ran for _, _, ran in found] == [1, 1, 0]


def named(programs: Mapping[str, str]) -> pytest.MarkDecorator:
    """A test for each program, under its name."""
    return pytest.mark.parametrize("program", programs.values(), ids=programs)
