"""Lowers `with` statements: checkpoints and parallel sections."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from typing import Any, Final

from whorl.errors import KernelError
from whorl.kernels import graph_names as graph
from whorl.kernels import ir
from whorl.kernels.function_source import assigned_names
from whorl.kernels.ir_walk import every_expression, every_part, statements_in
from whorl.kernels.types import WEAK_INT, Scalar
from whorl.reads import Step
from whorl.reads.trace import NoKey, key_code
from whorl.reads.view import View

from .arithmetic import compare
from .expressions import expression, resolved
from .frame import ActiveCheckpoint, Frame, Loop
from .functions import GRAPH, known_function
from .operands import ArrayOf, Items, Known, Operand, Unset, Value, ViewOperand, describe
from .sharing import vectors_in
from .statements import block

__all__ = ["flag_at", "loops_around", "note_checkpoints", "with_statement"]

FLAG: Final = Scalar("i", 32)
_COUNTED: Final = {
    "for": "a for loop: a resume does not know in which iteration it was",
    "prange": "prange: its iterations run at the same time",
    "section": "a parallel section: the others run at the same time",
}


def with_statement(frame: Frame, node: ast.With) -> bool:
    """`with whorl.checkpoint(...)`, `with whorl.graph.parallel_context()`."""
    if len(node.items) > 1:  # one in the other
        inner = ast.copy_location(ast.With(node.items[1:], node.body), node)
        node = ast.copy_location(ast.With(node.items[:1], [inner]), node)
    item = node.items[0]
    manager = _managed(frame, item.context_expr)
    if manager is None:
        frame.refuse(
            node,
            "with is not supported in a kernel",
            "It is for whorl.checkpoint and whorl.graph.parallel_context.",
        )
    call, function = manager
    if item.optional_vars is not None:
        frame.refuse(item.optional_vars, f"{ast.unparse(call.func)} gives nothing to name by `as`")
    if function is graph.checkpoint:
        return _checkpoint(frame, node, call)
    if function is graph.parallel_context:
        return _sections(frame, node, call)
    frame.refuse(
        call,
        f"{ast.unparse(call.func)} is for the sections of whorl.graph.parallel_context()",
        "Write the with of the context around it.",
    )


def _managed(frame: Frame, node: ast.expr) -> tuple[ast.Call, Any] | None:
    """A call of one of whorl's own context managers, and which one; None if it is another."""
    if not isinstance(node, ast.Call) or not _is_dotted(node.func):
        return None
    function = known_function(expression(frame, node.func))
    return (node, function) if function in GRAPH and function is not graph.do_while else None


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def note_checkpoints(frame: Frame) -> None:
    """Take note of whether a function has checkpoints in its source, whatever becomes of them."""
    lowering = frame.lowering
    if lowering.function.has_checkpoints:
        return
    for node in ast.walk(frame.source.tree):
        if not isinstance(node, ast.With):
            continue
        for item in node.items:
            try:
                manager = _managed(frame, item.context_expr)
            except KernelError:  # it is raised where the statement is lowered, if it is
                continue
            if manager is not None and manager[1] is graph.checkpoint:
                lowering.function.has_checkpoints = True
                return


def flag_at(frame: Frame, node: ast.expr, what: str) -> ir.Element:
    """The element of a condition or flag; a `KernelError` if it is not a single int32."""
    operand = resolved(frame, node)
    if isinstance(operand, ArrayOf):
        array = operand.array
        if array.type.element == FLAG and array.type.ndim == 0:
            return ir.Element(array, (), ())
    frame.refuse(
        node,
        f"{what} is an int32 array without dimensions, not {describe(operand)}",
        "Make it with np.zeros((), np.int32); set it with x[()] = 1.",
    )


# -- checkpoints ------------------------------------------------------------------------


def _checkpoint(frame: Frame, node: ast.With, call: ast.Call) -> bool:
    lowering = frame.lowering
    given = _arguments(frame, call)
    around = lowering.checkpoint
    if around is not None:
        frame.refuse(
            call,
            f"a checkpoint inside of the checkpoint {around.label.words}",
            "End that one first: a launch stops at the end of a checkpoint.",
        )
    _check_loops(frame, call)
    label = _label(frame, call, given["label"])
    flag = None
    if "yield_on" in given:
        flag = flag_at(frame, given["yield_on"], "the flag of a checkpoint")
    written: ir.Block = []
    lowering.checkpoint = active = ActiveCheckpoint(label, flag, frame, len(frame.loops))
    try:
        with lowering.writing(written):
            has_ended = block(frame, node.body)
            if not has_ended:
                active.leave(lowering)
    finally:
        lowering.checkpoint = None
    lowering.emit(ir.Checkpoint(label, written))
    return has_ended


