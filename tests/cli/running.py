"""Command lines in, what they print and their exit codes out; and stores to look at."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.store.entries import key_of
from whorl.artifacts import Artifact, Entry, Label, Part, encode
from whorl.fingerprint.digest import StableDigest, hash_bytes
from whorl.reads.trace import Aspect, Path, Read, Seen, Trace


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


def artifact_of(
    name: str,
    variant: object = 0,
    *,
    made: float = 1e9,
    seconds: float = 0.5,
    size: int = 100,
    payload: bytes | None = None,
    kind: str = "artifact",
) -> Entry:
    """The entry of a program that read a global."""
    under = key_of(("group", name))
    parts = (Part("function", name), Part("target", "linux-x86-64"), Part("SCALE", repr(variant)))
    read = Read(Path("global", "m", ()), Aspect.VALUE, ())
    trace = Trace((Seen(read, 2.0, "solver.py:7: `x * SCALE`"),))
    label = Label(kind, key_of((name, variant)), under, parts, "llvm 1", made, seconds)
    return encode(Artifact({"code": payload or b"x" * size}, {"slots": (1, 2)}, trace), label)


def group_of(entry: Entry) -> StableDigest:
    assert entry.under is not None
    return entry.under


def unlabelled() -> Entry:
    """An entry whose bytes are those that were written, and whose label makes no sense."""
    entry = Entry.build(Label("artifact", key_of("f"), made=1e9), {"code": b"x"}, None)
    data = bytes(entry.data).replace(b'"payloads"', b'"paylaods"')
    return Entry(entry.key, entry.under, data[:16] + hash_bytes(data[32:]) + data[32:])
