"""Values that contain themselves: one digest, wherever the walk begins."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from typing import Any

import pytest

import whorl
from tests.fingerprint.comparing import different, output_of, same


@dataclass(eq=False)
class Node:
    name: str = ""
    links: Any = field(default_factory=list)


def ring(names: str) -> list[Node]:
    nodes = [Node(name) for name in names]
    for node, following in zip(nodes, nodes[1:] + nodes[:1], strict=True):
        node.links.append(following)
    return nodes


def test_a_list_in_itself_works_and_differs_from_others() -> None:
    def make(*extra: object) -> list[Any]:
        made: list[Any] = [*extra]
        made.append(made)
        return made

    assert same(make(1), make(1))
    assert different(make(), make(1), make(2), make(1, 1), [1], [[]], [1, [1]])


@pytest.mark.parametrize("kind", ["list", "dict", "mixed dict", "value of set", "object", "tuple"])
def test_every_container_may_be_on_a_cycle(kind: str) -> None:
    def make(x: int) -> object:
        box = Node(str(x))
        box.links = {
            "list": [box], "dict": {"k": box}, "mixed dict": {1: box, "k": 2},
            "value of set": {box}, "object": box, "tuple": (box,),
        }[kind]  # fmt: skip
        return box

    assert same(make(1), make(1))
    assert different(make(1), make(2))


def test_a_cycle_of_indistinguishable_members_is_the_same_at_any_length() -> None:
    assert same(*(ring("a" * length)[0] for length in range(1, 7)))


def test_a_cycle_depends_on_where_one_stands_in_it_and_not_on_where_it_was_built() -> None:
    first, second = ring("abc"), ring("bca")
    assert same(first[0], second[2])
    assert same(first[1], second[0])
    assert different(*first)


def test_a_repeated_pattern_is_the_same_as_the_pattern() -> None:
    assert same(ring("ab")[0], ring("abab")[0], ring("ababab")[2])
    assert different(ring("ab")[0], ring("aab")[0], ring("abb")[0])


def test_a_chain_into_a_cycle_is_the_same_as_the_cycle_it_unfolds_to() -> None:
    inner = ring("ab")
    before = Node("b", [inner[0]])
    assert same(before, inner[1])
    assert different(Node("c", [inner[0]]), inner[1])


def test_mutual_cycles_do_not_depend_on_insertion_order() -> None:
    def make(order: tuple[int, ...]) -> list[Node]:
        nodes = {i: Node("xyz"[i]) for i in order}
        for i in order:
            nodes[i].links = {f"to{j}": nodes[j] for j in order if j != i}
        return [nodes[i] for i in range(3)]

    made = [make(order) for order in itertools.permutations(range(3))]
    for place in range(3):
        assert same(*(nodes[place] for nodes in made))
    assert different(*made[0])


def test_cycles_through_sets_do_not_depend_on_insertion_order() -> None:
    def make(order: list[int]) -> Node:
        nodes = [Node(str(i % 3)) for i in range(6)]
        for i in order:
            nodes[i].links = {nodes[j] for j in order if (j - i) % 6 in (1, 2, 5)}
        return nodes[0]

    rng = random.Random(1)
    orders = [rng.sample(range(6), 6) for _ in range(10)]
    assert same(*(make(order) for order in orders))


def test_a_back_pointer_to_another_parent_is_noticed() -> None:
    def tree(swap: bool) -> Node:
        left, right = Node("left"), Node("right")
        children = [Node("child"), Node("child")]
        left.links, right.links = [children[0]], [children[1]]
        children[0].links, children[1].links = [right if swap else left], [left if swap else right]
        return Node("root", [left, right])

    assert different(tree(False), tree(True))


def test_a_number_of_equal_members_on_a_cycle_counts() -> None:
    def make(count: int) -> Node:
        hub = Node("hub")
        hub.links = {Node("leaf", [hub]) for _ in range(count)}
        return hub

    assert same(make(3), make(3))
    assert different(make(1), make(2), make(3))


def test_a_shared_cycle_and_two_copies_of_it_are_the_same() -> None:
    one = ring("abc")[0]
    assert same([one, one], [ring("abc")[0], ring("abc")[0]], [one, ring("abc")[0]])


def test_two_cycles_that_share_a_member_work() -> None:
    def make(name: str) -> Node:
        middle = Node("middle")
        middle.links = [Node("left", [middle]), Node(name, [middle])]
        return middle

    assert same(make("right"), make("right"))
    assert different(make("right"), make("left"))


def test_a_cycle_beside_a_graph_of_many_paths_is_quick() -> None:
    program = """
import whorl
def make(name):
    loop = [name]
    loop.append(loop)
    value = (loop,)
    for i in range(60):
        value = [value, value, {"k": value}]
    loop.append(value)
    return [value, loop]
print(whorl.fingerprint(make("a")) == whorl.fingerprint(make("a")) != whorl.fingerprint(make("b")))
"""
    assert output_of(program, seconds=300) == "True"


def test_a_long_cycle_is_quick() -> None:
    program = """
import whorl
def ring(n, odd):
    cells = [[i == odd] for i in range(n)]
    for i, cell in enumerate(cells):
        cell.append(cells[(i + 1) % n])
    return cells[0]
assert whorl.fingerprint(ring(20000, 5)) == whorl.fingerprint(ring(20000, 5))
print(whorl.fingerprint(ring(20000, 5)) != whorl.fingerprint(ring(20000, 6)))
"""
    assert output_of(program, seconds=300) == "True"


def test_a_doubly_linked_list_of_100_000_works() -> None:
    program = """
import whorl
class Link: __slots__ = ("x", "before", "after")
def chain(n, last):
    first = here = Link(); here.x = 0; here.before = None
    for i in range(1, n):
        there = Link(); there.x = i; there.before = here; here.after = there; here = there
    here.after = None
    here.x = last
    return first
print(whorl.fingerprint(chain(100000, 1)) != whorl.fingerprint(chain(100000, 2)))
"""
    assert output_of(program, seconds=300) == "True"


def test_a_changed_member_anywhere_on_a_cycle_changes_every_digest() -> None:
    for place in range(5):
        nodes, changed = ring("abcde"), ring("abcde")
        changed[place].name = "x"
        for a, b in zip(nodes, changed, strict=True):
            assert whorl.fingerprint(a) != whorl.fingerprint(b)


def test_differences_of_two_cycles_are_found_once() -> None:
    first, second = ring("abc"), ring("abd")
    found = whorl.diff(first[0], second[0])
    assert [d.path for d in found] == ["value.links[0].links[0].name"]
