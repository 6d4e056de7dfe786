"""Lists, tuples, dicts, sets and what is derived from them."""

from __future__ import annotations

import collections
import types
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from typing import Any, NamedTuple

import pytest

import whorl
from tests.fingerprint.comparing import calls_of, different, output_of, same


class Pair(NamedTuple):
    left: object
    right: object = None


class OtherPair(NamedTuple):
    left: object
    right: object = None


class Config(OrderedDict[str, int]):
    tile: int


class Row(tuple[int, ...]):
    pass


class SlottedList(list[int]):
    __slots__ = ("unit",)
    unit: str


class ByItself:
    """Equal to nothing but itself, in sets as often as it is put there."""

    def __init__(self, x: object) -> None:
        self.x = x


def test_nesting_is_never_flattened() -> None:
    assert different(
        {"a": {"b": 1}, "c": 2}, {"a": {"b": 1, "c": 2}}, {"a": {"b": {"c": 2}}},
        [[1], [2]], [[1, 2]], [[1], 2], [[], [1, 2]], [1, 2], [[[1, 2]]], [[1, 2], []],
    )  # fmt: skip


def test_keys_and_values_do_not_change_places() -> None:
    assert different({"a": "b"}, {"b": "a"}, {"a": "a"}, {"b": "b"}, {"a": "b", "b": "a"})
    assert different({1: 2}, {2: 1}, [1, 2], {1, 2}, [(1, 2)])
    assert different({"a": "x", "b": "y"}, {"a": "y", "b": "x"})


def test_containers_of_equal_content_differ_by_kind() -> None:
    assert different(
        [1, 2], (1, 2), {1, 2}, frozenset((1, 2)), deque((1, 2)), {1: None, 2: None},
        OrderedDict({1: None, 2: None}), UserList([1, 2]), iter([1, 2]), Pair(1, 2), Row((1, 2)),
    )  # fmt: skip


def test_dicts_and_sets_do_not_depend_on_order() -> None:
    keys = [f"k{i}" for i in range(50)]
    assert same(dict.fromkeys(keys, 1), dict.fromkeys(reversed(keys), 1))
    assert same(set(keys), {*reversed(keys)})
    assert same(Counter("abca"), Counter("acab"))
    assert same(defaultdict(int, a=1, b=2), defaultdict(int, b=2, a=1))


def test_dicts_with_keys_that_cannot_be_ordered_do_not_depend_on_order() -> None:
    keys: list[Any] = [1, "1", b"1", None, (1,), 1.5, 2j, frozenset((1,)), int, ..., Pair(1)]
    assert same({k: i for i, k in enumerate(keys)}, {k: keys.index(k) for k in reversed(keys)})
    assert same(set(keys), {*reversed(keys)})


def test_dicts_differ_when_two_values_are_exchanged() -> None:
    assert different({1: "a", "1": "b"}, {1: "b", "1": "a"})
    assert different({(1,): "a", (2,): "b"}, {(1,): "b", (2,): "a"})


def test_keys_that_compare_equal_differ_by_type() -> None:
    assert different({1: "x"}, {True: "x"}, {1.0: "x"}, {"1": "x"}, {b"1": "x"})
    assert different({0.0}, {-0.0}, {0}, {False})


def test_ordered_dicts_depend_on_order() -> None:
    assert different(OrderedDict(a=1, b=2), OrderedDict(b=2, a=1), {"a": 1, "b": 2})
    moved = OrderedDict(a=1, b=2)
    moved.move_to_end("a")
    assert same(moved, OrderedDict(b=2, a=1))


def test_an_attribute_of_an_ordered_dict_counts() -> None:
    plain, tiled = OrderedDict(a=1), OrderedDict(a=1)
    tiled.tile = 64  # type: ignore[attr-defined]  # an OrderedDict has a dictionary of its own
    assert different(plain, tiled)


def test_an_attribute_of_an_ordered_dict_subclass_counts() -> None:
    plain, small, large = Config(a=1), Config(a=1), Config(a=1)
    small.tile, large.tile = 32, 64
    assert different(OrderedDict(a=1), plain, small, large)


