"""Tokens as bytes: what the native walk makes of them is what pickle and marshal write."""

from __future__ import annotations

import ctypes
import io
import marshal
import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.native_walk.compiled_walk import needs_native_walk
from tests.systems.compiled import native
from whorl.native_walk.token_bytes import CHUNK_HEAD, FLAT_LIST, FLAT_TUPLE, as_chunk, as_marshal
from whorl.systems import u64


def pickled(value: object) -> bytes:
    file = io.BytesIO()
    pickler = pickle.Pickler(file, 3)
    pickler.fast = True
    pickler.dump(value)
    return file.getvalue()


def written(token: Any) -> bytes:
    """A token as the native walk puts it down."""
    if type(token) in (list, tuple) and token:
        code = FLAT_LIST if type(token) is list else FLAT_TUPLE
        return bytes((code, len(token))) + b"".join(map(written, token))
    return pickled(token)[2:-1]


leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**2100), 2**2100), st.floats(),
    st.complex_numbers(), st.just(...), st.text(), st.text("x", min_size=300, max_size=300),
    st.sampled_from([-(2**31), 2**31 - 1, 255, 256, 65535, 65536, -1, 2**31, -(2**31) - 1]),
    st.sampled_from([-(2**2039), 2**2039, -(2**2039) - 1, 2**2040, -(2**2047)]),
)  # fmt: skip
tokens = st.one_of(
    leaves,
    st.binary(max_size=300),
    st.lists(leaves, max_size=6),
    st.lists(leaves, max_size=6).map(tuple),
)


def check(listed: list[Any], chunk: Any, marshalled: Any) -> None:
    content = b"".join(map(written, listed))
    source = ctypes.create_string_buffer(content, len(content) + 16)
    out = ctypes.create_string_buffer(6 * len(content) + 5_000)
    start, to = ctypes.addressof(source), ctypes.addressof(out)
    end = int(chunk(u64(start), u64(start + len(content)), u64(to)))
    assert CHUNK_HEAD + out.raw[: end - to] == pickled(listed)
    end = int(marshalled(u64(start), u64(start + len(content)), u64(to)))
    assert out.raw[: end - to] == marshal.dumps(listed, 2)[5:]


@needs_native_walk
@given(st.lists(tokens, min_size=2, max_size=30), st.sampled_from([1, 1, 40, 100]))
def test_compiled_they_are_what_pickle_and_marshal_write(listed: list[Any], times: int) -> None:
    check(listed * times, native(as_chunk), native(as_marshal))


def test_in_plain_python_they_are_too() -> None:
    listed = [None, True, 1, -1, 2**31, -(2**70), 2.5, 1j, ..., "\xe4", b"x" * 256, [], (), [1]]
    check([*listed, (1, 2), (1, 2, 3, 4), ["a", None]], as_chunk, as_marshal)
