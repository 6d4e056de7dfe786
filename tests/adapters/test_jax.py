"""JAX's programs in whorl's cache, in real processes; and functions that notice changed globals."""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.adapters.running import environment, run, write
from tests.processes.servers import redis_at

jax = pytest.importorskip("jax")

import whorl.adapters.jax as adapter  # noqa: E402  # the tests are skipped without JAX

# -- a process -------------------------------------------------------------------------

SCENE = """
import jax
import jax.numpy as jnp
import numpy as np

TRACES = []
SCALE = 2.0
UNREAD = 1
TABLE = {"wide": 3.0}
WEIGHTS = np.array([1.0, 2.0])


class Config:
    width = 4.0


config = Config()


def shifted(x, by=5.0):
    return x + by


def captured(power):
    return lambda x: x * power, lambda new: change(new)


@jax.jit
def inner(x):
    return x * SCALE


def body(carry, x):
    return carry + x * SCALE, x


@jax.custom_jvp
def custom(x):
    return x * SCALE


custom.defjvp(lambda primals, tangents: (custom(*primals), tangents[0] * SCALE))


def made(power):
    def multiplied(x):
        return x * power

    def change(new):
        nonlocal power
        power = new

    return multiplied, change


multiplied, change = made(6.0)

FUNCTIONS = {
    "global": lambda x: x * SCALE,
    "inner": lambda x: inner(x) + 1.0,
    "scan": lambda x: jax.lax.scan(body, 0.0, jnp.stack([x, x]))[0],
    "custom": lambda x: jax.grad(custom)(x) + custom(x),
    "default": lambda x: shifted(x),
    "table": lambda x: x * TABLE["wide"],
    "array": lambda x: x * WEIGHTS.sum(),
    "class": lambda x: x * Config.width,
    "object": lambda x: x * config.width,
    "captured": lambda x: multiplied(x),
    "mapped": lambda x: jax.vmap(inner)(jnp.stack([x, x])).sum(),
    "branch": lambda x: jax.lax.cond(x > 0, lambda: SCALE, lambda: -SCALE),
}
"""


def scene() -> Any:
    """A module of functions that read all sorts of things."""
    module = types.ModuleType("scene")
    exec(compile(SCENE, "scene.py", "exec"), module.__dict__)
    return module


class Change(NamedTuple):
    """A change of the scene, and the function whose result it changes."""

    function: str
    make: Callable[[Any], object]


def _rewrite(m: Any) -> None:
    exec("def shifted(x, by=5.0):\n    return x - by", m.__dict__)


CHANGES = (
    Change("global", lambda m: setattr(m, "SCALE", 9.0)),
    Change("inner", lambda m: setattr(m, "SCALE", 9.0)),
    Change("scan", lambda m: setattr(m, "SCALE", 9.0)),
    Change("custom", lambda m: setattr(m, "SCALE", 9.0)),
    Change("mapped", lambda m: setattr(m, "SCALE", 9.0)),
    Change("branch", lambda m: setattr(m, "SCALE", 9.0)),
    Change("default", lambda m: setattr(m.shifted, "__defaults__", (9.0,))),
    Change("default", _rewrite),
    Change("table", lambda m: m.TABLE.update(wide=9.0)),
    Change("array", lambda m: m.WEIGHTS.fill(9.0)),
    Change("class", lambda m: setattr(m.Config, "width", 9.0)),
    Change("object", lambda m: setattr(m.config, "width", 9.0)),
    Change("captured", lambda m: m.change(9.0)),
)
SAME = (
    Change("global", lambda m: setattr(m, "UNREAD", 9)),
    Change("global", lambda m: setattr(m, "SCALE", float("2.0"))),
    Change("table", lambda m: setattr(m, "TABLE", {"wide": 3.0})),
    Change("array", lambda m: setattr(m, "WEIGHTS", m.WEIGHTS.copy())),
)


