"""What is wrong with a graph is an error of its own at its place, before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import whorl
from tests.kernels.test_errors import loaded

HEAD = """\
import enum
import numpy as np
import whorl
from whorl.graph import do_while, parallel, parallel_context
class Stage(enum.IntEnum):
    A = 0
    B = 1
class Other(enum.IntEnum):
    X = 1
class Colour(enum.Enum):
    RED = 1
class Bits(enum.IntFlag):
    ONE = 1
NAME = "a"
def either(a, n):
    if n > 1:
        return a
    return 0.0
def staged(x, stop):
    with whorl.checkpoint(7, yield_on=stop):
        x[0] = 1
def valued(x, stop):
    staged(x, stop)
    return x[1]
def half(a):
    if a > 1:
        return a / 2
    return a
class Box:
    def __init__(self, c):
        self.c = c
        self.e = np.zeros((), np.int32)
"""
LINES = HEAD.count("\n")

FLAG = "is an int32 array without dimensions, not"
LOST = "is set before this checkpoint and used in it or after it"

ROWS: list[tuple[str, int, int, str]] = [
    # conditions and flags
    ("while do_while(x):\n    pass", 1, 20, rf"the condition of do_while {FLAG} an array f64"),
    ("while do_while(wide):\n    pass", 1, 20, rf"condition of do_while {FLAG} an array i64\[\]"),
    ("while do_while(row):\n    pass", 1, 20, rf"{FLAG} an array i32\[:\] \(arg:row\)"),
    ("while do_while(n):\n    pass", 1, 20, f"{FLAG} int"),
    ("while do_while(stop[()]):\n    pass", 1, 20, f"{FLAG} i32"),
    ("while do_while(box.c):\n    pass", 1, 20, rf"{FLAG} an array u32\[\] \(arg:box.c\)"),
    ("while do_while(box.d):\n    pass", 1, 20, "Box without an attribute 'd'"),
    ("while do_while(None):\n    pass", 1, 20, f"{FLAG} None"),
    ("while do_while():\n    pass", 1, 11, "do_while takes one condition"),
    ("while do_while(stop, stop):\n    pass", 1, 11, "do_while takes one condition"),
    ("while do_while(stop) and n > 1:\n    pass", 1, 11, "the whole test of a while"),
    ("while not do_while(stop):\n    pass", 1, 15, "the whole test of a while"),
    ("y = do_while(stop)", 1, 9, "the whole test of a while"),
    ("if do_while(stop):\n    pass", 1, 8, "the whole test of a while"),
    ("for i in whorl.prange(3):\n    while do_while(stop):\n        n", 2, 15, "inside of prange"),
    ("with whorl.checkpoint(1, yield_on=x):\n    pass", 1, 39, rf"flag of a checkpoint {FLAG}"),
    ("with whorl.checkpoint(1, yield_on=wide):\n    pass", 1, 39, rf"{FLAG} an array i64\[\]"),
    ("with whorl.checkpoint(1, yield_on=3):\n    pass", 1, 39, rf"{FLAG} int"),
    # labels
    ("with whorl.checkpoint('a', yield_on=stop):\n    pass", 1, 27, "an int or the member of an"),
    ("with whorl.checkpoint(NAME):\n    pass", 1, 27, "an int or the member of an IntEnum, not"),
    ("with whorl.checkpoint(True):\n    pass", 1, 27, r"IntEnum, not bool \(True\)"),
    ("with whorl.checkpoint(1.0):\n    pass", 1, 27, r"IntEnum, not float \(1.0\)"),
    ("with whorl.checkpoint(None):\n    pass", 1, 27, r"IntEnum, not None"),
    ("with whorl.checkpoint(Colour.RED):\n    pass", 1, 27, "(?s)Colour.*Derive the enum from"),
    ("with whorl.checkpoint(Bits.ONE):\n    pass", 1, 27, "an int or the member of an IntEnum"),
    ("with whorl.checkpoint(Stage.C):\n    pass", 1, 27, "without an attribute 'C'"),
    ("with whorl.checkpoint(n + 1):\n    pass", 1, 27, "a label is known at compile time, and"),
    ("with whorl.checkpoint(x):\n    pass", 1, 27, "an int or the member of an IntEnum, not arg:x"),
    ("with whorl.checkpoint():\n    pass", 1, 10, "a checkpoint without a label"),
    ("with whorl.checkpoint(1, stop):\n    pass", 1, 10, "whorl.checkpoint takes one label"),
    ("with whorl.checkpoint(1, flag=stop):\n    pass", 1, 35, "takes no argument 'flag'"),
    ("with whorl.checkpoint(1, label=2):\n    pass", 1, 36, "two values for 'label'"),
    (
        "with whorl.checkpoint(1):\n    pass\nwith whorl.checkpoint(1):\n    pass",
        3,
        10,
        r"there are two checkpoints 1: the other is at wrong_\d+.py:\d+",
    ),
    (
        "with whorl.checkpoint(Stage.B):\n    pass\nwith whorl.checkpoint(Other.X):\n    pass",
        3,
        10,
        "there are two checkpoints Other.X, which is Stage.B at",
    ),
    ("staged(x, stop)\nstaged(x, stop)", -12, 10, "there are two checkpoints 7"),
    # where checkpoints stand
    (
        "with whorl.checkpoint(1):\n    with whorl.checkpoint(2):\n        pass",
        2,
        14,
        "a checkpoint inside of the checkpoint 1",
    ),
    ("with whorl.checkpoint(1):\n    staged(x, stop)", -12, 10, "inside of the checkpoint 1"),
    ("for i in range(n):\n    with whorl.checkpoint(1):\n        pass", 2, 14, "of a for loop"),
    ("for v in x:\n    with whorl.checkpoint(1):\n        pass", 2, 14, "inside of a for loop"),
    ("for i in range(n):\n    staged(x, stop)", -12, 10, "inside of a for loop"),
    ("for i in whorl.prange(n):\n    staged(x, stop)", -12, 10, "inside of prange"),
    ("return valued(x, stop)", 1, 5, "returns its status, and nothing beside it"),
    ("staged(x, stop)\nif n > 1:\n    return 3\nreturn 4", 4, 5, "returns its status, and nothing"),
    ("with whorl.checkpoint(1) as c:\n    pass", 1, 33, "gives nothing to name by `as`"),
    ("with whorl.checkpoint(1), parallel():\n    pass", 1, 31, "parallel is for the sections of"),
    ("c = whorl.checkpoint(1)", 1, 9, "is the whole with statement, and no value"),
    ("with whorl.checkpoint:\n    pass", 1, 5, "with is not supported in a kernel"),
    ("with open(NAME):\n    pass", 1, 5, "with is not supported in a kernel"),
    # what a resumed launch would not have
    (
        "k = x[0]\nwith whorl.checkpoint(1):\n    x[1] = 0\nx[2] = k",
        2,
        10,
        f"'k' {LOST}",
    ),
    ("k = x[0]\nwith whorl.checkpoint(1):\n    x[1] = k", 2, 10, f"'k' {LOST}"),
    ("k = half(x[0])\nwith whorl.checkpoint(1):\n    x[1] = k", 2, 10, f"'k' {LOST}"),
    ("k = x[0]\nj = half(k)\nwith whorl.checkpoint(1):\n    x[1] = j", 3, 10, f"'j' {LOST}"),
    ("j = either(x[0], n)\nwith whorl.checkpoint(1):\n    x[1] = j", 2, 10, f"'j' {LOST}"),
    (
        "k = x[0]\nj = either(k, n)\nwith whorl.checkpoint(1):\n    pass\nx[1] = j",
        3,
        10,
        f"'j' {LOST}",
    ),
    (
        "k = x[0]\nfor i in whorl.static(range(2)):\n    if n == i:\n        break\n    k = 2.0\n"
        "with whorl.checkpoint(1):\n    pass\nx[1] = k",
        6,
        10,
        f"'k' {LOST}",
    ),
    (
        "s = 0.0\nwhile do_while(stop):\n    with whorl.checkpoint(1):\n        x[1] = 0\n"
        "    s += 1\nx[2] = s",
        3,
        14,
        f"'s' {LOST}",
    ),
    (
        "s = 0\nfor i in range(n):\n    s += i\nwith whorl.checkpoint(1):\n    pass\nx[0] = s",
        4,
        10,
        f"'s' {LOST}",
    ),
    (
        "if x[0] > 1:\n    k = 1\nelse:\n    k = 2\nwith whorl.checkpoint(1):\n    pass\nx[0] = k",
        5,
        10,
        f"'k' {LOST}",
    ),
    (
        "v = whorl.vec(1.0, 2.0)\nv[0] = x[0]\nwith whorl.checkpoint(1):\n    x[1] = v[0]",
        3,
        10,
        f"'v' {LOST}",
    ),
    (
        "r = m[row[0]]\nwith whorl.checkpoint(1):\n    r[0] = 1.0",
        2,
        10,
        f"'r' {LOST}",
    ),
    (
        "k = 0\nwhile k < n:\n    with whorl.checkpoint(1):\n        pass\n    k += 1",
        3,
        14,
        f"'k' {LOST}",
    ),
    (
        "c = stop if x[0] > 1 else box.e\nwith whorl.checkpoint(1, yield_on=c):\n    pass",
        2,
        10,
        f"'c' {LOST}",
    ),
    ("x[0] = x[1] + valued(x, stop)", -12, 10, "a value from before this checkpoint is used"),
    # sections
    ("with parallel():\n    pass", 1, 10, "parallel is for the sections of"),
    ("with parallel_context():\n    x[0] = 1", 2, 9, "parallel_context holds sections and nothing"),
    ("with parallel_context(2):\n    with parallel():\n        pass", 1, 10, "takes no arguments"),
    ("with parallel_context():\n    with parallel(2):\n        pass", 2, 14, "takes no arguments"),
    (
        "with parallel_context():\n    with parallel():\n        k = 1\nx[0] = k",
        4,
        12,
        "'k' is set inside of a parallel section",
    ),
    (
        "k = 0\nwith parallel_context():\n    with parallel():\n        k += 1",
        4,
        13,
        "'k' is set inside of a parallel section",
    ),
    (
        "with parallel_context():\n    with parallel():\n        return",
        3,
        13,
        "return out of a parallel section",
    ),
    (
        "while n:\n    with parallel_context():\n        with parallel():\n            break",
        4,
        17,
        "break out of a parallel section",
    ),
    (
        "while n:\n    with parallel_context():\n        with parallel():\n            continue",
        4,
        17,
        "continue out of a parallel section",
    ),
    (
        "with parallel_context():\n    with parallel():\n        staged(x, stop)",
        -12,
        10,
        "inside of a parallel section",
    ),
    (
        "with parallel_context():\n    with parallel():\n        x[0] = 1\n    with parallel():\n"
        "        x[1] = x[0]",
        1,
        10,
        "an element of arg:x is written in one section and used in another",
    ),
    (
        "with parallel_context():\n    with parallel():\n        stop[()] = 1\n"
        "    with parallel():\n        stop[()] = 2",
        1,
        10,
        "an element of arg:stop is written in one section and used in another",
    ),
    (
        "with parallel_context():\n    with parallel():\n        with parallel_context():\n"
        "            with parallel():\n                pass\n    with parallel():\n        pass",
        3,
        18,
        "parallel sections inside of a parallel section",
    ),
]


@pytest.mark.parametrize(("body", "line", "column", "text"), ROWS, ids=[row[0] for row in ROWS])
def test_what_is_wrong_with_a_graph_is_said_at_its_place(
    tmp_path: Path, body: str, line: int, column: int, text: str
) -> None:
    lines = "\n".join(f"    {each}" for each in body.splitlines())
    head = "@whorl.kernel\ndef k(x, m, row, wide, stop, box, n):\n"
    module = loaded(f"{HEAD}{head}{lines}\n", tmp_path)
    x, before = np.ones(4), np.ones(4)
    arguments: list[Any] = [x, np.zeros((3, 3)), np.zeros(3, np.int32), np.zeros((), np.int64)]
    arguments += [np.zeros((), np.int32), module.Box(np.zeros((), np.uint32)), 3]
    with pytest.raises(whorl.KernelError, match=text) as caught:
        module.k(*arguments)
    # A negative line counts from the end of the head: it is in a function that is called.
    wanted = LINES + line if line < 0 else LINES + 2 + line
    assert (caught.value.line, caught.value.column) == (wanted, column), str(caught.value)
    assert (x == before).all()


class Solver:
    def __init__(self) -> None:
        self.x = np.zeros(3)
        self.stop = np.zeros((), np.int32)

    @whorl.kernel
    def plain(self) -> Any:
        return self.x[0]

    @whorl.kernel
    def step(self) -> None:
        with whorl.checkpoint(1, yield_on=self.stop):
            self.x[0] += 1


@pytest.mark.parametrize("label", [{}, {"from_checkpoint": 1}])
def test_the_method_of_a_kernel_without_checkpoints_cannot_be_resumed(label: Any) -> None:
    for _ in range(2):
        with pytest.raises(whorl.NoCheckpoints, match=r"Solver\.plain has no checkpoints"):
            Solver().plain.resume(**label)


def test_a_resume_without_a_label_is_answered_alike_however_it_is_called() -> None:
    solver = Solver()
    text = r"Solver\.step\.resume\(\) needs a label: from_checkpoint=status\.checkpoint"
    for _ in range(2):
        with pytest.raises(TypeError, match=text):
            solver.step.resume()
        with pytest.raises(TypeError, match=text):
            Solver.step.resume(solver)
        solver.stop[()] = 1
        status: Any = cast("Any", solver).step()
        solver.stop[()] = 0
        solver.step.resume(from_checkpoint=status.checkpoint)
