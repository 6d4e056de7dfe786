"""Laws of bundles and journals: what goes in comes out, whatever it is."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.store.entries import key_of
from whorl.artifacts import Artifact, Entry, Label, Part, encode
from whorl.store import Found, MemoryStore
from whorl.store.bundle import BadBundle, Imported, pack, unpack
from whorl.store.journal import TEXT, Change, Journal, Miss

texts = st.text(max_size=40)
entries = st.lists(
    st.tuples(
        st.integers(0, 50),
        st.none() | st.integers(0, 3),
        st.dictionaries(texts, st.binary(max_size=200).map(lambda b: b"." + b), max_size=2),
        st.lists(st.tuples(texts, texts), max_size=3),
    ),
    max_size=6,
    unique_by=lambda row: row[:2],
)


def made(
    row: tuple[int, int | None, dict[str, bytes], list[tuple[str, str]]],
) -> Entry:
    number, group, payloads, parts = row
    under = None if group is None else key_of(("group", group))
    label = Label("artifact", key_of(number), under, tuple(Part(*part) for part in parts))
    named = {name: data for name, data in payloads.items() if "pickle" not in name.lower()}
    return encode(Artifact(named), label)


@given(entries)
def test_a_bundle_brings_every_entry_as_it_was(rows: list[object]) -> None:
    held = [made(row) for row in rows]  # type: ignore[arg-type]  # rows of the strategy above
    store = MemoryStore()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bundle"
        pack(str(path), held)
        with path.open("rb") as file:
            assert unpack(file, store) == Imported(stored=len(held))
    for entry in held:
        got = store.get(entry.key, entry.under)
        assert isinstance(got, Found)
        assert bytes(got.entry.data) == bytes(entry.data)


@given(st.binary(max_size=300), st.integers(0, 400))
def test_bytes_put_into_a_bundle_bring_nothing_or_what_was_there(noise: bytes, place: int) -> None:
    store = MemoryStore()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bundle"
        pack(str(path), [made((1, None, {"code": b"ret"}, []))])
        whole = path.read_bytes()
        at = place % len(whole)
        spoiled = whole[:at] + noise + whole[at + len(noise) :]
        path.write_bytes(spoiled)
        with path.open("rb") as file:
            try:
                unpack(file, store)
            except BadBundle:
                assert list(store.iterate()) == []
            else:
                assert spoiled == whole


misses = st.builds(
    Miss,
    texts,
    texts,
    texts,
    st.lists(st.builds(Change, texts, texts, texts, texts, st.just(False)), max_size=3).map(tuple),
    st.integers(0, 9),
    st.floats(1, 1e10).map(lambda t: round(t, 3)),
    st.floats(0, 1e6).map(lambda t: round(t, 6)),
    texts,
    texts,
    st.integers(1, 99999),
)


@given(st.lists(misses, max_size=5))
def test_the_journal_keeps_misses_as_they_were(held: list[Miss]) -> None:
    assert TEXT > 40
    with tempfile.TemporaryDirectory() as folder:
        for miss in held:
            Journal(folder).note(miss)
        assert Journal(folder).misses() == sorted(held, key=lambda miss: miss.time)
