"""Edits one pass after the other, and shows what each edit has redone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

SOURCE = """\
given width height
area = width * height
scale = 2 + 3
unused = area * 100
result = area * scale + width * 1
"""

# (what is edited, the file, the old text, the new text)
EDITS = (
    ("nothing", "", "", ""),
    ("a comment in the program", "program.txt", "given", "# an area\ngiven"),
    ("a comment in a pass", "pipeline/lower.py", "class Lowering", "# slowly\nclass Lowering"),
    ("a pass: x + 0 is x, too", "pipeline/optimise.py", 'sign == "*" and right == 1.0',
     '(sign, right) in (("*", 1.0), ("+", 0.0))'),
    ("the configuration of a pass", "pipeline/build.py", "level=1", "level=0"),
    ("a constant of the generator", "pipeline/generate.py", 'INDENT = "    "', 'INDENT = "  "'),
    ("the parser", "pipeline/parse.py", 'partition("#")', 'partition(";")[0].partition("#")'),
    ("the program", "program.txt", "2 + 3", "2 + 4"),
)  # fmt: skip


def build(place: Path) -> Any:
    """The program, built in a process of its own."""
    variables = {**os.environ, "PYTHONPATH": str(place), "WHORL_CACHE_DIR": str(place / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "pipeline.build", str(place / "program.txt"), "3", "4"],
        env=variables, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        shutil.copytree(HERE, place / "pipeline")
        (place / "program.txt").write_text(SOURCE, encoding="utf-8")
        first = build(place)
        steps = list(first["steps"])
        print("".join(f"{name:>10}" for name in [*steps, "result"]), "  edited")
        show(first, "(the first build)")
        for what, file, old, new in EDITS:
            if file:
                text = (place / file).read_text(encoding="utf-8")
                assert text.count(old) == 1, (what, old)
                (place / file).write_text(text.replace(old, new), encoding="utf-8")
            show(build(place), what)
        print("Results of diagnose and load live in the process: each build is a new one.")


def show(built: Any, what: str) -> None:
    cells = ["ran" if ending == "ran" else "." for ending in built["steps"].values()]
    print("".join(f"{cell:>10}" for cell in [*cells, f"{built['result']:g}"]), f"  {what}")


if __name__ == "__main__":
    main()
