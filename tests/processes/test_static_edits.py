"""What is evaluated at compile time is what Python says, also after an edit, or is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PROGRAM = """
import collections, collections.abc, enum, functools, json, operator, sys, typing
import array
import numpy as np
import whorl
from whorl.reads.evaluate import evaluate

{definitions}

EXPRESSION = {expression!r}


class Static:
    name, version, toolchain, settings = "static", "1", "none", ()

    def compile(self, program, inputs):
        return whorl.Artifact({{}}, {{"found": evaluate(program.code, EXPRESSION)}})

    def load(self, artifact, device):
        return lambda: artifact.metadata["found"]


@whorl.jit(Static())
def kernel(): ...


try:
    said = kernel()
except whorl.NotStatic as error:
    said = "refused: " + error.reason
try:
    python = eval(EXPRESSION)
except Exception as error:
    python = "raises " + type(error).__name__
print(json.dumps([said, python, kernel.stats().get("compiled", 0)]))
"""


class Edit(NamedTuple):
    """Definitions, what is changed in them, and what is evaluated."""

    definitions: str
    before: str
    after: str
    expression: str
    is_refused: bool = False


def run(folder: Path, definitions: str, expression: str, **variables: str) -> list[Any]:
    program = folder / "program.py"
    program.write_text(PROGRAM.format(definitions=definitions, expression=expression))
    done = subprocess.run(
        [sys.executable, program],
        env={**os.environ, "WHORL_CACHE_DIR": str(folder / "cache"), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: list[Any] = json.loads(done.stdout)
    return told


NET = """
class Layer:
    bias = 1
    def __init__(self, w): self.w = w
    @property
    def weight(self): return self.w * 1
    def __str__(self): return "one"
    def __float__(self): return 1.0
def weight(layer): return layer.weight
XS = [Layer(1), Layer(2)]
NAMES = {"b": XS[1], "a": XS[0]}
"""
SMALL = """
class Mode(enum.IntEnum):
    A = 1
    B = 2
    @property
    def weight(self): return int(self) * 1
class P(typing.NamedTuple):
    x: int
    y: int
class S(str):
    scale = 1
MODES, POINTS, TEXTS = [Mode.A, Mode.B], [P(1, 2), P(3, 4)], [S("a")]
TABLE = {"m": Mode.A, "n": Mode.B}
"""
BASES = """
class Fast: pass
class Mode(Fast, enum.Enum):
    A = 1
class Dict(Fast, dict): pass
class List(Fast, list): pass
class Tuple(Fast, tuple): pass
class Array(Fast, np.ndarray): pass
class Bytes(Fast, bytearray): pass
class Plain(Fast): pass
class Own(Fast, object):
    def __whorl_signature__(self): return 1
class Meta(type): pass
class Made(metaclass=Meta): pass
class Sized:
    def __len__(self): return 1
