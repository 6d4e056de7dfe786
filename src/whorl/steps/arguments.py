"""Digests of arguments, their classes, and a memo key for the arguments of a call.

Results in memory are found by the memo key, which is valid in this process only. It comes from a
fingerprint, in which an instance counts by the name of its class. Two classes can have one name: a
module that is loaded again, a class that is defined again in a notebook. So the classes that were
met are watched: as soon as two have one name, the addresses of the classes are part of the key.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import types
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from whorl.calls.binding import Binding
from whorl.fingerprint import Digest, Fingerprinter
from whorl.fingerprint.class_finder import ClassFinder
from whorl.fingerprint.digest import hash_bytes
from whorl.fingerprint.fingerprinter import walks_of
from whorl.fingerprint.markers import FieldRule, Marker, exclude
from whorl.fingerprint.modes import ByIdentity, ByType, InOrder
from whorl.fingerprint.static_lookup import derives, module_name, mro, qualname
from whorl.fingerprint.tokens import dumps
from whorl.fingerprint.walk import walk

from .declared_inputs import content_of
from .dependencies import AMBIENT_CLASSES

# Which parameters of a cached function count, and how.
#
# A parameter can be left out, count by its type, as this very object, with the order of its keys,
# or by the content of the file that it names. Positional and keyword arguments are the same call,
# and so is a default that is spelled out.


Names = Iterable[str]

_VARKEYWORDS: Final = 0x08  # a flag of code


@exclude("path")
class Content:
    """The content of a file, which counts instead of its name."""

    __slots__ = ("digest", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.digest = content_of(path)

    def has_changed(self) -> bool:
        """Whether the content of the file is another by now."""
        return content_of(self.path) != self.digest


def _by_content(value: object) -> object:
    if value is None:
        return None
    if not isinstance(value, str | bytes | os.PathLike):
        raise TypeError(
            f"by_content= is for parameters that are paths, not {type(value).__name__}: {value!r}"
        )
    return Content(os.fsdecode(value))


def _keywords(given: dict[str, Any]) -> object:
    """The `**keywords` of a call; a function sees their order."""
    return InOrder(given) if len(given) > 1 else given


_WRAPS: Final[Mapping[str, Callable[[Any], object]]] = {
    "by_type": ByType,
    "by_identity": ByIdentity,
    "ordered": InOrder,
    "by_content": _by_content,
    "keywords": _keywords,
}


@functools.cache
def leaf_test(count: int) -> Callable[[tuple[Any, ...]], bool]:
    """A function that says whether so many values are all leaves. Hot: 30 ns for a value.

    >>> leaf_test(2)((1, "a")), leaf_test(2)((1, []))
    (True, False)
    """
    names = [f"v{i}" for i in range(count)]
    test = " and ".join(
        f"((k := type({v})) is int or k is str or k is float or k is bool or {v} is None"
        f" or k is complex or {v} is ...)"
        for v in names
    )
    unpacked = f"    {', '.join(names)}, = values\n" if names else ""
    scope: dict[str, Any] = {}
    exec(f"def are_leaves(values):\n{unpacked}    return {test or True}\n", scope)
    return cast("Callable[[tuple[Any, ...]], bool]", scope["are_leaves"])


class CountedParameters:
    """How the arguments of a function are bound, and which of them count how.

    >>> def f(a, b=2, *, log=None): ...
    >>> parameters = CountedParameters(f, {"exclude": ["log"]})
    >>> parameters.names, parameters.counted(parameters.bind(1, log=print))
    (('a', 'b'), (1, 2))
    """

    def __init__(self, function: types.FunctionType, options: Mapping[str, Names]) -> None:
        self.binding = Binding(function)
        every = self.binding.names
        kinds = _kinds(function.__qualname__, every, options)
        if function.__code__.co_flags & _VARKEYWORDS:
            kinds.setdefault(every[-1], "keywords")
        self.names = tuple(name for name in every if kinds.get(name) != "exclude")
        self._places = tuple(
            (i, _WRAPS.get(kinds.get(name, "")))
            for i, name in enumerate(every)
            if kinds.get(name) != "exclude"
        )
        self.all_count = not kinds

    @property
    def bind(self) -> Callable[..., tuple[Any, ...]]:
        """Called like the function, it returns the values of all parameters."""
        return self.binding.bind

    def counted(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """What counts of the values."""
        if self.all_count:
            return values
        return tuple(values[i] if wrap is None else wrap(values[i]) for i, wrap in self._places)


class KeyFunction:
    """Calls a key function with the bound arguments of a call, defaults included.

    A positional parameter goes by position where the key function has one there, and by name
    otherwise. A default that the key function has no parameter for is left out.

    >>> def f(job, log=None, *, level=1): ...
    >>> key = KeyFunction(Binding(f), lambda job, **rest: (job, rest))
    >>> key((1, None, 2))
    ((1, {'log': None, 'level': 2}),)
    """

    def __init__(self, binding: Binding, key: Callable[..., object]) -> None:
        self._binding = binding
        self._key = key
        slots, named, takes_any, takes_any_name = _key_parameters(key)
        by_position = 0
        for name, slot in itertools.zip_longest(
            binding.positional, slots[: len(binding.positional)]
        ):
            is_free = takes_any if slot is None else slot not in binding.names
            if slot != name and (name in named or not is_free):
                break
            by_position += 1
        self._by_position = by_position
        self._is_plain = by_position == len(binding.names)
        after = (*binding.positional[by_position:], *binding.keyword)
        self._placeless = frozenset(() if takes_any_name else (n for n in after if n not in named))

    def __call__(self, values: tuple[Any, ...]) -> tuple[object]:
        """What stands for the values of all parameters."""
        if self._is_plain:
            return (self._key(*values),)
        binding = self._binding
        by_name = dict(zip(binding.names, values, strict=True))
        positional = list(values[: self._by_position])
        for name in binding.varargs:
            positional += by_name.pop(name)
        more = {} if not binding.varkeywords else by_name.pop(binding.varkeywords[0])
        keywords = dict([*by_name.items()][self._by_position :])
        if self._placeless:
            defaults = binding.defaults()
            for name in self._placeless:
                if name in defaults and keywords[name] is defaults[name]:
                    del keywords[name]
        return (self._key(*positional, **keywords, **more),)


def _key_parameters(
    key: Callable[..., object],
) -> tuple[tuple[str, ...], frozenset[str], bool, bool]:
    """The parameters of a key function by position, those by name, and whether it takes any."""
    if type(key) is types.FunctionType:
        own = Binding(key)
        named = (*own.positional[key.__code__.co_posonlyargcount :], *own.keyword)
        return own.positional, frozenset(named), bool(own.varargs), bool(own.varkeywords)
    try:
        every = inspect.signature(key).parameters.values()
    except (TypeError, ValueError, NameError):  # it does not say
        return (), frozenset(), True, True
    kind = inspect.Parameter
    kinds = {each.kind for each in every}
    return (
        tuple(
            each.name
            for each in every
            if each.kind in (kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD)
        ),
        frozenset(
            each.name
            for each in every
            if each.kind in (kind.POSITIONAL_OR_KEYWORD, kind.KEYWORD_ONLY)
        ),
        kind.VAR_POSITIONAL in kinds,
        kind.VAR_KEYWORD in kinds,
    )


def _kinds(function: str, every: tuple[str, ...], options: Mapping[str, Names]) -> dict[str, str]:
    """How each parameter counts that an option names."""
    kinds: dict[str, str] = {}
    for kind, names in options.items():
        if isinstance(names, str):
            raise TypeError(f"{kind}= takes a list of parameters: {kind}=[{names!r}]")
        for name in names:
            if name not in every:
                raise TypeError(
                    f"{kind}= names {name!r}, which is no parameter of {function}; it has "
                    f"{', '.join(every) or 'none'}"
                )
            if name in kinds:
                raise TypeError(f"{name!r} is both {kinds[name]} and {kind}")
            kinds[name] = kind
    return kinds


# -- digests and memo keys -------------------------------------------------------------


SHORT: Final = 256  # bytes of a memo key that is not hashed


class Arguments:
    """What counts of arguments, by one policy. Shared by all functions that have the policy.

    >>> arguments = Arguments(Fingerprinter())
    >>> arguments.memo(([1, 2.0],)) == arguments.memo(([1, 2.0],))
    True
    """

    def __init__(self, policy: Fingerprinter) -> None:
        self.policy = policy
        self._walks = walks_of(policy)
        self.describer = self._walks.describer
        self.classes_of = ClassFinder(self.describer, _has_impure_methods)
        self._by_name: dict[tuple[str, str], weakref.ref[type]] = {}
        self._watched = 0
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
        try:
            memo = self._walks.native_digest(values)
        finally:
            walk.forget()
        if memo is None:
            memo = str(self.policy(values))  # it has the message for what is refused
            self._watch(self.classes_of(values))
        elif self._watched != self._walks.class_count:
            self._watched = self._walks.class_count
            self._watch(self._walks.classes)
        return (memo, self._addresses(values)) if self._has_homonyms else memo

    def _addresses(self, values: tuple[Any, ...]) -> tuple[int, ...]:
        """The addresses of classes, which are kept alive together with the result."""
        return tuple(map(id, self.classes_of(values)))

    def _watch(self, classes: Iterable[type]) -> None:
        """Put down classes that a walk has met: do two have one name?"""
        for cls in classes:
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
