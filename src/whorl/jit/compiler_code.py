"""The code of a compiler: the digest of it and of all that it reads.

A compiler that is not installed is edited without a new version. So it counts as a cached function
does: its class with bases and methods, the functions that these call, and the constants that they
read, as far as the user's own code goes. The classes of its settings count too: a setting is known
by its value, which names its class, and the compiler may call its methods. A class of an installed
distribution counts by the version of the distribution.

The declarations `environment`, `ignores` and `settings` count by value, because `compile` may
read them. The other members of the protocol are not in the digest. The values of `target`,
`toolchain`, `version` and the settings are in the key, and `load` is called in every process. These
may read what changes all the time: the current device, a table of opened libraries.

A compiler that finds code by its name (`importlib.import_module`, `__subclasses__`) is refused,
because nobody can follow it there: see `calls.checked_survey`.

The walk is made once for a compiler's class in a process, and again when something that it met has
changed: see `fingerprint.watch`.
"""

from __future__ import annotations

import sys
import types
from typing import Any, Final

from whorl.calls.checked_survey import CheckedSurvey
from whorl.calls.impure_functions import ImpureKind
from whorl.errors import UnsupportedFunction, UnsupportedRead
from whorl.fingerprint.boundary import DEFAULT_BOUNDARY
from whorl.fingerprint.class_finder import ClassFinder
from whorl.fingerprint.describe import Describer
from whorl.fingerprint.fingerprinter import fingerprint
from whorl.fingerprint.modes import Introspection
from whorl.fingerprint.names import known_module_name
from whorl.fingerprint.policy import Policy
from whorl.fingerprint.refusal import Refused
from whorl.fingerprint.static_lookup import (
    class_name,
    class_vars,
    derives,
    module_name,
    mro,
    qualname,
)
from whorl.fingerprint.survey import survey_code
from whorl.reads.compiler_settings import PROTOCOL, declared_settings, setting_reads
from whorl.signals import pass_on

from .compiler import NOT_COUNTED, CompilerCode, declared_ignores, own_members

CODES_KEPT: Final = 64
_COUNTED: Final = {"before_compile", "compile", "environment", "ignores", "settings"}
_UNREADABLE: Final = 'keep what it makes in this process only: cache="process"'


def code_of(compiler: object) -> CompilerCode:
    """The code of a compiler as it is now."""
    own = (member for member in own_members(compiler) if member is not None)
    classes, functions = _code_in_settings(compiler)
    beside = (*own, *classes)
    installed = "" if beside else _installed_as(compiler)
    if installed:
        return CompilerCode(installed, NOT_COUNTED.holds)
    roots = (type(compiler), *beside)
    ignores = declared_ignores(compiler) | _known_otherwise(compiler)
    place = (ignores, *map(id, (*roots, *functions)))
    known = _CODES.get(place)
    if known is not None and known[1].holds():
        return known[1]
    if len(_CODES) >= CODES_KEPT:
        _CODES.clear()
    load: Any = getattr(compiler, "load")  # noqa: B009  # it has one: it was checked
    load = getattr(load, "__func__", load)
    code = _walk_code(type(compiler), roots, functions, ignores)._replace(load=load)
    _CODES[place] = (*roots, *functions), code
    return code


def _installed_as(compiler: object) -> str:
    """The distribution that a compiler's class was installed from; empty for the user's own."""
    module = type(compiler).__module__
    home = DEFAULT_BOUNDARY.home(module, getattr(sys.modules.get(module), "__file__", None))
    return "" if home.kind == "user" else f"{home.name} {home.version}"


def _walk_code(
    cls: type,
    roots: tuple[object, ...],
    functions: tuple[types.FunctionType, ...],
    ignores: frozenset[str],
) -> CompilerCode:
    """The code of the roots; `functions` count as settings, and are checked only."""
    name = class_name(cls)
    try:
        # Nothing stands first, where others have a function: paths begin with names of classes.
        # Settings are known by the names of their classes, which have to go on leading to these.
        named = [root for root in roots[1:] if isinstance(root, type)]
        result = survey_code(lambda sees: _Survey(name, ignores, sees), (None, *roots), named)
        for function in functions:
            survey_code(lambda sees: _Survey(name, ignores, sees), (function,))
    except UnsupportedFunction as error:
        path, kind, reason, remedy = error.path, error.type_name, error.reason, error.remedy
    else:
        if result is not None:
            digest, holds, survey = result
            return CompilerCode(str(digest), holds, met=survey.met)
        path, kind, reason = name, "type", "what it reads changes all the time"
        remedy = f"Until it rests, {_UNREADABLE}."
    refused = UnsupportedRead(f"compiler code: {path}", kind, reason, remedy=remedy)
    return CompilerCode("not known", NOT_COUNTED.holds, refused=refused)


class _Survey(CheckedSurvey):
    """A walk over the code of a compiler."""

    entry_points = frozenset(("compile", "before_compile"))
    counting = "Let what counts of it be a setting of the compiler (numbers, texts), "

    def __init__(self, name: str, ignores: frozenset[str], sees: frozenset[Introspection]) -> None:
        super().__init__(name, ignores=ignores, introspection=sees)

    def leaving_out(self, name: str) -> str:
        """What to write so that a name does not count."""
        return f"`ignores = ({name!r},)` in class {self.name}, or {_UNREADABLE}"

    def readable_path(self, path: str) -> str:
        """A path in a graph as names; a function in a setting has its own name."""
        name = getattr(self.roots[0], "__qualname__", "")
        return super().readable_path(path).replace("the function", name, 1)

    def advice(self, kind: ImpureKind, used: str) -> str:
        """What to do where a compiler finds code by its name."""
        return (
            f"{kind.remedy}. If no artifact depends on it: {self.leaving_out(used)}. A compiler "
            'with `code = "by version"` counts by its version alone.'
        )


def _known_otherwise(compiler: object) -> frozenset[str]:
    """The attributes of its classes whose code does not count, because their values do."""
    names = (PROTOCOL - _COUNTED).union(declared_settings(compiler) or ())
    paths = (
        f"{known_module_name(module_name(cls))}.{qualname(cls)}" for cls in mro(type(compiler))
    )
    return frozenset(f"{path}.{name}" for path in paths for name in names)


def _code_in_settings(
    compiler: object,
) -> tuple[tuple[type, ...], tuple[types.FunctionType, ...]]:
    """The user's classes and the functions in what a compiler was set up with."""
    values: list[Any] = []
    for read in setting_reads(compiler):
        if read.path.name != "__dict__":
            values.append(getattr(compiler, read.path.name or "__dict__", None))
    try:
        classes = tuple(cls for cls in _CLASSES(values) if cls is not type(compiler))
        return classes, _CLASSES.functions(values)
    except Refused:  # which is said where settings are read
        return (), ()


def snapshot(code: CompilerCode) -> dict[str, object]:
    """What was met and can change, by path, as it is now; for comparisons."""
    return {path: _snapshot_of(value) for path, value in code.met.items()}


def _snapshot_of(value: object) -> object:
    if type(value) is types.FunctionType:
        return id(value.__code__)
    if derives(type(value), type):
        stored: Any = class_vars(value)  # type: ignore[arg-type]  # it is a class
        return tuple((name, id(value)) for name, value in stored.items())
    try:
        return str(fingerprint(value))
    except Exception as error:  # it can only be told from others
        pass_on(error)
        return id(value)


_CLASSES: Final = ClassFinder(Describer(Policy()))
_CODES: Final[dict[tuple[object, ...], tuple[tuple[object, ...], CompilerCode]]] = {}
