"""Threads: as many as there are said to be, and one where there is no runtime for more."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import whorl
from tests.kernels.test_language import parallel
from whorl.kernels import runtime


def test_without_a_runtime_loops_are_serial_and_that_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = whorl.configure()
    runtime.find_runtime.cache_clear()
    monkeypatch.setattr(runtime, "_NAMES", {})
    x = np.random.default_rng(0).random(1000)
    try:
        with caplog.at_level(logging.WARNING, "whorl.kernels"):
            whorl.configure(threads=4)
            for _ in range(6):
                out, bins = np.zeros_like(x), np.zeros(4, np.int64)
                total, low = parallel(x, out, bins)
        assert total == pytest.approx(2 * x.sum())
        assert low == 2 * x.min()
        assert bins.sum() == 1000
        said = [record for record in caplog.records if "OpenMP" in record.getMessage()]
        assert len(said) == 1
    finally:
        runtime.find_runtime.cache_clear()
        whorl.settings.restore(before)


@pytest.mark.parametrize("threads", [0, -1, "many", 1.5, 10**9])
def test_a_number_of_threads_that_is_none_is_refused(threads: object) -> None:
    with pytest.raises(whorl.BadSetting, match="threads"):
        whorl.configure(threads=threads)  # type: ignore[arg-type] # on purpose
