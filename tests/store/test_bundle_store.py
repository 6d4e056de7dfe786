"""A bundle is a store that is read; what is wrong in it is said, and is a miss."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.entries import entry_of, key_of
from whorl.store import Absent, Failed, Found, Skipped
from whorl.store.bundle import BadBundle, pack
from whorl.store.bundle_store import BundleStore
from whorl.store.installed_bundles import _all_bundles, installed_bundles


def bundle_of(tmp_path: Path, *values: object) -> Path:
    path = tmp_path / "kernels.whorl"
    group = key_of("group")
    entries = [entry_of(value, bytes(str(value), "ascii"), toolchain="tools 1") for value in values]
    pack(str(path), [*entries, entry_of("member", b"m", group)], made=5.0)
    return path


def test_entries_are_found_by_key_and_group(tmp_path: Path) -> None:
    store = BundleStore(str(bundle_of(tmp_path, 1, 2)))
    assert (len(store), store.toolchains, store.made) == (3, ("tools 1",), 5.0)
    got = store.get(key_of(2))
    assert isinstance(got, Found)
    assert bytes(got.entry.payload("code")) == b"2"
    assert isinstance(store.get(key_of(3)), Absent)
    assert isinstance(store.get(key_of(2), key_of("group")), Absent)
    assert list(store.iterate(key_of("group"))) == [key_of("member")]
    assert {entry.key for entry in store} == {key_of(1), key_of(2), key_of("member")}


def test_it_is_never_written_to(tmp_path: Path) -> None:
    path = bundle_of(tmp_path, 1)
    before = path.read_bytes()
    store = BundleStore(str(path))
    assert isinstance(store.put(entry_of(9)), Skipped)
    assert isinstance(store.remove(key_of(1)), Failed)
    assert path.read_bytes() == before


def test_a_file_that_is_replaced_meanwhile_stays_as_it_was(tmp_path: Path) -> None:
    path = bundle_of(tmp_path, 1)
    store = BundleStore(str(path))
    (tmp_path / "other").write_bytes(b"")
    (tmp_path / "other").replace(path)
    assert isinstance(store.get(key_of(1)), Found)


@pytest.mark.parametrize("place", range(0, 8192, 400))
def test_a_flipped_bit_is_a_refusal_or_a_failed_lookup(tmp_path: Path, place: int) -> None:
    path = bundle_of(tmp_path, 1)
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= 4
    path.write_bytes(data)
    try:
        store = BundleStore(str(path))
    except BadBundle:
        return
    for key, under in ((key_of(1), None), (key_of("member"), key_of("group"))):
        got = store.get(key, under)
        assert isinstance(got, Failed | Found)
        if isinstance(got, Found):
            assert bytes(got.entry.payload("code")) in (b"1", b"m")


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), str(tmp_path / "none"), "x.zip"])
    (tmp_path / "site" / "pack" / "inner").mkdir(parents=True)
    _all_bundles.cache_clear()
    yield tmp_path / "site"
    _all_bundles.cache_clear()


def announce(site: Path, text: str, name: str = "pack-1.0.dist-info") -> None:
    (site / name).mkdir()
    (site / name / "entry_points.txt").write_text(text)


def test_a_bundle_is_found_by_its_entry_point_and_nothing_is_imported(found: Path) -> None:
    bundle_of(found / "pack" / "inner", 1)
    (found / "pack" / "__init__.py").write_text("raise SystemExit('imported')")
    announce(
        found, "[other]\nx = y\n[whorl.bundles]\n# a remark\nany = pack.inner\n[more]\nz = pack\n"
    )
    (bundle,) = installed_bundles()
    assert (bundle.distribution, bundle.package, bundle.problem) == ("pack 1.0", "pack.inner", "")
    assert bundle.path == os.path.join(found, "pack", "inner", "kernels.whorl")  # noqa: PTH118
    assert bundle.store is not None
    assert "pack" not in sys.modules


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("nowhere", "there is no package nowhere"),
        ("pack.gone", "there is no package pack.gone"),
        ("pack", "No such file"),
    ],
)
def test_a_bundle_that_is_not_there_is_one_warning(
    found: Path, value: str, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    announce(found, f"[whorl.bundles]\nany = {value}\n")
    for _ in range(2):
        (bundle,) = installed_bundles()
    assert bundle.store is None
    assert problem in bundle.problem
    (record,) = caplog.records
    assert record.getMessage().startswith("the bundle of pack 1.0 is not used: ")
