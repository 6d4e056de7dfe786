"""Everything that the native walk has to know of CPython's objects, and its name in a key."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from whorl.fast_dataclasses import dataclass, replace
from whorl.launch.callable import NotKnown
from whorl.launch.instances import (
    DictLayout,
    InstanceLayout,
    descriptor_layout,
    dict_layout,
    instance_layout,
)
from whorl.launch.value_layout import ValueLayout, value_layout

_DICT_SIZE: Final = 16  # where a dict says how many items it has, which `dict_layout` checks


@dataclass(frozen=True, slots=True)
class WalkLayout:
    """Where objects keep what a fingerprint counts."""

    values: ValueLayout
    inside: DictLayout
    instance: InstanceLayout
    descriptor: int  # of a slot's descriptor, what defines it; 0: not known

    @property
    def name(self) -> str:
        """What stands for this layout in a key."""
        numbers = ",".join(
            str(getattr(part, field))
            for part in (self.inside, self.instance)
            for field in part.__slots__
        )
        return f"cpython-{self.values.name},{numbers}"


_3_11: Final = WalkLayout(
    ValueLayout(
        type=8,
        float_value=16,
        complex_value=16,
        list_size=16,
        list_items=24,
        tuple_size=16,
        tuple_items=24,
        bytes_size=16,
        bytes_data=32,
        text_size=16,
        text_state=32,
        text_bits=2,
        ascii_data=48,
        wide_data=72,
        ints="sized",
    ),
    DictLayout(),
    InstanceLayout(-24, "pointer", pointer=-32, class_keys=872),
    descriptor=40,
)
_3_12: Final = replace(
    _3_11,
    values=replace(_3_11.values, ascii_data=40, wide_data=56, ints="tagged"),
    instance=InstanceLayout(-24, "tagged", class_keys=880),
)
_3_13: Final = replace(
    _3_12, instance=InstanceLayout(-24, "embedded", values=8, valid=3, class_keys=880)
)
_3_14: Final = replace(_3_13, values=replace(_3_13.values, tuple_items=32))
_3_15: Final = replace(_3_14, instance=replace(_3_14.instance, class_keys=888))

KNOWN_WALK_LAYOUTS: Final = {
    "3.11": _3_11, "3.12": _3_12, "3.13": _3_13, "3.14": _3_14, "3.15": _3_15,
}  # fmt: skip
"""What `walk_layout` finds in released interpreters: whorl ships images for these. A process never
trusts a row: it searches for its own layout, and finds an image only if that is the same."""


@cache
def walk_layout() -> WalkLayout:
    """Where things are in this process; `NotKnown` if something is not where it should be."""
    values = value_layout()
    inside = dict_layout()
    if inside is None:
        raise NotKnown("a dict is not laid out as expected")
    return WalkLayout(values, inside, instance_layout(inside), descriptor_layout())


def constants_of(layout: WalkLayout) -> Mapping[str, int | str]:
    """The numbers of a layout by name, as the walk is compiled with them."""
    values, inside, instance = layout.values, layout.inside, layout.instance
    numbers = {
        **{name: getattr(values, name) for name in values.__slots__ if name != "ints"},
        "dict_size": _DICT_SIZE,
        "dict_keys": inside.keys,
        "dict_values": inside.values,
        "keys_kind": inside.kind,
        "keys_index_bits": inside.index_bits,
        "keys_count": inside.count,
        "keys_start": inside.start,
        "class_keys": instance.class_keys,
        "values_start": instance.values,
        "inline_pointer": instance.pointer,
        "inline_valid": instance.valid,
    }
    texts = {"ints": values.ints, "inline": instance.inline}
    return {name: number % (1 << 64) for name, number in numbers.items()} | texts
