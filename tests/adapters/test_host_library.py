"""The version range of a library, and warnings that are said once."""

from __future__ import annotations

import logging
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest

from whorl.adapters.host_library import HostLibrary, release, say_not_cached, say_once
from whorl.errors import UnsupportedFunction

NUMPY = release(np.__version__)
ABOVE = (NUMPY[0], NUMPY[1] + 1)


@pytest.mark.parametrize(
    ("first", "beyond", "expected"),
    [
        ((0, 1), ABOVE, True),
        (NUMPY[:2], ABOVE, True),
        ((0, 1), NUMPY[:2], False),
        (ABOVE, (99, 0), False),
    ],
)
def test_a_version_range_holds_its_first_release_and_not_the_one_beyond(
    first: tuple[int, int],
    beyond: tuple[int, int],
    expected: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    library = HostLibrary("numpy", first, beyond)
    assert library.is_supported() is expected
    assert library.is_supported() is expected
    assert len(caplog.messages) == (not expected)
    assert expected or f"this is {np.__version__}" in caplog.text


def test_a_library_that_is_not_installed_is_not_supported(caplog: pytest.LogCaptureFixture) -> None:
    library = HostLibrary("no-such-library", (0, 1), (9, 0))
    assert not library.is_supported()
    assert "it is not installed" in caplog.text
    assert library.toolchain() == "no-such-library"


@pytest.mark.filterwarnings("error")
def test_a_reason_is_said_once_and_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            say_once("a reason of this test")
            say_not_cached("solver.step", KeyError("x"))
            say_not_cached(
                "solver.lock", UnsupportedFunction("solver.lock", "cell:L", "lock", "no", "Do.")
            )
    assert caplog.messages[:2] == [
        "a reason of this test",
        "solver.step is not cached: KeyError: 'x'",
    ]
    assert len(caplog.messages) == 3
    assert caplog.messages[2].startswith("solver.lock is not cached: ")


@pytest.mark.parametrize("name", ["flydsl", "gt4py", "jax", "numba", "quadrants", "triton"])
def test_an_adapter_without_its_library_does_nothing(name: str) -> None:
    if find_spec(name) is not None:
        pytest.skip(f"{name} is installed")
    assert import_module(f"whorl.adapters.{name}").install() is False
