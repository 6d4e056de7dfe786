"""A C template and what its placeholders name in, a shared object out, called through ctypes.

A second compiler for `whorl.jit`, complete and small. A kernel names the global that holds its
template; the template holds a C function of the kernel's name:

    SCALE = 2.0
    SAXPY = '''
    void saxpy(int64_t n, {x.dtype} a, const {x.dtype}* x, {x.dtype}* y)
    {
        #pragma GCC unroll {option.unroll}
        for (int64_t i = 0; i < n; i++) y[i] += a * x[i] * {SCALE};
    }
    '''

    @whorl.jit(CCompiler(), options={"template": "SAXPY", "unroll": 4, "headers": ()})
    def saxpy(n, a, x, y): ...

    {x.dtype}         the C type of the elements of an argument
    {config.tile}     an argument, or a member of one, as a constant
    {option.unroll}   an option of the kernel
    {SCALE}           a global of the kernel, or a member of one, as a constant

Braces around anything else are C's own: a brace that is followed by a space or a line's end, say.
The parameters of the C function are parameters of the kernel, by name; those that it leaves out
are there for placeholders. Pointers take C-contiguous arrays, everything else goes by value.
Everything that decides what is compiled is looked at through `inputs`, so whorl knows it.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import normpath, realpath
from pathlib import Path, PurePath
from typing import Any, Final

import numpy as np

import whorl
from whorl.reads import AbsentRead, View

from .flags import IN_CC, IN_CFLAGS, first_refused

__all__ = ["CCompiler", "CFailed", "CMismatch", "NoCCompiler"]

Convert = Callable[[Any], Any]

# The spellings that parameters and results may have; of those for one dtype, the first is written.
C_TYPES: Final[Mapping[str, Any]] = {
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "int8_t": ctypes.c_int8,
    "int16_t": ctypes.c_int16,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint8_t": ctypes.c_uint8,
    "uint16_t": ctypes.c_uint16,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "_Bool": ctypes.c_bool,
    "int": ctypes.c_int,
    "long": ctypes.c_long,
    "unsigned": ctypes.c_uint,
    "size_t": ctypes.c_size_t,
}
_DTYPES: Final = {name: np.dtype(c_type) for name, c_type in C_TYPES.items()}
_SPELLINGS: Final = {dtype.str: name for name, dtype in reversed(_DTYPES.items())}

_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\}")
_NO_CODE: Final = re.compile(r"/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.DOTALL | re.M)
_QUALIFIERS: Final = frozenset(("const", "extern", "restrict", "__restrict__"))
_SEARCHED: Final = re.compile(r"^#include <.*?$(.*?)^End of search list", re.DOTALL | re.MULTILINE)
_FRAMEWORKS: Final = " (framework directory)"
_LOCATION: Final = re.compile(r"^([^:\s]+):(\d+):.*?\berror:", re.MULTILINE)


class NoCCompiler(RuntimeError):
    """There is nothing to run under the name that CC gives.

    >>> print(NoCCompiler("gcc-99", "No such file or directory"))
    CC is 'gcc-99', which does not run: No such file or directory.
      Install a C compiler, or set the environment variable CC to the one there is.
    """

    def __init__(self, cc: str, reason: str) -> None:
        super().__init__(cc, reason)
        self.cc = cc
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"CC is {self.cc!r}, which does not run: {self.reason}.\n"
            "  Install a C compiler, or set the environment variable CC to the one there is."
        )


class CFailed(RuntimeError):
    """What the C compiler said of a filled template; `line` is the source line it objects to."""

    def __init__(self, kernel: str, message: str, line: str) -> None:
        super().__init__(kernel, message, line)
        self.kernel = kernel
        self.message = message
        self.line = line

    def __str__(self) -> str:
        said = self.message.strip().replace("\n", "\n    ")
        at = f"\n  at {self.line}" if self.line else ""
        return (
            f"The C code of {self.kernel} does not compile.{at}\n    {said}\n"
            "  Mend the template, or what its placeholders, headers and CFLAGS bring into it."
        )


class CMismatch(TypeError):
    """A template, an argument or a flag that does not fit the rest: what, why, what next."""

    def __init__(self, kernel: str, what: str, remedy: str) -> None:
        super().__init__(kernel, what, remedy)
        self.kernel = kernel
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.kernel}: {self.what}.\n  {self.remedy}"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a C function, or its result, which has no name."""

    name: str
    c_type: str
    is_pointer: bool
    is_const: bool

    @classmethod
    def of(cls, declaration: str) -> Parameter:
        """The parameter that a declaration declares.

        >>> Parameter.of("const float *restrict x")
        Parameter(name='x', c_type='float', is_pointer=True, is_const=True)
        """
        *words, name = re.findall(r"\w+|\S", declaration)
        c_type = " ".join(word for word in words if word not in _QUALIFIERS and word != "*")
        return cls(name, c_type, "*" in words, "const" in words)


