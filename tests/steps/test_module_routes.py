"""What a function reads through functions, classes and modules is noticed, by whatever route.

`tests/processes/test_module_routes.py` has those to the names of a module, from process to
process.
"""

from __future__ import annotations

import pkgutil
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import whorl

_MODULE = '''
"""A module."""
X = 1
UNREAD = 10

def g(by=1):
    """Docs of g."""
    return by

def maker(n):
    def made():
        return n
    return made

made = maker(1)

class C:
    X = 1
    def f(self):
        return 1

class Sub(C):
    def __getattribute__(self, name):
        return super().__getattribute__(name)

obj = Sub()
'''


def _loaded(name: str, text: str) -> types.ModuleType:
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(text, f"<{name}>", "exec"), vars(module))
    return module


@pytest.fixture
def other() -> Iterator[types.ModuleType]:
    """A module of the user's own."""
    yield _loaded("routes_other", _MODULE)
    del sys.modules["routes_other"]


Define = Callable[[str], Any]


@pytest.fixture
def define(other: types.ModuleType) -> Iterator[Define]:
    """What makes a cached function of its body."""
    head = """
import functools, importlib, inspect, operator, pkgutil, sys, types
import whorl
import routes_other
from routes_other import C, g, made, obj
"""

    def define(body: str) -> Any:
        lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
        text = f"{head}\n@whorl.cached\ndef f(*args):\n{lines}\n"
        return _loaded("routes_main", text).f

    yield define
    sys.modules.pop("routes_main", None)


def _set_x(other: Any) -> None:
    other.X = 2


def _set_default(other: Any) -> None:
    other.g.__defaults__ = (2,)


def _set_cell(other: Any) -> None:
    other.made.__closure__[0].cell_contents = 2


def _set_class(other: Any) -> None:
    other.C.X = 2


def _set_doc(other: Any) -> None:
    exec('def g(by=1):\n    """Other docs of g."""\n    return by\n', vars(other))
    sys.modules["routes_main"].g = other.g  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("body", "change"),
    [
        ("return globals()['routes_other'].X", _set_x),
        ("return globals().get('routes_other').__dict__['X']", _set_x),
        ("return made.__closure__[0].cell_contents", _set_cell),
        ("return g.__defaults__", _set_default),
        ("return inspect.signature(g).parameters['by'].default", _set_default),
        ("return C.__dict__['X']", _set_class),
        ("return type(obj).__mro__[1].__dict__['X']", _set_class),
        ("return obj.__class__.X", _set_class),
        ("return obj.X", _set_class),
        ("return vars(C)['X']", _set_class),
        ("return getattr(C, 'X')", _set_class),
        ("return g.__code__.co_consts[0]", _set_doc),
        ("class Inner:\n    m = routes_other\nreturn Inner.m.X", _set_x),
        ("class Inner:\n    X = routes_other.X\nreturn Inner.X", _set_x),
        ("return (lambda m=routes_other: m.X)()", _set_x),
        ("return [m.X for m in [routes_other]][0]", _set_x),
        ("(m := routes_other)\nreturn m.X", _set_x),
        ("m, n = routes_other, 1\nreturn m.X", _set_x),
        ("with_m = {'m': routes_other}\nreturn with_m['m'].X", _set_x),
        ("for m in (routes_other,):\n    pass\nreturn m.X", _set_x),
        ("def inner():\n    nonlocal m\n    m = routes_other\nm = 1\ninner()\nreturn m.X", _set_x),
        ("m = routes_other if args else routes_other\nreturn m.X", _set_x),
        ("m = args or routes_other\nreturn m.X", _set_x),
        ("get = getattr\nreturn get(routes_other, 'X')", _set_x),
        ("return functools.partial(getattr, routes_other, 'X')()", _set_x),
        ("return operator.methodcaller('__getattribute__', 'X')(routes_other)", _set_x),
        ("return (routes_other).__dict__.setdefault('X', 5)", _set_x),
        ("return getattr(routes_other, *['X'])", _set_x),
        ("d = vars\nreturn d(routes_other)['X']", _set_x),
        ("m = routes_other\nreturn eval('m.X', {}, {'m': m})", _set_x),
        ("import routes_other as m\nreturn m.X", _set_x),
        ("from routes_other import X\nreturn X", _set_x),
        ("m = __builtins__\nreturn routes_other.X", _set_x),
    ],
)  # fmt: skip
def test_what_is_read_by_another_route_is_noticed(
    define: Define, other: types.ModuleType, body: str, change: Callable[[Any], None]
) -> None:
    f = define(body)
    before = f()
    assert before == f.uncached()
    change(other)
    assert f() == f.uncached() != before


@pytest.mark.parametrize(
    "body",
    [
        "return args[0].__globals__['X']",
        "return C.f.__globals__['X']",
        "return obj.f.__func__.__globals__['X']",
        "return getattr(args[0], '__globals__')['X']",
        "return [h.__globals__['X'] for h in [g]]",
        "h = g\nfor h in args:\n    pass\nreturn h.__globals__['X']",
        "return sys._getframe().f_globals['routes_other'].X",
        "return inspect.currentframe().f_globals['routes_other'].X",
        "return inspect.getmodule(g).X",
        "return pkgutil.resolve_name('routes_other:X')",
        "return importlib.import_module('routes_other').X",
        "return sys.modules['routes_other'].X",
        "return g.__code__.co_firstlineno",
    ],
)
def test_a_route_that_cannot_be_followed_is_refused(define: Define, body: str) -> None:
    f = define(body)
    with pytest.raises(whorl.UnsupportedFunction) as caught:
        f()
    assert "Import" in caught.value.remedy or "Pass" in caught.value.remedy


def test_what_another_function_calls_globals_is_its_own(define: Define) -> None:
    """A function of a library may have any globals: it counts by its version."""
    f = define("return pkgutil.iter_modules.__globals__['__name__']")
    assert f() == pkgutil.__name__


def test_a_name_that_stands_for_itself_in_a_class_body_is_no_global(
    define: Define, other: types.ModuleType
) -> None:
    f = define("class Inner:\n    UNREAD = 1\n    Y = UNREAD\nreturn Inner.Y")
    f()
    sys.modules["routes_main"].UNREAD = 5  # type: ignore[attr-defined]
    f()
    assert f.stats()["ran"] == 1


@pytest.mark.parametrize(
    "body",
    [
        "return routes_other.LATE",
        "return hasattr(routes_other, 'LATE')",
        "return getattr(routes_other, 'LATE', None)",
        "try:\n    from routes_other import LATE\nexcept ImportError:\n    return 1\nreturn LATE",
        "try:\n    return routes_other.LATE\nexcept AttributeError:\n    return None",
    ],
)
def test_a_module_that_computes_attributes_from_now_on(
    define: Define, other: types.ModuleType, body: str
) -> None:
    f = define(body)

    def outcome(function: Callable[[], object]) -> object:
        try:
            return function()
        except AttributeError:
            return AttributeError

    assert outcome(f) == outcome(f.uncached)
    key = f.key()
    for value in (5, 6):
        other.__getattr__ = lambda name, value=value: value  # type: ignore[method-assign,misc]
        assert f() == f.uncached()
        assert f.key() != key  # or another process would find what was computed
    del other.__getattr__
    assert outcome(f) == outcome(f.uncached)
    assert f.key() == key
