"""Names in a `__dict__` need not be texts: what is held under others counts like the rest."""

from __future__ import annotations

import enum
import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import whorl
from whorl.fingerprint import fingerprint


class Plain:
    """Nothing special."""


class WithDict(dict[Any, Any]):
    """A dict with attributes beside."""


@dataclass
class Record:
    field: int = 1


class Kind(enum.Enum):
    ONE = 1


def helper() -> int:
    return 1


MODULE = types.ModuleType("no_text_names")

MAKERS: dict[str, Callable[[], Any]] = {
    "an object": Plain,
    "a dataclass": Record,
    "a subclass of dict": WithDict,
    "a namespace": types.SimpleNamespace,
    "a partial": lambda: functools.partial(max, 1),
}
SHARED: dict[str, Any] = {"a function": helper, "a member of an enum": Kind.ONE, "a module": MODULE}

HELD: Any = None


@whorl.cached
def of_global() -> int:
    return len(HELD.__dict__)


@whorl.cached
def of_argument(value: Any) -> int:
    return len(value.__dict__)


def _with(value: Any, held: object) -> Any:
    value.__dict__.update({"a": 1, 1: held, None: 2, (1, "b"): 3})
    return value


@pytest.mark.parametrize("kind", MAKERS)
def test_such_an_object_is_an_argument(kind: str) -> None:
    first, second, third = (_with(MAKERS[kind](), held) for held in (1, 1, 2))
    before = of_argument.stats()["ran"]
    assert of_argument(first) == of_argument.uncached(first)
    of_argument(second)
    assert of_argument.stats()["ran"] == before + 1
    of_argument(third)
    assert of_argument.stats()["ran"] == before + 2
    of_argument.explain(third)


@pytest.mark.parametrize("kind", [*MAKERS, *SHARED])
def test_such_an_object_is_a_global(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held = SHARED[kind] if kind in SHARED else MAKERS[kind]()
    before, ran = dict(held.__dict__), of_global.stats()["ran"]
    monkeypatch.setitem(globals(), "HELD", _with(held, 1))
    try:
        assert of_global() == of_global.uncached()
        held.__dict__[1] = 2
        of_global()
        assert of_global.stats()["ran"] == ran + 2
    finally:
        held.__dict__.clear()
        held.__dict__.update(before)


@pytest.mark.filterwarnings("ignore:non-string key")  # of Python 3.13 and later
def test_a_class_with_such_a_name_is_read() -> None:
    names: list[dict[Any, Any]] = [{"a": 1, 1: 2}, {"a": 1, 1: 3}]
    made, other = (type("Odd", (), held) for held in names)
    assert fingerprint(made) != fingerprint(other)

    @whorl.cached
    def reads() -> int:
        return len(vars(made))

    assert reads() == reads.uncached()


def test_globals_with_such_a_name_are_read() -> None:
    scope: dict[Any, Any] = {1: 2, "__name__": "no_text_globals", "cached": whorl.cached}
    exec("@cached\ndef reads():\n    return globals().copy().get(1)\n", scope)
    assert scope["reads"]() == 2
    scope[1] = 3
    assert scope["reads"]() == 3
