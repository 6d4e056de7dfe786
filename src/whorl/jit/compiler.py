"""The protocol of compilers: a name, a version, `compile`, `load`, and optional parts."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from whorl import reads  # whose names are imported when type hints are evaluated
from whorl.artifacts import Artifact
from whorl.errors import UnsupportedRead
from whorl.fast_dataclasses import NamedTuple, dataclass, field
from whorl.fingerprint.digest import hash_hex
from whorl.lazy import importing
from whorl.reads.compiler_settings import declared_settings, setting_reads
from whorl.reads.value_fact import known_here
from whorl.reads.world import ABSENT
from whorl.settings import encoded

if TYPE_CHECKING:
    from importlib import metadata

    from whorl.reads import Inputs, Recorder

# Targets: the architecture that code is compiled for, and the device it is loaded on.


@dataclass(frozen=True, slots=True)
class Target:
    """What code is made for. An artifact belongs to an architecture, loaded code to a device.

    `properties` are what a compiler may read of it through `inputs.target(name)`.

    >>> Target("sm_90", "gpu:1", {"warp": 32}).device
    'gpu:1'
    """

    architecture: str
    device: str = "cpu"
    properties: Mapping[str, Any] = field(default_factory=dict)


class Properties(Mapping[str, Any]):
    """The properties of a target for a compiler that is handed it: looking one up is a read, and
    so is that there is none; going through them is a read of their names."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs

    def __getitem__(self, name: str) -> Any:
        try:
            return self._inputs.target(name)
        except LookupError:  # that there is none is recorded
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._inputs.target_names())

    def __len__(self) -> int:
        return len(self._inputs.target_names())


def host() -> Target:
    """This machine.

    >>> host().device
    'cpu'
    """
    return _HOST


_HOST = Target(f"{platform.system().lower()}-{platform.machine().lower()}")


# -- compilers -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Program:
    """What is compiled: a function, whose own code is part of every key."""

    function: types.FunctionType
    target: Target
    code: reads.CodeView

    @property
    def name(self) -> str:
        """The function's module and name; asking for it is a read."""
        return self.code.name


class CompilerCode(NamedTuple):
    """The code of a compiler and all that it reads, as it was when `digest` was taken.

    `holds()` says whether it is unchanged. `load` is the method that makes artifacts callable; it
    runs in every process, and is not in the digest. `refused` says why the code has no digest, if
    that is so. `met` is what the code reads, by path. Made by `compiler_code`.
    """

    digest: str
    holds: Callable[[], bool]
    load: object = None
    refused: UnsupportedRead | None = None
    met: Mapping[str, object] = types.MappingProxyType({})


NOT_COUNTED: Final = CompilerCode("", lambda: True)
"""The code of a compiler that counts by its version."""


@runtime_checkable
class Compiler(Protocol):
    """A compiler whose artifacts whorl stores.

    `compile` reads everything through `inputs`. `load` returns a callable for an artifact, which is
    called with the arguments in the order of the parameters. A compiler may also have

    - `environment`: the variables it reads, each with its value when unset;
    - `target()`: what it compiles for, called once per call; without it, this machine;
    - `toolchain`: a text that identifies what it calls, such as `cc --version`; by default the
      distribution that the compiler's class is from;
    - `settings`: the names of its attributes that decide what it compiles. Without it, all that
      the instance holds counts, by value;
    - `ignores`: names of globals and attributes of classes that its code reads and that do not
      affect artifacts (`LOCK`, `emit.LOCK`, `Toy.hits`);
    - `shipped_targets(target, toolchain)`: the targets whose artifacts in an installed bundle, made
      by that toolchain, can be used for a target here, the best first; without it, that very target
      if the toolchain is the same;
    - `code = "by version"`: its code does not count beside its `version`;
    - `before_compile()`: called before each compile, for imports and the like.
    """

    name: str
    version: str

    def compile(self, program: Program, inputs: reads.Inputs) -> Artifact:
        """Make the artifact."""

    def load(self, artifact: Artifact, device: str) -> Callable[..., Any]:
        """Make the artifact callable on a device."""


