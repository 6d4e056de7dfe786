"""Raises what a kernel has raised, with a traceback through the kernel's own lines.

The machine code has no frames of Python. For each function on the way to the `raise`, a frame is
made here: a function of the same name and file that does nothing but call the next, at the line of
the call. Functions are found by their names in their modules, so that lines are right after edits
above them, and files after a move; nothing is imported.
"""

from __future__ import annotations

import ast
import builtins
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from whorl.errors import OF_KERNEL
from whorl.reads.trace import Plain
from whorl.reads.world import function_behind


def raising(
    error: str, values: Sequence[Any], arguments: Sequence[str | int], frames: Sequence[Plain]
) -> Callable[[], NoReturn]:
    """A function that raises an exception from the innermost of some frames: the exception by its
    name, and its arguments."""
    given = [each.format(*values) if isinstance(each, str) else values[each] for each in arguments]
    exception = _class(error)(*given)
    innermost, *others = reversed(frames)
    call: Callable[[], NoReturn] = _function(
        innermost, ast.Raise(ast.Name("inner", ast.Load())), exception
    )
    for frame in others:
        call = _function(frame, ast.Expr(ast.Call(ast.Name("inner", ast.Load()), [], [])), call)
    return call


def release(entry: types.TracebackType | None) -> None:
    """Let the frames of a kernel forget what they have raised or called.

    They reach the exception, and it reaches them: without this, it would live on until the next
    garbage collection, with all frames of its traceback and the arrays in these.
    """
    while entry is not None:
        if OF_KERNEL in entry.tb_frame.f_globals:
            entry.tb_frame.f_globals.pop("inner", None)
        entry = entry.tb_next


def _class(error: str) -> Callable[..., BaseException]:
    """The class of an exception: of Python, or of a module that is loaded."""
    module, _, name = error.rpartition(":")
    if not module:
        return getattr(builtins, error)  # type: ignore[no-any-return]  # the compiler has seen it
    found = _walk(module, name)
    if isinstance(found, type) and issubclass(found, BaseException):
        return found
    return lambda *given: RuntimeError(f"{name} of {module}, which is not loaded", *given)


def _walk(module: str, qualname: str) -> Any:
    """What stands under a name in a module that is loaded; None if there is nothing."""
    found: Any = sys.modules.get(module)
    for name in qualname.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found


def _function(frame: Plain, statement: ast.stmt, inner: Any) -> Any:
    """A function with one statement about something inside, where a frame says."""
    module, qualname, name, file, line, below, column, end = frame
    around = function_behind(_walk(module, qualname))
    if isinstance(around, types.FunctionType):
        file, line = around.__code__.co_filename, around.__code__.co_firstlineno + below
    elif getattr(sys.modules.get(module), "__file__", None):
        file = sys.modules[module].__file__
    for node in ast.walk(statement):
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno = node.end_lineno = line
            node.col_offset, node.end_col_offset = column, max(end, column)
    code = compile(ast.Module([statement], []), file, "exec")
    code = code.replace(co_name=name, co_qualname=name)
    return types.FunctionType(code, {"inner": inner, OF_KERNEL: True})
