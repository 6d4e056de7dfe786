"""Merges the names of several branches: one operand per name.

Where branches meet, a name may stand for different things: then it becomes a variable, which
every branch sets. A template says what kind of variable: a number of a type, an array, a vector,
a tuple of these; or the very operand, if it is the same in every branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from typing import Any, Final, TypeAlias

from whorl.fast_dataclasses import dataclass, replace
from whorl.kernels import ir
from whorl.kernels.ir_walk import parts_of
from whorl.kernels.types import (
    I64,
    POINTER,
    WEAK_INT,
    ArrayType,
    Scalar,
    VectorType,
    is_scalar_value,
    promote,
    scalar_of_value,
)

from .arithmetic import binary, cast, fits
from .frame import Frame, Jump
from .operands import (
    ArrayOf,
    Closure,
    Items,
    Iteration,
    Known,
    Operand,
    Unset,
    Value,
    Vec,
    describe,
    same,
)
from .run_values import is_scalar, number, resolve
from .sharing import copied, is_sole_owner

__all__ = [
    "Apart",
    "Itself",
    "OneArray",
    "OneScalar",
    "OneSmallArray",
    "Pairs",
    "Several",
    "Template",
    "all_at_once",
    "allocation",
    "components",
    "join",
    "merge",
    "new_variable",
    "settings",
    "small_array",
    "template_of",
    "whole",
]

_SMALL: Final = 16  # elements of an array that are copied one by one


class Apart(Exception):
    """Operands that no variable can hold both of."""

    def __init__(
        self,
        reason: str,
        remedy: str = "Make it the same kind in every branch: a number, or a tuple of one length.",
    ) -> None:
        super().__init__(reason)
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class OneScalar:
    """A number."""

    type: Scalar


@dataclass(frozen=True, slots=True)
class OneArray:
    """An array; strided if the branches have different layouts."""

    type: ArrayType
    is_owned: bool = False  # whether its memory may have been allocated in the kernel
    extents: tuple[int | None, ...] = ()  # those that are the same in all branches, known now


@dataclass(frozen=True, slots=True)
class OneSmallArray:
    """A small array of known shape that no other name stands for: its elements are copied."""

    element: Scalar
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OneVector:
    """A small vector."""

    type: VectorType


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple, or a list."""

    items: tuple[Template, ...]
    is_list: bool
    cls: Any = None  # of named tuples


@dataclass(frozen=True, slots=True)
class OneRange:
    """A range."""


@dataclass(frozen=True, slots=True)
class Itself:
    """The operand, in every branch."""

    operand: Operand


Template: TypeAlias = OneScalar | OneArray | OneSmallArray | OneVector | OneRange | Several | Itself
Pairs: TypeAlias = list[tuple[ir.Local | ir.Component | ir.Element, ir.Expr]]
"""What to set to what, all at once."""


def template_of(operand: Operand) -> Template:
    """The kind of variable that can hold an operand."""
    operand = resolve(operand)
    match operand:
        case Value():
            return OneScalar(operand.type)
        case Known(value) if is_scalar_value(value):
            type = number(operand).type
            assert isinstance(type, Scalar)
            return OneScalar(type)
        case ArrayOf(array):
            extents = tuple(_known_extent(extent) for extent in array.extents)
            return OneArray(array.type, array.owner is not None, extents)
        case Vec():
            return OneVector(VectorType(operand.element, operand.shape))
        case Iteration(bounds=bounds) if bounds is not None:
            return OneRange()
        case Items(items):
            return Several(tuple(map(template_of, items)), operand.is_list, operand.cls)
    return Itself(operand)


def _known_extent(extent: ir.Expr) -> int | None:
    return int(extent.value) if isinstance(extent, ir.Const) else None


def join(operands: Sequence[Operand]) -> Template:
    """The kind of variable for what comes from several branches; `Apart` if there is none."""
    first = operands[0]
    if all(same(first, other) for other in operands[1:]):
        return Itself(first)
    template = template_of(first)
    for operand in operands[1:]:
        template = _together(template, template_of(operand))
    if isinstance(template, OneScalar) and template.type.is_integer and not template.type.weak:
        return OneScalar(_holding(template.type, operands))
    return template


