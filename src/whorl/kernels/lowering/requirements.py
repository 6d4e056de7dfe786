"""Errors of the library's functions: at compile time, and of the run."""

from __future__ import annotations

from typing import Final

from whorl.kernels import ir
from whorl.kernels.types import WEAK_BOOL, WEAK_INT

from .arithmetic import cast, truth
from .known_calls import Handler, KnownCall
from .operands import Known, Operand
from .run_values import resolve

__all__ = ["REQUIREMENTS"]


def _refuse(call: KnownCall) -> Operand:
    remedy = call.named.get("remedy")
    text, *values = map(call.known_value, map(resolve, call.args))
    call.refuse(text.format(*values), "" if remedy is None else call.known_value(remedy))


def _require(call: KnownCall) -> Operand:
    test, error, text, *values = map(resolve, call.args)
    if isinstance(test, Known) and test.value:
        return Known(None)
    frame, lowering = call.frame, call.frame.lowering
    problem = ir.Op("not", WEAK_BOOL, (truth(call.number(test)),))
    words: list[str] = []
    exprs: list[ir.Expr] = []
    for value in values:
        if isinstance(value, Known):
            words.append(str(value.value).replace("{", "{{").replace("}", "}}"))
        else:
            words.append("{}")
            exprs.append(cast(call.number(value), WEAK_INT))
    written, kind = call.known_value(text).format(*words), call.known_value(error).__name__
    types = (WEAK_INT,) * len(exprs)
    site = lowering.site(kind, written, frame.line(call.node), types)
    lowering.emit(ir.If(problem, [ir.Raise(site, tuple(exprs))], []))
    return Known(None)


REQUIREMENTS: Final[dict[str, Handler]] = {
    "whorl.library.refuse": _refuse,
    "whorl.library.require": _require,
}
"""By the name that a function has of its own."""
