"""why: the journal, read back in words."""

from __future__ import annotations

import time

from tests.cli.running import Run
from whorl.store import DirectoryStore
from whorl.store.journal import Change, Journal, Miss


def noted(store: DirectoryStore, *misses: Miss) -> Journal:
    store.root.mkdir(mode=0o700)
    journal = Journal(store.root)
    for miss in misses:
        journal.note(miss)
    return journal


def test_misses_are_told_with_what_differed_and_where_it_was_read(
    run: Run, store: DirectoryStore
) -> None:
    difference = Change("global:solver.SCALE", "2.0", "3.0", "solver.py:7: `x * SCALE`")
    noted(
        store,
        Miss("solver.step", "first compile", "first compile", seconds=0.5, key="ab" * 16),
        Miss("solver.step", "a read differs", "1 of its reads differs", (difference,)),
    )
    text = run("why").out
    assert "solver.step: first compile\n  made in 500 ms, abababababab\n" in text
    assert "  global:solver.SCALE: 2.0 -> 3.0\n    read at solver.py:7: `x * SCALE`\n" in text
    rows = run("why", "--json").json
    assert [row["cause"] for row in rows] == ["first compile", "a read differs"]
    assert rows[1]["differences"] == [
        dict(zip(("path", "old", "new", "line"), difference, strict=False))
    ]


def test_misses_are_narrowed_by_program_age_cause_and_number(
    run: Run, store: DirectoryStore
) -> None:
    now = time.time()
    noted(
        store,
        *(Miss(f"m.f{i % 3}", f"cause {i % 2}", "r", time=now - 1000 * i) for i in range(12)),
    )

    def times(*words: object) -> list[int]:
        rows = run("why", "--json", *words).json
        return sorted(round((now - row["time"]) / 1000) for row in rows)

    assert times("f1") == [1, 4, 7, 10]
    assert times("--since", "50m") == [0, 1, 2]
    assert times("--cause", "cause 1", "-n", 2) == [1, 3]
    assert len(times("-n", 0)) == 12
    text = run("why", "-n", 2).out
    assert text.startswith("10 earlier ones; --limit 0 shows all\n")


def test_no_miss_is_said_and_is_no_error(run: Run, store: DirectoryStore) -> None:
    noted(store)
    ran = run("why", "solver.step")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "whorl: no miss of solver.step is in the journal.\n"


def test_hostile_texts_are_shown_and_not_obeyed(run: Run, store: DirectoryStore) -> None:
    miss = Miss("[red]f\x1b]0;x\x07", "c", "r\x9b31m", (Change("p\n", "\r", "[bold]", "l"),))
    noted(store, miss)
    text = run("why").out
    assert "[red]f\\x1b]0;x\\x07" in text
    assert "p\\n: \\r -> [bold]" in text
    assert not any(ord(c) < 32 and c != "\n" for c in text)


def test_misses_that_no_filter_lets_through_are_counted_and_not_denied(
    run: Run, store: DirectoryStore
) -> None:
    long_ago = time.time() - 5000
    noted(
        store,
        Miss("m.step", "first compile", "r", time=long_ago),
        Miss("m.step", "a read differs", "r", time=long_ago),
        Miss("m.other", "first compile", "r", time=long_ago),
    )
    said = {
        "--since 1s": "3 misses are in the journal, none from the last 1.0 s.",
        "step --since 1s": "2 misses of step are in the journal, none from the last 1.0 s.",
        "other --since 2h --cause nope": "1 miss of other is in the journal, none from the last "
        "2 h 0 min with the cause 'nope'; there is 'first compile'.",
        "--cause nope": "3 misses are in the journal, none with the cause 'nope'; there are "
        "'a read differs', 'first compile'.",
        "nobody --since 1s": "no miss of nobody is in the journal.",
    }
    for words, text in said.items():
        ran = run("why", *words.split())
        assert (ran.code, ran.out, ran.err) == (0, "", f"whorl: {text}\n")


def test_an_age_beyond_all_numbers_is_no_age(run: Run, store: DirectoryStore) -> None:
    noted(store, Miss("m.f", "first compile", "r"))
    ran = run("why", "--since", "9" * 400 + "d", "--cause", "nope")
    assert (ran.code, "is not a duration" in ran.err) == (2, True)
