"""Compiles an entry point of the systems dialect: lowering, passes, LLVM's text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import ir
from .emit.routines import emit_routines
from .lowering.systems import lower_entry
from .passes import run_passes

__all__ = ["llvm_text", "program_of"]


def program_of(function: Callable[..., Any]) -> ir.Function:
    """The typed program of an entry point and of all that it calls."""
    program = lower_entry(function, function.__name__)
    run_passes(program)
    return program


def llvm_text(function: Callable[..., Any]) -> str:
    """The LLVM module of an entry point, whose symbol is the function's name."""
    return emit_routines(program_of(function))
