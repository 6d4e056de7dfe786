"""Functions of Python and NumPy that can be called at compile time, and what they read of views.

Functions that only inspect, walk or pass on their arguments (`len`, `isinstance`, `getattr`,
`map`, `zip`) work on views, so that only what they use is read. All others are pure functions of
values: a view is read by value, and refused if the function would call methods of it that are not
recorded. A set is iterated over in an order that is the same in every process.
"""

from __future__ import annotations

import builtins
import enum
import math
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from whorl.fingerprint import fingerprint
from whorl.fingerprint.static_lookup import class_vars, find, mro

from .library import own_name
from .view import View

# Refuses values whose implicitly called methods (`__bool__`, `__str__`) are a user's code.
#
# `if x`, `f"{x}"`, `sum(x)` and `x + 1` call methods implicitly. A user's method may read anything,
# and an edit changes its result, but nobody would record that; so a value with such a method is not
# used at compile time. Methods of the interpreter, of the standard library and of NumPy count by
# their versions.


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
_HOLDERS: Final = (list, tuple, set, frozenset, dict)
_HARMLESS: Final = frozenset((int, float, complex, bool, str, bytes, type(None), type(...), range))


def checked(value: Any, *uses: Use) -> Any:
    """The value; TypeError if one of these uses of it, or of what it holds, runs code of a user.

    >>> checked([1, (2.5, "text")], TESTED, WRITTEN)
    [1, (2.5, 'text')]
    """
    waiting, met = [value], set[int]()
    while waiting:
        part = waiting.pop()
        cls = type(part)
        if (type(cls) is type and cls in _HARMLESS) or id(part) in met:
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
        elif issubclass(cls, _HOLDERS):
            waiting += next(kind for kind in _HOLDERS if issubclass(cls, kind)).__iter__(part)
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


def checked_classes(wanted: Any) -> Any:
    """What `isinstance` may be asked about: classes whose own code has no say in the answer."""
    for cls in wanted if type(wanted) is tuple else (wanted,):
        if type(cls) is tuple:
            checked_classes(cls)
        elif isinstance(cls, types.UnionType):
            checked_classes(cls.__args__)
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


Call = Callable[..., Any]
"""What calls a function of the program, or one of Python's, with views or values."""

_PURE: Final[frozenset[Any]] = frozenset(
    function
    for function in (
        abs, all, any, ascii, bin, bool, bytes, chr, complex, dict, divmod, float, format,
        frozenset, hex, int, oct, ord, pow, range, repr, round, set, slice, str, sum,
        *vars(math).values(),
    )
    if own_name(function) is not None  # anybody can put something else in its place
)  # fmt: skip
_EVERY: Final = (CONVERTED, HASHED, ITERATED, OPERATED, WRITTEN)
_USES: Final[dict[Any, tuple[Use, ...]]] = {
    **dict.fromkeys((bool, any, all), (TESTED, ITERATED)),
    **dict.fromkeys((str, repr, ascii, format), (WRITTEN,)),
    **dict.fromkeys((set, frozenset, dict), (ITERATED, HASHED)),
    **dict.fromkeys((int, float, complex, abs, round), (CONVERTED,)),
    **dict.fromkeys((divmod, pow, sum, math.fsum, math.prod), (OPERATED, ITERATED)),
    bytes: (CONVERTED, ITERATED),
}
"""What a pure function may do with its arguments; of those that are not here: anything."""
UNORDERED: Final = frozenset((set, frozenset, bool, str, repr, ascii, format))
"""Those to which the order of a set makes no difference, or which refuse it."""
_ABOUT_TYPES: Final = tuple(
    f"numpy.{name}" for name in ("dtype", "issubdtype", "promote_types", "result_type", "can_cast")
)
"""What NumPy says about types of elements: its own code, which counts by its version."""
_READ_MODULES: Final = ("builtins", "numpy", "numpy.dtypes")
_CONTAINERS: Final = (str, bytes, tuple, list, dict, set, frozenset, int, float, complex, range)
_PLAIN: Final = frozenset((*_CONTAINERS, bool, slice, type(None), types.GeneratorType))
_CHANGING: Final = frozenset(
    (
        "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update",
        "setdefault", "popitem", "add", "discard", "difference_update", "intersection_update",
        "symmetric_difference_update",
    )
)  # fmt: skip


