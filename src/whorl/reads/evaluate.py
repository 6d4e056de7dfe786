"""An expression over views in, its value out: what a compile works out leaves its reads behind.

A compiler that knows part of a program at compile time evaluates it here rather than with
Python: user code never runs on views. Names lead to views; an attribute or an item of a view
is a view; a view that is used as an operand is read by value. Functions and methods are
followed through their source, their code is a read, and so is what they look at in turn.

    evaluated    names, attributes, items, operators, comparisons, displays, comprehensions,
                 conditional expressions, f-strings, lambdas, a table of pure functions
    followed     calls of functions and methods with a source: assignments, `if`, `for`, `while`,
                 `return`, `break`, `continue`
    an error     everything else, with the line and the part that cannot be followed
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import enum
import functools
import operator
import string
import textwrap
import types
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from whorl.errors import NotStatic
from whorl.fingerprint.source import code_digest, place_of_code, tree_of
from whorl.fingerprint.syntax import mangle, syntax_tree

from .implicit import CONVERTED, HASHED, TESTED, WRITTEN, checked, is_pythons, own_items
from .pure import (
    SPECIAL,
    UNORDERED,
    Pairs,
    argument,
    is_of_numpy,
    is_pure,
    key,
    known,
    member,
    operand,
    parts_of,
    text,
    uses_of,
)
from .view import AbsentRead, CodeView, View
from .world import function_behind, is_callable_object

__all__ = ["Evaluator", "evaluate", "written_defaults"]

STEPS: Final = 100_000  # statements and iterations before a loop counts as endless

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
_At = tuple[ast.Call, "_Scope"]
"""Where a call stands: for what is refused."""


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Function:
    """A lambda or a nested function, with what it closes over."""

    def __init__(
        self, node: ast.Lambda | ast.FunctionDef, scope: _Scope, defaults: Mapping[str, Any]
    ) -> None:
        self.node = node
        self.scope = scope
        self.defaults = defaults


class _Scope:
    """Names and their values: local ones, then those of the function's cells and globals."""

    def __init__(
        self,
        code: CodeView,
        local: dict[str, Any],
        outer: _Scope | None = None,
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
    def binding(self) -> _Scope:
        """Where `:=` binds: around comprehensions."""
        scope = self
        while not scope.is_function and scope.outer is not None:
            scope = scope.outer
        return scope

    def find(self, name: str) -> Any:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.local:
                return scope.local[name]
            if name in scope.names:
                raise NameError(f"{name}, which is bound later or not at all,")
            scope = scope.outer
        if name in self.code.cell_names:
            return self.code.cell(name)
        try:
            found = self.code.glob(name)
        except AbsentRead:
            raise NameError(name) from None
        if name not in self.code.function.__globals__ and hasattr(builtins, name):
            return found.value()  # that no global hides it is a fact
        return found


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
        self._scope = _Scope(code, dict(local or {}))
        self._steps = 0

    def value(self, expression: str | ast.expr) -> Any:
        """The value of an expression, read."""
        found = known(self.find(expression))
        return list(found) if isinstance(found, types.GeneratorType) else found

    def find(self, expression: str | ast.expr) -> Any:
        """What an expression leads to: a view where it only walks, a value otherwise."""
        if isinstance(expression, str):
            expression = syntax_tree(expression.strip(), "eval").body
        return self._expression(expression, self._scope)

    # -- expressions --------------------------------------------------------------------

    def _expression(self, node: ast.expr, scope: _Scope) -> Any:
        evaluate_node = getattr(self, f"_{type(node).__name__.lower()}", None)
        if evaluate_node is None:
            self._refuse(node, scope, f"{type(node).__name__} is not supported here")
        try:
            return evaluate_node(node, scope)
        except (NotStatic, _Return, _Break, _Continue, AbsentRead):
            raise
        except NameError as error:
            self._refuse(node, scope, f"the name {error} is not defined", error)
        except RecursionError as error:
            self._refuse(node, scope, "it calls itself too deeply", error)
        except Exception as error:
            self._refuse(node, scope, f"it raises {type(error).__name__}: {error}", error)

    def _constant(self, node: ast.Constant, scope: _Scope) -> Any:
        return node.value

    def _name(self, node: ast.Name, scope: _Scope) -> Any:
        return scope.find(node.id)

    def _attribute(self, node: ast.Attribute, scope: _Scope) -> Any:
        return member(self._expression(node.value, scope), node.attr)

    def _subscript(self, node: ast.Subscript, scope: _Scope) -> Any:
        holder = self._expression(node.value, scope)
        if isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            bounds = [
                None if p is None else checked(known(self._expression(p, scope)), CONVERTED)
                for p in parts
            ]
            if isinstance(holder, View) and type(holder._value) in (list, tuple):
                return type(holder._value)([*parts_of(holder)][slice(*bounds)])
            return own_items(known(holder))[slice(*bounds)]
        at = checked(known(self._expression(node.slice, scope)), CONVERTED, HASHED)
        return holder.item(at) if isinstance(holder, View) else own_items(holder)[at]

    def _binop(self, node: ast.BinOp, scope: _Scope) -> Any:
        left, right = (operand(self._expression(side, scope)) for side in (node.left, node.right))
        if isinstance(node.op, ast.Mod) and isinstance(left, str | bytes):
            checked(right, WRITTEN, CONVERTED)
        return _BINARY[type(node.op)](left, right)

    def _unaryop(self, node: ast.UnaryOp, scope: _Scope) -> Any:
        if isinstance(node.op, ast.Not):
            return not self._test(node.operand, scope)
        return _UNARY[type(node.op)](operand(self._expression(node.operand, scope)))

    def _boolop(self, node: ast.BoolOp, scope: _Scope) -> Any:
        stop_at = isinstance(node.op, ast.Or)
        found: Any = None
        for value in node.values:
            found = operand(self._expression(value, scope))
            if bool(found) is stop_at:
                break
        return found

    def _compare(self, node: ast.Compare, scope: _Scope) -> Any:
        left = self._expression(node.left, scope)
        result: Any = True
        for compare, side in zip(node.ops, node.comparators, strict=True):
            right = self._expression(side, scope)
            if isinstance(compare, ast.Is | ast.IsNot):
                result = self._identity(left, right, isinstance(compare, ast.IsNot))
            else:
                result = _COMPARE[type(compare)](operand(left), operand(right))
            if not result:
                break
            left = right
        return result

    def _identity(self, left: Any, right: Any, is_not: bool) -> bool:
        if isinstance(left, View) and right is None:
            return left.is_none() is not is_not  # the type says that, the value is not needed
        sides = known(left), known(right)
        plain = (bool, enum.Enum, type(None), type(...))
        if not any(isinstance(side, plain) for side in sides):
            raise TypeError("whether two values are the same object is not a fact")
        return (sides[0] is sides[1]) is not is_not

    def _ifexp(self, node: ast.IfExp, scope: _Scope) -> Any:
        chosen = node.body if self._test(node.test, scope) else node.orelse
        return self._expression(chosen, scope)

    def _tuple(self, node: ast.Tuple, scope: _Scope) -> Any:
        return tuple(self._items(node.elts, scope))

    def _list(self, node: ast.List, scope: _Scope) -> Any:
        return list(self._items(node.elts, scope))

    def _set(self, node: ast.Set, scope: _Scope) -> Any:
        return set(map(key, self._items(node.elts, scope)))

    def _dict(self, node: ast.Dict, scope: _Scope) -> Any:
        made: dict[Any, Any] = {}
        for name, value in zip(node.keys, node.values, strict=True):
            if name is None:
                made.update(_mapping(known(self._expression(value, scope))))
            else:
                made[key(self._expression(name, scope))] = known(self._expression(value, scope))
        return made

    def _items(self, nodes: Sequence[ast.expr], scope: _Scope) -> Iterator[Any]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from parts_of(self._expression(node.value, scope))
            else:
                yield self._expression(node, scope)

    def _joinedstr(self, node: ast.JoinedStr, scope: _Scope) -> str:
        return "".join(text(self._expression(value, scope)) for value in node.values)

    def _formattedvalue(self, node: ast.FormattedValue, scope: _Scope) -> str:
        value = checked(known(self._expression(node.value, scope)), WRITTEN)
        convert = _CONVERSIONS.get(node.conversion)
        value = value if convert is None else convert(value)
        spec = "" if node.format_spec is None else self._expression(node.format_spec, scope)
        return format(value, spec)

    def _lambda(self, node: ast.Lambda, scope: _Scope) -> Any:
        return _Function(node, scope, self._defaults(node, scope))

    def _namedexpr(self, node: ast.NamedExpr, scope: _Scope) -> Any:
        value = self._expression(node.value, scope)
        scope.binding.local[node.target.id] = value
        return value

    def _listcomp(self, node: ast.ListComp, scope: _Scope) -> Any:
        return [self._expression(node.elt, inner) for inner in self._loops(node.generators, scope)]

    def _setcomp(self, node: ast.SetComp, scope: _Scope) -> Any:
        inners = self._loops(node.generators, scope)
        return {key(self._expression(node.elt, inner)) for inner in inners}

    def _generatorexp(self, node: ast.GeneratorExp, scope: _Scope) -> Any:
        inners = self._loops(node.generators, scope)
        return (self._expression(node.elt, inner) for inner in inners)

    def _dictcomp(self, node: ast.DictComp, scope: _Scope) -> Any:
        return {
            key(self._expression(node.key, inner)): known(self._expression(node.value, inner))
            for inner in self._loops(node.generators, scope)
        }

    def _loops(self, generators: Sequence[ast.comprehension], scope: _Scope) -> Iterator[_Scope]:
        """A scope for each round; what the outermost one goes through is known at once."""
        return self._rounds(generators, scope, self._expression(generators[0].iter, scope))

    def _rounds(
        self, generators: Sequence[ast.comprehension], scope: _Scope, holder: Any
    ) -> Iterator[_Scope]:
        first, *others = generators
        inner = _Scope(scope.code, {}, scope, scope.shift, is_function=False)  # one for all items
        for item in parts_of(holder):
            self._step(first.iter, scope)
            self._assign(first.target, item, inner)
            if all(self._test(test, inner) for test in first.ifs):
                if others:
                    yield from self._loops(others, inner)
                else:
                    yield inner

    # -- calls --------------------------------------------------------------------------

    def _call(self, node: ast.Call, scope: _Scope) -> Any:
        if isinstance(node.func, ast.Attribute):
            holder = self._expression(node.func.value, scope)
            if not (node.args or node.keywords) and _is_plain_dict(holder, node.func.attr):
                return _parts_of_dict(holder, node.func.attr)
            callee = self._part(node.func, holder, scope)
        else:
            callee = self._expression(node.func, scope)
        positional = list(self._items(node.args, scope))
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self._expression(keyword.value, scope)
            more = _mapping(known(value)) if keyword.arg is None else {keyword.arg: value}
            for name in more:
                if name in named:
                    raise TypeError(f"{ast.unparse(node.func)} got {name!r} twice")
            named.update(more)
        return self._called(callee, positional, named, (node, scope))

    def _part(self, node: ast.Attribute, holder: Any, scope: _Scope) -> Any:
        try:
            return member(holder, node.attr)
        except (NotStatic, AbsentRead):
            raise
        except Exception as error:
            self._refuse(node, scope, f"it raises {type(error).__name__}: {error}", error)

    def _called(self, callee: Any, positional: list[Any], named: dict[str, Any], at: _At) -> Any:
        """What a call comes to, whatever is called."""
        node, scope = at
        if isinstance(callee, _Function):
            return self._follow(callee.node, callee.scope, positional, named, callee.defaults)
        if isinstance(callee, View):
            return self._call_view(callee, positional, named, at)
        special = (
            SPECIAL.get(callee) if isinstance(callee, types.BuiltinFunctionType | type) else None
        )
        if special is not None:
            return special(self._caller(at), *positional, **named)
        if is_pure(callee):
            return self._pure(callee, positional, named, at)
        return self._refuse(node, scope, f"{ast.unparse(node.func)} is not a pure function")

    def _caller(self, at: _At) -> Callable[..., Any]:
        """What calls a function that is handed to another one, as `map` does."""
        return lambda function, *items: self._called(function, [*items], {}, at)

    def _pure(self, callee: Any, positional: list[Any], named: dict[str, Any], at: _At) -> Any:
        owner = getattr(callee, "__self__", None)
        if type(owner) in (list, tuple):  # a method of a display, in which views may be
            callee = getattr(known(owner), callee.__name__)
        uses = uses_of(callee) if isinstance(callee, Hashable) else uses_of(None)
        if not isinstance(owner, types.ModuleType | None):
            checked(known(owner), *uses)
            if isinstance(owner, str) and callee.__name__ in ("format", "format_map"):
                _check_fields(owner)
        arguments = [argument(value, uses) for value in positional]
        options = {name: argument(value, uses) for name, value in named.items()}
        if not (callee in UNORDERED or isinstance(owner, set | frozenset)):
            arguments = [
                [*parts_of(each)] if isinstance(each, set | frozenset) else each
                for each in arguments
            ]
        return callee(*arguments, **options)

    def _test(self, node: ast.expr, scope: _Scope) -> bool:
        return bool(checked(known(self._expression(node, scope)), TESTED))

    def _call_view(
        self, callee: View, positional: list[Any], named: dict[str, Any], at: _At
    ) -> Any:
        node, scope = at
        value = callee._value
        is_numpys = is_of_numpy(value)
        if isinstance(value, type) or not callable(value) or is_numpys:
            if is_numpys or is_pure(value):
                callee.value()
                return self._pure(value, positional, named, at)
            if isinstance(value, type) and value in SPECIAL:
                callee.value()
                return self._called(value, positional, named, at)
            return self._refuse(node, scope, "classes are not made at compile time")
        behind = function_behind(value)
        if not isinstance(behind, types.FunctionType):
            if isinstance(behind, types.BuiltinFunctionType) and behind in SPECIAL:
                callee.value()
                return self._called(behind, positional, named, at)
            if is_pure(behind):
                owner = getattr(behind, "__self__", None)
                if owner is None or isinstance(owner, types.ModuleType):
                    callee.value()
                else:
                    callee.attr("__self__").value()  # what a method of it says depends on
                return self._pure(behind, positional, named, at)
            if is_callable_object(value):
                return self._call_view(callee.attr("__call__"), positional, named, at)
            return self._refuse(node, scope, f"{ast.unparse(node.func)} has no source to follow")
        code = callee.code()
        layer, inner = callee, value
        while inner is not behind:  # what each wrapper adds, from the outside in
            if isinstance(inner, functools.partial):
                positional = [*parts_of(layer.attr("args")), *positional]
                named = {**known(layer.attr("keywords")), **named}
                layer, inner = layer.attr("func"), inner.func
            elif isinstance(inner, types.MethodType):
                positional = [layer.attr("__self__"), *positional]
                layer, inner = layer.attr("__func__"), inner.__func__
            else:
                return self._refuse(node, scope, f"a {type(inner).__name__} is not followed")
        tree, shift = _tree_of(behind)
        if tree is None:
            return self._refuse(node, scope, f"the source of {behind.__qualname__} is not found")
        body = _Scope(code, {}, None, shift)
        return self._follow(tree, body, positional, named)

    def _follow(
        self,
        node: ast.Lambda | ast.FunctionDef,
        scope: _Scope,
        positional: list[Any],
        named: dict[str, Any],
        defaults: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run a function's body over its arguments; `defaults` are those of a nested one."""
        default = scope.code.default if defaults is None else defaults.__getitem__
        local = _bound(node.args, positional, named, default)
        inner = _Scope(scope.code, local, scope, scope.shift, names=_bound_in(node))
        self._step(node, inner)
        if isinstance(node, ast.Lambda):
            return self._expression(node.body, inner)
        try:
            self._block(node.body, inner)
        except _Return as returned:
            return returned.value
        return None

    def _defaults(self, node: ast.Lambda | ast.FunctionDef, scope: _Scope) -> dict[str, Any]:
        """The defaults of a nested function, evaluated when it is defined."""
        written = written_defaults(node.args)
        return {name: self._expression(value, scope) for name, value in written.items()}

    # -- statements ---------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt], scope: _Scope) -> None:
        for statement in body:
            self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: _Scope) -> None:
        self._step(node, scope)
        match node:
            case ast.Expr(value):
                if not isinstance(value, ast.Constant):
                    self._expression(value, scope)
            case ast.Pass():
                pass
            case ast.Return(value):
                raise _Return(None if value is None else self._expression(value, scope))
            case ast.Assign(targets, value):
                found = self._expression(value, scope)
                for target in targets:
                    self._assign(target, found, scope)
            case ast.AnnAssign(target, _, value) if value is not None:
                self._assign(target, self._expression(value, scope), scope)
            case ast.AugAssign(ast.Name(name), op, value):
                left = operand(scope.find(name))
                if isinstance(left, list | dict | set):
                    self._refuse(node, scope, "it would change a value that has other names")
                right = operand(self._expression(value, scope))
                if isinstance(op, ast.Mod) and isinstance(left, str | bytes):
                    checked(right, WRITTEN, CONVERTED)
                scope.local[name] = _BINARY[type(op)](left, right)
            case ast.If(test, body, orelse):
                self._block(body if self._test(test, scope) else orelse, scope)
            case ast.For(target, iterable, body, orelse):
                self._for(target, self._expression(iterable, scope), (body, orelse), scope)
            case ast.While(test, body, orelse):
                self._while(test, body, orelse, scope)
            case ast.Break():
                raise _Break
            case ast.Continue():
                raise _Continue
            case ast.FunctionDef(name=name) if not node.decorator_list:
                scope.local[name] = _Function(node, scope, self._defaults(node, scope))
            case ast.Assert(test):
                if not self._test(test, scope):
                    self._refuse(node, scope, "the assertion does not hold")
            case _:
                self._refuse(node, scope, f"{type(node).__name__} is not supported here")

    def _for(
        self,
        target: ast.expr,
        holder: Any,
        bodies: tuple[list[ast.stmt], list[ast.stmt]],
        scope: _Scope,
    ) -> None:
        for item in parts_of(holder):
            self._assign(target, item, scope)
            try:
                self._block(bodies[0], scope)
            except _Continue:
                continue
            except _Break:
                return
        self._block(bodies[1], scope)

    def _while(
        self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], scope: _Scope
    ) -> None:
        while self._test(test, scope):
            self._step(test, scope)
            try:
                self._block(body, scope)
            except _Continue:
                continue
            except _Break:
                return
        self._block(orelse, scope)

    def _assign(self, target: ast.expr, value: Any, scope: _Scope) -> None:
        match target:
            case ast.Name(name):
                scope.local[name] = value
            case ast.Tuple(targets) | ast.List(targets):
                self._unpack(target, targets, list(parts_of(value)), scope)
            case _:
                self._refuse(target, scope, "only names can be assigned to")

    def _unpack(
        self, target: ast.expr, targets: list[ast.expr], parts: list[Any], scope: _Scope
    ) -> None:
        starred = [i for i, each in enumerate(targets) if isinstance(each, ast.Starred)]
        if starred and len(parts) >= len(targets) - 1:  # one of them takes what is left
            first, last = starred[0], len(parts) - (len(targets) - starred[0] - 1)
            parts = [*parts[:first], parts[first:last], *parts[last:]]
            targets = [each.value if isinstance(each, ast.Starred) else each for each in targets]
        if len(parts) != len(targets):
            self._refuse(target, scope, f"{len(parts)} values for {len(targets)} names")
        for inner, part in zip(targets, parts, strict=True):
            self._assign(inner, part, scope)

    def _step(self, node: ast.AST, scope: _Scope) -> None:
        self._steps += 1
        if self._steps > STEPS:
            self._refuse(node, scope, f"it takes more than {STEPS} steps")

    def _refuse(
        self, node: ast.AST, scope: _Scope, reason: str, cause: BaseException | None = None
    ) -> NoReturn:
        code = scope.code.function.__code__
        file, first = place_of_code(code)
        number = scope.shift + getattr(node, "lineno", 1) + first - code.co_firstlineno
        at = f"{file}:{number}"
        raise NotStatic(at, f"`{ast.unparse(node)}`", reason) from cause