def test_a_deque_counts_its_length_limit() -> None:
    assert different(deque([1, 2]), deque([1, 2], maxlen=2), deque([1, 2], maxlen=3))
    assert different(deque([1, 2]), deque([2, 1]))
    assert different(deque([None, 1]), deque([1], maxlen=1), deque([1]))


def test_a_default_dict_counts_its_factory() -> None:
    assert different(defaultdict(int), defaultdict(list), defaultdict(None), {})
    assert different(defaultdict(lambda: 1), defaultdict(lambda: 2))


def test_two_equal_members_that_are_two_keys_are_counted_twice() -> None:
    assert different({ByItself(1)}, {ByItself(1), ByItself(1)})
    assert different({ByItself(1): 1}, {ByItself(1): 1, ByItself(1): 1})
    assert same({ByItself(1), ByItself(2)}, {ByItself(2), ByItself(1)})


def test_two_equal_keys_keep_their_own_values() -> None:
    assert different(
        {ByItself(1): "a", ByItself(2): "b"}, {ByItself(1): "b", ByItself(2): "a"},
    )  # fmt: skip


def test_named_tuples_count_their_class() -> None:
    assert different(Pair(1, 2), OtherPair(1, 2), (1, 2), Pair(2, 1))
    assert same(Pair(1), Pair(1, None), Pair(left=1, right=None))


def test_equally_named_named_tuples_differ_by_their_fields() -> None:
    make: Any = collections.namedtuple
    first = make("Point", "x y")
    second = make("Point", "y x")
    assert different(first(1, 2), second(1, 2), (1, 2))


def test_equally_named_named_tuples_differ_by_their_defaults() -> None:
    make: Any = collections.namedtuple
    first = make("Point", "x y", defaults=[1])
    second = make("Point", "x y", defaults=[2])
    assert different(first(1, 2), second(1, 2))


@pytest.mark.parametrize("base", [list, tuple, set, frozenset, dict, deque, OrderedDict, Counter])
def test_a_subclass_of_a_container_counts_class_content_and_attributes(base: type) -> None:
    First, Second = type("First", (base,), {}), type("Second", (base,), {})
    content = {1: 2} if issubclass(base, dict) else (1, 2)
    plain, marked, other, empty = First(content), First(content), Second(content), First()
    marked.unit = "m"
    assert different(base(content), plain, marked, other, empty)
    assert same(plain, First(content))


def test_a_slot_of_a_container_subclass_counts() -> None:
    unset, metres, feet = SlottedList([1]), SlottedList([1]), SlottedList([1])
    metres.unit, feet.unit = "m", "ft"
    assert different([1], unset, metres, feet)


def test_a_default_dict_subclass_counts_factory_content_and_attributes() -> None:
    class Table(defaultdict[str, int]):
        unit: str

    plain, marked = Table(int, a=1), Table(int, a=1)
    marked.unit = "m"
    assert different(plain, marked, Table(int), Table(None, a=1), defaultdict(int, a=1))


@pytest.mark.parametrize("base", [list, tuple, set, frozenset, dict, deque, OrderedDict])
def test_methods_that_a_container_overrides_are_never_called(base: Any) -> None:
    Hostile: Any = type(
        "Hostile",
        (base,),
        calls_of(
            "__iter__", "__len__", "__getitem__", "__contains__", "__eq__", "__hash__", "__repr__",
            "__bool__", "items", "keys", "values", "get", "copy", "__reduce__", "__reduce_ex__",
            "__getattr__", "__missing__", "__reversed__", "index", "count", "__lt__", "__sizeof__",
        ),
    )  # fmt: skip
    content: Any = {1: 2} if issubclass(base, dict) else (1, 2)
    if base in (tuple, frozenset):
        value = base.__new__(Hostile, content)
    else:
        value = base.__new__(Hostile)
        base.__init__(value, content)
    assert different(value, base(content), [value])
    assert different({"k": (value,)}, {"k": (base(content),)})


