"""Run every program once and compare it with NumPy."""

from __future__ import annotations

import numpy as np

from . import PROGRAMS

for program in PROGRAMS:
    *args, out = program.problem(200)
    program.kernel(*args, out)
    difference = float(np.max(np.abs(out - program.reference(*args, out))))
    print(f"{program.name:22} largest difference to NumPy {difference:.1e}")