def _holding(type: Scalar, operands: Sequence[Operand]) -> Scalar:
    """An integer type, or a wider one if it does not hold the constants among the operands."""
    values = [operand.value for operand in operands if isinstance(operand, Known)]
    misfits = [value for value in values if scalar_of_value(value).weak and not fits(value, type)]
    if not misfits:
        return type
    wide = promote(type, Scalar("u", 64) if min(misfits) >= 0 and max(misfits) >= 2**63 else I64)
    if not wide.is_integer:
        raise Apart(f"is {type} in one branch and {misfits[0]} in another")
    return wide


def _together(left: Template, right: Template) -> Template:
    match left, right:
        case OneScalar(a), OneScalar(b):
            return OneScalar(promote(a, b))
        case OneArray(a), OneArray(b) if (a.element, a.ndim) == (b.element, b.ndim):
            layout = a.layout if a.layout == b.layout else "strided"
            type = replace(a, layout=layout, writeable=a.writeable and b.writeable)
            pairs = zip(left.extents, right.extents, strict=True)
            extents = tuple(one if one == other else None for one, other in pairs)
            return OneArray(type, left.is_owned or right.is_owned, extents)
        case OneVector(a), OneVector(b) if a.shape == b.shape:
            return OneVector(VectorType(promote(a.element, b.element), a.shape))
        case Several(a, is_list, cls), Several(b, other, other_cls) if (
            len(a) == len(b) and is_list is other and cls is other_cls
        ):
            return Several(tuple(map(_together, a, b)), is_list, cls)
        case OneRange(), OneRange():
            return left
        case Itself(a), Itself(b) if same(a, b):
            return left
        case Itself(Closure() as a), Itself(Closure() as b) if a.node is b.node:
            raise _apart(a, b)
    words = f"is {_words(left)} in one branch and {_words(right)} in another"
    if any(isinstance(each, OneVector) for each in (left, right)):
        remedy = "Make it a vector of its own in every branch: whorl.vec(...) of the array."
        raise Apart(words, remedy)
    raise Apart(words)


def _apart(left: Closure, right: Closure) -> Apart:
    """Why one function is not the same in two branches."""
    function = describe(left)
    for name, other in right.captured.items():
        one = left.captured.get(name)
        if one is None or same(one, other):
            continue
        both = f"{describe(one)} in one branch and {describe(other)} in another"
        return Apart(
            f"is {function}, whose {name!r} is "
            f"{both if describe(one) != describe(other) else 'not the same in every branch'}",
            f"Pass {name!r} to {function} as an argument, or return what it would return.",
        )
    return Apart(f"is {function} in every branch, with other names or defaults")


def _words(template: Template) -> str:
    match template:
        case Itself(operand):
            return describe(operand)
        case Several(items, is_list):
            inside = ", ".join(map(_words, items))
            return f"[{inside}]" if is_list else f"({inside})"
        case OneArray(type):
            return f"an array {type}"
        case OneRange():
            return "a range"
        case OneSmallArray(element, shape):
            return f"an array {VectorType(element, shape)}"
        case OneScalar(type) | OneVector(type):
            return str(type)


def new_variable(template: Template, name: str) -> Operand:
    """A variable of a kind."""
    match template:
        case Itself(operand):
            return operand
        case OneScalar(type):
            return Value(ir.Get(ir.Local(name, type)))
        case OneVector(type):
            return whole(ir.Local(name, type))
        case OneRange():
            return range_of(*(ir.Get(ir.Local(f"{name}.{i}", WEAK_INT)) for i in range(3)))
        case Several(items, is_list):
            parts = (new_variable(item, f"{name}.{i}") for i, item in enumerate(items))
            return Items(tuple(parts), is_list, template.cls)
        case OneArray(type):
            known_extents = template.extents or (None,) * type.ndim
            extents: tuple[ir.Expr, ...] = tuple(
                ir.Get(ir.Local(f"{name}.n{i}", WEAK_INT))
                if extent is None
                else ir.Const(WEAK_INT, extent)
                for i, extent in enumerate(known_extents)
            )
            strides = tuple(ir.Get(ir.Local(f"{name}.s{i}", WEAK_INT)) for i in range(type.ndim))
            base = ir.Get(ir.Local(f"{name}.at", POINTER))
            known = strides if type.has_strides else None
            owner = ir.Get(ir.Local(f"{name}.owner", POINTER)) if template.is_owned else None
            return ArrayOf(ir.ArrayRef(type, base, extents, known, name, owner=owner))
        case OneSmallArray(element, shape):
            place = ir.Get(ir.Local(name, POINTER))
            sizes = tuple(ir.Const(WEAK_INT, extent) for extent in shape)
            array_type = ArrayType(element, len(shape), "C", writeable=True)
            return ArrayOf(ir.ArrayRef(array_type, place, sizes, None, name, owner=place))