def check_compiler(compiler: object) -> None:
    """Raise `TypeError` for an object that is not a compiler."""
    if isinstance(compiler, type):
        name = compiler.__name__
        raise TypeError(f"{name} is a class: pass an instance, whorl.jit({name}())")
    if isinstance(compiler, types.FunctionType):
        raise TypeError(
            f"{compiler.__name__} is a function, and whorl.jit takes a compiler: write "
            "@whorl.jit(Compiler()) above the function"
        )
    for name in ("name", "version"):
        if type(getattr(compiler, name, None)) is not str:
            raise TypeError(
                f"{type(compiler).__name__} is not a compiler: its {name!r} is not a str"
            )
    for name in ("compile", "load"):
        if not callable(getattr(compiler, name, None)):
            raise TypeError(
                f"{type(compiler).__name__} is not a compiler: it has no method {name!r}"
            )
    declared_environment(compiler)
    declared_ignores(compiler)
    counts_by_version(compiler)
    declared_settings(compiler)


def declared_environment(compiler: object) -> Mapping[str, str | None]:
    """The variables that a compiler reads, with their defaults."""
    declared = getattr(compiler, "environment", None)
    if declared is None:
        return {}
    if not isinstance(declared, Mapping) or not all(
        type(name) is str and (default is None or type(default) is str)
        for name, default in declared.items()
    ):
        raise TypeError(
            f"{type(compiler).__name__}.environment maps names of variables to their defaults, "
            "str or None"
        )
    for name, default in declared.items():
        try:
            encoded(name)
            encoded(default or "")
        except UnicodeError:
            raise ValueError(
                f"{type(compiler).__name__}.environment: {name!r} with the default {default!r} is "
                "not valid in an environment"
            ) from None
    return declared


def declared_ignores(compiler: object) -> frozenset[str]:
    """The names that a compiler's code reads and that do not count."""
    declared = getattr(compiler, "ignores", ())
    if not isinstance(declared, tuple | list) or not all(type(name) is str for name in declared):
        raise TypeError(
            f"{type(compiler).__name__}.ignores lists names that do not affect artifacts: "
            f'a tuple such as ("LOCK",), not {declared!r}'
        )
    return frozenset(declared)


def counts_by_version(compiler: object) -> bool:
    """Whether the code of a compiler does not count: whorl's own, or one that says so."""
    declared = getattr(compiler, "code", None)
    if declared is not None and declared != "by version":
        name = type(compiler).__name__
        raise TypeError(f'{name}.code is "by version" or absent, not {declared!r}')
    return declared is not None or is_own_compiler(compiler)


def is_own_compiler(compiler: object) -> bool:
    """Whether a compiler is whorl's: it is the same one for as long as the process lives."""
    return type(compiler).__module__.partition(".")[0] == "whorl"


def own_members(compiler: object) -> tuple[object, ...]:
    """What an instance itself has in the place of members of its class; None where it has none."""
    state = getattr(compiler, "__dict__", None)
    if not state:
        return _NO_MEMBERS
    get = state.get
    return get("compile"), get("environment"), get("ignores"), get("settings")


_NO_MEMBERS: Final = (None, None, None, None)


def see_settings(compiler: object, recorder: Recorder) -> None:
    """Record the settings of a compiler: no line of the program reads them."""
    recorder.program_line = ""
    for read in setting_reads(compiler):
        value = recorder.world.find(read.path)
        if value is not ABSENT:
            try:
                recorder.see(read, value)
            except UnsupportedRead as error:
                remedy = (
                    "Name the attributes that decide what the compiler makes in its `settings`, or "
                    'keep what is made in this process only: cache="process".'
                )
                raise UnsupportedRead(
                    error.path, error.type_name, error.reason, remedy=remedy
                ) from error
        elif declared_settings(compiler) is None:
            recorder.absent(read.path)
        else:
            raise AttributeError(
                f"{type(compiler).__name__}.settings names {read.path.name!r}, which it lacks"
            )
    recorder.program_line = None


