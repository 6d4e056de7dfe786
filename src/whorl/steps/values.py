"""Results <-> the record and the payloads of an entry: exact types, exact bits, no surprises.

Plain data is written by whorl's own encoding, which executes nothing when it is read:

    record  = ["plain", written, whether nothing in it can be changed]
            | ["pickle", signature] | ["serializer", which, signature]
    written = null | true | false | text | number | [written...]      as they are; a list
            | {"t": [written...]}                    tuple
            | {"d": [key, value, key, value...]}     dict, in order
            | {"s": [...]} | {"z": [...]}            set, frozenset
            | {"i": hex} | {"f": hex} | {"c": hex}   large int; float or complex by its bits
            | {"u": hex}                             text with lone surrogates
            | {"b": base64} | {"y": base64}          bytes, bytearray
            | {"r": [start, stop, step]}             range
            | {"l": [start, stop, step]}             slice
            | {".": 0}                               Ellipsis
            | {"a": [dtype, shape, order, offset, size]}    array in the payload "arrays"
            | {"n": [dtype, hex]} | {"p": dtype}     scalar, dtype of NumPy
            | {"e": [module, name, member, value]}   member of an enum
            | {"o": [module, name, [field...], [written...]]}   dataclass

An array lies in the entry as it lies in memory, aligned, and is not copied when it is read.
Members of enums and dataclasses come back only as classes that the program has loaded already
and that still have these fields: reading an entry imports nothing.

Everything else goes through pickle: instances of other classes, subclasses of builtins, values
that hold one mutable object twice or themselves. Reading a pickle can execute anything, so it
is only read when its signature is ours: see `signature`.
"""

from __future__ import annotations

import base64
import binascii
import enum
import math
import struct
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, cast, runtime_checkable

from whorl.fingerprint.layout import has_hidden_state
from whorl.fingerprint.lookup import (
    ABSENT,
    class_vars,
    find,
    instance_dict,
    module_name,
    mro,
    qualname,
)
from whorl.fingerprint.names import known_module_name, resolve
from whorl.fingerprint.tokens import LEAVES
from whorl.late import dataclass

from .signature import is_signed, signed

__all__ = [
    "Encoded",
    "NotKept",
    "NotRestored",
    "Serializer",
    "decoded",
    "encoded",
    "is_constant",
    "serializer_name",
]

ALIGNED: Final = 64
_LARGE: Final = 1 << 63
_DOUBLE: Final = struct.Struct("<d")
_TWO_DOUBLES: Final = struct.Struct("<dd")
_KINDS: Final = "biufcSUMm"  # of arrays that are nothing but their bytes
_PADDED: Final = "gG"  # of which some bits are nobody's, and another machine has others
_OWN_WAYS: Final = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")


class NotKept(Exception):
    """A result that cannot be written down; the message says why."""


class NotRestored(Exception):
    """What was written down cannot be a result of this program; the message says why."""


@runtime_checkable
class Serializer(Protocol):
    """What writes results down in a way of its own: `pickle` and `json` are two.

    >>> import json
    >>> isinstance(json, Serializer)
    True
    """

    def dumps(self, value: Any, /) -> bytes | str:
        """The value as bytes or text."""

    def loads(self, data: Any, /) -> Any:
        """The value again."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A result as what an entry holds: a record that JSON can write, and payloads."""

    record: list[object]
    payloads: Mapping[str, bytes | memoryview]


class _NotPlain(Exception):
    """Something that the encoding of plain data does not have."""


def encoded(value: object, serializer: Serializer | None = None) -> Encoded:
    """A result, written down. `NotKept` if it cannot be.

    >>> encoded((1, -0.0)).record
    ['plain', {'t': [1, -0.0]}, True]
    """
    if serializer is not None:
        return _by_serializer(value, serializer)
    writer = _Writer()
    try:
        written = writer.write(value)
    except (_NotPlain, RecursionError):
        return _by_pickle(value)
    payloads = {"arrays": writer.joined()} if writer.arrays else {}
    return Encoded(["plain", written, not writer.is_mutable], payloads)


