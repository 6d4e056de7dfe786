"""Values as trees of plain tuples: built in any order, changed in one place, compared by an oracle.

A `Spec` says what a value is. `build` makes the value, with dicts and sets filled in a random
order, arrays laid out in a random way, equal parts shared or not. `canonical` is the oracle:
two specs are the same value exactly when their canonical forms are equal. `changes` are the
specs that differ from a given one in a single place.
"""

from __future__ import annotations

import collections
import decimal
import enum
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

import numpy as np
from hypothesis import strategies as st

__all__ = ["Spec", "build", "canonical", "changes", "places", "put", "specs", "trees"]


# -- classes of which the values are instances ----------------------------------------------


class Colour(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = "blue"


class Level(enum.IntEnum):
    RED = 1
    GREEN = 2


class Access(enum.Flag):
    RED = 1
    GREEN = 2
    BLUE = RED | GREEN


@dataclass
class Plain:
    x: object
    y: object


@dataclass(slots=True)
class Slotted:
    x: object
    y: object


@dataclass(frozen=True)
class Frozen:
    x: object
    y: object


@dataclass(frozen=True, slots=True)
class FrozenSlotted:
    x: object
    y: object


class Pair(NamedTuple):
    x: object
    y: object


class Attributes:
    """A plain class: whatever attributes an instance is given."""


class OtherAttributes:
    """The same under another name."""


class Sequence(list[Any]):
    """A list with an attribute."""

    note: object


class Table(dict[Any, Any]):
    """A dict with a slot."""

    __slots__ = ("note",)
    note: object


# -- specs ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spec:
    """One value: its kind, what a leaf holds, what a container contains."""

    kind: str
    leaf: Any = None
    parts: tuple[Spec, ...] = ()


ENUMS: Final = {"Colour": Colour, "Level": Level, "Access": Access}
RECORDS: Final[dict[str, Callable[[object, object], object]]] = {
    "Plain": Plain,
    "Slotted": Slotted,
    "Frozen": Frozen,
    "FrozenSlotted": FrozenSlotted,
    "Pair": Pair,
}
SEQUENCES: Final[dict[str, Callable[[list[object]], object]]] = {
    "list": list,
    "tuple": tuple,
    "deque": collections.deque,
}
SETS: Final[dict[str, Callable[[list[object]], object]]] = {"set": set, "frozenset": frozenset}
OBJECTS: Final = {"Attributes": Attributes, "OtherAttributes": OtherAttributes}
DTYPES: Final = ("<i8", "<i4", ">i2", "<f4", "<f8", "|b1", "<c16", "<U3", "|S3")

_HASHABLE: Final = frozenset(
    (
        "none", "bool", "int", "float", "complex", "str", "bytes", "ellipsis", "enum", "decimal",
        "path", "range", "scalar", "tuple", "frozenset", "Frozen", "FrozenSlotted", "Pair",
    )
)  # fmt: skip


def hashable(spec: Spec) -> bool:
    return spec.kind in _HASHABLE and all(map(hashable, spec.parts))


def build(
    spec: Spec, chance: random.Random | None = None, shared: dict[object, object] | None = None
) -> Any:
    """The value that a spec describes.

    `chance` decides about orders and layouts, which do not matter; with `shared`, equal parts
    are one object.
    """
    chance = chance or random.Random(0)
    key = canonical(spec)
    if shared is not None and key in shared:
        return shared[key]
    value = _built(spec, chance, shared)
    if shared is not None:
        shared[key] = value
    return value


def _built(spec: Spec, chance: random.Random, shared: dict[object, object] | None) -> object:
    kind, leaf = spec.kind, spec.leaf
    if kind in _LEAVES:
        return _LEAVES[kind](leaf)
    if kind == "array":
        return _laid_out(_array(leaf), chance)
    parts = [build(part, chance, shared) for part in spec.parts]
    if kind in SEQUENCES:
        return SEQUENCES[kind](parts)
    if kind in RECORDS:
        return RECORDS[kind](*parts)
    if kind in SETS:
        return SETS[kind](chance.sample(parts, len(parts)))
    if kind in OBJECTS:
        held = OBJECTS[kind]()
        for name, part in chance.sample(list(zip(leaf, parts, strict=True)), len(parts)):
            setattr(held, name, part)
        return held
    if kind == "Sequence":
        sequence = Sequence(parts[1:])
        sequence.note = parts[0]
        return sequence
    if kind == "objects":
        array = np.empty(len(parts), dtype=object)
        for i, part in enumerate(parts):
            array[i] = part
        return array
    pairs = list(zip(parts[::2], parts[1::2], strict=True))
    if kind == "OrderedDict":
        return collections.OrderedDict(pairs)
    if kind == "Table":
        table = Table(chance.sample(pairs[1:], len(pairs) - 1))
        table.note = pairs[0][1]
        return table
    assert kind == "dict"
    return dict(chance.sample(pairs, len(pairs)))


_LEAVES: Final[dict[str, Callable[[Any], object]]] = {
    "none": lambda leaf: None,
    "bool": bool,
    "int": lambda leaf: int(str(leaf)) if abs(leaf) > 256 else leaf,  # a new object each time
    "float": lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0],
    "complex": lambda bits: complex(*struct.unpack("<dd", struct.pack("<QQ", *bits))),
    "str": lambda leaf: "".join(list(leaf)),
    "bytes": lambda leaf: bytes(list(leaf)),
    "bytearray": bytearray,
    "ellipsis": lambda leaf: ...,
    "enum": lambda leaf: ENUMS[leaf[0]][leaf[1]],
    "decimal": decimal.Decimal,
    "path": PurePosixPath,
    "range": lambda leaf: range(*leaf),
    "scalar": lambda leaf: _array((leaf[0], (), (leaf[1],)))[()],
}


