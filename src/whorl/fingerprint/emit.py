"""A value in, its tokens out, fast: functions that write tokens, generated once per class.

An emitter is a function `emit(value, out, run)` that appends the tokens of a value to
`out`. Builtin containers have theirs written by hand in `containers`; a class that keeps
its state in slots or in an instance dictionary gets one `generated` as straight-line code,
with hints from the first instance about which fields hold leaves and which hold lists.
Hints steer only the order of tests; the tokens are those of `describe` and `graph`, the
plain twin that the property tests compare with.

There are two tables of emitters. The quick ones remember only what is slow to describe: in
a tree nothing is met twice, and a lookup would cost as much as the rest. They count what
they collapse, and when that exceeds BUDGET, or the walk gets too deep, the value is walked
again:

    quick    0.30 us per node of a tree of slotted dataclasses (pickle + xxh3: 0.98)
    memo     remembers objects by identity: linear where a tree of all paths would not be
    graph    any depth, cycles, and the path of what is refused

Measured by `bench/fingerprint.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, Final, cast

from whorl.signals import pass_on

from .containers import container_emitters, write_items
from .describe import WRAPPERS, Describer, shape_tag
from .emitter_factory import EmitterFactory, forget_sources
from .layout import Layout
from .names import known_by_name
from .plan import field_hints, plan_of
from .run import Emit, EmitRun, Learn, Overrun, Table, collapse
from .static_lookup import find, type_name
from .tokens import CHUNK, LEAVES, Node, dumps

__all__ = ["Emitters", "Overrun"]

BUDGET: Final = 1 << 16  # tokens collapsed before the quick walk gives up
MEMO_FROM: Final = 24  # tokens from which on an object is worth remembering
MOST_CLASSES: Final = 5_000
MOST_SHAPES: Final = 1024

# Tags of few tokens into which much may have gone.
_COSTLY: Final = frozenset((b"#", b"M", b"S*", b"Z*"))


class _OnlyByGraph(Exception):
    """A value that emitters cannot write."""


def _has_plain_identity(cls: type) -> bool:
    """Whether a table finds this very class: its metaclass does not redefine equality."""
    metaclass = type(cls)
    return find(metaclass, "__hash__") is type.__hash__ and find(metaclass, "__eq__") is type.__eq__


def remembering(emit: Emit, *, always: bool = False) -> Emit:
    """The same emitter, except that it writes a value it has written before from memory.

    Short values are not worth remembering, unless describing them was the work or much went
    into few tokens.
    """

    def emit_once(value: object, out: list[object], run: EmitRun) -> None:
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


class Emitters:
    """The emitters of one describer."""

    def __init__(self, describer: Describer, head: tuple[object, ...] = ()) -> None:
        self.describer = describer
        self.head = head  # of all tokens: what stands for the policy
        self.quick: Table = {}
        self.memo: Table = {}
        self.quick.update(container_emitters(self.quick, self.learn_quick, inline=True))
        for cls, emit in container_emitters(self.memo, self.learn_memo, inline=False).items():
            self.memo[cls] = emit if cls in LEAVES or cls is bytes else remembering(emit)
        self.walks: Final = (
            (self.quick, self.learn_quick, BUDGET),
            (self.memo, self.learn_memo, inf),
        )

    def learn_quick(self, cls: type) -> Emit:
        """An emitter for a class not met before: it makes the real one on its first instance."""

        def first(value: object, out: list[object], run: EmitRun) -> None:
            emit = self._make(value, self.quick, self.learn_quick, inline=True)
            self._install(self.quick, cls, emit)
            emit(value, out, run)

        return first

    def learn_memo(self, cls: type) -> Emit:
        """The same for the walk that remembers."""

        def first(value: object, out: list[object], run: EmitRun) -> None:
            emit = remembering(self._make(value, self.memo, self.learn_memo, inline=False))
            self._install(self.memo, cls, emit)
            emit(value, out, run)

        return first

    def _install(self, table: Table, cls: type, emit: Emit) -> None:
        if len(table) > MOST_CLASSES:  # short-lived classes must not pile up
            for known in list(table):
                if known not in _FIXED:
                    table.pop(known, None)
            forget_sources()
        table[cls] = emit

    def written(self, value: object) -> bytes:
        """The tokens of a value after the head as bytes, by the cheapest walk that can do it.

        The walks before the last may fail on what only the last can do or report: a value that is
        too deep or refused, a class whose metaclass redefines equality.
        """
        cls = type(value)
        for table, learn, budget in self.walks:
            out: list[object] = []
            try:
                (table.get(cls) or learn(cls))(value, out, EmitRun(budget))
                return dumps((self.head, out), 2)
            except Overrun:
                continue
            except MemoryError:
                raise
            except Exception as error:
                pass_on(error)
                break
        return dumps((self.head, self.describer.graph(value).tokens), 2)

    def _make(self, sample: object, table: Table, learn: Learn, *, inline: bool) -> Emit:
        cls = type(sample)
        if not _has_plain_identity(cls):
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
        scope: dict[str, object] = {
            "CLS": cls,
            "TAG": shape_tag(self.describer.class_parts(cls), plan.names),
            "table": table,
            "learn": learn,
            "described": described,
            **{f"wrap_{marker.name}": wrap for marker, wrap in WRAPPERS.items()},
        }
        has_own = not known_by_name(cls)
        if has_own:
            scope["own_code"] = self._own_code(cls)

        def install(emit: Emit) -> None:
            table[cls] = emit if inline else remembering(emit)

        return EmitterFactory(
            type_name(cls),
            plan,
            field_hints(layout, plan, inline=inline),
            scope,
            install,
            markers=layout.markers,
            has_own=has_own,
        )(sample)

    def _own_code(self, cls: type) -> Callable[[EmitRun], list[object]]:
        """The tokens of what distinguishes a class without a name, computed once a walk."""
        describer = self.describer

        def own_code(run: EmitRun) -> list[object]:
            known = run.own_code.get(id(cls))
            if known is None:
                node = describer.own_code(cls)
                if node is None:  # it has a name by now
                    self.quick.pop(cls, None)
                    self.memo.pop(cls, None)
                    raise _OnlyByGraph
                known = run.own_code[id(cls)] = [*node.head(), *node.values]
            return known

        return own_code


_FIXED: Final = LEAVES | {bytes, list, tuple, dict, set, frozenset}


def _described(describer: Describer, table: Table, learn: Learn) -> Emit:
    """The emitter of a class that has a rule but no straight-line code."""

    def emit(value: object, out: list[object], run: EmitRun) -> None:
        node = describer(value)
        run.alive.append(node)
        emit_node(node, out, run)

    def emit_node(node: Node, out: list[object], run: EmitRun) -> None:
        start = len(out)
        out += node.head()
        for part in node.values:
            emit_part(part, out, run)
        if node.items is not None:
            write_items(node.items, out, run, emit_part)
        if len(out) - start >= CHUNK:
            collapse(out, start, run)

    def emit_part(part: object, out: list[object], run: EmitRun) -> None:
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

    def emit(value: Any, out: list[object], run: EmitRun) -> None:
        stored = value.__dict__
        if layout.markers or type(stored) is not dict or not names_only(map(type, stored)):
            described(value, out, run)
            return
        present = tuple(stored)
        shape = shapes.get(present)
        if shape is None:
            if len(shapes) > MOST_SHAPES:
                shapes.clear()
            names = tuple(sorted(set(present) - layout.hidden))
            shape = shapes[present] = (shape_tag(identity, names), names)
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
