"""Shows fingerprints of a configuration and a function, and a store that several processes share.

Run with `python examples/identity.py`. It writes a small solver of three modules to a temporary
folder, takes fingerprints of its configuration and of its entry point, edits the files as a
person would, and shows which edits count and where. Then four processes ask one store for the same
entry at once, the file is damaged, and the store reports what happened.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Annotated
from uuid import UUID, uuid4

import numpy as np
import numpy.typing as npt

import whorl
from whorl.artifacts import Artifact, Entry, Label, encode
from whorl.fingerprint.digest import StableDigest
from whorl.store import Absent, Cache, DirectoryStore, Failed, Totals

FILES = {
    "solver.py": """
        from integrate import advance

        def step(x, v, dt):
            return advance(x, v, dt)
        """,
    "integrate.py": """
        from springs import force

        def advance(x, v, dt):
            v = v + dt * force(x)
            return x + dt * v, v
        """,
    "springs.py": """
        STIFFNESS = 4.0

        def force(x):
            return -STIFFNESS * x
        """,
}


@dataclass(slots=True)
class Config:
    """What a run of the solver depends on, and one field that it does not."""

    name: str
    grid: npt.NDArray[np.float64]
    options: dict[str, object] = field(default_factory=dict)
    run_id: Annotated[UUID, whorl.exclude] = field(default_factory=uuid4)


def main() -> None:
    """Show the configuration's fingerprint, then the function's, then the store."""
    show_configuration()
    with tempfile.TemporaryDirectory() as folder:
        show_function(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        show_store(Path(folder) / "store")


def show_configuration() -> None:
    """Equal configurations agree, in every process; a difference is named."""
    title("A configuration")
    config = Config(
        "coarse", np.linspace(0, 1, 6).reshape(2, 3), {"tile": 64, "order": (2, "upwind")}
    )
    say("fingerprint", whorl.fingerprint(config))
    again = Config(
        "coarse", np.linspace(0, 1, 6).reshape(2, 3), {"order": (2, "upwind"), "tile": 64}
    )
    same("built again, keys in another order, another run_id", config, again)
    same("the array in Fortran order", config, replace(config, grid=np.asfortranarray(config.grid)))
    finer = replace(config, name="fine", options={"tile": 32, "order": (2, "upwind")})
    changed("two values changed", config, finer)
    command = [sys.executable, "-c", f"import whorl; print(whorl.fingerprint({config.options!r}))"]
    seeds = {
        subprocess.run(
            command,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1", "2")
    }
    say(
        "options in three other processes, three hash seeds",
        "same" if expected(seeds == {whorl.fingerprint(config.options)}) else "DIFFERENT",
    )


def show_function(folder: Path) -> None:
    """Edits that change what a function does are found, however far away; others are not."""
    title("A function: solver.step -> integrate.advance -> springs.force")
    for name, text in FILES.items():
        write(folder / name, text)
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True  # two edits within a second would be one to a .pyc file
    step = load("solver").step
    say("fingerprint", whorl.fingerprint(step))

    edit(folder / "springs.py", "def force", "# Hooke's law.\n\n\ndef force")
    same("a comment and blank lines two calls away", step, load("solver").step)
    edit(folder / "springs.py", "return -STIFFNESS * x", "return -STIFFNESS * x - 0.1 * x**3")
    changed("the force made nonlinear, two calls away", step, load("solver").step)
    edit(folder / "springs.py", " - 0.1 * x**3", "")
    same("that edit undone", step, load("solver").step)
    edit(folder / "springs.py", "STIFFNESS = 4.0", "STIFFNESS = 5.0")
    changed("a global two calls away changed", step, load("solver").step)


def show_store(root: Path) -> None:
    """What is expensive is made once, by whichever process is first, and never believed blindly."""
    title("A store that four processes share")
    command = [sys.executable, __file__, "obtain", str(root)]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for _ in range(4)
    ]
    endings = sorted(process.communicate()[0].strip() for process in processes)
    for ending in endings:
        print(f"  one of them: {ending}")
    expected(endings.count("produced") == 1)

    store = DirectoryStore(root)
    path = Path(store.path(entry_key()))
    say("the entry's file", f"{path.stat().st_size} bytes")
    path.write_bytes(path.read_bytes()[:-1])
    got = store.get(entry_key())
    say("its last byte cut off", f"a miss: {got.reason}" if isinstance(got, Failed) else "BELIEVED")
    expected(isinstance(got, Failed) and store.get(entry_key()) == Absent())
    say("asked for again", obtain(root))
    totals = Totals.of(root / "statistics")
    saved, spent = totals.seconds_saved, totals.seconds_spent
    say("this machine so far", f"{spent:.1f} s of work, {saved:.1f} s of work saved")
    expected(saved > spent)


def entry_key() -> StableDigest:
    key = whorl.fingerprint(("saxpy", "a * x + y", "-O3"))
    assert isinstance(key, StableDigest)
    return key


def obtain(root: Path) -> str:
    """Ask the store for an entry that takes half a second to make; say how it came about."""
    cache = Cache(DirectoryStore(root))

    def compile_it() -> Entry:
        time.sleep(0.5)
        label = Label("artifact", entry_key(), toolchain="a slow one", seconds=0.5)
        return encode(Artifact({"object": b"code"}, {"slots": ("a", "x", "y")}), label)

    obtained = cache.obtain(entry_key(), compile_it, what="saxpy")
    cache.statistics.flush()
    return obtained.how.value


def load(name: str) -> ModuleType:
    """Import a module of the demo as a new process would, from the files as they are now."""
    for loaded in FILES:
        sys.modules.pop(Path(loaded).stem, None)
    importlib.invalidate_caches()
    return importlib.import_module(name)


def write(path: Path, text: str) -> None:
    lines = text.strip("\n").splitlines()
    path.write_text("\n".join(line[8:] for line in lines) + "\n")


def edit(path: Path, old: str, new: str) -> None:
    """Replace a piece of text in a file, as an editor would."""
    path.write_text(path.read_text().replace(old, new))


def title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def say(what: str, answer: str) -> None:
    print(f"  {what:<55} {answer}")


def expected(holds: bool) -> bool:
    """Remember for the exit status when something is not as it should be."""
    if not holds:
        surprises.append(True)
    return holds


def same(what: str, left: object, right: object) -> None:
    equal = whorl.fingerprint(left) == whorl.fingerprint(right)
    say(what, "same" if expected(equal) else "DIFFERENT")


def changed(what: str, left: object, right: object) -> None:
    differ = whorl.fingerprint(left) != whorl.fingerprint(right)
    say(what, "different, at" if expected(differ) else "SAME")
    for difference in whorl.diff(left, right):
        path, _, sides = str(difference).partition(": ")
        print(f"      {path}\n          {sides}")


surprises: list[bool] = []

if __name__ == "__main__":
    if sys.argv[1:2] == ["obtain"]:  # one of the four processes
        print(obtain(Path(sys.argv[2])))
        sys.exit()
    main()
    sys.exit(1 if surprises else 0)
