"""What a fingerprint counts, as data: rules per class, how functions count, whose code is whose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from whorl.fast_dataclasses import dataclass, field

from .boundary import DEFAULT_BOUNDARY, Boundary
from .markers import FieldRule, Marker

__all__ = ["ClassRule", "Policy"]

ClassRule = Marker | FieldRule | Callable[[Any], object]
"""A rule for a class: how it counts, how its fields count, or a function that replaces it."""


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """The choices behind a digest."""

    rules: Mapping[type, ClassRule] = field(default_factory=dict)
    functions: Literal["code", "name"] = "code"
    boundary: Boundary = DEFAULT_BOUNDARY
