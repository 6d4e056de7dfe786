"""Values of the language itself: numbers, text, bytes, containers, ranges, exceptions."""

from __future__ import annotations

import builtins
import collections
import gc
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, cast

from ..bytecode import bytecode_digest
from ..digest import hash_bytes
from ..modes import ByIdentity, ByType, InOrder, Mode
from ..refusal import Refused
from ..static_lookup import ABSENT, ClassTable, class_vars, derives, mro, type_name
from ..tokens import Node, is_leaf, is_shape, marshalled, unlabelled
from ..walk import identity_of
from .rule import Rule, RuleContext

__all__ = [
    "ABSENT_NODE",
    "NAMED_CLASSES",
    "RULES",
    "TYPE_PARTS",
    "dict_content",
    "dict_node",
    "keys_tag",
    "set_node",
    "short",
    "shortened",
    "sortable",
]

_SORTABLE: Final = ({id(str)}, {id(int)})


def sortable(keys: Iterable[object]) -> bool:
    """Whether plain sorting puts the keys in an order that is the same in every process."""
    kinds = set(map(id, map(type, keys)))
    return not kinds or kinds in _SORTABLE


def keys_tag(ordered: Sequence[Any]) -> bytes:
    """The tag of a dict with these sorted keys: only the values follow, in this order."""
    return b"D" + hash_bytes(marshalled(list(ordered)))


def dict_node(stored: dict[Any, object]) -> Node:
    """The content of a dict, whatever its order. Keys need not be orderable."""
    if sortable(dict.__iter__(stored)):
        keys = sorted(dict.__iter__(stored))
        values = [dict.__getitem__(stored, key) for key in keys]
        return Node(
            keys_tag(keys), values, lambda i: f"[{_key(keys[i])}]", counted=False, keys=keys
        )
    pairs = list(dict.items(stored))
    return Node(b"M", (), lambda i: f"[{_key(pairs[i][0])}]", items=pairs)


def ordered_node(tag: bytes, pairs: Sequence[tuple[object, object]]) -> Node:
    """The content of a mapping whose order counts: its keys in order, then their values."""
    keys = [key for key, _ in pairs]
    values = [keys, *(value for _, value in pairs)]
    return Node(tag, values, lambda i: f"[{_key(keys[i - 1])}]" if i else ".keys()")


def dict_content(stored: dict[Any, object], context: RuleContext) -> Node:
    """The content of a dict: in data without order; in code with its order, which loops see."""
    if context.mode is Mode.DATA:
        return dict_node(stored)
    keys = tuple(dict.__iter__(stored))
    values = (keys, *(dict.__getitem__(stored, key) for key in keys))
    return Node(b"read dict", values, lambda i: f"[{_key(keys[i - 1])}]" if i else ".keys()")


def set_node(tag: bytes, members: Iterable[object]) -> Node:
    """The content of a set."""
    listed: list[Any] = list(members)
    if sortable(listed):
        listed.sort()
        return Node(tag, listed, lambda i: f"{{{_key(listed[i])}}}", keys=listed)
    return Node(tag + b"*", (), lambda i: f"{{{_key(listed[i])}}}", items=[(m,) for m in listed])


def _key(value: object) -> str:
    """The `repr` of a key, if that runs no code."""
    parts = value if type(value) is tuple else (value,)
    try:
        if all(is_leaf(type(part)) or type(part) is bytes for part in parts):
            return repr(value)
    except ValueError:  # a number with more digits than Python converts
        pass
    return short(value)


def short(value: object) -> str:
    """The `repr` of a leaf, the class of anything else."""
    kind = type(value)
    return shortened(value) if is_leaf(kind) or kind is bytes else f"<{type_name(kind)}>"


def shortened(value: object) -> str:
    """The `repr` of a value, cut if it is too long."""
    try:
        text = repr(value)
    except ValueError:  # a number with more digits than Python converts
        return f"<{type_name(type(value))}>"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _leaf_content(tag: bytes, convert: Callable[[Any], object]) -> Callable[..., Node]:
    return lambda value, context: Node(tag, (convert(value),), unlabelled, counted=False)


def _memoryview(value: memoryview, context: RuleContext) -> Node:
    try:
        return Node(b"memoryview", (value.format, value.shape, value.tobytes()))
    except ValueError as error:
        raise Refused(f"it cannot be read ({error})") from error


def _exception(value: BaseException, context: RuleContext) -> Node:
    """Arguments, cause, and the C fields of OSError and others."""
    places = {
        name: stored
        for c in reversed(mro(type(value)))
        for name, stored in class_vars(c).items()
        if type(stored) is types.MemberDescriptorType
        and not name.startswith("__")
        and "__slots__" not in class_vars(c)  # slots of a class in Python are its own state
    }
    fields = {name: place.__get__(value, type(value)) for name, place in places.items()}
    base = class_vars(BaseException)
    parts = {
        ".args": base["args"].__get__(value),
        ".__cause__": base["__cause__"].__get__(value),
        "": {name: content for name, content in fields.items() if content is not None},
    }
    return Node(b"exception", [*parts.values()], [*parts].__getitem__)


def _in_order(value: InOrder, context: RuleContext) -> Node:
    content: Any = value.value
    if not derives(type(content), dict):
        return Node(b"not a dict", (content,), unlabelled)
    keys = dict.__iter__(content)
    if derives(type(content), collections.OrderedDict):
        keys = collections.OrderedDict.__iter__(content)
    return Node(b"in order", (content, list(keys)), lambda i: ("", ".keys()")[i])


def _by_identity(value: ByIdentity, context: RuleContext) -> Node:
    return Node(b"identity", (identity_of(value.value),))


