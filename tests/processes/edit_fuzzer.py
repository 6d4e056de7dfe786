"""Random programs and random edits of them: is a kept result ever stale, wrong or made needlessly?

A program is a package of several modules. Its function `p.main.f`, cached or a kernel, reaches
constants by the routes of `edit_routes`. The program runs in one process and fills a cache. Then it
is edited, at another place, and runs in other processes with the same cache. The oracle is the
same program in a process of its own, with a decorator that does nothing.

    python -m tests.processes.edit_fuzzer --programs 500 --seed 7
    python -m tests.processes.edit_fuzzer --sweep           each route by itself, all edits
    python -m tests.processes.edit_fuzzer --seed 7 --only 31

Every process is forked from one that has imported whorl and nothing of the program.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import Template
from typing import Any, Final, Literal, TextIO

from tests.processes.edit_routes import KNOWN, ROUTES, WRAPPERS, Route, Wrapper
from tests.processes.programs import ROOT, written

__all__ = ["Failure", "Report", "fuzz", "sweep"]

Kind = Literal["cached", "kernel"]

# -- programs ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Term:
    """One constant of a program, and how it is reached."""

    number: int
    route: Route
    wrapper: Wrapper
    module: str  # that holds the constant
    reader: str  # the module in which the expression stands
    value: str
    sign: str = "+"

    def filled(self, text: str, value: str | None = None) -> str:
        """A text of the route for this term."""
        names = {"X": f"X{self.number}", "m": self.module, "i": str(self.number)}
        return Template(text).safe_substitute(names, v=value or self.value)

    @property
    def reading(self) -> tuple[str, str]:
        """The text above the function, and the expression in it."""
        body = self.filled(self.route.body)
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        parts = {"e": self.filled(self.route.expression), "b": lines, "f": f"h{self.number}"}
        parts["r"] = "" if self.reader == "main" else f"{self.reader}."
        texts = self.wrapper.text, self.wrapper.use
        above, use = (Template(text).safe_substitute(parts) for text in texts)
        return above, use


@dataclass(frozen=True, slots=True)
class Program:
    """A program, and what edits without a meaning have made of it."""

    kind: Kind
    terms: tuple[Term, ...]
    comments: frozenset[str] = frozenset()
    blanks: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()  # modules that hold a changed constant nobody reads
    idle: frozenset[str] = frozenset()  # ... a changed function nobody calls
    locks: frozenset[str] = frozenset()  # ... a lock nobody reads
    docstring: str = "What is kept."
    local: str = "total"
    patches: tuple[str, ...] = ()  # statements of a module that main imports
    then: str = ""  # what is done between the first call and the second

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules of the package."""
        return tuple(dict.fromkeys(("main", *_both(self.terms))))

    def files(self) -> dict[str, str]:
        """The texts of the package."""
        texts = {module: self._module(module) for module in self.modules}
        texts["patches"] = "".join(f"{patch}\n" for patch in self.patches)
        return {"p/__init__.py": ""} | {f"p/{name}.py": text for name, text in texts.items()}

    def _module(self, module: str) -> str:
        held = [t.filled(t.route.holder) for t in self.terms if t.module == module]
        heads, above = ["import functools"], []
        for term in self.terms:
            if term.reader == module and term.module != module:
                heads += term.filled(term.route.head).splitlines()
                above.append(term.reading[0])
        if module == "main":
            heads += [f"from p import {t.reader}" for t in self.terms if t.reader != "main"]
            heads += ["from p import patches", "from shelf import kept"]
            above.append(self._function())
        parts = ["\n".join(dict.fromkeys(heads)), *held, *filter(None, above)]
        if module in self.locks:
            parts.insert(1, "import threading\n\nLOCK = threading.Lock()")
        parts.insert(1, f"UNREAD = {2 if module in self.unread else 1}")
        parts.insert(2, f"def idle():\n    return {2 if module in self.idle else 1}")
        if module in self.comments:
            parts = [f"# {part.count('n')} remarks\n{part}" for part in parts]
        space = "\n\n\n\n\n" if module in self.blanks else "\n\n\n"
        return space.join(parts) + "\n"

    def _function(self) -> str:
        lines = [f'    """{self.docstring}"""', f"    {self.local} = x"]
        for term in self.terms:
            if term.reader == "main" and term.route.body and not term.wrapper.text:
                lines += [f"    {line}" for line in term.filled(term.route.body).splitlines()]
            lines.append(f"    {self.local} = {self.local} * 3 {term.sign} {term.reading[1]}")
        return "\n".join(("@kept", "def f(x):", *lines, f"    return {self.local}"))


