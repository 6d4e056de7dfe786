"""The two kinds of digest: what may name something on disk, and what may not."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import threading
from typing import Any

import pytest

import whorl
from tests.fingerprint.comparing import output_of


def test_a_digest_is_a_text_of_32_hexadecimal_digits() -> None:
    digest = whorl.fingerprint([1])
    assert isinstance(digest, str)
    assert type(digest) is whorl.StableDigest
    assert bytes.fromhex(digest) == digest.raw
    assert len(digest.raw) == 16
    assert json.loads(json.dumps(digest)) == digest
    assert {str(digest): 1}[digest] == 1


def test_a_stable_digest_can_be_copied_and_pickled() -> None:
    digest = whorl.fingerprint([1])
    for twin in (copy.copy(digest), copy.deepcopy(digest), pickle.loads(pickle.dumps(digest))):
        assert twin == digest
        assert type(twin) is whorl.StableDigest


def test_a_process_digest_can_be_copied_and_not_pickled() -> None:
    digest = whorl.fingerprint([], by="identity")
    assert type(digest) is whorl.ProcessDigest
    assert type(copy.deepcopy(digest)) is whorl.ProcessDigest
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="process"):
            pickle.dumps({"k": digest}, protocol)


def test_neither_kind_is_the_other() -> None:
    assert not issubclass(whorl.ProcessDigest, whorl.StableDigest)
    assert not issubclass(whorl.StableDigest, whorl.ProcessDigest)
    assert issubclass(whorl.ProcessDigest, whorl.Digest)


@pytest.mark.parametrize("text", ["", "0" * 31, "0" * 33, "g" * 32, "A" * 32, "0x" + "0" * 30])
def test_a_text_that_is_no_digest_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="32 lower-case"):
        whorl.StableDigest(text)


def test_an_object_by_identity_is_the_same_as_itself_only() -> None:
    first, second = [1], [1]
    assert whorl.fingerprint(first, by="identity") == whorl.fingerprint(first, by="identity")
    assert whorl.fingerprint(first, by="identity") != whorl.fingerprint(second, by="identity")
    first.append(2)
    before = whorl.fingerprint(first, by="identity")
    first.append(3)
    assert whorl.fingerprint(first, by="identity") == before


def test_the_identity_of_an_object_that_is_gone_is_never_given_again() -> None:
    class Handle:
        pass

    seen = set()
    for _ in range(200):
        handle = Handle()
        seen.add(whorl.fingerprint(handle, by="identity"))
        del handle
        gc.collect(0)
    assert len(seen) == 200


def test_identities_of_two_processes_differ() -> None:
    program = "import whorl; print(whorl.fingerprint(whorl, by='identity'))"
    assert output_of(program) != output_of(program)


def test_a_stable_digest_is_the_same_in_another_process() -> None:
    program = "import whorl; print(whorl.fingerprint({'a': [1, 2.5, {3, 'x'}], 'b': (None, b'y')}))"
    expected = whorl.fingerprint({"b": (None, b"y"), "a": [1, 2.5, {"x", 3}]})
    assert output_of(program) == expected


def test_a_digest_asked_for_in_another_thread_does_not_make_this_one_a_process_digest() -> None:
    stop = threading.Event()

    def keep_asking() -> None:
        while not stop.is_set():
            whorl.fingerprint([], by="identity")

    thread = threading.Thread(target=keep_asking)
    thread.start()
    try:
        for _ in range(200):
            assert type(whorl.fingerprint([1])) is whorl.StableDigest
    finally:
        stop.set()
        thread.join()


def test_threads_that_ask_for_many_new_classes_at_once_agree() -> None:
    def values() -> list[Any]:
        return [type(f"Made{i}", (), {"__slots__": ("x",)}) for i in range(50)]

    classes = values()
    found: list[list[str]] = []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        mine: list[str] = []
        for cls in classes:
            value = cls()
            value.x = 1
            mine.append(whorl.fingerprint([value]))
        found.append(mine)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(digests == found[0] for digests in found)
