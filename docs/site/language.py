# ruff: noqa: E501  # a paragraph of the page is one line
"""Generates the page "The language" from the tables of the kernel compiler.

`python -m docs.site.language` writes it anew; a test compares it with the tables. What a table does
not say, in words, is in the dictionaries of this module, and each has to have a sentence for every
row of its table.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from whorl.kernels.library import LIBRARY, LibraryFunction
from whorl.kernels.library.generator_methods import METHODS as STREAM_METHODS
from whorl.kernels.lowering import alternatives, attributes, expressions, statements
from whorl.kernels.lowering.arithmetic import COMPARISONS, OPERATORS
from whorl.kernels.lowering.functions import (
    ARRAY_METHODS,
    FUNCTIONS,
    LOOPS,
    METHODS,
    NUMBER_METHODS,
    handler_of,
)
from whorl.kernels.lowering.known_calls import Handler, KnownCall, KnownFunction
from whorl.kernels.lowering.root import SYNTAX
from whorl.kernels.lowering.scalar_calls import SCALAR_CALLS
from whorl.kernels.lowering.ufunc_methods import UFUNC_METHODS
from whorl.kernels.lowering.vector_calls import OWN_METHODS

__all__ = ["PAGE", "language_page"]

PAGE = Path(__file__).resolve().parents[1] / "reference" / "language.md"

STATEMENTS: Mapping[type[ast.stmt], str] = {
    ast.AnnAssign: "`x: float = 1`: converts, or refuses what does not fit",
    ast.Assert: "`assert test, message`: with `debug=True`",
    ast.Assign: "`x = y`, `a, b = b, a`, `x[i] = y`, `x[1:] = y`, `v.x = y`",
    ast.AugAssign: "`x += y`, in place for arrays; in `prange`, atomic for elements",
    ast.Break: "`break`; not in `prange`",
    ast.Continue: "`continue`",
    ast.Delete: "`del name`",
    ast.Expr: "a call for its effect",
    ast.For: "`for` over `range`, `whorl.prange`, arrays and their `flat`, tuples, `enumerate`, "
    "`zip`, `reversed`, `whorl.ndrange`, `np.ndindex`, `np.ndenumerate`; `whorl.prange` around the "
    "indices of `whorl.ndrange` and `np.ndindex`, too",
    ast.FunctionDef: "`def` inside of a kernel: a closure, without decorators",
    ast.If: "`if`, `elif`, `else`; a test that is known at compile time drops the other branch",
    ast.Pass: "`pass`",
    ast.Raise: "`raise ValueError(message)`",
    ast.Return: "`return` of numbers, arrays, tuples of these, or nothing",
    ast.While: "`while`, and `while whorl.graph.do_while(condition)`",
    ast.With: "`with whorl.graph.checkpoint(...)` and `with whorl.graph.parallel()`",
}
EXPRESSIONS: Mapping[type[ast.expr], str] = {
    ast.Attribute: "`x.shape`, `self.dt`, `module.CONSTANT`, `v.x`, `v.zyx`",
    ast.BinOp: "operators, for numbers, vectors and arrays",
    ast.BoolOp: "`and`, `or`; not for arrays, as in NumPy",
    ast.Call: "calls of the functions on this page, and of Python functions with a source",
    ast.Compare: "comparisons, chains of them for numbers, `is None`, `in` a tuple",
    ast.Constant: "numbers, texts that are known at compile time, `True`, `None`, `...`",
    ast.GeneratorExp: "`sum(f(i) for i in range(n))`",
    ast.IfExp: "`a if test else b`",
    ast.Lambda: "`lambda`",
    ast.List: "`[a, b]`, of fixed length",
    ast.ListComp: "`[f(x) for x in items]`",
    ast.Name: "names of parameters, variables, globals and captured variables",
    ast.NamedExpr: "`(x := y)`",
    ast.Subscript: "`x[i, 1:-1, ..., None]`, `x[mask]`, `x[places]`",
    ast.Tuple: "`(a, b)`, `(*a, b)`",
    ast.UnaryOp: "`-x`, `+x`, `~x`, `not x`",
}
GROUPS = {
    "Python's own": "builtins",
    "`math`": "math",
    "`cmath`": "cmath",
    "whorl's": "whorl",
}


def language_page() -> str:
    """The whole page."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield from _INTRODUCTION.splitlines()
    yield from _syntax("Statements", STATEMENTS, SYNTAX.statements)
    yield from _syntax("Expressions", EXPRESSIONS, SYNTAX.expressions)
    yield from _operators()
    yield from _functions()
    yield from _methods()
    yield from _missing()


