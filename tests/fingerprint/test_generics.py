"""Types as people write them."""

from __future__ import annotations

import collections.abc
import sys
import types
import typing
from typing import (
    Annotated,
    Any,
    Callable,
    ClassVar,
    Dict,
    ForwardRef,
    Generic,
    List,
    Literal,
    NewType,
    Optional,
    ParamSpec,
    Tuple,
    Type,
    TypeVar,
    TypeVarTuple,
    Union,
)  # fmt: skip

import pytest

import whorl
from tests.fingerprint.comparing import calls_of, different, same
from tests.fingerprint.programs import Programs

T = TypeVar("T")
Celsius = NewType("Celsius", float)
Kelvin = NewType("Kelvin", float)


class Box(Generic[T]):
    pass


def test_generic_aliases_differ_by_origin_and_arguments() -> None:
    assert different(
        list, list[int], list[str], list[bool], list[list[int]], set[int], tuple[int],
        tuple[int, ...], tuple[int, int], tuple[()], dict[int, str], dict[str, int], type[int],
        Box, Box[int], Box[str], Box[T], list[T], List, Dict, Tuple, Type, (list, int), "list[int]",  # type: ignore[valid-type]  # T is free
    )  # fmt: skip


def test_equal_aliases_get_one_digest() -> None:
    assert same(list[int], list[int])
    assert same(Box[int], Box[int])
    assert same(dict[str, list[int]], dict[str, list[int]])


def test_every_spelling_of_a_union_is_one_type() -> None:
    assert same(Optional[int], Union[int, None], Union[None, int], int | None, None | int)
    assert different(int | None, int | str, int, Optional[str], int | str | None)


def test_literals_differ_by_value_and_type_and_not_by_order() -> None:
    assert same(Literal[1, 2], Literal[2, 1])
    assert different(Literal[1], Literal[True], Literal["1"], Literal[b"1"], Literal[1, 2], int)


def test_callables_differ_by_parameters_and_result() -> None:
    assert different(
        Callable, Callable[[], int], Callable[[int], int], Callable[..., int],
        Callable[[int, int], int], Callable[[int], str], Callable[[list[int]], int],
        collections.abc.Callable[[int], int], collections.abc.Callable[[int], str],
    )  # fmt: skip


def test_annotated_counts_its_metadata() -> None:
    assert different(
        int, Annotated[int, 1], Annotated[int, True], Annotated[int, 1, 2], Annotated[str, 1],
        Annotated[list[int], 1],
    )  # fmt: skip


def test_special_forms_differ() -> None:
    assert different(
        Any, typing.NoReturn, typing.Never, typing.Self, ClassVar[int], ClassVar[str],
        typing.Final[int], typing.Required[int], typing.NotRequired[int], Generic, typing.Protocol,
        typing.LiteralString, typing.Unpack[tuple[int]], typing.Concatenate[int, ...],
    )  # fmt: skip


def test_an_unpacked_tuple_differs_from_the_tuple_itself() -> None:
    assert different(tuple[(*tuple[int, ...],)], tuple[tuple[int, ...]])


def test_type_variables_differ_by_everything_said_of_them() -> None:
    assert same(TypeVar("T"), TypeVar("T"))
    assert different(
        TypeVar("T"), TypeVar("U"), TypeVar("T", bound=int), TypeVar("T", bound=str),
        TypeVar("T", int, str), TypeVar("T", str, int), TypeVar("T", covariant=True),
        TypeVar("T", contravariant=True), ParamSpec("T"), TypeVarTuple("T"),
    )  # fmt: skip


@pytest.mark.skipif(sys.version_info < (3, 13), reason="defaults of type variables are from 3.13")
def test_type_variables_differ_by_their_default(programs: Programs) -> None:
    assert not programs.same(
        "from typing import TypeVar\nf = TypeVar('T', default=int)\n",
        "from typing import TypeVar\nf = TypeVar('T', default=str)\n",
        "from typing import TypeVar\nf = TypeVar('T')\n",
    )


def test_new_types_and_forward_references_differ_by_name() -> None:
    assert different(Celsius, Kelvin, float)
    assert different(ForwardRef("A"), ForwardRef("B"), "A", list["A"], list["B"])  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is from 3.12")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("type f = int", "type f = str"),
        ("type f = list[f]", "type f = tuple[f]"),
        ("type f[T] = list[T]", "type f[T: int] = list[T]"),
        ("def f[T](x: T): return x", "def f[T: int](x: T): return x"),
        ("class f[T]: x: T", "class f[T: int]: x: T"),
    ],
)
def test_type_statements_count_by_content(programs: Programs, first: str, second: str) -> None:
    assert programs.same(first + "\n", first + "\n")
    assert not programs.same(first + "\n", second + "\n")


def test_an_alias_never_asks_the_class_it_is_of() -> None:
    Meta = type("Meta", (type,), calls_of("__getattr__", "__eq__", "__repr__"))
    Hostile: Any = type.__new__(
        Meta, "Hostile", (), {"__class_getitem__": classmethod(types.GenericAlias)}
    )
    alias = types.GenericAlias(Hostile, (int,))
    assert len(whorl.fingerprint([alias])) == 32


def test_typed_dicts_and_protocols_differ_by_content(programs: Programs) -> None:
    head = "from typing import Protocol, TypedDict\n"
    assert not programs.same(
        head + "class f(TypedDict):\n    a: int\n", head + "class f(TypedDict):\n    a: str\n"
    )
    assert not programs.same(
        head + "class f(TypedDict):\n    a: int\n",
        head + "class f(TypedDict, total=False):\n    a: int\n",
    )
    assert not programs.same(
        head + "class f(Protocol):\n    def m(self): return 1\n",
        head + "class f(Protocol):\n    def m(self): return 2\n",
    )
