"""Generates emitters from plans, and again when values are unlike the first.

The source of every emitter is in `linecache`, so that tracebacks can show it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from .markers import Marker
from .plan import NO_MARKERS, FieldHint, Plan, emitter_source
from .run import Emit, collapse
from .tokens import LEAVES

__all__ = ["EmitterFactory", "forget_sources"]

FILENAME: Final = "<whorl emitter of"
UNLIKE: Final = 8  # values unlike the first after which an emitter is generated again


class EmitterFactory:
    """Generates the emitter for values like a sample, and replaces it if need be."""

    __slots__ = ("_has_own", "_hints", "_hints_of", "_install", "_markers", "_name", "_plan",
                 "_scope", "_unlike")  # fmt: skip

    def __init__(
        self,
        name: str,
        plan: Plan,
        hints_of: Callable[[Any], list[FieldHint]],
        scope: Mapping[str, object],
        install: Callable[[Emit], object],
        *,
        markers: Mapping[str, Marker] = NO_MARKERS,
        has_own: bool = False,
    ) -> None:
        self._name = name
        self._plan = plan
        self._hints_of = hints_of
        self._install = install
        self._markers = markers
        self._has_own = has_own
        self._hints: list[FieldHint] = []
        self._unlike = 0
        self._scope = {
            "LEAVES": LEAVES,
            "collapse": collapse,
            "relearn": self._relearn,
            **{kind.__name__: kind for kind in LEAVES},
            **scope,
        }

    def __call__(self, sample: object) -> Emit:
        """The emitter for values like the sample."""
        self._hints = self._hints_of(sample)
        return self._generate()

    def _relearn(self, value: object) -> None:
        self._unlike += 1
        if self._unlike == UNLIKE:
            self._unlike = 0
            news = self._hints_of(value)
            self._hints = [hint.merged(new) for hint, new in zip(self._hints, news, strict=True)]
            self._install(self._generate())

    def _generate(self) -> Emit:
        text = emitter_source(self._plan, self._hints, self._markers, has_own=self._has_own)
        filename = f"{FILENAME} {self._name}>"
        scope = dict(self._scope)
        exec(compile(text, filename, "exec"), scope)
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        return cast("Emit", scope["emit"])


def forget_sources() -> None:
    """Drop the sources of emitters, which are there for tracebacks."""
    for filename in list(linecache.cache):
        if filename.startswith(FILENAME):
            linecache.cache.pop(filename, None)
