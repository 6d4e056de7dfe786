"""Code that is exchanged before, during or after a compile is not taken for the code before it."""

from __future__ import annotations

import threading
import types
from typing import Any

import pytest

from tests.jit.compilers import Make, as_in_a_new_process, compiles
from whorl.calls.binding import Binding
from whorl.jit import kernel_lookup as module
from whorl.reads import Inputs


def test_code_exchanged_during_a_compile_is_not_stored_as_the_new_code(make: Make) -> None:
    def one(x: Any = None) -> int:
        return 1

    def other(x: Any = None) -> int:
        return 2

    saved = one.__code__
    nested: list[Any] = []

    def look(inputs: Inputs) -> Any:
        digest = inputs.function().digest
        if not nested:
            nested.append(None)
            one.__code__ = other.__code__
            kernel.explain("elsewhere")  # as another thread's call would
            assert kernel.lookup.code is one.__code__
        return digest

    kernel = make(look, one)
    old = kernel()
    fresh = make(lambda inputs: inputs.function().digest, one)
    assert fresh() != old
    one.__code__ = saved


def test_code_may_be_exchanged_for_code_of_other_parameters(make: Make) -> None:
    def one(x: Any = None) -> int:
        return 1

    def other(a: Any, b: Any) -> int:
        return 2

    kernel = make(lambda inputs: inputs.names, one)
    assert kernel(1) == ("x",)
    one.__code__, one.__defaults__ = other.__code__, None
    assert kernel(1, 2) == ("a", "b")


def test_an_explanation_after_an_exchange_of_code_is_that_of_the_next_call(make: Make) -> None:
    def one(x: Any = None) -> int:
        return 1

    def other(x: Any = None) -> int:
        return 2

    kernel = make(lambda inputs: inputs.function().digest, one)
    kernel()
    one.__code__ = other.__code__
    assert kernel.explain().outcome == "miss"


def test_code_that_was_exchanged_while_it_was_compiled_is_not_kept(make: Make) -> None:
    def one(n: int) -> int:
        return 1

    def other(n: int) -> int:
        return 2

    first = one.__code__

    def look(inputs: Inputs) -> Any:
        one.__code__ = other.__code__
        return inputs.function().source

    kernel = make(look, one)
    kernel(1)
    one.__code__ = first
    again = as_in_a_new_process(kernel, look=lambda inputs: inputs.function().source)
    assert "return 1" in str(again(1))
    assert compiles(again) == 1


def test_a_thread_that_calls_while_a_kernel_begins_again_waits_for_that(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one(n: int) -> int:
        return 1

    def other(n: int) -> int:
        return 2

    kernel = make(lambda inputs: inputs.function().source, one)
    kernel(1)
    found: list[object] = []
    threads: list[threading.Thread] = []
    binding = Binding

    def slow(function: types.FunctionType) -> Any:
        if not threads:
            threads.append(threading.Thread(target=lambda: found.append(kernel(1))))
            threads[0].start()
            threads[0].join(0.2)
        return binding(function)

    monkeypatch.setattr(module, "Binding", slow)
    one.__code__ = other.__code__
    assert "return 2" in str(kernel(1))
    threads[0].join(5)
    assert "return 2" in str(found)
