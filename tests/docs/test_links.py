"""Every link of a page leads somewhere, in the checkout and on the site."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.site.order import AWAITED

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    page
    for page in sorted(ROOT.rglob("*.md"))
    if not any(part.startswith(".") or part == "build" for part in page.relative_to(ROOT).parts)
    and page.name != "0000-template.md"
]
LINK = re.compile(r"\[[^\]\n]+\]\(([^)\s]+)\)")


def text_of(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^ *(`{3,}).*?^ *\1$", "", page.read_text("utf-8"), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as both GitHub and the site name them."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), flags=re.M)
    words = (re.sub(r"[^\w\- ]", "", heading).strip().lower() for heading in headings)
    return {heading.replace(" ", "-") for heading in words}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_and_to_a_heading_of_it(page: Path) -> None:
    lost = []
    for target in LINK.findall(text_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists() and path in {ROOT / "docs" / awaited for awaited in AWAITED}:
            continue
        if not path.exists() or (anchor and anchor not in anchors(path)):
            lost.append(target)
    assert not lost


def test_every_guide_and_concept_is_on_the_first_page_of_the_manual() -> None:
    first = (ROOT / "docs" / "index.md").read_text("utf-8")
    pages = [*(ROOT / "docs" / "guides").glob("*.md"), *(ROOT / "docs" / "concepts").glob("*.md")]
    assert [page.name for page in pages if f"/{page.name})" not in first] == []
