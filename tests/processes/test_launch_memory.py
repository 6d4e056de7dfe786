"""Launches that make, return and raise arrays leave nothing behind, not even for the collector."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes.programs import QUICK_IMPORTS, printed


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads memory from /proc")
def test_launches_leave_no_memory_behind(tmp_path: Path) -> None:
    environment = {**QUICK_IMPORTS, "WHORL_CACHE_DIR": str(tmp_path)}
    left = printed("tests/processes/launch_memory.py", "20000", environment=environment)
    assert left["cyclic"] < 100, left  # one object per launch that raises would be 16,000
    assert left["blocks"] < 5_000, left
    assert left["bytes"] < 512_000, left  # one lost array per launch of a kind would be 800,000


def test_an_exception_of_a_kernel_goes_with_the_last_reference_to_it(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(
        "import whorl\n\n\n@whorl.kernel\ndef fails(x):\n    raise ValueError('no', x)\n"
    )
    program = """
import gc, json, weakref
from kernels import fails

class Held: pass

def caught():
    held = Held()
    alive.append(weakref.ref(held))
    try:
        fails(1.5)
    except ValueError as error:
        return str(error), error.__traceback__.tb_next.tb_frame.f_code.co_name

gc.disable()
alive = []
results = [caught() for _ in range(6)]
print(json.dumps([results[-1], [each() is None for each in alive]]))
"""
    result, is_gone = printed("-c", program, path=[tmp_path])
    assert result == ["('no', 1.5)", "fails"]
    assert is_gone == [True] * 6