class CCompiler:
    """Compiles C templates with the system's C compiler."""

    name = "ccompiler"
    version = "2"
    environment: Final[Mapping[str, str]] = {"CFLAGS": "-O2", "CC": "cc"}

    def toolchain(self) -> str:
        """What identifies the C compiler: asked for with the first call, once for each CC."""
        return _tool(os.environ.get("CC", self.environment["CC"])).identity

    def compile(self, program: whorl.Program, inputs: whorl.Inputs) -> whorl.Artifact:
        """Fill the template, compile it, and say how the function is called."""
        template = _template(program, inputs)
        source = _PLACEHOLDER.sub(lambda match: _filled(match[1], program, inputs), template)
        returns, parameters = _prototype(program, source)
        for parameter in parameters:
            _check(parameter, program, inputs)
        image = _shared_object(program, inputs, source)
        passed = tuple(
            (inputs.names.index(parameter.name), parameter.c_type, parameter.is_pointer)
            for parameter in parameters
        )
        return whorl.Artifact(
            {"image": image, "source": source.encode()},
            {"symbol": program.function.__name__, "returns": returns, "parameters": passed},
        )

    def load(self, artifact: whorl.Artifact, device: str) -> Callable[..., Any]:
        """Open the shared object, whose file is then no longer needed."""
        with tempfile.TemporaryDirectory(prefix="ccompiler-") as folder:
            file = Path(folder, "image.so")
            file.write_bytes(artifact.payloads["image"])
            library = ctypes.CDLL(str(file))
        metadata: Mapping[str, Any] = artifact.metadata
        function = library[metadata["symbol"]]
        function.restype = C_TYPES.get(metadata["returns"])
        slots = [(place, _convert(*how)) for place, *how in metadata["parameters"]]

        def launch(*values: Any) -> Any:
            return function(*[convert(values[place]) for place, convert in slots])

        return launch


# -- the template -------------------------------------------------------------------------


def _template(program: whorl.Program, inputs: whorl.Inputs) -> str:
    """The text of the template, from a global of the kernel.

    A docstring would be a pretty place for it, but a docstring is no part of a function's code:
    whorl would not notice that the C code is another. The value of a global is a read like any.
    """
    try:
        name = inputs.option("template")
        template = program.code.glob(name).value()
    except AbsentRead as error:
        raise CMismatch(
            program.name, str(error), 'Name a global: options={"template": "SAXPY"}.'
        ) from error
    if type(template) is not str:
        raise CMismatch(program.name, f"{name} is a {type(template).__name__}", "Make it a str.")
    return template


