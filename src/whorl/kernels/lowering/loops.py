"""Lowers Python's loops.

A name that an iteration changes becomes a variable. Its type is found by trying: the body is
lowered with the types before the loop, and if an iteration ends with wider ones, again with those.
A loop over things that are known at compile time is unrolled.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from whorl.fast_dataclasses import dataclass, field
from whorl.kernels import graph_names as graph
from whorl.kernels import ir
from whorl.kernels.function_source import assigned_names
from whorl.kernels.ir_walk import allocates
from whorl.kernels.types import WEAK_BOOL, WEAK_INT
from whorl.reads.library import own_name

from .arithmetic import constant, truth
from .expressions import condition, expression
from .frame import Frame, Jump, Loop, flag_of, place_of
from .functions import known_function
from .graphs import flag_at, loops_around
from .iterables import Bounds, all_indices, iterable, range_bounds
from .joins import (
    Apart,
    Itself,
    OneScalar,
    OneSmallArray,
    Template,
    all_at_once,
    allocation,
    merge,
    new_variable,
    settings,
    small_array,
    template_of,
)
from .joins import join as join_operands
from .operands import ArrayOf, Items, Known, Operand, Unset, Value
from .run_values import is_scalar, resolve
from .sharing import copied, owners_in, vectors_in
from .statements import assign, block

__all__ = ["count_up", "for_loop", "while_loop"]


WriteLoops: TypeAlias = Callable[
    [Frame, ast.For, Sequence[Bounds], Callable[[tuple[ir.Expr, ...]], Operand]], bool
]


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
        name = own_name(known_function(expression(frame, node.iter.func)))
        is_parallel = name == "whorl.prange" and frame.lowering.parallel_depth == 0
        write = _parallel if is_parallel else count_up
        inner = node.iter.args[0] if name == "whorl.prange" and node.iter.args else node.iter
        ranges = all_indices(frame, inner)
        if ranges is not None:
            if inner is not node.iter and (len(node.iter.args) > 1 or node.iter.keywords):
                frame.refuse(node.iter, "whorl.prange takes ints, or all indices of something")
            return _each_index(frame, node, ranges, write)
        if name in ("builtins.range", "whorl.prange"):
            bounds = range_bounds(frame, node.iter)
            return write(frame, node, [bounds], lambda counts: Value(counts[0]))
    source = iterable(frame, node.iter)
    if isinstance(source, list):
        return _unrolled(frame, node, source)
    if not source.extents:  # the one element of an array without dimensions
        return _unrolled(frame, node, [source.item(())])
    bounds_of_all = [(ir.ZERO, extent, ir.ONE) for extent in source.extents]
    return count_up(frame, node, bounds_of_all, source.item)


def _each_index(frame: Frame, node: ast.For, ranges: list[Bounds], write: WriteLoops) -> bool:
    """A loop over all indices of several ranges."""

    def item(counts: tuple[ir.Expr, ...]) -> Operand:
        return Items(tuple(map(Value, counts)))

    if not ranges:  # of an array without dimensions
        return _unrolled(frame, node, [item(())])
    return write(frame, node, ranges, item)


# -- counted loops ----------------------------------------------------------------------


def count_up(
    frame: Frame,
    node: ast.For,
    bounds: Sequence[Bounds],
    item: Callable[[tuple[ir.Expr, ...]], Operand],
) -> bool:
    """Loops over numbers, each inside of the one before; `item` is what they are for the body."""
    labels = [frame.lowering.label("for") for _ in bounds]
    name = node.target.id if isinstance(node.target, ast.Name) else "i"
    counts = [ir.Local(name, WEAK_INT) for _ in bounds]

    def body(loop: Loop) -> bool:
        assign(frame, node.target, item(tuple(map(ir.Get, counts))))
        return block(frame, node.body)

    assigned = assigned_names([node.target, *node.body])
    lowered = _stable(frame, node, assigned, labels[-1], body)
    nest = lowered.body
    for label, count, each in reversed(list(zip(labels, counts, bounds, strict=True))):
        nest = [ir.For(label, count, *each, nest)]
    frame.lowering.block.extend(nest)
    return _after(frame, lowered, node.orelse)


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
    assigned |= {flag_of(name) for name in assigned if flag_of(name) in before}
    used_after = set() if kind == "prange" else _used_outside(frame, node, assigned - before.keys())
    for name in sorted(assigned & before.keys()):
        templates[name] = _first_template(before[name], known.get(name))
    returns = len(frame.returns)
    shared: set[str] = set()  # arrays that have turned out to have another name
    while True:
        del frame.returns[returns:]  # of the try before
        heads = {name: new_variable(template, name) for name, template in templates.items()}
        frame.names = {**before, **heads}
        small = [head for name, head in heads.items() if _is_small(templates[name])]
        allocations = [each for head in small for each in allocation(frame, head)]
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
        for name, template in templates.items():
            if name not in shared:
                wider[name] = _small(frame, name, wider[name], heads, [Jump([], before), *backs])
                if isinstance(template, OneSmallArray) and wider[name] != template:
                    shared.add(name)
                    wider[name] = _widened(template, before[name], [])
        if wider == templates:
            first = _first_values(used_after - before.keys(), [*backs, *loop.breaks])
            if not first:
                break
            before = {**before, **first}
            assigned |= first.keys()
            wider |= {name: _first_template(operand, None) for name, operand in first.items()}
        templates = wider
    known.update(templates)
    ends_iteration: list[ir.Stmt] = []
    if allocates(written) or allocates(test()):
        since = ir.Local("since", WEAK_INT)
        carried = [head for name, head in heads.items() if not _is_small(templates[name])]
        ends_iteration.append(ir.Sweep(since, tuple(owners_in(carried))))
        if kind == "prange":  # each iteration has its own
            written.insert(0, ir.Mark(since))
        else:
            lowering.emit(ir.Mark(since))
    for jump in backs:
        pairs = [pair for name, head in heads.items() for pair in _settings(head, jump.names[name])]
        jump.set(*all_at_once(pairs), *ends_iteration)
        ends = {name: jump.names[name] for name in before}
        _note_copies(frame, heads, ends, loop.leave)
    lowering.block.extend(allocations)
    begin = [pair for name, head in heads.items() for pair in _settings(head, before[name])]
    for statement in all_at_once(begin):
        lowering.emit(statement)
    after = {**before, **heads}
    for name in assigned - before.keys():
        after[name] = Unset("has a value only if the loop before has an iteration")
    return LoopBody(written, loop, heads, backs, after=after)


def _used_outside(frame: Frame, loop: ast.stmt, names: set[str]) -> set[str]:
    """Which names that a loop gives their first values are read outside of it."""
    inside = {id(each) for each in ast.walk(loop)}
    return {
        each.id
        for each in ast.walk(frame.source.tree)
        if isinstance(each, ast.Name) and each.id in names and id(each) not in inside
        and isinstance(each.ctx, ast.Load)
    }  # fmt: skip


def _values(operand: Operand) -> tuple[Operand, ...]:
    return operand.values if isinstance(operand, Unset) else (operand,)


def _first_values(names: set[str], jumps: list[Jump]) -> dict[str, Operand]:
    """Values before a loop for numbers that it sets and that are used after it: zeros, and that
    they are not set."""
    values: dict[str, Operand] = {}
    for name in sorted(names):
        found = [
            operand for jump in jumps if name in jump.names for operand in _values(jump.names[name])
        ]
        if not found or not all(is_scalar(operand) for operand in found):
            continue
        template = join_operands(found)
        if isinstance(template, Itself):
            template = template_of(template.operand)
        if isinstance(template, OneScalar):
            values[name] = Value(constant(0, template.type))
            values[flag_of(name)] = Known(False)
    return values


def _is_small(template: Template) -> bool:
    return isinstance(template, OneSmallArray)


def _small(
    frame: Frame, name: str, template: Template, heads: dict[str, Operand], jumps: list[Jump]
) -> Template:
    """The template of a small array that a loop carries on, if no other name that lives on from
    iteration to iteration stands for it."""
    branches = []
    own = list(owners_in([heads[name]]))
    for jump in jumps:
        others = [jump.names[other] for other in heads if other != name]
        if any(owner in own for owner in owners_in(others)):
            return template
        branches.append((jump.names[name], others))
    return small_array(frame, template, branches)


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


def _parallel(
    frame: Frame,
    node: ast.For,
    bounds: Sequence[Bounds],
    item: Callable[[tuple[ir.Expr, ...]], Operand],
) -> bool:
    """Iterations that may run at the same time: each has its own names, except for reductions. Of
    several ranges the first is divided among threads, and each goes through the others."""
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
    name = node.target.id if isinstance(node.target, ast.Name) else "i"
    counts = [ir.Local(name, WEAK_INT) for _ in bounds]

    def body(loop: Loop) -> bool:
        assign(frame, node.target, item(tuple(map(ir.Get, counts))))
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
    for count, each in reversed(list(zip(counts[1:], bounds[1:], strict=True))):
        inner = [ir.For(lowering.label("for"), count, *each, inner)]
    lowering.emit(ir.Parallel(label, counts[0], *bounds[0], inner, tuple(results)))
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
