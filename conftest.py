"""Every test run has a cache of its own: nothing is found that an earlier one left."""

from __future__ import annotations

import os
import signal
import tempfile

_place = tempfile.TemporaryDirectory(prefix="whorl-tests-")
os.environ["WHORL_CACHE_DIR"] = _place.name

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what is started here can be stopped
