"""A kernel is what it was when it was made, whatever happens to its file until it is called."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pytest

import whorl
from whorl.fingerprint import source

KERNEL = """\
import whorl

from {helpers} import factor


def added(x):
    return x + {constant}


@whorl.kernel
def k(x):
    return added(x) * factor(1.0)


def made():
    @whorl.kernel
    def inner(x):
        return x + {constant}

    return inner
"""
HELPERS = "def factor(x):\n    return x * {factor}\n"


class Files:
    """A module with a kernel and one with what it calls, as files."""

    def __init__(self, directory: Path) -> None:
        self.names = [f"{name}_{abs(hash(directory))}" for name in ("kernels", "helpers")]
        self.kernels, self.helpers = (directory / f"{name}.py" for name in self.names)
        self.write()

    def write(self, *, constant: int = 1, factor: int = 2) -> None:
        self.kernels.write_text(KERNEL.format(helpers=self.names[1], constant=constant))
        self.helpers.write_text(HELPERS.format(factor=factor))

    def loaded(self) -> ModuleType:
        importlib.invalidate_caches()
        return importlib.import_module(self.names[0])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Files]:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # which cannot tell edits of one second
    monkeypatch.syspath_prepend(tmp_path)
    made = Files(tmp_path)
    yield made
    for name in made.names:
        sys.modules.pop(name, None)


def test_an_edit_before_the_first_call_is_for_the_next_import(files: Files) -> None:
    module: Any = files.loaded()
    files.write(constant=9)
    assert module.k(1.0) == 4.0
    assert module.k(np.float32(1.0)) == 4.0  # compiled now too
    assert "x + 1" in str(source.code_digest(module.added.__code__).text)
    again: Any = importlib.reload(module)
    assert again.k(1.0) == 20.0


def test_a_file_that_is_gone_is_as_good(files: Files) -> None:
    module: Any = files.loaded()
    files.kernels.unlink()
    assert module.k(1.0) == 4.0


def test_so_is_a_kernel_with_other_options(files: Files) -> None:
    module: Any = files.loaded()
    files.write(constant=9)
    assert module.k.with_options(debug=True)(1.0) == 4.0


def test_one_that_is_made_again_and_again_is_of_the_first_time(files: Files) -> None:
    module: Any = files.loaded()
    first = module.made()
    files.write(constant=9)
    assert (first(1.0), module.made()(1.0)) == (2.0, 2.0)


def test_a_function_of_another_file_is_read_when_it_is_needed(files: Files) -> None:
    module: Any = files.loaded()
    files.write(factor=7)
    with pytest.raises(whorl.KernelError, match="that was edited since it was imported") as caught:
        module.k(1.0)
    assert "factor" in str(caught.value)
    importlib.reload(sys.modules[files.names[1]])
    assert importlib.reload(module).k(1.0) == 14.0


def test_a_kernel_that_outlives_its_module_calls_what_is_there_now(files: Files) -> None:
    module: Any = files.loaded()
    old = module.k
    assert old(1.0) == 4.0
    files.write(constant=9)
    importlib.reload(module)
    assert (old(1.0), module.k(1.0)) == (20.0, 20.0)
    assert old(np.float32(1.0)) == 20.0


def test_one_that_was_never_called_does_so_too(files: Files) -> None:
    module: Any = files.loaded()
    old = module.k
    files.write(constant=9)
    importlib.reload(module)
    assert old(1.0) == 20.0


def test_edits_within_one_tick_of_the_clock_are_seen(files: Files) -> None:
    """Of the same size, and with the same times: a file that is new is not known by its status."""
    for constant in range(1, 9):
        files.write(constant=constant)
        times = files.kernels.stat()
        os.utime(files.kernels, ns=(times.st_atime_ns, times.st_mtime_ns // 10**9 * 10**9))
        name = files.names[0]
        module: Any = importlib.reload(sys.modules[name]) if name in sys.modules else files.loaded()
        assert module.k(1.0) == 2.0 * (1 + constant)


def test_a_file_is_read_once_for_all_kernels_in_it(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_SETTLED", -1e9)  # as if it had been there for long
    text_of = mock.Mock(side_effect=source._text_of)
    monkeypatch.setattr(source, "_text_of", text_of)
    module: Any = files.loaded()
    made = [module.made() for _ in range(3)]
    text_of.assert_called_once_with(str(files.kernels))
    assert len({id(kernel._text) for kernel in (module.k, *made)}) == 1
