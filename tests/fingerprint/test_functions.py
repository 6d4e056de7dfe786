"""Functions: by what they do, through everything they read."""

from __future__ import annotations

import contextlib
import functools
import operator
import random
import subprocess
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path
from random import randint
from random import random as uniform
from typing import Any

import numpy as np
import pytest
from numpy.random import rand

import whorl
from tests.fingerprint.comparing import different, refusal, same
from tests.fingerprint.programs import Programs

# Each pair of programs differs in what `f` does, or not.
CHANGES = {
    "the body": ("def f(): return 1", "def f(): return 2"),
    "the type of a constant": ("def f(): return 1", "def f(): return True"),
    "an int for a float": ("def f(): return 1", "def f(): return 1.0"),
    "the sign of a zero": ("def f(): return 0.0", "def f(): return -0.0"),
    "text for bytes": ("def f(): return 'a'", "def f(): return b'a'"),
    "a constant in a tuple": ("def f(): return (1, 2)", "def f(): return (1, True)"),
    "a lone surrogate": ("def f(): return '\\ud800'", "def f(): return '\\ud801'"),
    "a default": ("def f(x=1): return x", "def f(x=2): return x"),
    "the type of a default": ("def f(x=1): return x", "def f(x=True): return x"),
    "a keyword default": ("def f(*, x=1): return x", "def f(*, x=2): return x"),
    "an annotation": ("def f(x: int): return x", "def f(x: str): return x"),
    "a local annotation": ("def f(x):\n y: int = x", "def f(x):\n y: float = x"),
    "a parameter's name": ("def f(x): return x", "def f(y): return y"),
    "a parameter's kind": ("def f(x): return x", "def f(x, /): return x"),
    "a keyword parameter": ("def f(x): return x", "def f(*, x): return x"),
    "a star": ("def f(*x): return x", "def f(**x): return x"),
    "async": ("def f(): return 1", "async def f(): return 1"),
    "a generator": ("def f(): return 1", "def f():\n yield 1"),
    "a conversion": ("def f(x): return f'{x!r}'", "def f(x): return f'{x!s}'"),
    "a format": ("def f(x): return f'{x:>2}'", "def f(x): return f'{x:>3}'"),
    "a keyword argument": ("def f(): return dict(a=1)", "def f(): return dict(b=1)"),
    "an order of arguments": ("def f(): return dict(a=1, b=2)", "def f(): return dict(b=2, a=1)"),
    "an operator": ("def f(x): return x + x", "def f(x): return x * x"),
    "an attribute": ("def f(x): return x.a", "def f(x): return x.b"),
    "a pattern": (
        "def f(x):\n match x:\n  case 1: return 1", "def f(x):\n match x:\n  case 1.0: return 1",
    ),
    "an assertion": ("def f(x):\n assert x", "def f(x):\n pass"),
    "an exception": (
        "def f():\n try: pass\n except KeyError: pass",
        "def f():\n try: pass\n except IndexError: pass",
    ),
    "a nested default": (
        "def f():\n def g(x=1): pass\n return g", "def f():\n def g(x=2): pass\n return g",
    ),
    "a nested decorator": (
        "def f():\n @staticmethod\n def g(): pass", "def f():\n @classmethod\n def g(): pass",
    ),
    "a lambda": ("f = lambda x: x + 1", "f = lambda x: x + 2"),
    "one of two lambdas on a line": (
        "g, f = (lambda x: x + 1), (lambda x: x + 2)",
        "g, f = (lambda x: x + 1), (lambda x: x + 3)",
    ),
    "a global": ("T = 1\ndef f(): return T", "T = 2\ndef f(): return T"),
    "the type of a global": ("T = 1\ndef f(): return T", "T = True\ndef f(): return T"),
    "a global that was absent": ("def f(): return T", "T = 2\ndef f(): return T"),
    "a global over a builtin": ("def f(): return len", "len = 2\ndef f(): return len"),
    "a global list": ("T = [1]\ndef f(): return T", "T = [2]\ndef f(): return T"),
    "a global array": (
        "import numpy\nT = numpy.zeros(2)\ndef f(): return T",
        "import numpy\nT = numpy.ones(2)\ndef f(): return T",
    ),
    "a global read in a lambda": (
        "T = 1\ndef f(): return lambda: T", "T = 2\ndef f(): return lambda: T",
    ),
    "a global read in a comprehension": (
        "T = 1\ndef f(): return [[T for _ in x] for x in ()]",
        "T = 2\ndef f(): return [[T for _ in x] for x in ()]",
    ),
    "a global read in a branch": (
        "T = 1\ndef f(x):\n if x: return T", "T = 2\ndef f(x):\n if x: return T",
    ),
    "a global read in a nested class": (
        "T = 1\ndef f():\n class A:\n  x = T\n return A",
        "T = 2\ndef f():\n class A:\n  x = T\n return A",
    ),
    "a global read in a nested default": (
        "T = 1\ndef f():\n def g(x=T): return x\n return g",
        "T = 2\ndef f():\n def g(x=T): return x\n return g",
    ),
    "a function two calls away": (
        "def h(): return 1\ndef g(): return h()\ndef f(): return g()",
        "def h(): return 2\ndef g(): return h()\ndef f(): return g()",
    ),
    "a function on a circle": (
        "def g(n): return n and f(n - 1)\ndef f(n): return n and g(n - 1)",
        "def g(n): return n and f(n - 2)\ndef f(n): return n and g(n - 1)",
    ),
    "a function in a table": (
        "def g(): return 1\nT = {'g': [g]}\ndef f(): return T['g'][0]()",
        "def g(): return 2\nT = {'g': [g]}\ndef f(): return T['g'][0]()",
    ),
    "a class attribute": (
        "class C:\n x = 1\ndef f(): return C.x", "class C:\n x = 2\ndef f(): return C.x",
    ),
    "a method": (
        "class C:\n def m(self): return 1\ndef f(): return C().m()",
        "class C:\n def m(self): return 2\ndef f(): return C().m()",
    ),
    "a method of an instance": (
        "class C:\n def m(self): return 1\nc = C()\ndef f(): return c.m()",
        "class C:\n def m(self): return 2\nc = C()\ndef f(): return c.m()",
    ),
    "a method of a base": (
        "class B:\n def m(self): return 1\nclass C(B): pass\ndef f(): return C().m()",
        "class B:\n def m(self): return 2\nclass C(B): pass\ndef f(): return C().m()",
    ),
    "a base that super finds": (
        "class B:\n def m(self): return 1\nclass C(B):\n def m(self): return super().m()\nf = C.m",
        "class B:\n def m(self): return 2\nclass C(B):\n def m(self): return super().m()\nf = C.m",
    ),
    "a property": (
        "class C:\n x = property(lambda self: 1)\ndef f(): return C().x",
        "class C:\n x = property(lambda self: 2)\ndef f(): return C().x",
    ),
    "a metaclass": (
        "class M(type):\n def m(c): return 1\nclass C(metaclass=M): pass\ndef f(): return C.m()",
        "class M(type):\n def m(c): return 2\nclass C(metaclass=M): pass\ndef f(): return C.m()",
    ),
    "a static method": (
        "class C:\n @staticmethod\n def m(): return 1\nf = C.m",
        "class C:\n @staticmethod\n def m(): return 2\nf = C.m",
    ),
    "what a class method reads": (
        "class C:\n x = 1\n @classmethod\n def m(cls): return cls.x\nf = C.m",
        "class C:\n x = 2\n @classmethod\n def m(cls): return cls.x\nf = C.m",
    ),
    "a call method": (
        "class C:\n def __call__(self): return 1\nf = C()",
        "class C:\n def __call__(self): return 2\nf = C()",
    ),
    "what a call method calls": (
        "def g(): return 1\nclass C:\n def __call__(self): return g()\nf = C()",
        "def g(): return 2\nclass C:\n def __call__(self): return g()\nf = C()",
    ),
    "a private name": (
        "class A:\n def f(self): return self.__x\nf = A.f",
        "class B:\n def f(self): return self.__x\nf = B.f",
    ),
    "a wrapped function": (
        "import functools\ndef d(g):\n @functools.wraps(g)\n def w(): return g()\n return w\n"
        "@d\ndef f(): return 1",
        "import functools\ndef d(g):\n @functools.wraps(g)\n def w(): return g()\n return w\n"
        "@d\ndef f(): return 2",
    ),
    "a wrapper": (
        "import functools\ndef d(g):\n @functools.wraps(g)\n def w(): return g()\n return w\n"
        "@d\ndef f(): return 1",
        "import functools\ndef d(g):\n @functools.wraps(g)\n def w(): return not g()\n return w\n"
        "@d\ndef f(): return 1",
    ),
    "a context manager": (
        "import contextlib\n@contextlib.contextmanager\ndef f(): yield 1",
        "import contextlib\n@contextlib.contextmanager\ndef f(): yield 2",
    ),
    "a cached function": (
        "import functools\n@functools.lru_cache\ndef f(): return 1",
        "import functools\n@functools.lru_cache\ndef f(): return 2",
    ),
    "a cache's size": (
        "import functools\n@functools.lru_cache(1)\ndef f(): return 1",
        "import functools\n@functools.lru_cache(2)\ndef f(): return 1",
    ),
    "a cache's distinction of types": (
        "import functools\n@functools.lru_cache(typed=True)\ndef f(x): return 1",
        "import functools\n@functools.lru_cache(typed=False)\ndef f(x): return 1",
    ),
    "a partial function": (
        "import functools\ndef g(x): return 1\nf = functools.partial(g, 1)",
        "import functools\ndef g(x): return 2\nf = functools.partial(g, 1)",
    ),
    "an implementation": (
        "import functools\n@functools.singledispatch\ndef f(x): return 1\n"
        "@f.register\ndef _(x: int): return 1",
        "import functools\n@functools.singledispatch\ndef f(x): return 1\n"
        "@f.register\ndef _(x: int): return 2",
    ),
    "the class of an implementation": (
        "import functools\n@functools.singledispatch\ndef f(x): return 1\n"
        "f.register(int)(lambda x: 2)",
        "import functools\n@functools.singledispatch\ndef f(x): return 1\n"
        "f.register(str)(lambda x: 2)",
    ),
    "an implementation of a method": (
        "import functools\nclass C:\n @functools.singledispatchmethod\n def m(self, x): return 1\n"
        " @m.register\n def _(self, x: int): return 1\nf = C().m",
        "import functools\nclass C:\n @functools.singledispatchmethod\n def m(self, x): return 1\n"
        " @m.register\n def _(self, x: int): return 2\nf = C().m",
    ),
    "a partial method": (
        "import functools\nclass C:\n def g(self, x): return x\n"
        " m = functools.partialmethod(g, 1)\n"
        "f = C().m",
        "import functools\nclass C:\n def g(self, x): return x\n"
        " m = functools.partialmethod(g, 2)\n"
        "f = C().m",
    ),
    "a total ordering": (
        "import functools\n@functools.total_ordering\nclass C:\n"
        " def __lt__(self, o): return True\n def __eq__(self, o): return True\nf = C().__gt__",
        "import functools\n@functools.total_ordering\nclass C:\n"
        " def __lt__(self, o): return False\n def __eq__(self, o): return True\nf = C().__gt__",
    ),
    "a cached property": (
        "import functools\nclass C:\n @functools.cached_property\n def x(self): return 1\n"
        "def f(): return C().x",
        "import functools\nclass C:\n @functools.cached_property\n def x(self): return 2\n"
        "def f(): return C().x",
    ),
    "a dataclass default": (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n x: int = 1\ndef f(): return C()",
        "from dataclasses import dataclass\n@dataclass\nclass C:\n x: int = 2\ndef f(): return C()",
    ),
    "a dataclass option": (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n x: int\ndef f(): return C",
        "from dataclasses import dataclass\n@dataclass(order=True)\nclass C:\n x: int\n"
        "def f(): return C",
    ),
    "a method beside dataclass methods": (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n x: int\n"
        " def __eq__(self, o): return True\ndef f(): return C",
        "from dataclasses import dataclass\n@dataclass\nclass C:\n x: int\n"
        " def __eq__(self, o): return False\ndef f(): return C",
    ),
    "a named tuple default": (
        "from typing import NamedTuple\nclass C(NamedTuple):\n x: int = 1\ndef f(): return C()",
        "from typing import NamedTuple\nclass C(NamedTuple):\n x: int = 2\ndef f(): return C()",
    ),
    "an attrs converter": (
        "import attrs\n@attrs.define\nclass C:\n x: int = attrs.field(converter=lambda x: x)\n"
        "def f(): return C",
        "import attrs\n@attrs.define\nclass C:\n x: int = attrs.field(converter=lambda x: -x)\n"
        "def f(): return C",
    ),
    "a pydantic validator": (
        "import pydantic\nclass C(pydantic.BaseModel):\n x: int\n @pydantic.field_validator('x')\n"
        " def v(cls, x): return x\ndef f(): return C",
        "import pydantic\nclass C(pydantic.BaseModel):\n x: int\n @pydantic.field_validator('x')\n"
        " def v(cls, x): return -x\ndef f(): return C",
    ),
    "a pydantic constraint": (
        "import pydantic\nclass C(pydantic.BaseModel):\n x: int = pydantic.Field(gt=1)\n"
        "def f(): return C",
        "import pydantic\nclass C(pydantic.BaseModel):\n x: int = pydantic.Field(gt=2)\n"
        "def f(): return C",
    ),
    "a pydantic setting": (
        "import pydantic\nclass C(pydantic.BaseModel):\n model_config = {'frozen': True}\n"
        "def f(): return C",
        "import pydantic\nclass C(pydantic.BaseModel):\n model_config = {'frozen': False}\n"
        "def f(): return C",
    ),
    "an import inside": (
        "def f():\n from json import dumps\n return dumps",
        "def f():\n from json import loads\n return loads",
    ),
    "a module that does not exist": (
        "def f():\n import not_there_1\n", "def f():\n import not_there_2\n",
    ),
    "a captured value": (
        "def g(x):\n return lambda: x\nf = g(1)", "def g(x):\n return lambda: x\nf = g(2)",
    ),
    "an attribute of the function": ("def f(): pass\nf.x = 1", "def f(): pass\nf.x = 2"),
}  # fmt: skip

