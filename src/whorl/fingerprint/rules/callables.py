"""Functions and everything that wraps one, by what they do.

A function counts by its code, its defaults, the values it captured and the globals it
reads, each of these in turn. In data a function is the digest of all that, computed in a
walk of its own over code (`Mode.CODE`), because functions call each other in circles.

At the boundary to installed code the walk stops: such a function counts by its name and the version
of its distribution. If it was defined inside another function (the wrapper of a decorator), its
captured values count all the same, since they may be the user's.
"""

from __future__ import annotations

import functools
import gc
import sys
import types
from pathlib import Path
from typing import Any, Final

from ..annotations import annotations_of
from ..modes import Introspection, Mode
from ..names import known_module_name, resolve
from ..refusal import Refused
from ..source import code_digest
from ..static_lookup import (
    captured,
    class_vars,
    derives,
    instance_dict,
    module_name,
    module_vars,
    qualname,
)
from ..tokens import Node, unlabelled
from .annotated_classes import named_classes
from .assigned_names import assigned_to, with_names
from .builtin import dict_content, dict_node
from .libraries import has_code_of_others, named_node
from .references import References
from .rule import Rule, RuleContext

__all__ = ["RULES", "annotations_node", "code_leaf", "named_extension"]


def code_leaf(value: Any, context: RuleContext) -> Node:
    """The node of code in data: the digest of a walk over code."""
    return Node(b"code", (context.digest_in(Mode.CODE, value),), unlabelled)


def by_code(rule: Rule) -> Rule:
    """The rule where code is walked; in data and names, the digest of such a walk."""

    def choose(value: Any, context: RuleContext) -> Node:
        if context.mode in (Mode.CODE, Mode.OWN_CODE):
            return rule(value, context)
        return code_leaf(value, context)

    return choose


# -- functions --------------------------------------------------------------------------


def _function(function: types.FunctionType, context: RuleContext) -> Node:
    if context.policy.functions == "name":
        return _by_name(function, context)
    if context.mode not in (Mode.CODE, Mode.OWN_CODE):
        return code_leaf(function, context)
    if _is_dispatcher(function):
        return _dispatcher(function, context)
    code = function.__code__
    module = function.__globals__.get("__name__")
    module = module if type(module) is str else ""
    home = context.home_of_globals(function.__globals__)
    references = None
    if home.kind == "user" and context.mode is Mode.CODE:
        references = References(function, context)
    surroundings = {
        ".__defaults__": function.__defaults__,
        ".__kwdefaults__": function.__kwdefaults__,
        ".__closure__": _captured(function, references),
        ".__dict__": _attributes(function, context),
    }
    if home.kind != "user":
        if resolve(module, code.co_qualname) is function and not has_code_of_others(function):
            return named_node(home, module, code.co_qualname)
        name = with_names(named_node(home, module, code.co_qualname), function, context)
        own = code_digest(code)
        parts: dict[str, object] = {"": name, ".__code__": own.digest, **surroundings}
        return Node(b"wrapper", [*parts.values()], [*parts].__getitem__)
    own = code_digest(code)
    parts = {
        ".__name__": with_names(code.co_name, function, context),
        ".__code__": Node(b"code of", (own.origin, own.digest), unlabelled),
        **surroundings,
        ".__annotations__": annotations_node(function, context),
        ".__globals__": None if references is None else dict_node(references.globals),
    }
    if Introspection.DOCS in context.introspection:
        parts[".__doc__"] = function.__doc__
    if Introspection.TYPES in context.introspection:
        named = named_classes(function, function.__globals__, context)
        parts[".__annotations__.values()"] = named
    return Node(b"function", [*parts.values()], [*parts].__getitem__)


def _by_name(function: types.FunctionType, context: RuleContext) -> Node:
    module, dotted = function.__module__, function.__qualname__
    if resolve(module, dotted) is not function:
        raise Refused(
            f"it counts by name, but {module}.{dotted} is another object",
            "Let functions count by code, or give the function a name in its module.",
        )
    return Node(b"function by name", (known_module_name(module), dotted))


