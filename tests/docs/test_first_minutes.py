"""What README.md and the guides tell their reader to do works, in a fresh directory, as printed."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown_steps import Command, Edit, Save, steps
from whorl.launch.level import host_level

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if steps(page.read_text(encoding="utf-8"))
    and not page.name.startswith("adapters_")  # tests/adapters/test_guides.py follows these
]


def environment(home: Path) -> dict[str, str]:
    """That of somebody who has just come: no settings, an empty cache, whorl's Python first."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("WHORL_", "XDG_", "PYTEST_", "PYTHON"))
    }
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}",
        "HOME": str(home),
        "PYTHONDONTWRITEBYTECODE": "1",  # two edits within a second would be one to a .pyc
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }


def follow(page: str, directory: Path, home: Path) -> str:
    """Do what a page says; what went otherwise than it says, or nothing."""
    (directory / ".venv").symlink_to(sys.prefix)
    surroundings = environment(home)
    for step in steps(page):
        match step:
            case Save(_, name, text):
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                (directory / name).write_text(text, encoding="utf-8")
            case Edit():
                step.apply(directory)
            case Command():
                if "x86-64" in step.text and not is_like_the_pages():
                    pytest.skip("the page is about Linux on x86-64-v2 and above")
                if step.text.split()[0] == "whorl" and not has_command(surroundings):
                    pytest.skip(f"followed up to line {step.line}: there is no whorl command here")
                trouble = run(step, directory, surroundings)
                if trouble:
                    return trouble
    return ""


def has_command(surroundings: dict[str, str]) -> bool:
    return shutil.which("whorl", path=surroundings["PATH"]) is not None


def is_like_the_pages() -> bool:
    return sys.platform == "linux" and host_level().startswith("x86-64-v")


def timeless(text: str) -> str:
    return re.sub(r"\b\d+(\.\d+)? (s|ms|µs|ns)\b", r"some \2", text)


def run(step: Command, directory: Path, surroundings: dict[str, str]) -> str:
    ended = subprocess.run(
        ["bash", "-c", step.text],
        cwd=directory,
        env=surroundings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=120,
        check=False,
    )
    wanted, got = (f"{text.rstrip()}\n" for text in (step.output, ended.stdout))
    if doctest.OutputChecker().check_output(timeless(wanted), timeless(got), doctest.ELLIPSIS):
        return ""
    return f"line {step.line}: $ {step.text}\n-- the page says\n{wanted}-- it printed\n{got}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_who_does_what_a_page_says_sees_what_it_says(page: Path, tmp_path: Path) -> None:
    directory, home = tmp_path / "here", tmp_path / "home"
    directory.mkdir()
    home.mkdir()
    trouble = follow(page.read_text(encoding="utf-8"), directory, home)
    if trouble:
        pytest.fail(f"{page.relative_to(ROOT).as_posix()}, {trouble}", pytrace=False)


def test_the_first_pages_are_followed() -> None:
    followed = {page.relative_to(ROOT).as_posix() for page in PAGES}
    assert {"README.md", "docs/guides/first-kernel.md", "docs/guides/recompiled.md"} <= followed


PAGE = """\
# A page
```python title="a.py"
print(1)
```
```console title="in a shell"
$ python a.py
1
$ echo one \\
    two; echo three
one two
th...
```
```diff title="a.py"
-print(1)
+print(2)
```
```console
$ not a step
```
"""


def test_files_edits_and_commands_are_steps_and_untitled_blocks_are_not() -> None:
    assert steps(PAGE) == [
        Save(3, "a.py", "print(1)\n"),
        Command(6, "python a.py", "1"),
        Command(8, "echo one \\\n    two; echo three", "one two\nth..."),
        Edit(14, "a.py", "print(1)\n", "print(2)\n"),
    ]


@pytest.mark.parametrize(
    ("page", "trouble"),
    [
        (PAGE, ""),
        (PAGE.replace("\n1\n", "\n2\n"), "line 6: $ python a.py\n-- the page says\n2\n"),
        (PAGE.replace("th...", "fo..."), "line 8: $ echo one"),
    ],
)
def test_what_differs_from_the_page_is_told_with_its_line(
    page: str, trouble: str, tmp_path: Path
) -> None:
    found = follow(page, tmp_path, tmp_path)
    assert found.startswith(trouble)
    assert bool(found) == bool(trouble)


def test_an_edit_of_something_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"line 14: .* not once in a\.py"):
        follow(PAGE.replace("-print(1)", "-print(3)"), tmp_path, tmp_path)