def _both(terms: Sequence[Term]) -> Iterator[str]:
    for term in terms:
        yield term.reader
        yield term.module


# -- edits ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Edit:
    """Another text for a program; `needs`: whether it may be made again for that."""

    name: str
    program: Program
    needs: bool

    @property
    def may_be_refused(self) -> bool:
        """Whether it puts a lock where all that there is counts."""
        return self.needs and bool(self.program.locks)


def _edits(program: Program, chance: random.Random) -> list[Edit]:
    """All edits of a program, in a random order."""
    found: list[Edit] = []

    def add(name: str, *, needs: bool = False, **changes: Any) -> None:
        found.append(Edit(name, replace(program, **changes), needs))

    for at, term in enumerate(program.terms):
        place = f"of term {term.number}"
        for name, value in (
            ("another value", _value(chance, term)),
            ("a float", f"{term.value}.0"),
        ):
            terms = _with(program, at, replace(term, value=value))
            # `'n' * 2.0` is no program
            if "* $v" not in term.route.holder or name == "another value":
                add(f"{name} {place}", needs=True, terms=terms)
        spelled = replace(term, value=hex(int(term.value)))
        add(f"another spelling {place}", terms=_with(program, at, spelled))
        turned = replace(term, sign="-" if term.sign == "+" else "+")
        add(f"another operator {place}", needs=True, terms=_with(program, at, turned))
        if term.route.assigned:
            said = term.filled(term.route.assigned, _value(chance, term))
            add(f"assigned by another module {place}", needs=True, patches=(said,))
            if "lru_cache" not in (term.wrapper.name, term.route.name):  # which is stale by itself
                add(f"assigned between two calls {place}", needs=True, then=said)
    whole = {t.module for t in program.terms if t.route.whole}
    whole |= {t.reader for t in program.terms if t.route.name in ("eval", "item of globals")}
    for module in program.modules:
        place = f"in {module}"
        add(f"comments {place}", comments=frozenset((module,)))
        add(f"blank lines {place}", blanks=frozenset((module,)))
        for name in ("unread", "idle", "locks"):
            add(f"{name} {place}", needs=module in whole, **{name: frozenset((module,))})
        add(
            f"an unread name assigned between two calls {place}",
            needs=module in whole,
            then=f"import p.{module}; p.{module}.UNREAD = 7",
        )
    # Who reads one docstring is made again for any of the docstrings that it could read.
    add(
        "another docstring",
        needs="docstring" in {term.route.name for term in program.terms},
        docstring="Kept, and described at greater length.",
    )
    add("another local name", needs=True, local="result")
    chance.shuffle(found)
    return found


def _with(program: Program, at: int, term: Term) -> tuple[Term, ...]:
    return (*program.terms[:at], term, *program.terms[at + 1 :])


def _value(chance: random.Random, term: Term) -> str:
    return str(chance.choice([n for n in range(1, 60) if n % 5 != int(term.value) % 5]))


def _program(chance: random.Random, kind: Kind, routes: Sequence[Route], size: int) -> Program:
    """A random program with so many terms."""
    terms: list[Term] = []
    for number in range(size):
        route = chance.choice(routes)
        if route.name.startswith("library:") and any(t.route.alone for t in terms):
            continue  # two of them may replace the same function
        terms.append(_term(chance, kind, route, number))
    return Program(kind, tuple(terms))


def _term(chance: random.Random, kind: Kind, route: Route, number: int) -> Term:
    wrappers = [
        wrapper
        for wrapper in WRAPPERS.values()
        if not (route.body and wrapper.simple) and (wrapper.kernel or kind == "cached")
    ]
    wrapper = chance.choice(wrappers)
    reader = chance.choice(["main", "main", "deep"]) if wrapper.text else "main"
    module = f"own{number}" if route.alone else chance.choice(["m0", "m1"])
    return Term(number, route, wrapper, module, reader, str(chance.randrange(1, 60)))


# -- processes --------------------------------------------------------------------------------

