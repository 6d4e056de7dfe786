"""A program in several modules and packages, edits of it, and what has to be made again.

`FILES` is the program: `mill.main.work` is cached by whatever `shelf.cached` is, and reads the
rest in every way there is. It prints "ran" when it runs. An edit replaces a text in a file, or
changes something outside of the program. Used by the tests and by `bench/exactness.py`.
"""

# ruff: noqa: E501  # an edit reads best on one line

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["EDITS", "FILES", "RUN", "Edit", "edited"]

FILES: Final = {
    "shelf.py": "import whorl\n\ncached = whorl.cached\n",
    "table.txt": "1 2 3\n",
    "unread.txt": "not read\n",
    "mill/__init__.py": '"""A package."""\n',
    "mill/cfg.py": '"""Settings."""\n\nTILE = 64\nUNUSED = 1\nNAMES = ["a", "b"]\n\n\nclass deep:\n    LEVEL = 3\n',
    "mill/kinds.py": '''\
"""Classes."""

import enum
from dataclasses import dataclass


class Kind(enum.Enum):
    SMALL = 1
    LARGE = 2


@dataclass(frozen=True)
class Options:
    """What can be chosen."""

    level: int = 1
    note: str = ""

    def doubled(self) -> int:
        return self.level * 2


class Base:
    unit = 10

    def step(self, x):
        return self.inner(x) + self.unit

    def inner(self, x):
        return x

    def unused(self):
        return None


class Sub(Base):
    def inner(self, x):
        return x + 100


class Other:
    def go(self):
        return 0
''',
    "mill/near.py": '''\
"""One call away."""

import functools

from gear.wheel import turn

from . import cfg
from .kinds import Sub


def near(x):
    """Call far."""
    # a comment
    return turn(x) + 1


def traced(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) + 0

    return wrapper


@traced
def decorated(x):
    return x + 5


def made(n):
    def inner(x):
        return x * n

    return inner


def by_method(x):
    return Sub().step(x)


def tiled(x):
    return x + cfg.TILE + cfg.deep.LEVEL


def never(x):
    return -x


tripled = made(3)
shifted = functools.partial(max, 7)
''',
    "gear/__init__.py": "",
    "gear/wheel.py": '''\
"""Two calls away, in another package."""

RATIO = 3
TEETH = {"big": 12, "small": 8}


def turn(x):
    return x * RATIO + sum(TEETH.values())


def idle(x):
    return x
''',
    "gear/late.py": "SHIFT = 7\n\n\ndef late(x):\n    return x + SHIFT\n\n\ndef beside(x):\n    return x\n",
    "mill/main.py": '''\
"""What is cached."""

import os
from pathlib import Path

from shelf import cached

from .kinds import Kind, Options
from .near import by_method, decorated, near, shifted, tiled, tripled

LIMIT = 1000
SPARE = 1
PLACE = Path(__file__).parents[1] / "table.txt"


def table():
    return sum(map(int, PLACE.read_text().split()))


@cached(environment={"MILL_MODE": "plain"}, files=["../table.txt"], ignores=["PLACE"])
def work(x, options=Options(), *, by=2):
    """Do it."""
    print("ran")
    from gear.late import late

    total = [near(x), decorated(x), tripled(x), shifted(x), by_method(x), tiled(x), late(x)]
    total += [(lambda y: y + by)(x), len([y for y in range(x) if y < LIMIT])]
    total += [Kind.LARGE.value, options.doubled(), table()]
    mode: str = os.environ.get("MILL_MODE", "plain")
    if x > 10**6:
        total.append(SPARE)
    return total, mode
''',
}

RUN: Final = """
import contextlib, io, json
from mill.main import work
from mill.kinds import Options

out = io.StringIO()
with contextlib.redirect_stdout(out):
    answer = work(5, Options(2, "n"))
ran = out.getvalue().count("ran")
plain = getattr(work, "uncached", None) or getattr(work, "func", None) or work.__wrapped__
with contextlib.redirect_stdout(out):
    truth = plain(5, Options(2, "n"))
result = {"answer": repr(answer), "ran": ran, "truth": repr(truth)}
"""


@dataclass(frozen=True, slots=True)
class Edit:
    """One change, and whether the result has to be made again."""

    name: str
    runs: bool
    file: str = ""
    old: str = ""
    new: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0


def _same(name: str, file: str, old: str, new: str) -> Edit:
    return Edit(name, False, file, old, new)


def _other(name: str, file: str, old: str, new: str) -> Edit:
    return Edit(name, True, file, old, new)


NEAR, KINDS, MAIN = "mill/near.py", "mill/kinds.py", "mill/main.py"
WHEEL, LATE, CFG = "gear/wheel.py", "gear/late.py", "mill/cfg.py"

