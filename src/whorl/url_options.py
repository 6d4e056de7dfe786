"""The options that the URL of a shared cache may have, checked without opening it.

A process that finds everything in its directory opens no shared cache, and yet it should say that
a URL in WHORL_REMOTE is wrong. So nothing is imported here that such a process has no use for.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from whorl.errors import BadSetting
from whorl.lazy import importing, logger
from whorl.options import Url, size_of

__all__ = ["ENCRYPTED", "HAS_ZSTD", "SCHEMES", "options_of", "parsed_options", "usable_urls"]

log = logger("whorl.remote")

_UNITS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_HOUR: Final = 3600.0
_CENTURY: Final = 36500 * 86400.0
HAS_ZSTD: Final = sys.version_info >= (3, 14)
ENCRYPTED: Final = ("rediss", "https", "rediss+cluster", "rediss+sentinel")
SCHEMES: Final = (
    "redis", "rediss", "unix",
    "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel",
    "http", "https", "s3", "gs", "az",
)  # fmt: skip

Parser = Callable[[str], Any]
"""Raises ValueError with what the text should be."""


def _seconds(least: float, most: float, words: str) -> Parser:
    def parse(text: str) -> float:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|)", text, re.ASCII)
        seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
        if not least <= seconds <= most:
            raise ValueError(f"a time such as 2, 500ms or 30d, {words}")
        return seconds

    return parse


def _switch(text: str) -> bool:
    if text.lower() in ("", "1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off"):
        return False
    raise ValueError("1 or 0")


def _one_of(*choices: str) -> Parser:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(" or ".join(choices))
        return text

    return parse


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", text):
        raise ValueError("letters, digits, dots and dashes")
    return text


def _size(text: str) -> int:
    try:
        return size_of("max_size", text)
    except BadSetting as error:
        raise ValueError(error.expected) from None


def _compression(text: str) -> str:
    if text == "zstd" and not HAS_ZSTD:
        raise ValueError("zlib or none: this Python has no zstd")
    return str(_one_of("zlib", "zstd", "none")(text))


def _number(text: str) -> int:
    if not re.fullmatch(r"\d{1,5}", text, re.ASCII):
        raise ValueError("a number")
    return int(text)


_request_time: Final = _seconds(0.001, _HOUR, "from 1ms to 1h")
_COMMON: Final[dict[str, Parser]] = {
    "timeout": _request_time,
    "connect_timeout": _request_time,
    "readonly": _switch,
    "namespace": _name,
    "ttl": _seconds(1.0, _CENTURY, "from 1s to 36500d"),
    "trust": _one_of("all", "keys"),
    "reshare": _switch,
    "key": str,
    "lease": _seconds(0.1, _HOUR, "from 100ms to 1h"),
    "compression": _compression,
    "max_size": _size,
}
_MORE: Final[dict[str, dict[str, Parser]]] = {
    **{scheme: {"layout": _one_of("plain", "bazel")} for scheme in ("http", "https")},
    "s3": {"endpoint": str, "region": str},
    "az": {"endpoint": str},
    "unix": {"db": _number},
}
_ENCRYPTION: Final[dict[str, Parser]] = {"ca": str, "cert": str, "cert_key": str}


def options_of(scheme: str) -> dict[str, Parser]:
    """The options that the URL of a scheme may have."""
    encryption = _ENCRYPTION if scheme in ENCRYPTED else {}
    return {**_COMMON, **_MORE.get(scheme, {}), **encryption}


def parsed_options(url: Url, name: str) -> dict[str, Any]:
    """The options in a URL; `BadSetting` for its scheme or an option; `name` is for the error.

    >>> parsed_options(Url("redis://host?timeout=500ms&readonly"), "url")
    {'timeout': 0.5, 'readonly': True}
    """
    text = url.reveal().partition("#")[0]
    scheme, separator, rest = text.partition("://")
    if not separator or scheme not in SCHEMES:
        schemes = ", ".join(f"{each}://" for each in SCHEMES)
        raise BadSetting(name, url, f"a URL that begins with one of {schemes}")
    known = options_of(scheme)
    values: dict[str, Any] = {}
    for part in filter(None, rest.partition("?")[2].split("&")):
        option, _, value = map(_unquoted, part.partition("="))
        if option not in known:
            there_are = ", ".join(sorted(known))
            raise BadSetting(
                name, url, f"a URL without the option {option!r}; there are {there_are}"
            )
        try:
            values[option] = known[option](value)
        except ValueError as error:
            raise BadSetting(name, url, f"a URL with {option}={error}") from None
    return values


def _unquoted(text: str) -> str:
    if "%" not in text and "+" not in text:
        return text
    with importing:
        from urllib.parse import unquote_plus

    return unquote_plus(text)


def usable_urls(urls: Iterable[Url], setting: str) -> tuple[Url, ...]:
    """The URLs whose scheme and options make sense; a warning for each other one, once.

    >>> usable_urls([Url("redis://host")], "WHORL_REMOTE")
    (redis://host,)
    """
    usable = []
    for url in urls:
        try:
            parsed_options(url, setting)
        except BadSetting as error:
            _warn_once(url, error)
        else:
            usable.append(url)
    return tuple(usable)


_warned: Final[set[Url]] = set()


def _warn_once(url: Url, error: BadSetting) -> None:
    if url not in _warned:
        _warned.add(url)
        log.warning("%s\n  This shared cache is not used.", error)
