"""Finds what a call of a function depends on: its code, and all that the code reads.

The digest is that of `whorl.fingerprint`: normalized syntax trees, defaults, captured values,
globals and attributes of modules, followed through every call as far as the user's own code
goes; installed distributions by version. With it come a check that takes about a microsecond and
says whether anything has changed since (`holds`), and a list of what was found, for explanations
(`parts`).

An instance among the arguments brings its class along: the function may call its methods.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from whorl.artifacts import Part
from whorl.calls.checked_survey import CheckedSurvey
from whorl.calls.impure_functions import ENVIRONMENT, FILES, HASHES, HAVE_PATHS
from whorl.calls.impure_reads import ImpureRead, named_reads
from whorl.errors import UnsupportedFunction
from whorl.fast_dataclasses import NamedTuple, dataclass
from whorl.fingerprint.boundary import DEFAULT_BOUNDARY, Boundary
from whorl.fingerprint.bytecode import nested_codes, once_per_code, reads_of
from whorl.fingerprint.digest import StableDigest
from whorl.fingerprint.fingerprinter import fingerprint
from whorl.fingerprint.modes import Introspection
from whorl.fingerprint.static_lookup import (
    ABSENT,
    class_vars,
    derives,
    find,
    module_name,
    module_vars,
)
from whorl.fingerprint.survey import survey_code
from whorl.fingerprint.tokens import Node, marshalled, unlabelled
from whorl.fingerprint.value_graph import Graph
from whorl.fingerprint.watch import Check, Place
from whorl.lazy import importing

from .declared_inputs import DeclaredInputs
from .result_format import Serializer, serializer_name
from .value_text import text_rows

# Settings of the process on which results depend though the code does not read them.
#
# Some libraries use settings that no argument and no global shows: decimals the context of the
# thread, the text of an array NumPy's print options. They count for every function that can call
# such a library. Other state of this kind is refused where code names it
# (`calls.impure_functions`), or the guide lists it as something that does not count.


AMBIENT_CLASSES: Final = frozenset((("decimal", "Decimal"), ("numpy", "ndarray")))
"""Classes whose methods use such settings: with arguments of these, the settings count."""


class Ambient(NamedTuple):
    """A setting of the process: its name for people, and a function that returns its value."""

    name: str
    now: Callable[[], object]


def _decimal_context() -> object:
    """What the results of decimals depend on in this thread."""
    with importing:
        from decimal import getcontext
    context = getcontext()
    raised = sorted(signal.__name__ for signal, is_on in context.traps.items() if is_on)
    rules = context.prec, context.rounding, context.Emin, context.Emax
    return (*rules, context.capitals, context.clamp, *raised)


def _print_options() -> object:
    """What the text of an array depends on."""
    with importing:
        from numpy import get_printoptions
    return get_printoptions()


_DECIMALS: Final = Ambient("decimal context", _decimal_context)
_PRINTING: Final = Ambient("NumPy's print options", _print_options)

_TEXT_NAMES: Final = frozenset(
    ("str", "repr", "format", "ascii", "array2string", "array_repr", "array_str", "__str__",
     "__repr__", "__format__", "format_map", "savetxt", "get_printoptions")
)  # fmt: skip
_TEXT_INSTRUCTIONS: Final = frozenset(
    ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE", "BUILD_TEMPLATE")
)


def ambient_of(
    packages: Iterable[str], functions: Iterable[types.FunctionType]
) -> Iterator[Ambient]:
    """The settings that count for functions that can call these packages."""
    met = frozenset(packages)
    if "decimal" in met:
        yield _DECIMALS
    if "numpy" in met and any(makes_text(function.__code__) for function in functions):
        yield _PRINTING


def _makes_text(code: types.CodeType) -> bool:
    for inner in nested_codes(code):
        if not _TEXT_NAMES.isdisjoint(inner.co_names):
            return True
        has_pattern = any(type(each) is str and "%" in each for each in inner.co_consts)
        for step in dis.get_instructions(inner):
            if step.opname in _TEXT_INSTRUCTIONS:
                return True
            if has_pattern and step.opname == "BINARY_OP" and step.argrepr in ("%", "%="):
                return True
    return False


makes_text: Final[Callable[[types.CodeType], bool]] = once_per_code(_makes_text)
"""Whether code may make a text of a value."""


# -- dependencies ----------------------------------------------------------------------


EVERYTHING: Final = "code and all that it reads"


@dataclass(frozen=True, slots=True)
class DependencyOptions:
    """The options of a cached function that say what it depends on.

    `ignores` are names that do not count (`LOCK`, `solver.LOCK`, `os.environ`); `objects` are
    objects that do not; `declared` are files and variables, `kinds` the kinds of impure reads that
    they allow.
    """

    ignores: frozenset[str] = frozenset()
    objects: tuple[object, ...] = ()
    kinds: frozenset[str] = frozenset()
    boundary: Boundary = DEFAULT_BOUNDARY
    declared: DeclaredInputs = DeclaredInputs()

    @classmethod
    def of(
        cls,
        ignores: Iterable[object],
        boundary: Boundary,
        declared: DeclaredInputs,
        *,
        has_paths: bool,
    ) -> DependencyOptions:
        """The options of a function whose `ignores` are names and objects."""
        every = tuple(ignores)
        has_files = has_paths or bool(declared.files)
        kinds = {FILES.name: has_files, ENVIRONMENT.name: bool(declared.environment)}
        return cls(
            frozenset(each for each in every if isinstance(each, str)),
            tuple(each for each in every if not isinstance(each, str)),
            frozenset(name for name, is_declared in kinds.items() if is_declared),
            boundary,
            declared,
        )

    def for_survey(self) -> dict[str, Any]:
        """The options that a walk over code takes."""
        return {"ignores": self.ignores, "objects": self.objects, "boundary": self.boundary}


class UnstableReads(UnsupportedFunction):
    """What a function reads never stays as it is: another thread changes it all the time."""

    def __init__(self, name: str) -> None:
        reason = "what it reads changes all the time"
        remedy = "Let what changes be an argument. Until then its results are not kept."
        super().__init__(name, name, "function", reason, remedy)


@dataclass(frozen=True, slots=True)
class Declarations:
    """What callers of a cached function or step need to know about it."""

    function: object
    declared: DeclaredInputs
    ignores: frozenset[str]
    kinds: frozenset[str]  # of impure reads, all of which are in `declared`


@dataclass(frozen=True, slots=True, eq=False)
class Dependencies:
    """The code behind a call and all it reads, as it was when `digest` was taken.

    `holds()` says whether it still is so. `met` are functions, classes and values by path;
    `names` has the name for `ignores=` of those that are globals or captured variables. `places`
    are the dictionaries in which they were found.
    """

    digest: StableDigest
    holds: Check
    met: tuple[tuple[str, object], ...]
    names: Mapping[str, str]
    places: tuple[Place, ...]

    def parts(self) -> tuple[Part, ...]:
        """The dependencies as texts, as they are now."""
        rows = (text_rows(path, value, in_order=True) for path, value in self.met)
        return (Part(EVERYTHING, self.digest), *(Part(*row) for each in rows for row in each))


def dependencies_of(
    root: object,
    extra: Sequence[object],
    named: Sequence[type],
    options: DependencyOptions,
    name: str,
) -> Dependencies:
    """The dependencies of a function or step, and those of what counts in addition.

    `named` are classes that the fingerprints of arguments know by their names: that the names lead
    to them is a dependency too. What cannot be known exactly raises `UnsupportedFunction`;
    `UnstableReads` if it changes each time before it can be read to the end.
    """
    outcome = survey_code(
        lambda sees: _DependencySurvey(options, name, sees), (root, *extra), named
    )
    if outcome is None:
        raise UnstableReads(name)
    digest, holds, survey = outcome
    places = survey.watch.places()
    return Dependencies(digest, holds, tuple(survey.met.items()), survey.names, places)


class SerializerKey:
    """What stands for a serializer in keys: its name, and the digest of its code.

    What one has written, an edited one may read as something else. So its `dumps` and `loads`
    count with all that they read, and an instance with its content. What they find by its name is
    refused. Other impure reads do not count: nothing in a result depends on them.
    """

    def __init__(
        self, name: str, serializer: Serializer | None, options: DependencyOptions
    ) -> None:
        self._name = name
        self._serializer = serializer
        self._options = options
        self._known: tuple[str, Check] | None = None

    def now(self) -> str:
        """What stands for it now; empty for whorl's own format."""
        if self._serializer is None:
            return ""
        if self._known is None or not self._known[1]():
            self._known = self._find(self._serializer)
        return self._known[0]

    def _find(self, serializer: Serializer) -> tuple[str, Check]:
        options = self._options
        outcome = survey_code(
            lambda sees: _SerializerSurvey(self._name, introspection=sees, **options.for_survey()),
            (serializer.dumps, serializer.loads),
        )
        if outcome is None:
            raise UnstableReads(self._name)
        digest, holds, _ = outcome
        return f"{serializer_name(serializer)} {digest}", holds


