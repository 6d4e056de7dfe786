"""Results of random programs are never stale, wrong, refused or made needlessly after an edit.

`WHORL_FUZZ_PROGRAMS` and `WHORL_FUZZ_SEED` make this longer, and another one; `make fuzz` too.
"""

from __future__ import annotations

import os

from tests.processes.edit_fuzzer import Edit, Program, Said, fuzz, verdict_of
from tests.processes.edit_routes import KNOWN, ROUTES


def test_random_edits_of_random_programs_are_answered_as_the_undecorated_function_does() -> None:
    programs = int(os.environ.get("WHORL_FUZZ_PROGRAMS", "40"))
    report = fuzz(programs, int(os.environ.get("WHORL_FUZZ_SEED", "1")))
    assert report.verdicts["right"] > 3 * programs, report  # or few of them are tried at all
    assert not report.failures, "\n".join(map(str, (*report.failures, report)))


def test_every_route_that_is_known_to_fail_is_a_route() -> None:
    assert KNOWN.keys() <= ROUTES.keys()
    assert all(KNOWN.values())


def test_a_verdict_tells_stale_wrong_needless_and_refused_apart() -> None:
    program = Program("cached", ())
    must, need_not = (Edit("", program, needs) for needs in (True, False))
    old, new, kept = [("1", 1)], [("2", 1)], [("1", 0)]
    refused: Said = [("refused: UnsupportedFunction", 0)]
    assert verdict_of(must, new, new) == "right"
    assert verdict_of(must, kept, new) == "stale"
    assert verdict_of(must, old, new) == "wrong"
    assert verdict_of(need_not, kept, old) == "right"
    assert verdict_of(need_not, old, old) == "needless"
    assert verdict_of(need_not, refused, old) == "refused"
