"""Runs a function with graphs as plain Python, from its begin or from a checkpoint on.

Statements are walked, expressions are Python's own. Calls are followed, so that loops and
checkpoints in functions are met as well. There are three modes:

    run     as Python does
    seek    to the checkpoint to resume from: arrays stay as they are, names are given the values
            that follow without them; every branch and loop that may hold the checkpoint is
            entered. Once it is met, everything runs
    dry     as seek, where the checkpoint is not: for the value of a call

A kernel that compiles uses nothing after the checkpoint that seeking could get wrong: names that
depend on arrays are refused there.
"""

from __future__ import annotations

import abc
import ast
import contextlib
import copy
import enum
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias, TypeGuard

import numpy as np

from whorl.errors import KernelError, NoCheckpoints, UnknownCheckpoint
from whorl.fingerprint.static_lookup import bound
from whorl.launch.graph_status import ENDED, GraphStatus, is_same_label
from whorl.signals import pass_on

from . import graph_names as graph
from . import language
from .function_source import assigned_names, source_tree
from .graph_use import GraphUse

__all__ = ["interpreted"]


class WalkMode(enum.Enum):
    """How statements are walked."""

    RUN = "run"
    SEEK = "seek"
    DRY = "dry"


class _ReturnJump(BaseException):
    def __init__(self, value: Any) -> None:
        self.value = value


class _BreakJump(BaseException):
    """To the end of a loop."""


class _ContinueJump(BaseException):
    """To the next iteration of a loop."""


class _Yielded(BaseException):
    def __init__(self, label: Any) -> None:
        self.label = label


_BEGIN: Final = object()
_CALL: Final = "__whorl_call__"
_CHOOSE: Final = "__whorl_choose__"
_EITHER: Final = "__whorl_either__"
_VALUE: Final = "__whorl_value__"
_ATOMICS: Final = (language.atomic_add, language.atomic_min, language.atomic_max)
_LANGUAGE: Final = ("whorl", "numpy", "math", "cmath", "builtins")


def interpreted(
    function: types.FunctionType,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    use: GraphUse,
    name: str,
    from_checkpoint: object = _BEGIN,
) -> Any:
    """What a launch returns, or one that is resumed."""
    walker = _Walker(use, from_checkpoint)
    has_checkpoints = use.has_checkpoints and walker.sources.has_checkpoints(function, args)
    if from_checkpoint is not _BEGIN and not has_checkpoints:
        raise NoCheckpoints(name)
    try:
        result = walker.call(function, *args, **kwargs)
    except _Yielded as ended:
        return GraphStatus(True, ended.label)
    if walker.mode is not WalkMode.RUN:
        raise UnknownCheckpoint(name, from_checkpoint, tuple(walker.met))
    return ENDED if has_checkpoints else result


class Names(dict[str, Any]):
    """The names of one call; what it does not have is looked up outside."""

    def __init__(self, outside: Callable[[str], Any]) -> None:
        self._outside = outside

    def __missing__(self, name: str) -> Any:
        return self._outside(name)


def _outside(function: types.FunctionType) -> Callable[[str], Any]:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def find(name: str) -> Any:
        return cells[name].cell_contents if name in cells else bound(function.__globals__, name)

    return find


class _Nested:
    """A function that is defined inside of another."""

    def __init__(self, walker: _Caller, node: ast.FunctionDef, names: Names) -> None:
        self.node, self.names, self._walker = node, names, walker
        head = copy.deepcopy(node)
        head.body, head.decorator_list = [ast.Pass()], []
        namespace: dict[str, Any] = {}
        module = ast.fix_missing_locations(ast.Module([head], []))
        exec(compile(module, "<kernel>", "exec"), names, namespace)
        self.signature = inspect.signature(namespace[node.name])

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._walker.call(self, *args, **kwargs)


