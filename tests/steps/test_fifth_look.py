"""What a fourth attack on cached functions found."""

from __future__ import annotations

import json
import math
import pickle
import re
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.sax import saxutils

import numpy as np
import pydantic
import pytest

import whorl
from whorl.store import Cache, DirectoryStore, Failed, MemoryStore


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(DirectoryStore(tmp_path / "store"))


class Edits:
    """A program of one module, in the versions that an edit makes of it."""

    def __init__(self, folder: Path, store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.store = store
        self._patch = monkeypatch

    def load(self, text: str, number: int) -> dict[str, Any]:
        """The module with this text, as a process that begins now has it."""
        path = self.folder / f"version_{number}.py"
        path.write_text(text, encoding="utf-8")
        module = type(sys)("program_of_this_test")
        self._patch.setitem(sys.modules, module.__name__, module)
        exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)
        return module.__dict__

    def answers(self, program: str, **options: Any) -> list[tuple[Any, Any, int]]:
        """For the program before the edit, after it and before it again: what the cached `f`
        returns, what it should return, and how often it ran."""
        program = textwrap.dedent(program)
        found = []
        for number, group in enumerate((1, 2, 1)):
            text = re.sub(r"\{\{(.*?) => (.*?)\}\}(?!\})", rf"\{group}", program, flags=re.DOTALL)
            scope = self.load(text, number)
            cached = whorl.cached(store=self.store, **options)(scope["f"])
            found.append((cached(), scope["f"](), cached.stats()["ran"]))
        return found

    def is_noticed(self, program: str, **options: Any) -> None:
        """The edit changes what the function returns, and the cached one returns just that."""
        found = self.answers(program, **options)
        assert [answer for answer, _, _ in found] == [truth for _, truth, _ in found]
        assert found[0][1] != found[1][1], "an edit that nobody can see"
        assert [ran for _, _, ran in found] == [1, 1, 0]


@pytest.fixture
def edits(tmp_path: Path, store: Cache, monkeypatch: pytest.MonkeyPatch) -> Edits:
    return Edits(tmp_path, store, monkeypatch)


