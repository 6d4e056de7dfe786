"""Files and variables that are declared count; what is not declared is refused by its name."""

# ruff: noqa: PLW0108  # a lambda that calls is what is tested: what it calls is one call away

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

import whorl
import whorl.testing
from tests.steps.programs import Edits, named
from whorl.store import Cache


def test_a_file_that_changes_while_the_function_runs_is_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text("1")

    @whorl.cached(by_content=["path"], ignores=["file"])
    def read(path: Path, other: str) -> str:
        before = path.read_text()
        path.write_text(other)
        return before

    assert read(file, "2") == "1"
    assert read.stats()["not kept"] == 1
    assert read(file, "3") == "2"


def test_a_linked_directory_in_a_declared_directory_counts(tmp_path: Path) -> None:
    tables, elsewhere = tmp_path / "tables", tmp_path / "elsewhere"
    tables.mkdir()
    elsewhere.mkdir()
    (elsewhere / "a.txt").write_text("1")
    (tables / "link").symlink_to(elsewhere)
    (tables / "round").symlink_to(tables)
    (tables / "broken").symlink_to(tmp_path / "nowhere")
    read = whorl.cached(files=[tables])(lambda: (tables / "link" / "a.txt").read_text())
    assert read() == "1"
    (elsewhere / "a.txt").write_text("2")
    assert read() == "2"


def test_a_path_that_a_cached_function_is_given_is_not_declared_for_who_calls_it() -> None:
    read = whorl.cached(by_content=["path"])(lambda path: Path(path).read_text())
    with pytest.raises(whorl.UnsupportedFunction, match="read_text"):
        whorl.cached(lambda: read("table")).key()


def test_an_empty_directory_inside_of_one_that_is_declared_counts(
    store: Cache, tmp_path: Path
) -> None:
    place = tmp_path / "data"
    place.mkdir()

    @whorl.cached(store=store, files=[place])
    def listed() -> list[str]:
        return sorted(held.name for held in place.iterdir())

    assert listed() == []
    (place / "new").mkdir()
    assert listed() == ["new"]
    (place / "new" / "inner").mkdir()
    assert listed() == ["new"]


@pytest.mark.parametrize("name", ["getsource", "getsourcelines", "getcomments"])
def test_the_text_of_a_program_has_to_be_declared(edits: Edits, name: str) -> None:
    program = f"import inspect\ndef helper(): ...\ndef f(): return str(inspect.{name}(helper))\n"
    scope = edits.load(program, 0)
    with pytest.raises(whorl.UnsupportedFunction, match=rf"inspect\.{name}.* file system"):
        whorl.cached(store=edits.store)(scope["f"])()
    declared = whorl.cached(store=edits.store, files=["version_0.py"])(scope["f"])
    assert declared() == scope["f"]()


UNDECLARED: dict[str, str] = {
    "get":
        "from os import environ\n"
        "def f(): return environ.get('FIFTH_A', '') + environ.get('FIFTH_B', '')",
    "an item": "import os\ndef f(): return 'FIFTH_A' and os.environ['FIFTH_B']",
    "getenv": "from os import getenv\ndef f(): return getenv('FIFTH_B')",
    "in": "import os\ndef f(): return 'FIFTH_B' in os.environ",
    "in the body": "def f():\n    import os\n    return os.environ.get('FIFTH_B')",
    "imported in the body":
        "def f():\n    from os import environ\n    return environ.get('FIFTH_B')",
    "another name": "import os\nENV = os.environ\ndef f(): return ENV.get('FIFTH_B')",
    "a helper": "import os\ndef g(): return os.environ.get('FIFTH_B')\ndef f(): return g()",
    "open":
        "def f():\n    with open('fifth_b.txt') as file:\n        return file.read()",
    "open in a mode":
        "def f():\n    with open('fifth_b.txt', 'rb') as file:\n        return file.read()",
}  # fmt: skip


@named(UNDECLARED)
def test_a_name_that_was_not_declared_is_refused_though_another_was(
    edits: Edits, program: str
) -> None:
    declared: dict[str, Any] = {"environment": ["FIFTH_A"], "files": ["fifth_a.txt"]}
    scope = edits.load(program, 0)
    with pytest.raises(whorl.UnsupportedFunction, match=r"FIFTH_B|fifth_b\.txt"):
        whorl.cached(store=edits.store, **declared)(scope["f"])()


def test_names_that_were_declared_and_names_that_nobody_can_know_are_let_through(
    edits: Edits, monkeypatch: pytest.MonkeyPatch
) -> None:
    (edits.folder / "data").mkdir()
    (edits.folder / "data" / "a.txt").write_text("a")
    (edits.folder / "b.txt").write_text("b")
    monkeypatch.chdir(edits.folder)
    monkeypatch.setenv("FIFTH_A", "1")
    program = textwrap.dedent(
        """
        import os
        NAME = "FIFTH_" + "B"
        def f():
            with open("data/a.txt") as one, open("b.txt", mode="rb") as other:
                found = one.read(), other.read()
            with open("log.txt", "w") as log:
                log.write("written, not read")
            return found, os.environ["FIFTH_A"], os.environ.get(NAME)
        """
    )
    scope = edits.load(program, 0)
    options: dict[str, Any] = {
        "environment": ["FIFTH_A"],
        "files": ["data", edits.folder / "b.txt"],
    }
    assert whorl.cached(store=edits.store, **options)(scope["f"])() == scope["f"]()


BUILT = {
    "open by an f-string": "content(open(f'd_{n}.csv'))",
    "open by a sum": "content(open('d_' + str(n) + '.csv'))",
    "open by a remainder": "content(open('d_%d.csv' % n))",
    "open by a method": "content(open('d_{}.csv'.format(n)))",
    "a variable by a sum": "os.environ.get('APP_' + str(n))",
    "a variable by a method": "os.environ.get('app_{}'.format(n).upper())",
    "a variable by a subscript": "os.environ.get(NAMES[0])",
    "written in one of many ways": (
        "[open('o', mode).close() for mode in ('w', 'a')] and open('o', 'w+').close() or "
        "open('o', 'bw').close() or open('o', encoding='utf-8', mode='a').close()"
    ),
}


@pytest.mark.parametrize("name", BUILT)
def test_names_that_are_put_together_are_not_taken_for_their_parts(
    tmp_path: Path, store: Cache, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d_1.csv").write_text("1", encoding="utf-8")
    scope = Edits(tmp_path, store, monkeypatch).load(
        "def content(file):\n    with file:\n        return file.read()\n"
        f"import os\nNAMES = ('APP_1',)\ndef f(n):\n    return {BUILT[name]}\n",
        1,
    )
    cached = whorl.cached(store=store, files=["d_1.csv"], environment=["APP_1"])(scope["f"])
    assert cached(1) == scope["f"](1)
