"""A Markdown page in, its Python blocks run as one program.

Run as a script: ``python markdown_program.py PAGE NAME``. The blocks of PAGE are written to a file
in the working directory, each on the lines it has in the page and everything else blank. So a
traceback's line numbers are those of the page, and functions of the page have a source file like
those of any program. NAME is what failures call the page.
"""

from __future__ import annotations

import doctest
import re
import sys
import textwrap
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

LANGUAGES = frozenset({"python", "py", "pycon"})
FENCE = re.compile(r"^ *(?P<ticks>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]*)(?P<about>[^\n]*)")


@dataclass(frozen=True, slots=True)
class Block:
    """Python from a page; `line` is the page's line, counted from 1, on which it begins."""

    line: int
    text: str

    @property
    def has_prompts(self) -> bool:
        return any(line.startswith(">>>") for line in self.text.splitlines())


def python_blocks(page: str) -> list[Block]:
    """The Python blocks of a page, in order, without those that are files of their own."""
    blocks = []
    ticks = ""  # the open fence, if there is one
    language = ""
    start = 0
    lines = page.splitlines()
    for number, line in enumerate(lines, start=1):
        fence = FENCE.match(line)
        if not ticks:
            if fence:
                ticks, language, start = fence["ticks"], fence["language"], number + 1
                if "title=" in fence["about"]:  # a file: see markdown_steps.py
                    language = ""
        elif fence and fence["ticks"].startswith(ticks) and line.strip() == fence["ticks"]:
            if language.lower() in LANGUAGES:
                text = textwrap.dedent("\n".join(lines[start - 1 : number - 1])) + "\n"
                blocks.append(Block(start, text))
            ticks = ""
    if ticks:
        raise ValueError(f"the fence opened on line {start - 1} is never closed")
    return blocks


def program_text(blocks: list[Block]) -> str:
    """The blocks without prompts, each on its line of the page."""
    lines: list[str] = []
    for block in blocks:
        if not block.has_prompts:
            lines += [""] * (block.line - 1 - len(lines))
            lines += block.text.splitlines()
    return "\n".join(lines) + "\n"


def run(page: Path, name: str) -> bool:
    """Run the page's blocks in order in one namespace; report the first failure on stdout."""
    blocks = python_blocks(page.read_text(encoding="utf-8"))
    program = Path.cwd() / f"{page.stem}_md.py"
    program.write_text(program_text(blocks), encoding="utf-8")

    main = ModuleType("__main__")
    main.__file__ = str(program)
    sys.modules["__main__"] = main
    sys.path.insert(0, str(program.parent))

    for block in blocks:
        if block.has_prompts:
            passed = run_prompts(block, name, main)
        else:
            passed = run_statements(block, name, main, program)
        if not passed:
            return False
    return True


def run_statements(block: Block, name: str, main: ModuleType, program: Path) -> bool:
    # A file for each block: CPython compiles `module.name(...)` otherwise where it can see the
    # import, so a block on its own has other instructions than the same lines in the whole page.
    source = program.with_name(f"{program.stem}_{block.line}.py")
    text = "\n" * (block.line - 1) + block.text
    source.write_text(text, encoding="utf-8")
    try:
        exec(compile(text, str(source), "exec", dont_inherit=True), main.__dict__)
    except Exception as error:
        print(f"{name}:{failing_line(error, source) or block.line}: {error!r}")
        traceback.print_exc(file=sys.stdout)
        return False
    return True


def failing_line(error: Exception, program: Path) -> int | None:
    """The page's line that was being run or read when the error came up."""
    if isinstance(error, SyntaxError) and error.filename == str(program):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((f.lineno for f in reversed(frames) if f.filename == str(program)), None)


def run_prompts(block: Block, name: str, main: ModuleType) -> bool:
    test = doctest.DocTestParser().get_doctest(
        block.text, main.__dict__, name=name, filename=name, lineno=block.line - 1
    )
    test.globs = main.__dict__  # the parser made a copy; later blocks see what this one defines
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    if runner.failures:
        print(f"{name}:{block.line}: {runner.failures} of {runner.tries} prompts differ")
        print("".join(report))
    return not runner.failures


if __name__ == "__main__":
    sys.exit(0 if run(Path(sys.argv[1]), sys.argv[2]) else 1)
