"""Finds compilers that read more than they record.

An audit compiles a sample of the hits again and compares the artifacts. It reports environment
variables that a compile reads without declaring them, and counts which reads keep causing misses.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from whorl.artifacts import Artifact
from whorl.calls.events import Event, Happened, audits, listeners, watches
from whorl.fingerprint.names import full_name
from whorl.jit.compiler import Compiler, Program, Properties, Target, declared_environment
from whorl.jit.kernel import Kernel
from whorl.jit.specialization import Specialization
from whorl.reads import Inputs, Recorder
from whorl.signals import pass_on
from whorl.store.installed_bundles import unused_bundles

__all__ = ["Finding", "Report", "audit"]

CHURN = 5  # misses because of the same read that are reported


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem with a kernel."""

    kernel: str
    kind: str  # "stale", "not deterministic", "does not compile", "undeclared variable", "churn"
    detail: str

    def __str__(self) -> str:
        return f"{self.kernel}: {self.kind}: {self.detail}"


@dataclass
class Report:
    """The findings of an audit.

    >>> Report().findings
    []
    """

    findings: list[Finding] = field(default_factory=list)
    compared: int = 0

    def add(self, kernel: str, kind: str, detail: str) -> None:
        """Add a finding, once."""
        finding = Finding(kernel, kind, detail)
        if finding not in self.findings:
            self.findings.append(finding)


@contextlib.contextmanager
def audit(rate: float = 1.0, *, seed: int | None = None) -> Iterator[Report]:
    """Compile again for a share of the hits in the block, and report artifacts that differ.

    Installed bundles are not asked: what they hold was made for other machines.

    >>> with audit(rate=0.5) as report:
    ...     pass
    >>> report.compared
    0
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate is a share between 0 and 1, not {rate!r}")
    running = _Audit(rate, random.Random(seed))
    audits.append(running.compare)
    watches.append(running.watch)
    listeners.append(running.count)
    try:
        with unused_bundles():
            yield running.report
    finally:
        audits.remove(running.compare)
        watches.remove(running.watch)
        listeners.remove(running.count)


@dataclass(eq=False)
class _Audit:
    """Compares hits with new compiles, and watches the environment and the misses."""

    rate: float
    chance: random.Random
    report: Report = field(default_factory=Report)
    misses: Counter[tuple[str, str]] = field(default_factory=Counter)

    def compare(
        self,
        kernel: Kernel,
        specialization: Specialization,
        values: tuple[Any, ...],
        target: Target,
    ) -> None:
        """Compile twice for a hit, and compare with the stored artifact."""
        if self.rate < 1 and self.chance.random() >= self.rate:
            return
        self.report.compared += 1
        name = kernel.lookup.name
        try:
            with self.watch(kernel.function, kernel.compiler):
                first, second = (_compile(kernel, values, target) for _ in range(2))
        except Exception as error:  # of the audit's own compile: the call has what it needs
            pass_on(error)
            message = (str(error).splitlines() or [""])[0]
            what = f"{type(error).__name__}: {message}" if message else type(error).__name__
            self.report.add(name, "does not compile", f"a compile of this call raises {what}")
            return
        if not _agree(first, second):
            self.report.add(name, "not deterministic", "two compiles of one call differ")
        elif not _agree(first, specialization.artifact):
            self.report.add(name, "stale", "a new compile of this call gives another artifact")

    @contextlib.contextmanager
    def watch(self, function: types.FunctionType, compiler: Compiler) -> Iterator[None]:
        """Report undeclared variables that a compile in the block reads."""
        declared = declared_environment(compiler)

        def check(variable: str) -> None:
            if variable not in declared:
                self.report.add(full_name(function), "undeclared variable", variable)

        with _watched_environment(check):
            yield

    def count(self, event: Event) -> None:
        """Count the reads that cause misses."""
        if event.what is Happened.MISSED:
            for change in event.detail["why"].changes:
                self.misses[event.kernel, change.path] += 1
                if self.misses[event.kernel, change.path] == CHURN:
                    self.report.add(event.kernel, "churn", f"{change.path} keeps changing")


def _compile(kernel: Kernel, values: tuple[Any, ...], target: Target) -> Artifact:
    recorder = Recorder(kernel.lookup.world(values, target), by_identity=True)
    inputs = Inputs(recorder)
    recorded = replace(target, properties=Properties(inputs))
    return kernel.compiler.compile(Program(kernel.function, recorded, inputs.function()), inputs)


def _agree(one: Artifact, other: Artifact) -> bool:
    def content(artifact: Artifact) -> object:
        payloads = {name: bytes(payload) for name, payload in artifact.payloads.items()}
        return payloads, repr(dict(artifact.metadata))

    return content(one) == content(other)


class _Observers(threading.local):
    """The observers of the variables that this thread reads."""

    def __init__(self) -> None:
        self.active: list[Callable[[str], None]] = []


_observers: Final = _Observers()
_lock: Final = threading.Lock()
_watching = 0
_get: Final = type(os.environ).__getitem__


def _watched_get(environment: Any, name: Any) -> Any:
    for observe in _observers.active:
        observe(os.fsdecode(name) if isinstance(name, bytes) else name)  # os.environb has bytes
    return _get(environment, name)


@contextlib.contextmanager
def _watched_environment(observe: Callable[[str], None]) -> Iterator[None]:
    """Call `observe` with every environment variable that this thread reads."""
    global _watching  # noqa: PLW0603  # one environment, one count of its watchers
    with _lock:
        _watching += 1
        type(os.environ).__getitem__ = _watched_get  # type: ignore[method-assign]  # to watch
    _observers.active.append(observe)
    try:
        yield
    finally:
        _observers.active.remove(observe)
        with _lock:
            _watching -= 1
            if not _watching:
                type(os.environ).__getitem__ = _get  # type: ignore[method-assign]  # as it was
