"""Exact keys for GT4Py's persistent steps: by the step's code and all that it reads.

GT4Py finds what a step has made by the name and the fields of the step, and by its input. It does
not see an edit of the step's code or of what that reads, the order of the connectivities, which the
generated code depends on, nor the compiler and its flags. With

    import whorl.adapters.gt4py
    whorl.adapters.gt4py.install()

its own backends use whorl's cache and exact keys. `exact(backend)` does that for one backend, and
`cached_step(step)` for one step of your own.

The steps and their caches are sent to the processes in which GT4Py compiles. A key is made when a
program is compiled, once for each variant in a process; calls of a compiled program do not come
here.
"""

from __future__ import annotations

import dataclasses
import functools
import pickle
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy

from whorl import settings
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.digest import StableDigest
from whorl.fingerprint.fingerprinter import Fingerprinter, key_orders
from whorl.lazy import importing
from whorl.signals import pass_on
from whorl.store import KeyPart, default_cache

from .code_description import CodeDescription, describe, key_of
from .cpp_toolchain import cpp_toolchain
from .host_library import HostLibrary, say_not_cached, say_once

if TYPE_CHECKING:
    from whorl.store import ForeignEntry

__all__ = [
    "ArtifactCache", "ExactBuild", "InputFingerprinter", "StepCache", "cached_step", "exact",
    "install", "step_fingerprinter",
]  # fmt: skip

_GT4PY: Final = HostLibrary("gt4py", (1, 1), (1, 2))
_BACKENDS: Final = (
    ("gt4py.next.program_processors.runners.gtfn", "run_gtfn"),
    ("gt4py.next.program_processors.runners.gtfn", "run_gtfn_imperative"),
    ("gt4py.next.program_processors.runners.gtfn", "run_gtfn_gpu"),
    ("gt4py.next.program_processors.runners.gtfn", "run_gtfn_no_transforms"),
)
_CONFIGURATION: Final = ("ADD_GPU_TRACE_MARKERS", "COLLECT_METRICS_LEVEL", "DEBUG")
_REMEMBERED: Final = 256
_SETTINGS: Final = "settings of the program"
_NO_KEY: Final = ""  # stands for what cannot be known exactly: never found, never stored


# -- for users -------------------------------------------------------------------------


def install(*, ignores: Iterable[str] = (), locations: bool = False) -> bool:
    """Let GT4Py's own backends find what they have compiled exactly when nothing has changed.

    That is for `run_gtfn` and its variants, and for every `CachedStep.persistent` that is made
    afterwards, in whatever backend. `ignores` are globals that do not count (`LOCK`,
    `steps.LOCK`). With `locations`, the lines of a program count too, so that errors of GT4Py name
    the right ones after an edit above it. Returns whether this version of GT4Py is a known one; for
    others nothing is done, with a warning.

    >>> install()  # doctest: +SKIP
    True
    """
    if not _is_known():
        return False
    with importing:
        from gt4py.next.otf.workflow import CachedStep

    options: dict[str, Any] = {"ignores": frozenset(ignores), "locations": locations}
    for module, name in _BACKENDS:
        backend = getattr(__import__(module, fromlist=[name]), name, None)
        if backend is not None:  # frozen, and others hold it already: so not `replace`
            object.__setattr__(backend, "executor", _exact_executor(backend.executor, options))
    if not isinstance(CachedStep.__dict__["persistent"], _Persistent):
        CachedStep.persistent = _Persistent(CachedStep.__dict__["persistent"])
    _Persistent.options = options
    return True


def exact(backend: Any, *, ignores: Iterable[str] = (), locations: bool = False) -> Any:
    """A backend like this one, whose steps are found by exact keys in whorl's cache.

    The options are those of `install`. Translations of any backend are found so, and the builds of
    those that compile C++, such as `run_gtfn`.

    >>> from gt4py.next.program_processors.runners.gtfn import run_gtfn  # doctest: +SKIP
    >>> exact(run_gtfn).name  # doctest: +SKIP
    'run_gtfn_cpu'
    """
    if not _is_known():
        return backend
    options: dict[str, Any] = {"ignores": frozenset(ignores), "locations": locations}
    executor = _exact_executor(backend.executor, options)
    return dataclasses.replace(backend, executor=executor)