def _array(leaf: tuple[str, tuple[int, ...], tuple[int, ...]]) -> np.ndarray[Any, Any]:
    dtype, shape, numbers = leaf
    listed: list[Any] = [str(n) for n in numbers] if np.dtype(dtype).kind in "US" else [*numbers]
    return np.array(listed, dtype=dtype).reshape(shape)


def _laid_out(array: np.ndarray[Any, Any], chance: random.Random) -> np.ndarray[Any, Any]:
    match chance.randrange(3):
        case 0:
            return array
        case 1:
            return np.asfortranarray(array).reshape(array.shape)
        case _:
            wide = np.zeros((*array.shape, 2), dtype=array.dtype)
            wide[..., 1] = array
            return wide[..., 1]


def canonical(spec: Spec) -> Any:
    """What the value is: equal for two specs exactly when they describe one value."""
    parts = [canonical(part) for part in spec.parts]
    kind, leaf = spec.kind, spec.leaf
    if kind in SETS:
        parts.sort(key=repr)
    elif kind in ("dict", "Table"):
        first = 2 if kind == "Table" else 0
        pairs = sorted(zip(parts[first::2], parts[first + 1 :: 2], strict=True), key=repr)
        parts = [parts[1], *pairs] if kind == "Table" else [*pairs]
    elif kind in OBJECTS:
        return kind, tuple(sorted(zip(leaf, parts, strict=True), key=repr))
    elif kind == "array":
        return kind, leaf[0], leaf[1], _array(leaf).tobytes()
    elif kind == "scalar":
        return kind, leaf[0], _array((leaf[0], (), (leaf[1],))).tobytes()
    elif kind == "enum":
        return kind, leaf[0], ENUMS[leaf[0]][leaf[1]].name
    elif kind == "range":
        return kind, leaf
    elif kind == "decimal":
        return kind, str(decimal.Decimal(leaf))  # "00" is kept as "0"
    return kind, type(leaf).__name__, repr(leaf), tuple(parts)


def valid(spec: Spec) -> bool:
    """Whether the value can be built and keeps all its members and keys apart."""
    if not all(map(valid, spec.parts)):
        return False
    if spec.kind in SETS:
        members = spec.parts
    elif spec.kind in ("dict", "OrderedDict"):
        members = spec.parts[::2]
    elif spec.kind == "Table":
        members = spec.parts[2::2]
    else:
        return True
    # Equal members that hold a NaN are one member when shared and two when copied.
    told_apart = len({repr(canonical(m)) for m in members}) == len(members)
    if not told_apart or not all(map(hashable, members)):
        return False
    try:
        return len({build(m) for m in members}) == len(members)
    except TypeError:  # some numbers of two libraries cannot be compared
        return False


# -- one change -----------------------------------------------------------------------------


