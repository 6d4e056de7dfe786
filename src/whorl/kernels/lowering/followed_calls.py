"""Lowers calls: by a row of a table, or by following the function's body.

Functions and methods are followed where they are called: their code is a read, their body is
lowered in place, and what they read in turn is read by the kernel.
"""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Mapping, Sequence
from typing import Any, Final

from whorl.errors import NotStatic, WhorlError
from whorl.fast_dataclasses import replace
from whorl.kernels import graph_names as graph
from whorl.kernels import ir, language
from whorl.kernels.function_source import Source, library_source, source_tree
from whorl.launch.launched_kernel import BoundKernel
from whorl.reads import CodeView
from whorl.reads.c_pointers import is_c_function
from whorl.reads.evaluate import Evaluator
from whorl.reads.library import own_name
from whorl.reads.view import AbsentRead, View
from whorl.reads.world import function_behind, is_callable_object

from .alternatives import instead_of_call, instead_of_making, is_numpys, why_not_followed
from .annotated_types import declared_result, parameter
from .array_expressions import is_array
from .attributes import attribute_of
from .c_calls import call_pointer
from .data_classes import is_data_class, is_instance, make_instance
from .expressions import errors_at, expression, operands_of, parts, snapshot, starred
from .frame import Frame, Jump, outliving, place_of
from .functions import ARRAY_METHODS, GRAPH, METHODS, NUMBER_METHODS, handler_of, known_function
from .graphs import note_checkpoints
from .iterables import ITERATORS, iteration
from .joins import merge
from .known_calls import Handler, KnownCall
from .named_tuples import is_named_tuple, make_named_tuple
from .operands import (
    ArrayOf,
    Closure,
    Items,
    Known,
    Named,
    Operand,
    Unset,
    Vec,
    ViewOperand,
    describe,
)
from .random_streams import stream_method
from .recursion import call_recursively
from .run_values import is_scalar
from .statements import block
from .subroutines import outlined
from .ufunc_methods import ufunc_method
from .vector_calls import OWN_METHODS

__all__ = ["arguments_of", "call", "follow", "run_body"]

DEEPEST: Final = 60  # calls in calls
_RESULT: Final = "return"  # no name that a program can have


def call(frame: Frame, node: ast.Call) -> Operand:
    """What a call returns."""
    if isinstance(node.func, ast.Attribute):
        owner = expression(frame, node.func.value)
        method = _method(owner, node.func.attr)
        if method is not None:
            with errors_at(frame, node):
                (first, *positional), named = arguments_of(frame, node, [owner])
                return method(KnownCall(frame, node, [first, *positional], named))
        if is_instance(owner) and node.func.attr not in owner.cls.__match_args__:
            return _follow_own_method(frame, node, owner)
        with errors_at(frame, node.func):
            callee = attribute_of(frame, node.func, owner)
    else:
        callee = expression(frame, node.func)
    function = known_function(callee)
    if function is language.static:
        return _static(frame, node)
    if function in GRAPH:
        what = "test of a while" if function is graph.do_while else "with statement"
        frame.refuse(
            node,
            f"{ast.unparse(node.func)} is the whole {what}, and no value",
            "Write `while whorl.graph.do_while(condition):` and nothing beside it."
            if function is graph.do_while
            else "",
        )
    if isinstance(callee, Closure):
        return _follow_closure(frame, node, callee)
    if own_name(function) in ITERATORS:
        return iteration(frame, node, str(own_name(function)))
    if function is not None:
        handler = handler_of(function)
        if handler is not None:
            known = KnownCall(frame, node, *arguments_of(frame, node))
            try:
                return handler(known)
            except WhorlError:
                raise
            except (ArithmeticError, TypeError, ValueError) as error:  # of what is known now
                frame.refuse(node, f"this raises {type(error).__name__}: {error}")
    if isinstance(callee, ViewOperand):
        if is_c_function(callee.view.peek()):
            if node.keywords:
                frame.refuse(node, "parameters of C have no names", "Pass the arguments by place.")
            return call_pointer(frame, node, callee, arguments_of(frame, node)[0])
        return _follow_place(frame, node, callee)
    frame.refuse(node, f"{describe(callee)} cannot be called in a kernel")


