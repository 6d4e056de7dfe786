"""Source texts of small kernels, made up piece by piece, with arguments to run them on.

What a program computes stays inside of what compiled and plain Python are meant to agree on:
Python's ints stay small, floats become ints only after they were clipped, and a name keeps its
type. Only functions that are exact are used, so floats agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

T = TypeVar("T")

WEAK = ("int", "float", "bool")
STRONG = ("bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float32", "float64")  # fmt: skip
TYPES = (*WEAK, *STRONG)
LENGTH, ROWS, COLUMNS = 5, 3, 4


def kind_of(type: str) -> str:
    """The kind of a type: "b", "i" or "f"."""
    if type.startswith("bool"):
        return "b"
    return "f" if type.startswith("float") else "i"


class Choices(Protocol):
    """Where decisions come from."""

    def pick(self, options: Sequence[T]) -> T:
        """One of some options."""

    def number(self, low: int, high: int) -> int:
        """A whole number, both ends included."""


@dataclass
class Program:
    """A module's source with the function `program`, and its arguments."""

    source: str
    arguments: tuple[Any, ...]


@dataclass
class Writer:
    """A program that is being written."""

    choices: Choices
    lines: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)  # variables and parameters: their types
    fixed: set[str] = field(default_factory=set)  # names that are read only
    counters: list[str] = field(default_factory=list)  # of the loops around, small ints
    arrays: dict[str, tuple[str, int]] = field(default_factory=dict)  # element type, dimensions
    helpers: list[str] = field(default_factory=list)
    loops: list[str] = field(default_factory=list)  # the kinds of loops around
    depth: int = 0
    fresh: int = 0

    def new(self, prefix: str) -> str:
        """A name that is not used yet."""
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def line(self, text: str) -> None:
        """Write a line at the current depth."""
        self.lines.append("    " * (self.depth + 1) + text)

    # -- expressions --------------------------------------------------------------------

    def literal(self, kind: str) -> str:
        """A number of Python's."""
        pick, number = self.choices.pick, self.choices.number
        if kind == "b":
            return pick(["True", "False"])
        if kind == "i":
            return str(number(0, 9))
        return pick(["0.5", "1.0", "-2.25", "3.0", "0.125", "-0.0", "7.5"])

    def leaf(self, kind: str) -> str:
        """A name, an element, or a literal."""
        pick = self.choices.pick
        options = [name for name, type in self.names.items() if kind_of(type) == kind]
        if kind == "i":
            options += self.counters
        arrays = [name for name, (type, _) in self.arrays.items() if kind_of(type) == kind]
        which = pick(["name", "name", "element", "literal"])
        if which == "element" and arrays:
            return self.element(pick(arrays))
        if which != "literal" and options:
            return pick(options)
        return self.literal(kind)

    def element(self, array: str) -> str:
        """An element of an array, by indices that are inside."""
        _, dimensions = self.arrays[array]
        extents = (LENGTH,) if dimensions == 1 else (ROWS, COLUMNS)
        return f"{array}[{', '.join(self.index(extent) for extent in extents)}]"

    def index(self, extent: int) -> str:
        """An index of an axis."""
        pick = self.choices.pick
        which = pick(["literal", "negative", "expression", "expression", "from the end"])
        if which == "literal":
            return str(self.choices.number(0, extent - 1))
        if which == "negative":
            return str(-self.choices.number(1, extent))
        inside = f"int(({self.expression('i', 1)}) % {extent})"
        if self.counters and self.choices.number(0, 1):
            inside = f"{pick(self.counters)} % {extent}"
        return inside if which == "expression" else f"-({inside}) - 1"

    def expression(self, kind: str, depth: int) -> str:
        """An expression of a kind."""
        if depth <= 0:
            return self.leaf(kind)
        return self.choices.pick(MAKERS[kind])(self, depth - 1)

    def any_number(self, depth: int) -> str:
        """An expression of any kind."""
        return self.expression(self.choices.pick("iif"), depth)

    def cast(self, type: str, depth: int) -> str:
        """An expression of exactly a type."""
        pick = self.choices.pick
        kind = pick({"b": "bbi", "i": "iiif", "f": "fffi"}[kind_of(type)])
        text = self.expression(kind, depth)
        if kind == "f" and kind_of(type) == "i":
            text = f"min(max({text}, 0.0), 90.0)"
        match type:
            case "int":
                return f"int(({text}) % {pick([7, 50, 100])})"
            case "float" | "bool":
                return f"{type}({text})"
        if kind == "i" and kind_of(type) == "i":
            text = f"({text}) % 97"
        return f"np.{type}({text})"

    # -- statements ---------------------------------------------------------------------

    def block(self, count: int) -> None:
        """Some statements, one step deeper."""
        self.depth += 1
        names, fixed = dict(self.names), set(self.fixed)
        for _ in range(self.choices.number(1, count)):
            if self.statement():
                break
        self.names, self.fixed = names, fixed
        self.depth -= 1

    def statement(self) -> bool:
        """One statement; whether nothing can follow it."""
        options = list(SIMPLE)
        if self.depth < 3:
            options += COMPOUND
        if self.loops and self.choices.number(0, 3) == 0:
            return self.jump()
        self.choices.pick(options)(self)
        return False

    def variable(self) -> str:
        """A variable that may be set."""
        return self.choices.pick([name for name in self.names if name not in self.fixed])

    def jump(self) -> bool:
        """`break`, `continue` or `return`, most times behind a test."""
        text = self.choices.pick(["break", "continue", "break", "return"])
        if self.loops[-1] == "while" and text == "continue":
            text = "break"  # the count stands at the end of the round
        if text == "return":
            text = f"return {self.results()}"
        if self.choices.number(0, 4):
            self.line(f"if {self.expression('b', 1)}:")
            self.line(f"    {text}")
            return False
        self.line(text)
        return True

    def results(self) -> str:
        """All variables that every way has."""
        return ", ".join(name for name in self.names if name.startswith("v"))


