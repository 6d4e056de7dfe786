"""A store of its own for each test, and kernels that use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import whorl
from tests.jit.compilers import Look, Looking, Make
from whorl.jit.kernel import Kernel
from whorl.store import Cache, DirectoryStore


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(DirectoryStore(tmp_path / "store"))


@pytest.fixture
def make(store: Cache) -> Make:
    """Make a kernel of a compiler that looks in a certain way."""

    def make(look: Look, function: Any = None, **choices: Any) -> Kernel:
        extra = choices.pop("extra", {})

        def kernel(x: Any = None, y: Any = None) -> None: ...

        choices.setdefault("store", store)
        return whorl.jit(Looking(look, **extra), **choices)(function or kernel)

    return make
