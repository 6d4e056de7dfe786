"""Artifacts and manifests <-> entries: the two kinds of record, each field restored as it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from whorl.fingerprint.digest import StableDigest
from whorl.reads import Aspect, Path, Plain, Read, Seen, Shape, Step, Trace

from .entry import Damage, Damaged, Entry, Label
from .plain import lowered, restored

__all__ = ["Artifact", "Manifest", "Record", "decode", "encode"]


@dataclass(frozen=True, slots=True)
class Artifact:
    """What a compile made: named payloads, metadata for the launch, and what it has seen.

    Payloads are bytes. Metadata are plain values (None, bool, int, float, complex, str, bytes,
    tuples, lists and dicts of these) and come back as the very types they were.

    >>> made = Artifact({"code": b"ret"}, {"slots": (1, 2.0)})
    >>> label = Label("artifact", StableDigest("0" * 32))
    >>> decode(encode(made, label)) == made
    True
    """

    payloads: Mapping[str, bytes | memoryview] = field(default_factory=dict)
    metadata: Mapping[str, Plain] = field(default_factory=dict)
    trace: Trace = field(default_factory=Trace)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The shapes of a program's compiles, as far as one entry knows them.

    >>> made = Manifest(StableDigest("0" * 32), (Shape(),))
    >>> decode(encode(made, Label("manifest", StableDigest("1" * 32)))) == made
    True
    """

    program: StableDigest
    shapes: tuple[Shape, ...] = ()


Record: TypeAlias = Artifact | Manifest


def encode(record: Record, label: Label) -> Entry:
    """A record as the entry that its label names.

    record   = ["artifact", [[name, plain]...], [[read, fact, line]...]]     metadata, trace
             | ["manifest", program, [[read...]...]]                         shapes
    read     = [aspect, path, path...]
    path     = [root, name, [operation, name]...]

    A value that cannot be kept exactly is a `TypeError` that says which.
    """
    if isinstance(record, Manifest):
        shapes = [[_read_out(read) for read in shape.reads] for shape in record.shapes]
        return Entry.made(
            label, {}, lowered(["manifest", str(record.program), shapes], "the shape")
        )
    for name, payload in record.payloads.items():
        if type(name) is not str or not isinstance(payload, bytes | bytearray | memoryview):
            raise TypeError(
                f"payload {name!r} is a {type(payload).__name__!r}: payloads are bytes under a "
                "str. Serialize it first."
            )
    for name in record.metadata:
        if type(name) is not str:
            raise TypeError(f"metadata are kept under a str, not under {name!r}")
    metadata = {n: lowered(value, f"metadata[{n!r}]") for n, value in record.metadata.items()}
    seen = [
        [
            lowered(_read_out(seen.read), str(seen.read)),
            lowered(seen.fact, str(seen.read)),
            seen.line,
        ]
        for seen in record.trace.seen
    ]
    return Entry.made(label, record.payloads, ["artifact", [*metadata.items()], seen])


def decode(entry: Entry, *, with_trace: bool = True) -> Record:
    """The record of an entry; `Damaged` if it is none. An artifact's trace can be left out."""
    try:
        match entry.record:
            case ["artifact", list(metadata), list(seen)]:
                return Artifact(
                    {place.name: entry.view(place) for place in entry.payloads},
                    dict(restored(metadata)),
                    _trace_in(restored(seen)) if with_trace else Trace(),
                )
            case ["manifest", str(program), list(shapes)]:
                shapes = restored(shapes)
                return Manifest(
                    StableDigest(program), tuple(Shape(tuple(map(_read_in, s))) for s in shapes)
                )
    except (ValueError, TypeError, KeyError) as error:
        raise Damaged(Damage.UNREADABLE, repr(error)) from error
    raise Damaged(Damage.UNREADABLE, "neither an artifact nor a manifest")


def _trace_in(plain: list[Any]) -> Trace:
    return Trace(tuple(Seen(_read_in(read), fact, line) for read, fact, line in plain))


def _read_out(read: Read) -> list[object]:
    paths = [_path_out(path) for path in (read.path, *read.beside)]
    return [read.aspect.value, *paths]


def _read_in(plain: list[Any]) -> Read:
    aspect, path, *beside = plain
    return Read(_path_in(path), Aspect(aspect), tuple(map(_path_in, beside)))


def _path_out(path: Path) -> list[object]:
    return [path.root, path.name, *([step.operation, step.name] for step in path.steps)]


def _path_in(plain: list[Any]) -> Path:
    root, name, *steps = plain
    return Path(root, name, tuple(Step(operation, at) for operation, at in steps))
