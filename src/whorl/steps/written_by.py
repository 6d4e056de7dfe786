"""A serializer in, what stands for it in keys out: its name, and the digest of its code.

What one wrote, an edited one may read as something else. So its `dumps` and `loads` count with all
that they read, and an instance with what it holds. What it takes from outside of the program is its
own affair: nothing in a result says so.
"""

from __future__ import annotations

from whorl.fingerprint.survey import Survey, survey_code
from whorl.fingerprint.watch import Check

from .values import Serializer, serializer_name
from .world import Surroundings, Unsteady

__all__ = ["WrittenBy"]


class WrittenBy:
    """The serializer of a function or step, which may be another with every call."""

    def __init__(self, name: str, serializer: Serializer | None, said: Surroundings) -> None:
        self._name = name
        self._serializer = serializer
        self._said = said
        self._known: tuple[str, Check] | None = None

    def now(self) -> str:
        """What stands for it now; nothing where results are written in whorl's own way."""
        if self._serializer is None:
            return ""
        if self._known is None or not self._known[1]():
            self._known = self._walked(self._serializer)
        return self._known[0]

    def _walked(self, serializer: Serializer) -> tuple[str, Check]:
        said = self._said
        found = survey_code(
            lambda sees: Survey(
                self._name,
                ignores=said.ignores,
                objects=said.objects,
                boundary=said.boundary,
                introspection=sees,
            ),
            (serializer.dumps, serializer.loads),
        )
        if found is None:
            raise Unsteady(self._name)
        digest, holds, _ = found
        return f"{serializer_name(serializer)} {digest}", holds