def _filled(placeholder: str, program: whorl.Program, inputs: whorl.Inputs) -> str:
    """The C text that a placeholder stands for."""
    name, *members = placeholder.split(".")
    try:
        if name == "option" and len(members) == 1:
            return _constant(inputs.option(members[0]), placeholder, program)
        if name not in inputs.names:
            view = program.code.glob(name)
        elif members == ["dtype"]:
            return _element(inputs.arg(name), program)
        else:
            view = inputs.arg(name)
        for member in members:
            view = view.attr(member)
    except AbsentRead as error:
        raise CMismatch(
            program.name,
            f"the template has a placeholder {{{placeholder}}}, but {error}",
            "Define it, or put a space after the brace if it is C's own.",
        ) from error
    return _constant(view.value(), placeholder, program)


def _constant(value: object, placeholder: str, program: whorl.Program) -> str:
    """A value as C writes it; text is C already."""
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case str():
            return value
        case bool():
            return str(int(value))
        case int() if type(value) is int and abs(value) < 1 << 63:
            return f"({value})" if value < 0 else str(value)
        case float() if math.isnan(value):
            return '__builtin_nan("")'
        case float() if math.isinf(value):
            return f"({'-' if value < 0 else ''}__builtin_inf())"
        case float():
            return f"({value!r})"
    raise CMismatch(
        program.name,
        f"{{{placeholder}}} is {value!r}, which is no constant in C",
        "Use an int of 64 bits, a float, a bool, or a str that is C code.",
    )


def _prototype(program: whorl.Program, source: str) -> tuple[str, list[Parameter]]:
    """What the C function of the kernel's name returns, and what it takes."""
    name = program.function.__name__
    code = _NO_CODE.sub(" ", source)
    found = re.search(rf"([\w\s]+)\b{name}\s*\(([^()]*)\)\s*\{{", code)
    if found is None:
        raise CMismatch(
            program.name,
            f"the template defines no C function {name!r} that returns a number or nothing",
            f"Write one: void {name}(...) {{ ... }}",
        )
    result = Parameter.of(f"{found[1]} {name}")
    if result.c_type not in ("void", *C_TYPES):
        raise _unknown_type(program, f"{name} returns {result.c_type!r}")
    declared = found[2].strip()
    if declared in ("", "void"):
        return result.c_type, []
    return result.c_type, [Parameter.of(declaration) for declaration in declared.split(",")]


# -- arguments ----------------------------------------------------------------------------


def _element(view: View, program: whorl.Program) -> str:
    """The C type of an array's elements; whorl refuses what is no array."""
    fact = view.array()
    match fact:
        case ("array", str(dtype), _, "C", _) if dtype in _SPELLINGS:
            return _SPELLINGS[dtype]
    raise CMismatch(
        program.name,
        f"{view.path} is {fact!r}",
        f"Pass a C-contiguous array of {', '.join(_SPELLINGS)}, np.ascontiguousarray(...) say.",
    )


def _check(parameter: Parameter, program: whorl.Program, inputs: whorl.Inputs) -> None:
    """Say where a parameter of the C function and the argument of its name do not fit."""
    name, c_type = parameter.name, parameter.c_type
    if name not in inputs.names:
        raise CMismatch(
            program.name,
            f"its C function has a parameter {name!r}, which the Python function has not",
            f"The parameters to choose from are {', '.join(inputs.names)}.",
        )
    if c_type not in C_TYPES:
        raise _unknown_type(program, f"the parameter {name!r} is of type {c_type!r}")
    view = inputs.arg(name)
    if not parameter.is_pointer:
        _check_number(view, c_type, program)
        return
    found = _element(view, program)
    if _DTYPES[found] != _DTYPES[c_type]:
        raise CMismatch(
            program.name,
            f"{view.path} is an array of {found}, the C function takes {c_type}*",
            f"Write {{{name}.dtype}}* {name} in the template, or pass another array.",
        )
    if not parameter.is_const and view.array()[-1] == "r":
        raise CMismatch(
            program.name,
            f"{view.path} is read-only, the C function may write to it",
            f"Write const {c_type}* {name}, or pass an array that is writeable.",
        )