# -- views as values -----------------------------------------------------------------------------


def value_of(result: Any) -> Any:
    """A value: what is behind a view is read."""
    if isinstance(result, View):
        return result.value()
    if type(result) in (list, tuple):
        return type(result)(map(value_of, result))
    if type(result) is Pairs:
        return {name: value_of(value) for name, value in result}.items()
    if isinstance(result, types.GeneratorType):
        return (value_of(item) for item in result)
    return result


class Pairs(list[tuple[Any, Any]]):
    """The items of a dict, the values as views. As a value it is what Python has for it."""


def argument(result: Any, uses: Sequence[Use]) -> Any:
    """A value that can be used in these ways; one item after the other where Python asks so."""
    if isinstance(result, types.GeneratorType):
        return (checked(value_of(item), *uses) for item in result)
    return checked(value_of(result), *uses)


def operand(result: Any) -> Any:
    """A value whose operators are not the user's: those would run without being read."""
    if isinstance(result, types.GeneratorType):
        result = list(result)
    value = checked(value_of(result), OPERATED)
    for part in value if type(value) in (list, tuple, set, frozenset) else (value,):
        cls = type(part)
        if cls.__module__ not in _READ_MODULES and not isinstance(part, enum.Enum):
            raise TypeError(f"the operators of {cls.__qualname__} are code that is not read")
    return value


def key(result: Any) -> Any:
    """What a set or a dict is asked for."""
    return checked(value_of(result), HASHED)


def text(result: Any) -> str:
    """What is written for a value."""
    return str(checked(value_of(result), WRITTEN))


def parts_of(holder: Any) -> Iterator[Any]:
    """What iterating over a view or a value yields."""
    if isinstance(holder, View):
        own_items(holder.peek())
        if isinstance(holder.peek(), list | tuple | dict | set | frozenset):
            return iter(holder)
        return iter(holder.value())
    if isinstance(holder, set | frozenset):  # in an order that is the same in every process
        return iter(sorted(holder, key=fingerprint))
    return iter(own_items(holder))


def member(holder: Any, name: str) -> Any:
    """An attribute of a view or of a value.

    Of a value it is read by nobody, so it has to be one of Python's own: whatever has a class of
    the user's may say something else after an edit.
    """
    return holder.attr(name) if isinstance(holder, View) else getattr(_of_python(holder), name)


def _of_python(holder: Any) -> Any:
    cls = type(holder)
    if isinstance(holder, types.ModuleType):
        is_own = is_versioned(holder.__name__)
    else:
        is_own = type(cls) is type and cls in _PLAIN
    if not is_own:
        raise TypeError(f"it is an attribute of a {cls.__name__} {_BY_NOW}")
    return holder


_BY_NOW: Final = (
    "that is a value by now: what its class says is not read (an item that is come to by `for`, "
    "`enumerate`, `zip`, `map` or an index can be asked)"
)


# -- which functions they are --------------------------------------------------------------------


def is_of_numpy(callee: Any) -> bool:
    """Whether it is one of those that say something about types of elements."""
    return own_name(callee) in _ABOUT_TYPES


def is_pure(callee: Any) -> bool:
    """Whether what comes out depends on nothing but what goes in."""
    try:
        if callee in _PURE:
            return True
    except TypeError:
        return False
    if not isinstance(callee, types.BuiltinFunctionType | types.BuiltinMethodType):
        return False
    owner, name = callee.__self__, callee.__name__
    return isinstance(owner, _CONTAINERS) and not name.startswith("_") and name not in _CHANGING


def uses_of(callee: Any) -> tuple[Use, ...]:
    """What a function may do with its arguments."""
    owner = getattr(callee, "__self__", None)
    if isinstance(owner, set | frozenset):
        return (HASHED, ITERATED)
    if isinstance(owner, dict):
        return (HASHED,)
    if isinstance(owner, str | bytes) and callee.__name__ == "join":
        return (ITERATED,)
    return _USES.get(callee, _EVERY)


