"""Why a value has no fingerprint, and what to do about it.

A rule refuses a value without knowing its path; the walk knows the path and makes an
`UnsupportedValue` of both.
"""

from __future__ import annotations

from typing import Final

from whorl.errors import UnsupportedValue

__all__ = ["DEFAULT_REMEDY", "Refused"]

DEFAULT_REMEDY: Final = (
    "Say what stands for the object that holds it (whorl.Fingerprinter(rules={Holder: function})), "
    "leave its field out if that makes no difference (@whorl.exclude('field') above the class), or "
    "let it count as this very object (@whorl.by_identity('field'); good for this process only)."
)


class Refused(Exception):
    """Raised by a rule: a value has no fingerprint. The walk knows its path."""

    def __init__(
        self, reason: str, remedy: str = "", inside: UnsupportedValue | None = None
    ) -> None:
        super().__init__(reason, remedy)
        self.reason = reason
        self.remedy = remedy
        self.inside = inside  # the error of a part that was walked separately
