"""Values in, whether their digests agree out."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

import whorl

__all__ = ["calls_of", "different", "output_of", "refusal", "same"]

ROOT = Path(__file__).resolve().parents[2]


def same(*values: object) -> bool:
    """Whether all the values get one digest."""
    return len({whorl.fingerprint(value) for value in values}) == 1


def different(*values: object) -> bool:
    """Whether every value gets a digest of its own."""
    return len({whorl.fingerprint(value) for value in values}) == len(values)


def refusal(value: object) -> whorl.UnsupportedValue:
    """The error that the value is refused with."""
    with pytest.raises(whorl.UnsupportedValue) as caught:
        whorl.fingerprint(value)
    return caught.value


def calls_of(*names: str) -> dict[str, object]:
    """Methods that must never run, to put into a class."""

    def trap(name: str) -> object:
        def method(*arguments: object, **keywords: object) -> object:
            raise AssertionError(f"{name} was called")

        return method

    return {name: trap(name) for name in names}


def output_of(program: str, *, seconds: float = 30) -> str:
    """What a program prints, run in a process of its own that may neither hang nor eat memory."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    finished = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        preexec_fn=limit,
    )
    assert finished.returncode == 0, finished.stderr[-2000:]
    return finished.stdout.strip()
