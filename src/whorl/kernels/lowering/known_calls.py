"""A call of a function that the compiler knows by itself, as the handlers of such calls take it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias

from whorl.fast_dataclasses import dataclass
from whorl.kernels import ir

from .expressions import number_at, parts
from .frame import Frame
from .operands import Items, Known, Operand, ViewOperand, describe
from .run_values import resolve

__all__ = ["Given", "Handler", "KnownCall", "KnownFunction"]


@dataclass(slots=True)
class KnownCall:
    """Where the call stands, and its arguments by place and by name."""

    frame: Frame
    node: ast.Call
    args: list[Operand]
    named: dict[str, Operand]

    @property
    def function(self) -> str:
        """The function as the source writes it."""
        return ast.unparse(self.node.func)

    def refuse(self, what: str, remedy: str = "") -> NoReturn:
        """Raise a `KernelError` about the call."""
        self.frame.refuse(self.node, what, remedy)

    def positional(self, *counts: int) -> list[Operand]:
        """The arguments, which have to be so many and none of them by name."""
        if self.named or len(self.args) not in counts:
            noun = "argument" if counts == (1,) else "arguments"
            wanted = " or ".join(map(str, counts))
            self.refuse(f"{self.function} takes {wanted} positional {noun} here")
        return self.args

    def bound(self, *names: str, required: int = 1) -> dict[str, Operand | None]:
        """The arguments by these names of parameters, in their order; None for those not given."""
        given: dict[str, Operand | None] = dict.fromkeys(names)
        if len(self.args) > len(names):
            self.refuse(f"{self.function} takes at most {len(names)} arguments here")
        given.update(zip(names, self.args, strict=False))
        for name, operand in self.named.items():
            if name not in given:
                self.refuse(
                    f"{self.function} has no parameter {name!r} in a kernel",
                    f"There are {', '.join(names)}.",
                )
            if given[name] is not None:
                self.refuse(f"two values for the parameter {name!r}")
            given[name] = operand
        for name in names[:required]:
            if given[name] is None:
                self.refuse(f"{self.function} needs an argument {name!r}")
        return {
            name: None if operand is None else resolve(operand) for name, operand in given.items()
        }

    def decided(self, *counts: int) -> list[Operand]:
        """The same, as what they are to the run."""
        return [resolve(arg) for arg in self.positional(*counts)]

    def number(self, operand: Operand) -> ir.Expr:
        """The number that an operand is; an error at the call if it is none."""
        return number_at(self.frame, self.node, operand)

    def numbers(self, args: list[Operand]) -> list[ir.Expr]:
        """The numbers that the arguments are, to be used more than once."""
        nodes = self.node.args if len(self.node.args) == len(args) else [self.node] * len(args)
        exprs = [number_at(self.frame, at, arg) for at, arg in zip(nodes, args, strict=True)]
        return [self.frame.lowering.keep(expr) for expr in exprs]

    def parts(self, operand: Operand) -> list[Operand]:
        """The items of an operand whose length is known at compile time."""
        return parts(self.frame, self.node, operand)

    def known_value(self, operand: Operand) -> Any:
        """A value that has to be known at compile time."""
        match operand:
            case Known(value):
                return value
            case ViewOperand(view):
                return view.value()
            case Items(items):
                return tuple(map(self.known_value, items))
        self.refuse(
            f"{describe(operand)} is not known at compile time",
            "Use a literal, a global, or whorl.static(...).",
        )


Handler: TypeAlias = Callable[[KnownCall], Operand]
Given: TypeAlias = Mapping[str, Operand | None]
"""Arguments by the names of parameters; None for those not given."""


@dataclass(frozen=True, slots=True)
class KnownFunction:
    """A function with named parameters: what handles its calls, and what the manual says of it."""

    handle: Callable[[KnownCall, Given], Operand]
    parameters: str
    """As Python writes them: `a, axis=None`."""
    limits: str = ""
    """What it cannot do that NumPy's can, in words."""

    def __call__(self, call: KnownCall) -> Operand:
        """Handle a call."""
        parameters = self.parameters.split(", ")
        names = [parameter.partition("=")[0] for parameter in parameters]
        required = sum("=" not in parameter for parameter in parameters)
        return self.handle(call, call.bound(*names, required=required))
