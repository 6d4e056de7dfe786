"""The tokens of every object in a value: the plain walk, for any depth and any cycle.

This is the twin of the native walk (`native_walk/token_walk`): slower, written to be read. It
walks with a list instead of the call stack, so depth does not matter, and it knows what to do
with cycles. On values that both can handle, both yield the same tokens.

Three steps. First every reachable object is described once (`Node` by `Node`), its leaves
written down and a hole left for each child. Then the strongly connected components are
found, children before parents (Tarjan). Last, component by component, the holes are filled.

A component that is a cycle has no innermost object to begin with. Its members are
distinguished by partition refinement: two of them are the same when nothing reachable
distinguishes them. The remaining classes are numbered canonically, written with these numbers
in the place of the holes, and each class gets the digest of that text and its number. The
result does not depend on where the walk began, on the order of dictionaries and sets, or
on whether two equal parts are one shared object or two copies. For the same reason an
object that leads into a cycle and is like a member of it (`x = [a]` where `a = [a]`)
is given that member's digest: see `_Cycles.known` and `_Cycles._joined`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, cast

from whorl.fast_dataclasses import NamedTuple

from .digest import hash_bytes
from .refinement import refine
from .refusal import Refused
from .static_lookup import derives
from .tokens import (
    CHUNK,
    Chunker,
    Node,
    bytes_tokens,
    is_flat,
    is_leaf,
    item_token,
    marshalled,
)

__all__ = ["Graph"]

Describe = Callable[[object], Node]

_UNORDERED: Final = -1
_TOKENS: Final = b"tokens"  # marks a root that has no node of its own
_BLANK: Final = (b"?",)  # a token that no value has: what is flat has leaves only


class _Hole(NamedTuple):
    """The place of a child in its parent's tokens."""

    child: int


class _Record:
    """One object with its leaves written down and its children as holes."""

    __slots__ = ("holes", "is_item", "items", "members", "tokens")

    def __init__(self, is_item: bool) -> None:
        self.tokens: list[object] = []
        self.holes: list[int] = []  # children in order
        self.items: list[bytes] | None = None  # finished members of an unordered container
        self.members: list[int] = []  # members that have holes of their own
        self.is_item = is_item


