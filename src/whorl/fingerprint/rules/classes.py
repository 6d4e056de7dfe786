"""Classes, enum members and modules.

The user's class counts by content: its bases, its metaclass, what is stored in it. A class
of an installed distribution counts by name and version, a builtin by name. Enum members
count by class, name and value. The user's module counts by what is in it.
"""

from __future__ import annotations

import _abc  # type: ignore[import-not-found, unused-ignore]  # as abc itself does
import abc
import enum
import types
from collections.abc import Mapping
from typing import Any, Final

from ..boundary import Home
from ..layout import layout_of, state_of
from ..modes import Introspection, Mode
from ..names import importable, known_by_name, known_module_name
from ..refusal import Refused
from ..static_lookup import (
    class_vars,
    derives,
    instance_dict,
    is_special,
    module_name,
    module_vars,
    qualname,
    reified,
)
from ..tokens import Node, tag_of, unlabelled
from .annotated_classes import classes_in, home_scope, named_classes
from .assigned_names import class_names
from .builtin import NAMED_CLASSES, dict_node
from .callables import annotations_node, code_leaf
from .libraries import named_node, put_into_class
from .rule import Kind, RuleContext

__all__ = ["KINDS"]


# Attributes of a class that the interpreter or a library adds to its content.
_NOT_CONTENT: Final = frozenset(
    (
        "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__",
        "__firstlineno__", "__static_attributes__", "__annotations_cache__", "__annotate__",
        "__annotate_func__", "__classdictcell__", "__abstractmethods__", "_abc_impl",
        "__dataclass_fields__", "__signature__", "__attrs_props__", "__slotnames__",
    )
)  # fmt: skip

_MADE_BY_DATACLASS: Final = frozenset(
    (
        "__init__", "__repr__", "__eq__", "__hash__", "__lt__", "__le__", "__gt__", "__ge__",
        "__setattr__", "__delattr__", "__getstate__", "__setstate__", "__replace__",
    )
)  # fmt: skip

_KEPT_BY_ENUM: Final = frozenset(
    (
        "_member_names_", "_member_map_", "_value2member_map_", "_unhashable_values_",
        "_unhashable_values_map_", "_hashable_values_", "_generate_next_value_", "_new_member_",
        "_use_args_", "_member_type_", "_value_repr_", "_flag_mask_", "_singles_mask_",
        "_all_bits_", "_inverted_", "_sort_order_", "__new__", "__new_member__",
        "__reduce_ex__", "__format__", "__str__", "__repr__", "__and__", "__or__", "__xor__",
        "__invert__", "__rand__", "__ror__", "__rxor__",
    )
)  # fmt: skip

_MEMBER_BOOKKEEPING: Final = frozenset(
    ("_value_", "_name_", "__objclass__", "_sort_order_", "_inverted_")
)


def _class(cls: Any, context: RuleContext) -> Node:
    module = module_name(cls)
    home = context.home(module)
    if context.policy.functions == "name" or context.mode is Mode.NAMES:
        return _by_name(cls, context)
    if cls in NAMED_CLASSES:
        return _by_name(cls, context)
    if home.kind != "user" and known_by_name(cls):
        return _of_library(cls, home, context)
    if context.mode is Mode.OWN_CODE and known_by_name(cls):
        return _by_name(cls, context)
    if context.mode is Mode.DATA:
        return code_leaf(cls, context)
    content = class_content(cls, context)
    parts = {
        ".__qualname__": class_names(cls, context),
        ".__class__": type(cls),
        ".__bases__": tuple(type.__dict__["__bases__"].__get__(cls)),
        ".__annotations__": annotations_node(cls, context),
        **_inspected(cls, content, context),
        "": dict_node(content),
    }
    labels = [*parts]
    return Node(b"class", [*parts.values()], labels.__getitem__)


def _of_library(cls: type, home: Home, context: RuleContext) -> Node:
    """A class of a library, and what the user has added to it."""
    named = named_node(home, module_name(cls), qualname(cls))
    patches = put_into_class(cls, context) if context.mode is Mode.CODE else {}
    if not patches:
        return named
    return Node(b"patched", (named, dict_node(patches)), unlabelled)