def decoded(
    record: object,
    payload: Callable[[str], memoryview],
    scope: Mapping[str, Mapping[str, Any]],
    serializer: Serializer | None = None,
    *,
    writable: bool = False,
) -> Any:
    """The result that was written down. `NotRestored` if there is none for this program.

    `scope` leads from the name of a module to what is in it, for modules that are loaded under
    another name.

    >>> decoded(["plain", {"t": [1, {"s": [2]}]}, False], lambda name: memoryview(b""), {})
    (1, {2})
    """
    try:
        match record:
            case ["plain", written, bool()]:
                return _Reader(payload, scope, writable).read(written)
            case ["pickle", str(signature)] if serializer is None:
                return _from_pickle(payload("pickle"), signature)
            case ["serializer", str(kind), str(signature)] if serializer is not None:
                return _from_serializer(payload("data"), kind, signature, serializer)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError, struct.error) as error:
        raise NotRestored(f"it cannot be read: {error}") from error
    raise NotRestored("it was written down in another way")


def is_constant(record: object) -> bool:
    """Whether nothing in a result can be changed by whoever gets it: then one is enough for all.

    >>> is_constant(encoded((1, "a")).record), is_constant(encoded((1, [])).record)
    (True, False)
    """
    match record:
        case ["plain", _, True]:
            return True
    return False


# -- writing ------------------------------------------------------------------------------


class _Writer:
    """Plain data -> what JSON has, and the bytes of arrays."""

    def __init__(self) -> None:
        self.arrays: list[bytes | memoryview] = []
        self.size = 0
        self.is_mutable = False
        self._met: dict[int, object] = {}

    def joined(self) -> bytes:
        """The bytes of all arrays, each at its place."""
        return b"".join(self.arrays)

    def write(self, value: Any) -> object:
        """What stands for a value."""
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
        raise _NotPlain

    def once(self, value: object, *, is_mutable: bool = True) -> None:
        """A mutable that is met twice would come back as two; pickle keeps it one."""
        if id(value) in self._met:
            raise _NotPlain
        self._met[id(value)] = value
        self.is_mutable |= is_mutable

    def items(self, value: Any) -> list[object]:
        """What stands for each item."""
        return [self.write(item) for item in value]

    def _numpy(self, value: Any) -> object:
        import numpy as np

        if type(value) is np.ndarray:
            self.once(value)
            return {"a": self._array(value)}
        if isinstance(value, np.generic):
            dtype = value.dtype
            if np.dtype(dtype.str).type is not type(value):
                raise _NotPlain
            return {"n": [_name_of_dtype(dtype), value.tobytes().hex()]}
        if isinstance(value, np.dtype):
            return {"p": _name_of_dtype(value)}
        return None

    def _array(self, value: Any) -> list[object]:
        name = _name_of_dtype(value.dtype)
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
            raise _NotPlain  # several flags at once
        return {"e": [*_class_name(cls), name, self.write(value.__dict__["_value_"])]}

    def _dataclass(self, value: Any) -> object:
        cls = type(value)
        names = _plain_fields(cls)
        stored = instance_dict(value)
        if names is None or (stored is not None and not set(stored) <= set(names)):
            raise _NotPlain
        self.once(value)
        try:
            held = [object.__getattribute__(value, name) for name in names]
        except AttributeError:
            raise _NotPlain from None  # a field that was never set
        return {"o": [*_class_name(cls), list(names), self.items(held)]}


def _class_name(cls: type) -> tuple[str, str]:
    if resolve(module_name(cls), qualname(cls)) is not cls:
        raise _NotPlain
    return known_module_name(module_name(cls)), qualname(cls)


def _plain_fields(cls: type) -> tuple[str, ...] | None:
    """The fields of a dataclass that is nothing but its fields; None for another."""
    for name in _OWN_WAYS:
        found = find(cls, name)
        made = type(found) is types.FunctionType and found.__module__ == "dataclasses"
        if not made and found is not find(object, name):
            return None
    table = class_vars(cls)["__dataclass_fields__"]
    names = tuple(name for name, field in table.items() if field._field_type.name == "_FIELD")
    slots = {
        name
        for base in mro(cls)
        for name, held in class_vars(base).items()
        if type(held) is types.MemberDescriptorType
    }
    return names if slots <= set(names) and not has_hidden_state(cls) else None