def _check_fields(text: str) -> None:
    """Refuse a text whose fields look into what is put there: nobody would read that."""
    for _, field, _, _ in string.Formatter().parse(text):
        if field and not field.isidentifier() and not field.isdecimal():
            raise TypeError(f"what the field {{{field}}} looks at is not read (write an f-string)")


def _mapping(value: Any) -> Any:
    """What `**` takes apart; refused if the user's code says what is in it."""
    if not is_pythons(type(value), "keys", "__getitem__", "__iter__", "__len__"):
        raise TypeError(f"what a {type(value).__name__} holds is said by code that is not read")
    return value


def _is_plain_dict(holder: Any, name: str) -> bool:
    """Whether this is what a dict holds, as Python says it."""
    if name not in ("items", "values") or not isinstance(holder, View):
        return False
    cls = type(holder._value)
    return issubclass(cls, dict) and is_pythons(cls, name, "__iter__", "__getitem__", "__len__")


def _parts_of_dict(holder: View, name: str) -> list[Any]:
    """The values of a dict, which are views, or its keys with them."""
    keys = [known(each) for each in parts_of(holder)]
    values = [holder.item(each) for each in keys]
    return Pairs(zip(keys, values, strict=True)) if name == "items" else values


def _bound_in(function: ast.Lambda | ast.FunctionDef) -> frozenset[str]:
    """The names that are bound in a function, but for those of functions inside of it."""
    found, waiting = (
        set[str](),
        list[ast.AST]([function.body] if isinstance(function, ast.Lambda) else function.body),
    )
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
                continue
            case ast.Lambda():
                continue
            case ast.NamedExpr(target=ast.Name(name)):
                found.add(name)
            case ast.Name(name, ast.Store()):
                found.add(name)
            case ast.comprehension():  # whose own names are its own
                waiting += [node.iter, *node.ifs]
                continue
        waiting += ast.iter_child_nodes(node)
    return frozenset(found)


def evaluate(code: CodeView, expression: str | ast.expr, **local: Any) -> Any:
    """The value of an expression of a function, with some names known."""
    return Evaluator(code, local).value(expression)


def written_defaults(arguments: ast.arguments) -> dict[str, ast.expr]:
    """The defaults of parameters as they are written.

    >>> found = written_defaults(syntax_tree("lambda a, b=1, *, c=2, d: 0", "eval").body.args)
    >>> {name: ast.unparse(value) for name, value in found.items()}
    {'b': '1', 'c': '2'}
    """
    places = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    written = dict(zip(reversed(places), reversed(arguments.defaults), strict=False))
    keyword = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return written | {argument.arg: value for argument, value in keyword if value is not None}


def _bound(
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