# -- syntax -----------------------------------------------------------------------------


def _syntax(title: str, words: Mapping[Any, str], table: Mapping[Any, object]) -> Iterator[str]:
    yield from (f"## {title}", "")
    for each in sorted(table, key=lambda each: str(each.__name__)):
        yield f"- {words.get(each, each.__name__)}"
    yield ""


def _operators() -> Iterator[str]:
    signs = [sign for _, sign, _ in OPERATORS.values()]
    comparisons = [_SIGNS[each] for each in COMPARISONS]
    attribute_names = sorted(attributes.ARRAY_ATTRIBUTES)
    yield from ("## Operators and attributes", "")
    yield f"Operators: {_code(signs)} and `@`. Comparisons: {_code(comparisons)}."
    yield ""
    yield f"Attributes of arrays: {_code(attribute_names)}."
    yield ""


_SIGNS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


# -- functions --------------------------------------------------------------------------


def _functions() -> Iterator[str]:
    yield from ("## Functions", "")
    for title, module in GROUPS.items():
        own = [name for name in (*FUNCTIONS, *LOOPS) if name.rpartition(".")[0] == module]
        shown = sorted(name.removeprefix("builtins.") for name in own)
        if module == "builtins":
            shown = sorted({*shown, "bool", "float", "int"})
        yield from (f"### {title}", "", f"{_code(shown)}.", "")
    yield from ("### NumPy, element by element", "", _ELEMENTWISE, "")
    rows = {name: row for row in LIBRARY for name in row.names}
    every = {name for name in FUNCTIONS if name.startswith("numpy.")}
    elements = {n for n in every if n in SCALAR_CALLS or (n in rows and rows[n].is_elementwise)}
    plain = sorted(_short(name) for name in elements if name not in rows)
    yield from (f"{_code(plain)}.", "")
    yield from _table((name, FUNCTIONS[name], rows.get(name)) for name in elements & set(rows))
    yield from ("### NumPy, over arrays", "", _OVER_ARRAYS, "")
    yield from _table((name, FUNCTIONS[name], rows.get(name)) for name in every - elements)


def _short(name: str) -> str:
    return name.replace("numpy.", "np.", 1)


def _table(rows: Iterable[tuple[str, Handler, LibraryFunction | None]]) -> Iterator[str]:
    yield from ("| function | limits |", "|---|---|")
    for name, handler, row in sorted(rows, key=lambda each: each[0]):
        yield f"| `{_short(name)}({_parameters(handler, row)})` | {_limits(handler, row)} |"
    yield ""


def _parameters(handler: Handler, row: LibraryFunction | None) -> str:
    if row is not None:
        return str(_signature(row))
    if isinstance(handler, KnownFunction):
        return handler.parameters
    return _asked(handler)


def _signature(row: LibraryFunction) -> str:
    text = str(inspect.signature(row.function))[1:-1]
    return text.replace("<class 'numpy.float64'>", "np.float64")


def _limits(handler: Handler, row: LibraryFunction | None) -> str:
    if row is not None:
        return row.limits
    return handler.limits.strip() if isinstance(handler, KnownFunction) else ""


class _Names(Exception):
    """The names of the parameters that a handler asks for, or how many there are."""


class _Question(KnownCall):
    """A call that is asked for nothing but its parameters."""

    def bound(self, *names: str, required: int = 1) -> NoReturn:
        shown = [*names[:required], *(f"{name}=..." for name in names[required:])]
        raise _Names(", ".join(shown))

    def positional(self, *counts: int) -> NoReturn:
        raise _Names(", ".join("xyz"[: max(counts)]))


def _asked(handler: Handler) -> str:
    """The parameters that a handler asks a call for."""
    call = ast.parse("f()", mode="eval").body
    assert isinstance(call, ast.Call)
    nothing: Any = None
    try:
        handler(_Question(nothing, call, [], {}))
    except _Names as names:
        return str(names)
    except Exception:  # it looks at its arguments first
        return "..."
    return "..."


# -- methods ----------------------------------------------------------------------------


