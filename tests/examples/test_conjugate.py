"""The plate is solved in one launch that stops for larger buffers, and by the interpreter alike."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import whorl
import whorl.testing
from examples.conjugate import Plate, Stage


@pytest.fixture(autouse=True)
def settings_as_before() -> Iterator[None]:
    before = whorl.configure()
    with whorl.testing.fresh_cache():
        yield
    whorl.settings.restore(before)


def test_buffers_grow_while_the_plate_is_solved() -> None:
    plate = Plate(60)
    stops = plate.run()
    assert stops == [Stage.ASSEMBLE] * stops.count(Stage.ASSEMBLE) + [Stage.RECORD] * stops.count(
        Stage.RECORD
    )
    assert set(stops) == set(Stage)
    assert plate.imbalance() < 2 * plate.tolerance
    assert plate.history.size >= plate.steps > plate.history.size // 2
    assert (np.diff(np.log(plate.history[: plate.steps : 20])) < 0).all()
    assert len(Plate.solve.specializations()) == 1


def test_larger_buffers_from_the_begin_give_the_same_bits() -> None:
    plate, roomy = Plate(40), Plate(40)
    roomy.columns, roomy.values = np.zeros(10_000, np.int64), np.zeros(10_000)
    roomy.history = np.zeros(10_000)
    assert roomy.run() == []
    plate.run()
    assert plate.temperature.tobytes() == roomy.temperature.tobytes()
    assert plate.steps == roomy.steps


def test_the_interpreter_stops_and_goes_on_as_well() -> None:
    compiled, plain = Plate(12), Plate(12)
    stops = compiled.run()
    whorl.configure(interpret=True)
    assert plain.run() == stops
    np.testing.assert_allclose(plain.temperature, compiled.temperature, rtol=1e-9)
