"""A serializer that finds code by its name is refused: edits of that code would go unnoticed."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import pytest

import whorl


class Mark:
    """The base of a registry."""


class Plain:
    def loads(self, data: bytes) -> str:
        return bytes(data).decode()


class Imported(Plain):
    def dumps(self, value: str) -> bytes:
        return value.encode(importlib.import_module("tests.steps.programs").__name__ and "utf-8")


class Registered(Plain):
    def dumps(self, value: str) -> bytes:
        return (value + "".join(each.__name__ for each in Mark.__subclasses__())).encode()


class Looked(Plain):
    def dumps(self, value: str) -> bytes:
        return value.encode()

    def loads(self, data: bytes) -> str:
        return bytes(data).decode() + sys.modules["tests.steps.programs"].__name__[:0]


@pytest.mark.parametrize(
    ("serializer", "used"),
    [
        (Imported(), "importlib.import_module"),
        (Registered(), ".__subclasses__"),
        (Looked(), "sys.modules"),
    ],
    ids=["import_module", "subclasses", "sys.modules"],
)
def test_a_serializer_that_finds_code_by_its_name_is_refused_with_a_remedy_that_helps(
    serializer: Any, used: str
) -> None:
    def text() -> str:
        return "v"

    with pytest.raises(whorl.UnsupportedFunction, match=used) as caught:
        whorl.cached(serializer=serializer)(text)()
    assert f"ignores=[{used!r}]" in caught.value.remedy
    kept = whorl.cached(serializer=serializer, ignores=[used])(text)
    assert [kept(), kept(), kept.stats()["ran"]] == ["v", "v", 1]


class Aside(Plain):
    """Takes something from the environment, on which no result depends."""

    def dumps(self, value: str) -> bytes:
        os.environ.get("LEVEL")
        return value.encode()


def test_other_impure_reads_of_a_serializer_are_not_refused() -> None:
    @whorl.cached(serializer=Aside())
    def text() -> str:
        return "v"

    assert [text(), text()] == ["v", "v"]
