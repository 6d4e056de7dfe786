"""ls, show, diff and stats: what is in the cache, one by one and all together."""

from __future__ import annotations

import io
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

import whorl
from tests.cli.running import Run, artifact_of, unlabelled
from tests.store.entries import key_of
from whorl import settings
from whorl.artifacts import Entry, Label, Manifest, encode
from whorl.store import DirectoryStore, Ending, Statistics


@pytest.fixture
def entries(store: DirectoryStore) -> list[Entry]:
    now = time.time()
    made = [
        artifact_of("solver.step", 1, made=now - 10, size=10, seconds=0.1),
        artifact_of("solver.step", 2, made=now - 7200, size=50_000, seconds=0.3),
        artifact_of("image.blur", 1, made=now - 90_000, size=200, seconds=0.2),
        artifact_of("pipeline.load", 1, made=now - 50, kind="step"),
    ]
    for entry in made:
        store.put(entry)
    label = Label("manifest", key_of("shape"), key_of("manifests"), made[0].label.parts, made=now)
    store.put(encode(Manifest(key_of("program")), label))
    return made


def keys(rows: list[dict[str, str]]) -> list[str]:
    return [row["key"] for row in rows]


def test_ls_shows_entries_of_any_kind_the_last_first(run: Run, entries: list[Entry]) -> None:
    first, second, third, step = (str(entry.key) for entry in entries)
    rows = run("ls", "--json").json
    assert keys(rows) == [first, step, second, third]
    assert rows[1]["kind"] == "step"
    text = run("ls").out
    assert text.splitlines()[0].split() == [
        "key",
        "kind",
        "program",
        "size",
        "took",
        "made",
        "used",
    ]
    assert all(key in text for key in (first, second, third, step))


def test_ls_all_shows_bookkeeping_too(run: Run, entries: list[Entry]) -> None:
    assert len(run("ls", "--all", "--json").json) == 5
    (row,) = run("ls", "--kind", "manifest", "--json").json
    assert row["program"] == "solver.step"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("--program step", [0, 1]),
        ("--program solver.step", [0, 1]),
        ("--program s*", [0, 1]),
        ("--program ste", []),
        ("-p step -p blur", [0, 1, 2]),
        ("--newer-than 1h", [0, 3]),
        ("--older-than 1d", [2]),
        ("--older-than 30m --newer-than 3h", [1]),
        ("--larger-than 10K", [1]),
        ("--smaller-than 1G --program blur", [2]),
        ("--kind step", [3]),
        ("--kind nothing", []),
    ],
)
def test_ls_filters(run: Run, entries: list[Entry], words: str, found: list[int]) -> None:
    rows = run("ls", "--json", *words.split()).json
    assert sorted(keys(rows)) == sorted(str(entries[i].key) for i in found)


def test_ls_sorts_and_limits(run: Run, entries: list[Entry]) -> None:
    assert keys(run("ls", "--json", "--sort", "size", "-n", 1).json) == [str(entries[1].key)]
    names = [row["program"] for row in run("ls", "--json", "--sort", "program").json]
    assert names == sorted(names)
    names = [row["program"] for row in run("ls", "--json", "--sort", "program", "--reverse").json]
    assert names == sorted(names, reverse=True)


def test_ls_prints_keys_alone_for_other_commands(run: Run, entries: list[Entry]) -> None:
    assert run("ls", "--keys", "-p", "blur").out == f"{entries[2].key}\n"
    assert run("ls", "-q", "-p", "blur", "--json").json == [str(entries[2].key)]


def test_ls_of_nothing_that_fits_says_how_many_there_are(run: Run, entries: list[Entry]) -> None:
    ran = run("ls", "--program", "nothing")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "whorl: no entry matches; whorl ls --all shows all (5 entries).\n"


def test_ls_of_an_empty_cache_says_that(run: Run, store: DirectoryStore) -> None:
    store.root.mkdir(mode=0o700)
    for words in ([], ["--all"], ["--program", "nothing"]):
        ran = run("ls", *words)
        assert (ran.code, ran.out, ran.err) == (0, "", f"whorl: {store.root} has no entries.\n")


@pytest.mark.parametrize("text", ["5", "5 years", "-5d", "d"])
def test_a_bad_age_is_code_2(run: Run, text: str) -> None:
    ran = run("ls", f"--older-than={text}")
    assert ran.code == 2
    assert "7d" in ran.err


def test_ls_and_stats_go_on_when_entries_cannot_be_read(
    run: Run, store: DirectoryStore, entries: list[Entry]
) -> None:
    path = store.path(entries[0].key, entries[0].under)
    with Path(path).open("r+b") as file:
        file.write(b"rubbish")
    ran = run("ls")
    assert ran.code == 0
    assert "unreadable" in ran.out
    assert "1 of these cannot be read; see whorl verify" in ran.err
    assert run("stats", "--json").json["kinds"]["unreadable"]["entries"] == 1