EDITS = {
    "a comment": ("def f(x): return x", "def f(x):  # what\n\n    # why\n    return x"),
    "a docstring": ("def f(x): return x", "def f(x):\n    'What.'\n    return x"),
    "another docstring": ("def f(x):\n 'a'\n return x", "def f(x):\n 'b'\n return x"),
    "a nested docstring": (
        "def f():\n def g():\n  'a'\n  return 1\n return g",
        "def f():\n def g():\n  'b'\n  return 1\n return g",
    ),
    "a class docstring": (
        "def f():\n class G: 'a'\n return G", "def f():\n class G: 'b'\n return G",
    ),
    "a blank line above": ("def f(x): return x", "\n\n\ndef f(x): return x"),
    "layout": ("def f(x): return x + 1", "def f(\n    x,\n): return (x +\n  1)"),
    "quotes": ("def f(): return 'a'", 'def f(): return "a"'),
    "a number's spelling": ("def f(): return 1000", "def f(): return 1_000"),
    "another function": ("def f(): return 1", "def g(): return 2\ndef f(): return 1"),
    "an unread global": ("T = 1\ndef f(): return 1", "T = 2\ndef f(): return 1"),
    "an attribute named like a global": (
        "T = 1\ndef f(x): return x.T", "T = 2\ndef f(x): return x.T",
    ),
    "a keyword named like a global": (
        "T = 1\ndef f(x): return x(T=0)", "T = 2\ndef f(x): return x(T=0)",
    ),
    "a local named like a global": (
        "T = 1\ndef f():\n T = 0\n return T", "T = 2\ndef f():\n T = 0\n return T",
    ),
    "a name of a class body like a global": (
        "T = 1\ndef f():\n class A:\n  T = 0\n  x = T\n return A",
        "T = 2\ndef f():\n class A:\n  T = 0\n  x = T\n return A",
    ),
    "a global that is only written": (
        "T = 1\ndef f():\n global T\n T = 0", "T = 2\ndef f():\n global T\n T = 0",
    ),
    "a comment two calls away": (
        "def g(): return 1\ndef f(): return g()", "def g():  # one\n return 1\ndef f(): return g()",
    ),
    "a computed default": ("def f(x=2): return x", "def f(x=1 + 1): return x"),
    "another lambda on the line": (
        "f, g = (lambda x: x + 1), (lambda x: x + 2)",
        "f, g = (lambda x: x + 1), (lambda x: x + 3)",
    ),
    "layout of an attrs class": (
        "import attrs\n@attrs.define\nclass C:\n x: int = 1\ndef f(): return C",
        "import attrs\n\n\n@attrs.define\nclass C:\n    'Doc.'\n    x: int = 1\ndef f(): return C",
    ),
    "layout of a pydantic class": (
        "import pydantic\nclass C(pydantic.BaseModel):\n x: int = 1\ndef f(): return C",
        "import pydantic\n\n\nclass C(pydantic.BaseModel):\n    'Doc.'\n    x: int = 1\n"
        "def f(): return C",
    ),
    "layout of a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n x: int = 1\ndef f(): return C",
        "from dataclasses import dataclass\n\n@dataclass\nclass C:\n    'Doc.'\n    x: int = 1\n"
        "def f(): return C",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), CHANGES.values(), ids=CHANGES.keys())
