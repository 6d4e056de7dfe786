"""New processes that find everything in a cache in, their time to a first result out."""

from __future__ import annotations

import inspect
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import annotated
import harness
import medium
from annotated import QUADRANTS, TAICHI
from harness import (
    SUBJECT,
    Contender,
    Failed,
    Failure,
    Goal,
    Measured,
    NotInstalled,
    Outcome,
    Result,
    Results,
    Settings,
    Timed,
    TimedOut,
)

BARE, NUMPY, IMPORTED = "bare interpreter", "import numpy", "import numpy, whorl"
NUMBA = "numba"

KERNELS = 11
"""In a file that is imported at once: what comes once in a process is over with the last one."""

PROCESS, NEXT = "process", "next"
TITLES = {
    PROCESS: "A whole process, whose first result of a medium kernel is from a warm cache, ms",
    NEXT: f"First calls of {KERNELS} medium kernels of one file in a new process, cache warm, ms",
}
WHOLE = "process start to first result"
END = "process start to its end"
FIRST, LAST = "the 1st kernel, everything imported", f"the {KERNELS}th kernel"
COMPILER = "imports of llvmlite"

DECORATORS = {
    SUBJECT: medium.HEADS[SUBJECT],
    NUMBA: "from numba import njit\n\nfunc = kernel = njit(cache=True)",
    TAICHI: annotated.head_for(TAICHI, kept=True),
    QUADRANTS: annotated.head_for(QUADRANTS, kept=True),
}


# -- What is started ---------------------------------------------------------------------------


def file_of(compiler: str) -> str:
    """The kernel, which is the last function of its file, eleven times under names of its own."""
    text = annotated.TEXT if compiler in annotated.COMPILERS else medium.TEXT
    start = text.index("@kernel")
    functions, kernel = text[:start], text[start:]
    copies = [re.sub(r"def step\(", f"def step_{i}(", kernel) for i in range(KERNELS)]
    # To Taichi and Quadrants, kernels of one text are one, whatever they are called.
    start_of = "fastest = 1e-12"
    copies = [copy.replace(start_of, f"fastest = {i + 1}e-12") for i, copy in enumerate(copies)]
    return "\n\n".join([DECORATORS[compiler] + "\n" + functions, *copies])


KERNEL_CACHE = "KERNEL_CACHE"
"""The variable of the environment that names the directory of a compiler's cache."""

ARGUMENTS = (
    "from __future__ import annotations\n"
    "import numpy as np\n"
    f"{inspect.getsource(medium.arguments)}\n"
)
# The clock is one for all processes of the system.
STAMP = "import time\nmoment = time.monotonic()\n"


def opening(compiler: str, level: str = "ERROR") -> str:
    """What comes first where a compiler has to be told which cache is its own."""
    if compiler not in annotated.COMPILERS:
        return ARGUMENTS
    return f"""{ARGUMENTS}
import os
import {compiler} as compiler
{inspect.getsource(annotated.options_of)}
options = options_of(compiler) | {{"log_level": compiler.{level}}}
compiler.init(offline_cache_file_path=os.environ["{KERNEL_CACHE}"], **options)
"""


def calling(compiler: str) -> str:
    """A process that prints when it had its result, and the result."""
    call = f"from {medium.MODULE} import step_0\nresult = step_0(*arguments())\n"
    return opening(compiler) + call + STAMP + "print(moment, *result)"


PROGRAMS = {
    BARE: STAMP + "print(moment)",
    NUMPY: "import numpy\n" + STAMP + "print(moment)",
    IMPORTED: "import numpy, whorl\n" + STAMP + "print(moment)",
    **{compiler: calling(compiler) for compiler in DECORATORS},
}
"""By contender: the text of a whole process, which tells when it had its result."""

FOUND = {
    SUBJECT: "[kernel.stats().get('found', 0) for kernel in kernels]",
    NUMBA: "[sum(kernel.stats.cache_hits.values()) for kernel in kernels]",
    TAICHI: "None",  # its log says so
    QUADRANTS: "[kernel._primal.src_ll_cache_observations.cache_loaded for kernel in kernels]",
}
"""By compiler: what each kernel says of its cache."""

# They write to their caches when they are taken down, which a frozen collector would prevent.
CLOSING = dict.fromkeys(annotated.COMPILERS, "compiler.reset()")


def telling(compiler: str) -> str:
    """A process that times its kernels itself, and tells which were in the cache."""
    return f"""{opening(compiler, "DEBUG" if compiler == TAICHI else "ERROR")}
import gc, json, sys, time
import {medium.MODULE} as module

kernels = [getattr(module, f"step_{{i}}") for i in range({KERNELS})]
rows = [arguments() for _ in kernels]
gc.collect()
gc.freeze()
gc.disable()
seconds = []
for kernel, row in zip(kernels, rows):
    start = time.perf_counter()
    kernel(*row)
    seconds.append(time.perf_counter() - start)
found = {FOUND[compiler]}
{CLOSING.get(compiler, "")}
print(json.dumps({{"seconds": seconds, "found": found, "llvmlite": "llvmlite" in sys.modules}}))
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that has ended by itself."""

    began: float
    seconds: float
    output: str
    log: str


