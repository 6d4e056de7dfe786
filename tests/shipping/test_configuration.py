"""`[tool.whorl]` says what a wheel ships; what makes no sense in it is an error that says so."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.shipping.project import PYPROJECT, written_project
from whorl.shipping.build_process import build_in_process, wheel_tag
from whorl.shipping.bundle_report import report_on
from whorl.shipping.configuration import BadConfiguration, ShippedKernels
from whorl.store.bundle_store import BundleStore

KERNELS = {"a:b": ["i64"]}


def test_a_table_is_read(tmp_path: Path) -> None:
    shipped = ShippedKernels.of_project(written_project(tmp_path))
    assert shipped is not None
    assert (shipped.package, shipped.targets) == ("tiny", ("x86-64",))
    assert shipped.kernels == (("tiny.loops:total", "f64[::1], i64"),)
    assert shipped.file == "tiny/kernels.whorl"
    assert shipped.source(tmp_path) == tmp_path


def test_a_project_without_the_table_ships_nothing(tmp_path: Path) -> None:
    assert ShippedKernels.of_project(tmp_path) is None
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert ShippedKernels.of_project(tmp_path) is None


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "package is missing"),
        ({"package": "p"}, "no script; there is nothing to ship"),
        ({"package": "p", "script": 3}, "script is 3"),
        ({"package": "p", "kernels": KERNELS, "target": []}, "target is not known; known are"),
        ({"package": "p", "kernels": KERNELS, "targets": ["x86-64-v9"]}, "x86-64-v9"),
        ({"package": "p", "kernels": KERNELS, "targets": 3}, "write a list of texts"),
        ({"package": "p", "kernels": ["a:b"]}, "kernels is a table"),
        ({"package": "p", "kernels": {"a:b": [3]}}, "a:b is "),
        ({"package": "p", "kernels": KERNELS, "path": 3}, "write a directory"),
    ],
)
def test_a_table_that_makes_no_sense_is_said(table: dict[str, Any], message: str) -> None:
    with pytest.raises(BadConfiguration, match=message):
        ShippedKernels.of(table)


def test_a_bundle_that_nothing_announces_is_an_error_with_the_missing_lines(tmp_path: Path) -> None:
    written_project(tmp_path, PYPROJECT.replace('tiny = "tiny"', 'other = "else"'))
    with pytest.raises(BadConfiguration) as raised:
        ShippedKernels.of_project(tmp_path)
    lines = str(raised.value).partition("add\n")[2]
    text = PYPROJECT.replace('[project.entry-points."whorl.bundles"]\ntiny = "tiny"', lines)
    written_project(tmp_path, text)
    assert ShippedKernels.of_project(tmp_path) is not None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tiny.loops:total", "tiny.loops:sum", "there is no sum in tiny.loops"),
        ("tiny.loops:total", "tiny.loops:weight", "is no kernel"),
        ("tiny.loops:total", "tiny.gone:total", "cannot be imported"),
        ("f64[::1], i64", "f64[::2], i64", "a dimension is written"),
        ("f64[::1], i64", "f64[::1]", "missing"),
        ("f64[::1], i64", "f64[::1], f64", "total"),
    ],
)
def test_a_kernel_that_cannot_be_shipped_stops_the_build(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    written_project(tmp_path, PYPROJECT.replace(old, new))
    with pytest.raises(RuntimeError, match=message) as raised:
        build_in_process(tmp_path, tmp_path / "out.whorl")
    assert "Traceback" not in str(raised.value)
    assert not (tmp_path / "out.whorl").exists()


def test_a_report_says_what_fits_and_why_the_rest_does_not(tmp_path: Path) -> None:
    more = PYPROJECT.replace('"x86-64"', '"x86-64", "x86-64-v4"')
    written_project(tmp_path, more)
    build_in_process(tmp_path, tmp_path / "out.whorl")
    report = report_on(BundleStore(str(tmp_path / "out.whorl")))
    assert report.total == 2
    assert report.fitting + sum(report.reasons.values()) == 2
    assert str(report).startswith(f"{report.fitting} of 2 artifacts fit here")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have tags of their own")
def test_the_tag_of_a_wheel_names_the_machines_of_its_targets() -> None:
    python = "cp{}{}".format(*sys.version_info[:2])
    x86, arm = (
        f"manylinux_2_17_{machine}.manylinux2014_{machine}" for machine in ("x86_64", "aarch64")
    )
    assert wheel_tag(["x86-64-v2", "x86-64-v3"]) == f"{python}-none-{x86}"
    assert wheel_tag(["aarch64"]) == f"{python}-none-{arm}"
    assert wheel_tag(["x86-64-v2", "aarch64", "x86-64-v3"]) == f"{python}-none-{x86}.{arm}"