def test_an_edit_that_changes_what_a_function_does_changes_its_digest(
    programs: Programs, before: str, after: str
) -> None:
    assert not programs.same(before + "\n", after + "\n")
    assert programs.same(before + "\n", before + "\n")


@pytest.mark.parametrize(("before", "after"), EDITS.values(), ids=EDITS.keys())
def test_an_edit_that_changes_nothing_leaves_the_digest(
    programs: Programs, before: str, after: str
) -> None:
    assert programs.same(before + "\n", after + "\n")


def test_a_moved_file_leaves_the_digest(programs: Programs, tmp_path: Path) -> None:
    text = "def g(): return 1\ndef f(): return g()\n"
    assert whorl.fingerprint(programs.load(text, "one").f) == whorl.fingerprint(
        programs.load(text, "other").f
    )


def test_same_named_globals_of_two_modules_are_two_reads(programs: Programs) -> None:
    one = programs.load("T = 1\ndef get(): return T\n", "one")
    two = programs.load("T = 2\ndef get(): return T\n", "two")
    assert different(one.get, two.get)


# -- modules as namespaces --------------------------------------------------------------


def test_a_value_read_through_a_module_counts_and_its_neighbours_do_not(programs: Programs) -> None:
    cfg = programs.load("TILE = 1\nOTHER = 1\n", "cfg")
    f = programs.get("import cfg\ndef f(): return cfg.TILE\n")
    before = whorl.fingerprint(f)
    cfg.OTHER = 2
    assert whorl.fingerprint(f) == before
    cfg.TILE = 2
    assert whorl.fingerprint(f) != before


