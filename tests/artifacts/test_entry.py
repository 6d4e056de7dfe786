"""An entry says what it is, and no byte of it can change unnoticed."""

from __future__ import annotations

import json
import mmap
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.artifacts import FORMAT, Damage, Damaged, Entry, Label, Part
from whorl.artifacts import entry as module
from whorl.artifacts.entry import HEAD, MAGIC, PAGE, check_head, line_of, peek_label
from whorl.fingerprint.digest import StableDigest, hash_hex

KEY = StableDigest("ab" * 16)
OTHER = StableDigest("cd" * 16)
PROGRAM = StableDigest("12" * 16)

LABEL = Label(
    "artifact",
    KEY,
    PROGRAM,
    (Part("program", "solver.step 0123"), Part("arg:tile", "64 \N{MICRO SIGN}\ud800")),
    "llvm 20, cpython-311",
    1_800_000_000.25,
    0.75,
)


def entry(**payloads: bytes) -> Entry:
    return Entry.build(LABEL, payloads, ["record"])


def damage_of(data: bytes, key: StableDigest = KEY, under: StableDigest | None = PROGRAM) -> Damage:
    with pytest.raises(Damaged) as caught:
        Entry.checked(data, key, under)
    return caught.value.damage


def test_label_payloads_and_record_come_back() -> None:
    made = entry(code=b"ret" * 2000, table=b"", more=b"x")
    read = Entry.checked(bytes(made.data), KEY, PROGRAM)
    assert read.label == LABEL
    assert read.seconds == 0.75
    assert read.record == ["record"]
    assert [place.name for place in read.payloads] == ["code", "table", "more"]
    assert bytes(read.payload("code")) == b"ret" * 2000
    assert bytes(read.payload("table")) == b""
    for place in read.payloads:
        assert place.digest == hash_hex(read.view(place))
    with pytest.raises(KeyError):
        read.payload("missing")


def test_payloads_begin_at_pages_and_can_be_mapped(tmp_path: Path) -> None:
    made = entry(a=b"x" * (PAGE + 1), b=b"y")
    path = tmp_path / "entry"
    path.write_bytes(made.data)
    places = made.payloads
    assert all(place.offset % PAGE == 0 for place in places)
    with (
        path.open("rb") as file,
        mmap.mmap(
            file.fileno(), places[1].size, offset=places[1].offset, access=mmap.ACCESS_READ
        ) as mapped,
    ):
        assert mapped[:] == b"y"


def test_a_mapped_file_can_be_checked_without_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "entry"
    path.write_bytes(entry(code=b"ret").data)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        view = memoryview(mapped)
        read = Entry.checked(view, KEY, PROGRAM)
        assert bytes(read.payload("code")) == b"ret"
        read.data = b""
        view.release()


@pytest.mark.parametrize("size", [3900, 4000, 4010, 4096, 9000])
def test_a_long_label_moves_the_payloads(size: int) -> None:
    label = Label("artifact", KEY, None, (Part("name", "x" * size),))
    read = Entry.checked(bytes(Entry.build(label, {"code": b"ret"}, None).data), KEY)
    assert bytes(read.payload("code")) == b"ret"
    assert read.label == label


def test_an_entry_without_payloads_has_no_padding() -> None:
    made = Entry.build(Label("manifest", KEY), {}, [])
    assert len(made.data) < 400
    assert Entry.checked(bytes(made.data), KEY).payloads == ()


def test_the_label_is_readable_with_a_pager() -> None:
    data = bytes(entry(code=b"ret").data)
    _, second, *_ = data[HEAD:].split(b"\n")
    assert json.loads(second)["toolchain"] == "llvm 20, cpython-311"
    assert json.loads(second)["parts"][0] == ["program", "solver.step 0123"]
    assert data.startswith(MAGIC)


