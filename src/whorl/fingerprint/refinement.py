"""A labelled graph in, its coarsest partition into indistinguishable nodes out.

Two nodes belong together when they have the same colour and, for every label, the same
number of edges into every block. This is partition refinement after Hopcroft: every block
is a splitter once, and when a block falls apart all its pieces but the largest are
splitters again, so that each edge is visited O(log n) times.

Block numbers are handed out by colours, labels and sizes alone, never by the order of the
nodes. On a graph in which no two nodes are alike the numbering is therefore canonical: two
isomorphic graphs get the same one.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

__all__ = ["Edges", "refine"]

Edges = Sequence[Sequence[tuple[int, int]]]
"""For each node its (label, target) pairs."""


def refine(colours: Sequence[bytes], edges: Edges) -> list[int]:
    """The block number of each node in the coarsest stable partition.

    >>> refine([b"a", b"a", b"a"], [[(0, 1)], [(0, 2)], [(0, 0)]])     # a ring of equal nodes
    [0, 0, 0]
    >>> refine([b"a", b"a", b"b"], [[(0, 1)], [(0, 2)], [(0, 0)]])     # one of them is different
    [2, 0, 1]
    """
    sources: list[list[tuple[int, int]]] = [[] for _ in colours]
    for node, pairs in enumerate(edges):
        for label, target in pairs:
            sources[target].append((label, node))

    names = {colour: number for number, colour in enumerate(sorted(set(colours)))}
    block_of = [names[colour] for colour in colours]
    blocks: list[set[int]] = [set() for _ in names]
    for node, block in enumerate(block_of):
        blocks[block].add(node)

    splitters = deque(range(len(blocks)))
    while splitters:
        labels_into = defaultdict(list)
        for node in blocks[splitters.popleft()]:
            for label, source in sources[node]:
                labels_into[source].append(label)
        touched = defaultdict(list)
        for source in labels_into:
            touched[block_of[source]].append(source)
        for block in sorted(touched):
            pieces = _pieces(blocks[block], touched[block], labels_into)
            if len(pieces) == 1:
                continue
            largest = max(range(len(pieces)), key=lambda i: (len(pieces[i]), -i))
            blocks[block] = pieces.pop(largest)
            for piece in pieces:
                splitters.append(len(blocks))
                for node in piece:
                    block_of[node] = len(blocks)
                blocks.append(piece)
    return block_of


def _pieces(
    block: set[int], touched: list[int], labels_into: dict[int, list[int]]
) -> list[set[int]]:
    """The block's nodes grouped by their labelled edges into the splitter, in canonical order.

    The nodes without such an edge stay in the block itself, so that splitting costs only as
    much as was touched.
    """
    groups = defaultdict(set)
    for node in touched:
        groups[tuple(sorted(labels_into[node]))].add(node)
    pieces = [groups[labels] for labels in sorted(groups)]
    if len(touched) == len(block):
        return pieces
    block.difference_update(touched)
    return [block, *pieces]
