"""A kernel is what it was when it was made, whatever happens to its file until it is called."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import runpy
import sys
import threading
import weakref
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pytest

import whorl
from whorl.fingerprint import definition, source

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


def test_a_file_is_read_once_for_all_kernels_of_an_execution(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = mock.Mock(side_effect=definition._read)
    monkeypatch.setattr(definition, "_read", read)
    module: Any = files.loaded()
    made = [module.made() for _ in range(3)]
    read.assert_called_once_with(str(files.kernels))
    assert len({id(kernel.lookup.definition) for kernel in (module.k, *made)}) == 1
    importlib.reload(module)
    assert read.call_count == 2


ANNOTATED = """\
import numpy as np
import whorl


def helper(x):
    y: np.{kind} = x
    return y


@whorl.kernel
def k(x):
    return helper(x) + 0.0


def made():
    @whorl.kernel
    def inner(x):
        y: np.{kind} = x
        return y + 0.0

    return inner
"""
SINGLE = float(np.float32(0.1))


class Annotated(Files):
    """Edits that leave no trace in the code: another annotation, of the same length."""

    def write(self, *, kind: str = "float32", before: str = "") -> None:  # type: ignore[override] # other edits
        self.kernels.write_text(before + ANNOTATED.format(kind=kind))


@pytest.fixture
def annotated(files: Files, tmp_path: Path) -> Annotated:
    return Annotated(tmp_path)


def copied(files: Files) -> Any:
    """The file as it is now, as another module."""
    spec = importlib.util.spec_from_file_location("copied", files.kernels)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _executed(module: Any, files: Files) -> None:
    exec(compile(files.kernels.read_text(), str(files.kernels), "exec"), module.__dict__)


def _configured(module: Any, files: Files) -> None:
    importlib.reload(module)
    before = whorl.configure()
    whorl.configure(cache_dir=files.kernels.parent / "another")
    whorl.configure(cache_dir=before.cache_dir.value)


AGAIN: dict[str, Any] = {
    "reload": lambda module, files: importlib.reload(module),
    "the loader": lambda module, files: module.__spec__.loader.exec_module(module),
    "exec": _executed,
    "reload, another cache": _configured,
    "a copy of a function": lambda module, files: setattr(module, "helper", copied(files).helper),
    "its code alone": lambda module, files: setattr(
        module.helper, "__code__", copied(files).helper.__code__
    ),
}


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("is_called", [False, True])
def test_what_is_executed_again_is_what_it_is_now(
    annotated: Annotated, again: str, is_called: bool
) -> None:
    module: Any = annotated.loaded()
    held = module.k
    if is_called:
        assert held(0.1) == SINGLE
    annotated.write(kind="float64")
    AGAIN[again](module, annotated)
    assert (held(0.1), held.with_options(debug=True)(0.1), module.k(0.1)) == (0.1, 0.1, 0.1)


def test_what_is_not_is_what_it_was(annotated: Annotated) -> None:
    module: Any = annotated.loaded()
    annotated.write(kind="float64")
    assert (module.k(0.1), module.made()(0.1)) == (SINGLE, SINGLE)


@pytest.mark.parametrize("before", ["", "# moved\n"])
def test_it_does_not_matter_who_asks_first(annotated: Annotated, before: str) -> None:
    module: Any = annotated.loaded()
    annotated.write(kind="float64", before=before)
    whorl.fingerprint(module.helper)

    @whorl.kernel
    def other(x: Any) -> Any:
        return module.helper(x) * 1.0

    assert (other(0.1), module.k(0.1)) == (SINGLE, SINGLE)


def test_an_import_that_fails_changes_nothing(annotated: Annotated) -> None:
    module: Any = annotated.loaded()
    annotated.write(kind="float64", before="((\n")
    with pytest.raises(SyntaxError):
        importlib.reload(module)
    assert module.k(0.1) == SINGLE


def test_a_module_in_an_archive_is_read_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("in_an_archive.py", ANNOTATED.format(kind="float32"))
    monkeypatch.syspath_prepend(archive)
    module: Any = importlib.import_module("in_an_archive")
    archive.unlink()
    assert module.k(0.1) == SINGLE


def test_what_is_no_file_holds_nobody_up(tmp_path: Path) -> None:
    names = [str(tmp_path), "nowhere/there.py", "no\0name", "<nothing>"]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "fifo.py")
        names.append(str(tmp_path / "fifo.py"))
    for name in names:
        space: dict[str, Any] = {"__name__": "made"}
        code = compile("def f(x):\n    return x + 1\n", "made", "exec")
        exec(code, space)
        space["f"].__code__ = space["f"].__code__.replace(co_filename=name)
        with pytest.raises(whorl.KernelError):
            whorl.kernel(space["f"])(1)


def test_texts_live_as_long_as_kernels_of_them(files: Files) -> None:
    module: Any = files.loaded()
    kept = weakref.ref(module.k.lookup.definition)
    del sys.modules[files.names[0]]
    module = None
    source._known.clear()
    gc.collect()
    assert kept() is None


def test_a_definition_that_is_gone_is_nobodys(files: Files, tmp_path: Path) -> None:
    """A finalizer that cannot run leaves what is no more, under an address that is used again."""
    code = files.loaded().k.function.__code__
    assert definition.text_at_definition(code) is not None
    (reference,) = definition._definitions[code.co_filename]
    del sys.modules[files.names[0]]
    source._known.clear()
    gc.collect()
    assert reference() is None
    assert definition.text_at_definition(code) is None


def test_messages_have_the_lines_that_run(files: Files) -> None:
    bad = (
        "import whorl\n@whorl.kernel\ndef k(x):\n    # a\x0cb\n    a = x + 1\n    return open(a)\n"
    )
    files.kernels.write_text(bad)
    module: Any = files.loaded()
    files.kernels.write_text("# Nothing of this runs.\n" * 9)
    with pytest.raises(whorl.KernelError) as caught:
        module.k(1.0)
    assert (caught.value.line, caught.value.text) == (6, "    return open(a)")


def test_what_pytest_has_rewritten_is_said_to_be() -> None:
    @whorl.kernel
    def checked(x: Any) -> Any:
        assert x > 0
        return x

    with pytest.raises(whorl.KernelError, match="pytest has rewritten its assertions"):
        checked(1.0)


def test_threads_that_execute_one_file_at_once_have_a_text_each(annotated: Annotated) -> None:
    made: list[Any] = []
    barrier = threading.Barrier(8)

    def execute() -> None:
        barrier.wait()
        made.extend(runpy.run_path(str(annotated.kernels))["k"] for _ in range(10))

    threads = [threading.Thread(target=execute) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    annotated.write(kind="float64")
    assert {kernel(0.1) for kernel in made} == {SINGLE}
    assert len(made) == 80
