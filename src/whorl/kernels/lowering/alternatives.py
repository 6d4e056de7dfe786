"""What to write in place of functions, methods and classes that kernels do not know."""

from __future__ import annotations

import ast
import types
from typing import Final

import numpy as np

__all__ = [
    "ALTERNATIVES",
    "INSTEAD_OF_MAKING",
    "METHOD_ALTERNATIVES",
    "instead_of_call",
    "instead_of_making",
    "instead_of_method",
    "is_numpys",
    "why_not_followed",
]

LANGUAGE: Final = "What kernels know is listed in the manual, under 'The language'."
LOOP: Final = "Write a loop over the elements, or compute it outside and pass the result in."
_GENERATOR: Final = (
    "Make rng = np.random.default_rng(seed) outside, pass it in, and draw from it: rng.random(), "
    "rng.normal(), rng.integers(n). In parallel loops write whorl.random(key, i)."
)
_FILES: Final = "Read and write files outside, and pass arrays in."
_OUTSIDE: Final = "Compute it outside, and pass the result in."
_STRIDES: Final = "Index the array in a loop: a[i : i + n] is a view."

ALTERNATIVES: Final[dict[str, str]] = {
    "numpy.apply_along_axis": "Loop over the rows: a[i] is one.",
    "numpy.apply_over_axes": "Call the function for one axis after the other.",
    "numpy.array_equiv": "Write np.array_equal(...), or np.all(a == b).",
    "numpy.broadcast_arrays": "Operators stretch arrays by themselves; np.broadcast_to makes one.",
    "numpy.frexp": LOOP,
    "numpy.fromfunction": "Write the expression over np.arange(n)[:, None] and np.arange(m).",
    "numpy.fromiter": "Make the array with np.empty(n), and fill it in a loop.",
    "numpy.load": _FILES,
    "numpy.loadtxt": _FILES,
    "numpy.piecewise": "Write np.where(...) or np.select(...).",
    "numpy.save": _FILES,
    "numpy.savetxt": _FILES,
    "numpy.vectorize": "Call the function in a loop: kernels follow it.",
    "numpy.frombuffer": "Call it outside, and pass the array in.",
    "numpy.random": _GENERATOR,
    "numpy.fft": _OUTSIDE,
    "numpy.lib.stride_tricks": _STRIDES,
    "numpy.polynomial": "np.polyval is there.",
}
"""By the name of a function, or of a whole module."""
METHOD_ALTERNATIVES: Final[dict[str, str]] = {
    "byteswap": "Convert the array outside: kernels take the native byte order.",
    "choose": "Write np.select(...), or a loop.",
    "dump": _FILES,
    "itemset": "Write a[i] = value.",
    "partition": "Write a.sort().",
    "resize": "Make another array, and copy: b[: len(a)] = a.",
    "setflags": "Set flags outside.",
    "tobytes": "Return the array, and call .tobytes() outside.",
    "tofile": _FILES,
    "tolist": "Return the array, and call .tolist() outside.",
}
"""Methods of arrays, by their name."""


def instead_of_method(name: str) -> str:
    """What to write in place of a method or attribute of an array that is not there."""
    return f"{METHOD_ALTERNATIVES.get(name, LOOP)} {LANGUAGE}"


def why_not_followed(value: object) -> str:
    """Why a call cannot be compiled, after the name of what is called."""
    owner = getattr(value, "__self__", None)
    if isinstance(owner, np.ndarray) or is_numpys(value):
        return "is not known in kernels"
    return "has no Python source to follow"


def is_numpys(value: object) -> bool:
    """Whether a function is one of NumPy's, whose source is not written for kernels."""
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] == "numpy"


_WRITTEN_OUT: Final = "Write the items out, or use an array that is passed in."
INSTEAD_OF_MAKING: Final[dict[type, str]] = {
    super: "Name the class whose method is meant: Base.method(self, ...).",
    slice: "Write the slice where it is used: x[a:b].",
    set: _WRITTEN_OUT,
    frozenset: _WRITTEN_OUT,
    dict: "Use arrays, or parameters of their own.",
    map: "Write a loop.",
    filter: "Write a loop.",
    np.ndarray: "Write np.empty(shape, dtype).",
    np.float16: "Use np.float32 or np.float64.",
}


def instead_of_making(node: ast.Call, cls: type) -> str:
    """What to write in place of an object that would be made."""
    if cls in INSTEAD_OF_MAKING:
        return INSTEAD_OF_MAKING[cls]
    if cls is str:
        return f"If it is known at compile time: whorl.static({ast.unparse(node)})."
    return "Make it outside and pass it in; tuples can be made and returned."


def instead_of_call(node: ast.Call, value: object) -> str:
    """What to write in place of the call of something that cannot be followed."""
    owner = getattr(value, "__self__", None)
    if isinstance(owner, str | bytes):
        return f"If it is known at compile time: whorl.static({ast.unparse(node)})."
    if isinstance(owner, dict):
        return "Read an item as d['name'], and loop over the keys; nothing in it can be changed."
    if isinstance(owner, list | set):
        return "Lists and sets are read in a kernel, never changed: write into an array."
    if isinstance(owner, np.random.RandomState | np.random.Generator):
        return _GENERATOR
    if isinstance(owner, np.ndarray):
        return instead_of_method(getattr(value, "__name__", ""))
    if is_numpys(value):
        name = f"{value.__module__}.{getattr(value, '__name__', '')}"
        module = str(value.__module__)
        return f"{ALTERNATIVES.get(name) or ALTERNATIVES.get(module) or LOOP} {LANGUAGE}"
    wrapped = getattr(value, "__wrapped__", None)
    if isinstance(wrapped, types.FunctionType):
        return f"Call the function that is wrapped: {ast.unparse(node.func)}.__wrapped__(...)."
    return "Write a Python function that does it, or compute it outside and pass the result in."
