"""A compiler that is not whorl's own: examples/ccompiler runs cc when it must, and only then."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.processes.programs import ROOT, printed, written

CC: Final = shutil.which("cc")

pytestmark = pytest.mark.skipif(CC is None, reason="there is no C compiler `cc` on this machine")

# A kernel's module. Its C function reads a global, a member of a global, an option, a header and
# the type of an array; the edits below are replacements in this text.
KERNELS: Final = """
import whorl
from types import SimpleNamespace
from examples.ccompiler.ccompiler import CCompiler

SCALE = 2.0
UNREAD = 1
CONFIG = SimpleNamespace(tile=8, label="a")
SAXPY = '''
#include "shift.h"
/* void saxpy(int wrong) { is only a comment */
{x.dtype} saxpy(int64_t n, {x.dtype} a, const {x.dtype}* x, {x.dtype}* restrict y)
{
    #pragma GCC unroll {option.unroll}
    for (int64_t i = 0; i < n; i++) y[i] += a * x[i] * {SCALE} + SHIFT;
    return {CONFIG.tile} + {option.unroll}; // {
}
'''

@whorl.jit(CCompiler(), options={"template": "SAXPY", "unroll": 4, "headers": ("shift.h",)})
def saxpy(n, a, x, y):
    "y += a * x, scaled and shifted."
    # Its code is in C.
"""

# What a process does: call the kernel, and tell what it took.
CALL: Final = """
import json, sys
import numpy as np
from whorl.calls.events import listeners
import kernels

job = json.loads(sys.argv[1])
events, why = [], []
kernel = kernels.saxpy.with_options(**job["options"])
x = np.arange(3, dtype=job["dtype"])
y = np.ones(3, dtype=job["dtype"])
if job["list"]:
    x = x.tolist()
said = str(kernel.explain(3, 10.0, x, y)) if job["explain"] else ""

def listen(event):
    events.append(event.what.name)
    if "why" in event.detail and event.what.name == "MISSED":
        why.append(str(event.detail["why"]))

listeners.append(listen)
try:
    returned = kernel(3, 10.0, x, y)
except Exception as error:
    print(json.dumps({"error": type(error).__name__, "message": str(error), "events": events}))
else:
    print(json.dumps({"y": y.tolist(), "returned": returned, "dtype": str(y.dtype),
                      "events": events, "why": "".join(why), "explained": said}))
"""

RIGHT: Final = {"y": [1.0, 21.0, 41.0], "returned": 12.0, "dtype": "float64"}
HIT: Final = ["FOUND", "LOADED", "LAUNCHED"]


@dataclass
class Workshop:
    """A folder with kernels, a store, and a C compiler that writes down its calls."""

    folder: Path
    store: Path
    cc: Path
    environment: dict[str, str] = field(default_factory=dict)

    def call(
        self,
        *,
        options: Mapping[str, object] | None = None,
        dtype: str = "f8",
        is_list: bool = False,
        explain: bool = False,
    ) -> dict[str, Any]:
        """What a new process says that calls the kernel once."""
        job = {"options": options or {}, "dtype": dtype, "list": is_list, "explain": explain}
        answer: dict[str, Any] = printed(
            "-c", CALL, json.dumps(job), path=(self.folder, ROOT), environment=self.variables
        )
        return answer

    @property
    def variables(self) -> dict[str, str]:
        store = {"CC": str(self.cc), "WHORL_CACHE_DIR": str(self.store)}
        return {**store, **self.environment}

    def edit(self, old: str, new: str, file: str = "kernels.py") -> None:
        text = (self.folder / file).read_text()
        assert text.count(old) == 1
        (self.folder / file).write_text(text.replace(old, new))

    @property
    def compiles(self) -> int:
        """How often cc has compiled, not counting that it was asked about itself."""
        return sum("-shared" in line for line in self._calls())

    @property
    def versions(self) -> int:
        return sum("--version" in line for line in self._calls())

    def _calls(self) -> list[str]:
        log = self.cc.with_suffix(".log")
        return log.read_text().splitlines() if log.exists() else []


def opened(folder: Path, cc: Path, store: Path) -> Workshop:
    files = {"kernels.py": KERNELS, "shift.h": "#define SHIFT 0.0\n"}
    return Workshop(written(folder, files), store, cc)


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A store that one process has filled, for others to copy."""
    folder = tmp_path_factory.mktemp("cold")
    cc = written(folder, {"bin/cc": f'#!/bin/sh\necho "$*" >> "$0.log"\nexec {CC} "$@"\n'})
    script = cc / "bin" / "cc"
    script.chmod(0o755)
    workshop = opened(folder / "kernels", script, folder / "store")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CC", "CFLAGS"):
            patch.delenv(name, raising=False)
        answer = workshop.call()
    assert answer | RIGHT == answer
    assert answer["events"][-4:] == ["COMPILED", "STORED", "LOADED", "LAUNCHED"]
    assert "first compile" in answer["why"]
    assert (workshop.compiles, workshop.versions) == (1, 1)
    return workshop


