"""What whorl logs obeys the levels of the program and is read once."""

from __future__ import annotations

import logging
import os
import subprocess
import sys


def test_a_level_that_the_program_has_set_stays() -> None:
    program = (
        "import logging; logging.getLogger('whorl').setLevel(logging.DEBUG)\n"
        "from whorl.store import default_cache; default_cache()\n"
        "print(logging.getLogger('whorl').level)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert int(done.stdout) == logging.DEBUG


def test_a_program_that_configures_logging_later_reads_everything_once() -> None:
    program = (
        "import logging; from whorl.store import default_cache; default_cache()\n"
        "logging.basicConfig(level=logging.INFO); logging.getLogger('whorl.store').info('hello')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, check=True, env={**os.environ, "WHORL_LOG": "info"},
    )  # fmt: skip
    assert done.stderr.count(b"hello") == 1