def range_of(start: ir.Expr, stop: ir.Expr, step: ir.Expr) -> Iteration:
    """A range by its bounds."""
    span = binary("sub", start, stop)  # rounded up
    length = ir.Op("neg", WEAK_INT, (binary("floordiv", span, step),))
    extent = ir.Op("max", WEAK_INT, (length, ir.ZERO))

    def item(counts: tuple[ir.Expr, ...]) -> Operand:
        return Value(binary("add", start, binary("mul", counts[0], step)))

    return Iteration("a range", (extent,), item, (start, stop, step))


def whole(local: ir.Local) -> Vec:
    """The vector that a variable is."""
    assert isinstance(local.type, VectorType)
    shape = local.type.shape
    steps = []
    step = 1
    for extent in reversed(shape):
        steps.append(step)
        step *= extent
    return Vec(local, shape, 0, tuple(reversed(steps)))


def settings(variable: Operand, operand: Operand) -> Pairs:
    """How a variable is set to an operand that its template was made for."""
    if same(variable, operand):
        return []
    operand = resolve(operand)
    match variable, operand:
        case Value(ir.Get(local)), _ if is_scalar(operand):
            assert isinstance(local.type, Scalar)
            return [(local, cast(number(operand), local.type))]
        case Items(variables), Items(items):
            return [
                pair
                for part, item in zip(variables, items, strict=True)
                for pair in settings(part, item)
            ]
        case Iteration(bounds=into), Iteration(bounds=given) if into and given:
            bounds = zip(into, given, strict=True)
            return [(place.local, expr) for place, expr in bounds if isinstance(place, ir.Get)]
        case Vec(), Vec():
            return [
                (target, cast(source, variable.element))
                for target, source in zip(components(variable), components(operand), strict=True)
            ]
        case ArrayOf(into), ArrayOf(array) if into.base == into.owner:  # of a `OneSmallArray`
            return list(zip(_elements(into), _elements(array), strict=True))
        case ArrayOf(into), ArrayOf(array):
            pairs = list(zip((into.base, *into.extents), (array.base, *array.extents), strict=True))
            if into.strides is not None:
                pairs += zip(into.strides, array.all_strides, strict=True)
            if into.owner is not None:
                pairs.append((into.owner, array.owner or ir.NULL))
            return [(place.local, expr) for place, expr in pairs if isinstance(place, ir.Get)]
    raise Apart(f"cannot be {describe(operand)}")


def _elements(array: ir.ArrayRef) -> list[ir.Element]:
    """The elements of an array of known shape, in order."""
    shape = [int(extent.value) for extent in array.extents if isinstance(extent, ir.Const)]
    places = (tuple(ir.Const(WEAK_INT, i) for i in place) for place in product(*map(range, shape)))
    return [ir.Element(array, place, (True,) * len(place)) for place in places]


def small_array(
    frame: Frame, template: Template, branches: Sequence[tuple[Operand, Iterable[Operand]]]
) -> Template:
    """The template of an array whose elements are copied, if that is the same to the program.

    It is where the array has no other name in any branch: each of them is an operand and the others
    that are visible there. LLVM keeps the elements of such an array in registers.
    """
    if not isinstance(template, OneArray) or not template.is_owned or not template.type.writeable:
        return template
    shape = tuple(extent for extent in template.extents if extent is not None)
    if len(shape) != template.type.ndim or not 0 < prod(shape) <= _SMALL:
        return template
    if not all(is_sole_owner(frame, operand, others) for operand, others in branches):
        return template
    return OneSmallArray(template.type.element, shape)


