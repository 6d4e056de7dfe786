"""What belongs to a library counts by name and version; what was put into one by what it is."""

from __future__ import annotations

import functools
import importlib.util
import sys
import types
from typing import TYPE_CHECKING, cast

from ..boundary import USER, Home
from ..bytecode import ImportRead, reads_of
from ..lookup import ABSENT, derives, module_name, module_vars, reified
from ..names import known_module_name
from ..tokens import Node, is_leaf, unlabelled

if TYPE_CHECKING:
    from ..describe import Describer

__all__ = ["in_library", "is_users", "named_node", "put_into", "taken_from", "unloaded_home"]


def named_node(home: Home, module: str, dotted: str) -> Node:
    """A thing that is known by its name and the version of what it came with."""
    version = () if module == "builtins" else (home.kind, home.name, home.version)
    return Node(b"named", (known_module_name(module), dotted, *version), unlabelled)


def in_library(
    path: str, module: types.ModuleType, attributes: tuple[str, ...], describer: Describer
) -> tuple[str, object]:
    """An installed module, by its version; or what is read there if that is not the version's.

    A number or a text can be set by anybody (`np.zork = 3`), and a function or class in it can be
    the user's, put in the place of the library's own.
    """
    place, value = path, cast("object", module)
    for attribute in attributes:
        if type(value) is not types.ModuleType:
            break
        place, value = f"{place}.{attribute}", reified(module_vars(value).get(attribute, ABSENT))
    if is_leaf(type(value)) or is_users(value, describer):
        return place, value
    return path, module


def taken_from(
    way: tuple[str, ...],
    path: str,
    module: types.ModuleType,
    names: tuple[str, ...],
    describer: Describer,
) -> dict[str, object]:
    """What may be taken from a module of a library, of what is not the version's: as above.

    `way` are the attributes that lead from `module`, which is at `path`, to that module.

    Not numbers where a part of the library, or they, may not have been loaded yet: whether
    they have must not make a difference.
    """
    value: object = module
    for attribute in way:
        held = module_vars(value).get(attribute) if type(value) is types.ModuleType else None
        value = reified(held)
    if type(value) is not types.ModuleType:
        return {}
    stored = module_vars(value)
    if describer.home(str(stored.get("__name__", ""))).kind == "user":
        return {}  # all of it counts
    with_numbers = not way and "__getattr__" not in stored
    taken = {".".join((path, *way, name)): stored[name] for name in names if name in stored}
    return {
        place: found
        for place, found in taken.items()
        if is_users(found, describer) or (with_numbers and is_leaf(type(found)))
    }


def is_users(value: object, describer: Describer) -> bool:
    """Whether a function or class is of the user's own, also in a method or partial."""
    if type(value) is types.FunctionType:
        return describer.home_of_globals(value.__globals__).kind == "user"
    if type(value) is types.MethodType:
        return is_users(value.__func__, describer)
    if type(value) is functools.partial:
        return is_users(value.func, describer)
    return derives(type(value), type) and (
        describer.home(module_name(cast("type", value))).kind == "user"
    )


def put_into(
    name: str, read: ImportRead, function: types.FunctionType, describer: Describer
) -> dict[str, object]:
    """The user's functions and classes that a function takes from a library that it imports.

    Not numbers: whether the module has been loaded by now must not make a difference.
    """
    module = sys.modules.get(name)
    if type(module) is not types.ModuleType:
        return {}
    names = read.names or reads_of(function.__code__).attributes
    held = {wanted: module_vars(module).get(wanted) for wanted in names}
    return {
        f"{name}.{wanted}": value for wanted, value in held.items() if is_users(value, describer)
    }


def unloaded_home(name: str, describer: Describer) -> Home:
    """Whose code a module is that has not been loaded, found without running any of it."""
    top = name.partition(".")[0]
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return USER
    return describer.policy.boundary.home(top, spec.origin if spec.has_location else None)
