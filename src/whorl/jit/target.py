"""Targets: the architecture that code is compiled for, and the device it is loaded on."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from whorl.fast_dataclasses import dataclass, field

if TYPE_CHECKING:
    from whorl.reads import Inputs

__all__ = ["Properties", "Target", "host"]


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


class Properties(Mapping[str, Any]):
    """The properties of a target for a compiler that is handed it: looking one up is a read, and
    so is that there is none; going through them is a read of their names."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs

    def __getitem__(self, name: str) -> Any:
        try:
            return self._inputs.target(name)
        except LookupError:  # that there is none is recorded
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._inputs.target_names())

    def __len__(self) -> int:
        return len(self._inputs.target_names())


def host() -> Target:
    """This machine.

    >>> host().device
    'cpu'
    """
    return _HOST


_HOST = Target(f"{platform.system().lower()}-{platform.machine().lower()}")
