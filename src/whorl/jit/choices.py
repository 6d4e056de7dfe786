"""The choices of a kernel: options, what to do about drift, where to cache."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from whorl.fast_dataclasses import dataclass
from whorl.lazy import importing
from whorl.signals import pass_on
from whorl.store import Cache, Store
from whorl.store.default import as_cache

__all__ = ["AnyStore", "CacheMode", "Choices", "OnDrift", "check_choices", "copied_options"]

CacheMode = Literal["disk", "process", "call"]
OnDrift = Literal["recompile", "raise", "ignore"]
AnyStore = Cache | Store | str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Choices:
    """What the decorator of a kernel was called with."""

    options: Mapping[str, Any]
    on_drift: OnDrift = "recompile"
    cache: CacheMode = "disk"
    strict: bool = False


def check_choices(on_drift: object, cache: object, store: AnyStore | None) -> Cache | None:
    """Raise for choices that do not exist; the cache that `store` stands for."""
    for name, value, choice in (
        ("on_drift", on_drift, ("recompile", "raise", "ignore")),
        ("cache", cache, ("disk", "process", "call")),
    ):
        if value not in choice:
            raise ValueError(f"{name} is one of {', '.join(choice)}, not {value!r}")
    if store == "process":
        raise TypeError("store= is a directory, a cache or a store; write cache='process'")
    return None if store is None else as_cache(store)


def copied_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as they are now, whatever becomes of the objects.

    >>> sizes = [4]
    >>> copies = copied_options({"sizes": sizes})
    >>> sizes.append(8)
    >>> copies
    {'sizes': [4]}
    """
    with importing:
        from copy import deepcopy  # which a warm process has no need of

    copies = {}
    for name, value in options.items():
        try:
            copies[name] = deepcopy(value)
        except Exception as error:
            pass_on(error)
            raise TypeError(f"option {name!r} cannot be copied: {error}") from error
    return copies