def _methods() -> Iterator[str]:
    yield from ("## Methods", "", "Of arrays:", "")
    rows = {row.method: row for row in LIBRARY if row.method}
    yield from ("| method | limits |", "|---|---|")
    for name, handler in sorted(ARRAY_METHODS.items()):
        parameters = _parameters(handler, rows.get(name)).partition(", ")[2]
        yield f"| `a.{name}({parameters})` | {_limits(handler, rows.get(name))} |"
    yield ""
    yield f"Of small vectors and matrices, before those of arrays: {_code(sorted(METHODS))}."
    yield ""
    yield f"Of rows of arrays that are read as vectors: {_code(sorted(OWN_METHODS))}."
    yield ""
    yield f"Of numbers: {_code(sorted(NUMBER_METHODS))}."
    yield ""
    yield f"Of NumPy's functions of elements, as in `np.add.reduce(a)`: {_code(UFUNC_METHODS)}."
    yield ""
    yield f"Of `np.random.Generator`: {_code(sorted(STREAM_METHODS))}. Parameters are numbers."
    yield ""


# -- what is not there ------------------------------------------------------------------


def _missing() -> Iterator[str]:
    yield from ("## What is not there", "")
    yield from _MISSING.splitlines()
    yield from ("", "| instead of | write |", "|---|---|")
    known: set[type[ast.AST]] = {*SYNTAX.statements, *SYNTAX.expressions}
    for table in (statements.UNSUPPORTED, expressions.UNSUPPORTED):
        rows = {row: None for node, row in table.items() if node not in known}
        yield from (f"| {what} | {remedy} |" for what, remedy in rows if remedy)
    for cls, remedy in alternatives.INSTEAD_OF_MAKING.items():
        if handler_of(cls) is None and f"builtins.{cls.__name__}" not in LOOPS:
            yield f"| `{cls.__name__}(...)` | {remedy} |"
    for name, remedy in sorted(alternatives.ALTERNATIVES.items()):
        yield f"| `{_short(name)}` | {remedy} |"
    for name, remedy in sorted(alternatives.METHOD_ALTERNATIVES.items()):
        yield f"| `a.{name}(...)` | {remedy} |"


_INTRODUCTION = """\
# The language

Everything that kernels know: statements, operators, functions and methods. This page is generated from the compiler's tables (`python -m docs.site.language`), and a test compares it with them. What is not on it is refused before anything runs, with the line and with what to write instead.

```python
import numpy as np
import whorl


@whorl.kernel
def summary(samples):
    clean = samples[~np.isnan(samples)]
    middle = np.median(clean)
    counts, edges = np.histogram(clean, bins=4)
    return middle, counts, np.sort(clean)[:3]


middle, counts, smallest = summary(np.array([3.0, 1.0, np.nan, 2.0, 7.0]))
assert (middle, list(counts), list(smallest)) == (2.5, [2, 1, 0, 1], [1.0, 2.0, 3.0])
```

Results are NumPy's: the same types, the same bits for elementwise work, sums within NumPy's own error. A parameter that is *known at compile time* is a literal, a global, or `whorl.static(...)` of an argument. An `axis` always is.

## Values

Numbers: `bool`, `int`, `float`, `complex`, and NumPy's `bool_`, `int8` to `int64`, `uint8` to `uint64`, `float32`, `float64`, `complex64`, `complex128`. Python's ints have 64 bits here. Arrays of these, of any number of dimensions and any strides. Tuples and lists of fixed length. `None`, enum members and texts, which are known at compile time. Objects, through their attributes. Small vectors and matrices (`whorl.vec`, `whorl.mat`). Arrays of records (structured dtypes) of these, by their fields. Named tuples and dataclasses that a kernel makes. `np.float32(x)`, `int(x)` and the like convert; `np.finfo` and `np.iinfo` say what a type can hold.
"""
_ELEMENTWISE = "Of numbers, and of arrays element by element; with `out=` for those without parameters of their own. They are fused with what is around them: nothing is stored."
_OVER_ARRAYS = "They return views where NumPy does, and new arrays elsewhere. `np.where(test)` is `np.nonzero(test)`."
_MISSING = """\
There is no differentiation. `whorl.array(shape, grad=True)` has a second array at `.grad`, which kernels read and write like any other; nothing computes derivatives.

Lists do not grow, dicts and sets are not made, texts are not computed. Random numbers are drawn outside and passed in.
"""


if __name__ == "__main__":
    PAGE.write_text(language_page(), encoding="utf-8")
