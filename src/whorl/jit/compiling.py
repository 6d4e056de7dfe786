"""Compiles for a call that missed, once among all threads and processes.

A process that finds everything never imports this.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping

import numpy as np

from whorl.artifacts import Artifact, Label, Manifest, Part, encode
from whorl.calls.events import emit, watches
from whorl.calls.explanation import changes_between, kernel_miss
from whorl.errors import CompilerFailed, UnsupportedRead
from whorl.fast_dataclasses import replace
from whorl.fingerprint.digest import StableDigest
from whorl.fingerprint.names import class_label
from whorl.lazy import logger
from whorl.reads import Inputs, Recorder
from whorl.reads.fact_words import reads_in_words
from whorl.reads.facts import array_signature
from whorl.reads.replay import first_facts
from whorl.reads.trace import Plain, Shape
from whorl.reads.world import World
from whorl.store import Ending, Stored
from whorl.store.cache import cache_state
from whorl.store.journal import record_miss

from .compiler import CompilerCode, Program, Properties, Target, see_settings
from .compiler_code import snapshot
from .explain import explain_miss
from .kernel_lookup import KernelLookup, LookupRequest
from .key import ProgramKey, artifact_key, flight_name, function_group, shape_key
from .specialization import Specialization

log = logger("whorl.jit")


def compile_once(lookup: KernelLookup, request: LookupRequest) -> Specialization:
    """Compile for a call, or wait for whoever does; the miss is explained, counted, noted."""
    cache = request.cache
    journal = None if lookup.choices.cache == "process" else cache.journal
    explanation = explain_miss(lookup, request, is_journaled=journal is not None)
    miss = kernel_miss(lookup.name, explanation, lookup.code)
    state = "process" if lookup.choices.cache == "process" else cache_state(cache)
    with record_miss(miss, explanation, cache.statistics, journal, state) as outcome:
        specialization, outcome.how = _in_one_flight(lookup, request)
        outcome.key = specialization.key
        return specialization


def _in_one_flight(
    lookup: KernelLookup, request: LookupRequest
) -> tuple[Specialization, Ending | None]:
    """The specialization, compiled by one thread of one process, and how the production ended."""
    if lookup.choices.cache == "process":
        return _compile(lookup, request), None

    def find(theirs: Specialization | None) -> Specialization | None:
        return lookup.find(_hinted_again(request), count=False)

    def produce() -> Specialization:
        return _compile(lookup, request)

    name = flight_name(request.program, request.target, _coarse(request.world))
    specialization, how = request.cache.once(name, find, produce, what=lookup.name)
    lookup.counts[how.value] += 1
    return specialization, how


def _hinted_again(request: LookupRequest) -> LookupRequest:
    """The same request with the shapes that others have found meanwhile, on any machine."""
    start = request.start
    if start.lead is None or start.hint is None:
        return request
    shapes = start.hint.read_again(start.lead).shapes(start.lead)
    if shapes.keys() <= start.shapes.keys():
        return request
    return request._replace(start=start._replace(shapes={**shapes, **start.shapes}))


def _coarse(world: World) -> list[Plain]:
    """A coarse description of the arguments: calls with the same are likely to share a compile."""
    return [
        array_signature(value) if type(value) is np.ndarray else class_label(type(value))
        for value in world.arguments.values()
    ]


def _compile(lookup: KernelLookup, request: LookupRequest) -> Specialization:
    recorder = Recorder(request.world, by_identity=lookup.choices.cache != "disk")
    code = request.start.compiler
    before = snapshot(code) if code.met else {}
    artifact, seconds = _artifact(lookup, request, recorder)
    if code.refused is not None:
        recorder.only_here.append(f"{code.refused.path}: {code.refused.reason}")
    trace = recorder.trace
    specialization = Specialization(
        None,
        request.target.architecture,
        replace(artifact, trace=trace),
        tuple(seen.fact for seen in trace.seen),
        "compiled",
    )
    if recorder.only_here:
        reason = recorder.only_here[0]
        if lookup.choices.strict:
            remedy = (
                "Pass what counts of it as an argument (a number, a text, an array), or let the "
                "kernel not be strict."
            )
            raise UnsupportedRead(reason.partition(" ")[0], "value", reason, remedy=remedy)
        if lookup.choices.cache == "call":
            log.warning("%s is compiled again for every call: %s", lookup.name, reason)
            return specialization
    shape = trace.shape
    facts = first_facts(shape, request.world, by_identity=lookup.is_by_identity)
    changes = {
        change.path: str(change)
        for change in changes_between(trace, specialization.facts, facts.durable)
    }
    if not request.start.still_matches(lookup.function):
        changes["its own code or name"] = "its own code or name"
    if not code.holds():
        changes |= _change_of_compiler(lookup, code, before)
    if changes:
        lookup.counts["not kept"] += 1
        if not changes.keys() <= lookup.warned:  # once for each, however often it is compiled
            lookup.warned.update(changes)
            log.warning(
                "what %s was compiled from changed while it was compiled; it is not kept: %s",
                lookup.name,
                "; ".join(changes.values()),
            )
        return specialization
    name = None
    if recorder.only_here or lookup.choices.cache == "process":
        reason = recorder.only_here[0] if recorder.only_here else 'cache is "process"'
        emit("kept in this process only", lookup.name, why=reason)
    else:
        name = shape_key(shape)
        specialization = _stored(lookup, request, specialization, name, seconds)
        lookup.add_hint(request, name, shape)
    architecture = request.target.architecture
    return lookup.table.remember(architecture, name, shape, facts, specialization)


def _change_of_compiler(
    lookup: KernelLookup, code: CompilerCode, before: Mapping[str, object]
) -> dict[str, str]:
    """What the compiler has changed in its own code, or in what that reads, during the compile:
    its path, and the same in words."""
    now = lookup.compiler_code(None)
    if now.digest == code.digest:
        return {}
    after = snapshot(now)
    paths = [path for path in {**before, **after} if before.get(path) != after.get(path)]
    what = min(paths, key=lambda path: not path.startswith("global:"), default="its code")
    name = what.rpartition(".")[2]
    cls = type(lookup.compiler).__name__
    leave = f"; if that decides nothing, write `ignores = ({name!r},)` in class {cls}"
    return {what: f"{what} of the compiler{leave if what.startswith('global:') else ''}"}


def _artifact(
    lookup: KernelLookup, request: LookupRequest, recorder: Recorder
) -> tuple[Artifact, float]:
    """What the compiler makes, and how long that takes."""
    before_compile = getattr(lookup.compiler, "before_compile", None)
    if before_compile is not None:
        before_compile()
    inputs = Inputs(recorder)
    target = replace(request.target, properties=Properties(inputs))
    program = Program(lookup.function, target, inputs.function())
    emit("compiling", lookup.name)
    see_settings(lookup.compiler, recorder)
    begun = time.perf_counter()
    with contextlib.ExitStack() as watched:
        for watch in watches:
            watched.enter_context(watch(lookup.function, lookup.compiler))
        artifact = lookup.compiler.compile(program, inputs)
    seconds = time.perf_counter() - begun
    if not isinstance(artifact, Artifact):
        raise CompilerFailed(lookup.compiler.name, "compile", repr(artifact), "a whorl.Artifact")
    lookup.counts["compiled"] += 1
    emit("compiled", lookup.name, seconds=seconds)
    return artifact, seconds


def _stored(
    lookup: KernelLookup,
    request: LookupRequest,
    specialization: Specialization,
    name: StableDigest,
    seconds: float,
) -> Specialization:
    """Store a specialization, and return it with its key. The artifact is written first, so that
    whoever finds the shape finds it too."""
    cache, program, target = request.cache, request.program, request.target
    shape, now = specialization.artifact.trace.shape, time.time()
    key = artifact_key(program, target, name, specialization.facts)
    parts = _key_parts(program, target, shape, specialization.facts)
    toolchain = request.start.toolchain
    label = Label("artifact", key, program.digest, parts, toolchain, now, seconds)
    entry = encode(specialization.artifact, label)
    is_stored = isinstance(cache.put(entry), Stored)
    listed = Label("manifest", name, program.manifests, program.parts, made=now)
    cache.store.put(encode(Manifest(program.digest, (shape,)), listed))
    group = function_group(lookup.function)
    known = Label("manifest", program.digest, group, program.parts, made=now)
    cache.store.put(encode(Manifest(program.digest), known))
    if is_stored:
        emit("stored", lookup.name, key=key)
    else:
        lookup.counts["not kept"] += 1
    return replace(specialization, key=key, entry=entry)


def _key_parts(
    program: ProgramKey, target: Target, shape: Shape, facts: tuple[Plain, ...]
) -> tuple[Part, ...]:
    """The parts that the key of an artifact is made of, in words."""
    reads = reads_in_words(shape.reads, facts)
    return (*program.parts, Part("target", target.architecture), *(Part(*row) for row in reads))
