"""A kernel keeps nothing alive that it has only read."""

from __future__ import annotations

import gc
import linecache
import weakref
from typing import Any

import numpy as np

from tests.jit.compilers import Make, Thing
from whorl import testing
from whorl.calls.events import Happened


def test_a_function_whose_code_was_read_is_not_kept_alive(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").code().digest)

    def made() -> tuple[Any, weakref.ref[Thing]]:
        held = Thing(data=np.zeros(10))
        return (lambda: held), weakref.ref(held)

    function, gone = made()
    kernel(function)
    kernel(function)
    del function
    gc.collect()
    assert gone() is None


def test_a_new_function_of_known_code_is_recalled_from_memory(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").code().digest)

    def made() -> Any:
        return lambda x: x

    kernel(made())
    with testing.recorded_events() as events:
        kernel(made())
    assert events[0].what is Happened.RECALLED


def test_the_generated_replays_of_a_collected_kernel_are_forgotten(make: Make) -> None:
    kernel = make(lambda inputs: inputs.option("n"), options={"n": 0})
    before = len(linecache.cache)
    for n in range(20):
        other = kernel.with_options(n=n)
        for _ in range(4):
            other()
    del other
    gc.collect()
    assert len(linecache.cache) - before < 5
