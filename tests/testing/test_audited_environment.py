"""An audit sees every read of the environment and leaves the environment as it was."""

from __future__ import annotations

import os
import threading
from typing import Any

import whorl
from tests.jit.compilers import Looking, empty
from whorl import testing
from whorl.reads import Inputs
from whorl.store import Cache, MemoryStore


def test_an_audit_of_two_threads_leaves_the_environment_as_it_was() -> None:
    inside = threading.Barrier(2)
    first_out = threading.Event()

    def look(inputs: Inputs) -> Any:
        inside.wait(10)
        if inputs.arg("x").type() == ("float",):
            first_out.wait(10)
        return 1

    kernel = whorl.jit(Looking(look), store=Cache(MemoryStore()))(empty)
    before = os.environ

    def work(value: Any) -> None:
        kernel(value)
        first_out.set()

    with testing.audit(rate=0):
        threads = [threading.Thread(target=work, args=(value,)) for value in (1, 1.0)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    after, os.environ = os.environ, before
    assert after is before


def test_an_audit_finds_variables_read_through_a_name_for_the_environment() -> None:
    from os import environ

    kernel = whorl.jit(
        Looking(lambda inputs: environ.get("WHORL_TEST_Z")), store=Cache(MemoryStore())
    )(empty)
    with testing.audit(rate=0) as report:
        kernel()
    assert [finding.detail for finding in report.findings] == ["WHORL_TEST_Z"]


def test_a_compile_may_merge_the_environment_while_it_is_audited() -> None:
    kernel = whorl.jit(
        Looking(lambda inputs: len(os.environ | {"A": "1"}) > 0), store=Cache(MemoryStore())
    )(empty)
    with testing.audit(rate=0):
        assert kernel() is True


PREPARATIONS: list[str | None] = []


class Preparing(Looking):
    """Reads a variable before each compile."""

    ignores = ("PREPARATIONS",)

    def before_compile(self) -> None:
        PREPARATIONS.append(os.environ.get("WHORL_TEST_Z"))


def test_what_is_read_before_a_compile_is_no_read_of_it() -> None:
    compiler = Preparing(lambda inputs: inputs.arg("x").value())
    kernel = whorl.jit(compiler, store=Cache(MemoryStore()))(empty)
    with testing.audit(rate=0) as report:
        assert [kernel(value) for value in (1, 2, 1)] == [1, 2, 1]
    assert (PREPARATIONS, report.findings) == ([None, None], [])
