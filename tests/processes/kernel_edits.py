"""Small kernels, each with one edit marked in its text, and what the edit comes to.

`{{old => new}}` in a program is the edit: the text before it and the text after it. A line
`# file: name.py` begins another module of the program's package. A program leaves its answer
in `answer`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final, NamedTuple

__all__ = ["CASES", "RUNNER", "Case"]

PRELUDE: Final = """\
import copy, enum, functools, math, operator, types, uuid
from dataclasses import dataclass, field
from types import SimpleNamespace as Space
import numpy as np
import whorl
"""

# Runs every program that is named, and prints answers, compiles, and what an audit finds; what
# was raised instead of an answer. An audit compiles what was found once more, and compares.
RUNNER: Final = """\
import importlib, json, sys, traceback
import whorl.testing

rate, told = float(sys.argv[1]), {}
for name in sys.argv[2:]:
    with whorl.testing.recorded_events() as events, whorl.testing.audit(rate) as report:
        try:
            answer = importlib.import_module(f"{name}.main").answer
        except BaseException:
            answer = traceback.format_exc()
    compiles = sum(event.what.value == "compiled" for event in events)
    doubts = [str(each) for each in report.findings if each.kind in ("stale", "not deterministic")]
    told[name] = [answer, compiles, doubts]
print(json.dumps(told))
"""

_EDIT: Final = re.compile(r"\{\{(.*?) => (.*?)\}\}(?!\})", re.DOTALL)
_FILE: Final = re.compile(r"^# file: (\S+)\n", re.MULTILINE)
_FUTURE: Final = "from __future__ import annotations\n"


class Case(NamedTuple):
    """A program with an edit: the answers before and after, and whether that is a compile."""

    what: str
    is_compile: bool
    before: Any
    after: Any
    text: str

    @property
    def package(self) -> str:
        """The name of the program's package."""
        return re.sub(r"\W+", "_", self.what)

    def write(self, folder: Path, *, is_edited: bool) -> None:
        """Write the program's package."""
        text = _EDIT.sub(lambda edit: edit[2 if is_edited else 1], self.text.lstrip("\n"))
        home = folder / self.package
        home.mkdir(parents=True)
        (home / "__init__.py").touch()
        parts = ["main.py", *_FILE.split(text)]
        for name, content in zip(parts[::2], parts[1::2], strict=True):
            future = _FUTURE if content.startswith(_FUTURE) else ""
            (home / name).write_text(future + PRELUDE + content.removeprefix(future))


COMPILES: Final = True
KEEPS: Final = False

