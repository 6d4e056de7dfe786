"""Values of the standard library."""

from __future__ import annotations

import array
import collections
import datetime as dt
import decimal
import fractions
import io
import ipaddress
import logging
import pathlib
import re
import time
import uuid
import zoneinfo
from typing import Any

import pytest

import whorl
from tests.fingerprint.comparing import calls_of, different, same

D = decimal.Decimal
UTC = dt.UTC
CET = dt.timezone(dt.timedelta(hours=1))


def test_dates_and_times_differ_by_every_part() -> None:
    assert different(
        dt.date(2020, 1, 2), dt.date(2020, 2, 1), dt.datetime(2020, 1, 2), dt.time(0),
        dt.datetime(2020, 1, 2, 1), dt.datetime(2020, 1, 2, 0, 1), dt.datetime(2020, 1, 2, 0, 0, 1),
        dt.datetime(2020, 1, 2, 0, 0, 0, 1), dt.datetime(2020, 1, 2, tzinfo=UTC),
        dt.datetime(2020, 1, 2, tzinfo=CET), dt.datetime(2020, 1, 2, fold=1), dt.time(1),
        dt.time(0, tzinfo=UTC), dt.time(0, fold=1), dt.timedelta(1), dt.timedelta(seconds=1),
        dt.timedelta(microseconds=1), "2020-01-02",
    )  # fmt: skip
    assert same(dt.timedelta(days=1), dt.timedelta(hours=24))


def test_one_moment_in_two_zones_is_two_values() -> None:
    moment = dt.datetime(2020, 1, 2, 12, tzinfo=UTC)
    assert moment == moment.astimezone(CET)
    assert different(moment, moment.astimezone(CET))


def test_time_zones_differ_by_offset_and_name() -> None:
    assert different(
        UTC, CET, dt.timezone(dt.timedelta(hours=1), "CET"), zoneinfo.ZoneInfo("UTC"),
        zoneinfo.ZoneInfo("Europe/Paris"),
    )  # fmt: skip
    assert same(UTC, dt.timezone(dt.timedelta(0)))
    assert same(zoneinfo.ZoneInfo("UTC"), zoneinfo.ZoneInfo.no_cache("UTC"))


def test_a_time_zone_of_the_users_own_counts_its_state() -> None:
    class Zone(dt.tzinfo):
        def __init__(self, hours: int) -> None:
            self.hours = hours

        locals().update(calls_of("utcoffset", "dst", "tzname"))

    zone: Any = Zone
    assert different(zone(1), zone(2))
    day = dt.datetime(2020, 1, 1)
    assert different(day.replace(tzinfo=zone(1)), day.replace(tzinfo=zone(2)))


def test_decimals_count_sign_digits_and_exponent() -> None:
    assert different(
        D(1), D("1.0"), D("1.00"), D(-1), D(0), D("-0"), D("0.0"), D("1E+1"), D(10), D("NaN"),
        D("-NaN"), D("sNaN"), D("NaN12"), D("Infinity"), D("-Infinity"), 1, "1",
    )  # fmt: skip
    assert same(D("1E2"), D("1e+2"))
    assert same(D(1) / D(3), D(1) / D(3))


def test_fractions_differ_by_value() -> None:
    assert same(fractions.Fraction(1, 2), fractions.Fraction(2, 4))
    assert different(fractions.Fraction(1, 2), fractions.Fraction(1, 3), 0.5)


def test_paths_differ_by_flavour_and_text() -> None:
    assert different(
        pathlib.PurePosixPath("a/b"), pathlib.PureWindowsPath("a/b"), pathlib.Path("a/b"),
        pathlib.Path("a/c"), pathlib.Path("/a/b"), pathlib.Path("a") / "b" / "..", "a/b",
    )  # fmt: skip
    assert same(pathlib.Path("a//b/"), pathlib.Path("a/b"), pathlib.Path("a") / "b")


def test_using_a_path_changes_nothing() -> None:
    path = pathlib.Path("a") / "b"
    before = whorl.fingerprint(path)
    hash(path)
    assert path.parts == ("a", "b")
    assert str(path).count("/") <= 1
    assert whorl.fingerprint(path) == before


def test_a_path_subclass_counts_its_class_and_attributes() -> None:
    class Output(pathlib.PurePosixPath):
        pass

    plain, marked = Output("a"), Output("a")
    marked.title = "x"  # type: ignore[attr-defined]  # no slots, so it has a dictionary
    assert different(plain, marked, pathlib.PurePosixPath("a"), Output("b"))


def test_identifiers_differ_by_number() -> None:
    assert same(uuid.UUID(int=1), uuid.UUID("00000000-0000-0000-0000-000000000001"))
    assert different(uuid.UUID(int=1), uuid.UUID(int=2), 1, str(uuid.UUID(int=1)))


def test_patterns_differ_by_text_and_flags() -> None:
    assert same(re.compile("a"), re.compile("a"))
    assert different(
        re.compile("a"), re.compile("b"), re.compile(b"a"), re.compile("a", re.I),
        re.compile("a", re.M), re.compile("(?i)a"), "a",
    )  # fmt: skip


