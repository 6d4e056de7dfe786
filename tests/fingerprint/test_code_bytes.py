"""Code objects as bytes: all that they are but for the place of their file."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from whorl.fingerprint.bytecode import raw_bytes

TEXT = """
def f(a, b=(1, 2), *c, d: int = 3, **k):
    "A docstring."
    x = [q for q in a if q in {"a", "b", 3, None}]

    def g(y):
        return y + a + 1.5 + 2j if y in {"c", "d", "e"} else ...

    return g(x), (1, ("e", b"f")), ..., None, -0.0, 10**30, lambda: {b"g", "h"}
"""


def code_of(text: str, filename: str = "there.py") -> types.CodeType:
    names: dict[str, object] = {}
    exec(compile(text, filename, "exec"), names)
    found = names["f"]
    assert isinstance(found, types.FunctionType)
    return found.__code__


EDITS = {
    "a variable": ("x =", "z ="),
    "a constant": ("1.5", "2.5"),
    "the sign of zero": ("-0.0", "0.0"),
    "a set": ('"d", ', '"x", '),
    "a default of a parameter's annotation aside, its name": ("*c", "*e"),
    "a nested constant": ('("e"', '("x"'),
    "bytes for a text": ('b"g"', '"g"'),
    "a docstring": ("docstring", "something"),
    "a kind of parameter": ("b=(1, 2), *c", "*c, b=(1, 2)"),
    "a place": ("def f", "\ndef f"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_every_difference_is_one(edit: str) -> None:
    before, after = EDITS[edit]
    assert before in TEXT
    assert raw_bytes(code_of(TEXT)) != raw_bytes(code_of(TEXT.replace(before, after)))


def test_where_the_file_lies_is_none() -> None:
    assert raw_bytes(code_of(TEXT)) == raw_bytes(code_of(TEXT, "another/place/of/it.py"))


def test_a_text_that_is_named_like_the_file_counts_at_its_place() -> None:
    one = code_of("def f():\n    a = 1; b = 'there.py'\n")
    other = one.replace(co_consts=tuple(reversed(one.co_consts)))
    nested = one.replace(co_consts=(*one.co_consts, one))
    assert len({raw_bytes(each) for each in (one, other, nested)}) == 3
    assert len({raw_bytes(each.replace(co_names=("there.py",))) for each in (one, other)}) == 2


def test_they_are_the_same_in_every_process(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nfrom tests.fingerprint.test_code_bytes import TEXT, code_of\n"
        "from whorl.fingerprint.bytecode import raw_bytes\n"
        "print(raw_bytes(code_of(TEXT)).hex())\n"
    )
    root = Path(__file__).parents[2]
    said = {
        subprocess.run(
            [sys.executable, program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout.strip()
        for seed in ("0", "1", "2", "3")
    }
    assert said == {raw_bytes(code_of(TEXT)).hex()}


def test_a_module_from_its_bytecode_has_the_same(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text(TEXT)
    program = (
        "import kept\nfrom whorl.fingerprint.bytecode import raw_bytes\n"
        "print(kept.__spec__.loader is not None, raw_bytes(kept.f.__code__).hex())\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for _ in range(2)  # compiled, and then read
    }
    assert len(said) == 1
    assert list(tmp_path.glob("__pycache__/kept.*.pyc"))