class _SerializerSurvey(CheckedSurvey):
    """A walk over the code of a serializer."""

    entry_points = frozenset(("dumps", "loads"))


class _DependencySurvey(CheckedSurvey):
    """A walk over the code of a function that refuses impure reads which are not declared."""

    def __init__(
        self, options: DependencyOptions, name: str, sees: frozenset[Introspection] = frozenset()
    ) -> None:
        super().__init__(name, introspection=sees, **options.for_survey())
        self._options = options
        self._declarations: list[tuple[object, Declarations]] = []
        self._refused: list[UnsupportedFunction] = []

    def called(self, graph: Graph) -> Iterator[types.FunctionType]:
        """The functions that a call can lead to; their impure reads are checked."""
        functions = list(self.checked_callees(graph))
        if self._refused:
            different: dict[tuple[str, str], UnsupportedFunction] = {}
            for each in self._refused:
                different.setdefault((each.path, each.remedy), each)
            error, *others = different.values()
            error.others = tuple(others)
            raise error
        return iter(functions)

    def beside(self, graph: Graph) -> list[str]:
        """The settings of the process that results depend on: names and digests."""
        functions = [
            cast("types.FunctionType", function)
            for function in graph.reached(types.FunctionType)
            if graph.node_of(function).tag == b"function"
        ]
        counted: list[str] = []
        for ambient in ambient_of(_packages(graph), functions):
            if ambient.name not in self.ignores:
                now = ambient.now()
                self.watch.stays(ambient.now, now)
                self.met[f"setting:{ambient.name}"] = now
                self.names[f"setting:{ambient.name}"] = ambient.name
                counted += (ambient.name, str(fingerprint(now)))
        return counted

    def completed(self, value: object, node: Node) -> Node:
        """The node of a value, with what it has declared if it is a cached function."""
        if find(type(value), "__whorl_declarations__") is ABSENT:
            return node
        return self._with_declared(value, node)

    def _with_declared(self, value: Any, node: Node) -> Node:
        """A cached function that is called: the files and variables that it has declared count."""
        declarations: Declarations = value.__whorl_declarations__()
        self._declarations.append((value, declarations))
        self.ignores_of[id(declarations.function)] = declarations.ignores
        declared = declarations.declared
        if not declared:
            return node
        now = declared.now()
        self.watch.stays(declared.now, now)
        for name, text in now:
            self.met[f"declared:{name}"] = text
        return Node(b"telling", (node, Node(b"declared", (marshalled(now),))), unlabelled)

    # -- impure reads ---------------------------------------------------------------------

    def check(self, function: types.FunctionType, graph: Graph) -> None:
        """Note what a function reads from outside which nobody has declared: all is refused."""
        named = list(named_reads(function))
        for read in self.impure_reads(function):
            if read.kind.name in self._options.kinds or read.name in self.ignores:
                continue
            if self._is_declared(read, function, graph):
                continue
            if read.kind is HASHES and function.__code__.co_name == "__hash__":
                continue  # which says where in a set it is, and does not change what is in it
            if read.method and self._is_method(read.method) and not self._has_paths(graph):
                continue  # whose code is checked by itself
            name = next((text for used, text in named if used == read), "NAME")
            self._refused.append(self.refusal(read, read.name, function, graph, name))
        for read, name in named:
            if read.name in self.ignores or self._options.declared.has(name):
                continue
            if not self._is_declared(read, function, graph):
                what = f"{read.name} for {name!r}"
                self._refused.append(self.refusal(read, what, function, graph, name))

    def _is_declared(self, read: ImpureRead, function: types.FunctionType, graph: Graph) -> bool:
        """Whether a function is reached through a cached one that has declared this read."""
        path = [node for node, _ in graph.path_to(function)]
        return any(
            read.kind.name in declarations.kinds or read.name in declarations.ignores
            for value, declarations in self._declarations
            if any(node is graph.node_of(value) for node in path)
        )

    def _is_method(self, name: str) -> bool:
        """Whether a class of the user's that was met has a method of its own of this name."""
        return any(
            name in class_vars(cast("type", met))
            for path, met in self.met.items()
            if path.startswith("class:")
        )

    def _has_paths(self, graph: Graph) -> bool:
        """Whether anything was met that is a path, or that could make one."""
        return not HAVE_PATHS.isdisjoint(_packages(graph))


def _packages(graph: Graph) -> Iterator[str]:
    """The packages that a walk over code has met: those of values, and those it imports."""
    yield from map(_package_of, graph.derived(object))
    for function in graph.reached(types.FunctionType):
        for imported in reads_of(cast("types.FunctionType", function).__code__).imports:
            yield imported.module.partition(".")[0]


def _package_of(value: object) -> str:
    """The package that a module, a class, a function or the class of a value comes from."""
    if derives(type(value), types.ModuleType):
        name = str(module_vars(cast("types.ModuleType", value)).get("__name__", ""))
    elif derives(type(value), type):
        name = module_name(cast("type", value))
    elif type(value) is types.FunctionType:
        name = str(value.__globals__.get("__name__", ""))
    else:
        name = module_name(type(value))
    return name.partition(".")[0]
