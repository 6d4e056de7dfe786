"""Kernels in, a header and a shared library out: C functions that need no Python and no LLVM.

Each kernel becomes one function for given types. It returns 0, or the number of the check that has
failed; `NAME_message` says which that is. An array is a pointer, its extents, and, where the layout
does not say them, its strides in bytes. Numbers that the kernel returns are put where the last
pointers lead.

A C compiler links the library: `cc`, or what the variable CC names.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from whorl.artifacts import Artifact
from whorl.errors import WhorlError
from whorl.fast_dataclasses import dataclass
from whorl.fleet.stand_in import BadNode, named_object
from whorl.kernels import NumericKernel
from whorl.kernels.argument_types import parsed_types
from whorl.launch import machine
from whorl.launch.image import PYTHON
from whorl.launch.launch_record import CHECKPOINT, ENTRY, FIRST_SLOT, STATUS, offsets
from whorl.launch.plain_launch import slots_from, unpacked
from whorl.launch.slot_types import ArrayType, Scalar
from whorl.reads.trace import Path as ReadPath
from whorl.store.installed_bundles import unused_bundles

_TYPES: Final = {
    ("f", 64): "double", ("f", 32): "float", ("b", 8): "bool",
    **{("i", bits): f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{("u", bits): f"uint{bits}_t" for bits in (8, 16, 32, 64)},
}  # fmt: skip
_KEYWORDS: Final = """
    auto bool break case catch char class const continue default delete do double else enum extern
    false float for friend goto if inline int int8_t int16_t int32_t int64_t long namespace new
    operator private protected public record register restrict result return short signed sizeof
    static struct switch template this throw true try typedef typename union unsigned using
    virtual void volatile while
