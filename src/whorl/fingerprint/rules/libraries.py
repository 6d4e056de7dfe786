"""What belongs to a library counts by name and version; what was put into one by what it is.

Anybody can set an attribute of a module or class: `math.sqrt = mine`, `np.zork = 3`,
`Fraction.go = method`. Whether something is the library's own is decided by the thing that is
found, since nobody knows what the library had there.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

from ..boundary import USER, Home
from ..bytecode import ImportRead, reads_of
from ..lookup import (
    ABSENT,
    class_name,
    class_vars,
    derives,
    find,
    instance_dict,
    module_name,
    module_vars,
    mro,
    qualname,
    reified,
)
from ..names import is_heap_class, known_module_name
from ..tokens import Node, is_leaf, unlabelled
from .rule import RuleContext

__all__ = [
    "has_code_of_others", "in_library", "is_users", "named_node", "put", "put_into",
    "put_into_class", "taken_from", "unloaded_home",
]  # fmt: skip

_CONTAINERS: Final = (list, tuple, dict, set, frozenset)
_DEEP: Final = 8  # levels of data that are looked through


def named_node(home: Home, module: str, dotted: str) -> Node:
    """A thing that is known by its name and the version of what it came with."""
    version = () if module == "builtins" else (home.kind, home.name, home.version)
    return Node(b"named", (known_module_name(module), dotted, *version), unlabelled)


def in_library(
    path: str, module: types.ModuleType, attributes: tuple[str, ...], context: RuleContext
) -> tuple[str, object]:
    """An installed module, by its version; or what is read there if that is not the version's."""
    place, name, holder, value = path, "", module, cast("object", module)
    for attribute in attributes:
        if type(value) is types.ModuleType:
            holder, name = value, attribute
            value = reified(module_vars(value).get(attribute, ABSENT))
        elif derives(type(value), type) and not is_users(value, context):
            held = find(cast("type", value), attribute)
            if is_leaf(type(held)) or is_users(held, context):
                return f"{place}.{attribute}", held
            break
        else:
            break
        place = f"{place}.{attribute}"
    if not is_leaf(type(value)):
        value = put(name, value, _home(holder, context), context)
    return (path, module) if value is ABSENT else (place, value)


def taken_from(
    way: tuple[str, ...],
    path: str,
    module: types.ModuleType,
    names: tuple[str, ...],
    context: RuleContext,
) -> dict[str, object]:
    """What may be taken from a module of a library, of what is not the version's: as above.

    `way` are the attributes that lead from `module`, which is at `path`, to that module.

    Not numbers where a part of the library, or they, may not have been loaded yet: whether
    they have must not make a difference.
    """
    value: object = module
    for attribute in way:
        taken = module_vars(value).get(attribute) if type(value) is types.ModuleType else None
        value = reified(taken)
    if type(value) is not types.ModuleType:
        return {}
    stored = module_vars(value)
    home = _home(value, context)
    if home.kind == "user":
        return {}  # all of it counts
    with_numbers = not way and "__getattr__" not in stored
    held = {name: stored[name] for name in names if name in stored}
    counted = {
        name: found if with_numbers and is_leaf(type(found)) else put(name, found, home, context)
        for name, found in held.items()
        if not _is_container(found)  # some of the names are those of other things
    }
    return {
        ".".join((path, *way, name)): each for name, each in counted.items() if each is not ABSENT
    }


def put_into(
    name: str, read: ImportRead, function: types.FunctionType, context: RuleContext
) -> dict[str, object]:
    """What a function takes from a library that it imports and that is not the version's.

    Not numbers: whether the module has been loaded by now must not make a difference.
    """
    module = sys.modules.get(name)
    if type(module) is not types.ModuleType:
        return {}
    names = read.names or reads_of(function.__code__).attributes
    held = {wanted: module_vars(module).get(wanted, ABSENT) for wanted in names}
    home = _home(module, context)
    counted = {
        f"{name}.{wanted}": put(wanted, value, home, context)
        for wanted, value in held.items()
        if not _is_container(value)
    }
    return {place: each for place, each in counted.items() if each is not ABSENT}


# -- whose it is ------------------------------------------------------------------------


