"""A compiler that was edited compiles again in the next process, if it can make something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.processes.programs import printed, written

# A compiler of the user's own in three modules, and a program that has it compile a function.
FILES: Final = {
    "toy/__init__.py": "",
    "toy/parts.py": '''
"""What the compiler is made of."""
WIDTH = 4
UNREAD = 1
TABLE = {"add": "+", "end": ";"}

class Base:
    def finish(self, text):
        return text + TABLE["end"]

class Back:
    def __init__(self, indent):
        self.indent = indent

    def line(self, text):
        return "." * self.indent + text

def unread():
    return UNREAD
''',
    "toy/emit.py": '''
"""A helper, one call away, that reads another module."""
from toy import parts

def emitted(left, right):
    # Adds two things.
    return f"{left} {parts.TABLE['add']} {right} : {parts.WIDTH}"
''',
    "toy/compiler.py": '''
"""The compiler itself."""
import whorl
from toy.emit import emitted
from toy.parts import Back, Base

class Toy(Base):
    name, version = "toy", "1"

    def __init__(self):
        self.back = Back(2)

    def toolchain(self):
        return "tools 1"

    def target(self):
        return whorl.Target("machine")

    def compile(self, program, inputs):
        """Make a text."""
        kind = inputs.arg("x").type()[0]
        text = self.finish(self.back.line(emitted(kind, "x")))
        return whorl.Artifact({}, {"text": text})

    def load(self, artifact, device):
        text = artifact.metadata["text"]
        return lambda x: text
''',
    "app.py": """
import json
import whorl
from toy.compiler import Toy

@whorl.jit(Toy())
def kernel(x): ...

print(json.dumps({
    "text": kernel(1), "compiled": kernel.stats()["compiled"], "explained": str(kernel.explain("")),
}))
""",
}
MADE: Final = "..int + x : 4;"


def run(folder: Path) -> dict[str, Any]:
    answer: dict[str, Any] = printed(
        "app.py",
        cwd=folder,
        path=[folder],
        environment={"WHORL_CACHE_DIR": str(folder / "store"), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return answer


def edit(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text()
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new))


# (what is edited, the file, the old text, the new text, what is made after it)
EDITS: Final = [
    ("compile", "toy/compiler.py", '"x")))', '"y")))', "..int + y : 4;"),
    ("a base class", "toy/parts.py", "text + TABLE", "text + '!' + TABLE", "..int + x : 4!;"),
    ("a helper", "toy/emit.py", 'f"{left}', 'f"{right}', "..x + x : 4;"),
    ("a constant of another module", "toy/parts.py", "WIDTH = 4", "WIDTH = 8", "..int + x : 8;"),
    ("a table of another module", "toy/parts.py", '"+"', '"-"', "..int - x : 4;"),
    ("the class of a setting", "toy/parts.py", '"." *', '"-" *', "--int + x : 4;"),
    ("the toolchain", "toy/compiler.py", '"tools 1"', '"tools 2"', MADE),
    ("the target", "toy/compiler.py", '"machine"', '"other"', MADE),
    ("the version", "toy/compiler.py", '"toy", "1"', '"toy", "2"', MADE),
    ("a setting", "toy/compiler.py", "Back(2)", "Back(3)", "...int + x : 4;"),
]  # fmt: skip
KEPT: Final = [
    ("a comment", "toy/emit.py", "# Adds two things.", "# Puts a sign between two things."),
    ("a docstring", "toy/compiler.py", '"""Make a text."""', '"""Make a line."""'),
    ("a blank line", "toy/compiler.py", "class Toy", "\n\nclass Toy"),
    ("a constant that it does not read", "toy/parts.py", "UNREAD = 1", "UNREAD = 2"),
    ("a function that it does not call", "toy/parts.py", "return UNREAD", "return -UNREAD"),
    ("a new global", "toy/emit.py", "from toy", "NEW = 1\nfrom toy"),
]


@pytest.mark.parametrize(
    ("file", "old", "new", "made"), [e[1:] for e in EDITS], ids=[e[0] for e in EDITS]
)
def test_an_edit_of_a_compiler_compiles_again(
    tmp_path: Path, file: str, old: str, new: str, made: str
) -> None:
    written(tmp_path, FILES)
    first = run(tmp_path)
    assert (first["text"], first["compiled"]) == (MADE, 1)
    edit(tmp_path, file, old, new)
    second = run(tmp_path)
    assert (second["text"], second["compiled"]) == (made, 1)


def test_an_edit_that_a_compiler_does_not_notice_compiles_nothing(tmp_path: Path) -> None:
    written(tmp_path, FILES)
    run(tmp_path)
    for what, file, old, new in KEPT:
        edit(tmp_path, file, old, new)
        again = run(tmp_path)
        assert (what, again["text"], again["compiled"]) == (what, MADE, 0)


def test_an_edit_that_is_taken_back_leads_to_the_artifact_of_before(tmp_path: Path) -> None:
    written(tmp_path, FILES)
    run(tmp_path)
    edit(tmp_path, "toy/parts.py", "WIDTH = 4", "WIDTH = 8")
    run(tmp_path)
    edit(tmp_path, "toy/parts.py", "WIDTH = 8", "WIDTH = 4")
    assert run(tmp_path)["compiled"] == 0


def test_an_explanation_names_the_code_of_the_compiler(tmp_path: Path) -> None:
    written(tmp_path, FILES)
    run(tmp_path)
    edit(tmp_path, "toy/emit.py", 'f"{left}', 'f"{right}')
    edit(tmp_path, "app.py", "kernel(1)", "str(kernel.explain(1))")
    explained = run(tmp_path)["text"]
    assert "its compiler's code, or something that it reads, has changed" in explained
    assert "\n  compiler code: " in explained


def test_a_compiler_that_counts_by_its_version_is_not_looked_into(tmp_path: Path) -> None:
    written(tmp_path, FILES)
    edit(tmp_path, "toy/compiler.py", '"toy", "1"', '"toy", "1"\n    code = "by version"')
    assert run(tmp_path)["compiled"] == 1
    edit(tmp_path, "toy/emit.py", 'f"{left}', 'f"{right}')
    assert run(tmp_path)["compiled"] == 0
    edit(tmp_path, "toy/compiler.py", '"toy", "1"', '"toy", "2"')
    assert run(tmp_path)["compiled"] == 1


def test_what_a_compiler_ignores_does_not_count(tmp_path: Path) -> None:
    written(tmp_path, FILES)
    edit(
        tmp_path,
        "toy/emit.py",
        "def emitted",
        "import threading\nLOCK = threading.Lock()\nSEEN = 1\n\ndef emitted",
    )
    edit(tmp_path, "toy/emit.py", "    # Adds", "    LOCK, SEEN\n    # Adds")
    edit(
        tmp_path,
        "toy/compiler.py",
        '"toy", "1"',
        '"toy", "1"\n    ignores = ("LOCK", "toy.emit.SEEN")',
    )
    assert run(tmp_path)["compiled"] == 1
    edit(tmp_path, "toy/emit.py", "SEEN = 1", "SEEN = 2")
    assert run(tmp_path)["compiled"] == 0
    edit(tmp_path, "toy/emit.py", 'f"{left}', 'f"{right}')
    assert run(tmp_path)["compiled"] == 1
