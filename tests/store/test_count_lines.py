"""What a process has counted becomes lines that add up to it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.store import Ending, Statistics, Totals, statistics

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
LINES = st.dictionaries(
    st.text(), NUMBERS | st.dictionaries(st.text(), st.lists(NUMBERS) | NUMBERS)
)


@given(LINES)
def test_a_line_is_what_json_would_have_written(line: dict[str, Any]) -> None:
    assert statistics._text_of(line) == json.dumps(line, separators=(",", ":"))


def test_a_number_that_is_none_does_not_spoil_its_line() -> None:
    text = statistics._text_of({"hit": 2, "seconds_saved": math.nan, "seconds_spent": -math.inf})
    assert json.loads(text) == {"hit": 2, "seconds_saved": 0, "seconds_spent": 0}


def test_the_names_that_are_counted_without_an_ending_are_those_of_endings() -> None:
    assert Ending.HIT.value == statistics._HIT
    counted = Statistics()
    counted.hit(10, 0.5)
    counted.count(Ending.ABSENT)
    assert counted.totals.endings == {Ending.HIT: 1, Ending.ABSENT: 1}


def _no_more_files(path: str, data: bytes) -> int:
    raise OSError(24, "Too many open files", path)


def test_what_cannot_be_written_now_is_written_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, done = Statistics(tmp_path), list[int]()
    counted.count(Ending.HIT)
    counted.to_do.append(lambda: done.append(1))
    with monkeypatch.context() as patched:
        patched.setattr(statistics, "append_small", _no_more_files)
        counted.flush()
    assert Totals.of(tmp_path).hits == 0
    counted.flush()
    counted.flush()
    assert Totals.of(tmp_path).hits == 1
    assert done == [1]


def test_a_process_that_has_counted_nothing_ends_without_importing_anything(
    tmp_path: Path,
) -> None:
    program = """
import atexit, sys
from whorl.store import Statistics
statistics = Statistics(sys.argv[1])
before = set(sys.modules)
atexit._run_exitfuncs()
print(set(sys.modules) - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["set()"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="files are bounded in another way there")
def test_where_no_more_files_can_be_opened_lookups_and_counts_go_on(tmp_path: Path) -> None:
    program = """
import contextlib, os, resource, sys
from whorl.fingerprint.digest import StableDigest
from whorl.store import Cache, DirectoryStore
cache = Cache(DirectoryStore(sys.argv[1]))
cache.get(StableDigest("0" * 32))
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
held = []
with contextlib.suppress(OSError):
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
print(type(cache.get(StableDigest("0" * 32))).__name__)
cache.statistics.flush()
for file in held:
    os.close(file)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert (done.stdout.split(), done.stderr) == (["Failed"], "")
