"""Bundles: entries in one portable file, every byte of which is checked before it is used.

    bundle   = magic[8] format:u64 check[16] offset:u64 size:u64 entry... contents
    entry    = the bytes of an entry as they stand in a store, in the order of the contents
    contents = JSON, `size` bytes at `offset`:
               {"made": time, "toolchains": [text...],
                "entries": [[key, group or null, size, digest]...]}

`check` is the digest of the contents, which hold the digest of every entry, and each entry is
checked like one in a store. All of that happens before the first entry is stored: nothing is
imported from a bundle that is damaged in any way. Reading a bundle executes, imports and unpickles
nothing. But its entries are code that later calls run, so import bundles only from people you
trust.
"""

from __future__ import annotations

import contextlib
import os
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, Final

from whorl.artifacts import Damaged, Entry
from whorl.artifacts.entry import line_of
from whorl.fast_dataclasses import NamedTuple, dataclass
from whorl.fingerprint.digest import StableDigest, hash_bytes, hash_hex
from whorl.lazy import load

from .listing import Name
from .outcome import Failed, Found, Skipped
from .protocol import Store

MAGIC: Final = b"\x89whorlb\n"
FORMAT: Final = 1
_UNREADABLE: Final = (
    ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, Damaged,
)  # fmt: skip
_HEAD: Final = struct.Struct("<8sQ16sQQ")
_PICKLE: Final = frozenset((b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"))


class BadBundle(Exception):
    """A file that is no bundle, or not the one that was written."""


class Packed(NamedTuple):
    """One entry of a bundle."""

    name: Name
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Contents:
    """What a bundle says it holds."""

    made: float
    entries: tuple[Packed, ...]
    toolchains: tuple[str, ...] = ()  # that made the entries; none in old bundles

    @property
    def size(self) -> int:
        """The bytes of all entries."""
        return sum(entry.size for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of the entries of a bundle."""

    stored: int = 0
    known: int = 0  # the store had these, byte for byte
    refused: int = 0  # pickled values that were not asked for
    failed: tuple[str, ...] = ()


def is_pickled(entry: Entry) -> bool:
    """Whether a payload is, or looks like, a pickled value: one that runs code when it is read.

    >>> from whorl.artifacts import Artifact, Label, encode
    >>> label = Label("artifact", StableDigest("0" * 32))
    >>> is_pickled(encode(Artifact({"value": b"\\x80\\x05N."}), label))
    True
    """
    for place in entry.payloads:
        if "pickle" in place.name.lower():
            return True
        view = entry.view(place)
        if bytes(view[:2]) in _PICKLE and bytes(view[-1:]) == b".":
            return True
    return False


def pack(path: str, entries: Iterable[Entry], *, made: float | None = None) -> Contents:
    """Write entries into a file, which is there whole or not at all. `made` is a time, now if None.

    >>> import tempfile
    >>> from whorl.artifacts import Artifact, Label, encode
    >>> from whorl.store import MemoryStore
    >>> entry = encode(Artifact({"code": b"ret"}), Label("artifact", StableDigest("0" * 32)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = pack(f"{folder}/bundle", [entry]).size
    ...     with open(f"{folder}/bundle", "rb") as file:
    ...         unpack(file, MemoryStore())
    Imported(stored=1, known=0, refused=0, failed=())
    """
    temporary = f"{path}.{os.getpid()}.part"
    rows, toolchains = [], dict[str, None]()
    try:
        with open(temporary, "xb") as file:
            file.write(bytes(_HEAD.size))
            for entry in entries:
                file.write(entry.data)
                under = None if entry.under is None else str(entry.under)
                rows.append([str(entry.key), under, len(entry.data), hash_hex(entry.data)])
                toolchains[entry.label.toolchain] = None
            offset = file.tell()
            plain = {
                "made": time.time() if made is None else made,
                "toolchains": sorted(filter(None, toolchains)),
                "entries": rows,
            }
            text = load("json").dumps(plain, separators=(",", ":")).encode("ascii")
            file.write(text)
            file.seek(0)
            file.write(_HEAD.pack(MAGIC, FORMAT, hash_bytes(text), offset, len(text)))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return _contents_of(plain)


def contents(file: IO[bytes]) -> Contents:
    """What a bundle holds, by its own account; `BadBundle` if it is none."""
    head = file.read(_HEAD.size)
    if head[:8] != MAGIC:
        raise BadBundle("it is empty" if not head else "it is not a bundle of whorl")
    if len(head) < _HEAD.size:
        raise BadBundle("it is cut off")
    _, version, check, offset, size = _HEAD.unpack(head)
    if version != FORMAT:
        raise BadBundle(f"it has format {version}, and this whorl reads format {FORMAT}")
    end = file.seek(0, os.SEEK_END)
    if end != offset + size:
        raise BadBundle("it is cut off" if end < offset + size else "it is longer than it says")
    file.seek(offset)
    text = file.read(size)
    if hash_bytes(text) != check:
        raise BadBundle("its table of contents is damaged")
    try:
        table = _contents_of(line_of(text + b"\n", 0)[0])  # importing `json` takes 1 ms
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise BadBundle("its table of contents cannot be read") from error
    if _HEAD.size + table.size != offset:
        raise BadBundle("its table of contents does not fit it")
    return table


def first_entry() -> int:
    """Where the first entry of a bundle begins; the others follow in the order of the contents."""
    return _HEAD.size


def _contents_of(plain: Any) -> Contents:
    rows = tuple(
        Packed(
            Name(StableDigest(key), None if under is None else StableDigest(under)),
            _checked_size(size),
            str(digest),
        )
        for key, under, size, digest in plain["entries"]
    )
    toolchains = tuple(map(str, plain.get("toolchains", ())))
    return Contents(float(plain["made"]), rows, toolchains)


def _checked_size(size: object) -> int:
    if type(size) is not int or size < 0:
        raise ValueError(f"{size!r} is no size")
    return size


def unpack(
    file: IO[bytes],
    store: Store,
    *,
    with_pickles: bool = False,
    watch: Callable[[int], object] = lambda size: None,
) -> Imported:
    """Put the entries of a bundle into a store, after all of them have been checked.

    `watch` is called with the size of each entry when it is checked, and when it is put. Raises
    `BadBundle` before anything is put if any byte is not what it should be.
    """
    table = contents(file)
    for entry in _entries(file, table):
        watch(len(entry.data))
    stored = known = refused = 0
    failed = []
    for entry in _entries(file, table):
        watch(len(entry.data))
        if is_pickled(entry) and not with_pickles:
            refused += 1
            continue
        if _has(store, entry):
            known += 1
            continue
        put = store.put(entry)
        if isinstance(put, Failed | Skipped):
            failed.append(f"{entry.key}: {put.reason}")
        else:
            stored += 1
    return Imported(stored, known, refused, tuple(failed))


def _entries(file: IO[bytes], table: Contents) -> Iterator[Entry]:
    """The entries of a bundle, each checked."""
    file.seek(_HEAD.size)
    for number, row in enumerate(table.entries, start=1):
        data = file.read(row.size)
        at = f"entry {number} of {len(table.entries)}, {row.name.key},"
        if len(data) < row.size:
            raise BadBundle(f"{at} is cut off")
        if hash_hex(data) != row.digest:
            raise BadBundle(f"{at} is damaged: its bytes are not those that were written")
        try:
            entry = Entry.checked(data, row.name.key, row.name.under)
            _ = entry.label, entry.payloads
        except Damaged as damaged:
            raise BadBundle(f"{at} is damaged: {damaged}") from None
        yield entry


def _has(store: Store, entry: Entry) -> bool:
    """Whether a store holds the very same."""
    got = store.get(entry.key, entry.under)
    return isinstance(got, Found) and got.entry.data == entry.data
