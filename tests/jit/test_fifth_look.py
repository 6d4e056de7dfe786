"""What an attack found in the protocol: what a compile is handed and nobody had read."""

from __future__ import annotations

import collections
import enum
import functools
import gc
import runpy
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from whorl.reads import Inputs
from whorl.reads.fact import is_settled
from whorl.store import Cache, DirectoryStore, MemoryStore
from whorl.testing import fresh_cache

ALPHA = 1


def act(x: int) -> int:
    return x * ALPHA


class Act:
    alpha = 1


class Sub(dict[str, Any]):
    pass


class Looking:
    """A compiler whose code returns what a look has found; it asks for everything by name."""

    name, version, settings = "looking", "1", ()
    toolchain: Any = "none"

    def __init__(self, look: Callable[[whorl.Program, Inputs], Any]) -> None:
        self.look = look

    def compile(self, program: whorl.Program, inputs: Inputs) -> whorl.Artifact:
        return whorl.Artifact({}, {"found": self.look(program, inputs)})

    def load(self, artifact: whorl.Artifact, device: str) -> Callable[..., Any]:
        return lambda *values: artifact.metadata["found"]


def made(look: Callable[[whorl.Program, Inputs], Any], **choices: Any) -> Any:
    choices.setdefault("store", Cache(MemoryStore()))
    compiler = choices.pop("compiler", None) or Looking(look)

    @whorl.jit(compiler, **choices)
    def kernel(x: Any = None) -> None: ...

    return kernel


