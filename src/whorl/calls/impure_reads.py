"""Finds what a function reads from outside of the program, where no key can see it.

A function that reads a file, the environment, a clock or random numbers returns another result
for the same arguments, and no fingerprint of its code knows. Such a function is refused until its
author has declared what it reads (`files=`, `by_content=`, `environment=`, `reads=`) or that it
does not count (`ignores=`). Every name that the function, or one that it calls, takes from a
module is compared with the tables in `impure_functions`, whether the module is a global, a
captured variable, a default or has a local name. That finds what the code names plainly, not what
it only puts together while it runs.

Clocks that only measure (`time.perf_counter`, `time.monotonic`) are let through, and so is
`print`.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, cast

from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.bytecode import (
    AttributeRead,
    Call,
    GlobalRead,
    ImportRead,
    NameScope,
    attribute_reads,
    calls_in,
    captured_reads,
    name_uses,
    nested_codes,
    reads_of,
    strings_in,
)
from whorl.fingerprint.static_lookup import (
    ABSENT,
    class_vars,
    derives,
    module_name,
    module_vars,
    mro,
    reified,
)
from whorl.fingerprint.watch import function_scope

from .impure_functions import (
    ANYWHERE,
    BY_MODULE,
    FILES,
    FOUND_FILES,
    GIVEN_LESS,
    MODULES,
    NO_TIMES,
    PATH_ATTRIBUTES,
    PATH_METHODS,
    PLACE_METHODS,
    ROWS,
    ImpureKind,
)

_TABLE_SIZE: Final = 64
"""The longest list or dict that is searched for functions: longer ones are data."""


@dataclass(frozen=True, slots=True)
class ImpureRead:
    """Something outside of the program that a function reads."""

    name: str
    kind: ImpureKind
    method: str = ""  # the name of a method, if it is not known what that is taken from


def impure_reads(
    function: types.FunctionType,
    classes: Sequence[type] = (),
    *,
    with_defaults: bool = True,
    is_ignored: Callable[[str], bool] = lambda name: False,
    is_users: Callable[[str], bool] = lambda module: True,
) -> Iterator[ImpureRead]:
    """What a function's own code reads from outside, as far as it names that plainly.

    `classes` are those whose attributes it may take; the defaults of a cached function itself
    are arguments, and are left out with `with_defaults=False`. Globals and captured variables for
    which `is_ignored` is true are left out as well. `is_users` says whether a module of this name
    is the user's own.
    """
    code = function.__code__
    reads = reads_of(code)
    names = tuple(name for inner in nested_codes(code) for name in inner.co_names)
    texts: tuple[str, ...] = ()
    if "getattr" in names:  # the names of attributes may be written as texts
        texts = tuple(text for text in sorted(strings_in(code)) if text.isidentifier())
        names += texts
    scope = _KnownNames(function, with_defaults=with_defaults)
    for read in reads.globals:
        if not any(map(is_ignored, _prefixes(read))):
            yield from _from_name(scope.globally(read.name), read, names)
    for read in captured_reads(code):
        if not is_ignored(read.name):
            yield from _from_name(scope.captured.get(read.name, ABSENT), read, names)
    for imported in reads.imports:
        # The names of attributes tell what `import os` inside of a function is used for.
        table = {} if imported.level else BY_MODULE.get(imported.module, {})
        yield from _in_table(imported.module, table, imported.names or names, names)
    yield from (ImpureRead(f".{name}", ANYWHERE[name]) for name in names if name in ANYWHERE)
    for call in calls_in(code):
        if not any(map(is_ignored, _prefixes(call.read))):
            yield from _with_few_arguments(scope.called(call), call)
    yield from (ImpureRead(f".{name}", FILES, name) for name in texts if name in PATH_ATTRIBUTES)
    for attribute_read in attribute_reads(code):
        if attribute_read.attribute in PATH_ATTRIBUTES or (
            attribute_read.is_called and attribute_read.attribute in PATH_METHODS
        ):
            source = attribute_read.source
            if source is None or not any(map(is_ignored, _prefixes(source))):
                yield from _path_method(attribute_read, function, scope, classes, is_users)
    yield from _in_classes(classes, names)


def _prefixes(read: GlobalRead) -> Iterator[str]:
    """The names that one goes through: `a`, `a.b`."""
    names = (read.name, *read.attributes)
    return (".".join(names[: i + 1]) for i in range(len(names)))


def _path_method(
    attribute_read: AttributeRead,
    function: types.FunctionType,
    scope: _KnownNames,
    classes: Sequence[type],
    is_users: Callable[[str], bool],
) -> Iterator[ImpureRead]:
    """A method that a path has too, unless what it is taken from is known to be the user's."""
    name = attribute_read.attribute
    source = scope.source(attribute_read)
    if derives(type(source), types.ModuleType):
        module = str(module_vars(source).get("__name__"))
        owners: list[type] | None = None
        is_own = is_users(module) or name == "absolute"  # of NumPy
    else:
        owners = _owners(attribute_read, source, function, classes)
        is_own = bool(owners) and all(_is_own(cls, name, is_users) for cls in owners)
    if not is_own:
        is_unknown = source is ABSENT and not owners
        kind = FOUND_FILES if name in PLACE_METHODS else FILES
        yield ImpureRead(f".{name}", kind, name if is_unknown else "")


