"""The routes by which the programs of the edit fuzzer reach a constant.

A route is a pair of texts: what stands in the module that holds the constant, and the expression
that reads it from another module. In both, `$v` is the constant, `$X` a name for it, `$m` the
module that holds it, `$i` the number of the term that the route belongs to.
"""

# ruff: noqa: E501  # a route reads best in few lines

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

__all__ = ["KNOWN", "ROUTES", "WRAPPERS", "Route", "Wrapper"]

_MODULE: Final = "from p import $m"
_CONSTANT: Final = "$X = $v"
_FUNCTION: Final = "def fn$i():\n    return $v"


@dataclass(frozen=True, slots=True)
class Route:
    """One way to a constant.

    `whole`: the route reads all of the holding module, so that everything in it counts. `alone`:
    the holding module has to be the route's own. `kernel`: kernels can take this route.
    `assigned`: a statement that changes the constant while the program runs, if there is one.
    `refused`: cached functions may not take it.
    """

    name: str
    expression: str
    holder: str = _CONSTANT
    head: str = _MODULE
    body: str = ""
    whole: bool = False
    alone: bool = False
    kernel: bool = False
    assigned: str = ""
    refused: bool = False


_SET: Final = "import p.$m; p.$m.$X = $v"


def _constant(name: str, expression: str, *, kernel: bool = False, whole: bool = False) -> Route:
    return Route(name, expression, kernel=kernel, whole=whole, assigned=_SET)


_MODULES: Final = (
    _constant("attribute", "$m.$X", kernel=True),
    Route("imported name", "$X", head="from p.$m import $X", kernel=True),
    Route("imported as", "Y$i", head="from p.$m import $X as Y$i", kernel=True),
    Route("star import", "$X", head="from p.$m import *", kernel=True),
    Route("dotted import", "p.$m.$X", head="import p.$m", kernel=True, assigned=_SET),
    _constant("item of __dict__", "$m.__dict__['$X']"),
    _constant("get of __dict__", "$m.__dict__.get('$X', 0)"),
    _constant(
        "loop over __dict__", "sum(v for k, v in $m.__dict__.items() if k == '$X')", whole=True
    ),
    _constant("copy of __dict__", "dict($m.__dict__)['$X']", whole=True),
    _constant("format_map of __dict__", "int('{$X}'.format_map($m.__dict__))", whole=True),
    _constant("percent format of __dict__", "int('%($X)s' % $m.__dict__)", whole=True),
    _constant("format of an attribute", "int('{0.$X}'.format($m))", whole=True),
    _constant("__getattribute__", "$m.__getattribute__('$X')"),
    _constant("object.__getattribute__", "object.__getattribute__($m, '$X')"),
    Route(
        "item of __globals__",
        "$m.g$i.__globals__['$X']",
        holder="$X = $v\n\n\ndef g$i():\n    return 0",
        assigned=_SET,
    ),
    Route(
        "__globals__ of an imported function",
        "g$i.__globals__['$X']",
        holder="$X = $v\n\n\ndef g$i():\n    return 0",
        head="from p.$m import g$i",
        assigned=_SET,
    ),
    Route(
        "resolve_name with a colon",
        "pkgutil.resolve_name('p.$m:$X')",
        head="import pkgutil\nimport p.$m",
        refused=True,
    ),
    Route(
        "resolve_name with a dot",
        "pkgutil.resolve_name('p.$m.$X')",
        head="import pkgutil\nimport p.$m",
        refused=True,
    ),
    Route(
        "attrgetter",
        "operator.attrgetter('$X')($m)",
        head="import operator\nfrom p import $m",
        assigned=_SET,
    ),
    _constant("item of vars", "vars($m)['$X']"),
    _constant("get of vars", "vars($m).get('$X')"),
    Route(
        "itemgetter over vars",
        "operator.itemgetter('$X')(vars($m))",
        head="import operator\nfrom p import $m",
        whole=True,
        assigned=_SET,
    ),
    Route("item of globals", "globals()['$X']", head="from p.$m import $X"),
    _constant("getattr", "getattr($m, '$X')"),
    _constant("getattr with a default", "getattr($m, '$X', 0)"),
    Route(
        "static getattr",
        "whorl.static(getattr($m, '$X'))",
        head="import whorl\nfrom p import $m",
        kernel=True,
        assigned=_SET,
    ),
    Route("local from import", "$X", head="", body="from p.$m import $X", assigned=_SET),
    Route("local import of a module", "$m.$X", head="", body="from p import $m", assigned=_SET),
    Route("local import as", "q$i.$X", head="", body="import p.$m as q$i", assigned=_SET),
    Route("local dotted import", "p.$m.$X", head="", body="import p.$m", assigned=_SET),
    Route("local name of a module", "q$i.$X", body="q$i = $m", assigned=_SET, kernel=True),
    Route("global name of a module", "Q$i.$X", head="from p import $m\nQ$i = $m", assigned=_SET),
    Route(
        "import_module",
        "importlib.import_module('p.$m').$X",
        head="import importlib",
        refused=True,
    ),
    Route("__import__", "__import__('p.$m', fromlist=['$X']).$X", head="", refused=True),
    Route("sys.modules", "sys.modules['p.$m'].$X", head="import sys\nimport p.$m", refused=True),
    _constant("eval", "eval('$m.$X')", whole=True),
    Route(
        "getattr_static",
        "inspect.getattr_static($m, '$X')",
        head="import inspect\nfrom p import $m",
        assigned=_SET,
    ),
    _constant("f-string", "int(f'{$m.$X}')"),
    Route(
        "module in a tuple",
        "HOLD$i[0].$X",
        head="from p import $m\nHOLD$i = ($m,)",
        whole=True,
        assigned=_SET,
    ),
    Route(
        "module __getattr__",
        "$m.$X",
        holder="def __getattr__(name):\n    if name == '$X':\n        return $v\n"
        "    raise AttributeError(name)",
        whole=True,
        alone=True,
    ),
    Route(
        "module of a class of its own",
        "$m.$X",
        holder="import sys\nimport types\n\n\nclass Module(types.ModuleType):\n    @property\n"
        "    def $X(self):\n        return $v\n\n\nsys.modules[__name__].__class__ = Module",
        whole=True,
        alone=True,
    ),
    Route(
        "module that was given a class",
        "$m.$X",
        holder="import types\n\n$X = 0\n\n\nclass Module(types.ModuleType):\n    @property\n"
        "    def $X(self):\n        return $v",
        head="from p import $m\n$m.__class__ = $m.Module",
        whole=True,
        alone=True,
    ),
)