def cached_step(step: Any, *, ignores: Iterable[str] = (), locations: bool = False) -> Any:
    """GT4Py's `CachedStep` around a step, with whorl's keys and cache.

    The key is made of the code of the step and all that it reads, through every call, of its fields
    and of the input. A step for which that cannot be known exactly runs each time, and a warning
    says so once. The options are those of `install`. With versions of GT4Py that are not known, it
    is the step itself.

    >>> cached_step(lambda program: program)  # doctest: +SKIP
    CachedStep(step=<function ...)
    """
    if not _is_known():
        return step
    with importing:
        from gt4py.next.otf.workflow import CachedStep

    return CachedStep(
        step=step,
        input_fingerprinter=InputFingerprinter(step, frozenset(ignores), locations),
        step_fingerprinter=step_fingerprinter,
        cache=StepCache(),
    )


def _is_known() -> bool:
    if not _GT4PY.is_supported():
        return False
    with importing:
        from gt4py.next.otf.workflow import CachedStep

    if "step_fingerprinter" in CachedStep.__dataclass_fields__:
        return True
    say_once(
        "whorl's adapter for gt4py does nothing: it knows the versions from 1.1.12 on, and this is "
        f"{_GT4PY.version()}"
    )
    return False


# -- backends --------------------------------------------------------------------------


def _exact_executor(executor: Any, options: dict[str, Any]) -> Any:
    """The workflow of a backend, with an exact cache around its translation and its build."""
    parts = getattr(executor, "__dataclass_fields__", {})
    if not {"translation", "compilation"} <= parts.keys():
        say_once(
            f"{_name_of(executor)} is no workflow that whorl knows: its steps are as they were"
        )
        return executor
    translation, compilation = executor.translation, executor.compilation
    bare = translation.step if hasattr(translation, "input_fingerprinter") else translation
    translation = cached_step(bare, **options)
    if isinstance(getattr(compilation, "step", None), ExactBuild):  # with other options
        compilation = compilation.step.compiler
    if _builds_cpp(compilation):
        compilation = _cached_build(compilation, **options)
    return dataclasses.replace(executor, translation=translation, compilation=compilation)


def _builds_cpp(compilation: Any) -> bool:
    with importing:
        from gt4py.next.otf.compilation.compiler import CPPCompiler

    return isinstance(compilation, CPPCompiler)


def _cached_build(compiler: Any, *, ignores: Iterable[str], locations: bool) -> Any:
    with importing:
        from gt4py.next.otf.workflow import CachedStep

    build = ExactBuild(compiler)
    return CachedStep(
        step=build,
        input_fingerprinter=InputFingerprinter(build, frozenset(ignores), locations),
        step_fingerprinter=step_fingerprinter,
        cache=ArtifactCache(compiler.cache_lifetime),
    )


class _Persistent:
    """What `CachedStep.persistent` is after `install`: it makes steps with exact keys."""

    options: dict[str, Any]

    def __init__(self, original: Any) -> None:
        self._original = original

    def __get__(self, instance: object, owner: type) -> Callable[..., Any]:
        return functools.partial(self._make, self._original.__get__(instance, owner))

    def _make(
        self, original: Callable[..., Any], step: Any, *, input_fingerprinter: Any, cache: Any
    ) -> Any:
        with importing:
            from gt4py._core.filecache import FileCache
            from gt4py.next.otf.stages import compilable_program_fingerprinter

        is_usual = input_fingerprinter is compilable_program_fingerprinter
        if is_usual and isinstance(cache, str | Path | FileCache):
            return cached_step(step, **self.options)
        return original(step, input_fingerprinter=input_fingerprinter, cache=cache)


