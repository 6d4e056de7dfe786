"""Every exception of whorl's own: where it happened, what was found, what to do next.

Misuse of an argument is a plain `TypeError` or `ValueError`. Each error here holds the same
as data that its message says in words, so that a program can act on what a person reads.
"""

from __future__ import annotations

__all__ = ["BadSetting", "UnsafeDirectory", "UnsupportedValue", "WhorlError"]


class WhorlError(Exception):
    """The base of every exception of whorl's own.

    >>> issubclass(UnsupportedValue, WhorlError)
    True
    """


class UnsupportedValue(WhorlError, TypeError):
    """A value that has no fingerprint, because what it is cannot be known exactly.

    `path` leads from the value to the part, as Python would write it; `type_name` is what
    the part is; `reason` says why that has no fingerprint, `remedy` what to do.

    >>> import whorl
    >>> try:
    ...     whorl.fingerprint({"sentinel": object()})
    ... except UnsupportedValue as error:
    ...     print(error.path, "|", error.type_name)
    value['sentinel'] | object
    """

    def __init__(self, path: str, type_name: str, reason: str, remedy: str) -> None:
        super().__init__(path, type_name, reason, remedy)
        self.path = path
        self.type_name = type_name
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return (
            f"{self.path} is of type '{self.type_name}', which has no fingerprint: {self.reason}.\n"
            f"  {self.remedy}"
        )


class BadSetting(WhorlError, ValueError):
    """An option of whorl's own that has a value it cannot have.

    `name` is the environment variable or argument it came from.

    >>> import whorl
    >>> try:
    ...     whorl.configure(cache_max_size="5 bananas")
    ... except BadSetting as error:
    ...     print(error.name, "|", error.value)
    cache_max_size | 5 bananas
    """

    def __init__(self, name: str, value: object, wanted: str) -> None:
        super().__init__(name, value, wanted)
        self.name = name
        self.value = value
        self.wanted = wanted

    def __str__(self) -> str:
        return f"{self.name} is {self.value!r}; it should be {self.wanted}."


class UnsafeDirectory(WhorlError, PermissionError):
    """A cache directory that another user could have written to: its code is not loaded.

    >>> print(UnsafeDirectory("cache", "its group may write to it", "Run: chmod go-w cache"))
    The cache directory cache is not used: its group may write to it.
      Run: chmod go-w cache
    """

    def __init__(self, directory: str, reason: str, remedy: str) -> None:
        super().__init__(directory, reason, remedy)
        self.directory = directory
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"The cache directory {self.directory} is not used: {self.reason}.\n  {self.remedy}"
