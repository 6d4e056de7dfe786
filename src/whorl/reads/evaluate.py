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
import contextlib
import functools
import string
import textwrap
import types
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final

from whorl.errors import NotStatic
from whorl.fingerprint.source import code_digest, tree_of
from whorl.fingerprint.syntax import mangle, syntax_tree
from whorl.signals import pass_on

from .static_expressions import (
    EXPRESSIONS,
    Break,
    Continue,
    Evaluation,
    FollowedFunction,
    Nodes,
    Return,
    Scope,
    assign,
    binary,
    defaults_of,
    is_true,
    items_of,
    mapping,
)
from .static_functions import (
    SPECIAL,
    UNORDERED,
    Pairs,
    argument,
    checked,
    is_of_numpy,
    is_pure,
    is_pythons,
    member,
    operand,
    parts_of,
    uses_of,
    value_of,
)
from .view import AbsentRead, CodeView, View
from .world import function_behind, is_callable_object

_At = tuple[ast.Call, Scope]
"""Where a call stands: for what is refused."""


def evaluate_call(run: Evaluation, node: ast.Call, scope: Scope) -> Any:
    """What a call returns; the code that is followed and all that it reads is recorded."""
    if isinstance(node.func, ast.Attribute):
        holder = run.evaluate(node.func.value, scope)
        if not (node.args or node.keywords) and _is_plain_dict(holder, node.func.attr):
            return _parts_of_dict(holder, node.func.attr)
        callee = _part(run, node.func, holder, scope)
    else:
        callee = run.evaluate(node.func, scope)
    positional = list(items_of(run, node.args, scope))
    named: dict[str, Any] = {}
    for keyword in node.keywords:
        value = run.evaluate(keyword.value, scope)
        more = mapping(value_of(value)) if keyword.arg is None else {keyword.arg: value}
        for name in more:
            if name in named:
                raise TypeError(f"{ast.unparse(node.func)} got {name!r} twice")
        named.update(more)
    return _call(run, callee, positional, named, (node, scope))


def _part(run: Evaluation, node: ast.Attribute, holder: Any, scope: Scope) -> Any:
    try:
        return member(holder, node.attr)
    except (NotStatic, AbsentRead):
        raise
    except Exception as error:
        pass_on(error)
        run.refuse(node, scope, f"it raises {type(error).__name__}: {error}", error)


def _call(
    run: Evaluation, callee: Any, positional: list[Any], named: dict[str, Any], at: _At
) -> Any:
    """What a call comes to, whatever is called."""
    node, scope = at
    if isinstance(callee, FollowedFunction):
        return _follow(run, callee.node, callee.scope, positional, named, callee.defaults)
    if isinstance(callee, View):
        return _call_view(run, callee, positional, named, at)
    special = SPECIAL.get(callee) if isinstance(callee, types.BuiltinFunctionType | type) else None
    if special is not None:
        return special(_caller(run, at), *positional, **named)
    if is_pure(callee):
        return _call_pure(callee, positional, named)
    return run.refuse(node, scope, f"{ast.unparse(node.func)} is not a pure function")


def _caller(run: Evaluation, at: _At) -> Callable[..., Any]:
    """What calls a function that is handed to another one, as `map` does."""
    return lambda function, *items: _call(run, function, [*items], {}, at)


def _call_pure(callee: Any, positional: list[Any], named: dict[str, Any]) -> Any:
    owner = getattr(callee, "__self__", None)
    if type(owner) in (list, tuple):  # a method of a display, in which views may be
        callee = getattr(value_of(owner), callee.__name__)
    uses = uses_of(callee) if isinstance(callee, Hashable) else uses_of(None)
    if not isinstance(owner, types.ModuleType | None):
        checked(value_of(owner), *uses)
        if isinstance(owner, str) and callee.__name__ in ("format", "format_map"):
            _check_fields(owner)
    arguments = [argument(value, uses) for value in positional]
    options = {name: argument(value, uses) for name, value in named.items()}
    if not (callee in UNORDERED or isinstance(owner, set | frozenset)):
        arguments = [
            [*parts_of(each)] if isinstance(each, set | frozenset) else each for each in arguments
        ]
    return callee(*arguments, **options)


def _call_view(
    run: Evaluation, callee: View, positional: list[Any], named: dict[str, Any], at: _At
) -> Any:
    node, scope = at
    value = callee.peek()
    is_numpys = is_of_numpy(value)
    if isinstance(value, type) or not callable(value) or is_numpys:
        if is_numpys or is_pure(value):
            callee.value()
            return _call_pure(value, positional, named)
        if isinstance(value, type) and value in SPECIAL:
            callee.value()
            return _call(run, value, positional, named, at)
        return run.refuse(node, scope, "classes are not made at compile time")
    behind = function_behind(value)
    if not isinstance(behind, types.FunctionType):
        if isinstance(behind, types.BuiltinFunctionType) and behind in SPECIAL:
            callee.value()
            return _call(run, behind, positional, named, at)
        if is_pure(behind):
            owner = getattr(behind, "__self__", None)
            if owner is None or isinstance(owner, types.ModuleType):
                callee.value()
            else:
                callee.attr("__self__").value()  # what a method of it says depends on
            return _call_pure(behind, positional, named)
        if is_callable_object(value):
            return _call_view(run, callee.attr("__call__"), positional, named, at)
        return run.refuse(node, scope, f"{ast.unparse(node.func)} has no source to follow")
    code = callee.code()
    layer, inner = callee, value
    while inner is not behind:  # what each wrapper adds, from the outside in
        if isinstance(inner, functools.partial):
            positional = [*parts_of(layer.attr("args")), *positional]
            named = {**value_of(layer.attr("keywords")), **named}
            layer, inner = layer.attr("func"), inner.func
        elif isinstance(inner, types.MethodType):
            positional = [layer.attr("__self__"), *positional]
            layer, inner = layer.attr("__func__"), inner.__func__
        else:
            return run.refuse(node, scope, f"a {type(inner).__name__} is not followed")
    tree, shift = _tree_of(behind)
    if tree is None:
        return run.refuse(node, scope, f"the source of {behind.__qualname__} is not found")
    body = Scope(code, {}, None, shift)
    return _follow(run, tree, body, positional, named)


