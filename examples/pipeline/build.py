"""The chain of steps: which results are stored on disk or in the process, and what their keys are.

The key of the parser is the text. From lowering on, source positions do not count: after an edit of
a comment, or a moved line, only the parser runs again. The diagnosis reports positions, so its key
is the whole tree, and its results stay in the process. A compiled function is an object that cannot
be stored on disk, so it stays in the process too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import whorl

from .generate import generate
from .lower import lower
from .optimise import Optimise
from .parse import parse
from .tree import Program, Span

without_places = whorl.Fingerprinter(rules={Span: whorl.exclude})


def load(text: str) -> Callable[..., float]:
    scope: dict[str, Any] = {}
    exec(compile(text, "<program>", "exec"), scope)
    made: Callable[..., float] = scope["program"]
    return made


def diagnose(program: Program) -> list[str]:
    """Names that are used before they are known, and where."""
    known, told = set(program.parameters), []
    for let in program.lets:
        pending: list[Any] = [let.value]
        while pending:
            part = pending.pop()
            if hasattr(part, "left"):
                pending += [part.right, part.left]
            elif hasattr(part, "name") and part.name not in known:
                told.append(f"line {part.span.line}, column {part.span.column}: {part.name}?")
        known.add(let.name)
    return told


PARSE = whorl.CachedStep(parse)
LOWER = whorl.CachedStep(lower, key=without_places)
OPTIMISE = whorl.CachedStep(Optimise(level=1))
GENERATE = whorl.CachedStep(generate)
LOAD = whorl.CachedStep(load, store="process", ignores=["exec"])
DIAGNOSE = whorl.CachedStep(diagnose, store="process")

BUILD = whorl.chain(PARSE, LOWER, OPTIMISE, GENERATE, LOAD)
STEPS: dict[str, whorl.CachedStep[Any, Any]] = {
    "parse": PARSE,
    "diagnose": DIAGNOSE,
    "lower": LOWER,
    "optimise": OPTIMISE,
    "generate": GENERATE,
    "load": LOAD,
}


def main(source: str, *arguments: str) -> None:
    text = Path(source).read_text(encoding="utf-8")
    problems = whorl.chain(PARSE, DIAGNOSE)(text)
    result = None if problems else BUILD(text)(*map(float, arguments))
    endings = {name: "ran" if step.stats()["ran"] else "found" for name, step in STEPS.items()}
    print(json.dumps({"result": result, "problems": problems, "steps": endings}))


if __name__ == "__main__":
    main(*sys.argv[1:])
