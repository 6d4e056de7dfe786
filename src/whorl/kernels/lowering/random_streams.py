"""Methods of `np.random.Generator` in kernels: they draw from its stream, by functions of NumPy.

The state of the bit generator travels with a launch, as its address. The methods are in
`library/generator_methods`, the functions in `launch/random_functions`.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.library import generator_methods
from whorl.kernels.types import WEAK_INT

from .arithmetic import cast
from .c_calls import ADDRESS
from .known_calls import Handler, KnownCall
from .operands import Operand, Value, ViewOperand

__all__ = ["is_stream", "stream_method"]

_STATE: Final = ("bit_generator", "ctypes", "bit_generator", "value")
"""The attributes by which the address of the state is found."""


def is_stream(value: object) -> bool:
    """Whether this is a `Generator`; NumPy's module for random numbers need not be imported."""
    module: Any = sys.modules.get("numpy.random")
    return module is not None and type(value) is module.Generator


def stream_method(owner: Operand, name: str) -> Handler | None:
    """What handles a method of a generator of random numbers; None for all else."""
    if not isinstance(owner, ViewOperand) or not is_stream(owner.view.peek()):
        return None

    def handle(call: KnownCall) -> Operand:
        function = generator_methods.METHODS.get(name)
        if function is None:
            known = ", ".join(sorted(generator_methods.METHODS))
            call.refuse(f"the method {name!r} of a Generator is not for kernels", f"Use {known}.")
        if call.frame.lowering.parallel_depth:
            call.refuse(
                "the iterations of prange would draw from one stream, in no order",
                "Draw before the loop, or use whorl.random(key, i), which needs no state.",
            )
        args = [_state(call, owner), *call.args[1:]]
        return call.frame.lowering.syntax.library(replace(call, args=args), function)

    return handle


def _state(call: KnownCall, owner: ViewOperand) -> Operand:
    """The address of the state of the bit generator, which travels with each launch."""
    view = owner.view
    view.type()
    for name in _STATE:
        view = view.attr(name)
    view.type()
    lowering = call.frame.lowering
    slot = owner.slots.at(view.path, WEAK_INT)
    if slot not in lowering.function.streams:
        lowering.function.streams.append(slot)
    return Value(cast(ir.SlotUse(slot), ADDRESS))
