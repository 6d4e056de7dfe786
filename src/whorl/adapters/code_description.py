"""What a function of another compiler is made of: a digest of all that it reads, part by part."""

from __future__ import annotations

import dis
import linecache
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

from whorl.calls.checked_survey import FINDS_CODE, CheckedSurvey
from whorl.calls.impure_functions import ImpureKind
from whorl.errors import UnsupportedFunction
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.boundary import Boundary
from whorl.fingerprint.bytecode import nested_codes
from whorl.fingerprint.digest import StableDigest
from whorl.fingerprint.fingerprinter import Fingerprinter
from whorl.fingerprint.modes import Introspection
from whorl.fingerprint.rules.compiled_functions import row_of
from whorl.fingerprint.source import code_digest, place_of_code
from whorl.fingerprint.static_lookup import class_vars
from whorl.fingerprint.survey import module_of, survey_code
from whorl.fingerprint.tokens import is_leaf
from whorl.fingerprint.value_graph import Graph
from whorl.fingerprint.watch import Check
from whorl.steps.value_text import text_rows, value_text
from whorl.store import KeyPart

_READS: Final = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"))
_FINGERPRINTER: Final = Fingerprinter()


@dataclass(frozen=True, slots=True, eq=False)
class CodeDescription:
    """The code of some functions and all that it reads, as it was when `digest` was taken.

    `holds()` says whether it still is so in this process; `parts()` lists what was found.
    """

    digest: StableDigest
    holds: Check
    met: tuple[tuple[str, object], ...]
    beside: Mapping[str, object]

    def parts(self) -> tuple[KeyPart, ...]:
        """What the digest was made of, by path, with the lines that read it."""
        return (*_beside_parts(self.beside), *_code_parts(dict(self.met)))

    def functions(self) -> Iterator[types.FunctionType]:
        """The functions whose code counts."""
        for _, value in self.met:
            if type(value) is types.FunctionType:
                yield value


def describe(
    name: str,
    *roots: object,
    beside: Mapping[str, object] | None = None,
    ignores: Iterable[str] = (),
    leaving_out: str = "whorl.adapters.describe(ignores=[NAME])",
    pure: bool = False,
    packages: Iterable[str] = (),
) -> CodeDescription:
    """What some functions are made of: their code, and all that it reads, through every call.

    `name` is theirs, for errors. `beside` are other values that count, by path, such as options.
    `ignores` are globals and captured variables that do not count (`LOCK`, `solver.LOCK`), and
    `leaving_out` is how the user writes that, for errors. What cannot be known exactly raises
    `UnsupportedFunction`; with `pure`, so does code that reads files, the environment or clocks,
    for compilers that run Python code. `packages` are installed ones whose code counts by what it
    is, not by version.

    >>> solver = {"__name__": "solver", "SCALE": 2.0}
    >>> exec("def step(x): return x * SCALE", solver)
    >>> before = describe("solver.step", solver["step"], beside={"option:fast": True})
    >>> [part.path for part in before.parts()]
    ['option:fast', 'code:solver.step', 'global:solver.SCALE']
    >>> solver["SCALE"] = 3.0
    >>> before.holds(), describe("solver.step", solver["step"]).digest == before.digest
    (False, False)
    """
    others = dict(beside or {})
    left_out = frozenset(ignores)
    boundary = Boundary(user=frozenset(packages))

    def survey(sees: frozenset[Introspection]) -> _AdapterSurvey:
        return _AdapterSurvey(name, leaving_out, left_out, sees, pure, boundary)

    outcome = survey_code(survey, (*roots, [*others.items()]))
    if outcome is None:
        reason = "what it reads changes all the time"
        remedy = "Let what changes be an argument. Until then nothing of it is kept."
        raise UnsupportedFunction(name, name, "function", reason, remedy)
    digest, holds, walked = outcome
    return CodeDescription(digest, holds, tuple(walked.met.items()), others)