def _check_number(view: View, c_type: str, program: whorl.Program) -> None:
    """An int or bool may become any number, a float no integer; integers are checked at launch."""
    fact = view.type()
    match fact:
        case (("int" | "bool"),):
            return
        case ("float",) if _DTYPES[c_type].kind == "f":
            return
        case ("scalar", str(dtype)) if np.can_cast(dtype, _DTYPES[c_type], "same_kind"):
            return
    raise CMismatch(
        program.name,
        f"{view.path} is {fact!r}, the C function takes {c_type}",
        "Pass such a number, or change the parameter in the template.",
    )


def _unknown_type(program: whorl.Program, what: str) -> CMismatch:
    return CMismatch(program.name, what, f"The types to choose from are {', '.join(C_TYPES)}.")


def _convert(c_type: str, is_pointer: bool) -> Convert:
    """How an argument of the right type becomes one of the C function, at every launch."""
    if is_pointer:
        return lambda array: ctypes.c_void_p(array.ctypes.data)
    made, dtype = C_TYPES[c_type], _DTYPES[c_type]
    if dtype.kind == "f":
        return lambda number: made(float(number))
    if dtype.kind == "b":
        return lambda number: made(bool(number))
    lowest, highest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)

    def integer(number: Any) -> Any:
        if lowest <= number <= highest:
            return made(int(number))
        raise OverflowError(f"{number} does not fit into {c_type}")  # ctypes would cut it off

    return integer


# -- the C compiler -----------------------------------------------------------------------


def _shared_object(program: whorl.Program, inputs: whorl.Inputs, source: str) -> bytes:
    """Compile a source with the declared headers beside it, in a folder of its own."""
    name = f"{program.function.__name__}.c"
    files = {name: source.encode(), **_headers(program, inputs)}
    cc, flags = _checked_flags(program, inputs, files)
    system = _system(cc)
    with tempfile.TemporaryDirectory(prefix="ccompiler-") as folder:
        for file, content in files.items():
            Path(folder, file).write_bytes(content)
        command = [
            *("-include", "stdint.h", *flags, "-shared", "-fPIC", name, "-o", "image.so"),
            f"-ffile-prefix-map={folder}=.",  # the same bytes in every folder
            *("-MD", "-MF", "read.d", *system.naming, "-lm"),
            *(("-Wl,-z,defs",) if sys.platform == "linux" else ()),  # unknown functions fail here
        ]
        done = _tool(cc).run(*command, folder=folder)
        if done.returncode:
            said = done.stderr or done.stdout or f"{cc} ended with status {done.returncode}"
            raise CFailed(program.name, said, _line(said, files))
        _check_headers(program, Path(folder, "read.d").read_text(), files, system.folders)
        return Path(folder, "image.so").read_bytes()


def _checked_flags(
    program: whorl.Program, inputs: whorl.Inputs, files: Mapping[str, bytes]
) -> tuple[str, list[str]]:
    """What CC and CFLAGS say, if no word of it brings in files unseen.

    A declared file of flags, `@file`, stands for the words in it.
    """
    cc = inputs.env("CC") or ""
    words = _words(program, "CFLAGS", inputs.env("CFLAGS") or "")
    flags = []
    for word in words:
        content = files.get(word[1:]) if word.startswith("@") else None
        flags += [word] if content is None else _words(program, word, os.fsdecode(content))
    for name, given, rules in (
        ("CC", _words(program, "CC", cc)[1:], IN_CC),
        ("CFLAGS", flags, IN_CFLAGS),
    ):
        refused = first_refused(given, rules)
        if refused is not None:
            flag, rule = refused
            raise CMismatch(program.name, f"{name} has {flag!r}, {rule.why}", rule.remedy)
    return cc, flags


