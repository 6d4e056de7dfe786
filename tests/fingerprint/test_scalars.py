"""Numbers, text and bytes: by exact type and bits."""

from __future__ import annotations

import enum
import math
import struct
import sys

import numpy as np
import pytest

import whorl
from tests.fingerprint.comparing import calls_of, different, refusal, same


class One(enum.IntEnum):
    ONE = 1


class Text(str):
    __slots__ = ("note",)
    note: str


class Number(int):
    pass


class Real(float):
    pass


class Imaginary(complex):
    pass


class Blob(bytes):
    pass


class Buffer(bytearray):
    pass


def float_of(bits: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return value


def test_ones_of_different_types_get_different_digests() -> None:
    assert different(
        True, 1, 1.0, 1 + 0j, "1", b"1", bytearray(b"1"), memoryview(b"1"), One.ONE, Number(1),
        Real(1), Imaginary(1), Text("1"), Blob(b"1"), Buffer(b"1"),
        np.int8(1), np.int64(1), np.uint64(1), np.float16(1), np.float32(1), np.float64(1),
        np.longdouble(1), np.complex64(1), np.complex128(1), np.bool_(True), np.str_("1"),
        np.bytes_(b"1"), (1,), [1], {1}, frozenset({1}), {1: 1}, range(1), slice(1),
    )  # fmt: skip


def test_empty_and_zero_values_get_different_digests() -> None:
    assert different(
        None, False, 0, 0.0, -0.0, 0j, "", b"", bytearray(), (), [], {}, set(), frozenset(), ...,
        NotImplemented, range(0), memoryview(b""), np.zeros(0), type(None),
    )  # fmt: skip


def test_a_text_differs_from_the_name_of_its_type_and_from_its_repr() -> None:
    assert different(None, "None", b"None", ..., "Ellipsis", NotImplemented, "NotImplemented")


def test_zero_and_negative_zero_differ_in_every_floating_type() -> None:
    assert different(0.0, -0.0)
    assert different(0j, -0j, complex(0.0, -0.0), complex(-0.0, 0.0))
    assert different(Real(0.0), Real(-0.0))
    assert different(np.float32(0.0), np.float32(-0.0))


def test_nans_differ_by_sign_and_payload() -> None:
    quiet, negative, payload = 0x7FF8 << 48, 0xFFF8 << 48, (0x7FF8 << 48) + 5
    assert different(float_of(quiet), float_of(negative), float_of(payload))
    assert same(math.nan, float_of(quiet))


def test_a_nan_is_the_same_as_itself() -> None:
    assert same([math.nan], [float("nan")])
    assert same({math.nan: 1}, {float("nan"): 1})


def test_infinities_and_neighbouring_floats_differ() -> None:
    assert different(math.inf, -math.inf, sys.float_info.max, 0.1, math.nextafter(0.1, 1))


@pytest.mark.parametrize("bits", [7, 8, 15, 31, 32, 63, 64, 65, 128, 10_000, 200_000])
def test_ints_of_any_size_differ_from_their_neighbours(bits: int) -> None:
    edge = 1 << bits
    assert different(edge, edge - 1, edge + 1, -edge, -edge - 1)
    assert same(edge, 1 << bits)


def test_an_int_beyond_the_limit_of_decimal_conversion_works() -> None:
    huge = 10**5000
    assert different(huge, huge + 1)
    assert different({huge: 1}, {huge + 1: 1})
    assert len(whorl.diff([huge], [huge + 1])) == 1


def test_text_with_lone_surrogates_works() -> None:
    assert different("\ud800", "\udc00", "\ud800\udc00", "\U00010000", "?", "\ufffd")
    assert same({"\udcff": 1}, {"\udcff": 1})


def test_text_counts_by_code_points_not_by_how_it_looks() -> None:
    assert different("é", "e\u0301")
    assert different("ﬁ", "fi")
    assert different("a", "a\0", "\0a")


def test_two_texts_do_not_run_together() -> None:
    assert different(("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"))
    assert different((b"ab", b"c"), (b"a", b"bc"), (b"abc",))


@pytest.mark.parametrize("size", [1, 4095, 4096, 4097, 100_000])
def test_bytes_of_any_length_differ_by_their_last_byte(size: int) -> None:
    assert different(b"x" * size, b"x" * (size - 1) + b"y", b"x" * (size + 1))
    assert same(b"x" * size, bytes(bytearray(b"x" * size)))


def test_bytes_that_look_like_a_digest_or_a_tag_are_only_bytes() -> None:
    assert different([b"#", b"0" * 16], [b"#" + b"0" * 16], (b"#", b"0" * 16), [b"L", 0], [[]])
    assert different(b"B", [b"B"], (b"T", 0), ((),), [b"@", b"0" * 16])


def test_a_bytearray_differs_from_equal_bytes() -> None:
    assert different(b"abc", bytearray(b"abc"), memoryview(b"abc"), "abc")


def test_a_memoryview_counts_format_shape_and_content() -> None:
    assert same(memoryview(b"abcd"), memoryview(bytearray(b"abcd")))
    assert different(
        memoryview(b"abcd"), memoryview(b"abcd").cast("b"), memoryview(b"abcd").cast("I"),
        memoryview(b"abcd").cast("B", (2, 2)),
    )  # fmt: skip
    assert same(memoryview(b"aXbX")[::2], memoryview(b"ab"))


def test_a_released_memoryview_is_refused() -> None:
    view = memoryview(b"abc")
    view.release()
    assert refusal([view]).path == "value[0]"


@pytest.mark.parametrize(
    ("base", "content", "other"),
    [
        (int, 1, 2), (float, 1.0, 2.0), (complex, 1j, 2j), (str, "a", "b"), (bytes, b"a", b"b"),
        (bytearray, b"a", b"b"),
    ],
)  # fmt: skip
def test_a_subclass_of_a_scalar_counts_its_class_its_content_and_its_attributes(
    base: type, content: object, other: object
) -> None:
    Sub = type("Sub", (base,), {})
    plain, marked, changed = Sub(content), Sub(content), Sub(other)
    marked.note = "x"
    assert different(base(content), plain, marked, changed)
    assert same(plain, Sub(content))


def test_a_slot_of_a_scalar_subclass_counts() -> None:
    plain, noted, changed = Text("a"), Text("a"), Text("a")
    noted.note, changed.note = "x", "y"
    assert different("a", plain, noted, changed)


@pytest.mark.parametrize(
    ("base", "content"),
    [(int, 7), (float, 7.0), (complex, 7j), (str, "7"), (bytes, b"7"), (bytearray, b"7")],
)
def test_conversions_that_a_subclass_overrides_are_never_called(
    base: type, content: object
) -> None:
    Hostile = type(
        "Hostile",
        (base,),
        calls_of(
            "__int__", "__float__", "__complex__", "__str__", "__bytes__", "__index__", "__len__",
            "__iter__", "__getitem__", "__eq__", "__hash__", "__repr__", "__bool__", "__reduce__",
            "__reduce_ex__", "__getstate__", "__format__", "__trunc__", "__sizeof__", "__buffer__",
            "__getnewargs__",
        ),
    )  # fmt: skip
    assert (
        len(
            whorl.fingerprint(
                base.__new__(Hostile, content) if base is not bytearray else Hostile(content)
            )
        )
        == 32
    )


def test_a_digest_is_the_same_wherever_the_value_stands() -> None:
    once = whorl.fingerprint({"a": 1.5})
    assert whorl.fingerprint({"a": 1.5}) == once
    assert len(once) == 32
    assert set(once) <= set("0123456789abcdef")


def test_scalars_of_two_classes_of_numpy_that_are_as_wide_differ() -> None:
    canonical = {np.dtype(cls).type for cls in (np.int64, np.uint64)}
    for cls in (np.longlong, np.ulonglong, np.int_, np.uint, np.intc, np.uintc):
        same_width = np.dtype(np.dtype(cls).str).type
        is_same = whorl.fingerprint(cls(1)) == whorl.fingerprint(same_width(1))
        assert is_same == (cls is same_width), cls
    assert {np.dtype(np.longlong).type, np.dtype(np.int_).type} & canonical, "or nothing is tested"