# -- kinds of expressions ---------------------------------------------------------------


def _binary(kind: str, *operators: str) -> Callable[[Writer, int], str]:
    def make(writer: Writer, depth: int) -> str:
        left, right = (writer.expression(kind, depth) for _ in range(2))
        return f"({left} {writer.choices.pick(operators)} {right})"

    return make


def _unary(kind: str, *forms: str) -> Callable[[Writer, int], str]:
    def make(writer: Writer, depth: int) -> str:
        return writer.choices.pick(forms).format(writer.expression(kind, depth))

    return make


def _pair(left: str, right: str, form: str) -> Callable[[Writer, int], str]:
    def make(writer: Writer, depth: int) -> str:
        return form.format(writer.expression(left, depth), writer.expression(right, depth))

    return make


def _within(form: str, inner: Callable[[Writer, int], str]) -> Callable[[Writer, int], str]:
    return lambda writer, depth: f"({form.format(inner(writer, depth))})"


def _calls(kind: str, *names: str) -> Callable[[Writer, int], str]:
    def make(writer: Writer, depth: int) -> str:
        left, right = (writer.expression(kind, depth) for _ in range(2))
        return f"{writer.choices.pick(names)}({left}, {right})"

    return make


def _choice(kind: str) -> Callable[[Writer, int], str]:
    def make(writer: Writer, depth: int) -> str:
        # Both sides of one type: which one is taken must not decide the type.
        options = [type for type in TYPES if kind_of(type) == kind]
        type = writer.choices.pick(options)
        test = writer.expression("b", depth)
        return f"({writer.cast(type, depth)} if {test} else {writer.cast(type, depth)})"

    return make


def _compared(writer: Writer, depth: int) -> str:
    count = writer.choices.number(1, 2)
    text = writer.any_number(depth)
    for _ in range(count):
        sign = writer.choices.pick(["<", "<=", ">", ">=", "==", "!="])
        other = writer.choices.pick([writer.any_number(depth), "-1", "1000"])
        text = f"{text} {sign} {other}"
    return f"({text})"


def _joined(writer: Writer, depth: int) -> str:
    left, right = (f"bool({writer.expression('b', depth)})" for _ in range(2))
    return f"({left} {writer.choices.pick(['and', 'or'])} {right})"


def _divided(writer: Writer, depth: int) -> str:
    left = writer.any_number(depth)
    return f"({left} / (abs({writer.any_number(depth)}) + 1))"


def _helped(writer: Writer, depth: int) -> str:
    """A call of a helper, of a part of an array."""
    arrays = [name for name, (type, _) in writer.arrays.items() if kind_of(type) == "f"]
    if not arrays:
        return writer.leaf("f")
    pick, number = writer.choices.pick, writer.choices.number
    array = pick(arrays)
    low, high = (pick(["", str(number(-6, 6)), f"int({writer.leaf('i')} % 5)"]) for _ in range(2))
    part = f"{low}:{high}:{pick(['', '2', '-1', '-2', '3'])}"
    if writer.arrays[array][1] == 2:
        row = writer.index(ROWS)
        part = pick([f"{row}, {part}", f"{part}, {writer.index(COLUMNS)}", row])
    more = pick(["", f", {number(0, 3)}", f", k={number(0, 3)}", ", m=2", ", 1, m=0"])
    return f"helper({array}[{part}]{more})"


