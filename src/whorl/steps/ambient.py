"""Settings of the process on which results depend though the code does not read them.

Some libraries use settings that no argument and no global shows: decimals the context of the
thread, the text of an array NumPy's print options. They count for every function that can call
such a library. Other state of this kind is refused where code names it
(`calls.impure_functions`), or the guide lists it as something that does not count.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from whorl.fast_dataclasses import NamedTuple
from whorl.fingerprint.bytecode import nested_codes, once_per_code
from whorl.lazy import importing

__all__ = ["AMBIENT_CLASSES", "Ambient", "ambient_of"]

AMBIENT_CLASSES: Final = frozenset((("decimal", "Decimal"), ("numpy", "ndarray")))
"""Classes whose methods use such settings: with arguments of these, the settings count."""


class Ambient(NamedTuple):
    """A setting of the process: its name for people, and a function that returns its value."""

    name: str
    now: Callable[[], object]


def _decimal_context() -> object:
    """What the results of decimals depend on in this thread."""
    with importing:
        from decimal import getcontext
    context = getcontext()
    raised = sorted(signal.__name__ for signal, is_on in context.traps.items() if is_on)
    rules = context.prec, context.rounding, context.Emin, context.Emax
    return (*rules, context.capitals, context.clamp, *raised)


def _print_options() -> object:
    """What the text of an array depends on."""
    with importing:
        from numpy import get_printoptions
    return get_printoptions()


_DECIMALS: Final = Ambient("decimal context", _decimal_context)
_PRINTING: Final = Ambient("NumPy's print options", _print_options)

_TEXT_NAMES: Final = frozenset(
    ("str", "repr", "format", "ascii", "array2string", "array_repr", "array_str", "__str__",
     "__repr__", "__format__", "format_map", "savetxt", "get_printoptions")
)  # fmt: skip
_TEXT_INSTRUCTIONS: Final = frozenset(
    ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE", "BUILD_TEMPLATE")
)


def ambient_of(
    packages: Iterable[str], functions: Iterable[types.FunctionType]
) -> Iterator[Ambient]:
    """The settings that count for functions that can call these packages."""
    met = frozenset(packages)
    if "decimal" in met:
        yield _DECIMALS
    if "numpy" in met and any(makes_text(function.__code__) for function in functions):
        yield _PRINTING


def _makes_text(code: types.CodeType) -> bool:
    for inner in nested_codes(code):
        if not _TEXT_NAMES.isdisjoint(inner.co_names):
            return True
        has_pattern = any(type(each) is str and "%" in each for each in inner.co_consts)
        for step in dis.get_instructions(inner):
            if step.opname in _TEXT_INSTRUCTIONS:
                return True
            if has_pattern and step.opname == "BINARY_OP" and step.argrepr in ("%", "%="):
                return True
    return False


makes_text: Final[Callable[[types.CodeType], bool]] = once_per_code(_makes_text)
"""Whether code may make a text of a value."""
