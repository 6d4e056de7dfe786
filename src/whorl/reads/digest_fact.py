"""The fact of a value that its fingerprint stands for. It needs all rules of fingerprints."""

from __future__ import annotations

import enum
import types
from typing import Any, Final

import numpy as np

from whorl.errors import UnsupportedValue
from whorl.fingerprint.describe import Describer
from whorl.fingerprint.digest import ProcessDigest
from whorl.fingerprint.fingerprinter import fingerprint, key_orders
from whorl.fingerprint.modes import Mode
from whorl.fingerprint.names import known_module_name
from whorl.fingerprint.policy import Policy
from whorl.fingerprint.static_lookup import derives, module_name, qualname

from .trace import Plain
from .value_fact import NotRecorded, OnlyHere


def by_digest(value: Any) -> Plain:
    """The fact of a value that its fingerprint stands for."""
    try:
        digest = fingerprint(value)
    except UnsupportedValue as error:
        where = error.path.removeprefix("value")
        raise NotRecorded(f"it{where}: {error.reason}" if where else error.reason) from error
    label = _label(value)
    if isinstance(digest, ProcessDigest):
        return OnlyHere(("digest", label, str(digest)))
    fact = {"digest": str(digest), "of": label}
    # Whoever has the value can see the order of the dicts in it, which a fingerprint leaves out.
    is_numbers = derives(type(value), np.ndarray, np.generic) and not value.dtype.hasobject
    orders = [] if is_numbers else key_orders(value)
    if orders:
        fact["order"] = str(fingerprint(orders))
    return fact


def in_order(members: Any) -> list[Any]:
    """The members of a set in an order that is the same in every process."""
    return sorted(members, key=fingerprint)


def digest_with_code(value: Any) -> str:
    """The digest of a value together with the code of the classes that it is of."""
    return _DESCRIBER.digest_in(Mode.CODE, value)


_DESCRIBER: Final = Describer(Policy())


def _label(value: Any) -> str:
    """What a value is called in an explanation, without running its code."""
    cls = type(value)
    if derives(type(cls), enum.EnumMeta):
        return f"{cls.__qualname__}.{value._name_}"
    if derives(cls, np.generic):
        return f"{cls.__name__}({value.item()!r})"
    if cls is np.ndarray:
        return f"array of {value.dtype} {value.shape}"
    if derives(cls, types.FunctionType):
        return f"{known_module_name(value.__module__ or '')}.{value.__qualname__}"
    if derives(cls, types.BuiltinFunctionType) or cls is type:
        return f"{value.__module__}.{value.__qualname__}"
    if cls is str or cls is bytes:
        return f"{cls.__name__} of {len(value)}"
    return f"{known_module_name(module_name(cls))}.{qualname(cls)}"
