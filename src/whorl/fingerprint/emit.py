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
from marshal import dumps
from math import inf
from typing import Any, Final, NamedTuple, cast

from .describe import WRAPPERS, Describer, shape_tag
from .digest import hash_bytes
from .graph import Refused
from .layout import Layout, state_of
from .lookup import ABSENT, find, type_name
from .rules.builtin import sortable
from .tokens import CHUNK, LEAVES, Node, bytes_tokens

__all__ = ["Emitters", "Overrun"]

Emit = Callable[[Any, list[object], "Run"], None]

BUDGET: Final = 1 << 16  # tokens collapsed before the quick walk gives up
MEMO_FROM: Final = 24  # tokens from which on an object is worth remembering
CLASSES_KEPT: Final = 10_000
SHAPES_KEPT: Final = 256

_all_leaves = LEAVES.issuperset


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
    run.budget -= len(tokens)
    if run.budget < 0:
        raise Overrun
    out[start:] = (b"#", hash_bytes(dumps(tokens, 2)))


def remembering(emit: Emit) -> Emit:
    """The same emitter, except that it writes what it has written before without looking."""

    def emit_once(value: object, out: list[object], run: Run) -> None:
        known = run.memo.get(id(value))
        if known is not None:
            out += known
            return
        start = len(out)
        emit(value, out, run)
        if len(out) - start >= MEMO_FROM or out[start] == b"#":
            run.memo[id(value)] = out[start:]

    return emit_once


class _Table(dict[type, Emit]):
    """Emitters by class; a class not met before gets one made on its first instance."""

    def __init__(self, make: Callable[[type, object], Emit]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, cls: type) -> Emit:
        def first(value: object, out: list[object], run: Run) -> None:
            emit = self.make(cls, value)
            if len(self) > CLASSES_KEPT:  # classes that are made and dropped must not pile up
                for known in [c for c, e in self.items() if e is not emit and not _is_fixed(c)]:
                    del self[known]
            self[cls] = emit
            emit(value, out, run)

        return first


def _is_fixed(cls: type) -> bool:
    return cls in _FIXED


class Emitters:
    """The emitters of one describer."""

    def __init__(self, describer: Describer) -> None:
        self.describer = describer
        self.quick = _Table(lambda cls, sample: self._make(cls, sample, self.quick, inline=True))
        self.memo = _Table(
            lambda cls, sample: remembering(self._make(cls, sample, self.memo, inline=False))
        )
        if not describer.policy.rules:
            containers = _container_emitters(self.quick)
            self.quick.update(containers)
            containers = _container_emitters(self.memo)
            self.memo.update({cls: remembering(emit) for cls, emit in containers.items()})
            for table in (self.quick, self.memo):
                table.update(dict.fromkeys(LEAVES, _leaf))
                table[bytes] = _bytes

    def tokens(self, value: object) -> list[object]:
        """The tokens of a value, by the cheapest walk that can do it."""
        for table, budget in ((self.quick, BUDGET), (self.memo, inf)):
            out: list[object] = []
            try:
                table[type(value)](value, out, Run(budget))
            except Overrun:
                continue
            except (RecursionError, Refused):
                break
            return out
        return self.describer.graph(value).tokens

    def _make(self, cls: type, sample: object, table: _Table, *, inline: bool) -> Emit:
        described = _described(self.describer, table)
        layout = self.describer.plain_layout(cls)
        if layout is None or not layout.straight:
            return described
        if layout.has_dict and not layout.slots and not layout.declared:
            return _by_shape(self.describer, layout, table, described)
        plan = _plan(layout)
        if plan is None:
            return described
        tag = shape_tag(self.describer.class_parts(cls), plan.names)
        return _generate(plan, layout, tag, sample, table, described, inline=inline)


# -- written out ------------------------------------------------------------------------


def _leaf(value: object, out: list[object], run: Run) -> None:
    out.append(value)


def _bytes(value: bytes, out: list[object], run: Run) -> None:
    out += bytes_tokens(value)


def _container_emitters(table: _Table) -> dict[type, Emit]:
    """Emitters of the builtin containers. Hot: see the head of the module."""

    def sequence(tag: bytes) -> Emit:
        def emit(value: Any, out: list[object], run: Run) -> None:
            start = len(out)
            out += (tag, len(value))
            if not value:
                return
            if type(value[0]) in LEAVES and _all_leaves(map(type, value)):
                out += value
            else:
                for item in value:
                    table[type(item)](item, out, run)
            if len(out) - start >= CHUNK:
                collapse(out, start, run)

        return emit

    def mapping(value: dict[Any, object], out: list[object], run: Run) -> None:
        start = len(out)
        if sortable(value):
            keys = sorted(value)
            out += (b"D", 2 * len(keys))
            out += keys
            values = [value[key] for key in keys]
            if _all_leaves(map(type, values)):
                out += values
            else:
                for item in values:
                    table[type(item)](item, out, run)
        else:
            out += (b"M", 0)
            _unordered(value.items(), out, run)
        if len(out) - start >= CHUNK:
            collapse(out, start, run)

    def set_like(tag: bytes) -> Emit:
        def emit(value: Any, out: list[object], run: Run) -> None:
            start = len(out)
            if sortable(value):
                out += (tag, len(value))
                out += sorted(value)
            else:
                out += (tag + b"*", 0)
                _unordered(zip(value), out, run)
            if len(out) - start >= CHUNK:
                collapse(out, start, run)

        return emit

    def _unordered(items: Iterable[tuple[object, ...]], out: list[object], run: Run) -> None:
        finished = []
        for item in items:
            inner: list[object] = []
            for part in item:
                table[type(part)](part, inner, run)
            finished.append(dumps(inner, 2))
        out.append(len(finished))
        finished.sort()
        out += finished

    return {
        list: sequence(b"L"),
        tuple: sequence(b"T"),
        dict: mapping,
        set: set_like(b"S"),
        frozenset: set_like(b"Z"),
    }


