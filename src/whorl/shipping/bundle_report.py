"""Says of a bundle how much of it fits this machine, and why the rest does not."""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import Final

import numpy as np

from whorl.artifacts import LAUNCHER, Label
from whorl.fast_dataclasses import dataclass
from whorl.launch.level import architecture_of, can_run, host_level
from whorl.launch.toolchain import own_identity
from whorl.store.bundle_store import BundleStore

_HERE: Final = {
    "python": "{}.{}".format(*sys.version_info[:2]),
    "numpy": ".".join(np.__version__.split(".")[:2]),
}
_VERSIONS: Final = re.compile(r"\((python|numpy) (\d+\.\d+)[^)]*\)")


@dataclass(frozen=True, slots=True)
class BundleReport:
    """How many artifacts of a bundle can be used here, of how many; and why others cannot.

    >>> str(BundleReport(3, 5, {"for x86-64-v4": 2}))
    '3 of 5 artifacts fit here; 2 are for x86-64-v4'
    """

    fitting: int
    total: int
    reasons: dict[str, int]

    def __str__(self) -> str:
        rest = [
            f"{count} {'is' if count == 1 else 'are'} {why}" for why, count in self.reasons.items()
        ]
        return "; ".join([f"{self.fitting} of {self.total} artifacts fit here", *rest])


def report_on(bundle: BundleStore) -> BundleReport:
    """How much of a bundle fits this machine, this Python and this whorl."""
    labels = [entry.label for entry in bundle]
    made = [label for label in labels if label.kind == "artifact" and not _is_launcher(label)]
    reasons = Counter(filter(None, map(_misfit, made)))
    return BundleReport(len(made) - reasons.total(), len(made), dict(reasons.most_common()))


def _is_launcher(label: Label) -> bool:
    return ("name", LAUNCHER) in label.parts


def _misfit(label: Label) -> str:
    """Why an artifact cannot be found here; nothing if it can, as far as its label says."""
    parts = dict(label.parts)
    if label.toolchain.startswith("whorl ") and "whorl-kernel" in parts.get("compiler", ""):
        theirs = label.toolchain.partition(",")[0].removeprefix("whorl ")
        if theirs != own_identity():
            return f"by another whorl ({theirs}; this one is {own_identity()})"
    target = parts.get("target", "")
    level = parts.get("target:cpu value", "").strip("'")
    if level and target != f"{sys.platform}-{architecture_of(level)}":
        return f"for {target}"
    if level and not can_run(level):
        return f"for {level}, and this machine is {host_level()}"
    for library, version in _VERSIONS.findall(" ".join(parts.values())):
        if version != _HERE[library]:
            return f"for {library} {version}, and this is {_HERE[library]}"
    return ""
