"""The seven programs compute what NumPy computes, on one thread and on two."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import whorl
import whorl.testing
from examples.programs import PROGRAMS, Program


@pytest.fixture(autouse=True)
def settings_as_before() -> Iterator[None]:
    before = whorl.configure()
    with whorl.testing.fresh_cache():
        yield
    whorl.settings.restore(before)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_computes_what_numpy_computes(program: Program, threads: int) -> None:
    whorl.configure(threads=threads)
    # less than one block, one that is no multiple of a block, and nothing at all
    for size in (7, 130, 0):
        *args, out = program.problem(size)
        before = out.copy()
        program.kernel(*args, out)
        np.testing.assert_allclose(out, program.reference(*args, before), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_gives_the_same_bits_for_every_number_of_threads(program: Program) -> None:
    *args, out = program.problem(130)
    found = set()
    for threads in (1, 2, 3):
        whorl.configure(threads=threads)
        program.kernel(*args, out)
        found.add(out.tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_runs_as_plain_python_too(program: Program) -> None:
    *args, out = program.problem(7)
    program.kernel(*args, out)
    compiled = out.copy()
    program.kernel.interpret(*args, out)
    np.testing.assert_allclose(compiled, out, rtol=1e-6)