def test_a_value_read_through_two_modules_counts(programs: Programs) -> None:
    tiles = programs.load("N = 1\nM = 1\n", "tiles")
    programs.load("import tiles\nOTHER = 1\n", "cfg")
    f = programs.get("import cfg\ndef f(): return cfg.tiles.N\n")
    before = whorl.fingerprint(f)
    tiles.M = 2
    assert whorl.fingerprint(f) == before
    tiles.N = 2
    assert whorl.fingerprint(f) != before


@pytest.mark.parametrize(
    "body",
    [
        "m = cfg; return m.TILE", "return getattr(cfg, 'TILE')", "return vars(cfg)['TILE']",
        "import cfg as c; return c.TILE", "from cfg import TILE; return TILE",
        "return (lambda: cfg.TILE)()", "return [cfg.TILE for _ in ()]",
    ],
)  # fmt: skip
def test_a_module_read_by_a_detour_counts(programs: Programs, body: str) -> None:
    cfg = programs.load("TILE = 1\n", "cfg")
    f = programs.get(f"import cfg\ndef f(): {body}\n")
    before = whorl.fingerprint(f)
    cfg.TILE = 2
    assert whorl.fingerprint(f) != before


def test_an_attribute_that_appears_in_a_module_is_noticed(programs: Programs) -> None:
    cfg = programs.load("OTHER = 1\n", "cfg")
    f = programs.get("import cfg\ndef f(): return cfg.TILE\n")
    before = whorl.fingerprint(f)
    cfg.TILE = None
    after = whorl.fingerprint(f)
    assert after != before
    del cfg.TILE
    assert whorl.fingerprint(f) == before


