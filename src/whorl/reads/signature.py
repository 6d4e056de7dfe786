"""The signature of a value: what a compile may know of it without its value.

A signature is plain data. Two values of one signature can travel through the same compiled
code; what differs between them is handed over at launch. It is taken from raw metadata, and
no adaptor is built for it. Classes bring their own with `__whorl_signature__`, or get one with
`whorl.register_signature`. A value whose class says nothing has no signature.

    None, bool, int, float, complex, str, bytes     ("int",)
    an enum member                                  ("enum", class)
    a NumPy scalar                                  ("scalar", dtype)
    an array                                        ("array", dtype, dimensions, layout, access),
                                                    and its class if it is a subclass
    a tuple                                         ("tuple", signature...)
    a function or method                            ("function", kind)
    a class, a module                               ("class", name), ("module", name)
    a list, dict or set                             ("list",), and its class if it is a subclass
    an object                                       ("object", class, bases...)
    anything that says so itself                    ("own", class, plain)
"""

from __future__ import annotations

import enum
import functools
import types
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numpy as np

from whorl.fingerprint.names import class_label, dtype_text, known_module_name
from whorl.fingerprint.static_lookup import ABSENT, ClassTable, derives, find, mro

from .array_flags import ALIGNED, C_ORDER, F_ORDER, LAYOUT_FLAGS, WRITEABLE
from .trace import Plain

__all__ = [
    "NoSignature",
    "array_signature",
    "array_signature_of",
    "register_signature",
    "signature",
]

SCALARS: Final = frozenset((type(None), bool, int, float, complex, str, bytes))
FUNCTIONS: Final = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    functools.partial,
    staticmethod,
    classmethod,
)
_CONTAINERS: Final = (list, dict, set, frozenset)

T = TypeVar("T")
Own = Callable[[Any], Plain]
_registered: Final[ClassTable[Own]] = ClassTable()


class NoSignature(Exception):
    """A value of which nothing can be known but its value."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def register_signature(cls: type[T], function: Callable[[T], Plain]) -> None:
    """Let instances of a class (and of those derived from it) be known by what a function says.

    The function returns plain data, taken from metadata rather than from content.

    >>> import uuid
    >>> register_signature(uuid.UUID, lambda value: value.version)
    >>> signature(uuid.UUID(int=0))
    ('own', 'uuid:UUID', None)
    """
    if not isinstance(cls, type) or not callable(function):
        raise TypeError("register_signature takes a class and a function")
    if cls is np.ndarray or cls in SCALARS:
        raise TypeError(
            f"what a {cls.__name__} is known by is fixed: derive a class of your own from it"
        )
    _registered[cls] = function


def signature(value: Any) -> Plain:
    """What a compile may know of a value without its value.

    >>> signature(3), signature(np.float32(1)), signature((1, None))
    (('int',), ('scalar', '<f4'), ('tuple', ('int',), ('NoneType',)))
    >>> signature(np.zeros((2, 3)))
    ('array', '<f8', 2, 'C', 'rw')
    """
    cls = type(value)
    if type(cls) is type and cls in SCALARS:  # a metaclass may refuse to be compared
        return (cls.__name__,)
    own = _own(cls)
    if own is not None:
        return ("own", class_label(cls), own(value))
    if cls is np.ndarray:
        return array_signature(value)
    if derives(cls, tuple):
        label = () if cls is tuple else (class_label(cls),)
        return ("tuple", *label, *map(signature, tuple.__iter__(value)))
    if derives(type(cls), enum.EnumMeta):
        return ("enum", class_label(cls))
    if derives(cls, np.generic):
        return ("scalar", dtype_text(cast("np.generic", value).dtype))
    if derives(cls, *FUNCTIONS):
        return ("function", cls.__name__)
    if derives(cls, type):
        return ("class", class_label(value))
    if derives(cls, types.ModuleType):
        return ("module", known_module_name(value.__name__))
    for container in _CONTAINERS:
        if derives(cls, container):
            return (container.__name__, *(() if cls is container else (class_label(cls),)))
    metadata = _raw_array(value)
    return ("object", *map(class_label, mro(cls)[:-1])) if metadata is None else metadata


def _own(cls: type) -> Own | None:
    declared = find(cls, "__whorl_signature__")
    if declared is not ABSENT:
        return lambda value: value.__whorl_signature__()
    nearest = _registered.nearest(cls)
    return None if nearest is None else _registered.get(nearest)


def array_signature(value: Any) -> Plain:
    """The signature of an array, or of what can be used as one; `NoSignature` if it is none."""
    cls = type(value)
    if derives(cls, np.ndarray):
        metadata = array_signature_of(value.dtype, value.ndim, value.flags.num)
        if cls is np.ndarray or cls is np.memmap or find(cls, "__whorl_plain__") is True:
            return metadata
        return (*metadata, class_label(cls))  # whose elements may mean something else: a mask
    own = _own(type(value))
    if own is not None:
        return ("own", class_label(type(value)), own(value))
    metadata = _raw_array(value)
    if metadata is None:
        raise NoSignature("it is no array")
    return metadata


def array_signature_of(dtype: np.dtype[Any], dimensions: int, flags: int) -> Plain:
    """The signature of an array by its metadata; `flags` are the number of its flags."""
    layout, access = _LAYOUTS[flags & LAYOUT_FLAGS]
    return ("array", dtype_text(dtype), dimensions, layout, access)


def _layout(flags: int) -> tuple[str, str]:
    layout = "C" if flags & C_ORDER else "F" if flags & F_ORDER else "strided"
    return layout if flags & ALIGNED else "unaligned", "rw" if flags & WRITEABLE else "r"


_LAYOUTS: Final = {
    flags: _layout(flags) for flags in range(LAYOUT_FLAGS + 1) if flags & LAYOUT_FLAGS == flags
}


def _raw_layout(value: Any) -> str:
    """How the elements lie: what is not strided, or is not what memory holds, says so."""
    kind = str(getattr(value, "layout", "torch.strided"))
    if kind != "torch.strided":
        return kind
    contiguous = getattr(value, "is_contiguous", None)
    if contiguous is None:
        return "any"
    lazy = [name for name in ("is_conj", "is_neg") if getattr(value, name, bool)()]
    return " ".join(("C" if contiguous() else "strided", *lazy))


def _raw_place(value: Any) -> Plain:
    """The kind of device and its number, or its name where DLPack has none for it."""
    try:
        kind, number = value.__dlpack_device__()
    except ValueError:
        return str(value.device)
    return (int(kind), int(number))


def _raw_array(value: Any) -> Plain | None:
    """The metadata of what is an array to others: torch tensors, buffers, DLPack producers."""
    cls = type(value)
    if find(cls, "__dlpack__") is not ABSENT and find(cls, "__dlpack_device__") is not ABSENT:
        try:
            dimensions = value.ndim
            dtype = str(value.dtype)
        except AttributeError:
            raise NoSignature("it has __dlpack__ but neither dtype nor ndim") from None
        grad = bool(getattr(value, "requires_grad", False))
        layout, place = _raw_layout(value), _raw_place(value)
        return ("dlpack", class_label(cls), dtype, int(dimensions), layout, place, grad)
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):
        return None
    with view:
        layout = "C" if view.c_contiguous else "F" if view.f_contiguous else "strided"
        return ("buffer", view.format, view.ndim, layout, "r" if view.readonly else "rw")
