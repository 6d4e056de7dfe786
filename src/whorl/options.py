"""Parses the values of options, and says what a wrong one should be."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Final

from whorl.errors import BadSetting
from whorl.lazy import importing

MOST_THREADS: Final = 4096
SHORTEST_SECRET: Final = 16
TARGETS: Final = ("host", "generic", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64")
_LARGEST: Final = 1 << 63
_MODES: Final = ("on", "off", "readonly")
_LEVELS: Final = ("off", "error", "warning", "why", "info", "debug")
_SIZE: Final = r"(\d+(?:\.\d+)?)\s*([kmgtp]?)(i?b)?"


class Secret:
    """A text that is not shown.

    >>> Secret("correct horse battery")
    <secret>
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> bytes:
        """The secret itself."""
        return self._text.encode("utf-8", "surrogateescape")

    def __repr__(self) -> str:
        return "<secret>"


class Url:
    """A URL that is shown without the secrets in it: user, password and unknown options.

    >>> Url("redis://user:password@host/0?timeout=2&token=x")
    redis://***@host/0?timeout=2&token=***
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The URL itself."""
        return self._text

    def __repr__(self) -> str:
        url, mark, query = self._text.partition("?")
        if "://" not in url and "@" in url:  # no URL, and yet a secret
            url = f"***@{url.rpartition('@')[2]}"
        shown = [_shown_option(each) for each in query.split("&")] if mark else []
        return _USER.sub(r"\1***@", url) + mark + "&".join(shown)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Url) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


_USER: Final = re.compile(r"(://|%3A%2F%2F)[^/]*(@|%40)", re.IGNORECASE)
SHOWN_OPTIONS: Final = frozenset(
    [
        "ca",
        "cert",
        "cert_key",
        "compression",
        "connect_timeout",
        "db",
        "endpoint",
        "key",
        "layout",
        "lease",
        "max_size",
        "namespace",
        "readonly",
        "region",
        "reshare",
        "timeout",
        "trust",
        "ttl",
    ]
)
"""Options of the URL of a shared cache whose values are no secrets."""


def _shown_option(option: str) -> str:
    name, equals, value = option.partition("=")
    if name not in SHOWN_OPTIONS and equals:
        value = "***"
    return name + equals + _USER.sub(r"\1***@", value)


def parsed(option: str, name: str, value: object) -> object:
    """The value of an option other than `cache_dir`; `name` is for the error.

    >>> parsed("debug", "WHORL_DEBUG", "yes")
    True
    """
    return _PARSERS[option](name, value)


def _one_of(choices: tuple[str, ...]) -> Callable[[str, object], str]:
    def parse(name: str, value: object) -> str:
        word = value.strip().lower() if isinstance(value, str) else value
        if word not in choices:
            raise BadSetting(name, value, f"one of {', '.join(choices)}")
        return word

    return parse


def size_of(name: str, value: object) -> int:
    """A number of bytes from a number or a text such as 5G; `name` is for the error.

    >>> size_of("size", "1.5 MiB"), size_of("size", 10)
    (1572864, 10)
    """
    if type(value) is int and 0 < value < _LARGEST:
        return value
    match = None
    if isinstance(value, str):
        match = re.fullmatch(_SIZE, value.strip(), re.IGNORECASE | re.ASCII)
    size = 0
    if match is not None:
        with importing:
            from decimal import Decimal

        size = int(Decimal(match[1]) * 1024 ** " kmgtp".index(match[2].lower() or " "))
    if not 0 < size < _LARGEST:
        raise BadSetting(name, value, "a number of bytes such as 500M or 5G, more than nothing")
    return size


def _switch(name: str, value: object) -> bool:
    word = value.strip().lower() if isinstance(value, str) else value
    if word in ("1", "true", "on", "yes", True):
        return True
    if word in ("0", "false", "off", "no", False):
        return False
    raise BadSetting(name, value, "1 or 0")


def _threads(name: str, value: object) -> int:
    try:
        count = int(value) if isinstance(value, str) else value
    except ValueError:
        count = None
    if type(count) is not int or not 0 < count <= MOST_THREADS:
        raise BadSetting(name, value, f"a number of threads, 1 to {MOST_THREADS}")
    return count


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadSetting(name, value, "a name")
    return value.strip().lower()


def _salt(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadSetting(name, value, "a text")
    return value


def _secret(name: str, value: object) -> Secret:
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str) or len(value) < SHORTEST_SECRET:
        raise BadSetting(name, "<secret>", f"a text of {SHORTEST_SECRET} characters or more")
    return Secret(value)


def _progress(name: str, value: object) -> str:
    if value == "auto":
        return "auto"
    return "on" if _switch(name, value) else "off"


def _file(name: str, value: object) -> str:
    if not isinstance(value, str | os.PathLike):
        raise BadSetting(name, value, "a file")
    text = os.fspath(value)
    if not isinstance(text, str) or "\0" in text:
        raise BadSetting(name, value, "a file")
    try:
        return os.path.abspath(text) if text else ""  # noqa: PTH100  # resolve() would follow links
    except OSError as error:  # the working directory is gone
        raise BadSetting(name, value, f"an absolute path: {error.strerror}") from error


def _urls(name: str, value: object) -> tuple[Url, ...]:
    wanted = "URLs such as redis://host:6379/0, separated by spaces"
    if isinstance(value, str):
        texts: list[object] = [*value.split()]
    elif isinstance(value, Iterable):
        texts = [each.reveal() if isinstance(each, Url) else each for each in value]
    else:
        raise BadSetting(name, value, wanted)
    urls = []
    for text in texts:
        if not isinstance(text, str):
            raise BadSetting(name, text, wanted)
        urls.append(Url(text))
        if not re.match(r"[a-z][a-z0-9+.-]*://", text):
            raise BadSetting(name, urls[-1], wanted)
    return tuple(urls)


_PARSERS: Final[dict[str, Callable[[str, object], object]]] = {
    "cache": _one_of(_MODES),
    "cache_max_size": size_of,
    "log": _one_of(_LEVELS),
    "threads": _threads,
    "target": _one_of(TARGETS),
    "debug": _switch,
    "interpret": _switch,
    "dump": _text,
    "cache_salt": _salt,
    "signing_key": _secret,
    "progress": _progress,
    "require_hit": _switch,
    "summary": _file,
    "remote": _urls,
    "record": _file,
}
