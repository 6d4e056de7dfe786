"""Classes in annotations, and docstrings, count where code or a library reads them."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

import whorl
from tests.steps.programs import Edits, named
from whorl.store import Cache

MODELS = """
import pydantic

class Inner(pydantic.BaseModel):
    y: int = {default}

class Outer(pydantic.BaseModel):
    x: Inner = pydantic.Field(default_factory=Inner)
    all: list[Inner | None] = []

def f():
    return Outer(x={{}}).x.y

def g():
    return Outer(all=[{{}}]).all[0].y
"""


@pytest.mark.parametrize("name", ["f", "g"])
def test_models_inside_of_models_count(store: Cache, tmp_path: Path, name: str) -> None:
    found = []
    for default in (1, 2, 1):
        path = tmp_path / f"models_{default}.py"
        text = MODELS.format(default=default)
        path.write_text(text, encoding="utf-8")
        module = types.ModuleType("models_of_this_test")
        sys.modules["models_of_this_test"] = module
        try:
            exec(compile(text, str(path), "exec"), module.__dict__)
            cached = whorl.cached(store=store)(module.__dict__[name])
            found.append((cached(), cached.stats()["ran"]))
        finally:
            del sys.modules["models_of_this_test"]
    assert found == [(1, 1), (2, 1), (1, 0)]


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
