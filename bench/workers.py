"""Names of programs in, the seconds of their calls out, from a process that holds them.

A peer whose number of threads is set once per process cannot take its turns beside the others in
one process. Its programs live in a worker: a script that is asked over a pipe, performs one thing,
times it itself, and waits in a read, so that only the side whose turn it is runs.

    load PROGRAM SIZE    its data are placed, it is compiled and called once
    result PROGRAM       where the result went, as an array
    time PROGRAM CALLS   seconds of so many calls
    used                 seconds of processor time of all threads so far
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import harness
from harness import Failed, NoAnswer, Returned

IDLE_SECONDS = 0.1
"""How long a worker is watched while it has nothing to do."""


# -- The process that is asked -----------------------------------------------------------------


class Loaded(Protocol):
    """A program with its data in place: a call, which waits for its end, and what came of it."""

    def call(self) -> object: ...

    def result(self) -> Any: ...


def seconds_of(loaded: Loaded, calls: int) -> float:
    call = loaded.call
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - start


def serve(load: Callable[[str, int], Loaded]) -> None:
    """Answer until nobody asks any more; the pipe is the last argument of the command line."""
    connection: Connection[Any, Any] = Connection(int(sys.argv[-1]))
    held: dict[str, Loaded] = {}
    gc.disable()

    def answer(verb: str, program: str = "", number: int = 1) -> object:
        match verb:
            case "load":
                held[program] = load(program, number)
                held[program].call()
                gc.collect()
                gc.freeze()
                return None
            case "result":
                return held[program].result()
            case "time":
                return seconds_of(held[program], number)
            case _:
                return time.process_time()

    while True:
        try:
            question = connection.recv()
        except EOFError:
            return
        try:
            connection.send(Returned(answer(*question)))
        except Exception as error:  # whatever a peer raises is its result
            connection.send(Failed(type(error).__name__))


# -- The process that asks ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that holds programs; who asks it waits for the answer."""

    process: subprocess.Popen[bytes]
    connection: Connection[Any, Any]
    timeout_seconds: float = 60.0

    def tell(self, *question: object) -> None:
        """Ask, and do something else meanwhile; whoever has ended is found out by the answer."""
        with suppress(OSError):
            self.connection.send(question)

    def answer(self) -> Any:
        """What the last question is answered; `NoAnswer` with its name if that is a failure."""
        try:
            if not self.connection.poll(self.timeout_seconds):
                self.process.kill()
                raise NoAnswer(str(harness.TimedOut(self.timeout_seconds)))
            answer: Returned[Any] | Failed = self.connection.recv()
        except (EOFError, OSError):
            raise NoAnswer(harness.ending_of(self.process.wait())) from None
        if isinstance(answer, Failed):
            raise NoAnswer(answer.reason)
        return answer.value

    def ask(self, *question: object) -> Any:
        self.tell(*question)
        return self.answer()

    def task(self, program: str) -> harness.Elsewhere:
        """A program as a task that takes its turns among those of other processes."""
        return harness.Elsewhere(partial(self.ask, "time", program))

    def idles(self) -> bool:
        """Whether it leaves the processors to the others when it is not asked."""
        before = self.ask("used")
        time.sleep(IDLE_SECONDS)
        used: float = self.ask("used") - before
        return used < 0.05 * IDLE_SECONDS


@contextmanager
def started(script: Path, arguments: Sequence[str]) -> Iterator[Worker]:
    """A worker for as long as it is needed."""
    here, there = Pipe()
    command = [sys.executable, "-W", "ignore", str(script), *arguments, str(there.fileno())]
    process = subprocess.Popen(
        command, pass_fds=[there.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    there.close()
    try:
        yield Worker(process, here)
    finally:
        here.close()
        process.kill()
        process.wait()