# -- those that work on views --------------------------------------------------------------------


def _len(call: Call, value: Any) -> int:
    return value.len() if isinstance(value, View) else len(own_items(value))


def _isinstance(call: Call, value: Any, classes: Any) -> bool:
    wanted = checked_classes(value_of(classes))
    if isinstance(value, View):
        return value.is_instance(wanted)
    if not is_versioned(type(value).__module__):
        raise TypeError(f"it asks about a {type(value).__name__} {_BY_NOW}")
    return isinstance(value, wanted)


def _getattr(call: Call, value: Any, name: Any, *default: Any) -> Any:
    if not default:
        return member(value, value_of(name))
    if isinstance(value, View):
        result = value.attr_if_any(value_of(name))
        return default[0] if result is None else result
    return getattr(_of_python(value), value_of(name), *default)


def _hasattr(call: Call, value: Any, name: Any) -> bool:
    if isinstance(value, View):
        return value.attr_if_any(value_of(name)) is not None
    return hasattr(_of_python(value), value_of(name))


def _type(call: Call, value: Any) -> Any:
    if not isinstance(value, View):
        return type(value)
    type_fact = value.type()
    if type_fact[0] in ("scalar", "buffer", "function"):  # which several classes have
        value.attr("__class__").value()
    return type(value.peek())


def _map(call: Call, function: Any, *holders: Any) -> Iterator[Any]:
    every = zip(*map(parts_of, holders), strict=False)
    return (call(function, *items) for items in every)


def _filter(call: Call, function: Any, holder: Any) -> Iterator[Any]:
    for item in parts_of(holder):
        if checked(value_of(item if function is None else call(function, item)), TESTED):
            yield item


def _enumerate(call: Call, holder: Any, start: Any = 0) -> Iterator[Any]:
    return (pair for pair in enumerate(parts_of(holder), value_of(start)))


def _zip(call: Call, *holders: Any, strict: Any = False) -> Iterator[Any]:
    return (items for items in zip(*map(parts_of, holders), strict=value_of(strict)))


def _reversed(call: Call, holder: Any) -> Iterator[Any]:
    value = holder.peek() if isinstance(holder, View) else holder
    if not isinstance(value, list | tuple | dict | range | str | bytes):
        raise TypeError(f"{type(value).__name__!r} object is not reversible")
    return (item for item in [*parts_of(holder)][::-1])


def _sorted(call: Call, holder: Any, key: Any = None, reverse: Any = False) -> list[Any]:
    ranked = _ranked(call, [*parts_of(holder)], key)
    ranked.sort(key=lambda pair: pair[0], reverse=bool(checked(value_of(reverse), TESTED)))
    return [item for _, item in ranked]


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(call: Call, *given: Any, key: Any = None, **default: Any) -> Any:
        items = [*parts_of(given[0])] if len(given) == 1 else [*given]
        if not items and default:
            return default["default"]
        return choose(_ranked(call, items, key), key=lambda pair: pair[0])[1]

    return extreme


def _ranked(call: Call, items: list[Any], key: Any) -> list[tuple[Any, Any]]:
    """Items, which may be views, after what they are put in order by."""
    is_own = key is None or (not isinstance(key, View) and value_of(key) is None)
    return [(operand(item if is_own else call(key, item)), item) for item in items]


def _list(call: Call, holder: Any = ()) -> list[Any]:
    return [*parts_of(holder)]


def _tuple(call: Call, holder: Any = ()) -> tuple[Any, ...]:
    return (*parts_of(holder),)


_SPECIAL: Final[dict[Any, Callable[..., Any]]] = {
    len: _len,
    isinstance: _isinstance,
    getattr: _getattr,
    hasattr: _hasattr,
    type: _type,
    map: _map,
    filter: _filter,
    enumerate: _enumerate,
    zip: _zip,
    reversed: _reversed,
    list: _list,
    tuple: _tuple,
    sorted: _sorted,
    min: _extreme(min),
    max: _extreme(max),
}
SPECIAL: Final = {
    function: special
    for function, special in _SPECIAL.items()
    if own_name(function) is not None  # as above
}
"""Functions that look at views without reading their values, or pass them on."""