def arguments_of(
    frame: Frame, node: ast.Call, first: Sequence[Operand] = ()
) -> tuple[list[Operand], dict[str, Operand]]:
    """The arguments of a call, stars written out, after the first ones."""
    nodes = [arg.value if isinstance(arg, ast.Starred) else arg for arg in node.args]
    every = operands_of(frame, [*nodes, *(keyword.value for keyword in node.keywords)], first)
    positional, operands = every[: len(first)], every[len(first) :]
    for argument, operand in zip(node.args, operands, strict=False):
        if isinstance(argument, ast.Starred):
            positional.extend(starred(frame, argument, operand))
        else:
            positional.append(operand)
    named: dict[str, Operand] = {}
    for keyword, operand in zip(node.keywords, operands[len(nodes) :], strict=True):
        if keyword.arg is not None:
            given: Mapping[str, Operand] = {keyword.arg: operand}
        elif isinstance(operand, Named):
            given = operand.items
        else:
            frame.refuse(node, "**arguments in a call", "Write the keywords out.")
        for name, item in given.items():
            if name in named:
                frame.refuse(node, f"two values for the parameter {name!r}")
            named[name] = item
    return positional, named


# -- static -----------------------------------------------------------------------------


def _static(frame: Frame, node: ast.Call) -> Operand:
    """`static(...)`: evaluated now, over views; what it reads is read by value."""
    if len(node.args) != 1 or node.keywords:
        frame.refuse(node, "whorl.static takes one expression")
    names: dict[str, Any] = {}
    for scope in frame.scopes:
        for name, operand in scope.names.items():
            if name not in names:
                names[name] = _static_name(operand)
    for used in ast.walk(node.args[0]):
        if isinstance(used, ast.Name) and isinstance(names.get(used.id), _RunValue):
            frame.refuse(
                used,
                f"{used.id!r} is a value of the run ({names[used.id].words}); "
                "static needs what is known at compile time",
                "Use a parameter, a member, a global, or a loop over whorl.static(range(...)).",
            )
    known = {name: value for name, value in names.items() if not isinstance(value, _RunValue)}
    try:
        found = Evaluator(frame.code, known).value(node.args[0])
    except NotStatic as error:
        raise frame.source.error(
            node, f"{error.what} cannot be evaluated at compile time: {error.reason}",
            "Compute it outside and pass the result in as an argument, a member or a global.",
        ) from error  # fmt: skip
    except AbsentRead as error:
        raise frame.source.error(node, str(error)) from error
    return Known(found)


class _RunValue:
    """Stands for a name whose value belongs to the run."""

    def __init__(self, words: str) -> None:
        self.words = words


def _static_name(operand: Operand) -> Any:
    match operand:
        case Known(value):
            return value
        case ViewOperand(view):
            return view
        case ArrayOf(view=View() as view):
            return view
        case Items(items):
            values = tuple(map(_static_name, items))
            return (
                _RunValue("a tuple")
                if any(isinstance(item, _RunValue) for item in values)
                else values
            )
    return _RunValue(describe(operand))


# -- methods of arrays and vectors ------------------------------------------------------


def _method(owner: Operand, name: str) -> Handler | None:
    """A method of an array, a vector, a number, or an object of NumPy's; None for all else."""
    if isinstance(owner, Vec) and name in METHODS:
        return METHODS[name]
    if name in ARRAY_METHODS and (isinstance(owner, Vec) or is_array(owner)):
        return ARRAY_METHODS[name]
    if name in OWN_METHODS and is_array(owner):  # a row that is read as a vector
        return OWN_METHODS[name]
    if name in NUMBER_METHODS and is_scalar(owner):
        return NUMBER_METHODS[name]
    return ufunc_method(owner, name) or stream_method(owner, name)


# -- following --------------------------------------------------------------------------


def _follow_place(frame: Frame, node: ast.Call, callee: ViewOperand) -> Operand:
    value = callee.view.peek()
    if is_named_tuple(value):
        return make_named_tuple(frame, node, callee, *arguments_of(frame, node))
    if is_data_class(value):
        return make_instance(frame, node, callee, *arguments_of(frame, node))
    if isinstance(value, type):
        frame.refuse(
            node,
            f"{value.__name__} objects are not made in a kernel",
            instead_of_making(node, value),
        )
    if not callable(value):
        frame.refuse(node, f"{describe(callee)} cannot be called")
    behind = function_behind(value)
    if not isinstance(behind, types.FunctionType) or is_numpys(behind):
        if is_callable_object(value):
            return _follow_place(frame, node, callee.then(callee.view.attr("__call__")))
        frame.refuse(
            node,
            f"{ast.unparse(node.func)} {why_not_followed(value)}",
            instead_of_call(node, value),
        )
    positional, named = arguments_of(frame, node)
    code = callee.view.code()
    positional, named = _unwrapped(frame, node, callee, behind, positional, named)
    return inline(frame, node, code, behind, positional, named)


