"""One value of every kind, and a program that prints the digest of each.

Run as a program or imported, under any hash seed, from any directory: the digests are to be
the same. `python -m tests.processes.zoo` prints them; with the argument `spawn` a child
process that multiprocessing spawns computes them, with `moved` it leaves its directory first.
"""

from __future__ import annotations

import abc
import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import json
import logging
import multiprocessing
import operator
import os
import pathlib
import re
import sys
import types
import typing
import uuid
from collections.abc import Callable, Iterator
from typing import Any, Generic, Literal, NamedTuple, NewType, Optional, Protocol, TypeVar

import attrs
import numpy as np
import pydantic

import whorl

T = TypeVar("T")
UserId = NewType("UserId", int)

logger = logging.getLogger(__name__)
NAMES = frozenset(("alpha", "beta", "gamma", "delta"))
TABLE = {"one": {"a", "b", "c"}, ("two", 2): {None, 1, "x"}}


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"

    def shout(self) -> str:
        return self.value.upper()


class Access(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()


class Point(NamedTuple):
    x: int
    y: int = 0


@dataclasses.dataclass
class Config:
    name: str
    tags: set[str]
    limits: dict[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Tile:
    rows: int
    columns: int


@attrs.define
class Part:
    name: str
    sizes: frozenset[str] = frozenset(("s", "m", "l"))


class Model(pydantic.BaseModel):
    name: str
    tags: set[str]


class Vertex:
    """Hashed by identity, so that the order in a set is different each time."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.others: set[Vertex] = set()


class Shape(abc.ABC):
    sides: typing.ClassVar = NAMES

    @property
    @abc.abstractmethod
    def area(self) -> float: ...

    @classmethod
    def make(cls) -> Shape:
        return cls()

    @staticmethod
    def known(name: str) -> bool:
        return name in NAMES


class Square(Shape):
    def __init__(self, side: float = 1.0) -> None:
        self.side = side

    @functools.cached_property
    def diagonal(self) -> float:
        return self.side * 1.41

    @property
    def area(self) -> float:
        logger.debug("area")
        return self.side**2

    def scaled(self, by: float) -> Square:
        return type(self)(self.side * by)


class Drawable(Protocol):
    colour: Colour

    def draw(self, on: str) -> None: ...


class Stack(Generic[T]):
    def __init__(self, *items: T) -> None:
        self.items = items


class Tagged(dict[str, object]):
    note = "a class attribute"


def double(x: int) -> int:
    """Twice."""
    return 2 * x


def member(x: str) -> bool:
    return x in {"left", "right", "up", "down"} or x in NAMES


def table(key: str) -> object:
    return TABLE.get(key, default_of(key, kind=Colour.RED))


def default_of(key: str, *, kind: Colour) -> str:
    return f"{key}-{kind.shout()}"


def logged(x: int) -> int:
    logger.info("got %s", x)
    return double(x)


def named() -> str:
    return __name__


def even(n: int) -> bool:
    return n == 0 or odd(n - 1)


def odd(n: int) -> bool:
    return n != 0 and even(n - 1)


def adder(n: int) -> Callable[[int], int]:
    def add(x: int) -> int:
        return x + n

    return add


def traced(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        logger.debug("call %s", function.__name__)
        return function(*arguments, **keywords)

    return wrapper


@traced
def traced_double(x: int) -> int:
    return double(x)


@functools.lru_cache(maxsize=8)
def cached_double(x: int) -> int:
    return double(x)


@functools.singledispatch
def shown(value: object) -> str:
    return "object"


@shown.register
def _(value: int) -> str:
    return "int"


@shown.register(str)
def _(value: str) -> str:
    return "str"


def counted() -> Iterator[int]:
    yield from (double(x) for x in range(3))


async def awaited() -> int:
    return double(1)


def local_class() -> Any:
    class Local:
        names = NAMES

        def method(self) -> bool:
            return "alpha" in self.names

    return Local()


def local_enum() -> enum.Enum:
    class Size(enum.Enum):
        SMALL = 1
        LARGE = 2

    return Size.LARGE


def ring() -> list[Any]:
    first: list[Any] = ["ring"]
    second = {"first": first, "names": set(NAMES)}
    first.append(second)
    return first


def web() -> Vertex:
    vertices = [Vertex(name) for name in "abcaab"]
    for i, vertex in enumerate(vertices):
        vertex.others = {vertices[i - 1], vertices[i - 2], vertices[(i * i) % 6]}
    return vertices[0]


def values() -> dict[str, object]:
    """One value of every kind."""
    structured = np.dtype([("name", "U4"), ("at", "<f4", (2,)), ("flag", "?")])
    objects = np.array(["x", None, {"a", "b"}], dtype=object)
    square = Square(2.0)
    assert square.diagonal
    shown(3)
    cached_double(3)
    namespace = types.SimpleNamespace(b=1, a={"x", "y"})
    return {
        "scalars": [None, True, 1, 1.0, -0.0, 1j, "text", "\ud800", b"bytes", ..., 10**100],
        "bytes-likes": [bytearray(b"x"), memoryview(b"xyz"), array.array("d", [1.0, 2.0])],
        "set of texts": {"alpha", "beta", "gamma", "delta", "epsilon"},
        "set of many kinds": {1, "1", 1.5, None, (1, "a"), frozenset("ab"), Colour.RED},
        "set of objects": {Vertex("a"), Vertex("b"), Vertex("c")},
        "dict with keys that have no order": {1: "i", "1": "s", None: 0, (1, "x"): {"q", "r"}},
        "nested": {"a": [{"b": {"c", "d"}}, ("e", ["f"])], "g": {"h": {"i": None}}},
        "OrderedDict": collections.OrderedDict(b=1, a=2),
        "defaultdict": collections.defaultdict(list, {"a": [1]}),
        "Counter": collections.Counter("mississippi"),
        "deque": collections.deque([1, {"a", "b"}], maxlen=5),
        "ChainMap": collections.ChainMap[str, object]({"a": 1}, {"b": {"x", "y"}}),
        "mappingproxy": types.MappingProxyType({"a": {"b", "c"}}),
        "SimpleNamespace": namespace,
        "range and slice": [range(1, 9, 2), slice(None, 3, None)],
        "dataclass": Config("n", {"x", "y", "z"}, {"lo": 0.0, "hi": 1.0}),
        "slotted dataclass": Tile(2, 3),
        "attrs": Part("bolt"),
        "pydantic": Model(name="m", tags={"x", "y", "z"}),
        "named tuple": Point(1),
        "plain object": square,
        "generic object": Stack("a", {"b", "c"}),
        "subclass of dict": Tagged(a={"x", "y"}),
        "enum member": [Colour.RED, Access.READ | Access.WRITE, re.IGNORECASE | re.MULTILINE],
        "exception": ValueError("wrong", {"a", "b"}),
        "array": np.arange(12, dtype=">f4").reshape(3, 4)[:, ::2],
        "array of objects": objects,
        "structured array": np.zeros(2, dtype=structured),
        "numpy scalars": [np.float32(1), np.int64(1), np.str_("x"), np.datetime64("2024-01-01")],
        "dtype": structured,
        "masked array": np.ma.masked_array([1, 2], mask=[False, True]),
        "times": [
            datetime.datetime(2024, 1, 2, 3, 4, tzinfo=datetime.UTC),
            datetime.date(2024, 1, 2),
            datetime.timedelta(seconds=5),
        ],
        "numbers": [decimal.Decimal("1.20"), fractions.Fraction(1, 3)],
        "path": [pathlib.Path("a/b"), pathlib.PureWindowsPath("c:/x")],
        "uuid": uuid.UUID(int=5),
        "pattern": re.compile("a+", re.IGNORECASE),
        "logger": logger,
        "ring": ring(),
        "web": web(),
        "types": [int, list[int], Optional[int], Literal["a", "b"], dict[str, set[int]], T, UserId],
        "function": double,
        "function with a set of texts": member,
        "function with a global dict": table,
        "function that logs": logged,
        "function that asks for its module's name": named,
        "mutual recursion": [even, odd],
        "closure": adder(3),
        "lambda": lambda x: member(x) or NAMES,
        "nested function": lambda: [y for y in NAMES if any(z in TABLE for z in y)],
        "partial": functools.partial(double, 2),
        "bound method": square.scaled,
        "function of a class": Square.scaled,
        "class method": Square.make,
        "decorated": traced_double,
        "lru_cache": cached_double,
        "singledispatch": shown,
        "generator function": counted,
        "coroutine function": awaited,
        "property": Square.__dict__["area"],
        "class": Square,
        "abstract class": Shape,
        "enum class": [Colour, Access],
        "dataclass class": [Config, Tile],
        "attrs class": Part,
        "named tuple class": Point,
        "protocol class": Drawable,
        "generic class": [Stack, Stack[int]],
        "object of a local class": local_class(),
        "local class": type(local_class()),
        "member of a local enum": local_enum(),
        "builtins": [len, "".join, np.sum, np.add, operator.itemgetter(1, "a"), str.upper],
        "module": json,
        "code object": member.__code__,
    }


def digests() -> dict[str, str]:
    """The digest of each value, or the error instead."""
    found = {}
    for name, value in values().items():
        try:
            found[name] = str(whorl.fingerprint(value))
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["spawn"]:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(json.dumps(pool.apply(digests)))
        case ["moved"]:
            os.chdir("/")
            print(json.dumps(digests()))
        case _:
            print(json.dumps(digests()))
