"""A result <-> a pickle in which the program that was started goes by the name of its module.

A class of the started program is called `__main__.Tree` by pickle, and that is another class in
another program. So what `__main__` was is written down beside the pickle, and reading one looks
such names up where the function is from, or in the program that is running if it is the same.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Mapping
from functools import reduce
from typing import Any

from whorl.fingerprint.names import is_started, known_module_name

__all__ = ["main_name", "pickled", "unpickled"]


def main_name() -> str:
    """The name under which any process would import the program that was started."""
    return known_module_name("__main__")


def pickled(value: object) -> bytes:
    """A value as a pickle.

    >>> unpickled(pickled({1: [2]}), main_name(), {})
    {1: [2]}
    """
    return pickle.dumps(value, 5)


def unpickled(data: bytes | memoryview, main: str, scope: Mapping[str, Mapping[str, Any]]) -> Any:
    """The value of a pickle that was written where `__main__` was the module `main`.

    `scope` leads from the name of a module to what is in it.
    """
    return _Unpickler(data, main, scope).load()


class _Unpickler(pickle.Unpickler):
    def __init__(
        self, data: bytes | memoryview, main: str, scope: Mapping[str, Mapping[str, Any]]
    ) -> None:
        super().__init__(io.BytesIO(data))
        self._main = main
        self._scope = scope

    def find_class(self, module: str, name: str) -> Any:
        """A class or function by the name of its module in every process."""
        was_main = is_started(module)
        module = self._main if was_main else module
        held = self._scope.get(module)
        if held is None and module == main_name():
            held = vars(sys.modules["__main__"])
        if held is None:
            if was_main and module not in sys.modules:
                raise pickle.UnpicklingError(f"it is of the program {module}, not of this one")
            return super().find_class(module, name)
        first, *rest = name.split(".")
        if first not in held:
            raise pickle.UnpicklingError(f"there is no {name} in {module}")
        return reduce(getattr, rest, held[first])