def named(programs: Mapping[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("program", programs.values(), ids=programs)


ORDERS: dict[str, str] = {
    "a table of functions": """
        def inc(x): return x + 1
        def dbl(x): return x * 2
        STAGES = {{{"inc": inc, "dbl": dbl} => {"dbl": dbl, "inc": inc}}}
        def f():
            x = 3
            for stage in STAGES.values():
                x = stage(x)
            return x
        """,
    "captured": """
        def make(held):
            return lambda: list(held)
        f = make({{dict(a=1, b=2) => dict(b=2, a=1)}})
        """,
    "a default": """
        def helper(held={{dict(a=1, b=2) => dict(b=2, a=1)}}): return list(held)
        def f(): return helper()
        """,
    "a class attribute": """
        class Table:
            rows = {{dict(a=1, b=2) => dict(b=2, a=1)}}
        def f(): return list(Table.rows)
        """,
    "a dict in an instance": """
        class Table: pass
        TABLE = Table()
        TABLE.rows = [{{dict(a=1, b=2) => dict(b=2, a=1)}}]
        def f(): return list(TABLE.rows[0])
        """,
    "attributes of an instance": """
        class Table: pass
        TABLE = Table()
        {{TABLE.a = 1; TABLE.b = 2 => TABLE.b = 2; TABLE.a = 1}}
        def f(): return list(vars(TABLE))
        """,
    "keys that cannot be sorted": """
        TABLE = {{{1: 1, "a": 2} => {"a": 2, 1: 1}}}
        def f(): return list(TABLE)
        """,
    "a counter": """
        from collections import Counter
        HELD = Counter("{{abab => baba}}")
        def f(): return HELD.most_common(1)
        """,
    "a default dict": """
        from collections import defaultdict
        HELD = defaultdict(int, {{dict(a=1, b=2) => dict(b=2, a=1)}})
        def f(): return list(HELD)
        """,
    "a namespace": """
        from types import SimpleNamespace
        HELD = SimpleNamespace({{a=1, b=2 => b=2, a=1}})
        def f(): return list(vars(HELD))
        """,
    "keywords of a partial": """
        from functools import partial
        def names(**held): return list(held)
        HELD = partial(names, {{a=1, b=2 => b=2, a=1}})
        def f(): return HELD()
        """,
    "a registry of subclasses": """
        class Base:
            registry = {}
            def __init_subclass__(cls): Base.registry[cls.__name__] = cls
        {{class A(Base): pass => class B(Base): pass}}
        {{class B(Base): pass => class A(Base): pass}}
        def f(): return list(Base.registry)
        """,
    "fields of a model": """
        import pydantic
        class Model(pydantic.BaseModel):
            {{a: int = 1 => b: int = 2}}
            {{b: int = 2 => a: int = 1}}
        def f(): return list(Model().model_dump())
        """,
    "annotations of a class": """
        class Table:
            {{a: int => b: str}}
            {{b: str => a: int}}
        def f(): return list(Table.__annotations__)
        """,
    "attributes of a function": """
        def helper(): ...
        {{helper.a = 1; helper.b = 2 => helper.b = 2; helper.a = 1}}
        def f(): return list(helper.__dict__)
        """,
    "names of a module": """
        import sys, types
        cfg = types.ModuleType("cfg_of_this_test")
        {{cfg.a = 1; cfg.b = 2 => cfg.b = 2; cfg.a = 1}}
        def f(): return [name for name in vars(cfg) if name[0] != "_"]
        """,
    "methods of a class": """
        class Table:
            {{def a(self): pass => def b(self): pass}}
            {{def b(self): pass => def a(self): pass}}
        def f(): return [name for name in vars(Table) if name[0] != "_"]
        """,
    "arguments of a union": """
        import typing
        KIND = typing.Union[{{int, str => str, int}}]
        def f(): return [kind.__name__ for kind in typing.get_args(KIND)]
        """,
    "arguments of a union with a bar": """
        import typing
        KIND = {{int | str => str | int}}
        def f(): return [kind.__name__ for kind in typing.get_args(KIND)]
        """,
    "values of a literal": """
        import typing
        KIND = typing.Literal[{{"a", "b" => "b", "a"}}]
        def f(): return list(typing.get_args(KIND))
        """,
    "a union of a model from left to right": """
        import pydantic
        class Model(pydantic.BaseModel):
            a: {{int | str => str | int}} = pydantic.Field(union_mode="left_to_right")
        def f(): return Model(a="1").a
        """,
}  # fmt: skip


@named(ORDERS)
def test_the_order_that_code_can_see_counts(edits: Edits, program: str) -> None:
    edits.is_noticed(program)


def test_a_global_dict_in_another_order_is_noticed_in_one_process(store: Cache) -> None:
    table = {"a": 1, "b": 2}

    @whorl.cached(store=store)
    def names() -> list[str]:
        return list(table)

    assert names() == ["a", "b"]
    table["a"] = table.pop("a")
    assert names() == ["b", "a"]


def test_the_order_of_keywords_counts_where_a_function_takes_any(store: Cache) -> None:
    @whorl.cached(store=store)
    def names(first: int = 0, **rest: int) -> list[str]:
        return list(rest)

    assert (names(a=1, b=2), names(b=2, a=1)) == (["a", "b"], ["b", "a"])
    assert (names(a=1, first=1, b=2), names(first=1, a=1, b=2)) == (["a", "b"], ["a", "b"])
    assert names.stats()["ran"] == 3, "where a named parameter stands does not count"


def test_keywords_that_were_left_out_may_come_in_any_order(store: Cache) -> None:
    @whorl.cached(store=store, exclude=["rest"])
    def first(x: int, **rest: int) -> int:
        return x

    assert first(1, a=1, b=2) == first(1, b=2, a=1) == 1
    assert first.stats()["ran"] == 1


def test_a_method_that_moves_is_no_edit_where_nobody_looks(edits: Edits) -> None:
    found = edits.answers(
        """
        class Table:
            {{def a(self): return 1 => def b(self): return 2}}
            {{def b(self): return 2 => def a(self): return 1}}
        def f(): return Table().a() + Table().b()
        """
    )
    assert [ran for _, _, ran in found] == [1, 0, 0]


TYPES: dict[str, str] = {
    "hints of a class": """
        import typing
        class Inner:
            def value(self): return {{1 => 2}}
        class Outer:
            x: Inner
        def f(): return typing.get_type_hints(Outer)["x"]().value()
        """,
    "hints that are texts": """
        from __future__ import annotations
        from typing import get_type_hints, Optional
        class Outer:
            x: Optional[Inner]
        class Inner:
            value = {{1 => 2}}
        def f(): return get_type_hints(Outer)["x"].__args__[0].value
        """,
    "fields of a dataclass": """
        import dataclasses
        class Inner:
            value = {{1 => 2}}
        @dataclasses.dataclass
        class Outer:
            x: Inner = None
            y: list["Outer"] = None
        def f(): return dataclasses.fields(Outer)[0].type.value
        """,
    "fields under another name": """
        from dataclasses import dataclass
        import dataclasses as dc
        class Inner:
            value = {{1 => 2}}
        @dataclass
        class Outer:
            x: Inner = None
        def f(): return [field.type.value for field in dc.fields(Outer)]
        """,
    "two classes that name each other": """
        import dataclasses, typing
        @dataclasses.dataclass
        class Left:
            right: "Right" = None
            def value(self): return 1
        @dataclasses.dataclass
        class Right:
            left: "Left" = None
            def value(self): return {{1 => 2}}
        def f(): return typing.get_type_hints(Left)["right"]().value()
        """,
    "fields that were captured": """
        def make():
            from dataclasses import dataclass, fields
            class Inner:
                value = {{1 => 2}}
            @dataclass
            class Outer:
                x: Inner = None
            return lambda: fields(Outer)[0].type.value
        f = make()
        """,
    "annotations of a function": """
        import inspect
        class Inner:
            value = {{1 => 2}}
        def helper(x: Inner): ...
        def f(): return inspect.signature(helper).parameters["x"].annotation.value
        """,
    "an enum in a model": """
        import enum, pydantic
        class Kind(enum.Enum):
            A = {{1 => 2}}
            B = 3
            @classmethod
            def _missing_(cls, value): return cls.A
        class Model(pydantic.BaseModel):
            kind: Kind
        def f(): return Model(kind=0).kind.value
        """,
    "a dataclass in a model": """
        import dataclasses, pydantic
        class Half(float):
            @classmethod
            def __get_pydantic_core_schema__(cls, source, handler):
                from pydantic_core import core_schema
                return core_schema.no_info_plain_validator_function(lambda x: x / {{2 => 4}})
        @dataclasses.dataclass
        class Inner:
            x: Half
            y: int = 0
        class Model(pydantic.BaseModel):
            inner: list[Inner | None]
        def f(): return Model(inner=[{"x": 8}]).inner[0].x
        """,
    "the default of a dataclass in a model": """
        import dataclasses, pydantic
        @dataclasses.dataclass
        class Inner:
            x: int = {{1 => 2}}
        class Model(pydantic.BaseModel):
            inner: Inner
        def f(): return Model(inner={}).inner.x
        """,
    "a named tuple in a model": """
        import typing, pydantic
        class Pair(typing.NamedTuple):
            x: int
            y: int = {{1 => 2}}
        class Model(pydantic.BaseModel):
            pair: Pair
        def f(): return Model(pair=(0,)).pair.y
        """,
}  # fmt: skip


@named(TYPES)
def test_a_class_that_is_seen_through_an_annotation_counts(edits: Edits, program: str) -> None:
    edits.is_noticed(program)


def test_a_class_that_is_only_named_in_an_annotation_counts_by_name(edits: Edits) -> None:
    found = edits.answers(
        """
        import dataclasses, threading
        class Session:
            lock = threading.Lock()
            value = {{1 => 2}}
        @dataclasses.dataclass
        class Outer:
            n: int = 1
            session: Session | None = None
        def f(): return Outer().n
        """
    )
    assert [(answer, ran) for answer, _, ran in found] == [(1, 1), (1, 0), (1, 0)]


def test_a_class_of_which_pydantic_makes_nothing_counts_by_name(edits: Edits) -> None:
    found = edits.answers(
        """
        import pydantic, threading
        class Session:
            lock = threading.Lock()
            value = {{1 => 2}}
        class Model(pydantic.BaseModel):
            model_config = {"arbitrary_types_allowed": True}
            n: int = 1
            session: Session | None = None
        def f(): return Model().n
        """
    )
    assert [(answer, ran) for answer, _, ran in found] == [(1, 1), (1, 0), (1, 0)]


DOCS: dict[str, str] = {
    "of a function": '''
        def helper():
            """{{One => Two}}."""
        def f(): return helper.__doc__
        ''',
    "of a class": '''
        class Table:
            """{{One => Two}}."""
        def f(): return Table.__doc__
        ''',
    "of a method": '''
        class Table:
            def rows(self):
                """{{One => Two}}."""
        def f(): return getattr(Table.rows, "__doc__")
        ''',
    "of what is handed to a helper": '''
        import inspect
        def helper():
            """{{One => Two}}."""
        def text(what): return inspect.getdoc(what)
        def f(): return text(helper)
        ''',
    "of a function in a table": '''
        def helper():
            """{{One => Two}}."""
        COMMANDS = {"helper": helper}
        def f(): return {name: command.__doc__ for name, command in COMMANDS.items()}
        ''',
}  # fmt: skip


@named(DOCS)
def test_a_docstring_that_is_read_counts(edits: Edits, program: str) -> None:
    edits.is_noticed(program)


def test_a_docstring_that_is_read_is_watched(store: Cache) -> None:
    def helper() -> None:
        """One."""

    @whorl.cached(store=store)
    def text() -> str | None:
        return helper.__doc__

    assert text() == "One."
    helper.__doc__ = "Two."
    assert text() == "Two."


@pytest.mark.parametrize("name", ["getsource", "getsourcelines", "getcomments"])
def test_the_text_of_a_program_has_to_be_declared(edits: Edits, name: str) -> None:
    program = f"import inspect\ndef helper(): ...\ndef f(): return str(inspect.{name}(helper))\n"
    scope = edits.load(program, 0)
    with pytest.raises(whorl.UnsupportedFunction, match=rf"inspect\.{name}.* file system"):
        whorl.cached(store=edits.store)(scope["f"])()
    declared = whorl.cached(store=edits.store, files=["version_0.py"])(scope["f"])
    assert declared() == scope["f"]()


class Change(pydantic.BaseModel):
    a: int = 1
    b: int | None = None


def test_a_model_of_which_other_fields_were_given_is_another_argument(store: Cache) -> None:
    @whorl.cached(store=store)
    def patch(change: Change) -> dict[str, Any]:
        return change.model_dump(exclude_unset=True)

    assert (patch(Change()), patch(Change(a=1))) == ({}, {"a": 1})
    assert (patch(Change(b=None)), patch(Change())) == ({"b": None}, {})
    assert patch.stats()["ran"] == 3


OUTSIDE: dict[str, str] = {
    "time.strftime": "import time\ndef f(): return time.strftime('%Y')",
    "strftime": "from time import strftime\ndef f(fmt='%Y'): return strftime(f'{fmt}-%m')",
    "time.strftime in the body": "def f():\n    import time\n    return time.strftime('%Y')",
    "email.utils.formatdate": "from email.utils import formatdate\ndef f(): return formatdate()",
    "formatdate with a keyword":
        "import email.utils\ndef f(): return email.utils.formatdate(localtime=True)",
    "os.uname": "import os\ndef f(): return os.uname().nodename",
    "os.cpu_count": "import os\ndef f(): return os.cpu_count()",
    "os.get_terminal_size": "import os\ndef f(): return os.get_terminal_size()",
    "os.geteuid": "import os\ndef f(): return os.geteuid()",
    ".absolute": "from pathlib import Path\ndef f(): return str(Path('x').absolute())",
    "ConfigParser.read":
        "import configparser\ndef f():\n    parser = configparser.ConfigParser()\n"
        "    parser.read('x.ini')\n    return parser.sections()",
    "ConfigParser.read in the body":
        "def f():\n    from configparser import ConfigParser\n    return ConfigParser().read('x')",
    "xml.dom.minidom.parse":
        "import xml.dom.minidom\ndef f(): return xml.dom.minidom.parse('x.xml').toxml()",
    "http.client.HTTPSConnection":
        "import http.client\ndef f(): return http.client.HTTPSConnection('x').host",
    "asyncio.create_subprocess_exec":
        "import asyncio\ndef f(): return asyncio.run(asyncio.create_subprocess_exec('ls'))",
    "os.posix_spawn": "import os\ndef f(): return os.posix_spawn('/bin/ls', ['ls'], {})",
    "getattr": "import os\ndef f(): return getattr(os, 'environ')['HOME']",
}  # fmt: skip


@named(OUTSIDE)
def test_what_is_plainly_taken_from_outside_is_refused(edits: Edits, program: str) -> None:
    with pytest.raises(whorl.UnsupportedFunction, match=r"so what it returns depends on"):
        whorl.cached(store=edits.store)(edits.load(program, 0)["f"])()


INSIDE: dict[str, str] = {
    "a time that is given":
        "import time\ndef f(): return time.strftime('%Y', (2020, 1, 2, 0, 0, 0, 0, 1, 0))",
    "a date that is given": "from email.utils import formatdate\ndef f(): return formatdate(0)",
    "a date that is given by name":
        "from email.utils import formatdate\ndef f(): return formatdate(timeval=0, usegmt=True)",
    "absolute of numpy": "import numpy as np\ndef f(): return float(np.absolute(-1.0))",
    "a parser of texts":
        "import configparser\ndef f():\n    parser = configparser.ConfigParser()\n"
        "    parser.read_string('[a]')\n    return parser.sections()",
    "getattr": "def f(): return getattr('a', 'upper')()",
    "a function of its own":
        "def f():\n    def strftime(x): return x\n    return (lambda: strftime('x'))()",
    "a function of its own with a known name":
        "from time import strftime\n"
        "def f():\n    def strftime(x): return x\n    return (lambda: strftime('x'))()",
}  # fmt: skip


@named(INSIDE)
def test_what_looks_like_it_is_not_refused(edits: Edits, program: str) -> None:
    scope = edits.load(program, 0)
    assert whorl.cached(store=edits.store)(scope["f"])() == scope["f"]()


UNDECLARED: dict[str, str] = {
    "get":
        "from os import environ\n"
        "def f(): return environ.get('FIFTH_A', '') + environ.get('FIFTH_B', '')",
    "an item": "import os\ndef f(): return 'FIFTH_A' and os.environ['FIFTH_B']",
    "getenv": "from os import getenv\ndef f(): return getenv('FIFTH_B')",
    "in": "import os\ndef f(): return 'FIFTH_B' in os.environ",
    "in the body": "def f():\n    import os\n    return os.environ.get('FIFTH_B')",
    "imported in the body":
        "def f():\n    from os import environ\n    return environ.get('FIFTH_B')",
    "another name": "import os\nENV = os.environ\ndef f(): return ENV.get('FIFTH_B')",
    "a helper": "import os\ndef g(): return os.environ.get('FIFTH_B')\ndef f(): return g()",
    "open":
        "def f():\n    with open('fifth_b.txt') as file:\n        return file.read()",
    "open in a mode":
        "def f():\n    with open('fifth_b.txt', 'rb') as file:\n        return file.read()",
}  # fmt: skip


@named(UNDECLARED)
def test_a_name_that_was_not_declared_is_refused_though_another_was(
    edits: Edits, program: str
) -> None:
    declared: dict[str, Any] = {"environment": ["FIFTH_A"], "files": ["fifth_a.txt"]}
    scope = edits.load(program, 0)
    with pytest.raises(whorl.UnsupportedFunction, match=r"FIFTH_B|fifth_b\.txt"):
        whorl.cached(store=edits.store, **declared)(scope["f"])()


def test_names_that_were_declared_and_names_that_nobody_can_know_are_let_through(
    edits: Edits, monkeypatch: pytest.MonkeyPatch
) -> None:
    (edits.folder / "data").mkdir()
    (edits.folder / "data" / "a.txt").write_text("a")
    (edits.folder / "b.txt").write_text("b")
    monkeypatch.chdir(edits.folder)
    monkeypatch.setenv("FIFTH_A", "1")
    program = textwrap.dedent(
        """
        import os
        NAME = "FIFTH_" + "B"
        def f():
            with open("data/a.txt") as one, open("b.txt", mode="rb") as other:
                found = one.read(), other.read()
            with open("log.txt", "w") as log:
                log.write("written, not read")
            return found, os.environ["FIFTH_A"], os.environ.get(NAME)
        """
    )
    scope = edits.load(program, 0)
    options: dict[str, Any] = {
        "environment": ["FIFTH_A"],
        "files": ["data", edits.folder / "b.txt"],
    }
    assert whorl.cached(store=edits.store, **options)(scope["f"])() == scope["f"]()


def test_what_an_inner_cached_function_has_declared_counts_for_the_outer_one(
    edits: Edits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIFTH_A", "1")
    monkeypatch.setenv("FIFTH_B", "2")
    program = (
        "import os, whorl\n"
        "@whorl.cached(environment=['FIFTH_B'])\n"
        "def inner(): return os.environ['FIFTH_B']\n"
        "def f(): return os.environ['FIFTH_A'] + inner()\n"
    )
    cached = whorl.cached(store=edits.store, environment=["FIFTH_A"])(edits.load(program, 0)["f"])
    assert cached() == "12"


class Grumpy:
    def dumps(self, value: Any, /) -> bytes:
        raise KeyError(value)

    def loads(self, data: Any, /) -> Any:
        raise AssertionError("nothing was written")


def circle() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("serializer", "make"),
    [
        (pickle, lambda: lambda: 1),
        (json, circle),
        (None, lambda: np.broadcast_to(1.0, (10**15,))),
        (Grumpy(), lambda: 1),
    ],
    ids=["pickle", "json", "memory", "own"],
)
def test_what_cannot_be_written_is_returned_and_said_once(
    store: Cache, caplog: pytest.LogCaptureFixture, serializer: Any, make: Callable[[], Any]
) -> None:
    @whorl.cached(store=store, serializer=serializer, ignores=["make"])
    def made() -> Any:
        return make()

    assert [type(made()) for _ in range(2)] == [type(make())] * 2
    assert (made.stats()["ran"], made.stats()["not kept"]) == (2, 2)
    assert caplog.text.count("is not kept") == 1


class Full(MemoryStore):
    """A store on a disk that is full."""

    def put(self, entry: Any) -> Failed:  # type: ignore[override]  # as stores may answer
        return Failed("no space left on device")


def test_a_result_that_the_store_could_not_take_is_counted_as_not_kept() -> None:
    made = whorl.cached(store=Cache(Full()))(lambda n: n + 1)
    assert (made(1), made(1), made(2)) == (2, 2, 3)
    assert (made.stats()["ran"], made.stats()["not kept"]) == (2, 2)


SCALARS = [
    np.str_("a\0"), np.str_("\0"), np.str_(""), np.str_("\ud800\U0001f600\0\0"), np.bytes_(b"a\0"),
    np.bytes_(b"\0\0"), np.bytes_(b""),
]  # fmt: skip


@pytest.mark.parametrize("value", SCALARS, ids=ascii)
def test_scalars_of_text_come_back_with_every_character(store: Cache, value: Any) -> None:
    cached = whorl.cached(store=store)(lambda n: (n, value))
    for found in (cached(1), whorl.cached(store=store)(cached.function)(1)):
        assert type(found[1]) is type(value)
        assert found[1].tobytes() == value.tobytes()
        assert len(found[1]) == len(value)
    assert cached.stats()["not kept"] == 0


def test_a_record_can_be_written_to_where_that_was_asked_for(store: Cache) -> None:
    @whorl.cached(store=store, writable=True)
    def record() -> Any:
        return np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")])[0]

    for _ in range(3):
        found = record()
        assert found["a"] == 1, "a record of its own for each call"
        found["a"] = 5
    fixed = whorl.cached(store=store)(record.function)()
    with pytest.raises(ValueError, match="read-only"):
        fixed["a"] = 5


PUT: dict[str, str] = {
    "an attribute": "def f(): return math.sqrt(4)",
    "imported in the body": "def f():\n    from math import sqrt\n    return sqrt(4)",
    "a module that is imported in the body": "def f():\n    import math\n    return math.sqrt(4)",
    "a module that is renamed in the body": "def f():\n    import math as m\n    return m.sqrt(4)",
    "a local name": "def f():\n    m = math\n    return m.sqrt(4)",
    "a local name of a part of a library":
        "def f():\n    m = xml.sax.saxutils\n    return m.escape('4')",
    "a method": "class Own:\n    def root(self, x): return root(x)\nmath.sqrt = Own().root\n"
        "def f():\n    from math import sqrt\n    return sqrt(4)",
}  # fmt: skip


@named(PUT)
def test_a_function_that_was_put_into_a_library_counts(
    edits: Edits, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(math, "sqrt", math.sqrt)  # put back in the end
    monkeypatch.setattr(saxutils, "escape", saxutils.escape)
    begin = "import math, xml.sax.saxutils\ndef root(x): return {{1 => 2}}\n"
    edits.is_noticed(f"{begin}math.sqrt = xml.sax.saxutils.escape = root\n{program}")


def test_a_number_of_a_library_under_a_local_name_counts(
    edits: Edits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(math, "tau", math.tau)
    edits.is_noticed(
        "import math\nmath.tau = {{1 => 2}}\ndef f():\n    m = math\n    return m.tau\n"
    )


@pytest.mark.parametrize("number", range(len(PUT) - 1))
def test_a_function_that_is_put_into_a_library_later_is_noticed(
    edits: Edits, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    scope = edits.load(f"import math, xml.sax.saxutils\n{[*PUT.values()][number]}", 0)
    cached = whorl.cached(store=edits.store)(scope["f"])
    before = cached()
    assert cached() == before == scope["f"]()
    monkeypatch.setattr(math, "sqrt", lambda x: 7)
    monkeypatch.setattr(saxutils, "escape", lambda x: 7)
    assert cached() == 7
    monkeypatch.undo()
    assert cached() == before
    assert cached.stats()["ran"] == 2


def test_an_order_that_is_another_is_explained(store: Cache) -> None:
    few: dict[str, Any] = {"a": 1, "b": 2}
    many: dict[str, Any] = {"a": [1, [2]], "b": {"c": [3, [4]]}}

    @whorl.cached(store=store)
    def names(**rest: int) -> list[str]:
        return [*few, *many, *rest]

    def told(**rest: int) -> list[str]:
        return [str(change).partition("names.")[2] for change in names.explain(**rest).changes]

    names(x=1, y=2)
    (change,) = names.explain(y=2, x=1).changes
    assert str(change) == "arg:rest: {'x': 1, 'y': 2} -> {'y': 2, 'x': 1}"
    names(**{f"x{i}": i for i in range(20)})
    (change,) = names.explain(**{f"x{i}": i for i in reversed(range(20))}).changes
    assert change.old != change.new
    few["a"] = few.pop("a")
    assert told(x=1, y=2) == ["few: {'a': 1, 'b': 2} -> {'b': 2, 'a': 1}"]
    names(x=1, y=2)
    many["a"] = many.pop("a")
    assert told(x=1, y=2) == ["many.keys(): ['a', 'b'] -> ['b', 'a']"]


BUILT = {
    "open by an f-string": "content(open(f'd_{n}.csv'))",
    "open by a sum": "content(open('d_' + str(n) + '.csv'))",
    "open by a remainder": "content(open('d_%d.csv' % n))",
    "open by a method": "content(open('d_{}.csv'.format(n)))",
    "a variable by a sum": "os.environ.get('APP_' + str(n))",
    "a variable by a method": "os.environ.get('app_{}'.format(n).upper())",
    "a variable by a subscript": "os.environ.get(NAMES[0])",
    "written in one of many ways": (
        "[open('o', mode).close() for mode in ('w', 'a')] and open('o', 'w+').close() or "
        "open('o', 'bw').close() or open('o', encoding='utf-8', mode='a').close()"
    ),
}


@pytest.mark.parametrize("name", BUILT)
def test_names_that_are_put_together_are_not_taken_for_their_parts(
    tmp_path: Path, store: Cache, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d_1.csv").write_text("1", encoding="utf-8")
    scope = Edits(tmp_path, store, monkeypatch).load(
        "def content(file):\n    with file:\n        return file.read()\n"
        f"import os\nNAMES = ('APP_1',)\ndef f(n):\n    return {BUILT[name]}\n",
        1,
    )
    cached = whorl.cached(store=store, files=["d_1.csv"], environment=["APP_1"])(scope["f"])
    assert cached(1) == scope["f"](1)
