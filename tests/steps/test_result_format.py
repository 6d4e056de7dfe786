"""Results come back as the very types and bits they were, and nothing is executed to read them."""

from __future__ import annotations

import collections
import enum
import json
import math
import pickle
import struct
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import whorl
import whorl.testing
from tests.parameter_names import name_of
from tests.steps.programs import ran
from whorl.artifacts import Entry, Label
from whorl.fingerprint.digest import StableDigest
from whorl.steps.plain_format import CannotRestore
from whorl.steps.result_format import (
    CannotStore,
    decode_result,
    encode_result,
    is_constant,
)
from whorl.store import Cache


class Colour(enum.Enum):
    RED = 1
    GREEN = "g"


class Bits(enum.Flag):
    A = 1
    B = 2


@dataclass(frozen=True)
class Point:
    x: float
    y: float = 0.0
    tags: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Slotted:
    a: int
    b: Slotted | None = None


@dataclass
class Counting(list[int]):
    name: str = ""


@dataclass
class Own:
    a: int

    def __getstate__(self) -> int:
        return self.a

    def __setstate__(self, state: int) -> None:
        self.a = state


class Pair(NamedTuple):
    left: int
    right: int


class Text(str):
    __slots__ = ()


class Plain:
    def __init__(self, held: object) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and self.held == other.held


def through_an_entry(value: object, **options: Any) -> tuple[str, Any]:
    """How a value is written, and what comes back after it was bytes."""
    written = encode_result(value)
    label = Label("result", StableDigest("0" * 32))
    entry = Entry.checked(
        Entry.build(label, written.payloads, written.record).data, StableDigest("0" * 32)
    )
    return entry.record[0], decode_result(entry.record, entry.payload, {}, **options)


PLAIN_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**4000,
    0.0, -0.0, 1.5, 5e-324, math.inf, -math.inf, 1e308, 1j, complex(-0.0, math.inf),
    "", "a", "é", "\ud800", "\ud83d\ude00", "😀", "\0", b"", b"\x00\xff" * 10, bytearray(b"ab"),
    [], (), {}, set(), frozenset(), [[]], ((),), {1: {2: 3}}, {(1, "a"): None}, {None: 1, "x": 2},
    {1, "a", None}, frozenset({frozenset({1})}), range(3), range(10, 0, -2), slice(1, None, 2), ...,
    {"b": 1, "a": 2}, [1, True, 1.0], {"nested": [{"deep": ({"er": [1]},)}]},
    Colour.RED, Colour.GREEN, [Colour.RED], Point(1.0, -0.0, ["a"]), Slotted(1, Slotted(2)),
    {"t": 1}, {"d": []}, ["plain", 1],
]  # fmt: skip

ARRAYS: list[Any] = [
    np.arange(6).reshape(2, 3), np.arange(6.0).reshape(2, 3).T, np.asfortranarray(np.ones((2, 3))),
    np.arange(10)[::3], np.array(5), np.empty((0, 3)), np.zeros((2, 0, 3), np.float32),
    np.array([True, False]), np.array(["a", "bc"]), np.array([b"a"]), np.array([1 + 2j]),
    np.array(["2020-01-01"], "M8[D]"), np.array([1], ">i4"), np.array([np.nan, -0.0]),
    np.arange(3, dtype=np.uint8), np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")]),
    np.zeros(2, [("v", "f4", (3,))]), np.float16(1.5) * np.ones(3, np.float16),
]  # fmt: skip

SCALARS: list[Any] = [
    np.float64(1.5), np.float32(-0.0), np.int64(1), np.uint8(255), np.bool_(True), np.complex64(1j),
    np.str_("ab"), np.str_(""), np.bytes_(b"x"), np.datetime64("2020-01-01"),
    np.timedelta64(5, "s"), np.dtype("f4"), np.dtype([("a", "i4")]), np.float16(2),
]  # fmt: skip


def same(one: object, other: object) -> bool:
    return type(one) is type(other) and whorl.fingerprint(one) == whorl.fingerprint(other)


@pytest.mark.parametrize("value", PLAIN_VALUES, ids=name_of)
def test_plain_data_is_written_without_pickle_and_comes_back_exactly(value: object) -> None:
    kind, back = through_an_entry(value)
    assert kind == "plain"
    assert same(value, back)
    if not isinstance(value, set):
        assert repr(value) == repr(back)  # the order of a dict counts too


