"""A hint leads to an artifact sooner, and nothing depends on it."""

from __future__ import annotations

import copy
import enum
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from tests.jit.compilers import Looking, Make, as_in_a_new_process, compiles
from whorl.artifacts import HINT, Entry, Label
from whorl.fingerprint import source
from whorl.fingerprint.digest import StableDigest
from whorl.jit import compiler_code
from whorl.jit.kernel import Kernel
from whorl.jit.key import (
    NO_HINT,
    ROWS_KEPT,
    SHAPES_KEPT,
    TEXT_KEPT,
    FileHint,
    Hint,
    plain_shape_key,
)
from whorl.reads import Inputs
from whorl.store import Cache, DirectoryStore, Found, MemoryStore, ReadOnly


class Watched(DirectoryStore):
    """A directory that remembers what it was asked."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.gets: list[StableDigest] = []
        self.listed = 0
        self.hints_put = 0

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Any:
        self.gets.append(key)
        return super().get(key, under)

    def put(self, entry: Entry) -> Any:
        self.hints_put += entry.label.kind == HINT
        return super().put(entry)

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        self.listed += 1
        return super().iterate(under)


SCALE = 2.0


def helper(x: Any) -> Any:
    return x * SCALE


def look(inputs: Inputs) -> Any:
    code = inputs.function().glob("helper").code()
    if inputs.arg("x").type() == ("str",):
        return inputs.arg("y").value()
    return [inputs.arg("x").array()[1], code.glob("SCALE").value()]


def kernel(x: Any = None, y: Any = None) -> Any:
    return helper(x)


def forget_code() -> None:
    """Let this process know no more of code than a new one."""
    source._known.clear()
    compiler_code._CODES.clear()


def fresh(made: Kernel, store: Any) -> Kernel:
    """The kernel as a new process has it, but for what this one knows about sources."""
    forget_code()
    compiler: Any = copy.copy(made.compiler)
    compiler.compiles = 0
    return Kernel(made.function, compiler, made.choices, Cache(store))


def hints_in(store: Any) -> list[Entry]:
    found = [store.get(key) for key in store.iterate()]
    entries = [got.entry for got in found if isinstance(got, Found)]
    return [entry for entry in entries if entry.label.kind == HINT]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def made(make: Make, root: Path) -> Kernel:
    """A kernel that was compiled for an array."""
    forget_code()
    made = make(look, kernel, store=Cache(DirectoryStore(root)))
    made(np.zeros(3, "f4"))
    return made


def test_the_first_lookup_gets_a_hint_and_an_artifact_and_lists_nothing(
    made: Kernel, root: Path
) -> None:
    store = Watched(root)
    again = fresh(made, store)
    assert again(np.ones(5, "f4")) == ["<f4", 2.0]
    assert (compiles(again), len(store.gets), store.listed, store.hints_put) == (0, 2, 0, 0)


def test_without_its_hint_an_artifact_is_found_the_long_way_and_the_hint_is_made_again(
    made: Kernel, root: Path
) -> None:
    store = Watched(root)
    (hint,) = hints_in(store)
    store.remove(hint.key)
    again = fresh(made, store)
    assert (again(np.ones(5, "f4")), compiles(again)) == (["<f4", 2.0], 0)
    (rebuilt,) = hints_in(store)
    assert (rebuilt.key, rebuilt.record) == (hint.key, hint.record)


def test_a_damaged_hint_is_a_miss_and_is_made_again(made: Kernel, root: Path) -> None:
    store = Watched(root)
    (hint,) = hints_in(store)
    path = Path(store.path(hint.key))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    again = fresh(made, store)
    assert (again(np.ones(5, "f4")), compiles(again)) == (["<f4", 2.0], 0)
    assert len(hints_in(store)) == 1


def leads(record: Any, *shapes: Any) -> Any:
    """What leads to other shapes than it did."""
    return [*record[:2], {lead: [*shapes] for lead in record[2]}]


def deep(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


NONSENSE: dict[str, Any] = {
    "nothing": lambda record: None,
    "a text": lambda record: "hint",
    "another kind": lambda record: ["source", *record[1:]],
    "too short": lambda record: record[:2],
    "too long": lambda record: [*record, 1],
    "a list of rows": lambda record: [record[0], [1], record[2]],
    "no rows": lambda record: [record[0], {}, record[2]],
    "rows of nothing": lambda record: [record[0], dict.fromkeys(record[1]), record[2]],
    "rows of other things": lambda record: [
        record[0], {key: ["source", "not hex", 1, 2] for key in record[1]}, record[2],
    ],
    "rows that are numbers": lambda record: [record[0], dict.fromkeys(record[1], 7), record[2]],
    "a list of leads": lambda record: [*record[:2], [*record[2].items()]],
    "no leads": lambda record: [*record[:2], {}],
    "leads to nothing": lambda record: [*record[:2], dict.fromkeys(record[2])],
    "leads to a number": lambda record: [*record[:2], dict.fromkeys(record[2], 7)],
    "leads to a text": lambda record: [*record[:2], dict.fromkeys(record[2], "type arg x")],
    "no shapes": leads,
    "shapes that are numbers": lambda record: leads(record, 1, 2.5, None),
    "shapes that are texts": lambda record: leads(record, "", "[]", "é\ud800"),
    "a shape in a dict": lambda record: [
        *record[:2], {lead: {"0": shape} for lead, (shape,) in record[2].items()},
    ],
    "very deep": lambda record: leads(record, deep(900)),
    "shapes that are none": lambda record: leads(
        record,
        *[
            1, {}, "arg", [1], [[]], [["type"]], [["type", 1]], [["type", ["arg"]]],
            [["type", ["nowhere", "x"]]], [["type", ["arg", 1]]], [["no aspect", ["arg", "x"]]],
            [[["type"], ["arg", "x"]]], [["type", [["arg"], "x"]]], [["alias", ["arg", "x"]]],
            [["alias", ["env", "PATH"], ["arg", "x"]]], [["alias", ["file", "x"], ["arg", "x"]]],
            [["type", ["env", "PATH"]]], [["value", ["compiler", "nothing"]]],
            [["value", ["arg", "x", ["keyed", {"tuple": ["enum", "no", "such", "key"]}]]]],
            [["type", ["arg", "x", ["no operation", 1]]]], [["type", ["arg", "x", ["attr"]]]],
            [["type", ["arg", "no parameter"]]], [["value", ["env", "NOT_DECLARED"]]],
            [["type", ["arg", "x", ["attr", {"no tag": 1}]]]], [["value", ["global", "x"]]],
            [{"type": 1, "x": 2}], [["type", {"arg": 1, "x": 2}]], [None], [[None, ["arg", "x"]]],
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_a_hint_that_makes_no_sense_costs_time_and_nothing_else(
    made: Kernel, root: Path, nonsense: str
) -> None:
    store = DirectoryStore(root)
    (hint,) = hints_in(store)
    store.put(Entry.build(Label(HINT, hint.key), {}, NONSENSE[nonsense](hint.record)))
    again = fresh(made, store)
    assert again(np.ones(5, "f4")) == ["<f4", 2.0]
    assert compiles(again) == 0
    assert (again("text", 7), again("text", 8)) == (7, 8)


def test_a_hint_names_every_shape_that_was_met(made: Kernel, root: Path) -> None:
    assert made("text", 7) == 7
    store = Watched(root)
    again = fresh(made, store)
    assert (again("text", 7), again(np.zeros(2, "f4"))) == (7, ["<f4", 2.0])
    assert (compiles(again), store.listed, store.hints_put) == (0, 0, 0)


def test_what_a_hint_lacks_about_sources_is_added(make: Make, root: Path) -> None:
    forget_code()
    source.code_digest(helper.__code__)  # this process knows it, so the hint does not hold it
    make(look, kernel, store=Cache(DirectoryStore(root)))(np.zeros(3, "f4"))
    (hint,) = hints_in(DirectoryStore(root))
    made = make(look, kernel, store=Cache(DirectoryStore(root)))
    for new_rows in (1, 0):
        store = Watched(root)
        assert fresh(made, store)(np.zeros(3, "f4")) == ["<f4", 2.0]
        assert (store.listed, store.hints_put) == (0, new_rows)
    (fuller,) = hints_in(DirectoryStore(root))
    assert len(fuller.record[1]) == len(hint.record[1]) + 1


def test_who_writes_last_wins_and_what_is_lost_is_found_again(made: Kernel, root: Path) -> None:
    store = Watched(root)
    (hint,) = hints_in(store)
    made("text", 7)
    store.put(hint)  # somebody who did not know of it
    again = fresh(made, store)
    assert (again("text", 7), compiles(again)) == (7, 0)
    last = fresh(made, Watched(root))
    assert (last("text", 7), last(np.zeros(2, "f4")), compiles(last)) == (7, ["<f4", 2.0], 0)
    last_store: Any = last.lookup.cache.store
    assert last_store.listed == 0


def test_a_hint_does_not_outlive_what_was_read(
    made: Kernel, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    again = fresh(made, DirectoryStore(root))
    assert (again(np.ones(5, "f4")), compiles(again)) == (["<f4", 3.0], 1)


class Mode(enum.Enum):
    FAST = 1


class Flagged(Looking):
    """Its flags count."""

    settings: Any = ("flags",)


def look_at_modes(inputs: Inputs) -> Any:
    return inputs.arg("x").item(Mode.FAST).value()


def test_settings_of_a_compiler_and_keyed_items_are_found_through_a_hint(root: Path) -> None:
    def flagged(flags: str) -> tuple[Kernel, Watched]:
        forget_code()
        store = Watched(root)
        compiler = Flagged(look_at_modes, flags=flags)
        return whorl.jit(compiler, store=Cache(store))(kernel), store

    assert flagged("-O2")[0]({Mode.FAST: 1}) == 1
    for flags, compiled in (("-O2", 0), ("-O3", 1), ("-O3", 0), ("-O2", 0)):
        again, store = flagged(flags)
        assert (again({Mode.FAST: 1}), compiles(again)) == (1, compiled)
        assert compiled or (len(store.gets), store.listed) == (2, 0)


def test_a_class_of_another_name_has_a_lead_of_its_own(made: Kernel, root: Path) -> None:
    other = whorl.jit(Flagged(look, flags=""), store=Cache(DirectoryStore(root)))(kernel)
    assert (other(np.zeros(3, "f4")), compiles(other)) == (["<f4", 2.0], 1)
    (hint,) = hints_in(DirectoryStore(root))
    assert len(hint.record[2]) == 2


def other_kernel(x: Any = None, y: Any = None) -> Any:
    return helper(y)


def test_the_kernels_of_a_file_share_a_hint(made: Kernel, make: Make, root: Path) -> None:
    make(look, other_kernel, store=Cache(DirectoryStore(root)))(np.zeros(3, "f4"))
    store = Watched(root)
    for function in (kernel, other_kernel):
        forget_code()
        again = make(look, function, store=Cache(store))
        assert (again(np.ones(5, "f4")), compiles(again)) == (["<f4", 2.0], 0)
    assert (len(set(store.gets)), store.listed, store.hints_put) == (3, 0, 0)
    (hint,) = hints_in(store)
    # Three functions of the file and two methods of the compiler; two leads.
    assert (len(hint.record[1]), len(hint.record[2])) == (5, 2)


def test_what_others_have_told_meanwhile_is_kept_and_found() -> None:
    store, key = MemoryStore(), StableDigest("1" * 32)
    f, g = StableDigest("f" * 32), StableDigest("a" * 32)
    mine, theirs = FileHint(store, key), FileHint(store, key)
    mine.add({"a": 1}, f, "type arg x")
    theirs.add({"b": 2}, g, "type arg y")
    assert list(mine.about(g).shapes(g).values()) == ["type arg y"]
    mine.add({"c": 3}, f, "value arg x")
    assert Hint.of(store, key) == mine.hint
    assert mine.hint.rows == {"a": 1, "b": 2, "c": 3}
    assert mine.hint.leads == {f: ["value arg x", "type arg x"], g: ["type arg y"]}


@pytest.mark.parametrize("trouble", ["absent", "damaged", "unsafe", "a directory", "unreadable"])
def test_who_reads_ahead_says_and_does_nothing_about_trouble(
    made: Kernel, root: Path, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = DirectoryStore(root)
    (hint,) = hints_in(store)
    path = Path(store.path(hint.key))
    assert store.peek(hint.key) is not None
    if trouble == "damaged":
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    elif trouble == "unsafe":
        path.chmod(0o666)
    else:
        path.unlink()
    if trouble == "a directory":
        path.mkdir()
    elif trouble == "unreadable":
        path.symlink_to(path.name)
    before = sorted(root.rglob("*"))
    assert store.peek(hint.key) is None
    assert (sorted(root.rglob("*")), caplog.text) == (before, "")


def test_reading_ahead_is_a_use(made: Kernel, root: Path) -> None:
    store = DirectoryStore(root)
    (hint,) = hints_in(store)
    path = Path(store.path(hint.key))
    os.utime(path, (1, 1))
    store.peek(hint.key)
    assert path.stat().st_mtime > 1
    os.utime(path, (1, 1))
    store.for_reading().peek(hint.key)
    assert path.stat().st_mtime == 1


def test_a_store_that_is_not_written_to_needs_no_hint(made: Kernel, root: Path) -> None:
    store = DirectoryStore(root)
    (hint,) = hints_in(store)
    store.remove(hint.key)
    again = fresh(made, ReadOnly(store))
    assert (again(np.ones(5, "f4")), again(np.ones(5, "f4")), compiles(again)) == (
        ["<f4", 2.0],
        ["<f4", 2.0],
        0,
    )
    assert hints_in(store) == []


def test_who_adds_to_a_hint_leaves_nonsense_behind() -> None:
    nonsense: list[Any] = [7, "abc", {}, None, "type arg x", "value arg x y;"]
    hint = Hint({}, {"f": nonsense})
    assert hint.joined({}, "f", "type arg y").leads == {"f": ["type arg y", "type arg x"]}


def test_a_lead_keeps_its_newest_shapes() -> None:
    hint = NO_HINT
    for number in range(100):
        hint = hint.joined({str(number): number}, "lead", f"type arg x{number}")
    assert (len(hint.leads["lead"]), hint.leads["lead"][0]) == (SHAPES_KEPT, "type arg x99")
    assert next(iter(hint.rows)) == "99"


@pytest.mark.parametrize("rows", [0, ROWS_KEPT])
def test_what_does_not_fit_into_the_hint_of_a_file_has_one_of_its_own(rows: int) -> None:
    store, key = MemoryStore(), StableDigest("1" * 32)
    leads = [StableDigest(f"{number:032x}") for number in range(20)]
    long = "type arg " + " ".join(f"x{i}" for i in range(TEXT_KEPT // 40))
    file = FileHint(store, key)
    for number, lead in enumerate(leads):
        file.add({f"{number} {i}": i for i in range(rows)}, lead, f"{long} y{number}")
    whole = Hint.of(store, key)
    assert whole.is_full
    assert 1 <= len(whole.leads) < 20
    later = FileHint(store, key, whole)
    for number, lead in enumerate(leads):
        hint = later.about(lead)
        assert list(hint.shapes(lead).values()) == [f"{long} y{number}"]
        assert len(hint.rows) >= rows
    later.add({}, leads[-1], "type arg z")
    assert Hint.of(store, key) == whole
    assert len(FileHint(store, key).about(leads[-1]).shapes(leads[-1])) == 2


def test_many_kernels_of_one_file_are_found_without_listing(tmp_path: Path) -> None:
    body = " + ".join(f"CONSTANT_{g}" for g in range(120))
    text = "".join(f"CONSTANT_{g} = {g}\n" for g in range(120))
    text += "".join(f"def k{i}(x=None, y=None):\n    return {i} + {body}\n" for i in range(60))
    path = tmp_path / "kern.py"
    path.write_text(text)
    scope: dict[str, Any] = {"__name__": "kern"}
    exec(compile(text, str(path), "exec"), scope)

    def look_at_all(inputs: Inputs) -> Any:
        code = inputs.function()
        return sum(code.glob(name).value() for name in code.global_names)

    listed = []
    for _ in range(2):
        store = Watched(tmp_path / "store")
        for i in range(60):
            forget_code()
            whorl.jit(Looking(look_at_all), store=Cache(store))(scope[f"k{i}"])()
        listed.append(store.listed)
    assert listed[1] == 0
    assert len(hints_in(store)) > 1


def test_a_hint_comes_back_as_it_was() -> None:
    store, key = MemoryStore(), StableDigest("1" * 32)
    hint = NO_HINT.joined({"a": ["b", 1]}, "lead", "type arg x")
    store.put(hint.entry(key))
    assert Hint.of(store, key) == hint
    assert hint.shapes("lead") == {plain_shape_key("type arg x"): "type arg x"}
    assert hint.shapes("another") == {}


@pytest.mark.parametrize(
    "nonsense", [["value file \0"], 7, "abc", ["value env \ud800"], "value arg x y;", {}]
)
def test_a_hint_that_makes_no_sense_is_no_matter_to_an_explanation(
    make: Make, tmp_path: Path, nonsense: Any
) -> None:
    def kernel(x: Any) -> None: ...

    store = DirectoryStore(tmp_path / "store")
    made = make(lambda inputs: inputs.arg("x").value(), kernel, store=Cache(store))
    made(1)
    (kept,) = hints_in(store)
    kind, rows, leads = kept.record
    ((lead, shapes),) = leads.items()
    told = [kind, rows, {lead: [nonsense, *shapes]}]
    store.put(Entry.build(Label(HINT, kept.key), {}, told))
    assert as_in_a_new_process(made).explain(1).outcome == "hit"
    assert as_in_a_new_process(made).explain(2).outcome == "miss"
    again = as_in_a_new_process(made)
    assert (again(1), again(2.5), compiles(again)) == (1, 2.5, 1)


def test_a_hint_names_all_functions_however_many_there_are(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "many.py"
    names = [f"f{number}" for number in range(80)]
    defined = "".join(f"def {name}(): return {name!r}\n" for name in names)
    path.write_text(f"{defined}def kernel(x): return [{', '.join(names)}]\n", encoding="utf-8")
    scope: dict[str, Any] = {"__name__": "many"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)

    def look(inputs: Inputs) -> Any:
        return [inputs.function().glob(name).code().digest for name in names]

    source._known.clear()
    made = make(look, scope["kernel"], store=Cache(DirectoryStore(tmp_path / "store")))
    made(1)
    for _ in range(2):
        store = Watched(tmp_path / "store")
        fresh = as_in_a_new_process(made)
        again = Kernel(fresh.function, fresh.compiler, fresh.choices, Cache(store))
        again(1)
        assert (compiles(again), len(store.gets), store.hints_put) == (0, 2, 0)
