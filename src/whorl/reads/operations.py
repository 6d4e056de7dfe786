"""A value and a step in, what it leads to out: items, keys, members and settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from whorl.fingerprint.lookup import derives, find
from whorl.lazy import importing, load, room

from .world import function_behind

if TYPE_CHECKING:
    from . import item as keys
else:
    keys = room("whorl.reads.item", globals())

__all__ = ["OPERATIONS", "item"]


def item(value: Any, key: Any) -> Any:
    """What `value[key]` is, without what looking would insert."""
    cls = type(value)
    if (
        derives(cls, defaultdict)
        and find(cls, "__missing__") is defaultdict.__missing__
        and not dict.__contains__(value, key)
    ):
        raise KeyError(key)
    return value[key]


def _keyed_item(value: Any, code: Any) -> Any:
    """The same for a key as plain data."""
    return item(value, keys.key_of(code))


def _names_held(compiler: object, name: object) -> tuple[str, ...]:
    with importing:
        from .settings import names_held

    return names_held(compiler)


def _in_order(members: Any) -> list[Any]:
    with importing:
        from whorl.fingerprint import fingerprint

    return sorted(members, key=fingerprint)


def _written(value: Any, name: object) -> str | None:
    with importing:
        from whorl.fingerprint.source import undecorated_source

    return undecorated_source(function_behind(value).__code__)


def _evaluated(value: Any, name: Any) -> Any:
    """The annotation of a parameter, from Python 3.14 on, where others cannot be evaluated."""
    library = load("annotationlib")
    every = library.get_annotations(function_behind(value), format=library.Format.FORWARDREF)
    if isinstance(every[name], library.ForwardRef):
        raise LookupError(name)
    return every[name]


def _with_code(value: Any, name: object) -> str:
    """A value and the code of the classes that it is of, as a function that holds it would have."""
    with importing:
        from .digested import digest_with_code

    return digest_with_code(value)


OPERATIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "item": item,
    "keyed": _keyed_item,
    "key": lambda value, place: list(value)[place],
    "member": lambda value, place: _in_order(value)[place],
    "settings": _names_held,
    "written": _written,
    "with code": _with_code,
    "evaluated": _evaluated,
    "behind": lambda value, name: getattr(function_behind(value), name),
    "isinstance": lambda value, code: isinstance(value, keys.key_of(code)),  # type: ignore[arg-type] # a class, or it raises
}
"""How these steps are done; those that are more usual are in `world`."""
