"""Keys are files of the user alone; what is not safe is not used, and said."""

from __future__ import annotations

import builtins
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.remote.keys import ed25519
from whorl.remote import keyring
from whorl.remote.keyring import Algorithm, BadKey, Keyring, add_public_key, key_of_line, new_key
from whorl.settings import Settings

needs_modes = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")


def ring_of(directory: Path, **environment: str) -> Keyring:
    named = {"WHORL_KEYS_DIR": str(directory), **environment}
    return Keyring.from_settings(Settings.from_environment(named))


def test_a_new_key_is_found_again_and_seals(tmp_path: Path) -> None:
    made = new_key(tmp_path / "keys", "team", Algorithm.HMAC_SHA256)
    found = ring_of(tmp_path / "keys").signer()
    assert found is not None
    assert found.id == made.id
    assert found.is_signed(b"digest", made.sign(b"digest"))


@needs_modes
def test_a_secret_is_written_for_its_user_alone(tmp_path: Path) -> None:
    new_key(tmp_path / "keys", "team", Algorithm.HMAC_SHA256)
    assert (tmp_path / "keys" / "team.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700


@needs_modes
def test_a_secret_that_others_may_read_is_not_used(tmp_path: Path) -> None:
    new_key(tmp_path, "team", Algorithm.HMAC_SHA256)
    (tmp_path / "team.key").chmod(0o644)
    ring = ring_of(tmp_path)
    assert not ring.keys
    assert "chmod 600" in ring.problems[0]


@needs_modes
def test_keys_in_a_directory_that_others_may_write_to_are_not_used(tmp_path: Path) -> None:
    new_key(tmp_path / "keys", "team", Algorithm.HMAC_SHA256)
    (tmp_path / "keys").chmod(0o777)
    ring = ring_of(tmp_path / "keys")
    assert not ring.keys
    assert "every user may write to it" in ring.problems[0]


@needs_modes
def test_a_link_is_not_followed(tmp_path: Path) -> None:
    new_key(tmp_path / "elsewhere", "team", Algorithm.HMAC_SHA256)
    (tmp_path / "keys").mkdir(mode=0o700)
    (tmp_path / "keys" / "team.key").symlink_to(tmp_path / "elsewhere" / "team.key")
    assert "symbolic link" in ring_of(tmp_path / "keys").problems[0]


def test_no_directory_is_no_keys(tmp_path: Path) -> None:
    assert ring_of(tmp_path / "nowhere") == Keyring()


def test_a_public_key_is_trusted_and_does_not_seal(tmp_path: Path) -> None:
    private = ed25519()
    line = private.public_line()
    assert line is not None
    add_public_key(tmp_path, "ci", line)
    ring = ring_of(tmp_path)
    assert ring.signer() is None
    assert ring.keys[private.id].is_signed(b"digest", private.sign(b"digest"))
    assert not ring.keys[private.id].is_signed(b"other", private.sign(b"digest"))


def test_a_key_is_never_replaced(tmp_path: Path) -> None:
    new_key(tmp_path, "team", Algorithm.HMAC_SHA256)
    before = (tmp_path / "team.key").read_text()
    with pytest.raises(BadKey, match="exists already"):
        new_key(tmp_path, "team", Algorithm.HMAC_SHA256)
    assert (tmp_path / "team.key").read_text() == before


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "x" * 80])
def test_a_name_of_a_key_is_a_plain_one(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadKey, match="no name of a key"):
        new_key(tmp_path, name, Algorithm.HMAC_SHA256)


def test_of_several_keys_one_has_to_be_chosen(tmp_path: Path) -> None:
    first = new_key(tmp_path, "first", Algorithm.HMAC_SHA256)
    new_key(tmp_path, "second", Algorithm.HMAC_SHA256)
    ring = ring_of(tmp_path)
    with pytest.raises(BadKey, match="first, second"):
        ring.signer()
    for name in ("first", first.id.hex()):
        chosen = ring.signer(name)
        assert chosen is not None
        assert chosen.id == first.id
    with pytest.raises(BadKey, match="no key 'third'"):
        ring.signer("third")


def test_a_secret_of_the_environment_is_a_key_and_comes_first(tmp_path: Path) -> None:
    new_key(tmp_path, "team", Algorithm.HMAC_SHA256)
    signer = ring_of(tmp_path, WHORL_SIGNING_KEY="correct horse battery").signer()
    assert signer is not None
    assert signer.name == "WHORL_SIGNING_KEY"


def test_a_private_key_of_the_environment_is_one_of_ed25519(tmp_path: Path) -> None:
    line = ed25519().line()
    signer = ring_of(tmp_path, WHORL_SIGNING_KEY=line).signer()
    assert signer is not None
    assert signer.id == ed25519().id


@pytest.mark.parametrize(
    "line", ["", "whorl-key", "whorl-key rot13 " + "0" * 64, "whorl-key hmac-sha256 zz", "\0" * 99]
)
def test_what_is_no_key_is_an_error_that_does_not_show_it(line: str) -> None:
    with pytest.raises(BadKey, match="file is not a key"):
        key_of_line(line, "file")


def test_a_file_that_is_no_key_does_not_hide_the_others(tmp_path: Path) -> None:
    new_key(tmp_path, "team", Algorithm.HMAC_SHA256)
    os.close(os.open(tmp_path / "broken.key", os.O_CREAT | os.O_WRONLY, 0o600))
    ring = ring_of(tmp_path)
    assert len(ring.keys) == 1
    assert ring.problems[0].startswith("broken is not a key")


def test_without_cryptography_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(BadKey, match=r"pip install 'whorl\[signing\]'"):
        keyring.key_of_line("whorl-key ed25519 " + "00" * 32, "ci")
