"""The command line as a person runs it: real processes, real kernels, pipes, interrupts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import artifact_of
from tests.processes.programs import QUICK_IMPORTS, ROOT, written
from whorl.store import DirectoryStore

PROGRAM = """
import sys
import whorl

SCALE = 2.0

class Toy:
    name, version = "toy", "1"
    def compile(self, program, inputs):
        return whorl.Artifact({"code": b"x"}, {"by": inputs.function().glob("SCALE").value(),
                                               "n": inputs.arg("n").value()})
    def load(self, artifact, device):
        return lambda n: n * artifact.metadata["by"]

@whorl.jit(Toy())
def scaled(n):
    return n * SCALE

for text in sys.argv[1:]:
    print(scaled(int(text)))
if not sys.argv[1:]:
    raise SystemExit(7)
"""


def environment(cache: Path, **variables: str) -> dict[str, str]:
    clean = {name: text for name, text in os.environ.items() if not name.startswith("WHORL_")}
    return {**clean, **QUICK_IMPORTS, "WHORL_CACHE_DIR": str(cache), **variables}


def whorl(cache: Path, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "whorl", *map(str, words)],
        cwd=ROOT, env=environment(cache, **variables), capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip


def told(cache: Path, *words: object) -> Any:
    done = whorl(cache, words[0], "--json", *words[1:])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return written(tmp_path, {"solve.py": PROGRAM}) / "solve.py"


def test_warm_fills_the_cache_with_what_a_plain_run_then_finds(cache: Path, script: Path) -> None:
    runs = told(cache, "warm", script, "1", "2")["runs"]
    assert [(run["made"], run["found"], run["exit_code"]) for run in runs] == [(2, 0, 0)]
    plain = subprocess.run(
        [sys.executable, str(script), "1", "2"],
        env=environment(cache, WHORL_REQUIRE_HIT="1"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (plain.returncode, plain.stdout) == (0, "2.0\n4.0\n")
    rows = {row["program"]: row for row in told(cache, "stats")["programs"]}
    assert (rows["solve.scaled"]["made"], rows["solve.scaled"]["found"]) == (2, 2)


def test_warm_runs_argument_sets_and_lists_in_parallel(
    cache: Path, script: Path, tmp_path: Path
) -> None:
    words = ["--jobs", 3, "--with", "1", "--with", "2 3", script]
    runs = json.loads(whorl(cache, "warm", "--json", *words).stdout)["runs"]
    assert [run["made"] for run in runs] == [1, 2]
    assert runs[1]["command"] == [str(script), "2", "3"]
    (tmp_path / "list").write_text(f"# two runs\n{script} 4\n\n{script} 1 2\n")
    done = whorl(cache, "warm", "--json", "-j", 2, "--list", tmp_path / "list")
    counts = [(run["made"], run["found"]) for run in json.loads(done.stdout)["runs"]]
    assert (done.returncode, counts) == (0, [(1, 0), (0, 2)])


def test_warm_ends_with_the_code_of_the_script_and_shows_what_it_said(
    cache: Path, script: Path, tmp_path: Path
) -> None:
    assert whorl(cache, "warm", script).returncode == 7
    done = whorl(cache, "warm", "--with", "1", "--with", "one", script)
    assert done.returncode == 1
    assert "ValueError: invalid literal for int()" in done.stderr
    assert "solve.scaled" in done.stdout
    written(tmp_path, {"slow.py": "import time; time.sleep(60)"})
    done = whorl(cache, "warm", "--timeout", "0.3", tmp_path / "slow.py")
    assert done.returncode == 124
    assert done.stderr.endswith("slow.py took too long.\n")
    assert whorl(cache, "warm", tmp_path / "nothing.py").returncode == 2
    assert whorl(cache, "warm").returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes")
def test_warm_says_so_when_nothing_could_be_kept(cache: Path, script: Path) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    done = whorl(cache, "warm", script, "1")
    assert done.returncode == 1
    assert "whorl: 1 entry could not be stored; see whorl doctor.\n" in done.stderr


def test_warm_passes_output_on_to_the_standard_error_only(cache: Path, script: Path) -> None:
    done = whorl(cache, "warm", "--json", "--show-output", script, "21")
    assert "42.0" in done.stderr
    assert json.loads(done.stdout)["runs"][0]["made"] == 1


def test_a_bundle_takes_a_program_to_another_cache(
    cache: Path, script: Path, tmp_path: Path
) -> None:
    told(cache, "warm", script, "1")
    told(cache, "export", tmp_path / "b.whorl", "--program", "scaled")
    other = tmp_path / "other"
    assert told(other, "import", tmp_path / "b.whorl")["failed"] == []
    plain = subprocess.run(
        [sys.executable, str(script), "1"],
        env=environment(other, WHORL_REQUIRE_HIT="1"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (plain.returncode, plain.stdout) == (0, "2.0\n")


def test_the_demo_compiles_finds_and_explains(cache: Path) -> None:
    scenes = told(cache, "demo")
    assert [scene["compiled"] for scene in scenes] == [1, 0, 0, 1, 1, 0]
    paths = [scene["misses"][0]["differences"][0]["path"] for scene in scenes[3:5]]
    assert paths == ["global:balls.GRAVITY", "global:balls.bounce"]
    answers = [scene["printed"] for scene in scenes]
    assert answers[0] == answers[1] == answers[2] == answers[5]
    assert len(set(answers)) == 3
    assert not cache.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no head")
def test_a_reader_that_leaves_is_no_error_to_read_about(cache: Path) -> None:
    store = DirectoryStore(cache)
    for i in range(1500):
        store.put(artifact_of("m.f", i))
    words = [sys.executable, "-m", "whorl", "ls"]
    child = subprocess.Popen(
        words, env=environment(cache), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.readline()
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait(30) == 141


@pytest.mark.skipif(sys.platform == "win32", reason="signals are otherwise there")
def test_an_interrupt_stops_warm_and_its_scripts_quietly(cache: Path, tmp_path: Path) -> None:
    slow = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
    written(tmp_path, {"slow.py": slow})
    words = [sys.executable, "-m", "whorl", "warm", tmp_path / "slow.py", tmp_path / "pid"]
    child = subprocess.Popen(
        [*map(str, words)], env=environment(cache), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd=ROOT, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err.strip()) == (130, "", "")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_many_processes_write_one_journal_and_lose_nothing(cache: Path, script: Path) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, str(script), *(str(100 * i + j) for j in range(10))],
            env=environment(cache), stdout=subprocess.DEVNULL,
        )
        for i in range(4)
    ]  # fmt: skip
    assert [child.wait(60) for child in children] == [0] * 4
    assert len(told(cache, "why", "-n", 0)) == 40
    assert told(cache, "stats")["compiled"] == 40
    assert told(cache, "verify")["damaged"] == []


def test_import_whorl_loads_neither_click_nor_rich() -> None:
    program = "import sys, whorl; print(sorted({'click', 'rich'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such device")
def test_an_output_that_is_full_is_one_line(cache: Path) -> None:
    DirectoryStore(cache).put(artifact_of("m.f"))
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "whorl", "ls"], env=environment(cache), cwd=ROOT, stdout=full,
            stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "whorl: cannot write the output: No space left on device.\n"


def test_an_output_that_knows_few_characters_is_no_trouble(cache: Path) -> None:
    DirectoryStore(cache).put(artifact_of("m.→"))
    done = whorl(cache, "ls", PYTHONIOENCODING="latin-1")
    assert (done.returncode, "m.\\u2192" in done.stdout) == (0, True)


@pytest.mark.skipif(sys.platform != "linux", reason="the output has no such name")
def test_what_goes_to_the_standard_output_is_not_mixed_with_words(
    cache: Path, tmp_path: Path
) -> None:
    DirectoryStore(cache).put(artifact_of("m.f"))
    (tmp_path / "out").symlink_to("/proc/self/fd/1")
    words = [sys.executable, "-m", "whorl", "report", "-o", str(tmp_path / "out")]
    with (tmp_path / "page.html").open("w") as page:
        page.write("before\n")
        page.flush()
        done = subprocess.run(
            words, env=environment(cache), cwd=ROOT, stdout=page, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr.startswith("wrote ")) == (0, True)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.startswith("before\n<!doctype html>")
    assert text.endswith("</html>\n")
    piped = whorl(cache, "report", "-o", tmp_path / "out")
    assert (piped.returncode, piped.stdout.startswith("<!doctype html>")) == (0, True)
    assert piped.stdout.endswith("</html>\n")
    mixed = whorl(cache, "report", "-o", tmp_path / "out", "--json")
    assert (mixed.returncode, mixed.stdout, mixed.stderr.count("\n")) == (2, "", 1)
    assert (tmp_path / "out").is_symlink()


@pytest.mark.skipif(sys.platform != "linux", reason="arguments are no bytes, or always UTF-8")
def test_names_are_found_in_a_locale_that_does_not_know_their_letters(cache: Path) -> None:
    DirectoryStore(cache).put(artifact_of("solver.ünïcode"))
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    listed = json.loads(whorl(cache, "ls", "--json", "-p", "solver.ünïcode", **plain).stdout)
    assert [row["program"] for row in listed] == ["solver.ünïcode"]
    counted = json.loads(whorl(cache, "stats", "--json", "ünïcode", **plain).stdout)
    assert [row["program"] for row in counted["programs"]] == ["solver.ünïcode"]
    other = b"\xff\xfe"  # no UTF-8: it is nobody's name, and no error of the program's
    done = whorl(cache, "ls", "-p", os.fsdecode(other), **plain)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("whorl: no entry matches; ")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are no bytes")
@pytest.mark.parametrize("name", ["stück".encode(), b"st\xfcck"], ids=["UTF-8", "Latin 1"])
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_a_list_of_scripts_may_have_any_letters(
    cache: Path, tmp_path: Path, name: bytes, locale: str
) -> None:
    script = os.path.join(os.fsencode(tmp_path), name + b".py")  # noqa: PTH118  # of bytes
    with open(script, "w", encoding="ascii") as file:  # noqa: PTH123
        file.write("raise SystemExit(5)")
    (tmp_path / "scripts.txt").write_bytes(b"# it's no script, \xff\n\n" + script + b" 1\n")
    done = whorl(
        cache, "warm", "--list", tmp_path / "scripts.txt",
        LC_ALL=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0",
    )  # fmt: skip
    assert done.returncode == 5, done.stderr
    assert "ended with exit code 5" in done.stderr
