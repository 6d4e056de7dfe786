"""The names of functions and classes: assigned ones count, others where code reads them."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

import whorl
from tests.fingerprint.comparing import different, same
from tests.fingerprint.programs import Programs

NAMES = ("__name__", "__qualname__", "__module__")
MADE = {
    "a function": "def f(): return 1",
    "a lambda": "f = lambda: 1",
    "a closure": "def make(y):\n def f(): return y\n return f\nf = make(1)",
    "a class": "class f: pass",
    "a class of type()": "f = type('Other', (), {})",
    "a local class": "def make():\n class f: pass\n return f\nf = make()",
    "an enum": "import enum\nclass f(enum.Enum):\n A = 1",
    "a named tuple": "import collections\nf = collections.namedtuple('f', 'a')",
    "a function with a cache": "import functools\n@functools.lru_cache\ndef f(): return 1",
    "a partial": "import functools\nf = functools.partial(print, 1)",
    "a wrapper": "import functools\ndef of(): return 1\n"
    "@functools.wraps(of)\ndef f(): return of() + 1",
    "a wrapper of a library": "import contextlib\n@contextlib.contextmanager\ndef f(): yield 1",
    "a cached function": "import whorl\n@whorl.cached\ndef f(): return 1",
    "a kernel": "import whorl\n@whorl.kernel\ndef f(x): return x[0]",
    "a static method": "class C:\n @staticmethod\n def g(): return 1\nf = vars(C)['g']",
    "a dispatcher": "import functools\n@functools.singledispatch\ndef f(y): return 1",
    "a method in its class": "class C:\n def g(self): return 1\nf = C.g",
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("name", NAMES)
def test_an_assigned_name_counts(programs: Programs, made: str, name: str) -> None:
    texts = [
        f"{MADE[made]}\n{assigned}"
        for assigned in ("", f"f.{name} = 'one'", f"f.{name} = 'another'")
    ]
    assert len({programs.digest(text) for text in texts}) == 3
    reader = "\ndef read(): return f"
    assert len({programs.digest(text + reader, "read") for text in texts}) == 3


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("made", ["def f(): return 1", "class f: pass"])
def test_a_name_that_is_assigned_and_taken_back_is_as_it_was(
    programs: Programs, made: str, name: str
) -> None:
    f = programs.get(made)
    before, own = whorl.fingerprint(f), getattr(f, name)
    setattr(f, name, "other")
    assert whorl.fingerprint(f) != before
    setattr(f, name, own)
    assert whorl.fingerprint(f) == before


def _bare(function: types.FunctionType) -> Any:
    """A function of the same code that was given no name since."""
    made = types.FunctionType(function.__code__, function.__globals__, closure=function.__closure__)
    made.__annotations__ = dict(function.__annotations__)
    made.__dict__.update(function.__dict__)
    return made


def test_a_wrapper_that_is_named_like_what_it_wraps_needs_no_names() -> None:
    def deco(function: Callable[[], int]) -> Any:
        @functools.wraps(function)
        def wrapper() -> int:
            return function() + 1

        return wrapper

    def one() -> int:
        return 1

    before = whorl.fingerprint(deco(one))
    one.__module__ = "elsewhere"
    one.__name__ = "another"
    named = whorl.fingerprint(deco(one))
    assert named != before  # by what it wraps
    wrapper = deco(one)
    wrapper.__name__ = "third"
    assert different(deco(one), wrapper)
    assert different(deco(one), _bare(deco(one)))


def test_a_wrapper_does_not_count_the_module_of_what_it_wraps(programs: Programs) -> None:
    text = """
    import functools
    def deco(function):
        @functools.wraps(function)
        def wrapper(): return function() + 1
        return wrapper
    @deco
    def f(): return 1
    @functools.lru_cache
    def g(): return 1
    """
    one, two = (programs.load(text, name) for name in ("named_one", "named_two"))
    assert same(one.f, two.f)
    assert same(one.g, two.g)


def test_the_name_of_a_module_that_was_started_is_that_of_its_file(
    monkeypatch: pytest.MonkeyPatch, programs: Programs
) -> None:
    module = programs.load("def f(): return 1\nclass C: pass\nf.__module__ = C.__module__ = 'n'")
    digests = []
    for started in ("program", "__main__"):
        module.f.__module__ = module.C.__module__ = started
        module.__name__ = "another"
        monkeypatch.setitem(sys.modules, "__main__", module)
        digests.append((whorl.fingerprint(module.f), whorl.fingerprint(module.C)))
    assert digests[0] == digests[1]


@pytest.mark.parametrize("read", ["g.__qualname__", "getattr(g, '__qualname__')"])
def test_the_qualified_name_of_a_definition_counts_where_it_is_read(
    programs: Programs, read: str
) -> None:
    text = """
    def a():
        def g(): return 1
        return g
    def b():
        def g(): return 1
        return g
    g = {maker}()
    def f(): return {read}
    """
    reading, calling = (
        [text.format(maker=maker, read=how) for maker in ("a", "b")] for how in (read, "g()")
    )
    assert not programs.same(*reading)
    assert programs.same(*calling)


@pytest.mark.parametrize(
    "kind", ["def g(): return 1", "def make():\n class g: pass\n return g\ng = make()"]
)
@pytest.mark.parametrize("read", ["g.__module__", "getattr(g, '__module__')"])
def test_the_module_of_a_definition_counts_where_it_is_read(
    programs: Programs, read: str, kind: str
) -> None:
    homes = [programs.load(kind, name) for name in ("home_one", "home_two")]
    for how, is_read in ((read, True), ("g", False)):
        module = programs.load(f"def f(): return {how}", "reading")
        digests = []
        for home in homes:
            module.g = home.g
            digests.append(whorl.fingerprint(module.f))
        assert (digests[0] != digests[1]) is is_read


def test_a_class_in_a_body_is_no_reader_of_names(programs: Programs) -> None:
    text = """
    def a():
        def g(): return 1
        return g
    def b():
        def g(): return 1
        return g
    g = {maker}()
    def f():
        class Local:
            x = g()
        return Local.x
    """
    assert programs.same(*(text.format(maker=maker) for maker in "ab"))


def test_differences_of_names_are_shown_by_name() -> None:
    def made(**names: str) -> Any:
        def f() -> int:
            return 1

        for name, value in names.items():
            setattr(f, name, value)
        return f

    one, two = made(__module__="a"), made(__name__="g", __module__="b")
    found = [str(each) for each in whorl.diff(one, two)]
    assert found == ["value.__name__: 'f' -> 'g'", "value.__module__: 'a' -> 'b'"]


def test_what_is_no_text_may_be_assigned(programs: Programs) -> None:
    texts = [f"def f(): return 1\nf.__module__ = {held}" for held in ("None", "[1]", "[2]")]
    assert len({programs.digest(text) for text in texts}) == 3
