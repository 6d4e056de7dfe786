"""ARCHITECTURE.md lists every module with the sentence that the module opens with."""

from __future__ import annotations

import re

from tests.docs.module_map import PAGE, module_map, written_map
from tests.processes.programs import ROOT


def test_every_module_is_listed_with_its_first_sentence() -> None:
    again = "python -m tests.docs.module_map writes the list anew"
    assert written_map() == module_map().strip() + "\n", again


def test_the_stops_of_the_journeys_are_modules() -> None:
    journeys = PAGE.read_text().partition("## Four journeys")[2].partition("## Every")[0]
    stops = set(re.findall(r"`([a-z]+/[a-z_/]+)`", journeys)) - {"tests/properties"}
    assert len(stops) > 20
    for stop in stops:
        path = ROOT / "src" / "whorl" / stop
        assert path.with_suffix(".py").is_file() or path.is_dir(), stop


def test_no_two_modules_have_one_name() -> None:
    names = [path.stem for path in (ROOT / "src" / "whorl").rglob("*.py")]
    twice = {name for name in names if names.count(name) > 1}
    assert twice <= {"__init__"}
