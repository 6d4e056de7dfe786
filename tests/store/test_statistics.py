"""Statistics add up, whoever wrote them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.store.children import ends_within
from tests.store.entries import entry_of
from whorl import settings
from whorl.store import (
    DirectoryStore,
    Ending,
    ProgramTotals,
    Statistics,
    Totals,
    statistics,
)
from whorl.store import statistics as module
from whorl.store import statistics as writing


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
    files = tmp_path.glob("*.jsonl")  # beside a lock
    assert [len(path.read_bytes().splitlines()) for path in files] == [1]


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
    statistics.to_do.append(lambda: done.append("done"))
    assert done == []
    statistics.flush()
    statistics.flush()
    assert done == ["done"]


def test_programs_and_causes_add_up_and_survive_being_added_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPACT_FROM", 1)
    for _ in range(5):
        statistics = Statistics(tmp_path)
        statistics.hit(10, 0.5, "m.f")
        statistics.made("m.f", 0.25, "first compile")
        statistics.made("m.g", 1.0)
        statistics.flush()
        statistics.hit(10, 0.0, "m.f")
        statistics.flush()
        assert statistics.totals.programs["m.f"] == ProgramTotals(2, 1, 0.5, 0.25)
    before, days = Totals.of(tmp_path), Totals.by_day(tmp_path)
    assert before.programs["m.f"] == ProgramTotals(found=10, made=5, saved=2.5, spent=1.25)
    assert before.causes == {"first compile": 5}
    assert sum(day.hits for day in days.values()) == 10
    module.compact(tmp_path)
    assert Totals.of(tmp_path) == before
    assert {day: sums.hits for day, sums in Totals.by_day(tmp_path).items() if sums.hits} == {
        day: sums.hits for day, sums in days.items()
    }


def test_days_are_told_apart_and_old_ones_are_added_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPACT_FROM", 1)
    monkeypatch.setattr(module, "DAYS_KEPT", 10)
    lines = [f'{{"hit": 1, "day": {20_000 + day}}}' for day in range(100)] + ['{"hit": 7}']
    (tmp_path / "00.jsonl").write_text("\n".join(lines) + "\n")
    assert len(Totals.by_day(tmp_path)) == 101
    module.compact(tmp_path)
    days = Totals.by_day(tmp_path)
    assert [days[20_000 + day].hits for day in range(89, 100)] == [1] * 11
    assert (days[0].hits, Totals.of(tmp_path).hits) == (7 + 89, 107)


def test_rows_of_programs_that_make_no_sense_are_passed_over(tmp_path: Path) -> None:
    lines = [
        '{"programs": {"m.f": [1, 2, 3.0, 4.0], "bad": [1], "worse": "x", "nan": [NaN, 1, 1, 1]}}',
        '{"programs": 7, "causes": []}',
        '{"causes": {"a": 1, "b": "x", "c": 1.5}, "day": "x"}',
        '{"day": -3, "hit": 1}',
    ]
    (tmp_path / "00.jsonl").write_text("\n".join(lines))
    totals = Totals.of(tmp_path)
    assert (list(totals.programs), totals.causes) == (["m.f"], {"a": 1})
    assert list(Totals.by_day(tmp_path)) == [0]


def test_few_programs_are_kept_of_very_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPACT_FROM", 1)
    monkeypatch.setattr(module, "PROGRAMS_KEPT", 3)
    statistics = Statistics(tmp_path)
    for i in range(10):
        for _ in range(i + 1):
            statistics.hit(1, 0.1, f"m.f{i}")
    statistics.flush()
    module.compact(tmp_path)
    assert set(Totals.of(tmp_path).programs) == {"m.f9", "m.f8", "m.f7"}


def test_a_summary_gets_the_same_lines(tmp_path: Path) -> None:
    before = settings.current()
    try:
        settings.configure(summary=tmp_path / "summary.jsonl")
        for directory in (tmp_path / "statistics", None):
            statistics = Statistics(directory)
            statistics.hit(1, 0.5, "m.f")
            statistics.flush()
            statistics.flush()
    finally:
        settings.restore(before)
    told = Totals.in_file(tmp_path / "summary.jsonl")
    assert (told.hits, told.programs["m.f"].found) == (2, 2)


def test_files_that_grow_are_added_up_without_anybody_collecting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPACT_FROM", 2000)
    monkeypatch.setattr(writing, "COMPACT_AT", 2000)
    for i in range(200):
        statistics = Statistics(tmp_path / "statistics")
        statistics.hit(1, 0.5, f"m.f{i % 3}")
        statistics.flush()
    assert Totals.of(tmp_path / "statistics").hits == 200
    assert Totals.of(tmp_path / "statistics").programs["m.f0"].found == 67
    sizes = [path.stat().st_size for path in (tmp_path / "statistics").glob("*.jsonl")]
    assert sum(sizes) < 2000 + 400 * len(sizes)


def test_what_was_added_up_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPACT_FROM", 1)
    for _ in range(3):
        statistics = Statistics(tmp_path)
        statistics.hit(1, 0.5)
        statistics.flush()
        module.compact(tmp_path)
        module.compact(tmp_path)
    names = [path.name for path in tmp_path.glob("*.jsonl")]
    assert len(names) == 3
    assert all(name.count("taken") == 1 for name in names)
    assert Totals.of(tmp_path).hits == 3


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_hits_of_a_worker_that_ends_are_counted(tmp_path: Path, method: str) -> None:
    program = (
        "import multiprocessing, sys\n"
        "from pathlib import Path\n"
        "def work(place):\n"
        "    from tests.store.entries import cache_at\n"
        "    from tests.store.entries import key_of\n"
        "    cache = work.cache = cache_at(Path(place))\n"
        "    for _ in range(10): cache.get(key_of(1))\n"
        "if __name__ == '__main__':\n"
        f"    start = multiprocessing.get_context({method!r}).Process\n"
        "    child = start(target=work, args=(sys.argv[1],))\n"
        "    child.start(); child.join(); sys.exit(child.exitcode)\n"
    )
    (tmp_path / "program.py").write_text(program)
    DirectoryStore(tmp_path).put(entry_of(1))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=env, check=True)
    assert Totals.of(tmp_path / "statistics").hits == 10


def test_hits_that_are_few_are_written_every_five_seconds_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "FLUSH_EVERY", 0.05)
    counted = Statistics(tmp_path)
    for _ in range(5):
        counted.hit(1, 1.0)
        time.sleep(0.06)
    assert Totals.of(tmp_path).hits >= 3  # 0: the clock is looked at every 64th hit


def test_whoever_is_killed_while_adding_up_does_not_double_the_sums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPACT_FROM", 1)
    counted = Statistics(tmp_path)
    counted.count(Ending.HIT, 5)
    counted.flush()

    def killed(*arguments: object) -> None:
        os._exit(9)

    def work() -> None:
        Path.unlink = killed  # type: ignore[method-assign,assignment]  # a child
        module.compact(tmp_path)

    assert ends_within(5, work)
    assert Totals.of(tmp_path).hits == 5


def test_a_signal_handler_may_use_the_cache() -> None:
    def work() -> None:
        counted = Statistics()

        def handle(*arguments: object) -> None:
            counted.count(Ending.HIT)
            signal.setitimer(signal.ITIMER_REAL, 0.0005)

        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.0005)
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            counted.count(Ending.HIT)

    assert ends_within(6, work)
