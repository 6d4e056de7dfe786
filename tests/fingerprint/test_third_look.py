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
