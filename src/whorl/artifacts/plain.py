"""Plain values <-> JSON, each restored as the very type and bits it was.

    plain  = null | true | false | text | number             as they are
           | [plain...]                                      a list
           | {"tuple": [plain...]}
           | {"dict": [[plain, plain]...]}                   in order
           | {"bytes": hex}
           | {"int": hex}                                    beyond 64 bits
           | {"float": hex of its 8 bytes}                   infinities and NaNs
           | {"complex": [plain, plain]}

Finite floats are written by Python's shortest form, which reads back to the same bits. Only
exact types are plain: a subclass may mean more than its content.
"""

from __future__ import annotations

import math
import struct
from typing import Any, Final, cast

__all__ = ["NotPlain", "lowered", "restored"]

_LARGE: Final = 1 << 63
_DOUBLE: Final = struct.Struct(">d")


class NotPlain(TypeError):
    """A value that cannot be written exactly; `path` leads to it."""

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(path, kind)
        self.path = path
        self.kind = kind

    def __str__(self) -> str:
        return (
            f"{self.path} is a {self.kind!r}, which cannot be kept in an entry.\n"
            "  Keep None, bool, int, float, complex, str, bytes, tuples, lists and dicts of these; "
            "put anything else into a payload as bytes."
        )


def lowered(value: object, path: str = "value") -> Any:
    """A plain value as what JSON has; `NotPlain` if it is none.

    >>> lowered({"tile": (64, 1.5)})
    {'dict': [['tile', {'tuple': [64, 1.5]}]]}
    """
    try:
        return _lowered(value, path)
    except RecursionError:
        raise NotPlain(path, "value nested too deeply") from None


def restored(value: Any) -> Any:
    """The plain value of what JSON has; ValueError if there is none.

    >>> restored({"dict": [["tile", {"tuple": [64, 1.5]}]]})
    {'tile': (64, 1.5)}
    """
    try:
        return _restored(value)
    except (RecursionError, TypeError, KeyError, OverflowError, struct.error) as error:
        raise ValueError(f"not a plain value: {error}") from error


def _lowered(value: object, path: str) -> object:
    kind = type(value)
    if value is None or kind is str or kind is bool:
        return value
    if kind is int:
        number = cast("int", value)
        return number if -_LARGE <= number < _LARGE else {"int": hex(number)}
    if kind is float:
        real = cast("float", value)
        return real if math.isfinite(real) else {"float": _DOUBLE.pack(real).hex()}
    if kind is bytes:
        return {"bytes": cast("bytes", value).hex()}
    if kind is complex:
        both = cast("complex", value)
        return {"complex": [_lowered(both.real, path), _lowered(both.imag, path)]}
    if kind is list or kind is tuple:
        items = [_lowered(item, f"{path}[{i}]") for i, item in enumerate(cast("list[Any]", value))]
        return items if kind is list else {"tuple": items}
    if kind is dict:
        pairs = cast("dict[Any, Any]", value).items()
        return {
            "dict": [[_lowered(k, f"{path} key"), _lowered(v, f"{path}[{k!r}]")] for k, v in pairs]
        }
    raise NotPlain(path, f"{kind.__module__}.{kind.__qualname__}")


def _restored(value: Any) -> Any:
    if type(value) is list:
        return [_restored(item) for item in value]
    if type(value) is not dict:
        return value
    ((tag, content),) = value.items()
    match tag:
        case "tuple":
            return tuple(_restored(item) for item in content)
        case "dict":
            return {_restored(key): _restored(held) for key, held in content}
        case "bytes":
            return bytes.fromhex(content)
        case "int":
            return int(content, 16)
        case "float":
            return _DOUBLE.unpack(bytes.fromhex(content))[0]
        case "complex":
            real, imag = content
            return complex(_restored(real), _restored(imag))
        case _:
            raise ValueError(f"{tag!r} is no tag of a plain value")