def places(spec: Spec) -> Iterator[tuple[tuple[int, ...], Spec]]:
    """Every part of a spec, with the way to it."""
    yield (), spec
    for i, part in enumerate(spec.parts):
        for way, inner in places(part):
            yield (i, *way), inner


def put(spec: Spec, way: tuple[int, ...], new: Spec) -> Spec:
    """The spec with another one in the place of one of its parts."""
    if not way:
        return new
    i = way[0]
    inner = put(spec.parts[i], way[1:], new)
    return replace(spec, parts=(*spec.parts[:i], inner, *spec.parts[i + 1 :]))


def changes(spec: Spec) -> Iterator[Spec]:
    """Specs that differ from this one in what it is itself: value, type, order, size, names."""
    for other in _changes(spec):
        if valid(other) and canonical(other) != canonical(spec):
            yield other


def _changes(spec: Spec) -> Iterator[Spec]:
    kind, leaf, parts = spec.kind, spec.leaf, spec.parts
    yield Spec("none")
    yield Spec("list", parts=(spec,))
    yield from _changed_leaves(kind, leaf)
    if kind in SEQUENCES or kind in SETS or kind in ("Sequence", "objects"):
        first = 1 if kind == "Sequence" else 0
        for i in range(first, len(parts)):
            yield replace(spec, parts=parts[:i] + parts[i + 1 :])
            yield replace(spec, parts=(*parts, parts[i]))
        for i in range(first, len(parts) - 1):
            yield replace(spec, parts=(*parts[:i], parts[i + 1], parts[i], *parts[i + 2 :]))
        yield replace(spec, parts=(*parts, Spec("int", 0)))
        yield replace(spec, parts=(*parts, Spec("none")))
        if kind != "Sequence":
            for other in (*SEQUENCES, *SETS, "objects"):
                yield replace(spec, kind=other)
    if kind in RECORDS or (kind in SEQUENCES and len(parts) == 2):
        for other in (*RECORDS, *SEQUENCES):
            yield replace(spec, kind=other)
        yield replace(spec, parts=(parts[1], parts[0]))
    if kind in OBJECTS:
        for other in OBJECTS:
            yield replace(spec, kind=other)
        for i, name in enumerate(leaf):
            new_name = next(n for n in ("x", "y", "z", "w", "v") if n not in leaf)
            yield replace(spec, leaf=(*leaf[:i], new_name, *leaf[i + 1 :]))
            yield replace(spec, leaf=leaf[:i] + leaf[i + 1 :], parts=parts[:i] + parts[i + 1 :])
            if name == "x":
                yield replace(spec, leaf=(*leaf, new_name), parts=(*parts, parts[i]))
    if kind in ("dict", "OrderedDict", "Table"):
        first = 2 if kind == "Table" else 0
        for i in range(first, len(parts), 2):
            yield replace(spec, parts=parts[:i] + parts[i + 2 :])
        for i in range(first, len(parts) - 2, 2):
            a, b, c, d = parts[i : i + 4]
            yield replace(spec, parts=(*parts[:i], a, d, c, b, *parts[i + 4 :]))
        if kind == "OrderedDict" and len(parts) >= 4:
            yield replace(spec, parts=parts[2:] + parts[:2])
        yield replace(spec, parts=(*parts, Spec("str", "new key"), Spec("none")))
        if kind != "Table":
            for other in ("dict", "OrderedDict"):
                yield replace(spec, kind=other)


