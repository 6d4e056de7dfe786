"""What a rule is: a value and the describer that asks in, a node out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..tokens import Node

if TYPE_CHECKING:
    from ..describe import Describer

__all__ = ["Kind", "Rule"]

Rule = Callable[[Any, "Describer"], Node]

Kind = tuple[Callable[[type], bool], Rule]
"""A test for classes that only a look can tell, and the rule for their instances."""