@dataclass(frozen=True, slots=True)
class ExactBuild:
    """A build of C++ that never finds what another compiler or other flags have made.

    GT4Py names the directory of a build by the source and by its own options. Here the toolchain
    is one of these options, and a comment in the source.
    """

    compiler: Any

    def toolchain(self) -> dict[str, str]:
        """What the machine code depends on beside the source."""
        flags = getattr(self.compiler.builder_factory, "cmake_extra_flags", None) or ()
        return cpp_toolchain(("gridtools-cpp", "nanobind"), flags)

    def __call__(self, inp: Any) -> Any:
        """Build, in a directory of this toolchain."""
        digest = key_of(self.toolchain())
        factory = self.compiler.builder_factory
        if "cmake_extra_flags" in getattr(factory, "__dataclass_fields__", {}):
            flags = [*(factory.cmake_extra_flags or ()), f"-DWHORL_TOOLCHAIN={digest}"]
            factory = dataclasses.replace(factory, cmake_extra_flags=flags)
        source = inp.program_source
        text = f"{source.source_code}\n// built by toolchain {digest}\n"
        marked = dataclasses.replace(
            inp, program_source=dataclasses.replace(source, source_code=text)
        )
        return dataclasses.replace(self.compiler, builder_factory=factory)(marked)


# -- keys ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Composed:
    """What a key was made of: for lists, and for `whorl why`."""

    name: str
    parts: tuple[KeyPart, ...]


_described: Final[dict[int, tuple[object, frozenset[str], CodeDescription]]] = {}
_composed: Final[dict[str, _Composed]] = {}  # by digests of inputs, then by keys


def step_fingerprinter(value: Any) -> str:
    """The `step_fingerprinter` of a `CachedStep`: the code of its step, or the whole key.

    GT4Py calls it with its version and the step, then with what that gave and the fingerprint of an
    input. An empty text stands for what cannot be known exactly: `StepCache` does not keep it.
    """
    first, second = value
    if "step" in getattr(second, "__dataclass_fields__", ()):
        return _step_fingerprint(first, second)
    if _NO_KEY in (first, second):
        return _NO_KEY
    key = key_of("gt4py", first, second)
    composed = _composed.pop(second, None) if isinstance(second, str) else None
    if composed is not None:
        _remember(_composed, key, composed)
    return key


def _step_fingerprint(version: object, cached: Any) -> str:
    """The code of a step, which GT4Py asks for once: what `InputFingerprinter` has not."""
    inputs = cached.input_fingerprinter
    if isinstance(inputs, InputFingerprinter) and inputs.step is cached.step:
        return key_of("gt4py step", version)
    try:
        return key_of("gt4py step", version, _code_of(cached.step, frozenset()).digest)
    except Exception as error:  # the program goes on without the cache
        pass_on(error)
        say_not_cached(_name_of(cached.step), error)
        return _NO_KEY


@dataclass(frozen=True, slots=True)
class InputFingerprinter:
    """The `input_fingerprinter` of a `CachedStep`: an input, and the step's code as it is now.

    `ignores` are globals that do not count. `locations` says whether the lines of programs do.
    """

    step: Any
    ignores: frozenset[str] = frozenset()
    locations: bool = False

    def __call__(self, inp: Any) -> str:
        """The digest of an input; empty if there is none."""
        name = f"{_program_name(inp)}.{_name_of(self.step).rpartition('.')[2]}"
        try:
            code = _code_of(self.step, self.ignores)
            parts = (*self._around(), *_input_parts(inp, _fingerprinter(self.locations)))
            digest = key_of(
                "gt4py input", code.digest, [(part.path, part.digest) for part in parts]
            )
            _remember(_composed, digest, _Composed(name, (*code.parts(), *parts)))
        except Exception as error:  # the program goes on without the cache
            pass_on(error)
            say_not_cached(name, error)
            return _NO_KEY
        return digest

    def _around(self) -> Iterator[KeyPart]:
        """What counts beside the step and its input: GT4Py's options, and the toolchain."""
        with importing:
            from gt4py.next import config

        for name in _CONFIGURATION:
            yield _part(f"config:{name}", str(getattr(config, name, None)))
        if isinstance(self.step, ExactBuild):
            for name, text in self.step.toolchain().items():
                yield _part(f"toolchain:{name}", text)