def ended(name: str, program: str, directory: Path) -> Ended | Failure:
    """A new process from start to end, with the files and the cache of one contender."""
    here = [str(directory / name), *filter(None, [os.getenv("PYTHONPATH")])]
    environment = {
        **{key: value for key, value in os.environ.items() if "WHORL" not in key},
        "PYTHONPATH": os.pathsep.join(here),
        "WHORL_CACHE_DIR": str(directory / "cache"),
        KERNEL_CACHE: str(directory / name / "kernels"),
    }
    # Where bytecode is not kept, a process would compile the text of whatever no installer has.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        return TimedOut(error.timeout)
    except subprocess.CalledProcessError as error:
        print(error.stderr, file=sys.stderr)
        return Failed(f"exit status {error.returncode}")
    return Ended(start, time.monotonic() - start, done.stdout, done.stderr)


def prepared(directory: Path, names: Sequence[str]) -> dict[str, Failure]:
    """Files that are written, caches that are filled, all at once; who cannot, and why."""
    with ThreadPoolExecutor() as pool:
        endings = pool.map(partial(filled, directory), names)
        return {
            name: ending
            for name, ending in zip(names, endings, strict=True)
            if not isinstance(ending, dict)
        }


def filled(directory: Path, name: str) -> dict[str, Any] | Failure:
    """What a contender says of its kernels when all is there that it keeps; or why it cannot."""
    if name not in DECORATORS:
        ending = ended(name, PROGRAMS[name], directory)  # the bytecode is there from now on
        return {} if isinstance(ending, Ended) else ending
    (directory / name).mkdir()
    file = directory / name / f"{medium.MODULE}.py"
    file.write_text(file_of(name), encoding="utf-8")
    for filling in (telling(name), PROGRAMS[name], telling(name)):
        ending = ended(name, filling, directory)
    return told(name, ending)


def told(name: str, ending: Ended | Failure) -> dict[str, Any] | Failure:
    """What a process says of its kernels, if it has found all of them."""
    if not isinstance(ending, Ended):
        return ending
    said: dict[str, Any] = json.loads(last_line(ending.output))
    if name == TAICHI:
        said["found"] = re.findall("Create kernel .* from cache", ending.output + ending.log)
    is_found = len(said["found"]) >= KERNELS and all(said["found"])
    return said if is_found else Failed("not found in the cache")


def last_line(output: str) -> str:
    """What a program prints itself: some compilers greet before."""
    return output.splitlines()[-1]


def compiled_files(directory: Path, name: str) -> frozenset[str]:
    """What lies in a compiler's own directory; a kernel that is not found there becomes a file."""
    kinds = ("*.tic", "*.qdc", "*.nbc")
    return frozenset(path.name for kind in kinds for path in (directory / name).rglob(kind))


# -- Measuring ---------------------------------------------------------------------------------


def measure_processes(
    directory: Path, names: Sequence[str], settings: Settings
) -> Iterator[Result]:
    """One process of each contender in turn, round after round."""
    taken: dict[str, dict[str, list[float]]] = {
        case: {name: [] for name in names} for case in (WHOLE, END)
    }
    failed: dict[str, Failure] = {}
    results = set()
    files = {name: compiled_files(directory, name) for name in names}
    for _ in range(settings.rounds):
        for name in names:
            match ended(name, PROGRAMS[name], directory):
                case Ended(began, seconds, output):
                    moment, *result = map(float, last_line(output).split())
                    taken[WHOLE][name].append(moment - began)
                    taken[END][name].append(seconds)
                    results.update([tuple(round(number, 9) for number in result)] if result else [])
                case failure:
                    failed[name] = failure
    if len(results) > 1:
        raise AssertionError(f"the sides do not compute the same: {results}")
    for name in names:
        if compiled_files(directory, name) != files[name]:
            failed[name] = Failed("not found in the cache")
    for case, of_all in taken.items():
        outcomes: dict[str, Outcome] = {
            name: failed.get(name) or Timed(tuple(seconds)) for name, seconds in of_all.items()
        }
        yield Result(PROCESS, TITLES[PROCESS], "ms", case, 1, outcomes)


