"""Writes the LLVM module of a program of the systems dialect: functions with a C signature.

There is no launch record, nothing is checked and no signal is noticed: what a routine needs is in
its arguments, and what it returns is in registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from whorl.kernels import ir

from .evaluation import value_of
from .llvm_types import llvm_type
from .module import Module
from .statement_text import STATEMENTS
from .writer import FunctionWriter

__all__ = ["emit_routines"]

# No loop becomes a call of the C library: most copy a few words.
_PLAIN: Final = '"no-builtins"'
_ATTRIBUTES: Final = {
    "entry": f"#0 {_PLAIN}",
    "auto": f"#0 {_PLAIN}",
    "always": f"#0 alwaysinline {_PLAIN}",
    "never": f"#1 {_PLAIN}",
    "": f"#0 {_PLAIN}",
}


def emit_routines(function: ir.Function) -> str:
    """The module's text. The last subroutine is the entry; others are written when called."""
    module = Module(function, _STATEMENTS)
    module.loops.exist = False
    _write(module, function.subroutines[-1])
    return module.text()


def _write(module: Module, routine: ir.Subroutine) -> str:
    """Write a routine, if that is not done yet; its name."""
    name = routine.name
    if not module.begins(name):
        return name
    params = [f"{llvm_type(param.type)} %p{i}" for i, param in enumerate(routine.params)]
    writer = FunctionWriter(
        module, name, ", ".join(params), linkage="" if routine.inlining == "entry" else "internal ",
        result=_result_type(routine), attributes=_ATTRIBUTES[routine.inlining],
    )  # fmt: skip
    for i, param in enumerate(routine.params):
        writer.set(param, f"%p{i}")
    writer.block(routine.body)
    if writer.is_open and routine.results:
        values = [(llvm_type(local.type), writer.get(local)) for local in routine.results]
        writer.end(f"ret {_result_type(routine)} {_together(writer, values)}")
    writer.finish()
    return name


def _result_type(routine: ir.Subroutine) -> str:
    types = [llvm_type(local.type) for local in routine.results]
    if len(types) == 1:
        return types[0]
    return f"{{ {', '.join(types)} }}" if types else "void"


def _together(writer: FunctionWriter, values: list[tuple[str, str]]) -> str:
    """One value, or several as a structure."""
    if len(values) == 1:
        return values[0][1]
    whole, type = "poison", f"{{ {', '.join(type for type, _ in values)} }}"
    for i, (part, value) in enumerate(values):
        whole = writer.let(f"insertvalue {type} {whole}, {part} {value}, {i}")
    return whole


def _call(writer: FunctionWriter, statement: ir.SubroutineCall) -> None:
    callee = statement.callee
    args = [f"{llvm_type(arg.type)} {value_of(writer, arg)}" for arg in statement.args]
    type = _result_type(callee)
    text = f"call {type} @{_write(writer.module, callee)}({', '.join(args)})"
    if not statement.results:
        writer.do(text)
        return
    found = writer.let(text)
    for i, local in enumerate(statement.results):
        is_one = len(statement.results) == 1
        writer.set(local, found if is_one else writer.let(f"extractvalue {type} {found}, {i}"))


def _reserve(writer: FunctionWriter, statement: ir.Reserve) -> None:
    if isinstance(statement.words, ir.Const):
        place = writer.alloca(f"[{max(1, int(statement.words.value))} x i64]", "stack")
    else:
        words = value_of(writer, statement.words)
        place = writer.let(f"alloca i64, i64 {words}, align 16")
    writer.set(statement.local, writer.let(f"ptrtoint ptr {place} to i64"))


_STATEMENTS: Final[dict[type, Callable[[FunctionWriter, Any], None]]] = {
    **STATEMENTS,
    ir.Reserve: _reserve,
    ir.SubroutineCall: _call,
}