class Graph:
    """Every object reachable from a value, each with its tokens.

    `describe` turns an object into a node. If it refuses, `blame(path, value, refusal)` is
    raised in its place.
    """

    def __init__(
        self,
        root: object,
        describe: Describe,
        blame: Callable[[str, object, Refused], Exception],
    ) -> None:
        self._describe = describe
        self._blame = blame
        self._records: list[_Record] = []
        self._found_by: list[tuple[int, str]] = []
        self._numbers: dict[int, int] = {}
        self._nodes: dict[int, Node] = {}
        self._kept: list[object] = [root]  # what is known by its address must stay alive
        self._chunk = Chunker()
        self._pending: list[tuple[object, int]] = []
        self._tokens: list[list[object]] = []
        self._explore(root)
        self._fill()
        self.tokens = self._tokens[0]

    def tokens_of(self, value: object) -> Sequence[object]:
        """The tokens of an object that was reached."""
        return self._tokens[self._numbers[id(value)]]

    def node_of(self, value: object) -> Node:
        """The node of an object that was reached."""
        return self._nodes[self._numbers[id(value)]]

    def reached(self, cls: type) -> list[object]:
        """Every object of exactly this class that was reached."""
        return [value for value in self._kept if type(value) is cls]

    def derived(self, cls: type) -> list[object]:
        """Every object of this class, or of one that is derived from it, that was reached."""
        return [value for value in self._kept if derives(type(value), cls)]

    # -- step 1: describe -------------------------------------------------------------

    def _explore(self, root: object) -> None:
        self._pending.append((root, self._number(root, -1, "")))
        while self._pending:
            value, number = self._pending.pop()
            try:
                node = value if type(value) is Node else self._node(value)
            except Refused as refusal:
                raise self._blame(self.path(number), value, refusal) from refusal.__cause__
            self._nodes[number] = node
            self._record(node, number)

    def _node(self, value: object) -> Node:
        kind = type(value)
        if is_leaf(kind):
            return Node(_TOKENS, (value,))
        if kind is bytes:
            return Node(_TOKENS, bytes_tokens(cast("bytes", value)))
        if (kind is list or kind is tuple) and is_flat(cast("list[object]", value)):
            return Node(_TOKENS, (value,))
        return self._describe(value)

    def _number(self, value: object, parent: int, label: str) -> int:
        """A new number for an object; items of unordered containers come without an object."""
        number = len(self._records)
        self._records.append(_Record(is_item=value is None))
        self._found_by.append((parent, label))
        if value is not None:
            self._numbers[id(value)] = number
        return number

    def _record(self, node: Node, number: int) -> None:
        record = self._records[number]
        if node.tag is _TOKENS:
            record.tokens = [*node.values]
            return
        record.tokens += node.head()
        for i, child in enumerate(node.values):
            self._place(child, record, number, node, i)
        if node.items is not None:
            record.items = []
            record.tokens.append(len(node.items))
            for i, item in enumerate(node.items, start=len(node.values)):
                inner_number = self._number(None, number, node.label(i))
                inner = self._records[inner_number]
                for child in item:
                    self._place(child, inner, inner_number, None, 0)
                if inner.holes:
                    record.members.append(inner_number)
                else:
                    record.items.append(item_token(inner.tokens))

    def _place(
        self, child: object, record: _Record, parent: int, node: Node | None, i: int
    ) -> None:
        """Write a child down: as its tokens if it is a leaf, as a hole otherwise."""
        kind = type(child)
        if is_leaf(kind):
            record.tokens.append(child)
        elif kind is bytes:
            record.tokens += bytes_tokens(cast("bytes", child))
        elif (kind is list or kind is tuple) and is_flat(cast("list[object]", child)):
            record.tokens.append(child)
        else:
            number = self._numbers.get(id(child))
            if number is None:
                self._kept.append(child)
                number = self._number(child, parent, "" if node is None else node.label(i))
                self._pending.append((child, number))
            record.holes.append(number)
            record.tokens.append(_Hole(number))

    def path(self, number: int) -> str:
        """How to reach an object from the value, as Python would write it."""
        labels: list[str] = []
        while number >= 0:
            number, label = self._found_by[number]
            labels.append(label)
        return "value" + "".join(reversed(labels))

    def path_to(self, value: object) -> list[tuple[Node, str]]:
        """The nodes on the path from the root to an object, each with the label of the next."""
        path: list[tuple[Node, str]] = []
        number, label = self._found_by[self._numbers[id(value)]]
        while number >= 0:
            node = self._nodes.get(number)
            if node is not None:
                path.append((node, label))
            number, label = self._found_by[number]
        return path[::-1]

    # -- step 2: components, children first -------------------------------------------

    def _components(self) -> list[list[int]]:
        count = len(self._records)
        order, low = [0] * count, [0] * count
        on_stack = bytearray(count)
        stack: list[int] = []
        components: list[list[int]] = []
        clock = 0
        for root in range(count):
            if order[root]:
                continue
            walk = [(root, iter(self._children(root)))]
            clock += 1
            order[root] = low[root] = clock
            stack.append(root)
            on_stack[root] = 1
            while walk:
                number, children = walk[-1]
                for child in children:
                    if not order[child]:
                        clock += 1
                        order[child] = low[child] = clock
                        stack.append(child)
                        on_stack[child] = 1
                        walk.append((child, iter(self._children(child))))
                        break
                    if on_stack[child]:
                        low[number] = min(low[number], order[child])
                else:
                    walk.pop()
                    if walk:
                        parent = walk[-1][0]
                        low[parent] = min(low[parent], low[number])
                    if low[number] == order[number]:
                        component: list[int] = []
                        while not component or component[-1] != number:
                            component.append(stack.pop())
                            on_stack[component[-1]] = 0
                        components.append(component)
        return components

    def _children(self, number: int) -> list[int]:
        record = self._records[number]
        return record.holes + record.members if record.members else record.holes

    # -- step 3: fill the holes -------------------------------------------------------

    def _fill(self) -> None:
        self._tokens = [[] for _ in self._records]
        cycles = _Cycles()
        for component in self._components():
            number = component[0]
            if len(component) == 1 and number not in self._children(number):
                self._tokens[number] = self._filled(number, cycles)
            else:
                self._fill_cycle(component, cycles)

    def _filled(self, number: int, cycles: _Cycles) -> list[object]:
        record = self._records[number]
        tokens = self._with_children(record)
        known = cycles.known(tokens)
        if known is not None:
            return known
        if len(tokens) >= CHUNK and not record.is_item:
            return [*self._chunk(tokens)]
        return tokens

    def _with_children(self, record: _Record) -> list[object]:
        tokens: list[object] = []
        for token in record.tokens:
            if type(token) is _Hole:
                tokens += self._tokens[token.child]
            else:
                tokens.append(token)
        if record.items is not None:
            members = [item_token(self._tokens[member]) for member in record.members]
            tokens += sorted(record.items + members)
        return tokens

    def _fill_cycle(self, component: list[int], cycles: _Cycles) -> None:
        inside = set(component)
        members = []
        for number in component:
            record = self._records[number]
            pattern: list[object] = []
            for token in record.tokens:
                if type(token) is _Hole and token.child not in inside:
                    pattern += self._tokens[token.child]
                else:
                    pattern.append(token)
            items = list(record.items or ())
            unordered: list[int | bytes] = []
            for member in record.members:
                tokens = self._tokens[member]
                if member in inside:
                    unordered.append(member)
                elif tokens[0] == b"@" and len(tokens) == 2:
                    unordered.append(cast("bytes", tokens[1]))
                else:
                    items.append(item_token(tokens))
            members.append(_CycleMember(number, pattern, items, unordered))
        for number, digest in cycles.digests(members).items():
            self._tokens[number] = [b"@", digest]


