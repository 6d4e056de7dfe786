"""Edited key functions, rules, serializers and signatures: nothing of before is mixed up."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.processes.programs import printed, written

# Each function is given a pair and returns both numbers; what counts is one of them, and which one
# is said two calls away. The second process passes a pair that has the key of the first one by the
# rule of before.
FILES: Final = {
    "deep.py": """
FIELD = "a"
UNREAD = 1

def chosen(pair):
    return getattr(pair, FIELD)  # one of two
""",
    "rules.py": """
import pickle
import deep

SKIP = 1

def counted(pair):
    return (deep.chosen(pair),)

class Marked:
    def dumps(self, value):
        return b"." * SKIP + pickle.dumps(value)

    def loads(self, data):
        return pickle.loads(bytes(data)[SKIP:])
""",
    "app.py": """
import json, sys
from dataclasses import dataclass
import whorl
import deep
from rules import Marked, counted

@dataclass(frozen=True)
class Pair:
    a: int
    b: int

class Own:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __whorl_signature__(self):
        return deep.chosen(self)

class Free:
    def __init__(self, a, b):
        self.a, self.b = a, b

whorl.register_signature(Free, counted)

class Compiler:
    name, version, code = "c", "1", "by version"

    def compile(self, program, inputs):
        return whorl.Artifact({}, {"seen": inputs.arg("pair").type()[2]})

    def load(self, artifact, device):
        seen = artifact.metadata["seen"]
        return lambda pair: seen if isinstance(seen, int) else seen[0]

@whorl.cached(key=counted)
def by_key(pair):
    return pair.a, pair.b

@whorl.cached(key=whorl.Fingerprinter(rules={Pair: counted}))
def by_rule(pair):
    return pair.a, pair.b

def both(pair):
    return pair.a, pair.b

by_key_step = whorl.CachedStep(both, key=counted)

@whorl.cached(serializer=Marked())
def serialized(a, b):
    return a, b

@whorl.jit(Compiler())
def kernel(pair): ...

a, b = map(int, sys.argv[1:])
results = {
    "key": by_key(Pair(a, b)), "rule": by_rule(Pair(a, b)), "step": by_key_step(Pair(a, b)),
    "serializer": serialized(3, 4), "own signature": kernel(Own(a, b)),
    "signature": kernel(Free(a, b)),
}
ran = {
    "key": by_key.stats()["ran"], "rule": by_rule.stats()["ran"],
    "step": by_key_step.stats()["ran"], "serializer": serialized.stats()["ran"],
    "kernel": kernel.stats()["compiled"],
}
print(json.dumps([results, ran]))
""",
}


def run(folder: Path, a: int, b: int) -> Any:
    return printed(
        "app.py",
        str(a),
        str(b),
        cwd=folder,
        path=[folder],
        environment={
            "WHORL_CACHE_DIR": str(folder / "store"),
            "WHORL_SIGNING_KEY": "0123456789abcdef" * 4,
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )


def edit(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text()
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written(tmp_path, FILES)
    results, ran = run(tmp_path, 1, 5)
    assert results == {
        "key": [1, 5], "rule": [1, 5], "step": [1, 5], "serializer": [3, 4],
        "own signature": 1, "signature": 1,
    }  # fmt: skip
    assert ran == {"key": 1, "rule": 1, "step": 1, "serializer": 1, "kernel": 2}
    return tmp_path


def test_what_counts_by_another_rule_is_not_found_under_an_old_key(folder: Path) -> None:
    edit(folder, "deep.py", '"a"', '"b"')
    results, ran = run(folder, 7, 1)
    assert results == {
        "key": [7, 1], "rule": [7, 1], "step": [7, 1], "serializer": [3, 4],
        "own signature": 1, "signature": 1,
    }  # fmt: skip
    # What a compile sees of a value is its signature, so what was made for one is right for all.
    assert ran == {"key": 1, "rule": 1, "step": 1, "serializer": 0, "kernel": 0}
    results, ran = run(folder, 1, 7)
    assert (results["own signature"], results["signature"], ran["kernel"]) == (7, 7, 2)


def test_what_an_edited_serializer_would_misread_is_made_again(folder: Path) -> None:
    edit(folder, "rules.py", "SKIP = 1", "SKIP = 2")
    results, ran = run(folder, 1, 5)
    assert results["serializer"] == [3, 4]
    assert ran == {"key": 0, "rule": 0, "step": 0, "serializer": 1, "kernel": 0}


def test_edits_that_mean_nothing_run_nothing(folder: Path) -> None:
    edit(folder, "deep.py", "# one of two", "# the one that counts")
    edit(folder, "deep.py", "UNREAD = 1", "UNREAD = 2")
    edit(folder, "rules.py", "def counted", "\n\ndef counted")
    _, ran = run(folder, 1, 5)
    assert ran == {"key": 0, "rule": 0, "step": 0, "serializer": 0, "kernel": 0}
