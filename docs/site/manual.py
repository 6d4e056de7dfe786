"""The hooks of `mkdocs.yml`: the order of the pages, the reference, and pages from outside `docs/`.

`order.py` has the order of the pages, `reference.py` generates the reference. Run mkdocs as
`python -m mkdocs` in the checkout, as `make docs` does, so that these modules are found.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from docs.site import reference
from docs.site.order import BESIDE, CONCEPTS, GUIDES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TEMPLATE = "0000-template.md"  # of decisions; not a page
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\n]+)\]\((?P<target>[^)\s]+)\)")


def on_config(config: Any) -> Any:
    """Set the order of the pages."""
    config.nav = [
        {"The manual": "index.md"},
        {"Guides": _ordered("guides", GUIDES)},
        {"Concepts": _ordered("concepts", CONCEPTS)},
        {
            "Reference": [
                "reference/index.md",
                {"The language": "reference/language.md"},
                *({page.title: page.path} for page in reference.pages()),
            ]
        },
        {"Measurements": "measurements.md"},
        {
            "Working on whorl": [
                "working/index.md",
                {"Architecture": "architecture.md"},
                {"Contributing": "contributing.md"},
                {"The launcher": "working/launcher.md"},
                {"Decisions": ["adr/README.md", *_decisions()]},
            ]
        },
    ]
    return config


def _ordered(folder: str, first: tuple[str, ...]) -> list[str]:
    there = {page.stem for page in (DOCS / folder).glob("*.md")}
    stems = [stem for stem in first if stem in there] + sorted(there - set(first))
    return [f"{folder}/{stem}.md" for stem in stems]


def _decisions() -> list[str]:
    pages = sorted((DOCS / "adr").glob("[0-9]*.md"))
    return [f"adr/{page.name}" for page in pages if page.name != TEMPLATE]


def on_files(files: Any, config: Any) -> Any:
    """Add the reference, and the pages from outside `docs/`."""
    made = {page.path: page.text for page in reference.pages()}
    for source, path in BESIDE.items():
        made[path] = (ROOT / source).read_text(encoding="utf-8")
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Convert links between files of the checkout to links on the site."""
    path = page.file.src_uri
    beside = {path: source for source, path in BESIDE.items()}
    here = ROOT / beside[path] if path in beside else DOCS / path

    def on_the_site(link: re.Match[str]) -> str:
        text, target = link["text"], link["target"]
        if re.match(r"[a-z]+:|#", target):
            return link[0]
        name, mark, anchor = target.partition("#")
        place = _on_the_site((here.parent / name).resolve())
        if place is None:
            return text
        up = "../" * path.count("/")
        return f"[{text}]({up}{place}{mark}{anchor})"

    return _outside_of_fences(markdown, on_the_site)


def _outside_of_fences(markdown: str, change: Any) -> str:
    parts = re.split(r"(^ *```.*?^ *```$)", markdown, flags=re.M | re.S)
    return "".join(part if i % 2 else LINK.sub(change, part) for i, part in enumerate(parts))


def _on_the_site(target: Path) -> str | None:
    """The path of a file of the checkout on the site; None if it is not part of the site."""
    inside = target.relative_to(ROOT).as_posix()
    if inside in BESIDE:
        return BESIDE[inside]
    if inside.startswith("docs/") and target.name != TEMPLATE:
        return inside.removeprefix("docs/")
    return None
