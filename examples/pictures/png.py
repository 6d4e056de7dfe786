"""Pictures from arrays of numbers, as PNG files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from examples.waves import write_png

__all__ = ["saved_as_told"]


def saved_as_told(pixels: Any, default: str) -> None:
    """Write rows of colours, each three numbers from 0 to 1, into the file that the command line
    names."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else default)
    write_png(path, np.rint(np.clip(np.nan_to_num(pixels), 0.0, 1.0) * 255).astype(np.uint8))
    print(f"{path}: {pixels.shape[1]} x {pixels.shape[0]} pixels")
