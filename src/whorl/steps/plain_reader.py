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

from whorl.fingerprint.static_lookup import ABSENT, class_vars, derives, module_vars, qualname
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
        ((tag, content),) = written.items()
        return _READ[tag](self, content)

    def array(self, content: Any) -> Any:
        """An array over the bytes of the entry."""
        import numpy as np

        name, shape, order, offset, size = content
        dtype, data = dtype_of(name), self._payload("arrays")
        if not 0 <= offset <= offset + size <= len(data):
            raise ValueError("an array lies outside of its entry")
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != size:
            raise ValueError("an array is not as long as it says")
        if size:
            array = np.frombuffer(data[offset : offset + size], dtype).reshape(shape, order=order)
        else:
            array = np.zeros(shape, dtype, order)
        if self._writable:
            return array.copy(order)
        array.flags.writeable = False
        return array

    def scalar(self, content: Any) -> Any:
        """A scalar of NumPy."""
        import numpy as np

        name, data = content
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

    def member(self, content: Any) -> Any:
        """A member of an enum that the program knows, if it still has this value."""
        module, dotted, name, value = content
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

    def instance(self, content: Any) -> Any:
        """An instance of a dataclass that the program knows, if it still has these fields."""
        module, dotted, names, values = content
        cls = self._class(module, dotted)
        if "__dataclass_fields__" not in class_vars(cls) or plain_fields(cls) != tuple(names):
            raise CannotRestore(f"{module}.{dotted} has other fields now")
        instance: Any = object.__new__(cls)
        for name, value in zip(names, values, strict=True):
            object.__setattr__(instance, name, self.read(value))
        return instance

    def _class(self, module: str, dotted: str) -> type:
        names: Any = self._scope.get(module)
        if names is None:
            loaded = sys.modules.get(module)
            if loaded is None or not derives(type(loaded), types.ModuleType):
                raise CannotRestore(f"the module {module} has not been loaded")
            names = module_vars(loaded)  # empty if the module is loaded lazily
        cls: Any = ABSENT
        for part in dotted.split("."):
            cls = names.get(part, ABSENT)
            names = class_vars(cls) if isinstance(cls, type) else {}
        if not isinstance(cls, type) or qualname(cls) != dotted:
            raise CannotRestore(f"{module}.{dotted} is no class of this program")
        return cls


def _pairs(reader: PlainReader, content: list[Any]) -> dict[Any, Any]:
    parts = iter(reader.read(content))
    return dict(zip(parts, parts, strict=True))


_READ: Final[dict[str, Callable[[PlainReader, Any], Any]]] = {
    "t": lambda reader, content: tuple(reader.read(content)),
    "d": _pairs,
    "s": lambda reader, content: set(reader.read(content)),
    "z": lambda reader, content: frozenset(reader.read(content)),
    "i": lambda reader, content: int(content, 16),
    "f": lambda reader, content: _DOUBLE.unpack(bytes.fromhex(content))[0],
    "c": lambda reader, content: complex(*_TWO_DOUBLES.unpack(bytes.fromhex(content))),
    "u": lambda reader, content: bytes.fromhex(content).decode("utf-8", "surrogatepass"),
    "b": lambda reader, content: _from_base64(content),
    "y": lambda reader, content: bytearray(_from_base64(content)),
    "r": lambda reader, content: range(*reader.read(content)),
    "l": lambda reader, content: slice(*reader.read(content)),
    ".": lambda reader, content: ...,
    "a": lambda reader, content: reader.array(content),
    "n": lambda reader, content: reader.scalar(content),
    "p": lambda reader, content: dtype_of(content),
    "e": lambda reader, content: reader.member(content),
    "o": lambda reader, content: reader.instance(content),
}


def _from_base64(content: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
