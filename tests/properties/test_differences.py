"""diff says nothing exactly when the digests are equal, and its paths are Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import whorl
from tests.properties import test_cycles
from tests.properties.specs import (
    OBJECTS,
    Attributes,
    Spec,
    build,
    canonical,
    changes,
    places,
    put,
    specs,
    trees,
    valid,
)


def evaluated(path: str, value: object) -> object:
    """What the path leads to, or NOTHING."""
    try:
        return eval(path, {"value": value})
    except (KeyError, IndexError, AttributeError):
        return whorl.NOTHING


def path_of(spec: Spec, way: tuple[int, ...]) -> str | None:
    """How Python writes the way to a part; None for the way to a key."""
    path = "value"
    for i in way:
        if spec.kind == "list":
            path += f"[{i}]"
        elif spec.kind == "dict":
            if i % 2 == 0:
                return None
            path += f"[{build(spec.parts[i - 1])!r}]"
        elif spec.kind in OBJECTS:
            path += f".{spec.leaf[i]}"
        else:
            path += ".x" if i == 0 else ".y"
        spec = spec.parts[i]
    return path


@given(specs(), st.data())
def test_a_changed_value_has_a_difference(spec: Spec, data: st.DataObject) -> None:
    way, part = data.draw(st.sampled_from(list(places(spec))))
    changed = put(spec, way, data.draw(st.sampled_from(list(changes(part)))))
    assume(valid(changed) and canonical(changed) != canonical(spec))
    left, right = build(spec), build(changed)
    found = whorl.diff(left, right)
    assert found
    assert all(str(difference) for difference in found)


@given(specs())
def test_equal_values_have_no_difference(spec: Spec) -> None:
    assert whorl.diff(build(spec), build(spec, shared={})) == []


@given(test_cycles.webs(5), test_cycles.webs(5))
def test_graphs_with_cycles_have_a_difference_exactly_when_their_digests_differ(
    one: test_cycles.Web, two: test_cycles.Web
) -> None:
    left, right = test_cycles.build(one)[0], test_cycles.build(two)[0]
    same = whorl.fingerprint(left) == whorl.fingerprint(right)
    assert (whorl.diff(left, right) == []) == same


@given(trees(), trees())
def test_every_path_leads_to_what_is_shown_on_either_side(one: Spec, two: Spec) -> None:
    left, right = build(one), build(two)
    for difference in whorl.diff(left, right):
        for shown, value in ((difference.left, left), (difference.right, right)):
            there = evaluated(difference.path, value)
            assert there is shown or whorl.fingerprint(there) == whorl.fingerprint(shown)


@given(trees(), trees())
def test_no_path_is_listed_twice_and_both_sides_of_each_differ(one: Spec, two: Spec) -> None:
    left, right = build(one), build(two)
    found = whorl.diff(left, right)
    assert len({difference.path for difference in found}) == len(found)
    for difference in found:
        assert (evaluated(difference.path, left) is whorl.NOTHING) == (
            difference.left is whorl.NOTHING
        )
        if whorl.NOTHING not in (difference.left, difference.right):
            assert whorl.fingerprint(difference.left) != whorl.fingerprint(difference.right)


@given(trees(), st.data())
def test_exactly_the_changed_leaves_are_listed(spec: Spec, data: st.DataObject) -> None:
    leaves: dict[tuple[int, ...], str] = {}
    for way, part in places(spec):
        path = path_of(spec, way)
        if not part.parts and part.kind in ("int", "str", "none", "float") and path is not None:
            leaves[way] = path
    assume(leaves)
    chosen: set[Any] = data.draw(st.sets(st.sampled_from(sorted(leaves)), min_size=1))
    changed = spec
    for way in chosen:
        changed = put(changed, way, Spec("str", "changed"))
    found = whorl.diff(build(spec), build(changed))
    assert sorted(d.path for d in found) == sorted(leaves[way] for way in chosen)
    assert all(d.right == "changed" for d in found)


_members = st.sets(st.one_of(st.integers(0, 5), st.sampled_from(["a", "b", ""]), st.none()))


@given(_members, _members)
def test_sets_differ_in_the_members_that_only_one_of_them_has(
    left: set[Any], right: set[Any]
) -> None:
    found = whorl.diff(left, right)
    assert sorted(repr(d.left) for d in found if d.left is not whorl.NOTHING) == sorted(
        repr(member) for member in left - right
    )
    assert sorted(repr(d.right) for d in found if d.right is not whorl.NOTHING) == sorted(
        repr(member) for member in right - left
    )


_entries = st.dictionaries(
    st.sampled_from(["a", "b", "c", 1, 2, None, (1, "x"), 1.5]), st.integers(0, 2), max_size=5
)


@given(_entries, _entries)
def test_dicts_differ_in_the_entries_that_are_not_the_same(
    left: dict[Any, int], right: dict[Any, int]
) -> None:
    nothing = whorl.NOTHING
    expected = [
        (left.get(key, nothing), right.get(key, nothing))
        for key in {*left, *right}
        if left.get(key) != right.get(key)
    ]
    found = [(d.left, d.right) for d in whorl.diff(left, right)]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


@given(
    st.sampled_from(["f8", "f4", "i8", "c16", "?", "U3", "M8[s]"]),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20),
    st.booleans(),
)
def test_every_path_into_an_array_leads_to_what_is_shown(
    dtype: str, pairs: list[tuple[int, int]], reshaped: bool
) -> None:
    left, right = ([np.array([pair[i] for pair in pairs]).astype(dtype)] for i in (0, 1))
    if reshaped:
        right = [right[0].reshape(1, -1)]
    found = whorl.diff(left, right)
    assert (found == []) == (whorl.fingerprint(left) == whorl.fingerprint(right))
    for difference in found:
        for shown, value in ((difference.left, left), (difference.right, right)):
            there = evaluated(difference.path, value)
            assert there is shown or there == shown


def test_a_negative_zero_and_a_nan_are_found_wherever_they_are() -> None:
    nan, other = np.array([np.nan]), -np.array([np.nan])
    for left, right in (
        (np.array([0j]), np.array([complex(-0.0, 0)])),
        (np.array([0.0, 1.0]), np.array([-0.0, 1.0])),
        (nan, other),
        (np.array([0.0, -0.0]), np.array([-0.0, 0.0])),
    ):
        assert whorl.fingerprint(left) != whorl.fingerprint(right)
        assert whorl.diff(left, right)
        assert whorl.diff([left], [left.copy()]) == []


def test_parts_that_are_shared_are_compared_at_each_of_their_paths() -> None:
    one, two = [1], [2]
    found = whorl.diff([one, one, 5, 5], [two, two, 6, 6])
    assert [d.path for d in found] == ["value[0][0]", "value[1][0]", "value[2]", "value[3]"]


def test_a_path_through_an_odd_name_is_python_all_the_same() -> None:
    left, right = Attributes(), Attributes()
    vars(left)["not a name"], vars(right)["not a name"] = 1, 2
    vars(left)["class"], vars(right)["class"] = 1, 2
    found = whorl.diff([left], [right])
    assert len(found) == 2
    for difference in found:
        assert eval(difference.path, {"value": [left]}) == 1
