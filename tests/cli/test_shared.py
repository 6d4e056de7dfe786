"""`whorl keys` and `whorl remote`; shared caches in `whorl stats` and `whorl doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import whorl
from tests.cli.running import Run, artifact_of
from tests.remote.servers import FakeHttp, FakeRedis, free_port
from tests.store.entries import entry_of, key_of
from whorl.artifacts import Entry, Label
from whorl.remote.far_store import FarStore
from whorl.store import Cache, DirectoryStore, Found, Tiered, open_url

SECRET = "correct horse battery staple"


@pytest.fixture
def redis() -> Iterator[FakeRedis]:
    server = FakeRedis()
    yield server
    server.close()


@pytest.fixture
def url(redis: FakeRedis, tmp_path: Path) -> str:
    url = f"redis://:pass@127.0.0.1:{redis.port}/0"
    redis.password = "pass"
    whorl.configure(remote=url, signing_key=SECRET, keys_dir=tmp_path / "keys")
    return url


# -- keys ------------------------------------------------------------------------------


def test_a_key_is_made_shown_and_trusted_elsewhere(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="Ed25519 needs the package cryptography")
    whorl.configure(keys_dir=tmp_path / "ci")
    made = run("keys", "new", "ci", "--json")
    assert made.code == 0
    assert made.json["algorithm"] == "ed25519"
    private = (tmp_path / "ci" / "ci.key").read_text()
    assert private.split()[2] not in made.out
    shown = run("keys", "show")
    assert "seals and checks" in shown.out
    assert private.split()[2] not in shown.out
    whorl.configure(keys_dir=tmp_path / "reader")
    assert "no keys in" in run("keys", "show").out
    trusted = run("keys", "trust", tmp_path / "ci" / "ci.pub")
    assert trusted.code == 0
    assert made.json["id"] in trusted.out
    assert [key["can_seal"] for key in run("keys", "show", "--json").json["keys"]] == [False]


def test_a_shared_secret_is_a_key_too(run: Run, tmp_path: Path) -> None:
    whorl.configure(keys_dir=tmp_path)
    made = run("keys", "new", "team", "--algorithm", "hmac-sha256")
    assert made.code == 0
    assert "keep it secret" in made.out
    again = run("keys", "new", "team", "--algorithm", "hmac-sha256")
    assert again.code == 1
    assert "exists already" in again.err


def test_what_is_no_key_is_not_trusted(run: Run, tmp_path: Path) -> None:
    whorl.configure(keys_dir=tmp_path / "keys")
    (tmp_path / "x.pub").write_text("ssh-ed25519 AAAA")
    done = run("keys", "trust", tmp_path / "x.pub")
    assert done.code == 1
    assert "is not a key" in done.err
    assert run("keys", "trust", tmp_path / "nowhere.pub").code == 2


# -- remote ----------------------------------------------------------------------------


def test_check_says_how_a_shared_cache_is(run: Run, url: str, redis: FakeRedis) -> None:
    done = run("remote", "check")
    assert done.code == 0, done.err
    for words in ("latency", "stored, found and removed", "leases      yes", "as here"):
        assert words in done.out
    assert not redis.values
    assert ":pass@" not in done.out + done.err
    assert run("remote", "check", "--json").json[0]["problem"] is None


def test_check_names_what_is_broken(run: Run, url: str) -> None:
    done = run("remote", "check", f"redis://127.0.0.1:{free_port()}/0")
    assert done.code == 1
    assert "connection refused" in done.out
    assert run("remote", "check", "nonsense").code == 2


def test_without_a_url_there_is_nothing_to_check(run: Run) -> None:
    done = run("remote", "check")
    assert done.code == 2
    assert "WHORL_REMOTE" in done.err


def test_push_and_pull_move_all_entries(
    run: Run, url: str, store: DirectoryStore, tmp_path: Path
) -> None:
    entries = [artifact_of("solver.step", n) for n in range(40)]
    for entry in entries:
        store.put(entry)
    store.put(Entry.build(Label("source", key_of("row")), {}, ["source"]))
    pushed = run("remote", "push")
    assert pushed.code == 0, pushed.err
    assert "40 entries uploaded" in pushed.out
    assert run("remote", "ls").out.startswith(f"redis://***@{url.partition('@')[2]}: 40 entries")
    pulled = run("remote", "pull", "--json", cache_dir=tmp_path / "other")
    assert pulled.code == 0, pulled.err
    assert pulled.json[0]["downloaded"] == 40
    other = DirectoryStore(tmp_path / "other")
    for entry in entries:
        got = other.get(entry.key, entry.under)
        assert isinstance(got, Found)
        assert bytes(got.entry.data) == bytes(entry.data)


def test_push_to_a_shared_cache_that_is_read_only_is_refused(run: Run, url: str) -> None:
    done = run("remote", "push", f"{url}?readonly")
    assert done.code == 1
    assert "read-only" in done.err


def test_push_to_a_dead_server_says_that_it_failed(
    run: Run, url: str, store: DirectoryStore
) -> None:
    store.put(artifact_of("solver.step"))
    done = run("remote", "push", f"redis://127.0.0.1:{free_port()}/0")
    assert done.code == 1
    assert "1 failed" in done.out


def test_a_server_without_listings_is_not_listed(run: Run, url: str) -> None:
    with FakeHttp() as server:
        done = run("remote", "ls", f"http://127.0.0.1:{server.port}/cache")
    assert done.code == 2
    assert "cannot list" in done.err


def test_a_shared_cache_without_keys_is_refused(run: Run, tmp_path: Path) -> None:
    whorl.configure(keys_dir=tmp_path, remote="redis://127.0.0.1:1/0")
    done = run("remote", "ls")
    assert done.code == 1
    assert "whorl keys new" in done.err


# -- stats and doctor ------------------------------------------------------------------


def test_stats_has_a_section_for_each_shared_cache(
    run: Run, url: str, store: DirectoryStore
) -> None:
    far = open_url(url)
    cache = Cache(Tiered(store, far))
    other = open_url(url)
    other.put(entry_of("x", seconds=3.0))
    assert isinstance(other, FarStore)
    assert other.flush()
    cache.get(key_of("x"))
    cache.get(key_of("y"))
    cache.statistics.flush()
    done = run("stats")
    name = f"redis://{url.partition('@')[2]}"
    section = done.out.partition(name)[2]
    rows = [line.split() for line in section.splitlines()[1:]]
    assert rows[:2] == [["hits", "1"], ["misses", "1"]]
    assert "saved here       3.0 s" in section
    assert "pass" not in done.out
    assert run("stats", "--json").json["tiers"][name]["seconds_saved"] == 3.0


def test_doctor_shows_the_tiers_and_where_they_were_named(
    run: Run, url: str, tmp_path: Path
) -> None:
    done = run("doctor")
    shown = next(line for line in done.out.splitlines() if "tier 1" in line)
    assert "redis://***@127.0.0.1" in shown
    assert "(from whorl.configure)" in shown
    assert "read and written" in shown
    assert ":pass@" not in done.out
    whorl.configure(remote=f"redis://127.0.0.1:{free_port()}/0?trust=all")
    broken = run("doctor")
    assert broken.code == 1
    assert "connection refused" in broken.out
