"""What has no fingerprint: refused with path, type and remedy."""

from __future__ import annotations

import contextvars
import ctypes
import io
import socket
import sys
import tempfile
import threading
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import whorl
from tests.fingerprint.comparing import refusal

LOCK = threading.Lock()


@dataclass
class Holder:
    held: object


@dataclass(slots=True)
class SlottedHolder:
    held: object


class Call:
    def __init__(self, held: object) -> None:
        self.held = held

    def __call__(self) -> None: ...


def uses_lock() -> object:
    return LOCK


def calls_user_of_lock() -> object:
    return uses_lock()


def generator() -> Any:
    yield 1


async def coroutine() -> None: ...


def closed_stream() -> io.BytesIO:
    stream = io.BytesIO()
    stream.close()
    return stream


UNSUPPORTED: dict[str, Any] = {
    "object": object,
    "lock": threading.Lock,
    "rlock": threading.RLock,
    "event": threading.Event,
    "thread": threading.Thread,
    "thread local": threading.local,
    "generator": generator,
    "mock": mock.Mock,
    "magic mock": mock.MagicMock,
    "frame": sys._getframe,
    "weak reference": lambda: weakref.ref(Holder),
    "context variable": lambda: contextvars.ContextVar("x"),
    "dictionary view": {}.keys,
    "pointer": lambda: ctypes.pointer(ctypes.c_int(1)),
    "numpy iterator": lambda: np.nditer(np.zeros(2)),
    "closed stream": closed_stream,
    "library": lambda: ctypes.CDLL(None),
    "finalizer": lambda: weakref.finalize(Holder(1), print),
}


@pytest.mark.parametrize("make", UNSUPPORTED.values(), ids=UNSUPPORTED.keys())
@pytest.mark.parametrize(
    ("put", "path"),
    [
        (lambda v: v, "value"),
        (lambda v: [0, v], "value[1]"),
        (lambda v: {"a": (v,)}, "value['a'][0]"),
        (lambda v: {1: v, "a": 1}, "value[1]"),
        (Holder, "value.held"),
        (lambda v: SlottedHolder([v]), "value.held[0]"),
        (lambda v: [Call({"k": v})], "value[0].held['k']"),
    ],
    ids=["alone", "list", "dict", "mixed dict", "dataclass", "slots", "callable"],
)
def test_a_value_without_content_is_refused_with_its_path(make: Any, put: Any, path: str) -> None:
    refused = refusal(put(make()))
    assert refused.path.startswith(path)
    assert refused.type_name
    assert refused.reason
    assert refused.remedy
    assert refused.path in str(refused)
    assert refused.type_name in str(refused)
    assert refused.remedy in str(refused)


def test_an_open_file_a_socket_and_a_coroutine_are_refused(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as text, tempfile.TemporaryFile() as binary:
        assert refusal({"log": text}).path == "value['log']"
        assert refusal([binary]).path == "value[0]"
        assert refusal([io.TextIOWrapper(io.BytesIO())]).path == "value[0]"
    with socket.socket() as connection:
        assert refusal({"s": connection}).type_name == "socket.socket"
    started = coroutine()
    assert refusal([started]).type_name == "coroutine"
    started.close()


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"f": [uses_lock]}, "value['f'][0].__globals__['LOCK']"),
        ([calls_user_of_lock], "value[0].__globals__['uses_lock'].__globals__['LOCK']"),
        (Holder(uses_lock), "value.held.__globals__['LOCK']"),
        ({"m": Call(LOCK).__call__}, "value['m'].__self__.held"),
    ],
)
def test_the_path_of_what_a_function_reads_begins_at_the_value(value: object, path: str) -> None:
    assert refusal(value).path == path


def test_the_path_through_a_local_class_begins_at_the_value() -> None:
    class Local:
        bad = LOCK

    assert refusal({"k": [Local()]}).path.startswith("value['k'][0]")


def test_the_path_through_annotations_begins_at_the_value() -> None:
    def annotated(x: int) -> int:
        return x

    annotated.__annotations__["x"] = LOCK
    assert refusal({"k": [annotated]}).path.startswith("value['k'][0].__annotations__")


def test_a_refusal_deep_inside_still_has_its_path() -> None:
    value: Any = object()
    for _ in range(3000):
        value = [value]
    assert refusal(value).path == "value" + "[0]" * 3000


def test_a_refusal_on_a_cycle_has_its_path() -> None:
    value: list[Any] = [1]
    value.append([value, object()])
    assert refusal(value).path == "value[1][1]"


def test_a_refused_key_has_a_path() -> None:
    assert refusal({"k": {object(): 1}}).path.startswith("value['k']")
    assert refusal({"k": {object()}}).path.startswith("value['k']")


def test_the_first_refusal_leaves_nothing_behind() -> None:
    held = Holder(object())
    refusal(held)
    held.held = 1
    assert whorl.fingerprint(held) == whorl.fingerprint(Holder(1))


def test_a_refusal_is_a_type_error_and_a_whorl_error() -> None:
    refused = refusal(object())
    assert isinstance(refused, TypeError)
    assert isinstance(refused, whorl.WhorlError)
    assert (refused.path, refused.type_name) == ("value", "object")


def test_diff_refuses_what_fingerprint_refuses() -> None:
    with pytest.raises(whorl.UnsupportedValue, match="value\\['a'\\]"):
        whorl.diff({"a": object()}, {"a": 1})


def test_structures_that_drop_hidden_state_are_told_apart_or_refused() -> None:
    import os

    first = os.stat_result(tuple(range(10)), {"st_mtime_ns": 1})
    second = os.stat_result(tuple(range(10)), {"st_mtime_ns": 2})
    try:
        assert whorl.fingerprint(first) != whorl.fingerprint(second)
    except whorl.UnsupportedValue as refused:
        assert refused.path  # noqa: PT017 - refusing is right as well


def test_an_iterator_over_a_set_is_refused() -> None:
    with pytest.raises(whorl.UnsupportedValue, match="order"):
        whorl.fingerprint(iter({"a", "b"}))