_CLASS: Final = "class C$i:\n    $X = $v"
_METHOD: Final = "class C$i:\n    def go(self):\n        return $v"
_SET_CLASS: Final = "import p.$m; p.$m.C$i.$X = $v"

_CLASSES: Final = (
    Route("class attribute", "$m.C$i.$X", holder=_CLASS, kernel=True, assigned=_SET_CLASS),
    Route("class attribute of an instance", "$m.C$i().$X", holder=_CLASS, assigned=_SET_CLASS),
    Route("item of a class's __dict__", "$m.C$i.__dict__['$X']", holder=_CLASS),
    Route("vars of a class", "vars($m.C$i)['$X']", holder=_CLASS, assigned=_SET_CLASS),
    Route("getattr of a class", "getattr($m.C$i, '$X')", holder=_CLASS, assigned=_SET_CLASS),
    Route("inherited attribute", "$m.S$i.$X", holder=f"{_CLASS}\n\n\nclass S$i(C$i):\n    pass"),
    Route("method", "$m.C$i().go()", holder=_METHOD),
    Route("method of a global instance", "$m.O$i.go()", holder=f"{_METHOD}\n\n\nO$i = C$i()"),
    Route("bound method", "$m.B$i()", holder=f"{_METHOD}\n\n\nB$i = C$i().go"),
    Route(
        "static method",
        "$m.C$i.go()",
        holder="class C$i:\n    @staticmethod\n    def go():\n        return $v",
    ),
    Route(
        "class method",
        "$m.C$i.go()",
        holder="class C$i:\n    $X = $v\n\n    @classmethod\n    def go(cls):\n        return cls.$X",
    ),
    Route(
        "property",
        "$m.C$i().go",
        holder="class C$i:\n    @property\n    def go(self):\n        return $v",
    ),
    Route(
        "cached property",
        "$m.C$i().go",
        holder="import functools\n\n\nclass C$i:\n    @functools.cached_property\n"
        "    def go(self):\n        return $v",
    ),
    Route(
        "__getattr__ of a class",
        "$m.C$i().any",
        holder="class C$i:\n    def __getattr__(self, name):\n        return $v",
    ),
    Route(
        "slots",
        "$m.C$i().n",
        holder="class C$i:\n    __slots__ = ('n',)\n\n    def __init__(self):\n        self.n = $v",
    ),
    Route(
        "callable instance",
        "$m.C$i()()",
        holder="class C$i:\n    def __call__(self):\n        return $v",
    ),
    Route(
        "metaclass",
        "$m.C$i.n",
        holder="class M$i(type):\n    @property\n    def n(cls):\n"
        "        return $v\n\n\nclass C$i(metaclass=M$i):\n    pass",
    ),
    Route(
        "enum",
        "$m.E$i.$X.value",
        holder="import enum\n\n\nclass E$i(enum.Enum):\n    $X = $v",
        kernel=True,
    ),
    Route(
        "item of an enum",
        "$m.E$i['$X'].value",
        holder="import enum\n\n\nclass E$i(enum.Enum):\n    $X = $v",
    ),
    Route(
        "IntEnum",
        "int($m.E$i.$X)",
        holder="import enum\n\n\nclass E$i(enum.IntEnum):\n    $X = $v",
        kernel=True,
    ),
    Route(
        "dataclass default",
        "$m.D$i().n",
        holder="import dataclasses\n\n\n@dataclasses.dataclass\nclass D$i:\n    n: int = $v",
    ),
    Route(
        "named tuple",
        "$m.N$i.n",
        holder="import collections\n\nN$i = collections.namedtuple('N$i', 'n')($v)",
        kernel=True,
    ),
)

