"""Expressions over small vectors that nobody wrote: compiled and as plain Python they agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.test_language import flat
from tests.properties.test_kernels import loaded
from tests.property_settings import PROGRAMS

pytestmark = pytest.mark.usefixtures("no_cache")

LEAVES = {
    "number": ("s", "2", "0.5", "x[1].y", "n"),
    "vector": ("x[0]", "x[1]", "v", "whorl.vec(s, 2.0, n)", "whorl.vec(*x[2])", "FIXED"),
    "matrix": ("m", "a[0]", "whorl.mat(a[1])", "whorl.mat(x[0], v, (1, 2, 3))"),
}
FORMS = {
    "number": (
        "({vector}).norm()", "whorl.dot({vector}, {vector})", "({matrix}).determinant()",
        "whorl.vec({number}, {number}).max()", "({vector}).z", "({number} + {number})",
        "whorl.mat({matrix}).trace()", "({vector}).norm_sqr()", "({number} * {number})",
    ),
    "vector": (
        "({vector} + {vector})", "({vector} * {vector})", "({vector} - {number})",
        "({number} * {vector})", "({matrix} @ {vector})", "({vector}).cross({vector})",
        "({vector}).zxy", "whorl.vec({number}, {number}, {number})", "(-{vector})", "abs({vector})",
        "np.minimum({vector}, {vector})", "({vector} / ({number} ** 2 + 1))",
        "whorl.mat({matrix})[1]",
        "whorl.mat({matrix}).T[0]", "whorl.cross({vector}, {vector})",
    ),
    "matrix": (
        "({matrix} @ {matrix})", "({matrix} + {matrix})", "({matrix} * {number})",
        "({vector}).outer({vector})", "({matrix}).T", "({matrix} * {vector})",
        "whorl.mat({vector}, {vector}, {vector})", "({matrix} - whorl.mat(np.eye(3)))",
    ),
}  # fmt: skip


@st.composite
def expressions(draw: st.DrawFn, kind: str, depth: int) -> str:
    if depth == 0:
        return draw(st.sampled_from(LEAVES[kind]))
    form = draw(st.sampled_from(FORMS[kind]))
    for part in ("number", "vector", "matrix"):
        while f"{{{part}}}" in form:
            form = form.replace(f"{{{part}}}", draw(expressions(part, depth - 1)), 1)
    return form


@st.composite
def programs(draw: st.DrawFn) -> str:
    lines = [
        "import numpy as np", "import whorl", "FIXED = whorl.vec(0.5, -1.0, 2.0)", "",
        "@whorl.kernel", "def program(x, a, s, n):", "    v = whorl.vec(x[1]) * s",
        "    m = whorl.mat(a[1]) + n",
        "    for k in whorl.prange(len(x)):",
        f"        x[k] += {draw(expressions('vector', 0))} * s",
        "    for k in range(2):",
        f"        v = whorl.vec({draw(expressions('vector', 2))}) * 1.0",
        f"        m += {draw(expressions('matrix', 1))}",
        f"        v.{draw(st.sampled_from('xyz'))} = {draw(expressions('number', 1))}",
        f"        x[k].{draw(st.sampled_from('xyz'))} -= {draw(expressions('number', 1))}",
        f"        a[k] = ({draw(expressions('matrix', 1))}) * 0.1",
        f"    return v, m, {draw(expressions('number', 2))}, {draw(expressions('vector', 2))}",
    ]  # fmt: skip
    return "\n".join(lines)


@settings(PROGRAMS, max_examples=12)
@given(source=programs())
def test_compiled_and_plain_vectors_agree(
    tmp_path_factory: pytest.TempPathFactory, source: str
) -> None:
    kernel = loaded(source, tmp_path_factory.mktemp("vectors")).program
    random = np.random.default_rng(5)
    x, a = random.normal(size=(4, 3)), random.normal(size=(2, 3, 3))
    ours, theirs = (x.copy(), a.copy()), (x.copy(), a.copy())
    expected = kernel.interpret(*theirs, 0.75, 2)
    found = kernel(*ours, 0.75, 2)
    for one, other in zip((*flat(found), *ours), (*flat(expected), *theirs), strict=True):
        assert type(one) is type(other), source
        scale = np.abs(other).max()
        if np.isfinite(scale):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * scale, err_msg=source)