@pytest.fixture
def warm(compiled_once: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """The same kernels in another folder, and a copy of the store. The log begins anew."""
    for name in ("CC", "CFLAGS"):
        monkeypatch.delenv(name, raising=False)
    compiled_once.cc.with_suffix(".log").unlink(missing_ok=True)
    shutil.copytree(compiled_once.store, tmp_path / "store")
    return opened(tmp_path / "kernels", compiled_once.cc, tmp_path / "store")


@pytest.fixture
def cold(warm: Workshop) -> Workshop:
    shutil.rmtree(warm.store)
    return warm


# -- what is found ------------------------------------------------------------------------


def test_a_second_process_finds_the_code_and_starts_no_compile(compiled_once: Workshop) -> None:
    compiled_once.cc.with_suffix(".log").unlink(missing_ok=True)
    answer = compiled_once.call(explain=True)
    assert answer | RIGHT == answer
    assert "hit, its artifact is in the store" in answer["explained"]
    assert answer["events"][-2:] == ["LOADED", "LAUNCHED"]
    assert "COMPILED" not in answer["events"]
    # Which compiler it would be is asked of the compiler itself, once in a process.
    assert (compiled_once.compiles, compiled_once.versions) == (0, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("UNREAD = 1", "UNREAD = object()"),
        ('label="a"', "label=object(), more=1"),
        ("# Its code is in C.", "# Its code is in another language."),
        ('"y += a * x, scaled and shifted."', '"The same in other words."'),
        ("\nSCALE = 2.0", "\n\n\n\nSCALE = 2.0"),
        ("SCALE = 2.0\n", "SCALE = 4.0 / 2\n"),
    ],
    ids=["unread global", "unread member", "comment", "docstring", "lines above", "spelling"],
)
def test_an_edit_of_what_was_not_read_is_a_hit(warm: Workshop, old: str, new: str) -> None:
    warm.edit(old, new)
    answer = warm.call()
    assert answer | RIGHT == answer
    assert answer["events"] == HIT
    assert warm.compiles == 0


def test_in_another_directory_it_is_a_hit(warm: Workshop, compiled_once: Workshop) -> None:
    assert warm.folder != compiled_once.folder
    assert warm.call()["events"] == HIT
    assert warm.compiles == 0


@pytest.mark.parametrize(
    "environment",
    [{"CPATH": ".", "LDFLAGS": "-g"}, {"LANG": "de_DE.UTF-8"}, {"CFLAGS": "-O2"}],
    ids=["undeclared", "language", "the default said"],
)
def test_variables_that_are_not_declared_and_defaults_that_are_said_change_nothing(
    warm: Workshop, environment: dict[str, str]
) -> None:
    warm.environment = environment
    answer = warm.call()
    assert answer["events"] == HIT
    assert answer | RIGHT == answer
    assert warm.compiles == 0