# -- show -------------------------------------------------------------------------------


def test_show_tells_every_part_of_the_key_and_where_it_was_read(
    run: Run, entries: list[Entry]
) -> None:
    told = run("show", entries[0].key, "--json").json
    assert told["parts"] == [
        {"name": "function", "text": "solver.step"},
        {"name": "target", "text": "linux-x86-64"},
        {"name": "SCALE", "text": "1"},
    ]
    assert told["reads"][0]["line"] == "solver.py:7: `x * SCALE`"
    assert told["payloads"][0]["name"] == "code"
    assert (told["seconds"], told["metadata"]) == (0.1, {"slots": "(1, 2)"})
    text = run("show", entries[0].key).out
    for piece in ("solver.step", "SCALE", "10 B", "100 ms", "solver.py:7: `x * SCALE`", "llvm 1"):
        assert piece in text


def test_the_first_digits_are_enough_when_they_name_one(run: Run, entries: list[Entry]) -> None:
    key = str(entries[0].key)
    assert run("show", key[:16], "--json").json["key"] == key
    assert run("show", key[:16].upper(), "--json").json["key"] == key


def test_digits_that_name_several_list_them(run: Run, store: DirectoryStore) -> None:
    entries = [artifact_of("f", variant) for variant in range(40)]
    for entry in entries:
        store.put(entry)
    digit = str(entries[0].key)[0]
    same = [entry for entry in entries if str(entry.key)[0] == digit]
    ran = run("show", digit)
    assert len(same) > 1
    assert ran.code == 2
    assert ran.err.startswith(f"whorl: {digit!r} matches {len(same)} entries:\n")
    assert all(str(entry.key) in ran.err for entry in same[:10])


def test_one_key_in_two_groups_is_shown_by_group(run: Run, store: DirectoryStore) -> None:
    key = key_of("shape")
    for name in ("one", "two"):
        label = Label("manifest", key, key_of(name))
        store.put(encode(Manifest(key_of("program")), label))
    ran = run("show", key)
    assert ran.code == 2
    assert f"{key_of('one')}/{key}" in ran.err
    assert run("show", f"{key_of('one')}/{key}").code == 0


@pytest.mark.parametrize("key", ["xyz", "", "0" * 33, "../../etc"])
def test_what_is_no_key_is_one_line(run: Run, key: str) -> None:
    ran = run("show", key)
    assert ran.code == 2
    assert (
        ran.err
        == f"whorl: {key!r} is not a key: a key has up to 32 hexadecimal digits (whorl ls).\n"
    )


def test_a_key_that_nothing_has_is_one_line(run: Run) -> None:
    ran = run("show", "abc")
    assert ran.code == 2
    assert "has a key that begins with 'abc'" in ran.err


def test_a_damaged_entry_is_one_line_and_stays(
    run: Run, store: DirectoryStore, entries: list[Entry]
) -> None:
    path = store.path(entries[0].key, entries[0].under)
    with Path(path).open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"!")
    ran = run("show", entries[0].key)
    assert ran.code == 1
    assert "its bytes are not those that were written" in ran.err
    assert not (store.root / "quarantine").exists()


