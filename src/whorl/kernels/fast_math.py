"""The option `fastmath`: what LLVM may assume of floats, by the names that LLVM has for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

__all__ = ["FLAGS", "FastMath", "flags_of"]

FLAGS: Final = {
    "nnan": "no number is NaN",
    "ninf": "no number is infinite",
    "nsz": "the sign of zero does not matter",
    "arcp": "a division may become a product with the reciprocal",
    "contract": "a product and a sum may become one operation",
    "afn": "functions may be approximated",
    "reassoc": "sums and products may be reordered",
    "fast": "all of these",
}
FastMath: TypeAlias = bool | Iterable[str]


def flags_of(fastmath: FastMath) -> tuple[str, ...]:
    """The flags that an option stands for, sorted: all, none, or those of a set.

    >>> flags_of(True), flags_of(False), flags_of({"reassoc", "nsz"})
    (('fast',), (), ('nsz', 'reassoc'))
    >>> flags_of({"reasoc"})
    Traceback (most recent call last):
    ...
    ValueError: fastmath has no flag 'reasoc'; there are afn, arcp, contract, fast, ninf, nnan, ...
    """
    if isinstance(fastmath, bool):
        return ("fast",) if fastmath else ()
    words = "True, False, or a set of flags such as {'reassoc', 'nsz'}"
    if isinstance(fastmath, str | bytes) or not isinstance(fastmath, Iterable):
        raise TypeError(f"fastmath is {words}, not {fastmath!r}")
    flags = tuple(fastmath)
    for flag in flags:
        if not isinstance(flag, str):
            raise TypeError(f"fastmath is {words}; {flag!r} is no flag")
        if flag not in FLAGS:
            raise ValueError(f"fastmath has no flag {flag!r}; there are {', '.join(sorted(FLAGS))}")
    if "fast" in flags or set(flags) == FLAGS.keys() - {"fast"}:
        return ("fast",)
    return tuple(sorted(set(flags)))
