"""The pytest plugin: options and fixtures.

    --whorl-fresh-cache       the run starts with an empty cache, which is removed afterwards
    --whorl-forbid-compile    a test that would compile something fails, with the reason

    fresh_cache               an empty cache for one test; the value is its directory
    forbid_compile            a compile in the test raises `CompileForbidden`
    recorded_events           the list of events of all kernels during the test
    audit                     compiles again for every hit, and fails the test if artifacts differ

Every run of pytest loads this module if whorl is installed, so it imports nothing else of whorl
before an option or a fixture is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.calls.events import Event

    from .auditing import Report

__all__ = ["audit", "forbid_compile", "fresh_cache", "recorded_events"]

_FRESH: Final = "--whorl-fresh-cache"
_FORBID: Final = "--whorl-forbid-compile"
_FAILURES: Final = ("stale", "not deterministic", "does not compile", "undeclared variable")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("whorl")
    group.addoption(
        _FRESH, action="store_true", help="start this run with an empty cache of compiled code"
    )
    group.addoption(
        _FORBID,
        action="store_true",
        help="fail a test that would compile something, with the reason",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Apply the options."""
    wants_fresh, forbids = config.getoption(_FRESH), config.getoption(_FORBID)
    if wants_fresh and forbids:
        raise pytest.UsageError(
            f"{_FRESH} and {_FORBID} exclude each other: a fresh cache has no hits"
        )
    if wants_fresh or forbids:
        stack = ExitStack()
        config.add_cleanup(stack.close)
        _set_up(stack, is_fresh=bool(wants_fresh))


def _set_up(stack: ExitStack, *, is_fresh: bool) -> None:
    from whorl import settings

    if is_fresh:
        from .contexts import fresh_cache as fresh

        # Child processes of tests use it too.
        directory = str(stack.enter_context(fresh()))
        _set(stack, {"WHORL_CACHE_DIR": directory, "WHORL_CACHE": "on", "WHORL_REMOTE": ""})
        return
    before = settings.current()
    stack.callback(settings.restore, before)
    settings.configure(require_hit=True)
    _set(stack, {"WHORL_REQUIRE_HIT": "1"})


def _set(stack: ExitStack, variables: dict[str, str]) -> None:
    """Set environment variables until the stack is closed."""
    for name, text in variables.items():
        before = os.environ.get(name)
        if before is None:
            stack.callback(os.environ.pop, name, None)
        else:
            stack.callback(os.environ.__setitem__, name, before)
        os.environ[name] = text


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the active options."""
    lines = []
    if config.getoption(_FRESH):
        lines.append(f"whorl: a fresh cache in {os.environ['WHORL_CACHE_DIR']}")
    if config.getoption(_FORBID):
        lines.append("whorl: nothing is compiled")
    return lines


@pytest.fixture
def fresh_cache() -> Iterator[Path]:
    """An empty cache in a temporary directory, for one test."""
    from .contexts import fresh_cache as context

    with context() as directory:
        yield directory


@pytest.fixture
def forbid_compile() -> Iterator[None]:
    """Raise `whorl.testing.CompileForbidden` for every compile in the test."""
    from .contexts import forbid_compile as context

    with context():
        yield


@pytest.fixture
def recorded_events() -> Iterator[list[Event]]:
    """The events of all kernels during the test."""
    from .contexts import recorded_events as context

    with context() as events:
        yield events


@pytest.fixture
def audit() -> Iterator[Report]:
    """Compile again for every hit of the test, and fail the test if the artifacts differ.

    The test fails if an artifact is stale, not deterministic or no longer compiles, or if the
    compiler reads undeclared variables. Churn is only reported.
    """
    from .auditing import audit as context

    with context() as report:
        yield report
    failures = [str(each) for each in report.findings if each.kind in _FAILURES]
    if failures:
        pytest.fail("whorl's audit failed:\n  " + "\n  ".join(failures), pytrace=False)
