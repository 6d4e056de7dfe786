"""A launch that yields in one process is resumed in another, by the label that the source names."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.processes.programs import QUICK_IMPORTS, printed

SOLVER = """\
import enum
import numpy as np
import whorl
from whorl.graph import do_while

class Stage(enum.IntEnum):
    LOAD = 0
    SIM = 1

class Outer:
    class Stage(enum.IntEnum):
        DEEP = 9

LABEL = 30

def save(self):
    with whorl.checkpoint(Outer.Stage.DEEP, yield_on=self.stop):
        self.x[2] += 1

class Solver:
    def __init__(self, x=(0, 0, 0, 0), left=2, stop=0):
        self.x = np.array(x, np.float64)
        self.left, self.stop = np.array(left, np.int32), np.array(stop, np.int32)

    @whorl.kernel
    def step(self, has_more: whorl.static = True):
        self.x[0] += 1
        while do_while(self.left):
            with whorl.checkpoint(Stage.SIM, yield_on=self.stop):
                self.x[1] += 1
            if whorl.static(has_more):
                save(self)
            self.left[()] -= 1
        with whorl.checkpoint(LABEL, yield_on=self.stop):
            self.x[3] += 1
"""
USE = """
import json, pickle, sys
import whorl.testing
from whorl import GraphStatus
with whorl.testing.recorded_events() as events:
    answer = work()
compiled = sum(event.what.value == "compiled" for event in events)
print(json.dumps([answer, compiled]))
"""


def told(folder: Path, work: str, *arguments: str, edit: tuple[str, str] | None = None) -> Any:
    """What a program returns in a process of its own, and how often it compiled."""
    text = SOLVER if edit is None else SOLVER.replace(*edit)
    assert edit is None or text != SOLVER
    home = folder / ("edited" if edit else "as it was")
    home.mkdir(exist_ok=True)
    (home / "solver.py").write_text(text)
    program = f"from solver import *\ndef work():\n{textwrap.indent(work, '    ')}\n{USE}"
    environment = {"WHORL_CACHE_DIR": str(folder / "cache")}
    if edit is None:
        environment |= QUICK_IMPORTS
    return printed("-c", program, *arguments, cwd=home, path=[home], environment=environment)


YIELDED = """\
solver = Solver(stop=1)
status = solver.step()
return pickle.dumps(status).hex(), repr(status.checkpoint)
"""
RESUMED = """\
status = pickle.loads(bytes.fromhex(sys.argv[1]))
solver = Solver(x=(1, 1, 0, 0), stop=0)
ended = solver.step.resume(from_checkpoint=status.checkpoint)
return solver.x.tolist(), ended == GraphStatus(False), status.checkpoint is Stage.SIM
"""


def test_a_status_is_resumed_in_another_process_as_its_first_call(tmp_path: Path) -> None:
    (status, label), compiled = told(tmp_path, YIELDED)
    assert (label, compiled) == ("<Stage.SIM: 1>", 1)
    answer, compiled = told(tmp_path, RESUMED, status)
    assert answer == [[1.0, 3.0, 2.0, 1.0], True, True]
    assert compiled == 0


def test_labels_are_the_objects_of_the_source_after_a_restore(tmp_path: Path) -> None:
    work = """\
solver, labels = Solver(stop=1), []
for begin in (Stage.SIM, Outer.Stage.DEEP, LABEL):
    labels.append(solver.step.resume(from_checkpoint=begin).checkpoint)
alone = Solver(stop=1).step(False).checkpoint
is_same = [labels[0] is Stage.SIM, labels[1] is Outer.Stage.DEEP, labels[2] is LABEL]
return list(map(repr, labels)), is_same, alone is Stage.SIM
"""
    wanted = [["<Stage.SIM: 1>", "<Stage.DEEP: 9>", "30"], [True] * 3, True]
    assert told(tmp_path, work) == [wanted, 2]
    assert told(tmp_path, work) == [wanted, 0]


def test_a_restored_specialization_has_its_own_checkpoints_and_no_others(tmp_path: Path) -> None:
    work = """\
found = []
for more in (True, False, True, False):
    try:
        Solver().step.resume(more, from_checkpoint=-1)
    except whorl.UnknownCheckpoint as error:
        found.append([int(label) for label in error.known])
return found
"""
    for compiled in (2, 0):
        assert told(tmp_path, work) == [[[1, 9, 30], [1, 30]] * 2, compiled]


@pytest.mark.parametrize(
    ("edit", "answer"),
    [
        (("SIM = 1", "SIM = 5"), ["<Stage.SIM: 5>", [5, 9, 30]]),
        (("LOAD = 0", "LOAD = 0  # first"), ["<Stage.SIM: 1>", [1, 9, 30]]),
        (("DEEP = 9", "DEEP = 8"), ["<Stage.SIM: 1>", [1, 8, 30]]),
        (("LABEL = 30", "LABEL = 31"), ["<Stage.SIM: 1>", [1, 9, 31]]),
        (("SIM = 1", "RUN = 1"), None),
    ],
    ids=["renumbered", "commented", "nested", "constant", "renamed"],
)
def test_an_edited_label_is_a_new_specialization(
    tmp_path: Path, edit: tuple[str, str], answer: Any
) -> None:
    work = """\
solver = Solver(stop=1)
try:
    status = solver.step()
    solver.step.resume(from_checkpoint=77)
except whorl.UnknownCheckpoint as error:
    return repr(status.checkpoint), list(map(int, error.known))
except whorl.KernelError as error:
    return error.what
"""
    told(tmp_path, work)
    if answer is None:
        found, compiled = told(tmp_path, work, edit=edit)
        assert "without an attribute 'SIM'" in found
        assert compiled == 0
        return
    is_same = "#" in edit[1]
    assert told(tmp_path, work, edit=edit) == [answer, 0 if is_same else 1]
    assert told(tmp_path, work, edit=edit) == [answer, 0]


def test_a_status_of_a_member_that_was_renumbered_is_still_that_member(tmp_path: Path) -> None:
    (status, _), _ = told(tmp_path, YIELDED)
    work = """\
status = pickle.loads(bytes.fromhex(sys.argv[1]))
solver = Solver(x=(1, 1, 0, 0))
solver.step.resume(from_checkpoint=status.checkpoint)
return repr(status.checkpoint), solver.x.tolist()
"""
    edited = ("LOAD = 0\n    SIM = 1", "LOAD = 1\n    SIM = 0")
    assert told(tmp_path, work, status, edit=edited) == [
        ["<Stage.SIM: 0>", [1.0, 3.0, 2.0, 1.0]],
        1,
    ]


def test_a_status_of_a_member_that_is_gone_says_so(tmp_path: Path) -> None:
    (status, _), _ = told(tmp_path, YIELDED)
    work = """\
try:
    pickle.loads(bytes.fromhex(sys.argv[1]))
except LookupError as error:
    return str(error)
"""
    found, _ = told(tmp_path, work, status, edit=("SIM = 1", "RUN = 1"))
    assert found == "the status names Stage.SIM, which is no member of Stage any more; " \
        "it has LOAD, RUN"  # fmt: skip
