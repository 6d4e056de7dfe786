"""What is opened was sealed by somebody trusted, for this very place, and is whole."""

from __future__ import annotations

import os
import random
import struct
import sys
import time
import zlib
from dataclasses import replace

import pytest

from tests.remote.keys import OTHER, TEAM, ed25519, public_part, sealer_of
from tests.store.entries import entry_of, key_of
from whorl.artifacts import Entry
from whorl.remote import seal
from whorl.remote.keyring import Algorithm, Key
from whorl.remote.seal import BadSeal, Compression, SealedEntry, Sealer, SealFault, machine_name
from whorl.store import Found, MemoryStore

GROUP = key_of("group")


def fault_of(sealer: Sealer, sealed: bytes, entry: Entry) -> SealFault:
    with pytest.raises(BadSeal) as error:
        sealer.open(sealed, entry.key, entry.under)
    return error.value.fault


@pytest.mark.parametrize("algorithm", ["hmac", "ed25519"])
@pytest.mark.parametrize("compression", Compression)
def test_what_was_sealed_is_opened_byte_for_byte(algorithm: str, compression: Compression) -> None:
    key = TEAM if algorithm == "hmac" else ed25519()
    sealer = replace(sealer_of(key), compression=compression)
    for size in (0, 1, 5000, 1 << 20):
        entry = entry_of(size, os.urandom(size), GROUP)
        opened = sealer.open(sealer.seal(entry), entry.key, GROUP)
        assert bytes(opened.data) == bytes(entry.data)


def test_a_sealed_entry_is_smaller_than_the_entry() -> None:
    entry = entry_of("x", b"code " * 10_000)
    assert len(sealer_of(TEAM).seal(entry)) < len(entry.data) / 10


def test_a_public_key_opens_and_cannot_seal() -> None:
    key = ed25519()
    entry, reader = entry_of("x"), sealer_of(public_part(key))
    assert not reader.can_seal
    assert reader.open(sealer_of(key).seal(entry), entry.key, None).data == entry.data


def test_who_signed_is_known_or_it_is_not_opened() -> None:
    entry = entry_of("x")
    assert fault_of(sealer_of(TEAM), sealer_of(OTHER).seal(entry), entry) is SealFault.UNKNOWN_KEY
    unsigned = sealer_of(trust_all=True).seal(entry)
    assert fault_of(sealer_of(TEAM), unsigned, entry) is SealFault.UNSIGNED
    assert sealer_of(trust_all=True).open(unsigned, entry.key, None).data == entry.data


def test_with_trust_in_all_a_wrong_signature_of_a_known_key_is_still_refused() -> None:
    entry = entry_of("x")
    sealed = bytearray(sealer_of(TEAM).seal(entry))
    sealed[60] ^= 1
    everyone = sealer_of(TEAM, trust_all=True)
    assert fault_of(everyone, bytes(sealed), entry) is SealFault.WRONG_SIGNATURE


@pytest.mark.parametrize("algorithm", ["hmac", "ed25519"])
def test_an_entry_fits_only_its_own_key_group_and_namespace(algorithm: str) -> None:
    key = TEAM if algorithm == "hmac" else ed25519()
    sealer, entry = sealer_of(key), entry_of("x", under=GROUP)
    sealed = sealer.seal(entry)
    wrong = SealFault.WRONG_SIGNATURE
    assert fault_of(sealer, sealed, entry_of("y", under=GROUP)) is wrong
    assert fault_of(sealer, sealed, entry_of("x")) is wrong
    assert fault_of(sealer, sealed, entry_of("x", under=key_of("another"))) is wrong
    assert fault_of(replace(sealer, namespace="other"), sealed, entry) is wrong


def test_the_algorithm_of_a_seal_cannot_be_exchanged() -> None:
    """A public key must not be taken as the secret of an HMAC, nor no signature as one."""
    key, entry = ed25519(), entry_of("x")
    sealed = sealer_of(key).seal(entry)
    for algorithm in (Algorithm.NONE, Algorithm.HMAC_SHA256):
        size = algorithm.signature_size
        forged = sealed[:8] + bytes([algorithm]) + sealed[9:50] + bytes(size) + sealed[114:]
        assert fault_of(sealer_of(public_part(key)), forged, entry) in (
            SealFault.UNSIGNED, SealFault.UNKNOWN_KEY,
        )  # fmt: skip


def test_sizes_are_bounded_before_anything_is_done_with_the_bytes() -> None:
    small = replace(sealer_of(TEAM), max_size=1000)
    entry = entry_of("x", b"\0" * 100_000)
    sealed = sealer_of(TEAM).seal(entry)
    assert len(sealed) < 1000
    assert fault_of(small, sealed, entry) is SealFault.TOO_LARGE
    assert fault_of(small, bytes(5000), entry) is SealFault.TOO_LARGE


