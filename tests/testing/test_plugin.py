"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

KERNEL = """
import whorl

class Toy:
    name, version = "toy", "1"
    def compile(self, program, inputs):
        return whorl.Artifact({"code": b"x"}, {"n": inputs.arg("n").value()})
    def load(self, artifact, device):
        return lambda n: artifact.metadata["n"]

@whorl.jit(Toy())
def kept(n): ...
"""


@pytest.fixture
def tests(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder of tests with a kernel, and a cache that nobody else has."""
    monkeypatch.setenv("WHORL_CACHE_DIR", str(pytester.path / "cache"))
    monkeypatch.delenv("WHORL_REQUIRE_HIT", raising=False)
    pytester.makepyfile(kernels=KERNEL)
    pytester.syspathinsert()
    return pytester


def run(tests: pytest.Pytester, *options: str) -> pytest.RunResult:
    return tests.runpytest_subprocess("-p", "no:cacheprovider", *options)


def test_a_forbidden_compile_fails_the_test_and_says_why(tests: pytest.Pytester) -> None:
    tests.makepyfile("""
        from kernels import kept

        def test_one():
            assert kept(1) == 1

        def test_two():
            assert kept(2) == 2
    """)
    assert run(tests, "-k", "one").ret == 0
    result = run(tests, "--whorl-forbid-compile")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["whorl: nothing is compiled", "*RequiredHit: kernels.kept*"])
    result.stdout.fnmatch_lines(["*arg:n: 1 -> 2*"])


def test_a_fresh_cache_is_empty_used_by_children_and_gone_afterwards(
    tests: pytest.Pytester,
) -> None:
    tests.makepyfile("""
        import os, pathlib, subprocess, sys
        from kernels import kept

        def test_one():
            kept(1)
            assert kept.stats()["compiled"] == 1
            place = pathlib.Path(os.environ["WHORL_CACHE_DIR"])
            assert list(place.rglob("v1/groups/*/*/*"))
            child = "from kernels import kept; kept(1); print(kept.stats()['found'])"
            assert subprocess.check_output([sys.executable, "-c", child]) == b"1\\n"
            pathlib.Path("place").write_text(str(place))
    """)
    for _ in range(2):
        result = run(tests, "--whorl-fresh-cache")
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(["whorl: a fresh cache in *"])
    assert not Path((tests.path / "place").read_text()).exists()
    assert not (tests.path / "cache").exists()


def test_both_options_at_once_are_refused(tests: pytest.Pytester) -> None:
    result = run(tests, "--whorl-fresh-cache", "--whorl-forbid-compile")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*exclude each other*"])


def test_the_fixtures_do_what_whorl_testing_does(tests: pytest.Pytester) -> None:
    tests.makepyfile("""
        import pytest, whorl.testing
        from kernels import kept

        def test_fresh(fresh_cache, recorded_events):
            kept(1)
            assert (fresh_cache / "v1").is_dir()
            assert [event.what.value for event in recorded_events].count("compiled") == 1

        def test_fresh_again(fresh_cache):
            kept(1)
            assert kept.stats()["compiled"] == 2

        def test_forbidden(fresh_cache, forbid_compile):
            with pytest.raises(whorl.testing.CompileForbidden, match="first compile"):
                kept(2)

        def test_sound(fresh_cache, audit):
            kept(3)
            kept(3)
            assert audit.compared == 2
    """)
    run(tests).assert_outcomes(passed=4)


def test_an_audit_with_doubts_fails_the_test(tests: pytest.Pytester) -> None:
    tests.makepyfile("""
        import whorl

        SEEN = [1]

        class Careless:
            name, version = "careless", "1"
            ignores = ("SEEN",)  # which is a lie
            def compile(self, program, inputs):
                inputs.arg("n").type()
                return whorl.Artifact({}, {"n": 10 // SEEN[0]})
            def load(self, artifact, device):
                return lambda n: artifact.metadata["n"]

        @whorl.jit(Careless())
        def kernel(n): ...

        def test_stale(fresh_cache, audit):
            kernel(1)
            SEEN[0] = 2
            kernel(1)

        def test_gone(fresh_cache, audit):
            kernel(1)
            SEEN[0] = 0
            kernel(1)
    """)
    result = run(tests)
    result.assert_outcomes(passed=2, errors=2)
    result.stdout.fnmatch_lines(["*whorl's audit failed:*", "*stale*"])
    result.stdout.fnmatch_lines(["*does not compile: *raises ZeroDivisionError*"])


def test_loading_the_plugin_imports_nothing_that_whorl_itself_does_not() -> None:
    program = """
import sys, pytest, whorl
before = set(sys.modules)
import whorl.testing.plugin
print(sorted(set(sys.modules) - before))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['whorl.testing', 'whorl.testing.plugin']\n"


def test_every_public_name_of_testing_is_there_and_listed() -> None:
    import whorl.testing

    for name in whorl.testing.__all__:
        assert getattr(whorl.testing, name).__module__.startswith("whorl.testing.")
        assert name in dir(whorl.testing)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = whorl.testing.no_such_name  # type: ignore[attr-defined] # that is the point