def _follow_own_method(frame: Frame, node: ast.Call, owner: Items) -> Operand:
    """A method of an instance that was made in the kernel."""
    assert isinstance(node.func, ast.Attribute)
    with errors_at(frame, node.func):
        method = attribute_of(frame, node.func, owner)
    if not isinstance(method, ViewOperand) or not isinstance(
        vars(owner.cls).get(node.func.attr), types.FunctionType
    ):
        frame.refuse(
            node,
            f"{ast.unparse(node.func)} is no plain method of {owner.cls.__name__}",
            "Define it with def in the class itself.",
        )
    arguments = arguments_of(frame, node, [owner])
    return inline(frame, node, method.view.code(), method.view.peek(), *arguments)


def _unwrapped(
    frame: Frame,
    node: ast.Call,
    callee: ViewOperand,
    behind: types.FunctionType,
    positional: list[Operand],
    named: dict[str, Operand],
) -> tuple[list[Operand], dict[str, Operand]]:
    """The arguments with those that partials and bound methods add, from the outside in."""
    layer, inner = callee, callee.view.peek()
    while inner is not behind:
        if isinstance(inner, BoundKernel):
            positional = [_owner(frame, node, layer), *positional]
            break
        if isinstance(inner, functools.partial):
            given = layer.then(layer.view.attr("args"))
            positional = [*parts(frame, node, given), *positional]
            keywords = layer.then(layer.view.attr("keywords"))
            for key in keywords.view:  # which ones there are is a fact
                name = key.value()
                named.setdefault(name, keywords.then(keywords.view.item(name)))
            layer, inner = layer.then(layer.view.attr("func")), inner.func
        elif isinstance(inner, types.MethodType):
            positional = [_owner(frame, node, layer), *positional]
            layer, inner = layer.then(layer.view.attr("__func__")), inner.__func__
        elif getattr(inner, "__whorl_function__", None) is behind:
            break
        elif isinstance(inner, staticmethod | classmethod):
            layer, inner = layer.then(layer.view.attr("__func__")), inner.__func__
        elif getattr(inner, "__wrapped__", None) is not None:
            frame.refuse(
                node,
                f"{ast.unparse(node.func)} is wrapped by a {type(inner).__name__}",
                "Call the function that is wrapped.",
            )
        else:
            frame.refuse(node, f"a {type(inner).__name__} cannot be followed")
    return positional, named


def _owner(frame: Frame, node: ast.Call, method: ViewOperand) -> Operand:
    """The object of a bound method: by the shorter path, if it is the one that was written."""
    if isinstance(node.func, ast.Attribute) and isinstance(
        node.func.value, ast.Name | ast.Attribute
    ):
        written = expression(frame, node.func.value)
        if isinstance(written, ViewOperand) and written.view.peek() is method.view.peek().__self__:
            written.view.alias(method.view.attr("__self__"))  # that it is the same is a fact
            return written
    return method.then(method.view.attr("__self__"))


def _follow_closure(frame: Frame, node: ast.Call, callee: Closure) -> Operand:
    positional, named = arguments_of(frame, node)
    _check_depth(frame, node)
    if any(caller.source.tree is callee.node for caller in frame.callers):
        frame.refuse(
            node,
            f"{ast.unparse(node.func)} calls itself, and is defined inside of the kernel",
            "Define it outside, and pass what it uses as arguments.",
        )
    outer = callee.scope
    assert isinstance(outer, Frame)
    source = replace(outer.source, tree=callee.node, called_from=(frame.line(node),))
    path = (*frame.path, *place_of(node))
    inner = Frame(frame.lowering, outer.code, source, {}, frame, outer, path)
    names = _bound(frame, node, callee.node, positional, named, callee.defaults)
    inner.names.update(_annotated(inner, callee.node, names))
    return run_body(frame, node, inner)


def inline(
    frame: Frame,
    node: ast.Call,
    code: CodeView,
    function: types.FunctionType,
    positional: list[Operand],
    named: dict[str, Operand],
) -> Operand:
    """The body of a function, lowered in place."""
    if function.__code__.co_flags & (0x20 | 0x80 | 0x200):
        frame.refuse(node, f"{function.__qualname__} is a generator or coroutine")
    refusal = language.refusal_of(function)
    if refusal is not None:
        frame.refuse(node, f"{function.__qualname__} {refusal[0]}", refusal[1])
    if frame.source.caller is not None:  # of the library, and so is what it calls
        source = library_source(function, frame.source, node)
    else:
        source = source_tree(function, (frame.line(node), *frame.source.called_from))
    return follow(frame, node, code, source, positional, named, code)


