"""Waiting is shown on a terminal, and leaves nothing there."""

from __future__ import annotations

import io
import logging
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.store.entries import cache_at, entry_of, key_of, leases_of
from whorl.store import DirectoryStore, Ending, status_line
from whorl.store.status_line import StatusLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_line, "SHOWN_AFTER", 0.0)
    monkeypatch.setattr(status_line, "LOGGED_AFTER", 0.0)


def test_on_a_terminal_there_is_a_line_while_it_lasts() -> None:
    terminal = Terminal()
    with StatusLine("process 7 to make solver.step", terminal) as line:
        line.update()
        assert "whorl: waiting for process 7 to make solver.step, 0 s" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[2K")


def test_elsewhere_it_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    stream = io.StringIO()
    with caplog.at_level(logging.INFO, "whorl"), StatusLine("the other", stream) as line:
        line.update()
        line.update()
    assert stream.getvalue() == ""
    assert [record.getMessage() for record in caplog.records] == ["waiting for the other"]


def test_a_short_wait_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_line, "SHOWN_AFTER", 60.0)
    terminal = Terminal()
    with StatusLine("the other", terminal) as line:
        line.update()
    assert terminal.getvalue() == ""


def test_a_closed_stream_is_no_trouble() -> None:
    terminal = Terminal()
    with StatusLine("the other", terminal) as line:
        line.update()
        terminal.close()
        line.update()


def test_a_stderr_that_can_only_write_is_no_trouble_to_those_who_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Writer:
        def write(self, text: str) -> None: ...

        def flush(self) -> None: ...

    held: Any = leases_of(DirectoryStore(tmp_path)).take(str(key_of(1)))
    monkeypatch.setattr(sys, "stderr", Writer())
    threading.Timer(0.8, lambda: held.release(done=True)).start()
    assert cache_at(tmp_path).obtain(key_of(1), lambda: entry_of(1)).how is Ending.PRODUCED
