"""Every test run has a cache of its own: nothing is found that an earlier one left."""

from __future__ import annotations

import os
import signal
import tempfile
from importlib.util import find_spec

_place = tempfile.TemporaryDirectory(prefix="whorl-tests-")
os.environ["WHORL_CACHE_DIR"] = _place.name

# These import the library that they are for: `make test-adapters` has it.
_ADAPTERS = {"numba": "src/whorl/adapters/numba/*"}
collect_ignore_glob = [
    pattern for library, pattern in _ADAPTERS.items() if find_spec(library) is None
]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what is started here can be stopped
