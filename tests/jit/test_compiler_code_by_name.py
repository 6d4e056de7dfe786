"""A compiler that finds code by its name is refused, with the function's path and a remedy."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import whorl
from whorl.jit.kernel import Kernel
from whorl.reads import Inputs
from whorl.store import Cache

BY_NAME = "json"


class Operation:
    """The base of a registry."""


class Add(Operation):
    pass


def subclasses() -> object:
    return [each.__name__ for each in Operation.__subclasses__()]


def import_module() -> object:
    return importlib.import_module("tests.jit.compilers").__name__


def builtin_import() -> object:
    return __import__("tests.jit.compilers").__name__


def module_table() -> object:
    return sys.modules["tests.jit.compilers"].__name__


def any_module() -> object:
    return importlib.import_module(BY_NAME).__name__


def resolved() -> object:
    return pkgutil.resolve_name("tests.jit.compilers:Make") is not None


def own_frame() -> object:
    return sys._getframe().f_globals["BY_NAME"]


def outer_frame() -> object:
    frame = inspect.currentframe()
    return frame is not None


def local_import() -> object:
    from importlib import import_module as imported

    return imported("tests.jit.compilers").__name__


def constant_and_not() -> object:
    return [sys.modules["pytest"].__name__, sys.modules.get(BY_NAME) is None]


def taken_whole() -> object:
    modules = sys.modules
    return [modules[BY_NAME].__name__, sys.modules["pytest"].__name__]


def under_another_name() -> object:
    import sys as other

    return [other.modules[BY_NAME].__name__, sys.modules["pytest"].__name__]


REFUSED: list[tuple[Callable[[], object], str]] = [
    (subclasses, ".__subclasses__"),
    (import_module, "importlib.import_module"),
    (builtin_import, "__import__"),
    (module_table, "sys.modules"),
    (any_module, "importlib.import_module"),
    (resolved, "pkgutil.resolve_name"),
    (own_frame, "sys._getframe"),
    (outer_frame, "inspect.currentframe"),
    (local_import, "importlib.import_module"),
    (constant_and_not, "sys.modules"),
    (taken_whole, "sys.modules"),
    (under_another_name, "sys.modules"),
]


def compiler_class(text: Callable[[], object], **members: Any) -> type:
    class Named:
        name, version = "named", "1"

        def compile(self, program: whorl.Program, inputs: Inputs) -> whorl.Artifact:
            return whorl.Artifact({}, {"text": self.text()})

        def text(self) -> object:
            return text()

        def load(self, artifact: whorl.Artifact, device: str) -> Callable[..., Any]:
            made = importlib.import_module("json").dumps(artifact.metadata["text"])
            return lambda: made

    for name, value in members.items():
        setattr(Named, name, value)
    return Named


def kernel_of(compiler: Any, store: Cache, **choices: Any) -> Kernel:
    @whorl.jit(compiler, store=store, **choices)
    def kernel() -> None: ...

    return kernel


@pytest.mark.parametrize(("text", "used"), REFUSED, ids=[text.__name__ for text, _ in REFUSED])
def test_code_that_a_compiler_finds_by_its_name_is_refused_with_a_remedy_that_helps(
    text: Callable[[], object], used: str, store: Cache
) -> None:
    kernel = kernel_of(compiler_class(text)(), store)
    with pytest.raises(whorl.UnsupportedRead) as caught:
        kernel()
    error = caught.value
    said = " ".join(str(error).split())
    assert error.path.startswith("compiler code: "), error.path
    assert f"{__name__}.{text.__name__} uses {used}" in said
    assert f"`ignores = ({used!r},)` in class" in said
    assert 'cache="process"' in said
    assert '`code = "by version"`' in said
    assert "reads=[" not in said  # an option of cached functions
    assert "whorl.cached" not in said
    expected = json.dumps(text())
    uses = (used, "sys._getframe", ".f_globals", "inspect.currentframe")
    assert kernel_of(compiler_class(text, ignores=uses)(), store)() == expected
    assert kernel_of(compiler_class(text, code="by version")(), store)() == expected
    assert kernel_of(compiler_class(text)(), store, cache="process")() == expected


def lazily_imported() -> object:
    import json as late
    from collections import abc

    return late.dumps([abc.__name__])


def listed() -> object:
    return Path(__file__).read_text("utf-8")[:3]  # read on the side, which is allowed


def of_an_installed_library() -> object:
    return inspect.getmodulename("a/b.py")


def installed_by_constant_names() -> object:
    found = importlib.import_module("pytest").__name__, __import__("json").__name__
    loaded = sys.modules["pytest"], sys.modules.get("pytest")
    return [*found, "pytest" in sys.modules, loaded[0] is loaded[1]]


def lazily_found() -> object:
    return importlib.import_module("wave").__name__  # which nothing else imports


ORDINARY = [
    lazily_imported, listed, of_an_installed_library, installed_by_constant_names, lazily_found,
]  # fmt: skip


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_compiler_is_not_refused(text: Callable[[], object], store: Cache) -> None:
    kernel = kernel_of(compiler_class(text)(), store)
    assert [kernel(), kernel()] == [json.dumps(text())] * 2
    assert kernel.stats()["compiled"] == 1


def test_a_method_that_compile_does_not_call_may_find_code_by_its_name(store: Cache) -> None:
    def dump(self: object) -> object:
        return importlib.import_module("tests.jit.compilers")

    kernel = kernel_of(compiler_class(lazily_imported, dump=dump)(), store)
    assert kernel()


def test_what_prepares_a_compile_is_checked_too(store: Cache) -> None:
    def before_compile(self: object) -> None:
        importlib.import_module("tests.jit.compilers")

    kernel = kernel_of(compiler_class(lazily_imported, before_compile=before_compile)(), store)
    with pytest.raises(whorl.UnsupportedRead, match="before_compile uses importlib"):
        kernel()


class Strategy:
    """What a compiler may be set up with."""

    def __init__(self, held: object = None) -> None:
        self.held = held

    def text(self) -> object:
        return import_module()


@pytest.mark.parametrize(
    "held",
    [import_module, [import_module], Strategy().text, Strategy({"a": import_module})],
    ids=["function", "list", "method", "attribute"],
)
def test_a_function_in_a_setting_is_checked_too(held: object, store: Cache) -> None:
    compiler = compiler_class(lazily_imported)()
    compiler.held = held
    with pytest.raises(whorl.UnsupportedRead, match=r"import_module uses importlib"):
        kernel_of(compiler, store)()
    compiler.held = lazily_imported
    assert kernel_of(compiler, store)()


def test_a_function_in_the_place_of_the_method_is_checked_too(store: Cache) -> None:
    def compile(program: whorl.Program, inputs: Inputs) -> whorl.Artifact:
        return whorl.Artifact({}, {"text": import_module()})

    load = compiler_class(lazily_imported)().load
    compiler = types.SimpleNamespace(name="n", version="1", compile=compile, load=load)
    with pytest.raises(whorl.UnsupportedRead, match=r"import_module uses importlib"):
        kernel_of(compiler, store)()
