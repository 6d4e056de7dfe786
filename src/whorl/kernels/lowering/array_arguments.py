"""Lists of numbers where NumPy's functions take arrays: `np.interp(x, [0, 1], [2, 5])`."""

from __future__ import annotations

import inspect
import types
from typing import Any, Final

from whorl.fast_dataclasses import replace
from whorl.kernels.types import is_scalar_value

from .array_creation import ARRAY_CREATION
from .known_calls import KnownCall
from .operands import Items, Known, Operand, ViewOperand
from .run_values import is_scalar, resolve

__all__ = ["array_arguments", "with_arrays"]

_NO_ARRAYS: Final = frozenset((
    "arrays", "axes", "axis", "axis1", "axis2", "bins", "choicelist", "choices", "condlist",
    "constant_values", "destination", "dimensions", "dims", "indices_or_sections", "keys",
    "multi_index", "new_shape", "obj", "pad_width", "range", "reps", "shape", "shift", "source",
    "subscripts", "tup",
))  # fmt: skip
"""Parameters of the library that take a list or tuple as what it is."""


def array_arguments(function: types.FunctionType) -> tuple[tuple[bool, ...], bool, frozenset[str]]:
    """Which parameters of a function take arrays: by place, all that follow, and by name."""
    parameters = inspect.signature(function).parameters.values()
    places = [each for each in parameters if each.kind == each.POSITIONAL_OR_KEYWORD]
    rest = any(
        each.kind == each.VAR_POSITIONAL and each.name not in _NO_ARRAYS for each in parameters
    )
    names = frozenset(each.name for each in parameters) - _NO_ARRAYS
    return tuple(each.name in names for each in places), rest, names


def with_arrays(
    call: KnownCall, places: tuple[bool, ...], rest: bool, names: frozenset[str]
) -> KnownCall:
    """The call with an array in the place of each list of numbers where one is taken."""
    args = [
        _as_array(call, arg) if (places[i] if i < len(places) else rest) else arg
        for i, arg in enumerate(call.args)
    ]
    named = {n: _as_array(call, arg) if n in names else arg for n, arg in call.named.items()}
    return replace(call, args=args, named=named)


def _as_array(call: KnownCall, operand: Operand) -> Operand:
    if not _is_list_of_numbers(operand):
        return operand
    return ARRAY_CREATION["numpy.array"](replace(call, args=[operand], named={}))


def _is_list_of_numbers(operand: Operand) -> bool:
    match operand:
        case Items(items, is_list):
            return bool(items or is_list) and all(
                is_scalar(resolve(item)) or _is_list_of_numbers(item) for item in items
            )
        case Known(value):
            return _is_list_value(value)
        case ViewOperand(view):
            return _is_list_value(view.peek())
    return False


def _is_list_value(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(
        is_scalar_value(item) or _is_list_value(item) for item in value
    )
