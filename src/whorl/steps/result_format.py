"""The format of stored results: the record and the payloads of an entry, exact to the bit.

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
is only read if its signature is ours, and was made for the key that it is stored under: see
`store.signature`.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
import types
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Final, Protocol, runtime_checkable

from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.names import is_started, known_module_name
from whorl.fingerprint.static_lookup import module_name, qualname
from whorl.signals import pass_on
from whorl.store.signature import UnusableKey, is_signed, sign

from .plain_format import CannotRestore, NotPlainData, PlainReader, PlainWriter

_UNREADABLE: Final = (
    KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, MemoryError,
    struct.error, NotPlainData,
)  # fmt: skip
"""What reading bytes that make no sense may raise."""


class CannotStore(Exception):
    """A result that cannot be stored; the message says why."""


@runtime_checkable
class Serializer(Protocol):
    """What writes and reads results in a format of its own: `pickle` and `json` do.

    >>> import json
    >>> isinstance(json, Serializer)
    True
    """

    def dumps(self, value: Any, /) -> bytes | str:
        """The value as bytes or text."""

    def loads(self, data: Any, /) -> Any:
        """The value again."""


@dataclass(frozen=True, slots=True)
class EncodedResult:
    """A result as the content of an entry: a record that JSON can write, and payloads."""

    record: list[object]
    payloads: Mapping[str, bytes | memoryview]


def encode_result(
    value: object, serializer: Serializer | None = None, *, place: str = ""
) -> EncodedResult:
    """A result in this format. `CannotStore` if there is no way.

    `place` is where it is stored: a signature is valid there alone.

    >>> encode_result((1, -0.0)).record
    ['plain', {'t': [1, -0.0]}, True]
    """
    if serializer is not None:
        return _by_serializer(value, serializer, place)
    writer = PlainWriter()
    try:
        written = writer.write(value)
    except (NotPlainData, RecursionError):
        return _by_pickle(value, place)
    payloads = {"arrays": writer.joined()} if writer.arrays else {}
    return EncodedResult(["plain", written, not writer.is_mutable], payloads)


def decode_result(
    record: object,
    payload: Callable[[str], memoryview],
    scope: Mapping[str, Mapping[str, Any]],
    serializer: Serializer | None = None,
    *,
    writable: bool = False,
    place: str = "",
) -> Any:
    """The result in an entry. `CannotRestore` if this program cannot use it.

    `scope` leads from the name of a module to its content, for modules that are loaded under
    another name.

    >>> decode_result(["plain", {"t": [1, {"s": [2]}]}, False], lambda name: memoryview(b""), {})
    (1, {2})
    """
    try:
        match record:
            case ["plain", written, bool()]:
                return PlainReader(payload, scope, writable).read(written)
            case ["pickle", str(main), str(signature)] if serializer is None:
                return _from_pickle(payload("pickle"), main, signature, scope, place)
            case ["serializer", str(kind), str(signature)] if serializer is not None:
                return _from_serializer(payload("data"), kind, signature, serializer, place)
    except _UNREADABLE as error:
        raise CannotRestore(f"it cannot be read: {error}") from error
    raise CannotRestore("it was written in another format")


def is_constant(record: object) -> bool:
    """Whether nothing in a result can be changed: then all callers can share it.

    >>> is_constant(encode_result((1, "a")).record), is_constant(encode_result((1, [])).record)
    (True, False)
    """
    match record:
        case ["plain", _, True]:
            return True
    return False


# -- pickle and serializers ---------------------------------------------------------------


def _by_pickle(value: object, place: str) -> EncodedResult:
    try:
        data = pickle.dumps(value, 5)
    except Exception as error:
        pass_on(error)
        raise CannotStore(f"it is neither plain data nor can it be pickled: {error}") from error
    main = known_module_name("__main__")  # as any process would import it
    return EncodedResult(["pickle", main, sign(("pickle", place, main), data)], {"pickle": data})


def _check_signature(about: tuple[str, ...], data: memoryview, signature: str) -> None:
    try:
        is_ours = is_signed(about, data, signature)
    except UnusableKey as error:
        raise CannotRestore(str(error)) from error
    if not is_ours:
        raise CannotRestore("it was not signed with our key, or for something else")


def _from_pickle(
    data: memoryview,
    main: str,
    signature: str,
    scope: Mapping[str, Mapping[str, Any]],
    place: str,
) -> Any:
    _check_signature(("pickle", place, main), data, signature)
    try:
        return _Unpickler(data, main, scope).load()
    except Exception as error:
        pass_on(error)
        raise CannotRestore(f"it cannot be unpickled: {error}") from error


class _Unpickler(pickle.Unpickler):
    """Reads a pickle that was written where `__main__` was the module `main`.

    A class of the started program is called `__main__.Tree` by pickle, and that is another class in
    another program. So such names are looked up in the module of the function (`scope`), or in the
    running program if it is the same.
    """

    def __init__(
        self, data: bytes | memoryview, main: str, scope: Mapping[str, Mapping[str, Any]]
    ) -> None:
        super().__init__(io.BytesIO(data))
        self._main = main
        self._scope = scope

    def find_class(self, module: str, name: str) -> Any:
        """A class or function by the name of its module in every process."""
        was_main = is_started(module)
        module = self._main if was_main else module
        names = self._scope.get(module)
        if names is None and module == known_module_name("__main__"):
            names = vars(sys.modules["__main__"])
        if names is None:
            if was_main and module not in sys.modules:
                raise pickle.UnpicklingError(f"it is of the program {module}, not of this one")
            return super().find_class(module, name)
        first, *rest = name.split(".")
        if first not in names:
            raise pickle.UnpicklingError(f"there is no {name} in {module}")
        return reduce(getattr, rest, names[first])


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


def _by_serializer(value: object, serializer: Serializer, place: str) -> EncodedResult:
    name = serializer_name(serializer)
    try:
        written = serializer.dumps(value)
    except Exception as error:
        pass_on(error)
        raise CannotStore(f"{name} cannot write it: {error or type(error).__name__}") from error
    if isinstance(written, str):
        data, kind = written.encode("utf-8", "surrogatepass"), "text"
    elif isinstance(written, bytes | bytearray | memoryview):
        data, kind = bytes(written), "bytes"
    else:
        raise CannotStore(f"{name}.dumps returned {type(written).__name__}, not bytes")
    purpose = f"{name} {kind}"
    signature = sign(("serializer", place, purpose), data)
    return EncodedResult(["serializer", purpose, signature], {"data": data})


def _from_serializer(
    data: memoryview, kind: str, signature: str, serializer: Serializer, place: str
) -> Any:
    name, _, form = kind.rpartition(" ")
    if name != serializer_name(serializer):
        raise CannotRestore(f"it was written by {name}")
    _check_signature(("serializer", place, kind), data, signature)
    raw = bytes(data)
    try:
        return serializer.loads(raw.decode("utf-8", "surrogatepass") if form == "text" else raw)
    except Exception as error:
        pass_on(error)
        raise CannotRestore(f"{name} cannot read it: {error}") from error
