"""Instructions in, fewer out: constants are folded, copies followed, what is unused is gone."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import whorl

from .lower import Code, Instruction

OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


@dataclass(frozen=True)
class Optimise(whorl.Step[Code, Code]):
    """The level is configuration, and part of the key."""

    level: int = 1

    def __call__(self, code: Code, /) -> Code:
        if not self.level:
            return code
        return without_unused(folded(code))


def folded(code: Code) -> Code:
    known: dict[str, str | float] = {}
    kept = []
    for step in code.instructions:
        left = known.get(step.left, step.left) if isinstance(step.left, str) else step.left
        right = known.get(step.right, step.right) if isinstance(step.right, str) else step.right
        value = simplified(step.operator, left, right)
        if value is not None:
            known[step.target] = value
            kept.append(Instruction(step.target, "=", value))
        else:
            kept.append(Instruction(step.target, step.operator, left, right))
    return Code(code.parameters, tuple(kept))


def simplified(sign: str, left: str | float, right: str | float) -> str | float | None:
    if sign == "=":
        return left
    if isinstance(left, float) and isinstance(right, float):
        return float(OPERATIONS[sign](left, right)) if sign != "/" or right else None
    if sign == "*" and right == 1.0:
        return left
    return None


def without_unused(code: Code) -> Code:
    *_, last = code.instructions
    needed = {last.target}
    kept = []
    for step in reversed(code.instructions):
        if step.target in needed:
            needed |= {part for part in (step.left, step.right) if isinstance(part, str)}
            kept.append(step)
    return Code(code.parameters, tuple(reversed(kept)))
