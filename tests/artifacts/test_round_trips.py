"""Metadata and artifacts come back as they were, or are refused by name."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from tests.store.entries import key_of
from whorl.artifacts import Artifact, Damage, Damaged, Label, decode, encode
from whorl.artifacts.entry import NotPlain


@pytest.mark.parametrize("error", [Damaged(Damage.EMPTY), NotPlain("value", "object")])
def test_an_error_can_be_sent_from_a_worker_to_its_pool(error: Exception) -> None:
    # One that cannot be unpickled ends the pool's thread, and `get` waits for ever.
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_nested_value_comes_back_or_is_refused_by_name() -> None:
    value: Any = 1
    for depth in range(1200):
        value = {"a": value}
        if depth % 25:
            continue
        try:
            entry = encode(Artifact({}, {"value": value}), Label("artifact", key_of(1)))
        except NotPlain:
            continue
        decode(entry)  # 3.11: RecursionError in encode at 350


def test_metadata_under_a_name_that_does_not_come_back_are_refused() -> None:
    bad: Any = {(1, 2): 3}
    with pytest.raises(TypeError):
        decode(encode(Artifact({}, bad), Label("artifact", key_of(1))))  # Damaged, when read


def test_an_empty_artifact_can_be_copied_and_pickled() -> None:
    assert copy.deepcopy(Artifact()) == Artifact()
    assert pickle.loads(pickle.dumps(Artifact())) == Artifact()