def _follow(
    run: Evaluation,
    node: ast.Lambda | ast.FunctionDef,
    scope: Scope,
    positional: list[Any],
    named: dict[str, Any],
    defaults: Mapping[str, Any] | None = None,
) -> Any:
    """Run a function's body over its arguments; `defaults` are those of a nested one."""
    default = scope.code.default if defaults is None else defaults.__getitem__
    local = _bind(node.args, positional, named, default)
    inner = Scope(scope.code, local, scope, scope.shift, names=_bound_in(node))
    run.step(node, inner)
    if isinstance(node, ast.Lambda):
        return run.evaluate(node.body, inner)
    try:
        run.execute(node.body, inner)
    except Return as returned:
        return returned.value
    return None


def _check_fields(text: str) -> None:
    """Refuse a text whose fields look into what is put there: nobody would read that."""
    for _, field, _, _ in string.Formatter().parse(text):
        if field and not field.isidentifier() and not field.isdecimal():
            raise TypeError(f"what the field {{{field}}} looks at is not read (write an f-string)")


def _is_plain_dict(holder: Any, name: str) -> bool:
    """Whether this is what a dict holds, as Python says it."""
    if name not in ("items", "values") or not isinstance(holder, View):
        return False
    cls = type(holder.peek())
    return issubclass(cls, dict) and is_pythons(cls, name, "__iter__", "__getitem__", "__len__")


def _parts_of_dict(holder: View, name: str) -> list[Any]:
    """The values of a dict, which are views, or its keys with them."""
    keys = [value_of(each) for each in parts_of(holder)]
    values = [holder.item(each) for each in keys]
    return Pairs(zip(keys, values, strict=True)) if name == "items" else values


# -- the function that is followed -------------------------------------------------------------


def _bound_in(function: ast.Lambda | ast.FunctionDef) -> frozenset[str]:
    """The names that are bound in a function, but for those of functions inside of it."""
    names, waiting = (
        set[str](),
        list[ast.AST]([function.body] if isinstance(function, ast.Lambda) else function.body),
    )
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
                continue
            case ast.Lambda():
                continue
            case ast.NamedExpr(target=ast.Name(name)):
                names.add(name)
            case ast.Name(name, ast.Store()):
                names.add(name)
            case ast.comprehension():  # whose own names are its own
                waiting += [node.iter, *node.ifs]
                continue
        waiting += ast.iter_child_nodes(node)
    return frozenset(names)


def _bind(
    arguments: ast.arguments,
    positional: list[Any],
    named: dict[str, Any],
    default: Callable[[str], Any],
) -> dict[str, Any]:
    """Parameters and what they are called with."""
    places = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    local = dict(zip(places, positional, strict=False))
    rest = positional[len(places) :]
    if arguments.vararg is not None:
        local[arguments.vararg.arg] = tuple(rest)
    elif rest:
        raise TypeError(f"{len(positional)} arguments for {len(places)} parameters")
    names = dict.fromkeys([*places, *(argument.arg for argument in arguments.kwonlyargs)])
    twice = [name for name in named if name in local and name in names]
    if twice:
        raise TypeError(f"there are two values for {twice[0]!r}")
    extra = {name: value for name, value in named.items() if name not in names}
    if arguments.kwarg is not None:
        local[arguments.kwarg.arg] = extra
    elif extra:
        raise TypeError(f"unexpected argument {next(iter(extra))!r}")
    local.update({name: value for name, value in named.items() if name in names})
    for name in names:
        if name not in local:
            try:
                local[name] = default(name)
            except KeyError:
                raise TypeError(f"there is no argument for {name!r}") from None
    return local


def _tree_of(function: types.FunctionType) -> tuple[ast.Lambda | ast.FunctionDef | None, int]:
    """The syntax tree of a function and the number of lines before it."""
    tree, shift = _written_tree_of(function.__code__)
    if tree is not None:
        mangle(tree, function.__code__)
    return tree, shift


def _written_tree_of(code: types.CodeType) -> tuple[ast.Lambda | ast.FunctionDef | None, int]:
    text = code_digest(code).text
    if text is None:  # there is none that is known to be what runs
        return None, 0
    if code.co_name != "<lambda>":
        with contextlib.suppress(SyntaxError):  # its lines alone are quicker than the file
            for node in syntax_tree(textwrap.dedent(text)).body:
                if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                    return node, code.co_firstlineno - 1
    tree = tree_of(code)
    return (tree if isinstance(tree, ast.Lambda | ast.FunctionDef) else None), 0


# -- statements ------------------------------------------------------------------------


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


# -- the evaluator ---------------------------------------------------------------------


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