# -- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize("calls", [1, 5])  # the plain replay, the generated one
def test_what_a_function_among_the_options_reads_is_looked_at_in_every_call(
    calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = made(lambda program, inputs: inputs.option("act")(2), options={"act": act})
    assert {kernel() for _ in range(calls)} == {2}
    monkeypatch.setitem(globals(), "ALPHA", 5)
    assert {kernel() for _ in range(calls)} == {10}


def test_what_a_class_among_the_options_holds_is_looked_at_in_every_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = made(lambda program, inputs: inputs.option("all")[0].alpha, options={"all": [Act]})
    assert [kernel() for _ in range(4)] == [1] * 4
    monkeypatch.setattr(Act, "alpha", 7)
    assert [kernel() for _ in range(4)] == [7] * 4


class Called:
    alpha = 1

    def __call__(self) -> int:
        return self.alpha


def test_the_class_of_an_option_that_is_called_is_looked_at_in_every_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = made(lambda program, inputs: inputs.option("act")(), options={"act": Called()})
    assert [kernel() for _ in range(4)] == [1] * 4
    monkeypatch.setattr(Called, "alpha", 7)
    assert [kernel() for _ in range(4)] == [7] * 4


# -- targets -------------------------------------------------------------------------------------


class Targeted(Looking):
    """What it compiles for is said from outside."""

    now = whorl.Target("gpu9", "gpu:0", {})

    def target(self) -> whorl.Target:
        return self.now


@pytest.mark.parametrize(
    "look",
    [
        lambda properties: properties.get("warp", 32),
        lambda properties: "warp" in properties,
        sorted,
        len,
        dict,
        lambda properties: list(properties.items()),
    ],
)
@pytest.mark.parametrize("calls", [1, 5])
def test_what_a_target_has_and_has_not_is_read(
    look: Callable[[Mapping[str, Any]], Any], calls: int
) -> None:
    compiler = Targeted(lambda program, inputs: look(program.target.properties))
    kernel = made(compiler.look, compiler=compiler)
    for properties in ({}, {"warp": 64}, {"warp": 32, "lanes": 4}, {}):
        compiler.now = whorl.Target("gpu9", "gpu:0", properties)
        assert [kernel() for _ in range(calls)] == [look(properties)] * calls


# -- what a compiler says of itself ----------------------------------------------------------------


class Tools(Looking):
    """Its toolchain depends on one of its settings."""

    settings = ("cc",)  # type: ignore[assignment] # others have none
    cc = "gcc"
    versions: Mapping[str, str] = {"gcc": "12", "clang": "15"}

    def toolchain(self) -> str:
        return f"{self.cc} {self.versions[self.cc]}"


def test_a_toolchain_that_depends_on_a_setting_is_asked_for_each_of_them(tmp_path: Path) -> None:
    def run(clang: str) -> list[Any]:
        compiler = Tools(lambda program, inputs: None)
        compiler.look = lambda program, inputs: compiler.toolchain()
        compiler.versions = {"gcc": "12", "clang": clang}
        store = Cache(DirectoryStore(tmp_path / "store"))
        kernel = made(compiler.look, compiler=compiler, store=store)
        found = [kernel()]
        compiler.cc = "clang"
        found.append(kernel())
        compiler.cc = "gcc"
        return [*found, kernel()]

    assert run("15") == ["gcc 12", "clang 15", "gcc 12"]
    assert run("16") == ["gcc 12", "clang 16", "gcc 12"]


@pytest.mark.parametrize("said", ["version", "toolchain", "name"])
def test_what_a_compiler_says_of_itself_may_change_between_two_calls(said: str) -> None:
    compiler = Looking(lambda program, inputs: None)
    compiler.look = lambda program, inputs: getattr(compiler, said)
    kernel = made(compiler.look, compiler=compiler)
    before = kernel()
    setattr(compiler, said, "another")
    assert (before, kernel(), kernel()) == (before, "another", "another")
    setattr(compiler, said, before)
    assert kernel() == before
    assert kernel.stats()["compiled"] == 2  # found again


# -- the program ---------------------------------------------------------------------------------


def test_two_methods_of_one_text_have_names_of_their_own() -> None:
    compiler, store = Looking(lambda program, inputs: program.name), Cache(MemoryStore())

    class A:
        @whorl.jit(compiler, store=store)
        def step(self) -> None: ...

    class B:
        @whorl.jit(compiler, store=store)
        def step(self) -> None: ...

    names: list[Any] = [A().step(), B().step()]
    assert [name.rpartition("<locals>.")[2] for name in names] == ["A.step", "B.step"]
    assert names[0].startswith(f"{__name__}.")


PROGRAM = '''
import whorl
class C:
    name, version, settings, toolchain = "c", "1", (), "none"
    def compile(self, program, inputs):
        return whorl.Artifact({}, {"text": inputs.function().source})
    def load(self, artifact, device):
        return lambda x: artifact.metadata["text"]
A = B = int
@whorl.jit(C())
def kernel(x: A = 1):  # a comment
    def inner():
        """one"""
    return inner
result = kernel(1)
compiled = kernel.stats()["compiled"]
'''


@pytest.mark.parametrize(
    ("before", "after", "is_seen"),
    [
        ('"""one"""', '"""two"""', True),
        ("x: A", "x: B", True),
        ("= 1)", "= 2)", True),
        ("# a comment", "# another", False),
        ("import whorl\n", "import whorl\n\n\n", False),
    ],
)
def test_the_text_of_a_function_is_read_if_a_compile_is_shown_it(
    tmp_path: Path, before: str, after: str, is_seen: bool
) -> None:
    program = tmp_path / "program.py"
    with fresh_cache():
        program.write_text(PROGRAM)
        first = runpy.run_path(str(program))
        program.write_text(PROGRAM.replace(before, after))
        second = runpy.run_path(str(program))
    assert (second["compiled"], second["result"] != first["result"]) == (is_seen, is_seen)
    assert "# a" not in second["result"]


# -- everything ----------------------------------------------------------------------------------


class Inner:
    size = 1


class Config:
    tile = 64

    def __init__(self) -> None:
        self.inner = Inner()

    def tiles(self) -> int:
        return self.tile + self.inner.size


def test_a_compiler_that_reads_everything_sees_the_classes_of_its_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = made(lambda program, inputs: inputs.everything()["x"].tiles())
    assert [kernel(Config()) for _ in range(4)] == [65] * 4
    monkeypatch.setattr(Config, "tile", 128)
    assert [kernel(Config()) for _ in range(4)] == [129] * 4
    monkeypatch.setattr(Inner, "size", 2)
    assert [kernel(Config()) for _ in range(4)] == [130] * 4
    monkeypatch.setattr(Config, "tiles", lambda self: 0)
    assert kernel(Config()) == 0


def test_a_compiler_that_reads_everything_sees_the_shapes_of_arrays() -> None:
    kernel = made(lambda program, inputs: inputs.everything()["x"].shape)
    for shape in ((3,), (4,), (3,)):
        assert kernel(np.zeros(shape)) == shape
    assert kernel.stats()["compiled"] == 2


# -- what cannot be recorded ---------------------------------------------------------------------


class Holder:
    def __init__(self, n: int) -> None:
        self.n = n
        self.lock = threading.Lock()


@pytest.mark.parametrize("calls", [1, 5])
def test_what_is_known_in_this_process_alone_is_still_looked_into(calls: int) -> None:
    kernel = made(lambda program, inputs: inputs.arg("x").value()[0], cache="process")
    x: list[Any] = [1, threading.Lock()]
    assert [kernel(x) for _ in range(calls)] == [1] * calls
    x[0] = 2
    assert [kernel(x) for _ in range(calls)] == [2] * calls
    x[0] = 1
    assert kernel(x) == 1
    assert kernel.stats()["compiled"] == 2
    assert kernel([1, threading.Lock()]) == 1
    assert kernel.stats()["compiled"] == 3  # another lock


def test_an_object_that_is_known_in_this_process_alone_is_still_looked_into() -> None:
    kernel = made(lambda program, inputs: inputs.arg("x").value().n, cache="process")
    holder = Holder(1)
    assert kernel(holder) == 1
    holder.n = 2
    assert [kernel(holder) for _ in range(4)] == [2] * 4
    circle: Any = Holder(3)
    circle.me = {"again": [circle]}
    assert kernel(circle) == 3
    circle.n = 4
    assert kernel(circle) == 4


class Cell:
    near: list[Any]


def mesh(n: int) -> Cell:
    cells = [[Cell() for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            around = ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1))
            cells[i][j].near = [cells[a][b] for a, b in around if 0 <= a < n and 0 <= b < n]
    vars(cells[0][0])["lock"] = threading.Lock()
    return cells[0][0]


def test_what_is_shared_or_in_circles_is_looked_into_once() -> None:
    kernel = made(lambda program, inputs: len(inputs.arg("x").value().near), cache="process")
    cell = mesh(20)  # by every way to every cell this would never end
    assert (kernel(cell), kernel(cell), kernel.stats()["compiled"]) == (2, 2, 1)
    cell.near[0].near[1].near.append(cell)
    assert (kernel(cell), kernel.stats()["compiled"]) == (2, 2)
    doubled: list[Any] = [1, threading.Lock()]
    for _ in range(40):
        doubled = [doubled, doubled]
    sized = made(lambda program, inputs: len(inputs.arg("x").value()), cache="process")
    assert sized(doubled) == 2


@pytest.mark.parametrize(
    "held",
    [
        lambda lock: collections.OrderedDict(n=1, lock=lock),
        lambda lock: collections.defaultdict(int, n=1, lock=lock),
        lambda lock: Sub(n=1, lock=lock),
        lambda lock: {"deep": {"deep": [{"deep": {"n": 1, "lock": lock}}]}},
    ],
)
def test_containers_of_all_kinds_are_looked_into(held: Callable[[Any], Any]) -> None:
    def innermost(x: Any) -> Any:
        while "deep" in x:
            x = x["deep"] if isinstance(x["deep"], dict) else x["deep"][0]
        return x

    kernel = made(lambda _, inputs: innermost(inputs.arg("x").value())["n"], cache="process")
    x = held(threading.Lock())
    assert kernel(x) == 1
    innermost(x)["n"] = 2
    assert kernel(x) == 2


class Level(enum.Enum):
    FAST = 1


@pytest.mark.parametrize(
    "option", [3, [1, {"a": "b"}], Level.FAST, np.dtype("f4"), frozenset({1}), Path("x"), Config()]
)
def test_options_without_code_in_them_are_looked_at_once(option: Any) -> None:
    assert is_settled(option)
    assert not is_settled([option, act])


# -- smaller -------------------------------------------------------------------------------------


@pytest.mark.parametrize("calls", [1, 5])
def test_a_file_may_be_named_by_a_path(tmp_path: Path, calls: int) -> None:
    header = tmp_path / "x.h"
    header.write_text("1")
    kernel = made(lambda program, inputs: inputs.file(header))
    assert [kernel() for _ in range(calls)] == [b"1"] * calls
    header.write_text("two")
    assert [kernel() for _ in range(calls)] == [b"two"] * calls


@pytest.mark.parametrize("name", [b"x.h", 3, None])
def test_what_is_no_name_of_a_file_is_said_at_once(name: Any) -> None:
    kernel = made(lambda program, inputs: inputs.file(name))
    with pytest.raises(TypeError, match="a file is named by a str or a path"):
        kernel()


BESIDE = """
import whorl
class C:
    name, version, settings, toolchain = "c", "1", (), "none"
    def compile(self, program, inputs):
        return whorl.Artifact({}, {"file": inputs.file("x.h")})
    def load(self, artifact, device):
        return lambda: artifact.metadata["file"]
@whorl.jit(C())
def kernel(): ...
"""


def test_files_are_beside_the_function_whatever_the_working_directory_becomes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "m.py").write_text(BESIDE)
    (tmp_path / "below" / "x.h").write_text("1")
    monkeypatch.chdir(tmp_path)
    with fresh_cache():
        kernel: Any = runpy.run_path(str(Path("below") / "m.py"))["kernel"]
        monkeypatch.chdir("/")
        assert [kernel() for _ in range(4)] == [b"1"] * 4


