"""Artifacts and manifests come back whole, the empty fields too."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import whorl
from tests.artifacts.test_plain_values import bits, plain_values
from whorl.artifacts import (
    Artifact,
    Damaged,
    Entry,
    Label,
    Manifest,
    Record,
    decode,
    encode,
)
from whorl.artifacts.record import shape_of, shape_plain
from whorl.fingerprint.digest import StableDigest
from whorl.reads import Aspect, Path, Read, Seen, Shape, Step, Trace

KEY = StableDigest("ab" * 16)
LABEL = Label("artifact", KEY)

READ = Read(
    Path("arg", "self", (Step("attr", "dofs"), Step("item", ("x", 1)))),
    Aspect.ALIAS,
    (Path("global", "solver.SCALE"),),
)


def restored(record: Record) -> Any:
    return decode(Entry.checked(bytes(encode(record, LABEL).data), KEY))


@pytest.mark.parametrize(
    "record",
    [
        Artifact(),
        Artifact({}, {}, Trace()),
        Artifact({"code": b"", "": b"x"}),
        Artifact({}, {"checkpoints": (), "loops": [], "none": None, "zero": 0, "no": False}),
        Artifact({"code": b"ret"}, {"slots": (("x", 0), ("n", 1))}, Trace((Seen(READ, 1.5, "l"),))),
        Manifest(KEY),
        Manifest(KEY, (Shape(), Shape((READ,)), Shape((READ, READ)))),
    ],
)
def test_every_field_comes_back(record: Record) -> None:
    back = restored(record)
    assert back == record
    assert bits(dict(getattr(back, "metadata", {}))) == bits(dict(getattr(record, "metadata", {})))


def test_an_artifact_without_checkpoints_read_after_one_with_them_has_none() -> None:
    with_them, without = Artifact({}, {"checkpoints": ("A",)}), Artifact({}, {"checkpoints": ()})
    restored(with_them)
    assert restored(without).metadata == {"checkpoints": ()}
    assert restored(Artifact()).metadata == {}


@given(st.dictionaries(st.text(max_size=5), plain_values, max_size=3), plain_values)
def test_metadata_and_facts_come_back_with_their_types_and_bits(
    metadata: dict[str, Any], fact: Any
) -> None:
    back = restored(Artifact({}, metadata, Trace((Seen(READ, fact),))))
    assert bits(back.metadata) == bits(metadata)
    assert bits(back.trace.seen[0].fact) == bits(fact)


words = st.one_of(
    st.text(max_size=4),
    st.sampled_from(
        ["x", "", " ", ".", ".x", "a b", "a;b", ";", "a\n", "\na", "\u2028", "a.b", "µ"]
    ),
)
reads = st.builds(
    lambda name, aspect, attributes: Read(
        Path("arg", name, tuple(Step("attr", attribute) for attribute in attributes)), aspect
    ),
    words,
    st.sampled_from([aspect for aspect in Aspect if aspect is not Aspect.ALIAS]),
    st.lists(words, max_size=2),
)


@given(st.lists(st.one_of(reads, st.just(READ)), max_size=3))
def test_shapes_come_back_whatever_names_are_in_them(found: list[Read]) -> None:
    shape = Shape(tuple(found))
    assert shape_of(shape_plain(shape)) == shape
    assert restored(Manifest(KEY, (shape,))) == Manifest(KEY, (shape,))


@given(st.lists(reads, max_size=3), st.lists(reads, max_size=3))
def test_shapes_that_differ_are_kept_as_what_differs(one: list[Read], other: list[Read]) -> None:
    kept = shape_plain(Shape(tuple(one))), shape_plain(Shape(tuple(other)))
    assert (kept[0] == kept[1]) == (one == other)


@pytest.mark.parametrize(
    "plain",
    ["", "type", "type arg", "type arg x;type arg", "type nowhere x", "no arg x", "alias arg x",
     ";", "type arg x;", {}, None, 1, ["type arg x", 1]],
)  # fmt: skip
def test_what_is_no_shape_is_a_value_error(plain: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        shape_of(plain)


def test_payloads_may_be_any_bytes_like() -> None:
    import numpy as np

    view = np.arange(4, dtype=np.int32).data
    back = restored(Artifact({"array": view, "bytes": bytearray(b"xy")}))  # type: ignore[dict-item]  # tested
    assert bytes(back.payloads["array"]) == view.tobytes()
    assert bytes(back.payloads["bytes"]) == b"xy"


@pytest.mark.parametrize("payload", ["text", 3, None, [1]])
def test_a_payload_that_is_not_bytes_is_refused_by_name(payload: Any) -> None:
    with pytest.raises(TypeError, match="payload 'code'"):
        encode(Artifact({"code": payload}), LABEL)


def test_metadata_that_cannot_be_kept_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"metadata\['slots'\]\[0\]"):
        encode(Artifact({}, {"slots": [object()]}), LABEL)


def test_a_fact_that_cannot_be_kept_is_refused_by_its_path() -> None:
    with pytest.raises(TypeError, match=r"arg:self\.dofs"):
        encode(Artifact({}, {}, Trace((Seen(READ, {1, 2}),))), LABEL)


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        "artifact",
        ["artifact"],
        ["artifact", {}, []],
        ["artifact", [["a"]], []],
        ["artifact", [], [[1, 2]]],
        ["artifact", [], [[["no aspect", ["arg", "x"]], 1, ""]]],
        ["manifest", "not hex", []],
        ["manifest", "ab" * 16, [["x"]]],
        ["code", "import os"],
        {"tuple": 1},
    ],
)
def test_a_record_that_is_none_of_ours_is_damaged(record: Any) -> None:
    entry = Entry.build(LABEL, {}, record)
    with pytest.raises(Damaged):
        decode(entry)


def test_artifact_and_manifest_are_public() -> None:
    assert whorl.Artifact is Artifact
    assert whorl.Manifest is Manifest