def test_a_header_that_is_not_declared_is_not_there_for_cc_either(warm: Workshop) -> None:
    written(warm.folder, {"other.h": "#define OTHER 1\n"})
    warm.edit('#include "shift.h"', '#include "shift.h"\n#include "other.h"')
    warm.environment = {"CPATH": str(warm.folder)}
    answer = warm.call()
    assert (answer["error"], "other.h: No such file" in answer["message"]) == ("CFailed", True)
    warm.environment = {"CFLAGS": f"-I{warm.folder}"}
    answer = warm.call()
    assert answer["error"] == "CMismatch"
    assert "other.h, which is not declared" in answer["message"]
    answer = warm.call(options={"headers": ("shift.h", "other.h")})
    assert answer | RIGHT == answer


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ("-I {}", "#include <hidden.h>"),
        ("-isystem {}", "#include <hidden.h>"),
        ("-isystem{}", "#include <hidden.h>"),
        ("-idirafter {}", "#include <hidden.h>"),
        ("-iquote {}", '#include "hidden.h"'),
        ("-include {}/hidden.h", ""),
        ("-imacros {}/hidden.h", ""),
    ],
)
def test_a_header_that_a_flag_brings_in_is_refused_until_it_is_declared(
    warm: Workshop, flags: str, line: str
) -> None:
    place = written(warm.folder / "more", {"hidden.h": "#define HIDDEN 1\n"})
    warm.edit('#include "shift.h"', f'#include "shift.h"\n{line}')
    warm.environment = {"CFLAGS": flags.format(place)}
    answer = warm.call()
    assert answer["error"] == "CMismatch"
    assert f"includes {place}/hidden.h, which is not declared" in answer["message"]
    assert 'options={"headers": ' in answer["message"]


def test_a_link_to_a_header_of_the_system_is_no_header_of_the_system(cold: Workshop) -> None:
    (cold.folder / "more").mkdir()
    (cold.folder / "more" / "chosen.h").symlink_to("/usr/include/math.h")
    cold.edit('#include "shift.h"', '#include "shift.h"\n#include <chosen.h>')
    cold.environment = {"CFLAGS": f"-isystem {cold.folder}/more"}
    assert "more/chosen.h, which is not declared" in cold.call()["message"]


def test_a_declared_header_is_read_instead_of_one_that_a_flag_brings_in(warm: Workshop) -> None:
    written(warm.folder, {"hidden.h": "#define HIDDEN 1.0\n"})
    place = written(warm.folder / "more", {"other.h": "#define OTHER 5.0\n"})
    warm.edit('#include "shift.h"', '#include "shift.h"\n#include "hidden.h"')
    warm.edit("+ SHIFT;", "+ SHIFT + HIDDEN;")
    warm.environment = {"CFLAGS": f"-isystem {place}"}
    headers = ("shift.h", "hidden.h")
    assert warm.call(options={"headers": headers})["y"] == [2.0, 22.0, 42.0]
    warm.edit("HIDDEN 1.0", "HIDDEN 2.0", "hidden.h")
    assert warm.call(options={"headers": headers})["y"] == [3.0, 23.0, 43.0]


def test_headers_of_the_system_need_no_declaration(warm: Workshop) -> None:
    lines = "#include <math.h>\n#include <stdio.h>\n#include <stddef.h>\n"
    warm.edit('#include "shift.h"', f'{lines}#include "shift.h"')
    answer = warm.call()
    assert answer | RIGHT == answer
    assert warm.compiles == 1


