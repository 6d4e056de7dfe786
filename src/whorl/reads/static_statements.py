"""Executes the statements of a function that is followed at compile time."""

from __future__ import annotations

import ast
from typing import Any

from .static_expressions import assign, binary, defaults_of, is_true
from .static_functions import operand, parts_of
from .static_scope import Break, Continue, Evaluation, FollowedFunction, Return, Scope

__all__ = ["execute_statement"]


def execute_statement(run: Evaluation, node: ast.stmt, scope: Scope) -> None:
    """Execute one statement."""
    match node:
        case ast.Expr(value):
            if not isinstance(value, ast.Constant):
                run.evaluate(value, scope)
        case ast.Pass():
            pass
        case ast.Return(value):
            raise Return(None if value is None else run.evaluate(value, scope))
        case ast.Assign(targets, value):
            result = run.evaluate(value, scope)
            for target in targets:
                assign(run, target, result, scope)
        case ast.AnnAssign(target, _, value) if value is not None:
            assign(run, target, run.evaluate(value, scope), scope)
        case ast.AugAssign(ast.Name(name), op, value):
            left = operand(scope.find(name))
            if isinstance(left, list | dict | set):
                run.refuse(node, scope, "it would change a value that has other names")
            right = operand(run.evaluate(value, scope))
            scope.local[name] = binary(op, left, right)
        case ast.If(test, body, orelse):
            run.execute(body if is_true(run, test, scope) else orelse, scope)
        case ast.For(target, iterable, body, orelse):
            _for(run, target, run.evaluate(iterable, scope), (body, orelse), scope)
        case ast.While(test, body, orelse):
            _while(run, test, body, orelse, scope)
        case ast.Break():
            raise Break
        case ast.Continue():
            raise Continue
        case ast.FunctionDef(name=name) if not node.decorator_list:
            scope.local[name] = FollowedFunction(node, scope, defaults_of(run, node, scope))
        case ast.Assert(test):
            if not is_true(run, test, scope):
                run.refuse(node, scope, "the assertion does not hold")
        case _:
            run.refuse(node, scope, f"{type(node).__name__} is not supported here")


def _for(
    run: Evaluation,
    target: ast.expr,
    holder: Any,
    bodies: tuple[list[ast.stmt], list[ast.stmt]],
    scope: Scope,
) -> None:
    for item in parts_of(holder):
        assign(run, target, item, scope)
        try:
            run.execute(bodies[0], scope)
        except Continue:
            continue
        except Break:
            return
    run.execute(bodies[1], scope)


def _while(
    run: Evaluation, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], scope: Scope
) -> None:
    while is_true(run, test, scope):
        run.step(test, scope)
        try:
            run.execute(body, scope)
        except Continue:
            continue
        except Break:
            return
    run.execute(orelse, scope)
