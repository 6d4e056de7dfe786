"""The steps of paths: a value and a step lead to the next value, or to nothing.

Views walk by these operations when a compile looks at the world, and replays by the same ones.
"""

from __future__ import annotations

import builtins
import functools
import types
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

from whorl.fingerprint.source import code_digest, undecorated_source
from whorl.fingerprint.static_lookup import bound, derives, find
from whorl.lazy import load
from whorl.signals import pass_on

from .compiler_settings import attribute_names
from .item import key_of
from .trace import Step
from .value_fact import NotRecorded

__all__ = [
    "ABSENT", "OPERATIONS", "function_behind", "is_callable_object", "item", "walk",
    "walk_or_error",
]  # fmt: skip


class _Absent:
    """What is found where there is nothing."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<absent>"


ABSENT: Final = _Absent()
_BUILTINS: Final = vars(builtins)


def walk(value: Any, step: Step) -> Any:
    """What one step leads to, or ABSENT. Too deep is too deep: asking again would never end."""
    try:
        return OPERATIONS[step.operation](value, step.name)
    except RecursionError:
        raise
    except Exception as error:
        pass_on(error)
        return ABSENT


def walk_or_error(value: Any, step: Step) -> tuple[Any, Exception | None]:
    """The same, and why it is ABSENT."""
    try:
        return OPERATIONS[step.operation](value, step.name), None
    except RecursionError:
        raise
    except Exception as error:
        pass_on(error)
        return ABSENT, error


# -- functions ---------------------------------------------------------------------------------


def function_behind(value: Any) -> Any:
    """The function that a call really runs: behind methods, partials and descriptors."""
    seen = 0
    while not isinstance(value, types.FunctionType):
        kind = type(value)
        if kind is types.MethodType or kind is staticmethod or kind is classmethod:
            value = value.__func__
        elif kind is functools.partial:
            value = value.func
        elif isinstance(getattr(kind, "__whorl_function__", None), property):
            value = value.__whorl_function__
        else:
            return value
        seen += 1
        if seen > 100:
            raise NotRecorded("it wraps itself")
    return value


def is_callable_object(value: Any) -> bool:
    """Whether a call of this object runs the `__call__` that its class has, written in Python."""
    call = getattr(type(value), "__call__", None)  # noqa: B004  # which one it is, is asked
    return isinstance(call, types.FunctionType) and "__call__" not in getattr(value, "__dict__", ())


def _cell(value: Any, name: str) -> Any:
    function = function_behind(value)
    place = function.__code__.co_freevars.index(name)
    return function.__closure__[place].cell_contents


def _global(value: Any, name: str) -> Any:
    scope = function_behind(value).__globals__
    return bound(scope, name) if name in scope else _BUILTINS[name]


def _default(value: Any, name: str) -> Any:
    function = function_behind(value)
    keyword = function.__kwdefaults__ or {}
    if name in keyword:
        return keyword[name]
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    place = names.index(name) - len(names) + len(defaults)
    if place < 0:
        raise LookupError(name)
    return defaults[place]


def _annotation(value: Any, name: str) -> str:
    return dict(code_digest(function_behind(value).__code__).annotations)[name]


# -- items -------------------------------------------------------------------------------------


def item(value: Any, key: Any) -> Any:
    """What `value[key]` is, without what looking would insert."""
    cls = type(value)
    if (
        derives(cls, defaultdict)
        and find(cls, "__missing__") is defaultdict.__missing__
        and not dict.__contains__(value, key)
    ):
        raise KeyError(key)
    return value[key]


def _keyed_item(value: Any, code: Any) -> Any:
    """The same for a key as plain data."""
    return item(value, key_of(code))


def _digests() -> Any:
    """Fingerprints of values, with all their rules: few paths have a step that needs them."""
    return load("whorl.reads.digest_fact")


def _written(value: Any, name: object) -> str | None:
    return undecorated_source(function_behind(value).__code__)


def _evaluated(value: Any, name: Any) -> Any:
    """The annotation of a parameter, from Python 3.14 on, where others cannot be evaluated."""
    library = load("annotationlib")
    every = library.get_annotations(function_behind(value), format=library.Format.FORWARDREF)
    if isinstance(every[name], library.ForwardRef):
        raise LookupError(name)
    return every[name]


OPERATIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "attr": getattr,
    "cell": _cell,
    "global": _global,
    "default": _default,
    "annotation": _annotation,
    "item": item,
    "keyed": _keyed_item,
    "key": lambda value, place: list(value)[place],
    "member": lambda value, place: _digests().in_order(value)[place],
    "settings": lambda compiler, name: attribute_names(compiler),
    "written": _written,
    "with code": lambda value, name: _digests().digest_with_code(value),
    "evaluated": _evaluated,
    "behind": lambda value, name: getattr(function_behind(value), name),
    "isinstance": lambda value, code: isinstance(value, key_of(code)),  # type: ignore[arg-type] # a class, or it raises
}
"""How each kind of step is done."""