def _code_of(step: Any, ignores: frozenset[str]) -> CodeDescription:
    """What the code of a step and its fields are; described again when they have changed."""
    known = _described.get(id(step))
    if known is not None and known[0] is step and known[1] == ignores and known[2].holds():
        return known[2]
    leaving_out = "whorl.adapters.gt4py.install(ignores=[NAME])"
    name = _name_of(step)
    code = describe(name, step, ignores=ignores, leaving_out=leaving_out, pure=True)
    _remember(_described, id(step), (step, ignores, code))
    return code


def _remember(table: dict[Any, Any], key: Any, value: object) -> None:
    while len(table) >= _REMEMBERED:
        table.pop(next(iter(table)), None)
    table[key] = value


def _name_of(step: Any) -> str:
    named = step if hasattr(step, "__qualname__") else type(step)
    return f"{named.__module__}.{named.__qualname__}"


def _program_name(inp: Any) -> str:
    """The name of the program that an input is of."""
    program = getattr(inp, "data", None)
    source = getattr(inp, "program_source", inp)
    entry_point = getattr(source, "entry_point", None)
    return str(getattr(program, "id", None) or getattr(entry_point, "name", None) or "input")


# -- inputs ----------------------------------------------------------------------------


@functools.cache
def _fingerprinter(locations: bool) -> Fingerprinter:
    """Fingerprints of programs; whorl's rule for their nodes leaves lines and files out."""
    with importing:
        from gt4py.eve.concepts import Node

    return Fingerprinter({Node: _with_locations} if locations else None)


def _with_locations(node: Any) -> object:
    return type(node), dict(node.iter_children_items())


def _part(path: str, text: str, digest: str = "") -> KeyPart:
    return KeyPart(path, text, digest or key_of(text))


def _input_parts(inp: Any, fingerprinter: Fingerprinter) -> Iterator[KeyPart]:
    """An input, part by part. Digests that are good for one process only are errors."""
    if hasattr(inp, "data") and hasattr(getattr(inp, "args", None), "offset_provider"):
        yield from _program_parts(inp.data, inp.args, fingerprinter)
    else:
        yield _value_part(fingerprinter, "input", inp)
        yield _value_part(fingerprinter, "input: order of keys", key_orders(inp))


def _program_parts(data: Any, args: Any, fingerprinter: Fingerprinter) -> Iterator[KeyPart]:
    """A program of GT4Py, the types of its arguments, and its connectivities."""
    part = functools.partial(_value_part, fingerprinter)
    yield part("input:program", data)
    types = [*enumerate(args.args), *args.kwargs.items()]
    yield from (part(f"input:argument {name}", type_, str(type_)) for name, type_ in types)
    named = {"args", "kwargs", "offset_provider"}
    others = sorted(field.name for field in dataclasses.fields(args) if field.name not in named)
    yield from (part(f"input:{name}", getattr(args, name)) for name in others)
    provider = args.offset_provider or {}
    # Their order is that of the parameters of the generated code.
    yield part("input:order of connectivities", list(provider), ", ".join(provider))
    for name, connectivity in provider.items():
        yield part(f"input:connectivity {name}", _connectivity(connectivity))


def _value_part(fingerprinter: Fingerprinter, path: str, value: object, text: str = "") -> KeyPart:
    digest = fingerprinter.stable(value)
    return KeyPart(path, text or digest[:16], digest)


def _connectivity(value: Any) -> object:
    """What counts of a connectivity: the same in GT4Py's processes, which map it from a file."""
    if not hasattr(value, "asnumpy"):
        return value
    around = [getattr(value, name, None) for name in ("domain", "codomain", "skip_value")]
    return around, numpy.asarray(value.asnumpy())


