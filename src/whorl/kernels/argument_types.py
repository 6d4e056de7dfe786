"""Types of arguments as people write them in, values that stand for them out.

    i64, int     a Python int           f64, float   a Python float      bool
    i8 ... u64, f32                     a NumPy scalar
    f64[::1]     one dimension, contiguous              f64[:]      one dimension, strided
    f64[:, ::1]  two dimensions, in C's order           f64[:, :]   two dimensions, strided
    f64[::1, :]  in Fortran's order                     f64[()]     no dimension
    const f64[:]   an array that is not written to
    State        a dataclass whose fields are annotated by such types, or, for type checkers, by
                 `Annotated[np.ndarray, "f64[:, ::1]"]`

Everything else is an example of itself.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from whorl.launch.slot_types import SMALL_EXTENT
from whorl.reads.trace import Aspect, Read, Step

from .language import Array

_PYTHON: Final[dict[str, Any]] = {
    "i64": 1, "int": 1, "f64": 1.0, "float": 1.0, "bool": True, "bool_": True,
}  # fmt: skip
_ELEMENTS: Final = {
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "f32": "float32", "f64": "float64", "bool": "bool", "bool_": "bool",
}  # fmt: skip
_SIZES: Final = frozenset(("shape", "size", "strides", "nbytes", "data", "flat"))
_EXAMPLES: Final = "such as f64, i64, f64[:, ::1], const f32[:]"


@dataclasses.dataclass(frozen=True, slots=True)
class ArgumentType:
    """A type of arguments: how it is written, and a value that no compile tells from others.

    >>> ArgumentType.parse("f64[:, ::1]").value.flags.c_contiguous
    True
    """

    text: str
    value: Any
    fields: dict[str, ArgumentType | None] = dataclasses.field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> ArgumentType:
        """The type that a text names; TypeError if it names none."""
        stripped = text.strip()
        words = stripped.removeprefix("const ").strip()
        is_const = words != stripped
        element, bracket, dimensions = words.partition("[")
        element = element.strip().rpartition(".")[2]  # whorl.f64
        if element not in _ELEMENTS and element not in _PYTHON:
            raise TypeError(f"{text!r} is no type of an argument, {_EXAMPLES}")
        if not bracket:
            if is_const:
                raise TypeError(f"{text!r} is a number, which nothing writes to; leave const out")
            scalar = _PYTHON.get(element)
            value = np.dtype(_ELEMENTS[element]).type(1) if scalar is None else scalar
            return cls(stripped, value)
        if element not in _ELEMENTS or not dimensions.endswith("]"):
            raise TypeError(f"{text!r} is no type of an array, {_EXAMPLES}")
        array = _array(_ELEMENTS[element], dimensions[:-1], text)
        array.flags.writeable = not is_const
        return cls(stripped, array)

    def at(self, steps: Iterable[Step]) -> ArgumentType | None:
        """The type at a path below, if what is there is known by its type alone."""
        found: ArgumentType | None = self
        for step in steps:
            if found is None:
                return None
            if isinstance(found.value, np.ndarray):
                is_known = step.operation == "attr" and step.name not in _SIZES
                return None if is_known else found
            found = found.fields.get(str(step.name))
        return None if found is None or found.fields else found


def _array(dtype: str, dimensions: str, text: str) -> Any:
    parts = [part.strip() for part in dimensions.split(",")]
    if parts in (["()"], [""]):
        return np.ones((), dtype)
    if set(parts) - {":", "::1"} or parts.count("::1") > 1:
        raise TypeError(f"{text!r}: a dimension is written `:`, and one of them may be `::1`")
    # Kernels may be compiled for the very length of short rows, which a type does not say.
    shape = (*range(2, len(parts)), SMALL_EXTENT + 2, SMALL_EXTENT + 1)[-len(parts) :]
    if parts[-1] == "::1":
        return np.ones(shape, dtype)
    if parts[0] == "::1":
        return np.ones(shape, dtype, order="F")
    if "::1" in parts:
        raise TypeError(f"{text!r}: `::1` is the last dimension (C) or the first one (Fortran)")
    return np.ones(tuple(2 * size for size in shape), dtype)[(slice(None, None, 2),) * len(shape)]


def type_of(given: object) -> ArgumentType | None:
    """The type that somebody has given for an argument; None if it is an example of itself.

    >>> type_of("i64").value, type_of(int).value, type_of(3)
    (1, 1, None)
    """
    if isinstance(given, ArgumentType):
        return given
    if isinstance(given, str):
        return ArgumentType.parse(given)
    if isinstance(given, Array):
        contiguous = ", ".join([":"] * (given.ndim - 1) + ["::1"]) if given.ndim else "()"
        short = next(name for name, full in _ELEMENTS.items() if full == given.dtype)
        return ArgumentType.parse(f"{short}[{contiguous}]")
    if isinstance(given, type):
        return _type_of_class(given)
    return None


def _type_of_class(cls: type) -> ArgumentType:
    if cls in (int, float, bool):
        return ArgumentType.parse(cls.__name__)
    if issubclass(cls, np.generic):
        short = [name for name, full in _ELEMENTS.items() if full == np.dtype(cls).name]
        if short:
            return ArgumentType.parse(short[0])
    if not dataclasses.is_dataclass(cls):
        raise TypeError(
            f"{cls.__qualname__} is no dataclass, and says nothing about its members; give an "
            "object of it as an example"
        )
    scope = vars(sys.modules[cls.__module__])
    made: Any = object.__new__(cls)
    types: dict[str, ArgumentType | None] = {}
    for field in dataclasses.fields(cls):
        types[field.name] = member = _member(cls, field, scope)
        object.__setattr__(made, field.name, member.value)
    return ArgumentType(cls.__qualname__, made, types)


def _member(cls: type, field: dataclasses.Field[Any], scope: dict[str, Any]) -> ArgumentType:
    try:
        member = _type_of_annotation(field.type, scope)
    except TypeError as error:
        raise TypeError(f"{cls.__qualname__}.{field.name}: {error}") from None
    if member is None:
        raise TypeError(
            f"{cls.__qualname__}.{field.name} is annotated by {field.type!r}, which is no type of "
            f"an argument, {_EXAMPLES}"
        )
    return member


def _type_of_annotation(annotation: Any, scope: dict[str, Any]) -> ArgumentType | None:
    """The type that an annotation is, or that `Annotated` adds to one for type checkers."""
    if isinstance(annotation, str):
        text = annotation.strip().strip("'\"")
        try:
            return ArgumentType.parse(text)
        except TypeError:
            try:
                annotation = eval(text, scope)
            except Exception:
                raise TypeError(f"{text!r} is no type of an argument, {_EXAMPLES}") from None
    for note in getattr(annotation, "__metadata__", ()):
        if isinstance(note, str):
            return ArgumentType.parse(note)
    return type_of(annotation)


def parsed_types(text: str) -> tuple[ArgumentType, ...]:
    """The types in a text, separated by commas.

    >>> [each.text for each in parsed_types("f64[:, ::1], i64")]
    ['f64[:, ::1]', 'i64']
    """
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and not depth:
            parts.append(text[begin:at])
            begin = at + 1
    parts.append(text[begin:])
    return tuple(ArgumentType.parse(part) for part in parts if part.strip())


def stand_in(given: object) -> Any:
    """What a compile is called with for what somebody has given."""
    known = type_of(given)
    return given if known is None else known.value


def check_constants(
    kernel: str, given: dict[str, ArgumentType | None], reads: Iterable[Read]
) -> None:
    """Raise TypeError if a compile has read a value of which only the type is known."""
    for read in reads:
        known = given.get(read.path.name) if read.path.root == "arg" else None
        if known is None or read.aspect is not Aspect.VALUE:
            continue
        if (leaf := known.at(read.path.steps)) is not None:
            raise TypeError(
                f"{kernel} uses {read.path} as a constant: {leaf.text} says nothing about its "
                "value.\n  Give an example in place of the type."
            )
