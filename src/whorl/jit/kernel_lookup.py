"""Finds the specialization of a call: by hints, by the manifest, in the store.

    start      what the program is: the function's code, the compiler, its code and toolchain
    shapes     those in memory, those that the hint of the file names, those of the manifest
    facts      the durable facts of each shape, from the call at hand, form a key
    store      is asked for the artifact of that key

The reads of a call are made on every call, so users declare and invalidate nothing.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Container, Iterator, Mapping
from itertools import chain
from operator import is_
from typing import TYPE_CHECKING, Any, Final, Literal

from whorl.artifacts import Artifact, Damaged, Manifest, decode
from whorl.artifacts.record import shape_of, shape_plain
from whorl.calls.binding import Binding
from whorl.calls.events import emit, listeners
from whorl.fast_dataclasses import NamedTuple, dataclass, make
from whorl.fingerprint.definition import Definition, Text, definition_of
from whorl.fingerprint.digest import StableDigest
from whorl.fingerprint.names import known_module_name
from whorl.fingerprint.source import CodeInText, code_digest, digest_in
from whorl.lazy import importing, lazy_module
from whorl.reads.replay import Facts, ReplaySetup, first_facts
from whorl.reads.trace import Plain, Shape
from whorl.reads.world import DeclaredVariables, Variables, World, own_module, place_of
from whorl.signals import pass_on
from whorl.store import Cache, Found, Store, default_cache
from whorl.store.cache import StoredSources, as_cache, records

from .compiler import (
    NOT_COUNTED,
    Compiler,
    CompilerCode,
    Identity,
    Target,
    counts_by_version,
    declared_environment,
    identity_of,
    identity_with_settings,
    is_own_compiler,
    own_members,
    toolchain_of,
)
from .key import (
    NO_HINT,
    FileHint,
    ProgramContext,
    ProgramKey,
    Rows,
    artifact_key,
    file_hint,
    hint_key,
    lead_of,
    prefetched_hint,
    shape_key,
)
from .specialization import Specialization, SpecializationTable

if TYPE_CHECKING:
    from whorl.store import BaseStore

    from . import compiler_code
else:
    compiler_code = lazy_module("whorl.jit.compiler_code", globals())  # whorl's own need none

# The choices of a kernel: options, what to do about drift, where to cache.


CacheMode = Literal["disk", "process", "call"]
OnDrift = Literal["recompile", "raise", "ignore"]
AnyStore = Cache | Store | str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Choices:
    """What the decorator of a kernel was called with."""

    options: Mapping[str, Any]
    on_drift: OnDrift = "recompile"
    cache: CacheMode = "disk"
    strict: bool = False


def check_choices(on_drift: object, cache: object, store: AnyStore | None) -> Cache | None:
    """Raise for choices that do not exist; the cache that `store` stands for."""
    for name, value, choice in (
        ("on_drift", on_drift, ("recompile", "raise", "ignore")),
        ("cache", cache, ("disk", "process", "call")),
    ):
        if value not in choice:
            raise ValueError(f"{name} is one of {', '.join(choice)}, not {value!r}")
    if store == "process":
        raise TypeError("store= is a directory, a cache or a store; write cache='process'")
    return None if store is None else as_cache(store)


def copied_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as they are now, whatever becomes of the objects.

    >>> sizes = [4]
    >>> copies = copied_options({"sizes": sizes})
    >>> sizes.append(8)
    >>> copies
    {'sizes': [4]}
    """
    with importing:
        from copy import deepcopy  # which a warm process has no need of

    copies = {}
    for name, value in options.items():
        try:
            copies[name] = deepcopy(value)
        except Exception as error:
            pass_on(error)
            raise TypeError(f"option {name!r} cannot be copied: {error}") from error
    return copies


# -- the lookup ------------------------------------------------------------------------


PROGRAMS_KEPT: Final = 64  # one for each state of the declared variables

_loaded: Final = sys.modules.get


class Setup(NamedTuple):
    """What a kernel was made of, and what it counts: the same for its whole life."""

    name: str
    function: types.FunctionType
    compiler: Compiler
    choices: Choices
    own_cache: Cache | None  # None: the default one
    counts: dict[str, int]
    warned: set[str]  # what has changed during a compile, and was logged