@pytest.mark.parametrize("other", [None, 3, "text"])
def test_what_has_no_memory_is_named_when_aliases_are_asked_for(other: Any) -> None:
    @whorl.jit(
        Looking(lambda program, inputs: inputs.arg("x").alias(inputs.arg("y"))),
        store=Cache(MemoryStore()),
    )
    def kernel(x: Any, y: Any) -> None: ...

    with pytest.raises(whorl.UnsupportedRead) as raised:
        kernel(np.zeros(3), other)
    assert (raised.value.path, raised.value.type_name) == ("arg:y", type(other).__name__)
    assert "register_signature" not in str(raised.value)


def test_a_read_of_something_absent_keeps_nothing_alive() -> None:
    def look(program: whorl.Program, inputs: Inputs) -> Any:
        try:
            return inputs.arg("x").attr("missing").value()
        except AttributeError:
            return "absent"

    class Thing:
        pass

    kernel = made(look)
    thing = Thing()
    reference = weakref.ref(thing)
    gc.collect()
    gc.disable()
    try:
        assert kernel(thing) == "absent"
        del thing
        assert reference() is None
    finally:
        gc.enable()


# -- explanations --------------------------------------------------------------------------------

TABLE = list(range(100))
FLAGS = "-O2 -Wall -Wextra -fno-math-errno -fno-trapping-math -march=x86-64-v2"
LONG = "x" * 70
NESTED = {"a": {"b": list(range(50)), "c": LONG + "1"}}
NUMBER = 10**80
MANY = list(range(100))


