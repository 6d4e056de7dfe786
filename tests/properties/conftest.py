"""How hard Hypothesis looks: the same examples in every run of CI, new ones elsewhere."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "whorl",
    max_examples=80,
    deadline=None,  # the first use of a class is slower than the next
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("whorl")