def _captured(function: types.FunctionType, references: References | None) -> Node | None:
    if not function.__closure__:
        return None
    caches = _caches_of_singledispatch(function)
    values = {name: value for name, value in captured(function).items() if name not in caches}
    if references is None:
        return dict_node(values)
    # Of a module, the names count that are taken from it.
    plain = {name: value for name, value in values.items() if type(value) is not types.ModuleType}
    return dict_node({**plain, **references.captured})


def _caches_of_singledispatch(function: types.FunctionType) -> frozenset[str]:
    """The caches among the captured variables of singledispatch's inner functions."""
    if function.__globals__ is not functools.singledispatch.__globals__:
        return frozenset()
    return frozenset(("dispatch_cache", "cache_token", "method_cache"))


def annotations_node(owner: types.FunctionType | type, context: RuleContext) -> Node | None:
    """The annotations of a function or class, with classes by name."""
    annotations = annotations_of(owner)
    if not annotations:
        return None
    digest = context.digest_in(Mode.NAMES, annotations, ".__annotations__")
    return Node(b"annotations", (digest,), unlabelled)


def _is_dispatcher(function: types.FunctionType) -> bool:
    return (
        function.__globals__ is functools.singledispatch.__globals__
        and "registry" in function.__dict__
        and "dispatch" in function.__dict__
    )


def _dispatcher(function: types.FunctionType, context: RuleContext) -> Node:
    """A singledispatch function by its implementations, without its cache."""
    registry = dict(function.__dict__["registry"])
    items = list(registry.items())
    name = with_names(None, function, context)
    if name is None:
        return Node(b"singledispatch", (), lambda i: ".registry", items=items)
    labels = (".__name__", *len(items) * (".registry",))
    return Node(b"singledispatch", (name,), labels.__getitem__, items=items)


_NOT_ATTRIBUTES: Final = frozenset((*functools.WRAPPER_ASSIGNMENTS, "__type_params__"))


def _attributes(value: object, context: RuleContext, inner: object = None) -> Node | None:
    """Attributes of a function or wrapper, without the names and texts that wrapping copies.

    `inner` is what a wrapper has copied them from.
    """
    stored = instance_dict(value) or {}
    attributes = {name: part for name, part in stored.items() if name not in _NOT_ATTRIBUTES}
    if type(value) is not types.FunctionType:
        attributes |= assigned_to(value, context, inner)
    return dict_content(attributes, context) if attributes else None


# -- wrappers ---------------------------------------------------------------------------


def _wrapper(tag: bytes, cls: type, *names: str) -> Rule:
    """A rule for a wrapper of functions from descriptors of its class, and its attributes."""
    places = [class_vars(cls)[name] for name in names]
    labels = [*(f".{name}" for name in names), ".__dict__"]
    has_names = names[0] == "__func__"  # those of what is inside

    def rule(value: Any, context: RuleContext) -> Node:
        parts = [place.__get__(value) for place in places]
        inner = parts[0] if has_names else None
        return Node(tag, [*parts, _attributes(value, context, inner)], labels.__getitem__)

    return by_code(rule)


def _method(value: types.MethodType, context: RuleContext) -> Node:
    function: Any = value.__func__
    kind = type(function)
    if kind is types.FunctionType or qualname(kind) == "cython_function_or_method":
        named = _global_of_library(value, function.__module__, function.__name__, context)
        if named is not None:
            return named
    return Node(
        b"method", (value.__func__, value.__self__), lambda i: (".__func__", ".__self__")[i]
    )


def _cached_function(value: Any, context: RuleContext) -> Node:
    """An lru_cache wrapper by its function and attributes, without the cached results."""
    stored = instance_dict(value) or {}
    if context.policy.functions == "name":
        module, dotted = stored.get("__module__"), stored.get("__qualname__")
        if type(module) is str and type(dotted) is str and resolve(module, dotted) is value:
            return Node(b"function by name", (known_module_name(module), dotted))
    # `__wrapped__` may have been overwritten by another wrapper.
    referents = gc.get_referents(value)
    inner = [part for part in referents if part is stored.get("__wrapped__")]
    inner = inner or [part for part in referents if type(part) is types.FunctionType]
    if len(inner) != 1:
        raise Refused("the function behind its cache cannot be found")
    attributes = _attributes(value, context, inner[0])
    return Node(b"lru_cache", (inner[0], attributes), (".__wrapped__", "").__getitem__)


