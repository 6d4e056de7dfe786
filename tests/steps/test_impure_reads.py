"""Impure reads, of clocks, files, variables and random numbers, are found under any name."""

from __future__ import annotations

import contextvars
import datetime
import os
import random
import sqlite3
import time
import types
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
import whorl.testing
from tests.steps.programs import Edits, named
from whorl.store import Cache


@pytest.fixture(autouse=True)
def _fresh(fresh_cache: Path) -> None:
    """Each test has a cache of its own."""


def captured_module() -> Callable[[], object]:
    import time as clock

    return lambda: clock.time()  # noqa: PLW0108  # the lambda is the case


def captured_function() -> Callable[[], object]:
    from os import getenv

    return lambda: getenv("HOME")


def captured_and_passed_on() -> Callable[[], object]:
    import os as system

    def inner() -> object:
        return [name for name in system.environ]  # noqa: C416  # so is the loop

    return inner


def captured_and_called_with_nothing() -> Callable[[], object]:
    from numpy.random import default_rng

    return lambda: default_rng().random()


def under_a_local_name() -> object:
    source = random
    return source.random()


def under_a_local_name_of_a_part() -> object:
    source = np.random
    return source.rand()


CLOCKS = {"wall": time.time}


def in_a_table() -> object:
    return CLOCKS["wall"]()


def stamped(now: Callable[[], float] = time.time) -> float:
    return now()


def behind_a_default() -> object:
    return stamped()


class Watch:
    clock = staticmethod(time.time)

    def read(self) -> float:
        return self.clock()


def in_a_class() -> object:
    return Watch().read()


def home() -> object:
    return os.path.expanduser("~")  # noqa: PTH111  # what is refused


def resolved() -> object:
    return Path("a").resolve()


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (captured_module(), "the time of day"),
        (captured_function(), "the environment"),
        (captured_and_passed_on(), "the environment"),
        (captured_and_called_with_nothing(), "random numbers"),
        (under_a_local_name, "random numbers"),
        (under_a_local_name_of_a_part, "random numbers"),
        (in_a_table, "the time of day"),
        (behind_a_default, "the time of day"),
        (in_a_class, "the time of day"),
        (home, "the environment"),
        (resolved, "the file system"),
    ],
)
def test_the_outside_is_found_under_any_name(function: Callable[[], object], kind: str) -> None:
    with pytest.raises(whorl.UnsupportedFunction, match=f"depends on {kind}"):
        whorl.cached(function).key()


@dataclass
class Named:
    value: int
    name: uuid.UUID = field(default_factory=uuid.uuid4)
    clock: Any = field(default=time.time, metadata=whorl.exclude)


def test_an_argument_may_have_been_made_with_something_from_outside() -> None:
    double = whorl.cached(lambda named: 2 * named.value)
    assert double(Named(3)) == 6


def test_a_parameter_with_a_clock_as_its_default_can_be_given_another() -> None:
    @whorl.cached(exclude=["now"])
    def timed(x: int, now: Callable[[], float] = time.time) -> int:
        return x + 1

    assert timed(1) == 2


def test_a_module_that_is_passed_on_is_not_refused_for_what_others_take() -> None:
    import math as numbers

    def root(source: Any, x: float) -> float:
        return float(source.sqrt(x))

    assert whorl.cached(lambda x: root(numbers, x))(4.0) == 2.0
    assert whorl.cached(lambda x: root(np, x))(4.0) == 2.0


def test_context_variables_are_refused() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=1)
    with pytest.raises(whorl.UnsupportedFunction):
        whorl.cached(lambda x: variable.get() + x)(1)


class Door:
    state = "shut"

    def open(self) -> str:
        return self.state


class Animal:
    pass


IMPURE: list[tuple[Callable[..., object], str]] = [
    (lambda path: path.open().read(), "the file system"),
    (lambda path: [*path.iterdir()], "the file system"),
    (lambda path: sqlite3.connect(path), "the file system"),  # noqa: PLW0108  # the lambda is the case
    (lambda path: (Path.cwd(), path), "the file system"),
    (lambda n: np.random.default_rng().random(n), "random numbers"),
    (lambda n: random.Random().sample(range(n), 2), "random numbers"),
    (lambda n: time.gmtime()[n], "the time of day"),
    (lambda n: [c.__name__ for c in Animal.__subclasses__()][n:], "code that is found by its name"),
]


@pytest.mark.parametrize(("function", "kind"), IMPURE)
def test_what_is_taken_from_outside(function: Callable[..., object], kind: str) -> None:
    with pytest.raises(whorl.UnsupportedFunction, match=f"depends on {kind}"):
        whorl.cached(function).key(1)


def test_what_only_looks_as_if_it_came_from_outside() -> None:
    bar = types.SimpleNamespace(open=1.5)
    assert whorl.cached(lambda: bar.open)() == 1.5
    assert whorl.cached(lambda door: door.open())(Door()) == "shut"
    draw = whorl.cached(lambda seed: float(np.random.default_rng(seed).random()))
    assert draw(3) == draw(3)
    assert whorl.cached(lambda at: time.gmtime(at).tm_year)(0) == 1970


moment = datetime.datetime.now


class Later(datetime.datetime):
    """A subclass has the clock of its base."""


TABLE = {"clock": datetime.datetime.now}


def imported_inside() -> Any:
    from datetime import datetime

    return datetime.now()


