"""Dtypes and dataclasses in, what stands for them where nothing else would be lost out."""

from __future__ import annotations

import re
import types
from typing import Any, Final, cast

from whorl.fingerprint.layout import has_hidden_state
from whorl.fingerprint.lookup import class_vars, find, mro

__all__ = ["NotPlain", "dtype_of", "name_of_dtype", "plain_fields"]

_KINDS: Final = "biufcSUMm"  # of arrays that are nothing but their bytes
_NAME: Final = re.compile(r"[<>|][biufcSUMm][0-9]{1,9}(\[[0-9]{0,9}[a-zA-Z]{1,2}\])?", re.ASCII)
_PADDED: Final = "gG"  # of which some bits are nobody's, and another machine has others
_OWN_WAYS: Final = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")


class NotPlain(Exception):
    """Something that the encoding of plain data does not have."""


def plain_fields(cls: type) -> tuple[str, ...] | None:
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


def name_of_dtype(dtype: Any) -> object:
    """A dtype as what JSON has, if that is all there is to it."""
    import numpy as np

    if dtype.metadata is not None:
        raise NotPlain
    if dtype.names is None and dtype.subdtype is None:
        is_plain = dtype.kind in _KINDS and dtype.char not in _PADDED
        if not is_plain or np.dtype(dtype.str).char != dtype.char:
            raise NotPlain
        return cast("str", dtype.str)
    if dtype.hasobject or dtype.isalignedstruct or dtype.type is not np.void:
        raise NotPlain  # the last: a dtype of records equals one that is none
    fields = [[name, *_field(dtype, name)] for name in dtype.names or ()]
    if not fields or dtype_of(fields) != dtype:
        raise NotPlain
    return fields


def _field(dtype: Any, name: str) -> tuple[object, object]:
    held = dtype.fields[name][0]
    if held.subdtype is not None:
        return name_of_dtype(held.subdtype[0]), list(held.subdtype[1])
    return name_of_dtype(held), []


def dtype_of(name: Any) -> Any:
    """The dtype that is kept as this; one of objects is refused."""
    import numpy as np

    if type(name) is str:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no dtype")
        found = np.dtype(name)
    else:
        fields = [(field, dtype_of(held), tuple(shape)) for field, held, shape in name]
        found = np.dtype([row if row[2] else row[:2] for row in fields])
    if found.hasobject:
        raise ValueError("an array of objects is not read")
    return found
