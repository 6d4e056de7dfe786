"""Stands in for the files of Numba's cache: what a function was compiled to, in whorl's cache."""

from __future__ import annotations

import pickle
import time
from typing import Any, Final

from numba.core.serialize import dumps

from whorl.adapters.host_library import say_not_cached, say_once
from whorl.errors import RequiredHit
from whorl.fast_dataclasses import dataclass
from whorl.signals import pass_on
from whorl.store import default_cache
from whorl.store.cache import cache_state
from whorl.store.journal import is_hit_required

from .compile_order import CompileOrder
from .overload_key import KeyMaker, OverloadKey, toolchain

_PAYLOAD: Final = "overload"


@dataclass(frozen=True, slots=True, eq=False)
class _Begun:
    """A compile that has begun, because nothing was found."""

    key: OverloadKey
    start: float


class StoredOverloads:
    """Has the methods of `numba.core.caching.IndexDataCacheFile`.

    Nothing is looked up before the first compile, when all that the function reads is there. An
    error in here is said once, and is none of the host's program; a missing entry is one if
    WHORL_REQUIRE_HIT says so.
    """

    def __init__(self, owner: Any, keys: KeyMaker, order: CompileOrder) -> None:
        self._owner = owner
        self._keys = keys
        self._order = order
        self._begun: dict[object, _Begun] = {}
        self._is_flushed = False

    def load(self, key: Any) -> Any:
        """What Numba has reduced a compiled function to; None if it has to be compiled."""
        signature, machine = key[:2]
        self._begun.pop(signature, None)
        if default_cache().store.is_off:
            return None
        reason = "it is not stored"
        try:
            begun = _Begun(self._keys.key(signature, machine), time.perf_counter())
            obstacle = self._order.obstacle(self._owner, begun.key.described)
            if obstacle:
                reason = obstacle
                self._say(obstacle)
            else:
                found = self._find(begun.key)
                if found is not None:
                    self._order.note_loaded(self._owner, begun.key.described[0])
                    return found
                self._begun[signature] = begun
        except Exception as error:
            pass_on(error)
            say_not_cached(self._keys.name, error)
            reason = str(error)
        if is_hit_required():
            raise RequiredHit(self._keys.name, reason, cache_state(default_cache()))
        return None

    def _say(self, obstacle: str) -> None:
        say_once(f"{self._keys.name} is not cached: {obstacle}")

    def _find(self, key: OverloadKey) -> Any:
        if self._is_flushed:
            return None
        cache = default_cache()
        entry = cache.find(key.digest, sealed=True)
        found = None if entry is None else pickle.loads(entry.payloads[_PAYLOAD])
        cache.statistics.flush()
        return found

    def save(self, key: Any, data: Any) -> None:
        """Keep it, unless something that it was made of has changed meanwhile."""
        begun = self._begun.pop(key[0], None)
        if begun is None:
            return
        try:
            obstacle = self._order.obstacle_after(self._owner, begun.key.described)
            if obstacle:
                self._say(obstacle)
            else:
                self._keep(begun, data)
        except Exception as error:
            pass_on(error)
            say_not_cached(self._keys.name, error)

    def _keep(self, begun: _Begun, data: Any) -> None:
        cache = default_cache()
        cache.keep(
            begun.key.digest,
            {_PAYLOAD: dumps(data)},
            name=self._keys.name,
            parts=begun.key.parts(),
            seconds=time.perf_counter() - begun.start,
            toolchain=toolchain(),
            sealed=True,
        )
        cache.statistics.flush()

    def flush(self) -> None:
        """Compile this function anew in this process: `Dispatcher.recompile` asks for it."""
        self._is_flushed = True