def test_a_bomb_of_a_trusted_hand_stays_within_its_declared_size() -> None:
    sealer, entry = sealer_of(TEAM), entry_of("x")
    body = zlib.compress(b"\0" * 50_000_000)
    head = struct.pack(
        "<8sBB16sQQd32s", b"\x89wseal2\n", 1, 1, TEAM.id, len(body), 5000, time.time(), b"m"
    )
    signature = TEAM.sign(sealer._digest(entry.key, None, head, body))
    assert fault_of(sealer, head + signature + body, entry) is SealFault.DAMAGED


def test_an_entry_older_than_its_time_to_live_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sealer, entry = replace(sealer_of(TEAM), ttl=60.0), entry_of("x")
    sealed = sealer.seal(entry)
    assert sealer.open(sealed, entry.key, None).data == entry.data
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 100)
    assert fault_of(sealer, sealed, entry) is SealFault.EXPIRED


def test_an_unknown_compression_is_named() -> None:
    sealer, entry = sealer_of(TEAM), entry_of("x")
    body = bytes(entry.data)
    head = struct.pack(
        "<8sBB16sQQd32s", b"\x89wseal2\n", 1, 9, TEAM.id, len(body), len(body), time.time(), b"m"
    )
    sealed = head + TEAM.sign(sealer._digest(entry.key, None, head, body)) + body
    assert fault_of(sealer, sealed, entry) is SealFault.COMPRESSION


@pytest.mark.skipif(sys.version_info < (3, 14), reason="zstd came with Python 3.14")
def test_zstd_is_used_where_python_has_it() -> None:
    sealer = replace(sealer_of(TEAM), compression=Compression.ZSTD)
    assert sealer.seal(entry_of("x", b"code " * 1000))[9] == Compression.ZSTD


def test_a_sealed_entry_is_handed_on_as_it_came() -> None:
    """So that a nearer tier can be filled by somebody who cannot seal."""
    key, entry = ed25519(), entry_of("x")
    sealed = sealer_of(key).seal(entry)
    reader = sealer_of(public_part(key))
    opened = reader.open(sealed, entry.key, None)
    assert reader.seal(opened) == sealed
    store = MemoryStore()
    store.put(opened)
    got = store.get(entry.key)
    assert isinstance(got, Found)
    assert isinstance(got.entry, SealedEntry)


@pytest.mark.parametrize("algorithm", ["hmac", "ed25519"])
def test_of_thousands_of_forgeries_none_is_opened(algorithm: str) -> None:
    key: Key = TEAM if algorithm == "hmac" else ed25519()
    reader = sealer_of(key if algorithm == "hmac" else public_part(key))
    chance = random.Random(23)
    entries = [entry_of(n, os.urandom(40 * n), GROUP if n % 2 else None) for n in range(8)]
    seals = [sealer_of(key).seal(entry) for entry in entries]
    accepted = 0
    for _ in range(2000):
        entry, sealed = (pair := chance.choice(list(zip(entries, seals, strict=True))))
        forged = bytearray(sealed)
        match chance.randrange(6):
            case 0:  # a bit
                forged[chance.randrange(len(forged))] ^= 1 << chance.randrange(8)
            case 1:  # truncated
                del forged[chance.randrange(len(forged)) :]
            case 2:  # extended
                forged += os.urandom(chance.randrange(1, 100))
            case 3:  # another's entry in its place
                forged = bytearray(chance.choice([s for s in seals if s is not pair[1]]))
            case 4:  # two halves of different seals
                other, cut = chance.choice(seals), chance.randrange(len(forged))
                forged[cut:] = other[cut:]
            case 5:  # a new body under an old signature
                forged[150:] = os.urandom(len(forged) - 150)
        if bytes(forged) == sealed:
            continue
        try:
            reader.open(bytes(forged), entry.key, entry.under)
        except BadSeal:
            continue
        accepted += 1
    assert accepted == 0


def test_a_seal_names_the_machine_that_made_it() -> None:
    sealer, entry = sealer_of(TEAM), entry_of("x")
    assert sealer.open(sealer.seal(entry), entry.key, None).machine == machine_name()


def test_the_name_of_a_machine_moves_no_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    sealer, entry = sealer_of(TEAM), entry_of("x")
    monkeypatch.setattr(seal, "machine_name", lambda: "\x1b[2J\nci")
    assert sealer.open(sealer.seal(entry), entry.key, None).machine == "?[2J?ci"
