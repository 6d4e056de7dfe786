"""What surprises people about fingerprints. Each is meant, and each is pinned here."""

from __future__ import annotations

import decimal
import functools
import logging
import math
import pickle
import types
import typing
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated, Any, List, Optional, Union

import numpy as np

import whorl
from tests.fingerprint.comparing import different, same


@dataclass
class Uncompared:
    x: int
    uid: int = field(default=0, compare=False, repr=False, hash=False)


@dataclass
class Hiding:
    uid: Annotated[int, whorl.exclude] = 0


@dataclass
class Redeclaring(Hiding):
    uid: int = 0


class Sentinel:
    pass


class Forgetful:
    """Says to pickle that it has no state."""

    def __init__(self, x: int) -> None:
        self.x = x

    def __getstate__(self) -> object:
        return None


class Circle:
    def __init__(self, radius: int) -> None:
        self.radius = radius

    @functools.cached_property
    def area(self) -> int:
        return 3 * self.radius**2


class Solver:
    scale = 1

    def run(self) -> int:
        return self.scale


CACHE: dict[int, int] = {}
TILE = 1


def remembers(x: int) -> int:
    return CACHE.setdefault(x, x)


# -- equal in Python, different here ----------------------------------------------------


def test_one_and_true_are_two_values() -> None:
    assert 1 == True == 1.0  # noqa: PLR0133 - that is the surprise
    assert different(1, True, 1.0)
    assert different([1], [True])
    assert different({1: "a"}, {True: "a"})


def test_zero_and_minus_zero_are_two_values() -> None:
    assert 0.0 == -0.0
    assert different(0.0, -0.0)


def test_a_list_and_a_tuple_and_a_numpy_number_are_never_the_same() -> None:
    assert different([1, 2], (1, 2), np.array([1, 2]))
    assert different(1.0, np.float64(1.0))


def test_decimals_differ_by_trailing_zeros() -> None:
    assert decimal.Decimal("1.0") == decimal.Decimal("1")
    assert different(decimal.Decimal("1.0"), decimal.Decimal("1"))


def test_ranges_differ_by_how_they_were_written() -> None:
    assert range(0, 3, 2) == range(0, 4, 2)
    assert different(range(0, 3, 2), range(0, 4, 2))


def test_an_array_in_another_byte_order_is_another_value() -> None:
    assert different(np.array([1], "<i4"), np.array([1], ">i4"))


def test_data_under_a_mask_counts() -> None:
    assert different(
        np.ma.array([1, 2], mask=[False, True]), np.ma.array([1, 3], mask=[False, True])
    )


def test_metadata_of_a_dtype_counts() -> None:
    plain, noted = np.dtype("f4"), np.dtype("f4", metadata={"unit": "m"})
    assert plain == noted
    assert different(plain, noted)


# -- different in Python, equal here ----------------------------------------------------


def test_a_nan_is_equal_to_itself_by_its_bits() -> None:
    assert math.nan != math.nan  # noqa: PLW0177 - that is the surprise
    assert same(math.nan, float("nan"))
    assert different(math.nan, -math.nan)


def test_two_sentinels_of_one_class_are_one_value() -> None:
    """Give a sentinel a name, or mark the field with `whorl.by_identity`."""
    assert same(Sentinel(), Sentinel())


def test_sharing_does_not_show() -> None:
    part = [1]
    assert same([part, part], [[1], [1]])


def test_an_identifier_does_not_count_how_safely_it_was_made() -> None:
    safe = uuid.UUID(int=1, is_safe=uuid.SafeUUID.safe)
    assert same(uuid.UUID(int=1), safe)


def test_a_logger_is_its_name_whatever_its_level() -> None:
    logger = logging.getLogger("tests.footguns")
    before = whorl.fingerprint(logger)
    logger.setLevel(logging.DEBUG)
    try:
        assert whorl.fingerprint(logger) == before
    finally:
        logger.setLevel(logging.NOTSET)


def test_two_names_of_one_numpy_type_are_one_type() -> None:
    assert np.dtype("q") == np.dtype("l")
    assert same(np.dtype("q"), np.dtype("l"))
    assert same(np.zeros(2, "q"), np.zeros(2, "l"))


def test_an_array_does_not_count_whether_it_may_be_written() -> None:
    locked = np.zeros(3)
    locked.flags.writeable = False
    assert same(np.zeros(3), locked)


# -- order ------------------------------------------------------------------------------


