"""Records the specializations that a run uses, for other processes to compile.

With `WHORL_RECORD=FILE` every process of a program appends a line for each specialization that it
finds or compiles. What is written is checked first: the reads of the compile are made again on the
stand-ins for the arguments, and have to give the same facts. So a list never leads to another
specialization than the one that was used; what cannot be recorded is said once, and left out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from whorl import settings
from whorl.calls.binding import Binding
from whorl.calls.explanation import changes_since
from whorl.fast_dataclasses import replace
from whorl.fingerprint.names import is_started
from whorl.jit import Kernel, Specialization
from whorl.jit.compiler import target_of
from whorl.lazy import logger
from whorl.reads.trace import Trace
from whorl.signals import pass_on

from .call_list import BadCall, RecordedCall, name_of_kernel
from .description import TooLarge, describe
from .stand_in import BadNode
from .wanted import NOTHING, Wanted

__all__ = ["note", "record", "whole_call"]

log = logger("whorl.record")
_warned: Final[set[str]] = set()


def note(kernel: Kernel, values: tuple[Any, ...], specialization: Specialization) -> None:
    """Append a specialization to the list that the settings name. Nothing is ever raised."""
    path = settings.current().record.value
    try:
        line = record(kernel, values, specialization).line()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        file = os.open(path, flags, 0o600)
        try:
            os.write(file, f"{line}\n".encode("ascii"))
        finally:
            os.close(file)
    except Exception as error:  # the program goes on
        pass_on(error)
        problem = str(error) if isinstance(error, BadCall | OSError) else repr(error)
        if problem not in _warned:
            _warned.add(problem)
            log.warning("a call is not recorded: %s", problem)


def record(kernel: Kernel, values: tuple[Any, ...], specialization: Specialization) -> RecordedCall:
    """A call of a kernel as data, with the values of its parameters; `BadCall` if there is none."""
    if specialization.key is None:
        raise BadCall(kernel.lookup.name, "it is kept in one process only")
    trace = specialization.trace
    changes: Sequence[object] = ()
    wanted = Wanted.of(trace.shape.reads)
    some = [wanted.get(name, NOTHING) for name in kernel.lookup.binding.names]
    for each in (some, [None] * len(values)):  # the second: a property reads what no path names
        call = _call(kernel, values, each)
        changes = _differences(kernel, call, trace, specialization)
        if not changes:
            return replace(call, target=specialization.architecture, key=str(specialization.key))
    raise BadCall(kernel.lookup.name, f"its arguments cannot be described: {changes[0]}")


def whole_call(kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RecordedCall:
    """A call that was not compiled yet as data: everything in its arguments is described."""
    values = kernel.lookup.binding.bind(*args, **kwargs)
    return _call(kernel, values, [None] * len(values))


def _call(kernel: Kernel, values: tuple[Any, ...], wanted: Sequence[Wanted | None]) -> RecordedCall:
    name, options = name_of_kernel(kernel)
    more = options or {}
    try:
        described = describe((*values, *more.values()), (*wanted, *[None] * len(more)))
    except TooLarge as error:
        raise BadCall(kernel.lookup.name, f"its arguments hold {error}") from None
    names, roots = kernel.lookup.binding.names, described.roots
    numbers = dict(zip(names, roots, strict=False))
    args, kwargs = _arguments(kernel.lookup.binding, numbers, described.nodes)
    chosen = None if options is None else dict(zip(more, roots[len(names) :], strict=True))
    return RecordedCall(name, described.nodes, args, kwargs, chosen, _file_of(kernel))


def _arguments(
    binding: Binding, numbers: dict[str, int], nodes: list[Any]
) -> tuple[list[int], dict[str, int]]:
    """The numbers of arguments as they are passed, by position and by name."""
    args = [numbers[name] for name in binding.positional]
    for name in binding.varargs:
        args += nodes[numbers[name]][2]
    kwargs = {name: numbers[name] for name in binding.keyword}
    for name in binding.varkeywords:
        kwargs |= {nodes[key][1]: value for key, value in nodes[numbers[name]][1]}
    return args, kwargs


def _file_of(kernel: Kernel) -> str:
    """The file of a program that was started, from here if it is below; nothing for a module."""
    module = kernel.function.__module__
    file = getattr(sys.modules.get(module), "__file__", None) if is_started(module) else None
    if file is None:
        return ""
    path = Path(file).absolute()
    here = Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()


def _differences(
    kernel: Kernel, call: RecordedCall, trace: Trace, specialization: Specialization
) -> Sequence[object]:
    """What a compile would read of the stand-ins that it has not read of the arguments."""
    try:
        args, kwargs = RecordedCall.from_line(call.line()).arguments()
    except BadNode as error:
        return [error]
    lookup = kernel.lookup
    world = lookup.world(lookup.binding.bind(*args, **kwargs), target_of(kernel.compiler))
    return changes_since(trace, specialization.facts, world)
