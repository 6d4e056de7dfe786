"""Follows calls of NumPy's functions into whorl's own library of them.

The functions of `kernels/library` are followed as a user's functions are. What they read is part
of whorl itself, and no read of the kernel. Errors in them are about the user's call.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from functools import cache
from typing import Any

from whorl.kernels.function_source import library_source
from whorl.reads import CodeView, Inputs
from whorl.reads.trace import Aspect, Plain, Read
from whorl.reads.view import Recorder
from whorl.reads.world import World

from .followed_calls import follow
from .known_calls import KnownCall
from .operands import Known, Operand

__all__ = ["library_call"]


class _Unrecorded(Recorder):
    """Looks at the library without taking notes: whorl's version stands for all of it."""

    def see(self, read: Read, value: Any, *beside: Any) -> Plain:
        if read.aspect in (Aspect.CODE, Aspect.VALUE):
            return None
        return super().see(read, value, *beside)


@cache
def _code(function: types.FunctionType) -> CodeView:
    return Inputs(_Unrecorded(World(function, {}))).function()


@cache
def _defaults(function: types.FunctionType) -> dict[str, Operand]:
    parameters = inspect.signature(function).parameters.values()
    return {each.name: Known(each.default) for each in parameters if each.default is not each.empty}


def library_call(call: KnownCall, function: Callable[..., Any]) -> Operand:
    """What a function of the library returns."""
    assert isinstance(function, types.FunctionType)
    frame = call.frame
    source = library_source(function, frame.source, call.node)
    defaults = _defaults(function)
    return follow(frame, call.node, _code(function), source, call.args, call.named, defaults)