def _arguments(frame: Frame, call: ast.Call) -> dict[str, ast.expr]:
    given: dict[str, ast.expr] = dict(zip(("label",), call.args, strict=False))
    if len(call.args) > 1 or any(isinstance(arg, ast.Starred) for arg in call.args):
        frame.refuse(
            call, "whorl.checkpoint takes one label", "Write checkpoint(label, yield_on=flag)."
        )
    for keyword in call.keywords:
        if keyword.arg not in ("label", "yield_on"):
            frame.refuse(
                keyword.value,
                f"whorl.checkpoint takes no argument {keyword.arg!r}",
                "It takes a label and yield_on=.",
            )
        if keyword.arg in given:
            frame.refuse(keyword.value, f"two values for {keyword.arg!r}")
        given[keyword.arg] = keyword.value
    if "label" not in given:
        frame.refuse(call, "a checkpoint without a label", "Write checkpoint(label, yield_on=...).")
    none = given.get("yield_on")
    if isinstance(none, ast.Constant) and none.value is None:
        del given["yield_on"]
    return given


def _check_loops(frame: Frame, call: ast.Call) -> None:
    for loop in loops_around(frame):
        if loop.kind in _COUNTED:
            frame.refuse(
                call,
                f"a checkpoint inside of {_COUNTED[loop.kind]}",
                "Write `while whorl.graph.do_while(...)`, and keep the count in an array."
                if loop.kind == "for"
                else "Put it before or after.",
            )


def loops_around(frame: Frame) -> Iterator[Loop]:
    """The loops around, also those of callers."""
    for around in frame.callers:
        yield from around.loops


def _label(frame: Frame, call: ast.Call, node: ast.expr) -> ir.CheckpointLabel:
    operand = _member(frame, node) or expression(frame, node)
    value, plain = _label_value(frame, node, operand)
    words = f"{type(value).__qualname__}.{value.name}" if isinstance(value, enum.Enum) else value
    source = frame.source
    names: dict[ir.Local, str] = {}
    for around in frame.callers:
        for name, named in around.names.items():
            for local in _variables(named):
                names.setdefault(local, name)
    return ir.CheckpointLabel(
        int(value), plain, str(words), lambda what, how: source.error(call, what, how), names
    )


def _member(frame: Frame, node: ast.expr) -> ViewOperand | None:
    """`Stage.SIM`, by the enum's own table: as an attribute it costs a call of Python's on 3.11."""
    if not isinstance(node, ast.Attribute) or not _is_dotted(node):
        return None
    owner = expression(frame, node.value)
    if not isinstance(owner, ViewOperand) or not isinstance(owner.view.peek(), enum.EnumMeta):
        return None
    if node.attr not in owner.view.peek().__members__:
        return None
    return owner.then(owner.view.attr("_member_map_").item(node.attr))


def _label_value(frame: Frame, node: ast.expr, operand: Operand) -> tuple[int, Any]:
    """A label, and how it is found again: a literal, the path in the source, or by name."""
    match operand:
        case ViewOperand(view):
            value: Any = view.peek()
        case Known(value):
            pass
        case _:
            frame.refuse(
                node,
                f"a label is known at compile time, and this is {describe(operand)}",
                "Use an int, a module's constant, or the member of an IntEnum.",
            )
    if type(value) is not int and not isinstance(value, enum.IntEnum):
        frame.refuse(
            node,
            f"a label is an int or the member of an IntEnum, not {describe(operand)}",
            "Derive the enum from enum.IntEnum." if isinstance(value, enum.Enum) else "",
        )
    if isinstance(operand, ViewOperand):
        path = operand.view.path
        _read(operand.view, value)
        steps = tuple((step.operation, step.name) for step in path.steps)
        return value, ("path", path.root, path.name, steps)
    try:
        return value, ("key", key_code(value))
    except NoKey:
        frame.refuse(
            node,
            f"{type(value).__qualname__} cannot be found by name in another process",
            "Define the enum in a module.",
        )


def _read(view: View, label: int) -> None:
    """Read a label: of a member, its class, name and number, each of which is cheap to check."""
    if isinstance(label, enum.Enum):
        view.type()
        if view.path.steps[-1:] != (Step("item", label.name),):
            view.attr("_name_").value()
        view.attr("_value_").value()
    else:
        view.value()