_OBJECT: Final = "import types\n\nO$i = types.SimpleNamespace(n=$v)"
_TABLE: Final = "T$i = {'k': $v}"

_OBJECTS: Final = (
    Route("namespace", "$m.O$i.n", holder=_OBJECT, kernel=True, assigned="import p.$m; p.$m.O$i.n = $v"),
    Route("__dict__ of a namespace", "$m.O$i.__dict__['n']", holder=_OBJECT),
    Route("vars of a namespace", "vars($m.O$i)['n']", holder=_OBJECT),
    Route("attrgetter of a namespace", "operator.attrgetter('n')($m.O$i)", holder=_OBJECT,
          head="import operator\nfrom p import $m"),
    Route("dict", "$m.T$i['k']", holder=_TABLE, assigned="import p.$m; p.$m.T$i['k'] = $v"),
    Route("static dict", "whorl.static($m.T$i['k'])", holder=_TABLE, kernel=True,
          head="import whorl\nfrom p import $m"),
    Route("imported dict", "T$i['k']", holder=_TABLE, head="from p.$m import T$i",
          assigned="import p.$m; p.$m.T$i['k'] = $v"),
    Route("format_map of a dict", "int('{k}'.format_map($m.T$i))", holder=_TABLE),
    Route("list", "$m.L$i[0]", holder="L$i = [$v]", assigned="import p.$m; p.$m.L$i[0] = $v"),
    Route("tuple", "$m.L$i[0]", holder="L$i = ($v, 1)", kernel=True),
    Route("array", "int($m.A$i[0])", holder="import numpy\n\nA$i = numpy.array([$v])",
          assigned="import p.$m; p.$m.A$i[0] = $v"),
)  # fmt: skip

