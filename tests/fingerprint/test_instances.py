"""Instances of classes: every place where state can live, and nothing else."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import attrs
import pydantic
import pytest

import whorl
from tests.fingerprint.comparing import calls_of, different, same

T = TypeVar("T")


@dataclass
class Plain:
    x: object = 0
    y: object = 0


@dataclass
class SameFields:
    x: object = 0
    y: object = 0


@dataclass(frozen=True)
class Frozen:
    x: object = 0


@dataclass(slots=True)
class Slotted:
    x: object = 0
    y: object = 0


@dataclass(frozen=True, slots=True)
class FrozenSlotted:
    x: object = 0


@dataclass
class Base:
    x: object = 0


@dataclass
class Derived(Base):
    y: object = 0


@dataclass(slots=True)
class SlottedBase:
    x: object = 0


@dataclass(slots=True)
class SlottedDerived(SlottedBase):
    y: object = 0


@dataclass
class DictOnSlots(SlottedBase):
    y: object = 0


@dataclass
class FromDict(dict[str, int]):
    x: object = 0


@dataclass
class FromList(list[int]):
    x: object = 0


@dataclass
class FromError(ValueError):
    x: object = 0


@dataclass
class NotInInit:
    x: int
    given: int = field(default=5, init=False)
    made: list[int] = field(default_factory=list, init=False)
    never: int = field(init=False)


@dataclass
class Special:
    count: ClassVar[int] = 0
    seed: InitVar[int] = 0
    _: KW_ONLY
    x: int = 0


@dataclass
class HandSlotted:
    __slots__ = ("x",)
    x: int
    y: int = field(default=5, init=False)


class Bare:
    def __init__(self, **attributes: object) -> None:
        vars(self).update(attributes)


class OtherBare:
    def __init__(self, **attributes: object) -> None:
        vars(self).update(attributes)


class Top:
    __slots__ = ("a",)


class Middle(Top):
    __slots__ = ("b",)


class Bottom(Middle):
    __slots__ = ("__dict__", "c")


class Shadow(Top):
    __slots__ = ("__dict__", "a")


class Private:
    __slots__ = ("__x",)

    def __init__(self, x: int) -> None:
        self.__x = x


class Circle:
    def __init__(self, radius: float) -> None:
        self.radius = radius

    @functools.cached_property
    def area(self) -> float:
        return 3 * self.radius**2

    @property
    def explosive(self) -> float:
        raise AssertionError("a property was read")


@attrs.define
class AttrsSlotted:
    x: object = 0
    y: object = 0

    @functools.cached_property
    def both(self) -> object:
        return (self.x, self.y)


@attrs.define(slots=False)
class AttrsDict:
    x: object = 0
    y: object = 0


@attrs.frozen(cache_hash=True)
class AttrsHashed:
    x: int = 0


@attrs.frozen(cache_hash=True, slots=False)
class AttrsHashedDict:
    x: int = 0


@attrs.define
class AttrsDerived(AttrsSlotted):
    z: object = 0


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    x: int = 0
    y: list[int] = []
    _private: int = pydantic.PrivateAttr(default=0)

    @pydantic.computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @functools.cached_property
    def doubled(self) -> int:
        return 2 * self.x


class OtherModel(pydantic.BaseModel):
    x: int = 0
    y: list[int] = []


class GenericModel(pydantic.BaseModel, Generic[T]):
    x: T


@pydantic.dataclasses.dataclass
class PydanticDataclass:
    x: int = 0
    y: int = 0


class Hooked:
    """Attribute access of every kind is overridden."""

    def __init__(self, x: object) -> None:
        object.__setattr__(self, "x", x)

    locals().update(
        calls_of(
            "__getattr__", "__getattribute__", "__setattr__", "__eq__", "__hash__", "__repr__",
            "__str__", "__bool__", "__len__", "__iter__", "__reduce__", "__reduce_ex__",
            "__getstate__", "__sizeof__", "__dir__", "__format__", "__copy__", "__deepcopy__",
            "__getnewargs__", "__getnewargs_ex__", "__index__", "__int__", "__float__",
        )
    )  # fmt: skip


class HookedSlots:
    __slots__ = ("x",)

    def __init__(self, x: object) -> None:
        object.__setattr__(self, "x", x)

    locals().update(calls_of("__getattr__", "__getattribute__", "__eq__", "__hash__"))


CLASSES = [
    Plain, Frozen, Slotted, FrozenSlotted, Base, Derived, SlottedBase, SlottedDerived, DictOnSlots,
    FromDict, FromList, FromError, Bare, OtherBare, AttrsSlotted, AttrsDict, AttrsDerived,
    AttrsHashed, Model, OtherModel, PydanticDataclass, SameFields,
]  # fmt: skip


# -- fields -----------------------------------------------------------------------------


@pytest.mark.parametrize("cls", CLASSES)
def test_equal_instances_get_one_digest_and_a_changed_field_another(cls: Any) -> None:
    assert same(cls(x=1), cls(x=1))
    assert different(cls(x=1), cls(x=2))


def test_instances_of_different_classes_with_equal_fields_differ() -> None:
    assert different(*(cls(x=1) for cls in CLASSES))


def test_two_fields_do_not_change_places() -> None:
    assert different(Plain(1, 2), Plain(2, 1))
    assert different(Slotted(1, 2), Slotted(2, 1))
    assert different(AttrsSlotted(1, 2), AttrsSlotted(2, 1))


def test_a_field_counts_by_exact_type() -> None:
    for cls in (Plain, Frozen, Slotted, FrozenSlotted, AttrsSlotted, AttrsDict, Bare):
        make: Any = cls
        values = (1, True, 1.0, "1", b"1", None, [1], (1,), {1}, {1: 1}, Plain(1))
        assert different(*(make(x=value) for value in values))


def test_inherited_fields_count() -> None:
    assert different(Derived(1, 2), Derived(2, 2), Derived(1, 1))
    assert different(SlottedDerived(1, 2), SlottedDerived(2, 2), SlottedDerived(1, 1))
    assert different(DictOnSlots(1, 2), DictOnSlots(2, 2), DictOnSlots(1, 1))
    assert different(AttrsDerived(1, 2, 3), AttrsDerived(2, 2, 3), AttrsDerived(1, 2, 4))


def test_a_dataclass_on_a_builtin_counts_fields_and_content() -> None:
    kinds: list[tuple[Any, Any]] = [(FromDict, {"a": 1}), (FromList, [1])]
    for make, content in kinds:
        empty, filled, other = make(x=1), make(x=1), make(x=2)
        if isinstance(filled, dict):
            filled.update(content)
        else:
            filled.extend(content)
        assert different(empty, filled, other, content)


def test_a_dataclass_on_an_exception_counts_its_fields() -> None:
    assert different(FromError(1), FromError(2), ValueError(1))


def test_an_attribute_set_beside_the_fields_counts() -> None:
    makers: list[Any] = [Plain, Derived, DictOnSlots, AttrsDict, Bare, PydanticDataclass, FromDict]
    for make in makers:
        plain, marked, other = make(x=1), make(x=1), make(x=1)
        marked.beside, other.beside = 1, 2
        assert different(plain, marked, other)


def test_an_attribute_beside_frozen_fields_counts() -> None:
    plain, marked = Frozen(1), Frozen(1)
    object.__setattr__(marked, "beside", 1)
    assert different(plain, marked)


def test_an_attribute_of_an_exception_counts() -> None:
    plain, marked = FromError(1), FromError(1)
    marked.hint = "x"  # type: ignore[attr-defined]  # set beside the fields
    assert different(plain, marked)


def test_the_order_in_which_attributes_were_set_does_not_count() -> None:
    assert same(Bare(a=1, b=2), Bare(b=2, a=1))
    assert different(Bare(a=1, b=2), Bare(a=2, b=1), Bare(a=1), Bare())


# -- what is not set --------------------------------------------------------------------


def test_an_unset_slot_is_a_value_of_its_own() -> None:
    unset, none = Slotted(1), Slotted(1, None)
    del unset.y
    assert different(unset, none, Slotted(1, 0))


def test_an_unset_field_is_a_value_of_its_own() -> None:
    deleted = Plain(0, 0)
    del deleted.x
    assert different(deleted, Plain(0, 0), Plain(None, 0))


def test_an_unset_field_without_a_default_is_a_value_of_its_own() -> None:
    unset, none = NotInInit(1), NotInInit(1)
    none.never = None  # type: ignore[assignment]  # the nearest value to an unset one
    assert different(unset, none)


def test_a_field_that_init_does_not_set_counts_once_it_is_set() -> None:
    plain, changed, made = NotInInit(1), NotInInit(1), NotInInit(1)
    changed.given = 6
    made.made.append(1)
    assert different(plain, changed, made)
    assert same(plain, NotInInit(1))


def test_class_variables_and_init_variables_are_no_state() -> None:
    assert same(Special(seed=1), Special(seed=2))
    assert different(Special(x=1), Special(x=2))
    before = whorl.fingerprint(Special())
    Special.count += 1
    assert whorl.fingerprint(Special()) == before


def test_a_default_on_a_slotted_class_without_a_slot_is_the_same_at_any_depth() -> None:
    value: Any = HandSlotted(1)
    alone = whorl.fingerprint([HandSlotted(1), HandSlotted(1)])
    found = set()

    def deeper() -> None:
        found.add(whorl.fingerprint([value, HandSlotted(1)]))
        try:
            deeper()
        except RecursionError:
            return

    deeper()
    assert found == {alone}


def test_the_digest_does_not_depend_on_how_deep_the_caller_is() -> None:
    values = [Plain(Slotted(1), {"a": [1.5]}), Bare(a={1, "x"}), AttrsSlotted(1), Model(x=1)]
    expected = [whorl.fingerprint(value) for value in values]
    found: list[list[str]] = []

    def deeper() -> None:
        found.append([whorl.fingerprint(value) for value in values])
        try:
            deeper()
        except RecursionError:
            return

    deeper()
    assert all(digests == expected for digests in found)


# -- slots ------------------------------------------------------------------------------


def test_slots_along_the_whole_mro_count() -> None:
    def make(**places: object) -> Bottom:
        made = Bottom()
        for name, value in places.items():
            setattr(made, name, value)
        return made

    assert different(make(), make(a=1), make(b=1), make(c=1), make(d=1), make(a=1, b=1))
    assert different(make(a=1), make(a=2))


def test_a_slot_that_a_subclass_covers_up_is_a_place_of_its_own() -> None:
    def make(*, below: object = None, above: object = None) -> Shadow:
        made = Shadow()
        if below is not None:
            Top.a.__set__(made, below)  # type: ignore[attr-defined]  # the slot's descriptor
        if above is not None:
            made.a = above  # type: ignore[attr-defined]  # mypy takes slots from annotations
        return made

    assert different(
        make(), make(below=1), make(above=1), make(below=1, above=2), make(below=2, above=1)
    )


def test_a_covered_slot_is_not_taken_for_an_attribute_of_a_similar_name() -> None:
    covered, named = Shadow(), Shadow()
    Top.a.__set__(covered, 5)  # type: ignore[attr-defined]  # the slot's descriptor
    setattr(named, "a'", 5)
    assert different(covered, named)


def test_a_private_slot_counts() -> None:
    assert different(Private(1), Private(2))


def test_slots_named_by_a_keyword_count() -> None:
    Edge = type("Edge", (), {"__slots__": ("from", "to")})

    def edge(start: int, end: int) -> object:
        made = Edge()
        setattr(made, "from", start)
        made.to = end
        return made

    assert different(edge(1, 2), edge(2, 2), edge(1, 1))
    assert same(edge(1, 2), edge(1, 2))


def test_slots_whose_names_look_alike_are_two_slots() -> None:
    ligature_name = "\ufb01"  # one sign, which Python takes for "fi" in source
    Ligature = type("Ligature", (), {"__slots__": (ligature_name, "fi")})

    def make(ligature: int, letters: int) -> object:
        made = Ligature()
        setattr(made, ligature_name, ligature)
        made.fi = letters
        return made

    assert different(make(1, 7), make(2, 7), make(7, 1))


def test_a_class_with_empty_slots_has_no_state() -> None:
    Empty = type("Empty", (), {"__slots__": ()})
    assert same(Empty(), Empty())


def test_slots_given_as_text_as_dict_and_as_iterator_count() -> None:
    for slots in ("x", {"x": "documented"}, iter(("x",))):
        Made = type("Made", (), {"__slots__": slots})
        first, second = Made(), Made()
        first.x, second.x = 1, 2
        assert different(first, second)


# -- dictionaries -----------------------------------------------------------------------


def test_a_dictionary_of_another_class_is_state_all_the_same() -> None:
    def make(x: int) -> Bare:
        made = Bare()
        made.__dict__ = collections.OrderedDict(x=x)
        return made

    assert different(make(1), make(2))
    first, second = make(1), make(2)
    first.me, second.me = first, second  # type: ignore[attr-defined]  # a cycle: the other walk
    assert different(first, second)


@pytest.mark.parametrize("cls", [Bare, Plain])
def test_a_dictionary_that_overrides_its_methods_is_never_asked(cls: Any) -> None:
    Hostile: Any = type(
        "Hostile", (dict,), calls_of("__getitem__", "__iter__", "__len__", "items", "keys", "get")
    )

    def make(x: int) -> object:
        made = cls()
        made.__dict__ = Hostile(x=x, y=0)
        return made

    assert different(make(1), make(2))


def test_an_object_that_is_its_own_dictionary_works() -> None:
    class Attributes(dict[str, object]):
        def __init__(self, **content: object) -> None:
            super().__init__(content)
            self.__dict__ = self

    assert same(Attributes(a=1), Attributes(a=1))
    assert different(Attributes(a=1), Attributes(a=2))


def test_keys_of_the_dictionary_that_are_no_text_are_counted_or_refused_without_asking_them() -> (
    None
):
    class Key:
        locals().update(calls_of("__repr__", "__str__", "__eq__"))

        def __hash__(self) -> int:
            return 1

    value = Bare()
    value.__dict__[Key()] = 1  # type: ignore[index]  # the key is what is tested
    with contextlib.suppress(whorl.UnsupportedValue):
        assert len(whorl.fingerprint([value])) == 32


def test_a_number_as_attribute_name_is_not_taken_for_a_text() -> None:
    number, text = Bare(), Bare()
    number.__dict__[1] = 5  # type: ignore[index]  # the key is what is tested
    text.__dict__["__dict__[1]"] = 5
    digests = []
    for value in (number, text):
        try:
            digests.append(whorl.fingerprint(value))
        except whorl.UnsupportedValue:
            digests.append(None)  # type: ignore[arg-type]  # refusing is an answer too
    assert digests[0] != digests[1]


def test_an_attribute_named_like_a_class_default_is_an_attribute() -> None:
    unset, named = Plain(), Plain()
    del unset.x
    del named.x
    setattr(named, "class:x", 7)
    assert different(unset, named)


# -- computed ---------------------------------------------------------------------------


def test_a_computed_cached_property_changes_nothing() -> None:
    fresh, used = Circle(1.0), Circle(1.0)
    assert used.area == 3
    assert "area" in vars(used)
    assert same(fresh, used)


def test_a_cached_property_of_a_slotted_attrs_class_changes_nothing() -> None:
    fresh, used = AttrsSlotted(1), AttrsSlotted(1)
    assert used.both == (1, 0)
    assert same(fresh, used)


def test_a_cached_property_of_a_pydantic_model_changes_nothing() -> None:
    fresh, used = Model(x=1), Model(x=1)
    assert used.doubled == 2
    assert same(fresh, used)


def test_a_cached_property_that_a_base_defines_changes_nothing() -> None:
    Sub = type("Sub", (Circle,), {})
    fresh, used = Sub(1.0), Sub(1.0)
    assert used.area == 3
    assert same(fresh, used)


def test_a_field_that_covers_a_cached_property_counts() -> None:
    Sub = dataclasses.make_dataclass("Sub", [("area", float, 1.0)], bases=(Circle,))
    assert different(Sub(1.0), Sub(2.0))


@pytest.mark.parametrize("cls", [AttrsHashed, AttrsHashedDict])
def test_a_hash_that_attrs_has_kept_changes_nothing(cls: type) -> None:
    fresh, used = cls(), cls()
    hash(used)
    assert same(fresh, used)


def test_which_fields_of_a_pydantic_model_were_given_counts() -> None:
    assert different(Model(x=0), Model())
    assert same(Model(x=0), Model.model_validate({"x": 0}))


def test_private_and_extra_values_of_a_pydantic_model_count() -> None:
    plain, private = Model(x=1), Model(x=1)
    private._private = 5
    extended: Any = Model
    assert different(plain, private, extended(x=1, z=1), extended(x=1, z=2))


def test_parametrized_pydantic_models_differ() -> None:
    assert same(GenericModel[int](x=1), GenericModel[int](x=1))
    assert different(GenericModel[int](x=1), GenericModel[float](x=1), GenericModel(x=1))


def test_a_pydantic_root_model_counts_its_root() -> None:
    class Numbers(pydantic.RootModel[list[int]]):
        pass

    assert different(Numbers([1]), Numbers([2]))
    assert same(Numbers([1]), Numbers([1]))


# -- user code --------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [Hooked, HookedSlots])
def test_an_instance_is_read_without_running_its_class(cls: Any) -> None:
    first, equal, second = cls(1), cls(1), cls(2)
    assert whorl.fingerprint(first) == whorl.fingerprint(equal)
    assert whorl.fingerprint(first) != whorl.fingerprint(second)
    assert len(whorl.fingerprint({"k": [first, second]})) == 32


def test_a_property_is_never_read() -> None:
    assert len(whorl.fingerprint(Circle(1.0))) == 32


def test_a_class_property_that_raises_is_never_read() -> None:
    class Liar:
        @property  # type: ignore[misc]  # what mocks and proxies do
        def __class__(self) -> Any:
            raise AssertionError("__class__ was read")

    assert same(Liar(), Liar())
    assert len(whorl.fingerprint([Liar(), {"k": Liar()}, iter([Liar()])])) == 32


def test_a_class_that_claims_to_be_another_is_what_it_is() -> None:
    class Liar:
        __class__ = int  # type: ignore[assignment]  # what proxies do

    assert different(Liar(), 0, Bare())


def test_a_dict_property_that_raises_is_never_read() -> None:
    class Hidden:
        __slots__ = ("x",)
        __dict__ = property(lambda self: 1 / 0)

        def __init__(self, x: int) -> None:
            self.x = x

    assert different(Hidden(1), Hidden(2))


def test_descriptors_that_raise_are_never_asked() -> None:
    class Trap:
        def __get__(self, instance: object, owner: object = None) -> object:
            raise AssertionError("a descriptor was asked")

        def __set__(self, instance: object, value: object) -> None:
            raise AssertionError("a descriptor was asked")

    class Trapped:
        x = Trap()
        y: int = 0

    value = Trapped()
    vars(value)["x"] = 1
    other = Trapped()
    vars(other)["x"] = 2
    assert different(value, other, Trapped())


def test_a_custom_reduction_is_not_asked_where_state_can_be_seen() -> None:
    class Forgetful:
        def __init__(self, x: int) -> None:
            self.x = x

        def __reduce__(self) -> Any:
            return Forgetful, (0,)

        def __getstate__(self) -> object:
            return {}

    assert different(Forgetful(1), Forgetful(2))


# -- classes that no other process can import -------------------------------------------


def test_equal_local_classes_give_equal_instances() -> None:
    def make(x: int) -> object:
        class Local:
            def __init__(self) -> None:
                self.x = x

            def get(self) -> int:
                return self.x

        return Local()

    assert different(make(1), make(2))


def test_instances_of_local_classes_differ_by_the_code_of_the_class() -> None:
    def first() -> object:
        class Local:
            def get(self) -> int:
                return 1

        return Local()

    def second() -> object:
        class Local:
            def get(self) -> int:
                return 2

        return Local()

    assert different(first(), second())


def test_a_local_class_that_was_changed_gives_another_digest() -> None:
    class Local:
        scale = 1

    value = Local()
    before = whorl.fingerprint(value)
    Local.scale = 2
    after = whorl.fingerprint(value)
    assert after != before
    assert whorl.Fingerprinter()(value) == after
    Local.scale = 1
    assert whorl.fingerprint(value) == before


def test_a_class_made_by_type_works() -> None:
    first, second = type("Made", (), {"k": 1}), type("Made", (), {"k": 2})
    assert same(first(), type("Made", (), {"k": 1})())
    assert different(first(), second())


def test_local_attrs_and_pydantic_classes_work() -> None:
    def make(default: int) -> tuple[object, object]:
        @attrs.define
        class Local:
            x: int = default

        class LocalModel(pydantic.BaseModel):
            x: int = default

        return Local(), LocalModel()

    assert same(make(1)[0], make(1)[0])
    assert same(make(1)[1], make(1)[1])
    assert different(*make(1), *make(2))


def test_a_dataclass_made_at_run_time_works() -> None:
    first = dataclasses.make_dataclass("Made", [("x", int, 1)])
    second = dataclasses.make_dataclass("Made", [("x", int, 2)])
    assert same(first(), dataclasses.make_dataclass("Made", [("x", int, 1)])())
    assert different(first(), first(2), second(2))
