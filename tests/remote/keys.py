"""Keys and sealers for tests."""

from __future__ import annotations

import pytest

from whorl.remote.keyring import Algorithm, Key, key_of_line
from whorl.remote.seal import Sealer

TEAM = key_of_line("whorl-key hmac-sha256 " + "11" * 32, "team")
OTHER = key_of_line("whorl-key hmac-sha256 " + "22" * 32, "other")


def ed25519(seed: str = "33") -> Key:
    pytest.importorskip("cryptography", reason="Ed25519 needs the package cryptography")
    return key_of_line(f"whorl-key ed25519 {seed * 32}", "ci")


def public_part(key: Key) -> Key:
    line = key.public_line()
    assert line is not None
    return key_of_line(line, key.name)


def sealer_of(*keys: Key, namespace: str = "whorl", trust_all: bool = False) -> Sealer:
    signer = next((key for key in keys if key.can_sign), None)
    return Sealer(namespace, {key.id: key for key in keys}, signer, trust_all)


__all__ = ["OTHER", "TEAM", "Algorithm", "ed25519", "public_part", "sealer_of"]