class _Calls(ast.NodeTransformer):
    """Calls that go through the walker, and so do choices between calls."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return _called(_CALL, [node.func, *node.args], node.keywords)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        is_plain = _is_plain(node)
        self.generic_visit(node)
        parts = [node.test, node.body, node.orelse]
        return node if is_plain else _called(_CHOOSE, list(map(_later, parts)), [])

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        is_plain = _is_plain(node)
        self.generic_visit(node)
        if is_plain:
            return node
        is_or = ast.Constant(isinstance(node.op, ast.Or))
        return _called(_EITHER, [is_or, *map(_later, node.values)], [])


def _called(name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), args, keywords)


def _later(node: ast.expr) -> ast.expr:
    nothing = ast.arguments([], [], None, [], [], None, [])
    return ast.Lambda(nothing, node)


def _is_plain(node: ast.AST) -> bool:
    """Whether an expression calls nothing; one that sets names has to stay as it is."""
    inside = list(ast.walk(node))
    if any(isinstance(each, ast.NamedExpr) for each in inside):
        return True
    return not any(isinstance(each, ast.Call) for each in inside)


_Thunk: TypeAlias = Callable[[], Any]


class _Sources:
    """The trees of the functions that are walked."""

    def __init__(self) -> None:
        self._scanned: set[types.CodeType] = set()
        self._trees: dict[types.CodeType, ast.FunctionDef | ast.Lambda | None] = {}

    def tree(self, callee: Any) -> ast.FunctionDef | ast.Lambda | None:
        """A function to walk; None if it is one to call."""
        if not isinstance(callee, types.FunctionType):
            return None
        code = callee.__code__
        if code not in self._trees:
            self._trees[code] = None
            if str(callee.__module__).split(".")[0] not in _LANGUAGE:
                with contextlib.suppress(KernelError):
                    self._trees[code] = source_tree(callee).tree
        return self._trees[code]

    def has_checkpoints(self, callee: Any, args: tuple[Any, ...]) -> bool:
        """Whether a function, or one that it calls by a name, has a checkpoint in its source."""
        callee, args, _ = _unwrapped(callee, args, {})
        tree = self.tree(callee)
        if tree is None or callee.__code__ in self._scanned:
            return False
        self._scanned.add(callee.__code__)
        names = Names(_outside(callee))
        given = (*tree.args.posonlyargs, *tree.args.args)
        names.update(zip((each.arg for each in given), args, strict=False))
        callees = [_named(each.func, names) for each in ast.walk(tree) if _is_call(each)]
        if graph.checkpoint in callees:
            return True
        return any(self.has_checkpoints(each, ()) for each in callees)


def _named(node: ast.expr, names: Names) -> Any:
    """What a dotted name stands for, if that is known before anything runs."""
    try:
        if isinstance(node, ast.Name):
            return names[node.id]
        if isinstance(node, ast.Attribute):
            return getattr(_named(node.value, names), node.attr)
    except Exception as error:
        pass_on(error)
        return None
    return None


def _unwrapped(
    callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The function behind a method, a partial or a kernel, and what it is called with."""
    while True:
        if isinstance(callee, types.MethodType):
            callee, args = callee.__func__, (callee.__self__, *args)
        elif isinstance(callee, functools.partial):
            args, kwargs = (*callee.args, *args), {**callee.keywords, **kwargs}
            callee = callee.func
        elif isinstance(getattr(type(callee), "__whorl_function__", None), property):
            callee = callee.__whorl_function__
        else:
            return callee, args, kwargs


class _Codes:
    """Runs expressions and plain statements: their calls go through the walker."""

    def __init__(self) -> None:
        self._codes: dict[tuple[int, str], tuple[ast.AST, types.CodeType]] = {}

    def value(self, node: ast.expr, names: Names) -> Any:
        """What an expression is."""
        return eval(self._code(node, "eval", lambda: ast.Expression(_following(node))), names)

    def execute(self, node: ast.stmt, names: Names) -> None:
        """Run a statement."""
        exec(self._code(node, "exec", lambda: ast.Module([_following(node)], [])), names)

    def assign(self, target: ast.expr, value: Any, names: Names) -> None:
        """Give a target a value."""

        def module() -> ast.Module:
            given = ast.copy_location(ast.Name(_VALUE, ast.Load()), target)
            return ast.Module([_following(ast.Assign([target], given, lineno=1))], [])

        names[_VALUE] = value
        exec(self._code(target, "assign", module), names)
        del names[_VALUE]

    def _code(
        self, node: ast.AST, how: str, make: Callable[[], ast.Expression | ast.Module]
    ) -> types.CodeType:
        known = self._codes.get((id(node), how))
        if known is None:
            tree = ast.fix_missing_locations(make())
            code = compile(tree, "<kernel>", "eval" if how == "eval" else "exec")
            known = self._codes[id(node), how] = (node, code)  # which keeps the id
        return known[1]


def _following(node: ast.AST) -> Any:
    """A copy of a node whose calls go through the walker."""
    return _Calls().visit(copy.deepcopy(node))


