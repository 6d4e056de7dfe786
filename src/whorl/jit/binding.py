"""The arguments of a call in, their values in the order of the parameters out."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any, cast

__all__ = ["Binding"]

_KINDS = inspect.Parameter


class Binding:
    """How a function's arguments are bound: by a function of the very same signature.

    >>> def f(a, b=2, *, c): ...
    >>> binding = Binding(f)
    >>> binding.names, binding.bind(1, c=3)
    (('a', 'b', 'c'), (1, 2, 3))
    """

    def __init__(self, function: types.FunctionType) -> None:
        # What a function says of itself (`__signature__`) is not how it is called.
        parameters = inspect.signature(
            types.FunctionType(
                function.__code__, {}, "call", function.__defaults__,
                tuple(types.CellType() for _ in function.__code__.co_freevars),
            )
        ).parameters  # fmt: skip
        self.names = tuple(parameters)
        self._function = function
        self._defaults: object = None
        self._keyword_defaults: object = None
        self._parameters = tuple(parameters.values())
        self._bind = self._made()

    @property
    def bind(self) -> Callable[..., tuple[Any, ...]]:
        """Called like the function, it returns the values. Defaults are those of this moment."""
        function, bind = self._function, self._bind
        if self._defaults is not function.__defaults__:
            bind.__defaults__ = self._defaults = function.__defaults__
        if self._keyword_defaults is not function.__kwdefaults__:
            bind.__kwdefaults__ = self._keyword_defaults = function.__kwdefaults__
        return cast("Callable[..., tuple[Any, ...]]", bind)

    def _made(self) -> types.FunctionType:
        parts = []
        seen_star = False
        for i, parameter in enumerate(self._parameters):
            kind = parameter.kind
            if kind is _KINDS.KEYWORD_ONLY and not seen_star:
                parts.append("*")
                seen_star = True
            prefix = (
                "*" if kind is _KINDS.VAR_POSITIONAL else "**" if kind is _KINDS.VAR_KEYWORD else ""
            )
            seen_star |= kind is _KINDS.VAR_POSITIONAL
            has_default = parameter.default is not _KINDS.empty
            if kind is _KINDS.KEYWORD_ONLY:
                has_default = parameter.name in (self._function.__kwdefaults__ or {})
            default = "=None" if has_default else ""
            parts.append(f"{prefix}{parameter.name}{default}")
            after = self._parameters[i + 1 : i + 2]
            if kind is _KINDS.POSITIONAL_ONLY and not (
                after and after[0].kind is _KINDS.POSITIONAL_ONLY
            ):
                parts.append("/")
        values = "".join(f"{name}, " for name in self.names)
        scope: dict[str, Any] = {}
        exec(f"def call({', '.join(parts)}): return ({values})", scope)
        made = cast("types.FunctionType", scope["call"])
        made.__qualname__ = self._function.__qualname__
        return made
