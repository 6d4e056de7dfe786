"""Items by every kind of key: found again in every process, or refused; and nothing is inserted."""

from __future__ import annotations

import enum
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from tests.jit.compilers import Make, Thing, compiles
from tests.jit.running import run
from tests.jit.test_kernel import again
from tests.parameter_names import name_of
from whorl.reads import AbsentRead, Inputs


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


class Level(enum.IntEnum):
    LOW = 1


class Perm(enum.Flag):
    R = 1
    W = 2


KEYS: list[Any] = [
    "k", "", 0, 1, -1, 2**70, b"k", None, True, 0.5, -0.0, 2j, ("a", 1), ("a", True), (),
    ((1,), b""), Mode.FAST, Level.LOW, Perm.R, (Mode.FAST, 3), frozenset((1, "a")), frozenset(),
    frozenset((Mode.FAST, Mode.SLOW)), int, np.float32, Mode, ...,
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=name_of)
def test_an_item_is_found_again_by_its_key(make: Make, key: Any) -> None:
    kernel = make(lambda inputs: inputs.arg("x").item(key).value())
    for value in (1, 2, 1):
        assert [kernel({key: value, "other": object()}) for _ in range(4)] == [value] * 4
    assert compiles(kernel) == 2
    warm = again(kernel)
    assert (warm({key: 2}), compiles(warm)) == (2, 0)


def test_the_path_of_an_item_reads_like_python(make: Make) -> None:
    for key, text in [
        (Mode.FAST, "[Mode.FAST]"), ((Mode.SLOW, 3), "[(Mode.SLOW, 3)]"), (True, "[True]"),
        (frozenset((1,)), "[frozenset({1})]"), (int, "[int]"), (0.5, "[0.5]"), (..., "[...]"),
    ]:  # fmt: skip
        kernel = make(lambda inputs, key=key: inputs.arg("x").item(key).value())
        kernel({key: 1})
        assert kernel.explain({key: 2}).changes[0].path == f"arg:x{text}"


class Telling:
    """Tells keys apart that are equal."""

    def __getitem__(self, key: Any) -> str:
        return repr(key)


def test_keys_that_are_equal_are_not_taken_for_each_other(make: Make) -> None:
    keys = (1, True, 1.0, 0, False, 0.0, -0.0, (1,), (True,), (1.0,), Level.LOW, 1 + 0j)
    kernel = make(lambda inputs: [inputs.arg("x").item(key).value() for key in keys])
    assert [kernel(Telling()) for _ in range(4)] == [list(map(repr, keys))] * 4
    assert again(kernel)(Telling()) == list(map(repr, keys))


class Local:
    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize(
    "key", [Local(), float("nan"), Perm.R | Perm.W, np.str_("a"), (Local(),), slice(1)], ids=name_of
)
def test_a_key_that_cannot_be_found_again_is_refused(make: Make, key: Any) -> None:
    kernel = make(lambda inputs: inputs.arg("x").item(key).value())
    with pytest.raises(whorl.UnsupportedRead, match=r"arg:x\[\.\.\.\]"):
        kernel(Telling())


def test_in_one_process_every_key_is_one(make: Make) -> None:
    key = Local()
    kernel = make(lambda inputs: inputs.arg("x").item(key).value(), cache="process")
    assert [kernel({key: value}) for value in (1, 2, 1, 1, 1)] == [1, 2, 1, 1, 1]
    assert compiles(kernel) == 2


def test_a_member_of_a_local_enum_is_refused_as_a_key(make: Make) -> None:
    class Inner(enum.Enum):
        A = 1

    kernel = make(lambda inputs: inputs.arg("x").item(Inner.A).value())
    with pytest.raises(whorl.UnsupportedRead, match="another process"):
        kernel({Inner.A: 1})


def look_for_k(inputs: Inputs) -> Any:
    try:
        return inputs.arg("x").item("k").value()
    except AbsentRead:
        return "absent"


class Made(defaultdict[str, int]):
    pass


class Answering(dict[str, int]):
    def __missing__(self, key: str) -> int:
        return 42


def test_looking_for_an_item_never_inserts_one(make: Make) -> None:
    kernel = make(look_for_k)
    assert [kernel({"k": 1}) for _ in range(5)] == [1] * 5
    empties: tuple[defaultdict[str, int], ...] = (defaultdict(int), Made(int))
    for empty in empties:
        assert [kernel(empty) for _ in range(5)] == ["absent"] * 5
        assert not empty
        kernel.explain(empty)
        again(kernel)(empty)
        assert not empty
        empty["k"] = 7
        assert kernel(empty) == 7
        del empty["k"]
        assert [kernel(empty), len(empty)] == ["absent", 0]


def test_what_a_class_answers_for_a_missing_key_is_read(make: Make) -> None:
    kernel = make(look_for_k)
    for _ in range(5):
        assert kernel(Answering()) == 42
        assert kernel(Counter()) == 0
        assert kernel(OrderedDict(k=3)) == 3
        assert kernel({}) == "absent"
    assert kernel(Thing()) == "absent"


PROGRAM = """
import enum
import numpy as np
import whorl
from tests.jit.compilers import Looking


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


KEYS = (Mode.FAST, (Mode.SLOW, 1), frozenset(("a", "b", "c")), True, None, b"k", int, np.float32)
compiler = Looking(lambda inputs: [inputs.arg("x").item(key).value() for key in KEYS])


@whorl.jit(compiler)
def kernel(x): ...


def main():
    kernel({key: i for i, key in enumerate(KEYS)})
    print(compiler.compiles)


if __name__ == "__main__":
    main()
"""


def test_items_are_found_in_another_process_however_it_is_started(tmp_path: Path) -> None:
    directory = tmp_path / "src"
    directory.mkdir()
    (directory / "solver.py").write_text(PROGRAM)
    assert run(directory, "solver.py", PYTHONHASHSEED="1") == "1"
    assert run(directory, "solver.py", PYTHONHASHSEED="2") == "0"
    assert run(directory, "-c", "import solver; solver.main()", PYTHONHASHSEED="3") == "0"