class _Caller(abc.ABC):
    """Calls and choices, in each mode; how statements are walked is left to a subclass."""

    def __init__(self, mode: WalkMode) -> None:
        self.sources = _Sources()
        self._codes = _Codes()
        self.mode = mode

    @abc.abstractmethod
    def _block(self, body: list[ast.stmt], names: Names) -> None:
        """Walk statements."""

    def call(self, callee: Any, /, *args: Any, **kwargs: Any) -> Any:
        """What a call returns."""
        callee, args, kwargs = _unwrapped(callee, args, kwargs)
        if self.mode is not WalkMode.RUN and (callee in _ATOMICS or callee is print):
            return None if callee is print else args[0][args[1]]
        if isinstance(callee, _Nested):
            names = Names(callee.names.__getitem__)
            return self._called(callee.node, callee.signature, names, args, kwargs)
        tree = self.sources.tree(callee)
        if tree is None:
            return callee(*args, **kwargs)
        signature = inspect.signature(callee)
        return self._called(tree, signature, Names(_outside(callee)), args, kwargs)

    def _called(
        self,
        tree: ast.FunctionDef | ast.Lambda,
        signature: inspect.Signature,
        names: Names,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        if self.mode is WalkMode.SEEK:
            is_met, value = self._tried(lambda: self._body(tree, names, given.arguments))
            if is_met:
                return value
            with self._as(WalkMode.DRY):
                return self._body(tree, names, given.arguments)
        return self._body(tree, names, given.arguments)

    def _body(self, tree: ast.FunctionDef | ast.Lambda, names: Names, given: dict[str, Any]) -> Any:
        names.clear()
        names.update(given)
        names.update({_CALL: self.call, _CHOOSE: self._choose, _EITHER: self._either})
        if isinstance(tree, ast.Lambda):
            return self._codes.value(tree.body, names)
        try:
            self._block(tree.body, names)
        except _ReturnJump as ended:
            return ended.value
        return None

    # -- choices in expressions ---------------------------------------------------------

    def _choose(self, test: _Thunk, body: _Thunk, orelse: _Thunk) -> Any:
        """`body if test else orelse`; when seeking, whichever has the checkpoint."""
        if self.mode is WalkMode.SEEK:
            for side in (body, orelse):
                is_met, value = self._tried(side)
                if is_met:
                    return value
        return body() if test() else orelse()

    def _either(self, is_or: bool, *sides: _Thunk) -> Any:
        """`a and b`, `a or b`; the same."""
        if self.mode is WalkMode.SEEK:
            for place, side in enumerate(sides):
                is_met, value = self._tried(side)
                if is_met:
                    rest = sides[place + 1 :]
                    return value if bool(value) is is_or or not rest else self._either(is_or, *rest)
        value = None
        for side in sides:
            value = side()
            if bool(value) is is_or:
                break
        return value

    def _tried(self, side: _Thunk) -> tuple[bool, Any]:
        try:
            value = side()
        except Exception as error:
            pass_on(error)
            if self.mode is WalkMode.RUN:
                raise
            return False, None
        return self.mode is WalkMode.RUN, value

    @contextlib.contextmanager
    def _as(self, mode: WalkMode) -> Iterator[None]:
        before, self.mode = self.mode, mode
        try:
            yield
        finally:
            self.mode = before


class _Walker(_Caller):
    """One launch."""

    def __init__(self, use: GraphUse, from_checkpoint: object) -> None:
        super().__init__(WalkMode.RUN if from_checkpoint is _BEGIN else WalkMode.SEEK)
        self._wanted = from_checkpoint
        self.met: list[Any] = []  # the labels that were passed while seeking
        self._memory = {id(_root(array)) for array in use.arrays}
        self._kept = use.arrays

    def _assign(self, target: ast.expr, value: Any, names: Names) -> None:
        """Give a target a value, unless that is memory and only names are to be set."""
        if self.mode is not WalkMode.RUN:
            if isinstance(target, ast.Tuple | ast.List):
                for inner, item in zip(target.elts, value, strict=True):
                    self._assign(inner, item, names)
                return
            if isinstance(target, ast.Subscript) and self._is_memory(target, names):
                return
        self._codes.assign(target, value, names)

    def _is_memory(self, target: ast.Subscript, names: Names) -> bool:
        return not self._is_vector(self._codes.value(target.value, names))

    # -- statements ---------------------------------------------------------------------

    def _block(self, body: list[ast.stmt], names: Names) -> None:
        for statement in body:
            if self.mode is WalkMode.RUN:
                self._statement(statement, names)
            else:
                self._pass_by(statement, names)

    def _pass_by(self, node: ast.stmt, names: Names) -> None:
        """A statement before the checkpoint: names that it cannot work out are forgotten."""
        try:
            self._statement(node, names)
        except _ReturnJump:
            if self.mode is not WalkMode.SEEK:
                raise
        except Exception as error:
            pass_on(error)
            if self.mode is WalkMode.RUN:
                raise
            self._forget([node], names)

    def _forget(self, nodes: list[Any], names: Names) -> None:
        for name in assigned_names(nodes):
            names.pop(name, None)

    def _statement(self, node: ast.stmt, names: Names) -> None:
        match node:
            case ast.Return(value):
                raise _ReturnJump(None if value is None else self._codes.value(value, names))
            case ast.Break():
                if self.mode is not WalkMode.SEEK:
                    raise _BreakJump
            case ast.Continue():
                if self.mode is not WalkMode.SEEK:
                    raise _ContinueJump
            case ast.If():
                self._if(node, names)
            case ast.While():
                self._while(node, names)
            case ast.For():
                self._for(node, names)
            case ast.With():
                self._with(node, names)
            case ast.FunctionDef():
                names[node.name] = _Nested(self, node, names)
            case ast.Assign(targets, value):
                result = self._codes.value(value, names)
                for target in targets:
                    self._assign(target, result, names)
            case ast.AugAssign() if self.mode is not WalkMode.RUN:
                self._augment(node, names)
            case _:
                self._codes.execute(node, names)

    def _augment(self, node: ast.AugAssign, names: Names) -> None:
        """`x += y` before the checkpoint."""
        match node.target:
            case ast.Subscript() as target if self._is_memory(target, names):
                self._codes.value(node.value, names)
            case ast.Name(name) if np.ndim(names[name]) == 0 and isinstance(
                names[name], np.ndarray
            ):
                self._codes.value(node.value, names)
            case _:
                self._codes.execute(node, names)
                return
        if self.mode is WalkMode.RUN:
            raise AssertionError("a kernel that uses an element from before a call is refused")

    # -- branches and loops -------------------------------------------------------------

    def _if(self, node: ast.If, names: Names) -> None:
        if self.mode is WalkMode.SEEK and not self._is_static(node.test, names):
            is_met, test = self._tried(lambda: self._codes.value(node.test, names))
            if is_met:
                self._block(node.body if test else node.orelse, names)
                return
            for body in (node.body, node.orelse):
                if self._enter(body, names):
                    return
            with (
                self._as(WalkMode.DRY),
                contextlib.suppress(_ReturnJump, _BreakJump, _ContinueJump),
            ):
                self._block(
                    node.body if self._codes.value(node.test, names) else node.orelse, names
                )
            return
        self._block(node.body if self._codes.value(node.test, names) else node.orelse, names)

    def _is_static(self, node: ast.expr, names: Names) -> bool:
        return isinstance(node, ast.Call) and self._codes.value(node.func, names) is language.static

    def _enter(self, body: list[ast.stmt], names: Names) -> bool:
        """Look for the checkpoint in a block; if it is there, the rest of the block has run."""
        return self._search(lambda: self._block(body, names), names)

    def _search(self, walk: _Thunk, names: Names) -> bool:
        """The same for anything that is walked; if it is not there, names are as they were."""
        before = dict(names)
        vectors = [(each, each.copy()) for each in before.values() if self._is_vector(each)]
        try:
            walk()
        finally:
            if self.mode is not WalkMode.RUN:
                names.clear()
                names.update(before)
                for vector, content in vectors:
                    vector[...] = content
        return self.mode is WalkMode.RUN

    def _is_vector(self, value: Any) -> bool:
        """Whether a value is a small vector, that lives in the kernel."""
        return isinstance(value, np.ndarray) and id(_root(value)) not in self._memory

    def _while(self, node: ast.While, names: Names) -> None:
        condition = self._condition(node.test, names)
        if self.mode is not WalkMode.RUN:
            is_met, goes_on = self._entered(node, condition, names)
            if not is_met:
                self._forget([node], names)
            if not goes_on:
                return
        elif condition is not None and not self._iteration(node.body, names):
            return
        while self._repeats(node.test, condition, names):
            if not self._iteration(node.body, names):
                return
        self._block(node.orelse, names)

    def _entered(
        self, node: ast.While, condition: ast.expr | None, names: Names
    ) -> tuple[bool, bool]:
        """Whether the checkpoint is in a loop, and whether the loop goes on behind it."""
        if self.mode is not WalkMode.SEEK:
            return False, False
        if condition is None:
            is_met, test = self._tried(lambda: self._codes.value(node.test, names))
            if is_met:
                if not test:
                    self._block(node.orelse, names)
                return True, bool(test) and self._iteration(node.body, names)
        try:
            is_met = self._enter(node.body, names)
        except _BreakJump:
            return True, False
        except _ContinueJump:
            is_met = True
        return is_met, is_met

    def _condition(self, test: ast.expr, names: Names) -> ast.expr | None:
        """The condition of a do_while; None for another loop."""
        if not isinstance(test, ast.Call) or not isinstance(test.func, ast.Name | ast.Attribute):
            return None
        if self._codes.value(test.func, names) is not graph.do_while:
            return None
        return test.args[0] if test.args else test.keywords[0].value

    def _repeats(self, test: ast.expr, condition: ast.expr | None, names: Names) -> bool:
        if condition is None:
            return bool(self._codes.value(test, names))
        return bool(self._codes.value(condition, names)[()] != 0)

    def _iteration(self, body: list[ast.stmt], names: Names) -> bool:
        """Run an iteration; whether there may be another."""
        with contextlib.suppress(_ContinueJump):
            try:
                self._block(body, names)
            except _BreakJump:
                return False
        return True

    def _for(self, node: ast.For, names: Names) -> None:
        if self.mode is not WalkMode.RUN and self._is_counted(node.iter, names):
            self._forget([node], names)
            return
        if self.mode is not WalkMode.SEEK:
            self._iterations(node, names)
        elif not self._search(lambda: self._iterations(node, names), names):
            with self._as(WalkMode.DRY):  # what the iterations set, jumps and all
                self._iterations(node, names)

    def _iterations(self, node: ast.For, names: Names) -> None:
        for item in self._codes.value(node.iter, names):
            self._assign(node.target, item, names)
            if not self._iteration(node.body, names):
                return
        self._block(node.orelse, names)

    def _is_counted(self, node: ast.expr, names: Names) -> bool:
        """Whether a loop is one of the run, and not unrolled."""
        if isinstance(node, ast.Call) and self._codes.value(node.func, names) in (
            range,
            language.prange,
        ):
            return True
        return isinstance(self._codes.value(node, names), np.ndarray)

    # -- with ---------------------------------------------------------------------------

    def _with(self, node: ast.With, names: Names) -> None:
        if len(node.items) > 1:  # one in the other
            inner = ast.With(node.items[1:], node.body, lineno=1, col_offset=0)
            node = ast.With(node.items[:1], [inner], lineno=1, col_offset=0)
        call = node.items[0].context_expr
        function = self._codes.value(call.func, names) if isinstance(call, ast.Call) else None
        if function is graph.checkpoint:
            assert isinstance(call, ast.Call)
            given = {each.arg: each.value for each in call.keywords}
            self._checkpoint(node, given.get("label", *call.args), given.get("yield_on"), names)
        elif function is graph.parallel_context:
            self._block(node.body, names)
        elif function is graph.parallel:
            before = dict(names)
            with contextlib.suppress(_ReturnJump):
                self._block(node.body, names)
            names.clear()
            names.update(before)
        else:
            self._codes.execute(node, names)

    def _checkpoint(
        self, node: ast.With, label: ast.expr, yield_on: ast.expr | None, names: Names
    ) -> None:
        value = self._codes.value(label, names)
        if self.mode is WalkMode.SEEK:
            self.met.append(value)
            if is_same_label(value, self._wanted):
                self.mode = WalkMode.RUN
        flag = None if yield_on is None else self._codes.value(yield_on, names)
        try:
            self._block(node.body, names)
        except (_ReturnJump, _BreakJump, _ContinueJump):
            self._stop(value, flag)
            raise
        self._stop(value, flag)

    def _stop(self, label: Any, flag: Any) -> None:
        if self.mode is WalkMode.RUN and flag is not None and flag[()] != 0:
            raise _Yielded(label)


def _is_call(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call)


def _root(array: Any) -> Any:
    """What owns the memory of an array."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array