EDITS: Final = (
    # Nothing that runs has changed.
    Edit("nothing, in another directory", False),
    Edit("another hash seed", False, seed=7),
    _same("a comment", NEAR, "# a comment", "# another comment"),
    _same("a comment in the function", MAIN, "    print(", "    # why\n    print("),
    _same("a docstring", NEAR, '"""Call far."""', '"""Call it."""'),
    _same("the docstring of the function", MAIN, '"""Do it."""', '"""Do it well."""'),
    _same("the docstring of a class", KINDS, '"""What can be chosen."""', '"""Chosen."""'),
    _same("the docstring of a module", NEAR, '"""One call away."""', '"""One call."""'),
    _same("a blank line above", MAIN, "LIMIT = 1000", "\n\nLIMIT = 1000"),
    _same("a blank line inside", WHEEL, "    return x * RATIO", "\n    return x * RATIO"),
    _same("layout", NEAR, "turn(x) + 1", "(\n        turn(x)\n        + 1\n    )"),
    _same("the spelling of a number", WHEEL, "RATIO = 3", "RATIO = 0x3"),
    _same("quotes", MAIN, '"MILL_MODE": "plain"', "'MILL_MODE': 'plain'"),
    _same("a function that is not called", NEAR, "return -x", "return -2 * x"),
    _same("a new function", NEAR, "def never(x)", "def new():\n    pass\n\n\ndef never(x)"),
    _same("a setting that is not read", CFG, "UNUSED = 1", "UNUSED = 2"),
    _same("a list that is not read", CFG, '["a", "b"]', '["a", "c"]'),
    _same("a class that is not used", KINDS, "return 0", "return 1"),
    _same("a function beside an imported one", LATE, "return x\n", "return -x\n"),
    _same("a function that is not called in another package", WHEEL, "return x\n", "return -x\n"),
    _same("a file that is not declared", "unread.txt", "not read", "not read either"),
    _same("an import that is not used", MAIN, "import os\n", "import json\nimport os\n"),
    _same("the order of functions", NEAR, "def tiled(x):\n    return x + cfg.TILE + cfg.deep.LEVEL\n\n\ndef never(x):\n    return -x\n", "def never(x):\n    return -x\n\n\ndef tiled(x):\n    return x + cfg.TILE + cfg.deep.LEVEL\n"),
    Edit("a variable that is not declared", False, environment={"MILL_OTHER": "x"}),
    Edit("a variable set to its default", False, environment={"MILL_MODE": "plain"}),
    # Something that runs has changed.
    _other("the order of a dict that is read", WHEEL, '"big": 12, "small": 8', '"small": 8, "big": 12'),
    _other("the function", MAIN, "(lambda y: y + by)", "(lambda y: y - by)"),
    _other("a function one call away", NEAR, "turn(x) + 1", "turn(x) + 2"),
    _other("a function two calls away, in another package", WHEEL, "x * RATIO +", "x + RATIO +"),
    _other("a constant two calls away", WHEEL, "RATIO = 3", "RATIO = 4"),
    _other("its type", WHEEL, "RATIO = 3", "RATIO = 3.0"),
    _other("a dict two calls away", WHEEL, '"big": 12', '"big": 13'),
    _other("a constant of the module", MAIN, "LIMIT = 1000", "LIMIT = 2"),
    _other("an attribute of a module", CFG, "TILE = 64", "TILE = 32"),
    _other("an attribute of a class in a module", CFG, "LEVEL = 3", "LEVEL = 4"),
    _other("a default", MAIN, "by=2", "by=3"),
    _other("a captured value", NEAR, "made(3)", "made(4)"),
    _other("the code of a closure", NEAR, "return x * n", "return x + n"),
    _other("an argument of a partial", NEAR, "partial(max, 7)", "partial(max, 8)"),
    _other("the function of a partial", NEAR, "partial(max, 7)", "partial(min, 7)"),
    _other("a decorator", NEAR, "function(*args) + 0", "function(*args) + 1"),
    _other("a decorated function", NEAR, "return x + 5", "return x + 6"),
    _other("a decorator taken away", NEAR, "@traced\ndef decorated(x):\n    return x + 5", "def decorated(x):\n    return x + 4"),
    _other("a class attribute", KINDS, "unit = 10", "unit = 11"),
    _other("a method of a base", KINDS, "self.inner(x) + self.unit", "self.inner(x) - self.unit"),
    _other("a method that overrides", KINDS, "return x + 100", "return x + 101"),
    _other("an overriding method taken away", KINDS, "def inner(self, x):\n        return x + 100", "def inner_(self, x):\n        return x"),
    _other("a method of an argument", KINDS, "self.level * 2", "self.level * 3"),
    _other("the value of an enum", KINDS, "LARGE = 2", "LARGE = 3"),
    _other("a function imported inside", LATE, "return x + SHIFT", "return x - SHIFT"),
    _other("its constant", LATE, "SHIFT = 7", "SHIFT = 8"),
    _other("another function under a name", NEAR, "import turn\n", "import idle as turn\n"),
    _other("a declared file", "table.txt", "1 2 3", "1 2 4"),
    Edit("a declared variable", True, environment={"MILL_MODE": "fast"}),
    # What could have changed: the text is other code, though this call gives the same.
    _other("a branch that is not taken", MAIN, "x > 10**6", "x > 10**7"),
    _other("a constant in a branch that is not taken", MAIN, "SPARE = 1", "SPARE = 2"),
    _other("the name of a local variable", WHEEL, "def turn(x):\n    return x *", "def turn(y):\n    x = y\n    return x *"),
    _other("an annotation of a local name", MAIN, "mode: str =", "mode: object ="),
    _other("a method that is not called", KINDS, "return None", "return 1"),
)  # fmt: skip


def edited(edit: Edit) -> dict[str, str]:
    """The program after an edit."""
    if not edit.file:
        return dict(FILES)
    text = FILES[edit.file]
    if text.count(edit.old) != 1:
        raise ValueError(f"{edit.old!r} is {text.count(edit.old)} times in {edit.file}")
    return {**FILES, edit.file: text.replace(edit.old, edit.new)}
