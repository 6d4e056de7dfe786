# mypy: disable-error-code="no-untyped-def"
# Kernels take their types from the arguments.
"""Kernels that pytest must not rewrite: it replaces every `assert` in a test module."""

from __future__ import annotations

import whorl


@whorl.kernel(debug=True)
def checked(x, i, d):
    assert d != 7, "not seven"
    return x[i] // d
