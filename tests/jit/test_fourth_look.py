"""What an attack found in facts: reads that are refused, circles, odd names, nothing at all."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from whorl.jit.kernel import Kernel
from whorl.reads import Inputs
from whorl.store import Cache, DirectoryStore, MemoryStore
from whorl.testing import recorded_events


class Looking:
    """A compiler whose code returns what a look has found."""

    name, version, toolchain, settings = "looking", "1", "none", ()
    environment: Any = {}

    def __init__(self, look: Callable[[Inputs], Any]) -> None:
        self.look = look

    def compile(self, program: whorl.Program, inputs: Inputs) -> whorl.Artifact:
        return whorl.Artifact({}, {"found": self.look(inputs)})

    def load(self, artifact: whorl.Artifact, device: str) -> Callable[..., Any]:
        return lambda *values: artifact.metadata["found"]


def made(look: Callable[[Inputs], Any], store: Cache | None = None, **options: Any) -> Kernel:
    @whorl.jit(Looking(look), store=store or Cache(MemoryStore()), **options)
    def kernel(x: Any) -> None: ...

    return kernel


def described(inputs: Inputs) -> Any:
    try:
        return ["array", *inputs.arg("x").array()]
    except whorl.UnsupportedRead as error:
        return f"none: {error.type_name}"


def counted(inputs: Inputs) -> Any:
    x, found = inputs.arg("x"), None
    for _ in range(2):  # who asks again is told again
        try:
            found = str(x.len())
        except whorl.UnsupportedRead:
            found = "nothing to count"
    return found


def test_a_read_that_was_refused_is_one_of_a_compile_that_goes_on(tmp_path: Path) -> None:
    values = [3, np.zeros(3), 4, "text", np.zeros(3, "f4"), None, np.zeros((2, 2))]
    expected = [described_plainly(value) for value in values]
    for order in (1, -1):
        kernel = made(described, Cache(DirectoryStore(tmp_path)))
        for _ in range(5):
            assert [kernel(value) for value in values[::order]] == expected[::order]
    assert kernel.stats()["compiled"] == 0
    assert kernel.explain(3).outcome == "hit"
    assert kernel.explain(object()).outcome == "miss"


def described_plainly(value: Any) -> Any:
    if type(value) is not np.ndarray:
        return f"none: {type(value).__name__}"
    return ["array", "array", value.dtype.str, value.ndim, "C", "rw"]


def test_so_it_is_of_what_cannot_be_counted() -> None:
    kernel = made(counted)
    for _ in range(5):
        assert [kernel(x) for x in (3, [1, 2], 4, (1,))] == [
            "nothing to count",
            "2",
            "nothing to count",
            "1",
        ]
    assert kernel.stats()["compiled"] == 3


def test_one_that_is_not_caught_is_raised_by_every_call() -> None:
    kernel = made(lambda inputs: list(inputs.arg("x").array()))
    assert kernel(np.zeros(2))[1] == "<f8"
    for _ in range(5):
        with pytest.raises(whorl.UnsupportedRead):
            kernel(3)
    assert kernel.stats()["compiled"] == 1


def circle() -> list[Any]:
    found: list[Any] = [1]
    found.append(found)
    return found


def nested(levels: int, kind: type) -> Any:
    found: Any = kind((1,))
    for _ in range(levels):
        found = kind((found,))
    return found


@pytest.mark.parametrize("make", [
    circle,
    *(lambda n=n, kind=kind: nested(n, kind) for n in (60, 70, 400) for kind in (list, tuple)),
])  # fmt: skip
def test_what_holds_itself_or_much_is_compiled_once(make: Callable[[], Any]) -> None:
    cache = Cache(MemoryStore())

    def deeper(kernel: Kernel, value: Any, levels: int) -> Any:
        return deeper(kernel, value, levels - 1) if levels else kernel(value)

    kernel = made(lambda inputs: bool(inputs.arg("x").value() is not None), cache)
    for levels in (0, 1, 2, 3, 50, 100):
        assert deeper(kernel, make(), levels)
    assert kernel.stats()["compiled"] == 1
    again = made(lambda inputs: bool(inputs.arg("x").value() is not None), cache)
    assert again(make())
    assert again.stats() == {"found": 1}


@pytest.mark.parametrize("kind", [list, tuple])
def test_what_is_held_again_and_again_is_not_written_as_often(kind: Any) -> None:
    value: Any = kind((1.0,))
    for _ in range(40):
        value = kind((value, value))
    kernel = made(lambda inputs: inputs.arg("x").value() is value)
    assert [kernel(value) for _ in range(5)] == [True] * 5
    assert kernel.stats()["compiled"] == 1
    assert [kernel(kind([0.0] * 20_000)) for _ in range(5)] == [False] * 5
    assert kernel.stats()["compiled"] == 2


class Uncounted:
    def __len__(self) -> int:
        raise TypeError(f"{self!r} cannot be counted")


class Counted:
    """Can be counted every second time."""

    asked = 0

    def __len__(self) -> int:
        Counted.asked += 1
        if not Counted.asked % 2:
            raise TypeError("not now")
        return 3


def test_addresses_are_no_part_of_what_is_refused() -> None:
    kernel, kept = made(counted), [Uncounted() for _ in range(5)]
    assert [kernel(x) for x in kept] == ["nothing to count"] * 5
    assert kernel.stats()["compiled"] == 1


def test_a_length_is_the_one_that_was_seen() -> None:
    kernel = made(lambda inputs: inputs.arg("x").len())
    Counted.asked = 0
    assert kernel(Counted()) == 3


def test_signatures_of_arrays_and_numbers_are_fixed() -> None:
    for cls in (np.ndarray, int, str, type(None)):
        with pytest.raises(TypeError, match="is fixed"):
            whorl.register_signature(cls, lambda value: 1)


def test_nothing_is_known_by_identity_too() -> None:
    kernel = made(lambda inputs: repr(inputs.arg("x").array()), cache="process")
    for value in (3, None):
        for _ in range(4):
            kernel(value)
    assert kernel.stats()["compiled"] == 2


def test_a_default_that_no_system_has_is_refused_by_its_name() -> None:
    class Odd(Looking):
        environment: Any = {"EC": "\ud800"}

    with pytest.raises(ValueError, match=r"Odd\.environment: 'EC'"):
        whorl.jit(Odd(described))(lambda x: None)


PLUGIN = """
import whorl
class Reading:
    name, version, toolchain, settings = "reading", "1", "t", ()
    def compile(self, program, inputs):
        return whorl.Artifact({}, {"m": inputs.function().glob("A").value()})
    def load(self, artifact, device):
        return lambda x: artifact.metadata["m"]
A = 1
@whorl.jit(Reading())
def k(x):
    return A
"""


def test_modules_may_be_named_like_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "plug.py"
    file.write_text(PLUGIN)
    module: Any = types.ModuleType("plugins/mod")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(PLUGIN, str(file), "exec"), module.__dict__)
    with recorded_events() as events:
        assert [module.k(0) for _ in range(5)] == [1] * 5
        module.A = 2
        assert module.k(0) == 2
    assert [event.what.value for event in events].count("recalled") >= 4


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names are texts there")
def test_programs_may_have_names_that_are_no_texts(tmp_path: Path) -> None:
    program = os.path.join(os.fsencode(tmp_path), b"p\xff.py")  # noqa: PTH118  # no text
    with open(program, "w") as file:  # noqa: PTH123  # so no Path
        file.write(f"{PLUGIN}\nk(0)\nprint(dict(k.stats()))\n")
    said = [
        subprocess.run(
            [sys.executable, program],
            env={**os.environ, "WHORL_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for _ in range(2)
    ]
    assert "compiled" in said[0]
    assert said[1] == "{'found': 1}\n"
