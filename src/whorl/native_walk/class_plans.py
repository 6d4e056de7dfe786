"""How the native walk reads the instances of each class: plans, in a table by the class's address.

A plan is made once per class, when the walk meets it. What it does not cover is described by
Python, object by object, with the same rules as ever.

    slots        flags, class, how many, tag (three words), and the offset of each slot
    attributes   flags, class, where the dict is, where inline values are, prefix, its size, how
                 many fields are declared, their names, how many are hidden, their names, and the
                 tag, if it is known beforehand (three words)

The prefix of a tag is what is hashed for it before the names of the attributes.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Sequence
from typing import Any, Final

from whorl.fingerprint.describe import Describer, shape_tag
from whorl.fingerprint.digest import dumps
from whorl.fingerprint.layout import Layout
from whorl.fingerprint.modes import Mode
from whorl.fingerprint.names import known_by_name
from whorl.fingerprint.static_lookup import ClassTable, derives
from whorl.fingerprint.tokens import Node, tag_of
from whorl.launch.instances import MANAGED_DICT, dict_places, slot_offset, type_field
from whorl.locks import ForkSafeLock

from .key_orders import EXACT, OWN
from .leaf_tokens import BOOLS, COMPLEXES, ELLIPSES, FLOATS, INTS, NONES, TEXTS
from .token_bytes import BYTES_1
from .token_walk import ATTRIBUTES, BYTES, DESCRIBED, DICT, LIST, NODE, SLOTS, TUPLE
from .walk_layout import WalkLayout

_BUILTIN: Final[dict[type, int]] = {
    type(None): NONES, bool: BOOLS, int: INTS, float: FLOATS, str: TEXTS, complex: COMPLEXES,
    type(...): ELLIPSES, bytes: BYTES, list: LIST, tuple: TUPLE, dict: DICT, Node: NODE,
}  # fmt: skip
_FIRST: Final = 1 << 7  # entries of the table
_MOST: Final = 5_000  # classes: short-lived ones must not pile up
_MEMBER: Final = ("_name_", "_value_")
_OF_ENUM: Final = ("__objclass__", "_inverted_", "_sort_order_")


class ClassPlans:
    """The plans of classes under one describer.

    `place` is a word that has the address of the table. A walk of another thread may begin at any
    moment, so that word is changed before an old table and its plans go.
    """

    def __init__(self, describer: Describer, layout: WalkLayout, place: Any) -> None:
        self._describer = describer
        self._layout = layout
        self._place = place
        self._lock = ForkSafeLock()
        self._known: ClassTable[int] = ClassTable()
        self._kept: list[object] = []
        self._words: Any = None
        self.forget()

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, cls: type) -> bool:
        return cls in self._known

    @property
    def classes(self) -> list[type]:
        """All classes that have a plan."""
        return self._known.classes

    def is_described(self, cls: type) -> bool:
        """Whether Python describes the instances of a class."""
        return self.learn(cls) == DESCRIBED

    def learn(self, cls: type) -> int:
        """The plan of a class, with its kind, made now if it has none. Raises `Refused`."""
        known = self._known.get(cls)
        if known is None:
            with self._lock:
                if len(self._known) >= _MOST:
                    self.forget()
                known = self._plan(cls)
                self._enter(cls, known)
        return known

    def relearn(self, cls: type) -> None:
        """Make the plan of a class anew: it has a name by now."""
        with self._lock:
            self._enter(cls, self._plan(cls))

    # -- the table ----------------------------------------------------------------------

    def forget(self) -> None:
        """Begin with the builtin classes again."""
        with self._lock:
            before = self._kept, self._words  # until the walk knows the new table
            self._known, self._kept = ClassTable(_BUILTIN), []
            self._rebuild(_FIRST)
            del before

    def _rebuild(self, size: int) -> None:
        words = (ctypes.c_uint64 * (2 * size + 2))()
        words[0] = size - 1
        for cls in self._known.classes:
            plan = self._known.get(cls)
            assert plan is not None
            _put(words, cls, plan)
        self._place[0] = ctypes.addressof(words)
        self._words = words

    def _enter(self, cls: type, plan: int) -> None:
        if 4 * (len(self._known) + 1) > self._words[0]:
            self._rebuild(2 * (self._words[0] + 1))
        _put(self._words, cls, plan)
        self._known[cls] = plan  # last: other threads take it for known to the walk

    # -- plans --------------------------------------------------------------------------

    def _plan(self, cls: type) -> int:
        if self._describer.mode is not Mode.DATA:
            return DESCRIBED
        if derives(type(cls), enum.EnumMeta):
            return self._member_plan(cls)
        layout = self._describer.plain_layout(cls)
        if layout is None or layout.markers or not layout.straight:
            return DESCRIBED
        if not layout.has_dict:
            return self._slots_plan(layout)
        if layout.slots:
            return DESCRIBED
        identity = self._describer.class_parts(cls)
        parts = ("instance", *identity)
        prefix = b"(" + (len(parts) + 1).to_bytes(4, "little")
        prefix += b"".join(dumps(part, 2) for part in parts)
        flags = 0 if known_by_name(cls) else OWN
        return self._attributes_plan(cls, flags, prefix, layout.declared, sorted(layout.hidden))

    def _slots_plan(self, layout: Layout) -> int:
        cls, place = layout.cls, self._layout.descriptor
        names = [name for name, _ in layout.slots]
        offsets = {name: slot_offset(slot, place) for name, slot in layout.slots}
        is_usual = all(type(name) is str for name in names) and set(layout.declared) <= {*names}
        size = type_field(cls, "__basicsize__")
        if not is_usual or not all(0 < offset < size for offset in offsets.values()):
            return DESCRIBED
        ordered = tuple(sorted(names, key=str))
        tag = shape_tag(self._describer.class_parts(cls), ordered)
        flags = 0 if known_by_name(cls) else OWN
        rows = [offsets[name] for name in ordered]
        return self._keep([flags, id(cls), len(rows), *_tag_words(tag), *rows]) + SLOTS

    def _member_plan(self, cls: type) -> int:
        """Members of an enum by name and value; with attributes of their own they are described."""
        if self._describer.class_rule(cls) is not None or not known_by_name(cls):
            return DESCRIBED
        tag = tag_of("enum member", *self._describer.class_parts(cls), (".name", ".value"))
        return self._attributes_plan(cls, EXACT, b"", _MEMBER, _OF_ENUM, tag)

    def _attributes_plan(
        self,
        cls: type,
        flags: int,
        prefix: bytes,
        declared: Sequence[str],
        hidden: Sequence[str],
        tag: bytes = bytes(17),
    ) -> int:
        dict_at, inline_at = dict_places(cls, self._layout.instance)
        is_managed = bool(type_field(cls, "__flags__") & MANAGED_DICT)
        names = (*declared, *hidden)
        if not dict_at or (dict_at < 0 and not is_managed) or not all(map(str.isascii, names)):
            return DESCRIBED
        text = ctypes.create_string_buffer(prefix, len(prefix) + 8)
        rows = [(ctypes.c_uint64 * (len(row) + 1))(*map(id, row)) for row in (declared, hidden)]
        self._kept += [text, *rows, declared, hidden]
        words = [
            flags, id(cls), dict_at, inline_at, ctypes.addressof(text), len(prefix),
            len(declared), ctypes.addressof(rows[0]), len(hidden), ctypes.addressof(rows[1]),
            *_tag_words(tag),
        ]  # fmt: skip
        return self._keep(words) + ATTRIBUTES

    def _keep(self, words: list[int]) -> int:
        """The address of a plan, a multiple of 16."""
        memory = (ctypes.c_uint64 * (len(words) + 1))()
        self._kept.append(memory)
        skipped = ctypes.addressof(memory) // 8 % 2
        memory[skipped : skipped + len(words)] = [word % (1 << 64) for word in words]
        return ctypes.addressof(memory) + 8 * skipped


def _put(words: Any, cls: type, plan: int) -> None:
    mask = words[0]
    place = (id(cls) >> 4) ^ (id(cls) >> 11)
    while words[2 + 2 * (place & mask)] not in (0, id(cls)):
        place += 1
    entry = 2 + 2 * (place & mask)
    words[entry + 1] = plan
    words[entry] = id(cls)


def _tag_words(tag: bytes) -> list[int]:
    """A tag as a token, in three words."""
    token = bytes((BYTES_1, len(tag))) + tag
    return [int.from_bytes(token[i : i + 8], "little") for i in (0, 8, 16)]
