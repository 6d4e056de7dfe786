"""The journal of misses: short, whole lines, whatever happens to it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from whorl.store import (
    BaseStore,
    DirectoryStore,
    MemoryStore,
    NullStore,
    ReadOnly,
    Tiered,
    Verifying,
)
from whorl.store import journal as module
from whorl.store.journal import Change, Journal, Miss


def miss(name: str = "m.f", **fields: object) -> Miss:
    return Miss(name, "first compile", "first compile", **fields)  # type: ignore[arg-type]  # fields


def programs(root: Path) -> list[str]:
    return [each.program for each in Journal(root).misses()]


def test_what_is_noted_comes_back_in_the_order_of_time(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    difference = Change("global:m.SCALE", "2.0", "3.0", "m.py:1: `x * SCALE`")
    later = miss("m.later", time=20.0, differences=(difference,), seconds=0.25, key="ab", process=7)
    journal.note(later)
    journal.note(miss("m.sooner", time=10.0))
    assert [each.program for each in journal.misses()] == ["m.sooner", "m.later"]
    assert journal.misses()[1] == later


def test_a_miss_without_a_time_is_of_now_and_of_this_process(tmp_path: Path) -> None:
    Journal(tmp_path).note(miss())
    (found,) = Journal(tmp_path).misses()
    assert found.time > 1.7e9
    assert found.process == os.getpid()


def test_a_directory_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    Journal(tmp_path / "gone").note(miss())
    assert not (tmp_path / "gone").exists()
    assert Journal(tmp_path / "gone").misses() == []


@pytest.mark.parametrize(
    "rubbish",
    [
        b"half a li",
        b"\x00\xff\xfe\n",
        b"[1, 2]\n",
        b"{}\n",
        b'{"program": "x"}\n',
        b'{"time": 1e999}\n',
        b"[" * 50_000 + b"\n",
        b'{"time":NaN,"program":"x","cause":"","reason":"","differences":[],"left_out":0,'
        b'"seconds":0,"ending":"","key":"","process":0}\n',
        b'{"time":1,"program":"x","cause":"","reason":"","differences":[{"evil":1}],"left_out":0,'
        b'"seconds":0,"ending":"","key":"","process":0}\n',
        b'{"time":1,"program":"x","cause":"","reason":"","differences":7,"left_out":0,'
        b'"seconds":0,"ending":"","key":"","process":0}\n',
    ],
)
def test_rubbish_spoils_no_other_line(tmp_path: Path, rubbish: bytes) -> None:
    journal = Journal(tmp_path)
    journal.note(miss("m.before"))
    with (tmp_path / "journal" / "misses.jsonl").open("ab") as file:
        file.write(rubbish)
    journal.note(miss("m.after"))
    assert programs(tmp_path) == ["m.before", "m.after"]


def test_something_else_in_its_place_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("a file")
    Journal(tmp_path).note(miss())
    assert programs(tmp_path) == []
    (tmp_path / "journal").unlink()
    (tmp_path / "journal" / "misses.jsonl").mkdir(parents=True)
    Journal(tmp_path).note(miss())
    assert programs(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_in_its_place_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    os.mkfifo(tmp_path / "journal" / "misses.jsonl")
    Journal(tmp_path).note(miss())
    assert programs(tmp_path) == []


def test_it_stays_small_and_keeps_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 4000)
    for i in range(100):
        Journal(tmp_path).note(miss(f"m.f{i}", time=float(i + 1)))
    size = sum(path.stat().st_size for path in (tmp_path / "journal").iterdir())
    assert size < 2 * 4000 + 1000
    found = programs(tmp_path)
    assert len(found) > 10
    assert found == [f"m.f{i}" for i in range(100 - len(found), 100)]


def test_a_line_is_short_whatever_is_noted(tmp_path: Path) -> None:
    many = tuple(Change("p" * 10_000, "o" * 10_000, "n" * 10_000) for _ in range(100))
    Journal(tmp_path).note(miss("f" * 10_000, differences=many))
    assert (tmp_path / "journal" / "misses.jsonl").stat().st_size < 40_000
    (found,) = Journal(tmp_path).misses()
    assert (len(found.differences), found.left_out) == (24, 76)
    assert len(found.differences[0].path) == module.TEXT


def test_texts_of_any_kind_are_kept(tmp_path: Path) -> None:
    name = "m.\ud800\n\x00é'\"\\"
    Journal(tmp_path).note(miss(name))
    assert programs(tmp_path) == [name]


def test_threads_lose_no_line(tmp_path: Path) -> None:
    def work(number: int) -> None:
        journal = Journal(tmp_path)
        for i in range(50):
            journal.note(miss(f"m.{number}.{i}"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(programs(tmp_path))) == 400


def test_the_journal_of_a_store_is_in_its_directory_wherever_that_is(tmp_path: Path) -> None:
    directory = DirectoryStore(tmp_path)
    for store in (directory, Tiered(MemoryStore(), directory), Tiered(Tiered(directory))):
        assert store.journal is not None
    quiet: list[BaseStore] = [
        MemoryStore(),
        NullStore(),
        ReadOnly(directory),
        directory.for_reading(),
    ]
    for silent in (*quiet, Verifying(directory)):
        assert silent.journal is None
