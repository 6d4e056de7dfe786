"""Lists of calls: one line of JSON for each specialization, enough to compile it elsewhere.

    {"whorl_call": 1,                      the version of this format
     "kernel": "solver:Rigid.step",        module and name
     "file": "run/solver.py",              only of a program that was started: where it was
     "args": [0, 1], "kwargs": {"n": 2},   numbers of values
     "options": {"debug": 3},              only of `kernel.with_options(...)`
     "values": [...],                      see `description`
     "target": "linux-x86-64-v3",          what it was compiled for, and the key that it had: for
     "key": "..."}                         people, and to tell what has changed since

Processes append whole lines, so they need no lock. A line that another version wrote is an error
that says so. Empty lines, and those that begin with #, are left out; equal calls count once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from whorl.errors import WhorlError
from whorl.fast_dataclasses import dataclass, field, replace
from whorl.jit import Kernel
from whorl.reads.trace import Plain

from .description import name_of
from .stand_in import BadNode, named_object, stand_ins

__all__ = ["BadCall", "RecordedCall", "read_calls", "write_calls"]

FORMAT: Final = 1
_FORMAT: Final = "whorl_call"


class BadCall(WhorlError, ValueError):
    """A line that is no call, or a call that cannot be recorded. `where` is its place."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(where, reason)
        self.where = where
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call as data: which kernel, and arguments that a compile cannot tell from the real ones.

    >>> line = '{"whorl_call": 1, "kernel": "m:f", "args": [0], "values": [["int", 3]]}'
    >>> call = RecordedCall.from_line(line)
    >>> call.kernel, call.arguments()
    ('m:f', ((3,), {}))
    """

    kernel: str
    values: list[Plain] = field(default_factory=list)
    args: list[int] = field(default_factory=list)
    kwargs: dict[str, int] = field(default_factory=dict)
    options: dict[str, int] | None = None
    file: str = ""
    target: str = ""
    key: str = ""

    def line(self) -> str:
        """The call as one line of JSON."""
        plain: dict[str, Any] = {_FORMAT: FORMAT, "kernel": self.kernel}
        if self.file:
            plain["file"] = self.file
        plain |= {"args": self.args, "kwargs": self.kwargs}
        if self.options is not None:
            plain["options"] = self.options
        plain |= {"values": self.values, "target": self.target, "key": self.key}
        return json.dumps(plain, separators=(",", ":"))

    @classmethod
    def from_line(cls, line: str | bytes, where: str = "the line") -> RecordedCall:
        """The call in a line; `BadCall` if there is none."""
        try:
            plain = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadCall(where, f"it is no JSON ({error})") from None
        if type(plain) is not dict or _FORMAT not in plain:
            raise BadCall(where, "it is no recorded call; `whorl record` writes them")
        if plain[_FORMAT] != FORMAT:
            raise BadCall(
                where,
                f"it has format {plain[_FORMAT]!r}, and this version of whorl reads {FORMAT}: "
                "record it again",
            )
        known = {name: plain[name] for name in _FIELDS if name in plain}
        for name, value in known.items():
            if type(value) is not _FIELDS[name]:
                raise BadCall(where, f"{name} is {value!r}")
        if not known.get("kernel"):
            raise BadCall(where, "it names no kernel")
        return cls(**known)

    def find_kernel(self) -> Kernel:
        """The kernel itself, imported if need be; `BadNode` if there is none of that name."""
        kernel = named_object(self.kernel)
        if not isinstance(kernel, Kernel):
            raise BadNode(f"{self.kernel} is no kernel")
        if self.options is None:
            return kernel
        values = stand_ins(self.values)
        options = {name: values[number] for name, number in self.options.items()}
        return kernel.with_options(**options)

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments by position and by name."""
        values = stand_ins(self.values)
        try:
            return (
                tuple(values[number] for number in self.args),
                {name: values[number] for name, number in self.kwargs.items()},
            )
        except (TypeError, IndexError):
            raise BadNode("an argument has no value") from None


_FIELDS: Final[dict[str, type]] = {
    "kernel": str, "values": list, "args": list, "kwargs": dict, "options": dict,
    "file": str, "target": str, "key": str,
}  # fmt: skip


def name_of_kernel(kernel: Kernel) -> tuple[str, dict[str, Any] | None]:
    """The name by which other processes find a kernel, and its options if it has others than the
    kernel of that name; `BadCall` if they do not find it."""
    reduced = kernel.__reduce__()
    named, options = (kernel, None) if isinstance(reduced, str) else reduced[1]
    function = named.function
    name = name_of(named) or f"{function.__module__}:{function.__qualname__}"
    try:
        is_there = named_object(name) is named
    except BadNode:
        is_there = False
    if not is_there:
        raise BadCall(
            named.lookup.name,
            "no other process finds it by this name; define it at the top of a module or a class",
        )
    return name, options


def read_calls(path: str | os.PathLike[str]) -> list[RecordedCall]:
    """The calls in a file, each once, in their order; `BadCall` with the line of the first bad one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_calls(Path(folder) / "calls.jsonl", [RecordedCall("m:f")])
    ...     [call.kernel for call in read_calls(Path(folder) / "calls.jsonl")]
    ['m:f']
    """
    return [*unique_calls(_calls_in(Path(path)))]


def _calls_in(path: Path) -> Iterator[RecordedCall]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith(b"#"):
                yield RecordedCall.from_line(line, f"{path.name}:{number}")


def write_calls(path: str | os.PathLike[str], calls: Iterable[RecordedCall]) -> int:
    """Write calls to a file, each once, sorted by kernel; returns their number."""
    lines = sorted(call.line() for call in unique_calls(calls))
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    return len(lines)


def unique_calls(calls: Iterable[RecordedCall]) -> Iterator[RecordedCall]:
    """Calls without those that were there before, whatever their keys were."""
    seen: set[str] = set()
    for call in calls:
        line = replace(call, target="", key="").line()
        if line not in seen:
            seen.add(line)
            yield call
