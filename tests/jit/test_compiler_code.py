"""The code of a compiler is part of its key, in one process too: what it reads may be another."""

from __future__ import annotations

import logging
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import whorl
from whorl.jit.kernel import Kernel
from whorl.reads import Inputs
from whorl.store import Cache

SIGN = "+"
TABLE = {"end": ";"}
COUNT = 0
LOCK = threading.Lock()
DEVICE = ["cpu:0"]
HANDLES: dict[str, object] = {}
OPENED: list[object] = []


class Base:
    """What compilers have in common."""

    def end(self) -> str:
        return TABLE["end"]


class Back:
    """What a compiler may be set up with."""

    def line(self, text: str) -> str:
        return f"> {text}"


def emitted(kind: str) -> str:
    return f"{kind} {SIGN}"


class Toy(Base):
    """Makes a text."""

    name, version = "toy", "1"
    flags = "none"

    def __init__(self, **held: Any) -> None:
        vars(self).update(held)

    def target(self) -> whorl.Target:
        return whorl.Target("machine", DEVICE[0])

    def compile(self, program: whorl.Program, inputs: Inputs) -> whorl.Artifact:
        text = emitted(inputs.arg("x").type()[0]) + self.end()
        back = getattr(self, "back", None)
        return whorl.Artifact({}, {"text": text if back is None else back.line(text)})

    def load(self, artifact: whorl.Artifact, device: str) -> Callable[..., Any]:
        OPENED.append(threading.Lock())
        text = artifact.metadata["text"]
        return lambda x: text


def kernel_of(compiler: Any, store: Cache, **choices: Any) -> Kernel:
    @whorl.jit(compiler, store=store, **choices)
    def kernel(x: Any) -> None: ...

    return kernel


@pytest.fixture
def kernel(store: Cache) -> Iterator[Kernel]:
    made = kernel_of(Toy(), store)
    assert [made(1) for _ in range(5)] == ["int +;"] * 5
    yield made
    OPENED.clear()


def other_line(self: Back, text: str) -> str:
    return f"< {text}"


