"""report: one page that holds everything, loads nothing, and obeys nothing it holds."""

from __future__ import annotations

import html.parser
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Run, artifact_of
from whorl.store import DirectoryStore, Statistics
from whorl.store.journal import Change, Journal, Miss

HOSTILE = "m.</script><script>document.title='broken'</script><img src=x onerror=alert(1)>&amp;"


@pytest.fixture
def page(run: Run, store: DirectoryStore, tmp_path: Path) -> Path:
    """The report of a small cache with names that nobody should have."""
    now = time.time()
    for i, name in enumerate(("solver.step", "image.blur", HOSTILE)):
        for variant in range(3):
            store.put(artifact_of(name, variant, made=now - 1000 * i, size=100 * 4**i))
    statistics = Statistics(store.root / "statistics")
    statistics.hit(10, 2.5, "solver.step")
    statistics.made(HOSTILE, 0.5, "first compile")
    statistics.tier(f"redis://host/0 {HOSTILE}", hits=3, seconds_saved=4.5, **{"error: timeout": 2})
    statistics.flush()
    difference = Change("global:solver.SCALE", "2.0", "3.0", f"solver.py:7: `{HOSTILE}`")
    Journal(store.root).note(Miss("solver.step", "a read differs", "1 of its reads", (difference,)))
    ran = run("report", "-o", tmp_path / "report.html")
    assert ran.code == 0
    return tmp_path / "report.html"


class Tags(html.parser.HTMLParser):
    """The elements of a page, and the data in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.data = ""
        self._is_data = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [text or "" for name, text in attrs if name in ("src", "href", "action")]
        self._is_data = ("id", "data") in attrs

    def handle_data(self, data: str) -> None:
        if self._is_data:
            self.data += data


def test_the_page_holds_everything_and_names_no_other_place(page: Path) -> None:
    read = Tags(page.read_text(encoding="utf-8"))
    assert read.addresses == []
    assert "http" not in page.read_text(encoding="utf-8").replace("http-equiv", "")
    data = json.loads(read.data)
    assert len(data["entries"]) == data["total"] == 9
    assert data["misses"][0]["differences"][0]["old"] == "2.0"
    (tier,) = data["tiers"]
    assert (tier[0], tier[1], tier[8]) == (f"redis://host/0 {HOSTILE}", 3, 4.5)
    assert tier[-1] == "error: timeout 2"
    assert {row[0] for row in data["programs"]} == {"solver.step", "image.blur", HOSTILE}


def test_names_cannot_end_the_element_they_stand_in(page: Path) -> None:
    read = Tags(page.read_text(encoding="utf-8"))
    assert read.tags.count("script") == 2
    assert "img" not in read.tags


def test_every_number_in_a_picture_is_a_number(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for picture in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        assert "nan" not in picture
        assert "inf" not in picture


def test_the_page_of_nothing_is_a_page(run: Run, tmp_path: Path) -> None:
    ran = run("report", "-o", tmp_path / "r.html", cache_dir=tmp_path / "nowhere")
    assert ran.code == 0
    assert (tmp_path / "r.html").read_text(encoding="utf-8").count("no data yet") == 3


def test_a_place_that_cannot_be_written_is_one_line(run: Run, tmp_path: Path) -> None:
    ran = run("report", "-o", tmp_path / "no" / "r.html")
    assert (ran.code, ran.err.count("\n")) == (1, 1)


# -- in a browser -----------------------------------------------------------------------

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = os.environ.get("WHORL_TEST_CHROMIUM") or next(
    filter(None, map(shutil.which, NAMES)), None
)

# Does what a person would do, and leaves in the page what came of it.
PERSON = """
<script>
{
const told = {};
const cells = row => [...row.children].map(cell => cell.textContent);
const rows = id => [...document.querySelectorAll("#" + id + " tbody tr")].map(cells);
const head = (id, n) => document.querySelectorAll("#" + id + " th")[n];
told.programs = rows("programs").map(row => row[0]);
told.all = rows("entries").length;
head("entries", 3).click();
told.largest = rows("entries")[0][2];
told.sorted = head("entries", 3).getAttribute("aria-sort");
head("entries", 3).click();
told.smallest = rows("entries")[0][2];
const filter = document.getElementById("filter");
filter.value = "BLUR artifact";
filter.dispatchEvent(new Event("input"));
told.filtered = rows("entries").map(row => row[2]);
filter.value = "nothing is like this";
filter.dispatchEvent(new Event("input"));
told.none = rows("entries");
const root = document.documentElement;
const colour = () => getComputedStyle(document.body).backgroundColor;
told.before = [root.dataset.theme, colour()];
document.getElementById("theme").click();
told.after = [root.dataset.theme, colour()];
told.miss = document.querySelector(".miss").textContent;
told.title = document.title;
told.images = document.images.length;
told.asked = performance.getEntriesByType("resource").length;
const answer = document.createElement("pre");
answer.id = "answer";
answer.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(told))));
document.body.append(answer);
}
</script>
"""


@pytest.fixture
def told(page: Path, tmp_path: Path) -> Any:
    """What a browser makes of the page."""
    if BROWSER is None:
        pytest.skip(f"no browser is found (looked for {', '.join(NAMES)}, WHORL_TEST_CHROMIUM)")
    import base64

    text = page.read_text(encoding="utf-8").replace("</body>", f"{PERSON}</body>")
    page.write_text(text, encoding="utf-8")
    words = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
        f"--user-data-dir={tmp_path / 'profile'}", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    answer = re.search(r'<pre id="answer">([^<]*)</pre>', done.stdout)
    assert answer is not None, done.stdout[-2000:]
    return json.loads(base64.b64decode(answer[1]))


def test_in_a_browser_tables_sort_and_filter_and_nothing_is_obeyed_or_loaded(told: Any) -> None:
    assert told["programs"][0] == "solver.step"  # which saved most
    assert HOSTILE in told["programs"]
    assert told["all"] == 9
    assert (told["largest"], told["sorted"], told["smallest"]) == (
        HOSTILE, "descending", "solver.step",
    )  # fmt: skip
    assert told["filtered"] == ["image.blur"] * 3
    assert told["none"] == [["no rows"]]
    assert {told["before"][0], told["after"][0]} == {"light", "dark"}
    assert told["before"][1] != told["after"][1]
    assert "global:solver.SCALE 2.0 → 3.0" in told["miss"]
    assert told["title"] == "whorl: what is in the cache"
    assert (told["images"], told["asked"]) == (0, 0)
