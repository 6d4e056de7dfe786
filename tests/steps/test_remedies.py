"""What an error of a cached function advises, done literally, helps and makes nothing stale.

Each case is a program that is refused or not kept, what the message says, and the edit that it
proposes. After the edit the result is kept, and follows when what counts is changed.
"""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import logging
import os
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import whorl
from whorl.fingerprint.watch import Watch

_numbers = itertools.count()


@dataclass(frozen=True)
class Case:
    """A program; `says` is in its message, `edits` are what that proposes.

    `kept` is the cached function, `given()` its arguments, and `vary()` changes what counts.
    """

    name: str
    program: str
    says: str
    edits: tuple[tuple[str, str], ...]

    def edited(self) -> str:
        """The program after the edits."""
        program = self.program
        for old, new in self.edits:
            assert old in program, f"{old!r} is not in the program"
            program = program.replace(old, new)
        return program


REFUSED = [
    Case(
        "a file that is opened",
        """
        import whorl
        from pathlib import Path

        FILE = Path(__file__).with_suffix(".txt")
        FILE.write_text("1")

        @whorl.cached
        def kept():
            with open(FILE) as file:
                return file.read()

        def vary():
            FILE.write_text("22")
        """,
        "Declare fixed files with files=[...]",
        (("@whorl.cached", "@whorl.cached(files=[FILE])"),),
    ),
    Case(
        "a file that a parameter names",
        """
        import whorl
        from pathlib import Path

        FILE = Path(__file__).with_suffix(".txt")
        FILE.write_text("1")

        @whorl.cached
        def kept(path):
            return path.read_text()

        def given():
            return (FILE,)

        def vary():
            FILE.write_text("22")
        """,
        "parameters that are paths with by_content=[...]",
        (("@whorl.cached", "@whorl.cached(by_content=['path'])"),),
    ),
    Case(
        "where the program was started",
        """
        import os
        import whorl

        PLACE = ["/"]

        @whorl.cached
        def kept():
            return os.getcwd() + "x"

        def given():
            return ()

        def vary():
            PLACE[0] = "/tmp"
        """,
        "Find it outside, and pass it as an argument",
        (
            ("kept():", "kept(place):"),
            ("os.getcwd()", "place"),
            ("return ()", "return (PLACE[0],)"),
        ),
    ),
    Case(
        "a variable",
        """
        import os
        import whorl

        os.environ.pop("MODE_OF_REMEDIES", None)

        @whorl.cached
        def kept():
            return os.environ.get("MODE_OF_REMEDIES", "plain")

        def vary():
            os.environ["MODE_OF_REMEDIES"] = "fancy"
        """,
        "environment={'MODE_OF_REMEDIES': None}",
        (("@whorl.cached", "@whorl.cached(environment={'MODE_OF_REMEDIES': None})"),),
    ),
    Case(
        "a home directory",
        """
        import os
        import whorl

        PLACE = ["a"]

        @whorl.cached
        def kept():
            return os.path.expanduser("~") + "x"

        def given():
            return ()

        def vary():
            PLACE[0] = "b"
        """,
        "Pass the path as an argument",
        (
            ("kept():", "kept(place):"),
            ('os.path.expanduser("~")', "place"),
            ("return ()", "return (PLACE[0],)"),
        ),
    ),
    Case(
        "the time",
        """
        import time
        import whorl

        NOW = [1.0]

        @whorl.cached
        def kept():
            return time.time() + 1

        def given():
            return ()

        def vary():
            NOW[0] = 2.0
        """,
        "Pass the time as an argument",
        (("kept():", "kept(now):"), ("time.time()", "now"), ("return ()", "return (NOW[0],)")),
    ),
    Case(
        "random numbers of NumPy",
        """
        import numpy
        import whorl

        SEED = [1]

        @whorl.cached
        def kept():
            return numpy.random.random()

        def given():
            return ()

        def vary():
            SEED[0] = 2
        """,
        "Pass a seed as an argument, and draw from a generator that is made of it "
        "(random.Random(seed), numpy.random.default_rng(seed))",
        (
            ("kept():", "kept(seed):"),
            ("numpy.random.random()", "numpy.random.default_rng(seed).random()"),
            ("return ()", "return (SEED[0],)"),
        ),
    ),
    Case(
        "random numbers of Python",
        """
        import random
        import whorl

        SEED = [1]

        @whorl.cached
        def kept():
            return random.random()

        def given():
            return ()

        def vary():
            SEED[0] = 2
        """,
        "random.Random(seed)",
        (
            ("kept():", "kept(seed):"),
            ("random.random()", "random.Random(seed).random()"),
            ("return ()", "return (SEED[0],)"),
        ),
    ),
    Case(
        "a random name",
        """
        import uuid
        import whorl

        NAME = ["a"]

        @whorl.cached
        def kept():
            return f"{uuid.uuid4()}.txt"

        def given():
            return ()

        def vary():
            NAME[0] = "b"
        """,
        "Draw it outside, and pass it as an argument",
        (
            ("kept():", "kept(name):"),
            ("uuid.uuid4()", "name"),
            ("return ()", "return (NAME[0],)"),
        ),
    ),
    Case(
        "another program, what it returns",
        """
        import subprocess
        import whorl

        SAID = ["a"]

        @whorl.cached
        def kept():
            return subprocess.getoutput("echo a") + "!"

        def given():
            return ()

        def vary():
            SAID[0] = "b"
        """,
        "Run it outside, and pass what it returns as an argument",
        (
            ("kept():", "kept(said):"),
            ('subprocess.getoutput("echo a")', "said"),
            ("return ()", "return (SAID[0],)"),
        ),
    ),
    Case(
        "another program, its version",
        """
        import subprocess
        import whorl

        def version():
            return 1

        @whorl.cached
        def kept():
            return subprocess.getoutput("echo a")

        def vary():
            pass
        """,
        "reads=[version], ignores=['subprocess.getoutput']",
        (("@whorl.cached", "@whorl.cached(reads=[version], ignores=['subprocess.getoutput'])"),),
    ),
    Case(
        "the network",
        """
        import urllib.request
        import whorl

        PAGE = ["a"]

        @whorl.cached
        def kept():
            return urllib.request.urlopen("http://localhost:1").read()

        def given():
            return ()

        def vary():
            PAGE[0] = "b"
        """,
        "Fetch the data outside, and pass it as an argument",
        (
            ("kept():", "kept(page):"),
            ('urllib.request.urlopen("http://localhost:1").read()', "page"),
            ("return ()", "return (PAGE[0],)"),
        ),
    ),
    Case(
        "the machine",
        """
        import os
        import whorl

        COUNT = [1]

        @whorl.cached
        def kept():
            return (os.cpu_count() or 1) * 2

        def given():
            return ()

        def vary():
            COUNT[0] = 2
        """,
        "Pass it as an argument",
        (
            ("kept():", "kept(count):"),
            ("(os.cpu_count() or 1)", "count"),
            ("return ()", "return (COUNT[0],)"),
        ),
    ),
    Case(
        "a module that is found by its name",
        """
        import importlib
        import math as found
        import whorl

        @whorl.cached
        def kept():
            return importlib.import_module("math").pi

        def vary():
            pass
        """,
        "Import it at the top of the module",
        (('importlib.import_module("math")', "found"),),
    ),
    Case(
        "a module that counts in its place",
        """
        import importlib
        import math
        import whorl

        @whorl.cached
        def kept():
            return importlib.import_module("math").pi

        def vary():
            pass
        """,
        "reads=[module], ignores=['importlib.import_module']",
        (("@whorl.cached", "@whorl.cached(reads=[math], ignores=['importlib.import_module'])"),),
    ),
    Case(
        "classes that are found by their base",
        """
        import whorl

        class Base:
            number = 0

        class One(Base):
            number = 1

        @whorl.cached
        def kept():
            return sum(cls.number for cls in Base.__subclasses__())

        def vary():
            One.number = 2
        """,
        "Write the classes down in a tuple, and go through that",
        (("Base.__subclasses__()", "(One,)"),),
    ),
    Case(
        "something that no result depends on",
        """
        import time
        import whorl

        STEP = 1

        @whorl.cached
        def kept():
            print(time.time())
            return STEP

        def vary():
            global STEP
            STEP = 2
        """,
        "If no result depends on it: ignores=['time.time']",
        (("@whorl.cached", "@whorl.cached(ignores=['time.time'])"),),
    ),
    Case(
        "a lock in a global",
        """
        import threading
        import whorl

        LOCK, STEP = threading.Lock(), 1

        @whorl.cached
        def kept():
            with LOCK:
                return STEP

        def vary():
            global STEP
            STEP = 2
        """,
        "leave it out with whorl.cached(ignores=['LOCK'])",
        (("@whorl.cached", "@whorl.cached(ignores=['LOCK'])"),),
    ),
    Case(
        "a condition in a global",
        """
        import threading
        import whorl

        READY, STEP = threading.Condition(), 1

        @whorl.cached
        def kept():
            with READY:
                return STEP

        def vary():
            global STEP
            STEP = 2
        """,
        "leave it out with whorl.cached(ignores=['READY'])",
        (("@whorl.cached", "@whorl.cached(ignores=['READY'])"),),
    ),
    Case(
        "a lock of another module",
        """
        import threading
        import types
        import whorl

        n = types.ModuleType("n")
        n.LOCK, n.STEP = threading.Lock(), 1

        @whorl.cached
        def kept():
            with n.LOCK:
                return n.STEP

        def vary():
            n.STEP = 2
        """,
        "leave it out with whorl.cached(ignores=['n.LOCK'])",
        (("@whorl.cached", "@whorl.cached(ignores=['n.LOCK'])"),),
    ),
    Case(
        "a lock that is captured",
        """
        import threading
        import whorl

        STEP = 1

        def made():
            lock = threading.Lock()

            @whorl.cached
            def kept():
                with lock:
                    return STEP

            return kept

        kept = made()

        def vary():
            global STEP
            STEP = 2
        """,
        "leave it out with whorl.cached(ignores=['lock'])",
        (("@whorl.cached", "@whorl.cached(ignores=['lock'])"),),
    ),
    Case(
        "a lock in a class",
        """
        import threading
        import whorl

        class Model:
            lock, step = threading.Lock(), 1

        @whorl.cached
        def kept():
            with Model.lock:
                return Model.step

        def vary():
            Model.step = 2
        """,
        "leave it out with whorl.cached(ignores=['Model.lock'])",
        (("@whorl.cached", "@whorl.cached(ignores=['Model.lock'])"),),
    ),
    Case(
        "a lock in an object of a global",
        """
        import threading
        import whorl

        class Model:
            def __init__(self):
                self.lock, self.step = threading.Lock(), 1

        MODEL = Model()

        @whorl.cached
        def kept():
            with MODEL.lock:
                return MODEL.step

        def vary():
            MODEL.step = 2
        """,
        "leave it out with @whorl.exclude('lock') above class Model",
        (("class Model:", "@whorl.exclude('lock')\nclass Model:"),),
    ),
    Case(
        "a lock in a table",
        """
        import threading
        import whorl

        TABLE, STEP = {"lock": threading.Lock(), "step": 1}, 1

        @whorl.cached
        def kept():
            with TABLE["lock"]:
                return TABLE["step"]

        def vary():
            TABLE["step"] = 2
        """,
        "keep the thing itself in a global of its own, and leave that out with "
        "whorl.cached(ignores=['THAT_GLOBAL'])",
        (
            ('{"lock": threading.Lock(), "step": 1}, 1', '{"step": 1}, 1'),
            (
                "@whorl.cached",
                "THAT_GLOBAL = threading.Lock()\n@whorl.cached(ignores=['THAT_GLOBAL'])",
            ),
            ('TABLE["lock"]', "THAT_GLOBAL"),
        ),
    ),
    Case(
        "a stream in a global",
        """
        import io
        import whorl

        LOG = io.TextIOWrapper(io.BytesIO())
        NAME = ["a"]

        @whorl.cached
        def kept():
            return LOG.name

        def given():
            return ()

        def vary():
            NAME[0] = "b"
        """,
        "Pass what counts of it as an argument (numbers, texts, arrays), and leave the thing "
        "itself out with whorl.cached(ignores=['LOG'])",
        (
            ("@whorl.cached", "@whorl.cached(ignores=['LOG'])"),
            ("kept():", "kept(name):"),
            ("return LOG.name", "return name"),
            ("return ()", "return (NAME[0],)"),
        ),
    ),
    Case(
        "a lock as an argument",
        """
        import threading
        import whorl

        LOCK, STEP = threading.Lock(), [1]

        @whorl.cached
        def kept(lock, step):
            with lock:
                return step

        def given():
            return LOCK, STEP[0]

        def vary():
            STEP[0] = 2
        """,
        "leave the parameter out with exclude=['lock']",
        (("@whorl.cached", "@whorl.cached(exclude=['lock'])"),),
    ),
    Case(
        "a lock in an argument",
        """
        import threading
        import whorl

        class Model:
            def __init__(self):
                self.lock, self.step = threading.Lock(), 1

            @whorl.cached
            def run(self):
                with self.lock:
                    return self.step

        MODEL, kept = Model(), Model.run

        def given():
            return (MODEL,)

        def vary():
            MODEL.step = 2
        """,
        "leave it out with @whorl.exclude('lock') above class Model",
        (("class Model:", "@whorl.exclude('lock')\nclass Model:"),),
    ),
    Case(
        "an argument that has no fingerprint, by what counts of it",
        """
        import whorl

        ITEMS = [1, 2]

        @whorl.cached
        def kept(items):
            return sum(items)

        def given():
            return ((item for item in ITEMS),)

        def vary():
            ITEMS.append(3)
        """,
        "Pass what counts of it (numbers, texts, arrays) in its place.",
        (("((item for item in ITEMS),)", "(list(ITEMS),)"),),
    ),
    Case(
        "an argument that has no fingerprint, by a rule",
        """
        import whorl

        class Table:
            def __init__(self):
                self.rows, self.mark = [1, 2], object()

        TABLE = Table()

        @whorl.cached
        def kept(table):
            return sum(table.rows)

        def given():
            return (TABLE,)

        def vary():
            TABLE.rows.append(3)
        """,
        "key=whorl.Fingerprinter(rules={Table: function}), with a function that takes the Table "
        "and returns what counts",
        (
            (
                "@whorl.cached",
                "@whorl.cached(key=whorl.Fingerprinter(rules={Table: lambda table: table.rows}))",
            ),
        ),
    ),
]


