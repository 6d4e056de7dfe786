"""What native launches read through modules and enums, and when they notice that it has changed."""

from __future__ import annotations

import sys
from enum import Enum, IntEnum
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.native_calls import needs_native, warmed
from whorl.launch import table_paths
from whorl.launch.member_places import address_of_dict, module_dict

pytestmark = needs_native
# mypy: disable-error-code="no-untyped-def"


def twice(value):
    return 2 * value


def thrice(value):
    return 3 * value


library: Any = ModuleType("library")


class Unit(IntEnum):
    METRE = 5
    MILE = 7


class Rows(Enum):
    FIRST = [1, 2]
    SECOND = (3, 4)


@whorl.kernel
def rows_added(x):
    for each in whorl.static(Rows.FIRST._value_):
        x[0] += each
    for each in whorl.static(Rows.SECOND._value_):
        x[0] += each


@whorl.kernel
def scaled(x):
    x[0] = library.inner.change(x[1]) + whorl.static(library.amount)


@whorl.kernel
def labelled(x, stop):
    with whorl.checkpoint(Unit.METRE, yield_on=stop):
        x[0] = 1


STOP = np.zeros((), np.int32)


@pytest.fixture(autouse=True)
def _whole(monkeypatch: pytest.MonkeyPatch) -> None:
    made, inner = ModuleType("library"), ModuleType("inner")
    monkeypatch.setitem(globals(), "library", made)
    vars(made).update(inner=inner, amount=100)
    vars(inner).update(change=twice)


def result(kernel: Any = scaled, *others: Any) -> float:
    x = np.array([0.0, 1.0])
    kernel(x, *others)
    return float(x[0])


def in_python(kernel: Any, *others: Any) -> int:
    """Of one call, how many were not native."""
    before: int = kernel.python_calls
    assert result(kernel, *others)
    return int(kernel.python_calls) - before


def test_names_of_modules_are_followed() -> None:
    warmed(scaled, np.ones(2))
    assert (result(), in_python(scaled)) == (102.0, 0)
    library.inner.change = thrice
    assert result() == 103.0
    library.amount = 200
    assert result() == 203.0
    library.inner = ModuleType("another")
    library.inner.change = twice
    assert result() == 202.0
    del library.inner.change
    with pytest.raises(Exception, match="change"):
        result()
    library.inner.change = twice
    assert result() == 202.0


def test_code_of_a_function_in_a_module_is_followed() -> None:
    def own(value):
        return 4 * value

    library.inner.change = own
    warmed(scaled, np.ones(2))
    assert result() == 104.0
    own.__code__ = (lambda value: 5 * value).__code__
    assert result() != 104.0


def test_a_module_of_another_class_is_asked() -> None:
    warmed(scaled, np.ones(2))

    class Odd(ModuleType):
        @property
        def amount(self) -> int:
            return 300

    assert result() == 102.0
    library.__class__ = Odd
    assert result() == 302.0
    library.__class__ = ModuleType
    assert result() == 102.0


def test_a_class_of_modules_that_changes_is_noticed() -> None:
    class Plain(ModuleType):
        pass

    library.__class__ = Plain
    warmed(scaled, np.ones(2))
    assert (result(), in_python(scaled)) == (102.0, 0)
    Plain.amount = property(lambda self: 400)  # type: ignore[attr-defined] # what is tested
    assert result() == 402.0
    Plain.__getattribute__ = (  # type: ignore[method-assign] # what is tested
        lambda self, name: 500 if name == "amount" else ModuleType.__getattribute__(self, name)
    )
    assert result() == 502.0


def test_a_module_that_makes_its_names_when_asked_is_followed() -> None:
    library.__getattr__ = {"amount": 600}.get
    warmed(scaled, np.ones(2))
    assert result() == 102.0
    del library.amount
    assert result() == 602.0
    library.amount = 100
    assert result() == 102.0


def test_dicts_that_grow_or_shrink_are_looked_into_where_they_are() -> None:
    warmed(scaled, np.ones(2))
    names: list[dict[Any, Any]] = [vars(library), vars(library.inner), globals()]
    names.append(sys.modules)
    for size in (5, 50, 500):
        for each in names:
            each.update({f"whorl_filler_{i}": each for i in range(size)})
        assert (result(), in_python(scaled)) == (102.0, 0)
    for each in names:
        for i in range(500):
            del each[f"whorl_filler_{i}"]
    assert (result(), in_python(scaled)) == (102.0, 0)
    kept = dict(vars(library))
    vars(library).clear()
    vars(library).update(reversed(kept.items()))
    assert (result(), in_python(scaled)) == (102.0, 0)
    vars(library)["amount"] = 700
    assert result() == 702.0
    vars(library)[7] = "not a text"
    assert result() == 702.0


def test_the_members_of_enums_are_followed() -> None:
    member: Any = Unit.METRE
    warmed(labelled, np.ones(2), STOP)
    assert in_python(labelled, STOP) == 0
    own = dict(vars(member))
    for changed in ({**own, "_value_": 6}, {**own, "_value_": 6, 7: "not a text"}):
        member.__dict__ = changed
        assert in_python(labelled, STOP) == 1
        member.__dict__ = own
    for _ in range(4):
        result(labelled, STOP)
    assert in_python(labelled, STOP) == 0
    member.__dict__["other"] = 1
    assert in_python(labelled, STOP) == 0
    Unit._member_map_["METRE"] = Unit.MILE
    try:
        assert in_python(labelled, STOP) == 1
    finally:
        Unit._member_map_["METRE"] = member
    assert in_python(labelled, STOP) == 0


def test_what_is_in_the_value_of_a_member_is_followed() -> None:
    for _ in range(5):
        assert result(rows_added) == 10.0
    Rows.FIRST.value.append(5)
    try:
        assert result(rows_added) == 15.0
        Rows.FIRST.value[0] = 6
        assert result(rows_added) == 20.0
    finally:
        Rows.FIRST.value[:] = [1, 2]
    assert result(rows_added) == 10.0


def test_a_class_of_modules_that_changes_while_a_table_is_made_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Plain(ModuleType):
        pass

    @whorl.kernel
    def shifted(x):
        x[0] = whorl.static(library.amount)

    plain: Any = Plain
    library.__class__ = Plain

    def changing(module: Any, step: Any) -> Any:
        found = module_dict(module, step)
        if module is library and step.name == "amount":  # as another thread could
            plain.amount = property(lambda self: 400)
            assert getattr(module, step.name) == 400  # `module.amount` would be quickened
        return found

    for _ in range(2):
        assert result(shifted) == 100.0
    monkeypatch.setattr(table_paths, "module_dict", changing)
    for _ in range(5):
        result(shifted)
    assert hasattr(Plain, "amount")
    assert result(shifted) == 400.0


def test_an_enum_that_changes_while_a_table_is_made_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Change(IntEnum):
        BY = 3

    @whorl.kernel
    def changed(x):
        x[0] = whorl.static(Change.BY._value_)

    kind: Any = Change

    def changing(member: object, name: str) -> int:
        found = address_of_dict(member, name)
        if member is Change.BY and name == "_value_" and found:  # as another thread could
            type.__setattr__(kind, "_value_", property(lambda self: 8))
            assert kind.BY._value_ == 8
        return found

    for _ in range(2):
        assert result(changed) == 3.0
    monkeypatch.setattr(table_paths, "address_of_dict", changing)
    for _ in range(5):
        result(changed)
    assert hasattr(Change, "_value_")
    assert result(changed) == 8.0