TYPE_PARTS: Final[ClassTable[Callable[[Any], tuple[object, ...]]]] = ClassTable()
"""The type of a value beyond its class: dtype and shape of an array."""


NAMED_CLASSES: Final[ClassTable[bool]] = ClassTable()
"""Classes that mean the same in every version of their library, such as `numpy.float32`."""


def _by_type(value: ByType, context: RuleContext) -> Node:
    """Leaves by type; lengths, keys and field names, which are structure, stay."""
    content: Any = value.value
    while type(content) is ByType or type(content) is InOrder or type(content) is ByIdentity:
        content = content.value
    kind = type(content)
    if kind is list or kind is tuple:
        return Node(b"types " + kind.__name__.encode(), [ByType.of(x) for x in content])
    if kind is dict:
        pairs = [(key, ByType.of(inner)) for key, inner in content.items()]
        return Node(b"types dict", (), lambda i: f"[{_key(pairs[i][0])}]", items=pairs)
    array_like = TYPE_PARTS.nearest(kind)
    if array_like is not None:
        parts = cast("Callable[[Any], tuple[object, ...]]", TYPE_PARTS.get(array_like))(content)
        labels = ("", ".dtype", ".shape")
        return Node(b"type", (context.class_node(kind), *parts), labels.__getitem__)
    if not is_leaf(kind):
        node = _fields_by_type(content, context)
        if node is not None:
            return node
    return Node(b"type", (context.class_node(kind),), unlabelled)


def _fields_by_type(content: object, context: RuleContext) -> Node | None:
    """An instance by the types of its fields; None for what is no plain instance."""
    by_type = context.counts_by_type(type(content))
    try:
        node = context.structure(content) if by_type else context(content)
    except Refused:
        return None  # its class counts alone
    if not is_shape(node.tag) or any(type(part) is Node for part in node.values):
        return None
    typed = [ByType.of(part) for part in node.values]
    return Node(b"types " + node.tag, typed, node.label, counted=False)


def _mappingproxy(value: types.MappingProxyType[Any, Any], context: RuleContext) -> Node:
    # The mapping behind the proxy, without asking it anything.
    return Node(b"mappingproxy", gc.get_referents(value), unlabelled)


def _cell(value: types.CellType, context: RuleContext) -> Node:
    try:
        return Node(b"cell", (value.cell_contents,), lambda i: ".cell_contents")
    except ValueError:
        return Node(b"empty cell")


def _object(value: object, context: RuleContext) -> Node:
    raise Refused("a plain object() is nothing but its identity")


def _deque(value: collections.deque[Any], context: RuleContext) -> Node:
    maxlen = class_vars(collections.deque)["maxlen"].__get__(value)
    items = collections.deque.__iter__(value)
    return Node(b"deque", [maxlen, *items], lambda i: f"[{i - 1}]" if i else ".maxlen")


def _ordered_dict(value: collections.OrderedDict[Any, Any], context: RuleContext) -> Node:
    keys = list(collections.OrderedDict.__iter__(value))
    return ordered_node(b"OrderedDict", [(key, dict.__getitem__(value, key)) for key in keys])


def _default_dict(value: collections.defaultdict[Any, Any], context: RuleContext) -> Node:
    factory = class_vars(collections.defaultdict)["default_factory"].__get__(value)
    content = dict_content(value, context)
    return Node(b"defaultdict", (content, factory), lambda i: ("", ".default_factory")[i])


_RANGE_LABELS: Final = (".start", ".stop", ".step").__getitem__

RULES: Final[dict[type, Rule]] = {
    # Exact leaves never come here: these are the contents of their subclasses.
    int: _leaf_content(b"int", int.__int__),
    float: _leaf_content(b"float", float.__float__),
    complex: _leaf_content(b"complex", complex.__complex__),
    str: _leaf_content(b"str", str.__str__),
    bytes: _leaf_content(b"bytes", bytes.__bytes__),
    bytearray: _leaf_content(
        b"bytearray", lambda value: bytes(bytearray.__getitem__(value, slice(None)))
    ),
    memoryview: _memoryview,
    list: lambda v, d: Node(b"L", v if type(v) is list else [*list.__iter__(v)]),
    tuple: lambda v, d: Node(b"T", v if type(v) is tuple else (*tuple.__iter__(v),)),
    dict: dict_content,
    set: lambda v, d: set_node(b"S", set.__iter__(v)),
    frozenset: lambda v, d: set_node(b"Z", frozenset.__iter__(v)),
    range: lambda v, d: Node(b"range", (v.start, v.stop, v.step), _RANGE_LABELS),
    slice: lambda v, d: Node(b"slice", (v.start, v.stop, v.step), _RANGE_LABELS),
    type(NotImplemented): lambda v, d: Node(b"NotImplemented"),
    collections.OrderedDict: _ordered_dict,
    collections.defaultdict: _default_dict,
    collections.deque: _deque,
    types.MappingProxyType: _mappingproxy,
    types.SimpleNamespace: lambda v, d: Node(b"SimpleNamespace"),
    types.CellType: _cell,
    types.CodeType: lambda v, d: Node(b"code object", (v.co_name, bytecode_digest(v))),
    BaseException: _exception,
    InOrder: _in_order,
    ByType: _by_type,
    ByIdentity: _by_identity,
    object: _object,
}

if sys.version_info >= (3, 15):

    def _frozen_dict(value: builtins.frozendict[Any, Any], context: RuleContext) -> Node:
        content = dict(builtins.frozendict.items(value))
        return Node(b"frozendict", (dict_content(content, context),), unlabelled)

    RULES[builtins.frozendict] = _frozen_dict

ABSENT_NODE: Final = Node(b"absent")
RULES[type(ABSENT)] = lambda v, d: ABSENT_NODE
