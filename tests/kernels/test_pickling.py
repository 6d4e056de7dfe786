"""Kernels are copied and pickled by name, with their options."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from whorl.store import Cache, DirectoryStore


@whorl.kernel
def picked(x, i):
    return x[i]


class Held:
    @whorl.kernel
    def scaled(self, x):
        return x * 2.0


def test_a_kernel_with_other_options_is_pickled_with_them() -> None:
    checked = again(picked.with_options(debug=True, nogil=True))
    assert (checked.compiler.debug, checked.compiler.nogil) == (True, True)
    with pytest.raises(IndexError):
        checked(np.zeros(3), 9)
    assert again(picked) is picked
    assert again(Held.scaled.with_options(debug=True))(None, 2.0) == 4.0


def again(kernel: Any) -> Any:
    return pickle.loads(pickle.dumps(kernel))


def test_copies_of_a_kernel_are_the_kernel(tmp_path: Path) -> None:
    own = picked.with_options(store=Cache(DirectoryStore(tmp_path)))
    for kernel in (picked, picked.with_options(debug=True), own):
        assert copy.copy(kernel) is kernel
        assert copy.deepcopy({"step": kernel})["step"] is kernel


def test_what_is_more_than_options_apart_cannot_be_pickled(tmp_path: Path) -> None:
    own = picked.with_options(store=Cache(DirectoryStore(tmp_path)))
    other = whorl.jit(Other())(picked.function)
    for kernel in (own, other):
        with pytest.raises(pickle.PicklingError, match="picked"):
            pickle.dumps(kernel)


class Other:
    name, version = "other", "1"

    def compile(self, program: whorl.Program, inputs: whorl.Inputs) -> whorl.Artifact:
        return whorl.Artifact({})

    def load(self, artifact: whorl.Artifact, device: str) -> Any:
        return lambda *values: "other"


def test_a_local_one_is_refused_by_its_name() -> None:
    @whorl.kernel
    def inner(x):
        return x

    with pytest.raises((AttributeError, pickle.PicklingError), match="inner"):
        pickle.dumps(inner.with_options(debug=True))
