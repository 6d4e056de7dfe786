"""Digests that must stay what they are: whatever is on disk is named by them."""

from __future__ import annotations

import json

import pytest

import whorl
from tests.fingerprint import golden
from whorl.fingerprint.tokens import FORMAT

TABLE = json.loads(golden.TABLE.read_text(encoding="utf-8"))
VALUES = golden.values()

ADVICE = (
    "The encoding of {name!r} has changed. If that is meant, raise FORMAT in "
    "src/whorl/fingerprint/tokens.py, so that no old digest is taken for a new one, and write the "
    "table again with `python -m tests.fingerprint.golden`. If it is not, this is the bug."
)


@pytest.mark.parametrize("name", VALUES)
def test_the_digest_is_what_it_has_always_been(name: str) -> None:
    digest = whorl.fingerprint(VALUES[name])
    assert digest == TABLE["digests"].get(name), ADVICE.format(name=name)


def test_the_table_was_made_with_this_format() -> None:
    assert TABLE["format"] == FORMAT, ADVICE.format(name="every value")


def test_the_table_names_exactly_the_values() -> None:
    assert list(TABLE["digests"]) == list(VALUES)


def test_all_values_of_the_table_differ() -> None:
    assert len(set(TABLE["digests"].values())) == len(VALUES)
