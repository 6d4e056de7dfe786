"""Reads plain data that `plain_writer` wrote: see `result_format` for the grammar."""

from __future__ import annotations

import base64
import binascii
import math
import struct
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, Final

from whorl.fingerprint.lookup import ABSENT, class_vars, derives, module_vars, qualname
from whorl.fingerprint.tokens import LEAVES

from .plain_writer import PlainWriter, dtype_of, plain_fields

__all__ = ["CannotRestore", "PlainReader"]

_DOUBLE: Final = struct.Struct("<d")
_TWO_DOUBLES: Final = struct.Struct("<dd")


class CannotRestore(Exception):
    """A stored result that this program cannot use; the message says why."""


class PlainReader:
    """The results in one entry; `scope` leads from names of modules to their content."""

    def __init__(
        self,
        payload: Callable[[str], memoryview],
        scope: Mapping[str, Mapping[str, Any]],
        writable: bool,
    ) -> None:
        self._payload = payload
        self._scope = scope
        self._writable = writable

    def read(self, written: Any) -> Any:
        """The value that was written as this."""
        kind = type(written)
        if kind is list:
            return [part if type(part) in LEAVES else self.read(part) for part in written]
        if kind is not dict:
            return written
        ((tag, held),) = written.items()
        return _READ[tag](self, held)

    def array(self, held: Any) -> Any:
        """An array over the bytes of the entry."""
        import numpy as np

        name, shape, order, offset, size = held
        dtype, data = dtype_of(name), self._payload("arrays")
        if not 0 <= offset <= offset + size <= len(data):
            raise ValueError("an array lies outside of its entry")
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != size:
            raise ValueError("an array is not as long as it says")
        if size:
            found = np.frombuffer(data[offset : offset + size], dtype).reshape(shape, order=order)
        else:
            found = np.zeros(shape, dtype, order)
        if self._writable:
            return found.copy(order)
        found.flags.writeable = False
        return found

    def scalar(self, held: Any) -> Any:
        """A scalar of NumPy."""
        import numpy as np

        name, data = held
        dtype = dtype_of(name)
        raw: bytes | bytearray = bytes.fromhex(data)[: dtype.itemsize]
        if len(raw) != dtype.itemsize:
            raise ValueError("a scalar is not as long as it says")
        if dtype.kind == "S":  # an element of an array would end before its last NULs
            return np.bytes_(raw)
        if dtype.kind == "U":
            order = "utf-32-be" if dtype.str[0] == ">" else "utf-32-le"
            return np.str_(raw.decode(order, "surrogatepass"))
        if dtype.names is not None and self._writable:
            raw = bytearray(raw)
        return np.frombuffer(raw, dtype)[0] if dtype.itemsize else np.zeros((), dtype)[()]

    def member(self, held: Any) -> Any:
        """A member of an enum that the program knows, if it still has this value."""
        module, dotted, name, value = held
        cls = self._class(module, dotted)
        members = class_vars(cls).get("_member_map_")
        member = members.get(name) if type(members) is dict else None
        expected = self.read(value)
        if member is None or type(member._value_) is not type(expected):
            raise CannotRestore(f"{module}.{dotted} has no member {name}")
        writer = PlainWriter()
        if writer.write(member._value_) != value:
            raise CannotRestore(f"{module}.{dotted}.{name} has another value now")
        return member

    def instance(self, held: Any) -> Any:
        """An instance of a dataclass that the program knows, if it still has these fields."""
        module, dotted, names, values = held
        cls = self._class(module, dotted)
        if "__dataclass_fields__" not in class_vars(cls) or plain_fields(cls) != tuple(names):
            raise CannotRestore(f"{module}.{dotted} has other fields now")
        instance: Any = object.__new__(cls)
        for name, value in zip(names, values, strict=True):
            object.__setattr__(instance, name, self.read(value))
        return instance

    def _class(self, module: str, dotted: str) -> type:
        held: Any = self._scope.get(module)
        if held is None:
            loaded = sys.modules.get(module)
            if loaded is None or not derives(type(loaded), types.ModuleType):
                raise CannotRestore(f"the module {module} has not been loaded")
            held = module_vars(loaded)  # empty if the module is loaded lazily
        found: Any = ABSENT
        for part in dotted.split("."):
            found = held.get(part, ABSENT)
            held = class_vars(found) if isinstance(found, type) else {}
        if not isinstance(found, type) or qualname(found) != dotted:
            raise CannotRestore(f"{module}.{dotted} is no class of this program")
        return found


def _pairs(reader: PlainReader, held: list[Any]) -> dict[Any, Any]:
    parts = iter(reader.read(held))
    return dict(zip(parts, parts, strict=True))


_READ: Final[dict[str, Callable[[PlainReader, Any], Any]]] = {
    "t": lambda reader, held: tuple(reader.read(held)),
    "d": _pairs,
    "s": lambda reader, held: set(reader.read(held)),
    "z": lambda reader, held: frozenset(reader.read(held)),
    "i": lambda reader, held: int(held, 16),
    "f": lambda reader, held: _DOUBLE.unpack(bytes.fromhex(held))[0],
    "c": lambda reader, held: complex(*_TWO_DOUBLES.unpack(bytes.fromhex(held))),
    "u": lambda reader, held: bytes.fromhex(held).decode("utf-8", "surrogatepass"),
    "b": lambda reader, held: _from_base64(held),
    "y": lambda reader, held: bytearray(_from_base64(held)),
    "r": lambda reader, held: range(*reader.read(held)),
    "l": lambda reader, held: slice(*reader.read(held)),
    ".": lambda reader, held: ...,
    "a": lambda reader, held: reader.array(held),
    "n": lambda reader, held: reader.scalar(held),
    "p": lambda reader, held: dtype_of(held),
    "e": lambda reader, held: reader.member(held),
    "o": lambda reader, held: reader.instance(held),
}


def _from_base64(held: str) -> bytes:
    try:
        return base64.b64decode(held, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