def test_the_order_of_a_dict_counts_only_where_it_is_said_to() -> None:
    assert list({"a": 1, "b": 2}) != list({"b": 2, "a": 1})
    assert same({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert same(Counter("ab"), Counter("ba"))


def test_the_order_of_keywords_of_a_partial_counts_since_its_function_sees_it() -> None:
    one: Any = functools.partial(dict, a=1, b=2)
    other: Any = functools.partial(dict, b=2, a=1)
    assert list(one()) != list(other())
    assert not same(one, other)


def test_the_order_of_a_dict_that_code_reads_counts_though_that_of_data_does_not() -> None:
    one, other = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    assert same(one, other)
    assert not same(lambda: list(one), lambda: list(other))


# -- which state counts -----------------------------------------------------------------


def test_a_field_is_left_out_by_a_marker_and_not_by_compare() -> None:
    assert Uncompared(1, 1) == Uncompared(1, 2)
    assert different(Uncompared(1, 1), Uncompared(1, 2))


def test_a_subclass_that_declares_a_field_again_keeps_the_marker() -> None:
    assert same(Redeclaring(1), Redeclaring(2))


def test_what_a_class_says_to_pickle_does_not_count() -> None:
    assert pickle.loads(pickle.dumps(Forgetful(1))).__dict__ == {}
    assert different(Forgetful(1), Forgetful(2))


def test_a_value_set_over_a_cached_property_is_taken_for_the_computed_one() -> None:
    fixed = Circle(1)
    fixed.area = 99
    assert same(Circle(1), fixed)


def test_an_instance_counts_by_the_name_of_its_class_and_its_method_by_code() -> None:
    before = whorl.fingerprint(Solver()), whorl.fingerprint(Solver().run)
    Solver.scale = 2
    try:
        assert whorl.fingerprint(Solver()) == before[0]
        assert whorl.fingerprint(Solver().run) != before[1]
    finally:
        Solver.scale = 1


def test_what_a_module_level_cache_holds_is_part_of_the_functions_that_read_it() -> None:
    """Keep such a cache in `functools.lru_cache`, which does not count what it holds."""
    before = whorl.fingerprint(remembers)
    remembers(1)
    try:
        assert whorl.fingerprint(remembers) != before
    finally:
        CACHE.clear()


def test_a_renamed_function_is_another_function() -> None:
    def first() -> int:
        return 1

    def second() -> int:
        return 1

    assert different(first, second)


def test_two_lambdas_of_the_same_text_are_one_function() -> None:
    assert same(lambda x: x + 1, lambda x: x + 1)


def test_functions_with_a_late_bound_variable_are_one_function() -> None:
    assert same(*[lambda: i for i in range(3)])  # noqa: B023 - that is the surprise


# -- types ------------------------------------------------------------------------------


def test_optional_is_a_spelling_and_list_is_not() -> None:
    assert same(Optional[int], Union[int, None], int | None, Union[None, int])
    assert different(List[int], list[int])


def test_annotations_count_classes_by_name() -> None:
    def make() -> Any:
        class Local:
            pass

        def f(x: Any) -> Any:
            return x

        f.__annotations__["x"] = Local
        return f, Local

    (f, first), (g, second) = make(), make()
    second.extra = 1
    assert first is not second
    assert same(f, g)


# -- wholes -----------------------------------------------------------------------------


def test_the_type_of_a_list_counts_its_length() -> None:
    def by_type(value: object) -> str:
        return whorl.fingerprint(value, by="type")

    assert by_type([1, 2]) == by_type([3, 4]) != by_type([1, 2, 3])
    assert by_type({1, 2}) == by_type({"a"})


def test_a_policy_with_choices_never_gives_a_digest_of_the_default() -> None:
    own = whorl.Fingerprinter({Sentinel: whorl.exclude})
    assert own(1) != whorl.fingerprint(1)


def test_a_digest_compares_equal_to_its_text_and_a_process_digest_too() -> None:
    digest = whorl.fingerprint(Sentinel, by="identity")
    assert digest == str(digest)
    assert typing.cast("object", whorl.StableDigest(str(digest))) == digest


def test_an_attribute_of_a_function_counts() -> None:
    def f() -> int:
        return 1

    before = whorl.fingerprint(f)
    f.calls = 1  # type: ignore[attr-defined]  # that is the surprise
    assert whorl.fingerprint(f) != before


def test_a_namespace_and_a_dict_are_two_values() -> None:
    assert different(types.SimpleNamespace(a=1), {"a": 1})
