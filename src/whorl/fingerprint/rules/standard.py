"""Values of the standard library whose state is not in a dictionary or is not all state."""

from __future__ import annotations

import array
import builtins
import datetime
import decimal
import io
import logging
import operator
import pathlib
import re
import sys
import uuid
import zoneinfo
from typing import Any, Final

from ..names import known_module_name, resolve
from ..refusal import Refused
from ..static_lookup import ClassTable, class_vars, derives, instance_dict, qualname
from ..tokens import Node
from .rule import Rule, RuleContext

__all__ = ["RULES"]


def _members(tag: bytes, cls: type, *names: str) -> Rule:
    """A rule from descriptors of the class itself, which no subclass can override."""
    places = [class_vars(cls)[name] for name in names]
    labels = [f".{name}" for name in names]

    def rule(value: Any, context: RuleContext) -> Node:
        return Node(tag, [place.__get__(value) for place in places], labels.__getitem__)

    return rule


_TIME: Final = ("hour", "minute", "second", "microsecond", "tzinfo", "fold")
_DATE: Final = ("year", "month", "day")


def _datetime(value: datetime.datetime, context: RuleContext) -> Node:
    dated = [class_vars(datetime.date)[name].__get__(value) for name in _DATE]
    timed = [class_vars(datetime.datetime)[name].__get__(value) for name in _TIME]
    return Node(b"datetime", dated + timed, lambda i: f".{(_DATE + _TIME)[i]}")


def _zone(value: zoneinfo.ZoneInfo, context: RuleContext) -> Node:
    key = class_vars(zoneinfo.ZoneInfo)["key"].__get__(value)
    if key is None:
        raise Refused("a ZoneInfo read from a file has no key that names it")
    return Node(b"ZoneInfo", (key,))


def _decimal(value: decimal.Decimal, context: RuleContext) -> Node:
    sign, digits, exponent = decimal.Decimal.as_tuple(value)
    return Node(b"Decimal", (sign, "".join(map(str, digits)), exponent))


def _path(value: pathlib.PurePath, context: RuleContext) -> Node:
    # The public names are the same in every version; the module they are from is not.
    cls = next(c for c in type(value).__mro__ if c in _PATHS)
    return Node(b"path", (qualname(cls), pathlib.PurePath.__str__(value)))


_PATHS: Final = (
    pathlib.PurePath,
    pathlib.PurePosixPath,
    pathlib.PureWindowsPath,
    pathlib.PosixPath,
    pathlib.WindowsPath,
)


def _array(value: array.array[Any], context: RuleContext) -> Node:
    return Node(
        b"array.array",
        (class_vars(array.array)["typecode"].__get__(value), bytes(memoryview(value))),
    )


def _in_memory_file(value: io.BytesIO | io.StringIO, context: RuleContext) -> Node:
    cls: Any = io.BytesIO if derives(type(value), io.BytesIO) else io.StringIO
    if class_vars(cls)["closed"].__get__(value):
        raise Refused("it is a closed stream")
    return Node(qualname(cls).encode(), (cls.getvalue(value), cls.tell(value)))


def _logger(value: logging.Logger, context: RuleContext) -> Node:
    name = (instance_dict(value) or {}).get("name")
    return Node(b"logger", (known_module_name(name) if type(name) is str else name,))


def _reduced_arguments(value: Any, context: RuleContext) -> Node:
    """operator's getters and callers, by the arguments of their constructors."""
    constructor, arguments, *_ = value.__reduce__()
    # methodcaller with keywords reduces to a partial, which has the name and the keywords
    first, keywords = getattr(constructor, "args", ()), getattr(constructor, "keywords", {})
    return Node(qualname(type(value)).encode(), ((*first, *arguments), keywords))


def _sentinel(value: Any, context: RuleContext) -> Node:
    """A sentinel of Python 3.15 by the name that leads to it; no other is the same."""
    module, name = value.__module__, value.__name__
    if type(module) is not str or resolve(module, name) is not value:
        raise Refused(
            f"a sentinel that is not {module}.{name} is nothing but its identity",
            f"Make it at the top of its module, and call it {name!r} there.",
        )
    return Node(b"sentinel", (known_module_name(module), name))


WHOLE: Final = (logging.Logger,)

OWNED_NAMES: Final[ClassTable[frozenset[str]]] = ClassTable(
    {
        logging.Logger: frozenset(
            ("name", "level", "parent", "propagate", "handlers", "disabled", "filters", "manager",
             "_cache")
        ),
    }
)  # fmt: skip

RULES: Final[dict[type, Rule]] = {
    datetime.date: _members(b"date", datetime.date, *_DATE),
    datetime.datetime: _datetime,
    datetime.time: _members(b"time", datetime.time, *_TIME),
    datetime.timedelta: _members(
        b"timedelta", datetime.timedelta, "days", "seconds", "microseconds"
    ),
    datetime.tzinfo: lambda v, d: Node(b"tzinfo"),
    datetime.timezone: lambda v, d: Node(b"timezone", v.__getinitargs__()),
    zoneinfo.ZoneInfo: _zone,
    decimal.Decimal: _decimal,
    uuid.UUID: _members(b"UUID", uuid.UUID, "int"),
    re.Pattern: lambda v, d: Node(b"regex", (v.pattern, v.flags)),
    array.array: _array,
    io.BytesIO: _in_memory_file,
    io.StringIO: _in_memory_file,
    logging.Logger: _logger,
    operator.attrgetter: _reduced_arguments,
    operator.itemgetter: _reduced_arguments,
    operator.methodcaller: _reduced_arguments,
    **dict.fromkeys(_PATHS, _path),
}
if sys.version_info >= (3, 15):
    RULES[builtins.sentinel] = _sentinel
