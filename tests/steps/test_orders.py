"""The order of dicts, keywords and members counts exactly where code can see it."""

from __future__ import annotations

from typing import Any

import whorl
from tests.steps.programs import Edits, named
from whorl.store import Cache

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
