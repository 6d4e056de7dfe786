"""Hits in, doubts out: what is found again is compiled again and compared.

An audit finds compilers that read what they do not record. It compiles a sample of the hits
once more and compares the artifacts; it watches which environment variables are read during
a compile without being declared; and it counts which reads keep causing misses.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from whorl.artifacts import Artifact
from whorl.calls.events import Event, Happened, audits, listeners, watches
from whorl.jit.compiler import Program, declared_environment
from whorl.jit.kernel import Kernel
from whorl.jit.specialization import Specialization
from whorl.jit.target import Properties, Target
from whorl.reads import Inputs, Recorder

__all__ = ["Finding", "Report", "audit"]

CHURN = 5  # misses by one and the same read that are worth a finding


@dataclass(frozen=True, slots=True)
class Finding:
    """One doubt about a kernel."""

    kernel: str
    kind: str  # "stale", "not deterministic", "does not compile", "undeclared variable", "churn"
    detail: str

    def __str__(self) -> str:
        return f"{self.kernel}: {self.kind}: {self.detail}"


@dataclass
class Report:
    """What an audit has found so far.

    >>> Report().findings
    []
    """

    findings: list[Finding] = field(default_factory=list)
    compared: int = 0

    def add(self, kernel: str, kind: str, detail: str) -> None:
        """Note a finding, once."""
        finding = Finding(kernel, kind, detail)
        if finding not in self.findings:
            self.findings.append(finding)


@contextlib.contextmanager
def audit(rate: float = 1.0, *, seed: int | None = None) -> Iterator[Report]:
    """Compile a share of the calls in the block again, and report what does not agree.

    >>> with audit(rate=0.5) as report:
    ...     pass
    >>> report.compared
    0
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate is a share between 0 and 1, not {rate!r}")
    report = Report()
    chance = random.Random(seed)
    misses: Counter[tuple[str, str]] = Counter()

    def compare(
        kernel: Kernel, specialization: Specialization, values: tuple[Any, ...], target: Target
    ) -> None:
        if rate < 1 and chance.random() >= rate:
            return
        report.compared += 1
        name = f"{kernel.function.__module__}.{kernel.function.__qualname__}"
        try:
            with watch(kernel):
                first, second = (_compiled(kernel, values, target) for _ in range(2))
        except Exception as error:  # of the audit's own compile: the call has what it needs
            said = (str(error).splitlines() or [""])[0]
            what = f"{type(error).__name__}: {said}" if said else type(error).__name__
            report.add(name, "does not compile", f"a compile of this call raises {what}")
            return
        if not _agree(first, second):
            report.add(name, "not deterministic", "two compiles of one call differ")
        elif not _agree(first, specialization.artifact):
            report.add(
                name, "stale", "a compile of this call makes something else than what was found"
            )

    @contextlib.contextmanager
    def watch(kernel: Kernel) -> Iterator[None]:
        declared = declared_environment(kernel.compiler)
        name = f"{kernel.function.__module__}.{kernel.function.__qualname__}"

        def seen(variable: str) -> None:
            if variable not in declared:
                report.add(name, "undeclared variable", variable)

        with _watched_environment(seen):
            yield

    def count(event: Event) -> None:
        if event.what is Happened.MISSED:
            for change in event.detail["why"].changes:
                misses[event.kernel, change.path] += 1
                if misses[event.kernel, change.path] == CHURN:
                    report.add(event.kernel, "churn", f"{change.path} keeps changing")

    audits.append(compare)
    watches.append(watch)
    listeners.append(count)
    try:
        yield report
    finally:
        audits.remove(compare)
        watches.remove(watch)
        listeners.remove(count)


def _compiled(kernel: Kernel, values: tuple[Any, ...], target: Target) -> Artifact:
    recorder = Recorder(kernel.world(values, target), by_identity=True)
    inputs = Inputs(recorder)
    handed = replace(target, properties=Properties(inputs))
    return kernel.compiler.compile(Program(kernel.function, handed, inputs.function()), inputs)


def _agree(one: Artifact, other: Artifact) -> bool:
    def content(artifact: Artifact) -> object:
        payloads = {name: bytes(payload) for name, payload in artifact.payloads.items()}
        return payloads, repr(dict(artifact.metadata))

    return content(one) == content(other)


class _Observers(threading.local):
    """Who is told which variables this thread reads."""

    def __init__(self) -> None:
        self.told: list[Callable[[str], None]] = []


_observers: Final = _Observers()
_lock: Final = threading.Lock()
_watching = 0
_get: Final = type(os.environ).__getitem__


def _watched_get(environment: Any, name: Any) -> Any:
    for seen in _observers.told:
        seen(os.fsdecode(name) if isinstance(name, bytes) else name)  # os.environb has bytes
    return _get(environment, name)


@contextlib.contextmanager
def _watched_environment(seen: Callable[[str], None]) -> Iterator[None]:
    """Tell of every variable that this thread reads, by whatever name it has the environment."""
    global _watching  # noqa: PLW0603  # one environment, one number of those who watch it
    with _lock:
        _watching += 1
        type(os.environ).__getitem__ = _watched_get  # type: ignore[method-assign]  # to watch
    _observers.told.append(seen)
    try:
        yield
    finally:
        _observers.told.remove(seen)
        with _lock:
            _watching -= 1
            if not _watching:
                type(os.environ).__getitem__ = _get  # type: ignore[method-assign]  # as it was
