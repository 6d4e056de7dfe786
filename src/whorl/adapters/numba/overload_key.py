"""What one compile by Numba is made of: code, types, options, settings, registrations."""

from __future__ import annotations

import platform
import re
import types
from collections.abc import Iterator, Mapping
from typing import Any, Final

import llvmlite
import numpy as np
from numba.core.types import Type
from numba.experimental.jitclass.base import JitClassType

from whorl.adapters.code_description import CodeDescription, key_of
from whorl.errors import UnsupportedFunction
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.digest import StableDigest
from whorl.store import KeyPart

from .compile_order import CompileOrder
from .ignored_names import described
from .installation import LIBRARY
from .owner import (
    flags_of_ufunc,
    name_of,
    options_of,
    place_in_debug_information,
    resolved_options,
    settings,
)
from .registrations import Registrations

_ADDRESS: Final = re.compile(r"\b0x[0-9a-f]+|#[0-9a-f]+<")
_REMEDY: Final = "Each process compiles the function, as without cache=True."


@dataclass(frozen=True, slots=True, eq=False)
class OverloadKey:
    """The key of one compile, and what it was made of."""

    digest: StableDigest
    described: tuple[CodeDescription, ...]
    beside: Mapping[str, object]

    def parts(self) -> tuple[KeyPart, ...]:
        """What the key was made of, by path."""
        rows = {part.path: part for each in self.described[1:] for part in each.parts()}
        others = (KeyPart(path, str(value)) for path, value in self.beside.items() if value != "")
        own = self.described[0].parts()
        met = {part.path for part in own}
        return (*others, *own, *(row for path, row in rows.items() if path not in met))


class KeyMaker:
    """Makes the keys of the overloads of one function."""

    def __init__(
        self, owner: Any, function: types.FunctionType, more: Registrations, order: CompileOrder
    ) -> None:
        self.name = name_of(function)
        self._owner = owner
        self._function = function
        self._registrations = more
        self._order = order
        self._described: dict[tuple[object, ...], CodeDescription] = {}

    def key(self, signature: Any, machine: object) -> OverloadKey:
        """The key for a signature and a machine. `UnsupportedFunction` if there is none."""
        code = self._describe(tuple(_python_values(signature)))
        more = self._registrations.describe()
        described = (code,) if more is None else (code, more)
        beside = self._beside(signature, machine)
        beside["compiled before"] = "; ".join(self._order.passed(self._owner, described))
        digest = key_of("numba", [each.digest for each in described], [*beside.items()])
        return OverloadKey(digest, described, beside)

    def _describe(self, values: tuple[object, ...]) -> CodeDescription:
        known = self._described.get(values)
        if known is not None and known.holds():
            return known
        code = described(self.name, self._function, self._owner, *values)
        for path, value in code.met:
            if isinstance(value, JitClassType):
                where = path.partition(":")[2]
                raise self._refusal(where, "jitclass", "each process makes types of its own for it")
        self._described[values] = code
        return code

    def _beside(self, signature: Any, machine: object) -> dict[str, object]:
        if self._function.__module__ is None:
            reason = "without it no other process finds the function"
            raise self._refusal("the __name__ of its globals", "NoneType", reason)
        text = "; ".join(_type_texts(signature))
        if _ADDRESS.search(text):
            raise self._refusal("arguments", str(signature), "this process alone has such a type")
        return {
            "types": text,
            "module": self._function.__module__,
            **{f"option:{name}": _text(v) for name, v in sorted(options_of(self._owner).items())},
            "options passed on": " ".join(resolved_options({})),
            "options of ufunc": flags_of_ufunc(self._owner),
            "place": place_in_debug_information(self._owner, self._function),
            "machine": _machine_text(machine),
            "platform": f"{platform.system()} {platform.machine()}",
            "tools": f"{toolchain()}, NumPy {np.__version__}",
            **{path: _text(value) for path, value in settings().items()},
        }

    def _refusal(self, what: str, kind: str, reason: str) -> UnsupportedFunction:
        return UnsupportedFunction(self.name, what, kind, reason, _REMEDY)


def toolchain() -> str:
    """What compiles."""
    return f"{LIBRARY.toolchain()}, llvmlite {llvmlite.__version__}"


def _machine_text(machine: object) -> str:
    """The target, the processor, and a digest of its features, which are a long list."""
    match machine:
        case (str(target), str(processor), *features):
            return f"{target} {processor} {key_of(*features)}"
    return str(machine)


def _text(value: object) -> str:
    """An option as text; a set has no order."""
    return repr(sorted(value, key=repr)) if isinstance(value, set | frozenset) else str(value)


# -- types -----------------------------------------------------------------------------


def _type_texts(signature: Any) -> Iterator[str]:
    """The name of each type with that of its class: names of different classes can be alike."""
    yield str(signature)
    for found in _types(signature):
        yield f"{type(found).__module__}.{type(found).__qualname__} {found}"


def _python_values(signature: Any) -> Iterator[object]:
    """The classes and functions behind the types: enums, named tuples, types of extensions."""
    seen = set()
    for found in _types(signature):
        for value in (type(found), *vars(found).values()):
            if id(value) in seen or isinstance(value, JitClassType):
                continue
            if isinstance(value, type | types.FunctionType):
                seen.add(id(value))
                if str(value.__module__).partition(".")[0] not in ("numba", "builtins"):
                    yield value


def _types(signature: Any) -> Iterator[Type]:
    """The types of a signature, with those that they are made of, each once."""
    waiting: list[object] = [getattr(signature, "return_type", None)]
    waiting += getattr(signature, "args", signature)
    seen: set[int] = set()
    while waiting:
        value = waiting.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Type):
            yield value
            waiting += vars(value).values()
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, tuple | list):
            waiting += value
