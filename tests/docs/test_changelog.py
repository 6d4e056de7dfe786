"""Fragments are sentences, and become the part of CHANGELOG.md about the next version."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.processes.programs import ROOT


def script() -> Any:
    spec = importlib.util.spec_from_file_location("changelog", ROOT / "docs/site/changelog.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_fragment_is_a_sentence_under_the_number_of_an_issue() -> None:
    found = [path for path in (ROOT / "changelog.d").glob("*.md") if path.name != "README.md"]
    assert len(script().lines_of(found)) == len(found)


@pytest.mark.parametrize(("name", "text"), [("topic.md", "A sentence."), ("3.topic.md", "No stop")])
def test_what_is_no_fragment_is_said(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SystemExit, match=name):
        script().lines_of([tmp_path / name])


def test_parts_are_newest_first_and_a_part_grows() -> None:
    gathered = script().gathered
    page = gathered("", "0.1.0", "2026-01-01", ["- One."])
    page = gathered(page, "0.1.0", "2026-01-02", ["- Two."])
    page = gathered(page, "0.2.0", "2026-02-01", ["- Three."])
    parts = page.split("\n## ")[1:]
    assert parts == ["0.2.0 (2026-02-01)\n\n- Three.\n", "0.1.0 (2026-01-02)\n\n- One.\n- Two.\n"]


def test_the_version_is_in_one_place() -> None:
    import whorl

    assert whorl.__version__ in (ROOT / "src/whorl/version.py").read_text()
    assert f'"{whorl.__version__}"' not in (ROOT / "pyproject.toml").read_text()
