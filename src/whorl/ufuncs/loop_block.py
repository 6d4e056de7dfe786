"""Kernels for the operands of one loop of a ufunc, and the block of words that leads to them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from whorl.fast_dataclasses import dataclass
from whorl.kernels.language import prange
from whorl.kernels.numeric_kernel import NumericKernel, kernel
from whorl.launch.launch_record import FIRST_SLOT, offsets
from whorl.launch.level import lowest_level
from whorl.launch.plain_launch import Parts
from whorl.launch.runtime import parallel_address, thread_count
from whorl.launch.slot_types import SMALL_EXTENT, ArrayType
from whorl.launch.stored_routine import StoredRoutine
from whorl.lazy import load
from whorl.reads.trace import Aspect
from whorl.store import default_cache

from .loop_templates import element_loop, part_loop
from .native_loop import API, ROW, whorl_ufunc_loop

__all__ = ["KernelOptions", "LoopTypes", "build_block", "loop_address"]


@dataclass(frozen=True, slots=True)
class KernelOptions:
    """How the kernels of a ufunc are compiled."""

    parallel: bool
    fastmath: Any
    target: str | None


@dataclass(frozen=True, slots=True)
class LoopTypes:
    """The operands of a loop: their dtypes, which extents each has, which of them are outputs.

    The first extent of every operand is number 0, the count of elements or parts.
    """

    dtypes: tuple[np.dtype[Any], ...]
    extents: tuple[tuple[int, ...], ...]
    outputs: tuple[bool, ...]

    @property
    def is_elementwise(self) -> bool:
        """Whether the function takes and returns numbers."""
        return all(len(each) == 1 for each in self.extents)

    def examples(self, *, contiguous: bool) -> tuple[np.ndarray[Any, Any], ...]:
        """Operands of these types, whose memory is contiguous or not.

        Their extents are too large to be compiled for: the loop gets operands of any extents.
        """
        step = 1 if contiguous else 2
        extent = SMALL_EXTENT + 1
        return tuple(
            np.zeros((extent,) * (len(extents) - 1) + (extent * step,), dtype)[..., ::step]
            for dtype, extents in zip(self.dtypes, self.extents, strict=True)
        )


def build_block(
    function: Callable[..., Any], types: LoopTypes, options: KernelOptions, *, elementwise: bool
) -> tuple[Any, object]:
    """The block of a loop, and what has to live as long as it."""
    serial = _kernel(function, types, options, range, elementwise=elementwise)
    contiguous = _parts(serial, types.examples(contiguous=True))
    strided = _parts(serial, types.examples(contiguous=False))
    parallel = None
    if options.parallel:
        threads = _kernel(function, types, options, prange, elementwise=elementwise)
        parallel = _parts(threads, types.examples(contiguous=True))
    _check_slots(contiguous, function)
    words = offsets([type for _, type in strided.slots])[1]
    head = [1, 0, contiguous.printer, *[0] * (FIRST_SLOT - 3)]
    if parallel is not None:
        head[:2] = thread_count(), parallel_address()
    addresses = [each.address if each else 0 for each in (contiguous, strided, parallel)]
    failed = contiguous.failed
    block = [
        ctypes.addressof(_api()), id(failed), len(types.dtypes), words, *addresses, *head,
        len(contiguous.slots), *_rows(contiguous, types),
    ]  # fmt: skip
    lives = (contiguous, strided, parallel, failed, _api())
    return (ctypes.c_uint64 * len(block))(*block), lives


def _kernel(
    function: Callable[..., Any],
    types: LoopTypes,
    options: KernelOptions,
    each: Any,
    *,
    elementwise: bool,
) -> NumericKernel:
    loop = element_loop(function, each)
    if not elementwise:
        loop = part_loop(function, each, types.outputs)
    return kernel(nogil=True, fastmath=options.fastmath, target=options.target)(loop)


def _parts(of: NumericKernel, operands: Sequence[Any]) -> Parts:
    specialization = of.specialize(tuple(operands))
    for read in specialization.trace.shape.reads:
        if read.path.root == "arg" and len(read.path.steps) > 1 and read.aspect is Aspect.VALUE:
            raise TypeError(
                f"{of.function.__qualname__} would be compiled for one value of {read.path}; a "
                "ufunc has operands of any extents. Leave out what needs it as a constant."
            )
    launch: Any = of.compiler.load(specialization.artifact, "")
    parts: Parts = launch.parts
    return parts


def _operand(slot: Any, count: int) -> int:
    return int(slot.steps[0].name) % count


def _rows(parts: Parts, types: LoopTypes) -> list[int]:
    """A row for each slot of the kernels."""
    inner = len(types.dtypes)
    places = []
    for extents in types.extents:
        places.append(inner)
        inner += len(extents) - 1
    rows = []
    for path, _ in parts.slots:
        operand = _operand(path, len(types.dtypes))
        extents = types.extents[operand]
        row = [operand, types.dtypes[operand].itemsize, len(extents), places[operand], *extents]
        rows += row + [0] * (ROW - len(row))
    return rows


def _check_slots(parts: Parts, function: Callable[..., Any]) -> None:
    """A loop has its operands and nothing else: NumPy calls it, and asks nobody."""
    for path, type in parts.slots:
        if path.root != "arg" or not isinstance(type, ArrayType):
            raise TypeError(
                f"{function.__name__} uses {path}, which can change from call to call; a ufunc has "
                "only its operands. Pass it as an argument, or write a kernel with a loop."
            )


@cache
def _api() -> Any:
    """The addresses of the functions of CPython that the loop calls."""
    functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in API]
    return (ctypes.c_uint64 * len(API))(*[each.value or 0 for each in functions])


@cache
def loop_address() -> int:
    """Where the loop is that NumPy calls."""
    routine = StoredRoutine(
        "loop of ufuncs",
        "ufunc loop 1",
        whorl_ufunc_loop.__name__,
        "every layout",
        lowest_level(),
        lambda: str(load("whorl.kernels.systems_compiler").llvm_text(whorl_ufunc_loop)),
    )
    return routine.address(default_cache())