CHANGES: list[tuple[str, Callable[[pytest.MonkeyPatch], None], str]] = [
    ("a constant", lambda patch: patch.setitem(globals(), "SIGN", "-"), "int -;"),
    ("an item", lambda patch: patch.setitem(TABLE, "end", "."), "int +."),
    ("a helper", lambda patch: patch.setitem(globals(), "emitted", lambda kind: "x"), "x;"),
    ("a base", lambda patch: patch.setattr(Base, "end", lambda self: "!"), "int +!"),
    (
        "the code of a helper",
        lambda patch: patch.setattr(emitted, "__code__", (lambda kind: "y").__code__),
        "y;",
    ),
    (
        "compile",
        lambda patch: patch.setattr(
            Toy, "compile", lambda self, program, inputs: whorl.Artifact({}, {"text": "z"})
        ),
        "z",
    ),
    (
        "load",
        lambda patch: patch.setattr(Toy, "load", lambda self, artifact, device: lambda x: "w"),
        "w",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "made"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES]
)
def test_what_a_compiler_reads_is_looked_at_with_every_call(
    kernel: Kernel,
    change: Callable[[pytest.MonkeyPatch], None],
    made: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        change(patch)
        assert [kernel(1) for _ in range(5)] == [made] * 5
    compiled = kernel.stats()["compiled"]
    assert [kernel(1) for _ in range(5)] == ["int +;"] * 5
    assert kernel.stats()["compiled"] == compiled  # found again


def test_what_only_load_reads_may_change(kernel: Kernel, store: Cache) -> None:
    assert len(OPENED) == 1  # locks, which have no fingerprint
    assert kernel_of(Toy(), store).explain(1).outcome == "hit"


def test_another_device_is_no_other_compiler(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "DEVICE", ["cpu:1"])
    assert kernel(1) == "int +;"
    assert kernel.stats()["compiled"] == 1
    assert len(OPENED) == 2


def test_an_equal_object_in_the_place_of_another_compiles_nothing(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "TABLE", dict(TABLE))
    assert kernel(1) == "int +;"
    assert (kernel.stats()["compiled"], kernel.stats()["found"], len(OPENED)) == (1, 0, 1)


def test_the_class_of_a_setting_counts_with_its_code(
    store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = kernel_of(Toy(back=Back()), store)
    assert kernel(1) == "> int +;"
    monkeypatch.setattr(Back, "line", other_line)
    assert kernel(1) == "< int +;"
    assert kernel_of(Toy(back=[Back()]), store).explain(1).outcome == "miss"


def test_a_setting_whose_class_is_written_again_is_noticed(
    store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = Toy(back=Back())
    kernel = kernel_of(compiler, store)
    assert [kernel(1) for _ in range(5)] == ["> int +;"] * 5
    again = type("Back", (), {"line": other_line, "__module__": __name__})
    monkeypatch.setitem(globals(), "Back", again)
    vars(compiler)["back"] = again()
    assert [kernel(1) for _ in range(5)] == ["< int +;"] * 5


def test_a_compiler_without_a_class_of_its_own_counts_by_its_function(store: Cache) -> None:
    def compiler(sign: str) -> Any:
        def compile(program: whorl.Program, inputs: Inputs) -> whorl.Artifact:
            inputs.arg("x").type()
            return whorl.Artifact({}, {"text": sign})

        def load(artifact: whorl.Artifact, device: str) -> Callable[..., Any]:
            return lambda x: artifact.metadata["text"]

        return types.SimpleNamespace(name="space", version="1", compile=compile, load=load)

    assert kernel_of(compiler("+"), store)(1) == "+"
    assert kernel_of(compiler("-"), store)(1) == "-"
    again = kernel_of(compiler("+"), store)
    assert (again(1), again.stats()["compiled"]) == ("+", 0)


def test_a_setting_that_is_an_attribute_of_the_class_is_no_other_program(store: Cache) -> None:
    class Set(Toy):
        settings = ("flags",)

    kernel = kernel_of(Set(), store)
    kernel(1)
    Set.flags = "all"
    kernel(1)
    (change,) = (change for change in kernel_of(Set(flags="x"), store).explain(1).changes)
    assert change.path == "compiler:flags"


# -- what cannot be known ------------------------------------------------------------------------


class Locked(Toy):
    """Reads a lock."""

    def compile(self, program: whorl.Program, inputs: Inputs) -> whorl.Artifact:
        with LOCK:
            return super().compile(program, inputs)


class Unlocked(Locked):
    """Says that the lock decides nothing."""

    ignores = ("LOCK",)


def test_what_cannot_be_known_of_a_compiler_is_an_error_with_its_path_and_remedy(
    store: Cache,
) -> None:
    with pytest.raises(whorl.UnsupportedRead) as caught:
        kernel_of(Locked(), store)(1)
    assert caught.value.path == "compiler code: Locked.compile -> LOCK"
    assert "`ignores = ('LOCK',)` in class Locked" in caught.value.remedy
    assert 'cache="process"' in caught.value.remedy


def test_the_remedies_help(store: Cache) -> None:
    assert kernel_of(Unlocked(), store)(1) == "int +;"
    kept = kernel_of(Locked(), store, cache="process")
    assert [kept(1), kept(1), kept.stats()["compiled"]] == ["int +;", "int +;", 1]
    called = kernel_of(Locked(), store, cache="call")
    assert [called(1), called(1), called.stats()["compiled"]] == ["int +;", "int +;", 2]


class Opening(Toy):
    """Opens something with the first compile, and keeps it."""

    def compile(self, program: whorl.Program, inputs: Inputs) -> whorl.Artifact:
        HANDLES.setdefault("lock", threading.Lock())
        return super().compile(program, inputs)


def test_what_cannot_be_known_any_more_after_a_compile_is_said_at_once(
    store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "HANDLES", {})
        with pytest.raises(whorl.UnsupportedRead, match=r"HANDLES\.lock"):
            kernel_of(Opening(), store)(1)
    kept = kernel_of(Opening(), store, cache="process")
    assert [kept(1) for _ in range(3)] == ["int +;"] * 3


class Counting(Toy):
    """Counts in a global."""

    def compile(self, program: whorl.Program, inputs: Inputs) -> whorl.Artifact:
        global COUNT  # noqa: PLW0603  # what is tested
        COUNT += 1
        return super().compile(program, inputs)


class Counted(Counting):
    """Says that the number decides nothing."""

    ignores = ("COUNT",)


def test_what_a_compiler_changes_itself_is_named_with_a_remedy(
    store: Cache, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "whorl.jit"):
        assert kernel_of(Counting(), store)(1) == "int +;"
    assert "it is not kept: global:tests.jit.test_compiler_code.COUNT of the comp" in caplog.text
    assert "`ignores = ('COUNT',)` in class Counting" in caplog.text
    caplog.clear()
    assert kernel_of(Counted(), store)(1) == "int +;"
    assert not caplog.text
    assert kernel_of(Counted(), store).explain(1).outcome == "hit"


@pytest.mark.parametrize(
    ("held", "text"), [({"code": "by name"}, "by version"), ({"ignores": "LOCK"}, "a tuple")]
)
def test_what_a_compiler_says_of_its_code_is_checked(held: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        whorl.jit(Toy(**held))


def test_a_class_in_the_place_of_a_compiler_is_an_error_that_names_the_remedy() -> None:
    with pytest.raises(TypeError, match=r"Toy is a class: pass an instance, whorl\.jit\(Toy\(\)\)"):
        whorl.jit(Toy)  # type: ignore[arg-type]


def test_a_function_in_the_place_of_a_compiler_is_an_error_that_names_the_remedy() -> None:
    with pytest.raises(TypeError, match=r"emitted is a function.*@whorl\.jit\(Compiler\(\)\)"):
        whorl.jit(emitted)  # type: ignore[arg-type]


# -- what an instance is given in a process ------------------------------------------------------


class Declared(Toy):
    """Declares its settings."""

    settings = ()


class OtherToy(Toy):
    """Makes another text."""

    def compile(self, program: whorl.Program, inputs: Inputs) -> whorl.Artifact:
        return whorl.Artifact({}, {"text": "other"})


class OtherDeclared(OtherToy):
    """The same, with declared settings."""

    settings = ()


CLASSES = [(Toy, OtherToy), (Declared, OtherDeclared)]


@pytest.mark.parametrize(("cls", "other"), CLASSES)
def test_another_class_of_the_same_instance_is_noticed(
    cls: type[Toy], other: type[Toy], store: Cache
) -> None:
    compiler = cls()
    kernel = kernel_of(compiler, store)
    assert [kernel(1), kernel(1)] == ["int +;", "int +;"]
    compiler.__class__ = other
    assert [kernel(1), kernel(1)] == ["other", "other"]
    compiler.__class__ = cls
    assert kernel(1) == "int +;"
    assert kernel.stats()["compiled"] == 2


@pytest.mark.parametrize("cls", [Toy, Declared])
def test_a_function_in_the_place_of_the_method_is_noticed(cls: type[Toy], store: Cache) -> None:
    compiler: Any = cls()
    kernel = kernel_of(compiler, store)
    assert kernel(1) == "int +;"
    compiler.compile = lambda program, inputs: whorl.Artifact({}, {"text": "own"})
    assert [kernel(1), kernel(1)] == ["own", "own"]
    compiler.compile = lambda program, inputs: whorl.Artifact({}, {"text": "second"})
    assert kernel(1) == "second"
    del compiler.compile
    assert kernel(1) == "int +;"
    assert kernel.stats()["compiled"] == 3


class Reading(Toy):
    """Reads what it declares."""

    environment = {"WIDTH_OF_TOY": "4"}
    settings = ("flags",)
    ignores = ("LOCK",)

    def compile(self, program: whorl.Program, inputs: Inputs) -> whorl.Artifact:
        text = f"{self.environment['WIDTH_OF_TOY']} {self.ignores[0]} {self.settings[-1]}"
        return whorl.Artifact({}, {"text": text})


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("environment", {"WIDTH_OF_TOY": "8"}, "8 LOCK flags"),
        ("ignores", ("COUNT",), "4 COUNT flags"),
        ("settings", ("flags", "version"), "4 LOCK version"),
    ],
)
@pytest.mark.parametrize("on_class", [True, False])
def test_a_declaration_that_a_compiler_reads_itself_counts_by_value(
    name: str,
    value: object,
    text: str,
    on_class: bool,  # a parameter of the test
    store: Cache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiler = Reading()
    kernel = kernel_of(compiler, store)
    assert kernel(1) == "4 LOCK flags"
    monkeypatch.setattr(Reading if on_class else compiler, name, value)
    assert kernel(1) == text
    assert kernel_of(compiler, store)(1) == text
    monkeypatch.undo()
    assert kernel(1) == "4 LOCK flags"


def test_a_compiler_that_changes_a_global_at_every_call_is_named_once_for_each_kernel(
    store: Cache, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = kernel_of(Counting(), store), kernel_of(Counting(), store)
    for _ in range(3):
        first(1)
    assert caplog.text.count("COUNT of the compiler") == 1
    assert (first.stats()["compiled"], first.stats()["not kept"]) == (3, 3)
    second(1)
    assert caplog.text.count("COUNT of the compiler") == 2
