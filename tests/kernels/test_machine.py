# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
# Kernels take their types from the arguments.
"""What LLVM is told about the machine, and how often it compiles what."""

from __future__ import annotations

import re

import numpy as np
import pytest

import whorl
from whorl.launch.level import X86_LEVELS, host_level
from whorl.launch.machine import optimised_text


@whorl.kernel
def doubled(x):
    for i in whorl.prange(x.size):
        x[i] *= 2


def test_the_text_of_a_program_is_for_no_machine_and_its_code_is_tuned_for_this_one() -> None:
    doubled(np.ones(5))
    text = doubled.inspect("llvm")
    assert "tune-cpu" not in text
    assert "tune-cpu" in optimised_text(text, host_level())


@pytest.mark.skipif(host_level() not in X86_LEVELS[1:], reason="there is no level below the host's")
def test_code_for_a_level_below_that_of_this_machine_is_not_tuned_for_it() -> None:
    doubled(np.ones(5))
    assert "tune-cpu" not in optimised_text(doubled.inspect("llvm"), X86_LEVELS[0])


def test_numbers_in_memory_are_aligned_as_they_are_large() -> None:
    doubled(np.ones(5))
    loads = re.findall(r"load (?:i64|double), ptr \S+, align (\d+)", doubled.inspect("optimised"))
    assert set(loads) == {"8"}


def test_the_rounds_of_a_parallel_loop_are_compiled_once() -> None:
    doubled(np.ones(5))
    functions = doubled.inspect("optimised").split("\ndefine ")[1:]
    assert [function.count("fmul double") > 0 for function in functions].count(True) == 1