def target_of(compiler: object) -> Target:
    """What a compiler compiles for now."""
    ask = getattr(compiler, "target", None)
    if ask is None:
        return host()
    target = ask()
    if not isinstance(target, Target):
        raise TypeError(f"{type(compiler).__name__}.target() returned {target!r}, not a Target")
    return target


def shipped_targets(compiler: object, target: Target, toolchain: str) -> tuple[Target, ...]:
    """The targets whose artifacts in a bundle of a toolchain can be used for a target, the best
    first."""
    ask = getattr(compiler, "shipped_targets", None)
    if ask is not None:
        return tuple(ask(target, toolchain))
    return (target,) if toolchain == toolchain_of(compiler) else ()


Identity = tuple[Any, ...]
"""What identifies a compiler: see `identity_of`."""


def identity_of(compiler: Any) -> Identity:
    """Name, version, and the toolchain if that is a plain text. Each can change any time."""
    toolchain = getattr(compiler, "toolchain", None)
    return compiler.name, compiler.version, toolchain if type(toolchain) is str else None


def identity_with_settings(compiler: Any) -> Identity:
    """The same; if the toolchain is a method, with what that may depend on: the settings."""
    identity = identity_of(compiler)
    if not callable(getattr(compiler, "toolchain", None)):
        return identity
    reads = [read.path.name for read in setting_reads(compiler)]
    return (*identity, *(known_here(getattr(compiler, name or "__dict__", None)) for name in reads))


def toolchain_of(compiler: object) -> str:
    """What identifies the tools behind a compiler.

    Its `toolchain` if it has one, or the distribution of its class: the name, the version and the
    digest of the RECORD, which lists the digest of every file.
    """
    toolchain = getattr(compiler, "toolchain", None)
    if callable(toolchain):
        toolchain = toolchain()
    if toolchain is not None:
        if type(toolchain) is not str:
            raise TypeError(f"{type(compiler).__name__}.toolchain is a str, not {toolchain!r}")
        return toolchain
    return _distribution_of(type(compiler).__module__.partition(".")[0])


def _distribution_of(top: str) -> str:
    names = _DISTRIBUTIONS.get(top)
    if names is None:
        parts = []
        for distribution in _distributions_of(top) if _may_be_installed(top) else ():
            name = distribution.metadata["Name"]
            record = distribution.read_text("RECORD") or ""
            parts.append(f"{name} {distribution.version} {hash_hex(record.encode())[:8]}")
        names = _DISTRIBUTIONS[top] = ", ".join(parts)
    return names


def _may_be_installed(top: str) -> bool:
    """Whether a package lies where distributions are: looking through those takes 80 ms.

    A compiler in a checkout, or in the program itself, is identified by its `version` alone.
    """
    module = sys.modules.get(top)
    file = getattr(module, "__file__", None)
    places = [os.path.dirname(file)] if file else []
    packages = getattr(module, "__path__", None)
    if packages is not None:
        places = [os.path.dirname(place) for place in packages]
    try:
        names = [name for place in places for name in os.listdir(place or os.curdir)]
    except OSError:  # inside of an archive
        return True
    return any(name.endswith((".dist-info", ".egg-info")) for name in names)


def _distributions_of(top: str) -> list[metadata.Distribution]:
    """The distributions that a package is from. One of its own name is found at once."""
    with importing:
        from importlib import metadata  # slow to import, and rarely needed

    with contextlib.suppress(metadata.PackageNotFoundError):
        named = metadata.distribution(top)
        if any(file.parts[0] in (top, f"{top}.py") for file in named.files or ()):
            return [named]
    distributions = []
    for name in sorted(set(metadata.packages_distributions().get(top, ()))):
        with contextlib.suppress(metadata.PackageNotFoundError):  # a name that no installer makes
            distributions.append(metadata.distribution(name))
    return distributions


_DISTRIBUTIONS: dict[str, str] = {}
