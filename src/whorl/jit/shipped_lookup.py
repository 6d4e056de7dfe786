"""Finds the specialization of a call in the bundles that installed distributions ship.

A bundle is asked when the cache knows nothing of a program, and before anything is compiled. It is
asked with the toolchain that it was built with, as far as the compiler takes what that made, and
for each target whose code can be run here, the best one first. So a bundle needs no LLVM where it
is used, and survives another version of it.

A bundle that has no hint of the function's file was built from other sources: it costs one look
into a dict.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whorl.reads.replay import first_facts
from whorl.store import Cache, Found
from whorl.store.cache import StoredSources
from whorl.store.installed_bundles import installed_bundles

from .compiler import Target, shipped_targets
from .kernel_lookup import KernelLookup, LookupRequest
from .specialization import Specialization


def find_shipped(
    lookup: KernelLookup, values: tuple[Any, ...], target: Target, cache: Cache
) -> Specialization | None:
    """The specialization for a call in an installed bundle; None if there is none.

    Calls recall it as one for the target that they ask for, whichever it was built for.
    """
    for request in _requests(lookup, values, target, cache):
        for key, name, shape, facts in lookup.candidates(request):
            specialization = lookup.from_store(key, request, facts.durable, count=True)
            if specialization is not None:
                if request.target is not target:
                    facts = first_facts(shape, lookup.world(values, target))
                return lookup.table.remember(
                    target.architecture, name, shape, facts, specialization
                )
    return None


def is_shipped(lookup: KernelLookup, values: tuple[Any, ...], target: Target, cache: Cache) -> bool:
    """Whether a bundle has what a call needs."""
    return lookup.uses_bundles(cache) and any(
        isinstance(request.cache.store.get(each.key, request.program.digest), Found)
        for request in _requests(lookup, values, target, cache)
        for each in lookup.candidates(request)
    )


def _requests(
    lookup: KernelLookup, values: tuple[Any, ...], target: Target, cache: Cache
) -> Iterator[LookupRequest]:
    """A call as requests to bundles: one for each toolchain and each target that fits."""
    for store in filter(None, (bundle.store for bundle in installed_bundles())):
        shipped = Cache(store, statistics=cache.statistics)
        with StoredSources(store) as sources:
            for toolchain in store.toolchains:
                for each in shipped_targets(lookup.compiler, target, toolchain):
                    start = lookup.shipped_start(toolchain, shipped, sources)
                    if start is not None:
                        world = lookup.world(values, each)
                        yield LookupRequest(world, each, start, shipped, sources)
