"""Results by digest in this process: the very objects, for as long as the store lives.

Nothing is encoded, so anything can be kept: compiled functions, open handles, objects that refer to
each other. Every caller gets the same object. Keys may be `ProcessDigest`s.
"""

from __future__ import annotations

from typing import Any

from whorl.fingerprint.digest import Digest
from whorl.store import Cache, NullStore

__all__ = ["ProcessStore"]


class ProcessStore:
    """Live results, the `max_entries` that were used last.

    >>> import whorl
    >>> store = ProcessStore()
    >>> key = whorl.fingerprint(object(), by="identity")
    >>> store.put(key, "made")
    >>> store.get(key), len(store)
    (('made',), 1)
    """

    def __init__(self, max_entries: int = 4096) -> None:
        if max_entries < 1:
            raise ValueError(f"max_entries is 1 or more, not {max_entries!r}")
        self._max_entries = max_entries
        self._results: dict[Digest, Any] = {}
        self.flights = Cache(NullStore())  # one producer at a time for each key

    def __len__(self) -> int:
        return len(self._results)

    def __repr__(self) -> str:
        return f"<ProcessStore of {len(self)}>"

    def get(self, key: Digest) -> tuple[Any] | None:
        """The result of a key, in a tuple; None if there is none."""
        result = self._results.pop(key, self)
        if result is self:
            return None
        self._results[key] = result  # now the last to go
        return (result,)

    def put(self, key: Digest, result: Any) -> None:
        """Keep a result."""
        if not isinstance(key, Digest):
            raise TypeError(f"the key of a result is a Digest, not {type(key).__name__}")
        self._results.pop(key, None)
        while len(self._results) >= self._max_entries:
            self._results.pop(next(iter(self._results)), None)
        self._results[key] = result

    def remove(self, key: Digest) -> bool:
        """Forget a result; whether there was one."""
        return self._results.pop(key, self) is not self

    def clear(self) -> None:
        """Forget everything."""
        self._results.clear()
