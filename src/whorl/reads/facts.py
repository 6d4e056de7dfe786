"""How facts are taken: one row per aspect; and signatures, which say all but the value.

    durable    plain data, for keys and the disk
    live       hashable, quick, for this process; two are equal only if the durable ones are
    pair       both, of the same moment: a table leads from live facts to what was found under
               durable ones
    source     the expression that takes the live fact in a generated replay: what is usual in
               place, all else by `live`

What takes a fact may raise `NotRecorded`: the value has no such fact.
"""

from __future__ import annotations

import enum
import functools
import types
from collections.abc import Callable
from typing import Any, Final, TypeVar

import numpy as np

from whorl.fast_dataclasses import NamedTuple, make
from whorl.fingerprint.names import class_label, dtype_text, known_module_name
from whorl.fingerprint.source import CodeDigest, code_digest
from whorl.fingerprint.static_lookup import ABSENT, ClassTable, derives, find, mro, type_name
from whorl.signals import pass_on

from .trace import Aspect, Plain
from .value_fact import SIMPLE, NotRecorded, asking_raises, exact, hashable, live_value
from .world import function_behind, own_module

# The signature of a value: what a compile may know of it without its value.
#
# A signature is plain data. Two values of one signature can travel through the same compiled
# code; what differs between them is handed over at launch. It is taken from raw metadata, and
# no adaptor is built for it. Classes bring their own with `__whorl_signature__`, or get one with
# `whorl.register_signature`. A value whose class says nothing has no signature.
#
#     None, bool, int, float, complex, str, bytes     ("int",)
#     an enum member                                  ("enum", class)
#     a NumPy scalar                                  ("scalar", dtype)
#     an array                                        ("array", dtype, dimensions, layout, access),
#                                                     and its class if it is a subclass
#     a tuple                                         ("tuple", signature...)
#     a function or method                            ("function", kind)
#     a class, a module                               ("class", name), ("module", name)
#     a list, dict or set                             ("list",), and its class if it is a subclass
#     an object                                       ("object", class, bases...)
#     anything that says so itself                    ("own", class, plain)


C_ORDER, F_ORDER, OWNS_DATA, ALIGNED, WRITEABLE = 0x001, 0x002, 0x004, 0x100, 0x400
LAYOUT_FLAGS: Final = C_ORDER | F_ORDER | ALIGNED | WRITEABLE

_ORDERS: Final = {
    "C": (C_ORDER, C_ORDER),
    "F": (C_ORDER | F_ORDER, F_ORDER),
    "strided": (C_ORDER | F_ORDER, 0),
}


def flags_of(layout: str, *, writeable: bool) -> tuple[int, int]:
    """A mask, and the bits that aligned arrays of a layout have there.

    >>> flags_of("C", writeable=False)
    (1281, 257)
    """
    mask, bits = _ORDERS[layout]
    return mask | ALIGNED | WRITEABLE, bits | ALIGNED | (WRITEABLE if writeable else 0)


SCALARS: Final = frozenset((type(None), bool, int, float, complex, str, bytes))
FUNCTIONS: Final = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    functools.partial,
    staticmethod,
    classmethod,
)

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
    is_member = any(each is enum.EnumMeta for each in mro(type(cls)))
    for base in mro(cls):
        row = _BY_BASE.get(id(base))  # by address: a metaclass may refuse to be compared
        if row is not None and (not is_member or base is tuple):
            return row(value)
    if is_member:
        return ("enum", class_label(cls))
    metadata = _raw_array(value)
    return ("object", *map(class_label, mro(cls)[:-1])) if metadata is None else metadata


def _container(base: type) -> Own:
    return lambda value: (
        base.__name__,
        *(() if type(value) is base else (class_label(type(value)),)),
    )


_BY_BASE: Final[dict[int, Own]] = {
    id(tuple): lambda value: (*_container(tuple)(value), *map(signature, tuple.__iter__(value))),
    id(np.generic): lambda value: ("scalar", dtype_text(value.dtype)),
    **{id(each): lambda value: ("function", type(value).__name__) for each in FUNCTIONS},
    id(type): lambda value: ("class", class_label(value)),
    id(types.ModuleType): lambda value: ("module", known_module_name(value.__name__)),
    **{id(each): _container(each) for each in (list, dict, set, frozenset)},
}
"""The signature of what is derived from a class; no two of these can have a class in common."""


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


