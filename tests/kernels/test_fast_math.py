"""The option `fastmath`: what LLVM may do with floats, and only if it is told so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl


def total(x: Any, y: float) -> Any:
    s = 0.0
    for i in range(x.size):
        s += x[i] / y
    return s, -s, np.isnan(x[0]), min(s, y), np.exp(s) < y


def fast(flags: Any) -> Any:
    kernel: Any = whorl.kernel(fastmath=flags)(total)
    kernel(np.ones(5), 2.0)
    return kernel


def test_the_flags_are_those_of_the_code_and_shown() -> None:
    plain = fast(False)
    assert "fastmath" not in plain.inspect()
    assert "fadd double" in plain.inspect("llvm")
    assert "fadd fast double" in fast(True).inspect("llvm")
    some = fast({"reassoc", "nsz"})
    assert "option fastmath: nsz, reassoc" in some.inspect()
    assert "fadd nsz reassoc double" in some.inspect("llvm")
    assert "vector.reduce.fadd" in some.inspect("optimised")
    assert "vector.reduce.fadd" not in plain.inspect("optimised")


def test_results_are_near_those_without() -> None:
    x = np.random.default_rng(0).random(10_000)
    assert fast(True)(x, 3.0)[:2] == pytest.approx(whorl.kernel(total)(x, 3.0)[:2])
    x[0] = np.nan
    assert fast({"reassoc"})(x, 3.0)[2] is True


def test_each_set_of_flags_has_a_key_of_its_own(fresh_cache: object) -> None:
    for flags in (False, True, {"nnan"}, {"nnan", "ninf"}):
        assert fast(flags).stats()["compiled"] == 1
    for same in ((), {"fast"}, ["nnan"], ("ninf", "nnan", "ninf")):
        assert fast(same).stats()["compiled"] == 0


def test_options_can_be_exchanged() -> None:
    kernel = whorl.kernel(total)
    other = kernel.with_options(fastmath={"contract"}, parallel=True)
    assert other.compiler.fastmath == ("contract",)
    assert other.compiler.parallel is True
    assert other.with_options(debug=True).compiler.fastmath == ("contract",)
    assert kernel.compiler.fastmath == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fastmath": "reassoc"}, r"fastmath is True, False, or a set of flags.* not 'reassoc'"),
        ({"fastmath": 3}, "fastmath is True, False, or a set of flags"),
        ({"fastmath": {3}}, "3 is no flag"),
        ({"fastmath": {"reasoc"}}, "has no flag 'reasoc'; there are afn, arcp, contract, fast"),
        ({"parallel": 2}, "parallel is True or False, not 2"),
        ({"parallel": None}, "parallel is True or False, not None"),
    ],
)
def test_a_bad_value_is_refused_at_once(options: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        whorl.kernel(**options)
    with pytest.raises((TypeError, ValueError), match=words):
        whorl.kernel(total).with_options(**options)
