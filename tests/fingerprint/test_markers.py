"""What a class, or somebody else, says about its fields."""

from __future__ import annotations

import typing
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Annotated, Any, Final, Optional

import attrs
import numpy as np
import pydantic
import pytest

import whorl
from tests.fingerprint.comparing import calls_of, different, output_of, refusal, same

Hidden = Annotated[object, whorl.exclude]


@dataclass
class ByAnnotation:
    x: int
    uid: Annotated[object, whorl.exclude] = None


@dataclass(slots=True)
class BySlottedAnnotation:
    x: int
    uid: Annotated[object, whorl.exclude] = None


@dataclass(frozen=True, slots=True)
class ByFrozenAnnotation:
    x: int
    uid: Annotated[object, whorl.exclude] = None


@dataclass
class ByAlias:
    x: int
    uid: Hidden = None


@dataclass
class ByMetadata:
    x: int
    uid: object = field(default=None, metadata=whorl.exclude)


@dataclass
class ByOtherMetadata:
    x: int
    uid: object = field(default=None, metadata={"unit": "m", **whorl.exclude})


@whorl.exclude("uid")
@dataclass
class Above:
    x: int
    uid: object = None


@whorl.exclude("uid")
@dataclass(slots=True)
class AboveSlotted:
    x: int
    uid: object = None


@attrs.define
class AttrsByMetadata:
    x: int
    uid: object = attrs.field(default=None, metadata=whorl.exclude)


@attrs.define
class AttrsByAnnotation:
    x: int
    uid: Annotated[object, whorl.exclude] = None


@attrs.define(slots=False)
class AttrsDictByAnnotation:
    x: int
    uid: Annotated[object, whorl.exclude] = None


class ModelByAnnotation(pydantic.BaseModel):
    x: int
    uid: Annotated[object, whorl.exclude] = None


class ModelWithFieldToo(pydantic.BaseModel):
    x: int
    uid: Annotated[object, pydantic.Field(description="an id"), whorl.exclude] = None


class PlainByAnnotation:
    uid: Annotated[object, whorl.exclude]

    def __init__(self, x: int, uid: object = None) -> None:
        self.x = x
        self.uid = uid


@whorl.exclude("uid")
class PlainAbove:
    def __init__(self, x: int, uid: object = None) -> None:
        self.x = x
        self.uid = uid


@whorl.exclude("uid")
class SlottedAbove:
    __slots__ = ("uid", "x")

    def __init__(self, x: int, uid: object = None) -> None:
        self.x = x
        self.uid = uid


class DerivedPlain(PlainAbove):
    pass


@dataclass
class DerivedData(ByAnnotation):
    y: int = 0


@whorl.exclude("uid")
@dataclass
class OnDict(dict[str, int]):
    x: int
    uid: object = None


@whorl.exclude("uid")
class OnError(Exception):
    def __init__(self, x: int, uid: object = None) -> None:
        super().__init__(x)
        self.uid = uid


@dataclass
class DataOnError(Exception):
    x: int
    uid: Annotated[object, whorl.exclude] = None


@whorl.exclude("uid")
class OnNamespace(SimpleNamespace):
    def __init__(self, x: int, uid: object = None) -> None:
        super().__init__(x=x, uid=uid)


@whorl.exclude("uid")
class Callable_:
    def __init__(self, x: int, uid: object = None) -> None:
        self.x = x
        self.uid = uid

    def __call__(self) -> int:
        return self.x


EXCLUDING: list[Any] = [
    ByAnnotation, BySlottedAnnotation, ByFrozenAnnotation, ByAlias, ByMetadata, ByOtherMetadata,
    Above, AboveSlotted, AttrsByMetadata, AttrsByAnnotation, AttrsDictByAnnotation,
    ModelByAnnotation, ModelWithFieldToo, PlainByAnnotation, PlainAbove, SlottedAbove,
    DerivedPlain, DerivedData, OnDict, OnError, DataOnError, OnNamespace, Callable_,
]  # fmt: skip