def _owners(
    attribute_read: AttributeRead,
    source: Any,
    function: types.FunctionType,
    classes: Sequence[type],
) -> list[type]:
    """The classes that a method can be looked up in, where these are known."""
    if source is not ABSENT:
        return [source if derives(type(source), type) else type(source)]
    read, code = attribute_read.source, function.__code__
    is_first = attribute_read.scope is NameScope.LOCAL and code.co_argcount and read is not None
    if is_first and read == GlobalRead(code.co_varnames[0]):  # `self`, if it is a method
        return [cls for cls in classes if any(each is function for each in _functions_in(cls))]
    return []


def _functions_in(cls: type) -> Iterator[object]:
    for value in class_vars(cls).values():
        if type(value) is property:
            yield from (value.fget, value.fset, value.fdel)
        else:
            yield value.__func__ if type(value) is classmethod else value


def _is_own(cls: type, name: str, is_users: Callable[[str], bool]) -> bool:
    """Whether a class of the user's is where a method is defined."""
    home = next((base for base in mro(cls) if name in class_vars(base)), None)
    return home is not None and is_users(module_name(home))


def named_reads(function: types.FunctionType) -> Iterator[tuple[ImpureRead, str]]:
    """The variables and files that a function names by constant texts, each with its text.

    Files that it opens only for writing are left out.
    """
    scope = _KnownNames(function, with_defaults=True)
    for call in calls_in(function.__code__):
        first = _first_text(call)
        if first is None:
            continue
        value = scope.called(call)
        impure = _in_tables(value) or _along_attributes(value, call.read.attributes)
        if impure is None:
            continue
        reads_file = impure.name in _OPENS and _reads(call)
        if impure.name in _VARIABLES or reads_file:
            yield impure, first


_VARIABLES: Final = ("os.environ", "os.getenv")
_OPENS: Final = ("open", "io.open")


_BY_NAME: Final = ("__import__", "importlib.import_module", "sys.modules")


def constant_modules(function: types.FunctionType, read: ImpureRead) -> frozenset[str]:
    """The modules that a function finds by constant texts only; empty if by anything else.

    `importlib.import_module("numpy")`, `sys.modules["numpy"]`, `sys.modules.get("numpy")`.
    """
    code = function.__code__
    imports = {imported.module for imported in reads_of(code).imports}
    if read.name not in _BY_NAME or "getattr" in strings_in(code) or imports & _HAVE_MODULES:
        return frozenset()  # or it may have the same thing under another name
    scope = _KnownNames(function, with_defaults=True)
    names: set[str] = set()
    for use in name_uses(code):
        value = scope.called(use)
        if _is_module_of_table(_last(value, use.read.attributes)):
            return frozenset()  # the module itself is taken
        impure = _in_tables(value) or _along_attributes(value, use.read.attributes)
        if impure == read:
            first = _first_text(use)
            if first is None or not first.replace(".", "").isidentifier() or first[0] == ".":
                return frozenset()
            names.add(first)
    return frozenset(names)


_HAVE_MODULES: Final = frozenset(
    module for module, rows in BY_MODULE.items() if MODULES in rows.values()
)


def _is_module_of_table(value: Any) -> bool:
    return (
        derives(type(value), types.ModuleType)
        and str(module_vars(value).get("__name__")) in _HAVE_MODULES
    )


def _reads(call: Call) -> bool:
    """Whether a call of `open` is known to be for reading."""
    by_place = call.arguments - len(call.keywords)
    if "mode" in call.keywords:
        place = by_place + call.keywords.index("mode")
    elif by_place > 1:
        place = 1
    else:
        return True
    mode = call.texts[place] if place < len(call.texts) else "w"  # which may be any
    return set(mode).isdisjoint("wax")


