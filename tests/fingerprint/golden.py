"""Values and the digests they must keep: `python -m tests.fingerprint.golden` writes the table.

The values are of kinds whose encoding depends neither on the version of Python nor on that of
NumPy. Each row is a name and a value; the digests stand in `golden.json` beside this file,
together with the format they were made with.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import fractions
import importlib
import json
import math
import pathlib
import struct
import uuid
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple

import numpy as np

import whorl
from whorl.fingerprint.tokens import FORMAT

__all__ = ["TABLE", "digests", "values"]

TABLE = pathlib.Path(__file__).with_name("golden.json")


@dataclass
class Point:
    x: int = 1
    y: float = 2.5


@dataclass(frozen=True, slots=True)
class Slotted:
    name: str = "n"
    children: tuple[object, ...] = ()


@dataclass
class Marked:
    options: Annotated[dict[str, int], whorl.ordered] = field(default_factory=dict)
    data: Annotated[object, whorl.by_type] = None
    uid: Annotated[object, whorl.exclude] = None


class Plain:
    def __init__(self, **attributes: object) -> None:
        vars(self).update(attributes)


class Words(list[str]):
    pass


class Pair(NamedTuple):
    left: object
    right: object


class Colour(enum.Enum):
    RED = 1


class Access(enum.IntFlag):
    READ = 1
    WRITE = 2


def loop() -> list[Any]:
    """A list that holds itself by way of a dict."""
    made: list[Any] = ["loop"]
    made.append({"back": made, 1: "other"})
    return made


def chain(depth: int) -> object:
    """A list in a list in a list."""
    value: object = "end"
    for _ in range(depth):
        value = [value]
    return value


def diamond(levels: int) -> object:
    """A graph with 2**levels paths."""
    value: object = "leaf"
    for _ in range(levels):
        value = (value, value)
    return value


def values() -> dict[str, object]:
    """The values by name, made anew."""
    nan: float = struct.unpack("<d", bytes.fromhex("050000000000f87f"))[0]
    padded = np.dtype([("a", "i1"), ("b", "<f8")], align=True)
    return {
        "none": None,
        "true": True,
        "one": 1,
        "one as float": 1.0,
        "big int": -(1 << 200) - 1,
        "negative zero": -0.0,
        "infinity": math.inf,
        "nan with payload": nan,
        "complex": complex(-0.0, 2.5),
        "text": "a\0é𝄞",
        "lone surrogate": "\ud800",
        "bytes": b"\x00\xff",
        "long bytes": bytes(range(256)) * 32,
        "bytearray": bytearray(b"ab"),
        "memoryview": memoryview(b"abcd").cast("B", (2, 2)),
        "ellipsis": ...,
        "empty list": [],
        "list": [1, "a", None, [2.5]],
        "tuple": (1, (2, (3,))),
        "long list": list(range(1000)),
        "list of a batch and one": list(range(999)),
        "dict": {"b": 1, "a": [2], "c": {"d": None}},
        "dict by number": {2: "b", 1: "a"},
        "dict of many keys": {str(i): i for i in range(300)},
        "dict with mixed keys": {1: "a", "1": "b", (1,): {"c": 2}, None: 3},
        "set": {3, 1, 2},
        "mixed set": {1, "1", (1, "x"), frozenset({2})},
        "ordered dict": OrderedDict(b=1, a=2),
        "deque": deque([1, 2], maxlen=3),
        "range": range(1, 10, 2),
        "slice": slice(1, None, 2),
        "namespace": SimpleNamespace(a=1, b=[2]),
        "dataclass": Point(3, 4.0),
        "slots": Slotted("root", (Slotted(), Slotted("leaf"))),
        "markers": Marked({"b": 1, "a": 2}, np.zeros((2, 3), "<f4"), object()),
        "plain class": Plain(b=1, a=Plain()),
        "list subclass": Words(["a", "b"]),
        "named tuple": Pair(1, Pair("a", None)),
        "enum member": Colour.RED,
        "flags": Access.READ | Access.WRITE,
        "array": np.arange(6, dtype="<i4").reshape(2, 3),
        "fortran array": np.asfortranarray(np.arange(6, dtype="<f8").reshape(2, 3)),
        "array of text": np.array(["a", "bc"], "<U2"),
        "array of objects": np.array([1, "a", None], object),
        "array without elements": np.zeros((0, 3), "<f4"),
        "array of padded records": np.array([(1, 2.0), (3, 4.0)], padded),
        "numpy scalar": np.float32(0.1),
        "numpy time": np.datetime64("2020-01-02T03:04:05", "s"),
        "dtype": np.dtype([("a", "<i4"), ("b", ">f8", (2,))]),
        "date": dt.date(2020, 1, 2),
        "datetime": dt.datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC),
        "timedelta": dt.timedelta(days=-1, microseconds=1),
        "decimal": decimal.Decimal("-1.20E+5"),
        "fraction": fractions.Fraction(1, 3),
        "path": pathlib.PurePosixPath("/a/b.txt"),
        "uuid": uuid.UUID(int=7),
        "cycle": loop(),
        "deep chain": chain(5000),
        "many paths": diamond(40),
    }


def digests() -> dict[str, str]:
    """The digests by name."""
    return {name: str(whorl.fingerprint(value)) for name, value in values().items()}


if __name__ == "__main__":
    # By the name it is imported with, not as the program __main__.
    made = importlib.import_module("tests.fingerprint.golden").digests()
    table = {"format": FORMAT, "digests": made}
    TABLE.write_text(json.dumps(table, indent=2, ensure_ascii=True) + "\n", encoding="utf-8")
