"""Functions and classes of libraries: known by their name and the version of the library.

`range`, `math.sqrt` and `np.sin` are in nearly every kernel. A fingerprint counts them by where
they can be found and by their library's version too, but it brings all of its rules along, which a
process that finds its kernels in the cache needs for nothing else. What is not found here under
its own name, or is of another library, is for the fingerprint.

Anybody can put something else into a library: `math.sqrt = mine`. Which function a compiler knows
what to make of is therefore asked of the function (`own_name`), not of the place where it is found.

Functions that are written in C, and NumPy's that dispatch on their arguments, count by the minor
version of their library: no compile has read a source of theirs, and what they mean is the same in
all releases of a minor version. Other code of libraries counts by the full version.
"""

from __future__ import annotations

import builtins
import math
import os
import sys
import types
from functools import cache
from typing import Any, Final, cast

import numpy as np

from whorl.fingerprint.names import resolve
from whorl.fingerprint.static_lookup import derives, module_vars
from whorl.version import __version__

from .trace import Plain

_PYTHON: Final = "python {}.{}.{}".format(*sys.version_info[:3])
_MINOR: Final = {
    _PYTHON: "python {}.{}".format(*sys.version_info[:2]),
    f"numpy {np.__version__}": f"numpy {'.'.join(np.__version__.split('.')[:2])}",
}
_STANDARD: Final = os.path.dirname(os.__file__) + os.sep
_FOREIGN: Final = (f"{_STANDARD}site-packages", f"{_STANDARD}dist-packages")
_NUMPY: Final = os.path.dirname(np.__file__) + os.sep
# Where NumPy's own functions are made, whatever else is put into `numpy`.
_UMATH: Final[types.ModuleType] = sys.modules["numpy._core._multiarray_umath"]
_DISPATCHER: Final[type] = vars(_UMATH)["_ArrayFunctionDispatcher"]
_KINDS: Final = (types.FunctionType, types.BuiltinFunctionType, type, np.ufunc, _DISPATCHER)
_MODULES: Final = {
    id(builtins): "builtins",
    id(math): "math",
    id(sys.modules.get("math.integer", math)): "math",  # since 3.15 the home of `math.gcd`
    id(_UMATH): "numpy",
}
_WRITTEN_IN_PYTHON: Final = {
    "numpy._core.einsumfunc": "numpy",
    "numpy._core.fromnumeric": "numpy",
    "numpy._core.function_base": "numpy",
    "numpy._core.numeric": "numpy",
    "numpy._core.numerictypes": "numpy",
    "numpy._core.shape_base": "numpy",
    "numpy.lib._arraypad_impl": "numpy",
    "numpy.lib._arraysetops_impl": "numpy",
    "numpy.lib._function_base_impl": "numpy",
    "numpy.lib._histograms_impl": "numpy",
    "numpy.lib._index_tricks_impl": "numpy",
    "numpy.lib._nanfunctions_impl": "numpy",
    "numpy.lib._polynomial_impl": "numpy",
    "numpy.lib._shape_base_impl": "numpy",
    "numpy.lib._stride_tricks_impl": "numpy",
    "numpy.lib._twodim_base_impl": "numpy",
    "numpy.lib._type_check_impl": "numpy",
    "numpy.lib._ufunclike_impl": "numpy",
    "numpy.linalg._linalg": "numpy.linalg",
    "whorl.kernels.counter_random": "whorl",
    "whorl.kernels.decompositions": "whorl",
    "whorl.kernels.language": "whorl",
    "whorl.kernels.library.conditions": "whorl.library",
    "whorl.kernels.library.lapack": "whorl.library",
    "whorl.kernels.library.calls_of_c": "whorl.library",
    "whorl.kernels.small_vectors": "whorl",
}
"""Modules whose functions are known, and the name under which each is used."""
_HEAP_CLASS: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def own_name(value: Any) -> str | None:
    """The name of a function or class of Python, NumPy or whorl, wherever it is bound now.

    None for all others, and for what somebody has put in the place of one.

    >>> import math
    >>> own_name(math.sqrt), own_name(np.clip), own_name(range)
    ('math.sqrt', 'numpy.clip', 'builtins.range')
    >>> own_name(lambda: 1)
    """
    cls = type(value)
    if cls is types.BuiltinFunctionType:
        module = value.__self__
        owner = _MODULES.get(id(module))
        if owner is None and module is not None and module is sys.modules.get("cmath"):
            owner = "cmath"  # which few programs import
        return owner and f"{owner}.{value.__name__}"
    if cls is np.ufunc:
        is_own = vars(_UMATH).get(value.__name__) is value
        return f"numpy.{value.__name__}" if is_own else None
    if cls is _DISPATCHER:
        return own_name(value._implementation)
    if cls is types.FunctionType:
        return _name_in_python(value)
    if derives(cls, type) and not type.__dict__["__flags__"].__get__(value) & _HEAP_CLASS:
        return f"{value.__module__}.{value.__qualname__}"
    return None


