"""An older hint in a near tier does not hide what a farther one has."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from tests.jit.compilers import Make, compiles
from tests.jit.test_hint import Watched, fresh, hints_in, kernel, look, other_kernel
from whorl.artifacts import HINT, Entry, Label
from whorl.fingerprint import definition, source
from whorl.fingerprint.digest import StableDigest
from whorl.jit import key as module
from whorl.jit.key import SHAPES_KEPT, FileHint, Hint, prefetched_hint
from whorl.store import Cache, DirectoryStore, MemoryStore, ReadOnly, Tiered

KEY, F, G = (StableDigest(digit * 32) for digit in "1fa")


class Far(MemoryStore):
    """A store that counts how often it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.gets = 0

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Any:
        self.gets += 1
        return super().get(key, under)


def leads_in(store: Any, key: StableDigest = KEY) -> set[str]:
    return set(Hint.of(store, key).leads)


def test_a_lead_that_the_nearer_hint_misses_is_found_in_the_next_and_kept_near() -> None:
    near, far = MemoryStore(), Far()
    FileHint(near, KEY).add({"a": 1}, F, "type arg x")
    FileHint(far, KEY).add({"b": 2}, G, "type arg y")
    tiers = Tiered(near, far)
    hint = FileHint(tiers, KEY).about(G)
    assert list(hint.shapes(G).values()) == ["type arg y"]
    assert list(hint.shapes(F).values()) == ["type arg x"]
    assert hint.rows == {"a": 1, "b": 2}
    assert (leads_in(near), leads_in(far)) == ({F, G}, {G})  # nothing is sent to the far one
    far.gets = 0
    assert FileHint(tiers, KEY).about(G).leads == hint.leads
    assert far.gets == 0  # the second process finds all of it near


def test_a_lead_that_the_nearer_hint_has_asks_no_farther_tier() -> None:
    near, far = MemoryStore(), Far()
    FileHint(near, KEY).add({}, F, "type arg x")
    far.put(Hint({}, {F: ["value arg x"]}).entry(KEY))
    hint = FileHint(Tiered(near, far), KEY).about(F)
    assert list(hint.shapes(F).values()) == ["type arg x"]
    assert FileHint(Tiered(near, far), KEY).read() == hint
    assert far.gets == 0


def test_who_adds_to_a_hint_keeps_the_leads_and_shapes_of_every_tier() -> None:
    near, far = MemoryStore(), MemoryStore()
    near.put(Hint({"a": 1}, {F: ["type arg x"]}).entry(KEY))
    far.put(Hint({"b": 2}, {F: ["value arg x"], G: ["type arg y"]}).entry(KEY))
    FileHint(Tiered(near, far), KEY).add({"c": 3}, F, "array arg x")
    for store in (near, far):
        hint = Hint.of(store, KEY)
        assert hint.leads == {F: ["array arg x", "type arg x", "value arg x"], G: ["type arg y"]}
        assert hint.rows == {"a": 1, "b": 2, "c": 3}


def test_merged_shapes_of_a_lead_are_bounded_and_nonsense_does_no_harm() -> None:
    mine = Hint({}, {F: [f"type arg x{i}" for i in range(20)]})
    theirs = Hint({}, {F: [f"type arg y{i}" for i in range(20)], G: 7})  # type: ignore[dict-item]
    merged = mine.merged(theirs)
    assert len(merged.leads[F]) == SHAPES_KEPT
    assert merged.leads[F][:20] == mine.leads[F]
    assert theirs.merged(Hint({}, {G: ["type arg y"]})).shapes(G) == {}


def test_a_hint_of_which_nothing_makes_sense_hides_nothing() -> None:
    near, far = MemoryStore(), MemoryStore()
    near.put(Entry.build(Label(HINT, KEY), {}, ["hint", 1, 2]))
    FileHint(far, KEY).add({}, G, "type arg y")
    hint = FileHint(Tiered(near, ReadOnly(far)), KEY).about(G)
    assert list(hint.shapes(G).values()) == ["type arg y"]
    assert leads_in(near) == {G}


def test_a_kernel_of_the_shipped_tier_is_found_by_its_hint_beside_an_older_one(
    make: Make, tmp_path: Path
) -> None:
    own, shipped = DirectoryStore(tmp_path / "own"), DirectoryStore(tmp_path / "shipped")
    x = np.zeros(3, "f4")
    make(look, kernel, store=Cache(own))(x)  # the older one knows this kernel only
    source._known.clear()
    for function in (kernel, other_kernel):
        shipping = make(look, function, store=Cache(shipped))
        shipping(x)
    near, far = Watched(tmp_path / "own"), Watched(tmp_path / "shipped")
    again = fresh(shipping, Tiered(near, ReadOnly(far)))
    assert (again(np.ones(5, "f4")), compiles(again)) == (["<f4", 2.0], 0)
    assert near.listed == 0
    (hint,) = hints_in(own)
    assert len(hint.record[2]) == 2  # both leads are near by now
    assert len(hints_in(shipped)) == 1


def test_a_hint_is_read_ahead_from_tiers_too(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = DirectoryStore(tmp_path / "shipped")
    make(look, kernel, store=Cache(shipped))(np.zeros(3, "f4"))
    (hint,) = hints_in(shipped)
    tiers = Tiered(DirectoryStore(tmp_path / "own"), ReadOnly(shipped))
    monkeypatch.setattr(module, "prepared", lambda: tiers)
    place = definition.definition_of(cast("types.FunctionType", kernel))
    assert place is not None
    early = prefetched_hint(place)
    assert early is not None
    assert early.store is tiers
    assert set(early.hint.leads) == set(hint.record[2])
    assert not (tmp_path / "own").exists()