def test_a_file_of_flags_is_refused_until_it_is_declared(warm: Workshop) -> None:
    written(warm.folder, {"flags.txt": "-O1 '-DMORE=1.0'\n"})
    warm.edit("+ SHIFT;", "+ SHIFT + MORE;")
    for place in (f"@{warm.folder}/flags.txt", "@flags.txt", "-Wl,@flags.txt", "-Xlinker @flags"):
        warm.environment = {"CFLAGS": place}
        answer = warm.call()
        assert answer["error"] == "CMismatch"
        assert f"CFLAGS has {place.split()[-1]!r}, a file of flags" in answer["message"]
        assert 'Declare it with the headers: options={"headers": ' in answer["message"]
    warm.environment = {"CFLAGS": "@flags.txt"}
    options = {"headers": ("shift.h", "flags.txt")}
    assert warm.call(options=options)["y"] == [2.0, 22.0, 42.0]
    warm.edit("MORE=1.0", "MORE=2.0", "flags.txt")
    assert warm.call(options=options)["y"] == [3.0, 23.0, 43.0]
    warm.edit("-O1", "-L/usr/lib", "flags.txt")
    assert "CFLAGS has '-L/usr/lib'" in warm.call(options=options)["message"]


@pytest.mark.parametrize(
    "flag",
    ["-L/usr/lib", "-L..", "-L /usr/lib", "/usr/lib/more.o", "-Wl,-L/usr/lib", "-specs=/a/specs",
     "-Wa,-I/usr", "-fplugin=/a/b.so", "-fprofile-use=/a/b", "--sysroot=/a", "-B/a"],
)  # fmt: skip
def test_flags_that_bring_in_what_cc_does_not_tell_of_are_refused(
    cold: Workshop, flag: str
) -> None:
    cold.environment = {"CFLAGS": f"-O2 {flag}"}
    answer = cold.call()
    assert answer["error"] == "CMismatch"
    assert (
        f"CFLAGS has {flag.rsplit(maxsplit=1)[-1]!r}, which may bring in files" in answer["message"]
    )
    assert cold.compiles == 0


@pytest.mark.parametrize("flag", ["-MMD", "-MP", "-Wp,-MMD,x.d", "--write-user-dependencies"])
def test_flags_that_change_what_cc_tells_of_its_reads_are_refused(
    cold: Workshop, flag: str
) -> None:
    cold.environment = {"CFLAGS": flag}
    answer = cold.call()
    assert answer["error"] == "CMismatch"
    assert f"CFLAGS has {flag!r}" in answer["message"]
    assert cold.compiles == 0


def test_flags_that_name_no_file_to_read_are_passed_on(cold: Workshop) -> None:
    cold.environment = {"CFLAGS": "-DPLACE=/a/b -D OTHER=../c -ffile-prefix-map=/a=/b -lm -Wl,-O1"}
    answer = cold.call()
    assert answer | RIGHT == answer


@pytest.mark.parametrize("flag", ["-I/usr", "-isystem /usr", "-Wp,-I/usr", "@flags", "-MMD"])
def test_flags_for_headers_in_cc_are_refused(cold: Workshop, flag: str) -> None:
    cold.environment = {"CC": f"{cold.cc} {flag}"}
    answer = cold.call()
    assert answer["error"] == "CMismatch"
    assert f"CC has {flag.split(maxsplit=1)[0]!r}" in answer["message"]
    assert ("Put it into CFLAGS" in answer["message"]) == ("/usr" in flag)


# -- what is made anew --------------------------------------------------------------------