_ROWS: Final[list[tuple[str, bool, Any, Any, str]]] = [
    # -- the text -----------------------------------------------------------------------
    ("nothing", KEEPS, 3.0, 3.0, """
@whorl.kernel
def kernel(x): return x * 2
answer = kernel(1.5)
{{# => #}}
"""),
    ("the kernel", COMPILES, 3.0, 4.5, """
@whorl.kernel
def kernel(x): return x * {{2 => 3}}
answer = kernel(1.5)
"""),
    ("a comment", KEEPS, 3.0, 3.0, """
@whorl.kernel
def kernel(x):
    {{# twice => # two times
    # what it was}}
    return x * 2
answer = kernel(1.5)
"""),
    ("a docstring", KEEPS, 3.0, 3.0, '''
@whorl.kernel
def kernel(x):
    """{{Double. => Two times.

    At length.}}"""
    return helper(x)
def helper(x):
    {{"Double." => "Again."}}
    return x * 2
answer = kernel(1.5)
'''),
    ("blank lines above and a moved function", KEEPS, 3.0, 3.0, """
{{# => UNRELATED = 1



#}}
def helper(x): return x * 2
@whorl.kernel
def kernel(x):
    return helper(x)
answer = kernel(1.5)
"""),
    ("spelling", KEEPS, 19.5, 19.5, """
@whorl.kernel
def kernel(x): return x * {{2 + 0x10 => (2) + 16}}
answer = kernel(1.0) + 1.5
"""),
    ("the name of a local", COMPILES, 3.0, 3.0, """
@whorl.kernel
def kernel(x):
    {{a => b}} = x * 2
    return {{a => b}}
answer = kernel(1.5)
"""),
    ("another function of the file", KEEPS, 3.0, 3.0, """
def unrelated(): return {{1 => 2}}
@whorl.kernel
def kernel(x): return x * 2
answer = kernel(1.5)
"""),
    ("the name of the module and of a parameter of a helper", COMPILES, 3.0, 3.0, """
def helper({{value => number}}): return {{value => number}} * 2
@whorl.kernel
def kernel(x): return helper(x)
answer = kernel(1.5)
"""),
    ("the order of functions", KEEPS, 9.0, 9.0, """
{{def one(x): return x * 2
def two(x): return x * 3 => def two(x): return x * 3
def one(x): return x * 2}}
@whorl.kernel
def kernel(x): return two(one(x))
answer = kernel(1.5)
"""),
    # -- globals ------------------------------------------------------------------------
    ("a global", COMPILES, 3.0, 4.5, """
SCALE = {{2.0 => 3.0}}
@whorl.kernel
def kernel(x): return x * SCALE
answer = kernel(1.5)
"""),
    ("a global's type", COMPILES, [3.0, 1], [3.0, 1.0], """
SCALE = {{2 => 2.0}}
@whorl.kernel
def kernel(x, n): return x * SCALE, n * SCALE // 2
answer = kernel(1.5, 1)
"""),
    ("an unread global", KEEPS, 3.0, 3.0, """
SCALE, UNREAD = 2.0, {{1 => object()}}
@whorl.kernel
def kernel(x): return x * SCALE
answer = kernel(1.5)
"""),
    ("a global that was a builtin", COMPILES, 2, 20, """
{{ => def abs(x): return x * -10}}
@whorl.kernel
def kernel(x): return abs(x)
answer = kernel(-2)
"""),
    ("an imported name", COMPILES, 32, 16, """
from .config import TILE
@whorl.kernel
def kernel(n): return n * TILE
answer = kernel(2)
# file: config.py
TILE = {{16 => 8}}
"""),
    ("a module attribute", COMPILES, 32, 16, """
from . import config
@whorl.kernel
def kernel(n): return n * config.TILE
answer = kernel(2)
# file: config.py
TILE = {{16 => 8}}
"""),
    ("another attribute of a module", KEEPS, 32, 32, """
from . import config
@whorl.kernel
def kernel(n): return n * config.TILE
answer = kernel(2)
# file: config.py
TILE = 16
OTHER = {{16 => 8}}
"""),
    ("a namespace attribute", COMPILES, 32, 16, """
CONFIG = Space(tile={{16 => 8}}, other=Space())
@whorl.kernel
def kernel(n): return n * CONFIG.tile
answer = kernel(2)
"""),
    ("another namespace attribute and their order", KEEPS, 32, 32, """
CONFIG = Space({{tile=16, other=uuid.uuid4() => other=open(__file__), tile=16}})
@whorl.kernel
def kernel(n): return n * CONFIG.tile
answer = kernel(2)
"""),
    ("an entry of a dict", COMPILES, 3, 27, """
TABLE = {"low": {{1 => 9}}, "high": 2}
@whorl.kernel
def kernel(n): return n * TABLE["low"]
answer = kernel(3)
"""),
    ("another entry of a dict and its order", KEEPS, 3, 3, """
TABLE = {{{"low": 1, "high": 2} => {"new": 0, "high": 3, "low": 1}}}
@whorl.kernel
def kernel(n): return n * TABLE["low"]
answer = kernel(3)
"""),
    ("the order of a dict that is looped over", COMPILES, 12, 21, """
TABLE = {{{"a": 1, "b": 2} => {"b": 2, "a": 1}}}
@whorl.kernel
def kernel(n):
    s = 0
    for key in whorl.static(list(TABLE.values())):
        s = s * 10 + key
    return s * n
answer = kernel(1)
"""),
    ("a tuple", COMPILES, 6.0, 7.0, """
WEIGHTS = (1.0, 2.0, {{3.0 => 4.0}})
@whorl.kernel
def kernel(x):
    s = 0.0
    for w in WEIGHTS: s += w * x
    return s
answer = kernel(1.0)
"""),
    ("the length of a tuple", COMPILES, 3.0, 6.0, """
WEIGHTS = (1.0, 2.0{{ => , 3.0}})
@whorl.kernel
def kernel(x):
    s = 0.0
    for w in WEIGHTS: s += w * x
    return s
answer = kernel(1.0)
"""),
    ("a tuple that becomes a dict", COMPILES, 7.0, 1.0, """
WEIGHTS = {{(3.0, 4.0) => {0: 3.0, 1: 4.0}}}
@whorl.kernel
def kernel(x):
    s = 0.0
    for w in WEIGHTS: s += w * x
    return s
answer = kernel(1.0)
"""),
    ("a list in static that becomes a dict", COMPILES, 7, 1, """
WEIGHTS = {{[3, 4] => {0: 3, 1: 4}}}
@whorl.kernel
def kernel(n): return n * whorl.static(sum([w for w in WEIGHTS]))
answer = kernel(1)
"""),
    ("a NumPy scalar", COMPILES, 3.0, 4.5, """
SCALE = np.float64({{2.0 => 3.0}})
@whorl.kernel
def kernel(x): return x * SCALE
answer = kernel(1.5)
"""),
    ("the dtype of a NumPy scalar", COMPILES, 2.0, 2.1, """
SCALE = np.{{float32 => float64}}(2.1)
@whorl.kernel
def kernel(x): return x * SCALE
answer = round(kernel(np.float32(1.0)) - {{0.1 => 0.0}}, 6)
"""),
    ("the values of a global array", KEEPS, 6.0, 60.0, """
DATA = np.array([1.0, 2.0, 3.0]) * {{1 => 10}}
@whorl.kernel
def kernel(n):
    s = 0.0
    for i in range(n): s += DATA[i]
    return s
answer = kernel(3)
"""),
    ("the dtype of a global array", COMPILES, 6.0, 6, """
DATA = np.array([1, 2, 3], {{"f8" => "i4"}})
@whorl.kernel
def kernel(n):
    s = 0
    for i in range(n): s += DATA[i]
    return s
answer = kernel(3)
"""),
    ("an array that static looks into", COMPILES, 2.0, 3.0, """
DATA = np.array([{{2 => 3}}])
@whorl.kernel
def kernel(x): return x * whorl.static(int(DATA[0]))
answer = kernel(1.0)
"""),
    ("zero and minus zero", COMPILES, 1.0, -1.0, """
ZERO = {{0.0 => -0.0}}
@whorl.kernel
def kernel(x): return math.copysign(x, ZERO)
answer = kernel(1.0)
"""),
    ("True and 1", COMPILES, -1, True, """
ONE = {{0 => False}}
@whorl.kernel
def kernel(n):
    if whorl.static(isinstance(ONE, bool)): return n == 1
    return ~ONE * n
answer = kernel(1)
"""),
    ("1 and 1.0", COMPILES, "int", "float", """
ONE = {{1 => 1.0}}
@whorl.kernel
def kernel(n): return n * ONE
answer = type(kernel(1)).__name__
"""),
    ("NaN stays", KEEPS, True, True, """
NAN = {{float("nan") => math.nan}}
@whorl.kernel
def kernel(x): return math.isnan(x * NAN)
answer = kernel(1.0)
"""),
    # -- enums, classes -----------------------------------------------------------------
    ("an enum value", COMPILES, 3, 21, """
class Mode(enum.IntEnum):
    FAST = {{1 => 7}}
    SLOW = 2
@whorl.kernel
def kernel(n, mode): return n * mode
answer = kernel(3, Mode.FAST)
"""),
    ("which enum member", COMPILES, 1, 2, """
class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"
@whorl.kernel
def kernel(mode): return 1 if mode is Mode.FAST else 2
answer = kernel(Mode.{{FAST => SLOW}})
"""),
    ("another enum member", KEEPS, 1, 1, """
class Mode(enum.Enum):
    FAST = "fast"
    {{SLOW => OTHER}} = "slow"
@whorl.kernel
def kernel(mode): return 1 if mode is Mode.FAST else 2
answer = kernel(Mode.FAST)
"""),
    ("a class attribute by its class", COMPILES, 2.0, 4.0, """
class Physics:
    gravity = {{1.0 => 2.0}}
@whorl.kernel
def kernel(x): return x * Physics.gravity
answer = kernel(2.0)
"""),
    ("a class attribute by an instance travels", KEEPS, 2.0, 4.0, """
class Base:
    gravity = {{1.0 => 2.0}}
class Body(Base):
    @whorl.kernel
    def kernel(self, x): return x * self.gravity
answer = Body().kernel(2.0)
"""),
    ("a class attribute in static", COMPILES, 2.0, 4.0, """
class Base:
    gravity = {{1.0 => 2.0}}
class Body(Base):
    @whorl.kernel
    def kernel(self, x): return x * whorl.static(self.gravity)
answer = Body().kernel(2.0)
"""),
    ("an attribute above that of the base", COMPILES, 2.0, 6.0, """
class Base:
    gravity = 1.0
class Body(Base):
    {{other => gravity}} = 3.0
    @whorl.kernel
    def kernel(self, x): return x * whorl.static(self.gravity)
answer = Body().kernel(2.0)
"""),
    ("a method", COMPILES, 3.0, 4.0, """
class Body:
    def force(self, x): return x + {{1 => 2}}
    @whorl.kernel
    def kernel(self, x): return self.force(x)
answer = Body().kernel(2.0)
"""),
    ("a method of the base", COMPILES, 3.0, 4.0, """
class Base:
    def force(self, x): return x + {{1 => 2}}
class Body(Base):
    @whorl.kernel
    def kernel(self, x): return self.force(x)
answer = Body().kernel(2.0)
"""),
    ("an overridden method", KEEPS, 7.0, 7.0, """
class Base:
    def force(self, x): return x + {{1 => 2}}
    @whorl.kernel
    def kernel(self, x): return self.force(x)
class Body(Base):
    def force(self, x): return x + 5
answer = Body().kernel(2.0)
"""),
    ("a method that is overridden now", COMPILES, 3.0, 7.0, """
class Base:
    def force(self, x): return x + 1
    @whorl.kernel
    def kernel(self, x): return self.force(x)
class Body(Base):
    def {{other => force}}(self, x): return x + 5
answer = Body().kernel(2.0)
"""),
    ("a static method and a class method", COMPILES, 11.0, 12.0, """
class Body:
    scale = 4.0
    @staticmethod
    def one(x): return x + {{1 => 2}}
    @classmethod
    def two(cls, x): return x * cls.scale
    @whorl.kernel
    def kernel(self, x): return self.one(x) + self.two(x)
answer = Body().kernel(2.0)
"""),
    ("a property's body travels", KEEPS, 8, 12, """
class Body:
    tile = 4
    @property
    def much(self): return {{2 => 3}} * self.tile
    @whorl.kernel
    def kernel(self): return self.much
answer = Body().kernel()
"""),
    ("a property in static", COMPILES, 8, 12, """
class Body:
    tile = 4
    @property
    def much(self): return {{2 => 3}} * self.tile
    @whorl.kernel
    def kernel(self, n): return n * whorl.static(self.much)
answer = Body().kernel(1)
"""),
    ("a getattr travels", KEEPS, 5, 6, """
class Body:
    def __getattr__(self, name): return len(name) + {{0 => 1}}
    @whorl.kernel
    def kernel(self, n): return n * self.abcde
answer = Body().kernel(1)
"""),
    ("a getattr in static", COMPILES, 5, 6, """
class Body:
    def __getattr__(self, name): return len(name) + {{0 => 1}}
    @whorl.kernel
    def kernel(self, n): return n * whorl.static(self.abcde)
answer = Body().kernel(1)
"""),
    ("slots", COMPILES, 3, 4, """
class Body:
    __slots__ = ("tile", "unread")
    def __init__(self): self.tile = {{3 => 4}}
    @whorl.kernel
    def kernel(self, n): return n * whorl.static(self.tile)
answer = Body().kernel(1)
"""),
    # -- members ------------------------------------------------------------------------
    ("the value of a member", KEEPS, 6.0, 8.0, """
class Body:
    def __init__(self): self.scale = {{3.0 => 4.0}}
    @whorl.kernel
    def kernel(self, x): return x * self.scale
answer = Body().kernel(2.0)
"""),
    ("the type of a member", COMPILES, "int", "float", """
class Body:
    def __init__(self): self.scale = {{3 => 3.0}}
    @whorl.kernel
    def kernel(self, n): return n * self.scale
answer = type(Body().kernel(2)).__name__
"""),
    ("the dtype of a read member", COMPILES, 0.3, 0.30000001192092896, """
class Body:
    def __init__(self): self.x = np.array([0.1, 0.2], {{"f8" => "f4"}})
    @whorl.kernel
    def kernel(self): return self.x[0] + self.x[1]
answer = Body().kernel() {{- 5e-17 => + 0}}
"""),
    ("the dimensions of a read member", COMPILES, 3.0, 1.0, """
class Body:
    def __init__(self): self.x = np.arange(4.0){{ => .reshape(2, 2)}}
    @whorl.kernel
    def kernel(self):
        if self.x.ndim == 1: return self.x[3]
        return self.x[0, 1]
answer = Body().kernel()
"""),
    ("the size of a read member", KEEPS, 6.0, 10.0, """
class Body:
    def __init__(self): self.x = np.arange({{4.0 => 5.0}})
    @whorl.kernel
    def kernel(self):
        s = 0.0
        for v in self.x: s += v
        return s
answer = Body().kernel()
"""),
    ("the layout of a read member", COMPILES, 1.0, 2.0, """
class Body:
    def __init__(self): self.x = np.arange(4.0).reshape(2, 2){{ => .T}}
    @whorl.kernel
    def kernel(self): return self.x[0, 1]
answer = Body().kernel()
"""),
    ("the dtype of an unread member", KEEPS, 1.0, 1.0, """
class Body:
    def __init__(self):
        self.x, self.y = np.ones(2), np.zeros(3, {{"f4" => "M8[s]"}})
    @whorl.kernel
    def kernel(self): return self.x[0]
answer = Body().kernel()
"""),
    ("an unread member of any kind", KEEPS, 1.0, 1.0, """
class Body:
    def __init__(self):
        self.x, self.y = np.ones(2), {{uuid.uuid4() => open(__file__)}}
        self.me = self
    @whorl.kernel
    def kernel(self): return self.x[0]
answer = Body().kernel()
"""),
    ("unread members taken away, added and in another order", KEEPS, 3.0, 3.0, """
class Body:
    def __init__(self):
        {{self.x, self.y, self.z = np.ones(2), 2.0, 0 => self.y, self.q = 2.0, 1
        self.x = np.ones(2)}}
    @whorl.kernel
    def kernel(self): return self.x[0] + self.y
answer = Body().kernel()
"""),
    ("a member that was None", COMPILES, 1.0, 4.0, """
class Body:
    def __init__(self): self.x = {{None => np.full(2, 4.0)}}
    @whorl.kernel
    def kernel(self):
        if self.x is None: return 1.0
        return self.x[0]
answer = Body().kernel()
"""),
    ("a member that was absent", COMPILES, 1.0, 4.0, """
class Body:
    def __init__(self): self.{{other => extra}} = 4.0
    @whorl.kernel
    def kernel(self):
        if whorl.static(hasattr(self, "extra")): return self.extra
        return 1.0
answer = Body().kernel()
"""),
    ("the default of a dataclass field", KEEPS, 6.0, 9.0, """
@dataclass(frozen=True)
class Params:
    scale: float = {{2.0 => 3.0}}
@dataclass
class State:
    params: Params = field(default_factory=Params)
@whorl.kernel
def kernel(state, x): return x * state.params.scale
answer = kernel(State(), 3.0)
"""),
    ("the class of an argument", KEEPS, 6.0, 6.0, """
class {{One => Other}}:
    scale = 2.0
@whorl.kernel
def kernel(state, x): return x * state.scale
answer = kernel({{One => Other}}(), 3.0)
"""),
    # -- arguments ----------------------------------------------------------------------
    ("an int argument", KEEPS, 3, 4, """
@whorl.kernel
def kernel(n): return n + 1
answer = kernel({{2 => 3}})
"""),
    ("bool, int and float arguments", COMPILES, ["int", 2], ["float", 2.0], """
@whorl.kernel
def kernel(n): return n + 1
answer = kernel({{True => 1.0}})
answer = [type(answer).__name__, answer]
"""),
    ("a bool for an int", COMPILES, 1, 2, """
@whorl.kernel
def kernel(n):
    if whorl.static(isinstance(n, bool)): return 2
    return n
answer = kernel({{1 => True}})
"""),
    ("a NumPy number for a Python one", COMPILES, True, False, """
@whorl.kernel
def kernel(x, s): return x[0] * s
found = kernel(np.ones(1, np.float32), {{0.1 => np.float64(0.1)}})
answer = found == float(np.float32(0.1))
"""),
    ("a default of the kernel travels", KEEPS, 4, 5, """
@whorl.kernel
def kernel(n, more={{2 => 3}}): return n + more
answer = kernel(2)
"""),
    ("a static parameter", COMPILES, 4, 5, """
@whorl.kernel
def kernel(n, more: whorl.static): return n + more
answer = kernel(2, {{2 => 3}})
"""),
    ("a static parameter by its default", COMPILES, 4, 5, """
@whorl.kernel
def kernel(n, more: whorl.static[int] = {{2 => 3}}): return n + more
answer = kernel(2)
"""),
    # -- annotations --------------------------------------------------------------------
    ("a parameter's annotation", COMPILES, ["float", 3.0], ["int", 3], """
@whorl.kernel
def kernel(n: {{float => int}}): return n + 1
answer = [type(kernel(2)).__name__, kernel(2)]
"""),
    ("an annotation that becomes static", COMPILES, True, False, """
@whorl.kernel
def kernel(n: {{int => whorl.static}}): return n + 1
kernel(2)
answer = "arg:n" in kernel.inspect("ir")
"""),
    ("an annotation taken away", COMPILES, "float", "int", """
@whorl.kernel
def kernel(n{{: float => }}): return n + 1
answer = type(kernel(2)).__name__
"""),
    ("an annotation added", COMPILES, "int", "float", """
@whorl.kernel
def kernel(n{{ => : float}}): return n + 1
answer = type(kernel(2)).__name__
"""),
    ("an array's annotation", COMPILES, 1.0, "declared as Array[float64, 1]", """
@whorl.kernel
def kernel(x: whorl.Array[whorl.{{f32 => f64}}, 1]): return x[0]
try:
    answer = kernel(np.ones(2, np.float32))
except whorl.KernelError as error:
    kernel(np.ones(2))
    answer = str(error)[slice(*map(str(error).index, ("declared", ", and")))]
"""),
    ("an annotation as a text", COMPILES, "float", "int", """
@whorl.kernel
def kernel(n: {{"float" => "int"}}): return n + 1
answer = type(kernel(2)).__name__
"""),
    ("an annotation under the future import", COMPILES, "float", "int", """
from __future__ import annotations
@whorl.kernel
def kernel(n: {{float => int}}): return n + 1
answer = type(kernel(2)).__name__
"""),
    ("the annotation of a helper's parameter", COMPILES, "float", "int", """
def helper(n: {{float => int}}): return n + 1
@whorl.kernel
def kernel(n): return helper(n)
answer = type(kernel(2)).__name__
"""),
    ("the annotation of a method's parameter", COMPILES, "float", "int", """
class Body:
    def helper(self, n: {{float => int}}): return n + 1
    @whorl.kernel
    def kernel(self, n): return self.helper(n)
answer = type(Body().kernel(2)).__name__
"""),
    ("the annotation of a local", COMPILES, "float", "int", """
@whorl.kernel
def kernel(n):
    s: {{float => int}} = n
    return s
answer = type(kernel(2)).__name__
"""),
    ("the annotation of a nested function's parameter", COMPILES, "float", "int", """
@whorl.kernel
def kernel(n):
    def inner(m: {{float => int}}): return m
    return inner(n)
answer = type(kernel(2)).__name__
"""),
    ("what an annotation names", COMPILES, "float", "int", """
from .config import Number
@whorl.kernel
def kernel(n: Number):
    s: Number = n
    return s
answer = type(kernel(2)).__name__
# file: config.py
Number = {{float => int}}
"""),
    ("an annotation that begins to mean something", COMPILES, "int", "float", """
Number = {{float | None => float}}
@whorl.kernel
def kernel(n: Number): return n
answer = type(kernel(2)).__name__
"""),
    ("an annotation by a variable of the function around", COMPILES, "float", "int", """
def make(kind):
    @whorl.kernel
    def kernel(n: kind): return n
    return kernel
answer = type(make({{float => int}})(2)).__name__
"""),
    ("an array's annotation by a variable of the function around", COMPILES, "f32", "f64", """
def make(kind):
    @whorl.kernel
    def kernel(x: whorl.Array[kind, 1]): return x[0]
    return kernel
kernel = make(whorl.{{f32 => f64}})
try:
    kernel(np.ones(1, {{np.float64 => np.float32}}))
except whorl.KernelError:
    kernel(np.ones(1, {{np.float32 => np.float64}}))
    answer = "{{f32 => f64}}"
"""),
    ("a local's annotation by a variable of the function around", COMPILES, "float", "int", """
def make(kind):
    @whorl.kernel
    def kernel(n):
        s: kind = n
        return s if True else kind(n)  # which has Python keep it
    return kernel
answer = type(make({{float => int}})(2)).__name__
"""),
    ("a global that becomes a variable of the function around", COMPILES, 6, 10, """
RATE = 3
def make({{rate => RATE}}):
    @whorl.kernel
    def kernel(n): return n * RATE
    return kernel
answer = make(5)(2)
"""),
    ("the same for a function that the kernel calls", COMPILES, 6, 10, """
RATE = 3
def make({{rate => RATE}}):
    def scaled(n): return n * RATE
    return scaled
scaled = make(5)
@whorl.kernel
def kernel(n): return scaled(n)
answer = kernel(2)
"""),
    ("an annotation whose name is only there for type checkers", KEEPS, 1.0, 1.0, """
from __future__ import annotations
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from numpy.typing import NDArray{{ => , ArrayLike}}
@whorl.kernel
def kernel(x: NDArray[np.float64]){{ => -> float}}: return x[0]
answer = kernel(np.ones(3))
"""),
    ("what a kernel is said to return", KEEPS, 2, 2, """
@whorl.kernel
def kernel(n) -> {{float => int}}: return n
answer = kernel(2)
"""),
    # -- static -------------------------------------------------------------------------
    ("what static is given", COMPILES, 6, 8, """
TILE = {{3 => 4}}
def twice(n): return 2 * n
@whorl.kernel
def kernel(n): return n * whorl.static(twice(TILE))
answer = kernel(1)
"""),
    ("a function that static calls", COMPILES, 6, 9, """
def twice(n): return {{2 => 3}} * n
@whorl.kernel
def kernel(n): return n * whorl.static(twice(3))
answer = kernel(1)
"""),
    ("a branch that static leaves out", KEEPS, 3.0, 3.0, """
FLAG = True
UNREAD = {{1 => object()}}
def other(x): return x * {{5 => 6}}
@whorl.kernel
def kernel(x):
    if whorl.static(FLAG): return x * 2
    return other(x) + UNREAD
answer = kernel(1.5)
"""),
    ("which branch static takes", COMPILES, 3.0, 7.5, """
FLAG = {{True => False}}
def other(x): return x * 5
@whorl.kernel
def kernel(x):
    if whorl.static(FLAG): return x * 2
    return other(x)
answer = kernel(1.5)
"""),
    ("how often a loop is unrolled", COMPILES, 3.0, 4.0, """
class Body:
    tile = {{3 => 4}}
    @whorl.kernel
    def kernel(self, x):
        s = 0.0
        for _ in whorl.static(range(self.tile)): s += x
        return s
answer = Body().kernel(1.0)
"""),
    # -- helpers ------------------------------------------------------------------------
    ("a helper", COMPILES, 3.0, 4.5, """
def helper(x): return x * {{2 => 3}}
@whorl.kernel
def kernel(x): return helper(x)
answer = kernel(1.5)
"""),
    ("a helper that is a whorl func", COMPILES, 3.0, 4.5, """
@whorl.func
def helper(x): return x * {{2 => 3}}
@whorl.kernel
def kernel(x): return helper(x)
answer = kernel(1.5)
"""),
    ("whether a helper is a whorl func", KEEPS, 3.0, 3.0, """
{{@whorl.func => # a plain one}}
def helper(x): return x * 2
@whorl.kernel
def kernel(x): return helper(x)
answer = kernel(1.5)
"""),
    ("a helper two modules away", COMPILES, 3.0, 4.5, """
from .near import near
@whorl.kernel
def kernel(x): return near(x)
answer = kernel(1.5)
# file: near.py
from . import far
def near(x): return far.far(x)
# file: far.py
def far(x): return x * {{2 => 3}}
"""),
    ("a global two modules away", COMPILES, 3.0, 4.5, """
from .near import near
@whorl.kernel
def kernel(x): return near(x)
answer = kernel(1.5)
# file: near.py
from . import far
def near(x): return far.far(x)
# file: far.py
SCALE = {{2 => 3}}
def far(x): return x * SCALE
"""),
    ("a helper's default", COMPILES, 3.0, 4.5, """
def helper(x, by={{2 => 3}}): return x * by
@whorl.kernel
def kernel(x): return helper(x)
answer = kernel(1.5)
"""),
    ("a helper's keyword default", COMPILES, 3.0, 4.5, """
def helper(x, *, by={{2 => 3}}): return x * by
@whorl.kernel
def kernel(x): return helper(x)
answer = kernel(1.5)
"""),
    ("a helper's default that is given", KEEPS, 6.0, 6.0, """
def helper(x, by={{2 => 3}}): return x * by
@whorl.kernel
def kernel(x): return helper(x, by=4)
answer = kernel(1.5)
"""),
    ("a helper by a closure", COMPILES, 3.0, 4.5, """
def one(x): return x * {{2 => 3}}
def make(helper):
    @whorl.kernel
    def kernel(x): return helper(x)
    return kernel
answer = make(one)(1.5)
"""),
    ("what a kernel closes over", COMPILES, 3.0, 4.5, """
def make(scale):
    @whorl.kernel
    def kernel(x): return x * scale
    return kernel
answer = make({{2 => 3}})(1.5)
"""),
    ("what a helper closes over", COMPILES, 3.0, 4.5, """
def make(scale):
    def helper(x): return x * scale
    return helper
helper = make({{2 => 3}})
@whorl.kernel
def kernel(x): return helper(x)
answer = kernel(1.5)
"""),
    ("a helper by a default", COMPILES, 3.0, 4.5, """
def one(x): return x * {{2 => 3}}
def through(x, helper=one): return helper(x)
@whorl.kernel
def kernel(x): return through(x)
answer = kernel(1.5)
"""),
    ("a helper by a default of the kernel", COMPILES, 3.0, 4.5, """
def one(x): return x * {{2 => 3}}
@whorl.kernel
def kernel(x, helper=one): return helper(x)
answer = kernel(1.5)
"""),
    ("a helper by a member", COMPILES, 3.0, 4.5, """
def one(x): return x * {{2 => 3}}
@whorl.kernel
def kernel(state, x): return state.helper(x)
answer = kernel(Space(helper=one), 1.5)
"""),
    ("which helper is a member", COMPILES, 3.0, 4.5, """
def one(x): return x * 2
def two(x): return x * 3
@whorl.kernel
def kernel(state, x): return state.helper(x)
answer = kernel(Space(helper={{one => two}}), 1.5)
"""),
    ("a helper by a local name", COMPILES, 3.0, 4.5, """
def one(x): return x * {{2 => 3}}
@whorl.kernel
def kernel(x):
    helper = one
    return helper(x)
answer = kernel(1.5)
"""),
    ("a helper by a dict", COMPILES, 3.0, 4.5, """
def one(x): return x * {{2 => 3}}
TABLE = {"one": one, "other": {{None => print}} }
@whorl.kernel
def kernel(x): return TABLE["one"](x)
answer = kernel(1.5)
"""),
    ("a helper by a partial", COMPILES, 3.0, 4.5, """
def one(by, x): return x * by * {{2 => 3}}
helper = functools.partial(one, 1)
@whorl.kernel
def kernel(x): return helper(x)
answer = kernel(1.5)
"""),
    ("an argument of a partial", COMPILES, 3.0, 4.5, """
def one(by, x): return x * by
helper = functools.partial(one, {{2 => 3}})
@whorl.kernel
def kernel(x): return helper(x)
answer = kernel(1.5)
"""),
    ("a keyword of a partial", COMPILES, 3.0, 4.5, """
def one(x, by): return x * by
helper = functools.partial(one, by={{2 => 3}})
@whorl.kernel
def kernel(x): return helper(x)
answer = kernel(1.5)
"""),
    ("one more keyword of a partial", COMPILES, 3.0, 7.0, """
def one(x, by=1, more=0): return x * by + more
helper = functools.partial(one, by=2{{ => , more=4}})
@whorl.kernel
def kernel(x): return helper(x)
answer = kernel(1.5)
"""),
    ("whose method a member is", COMPILES, 3.0, 15.0, """
class Body:
    def __init__(self, scale): self.scale = scale
    def force(self, x): return x * self.scale
@whorl.kernel
def kernel(body, x): return body.force(x)
body = Body(2.0)
{{# => body.force = Body(10.0).force}}
answer = kernel(body, 1.5)
"""),
    ("a kernel that a kernel calls", COMPILES, 3.0, 4.5, """
@whorl.kernel
def inner(x): return x * {{2 => 3}}
@whorl.kernel
def kernel(x): return inner(x)
answer = kernel(1.5)
"""),
    ("a kernel that is a plain function now", KEEPS, 3.0, 3.0, """
{{@whorl.kernel => # a plain one}}
def inner(x): return x * 2
@whorl.kernel
def kernel(x): return inner(x)
answer = kernel(1.5)
"""),
    ("a lambda", COMPILES, 3.0, 4.5, """
helper = lambda x: x * {{2 => 3}}
@whorl.kernel
def kernel(x): return helper(x)
answer = kernel(1.5)
"""),
    ("the other of two lambdas on one line", KEEPS, 3.0, 3.0, """
one, two = lambda x: x * 2, lambda x: x * {{3 => 4}}
@whorl.kernel
def kernel(x): return one(x)
answer = kernel(1.5)
"""),
    ("what a name inside of a lambda, a nested function and a branch means", COMPILES, 6.0, 8.0, """
A, B, C = 1.0, 2.0, {{3.0 => 5.0}}
@whorl.kernel
def kernel(x):
    one = lambda v: v * A
    def two(v): return v * B
    if x > 0: return one(x) + two(x) + C
    return 0.0
answer = kernel(1.0)
"""),
    # -- options ------------------------------------------------------------------------
    ("debug", COMPILES, 1.0, "IndexError", """
@whorl.kernel{{ => (debug=True)}}
def kernel(x, i): return x[i]
try:
    kernel(np.ones(2), 0)
    answer = kernel(np.ones(8)[:2], 5)
except IndexError:
    answer = "IndexError"
"""),
    ("the target", COMPILES, 3.0, 3.0, """
@whorl.kernel{{ => (target="x86-64")}}
def kernel(x): return x * 2
answer = kernel(1.5)
"""),
    ("the target that is the host's anyway", KEEPS, 3.0, 3.0, """
from whorl.launch.level import host_level
@whorl.kernel{{ => (target=host_level())}}
def kernel(x): return x * 2
answer = kernel(1.5)
"""),
    ("debug that is off anyway", KEEPS, 3.0, 3.0, """
@whorl.kernel{{ => (debug=False)}}
def kernel(x): return x * 2
answer = kernel(1.5)
"""),
    ("on_drift", KEEPS, 3.0, 3.0, """
@whorl.kernel{{ => (on_drift="raise")}}
def kernel(x): return x * 2
answer = kernel(1.5)
"""),
    ("nogil", COMPILES, 3.0, 3.0, """
@whorl.kernel{{ => (nogil=True)}}
def kernel(x): return x * 2
answer = kernel(1.5)
"""),
]  # fmt: skip

CASES: Final = [Case(*row) for row in _ROWS]
