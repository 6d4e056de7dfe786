"""Values that have no fingerprint, because what they do is not in them."""

from __future__ import annotations

import _socket
import io
import mmap
import types
import weakref
from collections.abc import Callable
from typing import Any, Final, NoReturn

from ..refusal import Refused
from ..static_lookup import derives
from .rule import Kind, Rule, RuleContext, derives_from

__all__ = ["KINDS", "RULES"]


def _refuse(reason: str) -> Callable[[Any, RuleContext], NoReturn]:
    def rule(value: Any, context: RuleContext) -> NoReturn:
        raise Refused(reason)

    return rule


_RUNNING: Final = _refuse("it is a running computation, whose state cannot be read")
_WEAK: Final = _refuse("a weak reference may point to nothing a moment later")

RULES: Final[dict[type, Rule]] = {
    types.GeneratorType: _RUNNING,
    types.CoroutineType: _RUNNING,
    types.AsyncGeneratorType: _RUNNING,
    types.FrameType: _RUNNING,
    types.TracebackType: _RUNNING,
    type(iter(set())): _refuse("a set gives its members in another order in every process"),
    super: _refuse("which class it begins at cannot be read"),
    weakref.ReferenceType: _WEAK,
    weakref.ProxyType: _WEAK,
    weakref.CallableProxyType: _WEAK,
}


KINDS: Final[tuple[Kind, ...]] = (
    (
        lambda cls: (
            derives(cls, io.IOBase.__mro__[1]) and not derives(cls, io.BytesIO, io.StringIO)
        ),
        _refuse("it is an open stream to something outside the program"),
    ),
    (
        lambda cls: derives(cls, _socket.socket, mmap.mmap),
        _refuse("it is a connection to something outside the program"),
    ),
    (
        lambda cls: derives_from(cls, "ctypes", "CDLL"),
        _refuse("it is a library loaded at some address of this process"),
    ),
    (
        lambda cls: derives_from(cls, "weakref", "finalize"),
        _refuse("what it does is stored outside of it"),
    ),
    (
        lambda cls: derives_from(cls, "torch", "UntypedStorage"),
        _refuse("its content belongs to torch; a tensor of it has one"),
    ),
    (
        lambda cls: (
            derives_from(cls, "concurrent.interpreters", "Interpreter")
            or derives_from(cls, "concurrent.interpreters._queues", "Queue")
        ),
        _refuse("it is an interpreter, or leads to one, that runs beside this one"),
    ),
    (
        lambda cls: derives_from(cls, "unittest.mock", "NonCallableMock"),
        _refuse("a mock makes up its attributes as they are asked for"),
    ),
)