def _name_of_dtype(dtype: Any) -> object:
    """A dtype as what JSON has, if that is all there is to it."""
    import numpy as np

    if dtype.metadata is not None:
        raise _NotPlain
    if dtype.names is None and dtype.subdtype is None:
        is_plain = dtype.kind in _KINDS and dtype.char not in _PADDED
        if not is_plain or np.dtype(dtype.str).char != dtype.char:
            raise _NotPlain
        return cast("str", dtype.str)
    if dtype.hasobject or dtype.isalignedstruct:
        raise _NotPlain
    fields = [[name, *_field(dtype, name)] for name in dtype.names or ()]
    if not fields or _dtype_of(fields) != dtype:
        raise _NotPlain
    return fields


def _field(dtype: Any, name: str) -> tuple[object, object]:
    held = dtype.fields[name][0]
    if held.subdtype is not None:
        return _name_of_dtype(held.subdtype[0]), list(held.subdtype[1])
    return _name_of_dtype(held), []


def _text(writer: _Writer, value: str) -> object:
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:  # JSON would join two halves of a pair
        return {"u": value.encode("utf-8", "surrogatepass").hex()}
    return value


def _whole(writer: _Writer, value: int) -> object:
    return value if -_LARGE <= value < _LARGE else {"i": hex(value)}


def _real(writer: _Writer, value: float) -> object:
    return value if math.isfinite(value) else {"f": _DOUBLE.pack(value).hex()}


def _sorted_set(writer: _Writer, value: Any) -> list[object]:
    return sorted(writer.items(value), key=repr)


def _list(writer: _Writer, value: list[Any]) -> object:
    writer.once(value)
    return writer.items(value)


def _tuple(writer: _Writer, value: tuple[Any, ...]) -> object:
    if not LEAVES.issuperset(map(type, value)):
        writer.once(value, is_mutable=False)  # 40 pairs of pairs of pairs have 2^40 leaves
    return {"t": writer.items(value)}


def _dict(writer: _Writer, value: dict[Any, Any]) -> object:
    writer.once(value)
    return {"d": [writer.write(part) for pair in value.items() for part in pair]}


def _set(writer: _Writer, value: set[Any]) -> object:
    writer.once(value)
    return {"s": _sorted_set(writer, value)}


def _bytearray(writer: _Writer, value: bytearray) -> object:
    writer.once(value)
    return {"y": _base64(value)}


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode("ascii")


def _itself(writer: _Writer, value: object) -> object:
    return value


def _ends(writer: _Writer, value: Any) -> list[object]:
    return writer.items((value.start, value.stop, value.step))


_WRITE: Final[dict[type, Callable[[_Writer, Any], object]]] = {
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
    frozenset: lambda writer, value: {"z": _sorted_set(writer, value)},
    range: lambda writer, value: {"r": _ends(writer, value)},
    slice: lambda writer, value: {"l": _ends(writer, value)},
    type(...): lambda writer, value: {".": 0},
}


# -- reading ------------------------------------------------------------------------------