def _words(program: whorl.Program, name: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise CMismatch(
            program.name,
            f"{name} is {text!r}, which cannot be taken apart: {error}",
            "Quote it as for a shell.",
        ) from None


def _headers(program: whorl.Program, inputs: whorl.Inputs) -> dict[str, bytes]:
    """The declared headers by the names under which the template includes them."""
    try:
        paths = inputs.option("headers")
    except AbsentRead:
        return {}
    try:
        return {PurePath(path).name: inputs.file(path) for path in paths}
    except AbsentRead as error:
        raise CMismatch(
            program.name, str(error), "Headers are declared by paths beside the kernel's module."
        ) from error


def _check_headers(
    program: whorl.Program, rule: str, files: Mapping[str, bytes], system: Sequence[Path]
) -> None:
    """What the C compiler has read besides the system's headers is what was declared."""
    read = rule.replace("\\\n", " ").partition(":")[2]
    names = [
        re.sub(r"\\([ #])", r"\1", name).replace("$$", "$")
        for name in re.findall(r"(?:\\.|\S)+", read)
    ]
    undeclared = [name for name in names if name not in files and not _is_below(name, system)]
    if undeclared:
        raise CMismatch(
            program.name,
            f"the C code includes {', '.join(undeclared)}, which is not declared",
            'Declare headers by their paths: options={"headers": ("shift.h",)}.',
        )


def _is_below(name: str, folders: Sequence[Path]) -> bool:
    """Whether a file is in one of the folders by its name; where a link leads may change."""
    return any(Path(normpath(name)).is_relative_to(folder) for folder in folders)


def _line(message: str, files: Mapping[str, bytes]) -> str:
    """The source line that the first error is about."""
    found = _LOCATION.search(message)
    if found is None or found[1] not in files:
        return ""
    lines = files[found[1]].decode(errors="replace").splitlines()
    number = int(found[2])
    text = lines[number - 1].strip() if number <= len(lines) else ""
    return f"{found[1]}:{number}: `{text}`"


@dataclass(frozen=True, slots=True)
class Tool:
    """The program behind a value of CC: what it was when it said its version is what compiles."""

    cc: str
    search: str  # PATH, in which it finds its own parts
    identity: str = ""

    def run(self, *arguments: str, folder: str) -> subprocess.CompletedProcess[str]:
        """Run it where nothing but the arguments can change what it makes: no CPATH, no LANG."""
        try:
            return subprocess.run(
                [*shlex.split(self.cc), *arguments],
                cwd=folder,
                env={"PATH": self.search, "LC_ALL": "C", "TMPDIR": folder},
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        except (OSError, IndexError, ValueError) as error:
            raise NoCCompiler(self.cc, getattr(error, "strerror", None) or str(error)) from error


@functools.cache
def _tool(cc: str) -> Tool:
    """Ask a C compiler for its version; with the machine and its C library, that identifies it."""
    tool = Tool(cc, os.environ.get("PATH", os.defpath))
    done = tool.run("--version", folder=tempfile.gettempdir())
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        raise NoCCompiler(cc, f"asked for its --version, it ended with status {done.returncode}")
    library = " ".join(platform.libc_ver()).strip()
    identity = (lines[0], platform.machine(), library)
    return replace(tool, identity=", ".join(part for part in identity if part))


@dataclass(frozen=True, slots=True)
class System:
    """How a C compiler finds headers by itself, without anybody's flags, and tells of them."""

    folders: tuple[Path, ...]
    naming: tuple[str, ...]  # the flag that it needs to name headers as it found them


@functools.cache
def _system(cc: str) -> System:
    """Ask a C compiler where it finds the headers of the system."""
    for naming in (("-fno-canonical-system-headers",), ()):  # gcc would name where links lead
        words = (*naming, "-E", "-Wp,-v", "-xc", os.devnull)
        done = _tool(cc).run(*words, folder=tempfile.gettempdir())
        listed = _SEARCHED.search(done.stderr)
        if listed is not None and not done.returncode:
            lines = (line.removesuffix(_FRAMEWORKS).strip() for line in listed[1].splitlines())
            found = [line for line in lines if line]
            both = {Path(place(each)) for each in found for place in (normpath, realpath)}
            return System(tuple(both), naming)
    raise NoCCompiler(cc, "asked where it finds the headers of the system, it did not say")
