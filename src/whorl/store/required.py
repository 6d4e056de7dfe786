"""A miss in, an error out where only what is kept may be used.

Whoever is about to make something that was not found asks here first: `whorl.jit`, kernels and
cached functions alike.
"""

from __future__ import annotations

from collections.abc import Callable

from whorl.errors import RequiredHit
from whorl.settings import current

__all__ = ["is_hit_required", "require_hit"]


def is_hit_required() -> bool:
    """Whether nothing may be made: WHORL_REQUIRE_HIT, or `whorl.configure(require_hit=True)`.

    >>> is_hit_required()
    False
    """
    return current().require_hit.value


def require_hit(name: str, why: Callable[[], object]) -> None:
    """Raise `RequiredHit` if nothing may be made; `why` is asked for the explanation then.

    >>> require_hit("solver.step", lambda: "first compile")
    """
    if is_hit_required():
        raise RequiredHit(name, str(why()))