_OTHER_MODULE = """
        import sys
        import threading
        import types
        import whorl

        n = sys.modules["n_of_remedies"] = types.ModuleType("n_of_remedies")
        n.LOCK, n.STEP = threading.Lock(), 1

        @whorl.cached
        def kept():
            {body}

        def vary():
            n.STEP = 2
        """
_WAYS = {
    "imported in the body": "import n_of_remedies\n            with n_of_remedies.LOCK:\n"
    "                return n_of_remedies.STEP",
    "imported under another name": "import n_of_remedies as m\n            with m.LOCK:\n"
    "                return m.STEP",
    "imported by name": "from n_of_remedies import LOCK, STEP\n            with LOCK:\n"
    "                return STEP",
    "under a local name": "m = n\n            with m.LOCK:\n                return m.STEP",
    "by getattr": "with getattr(n, 'LOCK'):\n                return n.STEP",
}


@pytest.mark.parametrize("way", _WAYS)
def test_a_lock_of_a_module_can_be_ignored_by_the_name_that_is_proposed(
    way: str, tmp_path: Path
) -> None:
    program = _OTHER_MODULE.replace("{body}", _WAYS[way])
    refused = _loaded(program, tmp_path)
    with pytest.raises(whorl.UnsupportedFunction) as caught:
        refused.kept()
    proposed = re.search(r"whorl\.cached\(ignores=\['\w+\.LOCK'\]\)", str(caught.value))
    assert proposed is not None
    _check_exact(_loaded(program.replace("whorl.cached", proposed[0]), tmp_path))


