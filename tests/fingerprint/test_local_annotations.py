"""Annotations of local variables lead to values, for compilers that read them."""

from __future__ import annotations

import types

from whorl.fingerprint.local_annotations import local_annotations

kinds = types.ModuleType("kinds")
kinds.real = float  # type: ignore[attr-defined]  # a module that is made here
kinds.deep = types.SimpleNamespace(real=int)  # type: ignore[attr-defined]  # the same


def found(function: object) -> list[tuple[str, object]]:
    assert isinstance(function, types.FunctionType)
    return local_annotations(function)


def test_names_and_attributes_of_modules_are_followed() -> None:
    def f(a: complex) -> None:
        x: kinds.real = a  # type: ignore[name-defined]  # noqa: F841
        y: list[kinds.real] = []  # type: ignore[name-defined]  # noqa: F841

    assert found(f) == [("kinds.real", float)]


def test_an_object_counts_as_a_whole() -> None:
    def f() -> None:
        x: kinds.deep.real = 0  # type: ignore[name-defined]  # noqa: F841

    assert found(f) == [("kinds.deep.real", kinds.deep)]


def test_captured_names_come_before_globals_and_unknown_names_are_left_out() -> None:
    kinds = int

    def f() -> object:
        x: kinds = 0  # type: ignore[valid-type]  # a captured variable
        y: nowhere.at.all = 0  # type: ignore[name-defined]  # noqa: F821, F841
        return x, kinds

    assert found(f) == [("kinds", int)]


def test_a_function_without_text_has_none() -> None:
    scope: dict[str, object] = {}
    exec("def f():\n    x: int = 0\n", scope)
    assert found(scope["f"]) == []