X = {instance}
"""

EDITS = {
    "map": Edit(NET, "self.w * 1", "self.w * 10", "sum(map(weight, XS))"),
    "map of an attribute": Edit(
        NET, "bias = 1", "bias = 2", "list(map(getattr, XS, ['bias'] * 2))"
    ),
    "map of a lambda": Edit(NET, "bias = 1", "bias = 2", "list(map(lambda x: x.bias, XS))"),
    "map of texts": Edit(NET, '"one"', '"two"', "list(map(str, XS))", True),
    "map of numbers": Edit(NET, "return 1.0", "return 2.0", "list(map(float, XS))", True),
    "filter": Edit(
        NET, "self.w * 1", "self.w * 10", "[x.w for x in filter(lambda x: x.weight > 5, XS)]"
    ),
    "filter by a function": Edit(NET, "return layer.w", "return not layer.w",
                                 "[x.w for x in filter(weight, XS)]"),
    "key": Edit(NET, "self.w * 1", "self.w * -1", "max(XS, key=weight).w"),
    "key of sorted": Edit(
        NET, "self.w * 1", "self.w * -1", "[x.w for x in sorted(XS, key=weight)]"
    ),
    "key of texts": Edit(NET, '"one"', 'str(-self.w)', "max([XS[0], XS[1]], key=str).w", True),
    "attributes in a zip": Edit(
        NET, "bias = 1", "bias = 2", "[x.bias + i for x, i in zip(XS, [1])]"
    ),
    "attributes of items": Edit(NET, "bias = 1", "bias = 2", "[x.bias for k, x in NAMES.items()]"),
    "attributes of values": Edit(NET, "bias = 1", "bias = 2", "[x.bias for x in NAMES.values()]"),
    "attributes in reverse": Edit(
        NET, "self.w * 1", "self.w + 5", "[x.weight for x in reversed(XS)]"
    ),
    "attributes in a list": Edit(NET, "self.w * 1", "self.w + 5", "[x.weight for x in list(XS)]"),
    "order of items": Edit(NET, '{"b": XS[1], "a": XS[0]}', '{"a": XS[0], "b": XS[1]}',
                           "[k for k, x in NAMES.items()]"),
    "members of an IntEnum": Edit(
        SMALL, "* 1", "* 10", "sum(m.weight for i, m in enumerate(MODES))"
    ),
    "values of an IntEnum": Edit(SMALL, "B = 2", "B = 5", "[m.value for m in MODES]"),
    "items that are members": Edit(SMALL, "* 1", "* 10", "[m.weight for k, m in TABLE.items()]"),
    "fields of a named tuple": Edit(SMALL, "    x: int\n    y: int", "    y: int\n    x: int",
                                    "sum(p.x for i, p in enumerate(POINTS))"),
    "attributes of a text": Edit(SMALL, "scale = 1", "scale = 5",
                                 "sum(s.scale for i, s in enumerate(TEXTS))"),
    "sorted members": Edit(SMALL, "* 1", "* 10", "[m.weight for m in sorted(MODES)]"),
    "raw members": Edit(SMALL, "* 1", "* 10", "[m.weight for m in set(MODES)]", True),
    "raw fields": Edit(SMALL, "    x: int\n    y: int", "    y: int\n    x: int",
                       "[p.x for p in set(POINTS)]", True),
    **{
        f"isinstance of {instance}": Edit(
            BASES.replace("{instance}", instance), "(Fast, ", "(", "isinstance(X, Fast)"
        )
        for instance in ("Mode.A", "Dict()", "List()", "Tuple()", "Bytes()", "Own()",
                         "np.zeros(2).view(Array)")
    },
    "isinstance of an object": Edit(
        BASES.replace("{instance}", "Plain()"), "Plain(Fast)", "Plain", "isinstance(X, Fast)"
    ),
    "isinstance of a class": Edit(
        BASES.replace("{instance}", "Made"), "(metaclass=Meta)", "", "isinstance(X, Meta)"
    ),
    "isinstance by methods": Edit(
        BASES.replace("{instance}", "Sized()"), "__len__", "length",
        "isinstance(X, collections.abc.Sized)",
    ),
    "isinstance of a raw value": Edit(
        BASES.replace("{instance}", "[Dict()]"), "(Fast, ", "(", "isinstance({1: X[0]}[1], Fast)",
        True,
    ),
    "isinstance of a part": Edit(
        BASES.replace("{instance}", "[1, Dict()]"), "(Fast, ", "(", "isinstance(X[1:][0], Fast)"
    ),
    "order of a Counter": Edit(
        "W = collections.Counter(a=1, b=2)", "a=1, b=2", "b=2, a=1", "list(W.values())[0]"
    ),
    "order of a defaultdict": Edit(
        "W = collections.defaultdict(int, a=1, b=2)", "a=1, b=2", "b=2, a=1", "list(W)[0]"
    ),
    "order in a partial": Edit(
        "def g(**named): return list(named)\nF = functools.partial(g, a=1, b=2)",
        "a=1, b=2", "b=2, a=1", "F()[0]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_seen_or_what_could_be_edited_is_refused(tmp_path: Path, name: str) -> None:
    definitions, before, after, expression, is_refused = EDITS[name]
    assert definitions.count(before) >= 1
    answers = []
    for text in (definitions, definitions.replace(before, after)):
        said, python, _ = run(tmp_path, text, expression)
        if is_refused:
            assert str(said).startswith("refused: "), said
        else:
            assert said == python
        answers.append(python)
    assert answers[0] != answers[1]
    if not is_refused:
        assert run(tmp_path, definitions, expression)[2] == 0  # it is found again


SEEDED = ["list(S)", "tuple(S)[0]", "[i for i, s in enumerate(S)]", "','.join(S)",
          "list(S).index('beta')", "[*S]", "sorted(S, key=len)", "min(S, key=len)",
          "[s for s in S]", "list(map(len, S))", "list(zip(S, [1, 2, 3]))[0][0]"]  # fmt: skip


@pytest.mark.parametrize("expression", SEEDED)
def test_the_order_of_a_set_is_the_same_in_every_process(tmp_path: Path, expression: str) -> None:
    definitions = "S = {'alpha', 'beta', 'gamma', 'delta'}"
    found = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        found.append(run(folder, definitions, expression, PYTHONHASHSEED=seed)[0])
    assert found[0] == found[1]


@pytest.mark.parametrize("expression", ["str(S)", "f'{S}'", "repr([S])", "'%s' % S", "format(S)"])
def test_the_text_of_a_set_is_refused(tmp_path: Path, expression: str) -> None:
    said, _, _ = run(tmp_path, "S = {'alpha', 'beta', 'gamma'}", expression)
    assert str(said).startswith("refused: "), said


AS_PYTHON = {
    "any((best := v) > 1 for v in (1, 2, 3)) and best": "",
    "first_big()": "def first_big():\n    any((best := v) > 1 for v in [1, 2])\n    return best",
    "twice()": "def twice():\n    it = (v for v in [1, 2])\n    return sum(it) + sum(it)",
    "mapped()": "def mapped():\n    it = map(abs, [1, 2])\n    return sum(it) + sum(it)",
    "any(1 // (2 - v) for v in (1, 2, 3))": "",
    "rest()": "def rest():\n    a, *b, c = [1, 2, 3, 4]\n    return [a, b, c]",
    "rest()[0]": "def rest():\n    *b, c = (1,)\n    return [b, c]",
    "next_to()": (
        "def next_to():\n    xs = [1, 2, 3]\n    return [a + b for a, b in zip(xs, xs[1:])]"
    ),
    "{k: v for k, v in D.items()}": "D = {'a': 1, 'b': 2}",
    "[k for k in D.keys()] + sorted(D.values())": "D = {'a': 1, 'b': 2}",
    "dict(D.items())": "D = {'a': 1, 'b': 2}",
    "len(D.items()) + len(list(D.values()))": "D = {'a': 1, 'b': 2}",
    "max(D.items(), key=lambda kv: kv[1])[0]": "D = {'a': 1, 'b': 2}",
    "list(enumerate('ab', 1)) == [(1, 'a'), (2, 'b')]": "",
    "list(reversed(range(3)))": "",
    "isinstance(True, int), isinstance(None, type(None))": "",
    "getattr(3, 'real') + hasattr(3, 'imag')": "",
    "'%d %s' % (3, 'a')": "",
    "getattr(X, 'missing', 3)": "class X: pass",
    "sorted(S), len(sorted(S, key=len, reverse=True)), max(S), min(S)": "S = {'b', 'a'}",
    "S.union({'c'}) == {'a', 'b', 'c'}, S.issubset({'a', 'b'}), '-'.join({'x'})": "S = {'b', 'a'}",
    "A.items() == B.items(), list(A.items()) == list(B.items()), ('x', 1) in A.items()": (
        "A, B = {'x': 1, 'y': 2}, {'y': 2, 'x': 1}"
    ),
    "max(3, 1, 2), min([2, 1], default=0), max([], default=7), sorted([3, 1], reverse=True)": "",
    "max(XS, key=lambda x: x.w).w, min(XS, key=lambda x: -x.w).w, sorted(XS, key=weight)[0].w": NET,
    "not filter(None, []), bool(map(abs, []))": "",
    "D.get('a'), D.get('c', 3)": "D = {'a': 1}",
    "Y.get(2)": (
        "class C:\n    __k = 3\n    def __getattr__(self, name): return 0\n"
        "    def get(self, __a): return self.__k * __a\nY = C()"
    ),
}


@pytest.mark.parametrize("expression", AS_PYTHON)
def test_what_is_evaluated_is_what_python_says(tmp_path: Path, expression: str) -> None:
    said, python, _ = run(tmp_path, AS_PYTHON[expression], expression)
    assert said == python
    assert "raises" not in str(python)


RAISING = {
    "getattr(X, 'tile', 3)": "an attribute that raises",
    "hasattr(X, 'tile')": "the same",
    "unbound()": "a name that is not bound yet",
    "nested()": "the same in a nested function",
    "sum(it) + len(it)": "the length of a generator",
    "named(1, x=2)": "two values for one name",
    "named(1, **{'x': 2})": "the same",
    "named(1, **{'y': 2}, y=3)": "one keyword twice",
}
RAISES = """
best = 100
class Lazy:
    @property
    def tile(self): raise ValueError("not set up")