@pytest.mark.parametrize("value", ARRAYS, ids=lambda value: f"{value.dtype}{value.shape}")
def test_an_array_comes_back_with_dtype_shape_order_and_bits(value: np.ndarray[Any, Any]) -> None:
    kind, back = through_an_entry(value)
    assert kind == "plain"
    assert back.dtype == value.dtype
    assert back.dtype.char == value.dtype.char
    assert back.shape == value.shape
    assert back.tobytes() == value.tobytes()
    assert back.flags.f_contiguous == value.flags.f_contiguous or not value.flags.forc
    assert not back.flags.writeable


@pytest.mark.parametrize("value", SCALARS, ids=name_of)
def test_a_scalar_of_numpy_comes_back_as_itself(value: Any) -> None:
    kind, back = through_an_entry(value)
    assert kind == "plain"
    assert type(back) is type(value)
    assert same(value, back)


def test_a_nan_comes_back_with_its_bits() -> None:
    (odd,) = struct.unpack("<d", bytes.fromhex("010000000000f8ff"))
    _, back = through_an_entry([odd, -math.nan])
    assert struct.pack("<d", back[0]).hex() == "010000000000f8ff"
    assert math.copysign(1, back[1]) == math.copysign(1, -math.nan)


def test_an_array_is_not_copied_unless_asked_for() -> None:
    value = np.arange(100_000)
    written = encode_result(value)
    entry = Entry.build(Label("result", StableDigest("0" * 32)), written.payloads, written.record)
    back = decode_result(entry.record, entry.payload, {})
    assert np.shares_memory(back, np.frombuffer(entry.data, np.uint8))
    assert back.__array_interface__["data"][0] % 8 == 0
    copy = decode_result(entry.record, entry.payload, {}, writable=True)
    copy[0] = 7
    assert decode_result(entry.record, entry.payload, {})[0] == 0


SHARED: list[int] = [1]
CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)
DEEP: Any = ()
for _ in range(60):
    DEEP = (DEEP, DEEP)


