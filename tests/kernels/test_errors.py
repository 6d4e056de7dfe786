"""What a kernel does not have is an error with its name, its line and its column."""

from __future__ import annotations

import importlib.util
import itertools
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import whorl

HEAD = """\
import enum, functools, math
import numpy as np
import whorl
TABLE = {"a": 1}
ROW = (1, 2, 3)
ROWS = []
class Point:
    k = 2
    def __init__(self, x): self.x = x
class Mode(enum.Enum):
    A = 1
def again(n): return again(n - 1)
def even(n): return odd(n)
def odd(n): return even(n)
def made(n): yield n
async def waited(n): return n
def placed(a, /, b, *, c=1): return a + b + c
def narrow(a: int): return a
def either(a):
    if a > 1:
        return 1, 2
    return 3
@functools.lru_cache
def kept(n): return n
"""
LINES = HEAD.count("\n")
X = np.arange(6.0)
M = np.zeros((3, 4))
_numbers = itertools.count()


def loaded(source: str, folder: Path) -> ModuleType:
    name = f"wrong_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def refused(source: str, folder: Path, *args: Any) -> whorl.KernelError:
    """The error of the kernel `k`, raised before anything runs."""
    kernel = loaded(HEAD + source, folder).k
    with pytest.raises(whorl.KernelError) as caught:
        kernel(*args)
    return caught.value


_TWO = "a vector with two names is changed"

