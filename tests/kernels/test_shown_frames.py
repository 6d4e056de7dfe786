"""An error about a kernel shows the user's frames and names the file or the cell."""

from __future__ import annotations

import sys
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl


@whorl.kernel
def has_a_dict(x):  # type: ignore[no-untyped-def]
    x[0] = {}


@whorl.kernel
def calls(x, y):  # type: ignore[no-untyped-def]
    x[0] = y


@whorl.kernel
def checked(x, stop):  # type: ignore[no-untyped-def]
    with whorl.checkpoint(1, yield_on=stop):
        x[0] = 1.0


class Solver:
    @whorl.kernel
    def step(self, x):  # type: ignore[no-untyped-def]
        x[0] = {}

    @whorl.kernel
    def checked(self, x, stop):  # type: ignore[no-untyped-def]
        with whorl.checkpoint(1, yield_on=stop):
            x[0] = {}

    @property
    def bad(self) -> float:
        return has_a_dict(np.zeros(1))  # type: ignore[no-any-return]


def at_first() -> None:
    has_a_dict(np.zeros(1))


def as_a_method() -> None:
    Solver().step(np.zeros(1))


def as_a_method_with_checkpoints() -> None:
    Solver().checked(np.zeros(1), np.zeros((), np.int32))


def after_native_calls() -> None:
    x = np.zeros(1)
    for _ in range(10):
        calls(x, 1.0)
    calls(x, {})


def resumed() -> None:
    checked.resume(np.zeros(1), np.zeros((), np.int32), from_checkpoint=7)


def without_a_hit() -> None:
    calls(np.zeros((1, 1, 1)), 1.0)


def unkept() -> None:
    whorl.cached(has_no_fingerprint)(object())


class Job:
    @whorl.cached
    def run(self, what: object) -> object:
        return what


def unkept_method() -> None:
    Job().run(object())


def unkept_step() -> None:
    whorl.CachedStep(has_no_fingerprint)(object())


def has_no_fingerprint(value: object) -> object:
    return value


@pytest.mark.parametrize(
    "call",
    [
        at_first, as_a_method, as_a_method_with_checkpoints, after_native_calls, resumed, unkept,
        unkept_method, unkept_step,
    ],
)  # fmt: skip
def test_the_frames_of_an_error_are_the_users(call: Callable[[], None]) -> None:
    for _ in range(2):  # what is found in a table takes another way
        with pytest.raises(whorl.WhorlError) as caught:
            call()
        frames = traceback.extract_tb(caught.value.__traceback__)
        assert {frame.filename for frame in frames} == {__file__}
        assert frames[-1].name == call.__name__
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_frames_of_the_users_inside_of_a_call_are_shown() -> None:
    @whorl.kernel
    def reads(solver, x):  # type: ignore[no-untyped-def]
        x[0] = solver.bad

    with pytest.raises(whorl.KernelError) as caught:
        reads(Solver(), np.zeros(1))
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-1] == "test_frames_of_the_users_inside_of_a_call_are_shown"
    assert "a dict is not supported" in str(caught.value)


def test_an_error_of_the_users_keeps_its_frames() -> None:
    def fails() -> object:
        raise OSError("the user's own")

    with pytest.raises(OSError, match="the user's own") as caught:
        whorl.cached(fails)()
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].name == "fails"
    assert any(Path(frame.filename).name == "cached.py" for frame in frames)


# -- cells ------------------------------------------------------------------------------

KERNEL = """\
@whorl.kernel
def in_a_cell(x):
    x[0] = helped(x[0])
"""
HELPER = """\
def helped(v):
    return v + 2.0
"""