def test_a_payload_can_be_extracted(store: DirectoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    from whorl.cli import main

    entry = artifact_of("f", payload=b"\x00\xff\r\n")
    store.put(entry)
    words = ["show", str(entry.key), "--cache-dir", str(store.root), "--extract"]
    stream = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", stream)
    assert main([*words, "code"]) == 0
    assert stream.buffer.getvalue() == b"\x00\xff\r\n"
    assert main([*words, "llvm"]) == 2


@whorl.kernel
def halved(x):  # type: ignore[no-untyped-def]
    x[0] = x[0] / 2


def test_the_text_of_a_kernel_is_extracted_as_text(
    fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Payloads of kernels are kept compressed; `--extract llvm | less` is for people."""
    from whorl.cli import main

    halved(np.ones(2))
    (made,) = halved.specializations()
    for payload, part in (("llvm", b"fdiv double"), ("ir", b"kernel halved")):
        stream = io.TextIOWrapper(io.BytesIO())
        monkeypatch.setattr(sys, "stdout", stream)
        words = ["show", str(made.key), "--cache-dir", str(fresh_cache), "--extract", payload]
        assert main(words) == 0
        assert part in stream.buffer.getvalue()


def test_a_payload_that_only_begins_like_a_compressed_one_is_as_it_is(
    store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from whorl.cli import main

    whole = zlib.compress(b"text")
    for payload in (b"x", b"x\x9c" + b"no", whole[:-1], whole + b"more"):
        entry = artifact_of("f", payload=payload)
        store.put(entry)
        words = ["show", str(entry.key), "--cache-dir", str(store.root), "--extract", "code"]
        stream = io.TextIOWrapper(io.BytesIO())
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(words) == 0
        assert stream.buffer.getvalue() == payload
        store.remove(entry.key)


def test_a_payload_is_no_json_and_both_are_not_asked_for(run: Run, entries: list[Entry]) -> None:
    ran = run("show", entries[0].key, "--extract", "code", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "whorl: --extract writes the payload itself, not JSON: leave out --json.\n"


# -- diff -------------------------------------------------------------------------------


def test_diff_names_the_parts_that_differ_and_says_so_by_its_code(
    run: Run, entries: list[Entry]
) -> None:
    ran = run("diff", entries[0].key, entries[1].key, "--json")
    assert ran.code == 1
    rows = {row["name"]: row for row in ran.json["differences"]}
    assert set(rows) == {"SCALE", "code"}
    assert (rows["SCALE"]["one"], rows["SCALE"]["other"]) == ("1", "2")
    text = run("diff", entries[0].key, entries[1].key).out
    assert "SCALE\n  -  1\n  +  2\n" in text


@pytest.mark.parametrize(
    "words", ["show {0}", "show {0} --extract code", "diff {0} {0}", "diff {1} {0}"]
)
def test_an_entry_whose_label_makes_no_sense_is_one_line(
    run: Run, store: DirectoryStore, entries: list[Entry], words: str
) -> None:
    odd = unlabelled()
    store.put(odd)
    ran = run(*words.format(odd.key, entries[0].key).split())
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert ran.err.startswith(f"whorl: {odd.key} cannot be read: ")
    assert ran.err.endswith("See whorl verify.\n")


def test_an_entry_does_not_differ_from_itself(run: Run, entries: list[Entry]) -> None:
    ran = run("diff", entries[0].key, entries[0].key)
    assert ran.code == 0
    assert "nothing differs" in ran.out


# -- stats ------------------------------------------------------------------------------


def test_stats_add_up_what_is_kept_and_what_was_counted(
    run: Run, store: DirectoryStore, entries: list[Entry]
) -> None:
    statistics = Statistics(store.root / "statistics")
    statistics.count(Ending.ABSENT, 2)
    for _ in range(3):
        statistics.hit(100, 0.5, "solver.step")
    statistics.made("solver.step", 0.25, "first compile")
    statistics.flush()
    told = run("stats", "--json").json
    assert (told["hits"], told["misses"], told["entries"]) == (3, {"miss: absent": 2}, 5)
    assert (told["seconds_saved"], told["causes"]) == (1.5, {"first compile": 1})
    assert told["size"] == sum(path.stat().st_size for path in files(store))
    step = told["programs"][0]
    assert (step["program"], step["found"], step["made"], step["entries"]) == (
        "solver.step",
        3,
        1,
        2,
    )
    text = run("stats").out
    for piece in ("miss: absent", "first compile", "1.5 s", "solver.step", "image.blur"):
        assert piece in text
    assert [row["program"] for row in run("stats", "blur", "--json").json["programs"]] == [
        "image.blur"
    ]


def test_stats_of_a_program_that_is_not_there_say_so(run: Run, entries: list[Entry]) -> None:
    ran = run("stats", "nosuch")
    assert (ran.code, ran.err) == (0, "whorl: no program is called nosuch.\n")
    assert "hits" in ran.out


def files(store: DirectoryStore) -> list[Path]:
    return [
        path for path in (store.root / "v1").rglob("*") if path.is_file() and len(path.name) > 20
    ]


@pytest.mark.parametrize("command", [["gc", "--max-size", "0"], ["gc", "--older-than", "0s"]])
def test_nothing_is_removed_from_a_cache_that_is_readonly(
    run: Run, store: DirectoryStore, command: list[str]
) -> None:
    store.put(artifact_of("solver.step", 1))
    before = settings.current()
    settings.configure(cache="readonly")
    try:
        done = run(*command)
        assert (done.code, done.err) == (
            1, "whorl: WHORL_CACHE is readonly: nothing is changed; use --dry-run.\n",
        )  # fmt: skip
        assert run("gc", "--max-size", "0", "--dry-run").code == 0
    finally:
        settings.restore(before)
    assert len(list(store.groups())) == 1


def test_stats_show_as_many_programs_as_asked_for_in_json_too(
    run: Run, store: DirectoryStore
) -> None:
    for i in range(25):
        store.put(artifact_of(f"m.f{i}"))
    numbers = [len(run("stats", "--json", *words).json["programs"]) for words in ([], ["-n", 3])]
    assert numbers == [25, 3]
    assert "and 5 more; --limit 0 shows all" in run("stats").out
    assert "m.f24" in run("stats", "-n", 0).out
