"""What JSON has -> plain values, each restored as the very type and bits it was.

    plain  = null | true | false | text | number             as they are
           | [plain...]                                      a list
           | {"tuple": [plain...]}
           | {"dict": [[plain, plain]...]}                   in order
           | {"bytes": hex}
           | {"int": hex}                                    beyond 64 bits
           | {"float": hex of its 8 bytes}                   infinities and NaNs
           | {"complex": [plain, plain]}

Finite floats are written by Python's shortest form, which reads back to the same bits. Only
exact types are plain: a subclass may mean more than its content. `lowered` writes them.
"""

from __future__ import annotations

import struct
from typing import Any, Final

__all__ = ["DOUBLE", "restored"]

DOUBLE: Final = struct.Struct(">d")


def restored(value: Any) -> Any:
    """The plain value of what JSON has; ValueError if there is none.

    >>> restored({"dict": [["tile", {"tuple": [64, 1.5]}]]})
    {'tile': (64, 1.5)}
    """
    try:
        return _restored(value)
    except (RecursionError, TypeError, KeyError, OverflowError, struct.error) as error:
        raise ValueError(f"not a plain value: {error}") from error


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
            return DOUBLE.unpack(bytes.fromhex(content))[0]
        case "complex":
            real, imag = content
            return complex(_restored(real), _restored(imag))
        case _:
            raise ValueError(f"{tag!r} is no tag of a plain value")