def _name_in_python(function: types.FunctionType) -> str | None:
    module = function.__globals__.get("__name__")
    home = _WRITTEN_IN_PYTHON.get(module) if type(module) is str else None
    scope = _scope(cast("str", module)) if home else None
    code = function.__code__
    if scope is not function.__globals__ or code.co_filename != scope.get("__file__"):
        return None
    return f"{home}.{code.co_qualname}"


def library_name(value: Any) -> Plain:
    """What stands for a function or class of Python, NumPy or whorl; None for all else.

    >>> import math
    >>> library_name(math.sqrt)["library"], library_name(len)["library"]
    ('math.sqrt', 'builtins.len')
    >>> library_name(lambda: 1), library_name(3)
    (None, None)
    """
    cls = type(value)
    for kind in _KINDS:  # a metaclass may refuse to be compared
        if cls is kind:
            break
    else:
        return None
    module = "numpy" if cls is np.ufunc else value.__module__
    if type(module) is not str:
        return None
    scope = _scope(module)
    # `functools.wraps` and mocks let functions of anybody say that they are of a library.
    if scope is None or (cls is types.FunctionType and value.__globals__ is not scope):
        return None
    library = _library(module, scope.get("__file__"))
    name = value.__name__ if cls is np.ufunc else value.__qualname__
    if library is None or resolve(module, name) is not value:
        return None
    is_made = cls is type and type.__dict__["__flags__"].__get__(value) & _HEAP_CLASS
    has_source = is_made or cls is types.FunctionType
    version = library if has_source else _MINOR.get(library, library)
    return {"library": f"{module}.{name}", "version": version}


def _scope(module: str) -> dict[str, Any] | None:
    """The globals of a module that is loaded, and is a plain one or whorl's own."""
    loaded = sys.modules.get(module)
    cls = type(loaded)
    if cls is not types.ModuleType:
        is_whorl = module.partition(".")[0] == "whorl"
        if not (is_whorl and derives(cls, types.ModuleType)):
            return None
    return module_vars(cast("types.ModuleType", loaded))


@cache
def _library(module: str, file: object) -> str | None:
    """The name and version of the library that a module is of; None if it is of no such one."""
    top = module.partition(".")[0]
    if top == "whorl":
        return f"whorl {__version__}"
    if top == "numpy":
        return f"numpy {np.__version__}" if str(file).startswith(_NUMPY) else None
    if top not in sys.stdlib_module_names:
        return None
    if file is None:  # built in
        built_in = "_math_integer" if module == "math.integer" else module
        return _PYTHON if built_in in (*sys.builtin_module_names, "builtins") else None
    is_standard = str(file).startswith(_STANDARD) and not str(file).startswith(_FOREIGN)
    return _PYTHON if is_standard else None
