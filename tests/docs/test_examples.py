"""The Python examples of every Markdown page run, page by page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import markdown_program
from tests.docs.markdown_program import Block, python_blocks

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    page
    for page in (
        ROOT / "README.md",
        ROOT / "ARCHITECTURE.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    )
    if python_blocks(page.read_text(encoding="utf-8"))
]


def run_page(page: Path, name: str, directory: Path) -> subprocess.CompletedProcess[str]:
    # -P keeps this directory off the program's import path.
    command = [sys.executable, "-P", "-W", "error", markdown_program.__file__, str(page), name]
    return subprocess.run(
        command, cwd=directory, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run_in_order_as_one_program(page: Path, tmp_path: Path) -> None:
    result = run_page(page, page.relative_to(ROOT).as_posix(), tmp_path)
    if result.returncode != 0:
        pytest.fail(result.stdout + result.stderr, pytrace=False)


def test_blocks_know_their_line_and_other_languages_are_left_out() -> None:
    page = (
        "# Title\n```sh\nls\n```\n"
        "- item\n  ```python\n  x = 1\n  ```\n"
        "````text\n```python\nx = 2\n```\n````\n"
    )
    assert python_blocks(page) == [Block(7, "x = 1\n")]


def test_an_unclosed_fence_is_an_error() -> None:
    with pytest.raises(ValueError, match="line 2 is never closed"):
        python_blocks("# T\n```python\nx = 1\n")


def test_statements_and_prompts_share_one_namespace_and_functions_have_source(
    tmp_path: Path,
) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\ndef double(x):\n    return 2 * x\n```\n"
        "```python\n>>> y = double(4)\n>>> y\n8\n```\n"
        "```python\nimport inspect\nassert y == 8\n"
        "assert inspect.getsource(double).startswith('def double')\n```\n"
    )
    result = run_page(page, "page.md", tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("body", "report"),
    [
        ("x = 1\n\n1 / 0", "page.md:5: ZeroDivisionError"),
        ("def f():\n    raise KeyError('k')\nf()", "page.md:4: KeyError"),
        ("x = = 1", "page.md:3: SyntaxError"),
        (">>> 1 + 1\n3", "page.md:3: 1 of 1 prompts differ"),
    ],
)
def test_a_failure_names_page_and_line(body: str, report: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n```python\n{body}\n```\n")
    result = run_page(page, "page.md", tmp_path)
    assert result.returncode == 1
    assert result.stdout.startswith(report)
