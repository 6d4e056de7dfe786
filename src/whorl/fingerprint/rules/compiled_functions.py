"""Functions of other compilers: by the function that each wraps, and by its options.

A rule belongs to the name of a class and holds for its subclasses too. No library is imported for
that: a row says by which attributes an object of the class shows what it does, and is used when
such an object is met. What the object has compiled so far, its locks and its contexts do not count.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, Final

from whorl.signals import pass_on

from ..boundary import DEFAULT_BOUNDARY
from ..local_annotations import local_annotations
from ..refusal import Refused
from ..static_lookup import module_name, mro, qualname
from ..tokens import Node
from .callables import by_code
from .rule import Kind, RuleContext

__all__ = ["KINDS", "ROWS", "Content", "row_of"]

Content = Callable[[Any], object]
"""A function that returns what counts of an object: functions, texts, numbers, tuples of these."""


def _attributes(*names: str) -> Content:
    """The attributes of these names, as far as the object has them: versions differ in that."""
    return lambda value: {name: getattr(value, name) for name in names if hasattr(value, name)}


def _jax_function(value: Any) -> object:
    """A function from `jax.jit`: options that are no plain values count as JAX prints them."""
    info = value._jit_info
    fields = [name for name in info._fields if name not in ("fun_sourceinfo", "fun_signature")]
    return value.__wrapped__, [(name, str(getattr(info, name))) for name in fields]


def _numba_gufunc(value: Any) -> object:
    builder = value.gufunc_builder
    return builder.py_func, builder.signature, builder.targetoptions, builder.writable_args


def _quadrants_callable(value: Any) -> object:
    """A kernel or function of Quadrants: what it is compiled from, and its options."""
    compiled = value.wrapper if value._primal is None else value._primal
    parameters = [(each.name, each.annotation) for each in compiled.arg_metas]
    names = ("use_graph", "use_checkpoints", "is_real_function", "pyfunc")
    options = [(name, getattr(compiled, name, None)) for name in names]
    local = local_annotations(value.fn)
    return value.fn, parameters, compiled.return_type, options, value._qd_requires_top_level, local


def _triton_function(value: Any) -> object:
    """A function from `triton.jit`: what Triton's code generator takes from it.

    Triton's own key of the text counts too where the function is part of an installed distribution:
    whorl knows that by its version, but Triton notices when somebody edits the file.
    """
    lines = value.raw_src if hasattr(value, "raw_src") else inspect.getsourcelines(value.fn)[0]
    if value.src not in textwrap.dedent("".join(lines)):
        raise Refused(
            "its source was replaced by a text, so what that reads is not known",
            "Write the function into a file.",
        )
    function = value.fn
    home = DEFAULT_BOUNDARY.home(function.__module__, function.__code__.co_filename)
    own_key = "" if home.kind == "user" else value.cache_key
    return function, bool(value.noinline), value._repr, own_key


def _gt4py_program(value: Any) -> object:
    """A program or field operator of GT4Py: its function, its options, and where it runs."""
    stage, backend = value.definition_stage, value.backend
    definition = [getattr(stage, name, None) for name in ("node_class", "attributes", "grid_type")]
    return stage.definition, definition, value.compilation_options, getattr(backend, "name", None)


def _gt4py_node(value: Any) -> object:
    """A node of GT4Py's intermediate code, without its line and what passes note on it."""
    children = {name: child for name, child in value.iter_children_items() if name != "location"}
    return type(value), children


def _numba_stencil(value: Any) -> object:
    """A stencil has taken the values of its globals when it was defined."""
    identity = value.kernel_ir.func_id
    reads = {}
    for block in value.kernel_ir.blocks.values():
        for statement in block.body:
            read: Any = getattr(statement, "value", None)
            if type(read).__name__ in ("Global", "FreeVar"):
                reads[read.name] = read.value
    return identity.func, value.mode, value.options, reads


ROWS: Final[dict[str, Content]] = {
    "numba.core.dispatcher.Dispatcher": lambda value: (
        value.py_func, value.targetoptions, value.locals, value._compiler.pipeline_class,
    ),
    "numba.np.ufunc.ufuncbuilder.UFuncDispatcher": _attributes("py_func", "targetoptions"),
    "numba.np.ufunc.dufunc.DUFunc": _attributes("_dispatcher", "_identity", "reorderable"),
    "numba.np.ufunc.gufunc.GUFunc": _numba_gufunc,
    "numba.core.ccallback.CFunc": _attributes("_pyfunc", "_sig", "_locals", "_targetoptions"),
    "numba.stencils.stencil.StencilFunc": _numba_stencil,
    "numba.core.extending._Intrinsic": _attributes("_defn", "_ctor_kwargs", "_name"),
    "jaxlib._jax.PjitFunction": _jax_function,
    "jaxlib.xla_extension.PjitFunction": _jax_function,
    "gt4py.next.ffront.decorator.Program": _gt4py_program,
    "gt4py.next.ffront.decorator.FieldOperator": _gt4py_program,
    "gt4py.eve.concepts.Node": _gt4py_node,
    "quadrants.lang._quadrants_callable.QuadrantsCallable": _quadrants_callable,
    "quadrants.lang._quadrants_callable.BoundQuadrantsCallable": lambda value: (
        value.quadrants_callable, type(value.instance),
    ),
    "quadrants._lib.core.quadrants_python.DataTypeCxx": lambda value: value.to_string(),
    "flydsl.compiler.jit_function.JitFunction": lambda value: (
        value._original_func, value.compile_hints,
    ),
    "flydsl.compiler.kernel_function.KernelFunction": _attributes(
        "_original_func", "_name", "_known_block_size",
    ),
    "whorl.adapters.jax.WatchedFunction": lambda value: value._jitted,
    "triton.runtime.jit.JITFunction": _triton_function,
    "triton.runtime.jit.ConstexprFunction": lambda value: value.fn,
    "triton.runtime.jit.BoundConstexprFunction": lambda value: (value.__self__, value.__func__),
}  # fmt: skip
"""What counts of the objects of a class, by the name of the class."""

_OWN: Final = dict(ROWS)  # those that others add count by their code too


def row_of(cls: type) -> tuple[str, Content] | None:
    """The row for a class or the nearest of its bases."""
    for base in mro(cls):
        name = f"{module_name(base)}.{qualname(base)}"
        content = ROWS.get(name)
        if content is not None:
            return name, content
    return None


def _compiled_function(value: Any, context: RuleContext) -> Node:
    row = row_of(type(value))
    assert row is not None, "this rule is for classes that have a row"
    name, content = row
    try:
        parts = content(value)
    except (RecursionError, MemoryError, Refused):
        raise
    except Exception as error:
        pass_on(error)
        raise Refused(
            f"whorl's rule for {name} does not know this version of the library "
            f"({type(error).__name__}: {error})",
            "Use a version that whorl's guide to adapters lists.",
        ) from error
    own = None if content is _OWN.get(name) else content
    return Node(b"compiled function", (name, parts, own), ("", "", ".rule").__getitem__)


KINDS: Final[tuple[Kind, ...]] = (
    (lambda cls: row_of(cls) is not None, by_code(_compiled_function)),
)
