"""Compiles a list of calls, here or by the processes of any `concurrent.futures` executor."""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from whorl.fast_dataclasses import dataclass
from whorl.jit import Kernel
from whorl.signals import pass_on

from .call_list import BadCall, RecordedCall, read_calls
from .recording import whole_call

__all__ = ["AnyCall", "Executor", "WarmResult", "compile_line", "warm"]

AnyCall: TypeAlias = (
    RecordedCall | tuple[Kernel, tuple[Any, ...]] | tuple[Kernel, tuple[Any, ...], dict[str, Any]]
)
"""What `warm` takes: a recorded call, or a kernel with its arguments."""

_AHEAD: Final = 1024  # tasks that an executor has at a time


class Future(Protocol):
    """What `submit` of an executor returns."""

    def result(self) -> Any:
        """The result, when it is there."""

    def cancel(self) -> Any:
        """Give it up."""


class Executor(Protocol):
    """Whoever runs functions elsewhere: processes, threads, Dask, MPI."""

    def submit(self, function: Any, /, *args: Any) -> Any:
        """Have a function called; a future of its result."""


@dataclass(frozen=True, slots=True)
class WarmResult:
    """What came of one call. `outcome` is "compiled", "found", "not kept" or "failed".

    >>> WarmResult("solver:step", "failed", problem="there is no step in solver").is_ready
    False
    """

    kernel: str
    outcome: str
    seconds: float = 0.0
    key: str = ""
    problem: str = ""
    process: str = ""  # host and number

    @property
    def is_ready(self) -> bool:
        """Whether the artifact is in the cache now."""
        return self.outcome in ("compiled", "found")


def warm(
    calls: str | os.PathLike[str] | Iterable[AnyCall], executor: Executor | None = None
) -> list[WarmResult]:
    """Compile for calls, so that others find it; nothing is run. One result for each call.

    `calls` is the path of a list that `whorl record` wrote, recorded calls, or tuples of a kernel,
    its arguments and, if there are some, its arguments by name. With an executor the compiles are
    spread over its processes, which have to import the kernels' modules and to use the same cache.
    A call that cannot be compiled is a result too: `outcome` is "failed", `problem` says why.

    >>> import numpy as np, whorl
    >>> @whorl.kernel
    ... def total(x):
    ...     s = 0.0
    ...     for i in range(x.size):
    ...         s += x[i]
    ...     return s
    >>> results = whorl.warm([(total, (np.zeros(3),)), (total, (np.zeros(3, np.float32),))])
    >>> [result.is_ready for result in results]
    [True, True]
    """
    if isinstance(calls, str | os.PathLike):
        calls = read_calls(calls)
    if executor is None:
        return [_compiled(call) for call in calls]
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor has to have a method submit, as {executor!r} has not")
    every = [_recorded(call) for call in calls]
    lines = dict.fromkeys(each.line() for each in every if isinstance(each, RecordedCall))
    results = dict(zip(lines, _spread(lines, executor), strict=True))
    return [
        WarmResult(**results[each.line()]) if isinstance(each, RecordedCall) else each
        for each in every
    ]


def _spread(lines: Iterable[str], executor: Executor) -> Iterator[dict[str, Any]]:
    """The results of lines in their order, some of them ahead."""
    waiting: list[Future] = []
    try:
        for line in lines:
            waiting.append(executor.submit(compile_line, line))
            if len(waiting) >= _AHEAD:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()
    finally:
        for future in waiting:
            future.cancel()


def _recorded(call: AnyCall) -> RecordedCall | WarmResult:
    """A call that others can compile, or why there is none."""
    if isinstance(call, RecordedCall):
        return call
    kernel, args, kwargs = _live(call)
    try:
        return whole_call(kernel, args, kwargs)
    except (BadCall, TypeError) as error:  # or its arguments do not fit
        problem = error.reason if isinstance(error, BadCall) else str(error)
        return WarmResult(kernel.lookup.name, "failed", problem=problem)


def _live(call: Any) -> tuple[Kernel, tuple[Any, ...], dict[str, Any]]:
    """A kernel and its arguments; a bound method is one of its function."""
    match call:
        case (kernel, tuple() | list() as args):
            kwargs: dict[str, Any] = {}
        case (kernel, tuple() | list() as args, dict() as kwargs):
            pass
        case _:
            raise TypeError(
                "a call is a recorded one, or (kernel, arguments), or (kernel, arguments, "
                f"arguments by name), not {call!r}"
            )
    behind = getattr(kernel, "__func__", kernel)
    if not isinstance(behind, Kernel):
        raise TypeError(f"{kernel!r} is no kernel")
    first = () if behind is kernel else (kernel.__self__,)
    return behind, (*first, *args), kwargs


def compile_line(line: str) -> dict[str, Any]:
    """Compile for the call in a line; the `WarmResult` as what any transport takes."""
    result = _compiled(RecordedCall.from_line(line))
    return {
        "kernel": result.kernel, "outcome": result.outcome, "seconds": result.seconds,
        "key": result.key, "problem": result.problem, "process": result.process,
    }  # fmt: skip


def _compiled(call: AnyCall) -> WarmResult:
    """Compile for a call; whatever goes wrong with it is a result."""
    begun, process = time.perf_counter(), f"{socket.gethostname()}/{os.getpid()}"
    name = call.kernel if isinstance(call, RecordedCall) else ""
    try:
        if isinstance(call, RecordedCall):
            _make_importable(call)
            kernel = call.find_kernel()
            args, kwargs = call.arguments()
        else:
            kernel, args, kwargs = _live(call)
            name = kernel.lookup.name
        known = {each.number for each in kernel.specializations()}
        specialization = kernel.specialize(*args, **kwargs)
    except Exception as error:
        pass_on(error)
        if not isinstance(call, RecordedCall) and isinstance(error, TypeError) and not name:
            raise  # no call at all
        problem = str(error) or type(error).__name__
        return WarmResult(
            name, "failed", time.perf_counter() - begun, problem=problem, process=process
        )
    seconds = time.perf_counter() - begun
    if specialization.key is None:
        return WarmResult(name, "not kept", seconds, process=process)
    outcome = "found" if specialization.number in known else specialization.origin
    return WarmResult(name, outcome, seconds, str(specialization.key), process=process)


def _make_importable(call: RecordedCall) -> None:
    """Let a program that was started be imported from where it is, if that is here."""
    module = call.kernel.partition(":")[0]
    top = module.partition(".")[0]
    if not call.file or module in sys.modules:
        return
    try:
        is_known = importlib.util.find_spec(top) is not None
    except (ImportError, ValueError):
        is_known = False
    file = Path(call.file).absolute()
    if not is_known and file.exists():
        above = file.parents[module.count(".")]
        sys.path.append(str(above))