class Foreign:
    """A class that cannot be edited."""

    def __init__(self, x: object, uid: object = None) -> None:
        self.x = x
        self.uid = uid


class ForeignSlotted:
    __slots__ = ("uid", "x")

    def __init__(self, x: object, uid: object = None) -> None:
        self.x = x
        self.uid = uid


class ForeignTextSlot:
    __slots__ = "uid"  # noqa: PLC0205 - one slot may be written so

    def __init__(self, uid: object = None) -> None:
        self.uid = uid


class ForeignPrivateSlot:
    __slots__ = ("__uid",)

    def __init__(self, uid: object = None) -> None:
        self.__uid = uid


@dataclass
class ForeignData:
    x: object
    uid: object = None


@attrs.define
class ForeignAttrs:
    x: object
    uid: object = None


class ForeignModel(pydantic.BaseModel):
    x: Any
    uid: Any = None


class ForeignError(Exception):
    def __init__(self, x: object, uid: object = None) -> None:
        super().__init__(x)
        self.uid = uid


FOREIGN: list[Any] = [
    Foreign, ForeignSlotted, ForeignData, ForeignAttrs, ForeignModel, ForeignError,
]  # fmt: skip


@dataclass
class Ordered:
    options: Annotated[object, whorl.ordered]


@dataclass(slots=True)
class OrderedSlots:
    options: Annotated[object, whorl.ordered]


@dataclass
class ByType:
    data: Annotated[object, whorl.by_type]


@dataclass
class ByIdentity:
    handle: Annotated[object, whorl.by_identity]


# -- exclude ----------------------------------------------------------------------------


@pytest.mark.parametrize("cls", EXCLUDING)
def test_an_excluded_field_does_not_count_and_the_others_do(cls: Any) -> None:
    assert same(cls(x=1, uid=1), cls(x=1, uid=2), cls(x=1))
    assert different(cls(x=1, uid=1), cls(x=2, uid=1))


@pytest.mark.parametrize("cls", EXCLUDING)
def test_an_excluded_field_may_hold_what_cannot_be_fingerprinted(cls: Any) -> None:
    assert same(cls(x=1, uid=object()), cls(x=1))


@pytest.mark.parametrize("cls", EXCLUDING)
def test_an_excluded_field_may_be_missing(cls: Any) -> None:
    if cls is ByFrozenAnnotation:
        pytest.skip("a frozen field cannot be deleted")
    without = cls(x=1)
    del without.uid
    assert same(cls(x=1), without)


@pytest.mark.parametrize("cls", EXCLUDING)
def test_an_excluded_field_is_left_out_inside_cycles(cls: Any) -> None:
    first, second = cls(x=1), cls(x=1)
    if not isinstance(first, ByFrozenAnnotation):
        first.uid, second.uid = first, [second]
    assert same([first], [second])


def test_an_excluded_field_is_never_looked_at() -> None:
    Hostile = type("Hostile", (), calls_of("__eq__", "__hash__", "__repr__", "__getattribute__"))
    assert same(ByAnnotation(1, Hostile()), ByAnnotation(1))


def test_an_excluded_field_makes_no_difference() -> None:
    assert whorl.diff(ByAnnotation(1, "a"), ByAnnotation(1, "b")) == []
    assert [d.path for d in whorl.diff(ByAnnotation(1, "a"), ByAnnotation(2, "b"))] == ["value.x"]


def test_a_field_left_out_of_comparison_still_counts() -> None:
    @dataclass
    class Uncompared:
        x: int = field(compare=False, repr=False, hash=False)

    assert different(Uncompared(1), Uncompared(2))


@pytest.mark.parametrize(
    "annotation",
    [
        Final[Annotated[int, whorl.exclude]],
        Annotated[Final[int], whorl.exclude],
        Optional[Annotated[int, whorl.exclude]],
        Annotated[Annotated[int, "unit"], whorl.exclude],
        Annotated[int, whorl.exclude, "unit"],
    ],
)
def test_a_marker_inside_another_annotation_is_honoured(annotation: Any) -> None:
    class Marked:
        def __init__(self, uid: int) -> None:
            self.uid = uid

    Marked.__annotations__ = {"uid": annotation}
    assert same(Marked(1), Marked(2))


