"""Plain data as what JSON has, arrays as bytes, and back: see `result_format` for the grammar."""

from __future__ import annotations

import base64
import binascii
import enum
import math
import re
import struct
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from whorl.fingerprint.layout import has_hidden_state
from whorl.fingerprint.names import known_module_name, resolve
from whorl.fingerprint.static_lookup import (
    ABSENT,
    class_vars,
    derives,
    find,
    instance_dict,
    module_name,
    module_vars,
    mro,
    qualname,
)
from whorl.fingerprint.tokens import LEAVES

ALIGNED: Final = 64
_LARGE: Final = 1 << 63
_DOUBLE: Final = struct.Struct("<d")
_TWO_DOUBLES: Final = struct.Struct("<dd")
_KINDS: Final = "biufcSUMm"  # of arrays that are nothing but their bytes
_NAME: Final = re.compile(r"[<>|][biufcSUMm][0-9]{1,9}(\[[0-9]{0,9}[a-zA-Z]{1,2}\])?", re.ASCII)
_PADDED: Final = "gG"  # some bits have no meaning, and differ between machines
_OWN_PICKLING: Final = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")


class NotPlainData(Exception):
    """A value that the format of plain data does not have."""


class PlainWriter:
    """One result: `write` returns what JSON has, `arrays` are the bytes of its arrays."""

    def __init__(self) -> None:
        self.arrays: list[bytes | memoryview] = []
        self.size = 0
        self.is_mutable = False
        self._met: dict[int, object] = {}

    def joined(self) -> bytes:
        """The bytes of all arrays, each at its place."""
        return b"".join(self.arrays)

    def write(self, value: Any) -> object:
        """A value as what JSON has."""
        write = _WRITE.get(type(value))
        if write is not None:
            return write(self, value)
        if "numpy" in sys.modules:
            written = self._numpy(value)
            if written is not None:
                return written
        if isinstance(value, enum.Enum):
            return self._member(value)
        if "__dataclass_fields__" in class_vars(type(value)):
            return self._dataclass(value)
        raise NotPlainData

    def once(self, value: object, *, is_mutable: bool = True) -> None:
        """Refuse a mutable object that is there twice: it would come back as two."""
        if id(value) in self._met:
            raise NotPlainData
        self._met[id(value)] = value
        self.is_mutable |= is_mutable

    def items(self, value: Any) -> list[object]:
        """Each item as what JSON has."""
        return [self.write(item) for item in value]

    def _numpy(self, value: Any) -> object:
        import numpy as np

        if type(value) is np.ndarray:
            self.once(value)
            return {"a": self._array(value)}
        if isinstance(value, np.generic):
            dtype = value.dtype
            if np.dtype(dtype.str).type is not type(value):
                raise NotPlainData
            if dtype.names is not None:
                self.once(value)  # a record can be written to
            return {"n": [name_of_dtype(dtype), value.tobytes().hex()]}
        if isinstance(value, np.dtype):
            self.is_mutable |= value.names is not None  # names can be given anew
            return {"p": name_of_dtype(value)}
        return None

    def _array(self, value: Any) -> list[object]:
        name = name_of_dtype(value.dtype)
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        data = value.tobytes(order)
        offset = -(-self.size // ALIGNED) * ALIGNED
        self.arrays += (bytes(offset - self.size), data)
        self.size = offset + len(data)
        return [name, list(value.shape), order, offset, len(data)]

    def _member(self, value: enum.Enum) -> object:
        cls = type(value)
        name = value.__dict__.get("_name_")
        members = class_vars(cls).get("_member_map_", {})
        if type(name) is not str or members.get(name) is not value:
            raise NotPlainData  # several flags at once
        return {"e": [*_class_name(cls), name, self.write(value.__dict__["_value_"])]}

    def _dataclass(self, value: Any) -> object:
        cls = type(value)
        names = plain_fields(cls)
        stored = instance_dict(value)
        if names is None or (stored is not None and not _holds_all(cls, stored, names)):
            raise NotPlainData
        self.once(value)
        try:
            values = [object.__getattribute__(value, name) for name in names]
        except AttributeError:
            raise NotPlainData from None  # a field that was never set
        return {"o": [*_class_name(cls), list(names), self.items(values)]}


def _holds_all(cls: type, stored: Mapping[str, Any], names: tuple[str, ...]) -> bool:
    """Whether an instance holds its fields and nothing else, and its class none of them for it."""
    in_slots = (name for name in names if name not in stored)
    return set(stored) <= set(names) and all(
        type(find(cls, name)) is types.MemberDescriptorType for name in in_slots
    )


def _class_name(cls: type) -> tuple[str, str]:
    if resolve(module_name(cls), qualname(cls)) is not cls:
        raise NotPlainData
    return known_module_name(module_name(cls)), qualname(cls)


def _text(writer: PlainWriter, value: str) -> object:
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:  # JSON would join two halves of a pair
        return {"u": value.encode("utf-8", "surrogatepass").hex()}
    return value


def _whole(writer: PlainWriter, value: int) -> object:
    return value if -_LARGE <= value < _LARGE else {"i": hex(value)}


def _real(writer: PlainWriter, value: float) -> object:
    return value if math.isfinite(value) else {"f": _DOUBLE.pack(value).hex()}


def _sorted_set(writer: PlainWriter, value: Any) -> list[object]:
    return sorted(writer.items(value), key=repr)


def _list(writer: PlainWriter, value: list[Any]) -> object:
    writer.once(value)
    return writer.items(value)


def _once_if_deep(writer: PlainWriter, value: object, items: Iterable[object]) -> None:
    """40 pairs of pairs of pairs have 2^40 leaves: pickle writes each pair once."""
    if not LEAVES.issuperset(map(type, items)):
        writer.once(value, is_mutable=False)


def _tuple(writer: PlainWriter, value: tuple[Any, ...]) -> object:
    _once_if_deep(writer, value, value)
    return {"t": writer.items(value)}


def _frozenset(writer: PlainWriter, value: frozenset[Any]) -> object:
    _once_if_deep(writer, value, value)
    return {"z": _sorted_set(writer, value)}


def _dict(writer: PlainWriter, value: dict[Any, Any]) -> object:
    writer.once(value)
    return {"d": [writer.write(part) for pair in value.items() for part in pair]}


def _set(writer: PlainWriter, value: set[Any]) -> object:
    writer.once(value)
    return {"s": _sorted_set(writer, value)}


def _bytearray(writer: PlainWriter, value: bytearray) -> object:
    writer.once(value)
    return {"y": _base64(value)}


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode("ascii")


def _itself(writer: PlainWriter, value: object) -> object:
    return value


def _ends(writer: PlainWriter, value: Any) -> list[object]:
    ends = (value.start, value.stop, value.step)
    _once_if_deep(writer, value, ends)
    return writer.items(ends)


_WRITE: Final[dict[type, Callable[[PlainWriter, Any], object]]] = {
    type(None): _itself,
    bool: _itself,
    int: _whole,
    float: _real,
    complex: lambda writer, value: {"c": _TWO_DOUBLES.pack(value.real, value.imag).hex()},
    str: _text,
    bytes: lambda writer, value: {"b": _base64(value)},
    bytearray: _bytearray,
    list: _list,
    tuple: _tuple,
    dict: _dict,
    set: _set,
    frozenset: _frozenset,
    range: lambda writer, value: {"r": _ends(writer, value)},
    slice: lambda writer, value: {"l": _ends(writer, value)},
    type(...): lambda writer, value: {".": 0},
}


# -- dataclasses and dtypes ----------------------------------------------------------------


def plain_fields(cls: type) -> tuple[str, ...] | None:
    """The fields of a dataclass that is nothing but its fields; None for another."""
    for name in _OWN_PICKLING:
        method = find(cls, name)
        is_generated = type(method) is types.FunctionType and method.__module__ == "dataclasses"
        if not is_generated and method is not find(object, name):
            return None
    table = class_vars(cls)["__dataclass_fields__"]
    names = tuple(name for name, field in table.items() if field._field_type.name == "_FIELD")
    slots = {
        name
        for base in mro(cls)
        for name, value in class_vars(base).items()
        if type(value) is types.MemberDescriptorType
    }
    return names if slots <= set(names) and not has_hidden_state(cls) else None


def name_of_dtype(dtype: Any) -> object:
    """A dtype as what JSON has, if that is all there is to it."""
    import numpy as np

    if dtype.metadata is not None:
        raise NotPlainData
    if dtype.names is None and dtype.subdtype is None:
        is_plain = dtype.kind in _KINDS and dtype.char not in _PADDED
        if not is_plain or np.dtype(dtype.str).char != dtype.char:
            raise NotPlainData
        return cast("str", dtype.str)
    if dtype.hasobject or dtype.isalignedstruct or dtype.type is not np.void:
        raise NotPlainData  # the last: a dtype of records equals one that is none
    fields = [[name, *_field(dtype, name)] for name in dtype.names or ()]
    if not fields or dtype_of(fields) != dtype:
        raise NotPlainData
    return fields


def _field(dtype: Any, name: str) -> tuple[object, object]:
    field = dtype.fields[name][0]
    if field.subdtype is not None:
        return name_of_dtype(field.subdtype[0]), list(field.subdtype[1])
    return name_of_dtype(field), []


def dtype_of(name: Any) -> Any:
    """The dtype that was written as this; one of objects is refused."""
    import numpy as np

    if type(name) is str:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no dtype")
        dtype = np.dtype(name)
    else:
        fields = [(field, dtype_of(inner), tuple(shape)) for field, inner, shape in name]
        dtype = np.dtype([row if row[2] else row[:2] for row in fields])
    if dtype.hasobject:
        raise ValueError("an array of objects is not read")
    return dtype


# -- reading ---------------------------------------------------------------------------
#
# Reads what `PlainWriter` wrote.


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
