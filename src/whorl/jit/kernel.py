"""A call in, its result out: bind, recall, replay, look up, compile, store, load, launch.

Each step is one method, in this order:

    bind       the arguments in the order of the parameters
    recall     in memory: the facts of a known shape lead to a specialization
    look up    the durable facts of each shape known here or on disk form a key; ask the store
    compile    once among all threads and processes; what it reads makes shape, facts and key
    store      the artifact, then the shape, in the manifest
    load       once per device
    launch

A kernel keeps a table of specializations and nothing else. What a call reads is read on every
call, so nothing has to be promised, invalidated or declared.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import logging
import threading
import time
import types
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from whorl.artifacts import Artifact, Damaged, Entry, Label, Manifest, decode, encode
from whorl.errors import CompilerFailed, Drifted, UnsupportedRead
from whorl.fingerprint.digest import StableDigest
from whorl.fingerprint.source import remembered_in
from whorl.reads import Inputs, Plain, Recorder, Shape, Trace, World
from whorl.reads.fact import words
from whorl.reads.replay import (
    compiled_replay,
    durable_facts,
    is_only_here,
    kept_alive,
    live_facts,
    plain_replay,
    samples_of,
)
from whorl.reads.signature import class_label, signature
from whorl.reads.world import environment_variable
from whorl.store import Cache, Found, default_cache

from .binding import Binding
from .compiler import Compiler, Program, check_compiler, declared_environment, target_of
from .events import Happened, audits, emit, listeners, watches
from .explain import Explanation, explain
from .key import (
    ProgramKey,
    artifact_key,
    flight_name,
    function_group,
    function_name,
    key_parts,
    shape_key,
)
from .sources import StoredSources
from .specialization import KnownShape, Specialization
from .target import Target

__all__ = ["Kernel", "OnDrift", "jit"]

log = logging.getLogger("whorl.jit")
why = logging.getLogger("whorl.why")

OnDrift = Literal["recompile", "raise", "ignore"]
CacheMode = Literal["disk", "process", "call"]
_AMBIENT: Final = frozenset(("global", "func", "env"))
_AMBIENT_STEPS: Final = frozenset(("global", "cell", "default"))


@dataclass(frozen=True, slots=True)
class Choices:
    """How a kernel was asked to behave."""

    options: Mapping[str, Any]
    on_drift: OnDrift = "recompile"
    cache: CacheMode = "disk"
    strict: bool = False


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
        self._environment = declared_environment(compiler)
        self._binding = Binding(function)
        self._name = function_name(function)
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        """Begin again with an empty table: the function's own code is another."""
        self._code = self.function.__code__
        self._programs: dict[tuple[str | None, ...], ProgramKey] = {}  # by environment
        self._shapes: dict[str, list[KnownShape]] = {}  # by architecture
        self._by_key: dict[StableDigest, Specialization] = {}
        self._only_here: list[Specialization] = []

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
        values = self._binding.bind(*args, **kwargs)
        target = target_of(self.compiler)
        if self.function.__code__ is not self._code:
            with self._lock:
                self._forget()
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
        return launch(*values)

    def _recall(self, values: tuple[Any, ...], target: Target) -> Specialization | None:
        for shape in self._shapes.get(target.architecture, ()):
            found = shape.by_facts.get(shape.replay(values, target.properties))
            if found is not None:
                if listeners:
                    emit(Happened.RECALLED, self._name, key=found[0].key)
                return found[0]
        return None

    def world(self, values: tuple[Any, ...], target: Target) -> World:
        """Everything that a compile for these arguments may look at."""
        arguments = dict(zip(self._binding.names, values, strict=True))
        return World(
            self.function, arguments, self.choices.options, self._environment, target.properties
        )

    # -- looking up ---------------------------------------------------------------------

    def _obtain(self, values: tuple[Any, ...], target: Target) -> Specialization:
        """A specialization that is not in memory under the facts of this call."""
        with remembered_in(StoredSources(self._cache.store)):
            return self._obtain_with_sources(values, target)

    def _obtain_with_sources(self, values: tuple[Any, ...], target: Target) -> Specialization:
        world = self.world(values, target)
        drifted = self._drift(world, target)
        if drifted is not None:
            return drifted
        found = self._look_up(world, target, count=True)
        if found is not None:
            return found
        self._explain_miss(world, target)
        if self.choices.cache != "disk":
            return self._compile(world, target)

        def look(theirs: Specialization | None) -> Specialization | None:
            return self._look_up(world, target, count=False)

        def produce() -> Specialization:
            return self._compile(world, target)

        name = flight_name(self._program, target, self._coarse(world))
        made, how = self._cache.once(name, look, produce, what=self._name)
        self._counts[how.value] += 1
        return made

    @property
    def _cache(self) -> Cache:
        return default_cache() if self._own_cache is None else self._own_cache

    @property
    def _program(self) -> ProgramKey:
        """What stands for the program now: the toolchain may depend on the environment."""
        declared = self._environment.items()
        variables = tuple(environment_variable(name, default) for name, default in declared)
        program = self._programs.get(variables)
        if program is None:
            program = self._programs[variables] = ProgramKey.of(self.function, self.compiler)
            self._cache.uses(dict(program.parts)["toolchain"])
        return program

    def _look_up(self, world: World, target: Target, *, count: bool) -> Specialization | None:
        """By the durable facts of every known shape: in memory, then in the store."""
        if self.choices.cache != "disk":
            return None
        for shape in self._known_shapes(target):
            live = live_facts(shape, world)
            facts = durable_facts(shape, world)
            if facts is None or is_only_here(facts):
                continue
            key = artifact_key(self._program, target, shape, facts)
            specialization = self._by_key.get(key)
            if specialization is None:
                specialization = self._from_store(key, target, facts, count=count)
            if specialization is not None:
                self._remember(shape, world, live, target, specialization)
                return specialization
        return None

    def _known_shapes(self, target: Target) -> Iterator[Shape]:
        """Those met in this process, then those of the manifest."""
        met = [known.shape for known in self._shapes.get(target.architecture, ())]
        yield from met
        store, group = self._cache.store, self._program.manifests
        known = {shape_key(shape) for shape in met}
        for key in store.iterate(group):
            if key in known:
                continue
            got = store.get(key, group)
            if not isinstance(got, Found):
                continue
            try:
                record = decode(got.entry)
            except Damaged:
                continue
            if isinstance(record, Manifest):
                yield from record.shapes

    def _from_store(
        self, key: StableDigest, target: Target, facts: tuple[Plain, ...], *, count: bool
    ) -> Specialization | None:
        cache = self._cache
        get = cache.get if count else cache.store.get
        got = get(key, self._program.digest)
        if not isinstance(got, Found):
            return None
        try:
            artifact = decode(got.entry, with_trace=False)
        except Damaged:
            return None
        if not isinstance(artifact, Artifact):
            return None
        self._counts["found"] += 1
        emit(Happened.FOUND, self._name, key=key)
        return self._keep(
            Specialization(key, target.architecture, artifact, facts, "found", got.entry)
        )

    def _keep(self, specialization: Specialization) -> Specialization:
        """The one specialization of a key."""
        if specialization.key is None:
            with self._lock:
                self._only_here.append(specialization)
            return specialization
        with self._lock:
            return self._by_key.setdefault(specialization.key, specialization)

    def _remember(
        self,
        shape: Shape,
        world: World,
        live: tuple[Any, ...],
        target: Target,
        specialization: Specialization,
    ) -> None:
        """Let the next call with the same facts find it at once.

        `live` are the facts from before the durable ones were taken. If they are others now,
        something has changed in between, and nobody knows which of them the code is for.
        """
        by_identity = self.choices.cache == "process"
        if live_facts(shape, world, by_identity=by_identity) != live:
            return
        with self._lock:
            shapes = self._shapes.setdefault(target.architecture, [])
            known = next((known for known in shapes if known.shape == shape), None)
            if known is None:
                parts = (shape, self.function, self._binding.names, self._environment)
                samples = samples_of(shape, world)
                known = KnownShape(
                    shape,
                    plain_replay(*parts, by_identity=by_identity),
                    lambda: compiled_replay(*parts, by_identity=by_identity, samples=samples),
                )
                shapes.append(known)
        known.remember(live, specialization, kept_alive(shape, world))

    # -- compiling ----------------------------------------------------------------------

    def _compile(self, world: World, target: Target) -> Specialization:
        recorder = Recorder(world, by_identity=self.choices.cache != "disk")
        inputs = Inputs(recorder)
        program = Program(self.function, target, inputs.function())
        emit(Happened.COMPILING, self._name)
        begun = time.perf_counter()
        with contextlib.ExitStack() as watched:
            for watch in watches:
                watched.enter_context(watch(self))
            artifact = self.compiler.compile(program, inputs)
        seconds = time.perf_counter() - begun
        if not isinstance(artifact, Artifact):
            raise CompilerFailed(self.compiler.name, "compile", repr(artifact), "a whorl.Artifact")
        trace = recorder.trace
        artifact = replace(artifact, trace=trace)
        facts = tuple(seen.fact for seen in trace.seen)
        self._counts["compiled"] += 1
        emit(Happened.COMPILED, self._name, seconds=seconds, reads=len(facts))
        if self.choices.strict and recorder.only_here:
            raise UnsupportedRead(
                recorder.only_here[0].partition(" ")[0], "value", recorder.only_here[0]
            )
        if self.choices.cache == "call" and recorder.only_here:
            log.warning(
                "%s is compiled again for every call: %s", self._name, recorder.only_here[0]
            )
            return Specialization(None, target.architecture, artifact, facts, "compiled")
        if recorder.only_here or self.choices.cache != "disk":
            why = recorder.only_here[0] if recorder.only_here else "as it was told"
            emit(Happened.ONLY_HERE, self._name, why=why)
            made = self._keep(
                Specialization(None, target.architecture, artifact, facts, "compiled")
            )
            live = live_facts(trace.shape, world, by_identity=self.choices.cache == "process")
            self._remember(trace.shape, world, live, target, made)
            return made
        key = artifact_key(self._program, target, trace.shape, facts)
        live = live_facts(trace.shape, world)
        now = durable_facts(trace.shape, world)
        if now is None or artifact_key(self._program, target, trace.shape, now) != key:
            log.warning(
                "what %s was compiled from changed while it was compiled; it is not kept",
                self._name,
            )
            return Specialization(None, target.architecture, artifact, facts, "compiled")
        label = Label(
            "artifact",
            key,
            self._program.digest,
            key_parts(self._program, target, trace.shape, facts),
            dict(self._program.parts)["toolchain"],
            time.time(),
            seconds,
        )
        entry = encode(artifact, label)
        self._store(entry, trace.shape)
        made = self._keep(
            Specialization(key, target.architecture, artifact, facts, "compiled", entry)
        )
        self._remember(trace.shape, world, live, target, made)
        return made

    def _store(self, entry: Entry, shape: Shape) -> None:
        """The artifact first: whoever finds the shape finds it too."""
        cache, program = self._cache, self._program
        cache.put(entry)
        now = time.time()
        manifest = Manifest(program.digest, (shape,))
        label = Label("manifest", shape_key(shape), program.manifests, program.parts, made=now)
        cache.store.put(encode(manifest, label))
        group = function_group(self.function)
        listed = Label("manifest", program.digest, group, program.parts, made=now)
        cache.store.put(encode(Manifest(program.digest), listed))
        emit(Happened.STORED, self._name, key=entry.key)

    def _load(self, specialization: Specialization, target: Target) -> Callable[..., Any]:
        with self._lock:
            launch = specialization.loaded.get(target.device)
        if launch is None:
            launch = self.compiler.load(specialization.artifact, target.device)
            if not callable(launch):
                raise CompilerFailed(self.compiler.name, "load", repr(launch), "a callable")
            with self._lock:
                launch = specialization.loaded.setdefault(target.device, launch)
            emit(Happened.LOADED, self._name, device=target.device)
        return launch

    def _coarse(self, world: World) -> list[Plain]:
        """What calls that are likely to need the same compile have in common."""
        coarse: list[Plain] = []
        for value in world.arguments.values():
            try:
                coarse.append(signature(value))
            except Exception:
                coarse.append(class_label(type(value)))
        return coarse

    # -- drift and explanation ----------------------------------------------------------

    def _drift(self, world: World, target: Target) -> Specialization | None:
        """What to do about globals, cells and variables that have changed since a compile."""
        if self.choices.on_drift == "recompile":
            return None
        for specialization in self.specializations():
            if specialization.architecture != target.architecture:
                continue
            changes = differing(specialization.trace, specialization.facts, world)
            if not changes or not all(is_ambient for _, _, _, is_ambient in changes):
                continue
            emit(Happened.DRIFTED, self._name, changes=[change[:3] for change in changes])
            if self.choices.on_drift == "ignore":
                return specialization
            raise Drifted(self._name, tuple(change[:3] for change in changes))
        return None

    def _explain_miss(self, world: World, target: Target) -> None:
        self._counts["missed"] += 1
        if listeners or why.isEnabledFor(logging.INFO):
            explanation = self._explanation(world, target)
            emit(Happened.MISSED, self._name, why=explanation)
            why.info("%s", explanation)

    def _explanation(self, world: World, target: Target) -> Explanation:
        return explain(
            self._name,
            world,
            program=self._program,
            function=function_group(self.function),
            store=self._cache.store,
            known=[(made.trace, made.facts) for made in self.specializations()],
        )

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Why a call with these arguments would be a hit or a miss, without compiling.

        The call is compared with the nearest compile known here or in the store.
        """
        values = self._binding.bind(*args, **kwargs)
        target = target_of(self.compiler)
        world = self.world(values, target)
        recalled = self._recall(values, target)
        if recalled is not None:
            return Explanation(self._name, "hit", "its specialization is in memory")
        if self._look_up(world, target, count=False) is not None:
            return Explanation(self._name, "hit", "its artifact is in the store")
        return self._explanation(world, target)

    # -- looking at it ------------------------------------------------------------------

    def specializations(self) -> list[Specialization]:
        """What this kernel has in memory."""
        with self._lock:
            return [*self._by_key.values(), *self._only_here]

    def stats(self) -> dict[str, int]:
        """How often each step was taken in this process."""
        return dict(self._counts)

    def with_options(self, **options: Any) -> Kernel:
        """The same function with some options as given: a new kernel, this one stays as it is."""
        unknown = options.keys() - self.choices.options.keys() if self.choices.options else ()
        if self.choices.options and unknown:
            raise TypeError(
                f"{self._name} has no option {sorted(unknown)[0]!r}; it has "
                f"{', '.join(sorted(self.choices.options))}"
            )
        merged = {**self.choices.options, **copy.deepcopy(options)}
        choices = replace(self.choices, options=merged)
        return Kernel(self.function, self.compiler, choices, self._own_cache)


def differing(
    trace: Trace, facts: tuple[Plain, ...], world: World
) -> list[tuple[str, str, str, bool]]:
    """What a trace has seen that is different in a world: read, old, new, whether it is ambient."""
    now = [durable_facts(Shape((seen.read,)), world) for seen in trace.seen]
    changes = []
    for seen, old, new in zip(trace.seen, facts, now, strict=True):
        found = ("unrecorded",) if new is None else new[0]
        if not same_fact(old, found):
            path = seen.read.path
            is_ambient = path.root in _AMBIENT or any(
                step.operation in _AMBIENT_STEPS for step in path.steps
            )
            changes.append((str(path), words(old), words(found), is_ambient))
    return changes


def same_fact(one: Plain, other: Plain) -> bool:
    """Whether two facts are the same, types and bits told apart."""
    from whorl.reads.fact import _hashable

    return bool(_hashable(one) == _hashable(other))


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
    for name, value, choice in (
        ("on_drift", on_drift, ("recompile", "raise", "ignore")),
        ("cache", cache, ("disk", "process", "call")),
    ):
        if value not in choice:
            raise ValueError(f"{name} is one of {', '.join(choice)}, not {value!r}")
    choices = Choices(copy.deepcopy(dict(options or {})), on_drift, cache, strict)

    def decorate(function: Callable[..., Any]) -> Kernel:
        if not isinstance(function, types.FunctionType):
            raise TypeError(f"whorl.jit compiles functions, not {type(function).__name__}")
        return Kernel(function, compiler, choices, store)

    return decorate