def put(name: str, value: object, home: Home, context: RuleContext) -> object:
    """What counts of a thing that a library holds under a name; ABSENT if it is the version's.

    The version's are its modules, its functions and classes of that name, and objects of its own
    classes. All else was put there: what is the user's and plain data count by what they are,
    functions and classes of libraries by their own names.
    """
    if is_users(value, context) or _is_plain(value, context):
        return value
    cls = type(value)
    if derives(cls, type):
        if put_into_class(cast("type", value), context):
            return value
        names = module_name(cast("type", value)), qualname(cast("type", value))
    elif cls is types.FunctionType:
        function = cast("types.FunctionType", value)
        if has_code_of_others(function):
            return value
        names = str(function.__globals__.get("__name__", "")), function.__name__
    elif cls is types.BuiltinFunctionType or qualname(cls) in ("ufunc", "_ArrayFunctionDispatcher"):
        owner = getattr(value, "__self__", None)
        of_module = type(owner) is types.ModuleType
        module = module_vars(cast("types.ModuleType", owner)).get("__name__") if of_module else ""
        names = str(module or module_name(cls)), str(getattr(value, "__name__", ""))
    else:
        return ABSENT
    own = context.home(names[0])
    if own == home and names[1].rpartition(".")[2] == name:
        return ABSENT
    return Node(b"put", (*named_node(own, *names).values,), unlabelled)


def put_into_class(cls: type, context: RuleContext) -> dict[str, object]:
    """The user's functions, classes and objects that were put into a library's class or a base."""
    found: dict[str, object] = {}
    for base in mro(cls):
        if is_heap_class(base) and context.home(module_name(base)).kind != "user":
            for name, held in class_vars(base).items():
                if name in found or not is_users(held, context):
                    continue
                if not _is_made_for(base, held):
                    found[name] = held
    return found


def _is_made_for(cls: type, held: object) -> bool:
    """Whether a method was written by what made the class: attrs, or `namedtuple`."""
    inner = _WRAPPED[type(held)](held) if type(held) in _WRAPPED else held
    if type(inner) is not types.FunctionType:
        return False
    is_of_attrs = inner.__code__.co_filename.startswith("<attrs generated")
    return is_of_attrs or inner.__globals__.get("__name__") == f"namedtuple_{class_name(cls)}"


def is_users(value: object, context: RuleContext) -> bool:
    """Whether a function, a class or an object is of the user's own, also inside of a wrapper."""
    cls = type(value)
    if cls is types.FunctionType:
        scope = cast("types.FunctionType", value).__globals__
        return context.home_of_globals(scope).kind == "user"
    inner = _WRAPPED.get(cls)
    if inner is not None:
        return is_users(inner(value), context)
    if derives(cls, type):
        return context.home(module_name(cast("type", value))).kind == "user"
    if qualname(cls) == "cython_function_or_method":  # whose class is nobody's
        return context.home(str(cast("Any", value).__module__)).kind == "user"
    return is_heap_class(cls) and context.home(module_name(cls)).kind == "user"


def _lru_cached(value: Any) -> object:
    return (instance_dict(value) or {}).get("__wrapped__")


_WRAPPED: Final[dict[type, Callable[[Any], object]]] = {
    types.MethodType: lambda value: value.__func__,
    functools.partial: lambda value: value.func,
    staticmethod: lambda value: value.__func__,
    classmethod: lambda value: value.__func__,
    property: lambda value: value.fget,
    functools.cached_property: lambda value: value.func,
    type(functools.lru_cache(len)): _lru_cached,
}


def _is_container(value: object) -> bool:
    return any(type(value) is cls for cls in _CONTAINERS)


def _is_plain(value: object, context: RuleContext, deep: int = _DEEP) -> bool:
    """Whether something is data that anybody may have put there, and that can be written down.

    Objects of a library's own classes are not, unless they are values, such as arrays.
    """
    cls = type(value)
    if is_leaf(cls):
        return deep < _DEEP  # by itself it is the caller's to decide
    if cls is functools.partial:
        given = cast("functools.partial[object]", value)
        parts: Iterable[object] = (*given.args, *given.keywords.values())
    elif cls is dict:
        held = cast("dict[object, object]", value)
        parts = (*held, *held.values())
    elif _is_container(value):
        parts = cast("Iterable[object]", value)
    else:
        return qualname(cls) == "ndarray" or is_users(value, context)
    return deep > 0 and all(_is_plain(part, context, deep - 1) for part in parts)


def has_code_of_others(function: types.FunctionType) -> bool:
    """Whether a library's function was given code of another file."""
    file = function.__globals__.get("__file__")
    written = function.__code__.co_filename
    return type(file) is str and written != file and not written.startswith("<")


def _home(module: types.ModuleType, context: RuleContext) -> Home:
    return context.home(str(module_vars(module).get("__name__", "")))


def unloaded_home(name: str, context: RuleContext) -> Home:
    """Whose code a module is that has not been loaded, found without running any of it."""
    top = name.partition(".")[0]
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return USER
    return context.policy.boundary.home(top, spec.origin if spec.has_location else None)