_FIXED: Final = LEAVES | {bytes, list, tuple, dict, set, frozenset}


def _described(describer: Describer, table: _Table) -> Emit:
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
                items.append(dumps(inner, 2))
            out.append(len(items))
            items.sort()
            out += items
        if len(out) - start >= CHUNK:
            collapse(out, start, run)

    def emit_part(part: object, out: list[object], run: Run) -> None:
        if type(part) is Node:
            emit_node(part, out, run)
        else:
            table[type(part)](part, out, run)

    return emit


def _by_shape(describer: Describer, layout: Layout, table: _Table, described: Emit) -> Emit:
    """The emitter of a class without declared fields: one shape for each set of names."""
    identity = describer.class_parts(layout.cls)
    shapes: dict[tuple[str, ...], tuple[bytes, tuple[str, ...]]] = {}
    names_only = frozenset((str,)).issuperset

    def emit(value: Any, out: list[object], run: Run) -> None:
        stored = value.__dict__
        if layout.markers or not names_only(map(type, stored)):
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
            table[type(part)](part, out, run)
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
        usual = find(cls, "__getattr__") is ABSENT and all(
            name.isidentifier() and find(cls, name) is slot for name, slot in layout.slots
        )
        names = tuple(sorted(name for name, _ in layout.slots))
        reads = tuple(f"x{i} = o.{name}" for i, name in enumerate(names))
        return _Plan(names, reads, "AttributeError") if usual else None
    if layout.has_dict and not layout.slots:
        every = len(layout.declared) + len(layout.left_out)
        return _Plan(
            layout.declared,
            (
                "d = o.__dict__",
                f"if len(d) != {every}: raise KeyError",
                *(f"x{i} = d[{name!r}]" for i, name in enumerate(layout.declared)),
                *(f"d[{name!r}]" for name in layout.left_out),
            ),
            "KeyError",
        )
    return None


def _generate(
    plan: _Plan,
    layout: Layout,
    tag: bytes,
    sample: object,
    table: _Table,
    described: Emit,
    *,
    inline: bool,
) -> Emit:
    """Straight-line code for the instances of a class."""
    scope: dict[str, Any] = {
        "TAG": tag, "LEAVES": LEAVES, "CHUNK": CHUNK, "table": table,
        "collapse": collapse, "described": described,
    }  # fmt: skip
    lines = ["def emit(o, out, run):", "    try:"]
    lines += [f"        {read}" for read in plan.reads] or ["        pass"]
    lines += [f"    except {plan.missing}:", "        return described(o, out, run)"]
    for i, name in enumerate(plan.names):
        marker = layout.markers.get(name)
        if marker is not None:
            scope[f"W{i}"] = WRAPPERS[marker]
            lines += [f"    x{i} = W{i}(x{i})", f"    run.kept.append(x{i})"]
    lines += ["    start = len(out)"]
    hints = [_hint(layout, name, sample, inline) for name in plan.names]
    lines += _writes(hints)
    lines += ["    if len(out) - start >= CHUNK:", "        collapse(out, start, run)"]
    filename = f"<whorl emitter of {type_name(layout.cls)}>"
    text = "\n".join(lines) + "\n"
    exec(compile(text, filename, "exec"), scope)
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    return cast("Emit", scope["emit"])


def _hint(layout: Layout, name: str, sample: object, inline: bool) -> str:
    """What the field of the first instance held: a guess about the others, never a promise."""
    if name in layout.markers:
        return "value"
    held = state_of(layout, sample).get(name)
    kind = type(held)
    if kind is list and inline:
        return "list"
    return "leaf" if kind in LEAVES and held is not None else "value"


def _writes(hints: list[str]) -> list[str]:
    """The lines that write the tag and then each field, leaves that follow each other at once."""
    lines: list[str] = []
    i = 0
    first = True
    while first or i < len(hints):
        run = []
        while i < len(hints) and hints[i] == "leaf":
            run.append(i)
            i += 1
        head = ["TAG"] if first else []
        if run:
            test = " and ".join(f"type(x{j}) in LEAVES" for j in run)
            written = ", ".join(head + [f"x{j}" for j in run])
            lines += [f"    if {test}:", f"        out += ({written},)", "    else:"]
            lines += ["        out.append(TAG)"] if first else []
            lines += [f"        table[type(x{j})](x{j}, out, run)" for j in run]
        elif first:
            lines += ["    out.append(TAG)"]
        if i < len(hints):
            lines += _list_lines(i) if hints[i] == "list" else [_value_line(i)]
            i += 1
        first = False
    return lines


def _value_line(i: int) -> str:
    return f"    table[type(x{i})](x{i}, out, run)"


def _list_lines(i: int) -> list[str]:
    return [
        f"    if type(x{i}) is list:",
        "        inner = len(out)",
        f"        out += (b'L', len(x{i}))",
        f"        for y in x{i}:",
        "            table[type(y)](y, out, run)",
        "        if len(out) - inner >= CHUNK:",
        "            collapse(out, inner, run)",
        "    else:",
        f"    {_value_line(i)}",
    ]
