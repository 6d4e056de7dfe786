"""Builds the key of a call to a cached function, and says what has changed while it ran.

The key is

    digest(dependencies, arguments, declared files and variables, salts, serializer)

where the dependencies are the function's code and all that it reads: see `dependencies`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, Literal

from whorl import settings
from whorl.artifacts import Part
from whorl.calls.explanation import changed_parts
from whorl.calls.impure_functions import FILES
from whorl.errors import Drifted, UnsupportedValue
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint import Digest, Fingerprinter, ProcessDigest, StableDigest
from whorl.fingerprint.digest import hash_hex
from whorl.fingerprint.refusal import DEFAULT_REMEDY
from whorl.fingerprint.static_lookup import class_name, module_name
from whorl.fingerprint.survey import LOCKS
from whorl.fingerprint.tokens import marshalled
from whorl.signals import pass_on
from whorl.store.cache import StoredSources
from whorl.store.journal import Change

from .arguments import PLAIN, Arguments, Content
from .declared_inputs import DeclaredInputs, as_list, variable_pairs
from .dependencies import (
    EVERYTHING,
    Declarations,
    Dependencies,
    DependencyOptions,
    SerializerKey,
    UnstableReads,
    dependencies_of,
)
from .lifetime import lifetime_of
from .result_format import Serializer
from .value_text import text_rows

FORMAT: Final = 1  # raise when keys or records change their meaning
DEPENDENCIES_KEPT: Final = 64
FIRST_CALLS_KEPT: Final = 4096

OnDrift = Literal["rerun", "raise"]


class ResultOptions:
    """The options of cached functions and steps, checked. Never changed after."""

    __whorl_constant__ = True

    def __init__(
        self,
        *,
        key: Any,
        reads: Iterable[object],
        ignores: Iterable[object],
        files: Iterable[str | os.PathLike[str]],
        environment: Mapping[str, str | None] | Iterable[str],
        salt: str,
        store: object,
        serializer: Serializer | None,
        writable: bool,
        on_drift: OnDrift = "rerun",
        expires: float | timedelta | None = None,
    ) -> None:
        # Tuples, because callers of a cached function check whether these have changed.
        self.key = key
        self.reads = tuple(as_list("reads", reads))
        self.ignores = tuple(as_list("ignores", ignores))
        self.files = tuple(os.fspath(file) for file in as_list("files", files))
        self.environment = variable_pairs(environment)
        self.salt = salt
        self.store = store
        self.serializer = serializer
        self.writable = writable
        self.on_drift = on_drift
        self.lifetime = lifetime_of(expires)
        if key is not None and not callable(key):
            raise TypeError(f"key= is a function or a whorl.Fingerprinter, not {key!r}")
        if on_drift not in ("rerun", "raise"):
            raise TypeError(f"on_drift= is 'rerun' or 'raise', not {on_drift!r}")
        if not isinstance(salt, str):
            raise TypeError(f"salt= is a text, not {salt!r}")
        if serializer is not None and not isinstance(serializer, Serializer):
            raise TypeError(
                f"serializer= has dumps and loads, as pickle has; {serializer!r} has not"
            )


@dataclass(frozen=True, slots=True, eq=False)
class ResultRequest:
    """The key of one call, and everything that it is made of."""

    key: Digest
    dependencies: Dependencies
    arguments: tuple[tuple[str, object, Digest], ...]  # name, value, digest
    inputs: tuple[list[Any], ...]  # names and values of declared inputs and salts

    def parts(self) -> tuple[Part, ...]:
        """The parts of the key, as texts."""
        rows = (text_rows(f"arg:{name}", value, digest) for name, value, digest in self.arguments)
        arguments = (Part(*row) for each in rows for row in each)
        inputs = (
            Part(name, "not there" if value is None else value) for name, value in self.inputs
        )
        return (*self.dependencies.parts(), *arguments, *inputs)


class RequestBuilder:
    """The keys of the calls of one function or step.

    `root` is the function, `names` are those of its arguments, `folder` is where relative names of
    files begin. `has_paths`: files are also named by arguments.
    """

    def __init__(
        self,
        name: str,
        root: object,
        names: tuple[str, ...],
        options: ResultOptions,
        folder: str,
        *,
        has_paths: bool = False,
    ) -> None:
        key = options.key
        policy = Arguments(key) if isinstance(key, Fingerprinter) else PLAIN
        own_key = () if key is None or policy is not PLAIN else (key,)
        self.name = name
        self.arguments = policy
        self.declared = DeclaredInputs(options.environment, options.files, folder)
        self.has_declared = bool(self.declared)
        self._root = root
        self.names = names
        self._options = DependencyOptions.of(
            options.ignores, policy.describer.policy.boundary, self.declared, has_paths=has_paths
        )
        self._reads = (*options.reads, *own_key, *policy.rules)
        self._salt = options.salt
        self._serializer = SerializerKey(name, options.serializer, self._options)
        self._on_drift = options.on_drift
        # By the addresses of the classes and functions among the arguments, which are kept alive.
        self._first: dict[tuple[int, ...], tuple[object, StableDigest, dict[str, str]]] = {}
        self._known: dict[tuple[int, ...], tuple[tuple[object, ...], Dependencies]] = {}

    def declarations(self, *, has_all_files: bool) -> Declarations:
        """What callers of the function need to know; whether all files it reads are declared."""
        options = self._options
        kinds = options.kinds if has_all_files else options.kinds - {FILES.name}
        return Declarations(self._root, self.declared, options.ignores, kinds)

    def memo(self, values: tuple[Any, ...]) -> object:
        """What stands for the arguments and the declared inputs in this process. Hot."""
        try:
            memo = self.arguments.memo(values)
        except UnsupportedValue as error:
            raise self._with_others(self._with_parameter(error, values), values) from None
        return (memo, marshalled(self.declared.now())) if self.has_declared else memo

    def _with_others(self, error: UnsupportedValue, values: tuple[Any, ...]) -> UnsupportedValue:
        """The error about the first argument that has one, which knows those about the others."""
        errors = []
        for number in range(len(values)):
            only = tuple(each if i == number else None for i, each in enumerate(values))
            try:
                self.arguments.memo(only)
            except UnsupportedValue as another:
                errors.append(self._with_parameter(another, only))
        if len(errors) > 1:
            error, *others = errors
            error.others = tuple(others)
        return error

    def _with_parameter(self, error: UnsupportedValue, values: tuple[Any, ...]) -> UnsupportedValue:
        """The same error, with the name of the parameter in place of its number."""
        number, _, rest = error.path.removeprefix("value[").partition("]")
        if not number.isdigit() or int(number) >= len(self.names):
            return error
        name, remedy = self.names[int(number)], error.remedy
        if remedy == DEFAULT_REMEDY:
            remedy = self._remedy(name, type(values[int(number)]), rest, error.type_name)
        path = f"argument {name}{rest} of {self.name}"
        return UnsupportedValue(path, error.type_name, error.reason, remedy)

    def _remedy(self, name: str, cls: type, rest: str, kind: str) -> str:
        """What to do about an argument of a class: something of a kind in it has no fingerprint."""
        home = self.arguments.describer.home(module_name(cls)).kind
        if kind in LOCKS and (not rest or module_name(cls) == "threading"):
            return f"No result depends on a lock: leave the parameter out with exclude=[{name!r}]."
        if kind in LOCKS and rest[1:].isidentifier() and home == "user":
            marker = f"@whorl.exclude({rest[1:]!r}) above class {class_name(cls)}"
            return f"No result depends on a lock: leave it out with {marker}."
        counts = "Pass what counts of it (numbers, texts, arrays) in its place"
        if module_name(cls) in ("builtins", "_thread"):  # these cannot have a rule
            return f"{counts}."
        return (
            f"{counts}, or say what stands for it: key=whorl.Fingerprinter(rules="
            f"{{{class_name(cls)}: function}}), with a function that takes the {class_name(cls)} "
            "and returns what counts."
        )

    def build(self, values: Sequence[Any], sources: StoredSources) -> ResultRequest:
        """The key of a call with these arguments, and what it is made of."""
        with sources:
            dependencies = self._dependencies(values)
        digests = [self.arguments.digest(value) for value in values]
        inputs = self._inputs()
        parts = ("result", FORMAT, str(dependencies.digest), list(map(str, digests)), *inputs)
        text = hash_hex(marshalled(parts))
        stable = all(isinstance(digest, StableDigest) for digest in digests)
        key = StableDigest(text) if stable else ProcessDigest(text)
        arguments = tuple(zip(self.names, values, digests, strict=True))
        return ResultRequest(key, dependencies, arguments, inputs)

    def _inputs(self) -> tuple[list[Any], ...]:
        salts = {
            "salt": self._salt,
            "WHORL_CACHE_SALT": settings.current().cache_salt.value,
            "written by": self._serializer.now(),
        }
        return (*self.declared.now(), *([name, text] for name, text in salts.items() if text))

    def _dependencies(self, values: Sequence[Any]) -> Dependencies:
        """The dependencies of a call with such arguments, as they are now."""
        classes, codes = self.arguments.classes(values), self.arguments.codes(values)
        extra = (*classes, *codes)
        place = tuple(map(id, extra))
        known = self._known.get(place)
        if known is not None and known[1].holds():
            return known[1]
        roots = (*self._reads, *extra)
        dependencies = dependencies_of(self._root, roots, classes, self._options, self.name)
        if len(self._known) >= DEPENDENCIES_KEPT:
            self._known.clear()
        self._known[place] = extra, dependencies
        if self._on_drift == "raise":
            self._check_drift(extra, dependencies)
        return dependencies

    def _check_drift(self, extra: tuple[object, ...], dependencies: Dependencies) -> None:
        """Raise if the dependencies are not those of the first call."""
        place = tuple(map(id, extra))
        if place not in self._first:
            if len(self._first) >= FIRST_CALLS_KEPT:
                self._first.clear()
            self._first[place] = extra, dependencies.digest, dict(dependencies.parts())
        _, digest, before = self._first[place]
        if digest == dependencies.digest:
            return
        changes = changed_names(before, dict(dependencies.parts()))
        self._known.pop(place, None)
        raise Drifted(
            self.name,
            tuple((change.path, change.old, change.new) for change in changes),
            verb="reads",
            remedy='Restore it, or let the function run again with on_drift="rerun".',
        )

    def change_since(
        self, request: ResultRequest, parts: tuple[Part, ...], sources: StoredSources
    ) -> str:
        """What is not as it was when a request was built, in words; empty if nothing is."""
        for name, value, digest in request.arguments:
            if not self._is_unchanged(value, digest):
                return f"it changed its argument {name!r} while it ran. {_copy_advice(value, name)}"
        if not request.dependencies.holds():
            try:
                with sources:
                    now = self._dependencies([value for _, value, _ in request.arguments])
            except UnstableReads as error:
                return error.reason
            if now.digest != request.dependencies.digest:
                return _changed_dependency(dict(parts), now)
        if self._inputs() != request.inputs:
            return "a declared file or variable changed while it ran"
        return ""

    def _is_unchanged(self, value: object, digest: Digest) -> bool:
        try:
            if self.arguments.digest(value) != digest:
                return False
        except Exception as error:  # it has no digest any more
            pass_on(error)
            return False
        return not (isinstance(value, Content) and value.has_changed())


def _changed_dependency(before: dict[str, str], dependencies: Dependencies) -> str:
    now = dict(dependencies.parts())
    del now[EVERYTHING]
    differ = [name for name in (*now, *before) if before.get(name) != now.get(name)]
    # `ignores=` takes the whole value, by the name that the function reads.
    whole = (path for path, _ in dependencies.met if _is_within(path, differ))
    what = next(whole, "something that it reads")
    name = dependencies.names.get(what)
    if name is None:
        return f"{what} changed while it ran"
    return (
        f"{what} changed while it ran. If no result depends on it, leave it out with "
        f"ignores=[{name!r}]"
    )


def _is_within(path: str, names: list[str]) -> bool:
    """Whether one of these names is a path, or an item or attribute of what is there."""
    return any(name == path or name.startswith((f"{path}[", f"{path}.")) for name in names)


def _copy_advice(value: object, name: str) -> str:
    """How a function can leave an argument as it is."""
    if type(value).__module__.partition(".")[0] in ("random", "numpy") and hasattr(value, "random"):
        return "Pass a seed in its place, and make the generator of it in the function"
    return f"Let it work on a copy ({name} = copy.deepcopy({name}))"


_OF_DEPENDENCIES: Final = (
    "code:", "global:", "cell:", "default:", "class:", "declared:", "setting:",
)  # fmt: skip


def changed_names(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[Change, ...]:
    """The parts of two keys that differ; the dependencies as a whole only if no part of them does.

    >>> changed_names({EVERYTHING: "1", "salt": "a"}, {EVERYTHING: "2", "salt": "a"})[0].path
    'code and all that it reads'
    """
    changes = changed_parts(old, new)
    if any(change.path.startswith(_OF_DEPENDENCIES) for change in changes):
        return tuple(change for change in changes if change.path != EVERYTHING)
    return changes
