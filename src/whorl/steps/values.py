"""Results <-> the record and the payloads of an entry: exact types, exact bits, no surprises.

Plain data is written by whorl's own encoding, which executes nothing when it is read:

    record  = ["plain", written, whether nothing in it can be changed]
            | ["pickle", name of the program, signature] | ["serializer", which, signature]
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
is only read when its signature is ours, and was made for the key that it is found under: see
`signature`.
"""

from __future__ import annotations

import struct
import types
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, runtime_checkable

from whorl.fingerprint.lookup import module_name, qualname
from whorl.fingerprint.names import known_module_name
from whorl.late import dataclass
from whorl.lazy import importing

from .plain_reader import NotRestored, Reader
from .plain_types import NotPlain
from .plain_writer import Writer
from .signature import UnusableKey, is_signed, signed

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


_UNREADABLE: Final = (
    KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, MemoryError,
    struct.error, NotPlain,
)  # fmt: skip
"""What reading bytes that make no sense may raise."""


class NotKept(Exception):
    """A result that cannot be written down; the message says why."""


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


def encoded(value: object, serializer: Serializer | None = None, *, place: str = "") -> Encoded:
    """A result, written down. `NotKept` if it cannot be.

    `place` is what it is kept under: whatever has to be signed is good there alone.

    >>> encoded((1, -0.0)).record
    ['plain', {'t': [1, -0.0]}, True]
    """
    if serializer is not None:
        return _by_serializer(value, serializer, place)
    writer = Writer()
    try:
        written = writer.write(value)
    except (NotPlain, RecursionError):
        return _by_pickle(value, place)
    payloads = {"arrays": writer.joined()} if writer.arrays else {}
    return Encoded(["plain", written, not writer.is_mutable], payloads)


def decoded(
    record: object,
    payload: Callable[[str], memoryview],
    scope: Mapping[str, Mapping[str, Any]],
    serializer: Serializer | None = None,
    *,
    writable: bool = False,
    place: str = "",
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
                return Reader(payload, scope, writable).read(written)
            case ["pickle", str(main), str(signature)] if serializer is None:
                return _from_pickle(payload("pickle"), main, signature, scope, place)
            case ["serializer", str(kind), str(signature)] if serializer is not None:
                return _from_serializer(payload("data"), kind, signature, serializer, place)
    except _UNREADABLE as error:
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


# -- other ways ---------------------------------------------------------------------------


def _by_pickle(value: object, place: str) -> Encoded:
    with importing:
        from .pickled import main_name, pickled

    try:
        data = pickled(value)
    except Exception as error:
        raise NotKept(f"it is neither plain data nor can it be pickled: {error}") from error
    main = main_name()
    return Encoded(["pickle", main, signed(("pickle", place, main), data)], {"pickle": data})


def _check_signature(about: tuple[str, ...], data: memoryview, signature: str) -> None:
    try:
        is_ours = is_signed(about, data, signature)
    except UnusableKey as error:
        raise NotRestored(str(error)) from error
    if not is_ours:
        raise NotRestored("it was not signed with our key, or for something else")


def _from_pickle(
    data: memoryview,
    main: str,
    signature: str,
    scope: Mapping[str, Mapping[str, Any]],
    place: str,
) -> Any:
    with importing:
        from .pickled import unpickled

    _check_signature(("pickle", place, main), data, signature)
    try:
        return unpickled(data, main, scope)
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


def _by_serializer(value: object, serializer: Serializer, place: str) -> Encoded:
    name = serializer_name(serializer)
    try:
        written = serializer.dumps(value)
    except Exception as error:
        raise NotKept(f"{name} cannot write it: {error or type(error).__name__}") from error
    if isinstance(written, str):
        data, kind = written.encode("utf-8", "surrogatepass"), "text"
    elif isinstance(written, bytes | bytearray | memoryview):
        data, kind = bytes(written), "bytes"
    else:
        raise NotKept(f"{name}.dumps returned {type(written).__name__}, not bytes")
    purpose = f"{name} {kind}"
    signature = signed(("serializer", place, purpose), data)
    return Encoded(["serializer", purpose, signature], {"data": data})


def _from_serializer(
    data: memoryview, kind: str, signature: str, serializer: Serializer, place: str
) -> Any:
    name, _, form = kind.rpartition(" ")
    if name != serializer_name(serializer):
        raise NotRestored(f"it was written by {name}")
    _check_signature(("serializer", place, kind), data, signature)
    raw = bytes(data)
    try:
        return serializer.loads(raw.decode("utf-8", "surrogatepass") if form == "text" else raw)
    except Exception as error:
        raise NotRestored(f"{name} cannot read it: {error}") from error