def _first_text(call: Call) -> str | None:
    """The constant text that is the first argument of a call."""
    by_place = call.arguments - len(call.keywords)
    if not call.texts or (not by_place and call.keywords[0] not in ("key", "file")):
        return None
    return call.texts[0]


class _KnownNames:
    """What the names in a function stand for, as far as that is known before it runs."""

    def __init__(self, function: types.FunctionType, *, with_defaults: bool) -> None:
        self._scope, self._builtins = function_scope(function)
        self.captured = _captured(function, with_defaults=with_defaults)
        self._imported = dict(_imported(reads_of(function.__code__).imports))

    def globally(self, name: str) -> Any:
        """What a global or a builtin of this name is."""
        return reified(self._scope.get(name, self._builtins.get(name, ABSENT)))

    def called(self, call: Call) -> Any:
        """What the name stands for by which something is called."""
        name = call.read.name
        if call.is_local:
            return self._imported.get(name, self.captured.get(name, ABSENT))
        value = self.captured.get(name, ABSENT)
        return self.globally(name) if value is ABSENT else value

    def source(self, attribute_read: AttributeRead) -> Any:
        """What an attribute is taken from, if that is known; else ABSENT."""
        read = attribute_read.source
        if read is None or attribute_read.scope not in (NameScope.GLOBAL, NameScope.CAPTURED):
            return ABSENT
        lookup = self.globally if attribute_read.scope is NameScope.GLOBAL else self.captured.get
        value = lookup(read.name)
        return ABSENT if value is None or value is ABSENT else _last(value, read.attributes)


def _imported(imports: Iterable[ImportRead]) -> Iterator[tuple[str, Any]]:
    """What imports in a body bring under their own names, of modules that have been loaded."""
    for read in imports:
        module = sys.modules.get(read.module)
        if read.level or not derives(type(module), types.ModuleType):
            continue
        for name in read.names:
            yield name, reified(module_vars(cast("types.ModuleType", module)).get(name, ABSENT))
        if not read.names and not read.renamed:
            top = read.module.partition(".")[0]
            yield top, sys.modules.get(top, ABSENT)


def _captured(function: types.FunctionType, *, with_defaults: bool) -> dict[str, Any]:
    """The values of captured variables and, for parameters, of their defaults."""
    code = function.__code__
    values: dict[str, Any] = {}
    if with_defaults:
        defaults = function.__defaults__ or ()
        last = code.co_varnames[: code.co_argcount]
        values.update(zip(last[len(last) - len(defaults) :], defaults, strict=True))
        values.update(function.__kwdefaults__ or {})
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        # A default factory of a field runs when an object is created, not when it is used.
        if not name.startswith(("_dflt_", "__dataclass_dflt_")):
            with contextlib.suppress(ValueError):  # not set yet
                values[name] = cell.cell_contents
    return values


def _from_name(value: Any, read: GlobalRead, names: tuple[str, ...]) -> Iterator[ImpureRead]:
    impure = _in_tables(value) or _along_attributes(value, read.attributes)
    if impure is not None:
        yield impure
        return
    if type(value) in (dict, list, tuple) and len(value) <= _TABLE_SIZE:
        each = value.values() if type(value) is dict else value
        yield from (known for known in map(_in_tables, tuple(each)) if known is not None)
    # The names of attributes tell what a module or class under another name is used for.
    last = _last(value, read.attributes)
    if derives(type(last), types.ModuleType):
        module = str(module_vars(last).get("__name__"))
        yield from _in_table(module, BY_MODULE.get(module, {}), names, names)
    elif derives(type(last), type):
        yield from (impure for name in names if (impure := _of_class(last, name)) is not None)


def _last(value: Any, attributes: tuple[str, ...]) -> Any:
    """What attributes of modules lead to; ABSENT if they lead out of modules."""
    for attribute in attributes:
        if not derives(type(value), types.ModuleType):
            return ABSENT
        value = _of_module(value, attribute)
    return value


def _of_module(module: types.ModuleType, attribute: str) -> Any:
    """An attribute or a submodule of a module."""
    name = str(module_vars(module).get("__name__"))
    return reified(
        module_vars(module).get(attribute, sys.modules.get(f"{name}.{attribute}", ABSENT))
    )