def called() -> None: ...


@pytest.mark.parametrize(
    ("name", "new", "where", "old_words", "new_words"),
    [
        ("TABLE", [*range(99), 0], "[99]", "99", "0"),
        ("FLAGS", FLAGS.replace("v2", "v3"), "", "...rch=x86-64-v2'", "...rch=x86-64-v3'"),
        ("NUMBER", 10**80 + 1, "", "...0000000000000", "...0000000000001"),
        ("NESTED", {"a": {"b": [*range(49), 7], "c": LONG + "1"}}, "['a']['b'][49]", "49", "7"),
        ("NESTED", {"a": {"b": [*range(50)], "c": LONG + "2"}}, "['a']['c']", "...xxxxxxxxxxxx1'",
         "...xxxxxxxxxxxx2'"),
    ],
)  # fmt: skip
def test_an_explanation_shows_where_two_values_differ(
    name: str,
    new: Any,
    where: str,
    old_words: str,
    new_words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = made(lambda program, inputs: inputs.glob(__name__, name).value() and None)
    kernel()
    monkeypatch.setitem(globals(), name, new)
    (change,) = kernel.explain().changes
    assert change.path == f"global:{__name__}.{name}{where}"
    assert (change.old, change.new) == (old_words, new_words)


def test_an_explanation_tells_lengths_wrappers_and_modules_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def told(look: Callable[[whorl.Program, Inputs], Any], name: str, new: Any) -> tuple[str, str]:
        kernel = made(look)
        kernel()
        monkeypatch.setitem(globals(), name, new)
        (change,) = kernel.explain().changes
        return change.old, change.new

    old, new = told(lambda _, inputs: str(inputs.glob(__name__, "TABLE").value()), "TABLE", [0] * 9)
    assert old != new
    old, new = told(
        lambda _, inputs: str(inputs.glob(__name__, "MANY").value()), "MANY", [*range(101)]
    )
    assert (old.rpartition("(")[2], new.rpartition("(")[2]) == ("100 items)", "101 items)")
    old, new = told(
        lambda _, inputs: inputs.glob(__name__, "called").code().digest,
        "called",
        functools.partial(called),
    )
    assert new == f"partial of {old}"


# -- values that turn ------------------------------------------------------------------------------


class Turning:
    """Its number is another at every look."""

    turns = 0

    @property
    def number(self) -> int:
        self.turns += 1
        return self.turns


def test_a_value_that_is_another_at_every_look_is_compiled_for_every_call(store: Cache) -> None:
    kernel = made(lambda program, inputs: inputs.arg("x").attr("number").value(), store=store)
    turning = Turning()
    assert len({kernel(turning) for _ in range(4)}) == 4
    assert turning.turns < 200


# -- orders ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "held",
    [
        dict,
        lambda pairs: collections.Counter(dict(pairs)),
        lambda pairs: collections.defaultdict(int, pairs),
        collections.OrderedDict,
        Sub,
        lambda pairs: [1, (Sub(pairs),)],
        lambda pairs: np.array([dict(pairs)], dtype=object)[:1],
    ],
)
def test_who_reads_a_value_sees_the_order_of_its_dicts(held: Callable[[Any], Any]) -> None:
    kernel = made(lambda program, inputs: repr(inputs.arg("x").value()))
    for pairs in ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)]):
        assert kernel(held(pairs)) == repr(held(pairs))
    assert kernel.stats()["compiled"] == 2