_FUNCTIONS: Final = (
    Route("function", "$m.fn$i()", holder=_FUNCTION, kernel=True),
    Route("imported function", "fn$i()", holder=_FUNCTION, head="from p.$m import fn$i", kernel=True),
    Route("function that reads", "$m.fn$i()", holder=f"{_CONSTANT}\n\n\ndef fn$i():\n    return $X",
          kernel=True, assigned=_SET),
    Route("lambda", "$m.fn$i()", holder="fn$i = lambda: $v", kernel=True),
    Route("default", "$m.fn$i()", holder="def fn$i(y=$v):\n    return y", kernel=True,
          assigned="import p.$m; p.$m.fn$i.__defaults__ = ($v,)"),
    Route("keyword default", "$m.fn$i()", holder="def fn$i(*, y=$v):\n    return y",
          assigned="import p.$m; p.$m.fn$i.__kwdefaults__ = {'y': $v}"),
    Route("item of __defaults__", "$m.fn$i.__defaults__[0]", holder="def fn$i(y=$v):\n    return y"),
    Route("signature", "inspect.signature($m.fn$i).parameters['y'].default",
          holder="def fn$i(y=$v):\n    return y", head="import inspect\nfrom p import $m"),
    Route("closure", "$m.fn$i()", holder="def make$i(y):\n    def fn():\n        return y\n\n"
          "    return fn\n\n\nfn$i = make$i($v)", kernel=True),
    Route("partial", "$m.fn$i()", holder="import functools\n\n\ndef of$i(y):\n    return y\n\n\n"
          "fn$i = functools.partial(of$i, $v)"),
    Route("partial of a builtin", "$m.fn$i(0)", holder="import functools\n\n"
          "fn$i = functools.partial(max, $v)"),
    Route("partial that is given state", "$m.fn$i()", holder="import functools\n\n\n"
          "def of$i(y):\n    return y\n\n\nfn$i = functools.partial(of$i, $v)",
          assigned="import p.$m; p.$m.fn$i.__setstate__((p.$m.of$i, ($v,), {}, {}))"),
    Route("decorated", "$m.fn$i()", holder="import functools\n\n\ndef deco$i(function):\n"
          "    @functools.wraps(function)\n    def wrapper(*args):\n"
          "        return function(*args) + $v\n\n    return wrapper\n\n\n"
          "@deco$i\ndef fn$i():\n    return 0"),
    Route("lru_cache", "$m.fn$i()", holder="import functools\n\n\n@functools.lru_cache\n"
          f"{_FUNCTION}"),
    Route("nested function", "$m.fn$i()", holder="def fn$i():\n    def inner():\n        return $v\n"
          "\n    return inner()"),
    Route("comprehension", "$m.fn$i()", holder=f"{_CONSTANT}\n\n\ndef fn$i():\n"
          "    return sum([$X for _ in range(1)])", assigned=_SET),
    Route("generator", "next($m.fn$i())", holder="def fn$i():\n    yield $v"),
    Route("map", "list(map($m.fn$i, [0]))[0]", holder="def fn$i(y):\n    return y + $v"),
    Route("reduce", "functools.reduce($m.fn$i, [0, 0])", head="import functools\nfrom p import $m",
          holder="def fn$i(y, z):\n    return y + $v"),
    Route("attribute of a function", "$m.fn$i.tag", holder=f"{_FUNCTION}\n\n\nfn$i.tag = $v",
          assigned="import p.$m; p.$m.fn$i.tag = $v"),
    Route("function in a dict", "$m.T$i['k']()", holder=f"{_FUNCTION}\n\n\nT$i = {{'k': fn$i}}"),
    Route("single dispatch", "$m.fn$i(0)", holder="import functools\n\n\n@functools.singledispatch\n"
          "def fn$i(y):\n    return 0\n\n\n@fn$i.register\ndef _(y: int):\n    return $v"),
    Route("recursion", "$m.fn$i(2)", holder="def fn$i(n):\n"
          "    return $v if n == 0 else fn$i(n - 1)"),
    Route("exception", "$m.fn$i()", holder="def fn$i():\n    try:\n        raise KeyError\n"
          "    except KeyError:\n        return $v"),
    Route("global statement", "$m.fn$i()", holder=f"{_CONSTANT}\n\n\ndef fn$i():\n    global $X\n"
          "    return $X", assigned=_SET),
    Route("docstring", "len($m.fn$i.__doc__)", holder="def fn$i():\n    return 0\n\n\n"
          "fn$i.__doc__ = 'n' * $v"),
)  # fmt: skip


_CALLED: Final = {
    "function": "def N$i():\n    return 0",
    "lambda": "N$i = lambda: 0",
    "wrapper": "import functools\n\n\ndef of$i():\n    return 0\n\n\n@functools.wraps(of$i)\n"
    "def N$i():\n    return of$i()",
    "lru_cache": "import functools\n\n\n@functools.lru_cache\ndef N$i():\n    return 0",
    "class": "class N$i:\n    pass",
    "class of type": "N$i = type('Made$i', (), {})",
    "local class": "def make$i():\n    class Local:\n        pass\n\n    return Local\n\n\n"
    "N$i = make$i()",
}