def follow(
    frame: Frame,
    node: ast.Call,
    code: CodeView,
    source: Source,
    positional: list[Operand],
    named: dict[str, Operand],
    defaults: CodeView | Mapping[str, Operand],
) -> Operand:
    """The body of a function whose source is there, lowered in place."""
    _check_depth(frame, node)
    inner = Frame(frame.lowering, code, source, {}, frame, None, (*frame.path, *place_of(node)))
    names = _bound(frame, node, source.tree, positional, named, defaults)
    names = _annotated(inner, source.tree, names)
    if any(caller.code.function is code.function for caller in frame.callers):
        return call_recursively(
            frame, node, names,
            lambda names: Frame(frame.lowering, code, source, names, frame, None, (-1,)),
            lambda inner: run_body(frame, node, inner),
            declared_result(inner),
        )  # fmt: skip
    result = outlined(frame, inner, names, lambda: run_body(frame, node, inner))
    if result is not None:
        return result
    inner = Frame(frame.lowering, code, source, names, frame, None, inner.path_of_call)
    if frame.lowering.is_result(node):
        inner.return_results()
    return run_body(frame, node, inner)


def _annotated(
    inner: Frame, tree: ast.FunctionDef | ast.Lambda, names: dict[str, Operand]
) -> dict[str, Operand]:
    every = (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)
    return names | {
        argument.arg: parameter(inner, argument, names[argument.arg])
        for argument in every
        if argument.annotation is not None
    }


def _check_depth(frame: Frame, node: ast.Call) -> None:
    if len(list(frame.callers)) > DEEPEST:
        frame.refuse(node, f"more than {DEEPEST} calls inside of each other")


def run_body(frame: Frame, node: ast.AST, inner: Frame) -> Operand:
    """Lower a function's body, and bring its returns together."""
    lowering, tree = frame.lowering, inner.source.tree
    note_checkpoints(inner)
    if isinstance(tree, ast.Lambda):
        return snapshot(inner, expression(inner, tree.body))
    written: ir.Block = []
    with lowering.writing(written):
        has_ended = inner.has_ended = block(inner, tree.body)
    frame.at(frame.statement)
    if not inner.returns:
        lowering.block.extend(written)
        return Known(None)
    for jump in inner.returns:
        if jump.value is not None:
            jump.value = outliving(jump.value, inner, jump.names)
    only = inner.returns[0]
    if len(inner.returns) == 1 and has_ended and only.block is written:
        written.pop()  # it is at the end anyway
        lowering.block.extend(written)
        assert only.value is not None
        return only.value
    jumps = [Jump(jump.block, {_RESULT: jump.value or Known(None)}) for jump in inner.returns]
    if not has_ended:
        jumps.append(Jump(written, {_RESULT: Known(None)}))
    lowering.emit(ir.Region(inner.leave, written))
    result = merge(frame, {}, jumps, frame.names)[_RESULT]
    if isinstance(result, Unset):
        frame.refuse(node, f"what is returned {result.reason}", result.remedy)
    return result


def _bound(
    frame: Frame,
    node: ast.AST,
    tree: ast.FunctionDef | ast.Lambda,
    positional: list[Operand],
    named: dict[str, Operand],
    defaults: CodeView | Mapping[str, Operand],
) -> dict[str, Operand]:
    """Parameters and what they are called with."""
    arguments = tree.args
    places = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    names: dict[str, Operand] = dict(zip(places, positional, strict=False))
    rest = positional[len(places) :]
    if arguments.vararg is not None:
        names[arguments.vararg.arg] = Items(tuple(rest))
    elif rest:
        frame.refuse(node, f"{len(positional)} arguments for {len(places)} parameters")
    wanted = [*places, *(argument.arg for argument in arguments.kwonlyargs)]
    by_place = {argument.arg for argument in arguments.posonlyargs}
    more: dict[str, Operand] = {}
    for name, operand in named.items():
        if arguments.kwarg is not None and (name in by_place or name not in wanted):
            more[name] = operand
            continue
        if name in by_place:
            frame.refuse(node, f"the parameter {name!r} is given by its place, not by its name")
        if name not in wanted:
            has = f"There are {', '.join(wanted)}." if wanted else "There are none."
            frame.refuse(node, f"there is no parameter {name!r}", has)
        if name in names:
            frame.refuse(node, f"two values for the parameter {name!r}")
        names[name] = operand
    for name in wanted:
        if name not in names:
            names[name] = _default(frame, node, name, defaults)
    if arguments.kwarg is not None:
        names[arguments.kwarg.arg] = Named(more)
    # What an element holds at the call is what the function gets, whatever it then does to it.
    return {name: snapshot(frame, operand) for name, operand in names.items()}


def _default(
    frame: Frame, node: ast.AST, name: str, defaults: CodeView | Mapping[str, Operand]
) -> Operand:
    try:
        if isinstance(defaults, Mapping):
            return defaults[name]
        return frame.place(defaults.default(name))
    except (AbsentRead, KeyError):
        frame.refuse(node, f"there is no argument for the parameter {name!r}")
