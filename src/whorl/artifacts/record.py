"""Artifacts and manifests <-> entries: the two kinds of record, each field restored as it was.

    record   = ["artifact", [[name, plain]...]]          metadata
             | ["manifest", program, [shape...]]
    more     = [[read, fact, line]...]                   the trace of an artifact
    shape    = "aspect root place place...;..."          if all of them are usual
             | [read...]
    read     = "aspect root place"                       as most are
             | [aspect, path, path...]
    place    = name/attribute/attribute...
    path     = [root, name, [operation, plain]...]
    plain    = null | true | false | text | number             as they are
             | [plain...]                                      a list
             | {"tuple": [plain...]}
             | {"dict": [[plain, plain]...]}                   in order
             | {"bytes": hex}
             | {"text": hex}                                   with surrogates
             | {"int": hex}                                    beyond 64 bits
             | {"float": hex of its 8 bytes}                   infinities and NaNs
             | {"complex": [plain, plain]}

Finite floats are written by Python's shortest form, which reads back to the same bits. Only
exact types are plain: a subclass may mean more than its content.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from whorl.fast_dataclasses import dataclass, setters
from whorl.fingerprint.digest import StableDigest
from whorl.reads.trace import ASPECTS, ROOTS, Aspect, Path, Plain, Read, Seen, Shape, Step, Trace

from .entry import Damaged, Entry, Label, NotPlain

_DOUBLE: Final = struct.Struct(">d")
_LARGE: Final = 1 << 63
_NO_TRACE: Final = Trace()


@dataclass(frozen=True, slots=True)
class Artifact:
    """What a compile made: named payloads, metadata for the launch, and what it has seen.

    Payloads are bytes. Metadata are plain values (None, bool, int, float, complex, str, bytes,
    tuples, lists and dicts of these) and come back as the very types they were.

    >>> artifact = Artifact({"code": b"ret"}, {"slots": (1, 2.0)})
    >>> label = Label("artifact", StableDigest("0" * 32))
    >>> decode(encode(artifact, label)) == artifact
    True
    """

    payloads: Mapping[str, bytes | memoryview]
    metadata: Mapping[str, Plain]
    trace: Trace

    def __init__(
        self,
        payloads: Mapping[str, bytes | memoryview] | None = None,
        metadata: Mapping[str, Plain] | None = None,
        trace: Trace = _NO_TRACE,
    ) -> None:
        # By hand: every hit makes one.
        _put_payloads(self, {} if payloads is None else payloads)
        _put_metadata(self, {} if metadata is None else metadata)
        _put_trace(self, trace)


_put_payloads, _put_metadata, _put_trace = setters(Artifact)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The shapes of a program's compiles, as far as one entry knows them.

    >>> manifest = Manifest(StableDigest("0" * 32), (Shape(),))
    >>> decode(encode(manifest, Label("manifest", StableDigest("1" * 32)))) == manifest
    True
    """

    program: StableDigest
    shapes: tuple[Shape, ...] = ()


Record: TypeAlias = Artifact | Manifest


def encode(record: Record, label: Label) -> Entry:
    """A record as the entry that its label names.

    A value that cannot be kept exactly is a `TypeError` that says which.
    """
    if isinstance(record, Manifest):
        shapes = list(map(shape_plain, record.shapes))
        return Entry.build(label, {}, ["manifest", str(record.program), shapes])
    for name, payload in record.payloads.items():
        if type(name) is not str or not isinstance(payload, bytes | bytearray | memoryview):
            raise TypeError(
                f"payload {name!r} is a {type(payload).__name__!r}: payloads are bytes under a "
                "str. Serialize it first."
            )
    for name in record.metadata:
        if type(name) is not str:
            raise TypeError(f"metadata are kept under a str, not under {name!r}")
    metadata = {n: to_json(value, f"metadata[{n!r}]") for n, value in record.metadata.items()}
    seen = [
        [_read_to_json(seen.read), to_json(seen.fact, seen.read), seen.line]
        for seen in record.trace.seen
    ]
    return Entry.build(label, record.payloads, ["artifact", [*metadata.items()]], seen)


