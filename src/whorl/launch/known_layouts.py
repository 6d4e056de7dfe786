"""The layouts of released interpreters: whorl ships images of its routines for these.

A row is what `layout_search.object_layout` finds in that interpreter with NumPy 2; running this
module prints it for the one at hand. A process never trusts a row: it searches for its own layout,
and a shipped image is found only if that is the same. Builds with other layouts (free-threaded,
debug) have no row: routines are compiled there.
"""

from __future__ import annotations

import sys
from typing import Final

from whorl.fast_dataclasses import replace

from .instances import DictLayout, InstanceLayout
from .layout_search import object_layout
from .object_layout import ObjectLayout

_3_11: Final = ObjectLayout(
    type=8,
    float_value=16,
    array_data=16,
    array_ndim=24,
    array_shape=32,
    array_strides=40,
    array_dtype=56,
    array_flags=64,
    function_code=48,
    function_defaults=56,
    function_keyword_defaults=64,
    type_flags=168,
    type_version=384,
    list_size=16,
    tuple_size=16,
    tuple_items=24,
    descriptor=40,
    inside=DictLayout(),
    instance=InstanceLayout(-24, "pointer", pointer=-32, class_keys=872),
    ints="sized",
    none="counted",
    base_size=16,
)
_3_12: Final = replace(
    _3_11,
    instance=InstanceLayout(-24, "tagged", class_keys=880),
    ints="tagged",
    none="for ever",
)
_3_13: Final = replace(
    _3_12, instance=InstanceLayout(-24, "embedded", values=8, valid=3, class_keys=880)
)
_3_14: Final = replace(_3_13, tuple_items=32)
_3_15: Final = replace(_3_14, instance=replace(_3_14.instance, class_keys=888))

KNOWN_LAYOUTS: Final = {"3.11": _3_11, "3.12": _3_12, "3.13": _3_13, "3.14": _3_14, "3.15": _3_15}
"""A row for each minor version of CPython, on 64-bit machines."""


if __name__ == "__main__":
    print("{}.{}".format(*sys.version_info[:2]), object_layout())
