"""Refinement finds the coarsest stable partition, and numbers it by nothing but the graph."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from whorl.fingerprint.refinement import refine

Edges = list[list[tuple[int, int]]]


def fixpoint(colours: Sequence[bytes], edges: Edges) -> list[int]:
    """The same partition by the definition: split by what is seen until nothing changes."""
    blocks = [sorted(set(colours)).index(colour) for colour in colours]
    while True:
        seen = [
            (blocks[node], sorted((label, blocks[target]) for label, target in pairs))
            for node, pairs in enumerate(edges)
        ]
        kinds = sorted({repr(what) for what in seen})
        finer = [kinds.index(repr(what)) for what in seen]
        if len(set(finer)) == len(set(blocks)):
            return finer
        blocks = finer


def partition(blocks: Sequence[int]) -> set[frozenset[int]]:
    return {
        frozenset(node for node, other in enumerate(blocks) if other == block) for block in blocks
    }


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[bytes], Edges]:
    """Few colours and labels, many edges alike: most of the work is to tell nodes apart."""
    count = draw(st.integers(1, 12))
    colours = draw(st.lists(st.sampled_from([b"a", b"b"]), min_size=count, max_size=count))
    if draw(st.booleans()):
        colours = [b"a"] * count
    nodes = st.integers(0, count - 1)
    pairs = st.lists(st.tuples(st.sampled_from([-1, 0, 1]), nodes), max_size=4)
    return colours, draw(st.lists(pairs, min_size=count, max_size=count))


def quotient(colours: list[bytes], edges: Edges) -> tuple[list[bytes], Edges]:
    """The graph with one node for each block, in which no two nodes are alike."""
    blocks = fixpoint(colours, edges)
    chosen = {block: node for node, block in enumerate(blocks)}
    place = {block: i for i, block in enumerate(chosen)}
    return (
        [colours[node] for node in chosen.values()],
        [
            [(label, place[blocks[target]]) for label, target in edges[node]]
            for node in chosen.values()
        ],
    )


@given(graphs())
def test_nodes_share_a_block_exactly_when_the_definition_says_so(
    graph: tuple[list[bytes], Edges],
) -> None:
    assert partition(refine(*graph)) == partition(fixpoint(*graph))


@given(graphs())
def test_block_numbers_have_no_gaps(graph: tuple[list[bytes], Edges]) -> None:
    blocks = refine(*graph)
    assert set(blocks) == set(range(len(set(blocks))))


@given(graphs(), st.data())
def test_the_numbers_of_a_minimal_graph_do_not_depend_on_the_order_of_its_nodes(
    graph: tuple[list[bytes], Edges], data: st.DataObject
) -> None:
    colours, edges = quotient(*graph)
    count = len(colours)
    old_of_new = data.draw(st.permutations(range(count)))
    new_of_old = {old: new for new, old in enumerate(old_of_new)}
    moved_edges = [
        data.draw(st.permutations([(label, new_of_old[target]) for label, target in edges[old]]))
        for old in old_of_new
    ]
    blocks = refine(colours, edges)
    moved = refine([colours[old] for old in old_of_new], moved_edges)
    assert len(set(blocks)) == count
    assert [moved[new_of_old[old]] for old in range(count)] == blocks


@given(graphs())
def test_an_edge_that_is_there_twice_is_not_the_same_as_once(
    graph: tuple[list[bytes], Edges],
) -> None:
    colours, edges = graph
    count = len(colours)
    doubled = [[(label, target + count) for label, target in pairs] for pairs in edges]
    doubled[0] = doubled[0] + doubled[0][:1]
    blocks = refine(colours * 2, edges + doubled)
    expected = fixpoint(colours * 2, edges + doubled)
    assert partition(blocks) == partition(expected)
