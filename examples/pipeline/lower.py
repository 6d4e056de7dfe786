"""Syntax tree in, instructions out: one operation each, into registers that are set once."""

from __future__ import annotations

from dataclasses import dataclass

from .tree import Expression, Name, Number, Program


@dataclass(frozen=True)
class Instruction:
    target: str
    operator: str  # "=" takes `left` as it is
    left: str | float
    right: str | float = 0.0


@dataclass(frozen=True)
class Code:
    parameters: tuple[str, ...]
    instructions: tuple[Instruction, ...]


class Lowering:
    def __init__(self) -> None:
        self.instructions: list[Instruction] = []

    def operand(self, value: Expression) -> str | float:
        match value:
            case Number(number):
                return number
            case Name(name):
                return name
        left, right = self.operand(value.left), self.operand(value.right)
        target = f"t{len(self.instructions)}"
        self.instructions.append(Instruction(target, value.operator, left, right))
        return target


def lower(program: Program) -> Code:
    lowering = Lowering()
    for let in program.lets:
        operand = lowering.operand(let.value)
        lowering.instructions.append(Instruction(let.name, "=", operand))
    return Code(program.parameters, tuple(lowering.instructions))
