"""Names that are assigned to functions and classes count in every process."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.processes.programs import forked, printed, written

_RUN = """
import json, os, sys, whorl
whorl.configure(cache="on", cache_dir=os.path.join(sys.path[0], "..", "cache"))
import app
result = {"answer": app.f(), "truth": app.f.uncached(), "ran": app.f.stats()["ran"]}
"""

_APP = """
import whorl
from named import thing

@whorl.cached
def f():
    return {read}
"""

_KINDS = {
    "a function": "def thing(): return 1",
    "a wrapper": "import functools\ndef of(): return 1\n@functools.wraps(of)\n"
    "def thing(): return of()",
    "a function with a cache": "import functools\n@functools.lru_cache\ndef thing(): return 1",
    "a cached function": "import whorl\n@whorl.cached\ndef thing(): return 1",
    "a kernel": "import whorl\n@whorl.kernel\ndef thing(x): return x[0]",
    "a class": "class thing: pass",
    "a class of type()": "thing = type('Made', (), {})",
}


_ASSIGNED = "thing.__name__, thing.__qualname__, thing.__module__ = 'a', 'b', 'c'\n"
_EDITS = ("", "__name__", "__qualname__", "__module__", "")


@functools.cache
def _said() -> dict[str, list[Any]]:
    """What programs say in which one name after the other is edited, with one cache each."""
    app = _APP.format(read="thing.__name__, thing.__qualname__, thing.__module__")
    with tempfile.TemporaryDirectory() as directory:
        places = [
            written(Path(directory) / kind / str(number), {
                "app.py": app,
                "named.py": f"{text}\n{_ASSIGNED}" + (edit and f"thing.{edit} = 'edited'\n"),
            })
            for kind, text in _KINDS.items()
            for number, edit in enumerate(_EDITS)
        ]  # fmt: skip
        said = forked(_RUN, places)
    rows = (said[i : i + len(_EDITS)] for i in range(0, len(said), len(_EDITS)))
    return dict(zip(_KINDS, rows, strict=True))


@pytest.mark.parametrize("kind", _KINDS)
def test_an_edit_of_an_assigned_name_is_seen(kind: str) -> None:
    said = _said()[kind]
    names = ["a", "b", "c"]
    edited = [["edited" if i == j else name for i, name in enumerate(names)] for j in range(3)]
    assert [each["answer"] for each in said] == [names, *edited, names], said
    assert [each["ran"] for each in said] == [1, 1, 1, 1, 0]


def test_a_function_that_is_moved_is_another_where_its_module_is_read(tmp_path: Path) -> None:
    for number, (read, runs) in enumerate((("thing.__module__", 1), ("thing()", 0))):
        root = tmp_path / str(number)
        app = _APP.format(read=read)
        moved = app.replace("from named import", "from renamed import")
        held = "def thing(): return 1\n"
        first = written(root / "0", {"app.py": app, "named.py": held})
        second = written(root / "1", {"app.py": moved, "renamed.py": held})
        said = forked(_RUN, [first, second])
        assert [each["answer"] for each in said] == [each["truth"] for each in said], said
        assert [each["ran"] for each in said] == [1, runs]


_STARTED = """
import functools, json, sys, whorl

def deco(function):
    @functools.wraps(function)
    def wrapper(): return function()
    return wrapper

def f(): return 1
def g(): return 1
g.__module__ = __name__
g.__qualname__ = "other"
@deco
def h(): return 1
@functools.lru_cache
def k(): return 1
class C: pass
D = type("Made", (), {})
def make():
    class Local: pass
    return Local
L = make()
def reads(): return f.__module__, C.__module__, L.__module__, g.__qualname__

def digests():
    return {str(i): whorl.fingerprint(v) for i, v in enumerate((f, g, h, k, C, D, L, D(), reads))}

if __name__ == "__main__":
    print(json.dumps(digests()))
"""


def test_names_of_a_program_that_is_started_are_those_of_the_imported_module(
    tmp_path: Path,
) -> None:
    place = written(tmp_path, {"started.py": _STARTED})
    started = printed(place / "started.py", cwd=place)
    program = "import json, started; print(json.dumps(started.digests()))"
    assert started == printed("-c", program, cwd=place)
