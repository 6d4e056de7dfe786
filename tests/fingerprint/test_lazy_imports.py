"""A lazy import (PEP 810, from Python 3.15 on) counts as what it stands for."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import whorl.testing
from tests.fingerprint.programs import Programs

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 15), reason="lazy imports are new in Python 3.15"
)

USES = {
    "a module": ("import other", "other.X"),
    "a module by another name": ("import other as o", "o.X"),
    "a name": ("from other import X", "X"),
    "a function": ("from other import get", "get()"),
    "a module in a package": ("import pack.inner", "pack.inner.X"),
    "a name of a package": ("from pack import inner", "inner.X"),
}


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    return Programs(tmp_path)


class Other:
    """A program that imports others, each edit in a folder of its own."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._patch = patch
        self._count = 0

    def load(self, text: str, value: object, rest: str = "") -> Any:
        """The program, beside modules in which X has a value."""
        self._count += 1
        folder = self._folder / f"v{self._count}"
        (folder / "pack").mkdir(parents=True)
        other = f"X = {value!r}\ndef get(): return X\n{rest}"
        (folder / "other.py").write_text(other)
        (folder / "pack" / "__init__.py").write_text("")
        (folder / "pack" / "inner.py").write_text(other)
        (folder / "lazy_program.py").write_text(textwrap.dedent(text))
        for name in ("other", "pack", "pack.inner", "lazy_program"):
            self._patch.delitem(sys.modules, name, raising=False)
        self._patch.syspath_prepend(folder)
        import lazy_program  # type: ignore[import-not-found]  # written just now

        return lazy_program


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Other:
    return Other(tmp_path, monkeypatch)


@pytest.mark.parametrize("use", [*USES])
def test_it_counts_like_an_import_at_once_and_edits_are_noticed(other: Other, use: str) -> None:
    statement, expression = USES[use]
    text = f"{statement}\ndef f(): return {expression}\n"
    at_once = [whorl.fingerprint(other.load(text, value).f) for value in (1, 2)]
    lazily = [whorl.fingerprint(other.load(f"lazy {text}", value).f) for value in (1, 2)]
    assert at_once == lazily
    assert at_once[0] != at_once[1]


@pytest.mark.parametrize("use", [*USES])
def test_it_counts_the_same_once_it_was_used(other: Other, use: str) -> None:
    statement, expression = USES[use]
    program = other.load(f"lazy {statement}\ndef f(): return {expression}\n", 1)
    before = whorl.fingerprint(program.f)
    assert program.f() == 1
    assert whorl.fingerprint(program.f) == before


@pytest.mark.parametrize("use", [*USES])
def test_a_cached_function_that_uses_one_runs_again_after_an_edit(other: Other, use: str) -> None:
    statement, expression = USES[use]
    text = f"import whorl\nlazy {statement}\n@whorl.cached\ndef f(): return {expression}\n"
    with whorl.testing.fresh_cache():
        found = [(other.load(text, value).f(), value) for value in (1, 2, 1)]
        assert [got for got, _ in found] == [1, 2, 1]
        program = other.load(text, 1)
        assert [program.f() for _ in range(3)] == [1, 1, 1]
        assert program.f.stats()["ran"] == 0


def test_what_is_not_used_is_not_imported(other: Other) -> None:
    text = "lazy import other\nlazy import pack.inner\ndef f(): return other.X\n"
    program = other.load(text, 1)
    whorl.fingerprint(program.f)
    assert "other" in sys.modules
    assert "pack.inner" not in sys.modules


def test_one_that_leads_nowhere_is_no_error_until_it_is_used(other: Other) -> None:
    program = other.load("lazy import nowhere\ndef f(): return nowhere.X\ndef g(): return 1\n", 1)
    assert whorl.fingerprint(program.g)
    missing = whorl.fingerprint(program.f)
    defined = other.load("lazy import other as nowhere\ndef f(): return nowhere.X\n", 1)
    assert whorl.fingerprint(defined.f) != missing


def test_one_that_fails_is_refused_with_the_name_of_the_module(other: Other) -> None:
    program = other.load("lazy import other\ndef f(): return other.X\n", 1, rest="1 / 0\n")
    with pytest.raises(whorl.UnsupportedValue, match=r"other.*ZeroDivisionError"):
        whorl.fingerprint(program.f)


def test_a_module_counts_whole_with_what_it_imports_lazily(other: Other) -> None:
    text = "{}from other import X\n"
    first, second, edited = (
        whorl.fingerprint(other.load(text.format("lazy "), value)) for value in (1, 1, 2)
    )
    assert first == second
    assert edited != first


def test_a_library_that_is_imported_lazily_counts_like_any(other: Other) -> None:
    text = "import math\nfrom math import sqrt\ndef f(): return math.pi, sqrt(2)\n"
    at_once = whorl.fingerprint(other.load(text, 1).f)
    lazily = text.replace("import math\n", "lazy import math\n").replace("from", "lazy from")
    assert whorl.fingerprint(other.load(lazily, 1).f) == at_once


def test_it_counts_in_annotations_too(other: Other) -> None:
    text = "{}from decimal import Decimal\ndef f(x: Decimal): pass\n"
    at_once, lazily = (
        whorl.fingerprint(other.load(text.format(how), 1).f) for how in ("", "lazy ")
    )
    assert at_once == lazily


def test_modules_named_in_lazy_modules_count_the_same(other: Other) -> None:
    text = "import other\ndef f(): return other.X\n"
    at_once = whorl.fingerprint(other.load(text, 1).f)
    assert whorl.fingerprint(other.load(f"__lazy_modules__ = {{'other'}}\n{text}", 1).f) == at_once
