"""The names of a function, wrapper or class that do not follow from its definition.

A function is called `__name__`, `__qualname__` and `__module__` by its `def`; `functools.wraps`
calls a wrapper like what it wraps. Neither is counted again: the name in the code and what is
wrapped count already. Any other name was assigned, and counts whether or not the code reads it,
because libraries read names too (`repr` of a dataclass or an enum, the name of a command).

The qualified name and the module that follow from a definition change when it is moved. They
count only where code reads them (`Introspection.NAMES`). A module that was started as a program has
the name under which it is imported elsewhere.
"""

from __future__ import annotations

import types
from typing import Any, Final

from ..modes import Introspection
from ..names import defines, importable, known_module_name
from ..static_lookup import class_name, class_vars, derives, instance_dict, module_name, qualname
from ..tokens import Node, unlabelled
from .rule import RuleContext

__all__ = [
    "NAMES",
    "assigned_to",
    "assigned_to_compiled",
    "class_names",
    "counted_names",
    "with_names",
]

NAMES: Final = ("__name__", "__qualname__", "__module__")
_DOC: Final = "__doc__"
_MOVING: Final = NAMES[1:]  # what else a definition is called at another place
_WITH_NAMES: Final = (types.FunctionType, types.BuiltinFunctionType)


def with_names(name: object, function: types.FunctionType, context: RuleContext) -> object:
    """The identity of a function, with its other names that count if there are any."""
    code, stored = function.__code__, function.__dict__
    defined: dict[str, object] = {
        "__name__": code.co_name,
        "__qualname__": code.co_qualname,
        "__module__": function.__globals__.get("__name__"),
    }
    if "__wrapped__" in stored:
        defined |= _names_of(stored["__wrapped__"])
    value = _names_of(function)
    seen = _MOVING if Introspection.NAMES in context.introspection else ()
    return _beside(name, {n: value[n] for n in NAMES if n in seen or not _is(value[n], defined[n])})


def assigned_to(value: object, context: RuleContext, inner: object = None) -> dict[str, object]:
    """The names of a wrapper that are not those of `inner` or of its `__wrapped__`.

    Its docstring is one of them where code reads docstrings.
    """
    stored = instance_dict(value) or {}
    names = counted_names(context)
    if not any(name in stored for name in names):
        return {}
    defined = _names_of(stored.get("__wrapped__", inner))
    return {
        name: _known(name, stored[name])
        for name in names
        if name in stored and not _is(stored[name], defined.get(name))
    }


def assigned_to_compiled(value: Any, context: RuleContext) -> dict[str, object]:
    """What was assigned to a kernel or cached function in the place of what it has copied."""
    function = value.__whorl_function__
    wrapped = (instance_dict(value) or {}).get("__wrapped__", function)
    other = {} if wrapped is function else {"__wrapped__": wrapped}
    return other | assigned_to(value, context, function)


def counted_names(context: RuleContext) -> tuple[str, ...]:
    """The names that count if they were assigned, and the docstring where code reads it."""
    return (*NAMES, _DOC) if Introspection.DOCS in context.introspection else NAMES


def class_names(cls: type, context: RuleContext) -> object:
    """The names of a class: module and qualified name, and others that count.

    The module does not count for a class that is not an attribute there although the scope of its
    definition is, such as a local class: it is the same class in a module of another name.
    """
    module, dotted = module_name(cls), qualname(cls)
    place = module if importable(cls) or not defines(module, dotted) else ""
    names: dict[str, object] = {}
    if class_name(cls) != dotted.rpartition(".")[2]:
        names["__name__"] = class_name(cls)
    if not place and Introspection.NAMES in context.introspection:
        names["__module__"] = module
    return _beside(f"{known_module_name(place)}:{dotted}", names)


def _names_of(value: Any) -> dict[str, object]:
    """The names that `functools.wraps` would copy, as far as no code has to run for that."""
    kind = type(value)
    if kind is types.MethodType:
        return _names_of(value.__func__)
    if kind in _WITH_NAMES:
        return {name: getattr(value, name) for name in (*NAMES, _DOC)}
    if derives(kind, type):
        names = class_name(value), qualname(value), module_name(value)
        return dict(zip(NAMES, names, strict=True)) | {_DOC: class_vars(value).get(_DOC)}
    stored = instance_dict(value) or {}
    defined = {"__module__": module_name(kind), _DOC: class_vars(kind).get(_DOC)}
    return defined | {n: stored[n] for n in (*NAMES, _DOC) if n in stored}


def _is(value: object, defined: object) -> bool:
    return value is defined or (type(value) is str and type(defined) is str and value == defined)


def _known(name: str, value: object) -> object:
    is_module = name == "__module__" and type(value) is str
    return known_module_name(str(value)) if is_module else value


def _beside(name: object, names: dict[str, object]) -> object:
    """The name alone, or a node of it and of the others."""
    if not names:
        return name
    known = (_known(each, value) for each, value in names.items())
    return Node(b"names", (name, tuple(names), *known), unlabelled)
