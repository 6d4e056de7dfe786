"""The machine in, what code is made for out: an architecture, and the device it is loaded on."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Target", "host"]


@dataclass(frozen=True, slots=True)
class Target:
    """What code is made for. An artifact belongs to an architecture, loaded code to a device.

    `properties` are what a compiler may read of it through `inputs.target(name)`.

    >>> Target("sm_90", "gpu:1", {"warp": 32}).device
    'gpu:1'
    """

    architecture: str
    device: str = "cpu"
    properties: Mapping[str, Any] = field(default_factory=dict)


def host() -> Target:
    """This machine.

    >>> host().device
    'cpu'
    """
    return _HOST


_HOST = Target(f"{platform.system().lower()}-{platform.machine().lower()}")