def key_of(*parts: object) -> StableDigest:
    """A key from digests, texts, numbers and other values that have a stable fingerprint.

    >>> key_of("numba", "float64") == key_of("numba", "float32")
    False
    """
    return _FINGERPRINTER.stable(parts)


class _AdapterSurvey(CheckedSurvey):
    """A walk over code that another compiler compiles."""

    def __init__(
        self,
        name: str,
        option: str,
        ignores: frozenset[str],
        sees: frozenset[Introspection],
        pure: bool,
        boundary: Boundary,
    ) -> None:
        super().__init__(name, ignores=ignores, introspection=sees, boundary=boundary)
        self._option = option
        self._pure = pure

    def check(self, function: types.FunctionType, graph: Graph) -> None:
        """Refuse a function that finds code by its name, or is not pure where that is asked for."""
        super().check(function, graph)
        for read in self.impure_reads(function) if self._pure else ():
            if read.kind.name not in FINDS_CODE and read.name not in self.ignores:
                raise self.refusal(read, read.name, function, graph)

    def advice(self, kind: ImpureKind, used: str) -> str:
        """What to do about an impure read."""
        if kind.name in FINDS_CODE:
            remedy = kind.remedy
        else:
            remedy = "Read it before, into a global or an argument"
        return f"{remedy}. If no result depends on it: {self.leaving_out(used)}."

    def leaving_out(self, name: str) -> str:
        """The option by which a name does not count."""
        return self._option.replace("NAME", repr(name))


# -- parts -----------------------------------------------------------------------------


def _beside_parts(beside: Mapping[str, object]) -> Iterator[KeyPart]:
    for path, value in beside.items():
        for row in text_rows(path, value, in_order=True):
            yield KeyPart(*row)


def _code_parts(met: Mapping[str, object]) -> Iterator[KeyPart]:
    functions = [value for value in met.values() if type(value) is types.FunctionType]
    for path, value in met.items():
        if type(value) is types.FunctionType:
            digest = code_digest(value.__code__).hex
            yield KeyPart(path, digest[:16], digest, _definition(value))
        elif row_of(type(value)) is None:  # others are met as the function that they wrap
            place = _place_of_read(path, functions)
            for row in text_rows(path, value, in_order=True):
                yield KeyPart(*row, place=place)
            if path.startswith("class:"):  # its digest alone would not say what has changed
                yield from _attribute_parts(path, value)


def _attribute_parts(path: str, cls: object) -> Iterator[KeyPart]:
    """The constants of a class."""
    for name, content in class_vars(cast("type", cls)).items():
        if is_leaf(type(content)) and not name.startswith("__"):
            yield KeyPart(f"{path}.{name}", value_text(content))


def _definition(function: types.FunctionType) -> str:
    """The line on which a function begins."""
    written = [line.strip() for line in code_digest(function.__code__).written]
    starts = ("def ", "async def ", "class ")
    below = next((i for i, text in enumerate(written) if text.startswith(starts)), 0)
    file, line = place_of_code(function.__code__)
    return f"{file}:{line + below}: `{written[below]}`" if written else f"{file}:{line}"


def _place_of_read(path: str, functions: Iterable[types.FunctionType]) -> str:
    """The first line on which one of the functions reads a global or captured variable."""
    kind, _, dotted = path.partition(":")
    if kind not in ("global", "cell"):
        return ""
    for function in functions:
        owner = module_of(function)
        owner = owner if kind == "global" else f"{owner}.{function.__qualname__}"
        if dotted.startswith(f"{owner}."):
            name = dotted[len(owner) + 1 :].partition(".")[0]
            place = _line_that_reads(name, function.__code__)
            if place:
                return place
    return ""


def _line_that_reads(name: str, code: types.CodeType) -> str:
    for inner in nested_codes(code):
        line = 0
        for step in dis.get_instructions(inner):
            line = (step.positions and step.positions.lineno) or line
            if step.opname in _READS and step.argval == name:
                text = linecache.getline(inner.co_filename, line).strip()
                return f"{place_of_code(inner)[0]}:{line}" + (f": `{text}`" if text else "")
    return ""