MAKERS: dict[str, list[Callable[[Writer, int], str]]] = {
    "b": [
        _compared, _compared, _joined, _unary("b", "(not {})"), _unary("i", "bool({})"),
        _binary("b", "&", "|", "^"), _choice("b"), _unary("f", "math.isnan({})", "np.isfinite({})"),
    ],
    "i": [
        _within("({}) % 89", _binary("i", "*")),
        _binary("i", "+", "-"), _binary("i", "//", "%"), _binary("i", "&", "|", "^"),
        _pair("i", "i", "(({}) % 11 << ({} & 3))"), _pair("i", "i", "(({}) >> ({} & 7))"),
        _unary("i", "(({}) % 5) ** 0", "(({}) % 5) ** 2", "(({}) % 5) ** 3"),
        _unary("i", "abs({})", "(-{} % 50)", "(~{} % 50)", "(+{})", "np.sign({})", "int({} % 50)"),
        _unary("b", "int({})", "({} + 1)"), _choice("i"),
        _unary("f", "int(min(max({}, 0.0), 50.0))", "math.floor(min(max({}, 0.0), 50.0))"),
        _calls("i", "np.minimum", "np.maximum"), lambda writer, depth: writer.leaf("i"),
    ],
    "f": [
        _binary("f", "+", "-", "*"), _divided, _divided, _helped, _choice("f"),
        _binary("f", "+", "-", "*"),
        _pair("f", "f", "({} // (abs({}) + 0.5))"), _pair("f", "f", "({} % (abs({}) + 0.5))"),
        _pair("i", "f", "({} * {})"), _pair("f", "i", "({} + {})"),
        _unary("f", "abs({})", "(-{})", "np.floor({})", "np.ceil({})", "np.trunc({})"),
        _unary("f", "np.rint({})", "np.sqrt(abs({}))", "np.square({})", "np.sign({})"),
        _unary("f", "float({})", "math.fabs({})"),
        _unary("i", "float({})", "math.sqrt(abs({}))"),
        _calls("f", "np.minimum", "np.maximum", "np.copysign", "math.copysign", "np.hypot"),
        _within("np.where({}, 1.5, 2)", lambda writer, depth: writer.expression("b", depth)),
        lambda writer, depth: writer.leaf("f"),
    ],
}  # fmt: skip


# -- kinds of statements ----------------------------------------------------------------


def _assign(writer: Writer) -> None:
    name = writer.variable()
    writer.line(f"{name} = {writer.cast(writer.names[name], 3)}")


def _fresh(writer: Writer) -> None:
    """A new name, whose type is found by the compiler alone; nothing sets it again."""
    kind = writer.choices.pick("bif")
    text = writer.expression(kind, 3)
    name = writer.new("t")
    writer.line(f"{name} = {text}")
    writer.names[name] = {"b": "bool", "i": "int", "f": "float"}[kind]
    writer.fixed.add(name)


def _swap(writer: Writer) -> None:
    names = [writer.variable() for _ in range(2)]
    values = [writer.cast(writer.names[name], 2) for name in names]
    if writer.names[names[0]] == writer.names[names[1]] and writer.choices.pick([True, False]):
        values = names[::-1]
    writer.line(f"{names[0]}, {names[1]} = {values[0]}, {values[1]}")


def _augmented(writer: Writer) -> None:
    name = writer.variable()
    type = writer.names[name]
    value = writer.cast(type, 2)
    operators = {"b": ["&=", "|=", "^="], "i": ["+=", "-=", "&=", "|=", "^=", "//=", "%="],
                 "f": ["+=", "-=", "*="]}[kind_of(type)]  # fmt: skip
    if type not in WEAK and kind_of(type) == "i":
        operators += ["*="]
    writer.line(f"{name} {writer.choices.pick(operators)} {value}")


def _store(writer: Writer) -> None:
    array = writer.choices.pick(sorted(writer.arrays))
    type, _ = writer.arrays[array]
    target = writer.element(array)
    kind = kind_of(type)
    if kind != "b" and writer.choices.pick([True, False]):
        value = writer.cast(writer.choices.pick([t for t in TYPES if kind_of(t) == kind]), 2)
        writer.line(f"{target} {writer.choices.pick(['+=', '-='])} {value}")
        return
    writer.line(f"{target} = {writer.cast(type, 2)}")


def _if(writer: Writer) -> None:
    writer.line(f"if {writer.expression('b', 2)}:")
    writer.block(3)
    if writer.choices.number(0, 2) == 0:
        writer.line(f"elif {writer.expression('b', 1)}:")
        writer.block(2)
    if writer.choices.pick([True, False]):
        writer.line("else:")
        writer.block(2)