def _inspected(cls: type, content: Mapping[str, object], context: RuleContext) -> dict[str, object]:
    """Properties of a class that count only for code that inspects them."""
    stored = class_vars(cls)
    parts: dict[str, object] = {}
    if Introspection.ORDER in context.introspection:
        # Not of special names, which the interpreter and libraries set when they like.
        parts[".__dict__"] = [n for n in stored if n in content and not is_special(n)]
    if Introspection.DOCS in context.introspection:
        parts[".__doc__"] = stored.get("__doc__")
    if Introspection.TYPES in context.introspection:
        parts[".__annotations__.values()"] = named_classes(cls, home_scope(cls), context)
    return parts


def _by_name(cls: type, context: RuleContext) -> Node:
    if context.policy.functions == "name" and not importable(cls):
        raise Refused(
            f"it counts by name, but {module_name(cls)}.{qualname(cls)} is another object",
            "Let classes count by code, or define the class at the top of its module.",
        )
    return Node(b"class by name", context.class_parts(cls))


def _registered(cls: type) -> tuple[type, ...]:
    """The classes that are registered with an abstract base class."""
    if not derives(type(cls), abc.ABCMeta) or "_abc_impl" not in class_vars(cls):
        return ()
    registered = (reference() for reference in _abc._get_dump(cls)[0])
    live = [known for known in registered if known is not None]
    return tuple(sorted(live, key=lambda known: (module_name(known), qualname(known))))


def class_content(cls: type, context: RuleContext) -> dict[str, object]:
    """The attributes of a class, without those of the interpreter and of class decorators."""
    stored = class_vars(cls)
    content = {
        name: attribute
        for name, attribute in stored.items()
        if name not in _NOT_CONTENT
        and not str(name).startswith("__pydantic_")
        and type(attribute) is not types.MemberDescriptorType
        and type(attribute) is not types.GetSetDescriptorType
    }
    registered = _registered(cls)
    if registered:
        content["register()"] = registered
    if "__dataclass_fields__" in stored:
        for name in _MADE_BY_DATACLASS & content.keys():
            if _is_generated(content[name]):
                del content[name]
        content["__dataclass_fields__"] = [
            _dataclass_field(field) for field in stored["__dataclass_fields__"].values()
        ]
    if "__attrs_attrs__" in stored and _is_hash_of_attrs(content.get("__hash__")):
        content["__hash__"] = "made by attrs"  # of a number that depends on the hash seed
    if derives(type(cls), enum.EnumMeta) and "_member_map_" in stored:
        for name in _KEPT_BY_ENUM & content.keys():
            if not name.startswith("__") or _is_enums_own(name, content[name]):
                del content[name]
        content["_member_names_"] = list(stored["_member_map_"])
        defined: dict[int, str] = {}  # names by the addresses of members; aliases come later
        for name, member in stored["_member_map_"].items():
            state = instance_dict(member) or {}
            attributes = _member_attributes(cls, state)
            if state.get("_name_") != defined.setdefault(id(member), name):  # assigned
                attributes["_name_"] = state.get("_name_")
            extra = (dict_node(attributes),) if attributes else ()
            content[name] = Node(b"member", (_value_of(state), *extra), unlabelled)
        for name in [n for n, each in content.items() if type(each) is enum.property]:
            if content[name].fget is None:  # enum's own, for a member of that name
                del content[name]
    if "__pydantic_fields__" in stored:
        content.pop("model_fields", None)
        content["__pydantic_fields__"] = {
            name: (
                _field_arguments(field),
                field.default,
                field.default_factory,
                list(field.metadata),
                classes_in(field.annotation, home_scope(cls), context),
            )
            for name, field in stored["__pydantic_fields__"].items()
        }
        content["__pydantic_decorators__"] = {
            kind: {name: decorator.info for name, decorator in table.items()}
            for kind, table in _state(stored["__pydantic_decorators__"]).items()
            if type(table) is dict
        }
    return content


def _state(value: object) -> dict[str, Any]:
    state = state_of(layout_of(type(value)), value)
    return {name: value for name, value in state.items() if type(name) is str}