# The body of `def k(x)`, what it is called with, where the error stands (line of the body and
# column), and words of the message.
CONSTRUCTS: list[tuple[str, Any, int, int, str]] = [
    # statements
    ("try:\n    pass\nfinally:\n    pass", 1, 1, 5, "try is not supported"),
    ("raise x", 1, 1, 11, "is no class of exceptions"),
    ("with x:\n    pass", 1, 1, 5, "with is not supported"),
    ("class C:\n    pass", 1, 1, 5, "a class is not supported"),
    ("import math", 1, 1, 5, "import is not supported"),
    ("from math import sin", 1, 1, 5, "import is not supported"),
    ("global G\nG = x", 1, 1, 5, "global is not supported"),
    ("y = x\ndel y[0]", X, 2, 9, "only names can be deleted"),
    ("match x:\n    case 1:\n        pass", 1, 1, 5, "match is not supported"),
    ("y = 1\ndef f():\n    nonlocal y\n    y = 2\nf()", 1, 3, 9, "nonlocal is not supported"),
    ("@whorl.func\ndef f(): return 1", 1, 2, 5, "a decorated function inside of a kernel"),
    # expressions
    ("return {1: 2}", 1, 1, 12, "a dict is not supported"),
    ("return {x}", 1, 1, 12, "a set is not supported"),
    ("return [i for i in range(x) if i > 1]", 1, 1, 12, "one `for` and no `if`"),
    ("return {i for i in ROW}", 1, 1, 12, "a set comprehension is not supported"),
    ("return {i: i for i in ROW}", 1, 1, 12, "a dict comprehension is not supported"),
    ("return sum(i for i in ROW if x > i)", 1, 1, 15, "with a test of the run"),
    ("return f'{x}'", 1, 1, 12, "an f-string is not supported"),
    ("y = 1 + (yield x)", 1, 1, 14, "yield is not supported"),
    ("yield from x", 1, 1, 5, "yield from is not supported"),
    ("return 1 in 3", 1, 1, 12, "this raises TypeError"),
    ("return x @ x", 1, 1, 12, "`@` of int and int"),
    ("return 1.5 << x", 1, 1, 12, "`<<`: this operator is for integers"),
    ("return ~x", 1.5, 1, 12, "`~` is for integers"),
    ("return x + 'a'", 1, 1, 12, r"`\+` of int and str"),
    ("return x < 'a'", 1, 1, 12, "cannot be compared"),
    ("return 1 // 0", 1, 1, 12, "this raises ZeroDivisionError"),
    ("return x is 1000", 1, 1, 12, "`is` is for None"),
    ("return x[0] + 300", np.zeros(2, "u1"), 1, 12, "300 does not fit into u8"),
    ("return x + 2**64", 1, 1, 12, "does not fit into 64 bits"),
    ("return x + 0xFFFFFFFFFFFFFFFF", 1, 1, 12, "does not fit into an int64"),
    # names
    ("return nowhere", 1, 1, 12, "the name 'nowhere' is not defined"),
    ("return y\ny = 1", 1, 1, 12, "'y' has no value here"),
    ("if x > 1:\n    y = 1\nreturn y", 1, 3, 12, "'y' has a value in some branches"),
    ("for i in range(x):\n    r = np.zeros(2)\nreturn r", 1, 3, 12, "'r' has a value only if"),
    ("y = 1\nif x > 1:\n    y = (1, 2)\nreturn y", 1, 4, 12, "'y' is .* in one branch"),
    # attributes and items
    ("x.y = 1", 1, 1, 5, "attributes of objects are read in a kernel, never written"),
    ("return x.nope", 1, 1, 12, "without an attribute 'nope'"),
    ("return Point.nope", 1, 1, 12, "without an attribute 'nope'"),
    ("return whorl.nope(x)", 1, 1, 12, "is a module without an attribute 'nope'"),
    ("return getattr(x, 'nope')", 1, 1, 12, "there is no arg:x.nope"),
    ("return TABLE['b']", 1, 1, 12, "has no item 'b'"),
    ("return TABLE[x]", 1, 1, 12, "is indexed by a value of the run"),
    ("return (1, x)[x:]", 1, 1, 12, "a slice of a tuple by values of the run"),
    ("return ROW[7]", 1, 1, 12, "has no item 7"),
    ("x[0] = 1", (1, 2), 1, 5, "has no items that can be set"),
    # arrays
    ("if x:\n    pass", X, 1, 8, "an array is used as a truth value"),
    ("x[0] = 'a'", X, 1, 5, "where a number is needed"),
    ("return x[0, 1]", X, 1, 12, "2 indices for arg:x"),
    ("return x[0.5]", X, 1, 12, "an index is an int, not float"),
    ("return x[::0]", X, 1, 12, "the step of a slice"),
    ("a, *b = x", X, 1, 5, "no length that is known at compile time"),
    ("return x[0]", np.ones(2, "f2"), 1, 12, "arg:x is an array of float16"),
    ("return x[0]", np.ones(2, np.clongdouble), 1, 12, "arg:x is an array of complex256"),
    ("return x[0]", np.array([1, "a"], object), 1, 12, "arg:x is an array of object"),
    ("return x[0]", np.ones(2, ">f8"), 1, 12, "arg:x is an array of >f8"),
    ("return x[0]", np.zeros(2, "M8[s]"), 1, 12, "arg:x is an array of datetime64"),
    ("return x[0]", np.zeros(2, [("a", "f8")]), 1, 5, "not a record"),
    # calls
    ("return k(x)", 1, 1, 12, "it is not known what k, which calls itself"),
    ("return made(x)", 1, 1, 12, "made is a generator or coroutine"),
    ("return waited(x)", 1, 1, 12, "waited is a generator or coroutine"),
    ("return kept(x)", 1, 1, 12, "kept has no Python source to follow"),
    ("return Point(x)", 1, 1, 12, "Point objects are not made in a kernel"),
    ("return ROW()", 1, 1, 12, "cannot be called"),
    ("return placed(a=x, b=1)", 1, 1, 12, "'a' is given by its place"),
    ("return placed(x)", 1, 1, 12, "there is no argument for the parameter 'b'"),
    ("return placed(x, 1, d=1)", 1, 1, 12, "there is no parameter 'd'"),
    ("return placed(x, 1, b=1)", 1, 1, 12, "two values for the parameter 'b'"),
    ("return placed(x, 1, 2)", 1, 1, 12, "3 arguments for 2 parameters"),
    ("return either(x)", 1, 1, 12, "what is returned is"),
    ("return math.fsum(x)", 1, 1, 12, "math.fsum has no Python source to follow"),
    ("return math.sin(x, x)", 1, 1, 12, "math.sin takes 1 positional"),
    ("return math.sin('a')", 1, 1, 21, "where a number is needed"),
    ("return max(1, 'b')", 1, 1, 12, "this raises TypeError"),
    ("return isinstance(x, 3)", 1, 1, 12, "this raises TypeError"),
    ("return np.zeros('a')[0]", 1, 1, 12, "an extent is an int, not str"),
    ("return np.array()", 1, 1, 12, "np.array needs an argument 'object'"),
    ("return np.zeros(3, 'f2')[0]", 1, 1, 12, "the dtype is not one of a kernel"),
    ("return whorl.zeros(3)[3]", 1, 1, 12, "index 3 is out of bounds"),
    ("return whorl.static()", 1, 1, 12, "whorl.static takes one expression"),
    ("y = x + 1\nreturn whorl.static(y)", 1, 2, 25, "'y' is a value of the run"),
    ("return whorl.static(open(x))", 1, 1, 12, "cannot be evaluated at compile time"),
    ("whorl.atomic_add(x, 0.5, 1)", X, 1, 5, "an index is an int"),
    # loops
    ("for i in x:\n    pass", 1, 1, 14, "no length that is known at compile time"),
    ("for i in range(1.5):\n    pass", 1, 1, 20, "range takes ints"),
    ("for i in range(1, 2, 0):\n    pass", 1, 1, 14, "the step of a range is not zero"),
    ("for i in enumerate(x, 'a'):\n    pass", X, 1, 27, "enumerate starts with an int"),
    ("for i in enumerate():\n    pass", X, 1, 14, "enumerate takes what is counted"),
    ("for i in whorl.prange(3):\n    break", 1, 2, 9, "break inside of prange"),
    ("for i in whorl.prange(3):\n    return 1", 1, 2, 9, "return inside of prange"),
    ("for i in whorl.prange(3):\n    pass\nelse:\n    pass", 1, 1, 5, "prange with else"),
    ("s = 0\nfor i in whorl.prange(3):\n    s = s - i", 1, 3, 13, "'s' is set inside of prange"),
    ("s = 0\nfor i in whorl.prange(3):\n    s = i\nreturn s", 1, 4, 12, "'s' is set inside of"),
    (
        "v = whorl.zeros(2)\nfor i in whorl.prange(2):\n    v[i] = i",
        1,
        3,
        9,
        "a vector from outside",
    ),
    (
        "s = 0\ng = lambda: s\nfor i in whorl.prange(9):\n    s += 1\n    y = g()",
        1,
        2,
        17,
        "'s' is not known before",
    ),
    # vectors with two names
    ("v = whorl.zeros(2)\nu = v\nif x > 1:\n    v = u + 1\nv[0] = 9", 1, 5, 5, _TWO),
    ("v = whorl.zeros(2)\nw = v if x > 1 else v + 1\nv[0] = 9", 1, 3, 5, _TWO),
    ("a = whorl.zeros(2)\nb = a\nfor i in range(x):\n    a[0] += 1\n    b = b + a", 1, 4, 9, _TWO),
    ("a = b = whorl.zeros(2)\nfor i in range(x):\n    b[0] += 1\n    b = b + a", 1, 3, 9, _TWO),
    ("a = whorl.zeros(2)\nb = a + 1\nfor i in range(x):\n    b[0] += 1\n    b = a", 1, 5, 9, _TWO),
    # results
    ("return 'a'", 1, 1, 5, "a kernel returns numbers, arrays, tuples of these or None, not str"),
    ("if x > 1:\n    return 1\nreturn x, 1", 1, 3, 5, "what is returned is"),
    ("if x > 1:\n    return 1", 1, 2, 9, "what is returned is int in one branch"),
    ("y = 1\nreturn Mode.A", 1, 2, 5, "a kernel returns numbers"),
]