def test_arrays_of_the_standard_library_differ_by_type_and_content() -> None:
    assert different(
        array.array("i", [1]), array.array("l", [1]), array.array("d", [1]), array.array("i", [2]),
        array.array("i"), array.array("d"), [1],
    )  # fmt: skip


def test_streams_in_memory_count_content_and_position() -> None:
    moved = io.BytesIO(b"abc")
    moved.read(1)
    assert different(io.BytesIO(b"abc"), io.BytesIO(b"abd"), moved, io.StringIO("abc"), b"abc")


@pytest.mark.parametrize("base", [io.BytesIO, io.StringIO])
def test_an_attribute_of_a_stream_in_memory_counts(base: Any) -> None:
    plain, named = base(), base()
    named.title = "x"
    assert different(plain, named)
    Sub = type("Sub", (base,), {})
    plain, named = Sub(), Sub()
    named.title = "x"
    assert different(base(), plain, named)


def test_a_logger_counts_by_name() -> None:
    assert same(logging.getLogger("a"), logging.getLogger("a"))
    assert different(logging.getLogger("a"), logging.getLogger("b"), logging.getLogger())


def test_an_attribute_of_a_logger_subclass_counts() -> None:
    class Own(logging.Logger):
        tile: int

    plain, tiled = Own("a"), Own("a")
    tiled.tile = 1
    assert different(plain, tiled, logging.getLogger("a"))


def test_exceptions_count_class_arguments_cause_and_attributes() -> None:
    caused, noted, marked = ValueError(1), ValueError(1), ValueError(1)
    caused.__cause__ = KeyError(2)
    noted.add_note("n")
    marked.hint = 1  # type: ignore[attr-defined]  # it has a dictionary
    assert same(ValueError(1), ValueError(1))
    assert different(
        ValueError(1), ValueError(2), ValueError(), ValueError(1, 1), TypeError(1), caused, noted,
        marked, OSError(1, "a"), OSError(1, "a", "f"), OSError(1, "a", "g"), ImportError("a"),
        ImportError("a", name="b"), StopIteration(1), KeyError(1),
        ExceptionGroup("a", [KeyError(1)]),
        ExceptionGroup("a", [KeyError(2)]), UnicodeDecodeError("utf8", b"a", 0, 1, "x"),
        UnicodeDecodeError("utf8", b"b", 0, 1, "x"),
    )  # fmt: skip


def test_an_exception_that_was_raised_is_the_same_value() -> None:
    try:
        raise ValueError(1)
    except ValueError as caught:
        raised = caught
    assert same(raised, ValueError(1))


def test_an_exception_with_slots_works() -> None:
    class Slotted(Exception):
        __slots__ = ("code",)
        code: int

    unset, one, two = Slotted("a"), Slotted("a"), Slotted("a")
    one.code, two.code = 1, 2
    assert different(unset, one, two)


def test_structures_with_hidden_fields_count_them() -> None:
    head = (2020, 1, 2, 3, 4, 5, 6, 7, 0)
    assert different(time.struct_time((*head, "UTC", 0)), time.struct_time((*head, "CET", 3600)))


class HostileZone(zoneinfo.ZoneInfo):
    key = property(lambda self: 1 / 0)


def test_the_key_of_a_time_zone_is_not_asked_of_a_subclass() -> None:
    assert different(HostileZone("UTC"), HostileZone("Europe/Paris"), zoneinfo.ZoneInfo("UTC"))


def test_addresses_and_counters_work() -> None:
    assert different(ipaddress.ip_address("1.1.1.1"), ipaddress.ip_address("1.1.1.2"))
    assert different(collections.Counter("a"), collections.Counter("aa"), {"a": 1})


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda n: type("X", (dt.datetime,), n)(2020, 1, 2), ["year", "tzinfo", "hour", "fold"]),
        (lambda n: type("X", (dt.date,), n)(2020, 1, 2), ["year", "month", "day"]),
        (lambda n: type("X", (dt.timedelta,), n)(1), ["days", "seconds"]),
        (lambda n: type("X", (D,), n)(1), ["as_tuple", "__str__", "__float__", "__int__"]),
        (lambda n: type("X", (pathlib.PurePosixPath,), n)("a"), ["__str__", "__fspath__", "parts"]),
        (lambda n: type("X", (io.BytesIO,), n)(b"a"), ["closed", "getvalue", "tell", "read"]),
        (lambda n: type("X", (io.StringIO,), n)("a"), ["closed", "getvalue", "tell", "read"]),
        (lambda n: type("X", (uuid.UUID,), n)(int=1), ["__int__", "hex", "__str__"]),
        (lambda n: type("X", (array.array,), n)("i", [1]), ["__iter__", "tobytes", "tolist"]),
        (lambda n: type("X", (Exception,), n)(1), ["args", "__cause__", "__str__", "__context__"]),
    ],
)  # fmt: skip
def test_members_that_a_subclass_overrides_are_never_read(make: Any, names: list[str]) -> None:
    def explode(self: object) -> object:
        raise AssertionError("a member was read")

    methods = calls_of(*(n for n in names if n.startswith("__") or n in ("getvalue", "tell")))
    members = {name: methods.get(name, property(explode)) for name in names}
    value = make({**members, **calls_of("__eq__", "__hash__", "__repr__", "__reduce__")})
    assert len(whorl.fingerprint([value])) == 32