CHANGES: Final[dict[str, tuple[dict[str, Any], dict[str, Any], str]]] = {
    # edit or arguments of the call; what is different in the result; the path with old and new
    "a global": (
        {"edit": ("SCALE = 2.0", "SCALE = 3.0")},
        {"y": [1.0, 31.0, 61.0]},
        "global:kernels.SCALE: 2.0 -> 3.0",
    ),
    "its type": (
        {"edit": ("SCALE = 2.0", "SCALE = 2")},
        {},
        "global:kernels.SCALE: 2.0 -> 2",
    ),
    "a member of a global": (
        {"edit": ("tile=8", "tile=16")},
        {"returned": 20.0},
        "global:kernels.CONFIG.tile: 8 -> 16",
    ),
    "an option": (
        {"options": {"unroll": 2}},
        {"returned": 10.0},
        "option:unroll: 4 -> 2",
    ),
    "a header": (
        {"edit": ("SHIFT 0.0", "SHIFT 0.5", "shift.h")},
        {"y": [1.5, 21.5, 41.5]},
        "file:shift.h: b'#define SHIFT 0.0\\n' -> b'#define SHIFT 0.5\\n'",
    ),
    "CFLAGS": (
        {"environment": {"CFLAGS": "-O0 -g"}},
        {},
        "env:CFLAGS: '-O2' -> '-O0 -g'",
    ),
    "a dtype": (
        {"dtype": "f4"},
        {"dtype": "float32"},
        "arg:x: array of <f8, 1 dimension, C, writeable -> array of <f4, 1 dimension, C, writeable",
    ),
    "the template": (
        {"edit": ("y[i] +=", "y[i] -=")},
        {"y": [1.0, -19.0, -39.0]},
        "global:kernels.SAXPY: ",
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_what_was_read_is_one_compile_that_is_explained(
    warm: Workshop, what: str
) -> None:
    how, different, path = CHANGES[what]
    call = dict(how)
    if "edit" in call:
        warm.edit(*call.pop("edit"))
    warm.environment = call.pop("environment", {})
    answer = warm.call(explain=True, **call)
    assert {**answer, **RIGHT, **different} == answer
    assert path in answer["why"]
    assert answer["explained"] == answer["why"]
    assert warm.compiles == 1
    again = warm.call(**call)
    assert {**again, **RIGHT, **different} == again
    assert again["events"] == HIT
    assert warm.compiles == 1


def test_what_was_compiled_before_a_change_is_there_when_it_is_undone(warm: Workshop) -> None:
    warm.edit("SCALE = 2.0", "SCALE = 3.0")
    warm.call()
    warm.edit("SCALE = 3.0", "SCALE = 2.0")
    assert warm.call()["events"] == HIT
    assert warm.compiles == 1


def test_another_compiler_behind_the_same_name_is_another_program(
    warm: Workshop, tmp_path: Path
) -> None:
    script = tmp_path / "cc"
    version = 'case "$*" in --version) echo cc {};; *) exec {} "$@";; esac\n'
    for number, reason in ((1, "the nearest compile"), (2, "toolchain has changed")):
        script.write_text("#!/bin/sh\n" + version.format(number, CC))
        script.chmod(0o755)
        warm.environment = {"CC": str(script)}
        answer = warm.call()
        assert answer | RIGHT == answer
        assert "COMPILED" in answer["events"], reason
    assert "toolchain: cc 1, " in answer["why"]
    assert " -> cc 2, " in answer["why"]


def test_in_one_process_every_call_looks_again(cold: Workshop) -> None:
    program = """
import json, os, pathlib, sys
import numpy as np
import kernels

def call(n=3, dtype="f8"):
    y = np.ones(3, dtype)
    kernels.saxpy(n, 10.0, np.arange(3, dtype=dtype), y)
    return y.tolist()

header = pathlib.Path(kernels.__file__).with_name("shift.h")
results = [call()]
header.write_text("#define SHIFT 0.5\\n")
results.append(call())
header.write_text("#define SHIFT 0.0\\n")
results.append(call())
kernels.SCALE = 3.0
results.append(call())
kernels.SCALE = 2.0
os.environ["CFLAGS"] = "-O1"
results.append(call())
del os.environ["CFLAGS"]
results.append(call(n=2))
results.append(call(dtype="f4"))
try:
    call(n=2**63)
except OverflowError as error:
    results.append(str(error))
print(json.dumps(results))
"""
    results = printed("-c", program, path=(cold.folder, ROOT), environment=cold.variables)
    base = RIGHT["y"]
    assert results == [
        base, [1.5, 21.5, 41.5], base, [1.0, 31.0, 61.0], base, [1.0, 21.0, 1.0], base,
        f"{2**63} does not fit into int64_t",
    ]  # fmt: skip
    assert cold.compiles == 5


def test_a_member_of_an_argument_is_a_constant_and_its_neighbours_are_not_read(
    cold: Workshop,
) -> None:
    text = """
import json
from types import SimpleNamespace
import whorl
from examples.ccompiler.ccompiler import CCompiler

TILES = "long tiles(long n) { return (n + {config.grid.tile} - 1) / {config.grid.tile}; }"

@whorl.jit(CCompiler(), options={"template": "TILES"})
def tiles(config, n): ...

def config(tile, **more):
    return SimpleNamespace(grid=SimpleNamespace(tile=tile, **more), **more)

print(json.dumps([
    tiles(config(8), 9), tiles(config(8, uid=object()), 17), tiles(config(4), n=9),
    tiles.stats()["compiled"],
]))
"""
    program = written(cold.folder, {"tiles.py": text}) / "tiles.py"
    assert printed(program, path=(ROOT,), environment=cold.variables) == [2, 3, 3, 2]
    assert cold.compiles == 2


def test_an_audit_of_the_compiler_finds_nothing(warm: Workshop) -> None:
    program = """
import json
import numpy as np
from whorl.testing import audit
import kernels

with audit() as report:
    for dtype in ("f8", "f4"):
        kernels.saxpy(3, 10.0, np.arange(3, dtype=dtype), np.ones(3, dtype))
print(json.dumps([report.compared, [str(finding) for finding in report.findings]]))
"""
    for flags in ("-O2", "-O2 -g"):
        warm.environment = {"CFLAGS": flags}
        answer = printed("-c", program, path=(warm.folder, ROOT), environment=warm.variables)
        assert answer == [2, []]


# -- what goes wrong ----------------------------------------------------------------------


def test_without_a_c_compiler_the_error_names_cc(cold: Workshop) -> None:
    cold.environment = {"CC": "/nonexistent/cc"}
    answer = cold.call()
    assert answer["error"] == "NoCCompiler"
    assert answer["message"].startswith("CC is '/nonexistent/cc', which does not run: No such file")
    assert "Install a C compiler" in answer["message"]


@pytest.mark.parametrize("cc", ["", "false", "'"])
def test_what_is_no_c_compiler_is_named_too(cold: Workshop, cc: str) -> None:
    cold.environment = {"CC": cc}
    answer = cold.call()
    assert answer["error"] == "NoCCompiler"
    assert answer["message"].startswith(f"CC is {cc!r}, which does not run: ")


def test_a_list_in_place_of_an_array_is_named(cold: Workshop) -> None:
    answer = cold.call(is_list=True)
    assert answer["error"] == "UnsupportedRead"
    assert answer["message"].startswith("arg:x is a 'list'")
    assert cold.compiles == 0


def test_a_mistake_in_the_template_is_shown_with_its_line(cold: Workshop) -> None:
    cold.edit("* {SCALE} + SHIFT;", "* {SCALE} + ;")
    for _ in range(2):
        answer = cold.call()
        assert answer["error"] == "CFailed"
        assert "The C code of kernels.saxpy does not compile" in answer["message"]
        assert "saxpy.c:7: `for (int64_t i = 0; i < n; i++)" in answer["message"]
        assert "* (2.0) + ;`" in answer["message"]
        assert "error: expected expression" in answer["message"]
    assert cold.compiles == 2
    cold.edit("* {SCALE} + ;", "* {SCALE} + SHIFT;")
    answer = cold.call()
    assert answer | RIGHT == answer


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("{SCALE} +", "{SCALES} +", "CMismatch", "there is no global:kernels.SCALES"),
        ("SCALE = 2.0", "SCALE = [2.0]", "CMismatch", "{SCALE} is [2.0], which is no constant"),
        ('("shift.h",)', '("gone.h",)', "CMismatch", "there is no file:gone.h"),
        ('"template": "SAXPY"', '"template": "DAXPY"', "CMismatch", "there is no global:kernels.D"),
        ("int64_t n, {", "int64_t m, {", "CMismatch", "parameter 'm', which the Python function"),
        ("const {x.dtype}*", "const float*", "CMismatch", "arg:x is an array of double, the C"),
        ("{x.dtype} a", "int a", "CMismatch", "arg:a is ('float',), the C function takes int"),
        ("{x.dtype} a", "half a", "CMismatch", "the parameter 'a' is of type 'half'"),
        ("dtype} saxpy", "dtype} daxpy", "CMismatch", "defines no C function 'saxpy'"),
        ("return {CONFIG", "return other() + {CONFIG", "CFailed", "other"),
    ],
)
def test_what_does_not_fit_is_said_by_name(
    cold: Workshop, old: str, new: str, error: str, message: str
) -> None:
    cold.edit(old, new)
    answer = cold.call()
    assert (answer["error"], message in answer["message"]) == (error, True), answer["message"]


