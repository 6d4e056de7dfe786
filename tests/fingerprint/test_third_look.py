"""Digests that depended on the hash seed, or on whether one had been taken before."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import whorl

ATTRS = """
import attr, whorl

@attr.frozen
class A:
    x: int = 1

@attr.s(auto_attribs=True, hash=True, cache_hash=True)
class B:
    x: int = 1

@attr.define(eq=False)
class C:
    x: int = 1

found = [str(whorl.fingerprint(cls)) for cls in (A, B, C)]
print(found, len(set(found)))
"""


def test_classes_of_attrs_do_not_depend_on_the_hash_seed() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", ATTRS],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(found) == 1
    assert found.pop().endswith("3\n")


@pytest.mark.parametrize(
    "value",
    [
        OSError(1, "a"), OSError(2, "b", "file"), StopIteration(3), SystemExit(2), ValueError(1),
        AttributeError("x"), ExceptionGroup("m", [ValueError(1)]), KeyError("k"),
        UnicodeDecodeError("utf8", b"x", 0, 1, "r"), SyntaxError("m", ("f", 1, 2, "t")),
        ImportError("m", name="n"), NameError("n"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_looking_at_an_exception_does_not_change_it(value: Any) -> None:
    first = whorl.fingerprint(value)
    assert [whorl.fingerprint(value) for _ in range(3)] == [first] * 3
    value.note = 1
    assert whorl.fingerprint(value) != first
    del value.note
    assert whorl.fingerprint(value) == first


class Loud:
    def __init__(self, n: int) -> None:
        self.n = n

    def __repr__(self) -> str:
        raise AssertionError("nobody has asked")


def test_differences_are_shown_without_running_anybodys_code() -> None:
    (found,) = whorl.diff([Loud(1), 0], [0, 0])
    assert "Loud" in repr(found)
    (found,) = whorl.diff({"a": 1}, {"a": "b"})
    assert repr(found) == "Difference(path=\"value['a']\", left=1, right='b')"


def test_numbers_of_many_digits_are_shown() -> None:
    (found,) = whorl.diff(10**5000, 1)
    assert str(found).endswith("-> 1")
    assert repr(found).endswith("right=1)")
    (found,) = whorl.diff([[10**5000]], [7])
    assert repr(found).endswith("right=7)")
