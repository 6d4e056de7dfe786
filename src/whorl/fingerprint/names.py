"""Names of classes, modules and dtypes that are the same in every process.

The module that was started as a program calls itself `__main__`; here it has the name
under which another process would import it.
"""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from .static_lookup import (
    ABSENT,
    class_vars,
    derives,
    module_attribute,
    module_name,
    module_vars,
    qualname,
)

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "class_label",
    "defines",
    "dtype_text",
    "full_name",
    "import_name",
    "importable",
    "is_heap_class",
    "is_started",
    "known_by_name",
    "known_module_name",
    "resolve",
]

_STARTED: Final = ("__main__", "__mp_main__")
_HEAP_CLASS: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def known_module_name(name: str) -> str:
    """The name under which any process would import this module.

    >>> known_module_name("collections.abc")
    'collections.abc'
    """
    if name not in _STARTED:
        return name
    module = sys.modules.get(name)
    return name if module is None else import_name(module_vars(module))


def full_name(definition: Any) -> str:
    """The module and the name of a function or class, the same in every process.

    >>> full_name(full_name)
    'whorl.fingerprint.names.full_name'
    """
    return f"{known_module_name(definition.__module__ or '')}.{definition.__qualname__}"


def is_started(name: str) -> bool:
    """Whether this is the `__name__` of the program that was started."""
    return name in _STARTED


def import_name(stored: Mapping[str, object]) -> str:
    """The name under which a started program would be imported, by its globals."""
    spec = stored.get("__spec__")
    if spec is not None:
        return cast("str", getattr(spec, "name", "__main__"))
    file = stored.get("__file__")
    return _name_of_file(file) if type(file) is str else "__main__"


@functools.lru_cache(maxsize=16)
def _name_of_file(file: str) -> str:
    """The name of a program that was started; cached: used for each instance of its classes."""
    directory, name = os.path.split(file)
    parts = [os.path.splitext(name)[0]]
    while os.path.isfile(os.path.join(directory, "__init__.py")):
        directory, name = os.path.split(directory)
        parts.insert(0, name)
    return ".".join(parts)


def resolve(module: str, dotted: str) -> object:
    """The value of `module.dotted`, looked up without running any code, or ABSENT."""
    value: Any = sys.modules.get(module, ABSENT)
    for part in dotted.split("."):
        if derives(type(value), types.ModuleType):
            value = module_attribute(value, part)
        elif derives(type(value), type):
            value = class_vars(value).get(part, ABSENT)
        else:
            return ABSENT
    return value


def importable(cls: type) -> bool:
    """Whether another process finds the class under its module and name.

    After a reload the name leads to the class's successor; it stands for both.
    """
    dotted, module = qualname(cls), module_name(cls)
    if "<locals>" in dotted:
        return False
    named: Any = resolve(module, dotted)
    if not derives(type(named), type):
        return False
    return named is cls or (qualname(named) == dotted and module_name(named) == module)


def defines(module: str, dotted: str) -> bool:
    """Whether there is something in a module that a class of this qualified name was defined in.

    >>> defines("string", "Formatter.format.<locals>.Local"), defines("string", "made.<locals>.C")
    (True, False)
    """
    return resolve(module, dotted.partition(".<locals>")[0]) is not ABSENT


def known_by_name(cls: type) -> bool:
    """Whether the name of a class stands for it in every process.

    Classes of the interpreter are known by name although some, such as that of None, are
    found nowhere under it.
    """
    return importable(cls) or not is_heap_class(cls)


def is_heap_class(cls: type) -> bool:
    """Whether a class was created at run time, so that its attributes can be set."""
    return bool(type.__dict__["__flags__"].__get__(cls) & _HEAP_CLASS)


def class_label(cls: type) -> str:
    """The name of a class in every process. Local classes of one name have the same label."""
    if type(cls) is type:  # the usual case, without a metaclass
        module, name = cls.__module__, cls.__qualname__
        loaded = sys.modules.get(module) if type(module) is str else None
        if type(loaded) is types.ModuleType and loaded.__dict__.get(name) is cls:
            return f"{known_module_name(module)}:{name}"
    if not known_by_name(cls):
        return f"local {module_name(cls)}:{qualname(cls)}"
    return f"{known_module_name(module_name(cls))}:{qualname(cls)}"


def dtype_text(dtype: np.dtype[Any]) -> str:
    """A text for a dtype that no other layout has."""
    if dtype.isbuiltin == 1:  # one of NumPy's own, as most are
        return dtype.str
    if dtype.names is not None:
        fields: Mapping[str, Any] = dtype.fields or {}  # never empty beside names
        parts = [f"{name!r}@{fields[name][1]}:{dtype_text(dtype[name])}" for name in dtype.names]
        return f"{{{', '.join(parts)}; {dtype.itemsize}}}"
    if dtype.subdtype is not None:
        return f"{dtype.subdtype[1]}{dtype_text(dtype.subdtype[0])}"
    if dtype.isbuiltin == 2:  # a type that a library has added
        return f"{dtype.str} {class_label(dtype.type)}"
    return dtype.str
