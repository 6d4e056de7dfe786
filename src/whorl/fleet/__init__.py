"""Calls recorded in one run and compiled in others: lists, executors.

    recording      a run           -> a list of calls, one line of JSON for each specialization
    recorded_run   a program       -> the calls of all its processes
    call_list      a call          <-> its line
    stand_in       its arguments   <-> plain data: types, and the values that a compile has read
    warming        a list of calls -> compiled, here or by any `concurrent.futures` executor

A line says enough to compile without the data of the run. Reading one imports the modules that it
names, as running the program would, and executes nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .call_list import BadCall, RecordedCall, read_calls, write_calls
    from .warming import WarmResult, warm
else:
    __getattr__, __dir__ = attach(
        __name__,
        {"call_list": "BadCall RecordedCall read_calls write_calls", "warming": "WarmResult warm"},
    )

__all__ = ["BadCall", "RecordedCall", "WarmResult", "read_calls", "warm", "write_calls"]
