"""`whorl.vectorize` and `whorl.guvectorize`: ufuncs from functions of the kernel language."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, overload

import numpy as np

from whorl.kernels.fast_math import FastMath, flags_of
from whorl.kernels.numeric_kernel import kernel
from whorl.launch.level import check_level
from whorl.launch.slot_types import Scalar

from .growing_ufunc import GrowingUfunc
from .loop_block import KernelOptions, LoopTypes, build_block, loop_address
from .loop_templates import MOST_OPERANDS, first_result
from .numpy_ufunc import IDENTITIES, NativeLoop, make_ufunc
from .type_names import Signature, core_extents, signatures_of

__all__ = ["guvectorize", "vectorize"]


@overload
def vectorize(function: Callable[..., Any], /) -> GrowingUfunc: ...
@overload
def vectorize(
    signatures: str | Sequence[Any],
    /,
    *,
    identity: Any = None,
    parallel: bool = False,
    fastmath: FastMath = False,
    target: str | None = None,
) -> Callable[[Callable[..., Any]], np.ufunc]: ...
@overload
def vectorize(
    *,
    identity: Any = None,
    parallel: bool = False,
    fastmath: FastMath = False,
    target: str | None = None,
) -> Callable[[Callable[..., Any]], GrowingUfunc]: ...
def vectorize(
    function: Any = None,
    /,
    *,
    identity: Any = None,
    parallel: bool = False,
    fastmath: FastMath = False,
    target: str | None = None,
) -> Any:
    """Make a ufunc of a function of numbers: it broadcasts, and has `out=`, `where=`, `reduce`.

    With signatures, such as `@whorl.vectorize(["float64(float64)"])`, it is a ufunc of NumPy, whose
    loops are compiled or found in the cache at once; NumPy takes the first one that its operands
    can be cast to. Without, loops are compiled when operands of new types arrive.

    `identity` is what a reduction begins with: 0, 1, None, or "reorderable". `parallel` runs large
    operands on threads. `fastmath` and `target` are as for `whorl.kernel`. A ufunc computes with
    the globals that its function had when the loop was compiled.

    >>> import numpy as np, whorl
    >>> @whorl.vectorize
    ... def relative(a, b):
    ...     return abs(a - b) / (a + b)
    >>> relative(np.array([1.0, 3.0]), 1.0)
    array([0. , 0.5])
    >>> @whorl.vectorize(["int64(int64, int64)", "float64(float64, float64)"], identity=0)
    ... def larger(a, b):
    ...     return a if a > b else b
    >>> larger.types, larger.reduce([3, 7, 5])
    (['ll->l', 'dd->d'], np.int64(7))
    """
    options = _options(parallel, fastmath, target)
    if identity not in IDENTITIES:
        raise ValueError(f"identity is 0, 1, None or 'reorderable', not {identity!r}")
    if isinstance(function, FunctionType):
        return _growing(function, options, identity)
    signatures = signatures_of(function)

    def decorate(function: Callable[..., Any]) -> Any:
        function = _function(function, "vectorize")
        if not signatures:
            return _growing(function, options, identity)
        loops = [_element_loop(function, each, options) for each in signatures]
        return make_ufunc(
            loops, _input_count(function), function.__name__, function.__doc__, identity
        )

    return decorate


def guvectorize(
    signatures: str | Sequence[Any],
    layout: str,
    /,
    *,
    parallel: bool = False,
    fastmath: FastMath = False,
    target: str | None = None,
) -> Callable[[Callable[..., Any]], np.ufunc]:
    """Make a generalized ufunc of a function that writes its results into its last arguments.

    The layout names the extents of each operand, those of the inputs before the arrow. An input
    without extents is a number; an output without extents is an array of one element. The function
    is called for every part, and NumPy broadcasts all other dimensions.

    >>> import numpy as np, whorl
    >>> @whorl.guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->(n)")
    ... def add_to_all(x, y, out):
    ...     for i in range(x.shape[0]):
    ...         out[i] = x[i] + y
    >>> add_to_all(np.arange(6.0).reshape(2, 3), np.array([10.0, 20.0]))
    array([[10., 11., 12.],
           [23., 24., 25.]])
    """
    options = _options(parallel, fastmath, target)
    names, inputs = core_extents(layout)
    numbers: dict[str, int] = {}
    for name in (name for operand in names for name in operand):
        numbers.setdefault(name, len(numbers) + 1)
    extents = tuple((0, *(numbers[name] for name in operand)) for operand in names)
    outputs = tuple(place >= inputs for place in range(len(names)))
    wanted = signatures_of(signatures)
    if not wanted:
        raise TypeError("guvectorize needs signatures, such as 'void(float64[:], float64[:])'")

    def decorate(function: Callable[..., Any]) -> np.ufunc:
        function = _function(function, "guvectorize")
        loops = []
        for dtypes, _ in wanted:
            if len(dtypes) != len(names) or _input_count(function) != len(names):
                raise ValueError(
                    f"{function.__name__} has {_input_count(function)} parameters, its layout "
                    f"{layout!r} {len(names)} operands, and the signature {len(dtypes)} types; "
                    "outputs are counted too"
                )
            types = LoopTypes(dtypes, extents, outputs)
            block, lives = build_block(function, types, options, elementwise=False)
            loops.append(NativeLoop(loop_address(), block, lives, dtypes))
        return make_ufunc(loops, inputs, function.__name__, function.__doc__, layout=layout)

    return decorate


def _options(parallel: bool, fastmath: FastMath, target: str | None) -> KernelOptions:
    if type(parallel) is not bool:
        raise TypeError(f"parallel is True or False, not {parallel!r}")
    if target is not None:
        check_level(target)
    flags_of(fastmath)  # refuses what is none
    return KernelOptions(parallel, fastmath, target)


def _function(function: Any, decorator: str) -> Any:
    function = getattr(function, "__whorl_function__", function)
    if not isinstance(function, FunctionType):
        raise TypeError(f"whorl.{decorator} takes a function, not {type(function).__name__}")
    return function


def _input_count(function: Callable[..., Any]) -> int:
    """How many parameters a function has; all of them by position, without defaults."""
    parameters = inspect.signature(function).parameters.values()
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not parameters or any(each.kind not in plain for each in parameters):
        raise TypeError(f"{function.__name__}: a ufunc has parameters by position, one at least")
    if len(parameters) > MOST_OPERANDS:
        raise TypeError(f"{function.__name__}: a ufunc has at most {MOST_OPERANDS} operands here")
    return len(parameters)


def _element_loop(
    function: Callable[..., Any], signature: Signature, options: KernelOptions
) -> NativeLoop:
    """The loop for one signature."""
    inputs, result = signature
    count = _input_count(function)
    if len(inputs) != count:
        raise ValueError(
            f"{function.__name__} has {count} parameters, and the signature {len(inputs)} types"
        )
    if count >= MOST_OPERANDS:
        raise TypeError(f"{function.__name__}: a ufunc has at most {MOST_OPERANDS - 1} inputs here")
    dtypes = (*inputs, _result_type(function, inputs) if result is None else result)
    types = LoopTypes(dtypes, ((0,),) * len(dtypes), (False,) * count + (True,))
    block, lives = build_block(function, types, options, elementwise=True)
    return NativeLoop(loop_address(), block, lives, dtypes)


def _result_type(function: Callable[..., Any], inputs: tuple[np.dtype[Any], ...]) -> np.dtype[Any]:
    """The dtype of what the function returns for numbers of these types."""
    examples = tuple(np.ones(1, dtype) for dtype in (*inputs, np.dtype(np.float64)))
    result = kernel(first_result(function)).specialize(examples).artifact.metadata["result"]
    if result is None or result[0] != "number":
        raise TypeError(f"{function.__name__} does not return a number, as a ufunc has to")
    return Scalar(result[1], result[2]).dtype


def _growing(function: Any, options: KernelOptions, identity: Any) -> GrowingUfunc:
    function = _function(function, "vectorize")
    return GrowingUfunc(
        function,
        _input_count(function),
        lambda inputs: _element_loop(function, (inputs, None), options),
        identity,
    )