def _in_table(
    module: str, table: dict[str, ImpureKind], imported: tuple[str, ...], names: tuple[str, ...]
) -> Iterator[ImpureRead]:
    """What is taken from a module, or by the name of an attribute from a class of it."""
    for row, kind in table.items():
        owner, _, method = row.partition(".")
        if owner in imported and (not method or method in names):
            yield ImpureRead(f"{module}.{row}", kind)


def _in_classes(classes: Iterable[type], names: tuple[str, ...]) -> Iterator[ImpureRead]:
    """What an attribute of a class is, that is taken by its name: `clock = staticmethod(time)`."""
    for cls in classes:
        for name in names:
            value = class_vars(cls).get(name)
            known = _in_tables(value.__func__ if type(value) is staticmethod else value)
            if known is not None:
                yield known


def _with_few_arguments(value: Any, call: Call) -> Iterator[ImpureRead]:
    attributes = call.read.attributes
    count = call.arguments - len(NO_TIMES.intersection(call.keywords))
    for i, attribute in enumerate(attributes):
        if not derives(type(value), types.ModuleType):
            return
        name = str(module_vars(value).get("__name__"))
        value = _of_module(value, attribute)
        if value is ABSENT:  # a part of a library that loads its parts when they are used
            dotted = ".".join((name, *attributes[i:]))
            if dotted in GIVEN_LESS and count < GIVEN_LESS[dotted][0]:
                yield ImpureRead(dotted, GIVEN_LESS[dotted][1])
            return
    for dotted, (enough, kind) in GIVEN_LESS.items():
        module, _, name = dotted.rpartition(".")
        loaded = module_vars(sys.modules[module]) if module in sys.modules else {}
        if count < enough and name in loaded and loaded[name] is value:
            yield ImpureRead(dotted, kind)


def _along_attributes(value: Any, attributes: tuple[str, ...]) -> ImpureRead | None:
    """The first impure thing among the attributes of a module or class."""
    for i, attribute in enumerate(attributes):
        if derives(type(value), types.ModuleType):
            name = str(module_vars(value).get("__name__"))
            value = _of_module(value, attribute)
            if value is ABSENT:  # a part of a library that loads its parts when they are used
                return _by_name(f"{name}.{attribute}", attributes[i + 1 :])
            if not callable(value) and attribute in BY_MODULE.get(name, {}):
                return _by_name(name, (attribute,))  # a list that may be another by now
        elif derives(type(value), type):
            return _of_class(value, attribute)
        else:
            return None
        impure = _in_tables(value)
        if impure is not None:
            return impure
    return None


def _by_name(module: str, attributes: tuple[str, ...]) -> ImpureRead | None:
    name = attributes[0] if attributes else ""
    kind = BY_MODULE.get(module, {}).get(name)
    return None if kind is None else ImpureRead(f"{module}.{name}", kind)


def _of_class(cls: type, attribute: str) -> ImpureRead | None:
    for owner, name, impure in _methods():
        if name == attribute and derives(type(owner), type) and derives(cls, owner):
            own = next((base for base in cls.__mro__ if name in class_vars(base)), owner)
            return impure if derives(owner, own) else None  # unless it has one of its own
    return None


def _methods() -> Iterator[tuple[Any, str, ImpureRead]]:
    for module, dotted, kind in ROWS:
        owner, _, name = dotted.partition(".")
        if name and module in sys.modules:
            cls = module_vars(sys.modules[module]).get(owner, ABSENT)
            yield cls, name, ImpureRead(f"{module}.{dotted}", kind)


def _in_tables(value: Any) -> ImpureRead | None:
    """What an object is, if it is in the table: by identity, whatever its name is here."""
    impure = _identities(tuple(name in sys.modules for name in BY_MODULE)).get(id(value))
    if impure is None and type(value) in (types.BuiltinMethodType, types.MethodType):
        owner = value.__self__
        return _of_class(owner, value.__name__) if derives(type(owner), type) else None
    return impure


@functools.lru_cache(maxsize=4)
def _identities(loaded: tuple[bool, ...]) -> dict[int, ImpureRead]:
    """The objects of the table by address, as far as their modules have been loaded."""
    by_address: dict[int, ImpureRead] = {}
    for module, name, kind in ROWS:
        value = (
            module_vars(sys.modules[module]).get(name, ABSENT) if module in sys.modules else ABSENT
        )
        if value is not ABSENT:
            _alive.append(value)
            short = name if module == "builtins" else f"{module}.{name}"
            by_address.setdefault(id(value), ImpureRead(short, kind))
    return by_address


_alive: Final[list[object]] = []  # what is known by its address must stay alive
