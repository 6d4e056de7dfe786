"""What is advised in place of a function that kernels do not know gives what the function gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import whorl
from tests.properties.test_kernels import loaded
from whorl.kernels.lowering.alternatives import ALTERNATIVES, METHOD_ALTERNATIVES
from whorl.kernels.lowering.functions import FUNCTIONS

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

CALLS = {
    "numpy.array_equiv": ("np.array_equiv(x, x)", "np.array_equal(x, x)"),
    "numpy.fromfunction": (
        "np.fromfunction(lambda i, j: i + j, (3, 2))",
        "(np.arange(3)[:, None] + np.arange(2)) * 1.0",
    ),
    "numpy.piecewise": ("np.piecewise(x, [x > 0], [1.0, 2.0])", "np.where(x > 0, 1.0, 2.0)"),
}
METHODS = {
    "choose": ("np.array([0, 1, 0]).choose((m[0], m[1]))",
               "np.select([np.array([0, 1, 0]) == 0], [m[0]], m[1])"),
}  # fmt: skip


@pytest.mark.parametrize("name", [*CALLS, *METHODS])
def test_what_is_advised_gives_what_the_function_gives(name: str, tmp_path: Path) -> None:
    refused, advised = {**CALLS, **METHODS}[name]
    source = "import numpy as np\ndef {}(x, m):\n    return {}\n"
    text = source.format("refused", refused) + source.format("advised", advised)
    module = loaded(text, tmp_path)
    x, m = np.array([0.0, 1.5, -2.5, 0.0, 3.0, 1.0, 0.0]), np.arange(9.0).reshape(3, 3)
    with pytest.raises(whorl.KernelError, match=r"The language|is not supported|not known"):
        whorl.kernel(module.refused)(x, m)
    expected, result = module.refused(x, m), whorl.kernel(module.advised)(x, m)
    for one, other in zip(np.atleast_1d(result), np.atleast_1d(expected), strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_alternative_is_a_sentence_about_a_function_that_numpy_has() -> None:
    for name, text in ALTERNATIVES.items():
        assert text.endswith(".")
        assert name not in FUNCTIONS, "kernels know it by now"
        place = np
        for part in name.split(".")[1:]:
            place = getattr(place, part)
    for name, text in METHOD_ALTERNATIVES.items():
        assert text.endswith(".")
        assert hasattr(np.ndarray, name) or name == "itemset"
