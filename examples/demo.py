"""Runs two simulations in several processes, and shows what each process compiles, and why.

Run it with `make demo`. Waves pass a wall with two slits (`examples/waves.py`). The first process
compiles, a second one finds everything in the cache, and a third one, after an edit, compiles
again and says why. The picture is `waves.png`. Then two processes solve the equations of a heated
plate in one launch, which stops for larger buffers and resumes (`examples/conjugate.py`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from whorl.calls.events import Event, Happened, listeners
from whorl.launch.runtime import find_runtime

STEPS = 1400
HERE = Path(__file__).parent


def main() -> int:
    """Run the simulation in three processes that share one cache."""
    picture = Path("waves.png").absolute()
    if find_runtime() is None:  # which is said here, once, and not by every process
        os.environ["WHORL_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "waves.py"
        shutil.copy(HERE / "waves.py", program)
        compiled = [
            run("a first process, with an empty cache", folder, picture),
            run("a new process", folder, picture),
        ]
        text = program.read_text()
        program.write_text(
            text.replace("SPEED = 0.5  # of a wave", "# slower\nSPEED = 0.45  # of a wave")
        )
        compiled.append(run("a new process, after SPEED was edited", folder, picture))
        shutil.copy(HERE / "conjugate.py", folder)
        compiled.append(run("a plate, in a first process", folder, None))
        compiled.append(run("a plate, in a new process", folder, None))
    print(f"\nthe waves: {picture.name}")
    return 0 if compiled == [2, 0, 1, 1, 0] else 1


def run(title: str, folder: str, picture: Path | None) -> int:
    """Run one process, with waves if a picture is given; return how many kernels it compiled."""
    print(f"\n{title}", flush=True)
    what = ["solve"] if picture is None else ["simulate", str(picture)]
    found = subprocess.run(
        [sys.executable, __file__, *what, folder],
        env={
            **os.environ,
            "WHORL_CACHE_DIR": f"{folder}/cache",
            "PYTHONDONTWRITEBYTECODE": "1",  # two edits within a second would be one to a .pyc
        },
        check=False,
    )
    if found.returncode > 100:
        raise SystemExit(found.returncode)
    return found.returncode


def listener(compiled: list[str]) -> Callable[[Event], None]:
    """A listener that prints misses, compiles and hits, and collects names of compiled kernels."""

    def listen(event: Event) -> None:
        name = event.kernel.rpartition(".")[2]
        match event.what:
            case Happened.MISSED:
                for line in str(event.detail["why"]).splitlines():
                    print(f"    {line}")
            case Happened.COMPILED:
                compiled.append(name)
                print(f"  {name}: compiled in {event.detail['seconds'] * 1e3:.0f} ms")
            case Happened.FOUND:
                print(f"  {name}: found in the cache")

    return listen


def solve(folder: str) -> int:
    """Solve a plate, and print where the launch had to stop."""
    sys.path.insert(0, folder)
    import conjugate  # type: ignore[import-not-found] # from the folder of this run

    compiled: list[str] = []
    listeners.append(listener(compiled))
    plate = conjugate.Plate(200)
    begun = time.perf_counter()
    stops = plate.run()
    print(f"  {conjugate.report(plate, stops)}")
    print(f"  {len(stops) + 1} launches, {time.perf_counter() - begun:.2f} s")
    return len(compiled)


def simulate(picture: Path, folder: str) -> int:
    """Simulate and draw, and print durations and the reasons for compiles."""
    sys.path.insert(0, folder)
    import waves  # type: ignore[import-not-found] # from the folder of this run

    compiled: list[str] = []
    listen = listener(compiled)
    listeners.append(listen)
    begun = time.perf_counter()
    basin = waves.Basin(400, 600)
    basin.run(1)
    first = time.perf_counter()
    print(f"  first step after {(first - begun) * 1e3:.1f} ms")
    listeners.remove(listen)
    basin.run(STEPS)
    done = time.perf_counter()
    cells = STEPS * basin.rows * basin.columns
    per_second = cells / (done - first) / 1e6
    print(f"  {STEPS} steps of {basin.rows} x {basin.columns} cells: {done - first:.2f} s, "
          f"{per_second:.0f} million cells a second")  # fmt: skip
    listeners.append(listen)
    waves.write_png(picture, basin.picture())
    return len(compiled)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["simulate", picture, folder]:
            sys.exit(simulate(Path(picture), folder))
        case ["solve", folder]:
            sys.exit(solve(folder))
        case _:
            sys.exit(main())
