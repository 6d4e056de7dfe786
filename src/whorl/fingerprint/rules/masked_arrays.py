"""NumPy's masked arrays, in a module of their own: importing `numpy.ma` takes 15 ms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.ma

from ..static_lookup import instance_dict
from ..tokens import Node
from .rule import Rule, RuleContext

__all__ = ["NAMED_CLASSES", "OWNED_NAMES", "RULES", "TYPE_PARTS"]


def _masked(value: Any, context: RuleContext) -> Node:
    """Data, mask, fill value as it was set, and whether the mask is hard."""
    stored = instance_dict(value) or {}
    data = np.ndarray.view(value, np.ndarray)
    mask = np.asarray(np.ma.getmaskarray(value))
    fill = stored.get("_fill_value")
    if fill is None:  # not used yet: the default
        fill = np.asarray(np.ma.default_fill_value(data.dtype), data.dtype)
    parts = (data, mask, fill, stored.get("_hardmask"))
    return Node(b"masked array", parts, lambda i: (".data", ".mask", ".fill_value", ".hardmask")[i])


NAMED_CLASSES: Final[dict[type, bool]] = {}
TYPE_PARTS: Final[dict[type, Callable[[Any], tuple[object, ...]]]] = {}
OWNED_NAMES: Final = {
    np.ma.MaskedArray: frozenset(
        ("_mask", "_fill_value", "_hardmask", "_sharedmask", "_isfield", "_baseclass", "_optinfo",
         "_basedict")
    ),
}  # fmt: skip
RULES: Final[dict[type, Rule]] = {np.ma.MaskedArray: _masked}