@pytest.mark.parametrize(
    ("body", "argument", "line", "column", "text"), CONSTRUCTS, ids=[row[0] for row in CONSTRUCTS]
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_an_unsupported_construct_is_an_error_at_its_place(
    tmp_path: Path, body: str, argument: Any, line: int, column: int, text: str
) -> None:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    error = refused(f"@whorl.kernel\ndef k(x):\n{lines}\n", tmp_path, argument)
    assert (error.line, error.column) == (LINES + 2 + line, column), str(error)
    with pytest.raises(whorl.KernelError, match=text):
        raise error
    shown, caret = str(error).splitlines()[1:3]
    assert shown.strip() == body.splitlines()[line - 1].strip()
    assert caret.strip("^ ") == ""
    assert str(tmp_path) not in str(error)


# What a newcomer writes, and what the error says to do instead: the body of `def k(x)`, what it
# is called with, words of the first line, words of the last one.
_READ_ONLY = np.arange(3.0)
_READ_ONLY.flags.writeable = False
INSTEAD: list[tuple[str, Any, str, str]] = [
    ("return x.size", [1.0], "arg:x is a list without an attribute 'size'", "np.asarray"),
    ("return x.size", (1.0,), "arg:x is a tuple without an attribute 'size'", "np.asarray"),
    ("return x.shap", X, "arg:x is an ndarray without an attribute 'shap'", ".shape, .ndim"),
    ("r = []\nr.append(x)", 1, "a list has no attribute 'append' in a kernel", "passed in"),
    ("ROWS.append(x)", 1, "ROWS.append has no Python source to follow", "write into an array"),
    ("print(f'{x}')", 1, "an f-string is not supported", "print('x is', x)"),
    ("return x.startswith('a')", "ab", "no Python source", "whorl.static(x.startswith('a'))"),
    ("return x.tobytes()", X, "is not known in kernels", "call .tobytes() outside"),
    ("return x.tolist()", X, "is not known in kernels", "call .tolist() outside"),
    ("return np.array_equiv(x, x)", X, "np.array_equiv is not known in kernels", "np.array_equal"),
    ("return np.fft.fft(x)", X, "np.fft.fft is not known in kernels", "Compute it outside"),
    ("return np.i0(x)", X, "np.i0 is not known in kernels", "Write a loop over the elements"),
    ("y = x + 1; return y.tolist()", X, "has no attribute 'tolist'", "call .tolist() outside"),
    ("return np.random.rand()", 1, "is not known in kernels", "pass it in, and draw from it"),
    ("return math.sin(x)", X, "math.sin is for numbers, not for arrays", "Use NumPy's function"),
    ("return x[0, 0]", X, "2 indices for arg:x", "It has 1 dimension."),
    ("x[0] = 1", _READ_ONLY, "arg:x is read-only", "Pass a copy"),
    ("x[()] += 1", _READ_ONLY[0:1].reshape(()), "arg:x is read-only", "Pass a copy"),
    ("whorl.atomic_add(x, 0, 1)", _READ_ONLY, "arg:x is read-only", "Pass a copy"),
    ("return x if x > 0 else None", 1.0, "float in one branch and None", "the same kind"),
    ("if x > 0:\n    return x", 1.0, "float in one branch and None", "the same kind"),
    ("if x > 0:\n    y = 1\nelse:\n    y = None\nreturn y", 1.0, "and None", "the same kind"),
    ("for i in whorl.prange(x):\n    s = i\nreturn s", 3, "'s' is set inside of", "s += x"),
    ("a = [1]\na += [x]\nreturn a[0]", 1, "a list cannot be changed", "a = a + [...]"),
    ("return ([1] + (2,))[0]", 1, "a list and a tuple cannot be added", "^"),
    ("return x.get('a', 1)", {"a": 1}, "no Python source", "d['name']"),
    ("return np.floor(x).astype(int)", 1.5, "f64 has no attribute", "int(...)"),
    ("return x[0]", np.ones(2, "f2"), "an array of float16", "x.astype(np.float64)"),
    (
        "return x[0]",
        np.ones(2, np.clongdouble),
        "an array of complex256",
        "x.astype(np.complex128)",
    ),
]


@pytest.mark.parametrize(
    ("body", "argument", "what", "remedy"), INSTEAD, ids=[f"{row[0]}-{row[2]}" for row in INSTEAD]
)
def test_an_error_says_what_to_write_instead(
    tmp_path: Path, body: str, argument: Any, what: str, remedy: str
) -> None:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    error = refused(f"@whorl.kernel\ndef k(x):\n{lines}\n", tmp_path, argument)
    assert what in error.what
    assert remedy in str(error).splitlines()[-1]


def test_the_traceback_of_an_error_shows_the_call_and_not_the_compiler(tmp_path: Path) -> None:
    error = refused("@whorl.kernel\ndef k(x):\n    return {}\n", tmp_path, 1)
    frames = traceback.extract_tb(error.__traceback__)
    assert frames[0].name == "refused"
    assert not [frame for frame in frames if "lowering" in frame.filename]
    assert len(frames) <= 6


def raising(kind: str, tmp_path: Path) -> Any:
    own = f"class Own:\n    @property\n    def bad(self): raise {kind}('mine')\n"
    return loaded(f"{HEAD}{own}@whorl.kernel\ndef k(x):\n    return x.bad\n", tmp_path)


def test_what_a_property_raises_is_the_callers_with_a_note_of_the_place(tmp_path: Path) -> None:
    module = raising("ValueError", tmp_path)
    with pytest.raises(ValueError, match=r"^mine") as caught:
        module.k(module.Own())
    (note,) = caught.value.__notes__
    assert "arg:x.bad raises ValueError: mine" in note
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "bad"


def test_an_attribute_error_of_a_property_is_said_with_its_traceback(tmp_path: Path) -> None:
    module = raising("AttributeError", tmp_path)
    with pytest.raises(
        whorl.KernelError, match=r"arg:x\.bad raises AttributeError: mine"
    ) as caught:
        module.k(module.Own())
    cause = caught.value.__cause__
    assert isinstance(cause, AttributeError)
    assert traceback.extract_tb(cause.__traceback__)[-1].name == "bad"


def test_what_cannot_be_read_is_said_once(tmp_path: Path) -> None:
    source = "@whorl.kernel\ndef k(x):\n    return whorl.static(x.lock)\n"
    module = loaded(f"{HEAD}import threading\n{source}", tmp_path)
    point = module.Point(1)
    point.lock = module.threading.Lock()
    with pytest.raises(whorl.KernelError, match="cannot be read: it keeps state") as caught:
        module.k(point)
    assert caught.value.__cause__ is None


SIGNATURES: list[tuple[str, Any, int, int, str]] = [
    ("def k(*x): pass", 1, 2, 8, "kernels take no "),
    ("def k(**x): pass", None, 2, 9, "kernels take no "),
    ("def k(x: int): pass", 1.5, 2, 7, "parameter 'x' is declared as int, and is given float"),
    ("def k(x: bool): pass", 1, 2, 7, "parameter 'x' is declared as bool, and is given int"),
    ("def k(x: np.ndarray): pass", 1, 2, 7, "parameter 'x' is declared as an array"),
    ("def k(x: Point): pass", 1, 2, 7, "parameter 'x' is declared as Point, and is given int"),
    ("def k(x: whorl.u8): pass", 1.5, 2, 7, "parameter 'x' is declared as u8"),
    ("def k(x: np.float16): pass", 1, 2, 7, "float16 is no type of a kernel"),
    ("def k(x: 'whorl.Array[3]'): pass", X, 2, 10, r"write Array\[element, dimensions\]"),
    ("def k(x: 'whorl.Array[whorl.f64, -1]'): pass", X, 2, 10, "an int of 0 or more, not -1"),
    ("def k(x: whorl.Array[whorl.f64, 2]): pass", X, 2, 7, r"as Array\[float64, 2\]"),
    ("async def k(x): pass", 1, 2, 1, "k is a coroutine"),
]


@pytest.mark.parametrize(("head", "argument", "line", "column", "text"), SIGNATURES)
def test_a_wrong_signature_or_argument_is_an_error_at_the_parameter(
    tmp_path: Path, head: str, argument: Any, line: int, column: int, text: str
) -> None:
    given = () if argument is None else (argument,)
    error = refused(f"@whorl.kernel\n{head}\n", tmp_path, *given)
    assert (error.line, error.column) == (LINES + line, column), str(error)
    with pytest.raises(whorl.KernelError, match=text):
        raise error


@pytest.mark.parametrize(
    ("call", "defined", "column", "text"),
    [
        ("narrow(x)", "def narrow(a: int): return a", 12, "parameter 'a' is declared as int"),
        ("again(x)", "def again(n): return again(n - 1)", 22, "it is not known what again"),
        ("even(x)", "def even(n): return odd(n)", 21, "it is not known what odd"),
    ],
)
def test_errors_in_functions_say_where_they_were_called_from(
    tmp_path: Path, call: str, defined: str, column: int, text: str
) -> None:
    error = refused(f"@whorl.kernel\ndef k(x):\n    return {call}\n", tmp_path, 1.5)
    assert (error.line, error.column) == (HEAD.splitlines().index(defined) + 1, column)
    assert text in str(error)
    assert f".py:{LINES + 3}: `return {call}`" in str(error)


@pytest.mark.parametrize("length", [400, 900])
def test_what_is_nested_too_deeply_is_an_error(tmp_path: Path, length: int) -> None:
    chain = "+".join(["x"] * length)
    error = refused(f"@whorl.kernel\ndef k(x):\n    y = 1\n    return {chain}\n", tmp_path, 1)
    assert "nested too deeply" in str(error)


@pytest.mark.parametrize(
    ("choices", "error", "said"),
    [
        ({"on_drift": "panic"}, ValueError, "on_drift is one of"),
        ({"cache": "ram"}, ValueError, "cache is one of"),
        ({"store": 3}, TypeError, "a store has the methods"),
        ({"target": "x86-64-v9"}, whorl.BadSetting, "target"),
    ],
)
def test_choices_that_do_not_exist_are_refused_at_the_decorator(
    choices: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        whorl.kernel(**choices)
    with pytest.raises(TypeError, match="compiles functions"):
        whorl.kernel(len)
