"""A run of pytest in, the same with whorl's options and fixtures out.

    --whorl-fresh-cache       the run begins with an empty cache, which is gone afterwards
    --whorl-forbid-compile    a test that would compile something fails, with the reason

    fresh_cache               an empty cache for one test: the directory
    forbid_compile            whatever the test would compile raises `CompileForbidden`
    recorded_events           the events of all kernels while the test runs: a list
    audit                     what is found is compiled again and compared; doubts fail the test

Every run of pytest loads this wherever whorl is installed, so nothing else is imported before
an option or a fixture asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.jit.events import Event

    from .auditing import Report

__all__ = ["audit", "forbid_compile", "fresh_cache", "recorded_events"]

_FRESH: Final = "--whorl-fresh-cache"
_FORBID: Final = "--whorl-forbid-compile"
_DOUBTS: Final = ("stale", "not deterministic", "does not compile", "undeclared variable")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("whorl")
    group.addoption(
        _FRESH, action="store_true", help="begin with an empty cache of compiled code, for this run"
    )
    group.addoption(
        _FORBID, action="store_true", help="fail a test that would compile something, and say why"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Set up what the options ask for."""
    wants_fresh, forbids = config.getoption(_FRESH), config.getoption(_FORBID)
    if wants_fresh and forbids:
        raise pytest.UsageError(
            f"{_FRESH} and {_FORBID} exclude each other: nothing is found in a fresh cache"
        )
    if wants_fresh or forbids:
        stack = ExitStack()
        config.add_cleanup(stack.close)
        _set_up(stack, is_fresh=bool(wants_fresh))


def _set_up(stack: ExitStack, *, is_fresh: bool) -> None:
    from whorl import settings

    if is_fresh:
        from .contexts import fresh_cache as fresh

        # Processes that tests start are to use it too.
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
    """Say what is otherwise than usual."""
    said = []
    if config.getoption(_FRESH):
        said.append(f"whorl: a fresh cache in {os.environ['WHORL_CACHE_DIR']}")
    if config.getoption(_FORBID):
        said.append("whorl: nothing is compiled")
    return said


@pytest.fixture
def fresh_cache() -> Iterator[Path]:
    """An empty cache in a directory of its own, for one test."""
    from .contexts import fresh_cache as context

    with context() as directory:
        yield directory


@pytest.fixture
def forbid_compile() -> Iterator[None]:
    """Let whatever the test would compile raise `whorl.testing.CompileForbidden`."""
    from .contexts import forbid_compile as context

    with context():
        yield


@pytest.fixture
def recorded_events() -> Iterator[list[Event]]:
    """The events of all kernels while the test runs."""
    from .contexts import recorded_events as context

    with context() as events:
        yield events


@pytest.fixture
def audit() -> Iterator[Report]:
    """Compile what the test's calls find again, and fail the test if that makes something else.

    What is found stale, not deterministic, not to compile any more, or read from undeclared
    variables is a failure; that something keeps changing is in the report for whoever wants to
    look.
    """
    from .auditing import audit as context

    with context() as report:
        yield report
    doubts = [str(each) for each in report.findings if each.kind in _DOUBTS]
    if doubts:
        pytest.fail("whorl's audit has doubts:\n  " + "\n  ".join(doubts), pytrace=False)