def _named(kind: str, name: str) -> Route:
    return Route(
        f"{name} of a {kind}",
        f"len($m.N$i.{name})",
        holder=f"{_CALLED[kind]}\n\n\nN$i.{name} = 'n' * $v",
        assigned=f"import p.$m; p.$m.N$i.{name} = 'n' * $v",
    )


def _static(route: Route) -> Route:
    return replace(route, name=f"static: {route.name}", expression=f"whorl.static({route.expression})",
                   head=f"import whorl\n{route.head}", kernel=True)  # fmt: skip


_NAMES: Final = tuple(
    _named(kind, name) for kind in _CALLED for name in ("__name__", "__qualname__", "__module__")
)
_STATIC_NAMES: Final = tuple(
    _static(route) for route in _NAMES if route.name.endswith(("of a function", "of a class"))
)
_OTHER_NAMES: Final = (
    Route("repr of a named class", "repr($m.N$i).count('n')", holder="class N$i:\n    pass\n\n\n"
          "N$i.__module__ = 'n' * $v"),
    Route("repr of a named dataclass", "repr($m.N$i()).count('n')", holder="import dataclasses\n\n\n"
          "@dataclasses.dataclass\nclass N$i:\n    pass\n\n\nN$i.__qualname__ = 'n' * $v"),
    Route("repr of a member of a named enum", "repr($m.N$i.A).count('n')", holder="import enum\n\n\n"
          "class N$i(enum.Enum):\n    A = 1\n\n\nN$i.__name__ = 'n' * $v"),
    Route("name that type was given", "len($m.N$i.__name__)", holder="N$i = type('n' * $v, (), {})"),
    Route("name of a wrapped function", "len($m.N$i.__name__)", holder="import functools\n\n\n"
          "def of$i():\n    return 0\n\n\nof$i.__name__ = 'n' * $v\n\n\n"
          "@functools.wraps(of$i)\ndef N$i():\n    return of$i()"),
    Route("qualified name of a definition", "len($m.N$i.__qualname__)", holder="def m$i(n):\n"
          "    def fn():\n        return 0\n\n    return fn\n\n\n"
          "def made$i(n):\n    def fn():\n        return 0\n\n    return fn\n\n\n"
          "N$i = (m$i if $v % 2 else made$i)(0)"),
)  # fmt: skip

_MINE: Final = "def mine$i(y):\n    return y * 0 + $v"
_MATH: Final = "import math\nfrom p import $m"


def _library(name: str, expression: str, holder: str, *, head: str = _MATH, body: str = "",
             kernel: bool = False, assigned: str = "") -> Route:  # fmt: skip
    return Route(f"library: {name}", expression, holder, head, body, alone=True, kernel=kernel,
                 assigned=assigned)  # fmt: skip


_SQRT: Final = f"import math\n\n\n{_MINE}\n\n\nmath.sqrt = mine$i"
_OTHERS: Final = "(math.exp, math.cos, math.sin, math.tan, math.atan)[int($v) % 5]"

