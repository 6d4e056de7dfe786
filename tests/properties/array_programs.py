"""Programs over whole arrays that nobody wrote: shapes, types, strides, overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from whorl.fast_dataclasses import dataclass

__all__ = ["ArrayProgram", "array_program"]

T = TypeVar("T")

MATRICES: Final = ("a", "b", "c", "i", "m")  # of floats, of integers, of bools
ROWS: Final = ("v", "w", "j")
FLOATS: Final = ("a", "b", "c")
SLICES: Final = (":", ":", "1:", ":-1", "::-1", "::2", "1:-1", "k:", ":k", "-3:", "2:0", "k::-1")


class Decisions(Protocol):
    """What chooses."""

    def pick(self, options: Sequence[T]) -> T: ...

    def number(self, low: int, high: int) -> int: ...


@dataclass(frozen=True, slots=True)
class ArrayProgram:
    """A source with a function `program`, and how its arguments are made."""

    source: str
    shape: tuple[int, int]
    dtypes: tuple[str, ...]
    layout: str
    shared: str
    k: int

    def arguments(self) -> tuple[Any, ...]:
        """The arguments, made anew."""
        n, m = self.shape
        random = np.random.default_rng(n * 31 + m)
        a, b, c = (random.integers(-8, 9, (n, m)).astype(dtype) / 4 for dtype in self.dtypes[:3])
        a, b, c = (x.astype(t) for x, t in zip((a, b, c), self.dtypes, strict=False))
        if self.layout == "F":
            a, c = np.asfortranarray(a), np.asfortranarray(c)
        if self.layout == "strided":
            a, b = a.repeat(2, 0)[::2], b.repeat(3, 1)[:, ::3]
        if self.shared == "same":
            b = a
        elif self.shared == "shifted":
            base = random.integers(-8, 9, (n + 1, m + 1)).astype(self.dtypes[0])
            a, b = base[1:, 1:], base[:-1, :-1]
        elif self.shared == "reversed":
            b = a[::-1, ::-1]
        i = random.integers(-5, 6, (n, m)).astype(self.dtypes[3])
        v, w = (random.integers(-8, 9, m).astype(t) / 2 for t in ("f8", "f4"))
        w = w.astype("f4")
        j = random.integers(1, 6, m)
        return a, b, c, i, i > 0, v, w, j, 1.5, self.k


def array_program(choice: Decisions) -> ArrayProgram:
    """A program of a few statements."""
    lines = [f"    {line}" for _ in range(choice.number(1, 4)) for line in _statement(choice, 0)]
    result = choice.pick(["a, c", "(a + c).T", "None", "b[1:], v * 2", "i.sum(axis=0), i.max()"])
    if "max" in result:
        lines.append("    if i.size > 0:")
        lines.append(f"        return {result}")
        result = "i.sum(axis=0), 0"
    source = "\n".join([
        "import numpy as np", "import whorl", "", "",
        "def program(a, b, c, i, m, v, w, j, s, k):", *lines, f"    return {result}", "",
    ])  # fmt: skip
    return ArrayProgram(
        source,
        (choice.number(0, 5), choice.number(0, 5)),
        (*(choice.pick(["f4", "f8", "f8"]) for _ in range(3)), choice.pick(["i2", "i4", "i8"])),
        choice.pick(["C", "C", "F", "strided"]),
        choice.pick(["", "", "same", "shifted", "reversed"]),
        choice.number(-3, 4),
    )


def _statement(choice: Decisions, depth: int) -> list[str]:
    kind = choice.number(0, 16)
    index = choice.pick(["", "", f"[{_index(choice)}]"])
    target = f"{choice.pick(FLOATS)}{index or '[...]'}"
    if kind <= 3:
        return [f"{target} = {_matrix(choice, 2, index)}"]
    if kind <= 5:
        return [f"{target} {choice.pick(['+=', '-=', '*='])} {_matrix(choice, 1, index)}"]
    if kind == 6:
        return [f"v[{choice.pick(SLICES)}] = {_row(choice, 2)}"]
    if kind == 7:
        return [f"t = {_matrix(choice, 2, index)}", f"{target} = t + {_matrix(choice, 1, index)}"]
    if kind == 8:
        test = f"{_matrix(choice, 0, '')} < {_matrix(choice, 1, '')}"
        name, op = choice.pick(FLOATS), choice.pick(["=", "+=", "*="])
        return [f"{name}[{name} {choice.pick(['<', '>'])} s] {op} 2", f"v[0:1] = ({test}).sum()"]
    if kind == 9:
        return [f"v {choice.pick(['=', '+='])} v[j % {choice.number(1, 3)}] * 2"]
    if kind == 12:
        return _selected(choice)
    if kind == 13:
        return _small(choice)
    if kind == 14:
        view = choice.pick(
            ["a.T", "b[::-1]", "c[:, ::2]", "a[..., 1:]", "b.reshape(-1)", "c[None]"]
        )
        return [
            f"z = {view}",
            f"z[...] {choice.pick(['=', '+=', '*='])} {choice.pick(['s', 'z * 2'])}",
        ]
    if kind == 15:
        name = choice.pick(["u", "y"])
        return [
            f"{name} = {_matrix(choice, 2, index)}",
            *_statement(choice, 1),
            f"{target} = {name} * {choice.pick(['s', '2'])}",
        ]
    if kind == 16:
        loop = choice.pick([
            "for p, x in np.ndenumerate(a): v[0:1] += x * p[0]",
            "for x in b.flat: v[0:1] = v[0:1] * 0.5 + x",
            "for p, q in np.ndindex(i.shape): i[p, q] += p - q",
            "for x, y in zip(v, reversed(w)): v[0:1] += x * y",
            "for p, x in enumerate(c): x[p:] += 1",
        ])  # fmt: skip
        return [loop]
    if depth:
        return [f"w {choice.pick(['+=', '*='])} {_row(choice, 1)}"]
    inner = [f"    {line}" for line in _statement(choice, depth + 1)]
    if kind == 10:
        return [f"for r in range({choice.number(0, 3)}):", *inner]
    return [f"if k > {choice.number(-2, 2)}:", *inner]


def _selected(choice: Decisions) -> list[str]:
    """A statement with masks or arrays of integers among the indices."""
    name = choice.pick(FLOATS)
    index = choice.pick([
        "j % k2", "j % k2, 0", ":, j % m2", "[0, -1]", "m[:, 0]", "m[:, 0], 0", "m", "..., m[0]",
        "[0, -1], ::-1", "j[:, None] % k2, [0, 0]", "1 % k2, j % m2",
    ])  # fmt: skip
    sizes = "k2, m2 = max(len(a), 1), max(a.shape[1], 1)"
    guard = "if a.size > 0:"
    value = choice.pick(["s", "2", f"{name}[{index}] * 2", f"{choice.pick(FLOATS)}[{index}] + 1"])
    change = f"{name}[{index}] {choice.pick(['=', '+=', '*='])} {value}"
    read = f"v[0:1] = ({choice.pick(FLOATS)}[{index}] - s).sum()"
    return [sizes, guard, f"    {choice.pick([change, read])}"]


def _small(choice: Decisions) -> list[str]:
    """Statements with small arrays of known shape, which a loop carries on."""
    first = choice.pick(["np.zeros(3)", "np.array([s, 2.0, k])", "np.ones(3)", "np.full(3, s)"])
    changes = [
        "e = e + s",
        "e[1] += 2",
        "e *= 0.5",
        "g = e",
        "e = g * 2",
        "e, g = g, e",
        "e[:2] = g[1:]",
    ]
    lines = [choice.pick(changes) for _ in range(choice.number(1, 3))]
    test = choice.pick(["if r > 0:", "if k > r:"])
    return [
        f"e, g = {first}, np.arange(3.0)",
        f"for r in range({choice.number(0, 4)}):",
        f"    {lines[0]}",
        f"    {test}",
        *(f"        {line}" for line in lines),
        "v[0:1] = e[0] + 2 * e[1] + 4 * e[2] + 8 * g[0] + 16 * g[2]",
    ]


def _index(choice: Decisions) -> str:
    return f"{choice.pick(SLICES)}, {choice.pick(SLICES)}"


def _matrix(choice: Decisions, depth: int, index: str) -> str:
    """An expression whose shape is mostly that of a part of a matrix."""
    if depth == 0:
        whole = [f"{choice.pick(MATRICES)}{index}" for _ in range(6)]
        others = ["s", "2", "a.T", f"b[{_index(choice)}]", "c[:1, :1]" if index else "v"]
        return choice.pick([*whole, *others])
    left, right = (_matrix(choice, depth - 1, index) for _ in range(2))
    kind = choice.number(0, 9)
    if kind <= 4:
        return f"({left} {choice.pick(['+', '-', '*', '/'])} {right})"
    if kind == 5:
        return f"np.where({left} {choice.pick(['<', '>=', '=='])} {right}, {left}, {right})"
    if kind == 6:
        return f"{choice.pick(['np.minimum', 'np.maximum'])}({left}, {right})"
    if kind == 7:
        return left if index else f"({choice.pick(['v', 'w', 'j'])}[None, :] + {left})"
    if kind == 8:
        return f"abs({left}) ** 2"
    return f"np.sqrt(np.abs({left}))"


def _row(choice: Decisions, depth: int) -> str:
    if depth == 0:
        name = choice.pick(ROWS)
        return choice.pick([name, f"{name}[{choice.pick(SLICES)}]", "a[k % 2]", "1.5", "c[:, 0]"])
    left, right = _row(choice, depth - 1), _row(choice, depth - 1)
    return f"({left} {choice.pick(['+', '-', '*', '/'])} {right})"
