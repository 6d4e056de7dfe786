"""URLs of shared caches: what they say, what is wrong with them, and that secrets stay secret."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import whorl
from tests.remote.servers import free_port
from tests.store.entries import key_of
from whorl import settings
from whorl.options import SHOWN_OPTIONS, Url
from whorl.remote import tiers
from whorl.remote.address import Address
from whorl.remote.keyring import Algorithm, BadKey, new_key
from whorl.remote.seal import Compression
from whorl.remote.tiers import open_tiers
from whorl.store import Absent, Failed, open_url
from whorl.url_options import SCHEMES, options_of

SECRET = "hunter2hunter2"


def test_a_url_has_defaults_and_options() -> None:
    plain = Address.parse("redis://host")
    assert (plain.port, plain.db, plain.timeout, plain.connect_timeout) == (6379, 0, 2.0, 0.5)
    full = Address.parse(
        "http://host:81/a/b?timeout=100ms&connect_timeout=1&readonly&namespace=ci.1&ttl=30d"
        "&trust=all&reshare=1&key=team&lease=5&compression=none&max_size=1M&layout=bazel"
    )
    assert (full.port, full.path, full.timeout, full.ttl) == (81, "/a/b", 0.1, 30 * 86400.0)
    assert (full.readonly, full.reshare, full.namespace, full.trust) == (True, True, "ci.1", "all")
    assert (full.key, full.lease, full.max_size, full.layout) == ("team", 5.0, 1 << 20, "bazel")
    assert full.compression is Compression.NONE
    assert Address.parse("unix:///run/redis.sock?db=2").path == "/run/redis.sock"
    assert Address.parse("redis://u%40x:p%2Fw@host/3").password == "p/w"


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("ftp://host/", "redis://"),
        ("redis://", "a host"),
        ("redis://host/zero", "number of a database"),
        ("redis://host:99999/", "a URL such as"),
        ("redis://host?timeout=soon", "timeout=a time"),
        ("redis://host?timeout=0", "timeout=a time"),
        ("redis://host?timeout=2h", "from 1ms to 1h"),
        ("redis://host?lease=1ms", "from 100ms to 1h"),
        ("redis://host?ttl=99999999999d", "from 1s to 36500d"),
        ("redis://host?timeout=٢", "timeout=a time"),
        ("redis://host?trust=some", "trust=all or keys"),
        ("redis://host?readonly=maybe", "readonly=1 or 0"),
        ("redis://host?namespace=a/b", "namespace=letters"),
        ("s3://bucket/#x", "without #"),
        ("redis+cluster://host/1", "a cluster has one database"),
        ("redis+cluster://a:1,,b:2", "a URL such as"),
        ("redis+sentinel://host", "with the service's name"),
        ("redis+sentinel://host/cache/x", "with the service's name"),
        ("redis://host?ca=x", "without the option 'ca'"),
        ("gs://bucket/x?endpoint=http://host", "without the option 'endpoint'"),
        ("az://container/x?region=eu", "without the option 'region'"),
    ],
)
def test_what_makes_no_sense_is_an_error_that_says_what_would(url: str, wanted: str) -> None:
    with pytest.raises(whorl.BadSetting) as error:
        open_url(url)
    assert wanted in str(error.value)


def test_an_unknown_option_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(whorl.BadSetting) as error:
        Address.parse("redis://host?time_out=2")
    assert "'time_out'" in str(error.value)
    assert "connect_timeout, key, lease" in str(error.value)
    assert "layout" not in str(error.value)
    with pytest.raises(whorl.BadSetting, match="layout"):
        Address.parse("http://host?time_out=2")


@pytest.mark.parametrize(
    "url",
    [
        f"redis://user:{SECRET}@127.0.0.1:{{port}}/0",
        f"redis://:{SECRET}@127.0.0.1:{{port}}/0",
        f"http://{SECRET}@127.0.0.1:{{port}}/x",
        f"redis://127.0.0.1:{{port}}/0?token={SECRET}",
        f"s3://bucket/x?endpoint=http://a:{SECRET}@127.0.0.1:{{port}}",
        f"redis://user:{SECRET}@127.0.0.1:{{port}}/0?readonly=maybe",
        f"nonsense user:{SECRET}@127.0.0.1",
    ],
)
def test_secrets_are_masked_wherever_something_is_printed(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    new_key(tmp_path / "keys", "team", Algorithm.HMAC_SHA256)
    url = url.format(port=free_port())
    before = settings.current()
    printed = []
    caplog.set_level(logging.DEBUG)
    try:
        try:
            now = whorl.configure(remote=url, keys_dir=tmp_path / "keys")
            printed += [str(now.remote), repr(now)]
            store = tiers.open_tiers(now)[0]
            got = store.get(key_of("x"))
            printed += [repr(store), str(got), store.address.name, str(store.address.url)]
            printed.append(
                json.dumps({k: dict(v) for k, v in store.server.statistics.totals.tiers.items()})
            )
            assert isinstance(got, Failed | Absent)
        except whorl.BadSetting as error:
            printed += [str(error), repr(error)]
    finally:
        settings.restore(before)
    assert printed
    assert SECRET not in "".join(printed) + caplog.text


def test_a_remote_without_keys_is_refused_unless_all_is_trusted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = settings.current()
    try:
        now = whorl.configure(keys_dir=tmp_path, remote="redis://127.0.0.1:1/0")
        with pytest.raises(BadKey, match="whorl keys new NAME"):
            open_url("redis://127.0.0.1:1/0")
        assert tiers.open_tiers(now) == []
        assert "is not used: there is no key" in caplog.text
        caplog.clear()
        url = f"redis://127.0.0.1:{free_port()}/0?trust=all"
        assert len([open_url(url) for _ in range(3)]) == 3
        assert caplog.text.count("used without a seal") == 1
    finally:
        settings.restore(before)


def test_the_remotes_of_the_environment_are_split_at_spaces() -> None:
    found = settings.Settings.from_environment({"WHORL_REMOTE": " redis://a  s3://b/c?readonly "})
    assert found.remote.value == (Url("redis://a"), Url("s3://b/c?readonly"))
    assert settings.Settings.from_environment({}).remote.value == ()
    with pytest.raises(whorl.BadSetting, match="URLs such as"):
        settings.Settings.from_environment({"WHORL_REMOTE": "somewhere"})


def test_a_url_that_makes_no_sense_is_an_error_for_who_configures_it() -> None:
    before = settings.current()
    with pytest.raises(whorl.BadSetting, match="without the option 'tmieout'") as error:
        whorl.configure(remote="redis://:password@host/0?tmieout=3")
    assert "password" not in str(error.value)
    assert settings.current() is before


def test_a_url_of_the_environment_that_makes_no_sense_is_a_warning_and_the_others_are_used(
    caplog: pytest.LogCaptureFixture,
) -> None:
    urls = "redis://:password@host/0?tmieout=3 nonsense://x http://host/path redis://host/x"
    found = settings.Settings.from_environment(
        {"WHORL_REMOTE": urls, "WHORL_SIGNING_KEY": "correct horse battery"}
    )
    with caplog.at_level(logging.WARNING, "whorl.remote"):
        (store,) = open_tiers(found)
    assert store.address.scheme == "http"
    assert len(caplog.messages) == 3
    assert all("is not used" in each and "password" not in each for each in caplog.messages)


def test_a_text_that_is_no_url_shows_no_password() -> None:
    with pytest.raises(whorl.BadSetting) as error:
        settings.Settings.from_environment({"WHORL_REMOTE": "user:password@host/0"})
    assert "password" not in str(error.value)


def test_of_options_that_exist_the_values_are_shown() -> None:
    every = {name for scheme in SCHEMES for name in options_of(scheme)}
    assert every == SHOWN_OPTIONS


def test_clusters_and_sentinels_have_several_hosts() -> None:
    cluster = Address.parse("rediss+cluster://u:p%40w@a:1,[::1]:2,c?ca=/etc/ca.pem")
    assert cluster.hosts == (("a", 1), ("::1", 2), ("c", 6379))
    assert (cluster.user, cluster.password, cluster.ca) == ("u", "p@w", "/etc/ca.pem")
    assert cluster.is_encrypted
    assert "p%40w" not in str(cluster.url)
    assert cluster.name == "rediss+cluster://a:1,[::1]:2,c"
    sentinel = Address.parse("redis+sentinel://a,b:3/cache/2")
    assert sentinel.hosts == (("a", 26379), ("b", 3))
    assert (sentinel.service, sentinel.db) == ("cache", 2)