def _field_arguments(field: Any) -> dict[str, object]:
    """The arguments of a pydantic field, without its annotation, which counts by name."""
    arguments = getattr(field, "_attributes_set", {})
    return {name: value for name, value in arguments.items() if name != "annotation"}


def _is_generated(attribute: object) -> bool:
    if attribute is None:
        return True
    inner = (
        getattr(attribute, "__wrapped__", attribute)
        if type(attribute) is types.FunctionType
        else attribute
    )
    return type(inner) is types.FunctionType and inner.__code__.co_qualname.startswith(
        "__create_fn__."
    )


def _is_hash_of_attrs(attribute: object) -> bool:
    return type(attribute) is types.FunctionType and attribute.__code__.co_filename.startswith(
        "<attrs generated"
    )


def _is_enums_own(name: str, attribute: object) -> bool:
    """Whether enum has added a method to the class, not its author."""
    inner = attribute.__func__ if type(attribute) is staticmethod else attribute
    if type(inner) is types.FunctionType:
        return inner.__globals__.get("__name__") == "enum"
    return name == "__new_member__"


def _dataclass_field(field: Any) -> tuple[object, ...]:
    return (
        field.name, field.default, field.default_factory, field.init, field.repr, field.hash,
        field.compare, bool(field.kw_only), dict(field.metadata),
    )  # fmt: skip


def _value_of(stored: dict[str, Any]) -> object:
    """The value of a member; for a bare object(), a sentinel, the name is enough."""
    value = stored.get("_value_")
    return None if type(value) is object else value


def _member_attributes(cls: type, stored: dict[str, Any]) -> dict[str, Any]:
    """The attributes that were set on a member."""
    attributes = {name: value for name, value in stored.items() if name not in _MEMBER_BOOKKEEPING}
    if attributes:  # rare; finding out what is hidden takes a hundred times as long as the rest
        hidden = layout_of(cls).hidden
        attributes = {name: value for name, value in attributes.items() if name not in hidden}
    return attributes


def _member(value: Any, context: RuleContext) -> Node:
    """A member of an enum: class, name, value, and attributes that were set on it."""
    cls = type(value)
    stored = instance_dict(value) or {}
    attributes = _member_attributes(cls, stored)
    parts: dict[str, object] = {".name": stored.get("_name_"), ".value": _value_of(stored)}
    if attributes:
        parts[".__dict__"] = dict_node(attributes)
    own_code = context.own_code(cls)
    if own_code is not None:
        parts[".__class__"] = own_code
    if context.mode is Mode.CODE:
        parts[".__class__.__dict__"] = cls
    tag = tag_of("enum member", *context.class_parts(cls), tuple(parts))
    return Node(tag, [*parts.values()], [*parts].__getitem__, counted=False)


_MODULE_BOOKKEEPING: Final = frozenset(
    (
        "__builtins__", "__cached__", "__doc__", "__file__", "__loader__", "__name__",
        "__package__", "__path__", "__spec__", "__annotations__", "__warningregistry__",
        "__annotate__", "__conditional_annotations__", "__lazy_modules__",
    )
)  # fmt: skip


def _module(value: types.ModuleType, context: RuleContext) -> Node:
    stored = module_vars(value)
    name = stored.get("__name__")
    name = name if type(name) is str else ""
    home = context.home(name)
    if home.kind != "user":
        return named_node(home, name, "")
    if context.mode is not Mode.CODE:
        return code_leaf(value, context)
    left_out = _MODULE_BOOKKEEPING - (
        {"__doc__"} if Introspection.DOCS in context.introspection else set()
    )
    content = {key: reified(inner) for key, inner in stored.items() if key not in left_out}
    parts = [known_module_name(name), type(value), dict_node(content)]
    if (
        Introspection.ORDER in context.introspection
    ):  # less modules, which are put there when they are loaded
        parts.append([key for key, inner in content.items() if type(inner) is not types.ModuleType])
    return Node(b"module", parts, ("", ".__class__", "", ".__dict__").__getitem__)


KINDS: Final[tuple[Kind, ...]] = (
    (lambda cls: derives(cls, type), _class),
    (lambda cls: derives(cls, types.ModuleType), _module),
    (lambda cls: derives(type(cls), enum.EnumMeta), _member),
)
