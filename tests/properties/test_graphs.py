"""Graphs that nobody wrote: compiled and interpreted they yield, resume and end alike."""

from __future__ import annotations

import copy
import importlib.util
import itertools
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import whorl
from tests.properties.graph_programs import GraphProgram, graph_program
from tests.properties.test_kernels import Drawn
from tests.property_settings import PROGRAMS

_numbers = itertools.count()


pytestmark = pytest.mark.usefixtures("no_cache")


@st.composite
def programs(draw: st.DrawFn) -> GraphProgram:
    return graph_program(Drawn(draw))


def module_of(source: str, folder: Path) -> ModuleType:
    name = f"graph_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def state_of(program: GraphProgram, n: int, x: list[int], fuel: list[int]) -> SimpleNamespace:
    arrays = {f"c{i}": np.zeros((), np.int32) for i in range(program.loops)}
    arrays |= {f"f{i}": np.zeros((), np.int32) for i in range(program.checkpoints)}
    return SimpleNamespace(
        n=n, x=np.array(x, np.float64), fuel=np.array(fuel[: program.checkpoints], np.int64),
        log=np.zeros(200_000, np.int64), count=np.zeros((), np.int64), **arrays,
    )  # fmt: skip


def launched(
    launch: Any, resume: Any, state: SimpleNamespace, host: list[tuple[int, bool]]
) -> list[tuple[Any, Any]]:
    """Every status, and all that was done until it."""
    told = []
    status = launch(state)
    for more, resets in itertools.chain(host, itertools.repeat((1, True))):
        told.append((status, snapshot(state)))
        if not status.yielded:
            return told
        state.n += more
        if resets:
            for name, array in vars(state).items():
                if name[0] == "f" and name[1:].isdigit():
                    array[()] = 0
        status = resume(state, from_checkpoint=status.checkpoint)
    raise AssertionError("the host never ends")


def snapshot(state: SimpleNamespace) -> dict[str, Any]:
    held = {name: np.array(value).tolist() for name, value in vars(state).items() if name != "log"}
    return held | {"log": state.log[: int(state.count)].tolist()}


@given(
    program=programs(),
    n=st.integers(0, 9),
    x=st.lists(st.integers(0, 9), min_size=4, max_size=4),
    fuel=st.lists(st.integers(0, 2), min_size=10, max_size=10),
    host=st.lists(st.tuples(st.integers(-2, 2), st.booleans()), max_size=4),
)
@PROGRAMS
def test_graphs_yield_and_resume_compiled_as_they_do_interpreted(
    tmp_path: Path,
    program: GraphProgram,
    n: int,
    x: list[int],
    fuel: list[int],
    host: list[tuple[int, bool]],
) -> None:
    module = module_of(program.source, tmp_path)
    try:
        kernel = whorl.kernel(module.program)
        state = state_of(program, n, x, fuel)
        twin = copy.deepcopy(state)
        try:
            compiled = launched(kernel, kernel.resume, state, host)
        except whorl.KernelError as error:
            if program.is_sure or "would not have it" not in str(error):
                raise AssertionError(program.source) from error
            reject()
        expected = launched(kernel.interpret, kernel.interpret_resumed, twin, host)
        assert compiled == expected, program.source
    finally:
        del sys.modules[module.__name__]
