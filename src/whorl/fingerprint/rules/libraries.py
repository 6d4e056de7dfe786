"""Code of libraries counts by name and version; what a program has put into one, by its content.

A program can set an attribute of a module or class: `math.sqrt = mine`, `np.zork = 3`,
`Fraction.go = method`. Whether an attribute is the library's own is decided by its value, since the
original is not known.
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
from ..names import is_heap_class, known_module_name
from ..static_lookup import (
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
from ..tokens import Node, is_leaf, unlabelled
from .rule import RuleContext

__all__ = [
    "has_code_of_others", "in_library", "is_users", "named_node", "put", "put_into",
    "put_into_class", "taken_from", "unloaded_home",
]  # fmt: skip

_CONTAINERS: Final = (list, tuple, dict, set, frozenset)
_DEEP: Final = 8  # levels of data that are searched


def named_node(home: Home, module: str, dotted: str) -> Node:
    """An object of a library, by its name and the version of the library."""
    version = () if module == "builtins" else (home.kind, home.name, home.version)
    return Node(b"named", (known_module_name(module), dotted, *version), unlabelled)


def in_library(
    path: str, module: types.ModuleType, attributes: tuple[str, ...], context: RuleContext
) -> tuple[str, object]:
    """An installed module, by its version; or the value that is read if the program has set it."""
    place, name, holder, value = path, "", module, cast("object", module)
    for attribute in attributes:
        if type(value) is types.ModuleType:
            holder, name = value, attribute
            value = reified(module_vars(value).get(attribute, ABSENT))
        elif derives(type(value), type) and not is_users(value, context):
            member = find(cast("type", value), attribute)
            if is_leaf(type(member)) or is_users(member, context):
                return f"{place}.{attribute}", member
            break
        else:
            break
        place = f"{place}.{attribute}"
    if not is_leaf(type(value)):
        value = put(name, value, _home(holder, context), context)
    return (path, module) if value is ABSENT else (place, value)


def taken_from(
    attributes: tuple[str, ...],
    path: str,
    module: types.ModuleType,
    names: tuple[str, ...],
    context: RuleContext,
) -> dict[str, object]:
    """Attributes of a module of a library that the program has set and the code may take.

    `attributes` lead from `module`, which is at `path`, to that module.

    Not numbers if they or a part of the library may not have been loaded yet: that must not make a
    difference.
    """
    value: object = module
    for attribute in attributes:
        if type(value) is not types.ModuleType:
            return {}
        value = reified(module_vars(value).get(attribute))
    if type(value) is not types.ModuleType:
        return {}
    stored = module_vars(value)
    home = _home(value, context)
    if home.kind == "user":
        return {}  # all of it counts
    with_numbers = not attributes and "__getattr__" not in stored
    present = {name: stored[name] for name in names if name in stored}
    counted = {
        name: each if with_numbers and is_leaf(type(each)) else put(name, each, home, context)
        for name, each in present.items()
        if not _is_container(each)  # of some other object with the same attribute
    }
    place = ".".join((path, *attributes))
    return {f"{place}.{name}": each for name, each in counted.items() if each is not ABSENT}


def put_into(
    name: str, read: ImportRead, function: types.FunctionType, context: RuleContext
) -> dict[str, object]:
    """Attributes that the program has set in a library, and that a function imports from it.

    Not numbers: whether the module has been loaded must not make a difference.
    """
    module = sys.modules.get(name)
    if type(module) is not types.ModuleType:
        return {}
    names = read.names or reads_of(function.__code__).attributes
    values = {attribute: module_vars(module).get(attribute, ABSENT) for attribute in names}
    home = _home(module, context)
    counted = {
        f"{name}.{attribute}": put(attribute, value, home, context)
        for attribute, value in values.items()
        if not _is_container(value)
    }
    return {place: each for place, each in counted.items() if each is not ABSENT}


# -- whose it is ------------------------------------------------------------------------


def put(name: str, value: object, home: Home, context: RuleContext) -> object:
    """What counts of an attribute of a library; ABSENT if it is the library's own.

    Its own are modules, functions and classes of that name, and objects of its own classes. All
    else was put there by a program: code of the user and plain data count by content, functions and
    classes of libraries by their own names.
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
    """The user's functions, classes and objects in a library's class or one of its bases."""
    patches: dict[str, object] = {}
    for base in mro(cls):
        if is_heap_class(base) and context.home(module_name(base)).kind != "user":
            for name, attribute in class_vars(base).items():
                if name in patches or not is_users(attribute, context):
                    continue
                if not _is_generated_for(base, attribute):
                    patches[name] = attribute
    return patches


def _is_generated_for(cls: type, method: object) -> bool:
    """Whether a method was generated with the class, by attrs or `namedtuple`."""
    inner = _WRAPPED[type(method)](method) if type(method) in _WRAPPED else method
    if type(inner) is not types.FunctionType:
        return False
    is_of_attrs = inner.__code__.co_filename.startswith("<attrs generated")
    return is_of_attrs or inner.__globals__.get("__name__") == f"namedtuple_{class_name(cls)}"


def is_users(value: object, context: RuleContext) -> bool:
    """Whether a function, class or object is the user's own, also inside of a wrapper."""
    cls = type(value)
    if cls is types.FunctionType:
        scope = cast("types.FunctionType", value).__globals__
        return context.home_of_globals(scope).kind == "user"
    inner = _WRAPPED.get(cls)
    if inner is not None:
        return is_users(inner(value), context)
    if derives(cls, type):
        return context.home(module_name(cast("type", value))).kind == "user"
    if qualname(cls) == "cython_function_or_method":  # whose class has no module
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
    """Whether a value is plain data, which a program may have put there.

    Objects of a library's own classes are not, unless they are values, such as arrays.
    """
    cls = type(value)
    if is_leaf(cls):
        return deep < _DEEP  # alone, it is for the caller to decide
    if cls is functools.partial:
        partial = cast("functools.partial[object]", value)
        parts: Iterable[object] = (*partial.args, *partial.keywords.values())
    elif cls is dict:
        mapping = cast("dict[object, object]", value)
        parts = (*mapping, *mapping.values())
    elif _is_container(value):
        parts = cast("Iterable[object]", value)
    else:
        return qualname(cls) == "ndarray" or is_users(value, context)
    return deep > 0 and all(_is_plain(part, context, deep - 1) for part in parts)


def has_code_of_others(function: types.FunctionType) -> bool:
    """Whether the code of a library's function is from another file."""
    file = function.__globals__.get("__file__")
    written = function.__code__.co_filename
    return type(file) is str and written != file and not written.startswith("<")


def _home(module: types.ModuleType, context: RuleContext) -> Home:
    return context.home(str(module_vars(module).get("__name__", "")))


def unloaded_home(name: str, context: RuleContext) -> Home:
    """Whose code a module is that has not been loaded; none of it is run."""
    top = name.partition(".")[0]
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return USER
    return context.policy.boundary.home(top, spec.origin if spec.has_location else None)
