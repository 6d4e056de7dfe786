"""Every test run has a cache of its own: nothing is found that an earlier one left."""

from __future__ import annotations

import os
import tempfile

_place = tempfile.TemporaryDirectory(prefix="whorl-tests-")
os.environ["WHORL_CACHE_DIR"] = _place.name