class Start(NamedTuple):
    """Where a lookup begins: the program, and what the hint of its file says."""

    program: ProgramKey
    place: tuple[Variables, Identity, str]  # among the others of its kernel
    toolchain: str
    compiler: CompilerCode
    lead: StableDigest | None  # None: the code has no file
    hint: FileHint | None
    shapes: Mapping[StableDigest, Rows]  # of that lead, by their names
    code: types.CodeType
    name: str

    def still_matches(self, function: types.FunctionType) -> bool:
        """Whether the function is still the one that the key is of."""
        return function.__code__ is self.code and function.__name__ == self.name


class LookupRequest(NamedTuple):
    """A call that no specialization in memory fits: its world, its target, and where to look."""

    world: World
    target: Target
    start: Start
    cache: Cache
    sources: StoredSources

    @property
    def program(self) -> ProgramKey:
        """What is to be compiled, and by what."""
        return self.start.program


class Candidate(NamedTuple):
    """A known shape, the facts of a call by it, and the key that these form."""

    key: StableDigest
    name: StableDigest  # of the shape
    shape: Shape
    facts: Facts


class KernelLookup:
    """The lookups of one function, with the code that it has now, and their table.

    A kernel makes a new lookup when the function gets other code, its module is replaced, or its
    compiler changes. So nothing here is ever reset, and nobody sees what a call that is still
    running adds to an old lookup.
    """

    def __init__(self, setup: Setup) -> None:
        name, function, compiler, choices, own_cache, counts, warned = setup
        self.name = name
        self.function = function
        self.compiler = compiler
        self.choices = choices
        self.counts = counts
        self.warned = warned
        self.code = function.__code__
        place_of(self.code.co_filename)
        self.definition = definition_of(function)
        self.binding = Binding(function)
        self.drift_shown: tuple[tuple[str, str, str], ...] = ()
        self._own_cache = own_cache
        self.environment = environment = DeclaredVariables(declared_environment(compiler))
        self._home = known_module_name(str(function.__globals__.get("__name__")))
        self._module = _loaded(self._home)
        self._code_in_text = _code_in_text(self.code, self.definition)
        self._context = ProgramContext.of(name, own_module(function), compiler)
        self._is_own_compiler = is_own_compiler(compiler)
        self._identity: Identity = ()  # of the compiler, since the first lookup
        self._compiler_class = type(compiler)
        self._own_members: tuple[object, ...] = ()
        self._compiler_codes: tuple[CompilerCode, ...] = ()
        self.starts: dict[tuple[Variables, Identity, str], Start] = {}
        self._file_hint = self._prefetched_hint()
        names, by_identity = self.binding.names, self.is_by_identity
        self.replay_setup = ReplaySetup(
            function, names, environment, by_identity, compiler, choices.options
        )
        self.table = SpecializationTable(name, self.replay_setup)

    def _prefetched_hint(self) -> FileHint | None:
        if self._own_cache is not None or self.choices.cache == "process":
            return None
        return None if self.definition is None else prefetched_hint(self.definition)

    @property
    def is_by_identity(self) -> bool:
        """Whether what cannot be recorded is known by identity."""
        return self.choices.cache == "process"

    @property
    def cache(self) -> Cache:
        """Where artifacts are kept."""
        return self._own_cache or default_cache()

    # -- whether it is still valid ------------------------------------------------------

    def is_current(self) -> bool:
        """Whether function, module and compiler are still the very same."""
        if self.function.__code__ is not self.code or _loaded(self._home) is not self._module:
            return False
        if not self._identity:
            return True
        compiler = self.compiler
        if type(compiler) is not self._compiler_class or identity_of(compiler) != self._identity:
            return False
        if not all(map(is_, own_members(compiler), self._own_members)):
            return False
        for code in self._compiler_codes:  # noqa: SIM110  # one, as a rule: this is sooner
            if not code.holds():
                return False
        return True

    def is_equivalent(self) -> bool:
        """Whether the compiler's code differs only in its objects, and has the same digest."""
        if self.function.__code__ is not self.code or _loaded(self._home) is not self._module:
            return False
        codes, compiler = self._compiler_codes, self.compiler
        if type(compiler) is not self._compiler_class or identity_of(compiler) != self._identity:
            return False
        if len(codes) != 1:
            return False
        self._own_members = own_members(compiler)
        code = self.compiler_code(None)
        self._compiler_codes = (code,)
        return (code.digest, code.load) == (codes[0].digest, codes[0].load)

    def compiler_code(self, sources: StoredSources | None) -> CompilerCode:
        """The code of the compiler as it is now; raises where that cannot be known.

        The hint of the function's file has rows about the sources of its compiler too.
        """
        if self._is_own_compiler or counts_by_version(self.compiler):
            return NOT_COUNTED
        if sources is not None and self.choices.cache != "process":
            _, source, text = self._in_text(sources)
            if source is not None:
                sources.hinted = self._hint_of_file(text, sources.place).read().rows
        code = compiler_code.code_of(self.compiler)
        if code.refused is not None and self.choices.cache == "disk":
            raise code.refused.with_traceback(None)
        return code

    # -- the start of a lookup ----------------------------------------------------------

    def request(
        self, values: tuple[Any, ...], target: Target, cache: Cache, sources: StoredSources
    ) -> LookupRequest:
        """The request for a call with these values."""
        start = self.start(cache, sources)
        return make(LookupRequest, (self.world(values, target), target, start, cache, sources))

    def world(self, values: tuple[Any, ...], target: Target) -> World:
        """Everything that a compile for these arguments may look at."""
        return self.replay_setup.world(values, target.properties)

    def start(self, cache: Cache, sources: StoredSources) -> Start:
        """Where lookups begin now: the toolchain may depend on variables and settings."""
        identity = identity_of(self.compiler)
        if not self._identity and not self._is_own_compiler:
            self._identity, self._own_members = identity, own_members(self.compiler)
        if identity[2] is None:
            identity = identity_with_settings(self.compiler)
        code = self.compiler_code(sources)
        place = self.environment.now(), identity, code.digest
        start = self.starts.get(place)
        if start is None:
            if len(self.starts) >= PROGRAMS_KEPT:
                self.starts.clear()
            start = self.starts[place] = self._new_start(place, code, cache, sources)
        if code is not NOT_COUNTED and all(each is not code for each in self._compiler_codes):
            others = (each for each in self._compiler_codes if each.digest != code.digest)
            self._compiler_codes = (*others, code)
        return start

    def _new_start(
        self,
        place: tuple[Variables, Identity, str],
        by: CompilerCode,
        cache: Cache,
        sources: StoredSources,
        of_file: FileHint | None = None,
    ) -> Start:
        identity, name = place[1], self.function.__name__
        toolchain = toolchain_of(self.compiler) if identity[2] is None else identity[2]
        context = self._context.now(name, identity, toolchain, by.digest)
        cache.uses(toolchain)
        lead, digest = None, None
        shapes: Mapping[StableDigest, Rows] = {}
        _, source, text = self._in_text(sources)
        if source is not None and self.choices.cache != "process":
            lead = lead_of(context, source)
            of_file = of_file or self._hint_of_file(text, cache.store)
            hint = of_file.about(lead)
            shapes = hint.shapes(lead)
            sources.hinted = hint.rows
            digest = digest_in(hint.rows.get(source))
        program = ProgramKey.of(context, self.code, digest or code_digest(self.code))
        return make(Start, (program, place, toolchain, by, lead, of_file, shapes, self.code, name))

    def uses_bundles(self, cache: Cache) -> bool:
        """Whether installed bundles are asked: nothing that is stored is used if caches are off."""
        return self.choices.cache != "process" and not cache.store.is_off

    def shipped_start(self, toolchain: str, bundle: Cache, sources: StoredSources) -> Start | None:
        """Where a lookup in a bundle begins; None if that knows nothing of the function's file."""
        _, source, text = self._in_text(sources)
        if source is None:
            return None
        of_file = FileHint(bundle.store, hint_key(text))
        if of_file.read() is NO_HINT:
            return None
        name, version, *_ = identity_of(self.compiler)
        code = self.compiler_code(sources)
        place = self.environment.now(), (name, version, toolchain), code.digest
        return self._new_start(place, code, bundle, sources, of_file)

    def is_hinted(self, store: BaseStore, sources: StoredSources) -> bool:
        """Whether a store is likely to know the function: it has a hint of its file."""
        _, source, text = self._in_text(sources)
        return source is not None and self._hint_of_file(text, store).read() is not NO_HINT

    def _hint_of_file(self, text: Text, store: BaseStore) -> FileHint:
        """The hint of the function's file in a store."""
        hint = self._file_hint
        if hint is None or hint.store is not store:
            hint = self._file_hint = file_hint(text, store, self.definition)
        return hint

    def _in_text(self, sources: StoredSources) -> CodeInText:
        """The function's own code in its text."""
        place = self._code_in_text
        if place is None:
            return sources.find(self.code)
        sources.met[id(self.code)] = place
        return place

    # -- shapes, facts, keys ------------------------------------------------------------

    def find(
        self, request: LookupRequest, *, count: bool, in_memory: bool = False
    ) -> Specialization | None:
        """The specialization for the facts of a call: in memory, then in the store."""
        table = self.table
        for key, name, shape, facts in self.candidates(request, in_memory=in_memory):
            specialization = table.of_key(key) if table.young else None
            if specialization is None and not in_memory:
                specialization = self.from_store(key, request, facts.durable, count=count)
                is_hinted = not request.sources.rows and name in request.start.shapes
                if specialization is not None and not is_hinted:
                    self.add_hint(request, name, shape)
            if specialization is not None:
                architecture = request.target.architecture
                return table.remember(architecture, name, shape, facts, specialization)
        return None

    def candidates(self, request: LookupRequest, *, in_memory: bool = False) -> Iterator[Candidate]:
        """The keys under which an artifact for a call may be stored, one for each known shape."""
        if self.choices.cache == "process":
            return
        for name, rows in self._known_shapes(request, in_memory=in_memory):
            try:
                shape = rows if type(rows) is Shape else shape_of(rows)
                facts = first_facts(shape, request.world)
            except (ValueError, TypeError, LookupError, AttributeError):
                continue  # a hint that makes no sense
            if not facts.is_only_here:
                key = artifact_key(request.start.program, request.target, name, facts.durable)
                yield make(Candidate, (key, name, shape, facts))

    def _known_shapes(
        self, request: LookupRequest, *, in_memory: bool
    ) -> Iterator[tuple[StableDigest, Rows | Shape]]:
        """The shapes met in this process, those that a hint names, then those of the manifest."""
        shapes: Mapping[StableDigest, Rows | Shape] = {} if in_memory else request.start.shapes
        if self.table.young:
            met = self.table.stored_shapes(request.target.architecture)
            shapes = {**met} | {name: rows for name, rows in shapes.items() if name not in met}
        return chain(shapes.items(), () if in_memory else _manifest_shapes(request, shapes))

    def from_store(
        self, key: StableDigest, request: LookupRequest, facts: tuple[Plain, ...], *, count: bool
    ) -> Specialization | None:
        """The specialization of a key in the store of a request; None if it has none."""
        cache = request.cache
        got = cache.store.get(key, request.start.program.digest)
        if isinstance(got, Found):
            entry = got.entry
            try:
                artifact = decode(entry, with_trace=False)
            except Damaged:
                artifact = None
            if isinstance(artifact, Artifact):
                if count:
                    cache.statistics.hit(len(entry.data), entry.head, self.name)
                    self.counts["found"] += 1
                if listeners:
                    emit("found", self.name, key=key)
                architecture = request.target.architecture
                return Specialization(key, architecture, artifact, facts, "found", entry)
        if count:
            cache.count(got)
        return None

    def add_hint(self, request: LookupRequest, name: StableDigest, shape: Shape) -> None:
        """Let other processes find a shape sooner, unless the hint names it already."""
        start = self.starts.get(request.start.place, request.start)
        lead, hint, sources = start.lead, start.hint, request.sources.used
        if lead is None or hint is None:
            return
        if name in start.shapes and sources.keys() <= hint.about(lead).rows.keys():
            return
        plain = shape_plain(shape)
        self.starts[start.place] = start._replace(shapes={name: plain, **start.shapes})
        hint.add(sources, lead, plain)


def _manifest_shapes(
    request: LookupRequest, known: Container[StableDigest]
) -> Iterator[tuple[StableDigest, Shape]]:
    """The shapes of a program's manifest that are not known yet."""
    for _, record in records(request.cache.store, request.program.manifests, but=known):
        if isinstance(record, Manifest):
            for shape in record.shapes:
                yield shape_key(shape), shape


def _code_in_text(code: types.CodeType, definition: Definition | None) -> CodeInText | None:
    """Code in the text of its definition; None where that cannot be known, or not now."""
    if definition is None:
        return None
    try:
        return CodeInText.of(code, definition.text)
    except Exception as error:  # a constant that nobody knows: the first call raises for it
        pass_on(error)
        return None