"""
"""Names that parameters cannot have in C or C++, or that the entries use themselves."""
_WANTED: Final = re.compile(r"\s*([\w.]+:[\w.]+)\s*\((.*)\)\s*(?:as\s+(\w+))?\s*")


class NotForC(WhorlError, ValueError):
    """A kernel that cannot be a C function; `kernel` and `reason` say which, and why."""

    def __init__(self, kernel: str, reason: str) -> None:
        super().__init__(kernel, reason)
        self.kernel = kernel
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.kernel} cannot be called from C: {self.reason}"


@dataclass(frozen=True, slots=True)
class CFunction:
    """A function of C, and the code behind it."""

    name: str
    parameters: tuple[str, ...]  # as C declares them
    body: str
    code: bytes  # an object file
    messages: tuple[str, ...]
    about: str


def c_function(wanted: str, target: str) -> CFunction:
    """The C function for a kernel and types, such as `solver:step(f64[::1], i64) as solve_step`."""
    match = _WANTED.fullmatch(wanted)
    if match is None:
        raise NotForC(wanted, "write module:kernel(types), such as solver:step(f64[:, ::1], i64)")
    name, types, alias = match.groups()
    try:
        kernel = named_object(name)
        if not isinstance(kernel, NumericKernel):
            raise BadNode(f"{name} is no kernel of whorl.kernel")
        with unused_bundles():  # which hold no text for LLVM
            artifact = kernel.compile(*parsed_types(types), target=target).artifact
    except Exception as error:
        raise NotForC(wanted.strip(), str(error)) from error
    refusal = _refusal(artifact)
    if refusal:
        raise NotForC(name, refusal)
    return _function(alias or re.sub(r"\W", "_", name.partition(":")[2]), artifact, wanted, target)


def _refusal(artifact: Artifact) -> str:
    """Why an artifact needs Python; nothing if it does not."""
    described = artifact.metadata
    if described["arrays"]:
        return "it returns arrays, which are objects of Python; let it write into an argument"
    if described["checkpoints"] is not None:
        return "it has checkpoints"
    if described["prints"]:
        return "it prints"
    for path, type in slots_from(described["slots"]):
        if path.root != "arg":
            return f"it reads {path} at each launch; make it an argument, or a constant"
        number = type.element if isinstance(type, ArrayType) else type
        if (number.kind, number.bits) not in _TYPES:
            return f"{path} is complex"
    return ""


def _function(name: str, artifact: Artifact, about: str, target: str) -> CFunction:
    described = artifact.metadata
    slots = slots_from(described["slots"])
    first, results = offsets([type for _, type in slots])
    order = list(described["parameters"])
    rows = sorted(
        zip(slots, first, strict=True), key=lambda row: (order.index(row[0][0].name), row[1])
    )
    parameters: list[str] = []
    lines = []
    for (path, type), word in rows:
        declared, stored = _slot(_identifier(path), type, word)
        parameters += declared
        lines += stored
    kinds = list(_results(described["result"]))
    outs = [f"{_TYPES[kind]} *result{number or ''}" for number, kind in enumerate(kinds)]
    total = results + len(kinds)
    entry = f"whorl_kernel_{name}"
    unpack = [
        f"    memcpy({place}, &record[{results + number}], sizeof *{place});"
        for number, place in enumerate(f"result{number or ''}" for number in range(len(kinds)))
    ]
    body = "\n".join(
        [
            f"    int64_t record[{max(total, FIRST_SLOT)}] = {{1}};",
            *lines,
            f"    {entry}(record);",
            f"    if (record[{STATUS}] != 0) return (int)record[{STATUS}];",
            *unpack,
            "    return 0;",
        ]
    )
    assert CHECKPOINT < FIRST_SLOT  # which stays 0
    text = unpacked(artifact, "llvm").decode()
    code = machine.machine_code(re.sub(rf"@{ENTRY}\b", f"@{entry}", text), target)
    messages = tuple(_message(*site) for site in described["sites"])
    return CFunction(name, (*parameters, *outs), body, code, messages, about.strip())


def _message(error: str, text: str, line: str, types: object, *raised: Any) -> str:
    """A check in words: what it says, or what the kernel raises, and where."""
    words = text or ", ".join(map(str, raised[0] if raised else ()))
    return f"{error}: {words} (at {line})"


def _identifier(path: ReadPath) -> str:
    """A name in C for what is at a path: `self.x` becomes self_x."""
    name = re.sub(r"\W+", "_", str(path).partition(":")[2]).strip("_")
    return f"{name}_" if name in _KEYWORDS.split() else name


def _slot(name: str, type: Scalar | ArrayType, word: int) -> tuple[list[str], list[str]]:
    """How a slot is declared, and how it is put into the record."""
    if isinstance(type, Scalar):
        is_float = type.kind == "f"
        copied = f"    memcpy(&record[{word}], &{name}, sizeof {name});"
        number = copied if is_float else f"    record[{word}] = (int64_t){name};"
        return [f"{_TYPES[type.kind, type.bits]} {name}"], [number]
    const = "" if type.writeable else "const "
    declared = [f"{const}{_TYPES[type.element.kind, type.element.bits]} *{name}"]
    stored = [f"    record[{word}] = (int64_t)(intptr_t){name};"]
    words = ["size", *(["stride"] if type.has_strides else [])]
    for kind in words:
        for axis in range(type.ndim):
            word += 1
            declared.append(f"int64_t {name}_{kind}{axis}")
            stored.append(f"    record[{word}] = {name}_{kind}{axis};")
    return declared, stored


def _results(plain: Any) -> Iterator[tuple[str, int]]:
    """The kinds and bits of the numbers that a kernel returns."""
    match plain:
        case None:
            return
        case ["number", kind, bits]:
            yield kind, bits
        case ["tuple", parts]:
            for part in parts:
                yield from _results(part)
        case _:
            raise NotForC("a result", "it is an array")


def write_library(functions: Iterable[CFunction], base: Path) -> tuple[Path, Path]:
    """Write the header and the shared library; returns both paths. `base` has no suffix."""
    every = list(functions)
    header = base.with_name(f"{base.name}.h")
    library = base.with_name(f"lib{base.name}.so")
    stem = re.sub(r"\W", "_", base.name)
    header.write_text(_header(every, stem), encoding="utf-8")
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if shutil.which(compiler[0]) is None:
        raise NotForC(base.name, f"there is no C compiler {compiler[0]!r}; install one, or set CC")
    with tempfile.TemporaryDirectory(prefix="whorl-c-") as folder:
        place = Path(folder)
        (place / "entries.c").write_text(_source(every, stem, header.read_text(encoding="utf-8")))
        names = "; ".join([*(each.name for each in every), f"{stem}_message"])
        (place / "exports").write_text(f"{{ global: {names}; local: *; }};\n")
        objects = []
        for number, each in enumerate(every):
            (place / f"kernel{number}.o").write_bytes(each.code)
            objects.append(f"kernel{number}.o")
        words = [
            *compiler, "-shared", "-fPIC", "-O2", "-o", str(library.absolute()), "entries.c",
            *objects, "-Wl,--version-script=exports", "-Wl,--no-undefined", "-lm",
        ]  # fmt: skip
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:]
            raise NotForC(base.name, f"the C compiler says: {''.join(last)}")
    return header, library


def _prototype(function: CFunction) -> str:
    return f"int {function.name}({', '.join(function.parameters) or 'void'})"


def _header(functions: list[CFunction], stem: str) -> str:
    guard = f"{stem.upper()}_H"
    lines = [
        "/* Kernels compiled by whorl. A function returns 0, or the number of the check that",
        f"   failed: {stem}_message(name, number) says which. Strides count bytes. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "#include <stdbool.h>",
        "#include <stdint.h>",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *(f"/* {each.about} */\n{_prototype(each)};\n" for each in functions),
        f"const char *{stem}_message(const char *name, int number);",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def _source(functions: list[CFunction], stem: str, header: str) -> str:
    """The entries, which fill launch records, and functions that do nothing for Python's."""
    parts = [header, "#include <string.h>"]
    parts += [f"long {name}(void) {{ return 0; }}" for name in sorted(PYTHON)]
    for each in functions:
        parts.append(f"void whorl_kernel_{each.name}(int64_t *);")
        parts.append(f"{_prototype(each)} {{\n{each.body}\n}}")
    cases = [
        f"    if (!strcmp(name, {json.dumps(each.name)}) && number == {number}) "
        f"return {json.dumps(message)};"
        for each in functions
        for number, message in enumerate(each.messages, 1)
    ]
    body = "\n".join([*cases, '    return number ? "a check has failed" : "";'])
    parts.append(f"const char *{stem}_message(const char *name, int number) {{\n{body}\n}}")
    return "\n".join(parts) + "\n"
