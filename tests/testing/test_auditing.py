"""audit: what is doubtful about a compiler is in the report, and the calls go on."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

import whorl
from whorl import testing
from whorl.store import Cache, MemoryStore


class Looking:
    """A compiler that looks as it is told to."""

    name, version = "looking", "1"
    settings = ()
    environment = {"WHORL_TEST_DECLARED": "0"}

    def __init__(self, look: Callable[[whorl.Inputs], object]) -> None:
        self.look = look

    def compile(self, program: whorl.Program, inputs: whorl.Inputs) -> whorl.Artifact:
        return whorl.Artifact({"code": repr(self.look(inputs)).encode()})

    def load(self, artifact: whorl.Artifact, device: str) -> Callable[..., Any]:
        return lambda *_: artifact.payloads["code"]


@pytest.mark.skipif(not os.supports_bytes_environ, reason="the environment has no bytes")
def test_a_variable_is_declared_whether_it_is_read_as_text_or_as_bytes() -> None:
    def look(inputs: whorl.Inputs) -> object:
        names = (b"WHORL_TEST_DECLARED", b"WHORL_TEST_OTHER")
        return inputs.env("WHORL_TEST_DECLARED"), [os.environb.get(name) for name in names]

    @whorl.jit(Looking(look), store=Cache(MemoryStore()))
    def kernel() -> None: ...

    with testing.audit(rate=0) as report:
        kernel()
    assert [(each.kind, each.detail) for each in report.findings] == [
        ("undeclared variable", "WHORL_TEST_OTHER")
    ]


def test_a_compile_that_raises_in_an_audit_is_a_finding_and_the_hit_stays_one() -> None:
    is_broken: list[bool] = []

    def look(inputs: whorl.Inputs) -> object:
        if is_broken:
            raise LookupError("the table is gone\nand more of that")
        return inputs.arg("x").value()

    @whorl.jit(Looking(look), store=Cache(MemoryStore()))
    def kernel(x: int) -> None: ...

    first = kernel(1)
    is_broken.append(True)
    with testing.audit() as report:
        assert kernel(1) == first
        assert kernel(1) == first
        with pytest.raises(LookupError):  # that is a miss: its own compile raises
            kernel(2)
    assert [(each.kind, each.detail) for each in report.findings] == [
        ("does not compile", "a compile of this call raises LookupError: the table is gone")
    ]
    assert report.compared == 2


def test_an_audit_can_be_interrupted() -> None:
    is_stopped: list[bool] = []

    def look(inputs: whorl.Inputs) -> object:
        if is_stopped:
            raise KeyboardInterrupt
        return 1

    @whorl.jit(Looking(look), store=Cache(MemoryStore()))
    def kernel() -> None: ...

    kernel()
    is_stopped.append(True)
    with pytest.raises(KeyboardInterrupt), testing.audit():
        kernel()