# -- facts -----------------------------------------------------------------------------


Take = Callable[..., Any]
_SEQUENCES: Final = (list, tuple)


class Pair(NamedTuple):
    """A fact in both spellings, and what has to stay alive for the live one to mean the same."""

    live: Any
    durable: Plain
    referents: tuple[object, ...] = ()


class Row(NamedTuple):
    """How the facts of one aspect are taken: of a value, or of one and those beside it.

    In `source` and `statements`, which come before the expression, {0} and {1} are the variables
    with the values and {n} is a number of their own. Other names are in `SOURCE_NAMES`.
    """

    durable: Callable[..., Plain]
    live: Callable[..., Any]
    pair: Callable[..., Pair]
    source: str
    statements: str = ""


class Unmatched:
    """In place of a live fact that changed while it was taken: each equals itself alone."""


def durable(aspect: Aspect, *values: Any) -> Plain:
    """The fact of a value under an aspect, as plain data; `NotRecorded` if it has none.

    >>> durable(Aspect.VALUE, 64), durable(Aspect.TYPE, 64), durable(Aspect.LEN, [1, 2, 3])
    (64, ('int',), 3)
    """
    return _take(FACTS[aspect].durable, values)


def live(aspect: Aspect, *values: Any) -> Any:
    """The same for this process."""
    return _take(FACTS[aspect].live, values)


def pair(aspect: Aspect, *values: Any) -> Pair:
    """Both of the same moment.

    >>> pair(Aspect.LEN, {"a": 1})
    Pair(live=(<class 'dict'>, 1), durable=('dict', 1), referents=())
    """
    return _take(FACTS[aspect].pair, values)  # type: ignore[no-any-return]  # of that column


def _twice(durable: Take, live: Take) -> Callable[..., Pair]:
    """The live fact before and after the durable one: if it has changed, it matches nothing."""

    def pair(*values: Any) -> Pair:
        before = live(*values)
        fact = durable(*values)
        return make(Pair, (before if live(*values) == before else Unmatched(), fact, ()))

    return pair


def _take(take: Take, values: tuple[Any, ...]) -> Any:
    """A fact; what taking it raises means that there is none."""
    try:
        return take(*values)
    except NotRecorded:
        raise
    except NoSignature as error:
        raise NotRecorded(error.reason) from error
    except Exception as error:
        pass_on(error)
        raise NotRecorded(asking_raises(error)) from error


# -- type, array -------------------------------------------------------------------------------


def _live_type(value: Any) -> Any:
    """The class where that says it all, else as much as the signature does."""
    cls = type(value)
    if type(cls) is type and cls in SIMPLE:
        return cls
    if cls is np.ndarray:
        return (value.dtype, value.ndim, value.flags.num & LAYOUT_FLAGS)
    return hashable(signature(value))


def _type_pair(value: Any) -> Pair:
    """The live fact of what is no number, text or array is made of the durable one."""
    cls = type(value)
    if cls is np.ndarray or (type(cls) is type and cls in SIMPLE):
        return _plain_type_pair(value)
    fact = signature(value)
    return make(Pair, (hashable(fact), fact, ()))


_plain_type_pair: Final = _twice(signature, _live_type)


def _live_array(value: Any) -> tuple[Any, Any, Any]:
    """dtype, dimensions, layout with access: three parts, whatever it is."""
    if type(value) is np.ndarray:
        return value.dtype, value.ndim, value.flags.num & LAYOUT_FLAGS
    return hashable(array_signature(value)), None, None


def _array_pair(value: Any) -> Pair:
    if type(value) is not np.ndarray:
        return _other_array_pair(value)
    metadata = _live_array(value)
    return make(Pair, (metadata, array_signature_of(*metadata), ()))


_other_array_pair: Final = _twice(array_signature, _live_array)


# -- value -------------------------------------------------------------------------------------


def _value_pair(value: Any) -> Pair:
    """The live fact of what is neither plain nor a tuple is made of the durable one: taking that
    again would take a fingerprint again."""
    cls = type(value)
    if cls is tuple or (type(cls) is type and cls in SIMPLE):
        return _plain_value_pair(value)
    fact = exact(value)
    return Pair(("exactly", hashable(fact)), fact)


_plain_value_pair: Final = _twice(exact, live_value)


# -- present, len ------------------------------------------------------------------------------


def _present(value: Any) -> bool:
    return True