def _for(writer: Writer) -> None:
    number, pick = writer.choices.number, writer.choices.pick
    up, down = ["{0}", "{0}, {1}", "{0}, {1}, 2"], ["{1}, {0}, -1", "{1}, {0}, -3"]
    bounds = pick([*up, *down, "{0}, {1}, {2}"])
    texts = [pick([str(number(-2, 6)), f"int({writer.leaf('i')} % 6)"]) for _ in range(2)]
    step = pick(["1 + int({0} % 3)", "-1 - int({0} % 3)"]).format(writer.leaf("i"))
    count = writer.new("i")
    writer.line(f"for {count} in range({bounds.format(*texts, step)}):")
    _rounds(writer, "for", count)


def _over(writer: Writer) -> None:
    """A loop over an array's elements."""
    arrays = [name for name, (_, dimensions) in writer.arrays.items() if dimensions == 1]
    array = writer.choices.pick(arrays)
    item = writer.new("t")
    count = writer.new("i")
    if writer.choices.pick([True, False]):
        writer.line(f"for {item} in {array}:")
        count = ""
    else:
        writer.line(f"for {count}, {item} in enumerate({array}):")
    _rounds(writer, "for", count, {item: writer.arrays[array][0]})


def _while(writer: Writer) -> None:
    count = writer.new("c")
    writer.line(f"{count} = 0")
    test = writer.expression("b", 1)
    writer.line(f"while {count} < {writer.choices.number(1, 5)} and bool({test}):")
    writer.lines.append("    " * (writer.depth + 2) + f"{count} += 1")
    _rounds(writer, "while", count)


def _rounds(writer: Writer, kind: str, count: str, items: dict[str, str] | None = None) -> None:
    names, fixed = dict(writer.names), set(writer.fixed)
    if count:
        writer.counters.append(count)
    if items:
        writer.names, writer.fixed = names | items, fixed | items.keys()
    writer.loops.append(kind)
    writer.block(4)
    writer.loops.pop()
    writer.names, writer.fixed = names, fixed
    if count:
        writer.counters.pop()
    if writer.choices.number(0, 3) == 0:
        writer.line("else:")
        writer.block(2)


SIMPLE = (_assign, _assign, _fresh, _swap, _augmented, _augmented, _store, _store)
COMPOUND = (_if, _if, _for, _for, _over, _while)

HELPER = '''
def helper(part, k=1, *, m=3):
    """A sum with steps in between."""
    s = 0.0
    for i in range(part.shape[0]):
        if i == m:
            continue
        if part[i] > 50:
            return s
        s += part[i] * k
    return s
'''


def program(choices: Choices) -> Program:
    """A program and its arguments."""
    pick, number = choices.pick, choices.number
    writer = Writer(choices)
    arguments: list[Any] = []
    for i in range(number(1, 3)):
        type = pick(TYPES)
        writer.names[f"a{i}"] = type
        writer.fixed.add(f"a{i}")
        value: Any = number(0, 60) / 4 if kind_of(type) == "f" else number(0, 60)
        cls = {"int": int, "float": float, "bool": bool}.get(type) or getattr(np, type)
        arguments.append(cls(value))
    for i, dimensions in enumerate(pick([(1,), (1, 2), (1, 1, 2)])):
        type = pick(STRONG)
        shape = (LENGTH,) if dimensions == 1 else (ROWS, COLUMNS)
        size = int(np.prod(shape))
        values = np.array([number(0, 80) for _ in range(size)]).reshape(shape)
        values = values / 4 if kind_of(type) == "f" else values
        writer.arrays[f"x{i}"] = (type, dimensions)
        arguments.append(_laid_out(values.astype(type), pick(["C", "F", "strided", "reversed"])))
    for i in range(number(2, 4)):
        type = pick(TYPES)
        writer.names[f"v{i}"] = type
        literal = writer.literal(kind_of(type))
        writer.line(f"v{i} = " + (literal if type in WEAK else f"np.{type}({literal})"))
    for _ in range(number(2, 6)):
        writer.statement()
    parameters = [name for name in writer.names if name.startswith("a")] + sorted(writer.arrays)
    head = f"import math\n\nimport numpy as np\n\nimport whorl\n\n{HELPER}\n\n@whorl.kernel\n"
    body = "\n".join(writer.lines)
    source = f"{head}def program({', '.join(parameters)}):\n{body}\n    return {writer.results()}\n"
    return Program(source, tuple(arguments))


def _laid_out(values: Any, layout: str) -> Any:
    if layout == "C":
        return values
    if layout == "F":
        return np.asfortranarray(values)
    if layout == "reversed":
        return np.ascontiguousarray(values[::-1])[::-1]
    wide = np.zeros((*values.shape[:-1], values.shape[-1] * 2), values.dtype)
    wide[..., ::2] = values
    return wide[..., ::2]