def module_inside() -> Any:
    import datetime

    return datetime.datetime.now()


def under_another_name() -> Any:
    d = datetime.datetime
    return d.now()


def a_class_under_another_name() -> Any:
    d = date
    return d.today()


def bound_before() -> Any:
    return moment()


def clock_in_a_table() -> Any:
    return TABLE["clock"]()


def by_a_subclass() -> Any:
    return Later.now()


def at_home() -> Any:
    from pathlib import Path

    return Path.home()


def seeded_by_nothing() -> Any:
    return np.random.Generator(np.random.PCG64())


def archived() -> Any:
    import tarfile

    return tarfile.open("x.tar")


def zipped() -> Any:
    import zipfile

    return zipfile.ZipFile("x.zip")


def parsed() -> Any:
    import xml.etree.ElementTree as ET

    return ET.parse("x.xml")


def by_default(now: Any = datetime.datetime.now) -> Any:
    return now()


def calls_by_default() -> Any:
    return by_default()


@pytest.mark.parametrize(
    "function",
    [
        imported_inside, module_inside, under_another_name, a_class_under_another_name,
        bound_before, clock_in_a_table, by_a_subclass, at_home, seeded_by_nothing, archived, zipped,
        parsed, calls_by_default,
    ],
)  # fmt: skip
def test_a_clock_or_a_file_is_noticed(store: Cache, function: Callable[[], Any]) -> None:
    with pytest.raises(whorl.WhorlError, match="cannot be cached"):
        whorl.cached(store=store)(function)()


def fixed() -> Any:
    import datetime as clock

    d = clock.datetime
    return d(2020, 1, 1).isoformat(), date(2020, 1, 2).isoformat()


def test_a_date_that_is_given_is_no_clock(store: Cache) -> None:
    assert whorl.cached(store=store)(fixed)() == fixed()


OUTSIDE: dict[str, str] = {
    "time.strftime": "import time\ndef f(): return time.strftime('%Y')",
    "strftime": "from time import strftime\ndef f(fmt='%Y'): return strftime(f'{fmt}-%m')",
    "time.strftime in the body": "def f():\n    import time\n    return time.strftime('%Y')",
    "email.utils.formatdate": "from email.utils import formatdate\ndef f(): return formatdate()",
    "formatdate with a keyword":
        "import email.utils\ndef f(): return email.utils.formatdate(localtime=True)",
    "os.uname": "import os\ndef f(): return os.uname().nodename",
    "os.cpu_count": "import os\ndef f(): return os.cpu_count()",
    "os.get_terminal_size": "import os\ndef f(): return os.get_terminal_size()",
    "os.geteuid": "import os\ndef f(): return os.geteuid()",
    ".absolute": "from pathlib import Path\ndef f(): return str(Path('x').absolute())",
    "ConfigParser.read":
        "import configparser\ndef f():\n    parser = configparser.ConfigParser()\n"
        "    parser.read('x.ini')\n    return parser.sections()",
    "ConfigParser.read in the body":
        "def f():\n    from configparser import ConfigParser\n    return ConfigParser().read('x')",
    "xml.dom.minidom.parse":
        "import xml.dom.minidom\ndef f(): return xml.dom.minidom.parse('x.xml').toxml()",
    "http.client.HTTPSConnection":
        "import http.client\ndef f(): return http.client.HTTPSConnection('x').host",
    "asyncio.create_subprocess_exec":
        "import asyncio\ndef f(): return asyncio.run(asyncio.create_subprocess_exec('ls'))",
    "os.posix_spawn": "import os\ndef f(): return os.posix_spawn('/bin/ls', ['ls'], {})",
    "getattr": "import os\ndef f(): return getattr(os, 'environ')['HOME']",
}  # fmt: skip


@named(OUTSIDE)
def test_what_is_plainly_taken_from_outside_is_refused(edits: Edits, program: str) -> None:
    with pytest.raises(whorl.UnsupportedFunction, match=r"so what it returns depends on"):
        whorl.cached(store=edits.store)(edits.load(program, 0)["f"])()


INSIDE: dict[str, str] = {
    "a time that is given":
        "import time\ndef f(): return time.strftime('%Y', (2020, 1, 2, 0, 0, 0, 0, 1, 0))",
    "a date that is given": "from email.utils import formatdate\ndef f(): return formatdate(0)",
    "a date that is given by name":
        "from email.utils import formatdate\ndef f(): return formatdate(timeval=0, usegmt=True)",
    "absolute of numpy": "import numpy as np\ndef f(): return float(np.absolute(-1.0))",
    "a parser of texts":
        "import configparser\ndef f():\n    parser = configparser.ConfigParser()\n"
        "    parser.read_string('[a]')\n    return parser.sections()",
    "getattr": "def f(): return getattr('a', 'upper')()",
    "a function of its own":
        "def f():\n    def strftime(x): return x\n    return (lambda: strftime('x'))()",
    "a function of its own with a known name":
        "from time import strftime\n"
        "def f():\n    def strftime(x): return x\n    return (lambda: strftime('x'))()",
}  # fmt: skip


@named(INSIDE)
def test_what_looks_like_it_is_not_refused(edits: Edits, program: str) -> None:
    scope = edits.load(program, 0)
    assert whorl.cached(store=edits.store)(scope["f"])() == scope["f"]()
