"""The source of a straight-line emitter, from a layout and an instance.

The emitter reads every field of an instance, tests what the fields hold, and writes tokens
in as few operations as the tests allow. The first instance gives hints: which fields hold
leaves, which hold lists of objects. A hint decides what is tested first and never what is
written; an instance that is different takes a longer branch to the same tokens. For

    @dataclass(slots=True)
    class Node:
        children: list[Node]
        kind: str

the source is, without the branches for unusual instances,

    def emit(o, out, run):
        x0 = o.children
        x1 = o.kind
        if type(x0) is list and (type(x1) is str or type(x1) in LEAVES):
            if not x0:
                out += (TAG, x0, x1)
                return
            inner = len(out) + 1
            out += (TAG, b"L", len(x0))
            for part in x0:
                ...the same for a part that is a Node without children, or...
                table[type(part)](part, out, run)
            size = len(out) - inner
            if size < CHUNK - 2:
                out += (x1,)
                return
            if size >= CHUNK:
                collapse(out, inner, run)
                out += (x1,)
            else:
                out += (x1,)
                collapse(out, inner - 1, run)

Names in the source: `o` the instance, `x0`... its fields in the order of their names, `TAG`
the shape tag, `own` the code of a class without a name, `table` and `learn` the emitters of other
classes, `described` the plain emitter of this one, `relearn` a function to call for instances that
are not like the first, so that another emitter can take over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from types import MappingProxyType
from typing import Any, Final, Literal, TypeGuard

from whorl.fast_dataclasses import NamedTuple

from .layout import Layout, Name, state_of
from .markers import Marker
from .static_lookup import ABSENT, find
from .tokens import CHUNK, FLAT, LEAVES, is_flat

__all__ = [
    "FieldHint",
    "Plan",
    "emitter_source",
    "field_hints",
    "plan_of",
    "value_hints",
    "values_plan",
]

_SEQUENCE_TAGS: Final[dict[type, bytes]] = {list: b"L", tuple: b"T"}
_OWN_TOKENS: Final = 3  # how many tokens `own` has
NO_MARKERS: Final[Mapping[str, Marker]] = MappingProxyType({})


class Plan(NamedTuple):
    """How to read every counted field of the usual instance, in the order of their names."""

    names: tuple[Any, ...]
    kept_in: Literal["slots", "instance dict", "values"]
    left_out: tuple[str, ...] = ()

    def reads(self, instance: str, field: str) -> list[str]:
        """Statements that read the fields of `instance` into `field` 0, 1, ..."""
        if self.kept_in == "slots":
            return [f"{field}{i} = {instance}.{name}" for i, name in enumerate(self.names)]
        if self.kept_in == "values":
            return [f"{', '.join(f'{field}{i}' for i in range(len(self.names)))}, = {instance}"]
        every = len(self.names) + len(self.left_out)
        return [
            f"d = {instance}.__dict__",
            f"if type(d) is not dict or len(d) != {every}: raise KeyError",
            *(f"{field}{i} = d[{name!r}]" for i, name in enumerate(self.names)),
            *(f"d[{name!r}]" for name in self.left_out),
        ]

    @property
    def missing(self) -> str:
        """What such a statement raises for an unusual instance."""
        return "AttributeError" if self.kept_in == "slots" else "KeyError"


def plan_of(layout: Layout) -> Plan | None:
    """The plan of a class whose usual instance has all its fields set and nothing beside them."""
    cls = layout.cls
    if layout.has_dict:
        return None if layout.slots else Plan(layout.declared, "instance dict", layout.left_out)
    slots = {name: slot for name, slot in layout.slots if _is_plain_name(name)}
    usual = (
        len(slots) == len(layout.slots)
        and find(cls, "__getattr__") is ABSENT
        and all(find(cls, name) is slot for name, slot in slots.items())
    )
    return Plan(tuple(sorted(slots)), "slots") if usual else None


def values_plan(ordered: Sequence[Any]) -> Plan:
    """The plan of dicts with just these keys, given as the tuple of their values in this order."""
    return Plan(tuple(ordered), "values")


def _is_plain_name(name: Name) -> TypeGuard[str]:
    """Whether `value.name` is Python and means this very name: identifiers are normalized."""
    return type(name) is str and name.isidentifier() and name.isascii() and not iskeyword(name)


class FieldHint(NamedTuple):
    """The values of a field in the instances so far."""

    kind: type
    of_itself: bool = False  # a sequence of instances of the very class
    flat: type | None = None  # of a sequence of leaves, the class of the first

    @property
    def is_leaf(self) -> bool:
        """One of the classes that are tokens as they are."""
        return self.kind in LEAVES

    @property
    def is_token(self) -> bool:
        """A leaf, or a sequence that is a token as it is."""
        return self.flat is not None or self.is_leaf

    @property
    def is_sequence(self) -> bool:
        """A list or tuple of objects, or an empty one."""
        return self.flat is None and (self.kind is list or self.kind is tuple)

    def merged(self, other: FieldHint) -> FieldHint:
        """What is true of both: any value, where they are not of one sort."""
        if self.is_leaf and other.is_leaf:
            return other if self.kind is type(None) else self
        if self.kind is other.kind and (self.kind is list or self.kind is tuple):
            return FieldHint(self.kind, self.of_itself or other.of_itself, other.flat and self.flat)
        return FieldHint(object)


def field_hints(layout: Layout, plan: Plan, *, inline: bool) -> Callable[[object], list[FieldHint]]:
    """A function that takes hints from an instance.

    `inline` walks lists in the emitter instead of calling theirs.
    """

    def hints(sample: object) -> list[FieldHint]:
        state = state_of(layout, sample)
        return [
            FieldHint(object)
            if name in layout.markers
            else _hint(layout.cls, state.get(name), inline=inline)
            for name in plan.names
        ]

    return hints


def value_hints(sample: tuple[object, ...], *, inline: bool) -> list[FieldHint]:
    """The hints of the values of a dict."""
    return [_hint(None, value, inline=inline) for value in sample]


def _hint(cls: type | None, value: Any, *, inline: bool) -> FieldHint:
    kind = type(value)
    if kind in LEAVES:
        return FieldHint(kind)
    if kind is list or kind is tuple:
        if value and is_flat(value):
            return FieldHint(kind, flat=type(value[0]))
        if inline and not (value and type(value[0]) in LEAVES):
            return FieldHint(kind, of_itself=bool(value) and type(value[0]) is cls)
    return FieldHint(object)


def emitter_source(
    plan: Plan,
    hints: list[FieldHint],
    markers: Mapping[str, Marker] = NO_MARKERS,
    *,
    has_own: bool = False,
) -> str:
    """The source of the emitter for instances like those the hints are from."""
    head = ["TAG", *(f"own[{i}]" for i in range(_OWN_TOKENS if has_own else 0))]
    body = _guarded(plan, "o", "x", "return described(o, out, run)")
    for i, name in enumerate(plan.names):
        if name in markers:
            body += [f"x{i} = wrap_{markers[name].name}(x{i})", f"run.alive.append(x{i})"]
    if has_own:
        body += ["own = own_code(run)"]
    usual = _usual(hints, "x")
    straight = [
        *_flat(hints, head),
        *_tree_node(plan, hints, head),
        "start = len(out)",
        *_straight(plan, hints, head),
    ]
    finish = [f"if len(out) - start >= {CHUNK}:", *_indented(["collapse(out, start, run)"])]
    if usual:
        unusual = ["start = len(out)", *_by_class(hints, head)]
        body += [
            *_indented_if(usual, _if_flat(hints, "x", [*straight, *finish, "return"])),
            *unusual,
        ]
    else:
        body += straight
    body += finish
    return "\n".join(["def emit(o, out, run):", *_indented(body), ""])


def _guarded(
    plan: Plan, instance: str, field: str, otherwise: str, places: Sequence[int] | None = None
) -> list[str]:
    """The reads of all fields, or of those at some places; `otherwise` if one is missing."""
    reads = plan.reads(instance, field)
    if places is not None:
        reads = [reads[i] for i in places]
    if not reads or plan.kept_in == "values":  # nothing can be missing
        return reads
    return ["try:", *_indented(reads), f"except {plan.missing}:", *_indented([otherwise])]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _indented_if(tests: list[str], lines: list[str]) -> list[str]:
    return [f"if {' and '.join(tests)}:", *_indented(lines)] if tests else lines


def _usual(hints: list[FieldHint], field: str) -> list[str]:
    """Tests that the fields have values like those of the first instance."""
    tests = []
    for i, hint in enumerate(hints):
        if hint.is_leaf:  # the class that was seen first, then the others
            seen = hint.kind.__name__
            tests.append(f"(type({field}{i}) is {seen} or type({field}{i}) in LEAVES)")
        elif hint.is_sequence:
            tests.append(f"type({field}{i}) is {hint.kind.__name__}")
        elif hint.flat is not None:
            tests.append(f"type({field}{i}) is {hint.kind.__name__} and len({field}{i}) <= {FLAT}")
    return tests


def _if_flat(hints: list[FieldHint], field: str, lines: list[str]) -> list[str]:
    """The lines, if all sequences that should be flat hold nothing but leaves."""
    for i, hint in enumerate(hints):
        if hint.flat is not None:
            seen = hint.flat.__name__
            lines = [
                f"for leaf in {field}{i}:",
                f"    if type(leaf) is not {seen} and type(leaf) not in LEAVES: break",
                "else:",
                *_indented(lines),
            ]
    return lines


def _flat(
    hints: list[FieldHint], head: list[str], field: str = "x", ending: str = "return"
) -> list[str]:
    """A usual instance that holds nothing but leaves and empty sequences is written at once."""
    flat = all(hint.is_token or hint.is_sequence for hint in hints)
    if not flat or len(head) + len(hints) >= CHUNK:
        return []
    empty = [f"not {field}{i}" for i, hint in enumerate(hints) if hint.is_sequence]
    return _indented_if(empty, [*_written(_tokens(hints, head, field)), ending])


def _tree_node(plan: Plan, hints: list[FieldHint], head: list[str]) -> list[str]:
    """A usual instance of leaves and one list of objects: measured once for both collapses."""
    lists = [i for i, hint in enumerate(hints) if hint.is_sequence]
    if len(lists) != 1 or not _flat(hints, head):
        return []
    place = lists[0]
    field, hint = f"x{place}", hints[place]
    before = [*head, *(f"x{i}" for i in range(place))]
    after = _written([f"x{i}" for i in range(place + 1, len(hints))])
    around = len(head) + len(hints) - 1  # tokens of the instance that are not of the list
    return [
        f"if {_holds_objects(field, hint)}:",
        *_indented(
            [
                f"inner = len(out) + {len(before)}",
                *_walked(field, hint, before, _same_class(plan, hints, head)),
                "size = len(out) - inner",
                f"if size < {CHUNK - around}:",
                *_indented([*after, "return"]),
                f"if size >= {CHUNK}:",
                *_indented(["collapse(out, inner, run)", *after]),
                "else:",
                *_indented([*after, f"collapse(out, inner - {len(before)}, run)"]),
                "return",
            ]
        ),
    ]


def _straight(plan: Plan, hints: list[FieldHint], head: list[str]) -> list[str]:
    """The head and each field of a usual instance in turn."""
    lines: list[str] = []
    before = [*head]  # what is still to be written before the next field that needs a test
    for i, hint in enumerate(hints):
        if hint.is_token:
            before.append(f"x{i}")
            continue
        if hint.is_sequence:
            lines += _sequence(f"x{i}", hint, before, _same_class(plan, hints, head))
        else:
            lines += [*_written(before), *_value(f"x{i}")]
        before = []
    return [*lines, *_written(before)]


def _by_class(hints: list[FieldHint], head: list[str]) -> list[str]:
    """The head and each field of an unusual instance, by the emitters of their classes."""
    fields = [line for i in range(len(hints)) for line in _value(f"x{i}")]
    return ["relearn(o)", *_written(head), *fields]


def _written(tokens: list[str]) -> list[str]:
    return [f"out += ({', '.join(tokens)},)"] if tokens else []


def _value(field: str) -> list[str]:
    """Any value, by the emitter of its class."""
    return [
        "try:",
        *_indented([f"emit_part = table[type({field})]"]),
        "except KeyError:",
        *_indented([f"emit_part = learn(type({field}))"]),
        f"emit_part({field}, out, run)",
    ]


def _sequence(field: str, hint: FieldHint, before: list[str], same_class: list[str]) -> list[str]:
    """A list of objects is walked here; empty it is one token; otherwise its emitter knows."""
    return [
        f"if {field} and {_holds_objects(field, hint)}:",
        *_indented(
            [
                f"inner = len(out) + {len(before)}",
                *_walked(field, hint, before, same_class),
                f"if len(out) - inner >= {CHUNK}:",
                *_indented(["collapse(out, inner, run)"]),
            ]
        ),
        f"elif not {field}:",
        *_indented(_written([*before, field])),
        "else:",
        *_indented([*_written(before), *_value(field)]),
    ]


def _holds_objects(field: str, hint: FieldHint) -> str:
    """The test that a sequence, which is not empty, is not one of leaves."""
    seen = f"type({field}[0]) is CLS or " if hint.of_itself else ""
    return f"({seen}type({field}[0]) not in LEAVES)"


def _walked(field: str, hint: FieldHint, before: list[str], same_class: list[str]) -> list[str]:
    """The head of a sequence and each of its parts."""
    opened = ", ".join([*before, repr(_SEQUENCE_TAGS[hint.kind]), f"len({field})"])
    return [
        f"out += ({opened})",
        f"for part in {field}:",
        *_indented([*(same_class if hint.of_itself else []), *_value("part")]),
    ]


def _same_class(plan: Plan, hints: list[FieldHint], head: list[str]) -> list[str]:
    """A part of the very class that is flat: written without a call."""
    flat = _flat(hints, head, "y", "continue")
    if not flat:
        return []
    unusual = "described(part, out, run); continue"
    usual = _usual(hints, "y")
    if plan.kept_in != "slots":
        read = _guarded(plan, "part", "y", unusual)
        tested = _indented_if([*usual], _if_flat(hints, "y", flat))
    else:  # sequences, which may not be empty, are read first
        first = [i for i, hint in enumerate(hints) if hint.is_sequence]
        rest = [i for i, hint in enumerate(hints) if not hint.is_sequence]
        read = _guarded(plan, "part", "y", unusual, first)
        empty = [f"{usual[i]} and not y{i}" for i in first]
        written = _if_flat(hints, "y", [*_written(_tokens(hints, head, "y")), "continue"])
        tested = _indented_if(
            empty,
            [
                *_guarded(plan, "part", "y", unusual, rest),
                *_indented_if([usual[i] for i in rest], written),
            ],
        )
    return [
        "if type(part) is CLS:",
        *_indented([*read, *tested, "emit(part, out, run)", "continue"]),
    ]


def _tokens(hints: list[FieldHint], head: list[str], field: str) -> list[str]:
    return [*head, *(f"{field}{i}" for i in range(len(hints)))]