def _variables(operand: Operand) -> Iterator[ir.Local]:
    match operand:
        case Value(ir.Get(local)):
            yield local
        case ArrayOf(array):
            for part in every_part(*array.parts):
                if isinstance(part, ir.Get):
                    yield part.local
        case Items(items):
            for item in items:
                yield from _variables(item)
        case _:
            yield from vectors_in([operand])


# -- sections ---------------------------------------------------------------------------


def _sections(frame: Frame, node: ast.With, call: ast.Call) -> bool:
    """Sections that may run at the same time: the iterations of a parallel loop, one for each."""
    lowering = frame.lowering
    bodies = [_section(frame, call, statement) for statement in node.body]
    _no_arguments(frame, call)
    if lowering.parallel_depth > 0:
        for loop in loops_around(frame):
            if loop.kind == "section":
                frame.refuse(call, "parallel sections inside of a parallel section")
    before = dict(frame.names)
    assigned = assigned_names([each for body in bodies for each in body])
    own = Unset("is set inside of a parallel section, and belongs to it", "Keep it in an array.")
    written: list[ir.Block] = []
    is_serial = len(bodies) == 1 or lowering.parallel_depth > 0
    outside = lowering.outside
    lowering.outside = outside | set(vectors_in(before.values()))
    lowering.parallel_depth += not is_serial
    try:
        for body in bodies:
            frame.names = {**before, **dict.fromkeys(assigned, own)}
            written.append(_written(frame, body))
    finally:
        lowering.parallel_depth -= not is_serial
        lowering.outside = outside
    frame.names = {**before, **dict.fromkeys(assigned, own)}
    _check_independent(frame, call, written)
    if is_serial:
        lowering.block.extend(statement for body in written for statement in body)
        return False
    number = ir.Local("section", WEAK_INT)
    chosen: ir.Block = []
    for place, inner in reversed(list(enumerate(written))):
        is_it = compare("eq", ir.Get(number), ir.Const(WEAK_INT, place))
        chosen = [ir.If(is_it, inner, chosen)]
    bounds = (ir.ZERO, ir.Const(WEAK_INT, len(written)), ir.ONE)
    lowering.emit(ir.Parallel(lowering.label("sections"), number, *bounds, chosen))
    return False


def _section(frame: Frame, context: ast.Call, node: ast.stmt) -> list[ast.stmt]:
    if isinstance(node, ast.With):
        manager = _managed(frame, node.items[0].context_expr)
        if manager is not None and manager[1] is graph.parallel:
            _no_arguments(frame, manager[0])
            if node.items[0].optional_vars is not None:
                frame.refuse(node.items[0].optional_vars, "a section has nothing to name by `as`")
            if node.items[1:]:
                return [ast.copy_location(ast.With(node.items[1:], node.body), node)]
            return node.body
    frame.refuse(
        node,
        f"{ast.unparse(context.func)} holds sections and nothing else",
        "Write `with whorl.graph.parallel():` around it.",
    )


def _no_arguments(frame: Frame, call: ast.Call) -> None:
    if call.args or call.keywords:
        frame.refuse(call, f"{ast.unparse(call.func)} takes no arguments")


def _written(frame: Frame, body: list[ast.stmt]) -> ir.Block:
    lowering = frame.lowering
    label = lowering.label("section")
    frame.loops.append(Loop(label, label, is_parallel=True, kind="section"))
    written: ir.Block = []
    try:
        with lowering.writing(written):
            block(frame, body)
    finally:
        frame.loops.pop()
    return written


def _check_independent(frame: Frame, call: ast.Call, sections: list[ir.Block]) -> None:
    """Refuse sections of which one certainly writes an element that another one uses."""
    uses = [
        {_certain(e) for e in every_expression(body) if isinstance(e, ir.Element)}
        for body in sections
    ]
    for here, body in enumerate(sections):
        for statement in statements_in(body):
            if not isinstance(statement, ir.SetElement):
                continue
            place = _certain(statement.element)
            others = (used for there, used in enumerate(uses) if there != here)
            if place is not None and any(place in used for used in others):
                frame.refuse(
                    call,
                    f"an element of {statement.element.array.path} is written in one section and "
                    "used in another, which may run at the same time",
                    "Put both into one section, or give each an array of its own.",
                )


def _certain(element: ir.Element) -> Any:
    """What tells an element of an array of the launch from all others; None if the run decides."""
    base = element.array.base
    if not isinstance(base, ir.SlotUse):
        return None
    if not all(isinstance(index, ir.Const) for index in element.indices):
        return None
    return base.slot, tuple(index.value for index in element.indices)  # type: ignore[union-attr] # constants