def test_a_marker_below_a_decorator_that_makes_a_new_class_is_honoured() -> None:
    @dataclass(slots=True)
    @whorl.exclude("uid")
    class Data:
        uid: int

    @attrs.define
    @whorl.exclude("uid")
    class Attrs:
        uid: int

    assert same(Data(1), Data(2))
    assert same(Attrs(1), Attrs(2))


def test_two_markers_above_one_class_both_hold() -> None:
    @whorl.exclude("a")
    @whorl.exclude("b")
    @whorl.ordered("c")
    class Marked:
        def __init__(self, a: int, b: int, c: dict[str, int], d: int = 0) -> None:
            self.a, self.b, self.c, self.d = a, b, c, d

    assert same(Marked(1, 1, {}), Marked(2, 2, {}))
    assert different(Marked(1, 1, {"x": 1, "y": 2}), Marked(1, 1, {"y": 2, "x": 1}))
    assert different(Marked(1, 1, {}), Marked(1, 1, {}, 1))


def test_a_marker_of_a_class_does_not_reach_fields_of_that_name_elsewhere() -> None:
    assert different([ByAnnotation(1), Foreign(1, "a")], [ByAnnotation(1), Foreign(1, "b")])


def test_a_marker_in_a_text_that_cannot_be_evaluated_is_refused() -> None:
    class Unreadable:
        def __init__(self) -> None:
            self.uid = 1

    Unreadable.__annotations__ = {"uid": "Annotated[int, nowhere_to_be_found.exclude]"}
    refused = refusal({"k": Unreadable()})
    assert refused.path == "value['k']"
    assert "uid" in refused.reason


def test_a_marker_in_a_text_is_honoured_though_the_type_beside_it_cannot_be_found() -> None:
    class Marked:
        def __init__(self, uid: int) -> None:
            self.uid = uid

    Marked.__annotations__ = {"uid": "Annotated[NowhereToBeFound, whorl.exclude]"}
    assert same(Marked(1), Marked(2))


def test_an_annotation_without_a_marker_need_not_be_readable() -> None:
    class Unreadable:
        def __init__(self, x: int) -> None:
            self.x = x

    Unreadable.__annotations__ = {"x": "NowhereToBeFound", "y": "not even ( Python", "z": ""}
    assert different(Unreadable(1), Unreadable(2))


def test_an_annotation_that_would_end_the_program_does_not() -> None:
    class Odd:
        def __init__(self, x: int) -> None:
            self.x = x

    Odd.__annotations__ = {"x": "exit()"}
    assert different(Odd(1), Odd(2))


def test_a_marker_takes_names_and_nothing_else() -> None:
    with pytest.raises(TypeError, match="field names"):
        whorl.exclude()
    with pytest.raises(TypeError, match="field names"):
        whorl.exclude(PlainAbove)  # type: ignore[arg-type]  # forgotten parentheses


# -- where the class cannot be edited ---------------------------------------------------


@pytest.mark.parametrize("cls", FOREIGN)
def test_a_field_of_a_foreign_class_can_be_excluded(cls: Any) -> None:
    own = whorl.Fingerprinter({cls: whorl.fields(exclude=["uid"])})
    assert own(cls(x=1, uid=1)) == own(cls(x=1, uid=2))
    assert own(cls(x=1, uid=1)) != own(cls(x=2, uid=1))
    assert own([cls(x=1, uid=object())]) == own([cls(x=1, uid=None)])


