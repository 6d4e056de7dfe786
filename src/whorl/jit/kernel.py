"""A call in, its result out: bind, recall, replay, look up, compile, store, load, launch.

Each step is one method, in this order:

    bind       the arguments in the order of the parameters
    recall     in memory: the facts of a known shape lead to a specialization
    look up    the durable facts of each shape known here, from a hint or from the manifest form
               a key; ask the store
    compile    once among all threads and processes; what it reads makes shape, facts and key
    store      the artifact, then the shape, in the manifest
    load       once per device
    launch

A kernel keeps a table of specializations and nothing else. What a call reads is read on every
call, so nothing has to be promised, invalidated or declared.
"""

from __future__ import annotations

import builtins
import functools
import os
import sys
import types
import weakref
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from whorl.artifacts import Artifact, Damaged, Manifest, decode
from whorl.artifacts.record import read_of, shape_plain
from whorl.calls.binding import Binding
from whorl.calls.events import audits, emit, listeners
from whorl.calls.sources import StoredSources
from whorl.fingerprint.definition import Definition, definition_of
from whorl.fingerprint.digest import StableDigest
from whorl.fingerprint.lookup import uncounted
from whorl.fingerprint.names import known_module_name
from whorl.fingerprint.source import CodeInText, code_digest, digest_in
from whorl.late import NamedTuple, dataclass, make, replace
from whorl.lazy import importing, load, room
from whorl.locks import RLock
from whorl.reads.both import Facts, Rows, both_facts
from whorl.reads.fact import own_module
from whorl.reads.trace import Plain, Shape
from whorl.reads.world import Declared, Variables, World, place_of
from whorl.settings import Settings, on_change
from whorl.store import Cache, Found, default_cache
from whorl.store.default import prepare

from .compiler import (
    NOT_COUNTED,
    Compiler,
    CompilerCode,
    Said,
    asked_of,
    counts_by_version,
    declared_environment,
    said_by,
    target_of,
    toolchain_of,
)
from .hint import FileHint, glanced_at, told_of
from .key import Outside, ProgramKey, artifact_key, function_name, lead_of, shape_key
from .specialization import Generations, KnownShape, Replays, Specialization
from .target import Target

if TYPE_CHECKING:
    from whorl.calls.explanation import Explanation
    from whorl.errors import KernelError, RequiredHit
    from whorl.fingerprint.definition import Text
    from whorl.store import BaseStore

    from . import compiler_code, compiling, decorator, telling
else:  # what a process that finds everything has no need of
    compiler_code = room("whorl.jit.compiler_code", globals())
    compiling = room("whorl.jit.compiling", globals())
    decorator = room("whorl.jit.decorator", globals())
    telling = room("whorl.jit.telling", globals())

__all__ = ["Kernel"]


CacheMode = Literal["disk", "process", "call"]
OnDrift = Literal["recompile", "raise", "ignore"]

PROGRAMS_KEPT: Final = 64  # one for each state of the declared variables

_loaded: Final = sys.modules.get


@dataclass(frozen=True, slots=True)
class Choices:
    """How a kernel was asked to behave."""

    options: Mapping[str, Any]
    on_drift: OnDrift = "recompile"
    cache: CacheMode = "disk"
    strict: bool = False


class _Counts(dict[str, int]):
    """Numbers by name; those that are not there are 0."""

    def __missing__(self, name: str) -> int:
        return 0


class Start(NamedTuple):
    """Where the lookups of a kernel begin: its program, and what the hint of its file says."""

    program: ProgramKey
    place: tuple[Variables, Said, str]  # among the others of its kernel
    toolchain: str
    compiler: CompilerCode
    lead: StableDigest | None  # None: the code has no file
    told: FileHint | None
    shapes: Mapping[StableDigest, Rows]  # of that lead, by their names
    code: types.CodeType
    name: str

    def is_of(self, function: types.FunctionType) -> bool:
        """Whether the function is still the one that the key is of."""
        return function.__code__ is self.code and function.__name__ == self.name