# -- the cache -------------------------------------------------------------------------


class StepCache:
    """The `cache` of a `CachedStep`: pickles in whorl's cache, which only this user can have made.

    Processes that it is sent to have the settings of this one from then on, where the program has
    chosen them with `whorl.configure` and those processes have chosen none.
    """

    def __init__(self) -> None:
        self._missed = threading.local()

    def __getitem__(self, key: str) -> Any:
        entry = None if key == _NO_KEY else self._find(key)
        if entry is None:
            self._missed.at = key, time.perf_counter()
            raise KeyError(key)
        return entry

    def _find(self, key: str) -> Any:
        try:
            entry = default_cache().find(StableDigest(key), sealed=True)
            return None if entry is None else self.restored(entry)
        except Exception as error:  # a class that is gone, a directory that cannot be written
            pass_on(error)
            say_once(f"a step of GT4Py runs again: {type(error).__name__}: {error}")
            return None

    def __setitem__(self, key: str, value: Any) -> None:
        if key == _NO_KEY:
            return
        now = time.perf_counter()
        missed, since = getattr(self._missed, "at", (None, now))
        composed = _composed.get(key) or _Composed("a step of GT4Py", ())
        try:
            default_cache().keep(
                StableDigest(key),
                self.payloads(value),
                name=composed.name,
                parts=composed.parts,
                seconds=now - since if missed == key else 0.0,
                toolchain=_GT4PY.toolchain(),
                sealed=True,
            )
        except Exception as error:  # the value is there: it is only not kept
            pass_on(error)
            say_not_cached(composed.name, error)

    def __contains__(self, key: str) -> bool:
        return key != _NO_KEY and self._find(key) is not None

    def __delitem__(self, key: str) -> None:
        """Entries stay until whorl evicts them: a key stands for one value."""

    def payloads(self, value: Any) -> dict[str, bytes]:
        """A value as bytes."""
        return {"value.pickle": pickle.dumps(value, protocol=5)}

    def restored(self, entry: ForeignEntry) -> Any:
        """The value of an entry, which this user has sealed."""
        return pickle.loads(entry.payloads["value.pickle"])  # sealed

    # -- in other processes ----------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name != "_missed"}
        now = settings.current()
        return {**state, _SETTINGS: now if _are_chosen(now) else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        sent = state.pop(_SETTINGS)
        if sent is not None and not _are_chosen(settings.current()):
            settings.restore(sent)
        vars(self).update(state, _missed=threading.local())

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _are_chosen(options: settings.Settings) -> bool:
    """Whether the program has set options, rather than the environment."""
    return any("configure" in setting.origin for setting in options)


class ArtifactCache(StepCache):
    """The `cache` of a step that builds C++: extension modules, with what GT4Py knows of them.

    A module that is found is written where GT4Py has its own, for the session or for good.
    """

    def __init__(self, lifetime: Any) -> None:
        super().__init__()
        self._lifetime = lifetime

    def payloads(self, value: Any) -> dict[str, bytes]:
        """The module and the rest of an artifact as bytes."""
        module = Path(value.module)
        artifact = dataclasses.replace(value, src_dir=Path(), module=Path(module.name))
        code = (Path(value.src_dir) / module).read_bytes()
        return {"artifact.pickle": pickle.dumps(artifact, protocol=5), module.name: code}

    def restored(self, entry: ForeignEntry) -> Any:
        """The artifact of an entry, with the module as a file."""
        with importing:
            from gt4py.next.otf.compilation.cache import get_cache_base_path

        payloads = entry.payloads
        artifact = pickle.loads(payloads["artifact.pickle"])  # sealed
        place = Path(get_cache_base_path(self._lifetime)).resolve() / "whorl" / str(entry.key)
        file = place / artifact.module.name
        if not (file.is_file() and file.read_bytes() == payloads[file.name]):
            entry.files(place)
        return dataclasses.replace(artifact, src_dir=place)
