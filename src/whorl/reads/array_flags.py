"""NumPy's flags of an array as numbers: which of them tell specializations apart."""

from __future__ import annotations

from typing import Final

__all__ = ["ALIGNED", "C_ORDER", "F_ORDER", "LAYOUT_FLAGS", "OWNS_DATA", "WRITEABLE", "flags_of"]

C_ORDER, F_ORDER, OWNS_DATA, ALIGNED, WRITEABLE = 0x001, 0x002, 0x004, 0x100, 0x400
LAYOUT_FLAGS: Final = C_ORDER | F_ORDER | ALIGNED | WRITEABLE

_ORDERS: Final = {
    "C": (C_ORDER, C_ORDER),
    "F": (C_ORDER | F_ORDER, F_ORDER),
    "strided": (C_ORDER | F_ORDER, 0),
}


def flags_of(layout: str, *, writeable: bool) -> tuple[int, int]:
    """A mask, and the bits that aligned arrays of a layout have there.

    >>> flags_of("C", writeable=False)
    (1281, 257)
    """
    mask, bits = _ORDERS[layout]
    return mask | ALIGNED | WRITEABLE, bits | ALIGNED | (WRITEABLE if writeable else 0)
