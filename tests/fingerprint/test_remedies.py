"""What is advised where a value has no fingerprint, done literally, gives it one."""

from __future__ import annotations

import threading
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import pytest

import whorl
from whorl import exclude as imported

if TYPE_CHECKING:
    from whorl import exclude as not_imported


class Holder:
    def __init__(self, number: int, held: object) -> None:
        self.number = number
        self.field = held


@whorl.exclude("field")
class Excluding(Holder):
    pass


@whorl.by_identity("field")
class ByIdentity(Holder):
    pass


def refusal(value: object, how: Callable[[object], object] = whorl.fingerprint) -> str:
    with pytest.raises((whorl.UnsupportedValue, TypeError)) as caught:
        how(value)
    return str(caught.value)


UNKNOWN = [threading.Lock(), object(), (n for n in range(3))]


@pytest.mark.parametrize("held", UNKNOWN, ids=lambda held: type(held).__name__)
def test_the_three_ways_out_are_ways_out(held: object) -> None:
    said = refusal(Holder(1, held))
    assert "whorl.Fingerprinter(rules={Holder: function})" in said
    by_rule = whorl.Fingerprinter(rules={Holder: lambda holder: holder.number})
    assert by_rule(Holder(1, held)) != by_rule(Holder(2, held))
    assert "@whorl.exclude('field') above the class" in said
    assert whorl.fingerprint(Excluding(1, held)) != whorl.fingerprint(Excluding(2, held))
    assert "@whorl.by_identity('field')" in said
    digests = {whorl.fingerprint(ByIdentity(1, each)) for each in (held, held, object())}
    assert len(digests) == 2


def test_a_rule_that_returns_its_value_is_to_return_the_parts() -> None:
    value = Holder(1, 2)
    whole = whorl.Fingerprinter(rules={Holder: lambda holder: [holder]})
    assert "Let the rule return the parts that count." in refusal(value, whole)
    parts = whorl.Fingerprinter(rules={Holder: lambda holder: [holder.number, holder.field]})
    assert parts(value) != parts(Holder(1, 3))


class Unreadable:
    amount: Annotated[int, not_imported]

    def __init__(self, amount: int) -> None:
        self.amount = amount


class Readable:
    amount: Annotated[int, imported]

    def __init__(self, amount: int) -> None:
        self.amount = amount


@whorl.exclude("amount")
class Above:
    amount: int

    def __init__(self, amount: int) -> None:
        self.amount = amount


def test_a_marker_that_cannot_be_found_is_imported_or_goes_above_the_class() -> None:
    said = refusal(Unreadable(1))
    assert "Import its names at run time, or put the marker above the class" in said
    assert whorl.fingerprint(Readable(1)) == whorl.fingerprint(Readable(2))
    assert whorl.fingerprint(Above(1)) == whorl.fingerprint(Above(2))


def test_a_marker_for_a_field_that_there_is_not_names_those_that_there_are() -> None:
    @whorl.exclude("lien")
    class Misspelt:
        __slots__ = ("line", "text")

    assert "It has: line, text." in refusal(Misspelt())

    @whorl.exclude("line")
    class Spelt:
        __slots__ = ("line", "text")

        def __init__(self, line: int) -> None:
            self.line, self.text = line, "a"

    assert whorl.fingerprint(Spelt(1)) == whorl.fingerprint(Spelt(2))


def a_function() -> int:
    return 1


def test_a_function_by_name_has_to_have_one() -> None:
    nameless = types.FunctionType(a_function.__code__, globals(), "nameless")
    nameless.__qualname__ = "nameless"
    by_name = whorl.Fingerprinter(functions="name")
    said = refusal(nameless, by_name)
    assert "Let functions count by code, or give the function a name in its module." in said
    assert whorl.Fingerprinter(functions="code")(nameless)
    assert by_name(a_function)


def test_a_rule_for_a_builtin_goes_to_a_class_of_ones_own() -> None:
    with pytest.raises(TypeError, match="Give the rule to a class of your own"):
        whorl.Fingerprinter(rules={list: len})

    class Mine(list[int]):
        pass

    by_length = whorl.Fingerprinter(rules={Mine: len})
    assert by_length(Mine([1])) == by_length(Mine([2])) != by_length(Mine())


def test_a_digest_of_this_process_can_be_printed_or_made_stable() -> None:
    import pickle

    digest = whorl.fingerprint(ByIdentity(1, object()))
    with pytest.raises(TypeError, match=r"use str\(digest\) to print it, or a stable rule"):
        pickle.dumps(digest)
    assert pickle.loads(pickle.dumps(str(digest))) == str(digest)
    stable = whorl.Fingerprinter(rules={ByIdentity: lambda holder: holder.number})
    kept = stable(ByIdentity(1, object()))
    assert pickle.loads(pickle.dumps(kept)) == kept
