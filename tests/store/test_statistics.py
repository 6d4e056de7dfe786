"""Statistics add up, whoever wrote them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from whorl.store import Ending, Statistics, Totals
from whorl.store import statistics as module


def test_what_is_flushed_adds_up(tmp_path: Path) -> None:
    for saved in (1.5, 2.0):
        statistics = Statistics(tmp_path / "statistics")
        statistics.count(Ending.HIT, bytes_read=10, seconds_saved=saved)
        statistics.count(Ending.ABSENT)
        statistics.flush()
        statistics.flush()
    totals = Totals.of(tmp_path / "statistics")
    assert totals.endings == {Ending.HIT: 2, Ending.ABSENT: 2}
    assert (totals.bytes_read, totals.seconds_saved, totals.hit_rate) == (20, 3.5, 0.5)


def test_nothing_counted_is_nothing_written(tmp_path: Path) -> None:
    Statistics(tmp_path / "statistics").flush()
    assert not (tmp_path / "statistics").exists()
    assert Totals.of(tmp_path / "statistics") == Totals()
    assert Totals().hit_rate == 0


def test_lines_that_make_no_sense_are_passed_over(tmp_path: Path) -> None:
    lines = [
        '{"hit": 1}',
        "",
        "half a li",
        "[1]",
        '{"hit": "x", "unknown": 3}',
        '{"hit": NaN}',
        "{",
    ]
    (tmp_path / "00.jsonl").write_text("\n".join(lines) + "\n" + "[" * 100_000)
    (tmp_path / "notes.txt").write_text('{"hit": 100}')
    (tmp_path / "01.jsonl").mkdir()
    assert Totals.of(tmp_path).endings == {Ending.HIT: 1}


def test_threads_lose_no_count(tmp_path: Path) -> None:
    statistics = Statistics()

    def work() -> None:
        for _ in range(2000):
            statistics.count(Ending.HIT, bytes_read=1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (statistics.totals.hits, statistics.totals.bytes_read) == (16_000, 16_000)


def test_a_directory_that_cannot_be_written_to_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    statistics = Statistics(tmp_path / "file")
    statistics.count(Ending.HIT)
    statistics.flush()
    assert statistics.totals.hits == 1


def test_long_files_are_added_up_into_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPACT_FROM", 200)
    for _ in range(50):
        statistics = Statistics(tmp_path)
        statistics.count(Ending.STORED, bytes_written=3)
        statistics.count(Ending.RAISED)
        statistics.flush()
    before = Totals.of(tmp_path)
    module.compact(tmp_path)
    assert Totals.of(tmp_path) == before
    assert before.bytes_written == 150
    assert [len(path.read_bytes().splitlines()) for path in tmp_path.iterdir()] == [1]


def test_a_child_does_not_count_again_what_its_parent_counted(tmp_path: Path) -> None:
    statistics = Statistics(tmp_path)
    statistics.count(Ending.HIT)
    child = os.fork()
    if not child:
        statistics.count(Ending.ABSENT)
        statistics.flush()
        os._exit(0)
    os.waitpid(child, 0)
    statistics.flush()
    assert Totals.of(tmp_path).endings == {Ending.HIT: 1, Ending.ABSENT: 1}


def test_what_can_wait_is_done_once_when_the_statistics_are_written() -> None:
    done: list[str] = []
    statistics = Statistics()
    statistics.when_flushed(lambda: done.append("done"))
    assert done == []
    statistics.flush()
    statistics.flush()
    assert done == ["done"]