def decode(entry: Entry, *, with_trace: bool = True) -> Record:
    """The record of an entry; `Damaged` if it is none. An artifact's trace can be left out."""
    try:
        fields = entry.fields
        record = fields["record"]
        if record[0] == "artifact":
            _, metadata = record
            payloads, data, end = {}, memoryview(entry.data), len(entry.data)
            for name, at, size, _ in fields["payloads"]:
                if not 0 <= at <= at + size <= end:
                    raise ValueError(f"payload {name!r} lies outside")
                payloads[name] = data[at : at + size]
            return Artifact(
                payloads,
                dict(from_json(metadata)) if metadata else {},
                _trace_from(entry.more) if with_trace else _NO_TRACE,
            )
        if record[0] == "manifest":
            _, program, shapes = record
            return Manifest(StableDigest(program), tuple(map(_shape_from, shapes)))
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        raise Damaged.unreadable(repr(error)) from error
    raise Damaged.unreadable("neither an artifact nor a manifest")


def shape_plain(shape: Shape) -> str | list[object]:
    """A shape as what JSON has: what it is kept as and named by.

    >>> reads = [Read(Path("arg", "y"), Aspect.TYPE)]
    >>> reads.append(Read(Path("arg", "self", (Step("attr", "x"),)), Aspect.ARRAY))
    >>> shape_plain(Shape(tuple(reads)))
    'type arg y;array arg self/x'
    >>> reads.append(Read(Path("arg", "x", (Step("item", (1, 2)),)), Aspect.TYPE))
    >>> shape_plain(Shape(tuple(reads[1:])))
    ['array arg self/x', ['type', ['arg', 'x', ['item', {'tuple': [1, 2]}]]]]
    """
    rows = [_read_to_json(read) for read in shape.reads]
    texts = [row.rsplit(" ", 1) for row in rows if type(row) is str]
    if not rows or len(texts) != len(rows):
        return rows
    alike = itertools.groupby(texts, lambda text: text[0])
    return ";".join(" ".join((kind, *(place for _, place in each))) for kind, each in alike)


def _read_to_json(read: Read) -> object:
    (root, name, steps), aspect, beside = read
    if not beside and all(step.operation == "attr" for step in steps):
        names = [name, *(step.name for step in steps)]
        if all(map(_is_word, names)):
            return f"{aspect.value} {root} {'/'.join(names)}"
    paths = [_path_to_json(path) for path in (read.path, *read.beside)]
    return [read.aspect.value, *paths]


def _path_to_json(path: Path) -> list[object]:
    steps = ([step.operation, to_json(step.name, path)] for step in path.steps)
    return [path.root, to_json(path.name, path), *steps]


def _is_word(name: str) -> bool:
    return name.split() == [name] and not {*";/"} & {*name} and _is_unicode(name)


def shape_of(plain: object) -> Shape:
    """The shape that is kept as this; ValueError if none is.

    >>> shape_of(shape_plain(Shape())) == Shape()
    True
    """
    try:
        return _shape_from(plain)
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"not a shape: {error}") from error


def _shape_from(plain: Any) -> Shape:
    if type(plain) is list:
        return Shape(tuple([read_of(row) for row in plain]))
    if type(plain) is not str:
        raise ValueError("a shape is kept as a text or a list")
    reads = []
    for alike in plain.split(";"):
        aspect, root, *places = alike.split(" ")
        if not places:
            raise ValueError(f"nothing is read by {alike!r}")
        reads += [_usual_read(aspect, root, place) for place in places]
    return Shape(tuple(reads))


def _trace_from(plain: list[Any]) -> Trace:
    return Trace(tuple(Seen(read_of(read), from_json(fact), line) for read, fact, line in plain))


def read_of(plain: Any) -> Read:
    """One read of a shape that is kept; an error that says little if it is none.

    >>> str(read_of("type arg x/n")), str(read_of(["type", ["arg", "x", ["item", 0]]]))
    ('arg:x.n type', 'arg:x[0] type')
    """
    if type(plain) is str:
        return _usual_read(*plain.split(" "))
    aspect, path, *beside = plain
    if aspect == _ALIAS and not beside:
        raise ValueError("one path alone is no alias")
    return Read(_path_from(path), ASPECTS[aspect], tuple(map(_path_from, beside)) if beside else ())


