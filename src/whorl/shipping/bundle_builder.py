"""Kernels and types, recorded calls, or a script in; a bundle for wheels out.

Everything is compiled into an empty cache, for each target, and packed. The same sources give the
same bytes: nothing is tuned for the machine that builds, and times are those of SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from whorl import settings
from whorl.artifacts import Entry
from whorl.errors import WhorlError
from whorl.fast_dataclasses import dataclass, replace
from whorl.fleet.call_list import RecordedCall, read_calls
from whorl.fleet.recorded_run import run_recorded
from whorl.fleet.stand_in import BadNode, named_object
from whorl.kernels import NumericKernel
from whorl.kernels.argument_types import parsed_types
from whorl.launch import machine
from whorl.store import DirectoryStore, Found
from whorl.store.bundle import pack
from whorl.store.catalogue import catalogue
from whorl.store.installed_bundles import unused_bundles

from .configuration import ShippedKernels

_LEFT_OUT: Final = "llvm"  # LLVM's text: two fifths of a bundle, and no launch needs it
_EARLIEST: Final = 315532800.0  # 1980, the first year that a wheel can hold


class BuildFailed(WhorlError):
    """A kernel that a wheel is to ship could not be compiled; `kernel` and `reason` say which."""

    def __init__(self, kernel: str, reason: str) -> None:
        super().__init__(kernel, reason)
        self.kernel = kernel
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.kernel} cannot be shipped: {self.reason}"


@dataclass(frozen=True, slots=True)
class Built:
    """What is in a bundle that was built."""

    path: Path
    entries: int
    size: int


def build_bundle(shipped: ShippedKernels, root: Path, path: Path) -> Built:
    """Compile what a project ships, and write the bundle; `BuildFailed` if anything fails."""
    before = settings.current()
    sys.path.insert(0, str(shipped.source(root)))
    try:
        calls = [call for file in shipped.calls for call in read_calls(root / file)]
        calls += [call for file in shipped.scripts for call in _calls_of(file, shipped, root)]
        with (
            tempfile.TemporaryDirectory(prefix="whorl-build-") as folder,
            machine.untuned(),
            unused_bundles(),  # the package may be installed here already
        ):
            for target in shipped.targets:
                settings.configure(
                    cache="on", cache_dir=folder, remote=(), target=target, debug=False,
                    require_hit=False, interpret=False, record="",
                )  # fmt: skip
                for name, types in shipped.kernels:
                    _compile_for_types(name, types)
                for call in calls:
                    _compile_call(call)
            settings.restore(before)
            contents = pack(str(path), _entries(DirectoryStore(folder)), made=_time())
    finally:
        settings.restore(before)
        sys.path.remove(str(shipped.source(root)))
    return Built(path, len(contents.entries), path.stat().st_size)


def _calls_of(script: str, shipped: ShippedKernels, root: Path) -> list[RecordedCall]:
    """The calls of the project's kernels in a run of a script, which finds nothing cached.

    Kernels of the script itself, and of packages that it uses, are not the project's.
    """
    source = shipped.source(root).resolve()
    path = os.pathsep.join(filter(None, (str(source), os.environ.get("PYTHONPATH"))))
    kept = {name: text for name, text in os.environ.items() if not name.startswith("WHORL_")}
    with tempfile.TemporaryDirectory(prefix="whorl-script-") as folder:
        environment = {**kept, "PYTHONPATH": path, "WHORL_CACHE_DIR": folder}
        # Its output is for people: that of this process is read by a build hook.
        run = run_recorded([str(root / script)], environment, place=root, output=2)
    if run.code:
        raise BuildFailed(script, f"it ended with code {run.code}")
    own = [call for call in run.calls if _is_below(source, call)]
    if not own:
        raise BuildFailed(script, f"it called no kernel of a module in {source}")
    return own


def _is_below(source: Path, call: RecordedCall) -> bool:
    """Whether a kernel is of a module that is imported from a directory."""
    if call.file:  # of the program that was started
        return False
    try:
        spec = find_spec(call.kernel.partition(":")[0])
    except (ImportError, ValueError):
        return False
    origin = None if spec is None else spec.origin
    return origin is not None and Path(origin).resolve().is_relative_to(source)


def _compile_for_types(name: str, types: str) -> None:
    where = f"{name}({types})"
    try:
        kernel = named_object(name)
        if not isinstance(kernel, NumericKernel):
            raise BadNode(f"{name} is no kernel of whorl.kernel")
        specialization = kernel.compile(*parsed_types(types))
    except Exception as error:
        raise BuildFailed(where, str(error)) from error
    _check_kept(where, specialization)


def _compile_call(call: RecordedCall) -> None:
    try:
        args, kwargs = call.arguments()
        specialization = call.find_kernel().specialize(*args, **kwargs)
    except Exception as error:
        raise BuildFailed(call.kernel, str(error)) from error
    _check_kept(call.kernel, specialization)


def _check_kept(name: str, specialization: Any) -> None:
    if specialization.key is None:
        raise BuildFailed(name, "what it reads is known in one process only, or it has a store")


def _entries(store: DirectoryStore) -> Iterator[Entry]:
    """All entries of a store in a fixed order, with the same times in every build."""
    names = sorted(
        (str(row.name.under or ""), str(row.name.key), row.name) for row in catalogue(store)
    )
    for _, _, name in names:
        got = store.get(name.key, name.under)
        if isinstance(got, Found):
            yield _shipped_entry(got.entry)


def _shipped_entry(entry: Entry) -> Entry:
    label = replace(entry.label, made=_time(), seconds=0.0)
    payloads = {
        place.name: entry.view(place) for place in entry.payloads if place.name != _LEFT_OUT
    }
    return Entry.build(label, payloads, entry.record, entry.more)


def _time() -> float:
    return max(float(os.environ.get("SOURCE_DATE_EPOCH", "0") or 0), _EARLIEST)