_SERVER: Final = """
import json, os, sys, types, traceback
import llvmlite.binding, numpy, whorl, whorl.testing, whorl.steps.cached
import dataclasses, enum, fractions, json.encoder, inspect, pkgutil, tempfile, textwrap, threading
whorl.testing.recorded_events, whorl.WhorlError, whorl.cached, whorl.kernel  # imported now

def answers(job):
    sys.path.insert(0, job["place"])
    shelf = sys.modules["shelf"] = types.ModuleType("shelf")
    shelf.kept = (lambda function: function) if job["oracle"] else getattr(whorl, job["kind"])
    whorl.configure(cache="on", cache_dir=job["cache"])
    said = []
    def call(f):
        with whorl.testing.recorded_events() as events:
            try:
                answer = repr(f(5))
            except Exception as error:
                raised = "refused" if isinstance(error, whorl.WhorlError) else "raised"
                answer = f"{raised}: {type(error).__name__}: {error}"
        said.append([answer, sum(event.what.value == "compiling" for event in events)])
    from p.main import f
    call(f)
    exec(job["then"], {})
    call(f)
    return said

for line in sys.stdin:
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read)
        try:
            answer = answers(json.loads(line))
        except BaseException:
            answer = traceback.format_exc()
        with open(write, "w") as out:
            json.dump(answer, out)
        os._exit(0)
    os.close(write)
    with open(read) as answer:
        print(answer.read(), flush=True)
    os.waitpid(pid, 0)
"""

Said = list[tuple[str, int]]  # for each call the answer, and how often it was made


class Server:
    """One process that forks another for each run of a program."""

    def __init__(self) -> None:
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment,
        )  # fmt: skip
        self.runs = 0

    def run(self, program: Program, place: Path, cache: Path, *, is_oracle: bool) -> Said:
        """What the calls of a program answer in a new process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.runs += 1
        job = {
            "place": str(place), "cache": str(cache), "kind": program.kind,
            "then": program.then, "oracle": is_oracle,
        }  # fmt: skip
        print(json.dumps(job), file=self._process.stdin, flush=True)
        said = json.loads(self._process.stdout.readline())
        if isinstance(said, str):
            raise AssertionError(f"no program: {said}\n{_listed(program)}")
        return [(answer, ran) for answer, ran in said]

    def close(self) -> None:
        """End it."""
        self._process.communicate()


@contextlib.contextmanager
def _serving() -> Iterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        server.close()


# -- what became of it ------------------------------------------------------------------------

Verdict = Literal["right", "stale", "wrong", "needless", "refused"]


def verdict_of(edit: Edit, said: Said, truth: Said) -> Verdict:
    """What became of an edited program."""
    for (answer, ran), (true, _) in zip(said, truth, strict=True):
        if answer.startswith("refused"):
            return "right" if edit.may_be_refused else "refused"
        if answer != true:
            return "wrong" if ran else "stale"
    if not edit.needs and any(ran for _, ran in said):
        return "needless"
    return "right"


@dataclass(frozen=True, slots=True)
class Failure:
    """An edit that was not answered as it should be."""

    verdict: Verdict
    program: Program
    edit: Edit
    said: Said
    truth: Said
    replay: str

    @property
    def routes(self) -> tuple[str, ...]:
        """The routes of the program."""
        return tuple(term.route.name for term in self.program.terms)

    def __str__(self) -> str:
        before, after = self.program.files(), self.edit.program.files()
        changes = [
            line
            for name, text in after.items()
            for line in difflib.unified_diff(
                before[name].splitlines(), text.splitlines(), name, name, n=1, lineterm=""
            )
        ]
        if self.edit.program.then:
            changes.append(f"between two calls: {self.edit.program.then}")
        return "\n".join((
            f"{self.verdict}: {self.edit.name} ({self.program.kind})",
            f"  answers and runs: {self.said}", f"  the oracle's: {self.truth}",
            _listed(self.program), *changes, f"again: {self.replay}", "",
        ))  # fmt: skip


def _listed(program: Program) -> str:
    texts = program.files().items()
    return "\n".join(f"--- {name}\n{text}" for name, text in texts if text)


@dataclass(slots=True)
class Report:
    """What became of many edits."""

    programs: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)  # routes, before any edit
    failures: list[Failure] = field(default_factory=list)

    def __str__(self) -> str:
        counts = ", ".join(
            f"{self.verdicts[name]} {name}"
            for name in ("right", "stale", "wrong", "needless", "refused")
        )
        refused = sum(self.refused.values())
        return (
            f"{self.programs} programs ({refused} refused as they are), "
            f"{self.verdicts.total()} edits: {counts}"
        )


def _tried(
    program: Program, edits: Sequence[Edit], server: Server
) -> list[tuple[Edit, Verdict, Said, Said]] | None:
    """What becomes of edits of a program, one after the other; None if it is refused as it is."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        cache = root / "cache"

        def run(number: int, each: Program) -> tuple[Said, Said]:
            place = written(root / str(number), each.files())
            said, truth = (
                server.run(each, place, cache, is_oracle=is_oracle) for is_oracle in (False, True)
            )
            shutil.rmtree(place)
            return said, truth

        before, truth = run(0, program)
        if before[0][0].startswith("refused"):
            return None
        unedited = Edit("nothing", program, needs=True)
        found = [(unedited, verdict_of(unedited, before, truth), before, truth)]
        for number, edit in enumerate((*edits, replace(unedited, needs=False)), 1):
            said, truth = run(number, edit.program)
            found.append((edit, verdict_of(edit, said, truth), said, truth))
        return found


