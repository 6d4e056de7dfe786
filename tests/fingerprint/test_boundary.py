"""Whose code counts by content: the user's; by name and version: installed and standard."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path

import attrs
import numpy as np
import pytest

import whorl
from tests.fingerprint.comparing import different
from tests.fingerprint.programs import Programs

LIBRARY = (
    "def helper(x): return x + {n}\ndef wrap(g):\n    def inner(x): return g(x)\n    return inner\n"
)


def install(folder: Path, n: int, version: str = "1.0", *, editable: bool = False) -> Path:
    """A folder like site-packages with the distribution `gadget` in it."""
    site = folder / f"site-{n}-{version}"
    code = folder / f"checkout-{n}" if editable else site
    (code / "gadget").mkdir(parents=True)
    (code / "gadget" / "__init__.py").write_text(LIBRARY.format(n=n))
    info = site / f"gadget-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: gadget\nVersion: {version}\n")
    record = "" if editable else "gadget/__init__.py,,\n"
    (info / "RECORD").write_text(record + f"gadget-{version}.dist-info/METADATA,,\n")
    return code


def digest_with(
    programs: Programs, monkeypatch: pytest.MonkeyPatch, place: Path, policy: whorl.Fingerprinter
) -> str:
    with monkeypatch.context() as context:
        context.syspath_prepend(str(place))
        for name in [name for name in sys.modules if name.split(".")[0] == "gadget"]:
            del sys.modules[name]
        f = programs.get("import gadget\ndef f(x): return gadget.helper(x)\n")
        return policy(f)


DEFAULT = whorl.Fingerprinter()


def test_installed_code_counts_by_version_and_not_by_content(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, edited = install(tmp_path, 1), install(tmp_path, 2)
    newer = install(tmp_path, 1, "1.1")
    digests = [digest_with(programs, monkeypatch, place, DEFAULT) for place in (one, edited, newer)]
    assert digests[0] == digests[1] != digests[2]


def test_an_editable_install_counts_by_content(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [install(tmp_path, n, editable=True) for n in (1, 2)]
    first, second = (digest_with(programs, monkeypatch, place, DEFAULT) for place in places)
    assert first != second


def test_an_installed_package_can_be_declared_the_users_own(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = whorl.Fingerprinter(boundary=whorl.Boundary(user=frozenset({"gadget"})))
    places = [install(tmp_path, n) for n in (1, 2)]
    first, second = (digest_with(programs, monkeypatch, place, policy) for place in places)
    assert first != second


def test_a_package_of_the_users_own_can_be_declared_named(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = whorl.Fingerprinter(boundary=whorl.Boundary(named=frozenset({"gadget"})))
    places = [install(tmp_path, n, editable=True) for n in (1, 2)]
    first, second = (digest_with(programs, monkeypatch, place, policy) for place in places)
    assert first == second


def test_a_wrapper_of_an_installed_package_counts_the_function_of_the_user_in_it(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(install(tmp_path, 1)))
    monkeypatch.delitem(sys.modules, "gadget", raising=False)
    head = "import gadget\n@gadget.wrap\n"
    assert not programs.same(head + "def f(x): return 1\n", head + "def f(x): return 2\n")
    assert programs.same(head + "def f(x): return 1\n", head + "def f(x): return 1  # one\n")


def test_functions_of_libraries_have_digests_of_their_own() -> None:
    assert different(
        json.dumps, json.loads, np.linalg.norm, np.mean, np.sum, attrs.asdict, functools.reduce,
        Path.exists, Path.read_text, json.JSONEncoder, json.JSONEncoder.encode,
    )  # fmt: skip
