"""A rule, which turns a value into a node, and the context that every rule is called with."""

from __future__ import annotations

import abc
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..boundary import USER, Home
from ..modes import Introspection, Mode
from ..names import import_name, is_started, known_by_name, known_module_name
from ..policy import Policy
from ..static_lookup import derives, module_name, module_vars, qualname
from ..tokens import Node, unlabelled

__all__ = ["Kind", "Rule", "RuleContext", "derives_from"]


NAMED: Final = "class"  # how the parts of a class begin that its name identifies


class RuleContext(abc.ABC):
    """What a rule may ask of the walk: policy and mode, whose code is whose, names of classes.

    `Describer` is the one implementation; rules know no more of it than this.
    """

    def __init__(self, policy: Policy, mode: Mode, introspection: frozenset[Introspection]) -> None:
        self.policy = policy
        self.mode = mode
        self.introspection = introspection

    @abc.abstractmethod
    def __call__(self, value: object) -> Node:
        """The node of a value that is no leaf. Raises `Refused`."""

    @abc.abstractmethod
    def structure(self, value: object) -> Node:
        """The node of a value by its content, whatever the policy says about its whole class."""

    @abc.abstractmethod
    def counts_by_type(self, cls: type) -> bool:
        """Whether the policy has `by_type` for the whole class."""

    @abc.abstractmethod
    def digest_in(self, mode: Mode, value: object, where: str = "") -> str:
        """The digest of a value in another mode, in hex; `where` is its path from here."""

    # -- classes ------------------------------------------------------------------------

    def class_parts(self, cls: type) -> tuple[object, ...]:
        """What identifies a class in the tag of its instances."""
        if known_by_name(cls):
            return NAMED, known_module_name(module_name(cls)), qualname(cls)
        return "local class", qualname(cls)

    def own_code(self, cls: type) -> Node | None:
        """The code of a class that its name does not identify; None for other classes.

        Computed again in every walk: such a class can be changed like any other object.
        """
        if self.mode is not Mode.DATA or known_by_name(cls):
            return None
        return Node(b"own code", (self.digest_in(Mode.OWN_CODE, cls),), unlabelled)

    def class_node(self, cls: type) -> Node:
        """The node of a class beside the values of an instance."""
        return Node(b"of", (*self.class_parts(cls), self.own_code(cls)), unlabelled)

    # -- whose code ---------------------------------------------------------------------

    def home(self, module: str) -> Home:
        """Whose code a module is."""
        if not module:
            return USER
        loaded = sys.modules.get(module)
        while loaded is None and "." in module:  # removed, or no module: `numpy.rec`
            module = module.rpartition(".")[0]
            loaded = sys.modules.get(module)
        file = None
        if loaded is not None and derives(type(loaded), types.ModuleType):
            file = module_vars(loaded).get("__file__")
        return self._home(known_module_name(module), file)

    def home_of_globals(self, scope: Mapping[str, Any]) -> Home:
        """Whose code a function is, by its globals, which are more reliable than a name."""
        module = scope.get("__name__")
        module = module if type(module) is str else ""
        loaded = sys.modules.get(module)
        if type(loaded) is types.ModuleType and module_vars(loaded) is scope:
            return self.home(module)
        name = import_name(scope) if is_started(module) else module
        return self._home(name, scope.get("__file__"))

    def _home(self, module: str, file: object) -> Home:
        return self.policy.boundary.home(module, file if type(file) is str else None)


def derives_from(cls: type, module: str, *names: str) -> bool:
    """Whether a class derives from one of these of a module, which may not have been loaded."""
    bases = (getattr(sys.modules.get(module), name, None) for name in names)
    return any(base is not None and derives(cls, base) for base in bases)


Rule = Callable[[Any, RuleContext], Node]

Kind = tuple[Callable[[type], bool], Rule]
"""A test for classes that cannot be listed, and the rule for their instances."""