def test_keys_and_members_are_never_hashed_or_compared() -> None:
    class Key:
        armed = False

        def __init__(self, x: int) -> None:
            self.x = x

        def __hash__(self) -> int:
            assert not Key.armed
            return 1

        def __eq__(self, other: object) -> bool:
            assert not Key.armed
            return False

        def __lt__(self, other: object) -> bool:
            raise AssertionError

    first, second = {Key(1): 1, Key(2): 2}, {Key(2): 2, Key(1): 1}
    members = {Key(1), Key(2)}
    Key.armed = True
    try:
        assert same(first, second)
        assert len(whorl.fingerprint(members)) == 32
    finally:
        Key.armed = False


def test_a_mapping_proxy_counts_what_is_behind_it() -> None:
    assert same(types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 1}))
    assert different(types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 2}), {"a": 1})


def test_a_namespace_counts_its_attributes_in_any_order() -> None:
    assert same(types.SimpleNamespace(a=1, b=2), types.SimpleNamespace(b=2, a=1))
    assert different(types.SimpleNamespace(a=1), types.SimpleNamespace(a=2), {"a": 1})


def test_wrappers_of_containers_count_by_what_they_wrap() -> None:
    assert different(UserDict(a=1), UserDict(a=2), {"a": 1}, ChainMap({"a": 1}))
    assert different(ChainMap({"a": 1}, {"a": 2}), ChainMap({"a": 2}, {"a": 1}))
    assert different(UserList([1]), UserList([2]), [1])


def test_ranges_and_slices_count_start_stop_and_step() -> None:
    assert different(range(3), range(0, 3, 2), range(1, 3), slice(3), slice(0, 3), slice(0, 3, 1))


@pytest.mark.parametrize("size", [0, 1, 62, 63, 64, 65, 125, 126, 127, 128, 129, 300])
def test_containers_of_every_size_differ_by_their_last_element(size: int) -> None:
    listed = list(range(size))
    assert different(listed, [*listed, 0], [*listed, "0"], [[listed]], [*listed, []])
    keyed = {str(i): i for i in range(size)}
    assert different(keyed, {**keyed, "x": 0}, {**keyed, "x": 1}, {"x": keyed})
    members = {str(i) for i in range(size)}
    assert different(members, {*members, "x"}, {*members, ("x",)}, frozenset(members))


def test_a_large_part_is_the_same_alone_and_inside() -> None:
    part = [list(range(200)), {str(i): i for i in range(200)}]
    copied = [list(range(200)), {str(i): i for i in range(200)}]
    assert same([part, part], [part, copied])
    assert same({"x": part, 1: part}, {"x": copied, 1: part})


def test_a_shared_part_and_an_equal_copy_get_one_digest() -> None:
    part = {"a": [1, 2]}
    assert same([part, part], [part, {"a": [1, 2]}])
    assert same((part, (part,)), ({"a": [1, 2]}, ({"a": [1, 2]},)))


def test_a_graph_with_many_paths_is_linear() -> None:
    value: object = ("leaf",)
    other: object = ("Leaf",)
    for _ in range(40):
        value, other = (value, value), (other, other)
    assert different(value, other)


@pytest.mark.parametrize(
    "level",
    [
        "{1: value, 'r': value}",
        "{(1,): value, 'r': value}",
        "frozenset((value, (value,)))",
        "[{1: value, 'r': (value, value)}]",
        "OrderedDict(a=value, b=value)",
        "defaultdict(None, {1: value, 'b': value})",
        "Box({1: value, 'b': Box(value)})",
        "Box(Box(value), value)",
        "deque((value, value))",
        "SimpleNamespace(a=value, b=value)",
        "numpy.array([value, value, None], object)",
    ],
)
def test_a_graph_with_many_paths_is_linear_through_every_container(level: str) -> None:
    program = f"""
import numpy
from collections import OrderedDict, defaultdict, deque
from types import SimpleNamespace
import whorl

class Box:
    def __init__(self, *content): self.content = content

value = "leaf"
for _ in range(40):
    value = {level}
print(len(whorl.fingerprint(value)))
"""
    assert output_of(program, seconds=10) == "32"


def test_depth_does_not_matter() -> None:
    def chain(end: int) -> object:
        value: Any = end
        for i in range(100_000):
            value = [value] if i % 3 else {"next": value}
        return value

    assert different(chain(1), chain(2))