def _loaded(text: str, folder: Path) -> Any:
    """A program as a module of its own."""
    lines = text.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    plain = [line[indent:] if line[:indent].isspace() else line for line in lines]
    name = f"remedied_{next(_numbers)}"
    file = folder / f"{name}.py"
    file.write_text("\n".join(plain) + "\n\nif 'given' not in globals():\n    given = tuple\n")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Programs leave no modules and no variables behind."""
    monkeypatch.delenv("MODE_OF_REMEDIES", raising=False)
    before = {*sys.modules}
    yield
    os.environ.pop("MODE_OF_REMEDIES", None)
    for name in [name for name in sys.modules if name.startswith("remedied_")]:
        if name not in before:
            del sys.modules[name]
    sys.modules.pop("n_of_remedies", None)


def _check_exact(program: Any) -> None:
    """The result is kept, and follows when what counts is changed."""
    kept = program.kept
    assert kept(*program.given()) == kept(*program.given()) == kept.uncached(*program.given())
    assert kept.stats()["ran"] == 1
    program.vary()
    assert kept(*program.given()) == kept.uncached(*program.given())
    assert kept.stats()["not kept"] == 0


@pytest.mark.parametrize("case", REFUSED, ids=[case.name for case in REFUSED])
def test_the_remedy_of_a_refusal_helps_and_is_exact(case: Case, tmp_path: Path) -> None:
    refused = _loaded(case.program, tmp_path)
    with pytest.raises(whorl.WhorlError) as caught:
        refused.kept(*refused.given())
    assert case.says in str(caught.value)
    _check_exact(_loaded(case.edited(), tmp_path))


NOT_KEPT = [
    Case(
        "an argument that is changed",
        """
        import copy
        import whorl

        ITEMS = [1]

        @whorl.cached
        def kept(items):
            items.append(1)
            return len(items)

        def given():
            return (list(ITEMS),)

        def vary():
            ITEMS.append(2)
        """,
        "Let it work on a copy (items = copy.deepcopy(items))",
        (("items.append(1)", "items = copy.deepcopy(items)\n    items.append(1)"),),
    ),
    Case(
        "a generator of NumPy",
        """
        import numpy
        import whorl

        SEED = [1]

        @whorl.cached
        def kept(rng):
            return rng.random()

        def given():
            return (numpy.random.default_rng(SEED[0]),)

        def vary():
            SEED[0] = 2
        """,
        "Pass a seed in its place, and make the generator of it in the function",
        (
            ("kept(rng):", "kept(seed):\n    rng = numpy.random.default_rng(seed)"),
            ("(numpy.random.default_rng(SEED[0]),)", "(SEED[0],)"),
        ),
    ),
    Case(
        "a generator of Python",
        """
        import random
        import whorl

        SEED = [1]

        @whorl.cached
        def kept(rng):
            return rng.random()

        def given():
            return (random.Random(SEED[0]),)

        def vary():
            SEED[0] = 2
        """,
        "Pass a seed in its place, and make the generator of it in the function",
        (
            ("kept(rng):", "kept(seed):\n    rng = random.Random(seed)"),
            ("(random.Random(SEED[0]),)", "(SEED[0],)"),
        ),
    ),
    Case(
        "a global that is counted up",
        """
        import whorl

        CALLS, STEP = 0, 1

        @whorl.cached
        def kept():
            global CALLS
            CALLS += 1
            return STEP

        def vary():
            global STEP
            STEP = 2
        """,
        "If no result depends on it, leave it out with ignores=['CALLS']",
        (("@whorl.cached", "@whorl.cached(ignores=['CALLS'])"),),
    ),
    Case(
        "a global of another module that is counted up",
        """
        import types
        import whorl

        n = types.ModuleType("n")
        n.CALLS, n.STEP = 0, 1

        @whorl.cached
        def kept():
            n.CALLS += 1
            return n.STEP

        def vary():
            n.STEP = 2
        """,
        "If no result depends on it, leave it out with ignores=['n.CALLS']",
        (("@whorl.cached", "@whorl.cached(ignores=['n.CALLS'])"),),
    ),
    Case(
        "an attribute of a global that is counted up",
        """
        import whorl

        class Counter:
            calls = 0

        COUNTER, STEP = Counter(), 1

        @whorl.cached
        def kept():
            COUNTER.calls += 1
            return STEP

        def vary():
            global STEP
            STEP = 2
        """,
        "If no result depends on it, leave it out with ignores=['COUNTER']",
        (("@whorl.cached", "@whorl.cached(ignores=['COUNTER'])"),),
    ),
    Case(
        "a captured variable that is counted up",
        """
        import whorl

        STEP = 1

        def made():
            calls = 0

            @whorl.cached
            def kept():
                nonlocal calls
                calls += 1
                return STEP

            return kept

        kept = made()

        def vary():
            global STEP
            STEP = 2
        """,
        "If no result depends on it, leave it out with ignores=['calls']",
        (("@whorl.cached", "@whorl.cached(ignores=['calls'])"),),
    ),
]


@pytest.mark.parametrize("case", NOT_KEPT, ids=[case.name for case in NOT_KEPT])
def test_the_remedy_of_what_is_not_kept_helps_and_is_exact(
    case: Case, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = _loaded(case.program, tmp_path)
    with caplog.at_level(logging.WARNING):
        program.kept(*program.given())
    assert program.kept.stats()["not kept"] == 1
    assert case.says in caplog.text
    _check_exact(_loaded(case.edited(), tmp_path))


class Changing:
    number = 0


def changes_a_class() -> int:
    Changing.number += 1
    return 1


def test_no_name_is_proposed_that_could_not_be_ignored(caplog: pytest.LogCaptureFixture) -> None:
    """A class changes while it runs: there is no `ignores` for a class, and none is named."""
    kept = whorl.cached(changes_a_class)
    assert kept() == 1
    assert kept.stats()["not kept"] == 1
    assert "Changing changed while it ran" in caplog.text
    assert "something that it reads" not in caplog.text
    assert "ignores" not in caplog.text


RESTLESS = 0


def reads_what_never_rests(x: int) -> int:
    return RESTLESS * 0 + x


async def awaits_what_never_rests(x: int) -> int:
    return reads_what_never_rests(x)


def test_what_changes_all_the_time_is_run_and_not_kept(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if another thread had rebound the global in the middle of every look."""
    monkeypatch.setattr(Watch, "check", lambda self: lambda: False)
    kept = whorl.cached(reads_what_never_rests)
    step: whorl.CachedStep[int, int] = whorl.CachedStep(reads_what_never_rests)
    later = whorl.cached(awaits_what_never_rests)
    assert [kept(1), kept(1), step(1), step(1)] == [1] * 4
    assert [asyncio.run(later(1)), asyncio.run(later(1))] == [1, 1]
    for each in (kept, step, later):
        stats = each.stats()
        assert (stats["ran"], stats["not kept"]) == (2, 2)
    assert caplog.text.count("what it reads changes all the time") == 3  # once for each
    with pytest.raises(whorl.UnsupportedFunction, match="Let what changes be an argument"):
        kept.key(1)


def test_a_global_that_another_thread_rebinds_all_the_time_stops_nobody() -> None:
    stop = threading.Event()

    def change() -> None:
        global RESTLESS  # noqa: PLW0603  # what another thread does
        while not stop.is_set():
            RESTLESS += 1

    kept = whorl.cached(reads_what_never_rests)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=change)
    thread.start()
    try:
        assert [kept(x) for x in range(5)] == [0, 1, 2, 3, 4]
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
