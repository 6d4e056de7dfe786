"""What threads share, from the interpreter itself.

The same objects as `threading` has, whose import takes 1.5 ms. A process with one thread, which
finds its kernels in the cache, has no other use for it.
"""

from __future__ import annotations

from _thread import RLock, allocate_lock, get_ident
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threading import Lock, local
else:
    from _thread import _local as local

    Lock = allocate_lock

__all__ = ["Lock", "RLock", "get_ident", "local"]