@pytest.mark.parametrize(
    "value",
    [
        [SHARED, SHARED], CIRCLE, DEEP, Pair(1, 2), Text("a"), collections.OrderedDict(a=1),
        collections.Counter("ab"), Plain([1]), Path("a"), Counting("n"), Own(1), Bits.A | Bits.B,
        np.array([1, "a"], object), {1: Plain(2)}, collections.deque([1]), np.longdouble(1),
        np.ma.masked_array([1, 2], [True, False]), [np.ones(1)] * 2,
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_everything_else_goes_through_pickle(value: object) -> None:
    kind, back = through_an_entry(value)
    assert kind == "pickle"
    assert type(back) is type(value)


def test_one_list_twice_comes_back_as_one_list() -> None:
    _, (left, right) = through_an_entry([SHARED, SHARED])
    assert left is right


def test_a_circle_comes_back_as_a_circle() -> None:
    _, back = through_an_entry(CIRCLE)
    assert back[0] is back


def test_what_cannot_be_written_says_so() -> None:
    with pytest.raises(CannotStore, match="neither plain data nor can it be pickled"):
        encode_result(lambda: 1)


@pytest.mark.parametrize(
    ("value", "constant"),
    [((1, "a", None), True), (Colour.RED, True), ((1, [2]), False), (np.ones(1), False),
     (Point(1.0), False), (np.float32(1), True), (frozenset({1}), True), (Pair(1, 2), False)],
    ids=name_of,
)  # fmt: skip
def test_what_nobody_can_change_is_known(value: object, constant: bool) -> None:
    assert is_constant(encode_result(value).record) is constant


# -- reading what others may have written ---------------------------------------------------


def read(record: object, payloads: Mapping[str, bytes] | None = None) -> Any:
    return decode_result(record, lambda name: memoryview((payloads or {})[name]), {})


@pytest.mark.parametrize(
    "record",
    [
        None, [], ["plain"], ["plain", {"x": 1}, True], ["plain", {"t": 5}, True],
        ["plain", {}, True], ["plain", {"t": [], "d": []}, True], ["plain", {"d": [1]}, True],
        ["plain", {"a": ["O", [1], "C", 0, 8]}, True],
        ["plain", {"a": ["<f8", [9], "C", 0, 8]}, True],
        ["plain", {"a": ["<f8", [1], "C", -8, 8]}, True], ["plain", {"a": ["<f8"]}, True],
        ["plain", {"n": ["<f8", "00"]}, True], ["plain", {"p": "a"}, True],
        ["plain", {"b": "%%%"}, True],
        ["plain", {"s": [[]]}, True], ["plain", {"i": "zz"}, True], ["plain", {"u": "ff"}, True],
        ["plain", {"e": ["no_such_module", "X", "A", 1]}, True],
        ["plain", {"o": ["os", "system", [], []]}, True],
        ["plain", {"o": ["subprocess", "Popen", ["args"], ["ls"]]}, True],
        ["pickle", "00"], ["pickle", "main", "00"], ["serializer", "json text", "00"], ["other", 1],
    ],
    ids=str,
)  # fmt: skip
def test_a_record_that_makes_no_sense_is_not_restored(record: object) -> None:
    with pytest.raises(CannotRestore):
        read(record, {"arrays": bytes(8), "pickle": b"", "data": b"1"})


def test_reading_imports_nothing() -> None:
    sys.modules.pop("antigravity", None)
    before = set(sys.modules)
    with pytest.raises(CannotRestore, match="antigravity has not been loaded"):
        read(["plain", {"o": ["antigravity", "Point", ["x"], [1]]}, False])
    assert set(sys.modules) == before


def test_a_module_that_is_loaded_when_it_is_used_is_not_loaded() -> None:
    class Lazy(types.ModuleType):
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"somebody asked for {name}")

    sys.modules["lazy_of_this_test"] = Lazy("lazy_of_this_test")
    try:
        with pytest.raises(CannotRestore):
            read(["plain", {"o": ["lazy_of_this_test", "Point", ["x"], [1]]}, False])
    finally:
        del sys.modules["lazy_of_this_test"]


def test_a_member_whose_value_became_something_else_is_not_restored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = encode_result(Colour.RED)

    class Other(enum.Enum):
        RED = object()

    Other.__qualname__ = "Colour"
    monkeypatch.setattr(sys.modules[__name__], "Colour", Other)
    with pytest.raises(CannotRestore):
        read(written.record)


def test_where_no_key_can_be_kept_there_is_one_for_this_process(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    whorl.configure(cache_dir=tmp_path / "file" / "cache")
    make = whorl.cached(lambda x: Plain(x))  # noqa: PLW0108  # a class alone is no function
    assert make(1) == make(1) == Plain(1)
    written = encode_result(Plain(1))
    assert read(written.record, {n: bytes(p) for n, p in written.payloads.items()}) == Plain(1)


class Exploit:
    ran: list[int] = []

    def __reduce__(self) -> Any:
        return Exploit.ran.append, (1,)


def test_a_pickle_that_is_not_signed_with_our_key_is_never_read() -> None:
    data = pickle.dumps(Exploit())
    for signature in ("", "0" * 64, "é"):
        with pytest.raises(CannotRestore, match="not signed with our key"):
            read(["pickle", "main", signature], {"pickle": data})
    assert Exploit.ran == []


def test_a_pickle_that_another_team_signed_is_not_read() -> None:
    whorl.configure(signing_key="the key of another team")
    theirs = encode_result(Plain(1))
    whorl.configure(signing_key="the key of our own team")
    ours = encode_result(Plain(1))
    payloads = {name: bytes(held) for name, held in theirs.payloads.items()}
    with pytest.raises(CannotRestore, match="not signed"):
        read(theirs.record, payloads)
    assert read(ours.record, {n: bytes(p) for n, p in ours.payloads.items()}) == Plain(1)


def test_a_key_that_is_too_short_is_refused_and_not_shown() -> None:
    with pytest.raises(whorl.BadSetting, match="16 characters") as caught:
        whorl.configure(signing_key="hunter2")
    assert "hunter2" not in str(caught.value)
    settings = whorl.configure(signing_key="correct horse battery")
    assert "horse" not in repr(settings)


def test_a_dataclass_with_other_fields_is_not_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    written = encode_result(Point(1.0))

    @dataclass
    class Other:
        x: float

    Other.__qualname__ = "Point"
    monkeypatch.setattr(sys.modules[__name__], "Point", Other)
    with pytest.raises(CannotRestore, match="other fields"):
        read(written.record)


def test_a_member_with_another_value_is_not_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    written = encode_result(Colour.RED)

    class Other(enum.Enum):
        RED = True

    Other.__qualname__ = "Colour"
    monkeypatch.setattr(sys.modules[__name__], "Colour", Other)
    with pytest.raises(CannotRestore):
        read(written.record)


def test_a_serializer_writes_bytes_or_text() -> None:
    for serializer in (json, pickle):
        written = encode_result({"a": 1}, serializer)
        payloads = {name: bytes(held) for name, held in written.payloads.items()}
        back = decode_result(
            written.record,
            lambda name: memoryview(payloads[name]),  # noqa: B023
            {},
            serializer,
        )
        assert back == {"a": 1}


def test_a_serializer_that_writes_something_else_says_so() -> None:
    odd = types.SimpleNamespace(dumps=lambda value: 5, loads=lambda data: data)
    with pytest.raises(CannotStore, match="not bytes"):
        encode_result(1, odd)


@pytest.mark.parametrize(
    "array",
    [["<f8", [10**12], "C", 0, 0], ["<f8", [-1], "C", 0, 8], ["<f8", [2, -1], "C", 0, 16]],
    ids=str,
)
def test_an_array_that_is_not_as_long_as_it_says_is_not_made(array: list[object]) -> None:
    with pytest.raises(CannotRestore, match="not as long as it says"):
        decode_result(["plain", {"a": array}, False], lambda name: memoryview(bytes(16)), {})


def test_a_result_whose_class_has_changed_is_made_again(tmp_path: Path) -> None:
    """A dataclass that the function reaches by a name that no fingerprint follows."""
    module = types.ModuleType("model_of_this_test")
    sys.modules["model_of_this_test"] = module
    try:
        for fields in ("x: int", "x: int\n    y: int = 2"):
            exec(
                "from dataclasses import dataclass\n@dataclass\nclass Point:\n    " + fields,
                module.__dict__,
            )
            make = whorl.cached(store=tmp_path / "store", ignores=["model"])(_made)
            made = make(1)
            assert made == module.Point(1)
            assert ran(make) == 1
    finally:
        del sys.modules["model_of_this_test"]


def _made(x: int) -> Any:
    return model().Point(x)


def model() -> Any:
    return sys.modules["model_of_this_test"]


def kept(value: Any) -> Any:
    """What comes back of a result that is read from the store."""
    make = whorl.cached(exclude=["value"])(lambda value: value)
    make(value)
    make._results.reset()
    found = make("something else")
    assert ran(make) == 1
    return found


@dataclass
class Counted:
    x: int
    limit: int = field(default=3, init=False)


def test_a_field_that_its_class_holds_stays_with_the_class() -> None:
    assert vars(kept(Counted(1))) == {"x": 1}


def test_a_dtype_of_records_stays_one() -> None:
    records = kept(np.zeros(2, np.dtype((np.record, [("a", "i4")]))))
    assert records.dtype.type is np.record
    assert records[0].a == 0


def test_a_dtype_whose_names_are_given_anew_is_the_callers_own() -> None:
    make = whorl.cached(lambda: np.dtype([("a", "i4")]))
    make().names = ("b",)
    assert make().names == ("a",)


@pytest.mark.parametrize("pair", [lambda x: frozenset((frozenset((x,)), frozenset((x, 1)))),
                                  lambda x: slice(x, x)])  # fmt: skip
def test_a_result_with_a_thousand_billion_ways_through_it(pair: Callable[[Any], Any]) -> None:
    value = pair(1)
    for _ in range(40):
        value = pair(value)
    assert type(kept(value)) is type(value)


TEXT_SCALARS = [
    np.str_("a\0"), np.str_("\0"), np.str_(""), np.str_("\ud800\U0001f600\0\0"), np.bytes_(b"a\0"),
    np.bytes_(b"\0\0"), np.bytes_(b""),
]  # fmt: skip


@pytest.mark.parametrize("value", TEXT_SCALARS, ids=ascii)
def test_scalars_of_text_come_back_with_every_character(store: Cache, value: Any) -> None:
    cached = whorl.cached(store=store)(lambda n: (n, value))
    for found in (cached(1), whorl.cached(store=store)(cached.function)(1)):
        assert type(found[1]) is type(value)
        assert found[1].tobytes() == value.tobytes()
        assert len(found[1]) == len(value)
    assert cached.stats()["not kept"] == 0


def test_a_record_can_be_written_to_where_that_was_asked_for(store: Cache) -> None:
    @whorl.cached(store=store, writable=True)
    def record() -> Any:
        return np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")])[0]

    for _ in range(3):
        found = record()
        assert found["a"] == 1, "a record of its own for each call"
        found["a"] = 5
    fixed = whorl.cached(store=store)(record.function)()
    with pytest.raises(ValueError, match="read-only"):
        fixed["a"] = 5