def _cached(value: Any, context: RuleContext) -> Node:
    by_name = context.policy.functions == "name"
    return (_cached_function if by_name else by_code(_cached_function))(value, context)


def _cached_property(value: functools.cached_property[Any], context: RuleContext) -> Node:
    return Node(b"cached_property", (value.func, value.attrname), lambda i: (".func", "")[i])


def _partial_method(value: functools.partialmethod[Any], context: RuleContext) -> Node:
    return Node(b"partialmethod", (value.func, value.args, value.keywords))


def _dispatch_method(value: functools.singledispatchmethod[Any], context: RuleContext) -> Node:
    return Node(b"singledispatchmethod", (value.dispatcher, value.func))


def _global_of_library(
    value: object, module: object, name: str, context: RuleContext
) -> Node | None:
    """A method of an object that an installed module hides behind a function: `random.random`."""
    while type(module) is str and module:
        if context.home(module).kind != "user" and resolve(module, name) is value:
            return named_node(context.home(module), module, name)
        module = module.rpartition(".")[0]
    return None


# -- builtins ---------------------------------------------------------------------------


def _builtin(value: types.BuiltinFunctionType, context: RuleContext) -> Node:
    owner = value.__self__
    if owner is None or derives(type(owner), types.ModuleType):
        module = value.__module__ or "builtins"
        return named_extension(module, value.__qualname__, context)
    named = _global_of_library(value, module_name(type(owner)), value.__name__, context)
    if named is not None:
        return named
    return Node(b"builtin method", (value.__name__, owner), lambda i: (".__name__", ".__self__")[i])


def named_extension(module: str, dotted: str, context: RuleContext) -> Node:
    """A compiled object by the name in its module."""
    home = context.home(module)
    if home.kind != "user":
        return named_node(home, module, dotted)
    # A compiled module of the user's own has no version: what is in its file counts.
    loaded = sys.modules.get(module)
    file = module_vars(loaded).get("__file__") if loaded is not None else None
    try:
        content = Path(str(file)).read_bytes()
    except OSError as error:
        raise Refused(f"it is a compiled function of {module!r}, whose file is gone") from error
    return Node(b"extension", (known_module_name(module), dotted, content))


def _descriptor(value: Any, context: RuleContext) -> Node:
    return Node(b"descriptor", (type(value).__name__, value.__objclass__, value.__name__))


def _bound_slot(value: Any, context: RuleContext) -> Node:
    return Node(b"method wrapper", (value.__name__, value.__self__))


RULES: Final[dict[type, Rule]] = {
    types.FunctionType: _function,
    types.MethodType: by_code(_method),
    functools.partial: _wrapper(b"partial", functools.partial, "func", "args", "keywords"),
    staticmethod: _wrapper(b"staticmethod", staticmethod, "__func__"),
    classmethod: _wrapper(b"classmethod", classmethod, "__func__"),
    property: _wrapper(b"property", property, "fget", "fset", "fdel"),
    functools.cached_property: by_code(_cached_property),
    functools.partialmethod: by_code(_partial_method),
    functools.singledispatchmethod: by_code(_dispatch_method),
    type(functools.lru_cache(len)): _cached,
    types.BuiltinFunctionType: by_code(_builtin),
    types.MethodDescriptorType: by_code(_descriptor),
    types.ClassMethodDescriptorType: by_code(_descriptor),
    types.WrapperDescriptorType: by_code(_descriptor),
    types.GetSetDescriptorType: by_code(_descriptor),
    types.MemberDescriptorType: by_code(_descriptor),
    types.MethodWrapperType: by_code(_bound_slot),
}