def allocation(frame: Frame, variable: Operand) -> list[ir.Stmt]:
    """The statement that allocates the memory of a variable for a small array."""
    if not isinstance(variable, ArrayOf) or not isinstance(variable.array.base, ir.Get):
        return []
    lowering, array, local = frame.lowering, variable.array, variable.array.base.local
    lowering.allocated.add(local)
    size = prod(int(each.value) for each in array.extents if isinstance(each, ir.Const))
    line = frame.line(frame.statement)
    site = lowering.site("MemoryError", "no memory for a small array", line)
    bytes_ = ir.Const(WEAK_INT, size * array.type.element.bits // 8)
    return [ir.Allocate(local, bytes_, site)]


def components(vec: Vec) -> list[ir.Component]:
    """The components of a vector, in order."""
    places = [vec.begin]
    for extent, step in zip(vec.shape, vec.steps, strict=True):
        places = [place + i * step for place in places for i in range(extent)]
    return [ir.Component(vec.local, ir.Const(WEAK_INT, place)) for place in places]


def all_at_once(pairs: Pairs) -> list[ir.Stmt]:
    """Statements that set variables as if at one moment: what is both read and set is kept."""
    targets = {
        target if isinstance(target, ir.Local) else target.local
        for target, _ in pairs
        if not isinstance(target, ir.Element)
    }
    first: list[ir.Stmt] = []
    then: list[ir.Stmt] = []
    for target, expr in pairs:
        if len(pairs) > 1 and _reads(expr, targets):
            before = ir.Local("was", expr.type)
            first.append(ir.Set(before, expr))
            expr = ir.Get(before)
        if isinstance(target, ir.Component):
            then.append(ir.SetComponent(target, expr))
        elif isinstance(target, ir.Element):
            then.append(ir.SetElement(target, expr))
        else:
            then.append(ir.Set(target, expr))
    return first + then


def _reads(expr: ir.Expr, locals: set[ir.Local]) -> bool:
    match expr:
        case ir.Element():
            return True
        case ir.Get(local) | ir.Component(local) if local in locals:
            return True
    return any(_reads(part, locals) for part in parts_of(expr))


# -- names ------------------------------------------------------------------------------


def merge(
    frame: Frame,
    before: dict[str, Operand],
    jumps: list[Jump],
    around: dict[str, Operand] | None = None,
) -> dict[str, Operand]:
    """The names where several branches meet; each branch sets its variables.

    `around` are names that live on beside those of the branches.
    """
    if not jumps:
        return before
    if len(jumps) == 1:
        return jumps[0].names
    names: dict[str, Operand] = {}
    changed = [name for jump in jumps for name in jump.names]
    pairs: list[Any] = [[] for _ in jumps]
    for name in dict.fromkeys(changed):
        operands = [jump.names.get(name) for jump in jumps]
        template = _merged_template(frame, name, operands, jumps, around or {})
        names[name] = new_variable(template, name)
        if not isinstance(names[name], Unset):
            if isinstance(template, OneSmallArray):
                for jump in jumps:
                    jump.set(*allocation(frame, names[name]))
            for each, operand in zip(pairs, operands, strict=True):
                assert operand is not None
                each.extend(settings(names[name], operand))
        if isinstance(names[name], Vec | Items):
            for jump in jumps:
                others = [each for other, each in jump.names.items() if other != name]
                others += (around or {}).values()
                copied(frame, names[name], jump.names[name], others)
    for jump, settings_of_jump in zip(jumps, pairs, strict=True):
        jump.set(*all_at_once(settings_of_jump))
    return names


def _merged_template(
    frame: Frame,
    name: str,
    operands: list[Operand | None],
    jumps: list[Jump],
    around: dict[str, Operand],
) -> Template:
    there = [operand for operand in operands if operand is not None]
    for operand in there:
        if isinstance(operand, Unset):
            return Itself(operand)
    if len(there) < len(operands):
        reason = "has a value in some branches, but not in all"
        return Itself(Unset(reason, values=tuple(there)))
    try:
        template = join(there)
    except Apart as error:
        return Itself(Unset(str(error), error.remedy))
    branches = []
    for operand, jump in zip(there, jumps, strict=True):
        others = [each for other, each in jump.names.items() if other != name]
        branches.append((operand, [*others, *around.values()]))
    return small_array(frame, template, branches)
