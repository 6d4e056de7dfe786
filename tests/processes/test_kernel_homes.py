"""Kernels are found again wherever they are defined: REPL, cells, exec, doctests, packages."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.processes.programs import ROOT

KERNEL = """\
import whorl
from tests.jit.compilers import Looking
SCALE = 2
look = lambda inputs: (inputs.function().glob("SCALE").value(), inputs.function().digest[:6])
compiler = Looking(look)
@whorl.jit(compiler)
def kernel(x):
    return x * SCALE

"""


def ran(directory: Path, *command: str, text: str = "", **variables: str) -> str:
    """What a process prints, with a cache beside its files."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=directory,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(directory), str(ROOT))),
            "WHORL_CACHE_DIR": str(directory.parent / "cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
            **variables,
        },
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


REPL = KERNEL + (
    "first = [kernel(1) for _ in range(4)]\n"
    "SCALE = 3\n"
    "second = [kernel(1) for _ in range(4)]\n"
    "print(len(set(first)), len(set(second)), first[0][0], second[0][0], compiler.compiles)\n"
)


@pytest.mark.parametrize("command", [("-i",), ("-i", "-q"), ("-",)], ids=["-i", "-i -q", "stdin"])
def test_a_kernel_of_a_repl_works_in_memory_and_on_disk_by_code(
    home: Path, command: tuple[str, ...]
) -> None:
    assert ran(home, *command, text=REPL) == "1 1 2 3 2"
    assert ran(home, *command, text=REPL) == "1 1 2 3 0"
    other = REPL.replace("return x * SCALE", "return x + SCALE")
    assert ran(home, *command, text=other) == "1 1 2 3 2"
    assert ran(home, *command, text="\n\n" + REPL) == "1 1 2 3 0"


def test_a_kernel_redefined_in_a_repl_is_another(home: Path) -> None:
    again = KERNEL.replace("return x * SCALE", "return x - SCALE").partition("compiler =")[2]
    text = KERNEL + "one = kernel(1)\n" + "compiler =" + again + "print(one != kernel(1))\n"
    assert ran(home, "-i", "-q", text=text) == "True"


CELLS = """
import linecache, sys, types

def run_cell(number, text, scope):
    name = f"<ipython-input-{number}-{hash(text) & 0xfff:x}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), scope)

main = sys.modules["__main__"].__dict__
KERNEL = open("cell.txt").read()
run_cell(int(sys.argv[1]), KERNEL, main)
run_cell(7, "print(kernel(1)[0], compiler.compiles, kernel.stats().get('found', 0))", main)
run_cell(8, "SCALE = 5", main)
run_cell(9, "print(kernel(1)[0])", main)
"""


def test_a_kernel_of_a_notebook_cell_is_found_by_its_text(home: Path) -> None:
    (home / "cells.py").write_text(CELLS)
    (home / "cell.txt").write_text(KERNEL)
    assert ran(home, "cells.py", "1") == "2 1 0\n5"
    assert ran(home, "cells.py", "12") == "2 0 1\n5"  # another cell number
    (home / "cell.txt").write_text("# a comment\n" + KERNEL.replace("x * SCALE", "x *  SCALE"))
    assert ran(home, "cells.py", "1") == "2 0 1\n5"
    (home / "cell.txt").write_text(KERNEL.replace("x * SCALE", "x / SCALE"))
    assert ran(home, "cells.py", "1").startswith("2 1 0")


@pytest.mark.parametrize("scope", ['{"__name__": "made_up"}', "{}", "globals()"])
def test_a_kernel_made_by_exec_is_found_by_its_code(home: Path, scope: str) -> None:
    (home / "kernel.txt").write_text(KERNEL)
    (home / "made.py").write_text(
        f"scope = {scope}\nexec(open('kernel.txt').read(), scope)\n"
        "kernel = scope['kernel']\n"
        "answers = [kernel(1)[0] for _ in range(4)]\nscope['SCALE'] = 9\n"
        "print(set(answers), kernel(1)[0], scope['compiler'].compiles)\n"
    )
    assert ran(home, "made.py") == "{2} 9 2"
    assert ran(home, "made.py") == "{2} 9 0"
    (home / "kernel.txt").write_text(KERNEL.replace("x * SCALE", "x / SCALE"))
    assert ran(home, "made.py") == "{2} 9 2"


def test_a_kernel_of_a_doctest_is_found_by_its_code(home: Path) -> None:
    lines = KERNEL.rstrip("\n").splitlines()
    prompts = [(">>> " if not line.startswith((" ", "def")) else "... ") + line for line in lines]
    text = "\n".join([*prompts, ">>> kernel(1)[0], int(open('n').read()) == compiler.compiles"])
    (home / "documented.py").write_text(f'"""\n{text}\n(2, True)\n"""\n')
    for count in ("1", "0"):
        (home / "n").write_text(count)
        assert ran(home, "-m", "doctest", "documented.py") == ""


PACKAGED = KERNEL + textwrap.dedent(
    """
    def main():
        print(kernel(1)[0], compiler.compiles)


    if __name__ == "__main__":
        main()
    """
)
STARTS = {
    "imported": ("-c", "from ns.inner import solver; solver.main()"),
    "-m": ("-m", "ns.inner.solver"),
    "by path": ("ns/inner/solver.py",),
}


def packaged(home: Path) -> Path:
    folder = home / "ns" / "inner"
    folder.mkdir(parents=True)
    (folder / "solver.py").write_text(PACKAGED)
    return folder


def test_a_module_of_a_package_is_found_however_it_is_started(home: Path) -> None:
    folder = packaged(home)
    for package in (home / "ns", folder):
        (package / "__init__.py").write_text("")
    assert [ran(home, *start) for start in STARTS.values()] == ["2 1", "2 0", "2 0"]


def test_a_module_of_a_namespace_package_is_found_however_it_is_imported(home: Path) -> None:
    packaged(home)
    assert [ran(home, *STARTS[how]) for how in ("-m", "imported", "-m")] == ["2 1", "2 0", "2 0"]


def test_a_file_of_a_namespace_package_that_is_started_is_on_its_own(home: Path) -> None:
    # Nothing beside the file says that the folders around it are packages, and what sys.path says
    # may be another thing a moment later. So it is known by its own name, to itself alone.
    packaged(home)
    found = [ran(home, *STARTS[how]) for how in ("imported", "by path", "by path", "-m")]
    assert found == ["2 1", "2 1", "2 0", "2 0"]
