"""A value in, its tokens out, fast: functions that write tokens, generated once per class.

An emitter is a function `emit(value, out, run)` that appends the tokens of a value to
`out`. Builtin containers have theirs written out below; a class that keeps its state in
slots or in an instance dictionary gets one generated as straight-line code, with hints
from the first instance about which fields hold leaves and which hold lists. Hints steer
only the order of tests; the tokens are those of `describe` and `graph`, the plain twin
that the property tests compare with.

There are two tables of emitters. The quick ones remember only what is slow to describe: in
a tree nothing is met twice, and looking would cost as much as the rest. They count what
they collapse, and when that exceeds BUDGET, or the walk gets too deep, the value is walked
again:

    quick    0.32 us per node of a tree of slotted dataclasses (pickle + xxh3: 0.99)
    memo     remembers objects by identity: linear where a tree of all paths would not be
    graph    any depth, cycles, and the path of what is refused

Measured by `bench/fingerprint.py`.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable
from itertools import chain
from math import inf
from operator import countOf, itemgetter
from typing import Any, Final, NamedTuple, cast

from .describe import WRAPPERS, Describer, shape_tag
from .layout import Layout
from .lookup import find, type_name
from .names import known_by_name
from .plan import emitter_source, hints_of, plan_of
from .rules.builtin import keys_tag, sortable, split_keys
from .tokens import CHUNK, FLAT, LEAVES, Chunker, Node, bytes_tokens, dumps, item_token

__all__ = ["Emitters", "Overrun"]

Emit = Callable[[Any, list[object], "Run"], None]

BUDGET: Final = 1 << 16  # tokens collapsed before the quick walk gives up
MEMO_FROM: Final = 24  # tokens from which on an object is worth remembering
CLASSES_KEPT: Final = 5_000
FILENAME: Final = "<whorl emitter of"
UNLIKE: Final = 8  # instances unlike the first after which an emitter is made anew
SHAPES_KEPT: Final = 1024
KEYS_KEPT: Final = 256

# Tags of few tokens into which much may have gone.
_COSTLY: Final = frozenset((b"#", b"M", b"S*", b"Z*"))


class Overrun(Exception):
    """The quick walk has done too much to be walking a tree."""


class _OnlyByGraph(Exception):
    """A value that emitters cannot do."""


def _is_looked_up_plainly(cls: type) -> bool:
    """Whether a table finds this very class: its metaclass does not say what equals it."""
    metaclass = type(cls)
    return find(metaclass, "__hash__") is type.__hash__ and find(metaclass, "__eq__") is type.__eq__


class Run:
    """What belongs to one walk: how much it may still collapse, what it remembers.

    What is remembered by address must stay alive: `kept` holds what rules make on the way.
    """

    __slots__ = ("budget", "chunk", "kept", "memo", "own_code")

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self.chunk: Chunker | None = None
        self.memo: dict[int, list[object]] = {}
        self.own_code: dict[int, list[object]] = {}
        self.kept: list[object] = []


def collapse(out: list[object], start: int, run: Run) -> None:
    """Replace the tokens from `start` on by their chunk."""
    tokens = out[start:]
    spend(run, len(tokens))
    chunk = run.chunk
    if chunk is None:
        chunk = run.chunk = Chunker()
    out[start:] = chunk(tokens)


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
        if not _is_looked_up_plainly(cls):
            raise _OnlyByGraph
        described = _described(self.describer, table, learn)
        if inline:  # the other walk remembers everything anyway
            described = remembering(described, always=True)
        layout = self.describer.plain_layout(cls)
        if layout is None or not layout.straight:
            return described
        if layout.has_dict and not layout.slots and not layout.declared:
            if not known_by_name(cls):
                return described
            return _by_shape(self.describer, layout, table, learn, described)
        plan = plan_of(layout)
        if plan is None:
            return described
        scope: dict[str, Any] = {
            "CLS": cls,
            "TAG": shape_tag(self.describer.class_parts(cls), plan.names),
            "LEAVES": LEAVES,
            "table": table,
            "learn": learn,
            "collapse": collapse,
            "described": described,
            **{kind.__name__: kind for kind in LEAVES},
            **{f"wrap_{marker.name}": wrap for marker, wrap in WRAPPERS.items()},
        }
        has_own = not known_by_name(cls)
        if has_own:
            scope["own_code"] = self._own_code(cls)
        hints = hints_of(plan, layout, sample, inline=inline)
        unlike = 0

        def relearn(value: object) -> None:
            nonlocal unlike, hints
            unlike += 1
            if unlike == UNLIKE:
                unlike = 0
                news = hints_of(plan, layout, value, inline=inline)
                hints = [known.merged(new) for known, new in zip(hints, news, strict=True)]
                emit = made()
                table[cls] = emit if inline else remembering(emit)

        def made() -> Emit:
            text = emitter_source(plan, layout, hints, has_own=has_own)
            return _compiled(text, f"{FILENAME} {type_name(cls)}>", dict(scope))

        scope["relearn"] = relearn
        return made()

    def _own_code(self, cls: type) -> Callable[[Run], list[object]]:
        """The tokens of what distinguishes a class without a name, computed once a walk."""
        describer = self.describer

        def own_code(run: Run) -> list[object]:
            known = run.own_code.get(id(cls))
            if known is None:
                node = describer.own_code(cls)
                if node is None:  # it has come to be known by a name since
                    self.quick.pop(cls, None)
                    self.memo.pop(cls, None)
                    raise _OnlyByGraph
                known = run.own_code[id(cls)] = [*node.head(), *node.values]
            return known

        return own_code


def _compiled(text: str, filename: str, scope: dict[str, Any]) -> Emit:
    """The emitter of a source, which tracebacks can show."""
    exec(compile(text, filename, "exec"), scope)
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    return cast("Emit", scope["emit"])


# -- written out ------------------------------------------------------------------------


def _leaf(value: object, out: list[object], run: Run) -> None:
    out.append(value)


def _bytes(value: bytes, out: list[object], run: Run) -> None:
    out += bytes_tokens(value)


def _container_emitters(table: Table, learn: Learn) -> dict[type, Emit]:
    """Emitters of the builtin containers. Hot: see the head of the module."""
    dict_shapes: dict[tuple[tuple[str, ...], tuple[type, ...]], _DictShape] = {}
    flat_kinds: set[tuple[type, ...]] = set()  # classes of what is in lists that are tokens
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
        if countOf(map(type, value), str) == len(value):
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
                kinds = tuple(map(type, chain(*held_lists)))
                if kinds in flat_kinds:
                    out += held_lists
                else:
                    if len(kinds) <= FLAT and all_leaves(kinds):
                        if len(flat_kinds) >= SHAPES_KEPT:
                            flat_kinds.clear()
                        flat_kinds.add(kinds)
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
        tag, names = shape
        start = len(out)
        out.append(tag)
        for name in names:
            part = stored[name]
            kind = type(part)
            if kind in LEAVES:
                out.append(part)
            else:
                (table.get(kind) or learn(kind))(part, out, run)
        if len(out) - start >= CHUNK:
            collapse(out, start, run)

    return emit
