"""What code outside of Numba has registered with it: overloads, intrinsics, lowerings, types.

A registration can change what any function compiles to: an `@overload` of `operator.add` has no
name in the functions that add. So all of them count for every function that is cached. Those of
installed distributions count by version, as their code does everywhere.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any, Final

from numba.core import pythonapi, rewrites
from numba.core.datamodel import default_manager
from numba.core.registry import cpu_target
from numba.core.typing.typeof import typeof_impl

from whorl.adapters.code_description import CodeDescription
from whorl.fingerprint.static_lookup import mro

from .ignored_names import described_extensions

_OWN: Final = ("numba", "llvmlite", "numpy")  # whose versions are in every key
_HEAP_TYPE: Final = 1 << 9  # of the flags of a class: not one that is compiled into an extension
_LISTS: Final = ("functions", "attributes", "globals", "getattrs", "setattrs", "casts", "constants")


class Registrations:
    """The registrations of this process, described anew when there are more or some changed."""

    def __init__(self) -> None:
        self._size = -1
        self._description: CodeDescription | None = None

    def describe(self) -> CodeDescription | None:
        """What they are made of; None if there are none. `UnsupportedFunction` if unknown."""
        size = sum(map(len, _collections()))
        if size != self._size or (self._description is not None and not self._description.holds()):
            found = tuple(dict.fromkeys(_made_elsewhere()))
            self._description = (
                described_extensions("an extension of Numba", *found) if found else None
            )
            self._size = size
        return self._description


def _registries() -> Iterator[Any]:
    for context in (cpu_target.typing_context, cpu_target.target_context):
        context.refresh()
        yield from list(context._registries)


def _collections() -> Iterator[Any]:
    """The lists and tables that a registration makes longer."""
    for registry in _registries():
        for name in _LISTS:
            yield getattr(registry, name, ())
    for table in (pythonapi._boxers, pythonapi._unboxers, pythonapi._reflectors):
        yield table.functions
    yield default_manager._handlers
    yield typeof_impl.registry
    yield from rewrites.rewrite_registry.rewrites.values()


def _made_elsewhere() -> Iterator[object]:
    """The functions and classes behind all registrations, without Numba's own."""
    for collection in _collections():
        for item in list(collection.values() if hasattr(collection, "values") else collection):
            for made in item if isinstance(item, tuple) and not _is_of_intrinsic(item) else (item,):
                yield from _behind(made)


def _is_of_intrinsic(row: tuple[object, ...]) -> bool:
    """Whether this is the code of an intrinsic, which is registered when it is compiled.

    What counts is the function that makes the code: it is known before.
    """
    return len(row) == 3 and row[0] is row[1]


def _behind(item: object) -> Iterator[object]:
    if isinstance(item, type):
        yield from _behind_class(item)
    elif isinstance(item, types.FunctionType):
        yield from _behind_function(item)
    else:
        for template in getattr(item, "templates", ()):  # of the type of a global
            yield from _behind_class(template)


def _behind_class(cls: type) -> Iterator[object]:
    for name in ("_overload_func", "_definition_func"):
        function = getattr(cls, name, None)
        if isinstance(function, types.FunctionType):
            yield from _behind_function(function)
            inline = getattr(getattr(cls, "_inline", None), "value", None)
            options = getattr(cls, "_jit_options", None)
            if not _is_own(function) and (inline not in (None, "never") or options):
                yield from _option_values(options, inline)
    yield from (base for base in mro(cls)[:1] if not _is_own(base))
    if _is_own(cls):  # made by Numba around a class of the user
        yield from (base for base in mro(cls) if not _is_own(base))


def _option_values(options: object, inline: object) -> Iterator[object]:
    """The options of an overload, as values that can be listed once."""
    yield ("overload", repr(sorted(options.items())) if isinstance(options, dict) else "")
    if isinstance(inline, types.FunctionType):
        yield inline
    else:
        yield ("inline", str(inline))


def _behind_function(function: types.FunctionType) -> Iterator[object]:
    """A function, or those that Numba has wrapped in one of its own."""
    if not _is_own(function):
        yield function
        return
    yield from (inner for inner in _captured(function) if not _is_own(inner))


def _captured(function: types.FunctionType) -> Iterable[types.FunctionType]:
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # not yet assigned
            continue
        if isinstance(value, types.FunctionType):
            yield value


def _is_own(value: Any) -> bool:
    """Whether it is a part of Numba, NumPy or Python."""
    if isinstance(value, type) and not value.__flags__ & _HEAP_TYPE:
        return True
    module = getattr(value, "__module__", None)
    if module is None and isinstance(value, types.FunctionType):  # Numba has generated it
        module = value.__globals__.get("__package__")
    top = str(module or "").partition(".")[0]
    return top in _OWN or (top in sys.stdlib_module_names and top != "__main__")
