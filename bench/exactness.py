"""Edits of a program in; who serves a stale result and who makes it again for nothing out.

The program and the edits are those of `tests/processes/step_edits.py`: functions spread over two
packages, reached in every way there is. Each tool caches the same function. The program runs once,
is edited in one place, moved to another directory and run again in a new process. A tool is stale
if it then returns something else than the function does; it works needlessly if it runs the
function although nothing that it reads has changed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))

import harness  # noqa: E402  # needs the path above

from tests.processes.programs import forked, written  # noqa: E402
from tests.processes.step_edits import EDITS, RUN, Edit, edited  # noqa: E402

# How each tool is told to cache a function; what whorl is told beside is for whorl alone.
SHELVES: Mapping[str, tuple[str, str]] = {
    "whorl": (
        "whorl",
        "import os, whorl\nwhorl.configure(cache='on', cache_dir=os.environ['SHELF'])\n"
        "cached = whorl.cached\n",
    ),
    "joblib": (
        "joblib",
        "import os, warnings\nfrom joblib import Memory\nwarnings.simplefilter('ignore')\n"
        "memory = Memory(os.environ['SHELF'], verbose=0)\n\n"
        "def cached(**options):\n    return memory.cache\n",
    ),
    "diskcache": (
        "diskcache",
        "import os\nfrom diskcache import Cache\ncache = Cache(os.environ['SHELF'])\n\n"
        "def cached(**options):\n    return cache.memoize()\n",
    ),
}

PROGRAM = (
    """
import json, os, sys
with open(os.path.join(sys.path[0], "job.json")) as file:
    job = json.load(file)
os.environ.update(job["environment"])
os.environ["SHELF"] = job["cache"]
"""
    + RUN
)

RIGHT, STALE, NEEDLESS, FAILED = "right", "STALE", "needless run", "failed"
CAUTIOUS = "cautious run"  # of other code, that gives the same for these arguments


def placed(root: Path, edit: Edit, cache: Path, shelf: str) -> Path:
    """An edited program in a directory of its own."""
    place = written(root, {**edited(edit), "shelf.py": shelf})
    job = {"environment": dict(edit.environment), "cache": str(cache)}
    (place / "job.json").write_text(json.dumps(job), encoding="utf-8")
    return place


def verdicts(shelf: str) -> dict[str, str]:
    """How one tool takes each edit."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        first = placed(root / "first", Edit("", True), root / "cache", shelf)
        (before,) = forked(PROGRAM, [first])
        if before.get("ran") != 1:
            raise AssertionError(before)
        found: dict[str, str] = {}
        for seed in sorted({edit.seed for edit in EDITS}):
            edits = [edit for edit in EDITS if edit.seed == seed]
            places: list[Path] = []
            for edit in edits:
                own = root / f"{seed}-{len(places)}"
                shutil.copytree(root / "cache", own / "cache")
                places.append(placed(own / "program", edit, own / "cache", shelf))
            answers = forked(PROGRAM, places, seed=seed)
            found.update(
                (edit.name, verdict(edit, answer, before))
                for edit, answer in zip(edits, answers, strict=True)
            )
    return found


def verdict(edit: Edit, answer: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    if "answer" not in answer:
        return FAILED
    if answer["answer"] != answer["truth"]:
        return STALE
    if not answer["ran"] or answer["truth"] != before["truth"]:
        return RIGHT
    return CAUTIOUS if edit.runs else NEEDLESS


def main() -> None:
    parser = argparse.ArgumentParser(description="Count stale results and needless runs, per edit.")
    parser.add_argument(
        "--json", type=Path, default=Path(__file__).parent / "results" / "exactness.json"
    )
    parser.add_argument(
        "--quick", action="store_true", help="has no effect: there is nothing to leave out"
    )
    options, _ = parser.parse_known_args()
    there = [name for name, (module, _) in SHELVES.items() if importlib.util.find_spec(module)]
    found = {name: verdicts(SHELVES[name][1]) for name in there}
    rows: list[harness.Row | str] = []
    for runs, heading in (
        (False, "Nothing has to be made again"),
        (True, "It has to be made again"),
    ):
        rows.append(heading)
        rows += [
            [f"  {edit.name}", *(found[name][edit.name] for name in there)]
            for edit in EDITS
            if edit.runs is runs
        ]
    print(harness.table(["edit", *there], rows), end="\n\n")
    sums = {name: Counter(found[name].values()) for name in there}
    kinds = (RIGHT, CAUTIOUS, STALE, NEEDLESS, FAILED)
    totals = [[name, *(str(sums[name][kind]) for kind in kinds)] for name in there]
    print(harness.table([f"of {len(EDITS)} edits", *kinds], totals), end="\n\n")
    missing = [name for name in SHELVES if name not in there]
    if missing:
        print(f"Left out, not installed: {', '.join(missing)}.")
    wanted = sums["whorl"][STALE] + sums["whorl"][NEEDLESS] + sums["whorl"][FAILED]
    goal = harness.Goal("whorl: stale, needless or failed", "exactly", 0, "times", wanted)
    print(harness.goals_table([goal]))
    versions = harness.versions([SHELVES[name][0] for name in there])
    about = {"versions": versions, "edits": found}
    harness.write_json(options.json, harness.record([], [goal], about))


if __name__ == "__main__":
    main()
