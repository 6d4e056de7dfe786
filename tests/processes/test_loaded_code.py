"""The code that counts is the code that runs, whatever the file says by now, or without a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.processes.programs import forked, printed, written

_MODULE = """\
SCALE = 2


def used(x):
    return x * SCALE


def other(x):
    return x + 1
"""
_EDITS = {
    "another constant": ("x * SCALE", "x * SCALE * 3"),
    "another operator": ("x * SCALE", "x - SCALE"),
    "another name": ("x * SCALE", "x * OTHER"),
    "functions swapped": ("def used", "def other_used"),
    "a line above": ("SCALE = 2", "# moved\nSCALE = 2"),
    "same names on the same lines": ("x + 1", "x + 2"),
    "no Python any more": ("def used(x):", "def used(x"),
    "an empty file": (_MODULE, ""),
}


@pytest.fixture(scope="module")
def digests_by_edit(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """For each edit: before it, after it without a first look, and of the edited file itself."""
    program = """
import importlib, pathlib, sys, whorl
folder = pathlib.Path(sys.path[0])
module, twin, third = (importlib.import_module(name) for name in ("module", "twin", "third"))
edited = (folder / "edited.txt").read_text()
result = {"before": whorl.fingerprint(module.used)}
for name in ("module", "twin"):
    (folder / f"{name}.py").write_text(edited)
importlib.invalidate_caches()
result["after, looked at before"] = whorl.fingerprint(module.used)
result["after, looked at now for the first time"] = whorl.fingerprint(twin.used)
result["other, not looked at before"] = whorl.fingerprint(module.other)
result["other, unedited"] = whorl.fingerprint(third.other)
result["value"] = module.used(5)
del sys.modules["module"]
try:
    again = importlib.import_module("module")
    result["edited"] = whorl.fingerprint(again.used)
    result["edited value"] = again.used(5)
    result["edited other"] = whorl.fingerprint(again.other)
except Exception as error:
    result["edited"] = result["edited value"] = result["edited other"] = repr(error)
"""
    folders = [
        written(
            tmp_path_factory.mktemp("loaded"),
            {
                "module.py": _MODULE,
                "twin.py": _MODULE,
                "third.py": _MODULE,
                "edited.txt": _MODULE.replace(old, new),
            },
        )
        for old, new in _EDITS.values()
    ]
    return dict(zip(_EDITS, forked(program, folders), strict=True))


@pytest.mark.parametrize("edit", _EDITS)
def test_a_loaded_function_keeps_its_digest_when_its_file_is_edited(
    edit: str, digests_by_edit: dict[str, dict[str, str]]
) -> None:
    found = digests_by_edit[edit]
    assert found["after, looked at before"] == found["before"]


@pytest.mark.parametrize("edit", _EDITS)
def test_a_loaded_function_never_gets_the_digest_of_other_code_in_its_file(
    edit: str, digests_by_edit: dict[str, dict[str, str]]
) -> None:
    found = digests_by_edit[edit]
    if found["edited value"] != found["value"]:
        assert found["after, looked at now for the first time"] != found["edited"]
        assert found["after, looked at before"] != found["edited"]


def test_an_edit_of_one_function_leaves_the_digest_of_another_in_the_loaded_file(
    digests_by_edit: dict[str, dict[str, str]],
) -> None:
    found = digests_by_edit["another operator"]
    assert found["other, not looked at before"] == found["other, unedited"]
    assert found["edited other"] == found["other, unedited"]


def test_two_lambdas_on_one_line_are_told_apart(tmp_path: Path) -> None:
    text = """\
add, mul = (lambda x: x + 1), (lambda x: x * 1)
one, two = (lambda x: x), (lambda x: x)
deep = [lambda: (lambda: 1), lambda: (lambda: 2)]
same = [lambda: 1 + 1, lambda: 2]
defaults = [lambda x=i: x for i in range(2)]
named, wrapped = (lambda f: f), (lambda f: (lambda: f()))
"""
    (found,) = forked(
        """
import whorl, lambdas
fingerprint = whorl.fingerprint
result = {name: fingerprint(getattr(lambdas, name)) for name in ("add", "mul", "one", "two")}
result["deep"] = [fingerprint(f) for f in lambdas.deep] + [fingerprint(f()) for f in lambdas.deep]
result["defaults"] = [fingerprint(f) for f in lambdas.defaults]
""",
        [written(tmp_path, {"lambdas.py": text})],
    )
    assert found["add"] != found["mul"]
    assert found["one"] == found["two"]
    assert len(set(found["deep"])) == 4
    assert len(set(found["defaults"])) == 2


_IN_SESSION = """
scale = 3
def leaf(x):
    return x * scale