@pytest.mark.parametrize("cls", FOREIGN)
def test_a_field_of_a_foreign_class_can_be_ordered_by_type_or_by_identity(cls: Any) -> None:
    own = whorl.Fingerprinter({cls: whorl.fields(ordered=["x"], by_type=["uid"])})
    if cls is not ForeignError:
        assert own(cls(x={"a": 1, "b": 2})) != own(cls(x={"b": 2, "a": 1}))
    assert own(cls(x=1, uid=1)) == own(cls(x=1, uid=2))
    assert own(cls(x=1, uid=1)) != own(cls(x=1, uid="1"))
    by_identity = whorl.Fingerprinter({cls: whorl.fields(by_identity=["uid"])})
    first, second = [1], [1]
    assert by_identity(cls(x=1, uid=first)) != by_identity(cls(x=1, uid=second))


def test_a_rule_holds_for_subclasses_and_the_nearest_one_wins() -> None:
    class Sub(Foreign):
        pass

    own = whorl.Fingerprinter({Foreign: whorl.fields(exclude=["uid"])})
    assert own(Sub(1, 1)) == own(Sub(1, 2))
    nearer = whorl.Fingerprinter({Foreign: whorl.exclude, Sub: whorl.fields(exclude=["uid"])})
    assert nearer(Sub(1, 1)) == nearer(Sub(1, 2)) != nearer(Sub(2, 1))
    assert nearer(Foreign(1)) == nearer(Foreign(2))


def test_a_rule_overrides_a_marker_of_the_class() -> None:
    own = whorl.Fingerprinter({ByAnnotation: whorl.fields(by_type=["uid"])})
    assert own(ByAnnotation(1, 1)) == own(ByAnnotation(1, 2)) != own(ByAnnotation(1, "1"))


def test_a_field_that_a_slotted_class_does_not_have_is_an_error() -> None:
    own = whorl.Fingerprinter({ForeignSlotted: whorl.fields(exclude=["udi"])})
    with pytest.raises(whorl.UnsupportedValue, match="udi") as caught:
        own([ForeignSlotted(1)])
    assert caught.value.path == "value[0]"

    @whorl.exclude("udi")
    class Slotted:
        __slots__ = ("uid",)

    with pytest.raises(whorl.UnsupportedValue, match="udi"):
        whorl.fingerprint(Slotted())


def test_slots_given_as_one_text_can_be_excluded() -> None:
    own = whorl.Fingerprinter({ForeignTextSlot: whorl.fields(exclude=["uid"])})
    assert own(ForeignTextSlot(1)) == own(ForeignTextSlot(2))


@pytest.mark.parametrize("name", ["__uid", "_ForeignPrivateSlot__uid"])
def test_a_private_slot_can_be_excluded_by_the_name_it_is_written_with(name: str) -> None:
    own = whorl.Fingerprinter({ForeignPrivateSlot: whorl.fields(exclude=[name])})
    assert own(ForeignPrivateSlot(1)) == own(ForeignPrivateSlot(2))


def test_one_field_has_one_marker() -> None:
    with pytest.raises(ValueError, match="both"):
        whorl.fields(exclude=["x"], ordered=["x"])
    with pytest.raises(TypeError, match="collection"):
        whorl.fields(exclude="uid")


# -- ordered ----------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [Ordered, OrderedSlots])
def test_the_order_of_an_ordered_dict_field_counts(cls: Any) -> None:
    assert different(cls({"a": 1, "b": 2}), cls({"b": 2, "a": 1}))
    assert different(cls({1: 1, "b": 2}), cls({"b": 2, 1: 1}))
    assert same(cls({"a": 1, "b": 2}), cls({"a": 1, "b": 2}))
    assert different(cls({"a": "b"}), cls({"b": "a"}), cls({}), cls(None), cls([("a", "b")]))


@pytest.mark.parametrize("make", [Counter, OrderedDict, lambda d: defaultdict(int, d)])
def test_the_order_of_an_ordered_field_counts_for_other_mappings_too(make: Any) -> None:
    assert different(Ordered(make({"a": 1, "b": 2})), Ordered(make({"b": 2, "a": 1})))


def test_an_ordered_field_says_nothing_about_the_dicts_inside() -> None:
    assert same(Ordered({"k": {"a": 1, "b": 2}}), Ordered({"k": {"b": 2, "a": 1}}))


# -- by type ----------------------------------------------------------------------------


