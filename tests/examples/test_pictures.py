"""The pictures: what is simulated keeps what it has to keep, and plain Python draws the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from examples.pictures import cloth, flow, fluid, path_tracer, png


@contextmanager
def as_plain_python() -> Iterator[None]:
    before = whorl.configure()
    whorl.configure(interpret=True)
    try:
        yield
    finally:
        whorl.settings.restore(before)


def test_a_fluid_keeps_its_mass_and_stays_in_the_box() -> None:
    box = fluid.Fluid(nodes=32, per_block=300)
    for _ in range(20):
        box.run(20)
        np.testing.assert_allclose(box.mass.sum(), box.volume * len(box.x), rtol=1e-12)
    assert np.isfinite(box.x).all()
    assert (box.x > 0).all()
    assert (box.x < 1).all()
    assert box.x[:, 1].mean() < 0.44  # it has fallen
    picture = box.picture(64)
    assert picture.shape == (64, 64, 3)
    assert picture.std() > 0.05


def test_a_fluid_is_the_same_in_plain_python() -> None:
    one, other = (fluid.Fluid(nodes=24, per_block=4) for _ in range(2))
    one.run(3)
    with as_plain_python():
        other.run(3)
    for name in ("x", "v", "affine", "deformation", "packed", "momentum"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12)


def test_a_cloth_hangs_on_the_ball_without_tearing() -> None:
    sheet = cloth.Cloth(24)
    sheet.run(700)
    places = sheet.nodes["place"]
    assert (np.linalg.norm(places, axis=-1) > cloth.RADIUS).all()
    assert places[..., 1].min() < 0  # its corners have fallen
    lengths = np.linalg.norm(np.diff(places, axis=0), axis=-1) / sheet.width
    assert 0.7 < lengths.min() <= lengths.max() < 1.5
    assert sheet.picture(64).std() > 0.05


def test_a_cloth_is_the_same_in_plain_python() -> None:
    one, other = (cloth.Cloth(5) for _ in range(2))
    for each in (one, other):
        each.nodes["velocity"][2, 2] = (0.1, -3.0, 0.2)
    one.run(4)
    with as_plain_python():
        other.run(4)
    for name in cloth.NODE.names or ():
        np.testing.assert_allclose(one.nodes[name], other.nodes[name], rtol=1e-12, atol=1e-15)


def test_a_path_tracer_draws_the_same_on_any_number_of_threads_and_in_plain_python() -> None:
    pictures: list[Any] = []
    for threads in (1, 3):
        before = whorl.configure()
        whorl.configure(threads=threads)
        pictures.append(path_tracer.picture(height=9, paths=2, bounces=4))
        whorl.settings.restore(before)
    with as_plain_python():
        pictures.append(path_tracer.picture(height=9, paths=2, bounces=4))
    assert pictures[0].tobytes() == pictures[1].tobytes()
    np.testing.assert_allclose(pictures[2], pictures[0], rtol=1e-9)
    bright = path_tracer.picture(height=30, paths=20, bounces=6)
    assert 0.3 < bright.mean() < 1.0
    left, right = bright[:, :6].mean(axis=(0, 1)), bright[:, -6:].mean(axis=(0, 1))
    assert left[0] > left[2]  # a red wall
    assert right[2] > right[0]  # a blue one


def test_a_stream_that_nothing_disturbs_keeps_its_speed() -> None:
    channel = flow.Stream(60, 24)
    channel.is_solid[:] = False
    channel.velocity[:] = (flow.SPEED, 0.0)
    channel.begin()
    channel.after[:] = channel.now
    channel.run(50)
    np.testing.assert_allclose(channel.velocity[..., 0], flow.SPEED, rtol=1e-9)
    np.testing.assert_allclose(channel.velocity[..., 1], 0.0, atol=1e-12)


def test_a_stream_goes_around_a_cylinder_as_in_plain_python() -> None:
    one, other = (flow.Stream(20, 12, 20.0) for _ in range(2))
    one.run(3)
    with as_plain_python():
        other.run(3)
    np.testing.assert_allclose(one.velocity, other.velocity, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(one.picture(), other.picture(), rtol=1e-9)
    assert one.is_solid.any()
    assert (one.velocity[one.is_solid] == 0).all()


def test_the_picture_is_written_where_the_command_line_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "dots.png"
    monkeypatch.setattr(sys, "argv", ["dots", str(file)])
    png.saved_as_told(np.array([[[0.0, 0.5, 1.0], [2.0, -1.0, np.nan]]]), "other.png")
    data = file.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert data[16:24] == b"\x00\x00\x00\x02\x00\x00\x00\x01"
    assert "2 x 1 pixels" in capsys.readouterr().out
