"""A program of Triton kernels in four files, compiled for a device that is not there."""

from __future__ import annotations

from pathlib import Path

from tests.adapters.running import environment

FILES: dict[str, str] = {
    "constants.py": """\
import enum

import triton.language as tl

SCALE = 2
FACTOR = 3.0
UNREAD = 1
OFFSET = tl.constexpr(5)
TABLE = {"wide": 4, "narrow": 1}


class Mode(enum.IntEnum):
    SLOW = 6
""",
    "helpers.py": """\
import triton
import triton.language as tl

from constants import FACTOR, TABLE, Mode

constexpr_function = getattr(triton, "constexpr_function", None) or tl.core.constexpr_function


@triton.jit
def scaled(x, factor: tl.constexpr = FACTOR):
    return x * factor


@triton.jit  # may stand alone
def beginning(number, BLOCK: tl.constexpr):
    return number * BLOCK


@triton.jit
def shifted(x):
    return x + 11.0


class Config:
    WIDTH = 7

    def doubled(self):
        return self.WIDTH * 2


@constexpr_function
def width():
    return Config().doubled()


@constexpr_function
def looked_up():
    return TABLE["wide"] + Mode.SLOW.value
""",
    "kernels.py": """\
import triton
import triton.language as tl

import constants
from constants import OFFSET
from helpers import beginning, looked_up, scaled, shifted, width


def made(power):
    power = tl.constexpr(power)

    @triton.jit
    def inner(x):
        return x - power

    return inner


lowered = made(13)


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr, FN: tl.constexpr):
    i = beginning(tl.program_id(0), BLOCK) + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    v = scaled(v) * constants.SCALE + width()
    v = shifted(v) + looked_up() + OFFSET
    v = FN(v)
    tl.store(y + i, v, mask=i < n)
""",
    "run.py": """\
import re
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import kernels

BLOCK = 128
KIND = "*fp32"
ARCH = 80
WARPS = 4


def numbers(compiled):
    constants = re.findall(r"arith.constant dense<([0-9.e+-]+)>", compiled.asm["ttir"])
    return sorted({float(n) for n in constants})


found = []
triton.knobs.compilation.listener = lambda **told: found.append(told["cache_hit"])
source = ASTSource(
    kernels.kernel,
    {"x": KIND, "y": KIND, "n": "i32", "BLOCK": "constexpr", "FN": "constexpr"},
    {"BLOCK": BLOCK, "FN": kernels.lowered},
)
compiled = triton.compile(source, GPUTarget("cuda", ARCH, 32), {"num_warps": WARPS})
print("found" if all(found) else "compiled", *numbers(compiled))
assert compiled.kernel, "there is machine code"
""",
}


def triton_environment(cache: Path, **more: str) -> dict[str, str]:
    """Variables with which Triton uses whorl's cache, in this directory."""
    variables = {
        "TRITON_CACHE_MANAGER": "whorl.adapters.triton:Manager",
        "TRITON_CACHE_DIR": str(cache / "triton"),
        "TRITON_DEFAULT_FP_FUSION": "1",
    }
    return environment(cache, **{**variables, **more})
