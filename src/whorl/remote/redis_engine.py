"""A small client for Redis and what speaks its protocol (RESP 2): entries, listings, leases.

redis-py takes 70 to 150 ms to import, more than a hit saves. All that is needed here are a few
commands and four kinds of answers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from hashlib import sha1
from io import BufferedReader
from typing import Any, Final

from .address import Address
from .engine import BaseEngine, EngineTrouble, Reason, listing_end
from .wire import Wire, connect, troubles

__all__ = ["REASONS", "RELEASE", "RENEW", "SWAP", "TAKE", "RedisEngine", "milliseconds"]

_LINE: Final = 1 << 16
_DEEPEST: Final = 4
SWAP: Final = """local v = redis.call('GET', KEYS[1])
local h = v and redis.sha1hex(v) or ''
if h ~= ARGV[1] then return 0 end
if ARGV[3] == '0' then redis.call('SET', KEYS[1], ARGV[2])
else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1"""
TAKE: Final = """if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
return redis.call('GET', KEYS[1]) or ''"""
RENEW: Final = """if redis.call('GET', KEYS[1]) == ARGV[1] then
return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0"""
RELEASE: Final = """if redis.call('GET', KEYS[1]) == ARGV[1] then
return redis.call('DEL', KEYS[1]) end
return 0"""
REASONS: Final = {
    "NOAUTH": Reason.FORBIDDEN,
    "WRONGPASS": Reason.FORBIDDEN,
    "NOPERM": Reason.FORBIDDEN,
    "READONLY": Reason.FORBIDDEN,
    "OOM": Reason.FULL,
    "MISCONF": Reason.FULL,
    "LOADING": Reason.BUSY,
    "BUSY": Reason.BUSY,
}


class RedisEngine(BaseEngine):
    """Entries as values of a Redis database, under `whorl:` and the namespace."""

    can_lease = True
    can_list = True

    def __init__(self, address: Address) -> None:
        self._address = address
        self._prefix = f"whorl:{address.namespace}:"
        self._wire: Wire | None = None
        self._file: BufferedReader | None = None

    def get(self, name: str, most: int) -> bytes | None:
        """The bytes of a name."""
        answer = self._ask(["GET", self._prefix + name], most)
        if answer is not None and not isinstance(answer, bytes):
            raise EngineTrouble(Reason.NONSENSE)
        return answer

    def put(self, name: str, data: bytes, ttl: float | None) -> None:
        """Keep bytes under a name."""
        expiry = [] if ttl is None else ["PX", str(milliseconds(ttl))]
        if self._ask(["SET", self._prefix + name, data, *expiry]) != "OK":
            raise EngineTrouble(Reason.NONSENSE)

    def swap(self, name: str, old: bytes | None, new: bytes, ttl: float | None) -> bool:
        """Keep bytes if those of the name are still `old`."""
        known = "" if old is None else sha1(old, usedforsecurity=False).hexdigest()
        expiry = "0" if ttl is None else str(milliseconds(ttl))
        return bool(self._run(SWAP, name, known, new, expiry) == 1)

    def remove(self, name: str) -> bool:
        """Forget a name."""
        return bool(self._ask(["DEL", self._prefix + name]) == 1)

    def names(self, prefix: str = "") -> Iterator[str]:
        """All names of the namespace that begin so."""
        cursor, until = "0", listing_end(self._address, prefix)
        pattern = (self._prefix + prefix).replace("\\", "\\\\").replace("[", "\\[") + "*"
        while True:
            match self._ask(["SCAN", cursor, "MATCH", pattern, "COUNT", "5000"]):
                case [bytes() as following, [*found]]:
                    for name in found:
                        if isinstance(name, bytes):
                            yield name.decode("utf-8", "replace").removeprefix(self._prefix)
                    cursor = following.decode("ascii", "replace")
                case _:
                    raise EngineTrouble(Reason.NONSENSE)
            if cursor == "0" or time.monotonic() > until:
                return

    def take(self, name: str, token: str, seconds: float) -> str | None:
        """Take a lease; one that is not renewed ends by itself."""
        answer = self._run(TAKE, name, token, str(milliseconds(seconds)))
        if answer is not None and not isinstance(answer, bytes):
            raise EngineTrouble(Reason.NONSENSE)
        return None if answer is None else answer.decode("utf-8", "replace")

    def renew(self, name: str, token: str, seconds: float) -> bool:
        """Hold a lease for longer."""
        return bool(self._run(RENEW, name, token, str(milliseconds(seconds))) == 1)

    def release(self, name: str, token: str) -> None:
        """Give a lease back."""
        self._run(RELEASE, name, token)

    def clock(self) -> float | None:
        """The time of the server."""
        match self._ask(["TIME"]):
            case [bytes() as seconds, bytes() as micros]:
                try:
                    return int(seconds) + int(micros) / 1e6
                except ValueError:
                    pass
        raise EngineTrouble(Reason.NONSENSE)

    def close(self) -> None:
        """Close the connection."""
        wire, self._wire, self._file = self._wire, None, None
        if wire is not None:
            wire.abandon()

    def _run(self, script: str, name: str, *arguments: str | bytes) -> Any:
        return self._ask(["EVAL", script, "1", self._prefix + name, *arguments])

    def _ask(self, words: list[str | bytes], most: int = 1 << 20) -> Any:
        """The answer to one command. A connection that was closed while idle is opened again."""
        deadline = time.monotonic() + self._address.timeout
        try:
            with troubles():
                if self._wire is None:
                    self._open(deadline)
                wire = self._wire
                assert wire is not None
                was_used = wire.is_used
                try:
                    return self._command(words, most, deadline)
                except (ConnectionError, EOFError):
                    if not was_used:
                        raise
                self.close()
                self._open(deadline)
                return self._command(words, most, deadline)
        except _ErrorAnswer as error:  # the connection is as good as before
            raise EngineTrouble(*error.args) from None
        except BaseException:
            self.close()
            raise

    def _open(self, deadline: float) -> None:
        address = self._address
        self._wire = connect(address)
        self._file = self._wire.makefile()
        try:
            if address.password or address.user:
                user = [address.user] if address.user and address.password else []
                self._command(["AUTH", *user, address.password or address.user], 100, deadline)
            if address.db:
                self._command(["SELECT", str(address.db)], 100, deadline)
        except _ErrorAnswer as error:
            raise EngineTrouble(Reason.FORBIDDEN, error.args[1]) from None
        self._wire.is_used = False

    def _command(self, words: list[str | bytes], most: int, deadline: float) -> Any:
        wire, file = self._wire, self._file
        assert wire is not None
        assert file is not None
        wire.deadline = deadline
        parts = [f"*{len(words)}\r\n".encode()]
        for word in words:
            raw = word.encode() if isinstance(word, str) else word
            parts += (b"$%d\r\n" % len(raw), raw, b"\r\n")
        wire.sendall(b"".join(parts))
        answer = _answer(file, most)
        wire.is_used = True
        return answer


class _ErrorAnswer(Exception):
    """The server understood, and says no."""


def _answer(file: BufferedReader, most: int, depth: int = 0) -> Any:
    line = file.readline(_LINE)
    if not line:
        raise EOFError
    if line[-2:] != b"\r\n":
        raise EngineTrouble(Reason.TRUNCATED if len(line) < _LINE else Reason.NONSENSE)
    kind, text = line[:1], line[1:-2]
    if kind == b"+":
        return text.decode("utf-8", "replace")
    if kind == b"-":
        words = text.decode("utf-8", "replace")
        raise _ErrorAnswer(REASONS.get(words.partition(" ")[0], Reason.SERVER), words[:100])
    if kind not in (b":", b"$", b"*") or not text.lstrip(b"-").isdigit() or len(text) > 20:
        raise EngineTrouble(Reason.NONSENSE)
    number = int(text)
    if kind == b":":
        return number
    if number < 0:
        return None
    if kind == b"*":
        if depth >= _DEEPEST or number > _LINE:
            raise EngineTrouble(Reason.NONSENSE)
        return [_answer(file, most, depth + 1) for _ in range(number)]
    if number > most:
        raise EngineTrouble(Reason.TOO_LARGE)
    data = file.read(number + 2)
    if len(data) != number + 2:
        raise EngineTrouble(Reason.TRUNCATED)
    if data[-2:] != b"\r\n":
        raise EngineTrouble(Reason.NONSENSE)
    return data[:-2]


def milliseconds(seconds: float) -> int:
    """A time as Redis takes it: whole, and more than nothing."""
    return max(int(seconds * 1000), 1)