def test_every_flipped_bit_is_noticed() -> None:
    data = bytearray(Entry.build(Label("manifest", KEY), {}, []).data)
    for i in range(len(data) * 8):
        data[i // 8] ^= 1 << i % 8
        with pytest.raises(Damaged):
            Entry.checked(bytes(data), KEY)
        data[i // 8] ^= 1 << i % 8
    Entry.checked(bytes(data), KEY)


def test_every_flipped_byte_of_the_padding_is_noticed() -> None:
    data = bytearray(entry(code=b"ret").data)
    for i in range(0, len(data), 7):
        data[i] ^= 255
        with pytest.raises(Damaged):
            Entry.checked(bytes(data), KEY, PROGRAM)
        data[i] ^= 255


def test_every_truncation_is_noticed() -> None:
    data = bytes(entry(code=b"ret").data)
    for size in range(len(data)):
        assert damage_of(data[:size]) in (Damage.EMPTY, Damage.TRUNCATED)


def test_each_kind_of_damage_has_its_name() -> None:
    data = bytes(entry(code=b"ret").data)
    newer = data[:8] + (FORMAT + 1).to_bytes(8, "little") + data[16:]
    assert damage_of(b"") is Damage.EMPTY
    assert damage_of(b"#!/bin/sh\n" * 100) is Damage.FOREIGN
    assert damage_of(newer) is Damage.OTHER_FORMAT
    assert damage_of(data[:-1]) is Damage.TRUNCATED
    assert damage_of(data + b"\0") is Damage.EXTENDED
    assert damage_of(data[:-1] + b"T") is Damage.CHANGED
    assert damage_of(data, OTHER) is Damage.MISPLACED
    assert damage_of(data, KEY, None) is Damage.MISPLACED
    assert damage_of(data, KEY, OTHER) is Damage.MISPLACED


def test_a_head_that_does_not_fit_is_noticed_before_the_rest_is_read() -> None:
    data = bytes(entry(code=b"ret").data)
    check_head(data[:HEAD], len(data))
    with pytest.raises(Damaged):
        check_head(data[:HEAD], 1 << 40)


def test_the_label_can_be_peeked_at() -> None:
    data = bytes(entry(code=b"ret").data)
    assert peek_label(data[:4096]).toolchain == "llvm 20, cpython-311"
    for part in (b"", b"x" * 4096, data[: HEAD + 3], data[:20]):
        with pytest.raises(Damaged):
            peek_label(part)


@given(st.binary(max_size=400))
def test_no_bytes_at_all_do_more_than_be_refused(data: bytes) -> None:
    with pytest.raises(Damaged):
        Entry.checked(data, KEY)
    with pytest.raises(Damaged):
        Entry.checked(bytes(entry().data[:HEAD]) + data, KEY, PROGRAM)


def test_the_same_record_gives_the_same_bytes() -> None:
    assert entry(code=b"ret").data == entry(code=b"ret").data


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.text(), JSON))
def test_a_line_is_read_as_json_reads_it(fields: dict[str, Any]) -> None:
    text = json.dumps(fields)
    read, end = line_of(f"{text}\n".encode(), 0)
    assert repr(read) == repr(json.loads(text))
    assert end == len(text) + 1


def test_where_python_has_no_scanner_of_its_own_json_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "_json", None)
    scanned = module._scanner()
    assert scanned is module._scanned_by_json
    assert scanned('{"a": [1.5]} ', 0) == ({"a": [1.5]}, 12)


@pytest.mark.parametrize(
    "text", ["", "{", '{"a": nul}', '{"a": "\x01"}', "{'a': 1}", '{"a" 1}', "[" * 9]
)
def test_what_is_wrong_with_a_line_is_said_as_json_says_it(text: str) -> None:
    with pytest.raises(ValueError, match=r".") as expected:
        json.JSONDecoder().raw_decode(text)
    program = """
import sys
from whorl.artifacts.entry import Damaged, line_of
assert "json" not in sys.modules
try:
    line_of(sys.argv[1].encode(), 0)
except Damaged as damaged:
    print(damaged.detail)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, text], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == str(expected.value)