class Request(NamedTuple):
    """One call on its way: what is asked, for which target, of which table."""

    world: World
    target: Target
    start: Start
    table: object  # the kernel's: it is another once the kernel has begun again
    cache: Cache
    sources: StoredSources

    @property
    def program(self) -> ProgramKey:
        """What is to be compiled, and by what."""
        return self.start.program


# To a fingerprint a kernel is its function, its compiler and its choices; names and texts
# that it has copied from the function count there, if at all.
@uncounted(*functools.WRAPPER_ASSIGNMENTS, "__wrapped__")
@uncounted(
    "_binding", "_code", "_codes", "_counts", "_definition", "_drift_told", "_environment",
    "_heard", "_home", "_known", "_lasting", "_lock", "_module", "_name", "_own", "_own_cache",
    "_placed", "_replays", "_shapes", "_starts", "_told",
)  # fmt: skip
class Kernel:
    """A function that is compiled when it is called, and never twice for the same facts.

    Made by `whorl.jit`. It can be called by several threads at once, be a method, and be
    pickled by name like the function it replaces.
    """

    _can_say_otherwise = True  # whether its compiler may be another in name, version or toolchain

    def __init__(
        self,
        function: types.FunctionType,
        compiler: Compiler,
        choices: Choices,
        cache: Cache | None = None,
    ) -> None:
        if vars(builtins) is not cast("Any", function).__builtins__:  # which compilers look in
            raise TypeError(
                f"{function.__qualname__} has builtins of its own, by `exec` with `__builtins__`: "
                "only what is defined with Python's can be compiled"
            )
        functools.update_wrapper(self, function)
        self.function = function
        self.compiler = compiler
        self.choices = choices
        self._own_cache = cache
        self._environment = Declared(declared_environment(compiler))
        self._name = function_name(function)
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._lock = RLock()  # a finalizer or a signal handler may call it in the middle of a call
        if cache is None:
            prepare()
        self._begin_again()
        _ALIVE.add(self)

    def _forget(self) -> None:
        """Begin again with an empty table: the function's own code or module is another."""
        self._code = self.function.__code__
        self._heard: Said = ()  # from the compiler, once it was asked
        place_of(self._code.co_filename)
        self._definition = definition_of(self.function)
        self._placed = _placed(self._code, self._definition)
        self._home = known_module_name(str(self.function.__globals__.get("__name__")))
        self._module = sys.modules.get(self._home)
        self._binding = Binding(self.function)
        self._own = own_module(self.function)
        self._lasting = Outside.of(self._name, self._own, self.compiler)
        self._replays = Replays(
            self.function,
            self._binding.names,
            self._environment,
            self._by_identity,
            self.compiler,
            self.choices.options,
        )
        self._told = self._glanced()
        self._starts: dict[tuple[Variables, Said, str], Start] = {}
        self._codes: tuple[CompilerCode, ...] = ()
        self._drift_told: tuple[tuple[str, str, str], ...] = ()
        self._shapes = Generations()  # the last: see `_request`

    def _glanced(self) -> FileHint | None:
        """What the hint of its file says, if that is read before it is needed."""
        is_kept = self._own_cache is None and self.choices.cache != "process"
        return glanced_at(self._definition) if is_kept and self._definition is not None else None

    def __repr__(self) -> str:
        return f"<kernel {self._name} by {self.compiler.name}>"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """By name; one with other options by the name of the kernel that it was made of."""
        found: Any = _loaded(self.function.__module__)
        for name in self.function.__qualname__.split("."):
            found = getattr(found, name, None)
        if isinstance(found, Kernel) and found is not self and self._is_variant_of(found):
            return _with_options, (found, self._said())
        return self.function.__qualname__

    def __copy__(self) -> Kernel:
        return self  # as functions do

    def __deepcopy__(self, memo: object) -> Kernel:
        return self

    def _is_variant_of(self, other: Kernel) -> bool:
        """Whether the other one with this one's options is this one."""
        return (
            other.function is self.function
            and other.compiler is self.compiler
            and other._own_cache is self._own_cache
            and replace(other.choices, options=self.choices.options) == self.choices
        )

    def _said(self) -> dict[str, Any]:
        """The options as `with_options` takes them, but for a store."""
        return dict(self.choices.options)

    @property
    def __whorl_function__(self) -> types.FunctionType:
        """The function behind, for whoever reads its code."""
        return self.function

    # -- calling ------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Compile if need be, and call."""
        try:
            launch, values, _, _ = self._prepared(*args, **kwargs)
            return launch(*values)
        except Exception as error:
            load("whorl.frames").show_users_frames(error)
            raise

    def _prepared(
        self, /, *args: Any, **kwargs: Any
    ) -> tuple[Callable[..., Any], tuple[Any, ...], Specialization, Target]:
        """What to launch with which values, found or compiled and loaded."""
        if (
            self.function.__code__ is not self._known
            or _loaded(self._home) is not self._module
            or (self._heard and self._says_otherwise())
        ):
            self._begin_again_if_need_be()
        values = self._binding.bind(*args, **kwargs)
        target = target_of(self.compiler)
        specialization = self._recall(values, target)
        if specialization is None:
            specialization = self._obtain(values, target)
        launch = specialization.loaded.get(target.device)
        if launch is None:
            launch = self._load(specialization, target)
        for audit in audits:
            audit(self, specialization, values, target)
        if listeners:
            emit("launched", self._name, device=target.device)
        return launch, values, specialization, target

    def _begin_again(self) -> None:
        with self._lock:
            self._known: types.CodeType | None = None  # who calls meanwhile comes here and waits
            self._forget()
            self._known = self._code

    def _begin_again_if_need_be(self) -> None:
        with self._lock:  # somebody else may have done it by now
            if (
                self.function.__code__ is not self._known
                or _loaded(self._home) is not self._module
                or (self._heard and self._says_otherwise() and not self._is_same_compiler())
            ):
                self._begin_again()

    def _says_otherwise(self) -> bool:
        """Whether the compiler says something else of itself, or something of its code is new."""
        if said_by(self.compiler) != self._heard:
            return True
        for code in self._codes:  # noqa: SIM110  # one, as a rule: this is sooner
            if not code.holds():
                return True
        return False

    def _is_same_compiler(self) -> bool:
        """Whether nothing but objects are others, and what they say is the same."""
        if said_by(self.compiler) != self._heard or len(self._codes) != 1:
            return False
        (before,), now = self._codes, self._compiler_code(None)
        self._codes = (now,)
        return (now.digest, now.load) == (before.digest, before.load)

    def _compiler_code(self, sources: StoredSources | None) -> CompilerCode:
        """The code of its compiler as it is now; raises where that cannot be known.

        What the hint of the function's file says of sources is about those of its compiler too.
        """
        if not self._can_say_otherwise or counts_by_version(self.compiler):
            return NOT_COUNTED
        if sources is not None and self.choices.cache != "process":
            _, source, text = self._in_text(self._code, sources)
            if source is not None:
                sources.hinted = self._hint_of_file(text, sources.place).read().rows
        code = compiler_code.code_of(self.compiler)
        if code.refused is not None and self.choices.cache == "disk":
            raise code.refused.with_traceback(None)
        return code

    def _recall(self, values: tuple[Any, ...], target: Target) -> Specialization | None:
        for shape in self._shapes.young.get(target.architecture, ()):
            found = shape.by_facts.get(shape.replay(values, target.properties))
            if found is not None:
                if listeners:
                    emit("recalled", self._name, key=found[0].key)
                return found[0]
        return self._recall_older(values, target) if self._shapes.old else None

    def _recall_older(self, values: tuple[Any, ...], target: Target) -> Specialization | None:
        """The same for what was not used for a while, and is again."""
        generations, architecture = self._shapes, target.architecture
        for shape in generations.old.get(architecture, ()):
            facts = shape.replay(values, target.properties)
            found = shape.by_facts.get(facts)
            if found is not None:
                with self._lock:
                    generations.remember(architecture, shape, facts, found)
                emit("recalled", self._name, key=found[0].key)
                return found[0]
        return None

    def world(self, values: tuple[Any, ...], target: Target) -> World:
        """Everything that a compile for these arguments may look at."""
        arguments = dict(zip(self._binding.names, values))  # noqa: B905  # as many as were bound
        return World(
            self.function,
            arguments,
            self.choices.options,
            self._environment,
            target.properties,
            self.compiler,
        )

    # -- looking up ---------------------------------------------------------------------

    def _obtain(self, values: tuple[Any, ...], target: Target) -> Specialization:
        """A specialization that is not in memory under the facts of this call.

        Errors about the kernel's own text say where in it: the way through the compiler, some
        twenty frames, would only hide that. What a user's property raised stays with its own.
        """
        table = self._shapes  # before the cache: who has the new one has a new table by then
        cache = self._own_cache or default_cache()
        sources = StoredSources(cache.store)
        try:
            with sources:
                request = self._request(values, target, table, cache, sources)
                if self.choices.on_drift == "recompile":
                    found = self._look_up(request, count=True)
                else:
                    found = self._find_unless_drifted(request)
                return found or self._make(request)
        except _own_errors() as error:
            cause = error.__cause__
            is_own = type(cause).__module__.startswith("whorl.")
            raise error.with_traceback(None) from (None if is_own else cause)

    def _request(
        self,
        values: tuple[Any, ...],
        target: Target,
        table: Generations,  # taken before the program: who has the new one has the new program
        cache: Cache,
        sources: StoredSources,
    ) -> Request:
        start = self._start(cache, sources)
        world = self.world(values, target)
        return make(Request, (world, target, start, table, cache, sources))

    def _find_unless_drifted(self, request: Request) -> Specialization | None:
        """What fits in memory is right; what has drifted is said before the store is asked."""
        return (
            self._look_up(request, count=True, in_memory=True)
            or self._drift(request)
            or self._look_up(request, count=True)
        )

    def _make(self, request: Request) -> Specialization:
        return compiling.made_for(self, request)

    def _before_compile(self) -> None:
        """What a compiler needs is imported here: what an import looks at is no read of it."""

    def _drift(self, request: Request) -> Specialization | None:
        return telling.used_despite_drift(self, request)

    @property
    def _cache(self) -> Cache:
        return self._own_cache or default_cache()

    def _start(self, cache: Cache, sources: StoredSources) -> Start:
        """Where lookups begin now: the toolchain may depend on variables and settings."""
        said = said_by(self.compiler)
        if not self._heard and self._can_say_otherwise:
            self._heard = said
        if said[2] is None:
            said = asked_of(self.compiler)
        by = self._compiler_code(sources)
        place = self._environment.now(), said, by.digest
        starts = self._starts  # before the code: one of an older code is not put among new ones
        start = starts.get(place)
        if start is None:
            code, name = self._code, self.function.__name__
            toolchain = toolchain_of(self.compiler) if said[2] is None else said[2]
            outside = self._lasting.now(name, said, toolchain, by.digest)
            cache.uses(toolchain)
            told, found = None, None
            lead: StableDigest | None = None
            shapes: Mapping[StableDigest, Rows] = {}
            _, source, text = self._in_text(code, sources)
            if source is not None and self.choices.cache != "process":
                lead, told = lead_of(outside, source), self._hint_of_file(text, cache.store)
                hint = told.about(lead)
                shapes = hint.shapes(lead)
                sources.hinted = hint.rows
                found = digest_in(hint.rows.get(source))
            program = ProgramKey.of(outside, code, found or code_digest(code))
            if len(starts) >= PROGRAMS_KEPT:
                starts.clear()
            start = make(Start, (program, place, toolchain, by, lead, told, shapes, code, name))
            starts[place] = start
        if by is not NOT_COUNTED and all(code is not by for code in self._codes):
            self._codes = (*(code for code in self._codes if code.digest != by.digest), by)
        return start

    def _hint_of_file(self, text: Text, store: BaseStore) -> FileHint:
        """The hint of the function's file in a store."""
        told = self._told
        if told is None or told.store is not store:
            told = self._told = told_of(text, store, self._definition)
        return told

    def _in_text(self, code: types.CodeType, sources: StoredSources) -> CodeInText:
        """The function's own code in its text."""
        placed = self._placed
        if placed is None or placed.code is not code:
            return sources.find(code)
        sources.met[id(code)] = placed
        return placed

    def _look_up(
        self, request: Request, *, count: bool, in_memory: bool = False
    ) -> Specialization | None:
        """By the durable facts of every known shape: in memory, then in the store."""
        if self.choices.cache == "process":
            return None
        for name, rows in self._known_shapes(request, in_memory=in_memory):
            try:
                facts = both_facts(rows, request.world, read_of, own=self._own)
            except (ValueError, TypeError, LookupError, AttributeError):
                continue  # a hint that makes no sense
            if facts.is_only_here:
                continue
            key = artifact_key(request.start.program, request.target, name, facts.durable)
            shapes = self._shapes
            specialization = shapes.of_key(key) if shapes.young else None
            if specialization is None and not in_memory:
                specialization = self._from_store(key, request, facts.durable, count=count)
                is_hinted = not request.sources.rows and name in request.start.shapes
                if specialization is not None and not is_hinted:
                    self._hint(request, name, rows)
            if specialization is not None:
                return self._remember(name, rows, request, facts, specialization)
        return None

    def _known_shapes(
        self, request: Request, *, in_memory: bool
    ) -> Iterator[tuple[StableDigest, Rows]]:
        """Those met in this process, those that a hint names, then all of the manifest."""
        hinted: Mapping[StableDigest, Rows] = {} if in_memory else request.start.shapes
        if self._shapes.young:
            with self._lock:
                known = self._shapes.named(request.target.architecture)
            met = {name: shape.rows for name, shape in known.items()}
            hinted = met | {name: rows for name, rows in hinted.items() if name not in met}
        return chain(hinted.items(), () if in_memory else _listed(request, hinted))

    def _hint(self, request: Request, name: StableDigest, rows: Rows) -> None:
        """Let other processes come here sooner, unless this one was told the way."""
        start = self._starts.get(request.start.place, request.start)
        lead, told, sources = start.lead, start.told, request.sources.used
        if lead is None or told is None:
            return
        if name in start.shapes and sources.keys() <= told.about(lead).rows.keys():
            return
        plain = shape_plain(Shape(rows)) if type(rows) is tuple else rows
        with self._lock:
            if request.table is not self._shapes:
                return
            self._starts[start.place] = start._replace(shapes={name: plain, **start.shapes})
        told.add(sources, lead, plain)

    def _from_store(
        self, key: StableDigest, request: Request, facts: tuple[Plain, ...], *, count: bool
    ) -> Specialization | None:
        cache = request.cache
        got = cache.store.get(key, request.start.program.digest)
        if isinstance(got, Found):
            try:
                artifact = decode(got.entry, with_trace=False)
            except Damaged:
                artifact = None
            if isinstance(artifact, Artifact):
                architecture = request.target.architecture
                made = Specialization(key, architecture, artifact, facts, "found", got.entry)
                if count:
                    entry, counts = got.entry, self._counts
                    cache.statistics.hit(len(entry.data), entry.head, self._name)
                    counts["found"] = counts.get("found", 0) + 1
                if listeners:
                    emit("found", self._name, key=key)
                return made
        if count:
            cache.count(got)
        return None

    def _remember(
        self,
        name: StableDigest | None,
        rows: Rows,
        request: Request,
        facts: Facts,
        made: Specialization,
    ) -> Specialization:
        """Let the next call with the same facts find it at once; the one of its key, if there is
        one already."""
        with self._lock:
            shapes = self._shapes
            if request.table is not shapes:  # it has begun again by now
                return made
            known = KnownShape(name, rows, self._replays)
            found = (made, facts.kept)
            return shapes.remember(request.target.architecture, known, facts.live, found)

    @property
    def _by_identity(self) -> bool:
        """Whether what cannot be recorded is known by identity."""
        return self.choices.cache == "process"

    def _load(self, specialization: Specialization, target: Target) -> Callable[..., Any]:
        with self._lock:
            launch = specialization.loaded.get(target.device)
        if launch is None:
            launch = self._made_callable(specialization, target)
            if not callable(launch):
                with importing:
                    from whorl.errors import CompilerFailed

                raise CompilerFailed(self.compiler.name, "load", repr(launch), "a callable")
            with self._lock:
                launch = specialization.loaded.setdefault(target.device, launch)
            emit("loaded", self._name, device=target.device)
        return launch

    def _made_callable(self, specialization: Specialization, target: Target) -> Any:
        return self.compiler.load(specialization.artifact, target.device)

    def explain(self, /, *args: Any, **kwargs: Any) -> Explanation:
        """Why a call with these arguments would be a hit or a miss, or raise, without compiling.

        The call is compared with the nearest compile known here or in the store.
        """
        with importing:
            from whorl.calls.explanation import Explanation

        self._begin_again_if_need_be()
        values = self._binding.bind(*args, **kwargs)
        target = target_of(self.compiler)
        if self._recall(values, target) is not None:
            return Explanation(self._name, "hit", "its specialization is in memory")
        table, cache = self._shapes, self._cache
        sources = StoredSources(cache.store)
        with sources:
            return telling.explained(self, self._request(values, target, table, cache, sources))

    # -- looking at it ------------------------------------------------------------------

    def specializations(self) -> list[Specialization]:
        """What this kernel has in memory, in the order in which it came to be there."""
        with self._lock:
            found = {made.number: made for made in self._shapes.all()}
        return [found[number] for number in sorted(found)]

    def stats(self) -> dict[str, int]:
        """How often each step was taken in this process; of one that was never, that is 0."""
        return _Counts(self._counts)

    def with_options(self, **options: Any) -> Kernel:
        """The same function with some options as given: a new kernel, this one stays as it is."""
        unknown = options.keys() - self.choices.options.keys() if self.choices.options else ()
        if self.choices.options and unknown:
            raise TypeError(
                f"{self._name} has no option {sorted(unknown)[0]!r}; it has "
                f"{', '.join(sorted(self.choices.options))}"
            )
        merged = {**self.choices.options, **decorator.taken(options)}
        choices = replace(self.choices, options=merged)
        return self._again(choices)

    def _again(self, choices: Choices) -> Kernel:
        """A kernel of the same function and compiler."""
        return type(self)(self.function, self.compiler, choices, self._own_cache)