def _minimal(failure: Failure, server: Server) -> Failure:
    """The same failure with fewer terms, where that is one."""
    at = 0
    while len(failure.program.terms) > 1 and at < len(failure.program.terms):
        number = failure.program.terms[at].number
        smaller, edited = (
            _without(each, number) for each in (failure.program, failure.edit.program)
        )
        edit = replace(failure.edit, program=edited)
        tried = _tried(smaller, [edit], server) or []
        same = [row for row in tried[1:2] if row[1] == failure.verdict]
        if same:
            _, verdict, said, truth = same[0]
            failure = Failure(verdict, smaller, edit, said, truth, failure.replay)
        else:
            at += 1
    return failure


def _without(program: Program, number: int) -> Program:
    return replace(program, terms=tuple(t for t in program.terms if t.number != number))


def _add(
    report: Report, program: Program, edits: Sequence[Edit], server: Server, replay: str
) -> None:
    report.programs += 1
    tried = _tried(program, edits, server)
    if tried is None:
        report.refused[" + ".join(term.route.name for term in program.terms)] += 1
        return
    for edit, verdict, said, truth in tried:
        report.verdicts[verdict] += 1
        if verdict != "right":
            failure = Failure(verdict, program, edit, said, truth, replay)
            report.failures.append(_minimal(failure, server))


def fuzz(
    programs: int, seed: int, *, edits: int = 4, only: int | None = None, known: bool = False
) -> Report:
    """Random programs, each with some random edits. The same for the same seed."""
    report = Report()
    with _serving() as server:
        for number in range(programs) if only is None else (only,):
            chance = random.Random(f"{seed} {number}")
            kind: Kind = "kernel" if number % 3 == 2 else "cached"
            routes = [route for route in _routes(kind, known=known) if not route.refused]
            program = _program(chance, kind, routes, chance.randrange(1, 5))
            chosen = _edits(program, chance)[:edits]
            again = f"--seed {seed} --only {number} --edits {edits}" + known * " --known"
            _add(report, program, chosen, server, f"python -m {_THIS} {again}")
    return report


def sweep(*, known: bool = False, only: Sequence[str] = ()) -> Report:
    """Each route by itself, with every edit."""
    report = Report()
    kinds: tuple[Kind, ...] = ("cached", "kernel")
    with _serving() as server:
        for kind in kinds:
            for route in _routes(kind, known=known):
                if only and not any(part in route.name for part in only):
                    continue
                module = "own0" if route.alone else "m0"
                wrapper = WRAPPERS["helper"]
                program = Program(kind, (Term(0, route, wrapper, module, "main", "7"),))
                edits = _edits(program, random.Random(route.name))
                again = f"python -m {_THIS} --sweep --route {route.name!r}" + known * " --known"
                _add(report, program, edits, server, again)
    return report


def _routes(kind: Kind, *, known: bool) -> list[Route]:
    return [
        route
        for route in ROUTES.values()
        if (route.kernel if kind == "kernel" else "whorl.static" not in route.expression)
        and (known or route.name not in KNOWN)
    ]


_THIS: Final = "tests.processes.edit_fuzzer"


def _main(out: TextIO = sys.stdout) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {_THIS}", description=__doc__)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--edits", type=int, default=4, help="of each program")
    parser.add_argument("--only", type=int, help="the number of one program")
    parser.add_argument("--known", action="store_true", help="routes that are known to fail, too")
    parser.add_argument("--sweep", action="store_true", help="each route by itself, all edits")
    parser.add_argument(
        "--route", action="append", default=[], help="with --sweep: routes with this in their name"
    )
    parser.add_argument("--quiet", action="store_true", help="the counts alone")
    given = parser.parse_args()
    if given.sweep:
        report = sweep(known=given.known, only=given.route)
    else:
        report = fuzz(
            given.programs, given.seed, edits=given.edits, only=given.only, known=given.known
        )
    for failure in () if given.quiet else report.failures:
        print(failure, file=out)
    rows = Counter((f.verdict, f.program.kind, " + ".join(f.routes)) for f in report.failures)
    for (verdict, kind, routes), count in sorted(rows.items()):
        print(f"{count:4} {verdict:9} {kind:7} {routes}", file=out)
    for routes, count in sorted(report.refused.items()):
        print(f"{count:4} refused as it is: {routes}", file=out)
    print(report, file=out)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(_main())
