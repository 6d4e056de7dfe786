"""Two runs of a GT4Py program that differ in the order of its connectivities.

    python examples/connectivities.py          GT4Py alone: the second run gives wrong numbers
    python examples/connectivities.py exact    with whorl's keys

Needs gt4py and a C++ compiler; it compiles for a minute or two.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import sys

import gt4py.next as gtx
import numpy as np
from gt4py.next.program_processors.runners.gtfn import run_gtfn

if "exact" in sys.argv:
    import whorl.adapters.gt4py

    whorl.adapters.gt4py.install()

E = gtx.Dimension("E")
V = gtx.Dimension("V")
N = gtx.Dimension("N", kind=gtx.DimensionKind.LOCAL)
First = gtx.FieldOffset("First", source=V, target=(E, N))
Second = gtx.FieldOffset("Second", source=V, target=(E, N))


@gtx.field_operator
def weighted(v: gtx.Field[[V], float]) -> gtx.Field[[E], float]:
    return v(First[0]) + 10.0 * v(Second[0])


@gtx.program(backend=run_gtfn)
def edges(v: gtx.Field[[V], float], out: gtx.Field[[E], float]):
    weighted(v, out=out)


def table(*rows):
    return gtx.as_connectivity([E, N], codomain=V, data=np.array(rows, dtype=np.int32))


if __name__ == "__main__":  # GT4Py compiles in processes that import this again
    provider = {"First": table([0], [1], [2]), "Second": table([2], [2], [2])}
    if "reversed" in sys.argv:
        provider = dict(reversed(provider.items()))
    out = gtx.as_field([E], np.zeros(3))
    edges(gtx.as_field([V], np.array([1.0, 2.0, 3.0])), out, offset_provider=provider)
    print(*out.asnumpy())
"""


def main() -> None:
    """Run the program twice, with caches of its own."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "edges.py").write_text(PROGRAM)
        variables = {
            **os.environ,
            "GT4PY_BUILD_CACHE_LIFETIME": "persistent",
            "WHORL_CACHE_DIR": str(directory / "whorl"),
        }
        for order in ("as written", "reversed"):
            command = [sys.executable, "-W", "ignore", "edges.py", order, *sys.argv[1:]]
            done = subprocess.run(
                command, cwd=directory, env=variables, check=True, stdout=subprocess.PIPE, text=True
            )
            print(f"{order}: {done.stdout.strip()}")


if __name__ == "__main__":
    main()
