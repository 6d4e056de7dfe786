"""A simulation in, a picture out; and what each process compiled, found and launched, and why.

Run with `make demo`. Waves pass a wall with two slits (`examples/waves.py`): once in a process
that has to compile, once in a new one that finds everything, and once after an edit, which
says what it compiled again and why. The picture is `waves.png`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 1400
HERE = Path(__file__).parent


def main() -> int:
    """Run the simulation in three processes that share one cache."""
    picture = Path("waves.png").absolute()
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
    print(f"\nthe waves: {picture.name}")
    return 0 if compiled == [2, 0, 1] else 1


def run(title: str, folder: str, picture: Path) -> int:
    """One process; how many kernels it compiled."""
    print(f"\n{title}", flush=True)
    found = subprocess.run(
        [sys.executable, __file__, "simulate", str(picture), folder],
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


def simulate(picture: Path, folder: str) -> int:
    """Simulate and draw; say what every kernel took, and what was compiled for which reason."""
    sys.path.insert(0, folder)
    import waves  # type: ignore[import-not-found] # from the folder of this run

    from whorl.jit.events import Event, Happened, listeners

    compiled: list[str] = []

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
    sys.exit(simulate(Path(sys.argv[2]), sys.argv[3]) if sys.argv[1:2] == ["simulate"] else main())