def _len(value: Any) -> Plain:
    """How many items there are; of what is neither list nor tuple, what it is as well.

    Iterating over a list or a tuple yields its items, over a dict something else.
    """
    cls, n = type(value), len(value)
    return n if derives(cls, *_SEQUENCES) else (type_name(cls), n)


def _live_len(value: Any) -> Any:
    cls, n = type(value), len(value)
    return n if derives(cls, *_SEQUENCES) else (cls, n)


# -- code --------------------------------------------------------------------------------------


def _code_pair(value: Any) -> Pair:
    """The code and the globals of the function, by address, and what is around it."""
    function, around = function_behind(value), _wrappers(value)
    if type(function) is not types.FunctionType:
        other = ("code of", exact(function))
        return Pair(hashable(other), other)
    code, scope = function.__code__, function.__globals__
    digest, module = code_digest(code), own_module(function) or "apart"
    fact = ("code", digest.hex, origin_of(code, digest), module, *around)
    return Pair((id(scope), id(code), *around), fact, (code, scope))


def _live_code(value: Any) -> Any:
    function = function_behind(value)
    if type(function) is types.FunctionType:
        return (id(function.__globals__), id(function.__code__), *_wrappers(value))
    return _code_pair(value).live


def _wrappers(value: Any) -> tuple[str, ...]:
    """What stands between a value and its function, outermost first."""
    names = []
    while type(value) in (types.MethodType, staticmethod, classmethod, functools.partial):
        names.append(type(value).__name__)
        value = value.func if type(value) is functools.partial else value.__func__
    return tuple(names)


def origin_of(code: types.CodeType, digest: CodeDigest) -> str:
    """What the digest of a code was taken from, and which names it has from functions around it.

    The tree spells them as it spells globals, and an edit outside can make one of the other.
    """
    names = code.co_freevars
    return f"{digest.origin}, closing over {' '.join(names)}" if names else digest.origin


# -- alias -------------------------------------------------------------------------------------


def _alias(one: Any, other: Any) -> str:
    """How the memory of two values is related."""
    if one is other:
        return "same"
    for value in (one, other):
        if not is_array(value):
            raise NotRecorded("it does not say which memory it uses")
    return "overlapping" if np.may_share_memory(one, other) else "distinct"


def is_array(value: Any) -> bool:
    """Whether it is NumPy's, or of a class that is derived from that."""
    return derives(type(value), np.ndarray)


# -- The table ---------------------------------------------------------------------------------


FACTS: Final = {
    Aspect.TYPE: Row(
        signature,
        _live_type,
        _type_pair,
        "(t if type(t := type({0})) is type and t in SIMPLE else live_type({0}))",
    ),
    Aspect.VALUE: Row(exact, live_value, _value_pair, "live_value({0})"),
    Aspect.ARRAY: Row(
        array_signature,
        _live_array,
        _array_pair,
        "d{n}, n{n}, f{n}",
        "if type({0}) is ndarray:\n"
        "    d{n} = {0}.dtype; n{n} = {0}.ndim; f{n} = {0}.flags.num & LAYOUT\n"
        "else:\n"
        "    d{n}, n{n}, f{n} = live_array({0})",
    ),
    Aspect.PRESENT: Row(_present, _present, _twice(_present, _present), "True"),  # it was walked to
    Aspect.CODE: Row(
        lambda value: _code_pair(value).durable,
        _live_code,
        _code_pair,
        "((id({0}.__globals__), id({0}.__code__)) if type({0}) is FunctionType"
        " else live_code({0}))",
    ),
    Aspect.LEN: Row(
        _len,
        _live_len,
        _twice(_len, _live_len),
        "(len({0}) if type({0}) in SEQUENCES else live_len({0}))",
    ),
    Aspect.ALIAS: Row(_alias, _alias, _twice(_alias, _alias), "alias({0}, {1})"),
}
SOURCE_NAMES: Final[dict[str, Any]] = {
    "FunctionType": types.FunctionType,
    "LAYOUT": LAYOUT_FLAGS,
    "SEQUENCES": frozenset(_SEQUENCES),
    "SIMPLE": SIMPLE,
    "alias": _alias,
    "live_array": _live_array,
    "live_code": _live_code,
    "live_len": _live_len,
    "live_type": _live_type,
    "live_value": live_value,
    "ndarray": np.ndarray,
}
"""What the expressions of the table refer to."""