def _changed_leaves(kind: str, leaf: Any) -> Iterator[Spec]:
    match kind:
        case "bool" | "int":
            yield Spec("int", leaf + 1)
            yield Spec("int", -leaf - 1)
            yield Spec("int", int(leaf))
            yield Spec("int", leaf + (1 << 64))
            yield Spec("bool", bool(leaf))
            yield Spec("bool", not leaf)
            yield Spec("str", str(leaf))
            yield Spec("scalar", ("<i8", leaf % 100))
            if abs(leaf) < 1 << 50:
                yield Spec("float", _bits(float(leaf)))
        case "float":
            yield Spec("float", leaf ^ 1)
            yield Spec("float", leaf ^ (1 << 63))
            yield Spec("complex", (leaf, 0))
        case "complex":
            yield Spec("complex", (leaf[0] ^ (1 << 63), leaf[1]))
            yield Spec("complex", (leaf[0], leaf[1] ^ 1))
        case "str":
            yield Spec("str", leaf + "\0")
            yield Spec("str", leaf + "\ud800")
            yield Spec("str", leaf[1:])
            yield Spec("bytes", leaf.encode("utf-8", "surrogatepass"))
            yield Spec("path", leaf)
        case "bytes" | "bytearray":
            yield Spec("bytes", leaf + b"\0")
            yield Spec("bytes", leaf[1:])
            yield Spec("bytes", leaf)
            yield Spec("bytearray", leaf)
        case "enum":
            for name, cls in ENUMS.items():
                yield from (Spec("enum", (name, member)) for member in cls.__members__)
            yield Spec("int", 1)
            yield Spec("str", leaf[1])
        case "decimal":
            if leaf[-1].isdigit():
                yield Spec("decimal", leaf + "0")
            yield Spec("str", leaf)
        case "range":
            yield Spec("range", (leaf[0], leaf[1], leaf[2] + 1))
        case "scalar":
            yield Spec("scalar", (leaf[0], leaf[1] + 1))
            yield from (Spec("scalar", (dtype, leaf[1])) for dtype in DTYPES)
            yield Spec("array", (leaf[0], (), (leaf[1],)))
        case "array":
            dtype, shape, numbers = leaf
            yield from (Spec("array", (other, shape, numbers)) for other in DTYPES)
            yield Spec("array", (dtype, (*shape, 1), numbers))
            yield Spec("array", (dtype, shape[::-1], numbers))
            yield Spec("array", (dtype, shape, numbers[::-1]))
            if numbers:
                yield Spec("array", (dtype, shape, (numbers[0] + 1, *numbers[1:])))


def _bits(number: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", number))[0])


# -- strategies -----------------------------------------------------------------------------

_any_text = st.text(st.characters(exclude_categories=()), max_size=5)
_few_texts = st.sampled_from(["", "a", "b", "1", "RED", "a\0", "\ud800", "value", "é"])
_bits_of_floats = st.one_of(
    st.floats().map(_bits),
    st.sampled_from([0, 1 << 63, _bits(1.0), 0x7FF8 << 48, (0x7FF8 << 48) + 1, 0xFFF8 << 48]),
)


@st.composite
def _arrays(draw: st.DrawFn) -> Spec:
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    size = int(np.prod(shape))
    numbers = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    return Spec("array", (draw(st.sampled_from(DTYPES)), shape, tuple(numbers)))


_members = st.sampled_from(
    [Spec("enum", (name, member)) for name, cls in ENUMS.items() for member in cls.__members__]
)
_keys = st.one_of(
    st.just(Spec("none")),
    st.booleans().map(lambda b: Spec("bool", b)),
    st.one_of(st.integers(-2, 2), st.integers(-(10**40), 10**40)).map(lambda n: Spec("int", n)),
    st.one_of(_few_texts, _any_text).map(lambda s: Spec("str", s)),
    st.binary(max_size=3).map(lambda b: Spec("bytes", b)),
    _bits_of_floats.map(lambda bits: Spec("float", bits)),
    st.tuples(_bits_of_floats, _bits_of_floats).map(lambda bits: Spec("complex", bits)),
    _members,
    st.sampled_from(["0", "1", "1.0", "NaN", "-Infinity"]).map(lambda s: Spec("decimal", s)),
    st.sampled_from(["a", "a/b", "/a"]).map(lambda s: Spec("path", s)),
    st.tuples(st.integers(0, 2), st.integers(0, 5), st.integers(1, 2)).map(
        lambda r: Spec("range", r)
    ),
    st.tuples(st.sampled_from(DTYPES), st.integers(0, 2)).map(lambda s: Spec("scalar", s)),
    st.just(Spec("ellipsis")),
)
_leaves = st.one_of(_keys, _arrays(), st.binary(max_size=3).map(lambda b: Spec("bytearray", b)))
_hashables = st.recursive(
    _keys,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: Spec("tuple", parts=tuple(parts))),
        st.lists(inner, max_size=3).map(lambda parts: Spec("frozenset", parts=tuple(parts))),
        st.tuples(st.sampled_from(["Frozen", "FrozenSlotted", "Pair"]), inner, inner).map(
            lambda r: Spec(r[0], parts=r[1:])
        ),
    ).filter(valid),
    max_leaves=4,
)
_key_lists = st.one_of(
    st.lists(_hashables, max_size=4),
    st.lists(_any_text.map(lambda s: Spec("str", s)), max_size=5),
    st.lists(st.integers().map(lambda n: Spec("int", n)), max_size=5),
    # Long enough to be written as a chunk.
    st.integers(60, 140).map(lambda n: [Spec("int", i) for i in range(n)]),
)