class _CycleMember(NamedTuple):
    """An object on a cycle: its tokens with holes only for members of the same cycle.

    Of an unordered container, `items` are the finished ones, `unordered` those on a cycle:
    this one, by number, or an earlier one, by digest.
    """

    number: int
    pattern: Sequence[object]
    items: Sequence[bytes]
    unordered: Sequence[int | bytes]


class _Cycles:
    """The cycles met so far, by the digests of their classes.

    A class is kept as a member whose children on the cycle are written by their digests.
    """

    def __init__(self) -> None:
        self._cycles: list[dict[bytes, _CycleMember]] = []
        self._cycle_of: dict[bytes, int] = {}
        self._by_tokens: dict[bytes, bytes] = {}

    def known(self, tokens: list[object]) -> list[object] | None:
        """The tokens of a member of a cycle that is exactly like this."""
        if not self._cycles:
            return None
        digest = self._by_tokens.get(hash_bytes(marshalled(tokens)))
        return None if digest is None else [b"@", digest]

    def digests(self, members: list[_CycleMember]) -> dict[int, bytes]:
        """The digest of each member of a new cycle, by its number."""
        for cycle in sorted(self._touched(members)):
            joined = self._joined(members, cycle)
            if joined is not None:
                return joined
        return self._new(members)

    def _touched(self, members: list[_CycleMember]) -> set[int]:
        """The earlier cycles to which the members lead at once."""
        digests: list[object] = []
        for member in members:
            digests += member.unordered
            digests += (
                digest
                for tag, digest in zip(member.pattern, member.pattern[1:], strict=False)
                if type(tag) is bytes and tag == b"@"
            )
        return {
            self._cycle_of[digest]
            for digest in digests
            if type(digest) is bytes and digest in self._cycle_of
        }

    def _joined(self, members: list[_CycleMember], cycle: int) -> dict[int, bytes] | None:
        """The members' digests if they are the same as members of the cycle they lead into.

        All of them or none: each is reachable from each, and what is the same stays the same
        along every path.
        """
        classes = self._cycles[cycle]
        names = {digest: i for i, digest in enumerate(classes)}
        numbers = {member.number: i for i, member in enumerate(members, start=len(classes))}
        seen = [_seen(known, names, {}) for known in classes.values()]
        seen += [_seen(member, names, numbers) for member in members]
        blocks = refine([colour for colour, _ in seen], [edges for _, edges in seen])
        owner = {blocks[i]: digest for i, digest in enumerate(classes)}
        if blocks[len(classes)] not in owner:
            return None
        return {m.number: owner[blocks[len(classes) + i]] for i, m in enumerate(members)}

    def _new(self, members: list[_CycleMember]) -> dict[int, bytes]:
        numbers = {member.number: i for i, member in enumerate(members)}
        seen = [_seen(member, {}, numbers) for member in members]
        blocks = refine([colour for colour, _ in seen], [edges for _, edges in seen])

        # One of each class is enough, and no two are alike: the numbering is canonical.
        chosen = {block: i for i, block in enumerate(blocks)}
        place = {block: i for i, block in enumerate(chosen)}
        colours = [seen[i][0] for i in chosen.values()]
        edges = [
            [(label, place[blocks[target]]) for label, target in seen[i][1]]
            for i in chosen.values()
        ]
        names = refine(colours, edges)
        text = sorted(
            (names[i], colour, sorted((label, names[t]) for label, t in edges[i]))
            for i, colour in enumerate(colours)
        )
        whole = hash_bytes(marshalled(text))
        digest_of = {
            block: hash_bytes(whole + names[i].to_bytes(8, "little")) for block, i in place.items()
        }
        result = {member.number: digest_of[blocks[i]] for i, member in enumerate(members)}
        self._cycles.append({})
        for i in chosen.values():
            self._remember(members[i], result)
        return result

    def _remember(self, member: _CycleMember, digest_of: dict[int, bytes]) -> None:
        tokens: list[object] = []
        for token in member.pattern:
            if type(token) is _Hole:
                tokens += (b"@", digest_of[token.child])
            else:
                tokens.append(token)
        unordered = [digest_of[m] if type(m) is int else cast("bytes", m) for m in member.unordered]
        digest = digest_of[member.number]
        self._cycles[-1][digest] = _CycleMember(member.number, tokens, member.items, unordered)
        self._cycle_of[digest] = len(self._cycles) - 1
        finished = [*member.items, *(item_token([b"@", inner]) for inner in unordered)]
        self._by_tokens[hash_bytes(marshalled(tokens + sorted(finished)))] = digest


def _seen(
    member: _CycleMember, names: dict[bytes, int], numbers: dict[int, int]
) -> tuple[bytes, list[tuple[int, int]]]:
    """A member as refinement sees it: a colour without children, and edges to the children.

    `names` are the classes of an earlier cycle by digest, `numbers` the members of this one.
    """
    blanked: list[object] = []
    edges: list[tuple[int, int]] = []
    pattern = member.pattern
    i = 0
    while i < len(pattern):
        token = pattern[i]
        target = None
        if type(token) is _Hole:
            target = numbers[token.child]
        elif type(token) is bytes and token == b"@":
            target = names.get(cast("bytes", pattern[i + 1])) if i + 1 < len(pattern) else None
            i += target is not None
        if target is None:
            blanked.append(token)
        else:
            edges.append((len(edges), target))
            blanked.append(_BLANK)
        i += 1
    finished = list(member.items)
    for inner in member.unordered:
        target = numbers[inner] if type(inner) is int else names.get(cast("bytes", inner))
        if target is None:
            finished.append(item_token([b"@", inner]))
        else:
            edges.append((_UNORDERED, target))
    return hash_bytes(marshalled((blanked, sorted(finished)))), edges
