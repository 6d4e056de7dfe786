"""NumPy's values: dtype, shape, content."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from tests.fingerprint.comparing import calls_of, different, refusal, same

PADDED = np.dtype([("a", "i1"), ("b", "f8")], align=True)
NESTED = np.dtype([("inner", PADDED, (2,)), ("tail", "i4")])
OVERLAID = np.dtype(
    {"names": ["a", "b"], "formats": ["i4", "f4"], "offsets": [0, 0], "itemsize": 8}
)


class Tagged(np.ndarray[Any, Any]):
    unit: str


def padding_changed(dtype: np.dtype[Any], byte: int) -> tuple[object, object]:
    """Two arrays of equal values that differ in a byte that belongs to no value."""
    raw = np.zeros(2 * dtype.itemsize, "u1")
    other = raw.copy()
    other[byte] = 9
    return raw.view(dtype), other.view(dtype)


def test_arrays_count_dtype_shape_and_values() -> None:
    zeros = np.zeros((2, 3))
    assert same(zeros, np.zeros((2, 3)))
    assert different(
        zeros, np.ones((2, 3)), np.zeros((3, 2)), np.zeros(6), np.zeros((2, 3), "f4"),
        np.zeros((2, 3), "i8"), np.zeros((2, 3), "u8"), np.zeros((2, 3, 1)), zeros.tolist(),
        np.zeros((2, 3), object), np.zeros((2, 3), ">f8"), np.zeros((2, 3), "M8[s]"),
        np.zeros((2, 3), "M8[ms]"), np.zeros((2, 3), "m8[s]"), np.zeros((2, 3), "V8"),
    )  # fmt: skip


def test_one_changed_element_changes_the_digest_wherever_it_stands() -> None:
    base = np.arange(1000.0).reshape(10, 100)
    for place in ((0, 0), (0, 99), (5, 50), (9, 99)):
        changed = base.copy()
        changed[place] += 1
        assert different(base, changed)
        assert different(base.T, changed.T)
        assert different(np.asfortranarray(base), np.asfortranarray(changed))


def test_layouts_of_equal_values_agree() -> None:
    base = np.arange(24.0).reshape(2, 3, 4)
    wide = np.zeros((4, 6, 8))
    wide[::2, ::2, ::2] = base
    assert same(
        base, np.asfortranarray(base), wide[::2, ::2, ::2], base[::-1][::-1],
        base.transpose(2, 0, 1).copy().transpose(1, 2, 0), np.array(base.tolist()),
    )  # fmt: skip
    assert different(base, base[::-1], base[:, ::-1])


def test_a_transposed_array_differs_from_one_of_the_same_bytes() -> None:
    square = np.arange(4.0).reshape(2, 2)
    assert different(square, square.T)
    assert same(square.T, np.array([[0.0, 2.0], [1.0, 3.0]]))


def test_a_broadcast_array_is_the_same_as_its_copy() -> None:
    spread = np.broadcast_to(np.arange(3), (1000, 3))
    assert same(spread, spread.copy())


def test_a_large_strided_array_is_the_same_as_its_copy() -> None:
    large = np.arange(6_000_000, dtype="f4").reshape(3, 2_000_000)
    assert same(large.T, np.ascontiguousarray(large.T))
    assert same(large[:, ::2], large[:, ::2].copy())


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 2), (), (1,), (1, 1)])
def test_arrays_without_or_with_one_element_differ_by_shape(shape: tuple[int, ...]) -> None:
    others = [(0,), (0, 3), (3, 0), (2, 0, 2), (), (1,), (1, 1)]
    assert same(np.zeros(shape), np.zeros(shape))
    assert different(*(np.zeros(other) for other in others))


def test_an_array_without_dimensions_differs_from_its_scalar() -> None:
    assert different(np.array(1.0), np.float64(1.0), 1.0, np.array([1.0]))


def test_floats_in_arrays_count_by_bits() -> None:
    assert different(np.array([0.0]), np.array([-0.0]))
    assert different(np.array([np.nan]), -np.array([np.nan]))
    assert same(np.array([np.nan]), np.array([float("nan")]))


@pytest.mark.parametrize(
    ("dtype", "byte"), [(PADDED, 1), (PADDED, 7), (NESTED, 1), (NESTED, 17), (OVERLAID, 5)]
)
def test_padding_does_not_count(dtype: np.dtype[Any], byte: int) -> None:
    first, second = padding_changed(dtype, byte)
    assert same(first, second)


@pytest.mark.parametrize("name", ["longdouble", "clongdouble"])
def test_the_padding_of_long_doubles_does_not_count(name: str) -> None:
    dtype = np.dtype(name)
    if np.finfo(np.longdouble).nmant != 63:
        pytest.skip("long doubles without padding")
    first, second = padding_changed(dtype, 12)
    assert same(first, second)
    assert different(np.array([1], dtype), np.array([2], dtype))
    assert different(dtype.type(1), dtype.type(2))
    exact = np.longdouble(1) + np.finfo(np.longdouble).eps
    assert different(np.array([1], "g"), np.array([exact]))


def test_structured_arrays_count_names_offsets_titles_and_values() -> None:
    def make(spec: Any) -> object:
        return np.zeros(2, spec)

    assert different(
        make([("a", "i4"), ("b", "i4")]), make([("b", "i4"), ("a", "i4")]), make("i4,f4"),
        make([("a", "i4"), ("b", "i4"), ("c", "i4")]), make([("a", "i4", (2,))]), make("(2,)i4"),
        make([(("title", "a"), "i4"), ("b", "i4")]),
        make({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [4, 0]}),
        make({"names": ["a", "b"], "formats": ["i4", "i4"], "itemsize": 16}),
    )  # fmt: skip
    filled = np.array([(1, 2.0)], "i4,f8")
    assert different(filled, np.array([(1, 3.0)], "i4,f8"), np.array([(2, 2.0)], "i4,f8"))
    assert same(filled, np.array([(0, 0), (1, 2.0)], "i4,f8")[1:])


def test_two_fields_of_a_record_do_not_run_together() -> None:
    assert different(np.array([("ab", "c")], "U2,U2"), np.array([("a", "bc")], "U2,U2"))


def test_object_arrays_count_their_elements() -> None:
    assert same(np.array([1, "a", None], object), np.array([1, "a", None], object))
    assert different(
        np.array([1, "a"], object), np.array([True, "a"], object), np.array([1.0, "a"], object),
        np.array(["a", 1], object), np.array([[1, "a"]], object), np.array([[1], ["a"]], object),
        [1, "a"],
    )  # fmt: skip


def test_object_arrays_of_any_layout_agree() -> None:
    base = np.array([[1, "a"], [None, 2.0]], object)
    assert same(base, np.asfortranarray(base), base[::-1][::-1])
    assert different(base, base.T)


def test_an_object_array_names_the_element_that_is_refused() -> None:
    base = np.empty((2, 2), object)
    base[1, 0] = object()
    assert refusal({"k": base}).path == "value['k'][1, 0]"


def test_an_object_array_that_holds_itself_works() -> None:
    def make(x: int) -> object:
        made = np.empty(2, object)
        made[:] = [made, x]
        return made

    assert same(make(1), make(1))
    assert different(make(1), make(2))


def test_records_with_objects_count_their_fields() -> None:
    spec = [("a", object), ("b", "f4")]
    assert different(np.array([([1], 2)], spec), np.array([([2], 2)], spec))
    assert different(np.array([([1], 2)], spec), np.array([([1], 3)], spec))


def test_text_arrays_count_width_and_content() -> None:
    assert different(np.array(["a"]), np.array(["b"]), np.array(["a"], "U2"), np.array([b"a"]))
    assert same(np.array(["a", "bc"]), np.array(["a", "bc"]))


def test_variable_width_text_counts_by_element() -> None:
    strings = np.dtypes.StringDType
    long = "x" * 100
    assert same(np.array(["a", long], strings()), np.array(["a", long], strings()))
    assert different(
        np.array(["a", long], strings()), np.array(["a", long + "x"], strings()),
        np.array(["a", long], object), np.array(["a", long]),
    )  # fmt: skip
    missing = strings(na_object=np.nan)
    assert different(np.array(["nan"], missing), np.array([np.nan], missing))
    assert different(strings(), strings(coerce=False), missing, strings(na_object=None))


def test_arrays_of_times_count_their_unit() -> None:
    assert different(
        np.array(["2020-01-01"], "M8[D]"), np.array(["2020-01-01"], "M8[s]"),
        np.array(["2020-01-02"], "M8[D]"), np.array(["NaT"], "M8[D]"), np.array([1], "m8[s]"),
    )  # fmt: skip


def test_scalars_differ_by_type_and_value() -> None:
    kinds = ["i1", "u1", "i2", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "?", "U1", "S1"]
    assert different(*(np.dtype(kind).type(1) for kind in kinds), 1, 1.0, True, "1")
    assert different(np.float32(0.1), np.float64(0.1), np.float64(np.float32(0.1)), 0.1)
    assert different(np.datetime64("2020-01-01"), np.datetime64("2020-01-01", "s"))
    assert different(np.datetime64("NaT", "s"), np.datetime64("NaT", "ms"))
    assert different(np.void(b"a"), np.void(b"b"), np.bytes_(b"a"), b"a")


def test_a_record_differs_from_a_plain_structured_scalar() -> None:
    plain = np.array([(1, 2)], "i4,i4")
    assert different(plain[0], plain.view(np.recarray)[0])
    assert different(plain, plain.view(np.recarray))


def test_a_scalar_of_a_padded_record_does_not_count_padding() -> None:
    first: Any
    second: Any
    first, second = padding_changed(PADDED, 1)
    assert same(first[0], second[0])


def test_dtypes_count_by_meaning() -> None:
    assert same(np.dtype("f8"), np.dtype(float), np.dtype("<f8").newbyteorder("="))
    assert different(
        np.dtype("f8"), np.dtype("f4"), np.dtype(">f8"), np.dtype("O"), np.dtype("V8"),
        np.dtype("S8"), np.dtype("U2"), np.dtype("i4,i4"), np.dtype("(2,)i4"), np.dtype("(1,2)i4"),
        PADDED, NESTED, np.float64, "f8", np.dtype("M8[s]"), np.dtype("M8[25s]"),
    )  # fmt: skip


def test_a_subclass_of_an_array_counts_its_class_and_attributes() -> None:
    plain, metres, feet = (np.zeros(2).view(Tagged) for _ in range(3))
    metres.unit, feet.unit = "m", "ft"
    assert different(np.zeros(2), plain, metres, feet, np.zeros(2).view(np.recarray))


def test_methods_that_an_array_overrides_are_never_called() -> None:
    Hostile = type(
        "Hostile",
        (np.ndarray,),
        {
            **calls_of(
                "__getitem__", "__iter__", "__len__", "__eq__", "__bool__", "__repr__", "tobytes",
                "ravel", "reshape", "tolist", "__array__", "__array_ufunc__", "__array_function__",
                "__reduce__", "__reduce_ex__", "view", "astype", "__array_wrap__", "__buffer__",
                "__hash__", "__array_finalize__x",
            ),
            "dtype": property(lambda self: 1 / 0),
            "shape": property(lambda self: 1 / 0),
            "flags": property(lambda self: 1 / 0),
        },
    )  # fmt: skip
    value: Any = np.ndarray.__new__(Hostile, (2,))
    assert len(whorl.fingerprint({"k": [value]})) == 32


def test_masked_arrays_count_data_mask_and_filling() -> None:
    masked = np.ma.array
    assert same(masked([1, 2], mask=[False, True]), masked([1, 2], mask=np.array([False, True])))
    assert different(
        masked([1, 2]), masked([1, 2], mask=[False, True]), masked([1, 2], mask=[True, False]),
        masked([1, 2], mask=[False, True], fill_value=7), np.array([1, 2]),
    )  # fmt: skip


def test_showing_a_masked_array_changes_nothing() -> None:
    masked = np.ma.array([1, 2], mask=[False, True])
    before = whorl.fingerprint(masked)
    repr(masked)
    assert masked.fill_value is not None
    assert whorl.fingerprint(masked) == before


def test_an_attribute_of_a_masked_array_counts() -> None:
    masked = np.ma.array([1, 2], mask=[False, True])
    before = whorl.fingerprint(masked)
    masked.unit = "m"  # type: ignore[attr-defined]  # it has a dictionary
    assert whorl.fingerprint(masked) != before


def test_a_hard_mask_counts() -> None:
    soft, hard = np.ma.array([1], mask=[True]), np.ma.array([1], mask=[True])
    hard.harden_mask()
    assert different(soft, hard)


def test_the_masked_constant_works() -> None:
    assert same(np.ma.masked, np.ma.masked)
    assert different(np.ma.masked, np.ma.array(0.0))


def test_an_array_in_a_file_counts_by_what_it_holds(tmp_path: Path) -> None:
    def make(name: str, x: int) -> object:
        made = np.memmap(tmp_path / name, "i4", "w+", shape=(3,))
        made[:] = x
        return made

    assert same(make("a", 1), make("b", 1))
    assert different(make("a", 1), make("b", 2))


def test_random_generators_count_by_state() -> None:
    assert same(np.random.default_rng(1), np.random.default_rng(1))
    used = np.random.default_rng(1)
    used.random()
    assert different(np.random.default_rng(1), np.random.default_rng(2), used)


def test_arrays_by_type_count_dtype_and_shape_only() -> None:
    def by_type(value: object) -> str:
        return whorl.fingerprint(value, by="type")

    assert by_type(np.zeros(3)) == by_type(np.ones(3)) == by_type(np.arange(6.0)[::2])
    kinds = [np.zeros(3), np.zeros(3, "f4"), np.zeros(4), np.zeros((3, 1)), [0.0, 0.0, 0.0]]
    assert len({by_type(value) for value in kinds}) == len(kinds)
    assert by_type(np.float32(1)) == by_type(np.float32(2)) != by_type(np.float64(1))
    assert by_type({"a": np.zeros(3)}) == by_type({"a": np.ones(3)})


def test_a_contiguous_array_is_hashed_without_a_copy() -> None:
    large = np.zeros(4_000_000)
    whorl.fingerprint(large[:10].copy())
    for array in (large, large.reshape(2, -1), large[1:]):
        tracemalloc.start()
        whorl.fingerprint(array)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1_000_000


def test_a_strided_array_is_hashed_without_a_whole_copy() -> None:
    large = np.zeros((2000, 4000))
    tracemalloc.start()
    whorl.fingerprint(large.T)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < large.nbytes / 2


def test_writing_to_an_array_is_noticed() -> None:
    array = np.zeros(3)
    held = {"a": [array]}
    before = whorl.fingerprint(held)
    array[0] = 1
    assert whorl.fingerprint(held) != before
    array[0] = 0
    array.resize((3, 1), refcheck=False)
    assert whorl.fingerprint(held) != before


def test_an_array_that_may_not_be_written_is_the_same_value() -> None:
    locked = np.zeros(3)
    locked.flags.writeable = False
    assert same(np.zeros(3), locked)
