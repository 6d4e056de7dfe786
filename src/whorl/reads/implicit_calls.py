"""Refuses values whose implicitly called methods (`__bool__`, `__str__`) are a user's code.

`if x`, `f"{x}"`, `sum(x)` and `x + 1` call methods implicitly. A user's method may read anything,
and an edit changes its result, but nobody would record that; so a value with such a method is not
used at compile time. Methods of the interpreter, of the standard library and of NumPy count by
their versions.
"""

from __future__ import annotations

import builtins
import sys
import types
from typing import Any, Final

from whorl.fingerprint.static_lookup import class_vars, find, mro

__all__ = [
    "CONVERTED", "HASHED", "ITERATED", "OPERATED", "TESTED", "WRITTEN", "Use", "checked",
    "classes", "is_pythons", "is_versioned", "own_items",
]  # fmt: skip

Use = tuple[str, frozenset[str]]
"""What is done, in words, and the methods that this may call."""


def _names(text: str) -> frozenset[str]:
    return frozenset(f"__{name}__" for name in text.split())


TESTED: Final[Use] = ("the truth", _names("bool len"))
WRITTEN: Final[Use] = ("the text", _names("str repr format"))
HASHED: Final[Use] = ("the hash", _names("hash eq"))
ITERATED: Final[Use] = (
    "iterating over",
    _names("iter next getitem len reversed contains length_hint"),
)
_ARITHMETIC: Final = "add sub mul truediv floordiv mod pow divmod lshift rshift and or xor matmul"
OPERATED: Final[Use] = (
    "an operator",
    _names(
        f"{_ARITHMETIC} {' '.join(f'r{name}' for name in _ARITHMETIC.split())} "
        "neg pos invert bool len eq ne lt le gt ge contains iter getitem hash index"
    ),
)
CONVERTED: Final[Use] = (
    "a conversion",
    _names("int float complex index bytes abs round trunc floor ceil buffer"),
)
_CONTAINERS: Final = (list, tuple, set, frozenset, dict)
_PLAIN: Final = frozenset((int, float, complex, bool, str, bytes, type(None), type(...), range))


def checked(value: Any, *uses: Use) -> Any:
    """The value; TypeError if one of these uses of it, or of what it holds, runs code of a user.

    >>> checked([1, (2.5, "text")], TESTED, WRITTEN)
    [1, (2.5, 'text')]
    """
    waiting, met = [value], set[int]()
    while waiting:
        part = waiting.pop()
        cls = type(part)
        if (type(cls) is type and cls in _PLAIN) or id(part) in met:
            continue
        met.add(id(part))
        for words, names in uses:
            name = _of_a_user(cls, names)
            if name is None and names is WRITTEN[1]:
                if issubclass(cls, set | frozenset) and len(part) > 1:
                    raise TypeError("the text of a set is not the same in every process")
                name = "__repr__" if _shows_address(cls) else None
            if name is not None:
                what = f"{words} of {cls.__qualname__}" if words != ITERATED[0] else f"{words} it"
                raise TypeError(f"{what} is code that is not read ({cls.__qualname__}.{name})")
        if issubclass(cls, dict):
            waiting += (*dict.keys(part), *dict.values(part))
        elif issubclass(cls, _CONTAINERS):
            waiting += next(kind for kind in _CONTAINERS if issubclass(cls, kind)).__iter__(part)
    return value


def own_items(value: Any) -> Any:
    """The container; TypeError if a user's code decides what it holds.

    >>> own_items([1, 2])
    [1, 2]
    """
    name = _of_a_user(type(value), ITERATED[1])
    if name is not None:
        where = f"{type(value).__qualname__}.{name}"
        raise TypeError(f"iterating over it is code that is not read ({where})")
    return value


def classes(wanted: Any) -> Any:
    """What `isinstance` may be asked about: classes whose own code has no say in the answer."""
    for cls in wanted if type(wanted) is tuple else (wanted,):
        if type(cls) is tuple:
            classes(cls)
        elif isinstance(cls, types.UnionType):
            classes(cls.__args__)
        else:
            name = _of_a_user(type(cls), _INSTANCE_CHECK)
            if name is None and isinstance(cls, type):
                name = _of_a_user(cls, _SUBCLASS_HOOK)
            if name is not None:
                raise TypeError(f"what is an instance is decided by code that is not read ({name})")
    return wanted


_INSTANCE_CHECK: Final = _names("instancecheck subclasscheck")
_SUBCLASS_HOOK: Final = _names("subclasshook")


def _of_a_user(cls: type, names: frozenset[str]) -> str | None:
    """The first of these methods that an instance has from a user's code."""
    missing = set(names)
    for base in mro(cls):
        stored = class_vars(base)
        for name in sorted(missing & stored.keys()):
            missing.discard(name)
            if not _is_of_a_library(stored[name], base):
                return name
    return None


def _is_of_a_library(method: object, base: type) -> bool:
    """Whether a method is the interpreter's, the standard library's or NumPy's."""
    function = getattr(method, "__func__", method)
    if isinstance(function, types.FunctionType):
        module = function.__globals__.get("__name__")
    elif method is None or type(function).__module__ == builtins.__name__:
        return True  # a slot of a class in C, or nothing at all
    else:
        module = base.__module__
    return is_versioned(module)


def is_versioned(module: object) -> bool:
    """Whether a module is the interpreter's, the standard library's or NumPy's.

    >>> is_versioned("numpy.linalg"), is_versioned("solver")
    (True, False)
    """
    top = str(module).partition(".")[0]
    return top in sys.stdlib_module_names or top == "numpy"


def is_pythons(cls: type, *names: str) -> bool:
    """Whether no method of these names is a user's.

    >>> is_pythons(dict, "items", "__iter__")
    True
    """
    return _of_a_user(cls, frozenset(names)) is None


def _shows_address(cls: type) -> bool:
    """Whether the text of an instance is where it lies in memory."""
    shown = [find(cls, name) for name in ("__repr__", "__str__")]
    return shown == [find(object, name) for name in ("__repr__", "__str__")]