def test_flags_that_mean_this_very_machine_are_refused(cold: Workshop) -> None:
    cold.environment = {"CFLAGS": "-O3 -march=native"}
    answer = cold.call()
    assert answer["error"] == "CMismatch"
    assert "CFLAGS has '-march=native'" in answer["message"]
    cold.environment = {"CC": f"{cold.cc} -mtune=native"}
    answer = cold.call()
    assert answer["error"] == "CMismatch"
    assert "CC has '-mtune=native'" in answer["message"]


def test_flags_that_cannot_be_taken_apart_are_said_so(cold: Workshop) -> None:
    cold.environment = {"CFLAGS": "-O2 '-DX"}
    answer = cold.call()
    assert answer["error"] == "CMismatch"
    assert 'CFLAGS is "-O2 \'-DX", which cannot be taken apart: No closing' in answer["message"]


def test_a_damaged_artifact_is_compiled_again(warm: Workshop) -> None:
    damaged = 0
    for file in [file for file in warm.store.rglob("*") if file.is_file()]:
        content = file.read_bytes()
        place = content.find(b"\x7fELF") if sys.platform == "linux" else len(content) // 2
        if place >= 0 and b"saxpy" in content:
            file.chmod(0o600)
            file.write_bytes(content[: place + 100] + b"\xff" + content[place + 101 :])
            damaged += 1
    assert damaged == 1
    answer = warm.call()
    assert answer | RIGHT == answer
    assert "COMPILED" in answer["events"]
    assert warm.compiles == 1
    assert warm.call()["events"] == HIT


# -- at once ------------------------------------------------------------------------------


def test_four_processes_at_once_run_cc_once(cold: Workshop) -> None:
    cold.cc.with_suffix(".log").unlink(missing_ok=True)
    job = {"options": {}, "dtype": "f8", "list": False, "explain": False}
    path = os.pathsep.join(map(str, (cold.folder, ROOT)))
    crew = [
        subprocess.Popen(
            [sys.executable, "-c", CALL, json.dumps(job)],
            env={**os.environ, **cold.variables, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    answers = [json.loads(process.communicate(timeout=60)[0]) for process in crew]
    for answer in answers:
        assert answer | RIGHT == answer
    assert cold.compiles == 1
    assert sum("COMPILED" in answer["events"] for answer in answers) == 1


def test_the_demo_compiles_in_its_first_process_only(cold: Workshop) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.ccompiler.demo"],
        cwd=ROOT,
        env={**os.environ, "CC": str(cold.cc)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert cold.compiles == 2
    assert done.stdout.count("compiled") == 2
    assert done.stdout.count("found") == 2
