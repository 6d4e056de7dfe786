"""Packages whose names are imported when they are asked for."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import subprocess
import sys
import types
from pathlib import Path

import pytest

import whorl

SOURCE = Path(whorl.__file__).parent
PACKAGES = sorted(
    ".".join(("whorl", *path.parent.relative_to(SOURCE).parts))
    for path in SOURCE.rglob("__init__.py")
    if "attach(" in path.read_text()
)


def test_the_packages_are_found() -> None:
    assert {"whorl", "whorl.fingerprint", "whorl.kernels", "whorl.store"} <= set(PACKAGES)


@pytest.mark.parametrize("name", PACKAGES)
def test_what_type_checkers_see_is_what_is_there(name: str) -> None:
    if name.startswith("whorl.adapters."):
        pytest.importorskip(name.rpartition(".")[2])  # the library that it is for
    package = importlib.import_module(name) if name != "whorl" else whorl
    file = sys.modules[name].__file__
    assert file is not None
    tree = ast.parse(Path(file).read_text())
    seen = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module not in ("__future__", "typing")
        for alias in node.names
    } - {"attach", "__version__"}
    package = sys.modules[name]
    assert seen == set(package.__all__)
    for public in package.__all__:
        assert getattr(package, public) is not None
        assert public in dir(package)


@pytest.mark.parametrize("name", PACKAGES)
def test_an_unknown_name_is_an_attribute_error(name: str) -> None:
    package = importlib.import_module(name)
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing_like_it'"):
        _ = package.nothing_like_it
    assert not hasattr(package, "nothing_like_it")


def test_a_function_named_like_its_module_stays_the_function_in_every_order() -> None:
    program = """
import types
import {first}
import {second}
import whorl, whorl.kernels, whorl.reads
functions = [whorl.fingerprint, whorl.jit, whorl.array, whorl.kernels.array, whorl.kernels.kernel]
assert all(isinstance(each, types.FunctionType) for each in functions), functions
from whorl import fingerprint, jit
assert isinstance(fingerprint, types.FunctionType) and isinstance(jit, types.FunctionType)
import whorl.fingerprint.digest
assert isinstance(whorl.fingerprint, types.FunctionType)
assert whorl.fingerprint(1) == fingerprint(1)
"""
    modules = ("whorl", "whorl.fingerprint", "whorl.jit.kernel", "whorl.kernels.array")
    for first in modules:
        for second in modules:
            text = program.format(first=first, second=second)
            subprocess.run([sys.executable, "-c", text], check=True)


def test_a_public_name_can_be_replaced_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(value: object) -> str:
        return "other"

    monkeypatch.setattr(whorl, "fingerprint", other)
    assert whorl.fingerprint(1) == "other"
    monkeypatch.undo()
    assert whorl.fingerprint(1) != "other"


def test_modules_are_attributes_without_being_imported_by_name() -> None:
    program = "import whorl; print(whorl.store.Found.__name__, whorl.testing.audit.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["Found", "audit"]


def test_a_room_is_imported_when_something_of_it_is_used() -> None:
    program = """
import sys
from whorl.lazy import lazy_module
options = lazy_module("whorl.options", globals())
assert "whorl.options" not in sys.modules
try:
    options.nothing_like_it
except AttributeError as error:
    print(error)
assert options is sys.modules["whorl.options"]
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "module 'whorl.options' has no attribute 'nothing_like_it'"


def lazy_users() -> list[tuple[str, ast.Module]]:
    trees = {path: ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}
    return [
        (".".join(("whorl", *path.relative_to(SOURCE).with_suffix("").parts)), tree)
        for path, tree in trees.items()
        if path.name != "lazy.py" and "= lazy_module(" in path.read_text()
    ]


@pytest.mark.parametrize(("module", "tree"), lazy_users(), ids=[name for name, _ in lazy_users()])
def test_a_lazy_module_is_the_module_that_type_checkers_see(module: str, tree: ast.Module) -> None:
    (block,) = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and "lazy_module(" in ast.unparse(node)
    ]
    seen = {
        alias.asname or alias.name: f"{importlib.util.resolve_name(place, package)}.{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for package in [module.rpartition(".")[0]]
        for place in ["." * node.level + (node.module or "")]
        for alias in node.names
    }
    seen |= {
        alias.asname: alias.name
        for node in block.body
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.asname
    }
    there = {
        ast.unparse(node.targets[0]): ast.literal_eval(node.value.args[0])
        for node in block.orelse
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
    }
    assert there
    assert {name: seen.get(name) for name in there} == there
    for name in there.values():
        importlib.import_module(name)


def test_a_front_is_still_a_module() -> None:
    assert isinstance(whorl, types.ModuleType)
    assert repr(whorl).startswith("<module 'whorl'")


def test_threads_that_import_in_opposite_orders_do_not_wait_for_each_other() -> None:
    program = """
import importlib, sys, threading
modules = "whorl.kernels.numeric_kernel whorl.jit.kernel whorl.store.cache whorl.reads.view".split()
barrier = threading.Barrier(4)
import whorl
def by_name():
    barrier.wait()
    whorl.kernel, whorl.jit, whorl.store.Cache, whorl.reads.View
def by_module(modules):
    barrier.wait()
    for name in modules: importlib.import_module(name)
threads = [
    threading.Thread(target=by_name, daemon=True),
    threading.Thread(target=by_module, args=(modules,), daemon=True),
    threading.Thread(target=by_module, args=(modules[::-1],), daemon=True),
    threading.Thread(target=lambda: (barrier.wait(), whorl.reads.Inputs), daemon=True),
]
for thread in threads: thread.start()
for thread in threads: thread.join(30)
assert not any(thread.is_alive() for thread in threads)
assert whorl.kernel and whorl.jit
"""
    for _ in range(5):
        subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_a_marker_in_an_annotation_is_found_though_nobody_has_asked_whorl_for_it() -> None:
    program = """
from __future__ import annotations
from dataclasses import dataclass
from typing import Annotated
import whorl

@dataclass
class Solver:
    tile: int
    log: Annotated[object, whorl.exclude]

print(whorl.fingerprint(Solver(1, object())) == whorl.fingerprint(Solver(1, None)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "True"


def test_the_type_hints_of_public_classes_and_functions_can_be_asked_for() -> None:
    program = """
import inspect, typing, whorl
for name in whorl.__all__:
    value = getattr(whorl, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        typing.get_type_hints(value)
typing.get_type_hints(whorl.Compiler.compile)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
