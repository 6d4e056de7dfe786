"""Programs over whole arrays that nobody wrote leave what NumPy leaves for the same source."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import whorl
from tests.kernels.array_agreement import assert_same
from tests.properties.array_programs import ArrayProgram, array_program
from tests.properties.test_kernels import Drawn, loaded
from tests.property_settings import PROGRAMS

pytestmark = pytest.mark.usefixtures("no_cache")


@st.composite
def programs(draw: st.DrawFn) -> ArrayProgram:
    return array_program(Drawn(draw))


@PROGRAMS
@given(made=programs())
def test_statements_over_arrays_leave_what_numpy_leaves(
    tmp_path_factory: pytest.TempPathFactory, made: ArrayProgram
) -> None:
    function = loaded(made.source, tmp_path_factory.mktemp("arrays")).program
    ours, theirs = made.arguments(), made.arguments()
    error: ValueError | None = None
    expected = None
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expected = function(*theirs)
    except ValueError as caught:
        error = caught
    except (TypeError, IndexError, OverflowError, ZeroDivisionError):
        reject()
    try:
        found = whorl.kernel(function)(*ours)
    except ValueError:
        assert error is not None, made.source
    except whorl.KernelError as refusal:
        if "in place would put" in str(refusal) or "does not fit into" in str(refusal):
            reject()  # in a branch that plain Python did not take
        raise
    else:
        assert error is None, f"{error}\n{made.source}"
        assert_same(found, expected)
    assert_same(ours, theirs)
