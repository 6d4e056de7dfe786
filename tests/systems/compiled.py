"""Compiles functions of the systems dialect, for tests that compare them with their twins."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from whorl.kernels.systems_compiler import llvm_text
from whorl.launch import link, map_image
from whorl.launch.level import host_level
from whorl.launch.machine import machine_code


@cache
def native(function: Any) -> Callable[..., int]:
    """A function of words as machine code. What it leaves as the current error is raised."""
    mapped = map_image(link(machine_code(llvm_text(function), host_level(), effort=2)))
    words = [ctypes.c_uint64] * function.__code__.co_argcount
    made = ctypes.PYFUNCTYPE(ctypes.c_uint64, *words)(mapped.addresses[function.__name__])
    made.image = mapped  # type: ignore[attr-defined]  # so that it stays in memory
    return made