def measure_next(directory: Path, names: Sequence[str], settings: Settings) -> Iterator[Result]:
    """A process of each compiler in turn, which times its kernels itself."""
    taken: dict[str, list[list[float]]] = {name: [] for name in names}
    failed: dict[str, Failure] = {}
    imports = 0
    for _ in range(max(3, settings.rounds // 2)):
        for name in names:
            match told(name, ended(name, telling(name), directory)):
                case dict() as said:
                    taken[name].append(said["seconds"])
                    imports += name == SUBJECT and said["llvmlite"]
                case failure:
                    failed[name] = failure
    for case, place in ((FIRST, 0), (LAST, KERNELS - 1)):
        outcomes: dict[str, Outcome] = {
            name: failed.get(name) or Timed(tuple(seconds[place] for seconds in rows))
            for name, rows in taken.items()
        }
        yield Result(NEXT, TITLES[NEXT], "ms", case, 1, outcomes)
    title = "Processes with a warm cache that import a compiler, times"
    yield Result(
        NEXT, title, "times", COMPILER, 1, {SUBJECT: failed.get(SUBJECT) or Measured(imports)}
    )


# -- Goals -------------------------------------------------------------------------------------


def beyond(over: Outcome | None, under: Outcome | None) -> float | None:
    """Milliseconds that one takes more than the other: the median over paired rounds."""
    match over, under:
        case Timed(a), Timed(b):
            return 1e3 * statistics.median(x - y for x, y in zip(a, b, strict=False))
        case _:
            return None


def goals(results: Results) -> Iterator[Goal]:
    """What the library promises about new processes, judged by this run's cases."""
    whole = results.find(PROCESS, WHOLE)
    if whole:
        outcomes = whole.outcomes
        more = beyond(outcomes[SUBJECT], outcomes.get(NUMPY))
        yield Goal(f"{WHOLE}, beyond `{NUMPY}`", "at most", 25, "ms", more, whole.failure)
        more = beyond(outcomes.get(IMPORTED), outcomes.get(NUMPY))
        yield Goal(f"`import whorl` beyond `{NUMPY}`", "at most", 15, "ms", more)
        for name, own in ((NUMBA, "Numba's"), (TAICHI, "Taichi's"), (QUADRANTS, "Quadrants'")):
            text = f"{WHOLE}: {own} time over whorl's"
            yield Goal(text, "at least", 4.0, "x", whole.ratio(name), whole.failure)
    last = results.find(NEXT, LAST)
    if last:
        text = f"{LAST} of a warm process, to its first result"
        yield Goal(text, "at most", 0.5, "ms", last.figure(SUBJECT), last.failure)
    compiler = results.find(NEXT, COMPILER)
    if compiler:
        text = "Warm processes that import llvmlite"
        yield Goal(text, "exactly", 0, "times", compiler.figure(SUBJECT), compiler.failure)


# -- The command -------------------------------------------------------------------------------

PEERS: Sequence[Contender[object]] = (
    Contender(SUBJECT, ("whorl", "numpy", "llvmlite"), lambda: import_module("whorl")),
    Contender(NUMBA, ("numba",), lambda: import_module("numba")),
    Contender(TAICHI, ("taichi",), partial(harness.installed, TAICHI)),
    Contender(QUADRANTS, ("quadrants",), partial(harness.installed, QUADRANTS)),
)


def main() -> None:
    options = harness.arguments(
        __file__,
        "Measure how soon a new process has a result from a warm cache: one run, alternating.",
        (PROCESS, NEXT),
        "few processes: rough figures in half a minute",
    )
    run = harness.Run(options, [name for peer in PEERS for name in peer.distributions])
    absent: Mapping[str, Failure] = {
        name: found
        for name, found in harness.load(PEERS).items()
        if isinstance(found, Failed | NotInstalled)
    }
    results = Results()
    with tempfile.TemporaryDirectory() as text:
        directory = Path(text)
        run.begins("Filling the caches")
        failed = prepared(directory, [name for name in PROGRAMS if name not in absent])
        failed.update(absent)
        names = [name for name in PROGRAMS if name not in failed]
        if PROCESS in options.cases:
            run.begins(TITLES[PROCESS])
            results.extend(measure_processes(directory, names, run.settings))
        if NEXT in options.cases:
            run.begins(TITLES[NEXT])
            compilers = [name for name in names if name in DECORATORS]
            results.extend(measure_next(directory, compilers, run.settings))
    for result in results:
        result.outcomes.update({name: failed[name] for name in failed if name not in absent})
        result.outcomes.setdefault(SUBJECT, NotInstalled())
    shown = [SUBJECT, *(name for name in PROGRAMS if name != SUBJECT and name not in absent)]
    tables = [harness.results_table(results, shown)]
    if absent:
        tables.append(f"Left out: {'; '.join(f'{name}, {why}' for name, why in absent.items())}.")
    run.publish("From process start to result", results, list(goals(results)), tables, shown)


if __name__ == "__main__":
    main()