def caller(x):
    return leaf(x)
class Box:
    size = 1
    def __init__(self, x):
        self.x = x
    def area(self):
        return self.x * self.size
"""
_ASKED = """
import json, whorl
print(json.dumps({
    "function": whorl.fingerprint(caller), "class": whorl.fingerprint(Box),
    "instance": whorl.fingerprint(Box(1)), "method": whorl.fingerprint(Box(1).area),
    "lambda": whorl.fingerprint(lambda x: caller(x)),
}))
"""


def in_session(text: str, *, seed: int = 0, how: str = "-c") -> dict[str, Any]:
    """The digests of what is defined in a session without a file."""
    if how == "exec":
        text = f"exec({text!r}, globals())"
    if how == "-":
        found: dict[str, Any] = printed("-", text=text + _ASKED, seed=seed)
    else:
        found = printed("-c", text + _ASKED, seed=seed)
    return found


@pytest.mark.parametrize("how", ["-c", "exec", "-"])
def test_code_without_a_file_has_digests_that_another_session_finds_again(how: str) -> None:
    assert in_session(_IN_SESSION, how=how) == in_session(_IN_SESSION, seed=5, how=how)


def test_code_without_a_file_changes_with_what_is_two_calls_away() -> None:
    before = in_session(_IN_SESSION)
    leaf = in_session(_IN_SESSION.replace("x * scale", "x + scale"))
    scale = in_session(_IN_SESSION.replace("scale = 3", "scale = 4"))
    area = in_session(_IN_SESSION.replace("size = 1", "size = 2"))
    for changed in (leaf, scale):
        assert changed["function"] != before["function"]
        assert changed["lambda"] != before["lambda"]
        assert changed["class"] == before["class"]
    assert area["class"] != before["class"]
    assert area["method"] != before["method"]
    assert area["function"] == before["function"]


def test_code_without_a_file_does_not_change_with_comments_docstrings_and_lines() -> None:
    before = in_session(_IN_SESSION)
    text = _IN_SESSION.replace(
        "    return x * scale", '    "Text."\n\n    # why\n    return x * scale'
    )
    assert in_session(text) == before


def test_a_function_redefined_in_a_session_is_another_one() -> None:
    program = """
import json, whorl
def f(x): return x
first = f
a = whorl.fingerprint(f)
def f(x): return -x
b = whorl.fingerprint(f)
def f(x): return x
c = whorl.fingerprint(f)
print(json.dumps([a, b, c, whorl.fingerprint(first)]))
"""
    first, second, third, old = printed("-c", program)
    assert first == third == old != second


def test_code_that_was_executed_under_the_name_of_a_file_is_not_taken_for_the_file(
    tmp_path: Path,
) -> None:
    file = written(tmp_path, {"real.py": "def f(x):\n    return x\n"}) / "real.py"
    program = f"""
import json, whorl, importlib, sys
sys.path.insert(0, {str(tmp_path)!r})
import real
scope = {{"__name__": "real"}}
exec(compile("def f(x):\\n    return -x\\n", {str(file)!r}, "exec"), scope)
print(json.dumps([whorl.fingerprint(real.f), whorl.fingerprint(scope["f"])]))
"""
    loaded, executed = printed("-c", program)
    assert loaded != executed


def test_a_function_with_many_names_and_an_import_inside_has_a_fingerprint(tmp_path: Path) -> None:
    reads = "".join(f"    total += values.name_{i}\n" for i in range(300))
    text = f"def many(values):\n    total = 0\n{reads}    from math import sin\n    return sin\n"
    (found,) = forked(
        "import whorl, wide; result = whorl.fingerprint(wide.many)",
        [written(tmp_path, {"wide.py": text})],
    )
    assert len(found) == 32


def test_a_users_module_named_like_one_of_python_counts_by_content(tmp_path: Path) -> None:
    main = "def f():\n    from profile import SPEED\n    return SPEED\n\n\n"
    main += "def g():\n    import profile\n    return profile.SPEED\n"
    folders = [
        written(tmp_path / str(speed), {"profile.py": f"SPEED = {speed}\n", "speedy.py": main})
        for speed in (1, 2)
    ]
    program = "import whorl, speedy as s; result = [whorl.fingerprint(s.f), whorl.fingerprint(s.g)]"
    one, two = forked(program, folders)
    assert one[0] != two[0]
    assert one[1] != two[1]
