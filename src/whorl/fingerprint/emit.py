"""A value in, its tokens out, fast: functions that write tokens, generated once per class.

An emitter is a function `emit(value, out, run)` that appends the tokens of a value to
`out`. Builtin containers have theirs written out below; a class that keeps its state in
slots or in an instance dictionary gets one generated as straight-line code, with hints
from the first instance about which fields hold leaves and which hold lists. Hints steer
only the order of tests; the tokens are those of `describe` and `graph`, the plain twin
that the property tests compare with.

There are two tables of emitters. The quick ones remember nothing: in a tree nothing is
met twice, and looking would cost as much as the rest. They count what they collapse, and
when that exceeds BUDGET, or the walk gets too deep, the value is walked again:

    quick    0.37 us per node of a tree of slotted dataclasses (pickle + xxh3: 1.2)
    memo     remembers objects by identity: linear where a tree of all paths would not be
    graph    any depth, cycles, and the path of what is refused

Measured by `bench/fingerprint.py`.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable
from itertools import chain
from keyword import iskeyword
from math import inf
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeGuard, cast

from .describe import WRAPPERS, Describer, shape_tag
from .digest import hash_bytes
from .layout import Layout, Name, state_of
from .lookup import ABSENT, find, type_name
from .names import known_by_name
from .rules.builtin import keys_tag, sortable, split_keys
from .tokens import CHUNK, FLAT, LEAVES, Node, bytes_tokens, dumps, item_token

__all__ = ["Emitters", "Overrun"]

Emit = Callable[[Any, list[object], "Run"], None]

BUDGET: Final = 1 << 16  # tokens collapsed before the quick walk gives up
MEMO_FROM: Final = 24  # tokens from which on an object is worth remembering
CLASSES_KEPT: Final = 5_000
FILENAME: Final = "<whorl emitter of"
SHAPES_KEPT: Final = 1024
KEYS_KEPT: Final = 256


_COSTLY: Final = frozenset((b"#", b"M", b"S*", b"Z*"))


class Overrun(Exception):
    """The quick walk has done too much to be walking a tree."""


class Run:
    """What belongs to one walk: how much it may still collapse, what it remembers.

    What is remembered by address must stay alive: `kept` holds what rules make on the way.
    """

    __slots__ = ("budget", "kept", "memo")

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self.memo: dict[int, list[object]] = {}
        self.kept: list[object] = []


def collapse(out: list[object], start: int, run: Run) -> None:
    """Replace the tokens from `start` on by their chunk."""
    tokens = out[start:]
    spend(run, len(tokens))
    out[start:] = (b"#", hash_bytes(dumps(tokens, 2)))


def spend(run: Run, tokens: int) -> None:
    """Count tokens that were made into fewer: without that, no walk can grow beyond its value."""
    run.budget -= tokens
    if run.budget < 0:
        raise Overrun


def remembering(emit: Emit, *, always: bool = False) -> Emit:
    """The same emitter, except that it writes what it has written before without looking.

    Short values are not worth remembering, unless describing them was the work or much went
    into few tokens.
    """

    def emit_once(value: object, out: list[object], run: Run) -> None:
        known = run.memo.get(id(value))
        if known is not None:
            out += known
            return
        start = len(out)
        emit(value, out, run)
        first = out[start]
        if always or len(out) - start >= MEMO_FROM or (type(first) is bytes and first in _COSTLY):
            run.memo[id(value)] = out[start:]

    return emit_once


Table = dict[type, Emit]
Learn = Callable[[type], Emit]


class Emitters:
    """The emitters of one describer."""

    def __init__(self, describer: Describer) -> None:
        self.describer = describer
        self.quick: Table = {}
        self.memo: Table = {}
        self.quick.update(_container_emitters(self.quick, self.learn_quick))
        memo = _container_emitters(self.memo, self.learn_memo)
        self.memo.update({cls: remembering(emit) for cls, emit in memo.items()})
        for table in (self.quick, self.memo):
            table.update(dict.fromkeys(LEAVES, _leaf))
            table[bytes] = _bytes
        self._walks: Final = (
            (self.quick, self.learn_quick, BUDGET),
            (self.memo, self.learn_memo, inf),
        )

    def learn_quick(self, cls: type) -> Emit:
        """An emitter for a class not met before: it makes the real one on its first instance."""

        def first(value: object, out: list[object], run: Run) -> None:
            emit = self._make(value, self.quick, self.learn_quick, inline=True)
            self._install(self.quick, cls, emit)
            emit(value, out, run)

        return first

    def learn_memo(self, cls: type) -> Emit:
        """The same for the walk that remembers."""

        def first(value: object, out: list[object], run: Run) -> None:
            emit = remembering(self._make(value, self.memo, self.learn_memo, inline=False))
            self._install(self.memo, cls, emit)
            emit(value, out, run)

        return first

    def _install(self, table: Table, cls: type, emit: Emit) -> None:
        if len(table) > CLASSES_KEPT:  # classes that are made and dropped must not pile up
            for known in list(table):
                if known not in _FIXED:
                    table.pop(known, None)
            for filename in list(linecache.cache):
                if filename.startswith(FILENAME):
                    linecache.cache.pop(filename, None)
        table[cls] = emit

    def written(self, value: object, head: object) -> bytes:
        """The tokens of a value after a head as bytes, by the cheapest walk that can do it.

        The walks before the last may fail on what only the last can do, or say better: a value
        too deep or refused, a class whose metaclass does not let it be looked up in a table.
        """
        cls = type(value)
        for table, learn, budget in self._walks:
            out: list[object] = []
            try:
                (table.get(cls) or learn(cls))(value, out, Run(budget))
                return dumps((head, out), 2)
            except Overrun:
                continue
            except MemoryError:
                raise
            except Exception:
                break
        return dumps((head, self.describer.graph(value).tokens), 2)

    def _make(self, sample: object, table: Table, learn: Learn, *, inline: bool) -> Emit:
        cls = type(sample)
        described = remembering(_described(self.describer, table, learn), always=True)
        layout = self.describer.plain_layout(cls)
        if layout is None or not layout.straight:
            return described
        if layout.has_dict and not layout.slots and not layout.declared:
            if not known_by_name(cls):
                return described
            return _by_shape(self.describer, layout, table, learn, described)
        plan = _plan(layout)
        if plan is None:
            return described
        scope: dict[str, Any] = {
            "TAG": shape_tag(self.describer.class_parts(cls), plan.names),
            "LEAVES": LEAVES,
            "CHUNK": CHUNK,
            "table": table,
            "learn": learn,
            "collapse": collapse,
            "described": described,
        }
        if not known_by_name(cls):
            scope["own_code"] = self._own_code(cls)
        return _generated(plan, layout, sample, scope, inline=inline)

    def _own_code(self, cls: type) -> Callable[[Run], list[object]]:
        """The tokens of what distinguishes a class without a name, computed once a walk."""
        describer = self.describer

        def own_code(run: Run) -> list[object]:
            known = run.memo.get(id(cls))
            if known is None:
                node = cast("Node", describer.own_code(cls))
                known = run.memo[id(cls)] = [*node.head(), *node.values]
            return known

        return own_code


# -- written out ------------------------------------------------------------------------


def _leaf(value: object, out: list[object], run: Run) -> None:
    out.append(value)


def _bytes(value: bytes, out: list[object], run: Run) -> None:
    out += bytes_tokens(value)


def _container_emitters(table: Table, learn: Learn) -> dict[type, Emit]:
    """Emitters of the builtin containers. Hot: see the head of the module."""
    dict_shapes: dict[tuple[tuple[str, ...], tuple[type, ...]], _DictShape] = {}
    all_names = frozenset((str,)).issuperset
    all_leaves = LEAVES.issuperset

    def parts(values: Iterable[object], out: list[object], run: Run) -> None:
        for part in values:
            kind = type(part)
            if kind in LEAVES:
                out.append(part)
            else:
                (table.get(kind) or learn(kind))(part, out, run)

    def unordered(items: Iterable[tuple[object, ...]], out: list[object], run: Run) -> None:
        finished = []
        for item in items:
            inner: list[object] = []
            parts(item, inner, run)
            finished.append(item_token(inner))
            spend(run, len(inner))
        out.append(len(finished))
        finished.sort()
        out += finished

    def sequence(tag: bytes) -> Emit:
        def emit(value: Any, out: list[object], run: Run) -> None:
            size = len(value)
            if size <= FLAT:
                for part in value:
                    if type(part) not in LEAVES:
                        break
                else:
                    out.append(value)
                    return
            start = len(out)
            out += (tag, size)
            parts(value, out, run)
            if len(out) - start >= CHUNK:
                collapse(out, start, run)

        return emit

    def mapping(value: dict[Any, object], out: list[object], run: Run) -> None:
        shape = None
        if all_names(map(type, value)):
            held = (tuple(value), tuple(map(type, value.values())))
            shape = dict_shapes.get(held)
            if shape is None:
                shape = learn_shape(value, held)
        elif sortable(value):
            shape = learn_shape(value, None)
        start = len(out)
        if shape is None:
            out += (b"M", 0)
            unordered(value.items(), out, run)
        else:
            tag, leaves, lists, others = shape
            out.append(tag)
            out += leaves(value)
            if lists is not None:
                held_lists = lists(value)
                kinds = [*map(type, chain(*held_lists))]
                if len(kinds) <= FLAT and all_leaves(kinds):
                    out += held_lists
                else:
                    emit_list = table[list]
                    for held_list in held_lists:
                        emit_list(held_list, out, run)
            if others is not None:
                for part in others(value):
                    kind = type(part)
                    (table.get(kind) or learn(kind))(part, out, run)
        if len(out) - start >= CHUNK:
            collapse(out, start, run)

    def learn_shape(
        value: dict[Any, object], held: tuple[tuple[str, ...], tuple[type, ...]] | None
    ) -> _DictShape:
        leaves, lists, others = split_keys(value)
        shape = _DictShape(
            keys_tag(leaves, lists, others),
            _getter(leaves),
            _getter(lists) if lists else None,
            _getter(others) if others else None,
        )
        if held is not None and len(value) <= KEYS_KEPT:
            if len(dict_shapes) >= SHAPES_KEPT:
                dict_shapes.clear()
            dict_shapes[held] = shape
        return shape

    def set_like(tag: bytes) -> Emit:
        def emit(value: Any, out: list[object], run: Run) -> None:
            start = len(out)
            if sortable(value):
                out += (tag, len(value))
                out += sorted(value)
            else:
                out += (tag + b"*", 0)
                unordered(zip(value), out, run)
            if len(out) - start >= CHUNK:
                collapse(out, start, run)

        return emit

    return {
        list: sequence(b"L"),
        tuple: sequence(b"T"),
        dict: mapping,
        set: set_like(b"S"),
        frozenset: set_like(b"Z"),
    }


class _DictShape(NamedTuple):
    """How to write the dicts that have these keys, with leaves and lists under the same ones."""

    tag: bytes
    leaves: Callable[[dict[Any, object]], tuple[object, ...]]
    lists: Callable[[dict[Any, object]], tuple[list[object], ...]] | None
    others: Callable[[dict[Any, object]], tuple[object, ...]] | None


def _getter(keys: list[Any]) -> Callable[[dict[Any, Any]], tuple[Any, ...]]:
    """A function that takes the values of a dict in the order of these keys."""
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda value: tuple(value[key] for key in keys)


_FIXED: Final = LEAVES | {bytes, list, tuple, dict, set, frozenset}


def _described(describer: Describer, table: Table, learn: Learn) -> Emit:
    """The emitter of a class that has a rule but no straight-line code."""

    def emit(value: object, out: list[object], run: Run) -> None:
        node = describer(value)
        run.kept.append(node)
        emit_node(node, out, run)

    def emit_node(node: Node, out: list[object], run: Run) -> None:
        start = len(out)
        out += node.head()
        for part in node.values:
            emit_part(part, out, run)
        if node.items is not None:
            items = []
            for item in node.items:
                inner: list[object] = []
                for part in item:
                    emit_part(part, inner, run)
                items.append(item_token(inner))
                spend(run, len(inner))
            out.append(len(items))
            items.sort()
            out += items
        if len(out) - start >= CHUNK:
            collapse(out, start, run)

    def emit_part(part: object, out: list[object], run: Run) -> None:
        kind = type(part)
        if kind is Node:
            emit_node(cast("Node", part), out, run)
        else:
            (table.get(kind) or learn(kind))(part, out, run)

    return emit


def _by_shape(
    describer: Describer, layout: Layout, table: Table, learn: Learn, described: Emit
) -> Emit:
    """The emitter of a class without declared fields: one shape for each set of names."""
    identity = describer.class_parts(layout.cls)
    shapes: dict[tuple[str, ...], tuple[bytes, tuple[str, ...]]] = {}
    names_only = frozenset((str,)).issuperset

    def emit(value: Any, out: list[object], run: Run) -> None:
        stored = value.__dict__
        if layout.markers or type(stored) is not dict or not names_only(map(type, stored)):
            described(value, out, run)
            return
        held = tuple(stored)
        shape = shapes.get(held)
        if shape is None:
            if len(shapes) > SHAPES_KEPT:
                shapes.clear()
            names = tuple(sorted(set(held) - layout.hidden))
            shape = shapes[held] = (shape_tag(identity, names), names)
        start = len(out)
        out.append(shape[0])
        for name in shape[1]:
            part = stored[name]
            kind = type(part)
            if kind in LEAVES:
                out.append(part)
            else:
                (table.get(kind) or learn(kind))(part, out, run)
        if len(out) - start >= CHUNK:
            collapse(out, start, run)

    return emit


# -- generated --------------------------------------------------------------------------


class _Plan(NamedTuple):
    """How to read every counted field of an instance, in the order of their names."""

    names: tuple[str, ...]
    reads: tuple[str, ...]
    missing: str


def _plan(layout: Layout) -> _Plan | None:
    """Straight-line reads for the usual instance: all fields set, nothing beside them."""
    cls = layout.cls
    if layout.slots and not layout.has_dict:
        slots = {name: slot for name, slot in layout.slots if _is_plain_name(name)}
        usual = find(cls, "__getattr__") is ABSENT and all(
            find(cls, name) is slot for name, slot in slots.items()
        )
        names = tuple(sorted(slots))
        reads = tuple(f"x{i} = o.{name}" for i, name in enumerate(names))
        if usual and len(slots) == len(layout.slots):
            return _Plan(names, reads, "AttributeError")
        return None
    if layout.has_dict and not layout.slots:
        every = len(layout.declared) + len(layout.left_out)
        return _Plan(
            layout.declared,
            (
                "d = o.__dict__",
                f"if type(d) is not dict or len(d) != {every}: raise KeyError",
                *(f"x{i} = d[{name!r}]" for i, name in enumerate(layout.declared)),
                *(f"d[{name!r}]" for name in layout.left_out),
            ),
            "KeyError",
        )
    return None


def _is_plain_name(name: Name) -> TypeGuard[str]:
    """Whether `value.name` is Python and means this very name: identifiers are normalized."""
    return type(name) is str and name.isidentifier() and name.isascii() and not iskeyword(name)


def _generated(
    plan: _Plan, layout: Layout, sample: object, scope: dict[str, Any], *, inline: bool
) -> Emit:
    """Straight-line code for the instances of a class."""
    lines = ["def emit(o, out, run):", "    try:"]
    lines += [f"        {read}" for read in plan.reads] or ["        pass"]
    lines += [f"    except {plan.missing}:", "        return described(o, out, run)"]
    for i, name in enumerate(plan.names):
        marker = layout.markers.get(name)
        if marker is not None:
            scope[f"W{i}"] = WRAPPERS[marker]
            lines += [f"    x{i} = W{i}(x{i})", f"    run.kept.append(x{i})"]
    head = ["TAG"]
    if "own_code" in scope:
        head = ["TAG", *(f"own[{i}]" for i in range(3))]
        lines += ["    own = own_code(run)"]
    hints = [_hint(layout, name, sample, inline) for name in plan.names]
    lines += _flat_lines(hints, head) + _field_lines(hints, head)
    scope |= {kind.__name__: kind for kind in LEAVES}
    filename = f"{FILENAME} {type_name(layout.cls)}>"
    text = "\n".join(lines) + "\n"
    exec(compile(text, filename, "exec"), scope)
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    return cast("Emit", scope["emit"])


def _hint(layout: Layout, name: str, sample: object, inline: bool) -> str:
    """What the field of the first instance held: a guess about the others, never a promise.

    "list" or "tuple" (of objects, or empty), the name of a leaf's class, or any other "value".
    """
    if name in layout.markers:
        return "value"
    held: Any = state_of(layout, sample).get(name)
    kind = type(held)
    if inline and (kind is list or kind is tuple) and not (held and type(held[0]) in LEAVES):
        return kind.__name__
    return kind.__name__ if kind in LEAVES and held is not None else "value"


_TAGS: Final = {"list": b"L", "tuple": b"T"}
_LEAF_HINTS: Final = frozenset(kind.__name__ for kind in LEAVES)


def _is_leaf(i: int, hint: str) -> str:
    """The test for a leaf: the class that was seen first, then the others."""
    return f"(type(x{i}) is {hint} or type(x{i}) in LEAVES)"


def _flat_lines(hints: list[str], head: list[str]) -> list[str]:
    """An instance that holds nothing but leaves and empty sequences is written at once."""
    if "value" in hints or len(head) + len(hints) >= CHUNK:
        return []
    tests, tokens = [], [*head]
    for i, hint in enumerate(hints):
        if hint in _LEAF_HINTS:
            tests.append(_is_leaf(i, hint))
            tokens.append(f"x{i}")
        else:
            tests.append(f"type(x{i}) is {hint} and not x{i}")
            tokens.append(f"x{i}")
    # Containers first: they are what tells a leaf of a tree from the rest of it.
    tests.sort(key=lambda test: "LEAVES" in test)
    return [
        f"    if {' and '.join(tests) or 'True'}:",
        f"        out += ({', '.join(tokens)},)",
        "        return",
    ]


def _field_lines(hints: list[str], head: list[str]) -> list[str]:
    """The head and each field in turn; leaves that follow each other are written at once."""
    lines = ["    start = len(out)"]
    i = 0
    while i < len(hints):
        if hints[i] in _LEAF_HINTS:
            run = [i]
            while i + len(run) < len(hints) and hints[i + len(run)] in _LEAF_HINTS:
                run.append(i + len(run))
            lines += [
                f"    if {' and '.join(_is_leaf(j, hints[j]) for j in run)}:",
                f"        out += ({', '.join(head + [f'x{j}' for j in run])},)",
                "    else:",
                *_head_lines(head, "        "),
                *(line for j in run for line in _value_lines(j, "        ")),
            ]
            i += len(run)
        else:
            lines += (
                _sequence_lines(i, hints[i], head)
                if hints[i] in _TAGS
                else [
                    *_head_lines(head, "    "),
                    *_value_lines(i, "    "),
                ]
            )
            i += 1
        head = []
    lines += _head_lines(head, "    ")
    return [*lines, "    if len(out) - start >= CHUNK:", "        collapse(out, start, run)"]


def _head_lines(head: list[str], indent: str) -> list[str]:
    return [f"{indent}out += ({', '.join(head)},)"] if head else []


def _value_lines(i: int, indent: str, name: str = "x{i}") -> list[str]:
    value = name.format(i=i)
    return [
        f"{indent}try:",
        f"{indent}    emit_part = table[type({value})]",
        f"{indent}except KeyError:",
        f"{indent}    emit_part = learn(type({value}))",
        f"{indent}emit_part({value}, out, run)",
    ]


def _sequence_lines(i: int, kind: str, head: list[str]) -> list[str]:
    """A list or tuple of objects is walked here; empty it is one token; else its emitter knows."""
    opened = ", ".join([*head, repr(_TAGS[kind]), f"len(x{i})"])
    return [
        f"    if type(x{i}) is {kind} and x{i} and type(x{i}[0]) not in LEAVES:",
        f"        inner = len(out) + {len(head)}",
        f"        out += ({opened})",
        f"        for part in x{i}:",
        *_value_lines(i, "            ", "part"),
        "        if len(out) - inner >= CHUNK:",
        "            collapse(out, inner, run)",
        f"    elif type(x{i}) is {kind} and not x{i}:",
        f"        out += ({', '.join([*head, f'x{i}'])},)",
        "    else:",
        *_head_lines(head, "        "),
        *_value_lines(i, "        "),
    ]
