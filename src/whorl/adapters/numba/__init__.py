"""Functions of Numba with `cache=True`: kept in whorl's cache, under a key of all that they read.

NUMBA_CACHE_LOCATOR_CLASSES=whorl.adapters.numba.Locator     for programs that are not edited
whorl.adapters.numba.install()                               before the first function
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .auditor import Auditor
    from .installation import install
    from .locator import Locator
else:
    __getattr__, __dir__ = attach(
        __name__, {"auditor": "Auditor", "installation": "install", "locator": "Locator"}
    )

__all__ = ["Auditor", "Locator", "install"]
