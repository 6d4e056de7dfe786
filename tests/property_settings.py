"""Settings of Hypothesis for all tests: the same examples in each run of CI, new ones elsewhere."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import HealthCheck, settings

settings.register_profile(
    "whorl",
    max_examples=80,
    deadline=None,  # the first use of a class is slower than the next
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("whorl")

PROGRAMS: Final = settings(suppress_health_check=list(HealthCheck))
"""For random programs: they are large, and many of them are left out."""

MACHINES: Final = settings(max_examples=15, stateful_step_count=14)
"""For state machines: each example is a whole series of calls."""