def number(change: Change) -> str:
    rows = CHANGES if change in CHANGES else SAME
    return f"{change.function}-{rows.index(change)}"


@pytest.mark.parametrize("change", CHANGES, ids=number)
def test_a_change_of_what_a_jitted_function_reads_is_noticed_and_jax_alone_does_not(
    change: Change,
) -> None:
    module = scene()
    function = module.FUNCTIONS[change.function]
    watched, plain = adapter.jit(function), jax.jit(partial(function))
    x = jax.numpy.float32(2.0)
    before = float(watched(x))
    assert float(plain(x)) == before
    change.make(module)
    assert float(plain(x)) == before, "JAX has noticed: correct the guide"
    with jax.disable_jit():
        after = float(function(x))
    assert after != before
    assert float(watched(x)) == after


@pytest.mark.parametrize("change", SAME, ids=number)
def test_what_makes_no_difference_traces_nothing(change: Change) -> None:
    module = scene()
    function, traces = module.FUNCTIONS[change.function], []

    def counted(x: Any) -> Any:
        traces.append(x)
        return function(x)

    watched = adapter.jit(counted, ignores=["traces"])
    x = jax.numpy.float32(2.0)
    before = float(watched(x))
    change.make(module)
    assert (float(watched(x)), len(traces)) == (before, 1)
    jax.clear_caches()
    assert (float(watched(x)), len(traces)) == (before, 2), "the count counts"


SCALE = 2.0


class Model:
    """Has a method that is watched."""

    def __init__(self, weight: float) -> None:
        self.weight = weight

    @adapter.jit(static_argnums=0)
    def scaled(self, x: Any) -> Any:
        """Scale."""
        return x * self.weight * SCALE


def test_methods_options_and_what_else_jax_gives_work_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Model(3.0)
    x = jax.numpy.float32(1.0)
    assert model.scaled(x) == 6.0
    assert Model.scaled.__doc__ == "Scale."
    assert jax.grad(model.scaled)(x) == 6.0
    monkeypatch.setattr(f"{__name__}.SCALE", 4.0)
    assert Model.scaled.lower(model, x).compile()(x) == 12.0
    assert jax.vmap(model.scaled)(jax.numpy.ones(2)).tolist() == [12.0, 12.0]
    assert Model.scaled.eval_shape(model, x).shape == ()
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = Model.scaled.no_such_name


def test_watched_functions_call_each_other_and_both_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = adapter.watch(jax.jit(lambda x: x * SCALE))
    outside = adapter.watch(jax.jit(lambda x: inside(x) + 1.0))
    assert outside(2.0) == 5.0
    monkeypatch.setattr(f"{__name__}.SCALE", 4.0)
    assert outside(2.0) == 9.0
    assert inside(2.0) == 8.0


def test_watch_says_what_it_takes() -> None:
    with pytest.raises(TypeError, match=r"watch\(\) takes a function from jax.jit, not 'function'"):
        adapter.watch(lambda x: x)


def test_a_function_that_cannot_be_described_works_as_jax_has_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def by_name(x: Any) -> Any:
        return x * __import__("tests.adapters.test_jax").adapters.test_jax.SCALE

    watched = adapter.jit(by_name)
    assert [float(watched(2.0)), float(watched(2.0))] == [4.0, 4.0]
    (message,) = caplog.messages
    assert "changes of what" in message
    assert "by_name" in message


# -- processes -------------------------------------------------------------------------

PROGRAM = {
    "constants.py": "SCALE = 2.0\n",
    "run.py": """\
import sys

import jax
import jax.numpy as jnp

import constants
import whorl.adapters.jax

counts = {"hits": 0, "misses": 0}


def count(event, **more):
    for name in counts:
        counts[name] += event.endswith(f"/cache_{name}")


jax.monitoring.register_event_listener(count)
installed = whorl.adapters.jax.install()


@jax.jit
def step(x):
    return jnp.sin(x) * constants.SCALE


print(float(step(jnp.float32(1.5707964))), counts["hits"] > 0, counts["misses"] > 0, installed)
""",
}
COMPILED, FOUND = "2.0 False True True", "2.0 True False True"


