"""The decorator of the kernel language, and what a kernel offers beside being called."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    cast,
    overload,
)

import numpy as np

from whorl.jit import Kernel
from whorl.jit.kernel_lookup import AnyStore, CacheMode, Choices, OnDrift, check_choices
from whorl.jit.specialization import Specialization
from whorl.launch import machine
from whorl.launch.launched_kernel import LaunchedKernel
from whorl.launch.level import check_level
from whorl.launch.native_tables import native_classes
from whorl.launch.plain_launch import unpacked
from whorl.lazy import importing
from whorl.store import Cache

from .kernel_compiler import KernelCompiler

__all__ = ["NumericKernel", "kernel"]

Form = Literal["ir", "llvm", "optimised", "asm"]


class NumericKernel(LaunchedKernel):
    """A kernel of whorl's own language. Made by `whorl.kernel`."""

    compiler: KernelCompiler

    def reaches_checkpoints(self, instance: object) -> bool:
        """Whether the code could come to a checkpoint when it is a method of an object."""
        return self._graph_use(instance).has_checkpoints

    def _graph_use(self, *values: object) -> GraphUse:
        """What the function uses of graphs, called with these values."""
        with importing:
            from .graph_use import graph_use

        return graph_use(self.function, values)

    def _with_choices(self, choices: Choices) -> Kernel:
        return _new_kernel(self.function, self.compiler, choices, self.own_cache)

    @property
    def py_func(self) -> types.FunctionType:
        """The plain function, by its name in Numba."""
        return self.function

    def compile(self, /, *args: Any, target: str | None = None, **kwargs: Any) -> Specialization:
        """Compile without a call, for arguments of these types, and keep the result.

        A type is a text such as "f64[:, ::1]" or "i64", a class such as `int`, or a dataclass
        whose fields are annotated by such types. Anything else is an example: an array, an object.
        `target` is a level such as "x86-64-v3", which need not be one that this machine can run.

        >>> import numpy as np, whorl
        >>> @whorl.kernel
        ... def scale(x, factor):
        ...     for i in range(x.size):
        ...         x[i] *= factor
        >>> made = scale.compile("f64[::1]", "f64")
        >>> scale.specialize(np.zeros(3), 0.5) is made
        True
        """
        with importing:
            from .argument_types import check_constants, stand_in, type_of

        kernel = self if target is None else self.with_options(target=target)
        named = {name: stand_in(each) for name, each in kwargs.items()}
        specialization = kernel.specialize(*map(stand_in, args), **named)
        names = self.lookup.binding.names
        given = dict(zip(names, map(type_of, args), strict=False))
        given |= {name: type_of(each) for name, each in kwargs.items()}
        check_constants(self.lookup.name, given, specialization.trace.shape.reads)
        return specialization

    def interpret(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the function as plain Python, with the same results: for pdb, and for tests.

        >>> import whorl
        >>> @whorl.kernel
        ... def double(n: int):
        ...     return 2 * n
        >>> double.interpret(21)
        42
        """
        with np.errstate(all="ignore"):
            found = self._graph_use(*args, *kwargs.values())
            with importing:
                from .plain_values import as_argument, as_result

            args = tuple(map(as_argument, args))
            kwargs = {name: as_argument(value) for name, value in kwargs.items()}
            if not found.graph:
                return as_result(self.function(*args, **kwargs))
            with importing:
                from .interpreter import interpreted  # graphs are walked

            return as_result(interpreted(self.function, args, kwargs, found, self.lookup.name))

    def interpret_resumed(self, /, *args: Any, from_checkpoint: int, **kwargs: Any) -> Any:
        """What `resume` does, as plain Python."""
        with importing:
            from .interpreter import interpreted
            from .plain_values import as_argument

        args = tuple(map(as_argument, args))
        kwargs = {name: as_argument(value) for name, value in kwargs.items()}
        with np.errstate(all="ignore"):
            found = self._graph_use(*args, *kwargs.values())
            return interpreted(
                self.function, args, kwargs, found, self.lookup.name, from_checkpoint
            )

    def inspect(self, form: Form = "ir", which: int = -1) -> str:
        """The program of a specialization: as "ir", "llvm", "optimised" LLVM, or "asm".

        `which` counts the specializations that are in memory, the last one by default.
        """
        if form not in ("ir", "llvm", "optimised", "asm"):
            raise ValueError(f"the forms are ir, llvm, optimised and asm, not {form!r}")
        made = self.specializations()
        if not made:
            raise LookupError(f"{self.lookup.name} has not been called yet: nothing is compiled")
        artifact = made[which].artifact
        if form != "ir" and "llvm" not in artifact.payloads:
            raise LookupError(
                f"{self.lookup.name} is from a bundle, which holds no text for LLVM: compile it "
                "here, with WHORL_CACHE=off"
            )
        if form in ("ir", "llvm"):
            return unpacked(artifact, form).decode()
        show = machine.assembly if form == "asm" else machine.optimised_text
        return show(unpacked(artifact, "llvm").decode(), artifact.metadata["level"])

    def with_options(self, **options: Any) -> NumericKernel:
        """The same function with some options of `whorl.kernel` as given.

        It is a new kernel; this one stays as it is.

        >>> import numpy as np, whorl
        >>> @whorl.kernel
        ... def pick(x, i):
        ...     return x[i]
        >>> pick.with_options(debug=True)(np.zeros(4), 9)
        Traceback (most recent call last):
        ...
        IndexError: ...index 9 is out of bounds for axis 0 of arg:x, of size 4...
        """
        known = {**self._options(), "store": self.own_cache}
        unknown = options.keys() - known.keys()
        if unknown:
            raise TypeError(
                f"{self.lookup.name} has no option {min(unknown)!r}; it has "
                f"{', '.join(sorted(known))}"
            )
        return kernel(**cast("Any", known | options))(self.function)

    def _is_variant_of(self, other: Kernel) -> bool:
        return (
            isinstance(other, NumericKernel)
            and other.function is self.function
            and other.own_cache is self.own_cache
        )

    def _options(self) -> dict[str, Any]:
        compiler, choices = self.compiler, self.choices
        return {
            "cache": choices.cache,
            "debug": compiler.debug,
            "fastmath": compiler.fastmath,
            "nogil": compiler.nogil,
            "on_drift": choices.on_drift,
            "parallel": compiler.parallel,
            "target": compiler.level,
        }


NumericKernel.family = NumericKernel


def _new_kernel(
    function: types.FunctionType, compiler: KernelCompiler, choices: Choices, store: Cache | None
) -> NumericKernel:
    """A kernel that can become native, where there are native launches."""
    classes = native_classes(NumericKernel)
    cls = NumericKernel if classes is None else classes.python
    return cast("NumericKernel", cls(function, compiler, choices, store))


if TYPE_CHECKING:
    from .graph_use import GraphUse

    P = ParamSpec("P")
    Q = ParamSpec("Q")
    R_co = TypeVar("R_co", covariant=True)
    Instance = TypeVar("Instance")

    class TypedMethod(Generic[Q, R_co]):
        """A kernel as a method of an object, to type checkers."""

        __func__: NumericKernel
        __self__: Any

        def __call__(self, /, *args: Q.args, **kwargs: Q.kwargs) -> R_co: ...

        def __getattr__(self, name: str) -> Any: ...

    class TypedKernel(NumericKernel, Generic[P, R_co]):
        """A kernel with the signature of its function, to type checkers."""

        def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

        @overload
        def __get__(self, instance: None, owner: type | None = None) -> Self: ...
        @overload
        def __get__(
            self: TypedKernel[Concatenate[Instance, Q], R_co],
            instance: Instance,
            owner: type | None = None,
        ) -> TypedMethod[Q, R_co]: ...
        def __get__(self, instance: Any, owner: type | None = None) -> Any: ...

        def interpret(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    class KernelDecorator(Protocol):
        """What `whorl.kernel(...)` with options returns, to type checkers."""

        @overload
        def __call__(  # type: ignore[overload-overlap] # a staticmethod can be called too
            self, function: staticmethod[P, R_co], /
        ) -> staticmethod[P, R_co]: ...
        @overload
        def __call__(self, function: classmethod[Any, P, R_co], /) -> classmethod[Any, P, R_co]: ...
        @overload
        def __call__(self, function: Callable[P, R_co], /) -> TypedKernel[P, R_co]: ...


@overload
def kernel(  # type: ignore[overload-overlap] # as above
    function: staticmethod[P, R_co], /
) -> staticmethod[P, R_co]: ...
@overload
def kernel(function: classmethod[Any, P, R_co], /) -> classmethod[Any, P, R_co]: ...
@overload
def kernel(function: Callable[P, R_co], /) -> TypedKernel[P, R_co]: ...
@overload
def kernel(
    *,
    debug: bool | None = None,
    target: str | None = None,
    nogil: bool = False,
    parallel: bool = False,
    fastmath: bool | Iterable[str] = False,
    on_drift: OnDrift = "recompile",
    cache: CacheMode = "disk",
    store: AnyStore | None = None,
) -> KernelDecorator: ...
def kernel(
    function: Any = None,
    /,
    *,
    debug: bool | None = None,
    target: str | None = None,
    nogil: bool = False,
    parallel: bool = False,
    fastmath: bool | Iterable[str] = False,
    on_drift: OnDrift = "recompile",
    cache: CacheMode = "disk",
    store: AnyStore | None = None,
) -> Any:
    """Compile a function over NumPy arrays and numbers when it is called, and keep the result.

    `debug` checks indices, integer divisors and powers; `target` is a level such as "x86-64-v3";
    `nogil` lets other threads run meanwhile. `parallel` runs statements and reductions over large
    arrays on threads, with the same results for every number of threads. `fastmath` lets LLVM
    reorder sums, and more: True, or a set of its flags, such as {"reassoc", "nsz"}. `on_drift`,
    `cache` and `store` are as for `whorl.jit`.

    >>> import numpy as np, whorl
    >>> @whorl.kernel
    ... def total(x):
    ...     s = 0.0
    ...     for i in range(x.size):
    ...         s += x[i]
    ...     return s
    >>> total(np.arange(4.0))
    6.0
    """
    own_cache = check_choices(on_drift, cache, store)
    if target is not None:
        check_level(target)
    if type(parallel) is not bool:
        raise TypeError(f"parallel is True or False, not {parallel!r}")
    flags: tuple[str, ...] = ()
    if fastmath is not False:
        with importing:
            from .fast_math import flags_of  # hardly any process needs it

        flags = flags_of(fastmath)

    def decorate(function: Any) -> Any:
        if isinstance(function, staticmethod | classmethod):
            return type(function)(decorate(function.__func__))
        if not isinstance(function, types.FunctionType):
            raise TypeError(f"whorl.kernel compiles functions, not {type(function).__name__}")
        compiler = KernelCompiler(target, debug, nogil, parallel, flags)
        choices = Choices({}, on_drift, cache, False)
        return _new_kernel(function, compiler, choices, own_cache)

    return decorate if function is None else decorate(function)
