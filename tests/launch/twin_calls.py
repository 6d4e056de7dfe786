"""Calls of native objects in which the launcher runs as plain Python: its twin."""

from __future__ import annotations

import ctypes
import gc
import sys
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from whorl.calls.events import audits, listeners
from whorl.launch.instances import MANAGED_DICT
from whorl.launch.layout_search import object_layout
from whorl.launch.native import whorl_launch
from whorl.systems import Twin, u64
from whorl.systems.live_memory import LiveMemory
from whorl.systems.raw_memory import checking, own_stack

HEAP_CLASS = 1 << 9  # a flag of classes that are made at run time


def twin_call(called: Any, /, *args: Any, **kwargs: Any) -> Any:
    """What a native object returns or raises, by the twin of the launcher."""
    values, names = [*args, *kwargs.values()], tuple(kwargs)
    memory = (ctypes.c_uint64 * max(1, len(values)))(*map(id, values))
    named = id(names) if names else 0
    with own_stack():
        words = (id(called), ctypes.addressof(memory), len(args), named)
        found = whorl_launch(*map(u64, words))
    if not found:
        error, Twin.error = Twin.error, None
        assert error is not None
        raise error
    assert Twin.error is None
    result = ctypes.cast(int(found), ctypes.py_object)
    made: Any = result.value
    ctypes.pythonapi.Py_DecRef(result)
    return made


def checked_twin_call(kernel: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The same; every address has to lie in an object that the call or its tables lead to."""
    publication = kernel.tables._publications[-1]
    memory = live_memory(
        [args, kwargs, kernel, sys.modules, listeners, audits],
        [publication.header.memory, *publication.header.kept, publication.api],
        [each for table in publication.tables for each in table.references],
    )
    pointers = (ctypes.c_uint64 * 64)()
    memory.add(ctypes.addressof(pointers), ctypes.sizeof(pointers))
    values, names = [*args, *kwargs.values()], tuple(kwargs)
    pointers[: len(values)] = list(map(id, values))
    memory_of(names, memory)
    with own_stack(), checking(memory):
        named = id(names) if names else 0
        words = (id(kernel), ctypes.addressof(pointers), len(args), named)
        found = whorl_launch(*map(u64, words))
    assert found
    return ctypes.cast(int(found), ctypes.py_object).value


def live_memory(roots: Iterable[Any], *more: Iterable[Any]) -> LiveMemory:
    """The memory of objects, and of those that they lead to in a few steps."""
    memory = LiveMemory()
    waiting = [*roots, *(each for some in more for each in some)]
    seen: dict[int, Any] = {}
    for _ in range(4):
        following = []
        for each in waiting:
            if id(each) not in seen:
                seen[id(each)] = each
                memory_of(each, memory)
                if not isinstance(each, types.ModuleType):
                    following += [type(each), *gc.get_referents(each), *own_dict(each)]
        waiting = following
    return memory


def own_dict(value: Any) -> list[Any]:
    """The dict of an instance, if it has one already: the collector passes over that of some."""
    at = object_layout().instance.dict
    found = _word(id(value) + at) if at and type(value).__flags__ & MANAGED_DICT else 0
    return [ctypes.cast(found, ctypes.py_object).value] if found and not found & 1 else []


def memory_of(value: Any, memory: LiveMemory) -> None:
    """Add the memory of one object: its own, and what it keeps apart."""
    at = object_layout()
    if isinstance(value, ctypes.Array):
        memory.add(ctypes.addressof(value), ctypes.sizeof(value))
    before = 32  # of an instance: the head of the collector, its dict and its values
    size = max(object.__sizeof__(value), type(value).__basicsize__)
    if isinstance(value, type):
        size = max(size, type.__sizeof__(value))
        keys = _word(id(value) + at.instance.class_keys) if at.instance.class_keys else 0
        if keys and value.__flags__ & MANAGED_DICT and value.__flags__ & HEAP_CLASS:
            _add_keys(keys, memory)
    memory.add(id(value) - before, before + size + 512 * bool(type(value).__flags__ & MANAGED_DICT))
    if at.instance.inline == "pointer" and type(value).__flags__ & MANAGED_DICT:
        values = _word(id(value) + at.instance.pointer)
        memory.add(values, 8 * 64 if values else 0)
    elif at.instance.inline == "tagged" and type(value).__flags__ & MANAGED_DICT:
        values = _word(id(value) + at.instance.dict)
        memory.add(values + 1, 8 * 64 if values & 1 else 0)
    if isinstance(value, dict):
        keys = _word(id(value) + at.inside.keys)
        _add_keys(keys, memory)
        row = _word(id(value) + at.inside.values)
        memory.add(row, at.instance.values + 8 * _word(keys + at.inside.count) if row else 0)
    if isinstance(value, np.ndarray):
        memory.add(_word(id(value) + at.array_shape), 8 * value.ndim)
        memory.add(_word(id(value) + at.array_strides), 8 * value.ndim)


def _add_keys(keys: int, memory: LiveMemory) -> None:
    inside = object_layout().inside
    bits = ctypes.c_uint8.from_address(keys + inside.index_bits).value
    size = inside.start + (1 << bits) + 16 * _word(keys + inside.count)
    memory.add(keys, size)


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value
