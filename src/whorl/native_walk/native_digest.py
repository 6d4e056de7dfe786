"""A value in, its digest out, by the native walk: what Python has to do around it."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

from whorl.fingerprint.describe import Describer
from whorl.fingerprint.digest import dumps
from whorl.fingerprint.static_lookup import class_vars
from whorl.fingerprint.tokens import Node, is_leaf
from whorl.launch.instances import slot_offset

from . import walk_state as words
from .class_plans import ClassPlans
from .object_memo import OF_CLASS, OF_OBJECT
from .token_bytes import BYTES_1, COMPLEX_BYTES, ELLIPSIS_BYTES, INT_1, TEXT
from .walk_layout import WalkLayout
from .xxh3 import SECRET

_PASSES: Final = 40  # walks of one value, each of which goes deeper than the one before
_FASTCALL: Final = 0x80  # METH_FASTCALL

# Bytes that each buffer and arena has from the start.
_BUFFERS: Final = {
    words.OUT: 1 << 14, words.STACK: 48 * 64, words.MEMO: 1 << 10, words.UNKNOWN: 1 << 8,
    words.ORDERS: 8 * words.ORDER_SLOTS,
}  # fmt: skip
_ARENAS: Final = {words.KEPT: 1 << 12, words.SCRATCH: 1 << 13}


class _Method(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class NativeDigest:
    """The native walk under one describer. `head` stands before all tokens, for the policy."""

    def __init__(
        self, address: int, layout: WalkLayout, describer: Describer, head: tuple[object, ...]
    ) -> None:
        self._describer = describer
        written = dumps(head, 2)
        self._head = ctypes.create_string_buffer(written, len(written) + 8)
        self._policy = (ctypes.c_uint64 * 3)(0, ctypes.addressof(self._head), len(written))
        self.plans: Final = ClassPlans(describer, layout, self._policy)
        self._state = workspace(layout)
        self._method = _Method(b"walk", address, _FASTCALL, None)
        self.walk: Final = self._new_function()

    def _new_function(self) -> Callable[..., Any]:
        new = ctypes.pythonapi.PyCFunction_NewEx
        new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        new.restype = ctypes.py_object
        places = map(ctypes.addressof, (self._state.words, self._policy))
        function: Callable[..., Any] = new(
            ctypes.addressof(self._method), struct.pack("<QQ", *places), None
        )
        return function

    def __call__(self, value: object) -> str | None:
        """The digest of a value in hexadecimal digits; None if it is for the plain walk.

        Raises what the rules of its classes raise; then the plain walk has the better message.
        """
        found: str | tuple[Any, ...] | None = self.walk(value)
        return self._asked(value, found) if isinstance(found, tuple) else found

    def _asked(self, value: object, questions: tuple[Any, ...]) -> str | None:
        """The digest of a value about which the walk has questions."""
        answers: dict[int, object] = {}
        kept: list[object] = []  # what is known by its address must stay alive
        for _ in range(_PASSES):
            for i in range(0, len(questions), 2):
                asked, about = questions[i : i + 2]
                if about is ...:
                    self._learn(type(asked), answers)
                else:
                    self._describe(asked, answers, kept)
            pairs = [number for key, node in answers.items() for number in (key, id(node))]
            found: str | tuple[Any, ...] | None = self.walk(
                value, struct.pack(f"<{len(pairs)}Q", *pairs)
            )
            if not isinstance(found, tuple):
                return found
            questions = found
        return None

    def _learn(self, cls: type, answers: dict[int, object]) -> None:
        """Make the plan of a class, or find what stands for its code, once a walk."""
        if cls not in self.plans:
            self.plans.learn(cls)
            return
        own = self._describer.own_code(cls)
        if own is None:
            self.plans.relearn(cls)
        else:
            answers[id(cls) + OF_CLASS] = _own_tokens(own)

    def _describe(self, value: object, answers: dict[int, object], kept: list[object]) -> None:
        """Let the rules describe an object, and those of its parts that only they can."""
        pending = [value]
        while pending:
            asked = pending.pop()
            key = id(asked) + OF_OBJECT
            if key in answers:
                continue
            kept.append(asked)
            node = _plain(self._describer(asked))
            answers[key] = node
            pending += [part for part in _parts(node) if self.plans.is_described(type(part))]


def _plain(node: Node) -> Node:
    """A node as the native walk reads it: with tuples for values and items."""
    values = tuple(_plain(part) if type(part) is Node else part for part in node.values)
    items = None
    if node.items is not None:
        items = tuple(
            tuple(_plain(part) if type(part) is Node else part for part in item)
            for item in node.items
        )
    return Node(node.tag, values, items=items, counted=node.counted is True)


def _parts(node: Node) -> Iterator[object]:
    for part in (*node.values, *(part for item in node.items or () for part in item)):
        if type(part) is Node:
            yield from _parts(part)
        elif not is_leaf(type(part)):
            yield part


def _own_tokens(node: Node) -> bytes:
    """The three tokens of what stands for the code of a class."""
    (digest,) = node.values
    assert type(digest) is str
    text = digest.encode()
    return b"".join((
        bytes((BYTES_1, len(node.tag))), node.tag, bytes((INT_1, 1)),
        bytes((TEXT,)), len(text).to_bytes(4, "little"), text,
    ))  # fmt: skip


class Workspace:
    """The memory that a walk begins with."""

    def __init__(self) -> None:
        self.words = (ctypes.c_uint64 * words.STATE_WORDS)()
        self._kept: list[Any] = []

    def text(self, content: bytes) -> int:
        """The address of bytes, with some room behind them."""
        memory = ctypes.create_string_buffer(content, len(content) + 16)
        self._kept.append(memory)
        return ctypes.addressof(memory)

    def block(self, size: int) -> int:
        """The address of a block of memory."""
        memory = (ctypes.c_uint64 * (size // 8))()
        self._kept.append(memory)
        return ctypes.addressof(memory)


@cache
def workspace(layout: WalkLayout) -> Workspace:
    """The one workspace of this process."""
    state = Workspace()
    given = state.words
    for i, name in enumerate(words.API):
        given[i] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    for place, value in (
        (words.NONE, None), (words.TRUE, True), (words.ELLIPSIS, ...), (words.DICT_CLASS, dict),
        (words.OBJECT_CLASS, object),
    ):  # fmt: skip
        given[place] = id(value)
    for place, content in (
        (words.SECRET_AT, SECRET), (words.COMPLEX_AT, COMPLEX_BYTES),
        (words.ELLIPSIS_AT, ELLIPSIS_BYTES),
    ):  # fmt: skip
        given[place] = state.text(content)
    for place, name in (
        (words.NODE_TAG, "tag"), (words.NODE_VALUES, "values"), (words.NODE_ITEMS, "items"),
        (words.NODE_COUNTED, "counted"),
    ):  # fmt: skip
        given[place] = slot_offset(class_vars(Node)[name], layout.descriptor)
    for buffer, size in _BUFFERS.items():
        start = state.block(size)
        given[buffer : buffer + 4] = [start, start + size] * 2
    for arena, size in _ARENAS.items():
        start = state.block(size)
        ctypes.c_uint64.from_address(start + 8).value = start + size
        given[arena : arena + 4] = [start, start + 16, start + size, start + 16]
    return state
