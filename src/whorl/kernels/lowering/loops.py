"""Lowers Python's loops.

A name that an iteration changes becomes a variable. Its type is found by trying: the body is
lowered with the types before the loop, and if an iteration ends with wider ones, again with those.
A loop over things that are known at compile time is unrolled.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from whorl.fast_dataclasses import dataclass, field
from whorl.kernels import graph_names as graph
from whorl.kernels import ir
from whorl.kernels.function_source import assigned_names
from whorl.kernels.ir_walk import allocates
from whorl.kernels.types import WEAK_BOOL, WEAK_INT
from whorl.reads.library import own_name

from .arithmetic import cast, compare, scalar_type, truth
from .array_memory import owners_in
from .expressions import condition, expression, number_at, operands_of, parts, resolved, snapshot
from .frame import Frame, Jump, Loop, place_of
from .functions import known_function
from .graphs import flag_at, loops_around
from .joins import (
    Apart,
    Itself,
    OneScalar,
    Template,
    all_at_once,
    merge,
    new_variable,
    settings,
    template_of,
)
from .joins import join as join_operands
from .operands import ArrayOf, Items, Known, Operand, Unset, Value, describe
from .run_values import is_scalar, resolve
from .sharing import copied, vectors_in
from .statements import assign, block
from .subscripts import array_part, fail_unless

__all__ = ["count_up", "for_loop", "while_loop"]


@dataclass(slots=True)
class LoopBody:
    """The lowered body of a loop: its block, the names at its head, the jumps out of it."""

    body: ir.Block
    loop: Loop
    heads: dict[str, Operand]
    backs: list[Jump]  # from the end of an iteration to the next
    after: dict[str, Operand] = field(default_factory=dict)


def for_loop(frame: Frame, node: ast.For) -> bool:
    """`for target in iterable`."""
    if isinstance(node.iter, ast.Call):
        function = known_function(expression(frame, node.iter.func))
        name = own_name(function)
        if name in ("builtins.range", "whorl.prange"):
            return _counted(frame, node, is_parallel=name == "whorl.prange")
        if name == "builtins.enumerate":
            return _enumerated(frame, node)
        if name == "builtins.zip" and node.iter.args and not node.iter.keywords:
            return _zipped(frame, node)
    operand = snapshot(frame, resolved(frame, node.iter))
    if isinstance(operand, ArrayOf):
        return _over_arrays(frame, node, [operand], lambda items, count: items[0])
    return _unrolled(frame, node, parts(frame, node.iter, operand))


# -- counted loops ----------------------------------------------------------------------


def _range(frame: Frame, call: ast.Call) -> tuple[ir.Expr, ir.Expr, ir.Expr]:
    if call.keywords or not 1 <= len(call.args) <= 3:
        frame.refuse(call, "range takes one to three ints")
    exprs = []
    for argument, operand in zip(call.args, operands_of(frame, call.args), strict=True):
        if not is_scalar(operand) or scalar_type(number_at(frame, argument, operand)).is_float:
            frame.refuse(argument, "range takes ints", "Convert it with int(...).")
        exprs.append(frame.lowering.keep(cast(number_at(frame, argument, operand), WEAK_INT)))
    if len(exprs) == 1:
        return ir.ZERO, exprs[0], ir.ONE
    start, stop = exprs[:2]
    step = exprs[2] if len(exprs) == 3 else ir.ONE
    if isinstance(step, ir.Const) and step.value == 0:
        frame.refuse(call, "the step of a range is not zero")
    if not isinstance(step, ir.Const):
        site = frame.check(call, "ValueError", "the step of a range is zero")
        fail_unless(frame, compare("ne", step, ir.ZERO), site)
    return start, stop, step


def _counted(frame: Frame, node: ast.For, *, is_parallel: bool) -> bool:
    assert isinstance(node.iter, ast.Call)
    bounds = _range(frame, node.iter)
    if is_parallel and frame.lowering.parallel_depth == 0:
        return _parallel(frame, node, bounds)
    return count_up(frame, node, bounds, Value)


def count_up(
    frame: Frame,
    node: ast.For,
    bounds: tuple[ir.Expr, ir.Expr, ir.Expr],
    item: Callable[[ir.Expr], Operand],
) -> bool:
    """A loop over numbers; `item` is what each becomes for the body."""
    label = frame.lowering.label("for")
    name = node.target.id if isinstance(node.target, ast.Name) else "i"
    count = ir.Local(name, WEAK_INT)

    def body(loop: Loop) -> bool:
        assign(frame, node.target, item(ir.Get(count)))
        return block(frame, node.body)

    assigned = assigned_names([node.target, *node.body])
    lowered = _stable(frame, node, assigned, label, body)
    frame.lowering.emit(ir.For(label, count, *bounds, lowered.body))
    return _after(frame, lowered, node.orelse)


def _over_arrays(
    frame: Frame,
    node: ast.For,
    operands: list[Operand],
    item: Callable[[list[Operand], ir.Expr], Operand],
) -> bool:
    """A loop over the first axes of arrays."""
    stop: ir.Expr | None = None
    for operand in operands:
        if not isinstance(operand, ArrayOf) or operand.array.type.ndim == 0:
            frame.refuse(node.iter, "only arrays can be looped over here")
        extent = operand.array.extents[0]
        stop = extent if stop is None else ir.Op("min", WEAK_INT, (stop, extent))
    assert stop is not None

    def made(count: ir.Expr) -> Operand:
        items: list[Operand] = []
        for operand in operands:
            assert isinstance(operand, ArrayOf)
            part = array_part(frame, node, operand.array, [Value(count)])
            items.append(snapshot(frame, part))
        return item(items, count)

    return count_up(frame, node, (ir.ZERO, frame.lowering.keep(stop), ir.ONE), made)


def _enumerated(frame: Frame, node: ast.For) -> bool:
    assert isinstance(node.iter, ast.Call)
    starts = [keyword.value for keyword in node.iter.keywords if keyword.arg == "start"]
    nodes = [*node.iter.args, *starts]
    if len(nodes) not in (1, 2) or len(starts) != len(node.iter.keywords) or not node.iter.args:
        frame.refuse(node.iter, "enumerate takes what is counted, and where to start")
    operands = [snapshot(frame, resolve(operand)) for operand in operands_of(frame, nodes)]
    begin = operands[1] if len(operands) > 1 else Known(0)
    if not is_scalar(begin) or not scalar_type(number_at(frame, nodes[-1], begin)).is_integer:
        frame.refuse(nodes[-1], f"enumerate starts with an int, not {describe(begin)}")
    if isinstance(operands[0], ArrayOf):
        first = cast(number_at(frame, node.iter, begin), WEAK_INT)

        def pair(items: list[Operand], count: ir.Expr) -> Operand:
            number = ir.Op("add", WEAK_INT, (count, first))
            return Items((Value(frame.lowering.keep(number)), items[0]))

        return _over_arrays(frame, node, operands[:1], pair)
    if not isinstance(begin, Known):
        frame.refuse(node.iter, "enumerate begins with an int that is known at compile time")
    items = parts(frame, node.iter, operands[0])
    pairs = [Items((Known(begin.value + i), item)) for i, item in enumerate(items)]
    return _unrolled(frame, node, list(pairs))


def _zipped(frame: Frame, node: ast.For) -> bool:
    assert isinstance(node.iter, ast.Call)
    operands = [snapshot(frame, resolve(each)) for each in operands_of(frame, node.iter.args)]
    if any(isinstance(operand, ArrayOf) for operand in operands):
        return _over_arrays(frame, node, operands, lambda items, count: Items(tuple(items)))
    columns = [parts(frame, node.iter, operand) for operand in operands]
    return _unrolled(frame, node, [Items(row) for row in zip(*columns, strict=False)])


# -- until the types are stable ---------------------------------------------------------


def _stable(
    frame: Frame,
    node: ast.stmt,
    assigned: set[str],
    label: str,
    body: Callable[[Loop], bool],
    *,
    kind: str = "for",
    test: Callable[[], ir.Block] = list,
) -> LoopBody:
    """Lower the body until every name has the type at its head that it has at its end."""
    lowering, before = frame.lowering, frame.names
    key = (*frame.path, *place_of(node))
    known = lowering.guesses.setdefault(key, {})
    templates: dict[str, Template] = {}
    for name in sorted(assigned & before.keys()):
        templates[name] = _first_template(before[name], known.get(name))
    returns = len(frame.returns)
    while True:
        del frame.returns[returns:]  # of the try before
        heads = {name: new_variable(template, name) for name, template in templates.items()}
        frame.names = {**before, **heads}
        _note_copies(frame, heads, before)
        leave = lowering.label("leave")
        loop = Loop(leave, label, is_parallel=kind == "prange", kind=kind)
        frame.loops.append(loop)
        written: ir.Block = []
        with lowering.writing(written):
            has_ended = body(loop)
        frame.loops.pop()
        backs = loop.continues + ([] if has_ended else [Jump(written, frame.names)])
        wider = {
            name: _widened(template, before[name], [jump.names[name] for jump in backs])
            for name, template in templates.items()
        }
        if wider == templates:
            break
        templates = wider
    known.update(templates)
    ends_iteration: list[ir.Stmt] = []
    if allocates(written) or allocates(test()):
        since = ir.Local("since", WEAK_INT)
        ends_iteration.append(ir.Sweep(since, tuple(owners_in(heads.values()))))
        if kind == "prange":  # each iteration has its own
            written.insert(0, ir.Mark(since))
        else:
            lowering.emit(ir.Mark(since))
    for jump in backs:
        pairs = [pair for name, head in heads.items() for pair in _settings(head, jump.names[name])]
        jump.set(*all_at_once(pairs), *ends_iteration)
        ends = {name: jump.names[name] for name in before}
        _note_copies(frame, heads, ends, loop.leave)
    begin = [pair for name, head in heads.items() for pair in _settings(head, before[name])]
    for statement in all_at_once(begin):
        lowering.emit(statement)
    after = {**before, **heads}
    for name in assigned - before.keys():
        after[name] = Unset("has a value only if the loop before has an iteration")
    return LoopBody(written, loop, heads, backs, after=after)


def _note_copies(
    frame: Frame, heads: dict[str, Operand], names: dict[str, Operand], *labels: str
) -> None:
    """Take note of the vectors that the heads of a loop are copies of."""
    for name, head in heads.items():
        others = (operand for other, operand in names.items() if other != name)
        copied(frame, head, names[name], others, *labels)


def _settings(head: Operand, operand: Operand) -> Any:
    return [] if isinstance(head, Unset) else settings(head, operand)


def _first_template(operand: Operand, known: Any) -> Template:
    """What a name is at the head of a loop, for a first try: a number will change its value."""
    first = template_of(operand) if is_scalar(operand) else Itself(operand)
    if isinstance(known, OneScalar) and isinstance(first, OneScalar):
        return _widened(first, operand, [new_variable(known, "known")])
    return first


def _widened(template: Template, first: Operand, operands: list[Operand]) -> Template:
    for operand in operands:
        if isinstance(operand, Unset):
            return Itself(operand)
    if isinstance(template, Itself):
        if isinstance(template.operand, Unset):
            return template
        try:
            return join_operands([first, *operands])
        except Apart as error:
            return Itself(Unset(str(error), error.remedy))
    try:
        return join_operands([new_variable(template, "head"), first, *operands])
    except Apart as error:
        return Itself(Unset(str(error), error.remedy))


def _after(frame: Frame, lowered: LoopBody, orelse: list[ast.stmt]) -> bool:
    """What follows a loop whose statement was just written: its `else`, and its breaks."""
    lowering, loop = frame.lowering, lowered.loop
    frame.names = dict(lowered.after)
    if not loop.breaks:
        return block(frame, orelse)
    inner: ir.Block = [lowering.block.pop()]
    jumps = list(loop.breaks)
    with lowering.writing(inner):
        if not block(frame, orelse):
            jumps.append(Jump(inner, frame.names))
    lowering.emit(ir.Region(loop.leave, inner))
    frame.names = merge(frame, lowered.after, jumps)
    return False


# -- while ------------------------------------------------------------------------------


def while_loop(frame: Frame, node: ast.While) -> bool:
    """`while test`."""
    if isinstance(node.test, ast.Call) and isinstance(node.test.func, ast.Name | ast.Attribute):
        function = known_function(expression(frame, node.test.func))
        if function is graph.do_while:
            return _do_while(frame, node, node.test)
    lowering = frame.lowering
    label = lowering.label("while")
    test_of_loop: dict[str, Any] = {}

    def body(loop: Loop) -> bool:
        before: ir.Block = []
        with lowering.writing(before):
            test = condition(frame, node.test)
        test_of_loop.update(before=before, test=test, names=dict(frame.names))
        if isinstance(test, Known) and not test.value:
            return True
        return block(frame, node.body)

    names_before = frame.names
    probe = _known_test(frame, node)
    if probe is not None and not probe:
        frame.names = names_before
        return block(frame, node.orelse)
    assigned = assigned_names([node.test, *node.body])
    lowered = _stable(
        frame, node, assigned, label, body, kind="while", test=lambda: test_of_loop["before"]
    )
    test = test_of_loop["test"]
    if isinstance(test, Known) and not test.value:  # there is no iteration, only the test
        lowering.block.extend(test_of_loop["before"])
        frame.names = {**lowered.after, **test_of_loop["names"]}
        return block(frame, node.orelse)
    is_endless = isinstance(test, Known)
    expr = ir.Const(WEAK_BOOL, True) if isinstance(test, Known) else test
    lowering.emit(ir.While(label, test_of_loop["before"], expr, lowered.body))
    if not is_endless:
        lowered.after = {**lowered.after, **test_of_loop["names"]}  # the test has run in any case
        return _after(frame, lowered, node.orelse)
    if not lowered.loop.breaks:
        return True
    inner: ir.Block = [lowering.block.pop()]
    lowering.emit(ir.Region(lowered.loop.leave, inner))
    frame.names = merge(frame, lowered.after, lowered.loop.breaks)
    return False


def _do_while(frame: Frame, node: ast.While, call: ast.Call) -> bool:
    """`while whorl.graph.do_while(condition)`."""
    lowering = frame.lowering
    given = [*call.args, *(each.value for each in call.keywords if each.arg == "condition")]
    if len(given) != 1 or len(call.args) + len(call.keywords) != 1:
        frame.refuse(call, f"{ast.unparse(call.func)} takes one condition")
    if any(loop.kind == "prange" for loop in loops_around(frame)):
        frame.refuse(
            call,
            "do_while inside of prange: all iterations would share its condition",
            "Write a plain while, or put the prange into the loop.",
        )
    label = lowering.label("do")
    test_of_loop: dict[str, Any] = {}

    def body(loop: Loop) -> bool:
        before: ir.Block = []
        with lowering.writing(before):
            flag = flag_at(frame, given[0], "the condition of do_while")
        test_of_loop.update(before=before, test=truth(flag))
        return block(frame, node.body)

    assigned = assigned_names([call, *node.body])
    lowered = _stable(frame, node, assigned, label, body, kind="while")
    lowering.emit(
        ir.While(label, test_of_loop["before"], test_of_loop["test"], lowered.body, is_sure=True)
    )
    if len(lowered.backs) == 1:  # the first iteration has set it
        for name in assigned & lowered.backs[0].names.keys() - lowered.heads.keys():
            lowered.after[name] = lowered.backs[0].names[name]
    return _after(frame, lowered, node.orelse)


def _known_test(frame: Frame, node: ast.While) -> bool | None:
    """Whether the test is a literal, so that the loop is endless or nothing."""
    return bool(node.test.value) if isinstance(node.test, ast.Constant) else None


# -- written out ------------------------------------------------------------------------


def _unrolled(frame: Frame, node: ast.For, items: list[Operand]) -> bool:
    """A loop over known things: its iterations one after the other."""
    lowering = frame.lowering
    leave = lowering.label("leave")
    breaks: list[Jump] = []
    everything: ir.Block = []
    has_ended = False
    with lowering.writing(everything):
        for number, item in enumerate(items):
            loop = Loop(leave, lowering.label("iteration"), is_unrolled=True, kind="unrolled")
            frame.loops.append(loop)
            frame.path.append(~number)  # no line of a call is negative
            written: ir.Block = []
            with lowering.writing(written):
                assign(frame, node.target, item)
                has_ended = block(frame, node.body)
            frame.path.pop()
            frame.loops.pop()
            breaks += loop.breaks
            # The block stays the same list: jumps in it are completed where they come out.
            lowering.emit(ir.Region(loop.next, written))
            backs = loop.continues + ([] if has_ended else [Jump(written, frame.names)])
            frame.names = merge(frame, frame.names, backs)
            has_ended = not backs
            if has_ended:
                break
        if not has_ended:
            has_ended = block(frame, node.orelse)
    lowering.emit(ir.Region(leave, everything))
    jumps = breaks + ([] if has_ended else [Jump(everything, frame.names)])
    frame.names = merge(frame, frame.names, jumps)
    return not jumps


# -- parallel ---------------------------------------------------------------------------


def _parallel(frame: Frame, node: ast.For, bounds: tuple[ir.Expr, ir.Expr, ir.Expr]) -> bool:
    """Iterations that may run at the same time: each has its own names, except for reductions."""
    if node.orelse:
        frame.refuse(node, "prange with else", "Write the statements after the loop.")
    lowering = frame.lowering
    assigned = assigned_names([node.target, *node.body])
    assigned -= _changed_in_place(frame, node, assigned & frame.names.keys())
    reductions = _reductions(frame, node, assigned & frame.names.keys())
    before = dict(frame.names)
    outside = lowering.outside
    lowering.outside = outside | set(vectors_in(before.values()))
    own = Unset(
        "is set inside of prange, where every iteration has its own",
        "A sum (s += x; also *=, min, max) that is not read in the loop comes out whole; keep "
        "anything else in an array, an element for each iteration.",
    )
    for name in assigned - reductions.keys():
        frame.names[name] = own
    for name, how in reductions.items():
        if not is_scalar(frame.names[name]):
            frame.refuse(node, f"{name!r} is {how}-ed up in prange, and is no number")
    label = lowering.label("prange")
    count = ir.Local(node.target.id if isinstance(node.target, ast.Name) else "i", WEAK_INT)

    def body(loop: Loop) -> bool:
        assign(frame, node.target, Value(ir.Get(count)))
        return block(frame, node.body)

    lowering.parallel_depth += 1
    lowering.is_in_prange = True
    frame.reduced = frozenset(reductions)
    try:
        lowered = _stable(frame, node, set(reductions), label, body, kind="prange")
    finally:
        lowering.parallel_depth -= 1
        lowering.is_in_prange = False
        lowering.outside = outside
        frame.reduced = frozenset()
    results = []
    for name, how in reductions.items():
        head = lowered.heads[name]
        assert isinstance(head, Value)
        assert isinstance(head.expr, ir.Get)
        results.append(ir.Reduction(how, head.expr.local))
    inner: ir.Block = [ir.Region(label, lowered.body)]
    lowering.emit(ir.Parallel(label, count, *bounds, inner, tuple(results)))
    frame.names = {**before, **lowered.heads}
    for name in assigned - reductions.keys():
        frame.names[name] = own
    return False


def _changed_in_place(frame: Frame, node: ast.For, names: set[str]) -> set[str]:
    """The names of arrays without dimensions to which the body does nothing but `x += ...`."""
    nodes = [each for part in node.body for each in ast.walk(part)]
    augmented = {id(each.target) for each in nodes if isinstance(each, ast.AugAssign)}
    stored = [
        each for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    ]
    bound = {each.id for each in stored if id(each) not in augmented}
    augmented_only = {each.id for each in stored} & names - bound
    return {name for name in augmented_only if isinstance(resolve(frame.names[name]), ArrayOf)}


_AUGMENTED: Final[dict[type[ast.operator], str]] = {
    ast.Add: "add",
    ast.Sub: "add",
    ast.Mult: "mul",
}


def _reductions(frame: Frame, node: ast.For, names: set[str]) -> dict[str, str]:
    """The names that every use in the body adds to, multiplies, or takes the least of."""
    reductions: dict[str, str] = {}
    allowed: set[ast.AST] = set()
    for statement in (each for part in node.body for each in ast.walk(part)):
        match statement:
            case ast.AugAssign(ast.Name(name) as target, op) if type(op) in _AUGMENTED:
                how = _AUGMENTED[type(op)]
                uses: tuple[ast.AST, ...] = (target,)
            case ast.Assign(
                [ast.Name(name) as target], ast.Call(func, [ast.Name() as first, _], [])
            ) if first.id == name:
                function = known_function(expression(frame, func))
                if function is not min and function is not max:
                    continue
                how = "min" if function is min else "max"
                uses = (target, first)
            case _:
                continue
        if name in names and reductions.setdefault(name, how) == how:
            allowed.update(uses)
    for part in node.body:
        for use in ast.walk(part):
            if isinstance(use, ast.Name) and use.id in reductions and use not in allowed:
                del reductions[use.id]
    return reductions
