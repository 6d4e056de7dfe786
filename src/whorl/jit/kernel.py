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

import contextlib
import functools
import os
import sys
import time
import types
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from whorl.artifacts import Artifact, Damaged, Label, Manifest, decode, encode
from whorl.artifacts.record import shape_of, shape_plain
from whorl.errors import CompilerFailed, Drifted, KernelError, RequiredHit, UnsupportedRead
from whorl.fingerprint import exclude
from whorl.fingerprint.digest import StableDigest
from whorl.fingerprint.names import known_module_name
from whorl.fingerprint.source import remembered_as, remembered_in
from whorl.late import NamedTuple, dataclass, replace
from whorl.lazy import logger
from whorl.locks import Lock
from whorl.reads.both import Facts, both_facts
from whorl.reads.replay import (
    Replay,
    compiled_replay,
    durable_facts,
    is_only_here,
    plain_replay,
    samples_of,
)
from whorl.reads.signature import array_signature, class_label
from whorl.reads.trace import Plain, Shape
from whorl.reads.world import World, environment_variable
from whorl.settings import Settings, on_change
from whorl.store import Cache, Found, default_cache

from .binding import Binding
from .compiler import (
    Compiler,
    Program,
    check_compiler,
    declared_environment,
    see_settings,
    target_of,
)
from .events import Happened, audits, emit, listeners, watches
from .hint import NO_HINT, Hint
from .key import (
    ProgramKey,
    artifact_key,
    flight_name,
    function_group,
    function_name,
    hint_key,
    key_parts,
    outside_parts,
    shape_key,
)
from .sources import StoredSources
from .specialization import Generations, KnownShape, Specialization
from .target import Properties, Target

if TYPE_CHECKING:
    from whorl.reads import Recorder
    from whorl.store import Ending

    from .drift import Drift
    from .explain import Explanation

__all__ = ["Kernel", "jit"]

log = logger("whorl.jit")
why = logger("whorl.why")
INFO: Final = 20  # the level, as logging has it

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


class _Start(NamedTuple):
    """Where the lookups of a kernel begin: its program, and the hint that is kept for it."""

    program: ProgramKey
    variables: tuple[str | None, ...]
    toolchain: str
    hint_key: StableDigest | None  # None: the code has no file
    hint: Hint


class _Request(NamedTuple):
    """One call on its way: what is asked, for which target, of which table."""

    program: ProgramKey
    table: object  # the kernel's, by key: it is another once the kernel has begun again
    world: World
    target: Target
    start: _Start
    sources: StoredSources