_LIBRARIES: Final = (
    _library("function replaced", "math.sqrt(4.0)", kernel=True,
             holder=f"{_SQRT}\n\n\ndef later$i(y):\n    return y * 0 + 61",
             assigned="import math, p.$m; math.sqrt = p.$m.later$i"),
    _library("a function, replaced later", "math.floor(4.5)", _CONSTANT,
             assigned="import math; math.floor = (lambda n: lambda y: y * 0 + n)($v)"),
    _library("a function, replaced later by its own", "round(math.sqrt(1.0) * 1000)", _CONSTANT,
             assigned=f"import math; math.sqrt = {_OTHERS}"),
    _library("a method, replaced later", "int(fractions.Fraction(7, 2).limit_denominator(1))",
             _CONSTANT, head="import fractions",
             assigned="import fractions; fractions.Fraction.limit_denominator = (lambda n: lambda s, y: n)($v)"),
    _library("a method of a global instance, replaced later", "int(HALF$i.limit_denominator(1))",
             _CONSTANT, head="import fractions\nHALF$i = fractions.Fraction(7, 2)",
             assigned="import fractions; fractions.Fraction.limit_denominator = (lambda n: lambda s, y: n)($v)"),
    _library("a method of an imported class, replaced later", "int(Fraction(7, 2).limit_denominator(1))",
             _CONSTANT, head="from fractions import Fraction",
             assigned="import fractions; fractions.Fraction.limit_denominator = (lambda n: lambda s, y: n)($v)"),
    _library("a dict, changed later", "json.encoder.ESCAPE_DCT.get('zork', 0)", _CONSTANT,
             head="import json.encoder",
             assigned="import json.encoder; json.encoder.ESCAPE_DCT['zork'] = $v"),
    _library("function replaced, imported name", "sqrt(4.0)", _SQRT, kernel=True,
             head="from p import $m\nfrom math import sqrt"),
    _library("function replaced, local import", "math.sqrt(4.0)", _SQRT, head=_MODULE,
             body="import math"),
    _library("function replaced, getattr", "getattr(math, 'sqrt')(4.0)", _SQRT),
    _library("function replaced, local name", "q$i.sqrt(4.0)", _SQRT, body="q$i = math"),
    _library("function of NumPy replaced", "np.sin(4.0)", kernel=True,
             holder=f"import numpy\n\n\n{_MINE}\n\n\nnumpy.sin = mine$i",
             head="import numpy as np\nfrom p import $m"),
    _library("another function of the library", "round(math.sqrt(1.0) * 1000)",
             f"import math\n\nmath.sqrt = {_OTHERS}"),
    _library("another function, in a kernel", "int(math.sqrt(1.0) * 1000)",
             f"import math\n\nmath.sqrt = {_OTHERS}", kernel=True),
    _library("a partial", "math.sqrt(2)",
             "import functools\nimport math\n\nmath.sqrt = functools.partial(pow, $v)"),
    _library("an object of mine", "math.sqrt(2)", "import math\n\n\nclass Mine:\n"
             "    def __init__(self, n):\n        self.n = n\n\n    def __call__(self, y):\n"
             "        return self.n\n\n\nmath.sqrt = Mine($v)"),
    _library("a class of mine", "math.sqrt(2).n", "import math\n\n\nclass Mine:\n"
             "    def __init__(self, y):\n        self.n = $v\n\n\nmath.sqrt = Mine"),
    _library("functions swapped", "int(math.sqrt(1.0) * 1000)", kernel=True,
             holder="import math\n\nif $v % 2:\n    math.exp = math.sqrt\nelse:\n"
             "    math.sqrt = math.exp"),
    _library("another function, static", "whorl.static(int(math.sqrt(1.0) * 1000))",
             f"import math\n\nmath.sqrt = {_OTHERS}", head=f"import whorl\n{_MATH}", kernel=True),
    _library("a number", "math.pi", "import math\n\nmath.pi = $v", kernel=True),
    _library("a new number", "math.zork", "import math\n\nmath.zork = $v", kernel=True),
    _library("a list", "math.zork[0]", "import math\n\nmath.zork = [$v]"),
    _library("a method on a class", "fractions.Fraction(1).limit_denominator(1)",
             "import fractions\n\n\ndef mine(self, n):\n    return $v\n\n\n"
             "fractions.Fraction.limit_denominator = mine",
             head="import fractions\nfrom p import $m"),
    _library("a new method on a class of NumPy", "np.matrix([[1]]).zork()",
             "import numpy\n\nnumpy.matrix.zork = lambda self: $v",
             head="import numpy as np\nfrom p import $m"),
    _library("a method on a class, of a global instance", "$m.ONE.limit_denominator(1)",
             "import fractions\n\n\ndef mine(self, n):\n    return $v\n\n\n"
             "fractions.Fraction.limit_denominator = mine\nONE = fractions.Fraction(1)",
             head=_MODULE),
    _library("an attribute of a class", "fractions.Fraction.zork",
             "import fractions\n\nfractions.Fraction.zork = $v",
             head="import fractions\nfrom p import $m"),
    _library("an entry of a dict", "json.encoder.ESCAPE_DCT['zork']",
             "import json.encoder\n\njson.encoder.ESCAPE_DCT['zork'] = $v",
             head="import json.encoder\nfrom p import $m"),
    _library("a builtin replaced", "abs(3)", f"import builtins\n\n\n{_MINE}\n\n\n"
             "builtins.abs = mine$i", head=_MODULE),
    _library("a new builtin", "zork + 0", "import builtins\n\nbuiltins.zork = $v", head=_MODULE),
    _library("code of a function", "len(textwrap.shorten('n' * 5, 9, placeholder=''))",
             "import textwrap\n\n\ndef mine(text, width, **rest):\n    return text * int($v)\n\n\n"
             "textwrap.shorten.__code__ = mine.__code__",
             head="import textwrap\nfrom p import $m"),
)  # fmt: skip

