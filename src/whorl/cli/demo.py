"""`whorl demo`: compiles a kernel, reuses it in a new process, edits it, and explains each step."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import click

from whorl.fast_dataclasses import dataclass
from whorl.store import Totals
from whorl.store.journal import Journal, Miss

from . import units
from .failures import CommandFailure
from .output import print_heading, print_json, print_line

PROGRAM: Final = """\
import numpy as np
import whorl

GRAVITY = -9.81


def bounce(height, speed):
    return (-height, -0.8 * speed) if height < 0.0 else (height, speed)


@whorl.kernel
def fall(heights, speeds, dt, steps):
    for i in whorl.prange(heights.size):
        for step in range(steps):
            speeds[i] = speeds[i] + GRAVITY * dt
            heights[i], speeds[i] = bounce(heights[i] + speeds[i] * dt, speeds[i])


heights, speeds = np.linspace(1.0, 2.0, 20_000), np.zeros(20_000)
fall(heights, speeds, 0.001, 700)
print(f"mean height after 0.7 s: {heights.mean():.6f} m")
"""

# For each run: its title, and the edit of the program before it.
SCENES: Final = (
    ("a first process, with an empty cache", None),
    ("a new process, nothing changed", None),
    ("a comment and a blank line were added", ("GRAVITY =", "# on Earth\n\nGRAVITY =")),
    ("GRAVITY was edited", ("GRAVITY = -9.81", "GRAVITY = -24.79")),
    ("the function that the kernel calls was edited", ("-0.8 * speed", "-0.5 * speed")),
    ("both edits were undone", None),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scene:
    """One run of the program, and its outcome."""

    title: str
    printed: str
    seconds: float
    totals: Totals
    misses: tuple[Miss, ...]

    @property
    def made(self) -> int:
        """The number of kernels that were compiled."""
        return sum(sums.made for sums in self.totals.programs.values())

    def as_plain(self) -> dict[str, Any]:
        """The run as JSON."""
        found = sum(sums.found for sums in self.totals.programs.values())
        return {
            "title": self.title, "printed": self.printed, "seconds": self.seconds,
            "compiled": self.made, "found": found,
            "misses": [miss.as_plain() for miss in self.misses],
        }  # fmt: skip


@click.command("demo")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--show-program", is_flag=True, help="Print the program, and run nothing.")
def command(as_json: bool, show_program: bool) -> None:
    """Compile a kernel, reuse it in a new process, edit it, and explain each step.

    Everything happens in a temporary directory.

    \b
    Example:
      whorl demo
    """  # \b is click's
    if show_program and as_json:
        print_json({"program": PROGRAM})
        return
    if show_program:
        click.echo(PROGRAM, nl=False)
        return
    with tempfile.TemporaryDirectory(prefix="whorl-demo-", ignore_cleanup_errors=True) as folder:
        scenes = []
        for title, edit in SCENES:
            scene = _scene(Path(folder), title, edit)
            scenes.append(scene)
            if not as_json:
                _print(scene)
    if as_json:
        print_json([scene.as_plain() for scene in scenes])
        return
    print_line()
    print_line(
        "The program: whorl demo --show-program. Why your own was compiled: whorl why.", "dim"
    )


def _scene(folder: Path, title: str, edit: tuple[str, str] | None) -> Scene:
    program, cache = folder / "balls.py", folder / "cache"
    if edit is None:
        program.write_text(PROGRAM, encoding="utf-8")
    else:
        text = program.read_text(encoding="utf-8")
        program.write_text(text.replace(*edit), encoding="utf-8")
    summary = folder / f"summary-{time.time_ns()}.jsonl"
    before = len(Journal(cache).misses())
    names = (
        "WHORL_INTERPRET", "WHORL_REQUIRE_HIT", "WHORL_DUMP", "WHORL_LOG", "WHORL_DEBUG",
        "WHORL_REMOTE",
    )  # fmt: skip
    environment = {name: text for name, text in os.environ.items() if name not in names}
    environment |= {
        "WHORL_CACHE": "on", "WHORL_CACHE_DIR": str(cache), "WHORL_SUMMARY": str(summary),
    }  # fmt: skip
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - begun
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it printed no error"])[-1]
        raise CommandFailure(f"the demo's program failed: {last} (see whorl doctor)")
    misses = Journal(cache).misses()[before:]
    return Scene(title, done.stdout.strip(), seconds, Totals.in_file(summary), tuple(misses))


def _print(scene: Scene) -> None:
    print_line()
    print_heading(scene.title)
    print_line(f"  {scene.printed}")
    took = units.duration(scene.seconds)
    if not scene.made:
        saved = units.duration(scene.totals.seconds_saved)
        print_line(
            f"  found in the cache; the process took {took}, {saved} of compiling saved", "green"
        )
    for miss in scene.misses:
        what = units.duration(miss.seconds)
        print_line(f"  compiled in {what}; the process took {took}: {miss.reason}", "yellow")
        for each in miss.differences:
            print_line(f"    {each}")
