"""Functions of Python and NumPy that can be called at compile time, and what they read of views.

Functions that only inspect, walk or pass on their arguments (`len`, `isinstance`, `getattr`,
`map`, `zip`) work on views, so that only what they use is read. All others are pure functions of
values: a view is read by value, and refused if the function would call methods of it that are not
recorded. A set is iterated over in an order that is the same in every process.
"""

from __future__ import annotations

import enum
import math
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from whorl.fingerprint import fingerprint

from . import implicit_calls
from .implicit_calls import (
    CONVERTED,
    HASHED,
    ITERATED,
    OPERATED,
    TESTED,
    WRITTEN,
    checked,
    own_items,
)
from .library import own_name
from .view import View

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "SPECIAL", "UNORDERED", "Pairs", "argument", "is_of_numpy", "is_pure", "key", "member",
    "operand", "parts_of", "text", "uses_of", "value_of",
]  # fmt: skip

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
_USES: Final[dict[Any, tuple[implicit_calls.Use, ...]]] = {
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


def argument(result: Any, uses: Sequence[implicit_calls.Use]) -> Any:
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
        is_own = implicit_calls.is_versioned(holder.__name__)
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


def uses_of(callee: Any) -> tuple[implicit_calls.Use, ...]:
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
    wanted = implicit_calls.classes(value_of(classes))
    if isinstance(value, View):
        return value.is_instance(wanted)
    if not implicit_calls.is_versioned(type(value).__module__):
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
