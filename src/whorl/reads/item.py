"""Keys of items as plain data that means the same in every process, and back.

    int, str, bytes, None               themselves
    a tuple of these                    itself
    bool, float, complex                ("bool", "True"), ("float", hex), ("complex", hex, hex)
    ...                                 ("...",)
    an enum member                      ("enum", module, class, name)
    a class                             ("class", module, class)
    other tuples, frozensets            ("tuple", key...), ("frozenset", key...)

Keys that Python takes for equal (1, True and 1.0) are told apart, since a class may do so. Enums
and other classes are found by name among the modules that are loaded; none is ever imported.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Hashable
from typing import Any, Final, cast

from whorl.fingerprint.names import known_module_name, resolve
from whorl.fingerprint.static_lookup import ABSENT, derives, module_name, qualname

__all__ = ["NoKey", "is_plain_key", "key_code", "key_of", "key_words"]

_PLAIN: Final = frozenset((int, str, bytes, type(None)))


class NoKey(Exception):
    """A key that cannot be found again in another process."""


def is_plain_key(key: object) -> bool:
    """Whether a key stands for itself.

    >>> is_plain_key(("a", 1)), is_plain_key(("a", True))
    (True, False)
    """
    cls = type(key)
    if cls is tuple:
        return all(map(is_plain_key, cast("tuple[Any, ...]", key)))
    return type(cls) is type and cls in _PLAIN


def key_code(key: Any) -> Any:
    """A key as plain data; `NoKey` if there is none.

    >>> key_code((True, 0.5, "a"))
    ('tuple', ('bool', 'True'), ('float', '0x1.0000000000000p-1'), 'a')
    """
    cls = type(key)
    if type(cls) is type and cls in _PLAIN:
        return key
    if cls is bool:
        return ("bool", str(key))
    if cls is float and not math.isnan(key):
        return ("float", key.hex())
    if cls is complex and not (math.isnan(key.real) or math.isnan(key.imag)):
        return ("complex", key.real.hex(), key.imag.hex())
    if key is ...:
        return ("...",)
    if cls is tuple:
        return ("tuple", *map(key_code, key))
    if cls is frozenset:
        return ("frozenset", *sorted(map(key_code, key), key=repr))
    if derives(cls, type):
        return ("class", *_class_code(key))
    if derives(type(cls), enum.EnumMeta) and cls._member_map_.get(key._name_) is key:
        return ("enum", *_class_code(cls), key._name_)
    raise NoKey


def key_of(code: Any) -> Hashable:
    """The key that plain data stands for; `NoKey` if it is not to be found here."""
    if type(code) is not tuple:
        return cast("Hashable", code)
    match code:
        case ("bool", text):
            return bool(text == "True")
        case ("float", text):
            return float.fromhex(text)
        case ("complex", real, imaginary):
            return complex(float.fromhex(real), float.fromhex(imaginary))
        case ("...",):
            return ...
        case ("tuple", *codes):
            return tuple(map(key_of, codes))
        case ("frozenset", *codes):
            return frozenset(map(key_of, codes))
        case ("class", module, dotted):
            return _class_named(module, dotted)
        case ("enum", module, dotted, name):
            members: Any = getattr(_class_named(module, dotted), "_member_map_", {})
            if name in members:
                return cast("Hashable", members[name])
    raise NoKey


def key_words(code: Any) -> str:
    """A key as Python writes it.

    >>> key_words(("tuple", ("enum", "solver", "Mode", "FAST"), 3))
    '(Mode.FAST, 3)'
    """
    if type(code) is not tuple:
        return repr(code)
    match code:
        case ("bool", text):
            return str(text)
        case ("float" | "complex", *_):
            return repr(key_of(code))
        case ("tuple", *codes):
            comma = "," if len(codes) == 1 else ""
            return f"({', '.join(map(key_words, codes))}{comma})"
        case ("frozenset", *codes):
            return f"frozenset({{{', '.join(map(key_words, codes))}}})"
        case ("class", _, dotted):
            return str(dotted)
        case ("enum", _, dotted, name):
            return f"{dotted}.{name}"
    return "..."


def _class_code(cls: type) -> tuple[str, str]:
    dotted = qualname(cls)
    for module in (known_module_name(module_name(cls)), module_name(cls)):
        try:
            if _class_named(module, dotted) is cls:
                return module, dotted
        except NoKey:
            continue
    raise NoKey


def _class_named(module: str, dotted: str) -> type:
    cls = resolve(module, dotted)
    if cls is ABSENT and known_module_name("__main__") == module:
        cls = resolve("__main__", dotted)
    if not derives(type(cls), type):
        raise NoKey
    return cast("type", cls)
