"""The native walk gives the digests of the plain one, whatever it is given."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import whorl
from tests.native_walk.compiled_walk import needs_native_walk, new_walks
from tests.properties.specs import Attributes, Plain, Slotted, Spec, build, specs
from whorl.fingerprint.policy import ClassRule, Policy
from whorl.fingerprint.walk import walk

pytestmark = needs_native_walk

_lasting: list[Any] = []


def agree(value: object, walks: Any) -> None:
    native, plain = walks
    try:
        expected = plain.plain_digest(value)
        assert native(value) == expected
    finally:
        walk.forget()


def lasting() -> Any:
    """One table of classes for the whole run."""
    if not _lasting:
        _lasting.append(new_walks())
    return _lasting[0]


@given(specs(), st.integers(0, 2**32), st.booleans())
def test_a_class_met_for_the_first_time_is_walked_like_a_plain_graph(
    spec: Spec, seed: int, shared: bool
) -> None:
    agree(build(spec, random.Random(seed), {} if shared else None), new_walks())


@given(specs(), st.booleans())
def test_classes_met_before_change_nothing(spec: Spec, shared: bool) -> None:
    agree(build(spec, shared={} if shared else None), lasting())


keys = st.one_of(
    st.sampled_from("abcdef"),
    st.text(max_size=12),
    st.integers(-5, 2**33),
    st.floats(allow_nan=False),
    st.binary(max_size=4),
    st.tuples(st.integers(0, 3)),
)
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**300), 2**300), st.floats(),
    st.complex_numbers(), st.text(), st.text("\ud800\xe4\u0436\U0001f600"), st.binary(),
    st.just(...),
)  # fmt: skip
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.text(), inner),
        st.dictionaries(st.integers(), inner),
        st.dictionaries(keys, inner),
        st.sets(keys),
        st.frozensets(keys),
    ),
    max_leaves=60,
)


@given(values)
def test_values_of_the_language_are_walked_like_a_plain_graph(value: object) -> None:
    agree(value, lasting())


@given(values, st.integers(1, 400), st.integers(1, 3))
def test_chunks_are_made_where_the_plain_graph_makes_them(
    value: object, count: int, depth: int
) -> None:
    for _ in range(depth):
        value = [value, (1, "two"), [3]] * count
        count = 2
    agree(value, lasting())


@given(
    st.lists(st.sampled_from(["unset", "beside", "list", "leaf", "none", "self-made"]), max_size=8)
)
def test_instances_that_lack_fields_or_have_more_are_walked_like_a_plain_graph(
    kinds: list[str],
) -> None:
    walks = new_walks()
    for kind in kinds:
        plain_one, slotted, attributes = Plain(1, [2]), Slotted(1, [2]), Attributes()
        for value in (plain_one, slotted, attributes):
            match kind:
                case "unset":
                    if value is not attributes:
                        del value.x  # type: ignore[union-attr]  # narrowed by identity
                case "beside":
                    if value is not slotted:
                        value.beside = 3  # type: ignore[union-attr]  # what is tested
                case "list":
                    value.x = [1, "two", [3]]  # type: ignore[union-attr]  # the odd value is what is tested
                case "leaf":
                    value.x = 7  # type: ignore[union-attr]  # the odd value is what is tested
                case "none":
                    value.x = None  # type: ignore[union-attr]  # the odd value is what is tested
                case _:
                    vars(plain_one)[1] = "a name that is no text"  # type: ignore[index]  # the odd value is what is tested
                    vars(attributes)[(2,)] = "another"  # type: ignore[index]  # the odd value is what is tested
            agree([value, value], walks)


@given(specs())
def test_a_policy_with_rules_is_walked_like_a_plain_graph(spec: Spec) -> None:
    rules: dict[type, ClassRule] = {
        Plain: lambda value: (value.y, value.x),
        Slotted: whorl.fields(exclude=["x"]),
        Attributes: whorl.fields(by_type=["x"], ordered=["y"], exclude=["z"]),
    }
    agree(build(spec), new_walks(Policy(rules)))
