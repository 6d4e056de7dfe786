"""The modules of the compiler import each other one way, and at their top."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import whorl.kernels

KERNELS = Path(whorl.kernels.__file__).parent


def siblings_imported(path: Path) -> set[str]:
    """The modules of its own package that a module imports, also for type checkers alone."""
    own = f"whorl.kernels.{path.parent.name}"
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level == 1 and node.module:
            imported.add(node.module)
        elif node.level == 1 or node.module == own:
            imported.update(alias.name for alias in node.names)
        elif node.module and node.module.startswith(f"{own}."):
            imported.add(node.module.removeprefix(f"{own}."))
    return imported


@pytest.mark.parametrize("package", ["emit", "lowering", "passes"])
def test_the_modules_of_a_package_of_the_compiler_have_an_order(package: str) -> None:
    paths = (KERNELS / package).glob("[a-z]*.py")
    order = TopologicalSorter({path.stem: siblings_imported(path) for path in paths})
    assert list(order.static_order())  # a CycleError names the modules of a cycle


@pytest.mark.parametrize("package", ["emit", "lowering", "passes"])
def test_the_compiler_imports_nothing_in_functions(package: str) -> None:
    for path in (KERNELS / package).glob("*.py"):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                inside = [
                    n for n in ast.walk(function) if isinstance(n, ast.Import | ast.ImportFrom)
                ]
                assert not inside, f"{path.name}:{function.name}"
