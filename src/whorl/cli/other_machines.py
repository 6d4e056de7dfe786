"""Compares what this machine has made with what others have stored in shared caches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whorl import settings
from whorl.calls.explanation import changed_parts
from whorl.fast_dataclasses import dataclass
from whorl.jit.key import group_of_name
from whorl.remote.far_store import FarStore
from whorl.remote.seal import machine_name
from whorl.remote.tiers import open_tiers
from whorl.store import DirectoryStore
from whorl.store.catalogue import catalogue
from whorl.store.journal import Change, Miss

from .failures import UsageFailure


@dataclass(frozen=True, slots=True)
class Comparison:
    """The nearest artifact in a shared cache, and how it differs from the one that was made here.

    `changes` are empty if it is the same one.
    """

    tier: str
    machine: str
    key: str
    changes: tuple[Change, ...]

    def as_plain(self) -> dict[str, Any]:
        """The same as what JSON has."""
        return {
            "tier": self.tier, "machine": self.machine, "key": self.key,
            "differences": [
                {"path": each.path, "there": each.old, "here": each.new} for each in self.changes
            ],
        }  # fmt: skip


class OtherMachines:
    """The artifacts of kernels in the shared caches of the settings, asked for once each."""

    def __init__(self, near: DirectoryStore) -> None:
        self._tiers = open_tiers(settings.current())
        if not self._tiers:
            raise UsageFailure("there is no shared cache to compare with: set WHORL_REMOTE.")
        self._parts = {
            str(row.name.key): dict(label.parts)
            for row in catalogue(near)
            if row.kind == "artifact"
            and (label := near.label(row.name.key, row.name.under)) is not None
        }
        self._here = machine_name()
        self._stored: dict[tuple[str, str], list[tuple[str, str, dict[str, str]]]] = {}

    def compare(self, miss: Miss) -> Iterator[Comparison]:
        """The nearest artifact of each shared cache that has some of the kernel that missed."""
        mine = self._parts.get(miss.key)
        if mine is None:
            return
        for tier in self._tiers:
            rows = [
                Comparison(tier.address.name, machine, key, changed_parts(theirs, mine))
                for machine, key, theirs in self._artifacts(tier, miss.program)
                if (machine, key) != (self._here, miss.key)  # uploaded from here
            ]
            if rows:
                yield min(rows, key=lambda row: len(row.changes))

    def _artifacts(self, tier: FarStore, program: str) -> list[tuple[str, str, dict[str, str]]]:
        """The machine, the key and its parts of each artifact of a kernel."""
        known = self._stored.get((tier.address.name, program))
        if known is None:
            known = [
                (machine or "another machine", str(entry.key), dict(entry.label.parts))
                for _, listed in tier.elsewhere(group_of_name(program))
                for machine, entry in tier.elsewhere(listed.key)
                if entry.label.kind == "artifact"
            ]
            self._stored[tier.address.name, program] = known
        return known