class Shell:
    """Like IPython's: a history, names of cells, and a magic that compiles in its own way."""

    def __init__(self) -> None:
        self.history_manager = types.SimpleNamespace(input_hist_parsed=[""])
        self.compile = types.SimpleNamespace(format_code_name=self._named)
        self.scope: dict[str, Any] = {"whorl": whorl, "__name__": "__main__"}

    def _named(self, file: str) -> tuple[str, str] | None:
        return ("Cell", "In[5]") if file == "<ipython-input-5-abc>" else None

    def transform_cell(self, cell: str) -> str:
        magic, _, body = cell.partition("\n")
        if not magic.startswith("%%"):
            return cell
        return f"get_ipython().run_cell_magic({magic[2:]!r}, '', {body!r})\n"

    def run(self, cell: str) -> None:
        """Run a cell with magics at its top."""
        self.history_manager.input_hist_parsed.append(self.transform_cell(cell))
        while cell.startswith("%%"):
            cell = cell.partition("\n")[2]
        exec(compile(cell, "<timed exec>", "exec"), self.scope)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Shell:
    made = Shell()
    module = types.ModuleType("IPython")
    vars(module)["get_ipython"] = lambda: made
    monkeypatch.setitem(sys.modules, "IPython", module)
    return made


def test_a_kernel_in_a_cell_with_a_magic_is_compiled(shell: Shell) -> None:
    shell.run("%%time\n" + HELPER)
    shell.run("%%capture\n%%time\n" + KERNEL)
    x = np.ones(1)
    shell.scope["in_a_cell"](x)
    assert x[0] == 3.0
    shell.run("%%time\n" + HELPER.replace("2.0", "5.0"))
    shell.scope["in_a_cell"](x)
    assert x[0] == 8.0


def test_the_place_in_a_cell_is_the_cells_own(shell: Shell) -> None:
    shell.run("%%time\n" + HELPER.replace("v + 2.0", "{}"))
    shell.run("%%time\n" + KERNEL)
    with pytest.raises(whorl.KernelError) as caught:
        shell.scope["in_a_cell"](np.ones(1))
    first, *_ = str(caught.value).splitlines()
    assert first == "In [1]:3:12: a dict is not supported in a kernel"
    assert "called from In [2]:4: `x[0] = helped(x[0])`" in str(caught.value)


@pytest.mark.usefixtures("shell")
def test_a_cell_without_a_magic_is_called_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    import linecache

    text, file = KERNEL.replace("helped(x[0])", "{}"), "<ipython-input-5-abc>"
    monkeypatch.setitem(
        linecache.cache, file, (len(text), None, text.splitlines(keepends=True), file)
    )
    scope: dict[str, Any] = {"whorl": whorl, "__name__": "__main__"}
    exec(compile(text, file, "exec"), scope)
    with pytest.raises(whorl.KernelError, match=r"^In \[5\]:3:12: a dict is not supported"):
        scope["in_a_cell"](np.ones(1))


def test_code_that_no_cell_has_is_not_taken_for_one(shell: Shell) -> None:
    shell.run("%%time\n" + HELPER + KERNEL.replace("helped", "other"))
    scope = dict(shell.scope)
    exec(compile(HELPER + KERNEL, "<timed exec>", "exec"), scope)
    remedy = "Define it in a cell of its own, without a magic such as %%timeit at its top"
    with pytest.raises(whorl.KernelError, match="the source of in_a_cell is not found") as caught:
        scope["in_a_cell"](np.ones(1))
    assert remedy in str(caught.value)
    assert "<timed exec>" not in str(caught.value)


@pytest.mark.parametrize("magic", ["", "%%time\n", "%%capture\n", "%%capture\n%%time\n"])
def test_magics_of_ipython_leave_kernels_as_they_are(magic: str) -> None:
    shells = pytest.importorskip("IPython.core.interactiveshell")
    shell = shells.InteractiveShell.instance()
    shell.user_ns["whorl"] = whorl
    cell = magic + HELPER + KERNEL
    assert shell.run_cell(cell, store_history=True).success
    x = np.ones(1)
    shell.user_ns["in_a_cell"](x)
    assert x[0] == 3.0
    assert shell.run_cell(cell.replace("v + 2.0", "{}"), store_history=True).success
    with pytest.raises(whorl.KernelError) as caught:
        shell.user_ns["in_a_cell"](x)
    assert str(caught.value).startswith("In [")
