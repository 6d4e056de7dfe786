"""Evaluates expressions over views: names, items, operators, displays, comprehensions."""

from __future__ import annotations

import ast
import builtins
import enum
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeAlias

from whorl.errors import NotStatic
from whorl.fingerprint.source import place_of_code
from whorl.signals import pass_on

from .static_functions import (
    CONVERTED,
    HASHED,
    TESTED,
    WRITTEN,
    checked,
    is_pythons,
    key,
    member,
    operand,
    own_items,
    parts_of,
    text,
    value_of,
)
from .view import AbsentRead, CodeView, View

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


# -- expressions -----------------------------------------------------------------------


_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
}
_UNARY: Final[dict[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_COMPARE: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, holder: item in holder,
    ast.NotIn: lambda item, holder: item not in holder,
}

_CONVERSIONS: Final[dict[int, Callable[[Any], str]]] = {
    ord("s"): str,
    ord("r"): repr,
    ord("a"): ascii,
}


def _constant(run: Evaluation, node: ast.Constant, scope: Scope) -> Any:
    return node.value


def _name(run: Evaluation, node: ast.Name, scope: Scope) -> Any:
    return scope.find(node.id)


def _attribute(run: Evaluation, node: ast.Attribute, scope: Scope) -> Any:
    return member(run.evaluate(node.value, scope), node.attr)


def _subscript(run: Evaluation, node: ast.Subscript, scope: Scope) -> Any:
    holder = run.evaluate(node.value, scope)
    if isinstance(node.slice, ast.Slice):
        parts = (node.slice.lower, node.slice.upper, node.slice.step)
        bounds = [
            None if p is None else checked(value_of(run.evaluate(p, scope)), CONVERTED)
            for p in parts
        ]
        if isinstance(holder, View) and type(holder.peek()) in (list, tuple):
            return type(holder.peek())([*parts_of(holder)][slice(*bounds)])
        return own_items(value_of(holder))[slice(*bounds)]
    at = checked(value_of(run.evaluate(node.slice, scope)), CONVERTED, HASHED)
    return holder.item(at) if isinstance(holder, View) else own_items(holder)[at]


def _binop(run: Evaluation, node: ast.BinOp, scope: Scope) -> Any:
    left, right = (operand(run.evaluate(side, scope)) for side in (node.left, node.right))
    return binary(node.op, left, right)


def _unaryop(run: Evaluation, node: ast.UnaryOp, scope: Scope) -> Any:
    if isinstance(node.op, ast.Not):
        return not is_true(run, node.operand, scope)
    return _UNARY[type(node.op)](operand(run.evaluate(node.operand, scope)))


def _boolop(run: Evaluation, node: ast.BoolOp, scope: Scope) -> Any:
    stop_at = isinstance(node.op, ast.Or)
    result: Any = None
    for value in node.values:
        result = operand(run.evaluate(value, scope))
        if bool(result) is stop_at:
            break
    return result


def _compare(run: Evaluation, node: ast.Compare, scope: Scope) -> Any:
    left = run.evaluate(node.left, scope)
    result: Any = True
    for compare, side in zip(node.ops, node.comparators, strict=True):
        right = run.evaluate(side, scope)
        if isinstance(compare, ast.Is | ast.IsNot):
            result = _identity(run, left, right, isinstance(compare, ast.IsNot))
        else:
            result = _COMPARE[type(compare)](operand(left), operand(right))
        if not result:
            break
        left = right
    return result


def _identity(run: Evaluation, left: Any, right: Any, is_not: bool) -> bool:
    if isinstance(left, View) and right is None:
        return left.is_none() is not is_not  # the type says that, the value is not needed
    sides = value_of(left), value_of(right)
    plain = (bool, enum.Enum, type(None), type(...))
    if not any(isinstance(side, plain) for side in sides):
        raise TypeError("whether two values are the same object is not a fact")
    return (sides[0] is sides[1]) is not is_not


def _ifexp(run: Evaluation, node: ast.IfExp, scope: Scope) -> Any:
    chosen = node.body if is_true(run, node.test, scope) else node.orelse
    return run.evaluate(chosen, scope)


def _tuple(run: Evaluation, node: ast.Tuple, scope: Scope) -> Any:
    return tuple(items_of(run, node.elts, scope))


def _list(run: Evaluation, node: ast.List, scope: Scope) -> Any:
    return list(items_of(run, node.elts, scope))


def _set(run: Evaluation, node: ast.Set, scope: Scope) -> Any:
    return set(map(key, items_of(run, node.elts, scope)))


def _dict(run: Evaluation, node: ast.Dict, scope: Scope) -> Any:
    result: dict[Any, Any] = {}
    for name, value in zip(node.keys, node.values, strict=True):
        if name is None:
            result.update(mapping(value_of(run.evaluate(value, scope))))
        else:
            result[key(run.evaluate(name, scope))] = value_of(run.evaluate(value, scope))
    return result


def items_of(run: Evaluation, nodes: Sequence[ast.expr], scope: Scope) -> Iterator[Any]:
    """What the items of a display or the arguments of a call lead to."""
    for node in nodes:
        if isinstance(node, ast.Starred):
            yield from parts_of(run.evaluate(node.value, scope))
        else:
            yield run.evaluate(node, scope)


def _joinedstr(run: Evaluation, node: ast.JoinedStr, scope: Scope) -> str:
    return "".join(text(run.evaluate(value, scope)) for value in node.values)


def _formattedvalue(run: Evaluation, node: ast.FormattedValue, scope: Scope) -> str:
    value = checked(value_of(run.evaluate(node.value, scope)), WRITTEN)
    convert = _CONVERSIONS.get(node.conversion)
    value = value if convert is None else convert(value)
    spec = "" if node.format_spec is None else run.evaluate(node.format_spec, scope)
    return format(value, spec)


def _lambda(run: Evaluation, node: ast.Lambda, scope: Scope) -> Any:
    return FollowedFunction(node, scope, defaults_of(run, node, scope))


def _namedexpr(run: Evaluation, node: ast.NamedExpr, scope: Scope) -> Any:
    value = run.evaluate(node.value, scope)
    scope.binding.local[node.target.id] = value
    return value


def binary(operation: ast.operator, left: Any, right: Any) -> Any:
    """What an operator makes of two values."""
    if isinstance(operation, ast.Mod) and isinstance(left, str | bytes):
        checked(right, WRITTEN, CONVERTED)
    return _BINARY[type(operation)](left, right)


def is_true(run: Evaluation, node: ast.expr, scope: Scope) -> bool:
    """Whether a condition holds."""
    return bool(checked(value_of(run.evaluate(node, scope)), TESTED))


def defaults_of(
    run: Evaluation, node: ast.Lambda | ast.FunctionDef, scope: Scope
) -> dict[str, Any]:
    """The defaults of a nested function, evaluated when it is defined."""
    written = written_defaults(node.args)
    return {name: run.evaluate(value, scope) for name, value in written.items()}


def written_defaults(arguments: ast.arguments) -> dict[str, ast.expr]:
    """The defaults of parameters as they are written.

    >>> defaults = written_defaults(ast.parse("lambda a, b=1, *, c=2, d: 0", mode="eval").body.args)
    >>> {name: ast.unparse(value) for name, value in defaults.items()}
    {'b': '1', 'c': '2'}
    """
    places = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    written = dict(zip(reversed(places), reversed(arguments.defaults), strict=False))
    keyword = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return written | {argument.arg: value for argument, value in keyword if value is not None}


def mapping(value: Any) -> Any:
    """What `**` takes apart; refused if the user's code decides what is in it."""
    if not is_pythons(type(value), "keys", "__getitem__", "__iter__", "__len__"):
        raise TypeError(f"what a {type(value).__name__} holds is decided by code that is not read")
    return value


# -- comprehensions ----------------------------------------------------------------------------


def _listcomp(run: Evaluation, node: ast.ListComp, scope: Scope) -> Any:
    return [run.evaluate(node.elt, inner) for inner in _loops(run, node.generators, scope)]


def _setcomp(run: Evaluation, node: ast.SetComp, scope: Scope) -> Any:
    inners = _loops(run, node.generators, scope)
    return {key(run.evaluate(node.elt, inner)) for inner in inners}


def _generatorexp(run: Evaluation, node: ast.GeneratorExp, scope: Scope) -> Any:
    inners = _loops(run, node.generators, scope)
    return (run.evaluate(node.elt, inner) for inner in inners)


def _dictcomp(run: Evaluation, node: ast.DictComp, scope: Scope) -> Any:
    return {
        key(run.evaluate(node.key, inner)): value_of(run.evaluate(node.value, inner))
        for inner in _loops(run, node.generators, scope)
    }


def _loops(
    run: Evaluation, generators: Sequence[ast.comprehension], scope: Scope
) -> Iterator[Scope]:
    """A scope for each iteration; what the outermost loop goes through is evaluated at once."""
    return _iterations(run, generators, scope, run.evaluate(generators[0].iter, scope))


def _iterations(
    run: Evaluation, generators: Sequence[ast.comprehension], scope: Scope, holder: Any
) -> Iterator[Scope]:
    first, *others = generators
    inner = Scope(scope.code, {}, scope, scope.shift, is_function=False)  # one for all items
    for item in parts_of(holder):
        run.step(first.iter, scope)
        assign(run, first.target, item, inner)
        if all(is_true(run, test, inner) for test in first.ifs):
            if others:
                yield from _loops(run, others, inner)
            else:
                yield inner


# -- targets -----------------------------------------------------------------------------------


def assign(run: Evaluation, target: ast.expr, value: Any, scope: Scope) -> None:
    """Bind a name, or several, to a value or its parts."""
    match target:
        case ast.Name(name):
            scope.local[name] = value
        case ast.Tuple(targets) | ast.List(targets):
            _unpack(run, target, targets, list(parts_of(value)), scope)
        case _:
            run.refuse(target, scope, "only names can be assigned to")


def _unpack(
    run: Evaluation, target: ast.expr, targets: list[ast.expr], parts: list[Any], scope: Scope
) -> None:
    starred = [i for i, each in enumerate(targets) if isinstance(each, ast.Starred)]
    if starred and len(parts) >= len(targets) - 1:  # one of them takes what is left
        first, last = starred[0], len(parts) - (len(targets) - starred[0] - 1)
        parts = [*parts[:first], parts[first:last], *parts[last:]]
        targets = [each.value if isinstance(each, ast.Starred) else each for each in targets]
    if len(parts) != len(targets):
        run.refuse(target, scope, f"{len(parts)} values for {len(targets)} names")
    for inner, part in zip(targets, parts, strict=True):
        assign(run, inner, part, scope)


EXPRESSIONS: Final[dict[type[ast.AST], Callable[[Evaluation, Any, Scope], Any]]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.BinOp: _binop,
    ast.UnaryOp: _unaryop,
    ast.BoolOp: _boolop,
    ast.Compare: _compare,
    ast.IfExp: _ifexp,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.JoinedStr: _joinedstr,
    ast.FormattedValue: _formattedvalue,
    ast.Lambda: _lambda,
    ast.NamedExpr: _namedexpr,
    ast.ListComp: _listcomp,
    ast.SetComp: _setcomp,
    ast.GeneratorExp: _generatorexp,
    ast.DictComp: _dictcomp,
}