ROUTES: Final = {
    route.name: route
    for route in (
        *_MODULES,
        *_CLASSES,
        *_OBJECTS,
        *_FUNCTIONS,
        *_NAMES,
        *_STATIC_NAMES,
        *_OTHER_NAMES,
        *_LIBRARIES,
    )
}


@dataclass(frozen=True, slots=True)
class Wrapper:
    """Where the expression of a route stands.

    `$e` is the expression, `$b` the statements that have to come before it, `$f` a name. `text` is
    put into the reading module and `use` into the cached function, where the names of the reading
    module begin with `$r`. `simple`: there is no place for statements.
    """

    name: str
    text: str
    use: str
    simple: bool = False
    kernel: bool = False


WRAPPERS: Final = {
    wrapper.name: wrapper
    for wrapper in (
        Wrapper("in the function", "", "$e", simple=True, kernel=True),
        Wrapper("helper", "def $f():\n$b    return $e", "$r$f()", kernel=True),
        Wrapper("helper of a helper", "def in_$f():\n$b    return $e\n\n\n"
                "def $f():\n    return in_$f()", "$r$f()", kernel=True),
        Wrapper("nested function", "def $f():\n    def inner():\n    $b        return $e\n\n"
                "    return inner()", "$r$f()", simple=True),
        Wrapper("lambda", "$f = lambda: $e", "$r$f()", simple=True, kernel=True),
        Wrapper("list comprehension", "", "[$e for _ in range(1)][0]", simple=True),
        Wrapper("generator expression", "", "sum($e for _ in range(1))", simple=True),
        Wrapper("default", "def $f(y=$e):\n    return y", "$r$f()", simple=True, kernel=True),
        Wrapper("closure", "def make_$f():\n$b    y = $e\n\n    def inner():\n        return y\n\n"
                "    return inner\n\n\n$f = make_$f()", "$r$f()", kernel=True),
        Wrapper("partial", "def of_$f(y):\n$b    return y + $e\n\n\n"
                "$f = functools.partial(of_$f, 0)", "$r$f()"),
        Wrapper("decorated", "def deco_$f(function):\n    @functools.wraps(function)\n"
                "    def wrapper():\n        return function()\n\n    return wrapper\n\n\n"
                "@deco_$f\ndef $f():\n$b    return $e", "$r$f()"),
        Wrapper("lru_cache", "@functools.lru_cache\ndef $f():\n$b    return $e", "$r$f()"),
        Wrapper("method", "class C_$f:\n    def go(self):\n        return self.inner()\n\n"
                "    def inner(self):\n        return $e", "${r}C_$f().go()", simple=True),
        Wrapper("property", "class C_$f:\n    @property\n    def go(self):\n        return $e",
                "${r}C_$f().go", simple=True),
        Wrapper("class attribute", "class C_$f:\n    N = $e", "${r}C_$f.N", simple=True, kernel=True),
        Wrapper("map", "def $f(y):\n$b    return y + $e", "list(map($r$f, [0]))[0]"),
        Wrapper("if", "def $f(y):\n$b    if y > 1:\n        return 0\n    return $e", "$r$f(1)",
                kernel=True),
        Wrapper("global", "$f = $e", "$r$f", simple=True, kernel=True),
    )
}  # fmt: skip

KNOWN: Final[dict[str, str]] = {}
"""Routes that are known to fail, with the reason why. Left out unless they are wanted."""