class _Reader:
    """What JSON has, and the bytes of arrays -> plain data."""

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
        """The value that this stands for."""
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
        dtype, data = _dtype_of(name), self._payload("arrays")
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
        dtype, raw = _dtype_of(name), bytes.fromhex(data)
        return np.frombuffer(raw, dtype)[0] if dtype.itemsize else np.zeros((), dtype)[()]

    def member(self, held: Any) -> Any:
        """A member of an enum that the program knows, if it still has this value."""
        module, dotted, name, value = held
        cls = self._class(module, dotted)
        members = class_vars(cls).get("_member_map_")
        member = members.get(name) if type(members) is dict else None
        expected = self.read(value)
        if member is None or type(member._value_) is not type(expected):
            raise NotRestored(f"{module}.{dotted} has no member {name}")
        writer = _Writer()
        if writer.write(member._value_) != value:
            raise NotRestored(f"{module}.{dotted}.{name} has another value now")
        return member

    def instance(self, held: Any) -> Any:
        """An instance of a dataclass that the program knows, if it still has these fields."""
        module, dotted, names, values = held
        cls = self._class(module, dotted)
        if "__dataclass_fields__" not in class_vars(cls) or _plain_fields(cls) != tuple(names):
            raise NotRestored(f"{module}.{dotted} has other fields now")
        made: Any = object.__new__(cls)
        for name, value in zip(names, values, strict=True):
            object.__setattr__(made, name, self.read(value))
        return made

    def _class(self, module: str, dotted: str) -> type:
        held: Any = self._scope.get(module)
        if held is None:
            loaded = sys.modules.get(module)
            if loaded is None:
                raise NotRestored(f"the module {module} has not been loaded")
            held = loaded.__dict__
        found: Any = ABSENT
        for part in dotted.split("."):
            found = held.get(part, ABSENT)
            held = class_vars(found) if isinstance(found, type) else {}
        if not isinstance(found, type) or qualname(found) != dotted:
            raise NotRestored(f"{module}.{dotted} is no class of this program")
        return found


def _pairs(reader: _Reader, held: list[Any]) -> dict[Any, Any]:
    parts = iter(reader.read(held))
    return dict(zip(parts, parts, strict=True))


_READ: Final[dict[str, Callable[[_Reader, Any], Any]]] = {
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
    "p": lambda reader, held: _dtype_of(held),
    "e": lambda reader, held: reader.member(held),
    "o": lambda reader, held: reader.instance(held),
}


def _from_base64(held: str) -> bytes:
    try:
        return base64.b64decode(held, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def _dtype_of(name: Any) -> Any:
    import numpy as np

    if type(name) is str:
        found = np.dtype(name)
    else:
        fields = [(field, _dtype_of(held), tuple(shape)) for field, held, shape in name]
        found = np.dtype([row if row[2] else row[:2] for row in fields])
    if found.hasobject:
        raise ValueError("an array of objects is not read")
    return found


# -- other ways ---------------------------------------------------------------------------


def _by_pickle(value: object) -> Encoded:
    import pickle

    try:
        data = pickle.dumps(value, 5)
    except Exception as error:
        raise NotKept(f"it is neither plain data nor can it be pickled: {error}") from error
    return Encoded(["pickle", signed(b"pickle", data)], {"pickle": data})


def _from_pickle(data: memoryview, signature: str) -> Any:
    import pickle

    if not is_signed(b"pickle", data, signature):
        raise NotRestored("it is a pickle that was not signed with our key")
    try:
        return pickle.loads(data)
    except Exception as error:
        raise NotRestored(f"it cannot be unpickled: {error}") from error


def serializer_name(serializer: Serializer) -> str:
    """What a serializer is called in an entry.

    >>> import json
    >>> serializer_name(json)
    'json'
    """
    if isinstance(serializer, types.ModuleType):
        return serializer.__name__
    named = serializer if isinstance(serializer, type) else type(serializer)
    return f"{known_module_name(module_name(named))}.{qualname(named)}"


def _by_serializer(value: object, serializer: Serializer) -> Encoded:
    name = serializer_name(serializer)
    written = serializer.dumps(value)
    if isinstance(written, str):
        data, kind = written.encode("utf-8", "surrogatepass"), "text"
    elif isinstance(written, bytes | bytearray | memoryview):
        data, kind = bytes(written), "bytes"
    else:
        raise NotKept(f"{name}.dumps returned {type(written).__name__}, not bytes")
    purpose = f"{name} {kind}"
    return Encoded(["serializer", purpose, signed(purpose.encode(), data)], {"data": data})


def _from_serializer(data: memoryview, kind: str, signature: str, serializer: Serializer) -> Any:
    name, _, form = kind.rpartition(" ")
    if name != serializer_name(serializer):
        raise NotRestored(f"it was written by {name}")
    if not is_signed(kind.encode(), data, signature):
        raise NotRestored("it was not signed with our key")
    raw = bytes(data)
    try:
        return serializer.loads(raw.decode("utf-8", "surrogatepass") if form == "text" else raw)
    except Exception as error:
        raise NotRestored(f"{name} cannot read it: {error}") from error
