"""A program, a shape and facts in, one key out, with its named parts beside it."""

from __future__ import annotations

import types

from whorl.artifacts import FORMAT, Part
from whorl.artifacts.record import shape_plain
from whorl.fingerprint.digest import FORMAT as TOKENS
from whorl.fingerprint.digest import StableDigest, hash_hex, marshalled
from whorl.fingerprint.names import class_label, known_module_name
from whorl.fingerprint.source import code_digest
from whorl.late import dataclass
from whorl.lazy import importing
from whorl.reads import Plain, Shape
from whorl.reads.fact import own_module

from .compiler import Compiler, toolchain_of
from .target import Target

__all__ = [
    "ProgramKey",
    "artifact_key",
    "flight_name",
    "function_group",
    "function_name",
    "hint_key",
    "key_parts",
    "outside_parts",
    "plain_shape_key",
    "shape_key",
]


def _digest(*parts: object) -> StableDigest:
    """The digest of plain data: types, bits and order count."""
    return StableDigest(hash_hex(marshalled(parts)))


@dataclass(frozen=True, slots=True)
class ProgramKey:
    """What stands for a program: the function's own code, the compiler, its toolchain."""

    parts: tuple[Part, ...]
    digest: StableDigest

    @classmethod
    def of(cls, outside: tuple[Part, ...], code: types.CodeType) -> ProgramKey:
        """The key of a function's own code, and of all else that counts."""
        found = code_digest(code)
        parts = (*outside, Part("code", f"{found.digest.hex()} ({found.origin})"))
        return cls(parts, _digest("program", *(list(part) for part in parts[1:])))

    @property
    def manifests(self) -> StableDigest:
        """The group that the program's manifests are in."""
        return _digest("manifests", str(self.digest))


def outside_parts(function: types.FunctionType, compiler: Compiler) -> tuple[Part, ...]:
    """What counts of a function and a compiler beside the function's own code."""
    return (
        Part("function", function_name(function)),  # for people: the first is not in the digest
        Part("name", function.__name__),
        Part("module", own_module(function) or "apart"),
        Part("compiler", f"{compiler.name} {compiler.version}"),
        Part("compiler class", class_label(type(compiler))),
        Part("toolchain", toolchain_of(compiler)),
        Part("record format", f"{FORMAT}.{TOKENS}"),
    )


def hint_key(outside: tuple[Part, ...], source: StableDigest) -> StableDigest:
    """The key of the hint for a program whose code is remembered under a key of its own."""
    return _digest("hint", str(source), *(list(part) for part in outside[1:]))


def function_name(function: types.FunctionType) -> str:
    """The name of a function in every process."""
    return f"{known_module_name(function.__module__ or '')}.{function.__qualname__}"


def function_group(function: types.FunctionType) -> StableDigest:
    """The group in which the programs of a function of this name are listed."""
    return _digest("function", function_name(function))


def shape_key(shape: Shape) -> StableDigest:
    """The key of a shape among those of a program."""
    return plain_shape_key(shape_plain(shape))


def plain_shape_key(plain: object) -> StableDigest:
    """The same, of what the shape is kept as."""
    return StableDigest(hash_hex(marshalled(plain)))


def artifact_key(
    program: ProgramKey, target: Target, shape: StableDigest, facts: tuple[Plain, ...]
) -> StableDigest:
    """The key of an artifact; the shape is known by its own."""
    parts = (str(program.digest), target.architecture, str(shape), list(facts))
    return _digest("artifact", *parts)


def key_parts(
    program: ProgramKey, target: Target, shape: Shape, facts: tuple[Plain, ...]
) -> tuple[Part, ...]:
    """The parts that the key of an artifact is made of, in words."""
    with importing:
        from whorl.reads.words import words

    seen = zip(shape.reads, facts, strict=True)
    return (
        *program.parts,
        Part("target", target.architecture),
        *(Part(str(read), words(fact, read.aspect)) for read, fact in seen),
    )


def flight_name(program: ProgramKey, target: Target, coarse: list[Plain]) -> str:
    """What calls that are likely to need the same compile produce under."""
    return str(_digest("flight", str(program.digest), target.architecture, coarse))
