"""A seed and a size in, a value to fingerprint out: trees, chains, DAGs, cycles, configs, arrays.

The classes live here and not in the script that runs, because serializers treat classes of
`__main__` differently from importable ones, and that difference is not what is measured.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]

# -- Trees of slotted dataclass nodes ----------------------------------------------------------

KINDS = ("module", "function", "loop", "assign", "call", "name", "constant", "return")


@dataclass(slots=True)
class Node:
    """One class for every node: a kind, a number and children."""

    kind: str
    value: int
    children: list[Node]


def uniform_tree(count: int = 2_400, branching: int = 3) -> Node:
    """`count` nodes of one class, every inner node with `branching` children."""
    nodes = [Node(KINDS[i % len(KINDS)], i, []) for i in range(count)]
    for i in range(1, count):
        nodes[(i - 1) // branching].children.append(nodes[i])
    return nodes[0]


@dataclass(slots=True)
class Loc:
    line: int
    column: int


@dataclass(slots=True)
class Name:
    id: str
    loc: Loc


@dataclass(slots=True)
class Const:
    value: int | float
    dtype: str


@dataclass(slots=True)
class BinOp:
    op: str
    left: Expr
    right: Expr


@dataclass(slots=True)
class Call:
    func: Name
    args: tuple[Expr, ...]
    loc: Loc


@dataclass(slots=True)
class Assign:
    target: Name
    value: Expr


@dataclass(slots=True)
class Block:
    stmts: list[Assign | Block]


Expr: TypeAlias = BinOp | Name | Const | Call


def syntax_tree(count: int = 2_400, seed: int = 7) -> Block:
    """At least `count` nodes of seven classes: blocks of assignments of nested expressions."""
    rng = random.Random(seed)
    made = 0

    def loc() -> Loc:
        nonlocal made
        made += 1
        return Loc(rng.randrange(1, 900), rng.randrange(0, 90))

    def name() -> Name:
        nonlocal made
        made += 1
        return Name(f"v{rng.randrange(60)}", loc())

    def expr(depth: int) -> Expr:
        nonlocal made
        made += 1
        pick = rng.random() if depth else rng.random() * 0.4
        if pick < 0.2:
            return Const(rng.randrange(1_000), "int64")
        if pick < 0.4:
            made -= 1
            return name()
        if pick < 0.8:
            return BinOp(rng.choice("+-*/"), expr(depth - 1), expr(depth - 1))
        return Call(name(), tuple(expr(depth - 1) for _ in range(rng.randrange(1, 4))), loc())

    root = Block([])
    made = 1
    block = root
    while made < count:
        if rng.random() < 0.15:
            block = Block([])
            root.stmts.append(block)
            made += 1
        block.stmts.append(Assign(name(), expr(4)))
        made += 1
    return root


class Opcode(Enum):
    LOAD = "load"
    STORE = "store"
    ADD = "add"
    MULTIPLY = "multiply"
    LOOP = "loop"
    CALL = "call"


@dataclass(slots=True, frozen=True)
class TensorType:
    dtype: str
    shape: tuple[int, ...]


@dataclass(slots=True)
class Operation:
    """An operation with an enum, an attribute dictionary, a shared type and nested regions."""

    opcode: Opcode
    type: TensorType
    attributes: dict[str, int | str | bool]
    operands: tuple[Operation, ...]
    body: list[Operation] = field(default_factory=list)


def operation_tree(count: int = 2_400, seed: int = 11) -> Operation:
    """`count` operations in nested loops; the few tensor types are shared objects."""
    rng = random.Random(seed)
    types = [TensorType(d, s) for d in ("float32", "int64") for s in ((8,), (8, 16), (4, 4, 4))]
    opcodes = [op for op in Opcode if op is not Opcode.LOOP]
    left = count - 1

    def operation(depth: int) -> Operation:
        nonlocal left
        loop = depth > 0 and rng.random() < 0.3
        attributes: dict[str, int | str | bool] = {"align": rng.choice((4, 8, 16)), "nsw": True}
        if loop:
            attributes["bound"] = rng.randrange(4, 512)
        made = Operation(
            Opcode.LOOP if loop else rng.choice(opcodes), rng.choice(types), attributes, ()
        )
        operands = []
        for _ in range(rng.randrange(3) if depth else 0):
            if left > 0:
                left -= 1
                operands.append(operation(depth - 1))
        made.operands = tuple(operands)
        while loop and left > 0 and rng.random() < 0.8:
            left -= 1
            made.body.append(operation(depth - 1))
        return made

    root = Operation(Opcode.CALL, types[0], {"entry": True}, ())
    while left > 0:
        left -= 1
        root.body.append(operation(5))
    return root


def count_nodes(value: object) -> int:
    """The number of dataclass instances reachable from `value`, each counted once."""
    seen: set[int] = set()
    work = [value]
    count = 0
    while work:
        current = work.pop()
        if id(current) in seen:
            continue
        if is_dataclass(current):
            seen.add(id(current))
            count += 1
            work.extend(getattr(current, f.name) for f in fields(current))
        elif isinstance(current, list | tuple):
            work.extend(current)
    return count


# -- Chains and DAGs ---------------------------------------------------------------------------


@dataclass(slots=True)
class Link:
    value: int
    rest: Link | None


def chain(depth: int) -> Link:
    """`depth` nodes, each holding the next."""
    head = Link(0, None)
    for i in range(1, depth):
        head = Link(i, head)
    return head


@dataclass(slots=True)
class Pair:
    left: Pair | list[object]
    right: Pair | list[object]


def list_dag(levels: int) -> list[object]:
    """`levels` + 1 lists with 2**levels paths from the top to the bottom."""
    top: list[object] = ["bottom"]
    for _ in range(levels):
        top = [top, top]
    return top


def dataclass_dag(levels: int, bottom: list[object] | None = None) -> Pair:
    """`levels` dataclass instances with 2**levels paths from the top to `bottom`."""
    under: list[object] = ["bottom"] if bottom is None else bottom
    top = Pair(under, under)
    for _ in range(levels - 1):
        top = Pair(top, top)
    return top


def dag_beside_cycle(levels: int) -> list[object]:
    """A DAG, and next to it a list that holds itself."""
    loop: list[object] = ["loop"]
    loop.append(loop)
    return [loop, dataclass_dag(levels), loop]


def dag_in_cycle(levels: int) -> Pair:
    """A DAG whose bottom points back to its top: one strongly connected component."""
    bottom: list[object] = ["bottom"]
    top = dataclass_dag(levels, bottom)
    bottom.append(top)
    return top


# -- Cycles ------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class RingNode:
    label: str
    succ: RingNode | None = None


def ring(count: int) -> RingNode:
    """`count` nodes nothing tells apart, each pointing to the next, the last to the first."""
    nodes = [RingNode("node") for _ in range(count)]
    for i, node in enumerate(nodes):
        node.succ = nodes[(i + 1) % count]
    return nodes[0]


@dataclass(slots=True, eq=False)
class Twin:
    label: str
    prev: Twin | None = None
    succ: Twin | None = None


def doubly_linked(count: int) -> Twin:
    """`count` nodes of equal content; only the distance to the two ends tells them apart."""
    nodes = [Twin("node") for _ in range(count)]
    for before, after in pairwise(nodes):
        before.succ, after.prev = after, before
    return nodes[0]


@dataclass(slots=True, eq=False)
class Child:
    label: str
    parent: Child | None = None
    children: list[Child] = field(default_factory=list)


def parent_pointer_tree(count: int, branching: int = 3) -> Child:
    """A tree of `count` nodes that know their parents."""
    nodes = [Child(KINDS[i % len(KINDS)]) for i in range(count)]
    for i in range(1, count):
        parent = nodes[(i - 1) // branching]
        parent.children.append(nodes[i])
        nodes[i].parent = parent
    return nodes[0]


# -- Configurations ----------------------------------------------------------------------------


def _leaves(rng: random.Random) -> Iterator[Any]:
    while True:
        yield rng.randrange(1_000_000)
        yield rng.random()
        yield f"/data/run-{rng.randrange(10_000)}/part-{rng.randrange(100)}"
        yield rng.random() < 0.5
        yield [rng.randrange(100), rng.randrange(100)]


def _as_loaded(config: dict[str, Any]) -> dict[str, Any]:
    """`config` as a JSON reader gives it: one object per distinct key, fresh values."""
    loaded: dict[str, Any] = json.loads(json.dumps(config))
    return loaded


def flat_config(sections: int = 100, entries: int = 100, seed: int = 3) -> dict[str, Any]:
    """`sections` dictionaries of `entries` leaves each (a list of two numbers is one leaf)."""
    leaf = _leaves(random.Random(seed))
    return _as_loaded(
        {f"section_{s}": {f"key_{e}": next(leaf) for e in range(entries)} for s in range(sections)}
    )


def deep_config(levels: int = 4, width: int = 10, seed: int = 5) -> dict[str, Any]:
    """Dictionaries `levels` deep, `width` keys each: width**levels leaves."""
    leaf = _leaves(random.Random(seed))

    def level(depth: int) -> dict[str, Any]:
        return {f"k{depth}_{i}": level(depth - 1) if depth else next(leaf) for i in range(width)}

    return _as_loaded(level(levels - 1))


# -- Arrays ------------------------------------------------------------------------------------


def contiguous_array(rows: int = 5_000, columns: int = 2_500) -> Array:
    """float64 in C order; 100 MB by default."""
    return np.random.default_rng(1).random((rows, columns))


def fortran_array(rows: int = 5_000, columns: int = 2_500) -> Array:
    """The same content in Fortran order."""
    return np.asfortranarray(contiguous_array(rows, columns))


def strided_array(rows: int = 5_000, columns: int = 2_500) -> Array:
    """Every second column of an array twice as wide."""
    wide: Array = np.random.default_rng(1).random((rows, 2 * columns))
    return wide[:, ::2]


# -- Small values ------------------------------------------------------------------------------


@dataclass(slots=True)
class Options:
    target: str
    level: int
    fast_math: bool
    tolerance: float
    tags: tuple[str, ...]


def options() -> Options:
    """A dataclass of five fields."""
    return Options("x86-64-v3", 3, False, 1e-6, ("debug", "host"))


def small_dict() -> dict[str, int | str | float]:
    """A dictionary of ten keys."""
    names = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")
    return {name: (i, f"value {i}", i / 7)[i % 3] for i, name in enumerate(names)}