X = Lazy()
def unbound():
    if not X: best = 1
    return best
def nested():
    def inner():
        if not X: best = 1
        return best
    return inner()
it = 3
def named(x, y=2): return x + y
"""


@pytest.mark.parametrize("expression", RAISING)
def test_what_python_raises_is_an_error(tmp_path: Path, expression: str) -> None:
    said, python, _ = run(tmp_path, RAISES, expression)
    assert str(python).startswith("raises ")
    assert str(said).startswith("refused: "), said


UNREAD = {
    "added()": "def added():\n    x = 1\n    x += A\n    return x",
    "written()": "def written():\n    s = '%s'\n    s %= A\n    return s",
    "len({'a': A}['a'])": "",
    "'{0.p}'.format(E.A)": "",
    "named(**M)": "def named(**more): return len(more)",
    "{**M}": "",
}
ODD = """
class Odd:
    def __radd__(self, other): return 1
    def __str__(self): return "one"
    def __len__(self): return 1
class E(enum.Enum):
    A = 1
    @property
    def p(self): return 1
class Mapped:
    def keys(self): return ["a"]
    def __getitem__(self, key): return 1
A, M = Odd(), Mapped()
"""


@pytest.mark.parametrize("expression", UNREAD)
def test_code_of_a_user_that_no_line_calls_is_refused(tmp_path: Path, expression: str) -> None:
    said, python, _ = run(tmp_path, ODD + UNREAD[expression], expression)
    assert "raises" not in str(python)
    assert str(said).startswith("refused: "), said


def test_what_is_written_by_an_operator_is_refused_as_in_an_f_string(tmp_path: Path) -> None:
    definitions = "class E(enum.Enum):\n    A = 1\n    def __str__(self): return 'one'\n"
    for expression in (
        "'%s' % E.A",
        "'%s' % (E.A,)",
        "'%s %s' % ([[E.A]], 1)",
        "'%(a)s' % {'a': E.A}",
    ):
        said, _, _ = run(tmp_path, definitions, expression)
        assert str(said).startswith("refused: "), expression