def _containers(inner: st.SearchStrategy[Spec]) -> st.SearchStrategy[Spec]:
    parts = st.one_of(
        st.lists(inner, max_size=4),
        inner.map(lambda part: [part, part]),  # one object twice
        st.tuples(inner, st.integers(30, 140)).map(lambda r: [r[0], *[Spec("int", 7)] * r[1]]),
    ).map(tuple)

    @st.composite
    def mappings(draw: st.DrawFn) -> Spec:
        kind = draw(st.sampled_from(["dict", "dict", "OrderedDict", "Table"]))
        keys = draw(_key_lists)
        held = draw(st.lists(inner, min_size=1, max_size=5))
        pairs = [(key, held[i % len(held)]) for i, key in enumerate(keys)]
        if kind == "Table":
            pairs.insert(0, (Spec("none"), held[0]))
        return Spec(kind, parts=tuple(part for pair in pairs for part in pair))

    @st.composite
    def objects(draw: st.DrawFn) -> Spec:
        names = draw(st.lists(st.sampled_from("xyzw"), unique=True, max_size=4))
        held = tuple(draw(inner) for _ in names)
        return Spec(draw(st.sampled_from(sorted(OBJECTS))), tuple(names), held)

    return st.one_of(
        st.tuples(st.sampled_from(["list", "tuple", "deque", "objects"]), parts).map(
            lambda r: Spec(r[0], parts=r[1])
        ),
        st.tuples(inner, parts).map(lambda r: Spec("Sequence", parts=(r[0], *r[1]))),
        st.tuples(st.sampled_from(sorted(SETS)), _key_lists).map(
            lambda r: Spec(r[0], parts=tuple(r[1]))
        ),
        st.tuples(st.sampled_from(sorted(RECORDS)), inner, inner).map(
            lambda r: Spec(r[0], parts=r[1:])
        ),
        mappings(),
        objects(),
    ).filter(valid)


def specs() -> st.SearchStrategy[Spec]:
    """Any value without cycles."""
    return st.recursive(st.one_of(_leaves, _hashables), _containers, max_leaves=12)


def trees() -> st.SearchStrategy[Spec]:
    """Lists, dicts and instances, nested: what a configuration is made of."""
    leaves = st.one_of(
        st.sampled_from([Spec("int", n) for n in range(4)]),
        _few_texts.map(lambda s: Spec("str", s)),
        st.just(Spec("none")),
        st.just(Spec("float", _bits(0.5))),
    )
    keys = st.one_of(
        st.lists(_few_texts.map(lambda s: Spec("str", s)), max_size=3),
        st.lists(st.integers(-2, 2).map(lambda n: Spec("int", n)), max_size=3),
        st.lists(
            st.sampled_from(
                [Spec("int", 7), Spec("str", "k"), Spec("none"), Spec("float", _bits(0.5))]
            ),
            max_size=3,
        ),
    )

    @st.composite
    def mappings(draw: st.DrawFn, inner: st.SearchStrategy[Spec]) -> Spec:
        parts: list[Spec] = []
        for key in draw(keys):
            parts += (key, draw(inner))
        return Spec("dict", parts=tuple(parts))

    @st.composite
    def objects(draw: st.DrawFn, inner: st.SearchStrategy[Spec]) -> Spec:
        names = draw(st.lists(st.sampled_from("xyzw"), unique=True, max_size=3))
        return Spec("Attributes", tuple(names), tuple(draw(inner) for _ in names))

    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4).map(lambda parts: Spec("list", parts=tuple(parts))),
            mappings(inner),
            objects(inner),
            st.tuples(st.sampled_from(["Plain", "Slotted", "Frozen"]), inner, inner).map(
                lambda r: Spec(r[0], parts=r[1:])
            ),
        ).filter(valid),
        max_leaves=12,
    )
