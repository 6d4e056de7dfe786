"""A program, a shape and facts in, one key out, with its named parts beside it."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Final

from whorl.artifacts import FORMAT, Part
from whorl.artifacts.record import shape_plain
from whorl.fast_dataclasses import NamedTuple, make
from whorl.fingerprint.digest import FORMAT as TOKENS
from whorl.fingerprint.digest import StableDigest, digest_of
from whorl.fingerprint.names import class_label, full_name
from whorl.fingerprint.source import CodeDigest
from whorl.reads import Plain, Shape
from whorl.reads.facts import origin_of

from .compiler import Compiler, Identity
from .target import Target

__all__ = [
    "COMPILER_CODE",
    "ProgramContext",
    "ProgramKey",
    "artifact_key",
    "flight_name",
    "function_group",
    "lead_of",
    "plain_shape_key",
    "shape_key",
]


Pair = tuple[str, str]
"""What a part of a key is while it need not be shown: its name and its text."""


class ProgramKey(NamedTuple):
    """What stands for a program: the function's own code, the compiler, its code and toolchain."""

    context: ProgramContext
    code: str  # its digest, and what that was taken from
    digest: StableDigest

    @classmethod
    def of(cls, context: ProgramContext, code: types.CodeType, digest: CodeDigest) -> ProgramKey:
        """The key of a function's own code, and of all else that counts."""
        text = f"{digest.hex} ({origin_of(code, digest)})"
        return make(cls, (context, text, digest_of("program", context.counting, text)))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the key, in words."""
        return tuple(Part(*pair) for pair in (*self.context.pairs, ("code", self.code)))

    @property
    def manifests(self) -> StableDigest:
        """The group that the program's manifests are in."""
        return digest_of("manifests", str(self.digest))


class ProgramContext(NamedTuple):
    """What counts of a program beside the function's own code."""

    lasting: tuple[Pair, ...]  # the same for every call of a kernel; the name is for people alone
    counting: tuple[str, ...]  # for digests: that of `lasting`, names, versions

    @classmethod
    def of(cls, name: str, own: str | None, compiler: Compiler) -> ProgramContext:
        """What is the same for every call of a kernel; `own` is the module of the function."""
        pairs = (
            ("module", own or "apart"),
            ("compiler class", class_label(type(compiler))),
            ("record format", _RECORD_FORMAT),
        )
        return cls((("function", name), *pairs), (str(digest_of(pairs)),))

    def now(self, name: str, identity: Identity, toolchain: str, code: str) -> ProgramContext:
        """This, with the name of the function and the identity of the compiler now.

        `code` is the digest of the compiler's code, empty if that does not count.
        """
        lasting, (digest, *_) = self
        compiler, version, *_ = identity
        counting = (digest, name, f"{compiler} {version}", toolchain)
        return make(ProgramContext, (lasting, (*counting, code) if code else counting))

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """All of it in words."""
        function, *lasting = self.lasting
        _, name, compiler, toolchain, *code = self.counting
        tools = (("compiler", compiler), ("toolchain", toolchain))
        return (
            function,
            ("name", name),
            *lasting,
            *tools,
            *((COMPILER_CODE, digest) for digest in code),
        )


COMPILER_CODE: Final = "compiler code"
_RECORD_FORMAT: Final = f"{FORMAT}.{TOKENS}"


def lead_of(context: ProgramContext, source: StableDigest) -> StableDigest:
    """What leads to a program in a hint: its code is remembered under a key of its own."""
    return digest_of("lead", str(source), context.counting)


def function_group(function: types.FunctionType) -> StableDigest:
    """The group in which the programs of a function of this name are listed."""
    return digest_of("function", full_name(function))


def shape_key(shape: Shape) -> StableDigest:
    """The key of a shape among those of a program."""
    return plain_shape_key(shape_plain(shape))


plain_shape_key: Final[Callable[[object], StableDigest]] = digest_of
"""The same, of what the shape is kept as."""


def artifact_key(
    program: ProgramKey, target: Target, shape: StableDigest, facts: tuple[Plain, ...]
) -> StableDigest:
    """The key of an artifact; the shape is known by its own."""
    parts = (str(program.digest), target.architecture, str(shape), list(facts))
    return digest_of("artifact", *parts)


def flight_name(program: ProgramKey, target: Target, coarse: list[Plain]) -> str:
    """What calls that are likely to need the same compile produce under."""
    return str(digest_of("flight", str(program.digest), target.architecture, coarse))