def test_a_process_finds_what_another_has_compiled_wherever_it_is(tmp_path: Path) -> None:
    write(tmp_path / "one", PROGRAM)
    assert run(tmp_path / "one", environment(tmp_path))[0] == COMPILED
    commented = PROGRAM["run.py"].replace("@jax.jit\n", "# compiled\n\n\n@jax.jit\n")
    write(tmp_path / "other", {**PROGRAM, "run.py": commented})
    assert run(tmp_path / "other", environment(tmp_path)) == (FOUND, "")
    listed, _ = run(tmp_path, environment(tmp_path), "-m", "whorl", "ls")
    assert "jit_step" in listed
    write(tmp_path / "one", {"constants.py": "SCALE = 3.0\n"})
    assert run(tmp_path / "one", environment(tmp_path))[0] == "3.0 True True True"


def test_a_damaged_program_is_compiled_again(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM)
    assert run(tmp_path, environment(tmp_path))[0] == COMPILED
    for file in (tmp_path / "whorl").rglob("*"):
        if file.is_file() and file.stat().st_size > 4000:
            content = bytearray(file.read_bytes())
            content[-100] ^= 1
            file.write_bytes(content)
    assert run(tmp_path, environment(tmp_path))[0].startswith("2.0")
    assert run(tmp_path, environment(tmp_path))[0] == FOUND


def test_machines_share_programs_by_tiers(tmp_path: Path) -> None:
    with redis_at(tmp_path) as server:
        write(tmp_path, PROGRAM)
        url = f"redis://127.0.0.1:{server.port}?trust=all"
        assert run(tmp_path, environment(tmp_path / "one", WHORL_REMOTE=url))[0] == COMPILED
        assert run(tmp_path, environment(tmp_path / "other", WHORL_REMOTE=url))[0] == FOUND


def test_the_cache_stays_within_its_size(tmp_path: Path) -> None:
    more = "\nfor n in range(20):\n    jax.jit(lambda x: jnp.sin(x) * n)(1.0)\n"
    write(tmp_path, {**PROGRAM, "run.py": PROGRAM["run.py"] + more})
    run(tmp_path, environment(tmp_path, WHORL_CACHE_MAX_SIZE="64K"))
    run(tmp_path, environment(tmp_path, WHORL_CACHE_MAX_SIZE="64K"), "-m", "whorl", "gc")
    files = [file for file in (tmp_path / "whorl").rglob("*") if file.is_file()]
    assert 0 < sum(file.stat().st_size for file in files) < 100_000


def test_an_unknown_version_of_jax_has_its_own_cache_and_one_warning(tmp_path: Path) -> None:
    older = """
import whorl.adapters.jax as adapter

adapter.LIBRARY = adapter.HostLibrary("jax", (0, 4), (0, 5))
"""
    watched = "\nassert adapter.watch(step) is step\n"
    write(tmp_path, {**PROGRAM, "run.py": older + PROGRAM["run.py"] + watched})
    variables = environment(tmp_path, JAX_COMPILATION_CACHE_DIR=str(tmp_path / "own"))
    told, errors = run(tmp_path, variables)
    assert told == "2.0 False False False"
    assert errors.count("whorl") == 1
    assert "it knows the versions from 0.4 to those before 0.5" in errors


def test_jax_has_its_own_directory_again_when_that_is_wanted(tmp_path: Path) -> None:
    leave = """
whorl.adapters.jax.uninstall()
jax.config.update("jax_compilation_cache_dir", "own")
step(jnp.ones(3))
import os

print(any("jit_step" in name for name in os.listdir("own")))
"""
    write(tmp_path, {**PROGRAM, "run.py": PROGRAM["run.py"] + leave})
    assert run(tmp_path, environment(tmp_path))[0] == f"{COMPILED}\nTrue"
