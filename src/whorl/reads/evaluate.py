"""Evaluates expressions over views at compile time; what that reads is recorded.

A compiler that knows part of a program at compile time evaluates it here rather than with
Python: user code never runs on views. Names lead to views; an attribute or an item of a view
is a view; a view that is used as an operand is read by value. Functions and methods are
followed through their source; their code is a read, and so is what they read in turn.

    evaluated    names, attributes, items, operators, comparisons, displays, comprehensions,
                 conditional expressions, f-strings, lambdas, a table of pure functions
    followed     calls of functions and methods with a source: assignments, `if`, `for`, `while`,
                 `return`, `break`, `continue`
    an error     everything else, with the line and the part that cannot be followed
"""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping
from typing import Any, Final

from whorl.fingerprint.syntax import syntax_tree

from .static_calls import evaluate_call
from .static_expressions import EXPRESSIONS, written_defaults
from .static_functions import value_of
from .static_scope import Evaluation, Nodes, Scope
from .static_statements import execute_statement
from .view import CodeView

__all__ = ["Evaluator", "evaluate", "written_defaults"]

_NODES: Final[Nodes] = {**EXPRESSIONS, ast.Call: evaluate_call, ast.stmt: execute_statement}


class Evaluator:
    """Evaluates expressions of one function; `local` are the names that are known to be views.

    >>> from whorl.reads import Inputs, Recorder, World
    >>> def kernel(n, shape): ...
    >>> recorder = Recorder(World(kernel, {"n": 3, "shape": (4, 5)}))
    >>> inputs = Inputs(recorder)
    >>> views = {name: inputs.arg(name) for name in inputs.names}
    >>> Evaluator(inputs.function(), views).value("shape[1] * 2")
    10
    >>> [str(seen) for seen in recorder.trace.seen]
    ['arg:shape[1] value = 5']
    """

    def __init__(self, code: CodeView, local: Mapping[str, Any] | None = None) -> None:
        self._scope = Scope(code, dict(local or {}))
        self._evaluation = Evaluation(_NODES)

    def value(self, expression: str | ast.expr) -> Any:
        """The value of an expression, read."""
        result = value_of(self.find(expression))
        return list(result) if isinstance(result, types.GeneratorType) else result

    def find(self, expression: str | ast.expr) -> Any:
        """What an expression leads to: a view where it only walks, a value otherwise."""
        if isinstance(expression, str):
            expression = syntax_tree(expression.strip(), "eval").body
        return self._evaluation.evaluate(expression, self._scope)


def evaluate(code: CodeView, expression: str | ast.expr, **local: Any) -> Any:
    """The value of an expression of a function, with some names known."""
    return Evaluator(code, local).value(expression)