def test_a_field_by_type_counts_dtype_and_shape_of_an_array() -> None:
    assert same(ByType(np.zeros(3)), ByType(np.ones(3)))
    assert different(
        ByType(np.zeros(3)), ByType(np.zeros(4)), ByType(np.zeros(3, "f4")), ByType([0.0] * 3),
        ByType(np.zeros((3, 1))), ByType(np.ma.zeros(3)),
    )  # fmt: skip


def test_a_field_by_type_counts_types_and_keys_all_the_way_down() -> None:
    assert same(ByType({"a": [1, 2.0]}), ByType({"a": [3, 4.0]}))
    assert different(
        ByType({"a": [1, 2.0]}), ByType({"b": [1, 2.0]}), ByType({"a": [1, 2]}),
        ByType({"a": (1, 2.0)}), ByType({"a": [1]}), ByType(1), ByType(True), ByType("1"),
    )  # fmt: skip


def test_the_type_of_an_instance_counts_the_types_of_its_fields() -> None:
    assert same(ByType(ForeignData(1, "a")), ByType(ForeignData(2, "b")))
    assert different(ByType(ForeignData(1, "a")), ByType(ForeignData("1", "a")), ByType(Foreign(1)))


def test_by_type_honours_excluded_fields() -> None:
    assert whorl.fingerprint(ByAnnotation(1, 1), by="type") == whorl.fingerprint(
        ByAnnotation(2, object()), by="type"
    )


@pytest.mark.parametrize(
    "value",
    [
        "value = []; value.append(value)",
        "value = {}; value['me'] = (value,)",
        "value = [1]\nfor _ in range(40): value = [value, value]",
        "value = [1]\nfor _ in range(40): value = {'a': value, 'b': value}",
        "value = [1]\nfor _ in range(5000): value = [value]",
    ],
)
def test_by_type_works_on_cycles_on_shared_parts_and_at_any_depth(value: str) -> None:
    program = f"import whorl\n{value}\nprint(len(whorl.fingerprint(value, by='type')))"
    assert output_of(program, seconds=10) == "32"


# -- by identity ------------------------------------------------------------------------


def test_a_field_by_identity_counts_as_this_very_object() -> None:
    first, second = object(), object()
    assert different(ByIdentity(first), ByIdentity(second))
    assert same(ByIdentity(first), ByIdentity(first))
    assert type(whorl.fingerprint(ByIdentity(first))) is whorl.ProcessDigest


def test_an_identity_anywhere_inside_makes_a_process_digest() -> None:
    def reader() -> object:
        return HANDLE

    assert type(whorl.fingerprint([{"k": ByIdentity(1)}])) is whorl.ProcessDigest
    assert type(whorl.fingerprint(reader)) is whorl.ProcessDigest
    assert type(whorl.fingerprint([1])) is whorl.StableDigest


HANDLE = ByIdentity(object())


# -- policies ---------------------------------------------------------------------------


def test_a_policy_is_part_of_the_digest() -> None:
    digests = [
        policy(1)
        for policy in (
            whorl.Fingerprinter(),
            whorl.Fingerprinter({Foreign: whorl.exclude}),
            whorl.Fingerprinter({Foreign: whorl.by_type}),
            whorl.Fingerprinter({ForeignData: whorl.exclude}),
            whorl.Fingerprinter({Foreign: whorl.fields(exclude=["uid"])}),
            whorl.Fingerprinter({Foreign: whorl.fields(ordered=["uid"])}),
            whorl.Fingerprinter({Foreign: lambda value: value.x}),
            whorl.Fingerprinter({Foreign: lambda value: value.uid}),
            whorl.Fingerprinter(functions="name"),
            whorl.Fingerprinter(boundary=whorl.Boundary(user=frozenset({"numpy"}))),
            whorl.Fingerprinter(boundary=whorl.Boundary(named=frozenset({"numpy"}))),
        )
    ]
    assert len(set(digests)) == len(digests)


