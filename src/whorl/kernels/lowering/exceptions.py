"""Lowers `raise` and `assert`: a site says which exception, with which arguments, and from where.

The machine code puts the number of the site and the numbers of its message into the launch record.
The exception itself is made by `launch/launch_errors` when the launch has ended.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any, Final

from whorl.fingerprint.names import resolve as find_by_name
from whorl.kernels import ir
from whorl.kernels.types import Scalar

from .arithmetic import scalar_type, truth
from .expressions import condition, expression, resolved
from .frame import Frame
from .operands import Items, Known, Operand, ViewOperand, describe
from .run_values import is_scalar, number, resolve

__all__ = ["EXCEPTIONS"]

_NUMBERS: Final = "Numbers, texts that are known at compile time, and tuples of these can be shown."


class _Message:
    """The arguments of an exception: texts with a place for each number, and numbers."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self.exprs: list[ir.Expr] = []
        self.arguments: list[str | int] = []  # a text, or which of the numbers it is

    def add(self, node: ast.expr) -> None:
        """One more argument."""
        if isinstance(node, ast.JoinedStr):
            self.arguments.append(self._joined(node))
            return
        operand = resolved(self._frame, node)
        match operand:
            case Known(str() as text):
                self.arguments.append(_plain(text))
            case Known(value) if value is None or not is_scalar(operand):
                self._frame.refuse(
                    node, f"{describe(operand)} is no argument of an exception here", _NUMBERS
                )
            case _ if is_scalar(operand):
                self.arguments.append(len(self.exprs))
                self._keep(operand)
            case _:
                self.arguments.append(self._text(node, operand, "", ""))

    def _keep(self, operand: Operand) -> None:
        self.exprs.append(self._frame.lowering.keep(number(operand)))

    def _joined(self, node: ast.JoinedStr) -> str:
        words = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                words.append(_plain(str(part.value)))
                continue
            assert isinstance(part, ast.FormattedValue)
            specification = ""
            if part.format_spec is not None:
                if any(not isinstance(each, ast.Constant) for each in _values(part.format_spec)):
                    self._frame.refuse(node, "a format that the run decides", "Write it out.")
                specification = self._joined_constants(part.format_spec)
            conversion = f"!{chr(part.conversion)}" if part.conversion > 0 else ""
            operand = resolved(self._frame, part.value)
            words.append(self._text(part.value, operand, conversion, specification))
        return "".join(words)

    def _joined_constants(self, node: ast.expr) -> str:
        return "".join(str(each.value) for each in _values(node) if isinstance(each, ast.Constant))

    def _text(self, node: ast.expr, operand: Operand, conversion: str, specification: str) -> str:
        """A value in a text."""
        how = f"{conversion}:{specification}" if specification else conversion
        match operand:
            case Items(items):
                inside = [self._text(node, resolve(item), "!r", "") for item in items]
                if operand.is_list:
                    return f"[{', '.join(inside)}]"
                return f"({', '.join(inside)}{',' * (len(inside) == 1)})"
            case Known(value):
                return _plain(f"{{{how}}}".format(value))
        if not is_scalar(operand):
            self._frame.refuse(node, f"{describe(operand)} cannot be shown", _NUMBERS)
        self._keep(operand)
        return f"{{{len(self.exprs) - 1}{how}}}"

    def site(self, node: ast.AST, error: str) -> int:
        """The site that raises it at a node."""
        frame, lowering = self._frame, self._frame.lowering
        types: tuple[Scalar, ...] = tuple(map(scalar_type, self.exprs))
        site = ir.Site(
            error, "", frame.line(node), types, tuple(self.arguments), _frames(frame, node)
        )
        lowering.function.sites.append(site)
        return len(lowering.function.sites) - 1


def _values(node: ast.expr) -> list[ast.expr]:
    return node.values if isinstance(node, ast.JoinedStr) else [node]


def _plain(text: str) -> str:
    """A text that formatting leaves as it is."""
    return text.replace("{", "{{").replace("}", "}}")


def _frames(frame: Frame, node: ast.AST) -> tuple[ir.SourceFrame, ...]:
    """The functions of the user that lead to a node, the kernel first.

    A subroutine is compiled once for all of its calls: it is the first there.
    """
    frames: list[ir.SourceFrame] = []
    at = node
    for each in frame.callers:
        source, function = each.source, each.code.function
        if source.caller is None:  # otherwise it is whorl's own
            line, _ = source.place(at)
            name = getattr(source.tree, "name", "<lambda>")
            end = getattr(at, "end_lineno", 0) == getattr(at, "lineno", -1)
            columns = (at.col_offset, at.end_col_offset) if end else (0, 0)  # type: ignore[attr-defined]  # it is a statement
            frames.append(
                ir.SourceFrame(
                    function.__module__ or "", function.__qualname__, name, source.name, line,
                    line - function.__code__.co_firstlineno, *columns,
                )
            )  # fmt: skip
        if each.path[:1] == [-1]:
            break
        at = each.caller.statement if each.caller is not None else at
    return tuple(reversed(frames))


# -- statements -------------------------------------------------------------------------


def _raise(frame: Frame, node: ast.Raise) -> bool:
    if node.exc is None:
        frame.refuse(node, "a bare raise", "Name the exception.")
    if node.cause is not None and not _is_none(node.cause):
        frame.refuse(node, "raise ... from another exception", "Leave `from` out.")
    message = _Message(frame)
    match node.exc:
        case ast.Call(cls, given, keywords):
            if keywords or any(isinstance(each, ast.Starred) for each in given):
                frame.refuse(node, "an exception with keywords", "Give it its arguments by place.")
        case cls:
            given = []
    error = _exception(frame, cls)
    for each in given:
        message.add(each)
    frame.lowering.emit(ir.Raise(message.site(node, error), tuple(message.exprs)))
    return True


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _exception(frame: Frame, node: ast.expr) -> str:
    """The name of an exception's class: where it is found when it is raised."""
    operand = expression(frame, node)
    if not isinstance(operand, ViewOperand):
        frame.refuse(node, f"{describe(operand)} is no class of exceptions")
    cls: object = operand.view.peek()
    if not (isinstance(cls, type) and issubclass(cls, BaseException)):
        frame.refuse(node, f"{describe(operand)} is no class of exceptions", "Name one.")
    operand.view.value()  # that the name means this class is a fact
    module, name = cls.__module__, cls.__qualname__
    if getattr(builtins, name, None) is cls:
        return name
    if find_by_name(module, name) is not cls:
        frame.refuse(
            node,
            f"{name} is not found under its name when it is raised",
            "Define it at the top of a module, or raise a builtin exception.",
        )
    return f"{module}:{name}"


def _assert(frame: Frame, node: ast.Assert) -> bool:
    test = condition(frame, node.test)
    if isinstance(test, Known) and test.value:
        return False
    message = _Message(frame)
    failed: ir.Block = []
    with frame.lowering.writing(failed):
        if node.msg is not None:
            message.add(node.msg)
        site = message.site(node, "AssertionError")
        frame.lowering.emit(ir.Raise(site, tuple(message.exprs)))
    if isinstance(test, Known):
        frame.lowering.block.extend(failed)
        return True
    frame.lowering.emit(ir.If(truth(test), [], failed))
    return False


EXCEPTIONS: Final[dict[type[ast.stmt], Callable[[Frame, Any], bool]]] = {
    ast.Assert: _assert,
    ast.Raise: _raise,
}
