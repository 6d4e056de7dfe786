"""An edit changes the digests of exactly the functions that can behave differently after it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.processes.programs import differing, forked, printed, written
from tests.processes.shop import FILES

Files = dict[str, str]

_DIGESTS = "from shop.main import digests; result = digests()"

# Everything that goes through helper() to leaf(), two calls away.
LEAF = {
    "calls", "closure", "cached", "partial", "lambda", "comprehension", "nested", "keywords",
    "generator", "coroutine", "method of base",
}  # fmt: skip
# A class counts with all its methods and those of its bases, which super() could reach.
BASE = {"instance", "method of base", "method of sub", "class", "class method"}
SUB = {"instance", "method of sub", "class", "class method"}
BRANCHES = {"branch", "attribute of module in module"}

HELPER = LEAF - {"method of base"}
CLASS = {"two calls to a class"}
ENUM = {"enumeration", "matched"}

# (what is edited, the file, the old text, the new text, the roots that change)
EDITS: list[tuple[str, str, str, str, set[str]]] = [
    # Nothing that runs.
    ("a comment", "deep", "# by a factor", "# by some other factor", set()),
    ("a docstring", "deep", '"""Multiply."""', '"""Multiply it."""', set()),
    ("a docstring taken away", "deep", '    """Multiply."""\n', "", set()),
    ("a docstring of a class", "deep", '"""Reached through an instance."""\n', '"""C."""\n', set()),
    ("a docstring of a module", "deep", '"""Two calls away', '"""Three calls away', set()),
    ("a blank line above", "deep", "FACTOR = 3", "\n\n\nFACTOR = 3", set()),
    ("a blank line inside", "deep", "    return y", "\n    return y", set()),
    ("reformatting", "main", "(x + 1) * 2", "(\n        (x + 1)\n        * 2\n    )", set()),
    ("quotes", "main", '{"left", "right"}', "{'left', 'r' 'ight'}", set()),
    ("spelling of a number", "deep", "FACTOR = 3", "FACTOR = 0x3", set()),
    ("indentation", "deep", "    return x + OTHER", "  return x + OTHER", set()),
    ("an unused global", "main", 'PREFIX = "p"', 'PREFIX = "p"\nSUFFIX = "s"', set()),
    ("an unused setting", "cfg", "UNUSED = 1", "UNUSED = 2", set()),
    ("an unused function", "late", "return x\n", "return -x\n", set()),
    ("a new function", "deep", "def unrelated", "def new():\n    pass\n\n\ndef unrelated", set()),
    ("a global read elsewhere", "deep", "OTHER = 5", "OTHER = 6", SUB),
    ("an unread member of a container", "deep", '"high": {"a", "b"}', '"high": {"b", "a"}', set()),
    # Two calls away.
    ("a function two calls away", "deep", "y = x * FACTOR", "y = FACTOR * x", LEAF | BASE),
    ("a function three calls away", "deep", "return x + OTHER", "return OTHER + x", SUB),
    ("a global two calls away", "deep", "FACTOR = 3", "FACTOR = 4", LEAF | BASE | BRANCHES),
    ("its type", "deep", "FACTOR = 3", "FACTOR = 3.0", LEAF | BASE | BRANCHES),
    ("a function one call away", "helpers", "leaf(x) + 1", "leaf(x) + 2", HELPER),
    ("a class two calls away", "deep", "return x + 1\n", "return x + 2\n", CLASS),
    ("its attribute", "deep", "scale = 2", "scale = 3", CLASS),
    # Classes.
    ("a method", "helpers", "self.inner(x) + self.unit", "self.unit + self.inner(x)", BASE),
    ("a class attribute", "helpers", "unit = 10", "unit = 11", BASE),
    ("an overriding method", "helpers", "return deep.unrelated(x)", "return deep.leaf(x)", SUB),
    ("a property", "helpers", "self.unit * 2", "self.unit * 4", BASE | {"property"}),
    ("a class method", "helpers", "return cls()", "return cls.__new__(cls)", BASE),
    ("a static method", "helpers", "return x - 1", "return x - 2", BASE | {"static method"}),
    (
        "a new method of a subclass",
        "helpers",
        "class Sub(Base):\n",
        "class Sub(Base):\n    def step(self, x):\n        return x\n\n",
        SUB,
    ),
    ("the base of a class", "helpers", "class Sub(Base):", "class Sub(Deep, Base):", SUB),
    ("a value of an enum", "deep", "LARGE = 2", "LARGE = 3", ENUM),
    ("a name of an enum", "deep", "SMALL = 1", "TINY = 1\n    SMALL = 5", ENUM),
    ("a default of a dataclass", "deep", "size: int = 4", "size: int = 5", {"record"}),
    ("a method of a dataclass", "deep", "self.size * self.size", "self.size**2", {"record"}),
    # Values.
    ("a module attribute", "cfg", "TILE = 64", "TILE = 32", {"attribute"}),
    ("an attribute of a nested class", "cfg", "DEPTH = 3", "DEPTH = 4", {"attribute of class"}),
    ("a default", "main", "LIMIT = 100", "LIMIT = 101", {"default"}),
    ("a keyword default", "main", 'PREFIX = "p"', 'PREFIX = "q"', {"default"}),
    ("a captured value", "main", "closure(5)", "closure(6)", {"closure"}),
    ("the code of a closure", "main", "helper(x) + n", "helper(x) - n", {"closure"}),
    ("an argument of partial", "main", "partial(helper, 2)", "partial(helper, 3)", {"partial"}),
    ("a function in partial", "main", "partial(helper, 2)", "partial(calls, 2)", {"partial"}),
    ("a size of a cache", "main", "maxsize=4", "maxsize=5", {"cached"}),
    ("a container", "deep", '"low": [1, 2]', '"low": [1, 3]', {"container"}),
    ("a literal set", "main", '{"left", "right"}', '{"left", "up"}', {"choice"}),
    ("an annotation of a parameter", "main", "typed(x: int)", "typed(x: float)", {"typed"}),
    ("an annotation of a local name", "main", "y: int = x", "y: float = x", {"typed"}),
    ("a message of an assertion", "main", '"positive"', '"above zero"', {"checked"}),
    ("an assertion", "main", "assert x > 0", "assert x > 1", {"checked"}),
    ("a pattern", "main", '{"kind": Kind.SMALL}', '{"kind": Kind.LARGE}', {"matched"}),
    # Ways to be reached.
    ("a decorator", "helpers", '"before"', '"after"', {"decorated"}),
    ("a decorator's argument", "main", "@limited(50)", "@limited(51)", {"decorated with argument"}),
    (
        "the body of a decorator with an argument",
        "helpers",
        "min(function(x), bound)",
        "max(function(x), bound)",
        {"decorated with argument"},
    ),
    ("a decorated function", "main", "x + 1\n\n\n@limited", "x + 3\n\n\n@limited", {"decorated"}),
    ("a decorator taken away", "main", "@traced\n", "", {"decorated"}),
    (
        "a function imported inside",
        "late",
        "return x + SHIFT",
        "return SHIFT + x",
        {"local import"},
    ),
    ("its global", "late", "SHIFT = 7", "SHIFT = 8", {"local import", "local module import"}),
    ("a lambda", "main", "helper(x) - 1", "helper(x) - 2", {"lambda"}),
    ("an argument of a lambda", "main", "lambda x: helper", "lambda x, y=2: helper", {"lambda"}),
    ("a branch never taken", "main", "10**9", "10**8", {"branch"}),
    ("a nested lambda", "main", "[lambda: helper(x)]", "[lambda: helper(x), 1]", {"nested"}),
    ("a keyword", "main", "helper(x=1)", "helper(x=2)", {"keywords"}),
    ("an instance in a global", "main", "SUB = Sub()", "SUB = Base()", {"instance"}),
    (
        "an attribute of an instance in a global",
        "main",
        "SUB = Sub()",
        "SUB = Sub()\nSUB.unit = 9",
        {"instance"},
    ),
    (
        "another function under a name",
        "main",
        "LIMIT = 100",
        "from .late import shifted as helper\n\nLIMIT = 100",
        HELPER,
    ),
]  # fmt: skip


def edited(file: str, old: str, new: str) -> Files:
    text = FILES[f"shop/{file}.py"]
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {file}"
    return {**FILES, f"shop/{file}.py": text.replace(old, new)}


def reordered(text: str) -> str:
    """The same module with two functions in the other order."""
    first, second = text.index("def calls"), text.index("def attribute()")
    third = text.index("def attribute_of_class")
    return text[:first] + text[second:third] + text[first:second] + text[third:]


@functools.cache
def _before_and_after(tmp: Path) -> tuple[Mapping[str, str], dict[str, Mapping[str, str]]]:
    cases: dict[str, Files] = {"": FILES}
    for what, file, old, new, _ in EDITS:
        cases[what] = edited(file, old, new)
    cases["order of functions"] = {**FILES, "shop/main.py": reordered(FILES["shop/main.py"])}
    folders = [written(tmp / str(i), files) for i, files in enumerate(cases.values())]
    found = dict(zip(cases, forked(_DIGESTS, folders), strict=True))
    return found.pop(""), found


@pytest.fixture(scope="module")
def before_and_after(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Mapping[str, str], dict[str, Mapping[str, str]]]:
    """The digests before any edit, and after each."""
    return _before_and_after(tmp_path_factory.mktemp("shop"))


@pytest.mark.parametrize(
    ("what", "changed"), [(row[0], row[4]) for row in EDITS], ids=[row[0] for row in EDITS]
)
def test_an_edit_changes_what_reaches_it_and_nothing_else(
    what: str,
    changed: set[str],
    before_and_after: tuple[Mapping[str, str], dict[str, Mapping[str, str]]],
) -> None:
    before, after = before_and_after
    assert differing(before, after[what]) == changed


def test_the_order_of_functions_in_a_file_does_not_show(
    before_and_after: tuple[Mapping[str, str], dict[str, Mapping[str, str]]],
) -> None:
    before, after = before_and_after
    assert differing(before, after["order of functions"]) == set()


def test_a_moved_package_and_its_compiled_files_do_not_show(tmp_path: Path) -> None:
    one, two = written(tmp_path / "one", FILES), written(tmp_path / "two" / "deeper", FILES)
    program = "import json; from shop.main import digests; print(json.dumps(digests()))"
    may_write = {"PYTHONDONTWRITEBYTECODE": ""}
    without_pyc = printed("-B", "-c", program, cwd=one)
    writing_pyc = printed("-c", program, cwd=one, environment=may_write)
    assert (one / "shop" / "__pycache__").is_dir()
    from_pyc = printed("-c", program, cwd=one)
    elsewhere = printed("-c", program, cwd=two)
    for other in (writing_pyc, from_pyc, elsewhere):
        assert differing(other, without_pyc) == set()


def test_without_assertions_only_what_has_some_changes(tmp_path: Path) -> None:
    folder = written(tmp_path, FILES)
    program = "import json; from shop.main import digests; print(json.dumps(digests()))"
    plain, optimized, bare = (
        printed(*options, "-c", program, cwd=folder) for options in ((), ("-O",), ("-OO",))
    )
    assert differing(plain, optimized) == {"checked"}
    assert differing(optimized, bare) == set()