def _placed(code: types.CodeType, definition: Definition | None) -> CodeInText | None:
    """Code in the text of its definition; None where that cannot be said, or not now."""
    if definition is None:
        return None
    try:
        return CodeInText.of(code, definition.text)
    except Exception:  # a constant that nobody knows: who calls it is told
        return None


def _with_options(kernel: Kernel, options: dict[str, Any]) -> Kernel:
    return kernel.with_options(**options)


_ALIVE: Final[weakref.WeakSet[Kernel]] = weakref.WeakSet()


def _listed(request: Request, met: Container[StableDigest]) -> Iterator[tuple[StableDigest, Rows]]:
    """The shapes of a program's manifest that were not met yet."""
    with importing:
        from .stored import records

    for _, record in records(request.cache.store, request.program.manifests, but=met):
        if isinstance(record, Manifest):
            for shape in record.shapes:
                yield shape_key(shape), shape.reads


def _own_errors() -> tuple[type[KernelError], type[RequiredHit]]:
    with importing:
        from whorl.errors import (  # imported if there is an error to compare
            KernelError,
            RequiredHit,
        )

    return KernelError, RequiredHit


def _after_fork() -> None:
    for kernel in list(_ALIVE):
        kernel._lock = RLock()  # a thread that is not in the child may hold the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _on_settings(before: Settings, after: Settings) -> None:
    """With another cache, begin again: what is in memory is from the old one."""
    is_other = before.cache_place.value != after.cache_place.value
    if is_other or before.cache.value != after.cache.value:
        for kernel in list(_ALIVE):
            if kernel._own_cache is None:
                kernel._begin_again()


on_change(_on_settings)


def check_choices(on_drift: object, cache: object, store: object) -> None:
    """Say what is wrong with how a kernel is asked to behave."""
    for name, value, choice in (
        ("on_drift", on_drift, ("recompile", "raise", "ignore")),
        ("cache", cache, ("disk", "process", "call")),
    ):
        if value not in choice:
            raise ValueError(f"{name} is one of {', '.join(choice)}, not {value!r}")
    if store is not None and not isinstance(store, Cache):
        raise TypeError(f"store is a whorl.store.Cache, not {type(store).__name__}: wrap it in one")
