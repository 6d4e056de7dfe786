"""Values as texts for people: as literals, part by part, or by digest.

The parts of a key are stored as texts beside it, so that a miss can say what differs. The digest
of a large value would only say that something in it differs; so its items and attributes are
written one by one, each with its path, as long as they are few.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any, Final, cast

from whorl.fingerprint.fingerprinter import fingerprint
from whorl.fingerprint.markers import declared_markers
from whorl.fingerprint.modes import InOrder
from whorl.fingerprint.rules.builtin import short
from whorl.fingerprint.source import code_digest
from whorl.fingerprint.static_lookup import (
    class_vars,
    find,
    instance_dict,
    module_name,
    mro,
    type_name,
)
from whorl.fingerprint.tokens import is_flat, is_leaf
from whorl.signals import pass_on

_MOST_PARTS: Final = 48
_DEPTH: Final = 6
_HEAP_CLASS: Final = 1 << 9  # made by a class statement


def text_rows(
    path: str, value: object, digest: str = "", *, in_order: bool = False
) -> list[tuple[str, str]]:
    """The path and the text of a value, or those of its parts where these say more.

    `in_order`: the order of dicts counts, since code reads them.

    A value that counts by another `digest` than its fingerprint has parts that do not count;
    which ones is not known here, so its parts are not shown.

    >>> text_rows("CONFIG", {"tile": 8})
    [('CONFIG', "{'tile': 8}")]
    >>> text_rows("CONFIG", {"grid": {"n": [1, 2]}, "tile": 8})
    [("CONFIG['grid']['n']", '[1, 2]'), ("CONFIG['tile']", '8')]
    >>> text_rows("CONFIG", {"tile": [8], "grid": {}}, in_order=True)[-1]
    ('CONFIG.keys()', "['tile', 'grid']")
    """
    if digest and not value_text(value).endswith(f" {digest[:12]}>"):
        return [(path, value_text(value))]
    rows: list[tuple[str, str]] = []
    for row in _rows(path, value, _DEPTH, in_order):
        if row is None or len(rows) == _MOST_PARTS:
            return [(path, value_text(value, in_order=in_order))]
        rows.append(row)
    return rows


def _rows(path: str, value: object, depth: int, in_order: bool) -> Iterator[tuple[str, str] | None]:
    """The rows of a value; None where it is too deep."""
    text = value_text(value, in_order=in_order)
    parts = list(_parts(value)) if text.startswith("<") else []
    if not parts:
        yield path, text
    elif depth == 0:
        yield None
    else:
        for name, part in parts:
            yield from _rows(f"{path}{name}", part, depth - 1, in_order)
        if in_order and type(value) is dict and len(value) > 1:
            yield f"{path}.keys()", value_text([*value])


def _parts(value: object) -> Iterator[tuple[str, object]]:
    """The items or attributes of a value, if they are all there is to it and not many."""
    kind = type(value)
    if kind is dict:
        table = cast("dict[Any, object]", value)
        if len(table) <= _MOST_PARTS and all(type(key) in (str, int) for key in table):
            rows = ((f"[{key!r}]", item) for key, item in table.items())
            yield from sorted(rows, key=lambda row: row[0])  # the order has a row of its own
    elif kind is list or kind is tuple:
        items = cast("list[object]", value)
        if len(items) <= _MOST_PARTS:
            yield from ((f"[{i}]", item) for i, item in enumerate(items))
    elif _is_all_attributes(kind):
        attributes = instance_dict(value) or {}
        if all(type(name) is str for name in attributes):
            for name, item in sorted(attributes.items()):
                if type(find(kind, name)) is not functools.cached_property:
                    yield f".{name}", item


def _is_all_attributes(cls: type) -> bool:
    """Whether the state of an instance is its dictionary, all of which counts in one way."""
    *own, last = mro(cls)
    return (
        last is object
        and bool(own)
        and all(
            type.__dict__["__flags__"].__get__(c) & _HEAP_CLASS and "__slots__" not in class_vars(c)
            for c in own
        )
        and not declared_markers(cls)
    )


def value_text(value: object, *, in_order: bool = False) -> str:
    """A value as its literal if that is short, by its digest otherwise."""
    ordered = value.value if type(value) is InOrder else None
    if type(ordered) is dict and (text := _short_dict(ordered, in_order=True)):
        return text
    kind = type(value)
    if is_leaf(kind) or kind is bytes:
        return short(value)
    if type(value) is types.FunctionType:
        return code_digest(value.__code__).hex[:16]
    if (kind is tuple or kind is list) and is_flat(cast("Any", value)) and len(repr(value)) <= 60:
        return repr(value)
    if kind is dict and (text := _short_dict(cast("dict[Any, Any]", value), in_order=in_order)):
        return text
    # Of whorl's own wrapper around an argument, the module says nothing to people.
    is_ours = str(module_name(kind)).startswith("whorl.steps.")
    name = kind.__name__ if is_ours else type_name(kind)
    try:
        return f"<{name} {fingerprint(value)[:12]}>"
    except Exception as error:  # an explanation must never stop a call
        pass_on(error)
        return f"<{name}>"


def _short_dict(value: dict[Any, Any], *, in_order: bool) -> str:
    """A small dict with plain items, sorted where the order does not count; or an empty text."""
    if len(value) > 8 or not all(type(key) is str for key in value):
        return ""
    if not all(is_leaf(type(item)) for item in value.values()):
        return ""
    text = repr(value if in_order else dict(sorted(value.items())))
    return text if len(text) <= 80 else ""
