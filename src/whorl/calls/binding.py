"""Binds the arguments of a call: their values in the order of the parameters."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Final, cast

_VARARGS, _VARKEYWORDS = 0x04, 0x08  # flags of code
_STAND_IN: Final = "=None"
_FEW: Final = 4  # calls that are not worth the 60 µs of generating a function


class Binding:
    """Binds arguments by calling a generated function with the same signature.

    The parameters are those of the code, whatever `__signature__` says. The function is generated
    when it is needed: the first calls that pass every argument by position do without it.

    >>> def f(a, b=2, *, c): ...
    >>> binding = Binding(f)
    >>> binding.names, binding.bind(1, c=3)
    (('a', 'b', 'c'), (1, 2, 3))
    """

    def __init__(self, function: types.FunctionType) -> None:
        code = function.__code__
        every = code.co_varnames
        positional, keyword = code.co_argcount, code.co_kwonlyargcount
        after = positional + keyword
        has_varargs = bool(code.co_flags & _VARARGS)
        self.positional = every[:positional]
        self.varargs = every[after : after + has_varargs]
        self.keyword = every[positional:after]
        after += has_varargs
        self.varkeywords = every[after : after + bool(code.co_flags & _VARKEYWORDS)]
        self.names = (*self.positional, *self.varargs, *self.keyword, *self.varkeywords)
        self._function = function
        self._parameters = _parameters_of(code)
        self._defaults: object = None
        self._keyword_defaults: object = None
        self._bind: types.FunctionType | None = None
        self._calls = 0

    @property
    def has_parameters(self) -> bool:
        """Whether the parameters are still those of the function, which may have other code."""
        return _parameters_of(self._function.__code__) == self._parameters

    @property
    def has_defaults(self) -> bool:
        """Whether `bind` was last read with the defaults that the function has now."""
        function = self._function
        return self._bind is None or (
            self._defaults is function.__defaults__
            and self._keyword_defaults is function.__kwdefaults__
        )

    def defaults(self) -> dict[str, Any]:
        """The defaults of the function as they are now, by parameter."""
        given = self._function.__defaults__ or ()
        pairs = zip(reversed(self.positional), reversed(given), strict=False)
        return dict(pairs) | (self._function.__kwdefaults__ or {})

    @property
    def bind(self) -> Callable[..., tuple[Any, ...]]:
        """Called like the function, it returns the values. Defaults are those of this moment."""
        function, bind = self._function, self._bind
        if bind is None:
            self._calls += 1
            if self._calls <= _FEW:
                return self._first
            bind = self._bind = self._compile()
        if self._defaults is not function.__defaults__:
            bind.__defaults__ = self._defaults = function.__defaults__
        if self._keyword_defaults is not function.__kwdefaults__:
            bind.__kwdefaults__ = self._keyword_defaults = function.__kwdefaults__
        return cast("Callable[..., tuple[Any, ...]]", bind)

    def _first(self, /, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        if not kwargs and len(args) == len(self.positional) == len(self.names):
            return args
        self._calls = _FEW
        return self.bind(*args, **kwargs)

    def _compile(self) -> types.FunctionType:
        function = self._function
        without = len(self.positional) - len(function.__defaults__ or ())
        parts = [name + _STAND_IN * (i >= without) for i, name in enumerate(self.positional)]
        if function.__code__.co_posonlyargcount:
            parts.insert(function.__code__.co_posonlyargcount, "/")
        if self.varargs or self.keyword:
            parts.append("*" + "".join(self.varargs))
        by_default = function.__kwdefaults__ or {}
        parts += [name + _STAND_IN * (name in by_default) for name in self.keyword]
        parts += [f"**{name}" for name in self.varkeywords]
        values = "".join(f"{name}, " for name in self.names)
        scope: dict[str, Any] = {}
        exec(f"def call({', '.join(parts)}): return ({values})", scope)
        bind = cast("types.FunctionType", scope["call"])
        bind.__qualname__ = function.__qualname__
        return bind


def _parameters_of(code: types.CodeType) -> tuple[object, ...]:
    """What a code object says about its parameters."""
    flags = code.co_flags & (_VARARGS | _VARKEYWORDS)
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    count = code.co_argcount + code.co_kwonlyargcount + flags.bit_count()
    return flags, counts, code.co_varnames[:count]
