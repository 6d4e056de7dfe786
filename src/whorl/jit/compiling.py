"""A call that nothing was found for in, a specialization out that is compiled and kept.

These are steps of `Kernel`, in a room of their own because a process that finds everything has
no need of them.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from whorl.artifacts import Artifact, Label, Manifest, encode
from whorl.errors import CompilerFailed, UnsupportedRead
from whorl.fingerprint.digest import StableDigest
from whorl.fingerprint.names import class_label
from whorl.late import replace
from whorl.lazy import logger, room
from whorl.reads import Inputs, Recorder
from whorl.reads.both import both_facts
from whorl.reads.signature import array_signature
from whorl.reads.trace import Plain
from whorl.reads.world import World
from whorl.store import Ending
from whorl.store.miss_recording import record_miss

from .compiler import CompilerCode, Program, see_settings
from .explain import changes_between
from .key import artifact_key, flight_name, function_group, key_parts, shape_key
from .listening import emit, watches
from .missed import miss_of
from .specialization import Specialization
from .target import Properties
from .telling import miss_explained

if TYPE_CHECKING:
    from . import compiler_code
    from .kernel import Kernel, Request
else:
    compiler_code = room("whorl.jit.compiler_code", globals())  # whorl's own need none

__all__ = ["made_for"]

log = logger("whorl.jit")


def made_for(kernel: Kernel, request: Request) -> Specialization:
    """Compile for a call, or wait for whoever does; the miss is explained, counted, noted."""
    cache = request.cache
    journal = None if kernel.choices.cache == "process" else cache.journal
    explanation = miss_explained(kernel, request, is_kept=journal is not None)
    miss = miss_of(kernel._name, explanation, kernel._code)
    with record_miss(miss, explanation, cache.statistics, journal) as outcome:
        made, outcome.how = _made_once(kernel, request)
        outcome.key = made.key
        return made


def _made_once(kernel: Kernel, request: Request) -> tuple[Specialization, Ending | None]:
    """By one thread of one process, and how it came about."""
    if kernel.choices.cache == "process":
        return _compile(kernel, request), None

    def look(theirs: Specialization | None) -> Specialization | None:
        return kernel._look_up(_hinted_again(request), count=False)

    def produce() -> Specialization:
        return _compile(kernel, request)

    name = flight_name(request.program, request.target, _coarse(request.world))
    made, how = request.cache.once(name, look, produce, what=kernel._name)
    kernel._counts[how.value] += 1
    return made, how


def _hinted_again(request: Request) -> Request:
    """The same request with the shapes that others have found meanwhile, on any machine."""
    start = request.start
    if start.lead is None or start.told is None:
        return request
    shapes = start.told.read_again(start.lead).shapes(start.lead)
    if shapes.keys() <= start.shapes.keys():
        return request
    return request._replace(start=start._replace(shapes={**shapes, **start.shapes}))


def _coarse(world: World) -> list[Plain]:
    """What calls that are likely to need the same compile have in common."""
    return [
        array_signature(value) if type(value) is np.ndarray else class_label(type(value))
        for value in world.arguments.values()
    ]


def _compile(kernel: Kernel, request: Request) -> Specialization:
    recorder = Recorder(request.world, by_identity=kernel.choices.cache != "disk")
    code = request.start.compiler
    before = compiler_code.spelled(code) if code.met else {}
    artifact, seconds = _compiled(kernel, request, recorder)
    if code.refused is not None:
        recorder.only_here.append(f"{code.refused.path}: {code.refused.reason}")
    trace = recorder.trace
    made = Specialization(
        None,
        request.target.architecture,
        replace(artifact, trace=trace),
        tuple(seen.fact for seen in trace.seen),
        "compiled",
    )
    if recorder.only_here:
        reason = recorder.only_here[0]
        if kernel.choices.strict:
            remedy = (
                "Pass what counts of it as an argument (a number, a text, an array), or let the "
                "kernel not be strict."
            )
            raise UnsupportedRead(reason.partition(" ")[0], "value", reason, remedy=remedy)
        if kernel.choices.cache == "call":
            log.warning("%s is compiled again for every call: %s", kernel._name, reason)
            return made
    shape = trace.shape
    facts = both_facts(shape.reads, request.world, by_identity=kernel._by_identity)
    changes = [str(change) for change in changes_between(trace, made.facts, facts.durable)]
    if not request.start.is_of(kernel.function):
        changes.insert(0, "its own code or name")
    if not code.holds():
        changes += _changes_of_compiler(kernel, code, before)
    if changes:
        log.warning(
            "what %s was compiled from changed while it was compiled; it is not kept: %s",
            kernel._name,
            "; ".join(changes),
        )
        return made
    name = None
    if recorder.only_here or kernel.choices.cache == "process":
        reason = recorder.only_here[0] if recorder.only_here else "as it was told"
        emit("kept in this process only", kernel._name, why=reason)
    else:
        name = shape_key(shape)
        made = _stored(kernel, made, name, request, seconds)
        kernel._hint(request, name, shape.reads)
    return kernel._remember(name, shape.reads, request, facts, made)


def _changes_of_compiler(
    kernel: Kernel, code: CompilerCode, before: Mapping[str, object]
) -> list[str]:
    """What of its own code, or of what that reads, a compiler has changed while it compiled."""
    now = kernel._compiler_code(None)
    if now.digest == code.digest:
        return []
    after = compiler_code.spelled(now)
    paths = [path for path in {**before, **after} if before.get(path) != after.get(path)]
    what = min(paths, key=lambda path: not path.startswith("global:"), default="its code")
    name = what.rpartition(".")[2]
    cls = type(kernel.compiler).__name__
    leave = f"; if that decides nothing, write `ignores = ({name!r},)` in class {cls}"
    return [f"{what} of the compiler{leave if what.startswith('global:') else ''}"]


def _compiled(kernel: Kernel, request: Request, recorder: Recorder) -> tuple[Artifact, float]:
    """What the compiler makes, and how long that takes."""
    kernel._before_compile()
    inputs = Inputs(recorder)
    target = replace(request.target, properties=Properties(inputs))
    program = Program(kernel.function, target, inputs.function())
    emit("compiling", kernel._name)
    see_settings(kernel.compiler, recorder)
    begun = time.perf_counter()
    with contextlib.ExitStack() as watched:
        for watch in watches:
            watched.enter_context(watch(kernel))
        artifact = kernel.compiler.compile(program, inputs)
    seconds = time.perf_counter() - begun
    if not isinstance(artifact, Artifact):
        raise CompilerFailed(kernel.compiler.name, "compile", repr(artifact), "a whorl.Artifact")
    kernel._counts["compiled"] += 1
    emit("compiled", kernel._name, seconds=seconds)
    return artifact, seconds


def _stored(
    kernel: Kernel, made: Specialization, name: StableDigest, request: Request, seconds: float
) -> Specialization:
    """The same with its key, in the store: the artifact first, so that whoever finds the
    shape finds it too."""
    cache, program, target = request.cache, request.program, request.target
    shape, now = made.artifact.trace.shape, time.time()
    key = artifact_key(program, target, name, made.facts)
    parts = key_parts(program, target, shape, made.facts)
    toolchain = request.start.toolchain
    label = Label("artifact", key, program.digest, parts, toolchain, now, seconds)
    entry = encode(made.artifact, label)
    cache.put(entry)
    listed = Label("manifest", name, program.manifests, program.parts, made=now)
    cache.store.put(encode(Manifest(program.digest, (shape,)), listed))
    group = function_group(kernel.function)
    known = Label("manifest", program.digest, group, program.parts, made=now)
    cache.store.put(encode(Manifest(program.digest), known))
    emit("stored", kernel._name, key=key)
    return replace(made, key=key, entry=entry)
