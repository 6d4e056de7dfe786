"""Digests of arguments, their classes, and a memo key for the arguments of a call.

Results in memory are found by the memo key, which is valid in this process only. It comes from
the quick walk of a fingerprint, in which an instance counts by the name of its class. Two classes
can have one name: a module that is loaded again, a class that is defined again in a notebook. So
the walk's table of classes is watched: as soon as two classes have one name, or a value needs a
slower walk, the addresses of the classes are part of the memo key.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Iterable
from typing import Any, Final

from whorl.fingerprint import Digest, Fingerprinter
from whorl.fingerprint.class_finder import ClassFinder
from whorl.fingerprint.digest import hash_bytes
from whorl.fingerprint.fingerprinter import emitters_of
from whorl.fingerprint.markers import FieldRule, Marker
from whorl.fingerprint.run import EmitRun, Overrun
from whorl.fingerprint.static_lookup import derives, module_name, mro, qualname
from whorl.fingerprint.tokens import dumps
from whorl.fingerprint.walk import walk
from whorl.signals import pass_on

from .ambient import AMBIENT_CLASSES
from .parameters import leaf_test

__all__ = ["PLAIN", "SHORT", "Arguments"]

SHORT: Final = 256  # bytes of a memo key that is not hashed


class Arguments:
    """What counts of arguments, by one policy. Shared by all functions that have the policy.

    >>> arguments = Arguments(Fingerprinter())
    >>> arguments.memo(([1, 2.0],)) == arguments.memo(([1, 2.0],))
    True
    """

    def __init__(self, policy: Fingerprinter) -> None:
        self.policy = policy
        emitters = emitters_of(policy)
        self.describer = emitters.describer
        self.classes_of = ClassFinder(self.describer, _has_impure_methods)
        self._walks = emitters.walks
        self._head = emitters.head
        self._by_name: dict[tuple[str, str], weakref.ref[type]] = {}
        self._checked_sizes = (0, 0)
        self._has_homonyms = False

    @property
    def rules(self) -> tuple[object, ...]:
        """The functions of the policy that replace values: every result depends on them."""
        rules = self.describer.policy.rules.values()
        return tuple(rule for rule in rules if not isinstance(rule, Marker | FieldRule))

    def digest(self, value: object) -> Digest:
        """The digest of one argument; one that is a digest already is its own.

        A function or class is a dependency, and what does not count of it is known there; here it
        only counts that it is one.
        """
        if self is PLAIN and _is_code(value):
            return self.policy("a function or class")
        return value if isinstance(value, Digest) else self.policy(value)

    def classes(self, values: Iterable[object]) -> tuple[type, ...]:
        """The user's classes in the arguments."""
        return self.classes_of(values)

    def codes(self, values: Iterable[object]) -> tuple[object, ...]:
        """The functions and classes among the arguments."""
        return tuple(value for value in values if _is_code(value))

    def memo(self, values: tuple[Any, ...]) -> object:
        """What stands for the arguments in this process. Hot."""
        if not leaf_test(len(values))(values):
            return self.memo_of_others(values)
        memo = dumps(values, 2)
        return memo if len(memo) <= SHORT else b"#" + hash_bytes(memo)

    def memo_of_others(self, values: tuple[Any, ...]) -> object:
        """The same for arguments that are not all leaves.

        A function or class is known by its address: walking its code takes a millisecond, and
        the check of the dependencies notices whether it has changed.
        """
        places = tuple(id(value) if _is_code(value) else 0 for value in values)
        if any(places):
            others = tuple(None if at else v for v, at in zip(values, places, strict=True))
            return places, self.memo(others)
        memo = self._quick_memo(values)
        if memo is None:  # too deep, in a circle, or of a class that no table has
            return self.policy(values), self._addresses(values)
        if self._checked_sizes != (len(self._walks[0][0]), len(self._walks[1][0])):
            self._check_names()
        return (memo, self._addresses(values)) if self._has_homonyms else memo

    def _quick_memo(self, values: tuple[Any, ...]) -> bytes | None:
        try:
            for table, _, budget in self._walks:
                out: list[object] = []
                try:
                    table[tuple](values, out, EmitRun(budget))
                except Overrun:
                    continue
                except Exception as error:  # the slow walk has the better message
                    pass_on(error)
                    return None
                return b"*" + hash_bytes(dumps((self._head, out), 2))
        finally:
            walk.forget()
        return None

    def _addresses(self, values: tuple[Any, ...]) -> tuple[int, ...]:
        """The addresses of classes, which are kept alive together with the result."""
        return tuple(map(id, self.classes_of(values)))

    def _check_names(self) -> None:
        """Check the classes that the walks have met since: do two have one name?"""
        tables = self._walks[0][0], self._walks[1][0]
        self._checked_sizes = (len(tables[0]), len(tables[1]))
        for cls in {id(cls): cls for table in tables for cls in list(table)}.values():
            name = module_name(cls), qualname(cls)
            known = self._by_name.get(name)
            if known is None:
                self._by_name[name] = weakref.ref(cls)
            elif known() is not cls:
                self._has_homonyms = True


def _is_code(value: object) -> bool:
    kind = type(value)
    return kind is types.FunctionType or kind is type or derives(kind, type)


def _has_impure_methods(cls: type) -> bool:
    """Whether methods of a class open files, or depend on settings of the process."""
    is_path = any(module_name(base).partition(".")[0] == "pathlib" for base in mro(cls))
    return is_path or (module_name(cls), qualname(cls)) in AMBIENT_CLASSES


PLAIN: Final = Arguments(Fingerprinter())
"""What counts by default."""