def test_a_policy_without_choices_is_the_default() -> None:
    assert whorl.Fingerprinter()([1]) == whorl.fingerprint([1])
    assert whorl.Fingerprinter({})([1]) == whorl.fingerprint([1])


def test_equal_policies_give_equal_digests_whatever_the_order_of_their_rules() -> None:
    first = whorl.Fingerprinter({Foreign: whorl.exclude, ForeignData: whorl.by_type})
    second = whorl.Fingerprinter({ForeignData: whorl.by_type, Foreign: whorl.exclude})
    assert first([Foreign(1)]) == second([Foreign(1)])


def test_a_rule_that_does_something_else_is_another_policy() -> None:
    def policy(factor: int) -> whorl.Fingerprinter:
        return whorl.Fingerprinter({Foreign: lambda value: value.x * factor})

    assert policy(1)(5) == policy(1)(5) != policy(2)(5)


def test_a_rule_function_stands_for_the_value() -> None:
    own = whorl.Fingerprinter({Foreign: lambda value: value.x})
    assert own([Foreign(1, object())]) == own([Foreign(1, None)])
    assert own(Foreign(1)) != own(Foreign(2))
    assert own(Foreign(1)) != own(1)


def test_a_rule_for_a_whole_class_excludes_or_counts_by_type() -> None:
    without = whorl.Fingerprinter({Foreign: whorl.exclude})
    assert without(["x", Foreign(1)]) == without(["x", Foreign(2)]) != without(["x"])
    typed = whorl.Fingerprinter({np.ndarray: whorl.by_type})
    assert typed({"a": np.zeros(3)}) == typed({"a": np.ones(3)}) != typed({"a": np.zeros(4)})


@pytest.mark.parametrize("cls", [float, int, str, bytes, bool, list, dict, type(None)])
def test_a_rule_for_what_every_value_is_made_of_is_refused_at_once(cls: type) -> None:
    with pytest.raises(TypeError, match=cls.__name__):
        whorl.Fingerprinter({cls: lambda value: None})


def test_a_rule_may_return_a_value_of_the_same_class() -> None:
    program = """
from dataclasses import dataclass, replace
import whorl

@dataclass
class Node:
    x: int
    uid: int = 0

own = whorl.Fingerprinter({Node: lambda node: replace(node, uid=0)})
try:
    print(own(Node(1, 1)) == own(Node(1, 2)) != own(Node(2, 1)))
except whorl.UnsupportedValue:
    print(True)
"""
    assert output_of(program, seconds=10) == "True"


def test_a_rule_that_returns_the_value_itself_does_not_make_all_values_equal() -> None:
    own = whorl.Fingerprinter({Foreign: lambda value: value})
    try:
        assert own(Foreign(1)) != own(Foreign(2))
    except whorl.UnsupportedValue as refused:
        assert refused.path  # noqa: PT017 - refusing is right as well


def test_a_policy_gives_one_digest_at_any_depth_of_the_caller() -> None:
    own = whorl.Fingerprinter({Foreign: whorl.fields(exclude=["uid"])})
    value = [Foreign({"a": 1.5}), 2, "x", b"y", ForeignData(1)]
    found = set()

    def deeper() -> None:
        found.add(own(value))
        try:
            deeper()
        except RecursionError:
            return

    deeper()
    assert len(found) == 1


def test_rules_that_make_no_sense_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match="no class"):
        whorl.Fingerprinter({"Foreign": whorl.exclude})  # type: ignore[dict-item]  # misuse
    with pytest.raises(TypeError, match="rule for Foreign"):
        whorl.Fingerprinter({Foreign: "uid"})  # type: ignore[dict-item]  # misuse
    with pytest.raises(TypeError, match="field"):
        whorl.Fingerprinter({Foreign: whorl.ordered})
    with pytest.raises(ValueError, match="'code' or 'name'"):
        whorl.Fingerprinter(functions=typing.cast("Any", "nmae"))
    with pytest.raises(ValueError, match="by="):
        whorl.fingerprint(1, by=typing.cast("Any", "nmae"))
