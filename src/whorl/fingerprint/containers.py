"""The emitters of builtin containers, which are written by hand.

Dicts are where configurations spend their time, so they get an emitter for each sequence of
keys that was met. It knows the tag and the sorted order, and reads only the values:

    few keys     read one by one; when met often, by generated code like that of instances
    many keys    fetched at once; the tuple of their classes tells whether all are tokens

Measured by `bench/fingerprint.py`; the plain twin is `rules.builtin.dict_node`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from operator import countOf, itemgetter
from typing import Any, Final

from .emitter_factory import EmitterFactory
from .plan import value_hints, values_plan
from .rules.builtin import keys_tag, sortable
from .run import Emit, EmitRun, Learn, Table, collapse, spend
from .tokens import CHUNK, FLAT, LEAVES, bytes_tokens, item_token

__all__ = ["container_emitters", "write_items"]

FEW: Final = 16  # keys up to which values are read one by one
OFTEN: Final = 64  # dicts of the same few keys after which code is generated for them
GENERATED: Final = 256  # sequences of keys that code is generated for
MOST_KEYS: Final = 1 << 16  # keys remembered in all
MOST_KINDS: Final = 1024

Keys = tuple[Any, ...]
Values = tuple[Any, ...]


def _sizes_of_str_keyed(upto: int = 1024) -> frozenset[int]:
    """Sizes that only those dicts have whose keys are all exactly `str`.

    The interpreter stores such dicts more tightly, without the hashes. So the size of a dict tells
    what counting the classes of all keys would; for any other size, they are counted.
    """
    tight: dict[object, None] = {}
    loose: dict[object, None] = {0: None}
    tight_sizes = set()
    loose_sizes = {{}.__sizeof__()}
    for i in range(upto):
        tight[str(i)] = loose[i] = None
        tight_sizes.add(tight.__sizeof__())
        loose_sizes.add(loose.__sizeof__())
    return frozenset(tight_sizes - loose_sizes)


STR_KEYED: Final = _sizes_of_str_keyed()


def container_emitters(table: Table, learn: Learn, *, inline: bool) -> Table:
    """Emitters of the builtin containers, which use those of a table for what is in them."""
    return {
        list: _sequence(b"L", table, learn),
        tuple: _sequence(b"T", table, learn),
        dict: _dict(table, learn, inline=inline),
        set: _set(b"S", table, learn),
        frozenset: _set(b"Z", table, learn),
        bytes: _bytes,
        **dict.fromkeys(LEAVES, _leaf),
    }


def _leaf(value: object, out: list[object], run: EmitRun) -> None:
    out.append(value)


def _bytes(value: bytes, out: list[object], run: EmitRun) -> None:
    out += bytes_tokens(value)


def write_items(
    items: Iterable[tuple[object, ...]], out: list[object], run: EmitRun, emit_part: Emit
) -> None:
    """The members of a container without order: how many, then each as one token, sorted."""
    finished = []
    for item in items:
        inner: list[object] = []
        for part in item:
            emit_part(part, inner, run)
        finished.append(item_token(inner))
        spend(run, len(inner))
    out.append(len(finished))
    finished.sort()
    out += finished


def _any_part(table: Table, learn: Learn) -> Emit:
    def emit(part: object, out: list[object], run: EmitRun) -> None:
        kind = type(part)
        (table.get(kind) or learn(kind))(part, out, run)

    return emit


def _sequence(tag: bytes, table: Table, learn: Learn) -> Emit:
    def emit(value: Any, out: list[object], run: EmitRun) -> None:
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
        for part in value:
            kind = type(part)
            if kind in LEAVES:
                out.append(part)
            else:
                (table.get(kind) or learn(kind))(part, out, run)
        if len(out) - start >= CHUNK:
            collapse(out, start, run)

    return emit


def _set(tag: bytes, table: Table, learn: Learn) -> Emit:
    any_part = _any_part(table, learn)

    def emit(value: Any, out: list[object], run: EmitRun) -> None:
        start = len(out)
        if sortable(value):
            out += (tag, len(value))
            out += sorted(value)
        else:
            out += (tag + b"*", 0)
            write_items(zip(value), out, run, any_part)
        if len(out) - start >= CHUNK:
            collapse(out, start, run)

    return emit


# -- dicts ------------------------------------------------------------------------------


_Shape = tuple[int, Callable[[dict[Any, object]], Values], Emit]
"""Of the dicts of certain keys: how many, how to fetch the values by sorted key, how to write
them. A plain tuple, which is unpacked 40 ns faster than any other."""


def _dict(table: Table, learn: Learn, *, inline: bool) -> Emit:
    any_part = _any_part(table, learn)
    known: dict[Keys, _Shape] = {}
    guesses: dict[str, _Shape] = {}  # by first key, the shape met last
    key_count = generated = 0

    def emit(value: dict[Any, object], out: list[object], run: EmitRun) -> None:
        if value.__sizeof__() in STR_KEYED:
            for first in value:
                guess = guesses.get(first)
                if guess is not None:
                    size, values_of, write = guess
                    if len(value) == size:
                        try:
                            values = values_of(value)
                        except KeyError:
                            break
                        write(values, out, run)  # as many keys, and all of them: the very same
                        return
                break
        elif not _of_one_kind(value):
            emit_unsorted(value, out, run)
            return
        keys = tuple(value)
        shape = known.get(keys) or learn_shape(keys)
        if keys and type(keys[0]) is str:
            guesses[keys[0]] = shape
        _, values_of, write = shape
        write(values_of(value), out, run)

    def emit_unsorted(value: dict[Any, object], out: list[object], run: EmitRun) -> None:
        start = len(out)
        out += (b"M", 0)
        write_items(value.items(), out, run, any_part)
        if len(out) - start >= CHUNK:
            collapse(out, start, run)

    def learn_shape(keys: Keys) -> _Shape:
        nonlocal key_count
        key_count += len(keys) + 1
        if key_count > MOST_KEYS:
            known.clear()
            guesses.clear()
            key_count = len(keys) + 1
        ordered = sorted(keys)
        if len(keys) <= FEW:
            write = _few_values(ordered, table, learn, partial(generate, keys))
        else:
            write = _many_values(ordered, table, learn)
        shape = (len(keys), _getter(ordered), write)
        if key_count <= MOST_KEYS:
            known[keys] = shape
        return shape

    def generate(keys: Keys, sample: Values) -> None:
        """Let generated code take over for dicts of these keys, with values like the sample."""
        nonlocal generated
        if generated >= GENERATED:
            return
        generated += 1
        plan = values_plan(sorted(keys))
        scope = {"TAG": keys_tag(plan.names), "table": table, "learn": learn}

        def install(write: Emit) -> None:
            guesses.pop(keys[0], None)
            known[keys] = (len(keys), _getter(plan.names), write)

        hints_of = partial(value_hints, inline=inline)
        install(EmitterFactory("a dict", plan, hints_of, scope, install)(sample))

    return emit


def _of_one_kind(keys: dict[Any, object]) -> bool:
    """Whether the keys are all exactly `str` or all exactly `int`: those sort alike everywhere.

    The same as `sortable`, faster.
    """
    kind: type = str
    for key in keys:
        if type(key) is int:
            kind = int
        break
    return countOf(map(type, keys), kind) == len(keys)


def _getter(keys: Sequence[Any]) -> Callable[[dict[Any, Any]], Values]:
    """A function that takes the values of a dict in the order of these keys."""
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda value: tuple(value[key] for key in keys)


def _few_values(
    ordered: list[Any], table: Table, learn: Learn, often: Callable[[Values], None]
) -> Emit:
    tag = keys_tag(ordered)
    left = OFTEN if ordered else -1

    def write(values: Values, out: list[object], run: EmitRun) -> None:
        nonlocal left
        start = len(out)
        out.append(tag)
        for part in values:
            kind = type(part)
            if kind in LEAVES:
                out.append(part)
            else:
                (table.get(kind) or learn(kind))(part, out, run)
        if len(out) - start >= CHUNK:
            collapse(out, start, run)
        left -= 1
        if not left:
            often(values)

    return write


def _many_values(ordered: list[Any], table: Table, learn: Learn) -> Emit:
    tag = keys_tag(ordered)
    fetches: dict[tuple[type, ...], _Fetch] = {}
    flat_kinds: set[tuple[type, ...]] = set()  # classes of what is in lists that are tokens

    def write(values: Values, out: list[object], run: EmitRun) -> None:
        start = len(out)
        out.append(tag)
        kinds = tuple(map(type, values))
        fetch = fetches.get(kinds) or learn_fetch(kinds)
        if fetch is _all_tokens or (fetch is not _one_by_one and are_flat(fetch(values))):
            out += values
        else:
            for part, kind in zip(values, kinds, strict=True):
                if kind in LEAVES:
                    out.append(part)
                else:
                    (table.get(kind) or learn(kind))(part, out, run)
        if len(out) - start >= CHUNK:
            collapse(out, start, run)

    def learn_fetch(kinds: tuple[type, ...]) -> _Fetch:
        if len(fetches) >= MOST_KINDS:
            fetches.clear()
        fetches[kinds] = fetch = _fetch_lists(kinds)
        return fetch

    def are_flat(lists: Values) -> bool:
        kinds = tuple(map(type, chain(*lists)))
        if len(kinds) > FLAT and max(map(len, lists)) > FLAT:
            return False
        if kinds in flat_kinds:
            return True
        flat = LEAVES.issuperset(kinds)
        if flat:
            if len(flat_kinds) >= MOST_KINDS:
                flat_kinds.clear()
            flat_kinds.add(kinds)
        return flat

    return write


_Fetch = Callable[[Values], Values]
"""The lists among values of certain classes, which are tokens if they are flat; or one of these:"""


def _all_tokens(values: Values) -> Values:
    return ()


def _one_by_one(values: Values) -> Values:
    return values


def _fetch_lists(kinds: tuple[type, ...]) -> _Fetch:
    lists = [i for i, kind in enumerate(kinds) if kind is list or kind is tuple]
    if len(lists) + sum(kind in LEAVES for kind in kinds) < len(kinds):
        return _one_by_one
    if not lists:
        return _all_tokens
    if len(lists) == 1:
        only = lists[0]
        return lambda values: (values[only],)
    return itemgetter(*lists)
