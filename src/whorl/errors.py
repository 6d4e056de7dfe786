"""Every exception of whorl's own: where it happened, what was found, what to do next.

Misuse of an argument is a plain `TypeError` or `ValueError`. Each error here holds the same
as data that its message says in words, so that a program can act on what a person reads.
"""

from __future__ import annotations

__all__ = ["UnsupportedValue", "WhorlError"]


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
