"""Equal values have equal digests, and any single change changes it."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable

from hypothesis import assume, given
from hypothesis import strategies as st

import whorl
from tests.properties.specs import Spec, build, canonical, changes, places, put, specs, valid

seeds = st.integers(0, 2**32)


def digest(spec: Spec, seed: int = 0, *, shared: bool = False) -> whorl.Digest:
    return whorl.fingerprint(build(spec, random.Random(seed), {} if shared else None))


@given(specs(), seeds, seeds)
def test_equal_values_have_equal_digests_whatever_their_order_and_layout(
    spec: Spec, seed: int, other: int
) -> None:
    assert digest(spec, seed) == digest(spec, other)


@given(specs(), seeds, seeds)
def test_a_shared_part_and_equal_copies_of_it_give_the_same_digest(
    spec: Spec, seed: int, other: int
) -> None:
    twice = Spec("list", parts=(spec, Spec("tuple", parts=(spec, spec))))
    assert digest(twice, seed, shared=True) == digest(twice, other)


@given(specs())
def test_a_deep_copy_has_the_digest_of_its_original(spec: Spec) -> None:
    value = build(spec)
    assert whorl.fingerprint(copy.deepcopy(value)) == whorl.fingerprint(value)


@given(specs())
def test_a_value_that_went_through_pickle_keeps_its_digest(spec: Spec) -> None:
    # NumPy gives back arrays of a foreign byte order as arrays of the machine's own.
    assume(not any(">" in str(part.leaf) for _, part in places(spec)))
    value = build(spec)
    assert whorl.fingerprint(pickle.loads(pickle.dumps(value))) == whorl.fingerprint(value)


@given(specs())
def test_taking_a_fingerprint_twice_gives_it_twice(spec: Spec) -> None:
    value = build(spec)
    assert whorl.fingerprint(value) == whorl.fingerprint(value)


@given(specs(), st.data(), seeds)
def test_any_single_change_changes_the_digest(spec: Spec, data: st.DataObject, seed: int) -> None:
    way, part = data.draw(st.sampled_from(list(places(spec))))
    changed = put(spec, way, data.draw(st.sampled_from(list(changes(part)))))
    if valid(changed) and canonical(changed) != canonical(spec):
        assert digest(changed, seed) != digest(spec, seed)


@given(st.lists(specs(), min_size=2, max_size=6))
def test_values_have_one_digest_exactly_when_they_are_the_same_value(many: list[Spec]) -> None:
    parts = [part for spec in many for _, part in places(spec)][:80]
    by_digest = {(digest(part), canonical(part)) for part in parts}
    assert len({found for found, _ in by_digest}) == len(by_digest)
    assert len({what for _, what in by_digest}) == len(by_digest)


@given(st.dictionaries(st.text() | st.integers(), specs(), max_size=5), st.randoms())
def test_the_order_of_a_dict_counts_exactly_where_code_reads_it(
    held: dict[object, Spec], chance: random.Random
) -> None:
    one = {key: build(spec) for key, spec in held.items()}
    keys = [*one]
    chance.shuffle(keys)
    other = {key: one[key] for key in keys}
    assert whorl.fingerprint(one) == whorl.fingerprint(other)
    digests = [whorl.fingerprint(_reader(each)) for each in (one, other, dict(one))]
    assert (digests[0] == digests[1]) == ([*one] == [*other])
    assert digests[0] == digests[2]


def _reader(held: object) -> Callable[[], object]:
    return lambda: held
