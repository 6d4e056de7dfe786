"""The state of an evaluation: scopes, how control leaves a block, and where it is refused."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeAlias

from whorl.errors import NotStatic
from whorl.fingerprint.source import place_of_code
from whorl.signals import pass_on

from .view import AbsentRead, CodeView

__all__ = ["Break", "Continue", "Evaluation", "FollowedFunction", "Nodes", "Return", "Scope"]

STEPS: Final = 100_000  # statements and iterations before a loop counts as endless


class Return(Exception):
    """A function returns a value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Break(Exception):
    """A loop is left."""


class Continue(Exception):
    """A loop goes on with its next iteration."""


class FollowedFunction:
    """A lambda or a nested function, with what it closes over."""

    def __init__(
        self, node: ast.Lambda | ast.FunctionDef, scope: Scope, defaults: Mapping[str, Any]
    ) -> None:
        self.node = node
        self.scope = scope
        self.defaults = defaults


class Scope:
    """Names and their values: local ones, then those of the function's cells and globals."""

    def __init__(
        self,
        code: CodeView,
        local: dict[str, Any],
        outer: Scope | None = None,
        shift: int = 0,
        *,
        names: frozenset[str] = frozenset(),
        is_function: bool = True,
    ) -> None:
        self.code = code
        self.local = local
        self.outer = outer
        self.shift = shift  # lines before the text that nodes count from
        self.names = names  # those that are bound here, sooner or later
        self.is_function = is_function  # or a comprehension

    @property
    def binding(self) -> Scope:
        """Where `:=` binds: around comprehensions."""
        scope = self
        while not scope.is_function and scope.outer is not None:
            scope = scope.outer
        return scope

    def find(self, name: str) -> Any:
        """What a name is bound to, here or around."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.local:
                return scope.local[name]
            if name in scope.names:
                raise NameError(f"{name}, which is bound later or not at all,")
            scope = scope.outer
        if name in self.code.cell_names:
            return self.code.cell(name)
        try:
            view = self.code.glob(name)
        except AbsentRead:
            raise NameError(name) from None
        if name not in self.code.function.__globals__ and hasattr(builtins, name):
            return view.value()  # that no global hides it is a fact
        return view


Nodes: TypeAlias = Mapping[type[ast.AST], Callable[["Evaluation", Any, Scope], Any]]


class Evaluation:
    """One evaluation. `nodes` has what evaluates or executes each kind of node."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._steps = 0

    def evaluate(self, node: ast.expr, scope: Scope) -> Any:
        """What an expression leads to: a view where it only walks, a value otherwise."""
        evaluate_node = self._nodes.get(type(node))
        if evaluate_node is None:
            self.refuse(node, scope, f"{type(node).__name__} is not supported here")
        try:
            return evaluate_node(self, node, scope)
        except (NotStatic, Return, Break, Continue, AbsentRead):
            raise
        except NameError as error:
            self.refuse(node, scope, f"the name {error} is not defined", error)
        except RecursionError as error:
            self.refuse(node, scope, "it calls itself too deeply", error)
        except Exception as error:
            pass_on(error)
            self.refuse(node, scope, f"it raises {type(error).__name__}: {error}", error)

    def execute(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        """Run statements; `Return`, `Break` and `Continue` leave them."""
        for statement in body:
            self.step(statement, scope)
            self._nodes[ast.stmt](self, statement, scope)

    def step(self, node: ast.AST, scope: Scope) -> None:
        """Count a statement or an iteration."""
        self._steps += 1
        if self._steps > STEPS:
            self.refuse(node, scope, f"it takes more than {STEPS} steps")

    def refuse(
        self, node: ast.AST, scope: Scope, reason: str, cause: BaseException | None = None
    ) -> NoReturn:
        """Raise `NotStatic` with the line and the part of it."""
        code = scope.code.function.__code__
        file, first = place_of_code(code)
        number = scope.shift + getattr(node, "lineno", 1) + first - code.co_firstlineno
        at = f"{file}:{number}"
        raise NotStatic(at, f"`{ast.unparse(node)}`", reason) from cause
