"""The generated emitters write what the plain walk writes, token for token."""

from __future__ import annotations

import random
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

import whorl
from tests.properties.specs import Attributes, Plain, Slotted, Spec, build, specs
from whorl.fingerprint.describe import Describer
from whorl.fingerprint.emit import Emitters
from whorl.fingerprint.policy import ClassRule, Policy
from whorl.fingerprint.run import EmitRun
from whorl.fingerprint.tokens import marshalled

# For one emitter per class for the whole run, with hints from whatever came first.
_LASTING = Emitters(Describer(Policy()))


def quick(value: object, emitters: Emitters) -> bytes:
    out: list[object] = []
    cls = type(value)
    (emitters.quick.get(cls) or emitters.learn_quick(cls))(value, out, EmitRun(inf))
    return marshalled(out)


def memo(value: object, emitters: Emitters) -> bytes:
    out: list[object] = []
    cls = type(value)
    (emitters.memo.get(cls) or emitters.learn_memo(cls))(value, out, EmitRun(inf))
    return marshalled(out)


def plain(value: object, emitters: Emitters) -> bytes:
    return marshalled(emitters.describer.graph(value).tokens)


@given(specs(), st.integers(0, 2**32), st.booleans())
def test_a_class_met_for_the_first_time_is_written_like_the_plain_walk(
    spec: Spec, seed: int, shared: bool
) -> None:
    value = build(spec, random.Random(seed), {} if shared else None)
    emitters = Emitters(Describer(Policy()))
    expected = plain(value, emitters)
    assert quick(value, emitters) == expected
    assert memo(value, emitters) == expected


@given(specs(), st.booleans())
def test_hints_from_earlier_instances_do_not_change_what_is_written(
    spec: Spec, shared: bool
) -> None:
    value = build(spec, shared={} if shared else None)
    expected = plain(value, _LASTING)
    assert quick(value, _LASTING) == expected
    assert memo(value, _LASTING) == expected


@given(
    st.lists(st.sampled_from(["unset", "beside", "list", "leaf", "none", "self-made"]), max_size=8)
)
def test_instances_that_lack_fields_or_have_more_are_written_like_the_plain_walk(
    kinds: list[str],
) -> None:
    emitters = Emitters(Describer(Policy()))
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
            expected = plain(value, emitters)
            assert quick(value, emitters) == expected
            assert memo(value, emitters) == expected


@given(specs())
def test_a_policy_with_rules_writes_what_the_plain_walk_writes(spec: Spec) -> None:
    rules: dict[type, ClassRule] = {
        Plain: lambda value: (value.y, value.x),
        Slotted: whorl.fields(exclude=["x"]),
        Attributes: whorl.fields(by_type=["x"], ordered=["y"], exclude=["z"]),
    }
    emitters = Emitters(Describer(Policy(rules)))
    value = build(spec)
    expected = plain(value, emitters)
    try:
        found = quick(value, emitters)
    except RecursionError:
        pytest.fail("the quick walk does not end under a policy with rules")
    assert found == expected
    assert memo(value, emitters) == expected
