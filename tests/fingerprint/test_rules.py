"""Rules for classes and libraries: what they may return, when they hold, how misuse is reported."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import whorl
from tests.fingerprint.programs import Programs


class Token:
    def __init__(self, text: str) -> None:
        self.text = text


@pytest.mark.parametrize("rule", [lambda t: (t, "extra"), lambda t: {"self": t}])
def test_a_rule_that_returns_something_around_the_value_is_refused(
    rule: Callable[[Token], object],
) -> None:
    with pytest.raises(whorl.UnsupportedValue, match="rule"):
        whorl.Fingerprinter({Token: rule})(Token("a"))


def test_a_rule_that_reaches_an_identity_gives_a_digest_for_this_process() -> None:
    @whorl.by_identity("handle")
    class Holder:
        def __init__(self) -> None:
            self.handle = object()

    holder = Holder()
    own = whorl.Fingerprinter({Token: lambda token: (holder is None, token.text)})
    assert type(own(Token("a"))) is whorl.ProcessDigest


def test_rules_of_a_library_hold_from_the_first_value_on() -> None:
    program = """
import whorl
whorl.fingerprint(int); whorl.fingerprint(1, by="type"); whorl.fingerprint([whorl.Digest])
import numpy as np
first = [whorl.fingerprint(np.zeros(3), by="type"), whorl.fingerprint(np.float32)]
assert first == [whorl.fingerprint(np.ones(3), by="type"), whorl.fingerprint(np.float32)]
print(*first)
"""
    fresh = """
import numpy, whorl
print(whorl.fingerprint(numpy.zeros(3), by="type"), whorl.fingerprint(numpy.float32))
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, check=True
        ).stdout
        for text in (program, fresh)
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: whorl.fingerprint(1, by=np.array([1, 2])),  # type: ignore[arg-type]  # misuse
        lambda: whorl.Fingerprinter(boundary=None),  # type: ignore[arg-type]  # misuse
        lambda: whorl.Fingerprinter({Token: whorl.exclude("text")}),
        lambda: whorl.Boundary(user="numpy"),  # type: ignore[arg-type]  # misuse
        lambda: whorl.fields(exclude=[3]),  # type: ignore[list-item]  # misuse
        lambda: whorl.Fingerprinter({int: whorl.exclude}),
    ],
)
def test_misuse_is_said_at_once(misuse: Callable[[], object]) -> None:
    with pytest.raises((TypeError, ValueError), match=r"\w+"):
        misuse()


def test_a_policy_leaves_nothing_behind_for_the_next(programs: Programs) -> None:
    module = programs.load("K = 1\ndef f(t): return K\n")
    first = whorl.Fingerprinter({Token: module.f})(Token("a"))
    module.K = 2
    assert whorl.Fingerprinter({Token: module.f})(Token("a")) != first
