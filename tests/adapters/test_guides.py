"""What the guides to the adapters tell their reader to do works as printed: stale, then right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.test_first_minutes import ROOT, follow

LIBRARIES = {"cuda_core": "cuda.core"}
PAGES = sorted((ROOT / "docs" / "guides").glob("adapters_*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_following_the_guide_to_an_adapter_works_as_printed(page: Path, tmp_path: Path) -> None:
    name = page.stem.removeprefix("adapters_")
    pytest.importorskip(LIBRARIES.get(name, name))
    directory = tmp_path / "directory"
    directory.mkdir()
    trouble = follow(page.read_text(encoding="utf-8"), directory, tmp_path / "home")
    assert not trouble, f"{page.name}, {trouble}"