# To a fingerprint a kernel is its function, its compiler and its choices; names and texts
# that it has copied from the function count there, if at all.
@exclude(*functools.WRAPPER_ASSIGNMENTS, "__wrapped__")
@exclude(
    "_binding", "_by_key", "_code", "_counts", "_drift_told", "_environment", "_home", "_lock",
    "_module", "_name", "_only_here", "_own_cache", "_shapes", "_starts",
)  # fmt: skip
class Kernel:
    """A function that is compiled when it is called, and never twice for the same facts.

    Made by `whorl.jit`. It can be called by several threads at once, be a method, and be
    pickled by name like the function it replaces.
    """

    def __init__(
        self,
        function: types.FunctionType,
        compiler: Compiler,
        choices: Choices,
        cache: Cache | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.compiler = compiler
        self.choices = choices
        self._own_cache = cache
        self._environment = dict(declared_environment(compiler))
        self._name = function_name(function)
        self._counts: Counter[str] = Counter()
        self._lock = Lock()
        self._forget()
        _ALIVE.add(self)

    def _forget(self) -> None:
        """Begin again with an empty table: the function's own code or module is another."""
        self._code = self.function.__code__
        self._home = known_module_name(str(self.function.__globals__.get("__name__")))
        self._module = sys.modules.get(self._home)
        self._binding = Binding(self.function)
        self._starts: dict[tuple[str | None, ...], _Start] = {}  # by environment
        self._shapes = Generations()
        # What is in no generation any more is gone from these as well.
        self._only_here: weakref.WeakSet[Specialization] = weakref.WeakSet()
        self._drift_told: tuple[tuple[str, str, str], ...] = ()
        self._by_key: weakref.WeakValueDictionary[StableDigest, Specialization]
        self._by_key = weakref.WeakValueDictionary()  # the last: see `_request`

    def __repr__(self) -> str:
        return f"<kernel {self._name} by {self.compiler.name}>"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> str:
        return self.function.__qualname__

    @property
    def __whorl_function__(self) -> types.FunctionType:
        """The function behind, for whoever reads its code."""
        return self.function

    # -- calling ------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compile if need be, and call."""
        launch, values, _, _ = self._prepared(*args, **kwargs)
        return launch(*values)

    def _prepared(
        self, *args: Any, **kwargs: Any
    ) -> tuple[Callable[..., Any], tuple[Any, ...], Specialization, Target]:
        """What to launch with which values, found or compiled and loaded."""
        if self.function.__code__ is not self._code or _loaded(self._home) is not self._module:
            self._begin_again()
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
            emit(Happened.LAUNCHED, self._name, device=target.device)
        return launch, values, specialization, target

    def _begin_again(self) -> None:
        with self._lock:
            self._forget()

    def _recall(self, values: tuple[Any, ...], target: Target) -> Specialization | None:
        for shape in self._shapes.young.get(target.architecture, ()):
            found = shape.by_facts.get(shape.replay(values, target.properties))
            if found is not None:
                if listeners:
                    emit(Happened.RECALLED, self._name, key=found[0].key)
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
                emit(Happened.RECALLED, self._name, key=found[0].key)
                return found[0]
        return None

    def world(self, values: tuple[Any, ...], target: Target) -> World:
        """Everything that a compile for these arguments may look at."""
        arguments = dict(zip(self._binding.names, values, strict=True))
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
        sources = StoredSources(self._cache.store)
        try:
            with remembered_in(sources):
                request = self._request(values, target, sources)
                return self._find(request) or self._make(request)
        except (KernelError, RequiredHit) as error:
            cause = error.__cause__
            is_own = type(cause).__module__.startswith("whorl.")
            raise error.with_traceback(None) from (None if is_own else cause)

    def _request(self, values: tuple[Any, ...], target: Target, sources: StoredSources) -> _Request:
        table = self._by_key  # before the program: who has the new table has the new program
        start = self._start(sources)
        return _Request(start.program, table, self.world(values, target), target, start, sources)

    def _find(self, request: _Request) -> Specialization | None:
        if self.choices.on_drift == "recompile":
            return self._look_up(request, count=True)
        # What fits in memory is right; what has drifted is to be said before the store is asked.
        return (
            self._look_up(request, count=True, in_memory=True)
            or self._drift(request)
            or self._look_up(request, count=True)
        )

    def _make(self, request: _Request) -> Specialization:
        from whorl.store.journal import journal_of  # a process that finds everything needs none
        from whorl.store.making import making

        from .missed import miss_of

        cache = self._cache
        journal = None if self.choices.cache == "process" else journal_of(cache.store)
        explanation = self._explain_miss(request, is_kept=journal is not None)
        miss = miss_of(self._name, explanation, self._code)
        with making(miss, explanation, cache.statistics, journal) as outcome:
            made, outcome.how = self._made(request)
            outcome.key = made.key
            return made

    def _made(self, request: _Request) -> tuple[Specialization, Ending | None]:
        if self.choices.cache == "process":
            return self._compile(request), None

        def look(theirs: Specialization | None) -> Specialization | None:
            return self._look_up(request, count=False)

        def produce() -> Specialization:
            return self._compile(request)

        name = flight_name(request.program, request.target, self._coarse(request.world))
        made, how = self._cache.once(name, look, produce, what=self._name)
        self._counts[how.value] += 1
        return made, how

    @property
    def _cache(self) -> Cache:
        return default_cache() if self._own_cache is None else self._own_cache

    def _start(self, sources: StoredSources) -> _Start:
        """Where lookups begin now: the toolchain may depend on the environment."""
        declared = self._environment.items()
        variables = tuple(environment_variable(name, default) for name, default in declared)
        starts = self._starts  # before the code: one of an older code is not put among new ones
        start = starts.get(variables)
        if start is None:
            cache, code = self._cache, self._code
            outside = outside_parts(self.function, self.compiler)
            toolchain = dict(outside)["toolchain"]
            cache.uses(toolchain)
            source = None if self.choices.cache == "process" else remembered_as(code)
            key = None if source is None else hint_key(outside, source)
            hint = NO_HINT if key is None else Hint.of(cache.store, key)
            sources.expect(hint.rows)
            program = ProgramKey.of(outside, code)
            if len(starts) >= PROGRAMS_KEPT:
                starts.clear()
            start = starts[variables] = _Start(program, variables, toolchain, key, hint)
        return start

    def _look_up(
        self, request: _Request, *, count: bool, in_memory: bool = False
    ) -> Specialization | None:
        """By the durable facts of every known shape: in memory, then in the store."""
        if self.choices.cache == "process":
            return None
        for name, shape in self._known_shapes(request, in_memory=in_memory):
            facts = both_facts(shape, request.world)
            if is_only_here(facts.durable):
                continue
            key = artifact_key(request.program, request.target, name, facts.durable)
            specialization = self._by_key.get(key)
            if specialization is None and not in_memory:
                specialization = self._from_store(key, request, facts.durable, count=count)
                if specialization is not None:
                    self._hint(request, name, shape)
            if specialization is not None:
                self._remember(name, shape, request, facts, specialization)
                return specialization
        return None

    def _known_shapes(
        self, request: _Request, *, in_memory: bool
    ) -> Iterator[tuple[StableDigest, Shape]]:
        """Those met in this process, those that a hint names, then all of the manifest."""
        with self._lock:
            known = self._shapes.named(request.target.architecture)
        yield from known.items()
        if in_memory:
            return
        met = set(known)
        for name, plain in request.start.hint.shapes.items():
            if name not in met:
                met.add(name)
                with contextlib.suppress(ValueError):
                    yield name, shape_of(plain)
        store, group = self._cache.store, request.program.manifests
        from .stored import records

        for _, record in records(store, group, but=met):
            if isinstance(record, Manifest):
                yield from ((shape_key(shape), shape) for shape in record.shapes)

    def _hint(self, request: _Request, name: StableDigest, shape: Shape) -> None:
        """Let other processes come here sooner, unless this one was told the way."""
        rows = request.sources.rows
        start = self._starts.get(request.start.variables, request.start)
        key, hint = start.hint_key, start.hint
        if key is None or hint.says(rows, name):
            return
        hint = hint.joined(rows, name, shape_plain(shape))
        with self._lock:
            if request.table is not self._by_key:
                return
            self._starts[start.variables] = start._replace(hint=hint)
        hint.keep(self._cache.store, key, start.toolchain)

    def _from_store(
        self, key: StableDigest, request: _Request, facts: tuple[Plain, ...], *, count: bool
    ) -> Specialization | None:
        cache = self._cache
        get = cache.get if count else cache.store.get
        got = get(key, request.program.digest)
        if not isinstance(got, Found):
            return None
        try:
            artifact = decode(got.entry, with_trace=False)
        except Damaged:
            return None
        if not isinstance(artifact, Artifact):
            return None
        if count:
            self._counts["found"] += 1
            cache.statistics.found(self._name, got.entry.seconds)
        emit(Happened.FOUND, self._name, key=key)
        architecture = request.target.architecture
        made = Specialization(key, architecture, artifact, facts, "found", got.entry)
        return self._keep(made, request)

    def _keep(self, specialization: Specialization, request: _Request) -> Specialization:
        """The one specialization of a key."""
        with self._lock:
            if request.table is not self._by_key:  # it has begun again by now
                return specialization
            if specialization.key is None:
                self._only_here.add(specialization)
                return specialization
            return self._by_key.setdefault(specialization.key, specialization)

    def _remember(
        self,
        name: StableDigest | None,
        shape: Shape,
        request: _Request,
        facts: Facts,
        specialization: Specialization,
    ) -> None:
        """Let the next call with the same facts find it at once."""
        with self._lock:
            if request.table is not self._by_key:
                return
            fresh = self._known(name, shape)
            found = (specialization, facts.kept)
            self._shapes.remember(request.target.architecture, fresh, facts.live, found)

    def _known(self, name: StableDigest | None, shape: Shape) -> KnownShape:
        parts = (shape, self.function, self._binding.names, self._environment)
        by_identity, compiler = self._by_identity, self.compiler

        def generate(args: tuple[Any, ...], target: Mapping[str, Any]) -> Replay:
            _, function, names, environment = parts
            arguments = dict(zip(names, args, strict=True))
            world = World(function, arguments, {}, environment, target, compiler)
            samples = samples_of(shape, world)
            return compiled_replay(
                *parts, by_identity=by_identity, samples=samples, compiler=compiler
            )

        plain = plain_replay(*parts, by_identity=by_identity, compiler=compiler)
        return KnownShape(name, shape, plain, generate)

    @property
    def _by_identity(self) -> bool:
        """Whether what cannot be recorded is known by identity."""
        return self.choices.cache == "process"

    # -- compiling ----------------------------------------------------------------------

    def _compile(self, request: _Request) -> Specialization:
        from whorl.reads import Recorder  # as all that only a compile needs

        from .explain import changes_between

        recorder = Recorder(request.world, by_identity=self.choices.cache != "disk")
        artifact, seconds = self._compiled(request, recorder)
        trace = recorder.trace
        made = Specialization(
            None,
            request.target.architecture,
            replace(artifact, trace=trace),
            tuple(seen.fact for seen in trace.seen),
            "compiled",
        )
        if recorder.only_here:
            if self.choices.strict:
                reason = recorder.only_here[0]
                raise UnsupportedRead(reason.partition(" ")[0], "value", reason)
            if self.choices.cache == "call":
                reason = recorder.only_here[0]
                log.warning("%s is compiled again for every call: %s", self._name, reason)
                return made
        shape = trace.shape
        facts = both_facts(shape, request.world, by_identity=self._by_identity)
        changes = changes_between(trace, made.facts, facts.durable)
        if changes:
            log.warning(
                "what %s was compiled from changed while it was compiled; it is not kept: %s",
                self._name,
                "; ".join(map(str, changes)),
            )
            return made
        name = None
        if recorder.only_here or self.choices.cache == "process":
            reason = recorder.only_here[0] if recorder.only_here else "as it was told"
            emit(Happened.ONLY_HERE, self._name, why=reason)
        else:
            name = shape_key(shape)
            made = self._stored(made, name, request, seconds)
            self._hint(request, name, shape)
        made = self._keep(made, request)
        self._remember(name, shape, request, facts, made)
        return made

    def _compiled(self, request: _Request, recorder: Recorder) -> tuple[Artifact, float]:
        """What the compiler makes, and how long that takes."""
        from whorl.reads import Inputs

        inputs = Inputs(recorder)
        target = replace(request.target, properties=Properties(inputs, request.target))
        program = Program(self.function, target, inputs.function())
        emit(Happened.COMPILING, self._name)
        see_settings(self.compiler, recorder)
        begun = time.perf_counter()
        with contextlib.ExitStack() as watched:
            for watch in watches:
                watched.enter_context(watch(self))
            artifact = self.compiler.compile(program, inputs)
        seconds = time.perf_counter() - begun
        if not isinstance(artifact, Artifact):
            raise CompilerFailed(self.compiler.name, "compile", repr(artifact), "a whorl.Artifact")
        self._counts["compiled"] += 1
        emit(Happened.COMPILED, self._name, seconds=seconds)
        return artifact, seconds

    def _stored(
        self, made: Specialization, name: StableDigest, request: _Request, seconds: float
    ) -> Specialization:
        """The same with its key, in the store: the artifact first, so that whoever finds the
        shape finds it too."""
        cache, program, target = self._cache, request.program, request.target
        shape, now = made.artifact.trace.shape, time.time()
        key = artifact_key(program, target, name, made.facts)
        parts = key_parts(program, target, shape, made.facts)
        toolchain = request.start.toolchain
        label = Label("artifact", key, program.digest, parts, toolchain, now, seconds)
        entry = encode(made.artifact, label)
        cache.put(entry)
        listed = Label("manifest", name, program.manifests, program.parts, made=now)
        cache.store.put(encode(Manifest(program.digest, (shape,)), listed))
        group = function_group(self.function)
        known = Label("manifest", program.digest, group, program.parts, made=now)
        cache.store.put(encode(Manifest(program.digest), known))
        emit(Happened.STORED, self._name, key=key)
        return replace(made, key=key, entry=entry)

    def _load(self, specialization: Specialization, target: Target) -> Callable[..., Any]:
        with self._lock:
            launch = specialization.loaded.get(target.device)
        if launch is None:
            launch = self._made_callable(specialization, target)
            if not callable(launch):
                raise CompilerFailed(self.compiler.name, "load", repr(launch), "a callable")
            with self._lock:
                launch = specialization.loaded.setdefault(target.device, launch)
            emit(Happened.LOADED, self._name, device=target.device)
        return launch

    def _made_callable(self, specialization: Specialization, target: Target) -> Any:
        return self.compiler.load(specialization.artifact, target.device)

    def _coarse(self, world: World) -> list[Plain]:
        """What calls that are likely to need the same compile have in common."""
        return [
            array_signature(value) if type(value) is np.ndarray else class_label(type(value))
            for value in world.arguments.values()
        ]

    # -- drift and explanation ----------------------------------------------------------

    def _drift(self, request: _Request) -> Specialization | None:
        """What to do about globals, cells and variables that have changed since a compile."""
        drift = self._drift_of(request)
        if drift is None:
            return None
        words_of = tuple((change.path, change.old, change.new) for change in drift.ambient)
        emit(Happened.DRIFTED, self._name, changes=list(words_of))
        explanation = drift.explanation(self._name, self.choices.on_drift)
        if explanation is not None and words_of != self._drift_told:
            self._drift_told = words_of  # one line for one change, however many calls there are
            why.info("%s", explanation)
        if self.choices.on_drift == "raise":
            raise Drifted(self._name, words_of)
        return drift.nearest if drift.is_all else None

    def _drift_of(self, request: _Request) -> Drift | None:
        known = self.specializations()
        if not known:
            return None
        from .drift import drift_of

        return drift_of(known, request.world, request.target.architecture)

    def _explain_miss(self, request: _Request, *, is_kept: bool) -> Explanation | None:
        """Why it missed, if anybody wants to know; the journal alone asks for less."""
        from whorl.store.required import is_hit_required

        from .missed import COMPARED

        self._counts["missed"] += 1
        if listeners or why.isEnabledFor(INFO) or is_hit_required():
            explanation = self._explanation(request)
            emit(Happened.MISSED, self._name, why=explanation)
            why.info("%s", explanation)
            return explanation
        if not is_kept:
            return None

        try:
            return self._explanation(request, COMPARED)
        except Exception:  # nobody asked: a call must not fail for the journal
            log.debug("cannot explain the miss of %s", self._name, exc_info=True)
            return None

    def _explanation(self, request: _Request, compared: int | None = None) -> Explanation:
        """Compare with all that is known, or with so many."""
        from .explain import Compiled, explain

        known = self.specializations()
        return explain(
            self._name,
            request.world,
            program=request.program,
            architecture=request.target.architecture,
            function=function_group(self.function),
            store=self._cache.store,
            known=[
                Compiled(made.architecture, made.trace, made.facts)
                for made in (known if compared is None else known[-compared:])
            ],
            follows_drift=self.choices.on_drift == "recompile",
            compared=compared,
        )

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Why a call with these arguments would be a hit or a miss, or raise, without compiling.

        The call is compared with the nearest compile known here or in the store.
        """
        from .explain import Explanation

        if self.function.__code__ is not self._code or _loaded(self._home) is not self._module:
            self._begin_again()
        values = self._binding.bind(*args, **kwargs)
        target = target_of(self.compiler)
        if self._recall(values, target) is not None:
            return Explanation(self._name, "hit", "its specialization is in memory")
        sources = StoredSources(self._cache.store)
        with remembered_in(sources):
            return self._explained(self._request(values, target, sources))

    def _explained(self, request: _Request) -> Explanation:
        """What `_find` would come to, in the same order, without anything being kept."""
        from .explain import Explanation

        keys = list(self._keys(request, in_memory=True))
        if any(key in self._by_key for key in keys):
            return Explanation(self._name, "hit", "its specialization is in memory")
        if self.choices.on_drift != "recompile":
            drift = self._drift_of(request)
            if drift is not None:
                told = drift.explanation(self._name, self.choices.on_drift)
                if told is not None:
                    return told
        store, group = self._cache.store, request.program.digest
        if any(_is_readable(store.get(key, group)) for key in self._keys(request)):
            return Explanation(self._name, "hit", "its artifact is in the store")
        return self._explanation(request)

    def _keys(self, request: _Request, *, in_memory: bool = False) -> Iterator[StableDigest]:
        """The keys under which an artifact for a call may be found."""
        if self.choices.cache == "process":
            return
        for name, shape in self._known_shapes(request, in_memory=in_memory):
            facts = durable_facts(shape, request.world)
            if facts is not None and not is_only_here(facts):
                yield artifact_key(request.program, request.target, name, facts)

    # -- looking at it ------------------------------------------------------------------

    def specializations(self) -> list[Specialization]:
        """What this kernel has in memory, in the order in which it came to be there."""
        with self._lock:
            found = [*self._by_key.values(), *self._only_here]
        return sorted(found, key=lambda made: made.number)

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
        merged = {**self.choices.options, **_taken(options)}
        choices = replace(self.choices, options=merged)
        return self._again(choices)

    def _again(self, choices: Choices) -> Kernel:
        """A kernel of the same function and compiler."""
        return type(self)(self.function, self.compiler, choices, self._own_cache)


_ALIVE: Final[weakref.WeakSet[Kernel]] = weakref.WeakSet()


def _after_fork() -> None:
    for kernel in list(_ALIVE):
        kernel._lock = Lock()  # a thread that is not in the child may hold the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

_place: list[tuple[str, str]] = []  # the cache that kernels have been using


def _on_settings(settings: Settings) -> None:
    """With another cache, begin again: what is in memory is from the old one."""
    place = (settings.cache.value, settings.cache_place.value)
    if _place and _place[0] != place:
        for kernel in list(_ALIVE):
            if kernel._own_cache is None:
                kernel._begin_again()
    _place[:] = [place]


on_change(_on_settings)


def _is_readable(got: object) -> bool:
    """Whether an artifact was found, and can be read."""
    if not isinstance(got, Found):
        return False
    try:
        return isinstance(decode(got.entry, with_trace=False), Artifact)
    except Damaged:
        return False


def _taken(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as they are now, whatever becomes of the objects."""
    taken = {}
    for name, value in options.items():
        try:
            from copy import deepcopy

            taken[name] = deepcopy(value)
        except Exception as error:
            raise TypeError(f"option {name!r} cannot be copied: {error}") from error
    return taken


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


def jit(
    compiler: Compiler,
    *,
    options: Mapping[str, Any] | None = None,
    on_drift: OnDrift = "recompile",
    cache: CacheMode = "disk",
    strict: bool = False,
    store: Cache | None = None,
) -> Callable[[Callable[..., Any]], Kernel]:
    """Let a compiler compile a function when it is called, and keep what it makes.

    `options` are what the compiler reads with `inputs.option`, as they are now. `on_drift`
    says what happens when a global, a closed-over variable or an environment variable that was
    read has changed: "recompile" (find or make what fits), "raise" or "ignore". `cache` is
    "disk", "process" (also for what cannot be recorded), or "call" (what cannot be recorded is
    compiled for every call). `strict` raises when a result is good for this process only.

    >>> import whorl
    >>> class Doubling:
    ...     name, version = "doubling", "1"
    ...     def compile(self, program, inputs):
    ...         return whorl.Artifact({}, {"type": inputs.arg("x").type()})
    ...     def load(self, artifact, device):
    ...         return lambda x: 2 * x
    >>> @whorl.jit(Doubling(), cache="process")
    ... def double(x): ...
    >>> double(2), double(3), double(1.5), double.stats()["compiled"]
    (4, 6, 3.0, 2)
    """
    check_compiler(compiler)
    check_choices(on_drift, cache, store)
    choices = Choices(_taken(options or {}), on_drift, cache, strict)

    def decorate(function: Callable[..., Any]) -> Kernel:
        if not isinstance(function, types.FunctionType):
            raise TypeError(f"whorl.jit compiles functions, not {type(function).__name__}")
        return Kernel(function, compiler, choices, store)

    return decorate