def test_a_package_imported_by_way_of_its_submodule_counts(
    tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "parent"
    (folder / "parcel").mkdir(parents=True)
    (folder / "parcel" / "__init__.py").write_text("VALUE = 1\n")
    (folder / "parcel" / "part.py").write_text("OTHER = 1\n")
    monkeypatch.syspath_prepend(str(folder))
    f = programs.get("def f():\n    import parcel.part\n    return parcel.VALUE\n")
    before = whorl.fingerprint(f)
    import parcel  # type: ignore[import-not-found]  # written above

    parcel.VALUE = 2
    assert whorl.fingerprint(f) != before


def test_globals_that_come_and_go_are_noticed(programs: Programs) -> None:
    module = programs.load("def f(): return T\n")
    absent = whorl.fingerprint(module.f)
    module.T = None
    present = whorl.fingerprint(module.f)
    del module.T
    assert whorl.fingerprint(module.f) == absent != present


# -- closures ---------------------------------------------------------------------------


def test_closures_made_in_a_loop_differ_by_what_they_captured() -> None:
    late: list[Callable[[], int]] = []
    early: list[Callable[[], int]] = []
    for i in range(3):
        late.append(lambda: i)  # noqa: B023 - all of them see the last value
        early.append(lambda i=i: i)  # type: ignore[misc]  # the usual way around it
    assert same(*late)
    assert different(*early)


def test_a_rebound_capture_is_noticed() -> None:
    def make() -> tuple[Callable[[], int], Callable[[int], None]]:
        x = 1

        def get() -> int:
            return x

        def put(value: int) -> None:
            nonlocal x
            x = value

        return get, put

    get, put = make()
    before = whorl.fingerprint(get)
    put(2)
    assert whorl.fingerprint(get) != before
    put(1)
    assert whorl.fingerprint(get) == before


def test_a_capture_that_is_not_set_yet_is_a_value_of_its_own() -> None:
    def make(bind: bool) -> Callable[[], object]:
        if bind:
            x = None
        return lambda: x

    assert different(make(False), make(True))


def test_a_function_that_captures_itself_works() -> None:
    def make(step: int) -> Callable[[int], int]:
        def count(n: int) -> int:
            return n and count(n - step)

        return count

    assert same(make(1), make(1))
    assert different(make(1), make(2))


def test_mutually_recursive_functions_do_not_depend_on_which_is_asked_first(
    programs: Programs,
) -> None:
    text = "def f(n): return n and g(n - 1)\ndef g(n): return n and f(n - 2)\n"
    first, second = programs.load(text, "one"), programs.load(text, "two")
    f1, g1 = whorl.fingerprint(first.f), whorl.fingerprint(first.g)
    g2, f2 = whorl.fingerprint(second.g), whorl.fingerprint(second.f)
    assert (f1, g1) == (f2, g2)
    assert f1 != g1


# -- wrappers ---------------------------------------------------------------------------


class Counter:
    step = 1

    def __init__(self, start: int = 0) -> None:
        self.start = start

    def next(self) -> int:
        return self.start + self.step

    @classmethod
    def make(cls) -> Counter:
        return cls()

    @staticmethod
    def zero() -> int:
        return 0


class Faster(Counter):
    step = 2


def add(x: int, y: int) -> int:
    return x + y


def test_partials_count_function_arguments_and_keywords() -> None:
    partial = functools.partial
    assert same(partial(add, 1, y=2), partial(partial(add, 1), y=2))
    assert different(
        add, partial(add), partial(add, 1), partial(add, 2), partial(add, True), partial(add, x=1),
        partial(add, y=1), partial(max, 1),
    )  # fmt: skip


def test_a_partial_subclass_counts_its_class_and_attributes() -> None:
    class Named(functools.partial[Any]):
        pass

    plain, marked = Named(add, 1), Named(add, 1)
    marked.title = "x"  # type: ignore[attr-defined]  # a partial has a dictionary
    assert different(functools.partial(add, 1), plain, marked)


def test_a_bound_method_counts_its_object() -> None:
    assert same(Counter(1).next, Counter(1).next)
    assert different(Counter(1).next, Counter(2).next, Counter.next, Counter(1))


def test_a_method_bound_to_a_subclass_differs() -> None:
    assert different(Counter(1).next, Faster(1).next, Counter.make, Faster.make)
    assert same(Counter.next, Faster.next)
    assert same(Counter.zero, Faster.zero)


def test_a_cached_function_does_not_count_what_it_has_cached() -> None:
    cached = functools.lru_cache(maxsize=8)(lambda x: x)
    before = whorl.fingerprint(cached)
    cached(1)
    assert whorl.fingerprint(cached) == before


def test_a_dispatcher_does_not_count_what_it_has_looked_up() -> None:
    @functools.singledispatch
    def show(x: object) -> str:
        return "object"

    before = whorl.fingerprint(show)
    show(1)
    assert whorl.fingerprint(show) == before
    show.register(int, lambda x: "int")
    assert whorl.fingerprint(show) != before


def test_a_context_manager_factory_counts_its_generator() -> None:
    @contextlib.contextmanager
    def one() -> Iterator[int]:
        yield 1

    @contextlib.contextmanager
    def two() -> Iterator[int]:
        yield 2

    assert different(one, two)


def test_builtins_count_by_name_and_bound_ones_by_their_object() -> None:
    assert different(
        len, sum, str.join, str.split, "a".join, "b".join, [1].append, [2].append, dict.fromkeys,
        int.from_bytes, (1).__add__, (2).__add__, int.__add__, object.__init__, np.add, np.multiply,
        np.sum, np.add.reduce, np.linalg.norm,
    )  # fmt: skip


def test_operator_callables_count_what_they_were_made_with() -> None:
    caller = operator.methodcaller
    assert different(
        operator.attrgetter("a"), operator.attrgetter("b"), operator.attrgetter("a", "b"),
        operator.itemgetter("a"), operator.itemgetter(0), operator.itemgetter(0, 1),
        caller("a"), caller("b"), caller("a", 1), caller("a", x=1), caller("b", x=1),
        caller("a", x=2), caller("a", 1, x=1), caller("a", y=1),
    )  # fmt: skip


def test_a_vectorized_function_counts_by_its_function() -> None:
    assert different(np.vectorize(lambda x: x + 1), np.vectorize(lambda x: x + 2))


def test_a_ufunc_made_at_run_time_is_refused() -> None:
    assert refusal({"f": np.frompyfunc(lambda x: x, 1, 1)}).path == "value['f']"


# -- names of installed code ------------------------------------------------------------


def uses_uniform() -> float:
    return uniform()


def uses_randint() -> int:
    return randint(1, 6)


def uses_rand() -> float:
    return float(rand())


@pytest.mark.parametrize("function", [uses_uniform, uses_randint, uses_rand])
def test_a_function_of_an_installed_module_that_hides_an_object_counts_by_name(
    function: Callable[[], float],
) -> None:
    before = whorl.fingerprint(function)
    function()
    assert whorl.fingerprint(function) == before


def test_a_random_generator_of_the_users_own_counts_by_its_state() -> None:
    generator = random.Random(1)
    before = whorl.fingerprint(generator.random)
    generator.random()
    assert whorl.fingerprint(generator.random) != before


def test_a_function_that_uses_whorl_has_a_digest() -> None:
    def digest(value: object) -> str:
        return whorl.fingerprint(value)

    before = whorl.fingerprint(digest)
    assert whorl.fingerprint(digest) == before


# -- by name ----------------------------------------------------------------------------


def test_functions_by_name_ignore_code_and_refuse_what_has_no_name(programs: Programs) -> None:
    first = programs.get("def f(): return 1\n")
    by_name = whorl.fingerprint(first, by="name")
    second = programs.get("def f(): return 2\n")
    assert whorl.fingerprint(second, by="name") == by_name
    with pytest.raises(whorl.UnsupportedValue, match="name"):
        whorl.fingerprint([lambda: 1], by="name")


# -- source and instructions ------------------------------------------------------------


def test_functions_without_source_count_by_their_instructions() -> None:
    def make(text: str) -> Any:
        scope: dict[str, Any] = {"__name__": "made"}
        exec(compile(text, "<made>", "exec"), scope)
        return scope["f"]

    assert same(make("def f(x): return x"), make("def f(x):\n    'Doc.'\n    return x"))
    assert same(make("def f(x): return x"), make("\n\ndef f(x): return x  # comment"))
    assert different(
        make("def f(x): return x + 1"), make("def f(x): return x + 2"),
        make("def f(x): return x - 1"), make("def f(x): return x + 1.0"),
        make("def f(x): return g(x, k=1)"), make("def f(x): return g(x, j=1)"),
    )  # fmt: skip


def test_a_file_that_was_edited_after_its_import_does_not_mislead(programs: Programs) -> None:
    f = programs.get("def f(): return 1\n")
    Path(f.__code__.co_filename).write_text("def f(): return 2\n")
    edited = programs.get("def f(): return 2\n")
    assert different(f, edited)


def test_replaced_code_is_noticed() -> None:
    def one() -> int:
        return 1

    def two() -> int:
        return 2

    before = whorl.fingerprint(one)
    one.__code__ = two.__code__.replace(co_name="one")
    assert whorl.fingerprint(one) != before


def test_threads_that_ask_at_once_get_one_answer(programs: Programs) -> None:
    lines = [f"def g{i}(x): return g{i + 1}(x, k={i})" for i in range(30)]
    module = programs.load("\n".join([*lines, "def g30(x, k): return x\n"]))
    found: list[str] = []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        found.append(whorl.fingerprint([module.g0, Counter(1).next, {"k": Faster(2)}]))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_function_is_the_users_although_another_program_has_taken_its_modules_name(
    tmp_path: Path,
) -> None:
    script = tmp_path / "measured.py"
    text = "import whorl\ndef helper(x): return x + 1\ndef main(x): return helper(x)\n"
    digests = []
    for edited in (text, text.replace("+ 1", "+ 2")):
        script.write_text(edited + "print(whorl.fingerprint(main))\n")
        command = [sys.executable, "-m", "cProfile", str(script)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        digests.append(done.stdout.split()[0])
    assert len(set(digests)) == 2


def cached_twice(factor: int) -> Callable[[int], int]:
    def plain(x: int) -> int:
        return x

    @functools.wraps(plain)
    @functools.lru_cache
    def double(x: int) -> int:
        return x * 2

    @functools.wraps(plain)
    @functools.lru_cache
    def triple(x: int) -> int:
        return x * 3

    return double if factor == 2 else triple


def test_the_function_behind_a_cache_counts_though_its_wrapper_names_another() -> None:
    assert different(cached_twice(2), cached_twice(3))


@pytest.mark.parametrize("read", ['globals()["TILE"]', 'eval("TILE")'])
def test_a_function_that_can_read_any_global_reads_them_all(programs: Programs, read: str) -> None:
    module = programs.load(f"TILE = 1\ndef f(): return {read}\n")
    before = whorl.fingerprint(module.f)
    module.TILE = 2
    assert whorl.fingerprint(module.f) != before


def test_the_warnings_of_a_file_and_who_filters_them_do_not_matter(programs: Programs) -> None:
    text = 'def f(): return "\\d"\n'
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = whorl.fingerprint(programs.get(text))
        second = programs.get("\n" + text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert whorl.fingerprint(second) == first


@functools.lru_cache
def cached(x: int) -> int:
    return x


def test_a_cached_function_has_a_name() -> None:
    assert whorl.fingerprint(cached, by="name") == whorl.fingerprint(cached, by="name")


def test_a_method_of_a_callable_object_does_not_ask_it_for_its_name() -> None:
    class Callee:
        asked: list[str] = field(default_factory=list)

        def __call__(self, x: int) -> int:
            return x

        @property
        def __name__(self) -> str:
            raise AssertionError("it was asked")

    assert len(whorl.fingerprint(types.MethodType(Callee(), 1))) == 32
