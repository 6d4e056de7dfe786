"""Objects of unknown extension classes, by their pickled state: the last resort.

Used only if an instance has space for state that neither slots nor a dictionary show. The reduction
counts, and so do dictionary and slots: a reduction that leaves them out does not make two objects
the same.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator
from typing import Any, Final

from whorl.signals import pass_on

from ..layout import layout_of, state_of
from ..names import resolve
from ..refusal import Refused
from ..static_lookup import class_vars, derives, find, instance_dict, module_name, type_name
from ..tokens import Node, unlabelled
from .callables import named_extension
from .rule import Kind, RuleContext

__all__ = ["KINDS", "by_reduction", "reduced"]


def by_reduction(value: Any, context: RuleContext) -> Node:
    """The node of an object that copyreg or its own `__reduce_ex__` takes apart."""
    cls = type(value)
    given = reduced(value)
    if type(given) is str:  # it is a global of this name
        module = (instance_dict(value) or {}).get("__module__") or module_name(cls)
        if resolve(module, given) is value:
            return named_extension(module, given, context)
    state = state_of(layout_of(cls, object, {}), value)
    parts = (context.class_node(cls), given, state)
    return Node(b"reduced", parts, unlabelled)


def reduced(value: object) -> object:
    """The reduction of an object for pickle: a name, or parts."""
    cls: Any = type(value)
    try:
        own = copyreg.dispatch_table.get(cls)
        reduced = own(value) if own is not None else find(cls, "__reduce_ex__")(value, 4)  # type: ignore[operator]  # object has it
    except (RecursionError, MemoryError):
        raise
    except Exception as error:
        pass_on(error)
        raise Refused(f"it keeps state in an extension and cannot be copied ({error})") from error
    if type(reduced) is str:
        return reduced
    if type(reduced) is not tuple or not 2 <= len(reduced) <= 6:
        raise Refused("its __reduce_ex__ returns neither a name nor a tuple of two to six parts")
    parts = [list(part) if isinstance(part, Iterator) else part for part in reduced]
    # Some include their dictionary once it exists, which the first access creates.
    if len(parts) > 2 and type(parts[2]) is dict and not parts[2]:
        parts[2] = None
    while len(parts) > 2 and parts[-1] is None:
        parts.pop()
    return tuple(parts)


def _is_structure_sequence(cls: type) -> bool:
    """`os.stat_result` and its like: tuples with fields that are not among their elements."""
    return derives(cls, tuple) and "n_unnamed_fields" in class_vars(cls)


def _is_c_field(cls: type) -> bool:
    return type_name(cls) in ("_ctypes.CField", "ctypes.CField")  # the latter since Python 3.14


def _c_field(value: Any, context: RuleContext) -> Node:
    return Node(b"ctypes field", (value.offset, value.size), lambda i: (".offset", ".size")[i])


KINDS: Final[tuple[Kind, ...]] = (
    (_is_structure_sequence, by_reduction),
    (_is_c_field, _c_field),
)