def _usual_read(aspect: str, root: str, place: str) -> Read:
    name, *attributes = place.split("/")
    if aspect == _ALIAS or root not in ROOTS:
        raise ValueError(f"there is no read of {aspect!r} at {root}:{place}")
    steps = tuple([Step("attr", attribute) for attribute in attributes]) if attributes else ()
    return Read(Path(root, name, steps), ASPECTS[aspect])


_ALIAS: Final = Aspect.ALIAS.value


def _path_from(plain: list[Any]) -> Path:
    root, name, *steps = plain
    if type(name) is dict:
        name = from_json(name)
    if root not in ROOTS or type(name) is not str:
        raise ValueError(f"no path begins like {plain!r}")
    if not steps:
        return Path(root, name)
    return Path(root, name, tuple(Step(operation, from_json(at)) for operation, at in steps))


def to_json(value: object, path: object = "value") -> Any:
    """A plain value as what JSON has; `NotPlain` if it is none. `path` is shown in that error.

    >>> to_json({"tile": (64, 1.5)})
    {'dict': [['tile', {'tuple': [64, 1.5]}]]}
    """
    try:
        return _to_json(value)
    except RecursionError:
        raise NotPlain(str(path), "value nested too deeply") from None
    except NotPlain as error:
        raise NotPlain(f"{path}{error.path}", error.kind) from None


def _to_json(value: object) -> object:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        text = cast("str", value)
        return text if _is_unicode(text) else {"text": text.encode("utf-8", "surrogatepass").hex()}
    if kind is int:
        number = cast("int", value)
        return number if -_LARGE <= number < _LARGE else {"int": hex(number)}
    if kind is float:
        real = cast("float", value)
        return real if math.isfinite(real) else {"float": _DOUBLE.pack(real).hex()}
    if kind is bytes:
        return {"bytes": cast("bytes", value).hex()}
    if kind is complex:
        both = cast("complex", value)
        return {"complex": [_to_json(both.real), _to_json(both.imag)]}
    if kind is list or kind is tuple:
        items = [_part(item, i) for i, item in enumerate(cast("list[Any]", value))]
        return items if kind is list else {"tuple": items}
    if kind is dict:
        pairs = cast("dict[Any, Any]", value).items()
        return {"dict": [[_part(key), _part(item, key)] for key, item in pairs]}
    raise NotPlain("", f"{kind.__module__}.{kind.__qualname__}")


_KEY: Final = object()


def _part(value: object, at: object = _KEY) -> object:
    """A part of a value; an error about it says where it is: at an index or key, or as a key."""
    try:
        return _to_json(value)
    except NotPlain as error:
        step = " key" if at is _KEY else f"[{at!r}]"
        raise NotPlain(f"{step}{error.path}", error.kind) from None


def _is_unicode(text: str) -> bool:
    """Whether a text has no surrogates: JSON makes one character of two of them."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def from_json(value: Any) -> Any:
    """The plain value of what JSON has; ValueError if there is none.

    >>> from_json({"dict": [["tile", {"tuple": [64, 1.5]}]]})
    {'tile': (64, 1.5)}
    """
    try:
        return _from_json(value)
    except (RecursionError, TypeError, KeyError, OverflowError, struct.error) as error:
        raise ValueError(f"not a plain value: {error}") from error


_AS_THEY_ARE: Final = frozenset((str, int, float, bool, type(None)))


def _from_json(value: Any) -> Any:
    """Hot in a new process: most of what is in a list or tuple is as it is, and is left so."""
    if type(value) is list:
        return [item if type(item) in _AS_THEY_ARE else _from_json(item) for item in value]
    if type(value) is not dict:
        return value
    ((tag, content),) = value.items()
    match tag:
        case "tuple":
            return tuple(
                [item if type(item) in _AS_THEY_ARE else _from_json(item) for item in content]
            )
        case "dict":
            return {_from_json(key): _from_json(item) for key, item in content}
        case "bytes":
            return bytes.fromhex(content)
        case "text":
            return bytes.fromhex(content).decode("utf-8", "surrogatepass")
        case "int":
            return int(content, 16)
        case "float":
            return _DOUBLE.unpack(bytes.fromhex(content))[0]
        case "complex":
            real, imag = content
            return complex(_from_json(real), _from_json(imag))
        case _:
            raise ValueError(f"{tag!r} is no tag of a plain value")
