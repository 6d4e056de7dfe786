"""Where objects keep what a launch reads: offsets in bytes."""

from __future__ import annotations

from typing import Any

from whorl.fast_dataclasses import dataclass

from .instances import DictLayout, InstanceLayout

__all__ = ["INT_DIGIT", "INT_SIZE", "ObjectLayout"]

INT_SIZE, INT_DIGIT = 16, 24


@dataclass(frozen=True, slots=True)
class ObjectLayout:
    """Offsets in bytes, from the beginning of an object."""

    type: int  # of every object
    float_value: int
    array_data: int
    array_ndim: int
    array_shape: int
    array_strides: int
    array_dtype: int
    array_flags: int
    function_code: int
    function_defaults: int
    function_keyword_defaults: int
    type_flags: int
    type_version: int  # of a class: another number, or 0, once it was changed
    list_size: int
    tuple_size: int
    tuple_items: int
    descriptor: int  # of a slot's descriptor, what defines it; 0: not known
    inside: DictLayout
    instance: InstanceLayout
    ints: str  # how a small int says its size: "sized", "tagged", or "" for not known
    none: str  # a new reference to None: "for ever", "counted" in its first word, or "call"
    base_size: int  # of an object without anything

    @property
    def name(self) -> str:
        """What stands for this layout in a key."""
        return ",".join(_flat(getattr(self, field)) for field in self.__slots__)


def _flat(value: Any) -> str:
    fields = getattr(value, "__slots__", None)
    if fields is None:
        return str(value).replace(" ", "-")
    return ",".join(_flat(getattr(value, field)) for field in fields)
