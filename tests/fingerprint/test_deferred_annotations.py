"""Annotations count by what they say, and are not evaluated for it (PEP 649, from Python 3.14 on).

The programs are texts without `from __future__ import annotations`: there, annotations are values
until Python 3.13 and expressions afterwards. What an edit of them changes is the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import whorl
from tests.fingerprint.programs import Programs

DEFERRED = sys.version_info >= (3, 14)
deferred = pytest.mark.skipif(not DEFERRED, reason="annotations are values until Python 3.13")


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    return Programs(tmp_path)


FUNCTION = "from typing import *\nimport enum\nN = 3\nclass C: pass\ndef f(x: {}) -> None: pass\n"
FUTURE = f"from __future__ import annotations\n{FUNCTION}"
CLASS = "from typing import *\nimport enum\nN = 3\nclass C: pass\nclass f:\n    x: {}\n"
DATACLASS = (
    "from typing import *\nimport dataclasses\nN = 3\nclass C: pass\n"
    "@dataclasses.dataclass\nclass f:\n    x: {}\n"
)
SLOTTED = DATACLASS.replace("dataclasses.dataclass\n", "dataclasses.dataclass(slots=True)\n")
ATTRS = (
    "from typing import *\nimport attrs\nN = 3\nclass C: pass\n@attrs.define\nclass f:\n    x: {}\n"
)
TYPED_DICT = "from typing import *\nN = 3\nclass C: pass\nclass f(TypedDict):\n    x: {}\n"
NAMED_TUPLE = TYPED_DICT.replace("TypedDict", "NamedTuple")
METHOD = (
    "from typing import *\nN = 3\nclass C: pass\nclass f:\n    def m(self, x: {}) -> None: pass\n"
)
INSIDE = (
    "from typing import *\nN = 3\nclass C: pass\ndef f():\n    def inner(x: {}): pass\n"
    "    return inner\n"
)
PLACES = {
    "function": FUNCTION, "future": FUTURE, "class": CLASS, "dataclass": DATACLASS,
    "slotted": SLOTTED, "attrs": ATTRS, "typed dict": TYPED_DICT, "named tuple": NAMED_TUPLE,
    "method": METHOD, "inner": INSIDE,
}  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("int", "str"),
        ("int", "list[int]"),
        ("list[int]", "list[str]"),
        ("int | None", "str | None"),
        ("Annotated[int, 3]", "Annotated[int, 4]"),
        ("Literal['a']", "Literal['b']"),
        ("C", "list[C]"),
        ("'C'", "'N'"),
    ],
)
@pytest.mark.parametrize("place", [*PLACES])
def test_an_edited_annotation_counts(
    programs: Programs, place: str, before: str, after: str
) -> None:
    text = PLACES[place]
    assert not programs.same(text.format(before), text.format(after))
    assert programs.same(text.format(before), text.format(before))


@deferred
@pytest.mark.parametrize("place", sorted({*PLACES} - {"future", "attrs", "dataclass", "slotted"}))
@pytest.mark.parametrize("said", ["Undefined", "list[Undefined]", "Undefined | None", "C.nothing"])
def test_a_name_that_is_not_defined_is_no_error_and_counts(
    programs: Programs, place: str, said: str
) -> None:
    text = PLACES[place]
    other = said.replace("Undefined", "Missing").replace("nothing", "never")
    assert not programs.same(text.format(said), text.format(other))


EVALUATED = (
    "\n\nimport annotationlib\ntry: annotationlib.get_annotations(f)\nexcept Exception: pass\n"
)


@deferred
@pytest.mark.parametrize(
    "said",
    [
        "int", "list[int]", "int | None", "'C'", "C", "Annotated[int, N]", "Annotated[C, make()]",
        "Optional[C]", "Undefined", "Callable[[int, C], str]", "Literal['a', N]", "type[C]",
        "make(3)", "make(N) | None", "dict[str, list[C]]", "N + 1", "(int if N else str)",
        "[int for _ in range(N)]", "(lambda: N)", "tuple[*Ts]", "Own[int]", "G[int]", "other.X",
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["function", "class", "dataclass", "typed dict"])
def test_whether_they_were_evaluated_before_makes_no_difference(
    programs: Programs, place: str, said: str
) -> None:
    if place != "function" and said in ("make(3)", "N + 1"):
        pytest.skip("no type")
    text = (
        PLACES[place]
        .format(said)
        .replace(
            "class C: pass\n",
            "class C: pass\ndef make(*a): return C\nTs = TypeVarTuple('Ts')\nT = TypeVar('T')\n"
            "class Own:\n    def __class_getitem__(cls, key): return C\nclass G(Generic[T]): pass\n"
            "import types as other\n",
        )
    )
    if place == "typed dict" and said in ("(lambda: N)", "[int for _ in range(N)]"):
        pytest.skip("no type")
    assert programs.same(text, text + EVALUATED)


@deferred
def test_no_annotation_is_evaluated(programs: Programs) -> None:
    text = """
        ran = []
        def note(x=None):
            ran.append(x)
            return int
        class Meta(type):
            def __getitem__(cls, key): note(key)
            def __or__(cls, other): note(other)
            def __hash__(cls): note("hash"); return 1
            def __eq__(cls, other): note("eq"); return False
        class Strange(metaclass=Meta):
            def __class_getitem__(cls, key): note(key)
        class Value:
            def __hash__(self): note("hash"); return 1
            def __or__(self, other): note("or")
            def __call__(self): note("call")
            @property
            def attribute(self): note("attribute")
        value = Value()
        from typing import Annotated, Optional
        def f(a: note(1), b: Strange[int], c: Strange | None, d: Annotated[int, value],
              e: Optional[Strange], g: value(), h: value.attribute, i: value | None): pass
        class K:
            a: note(1)
            b: Strange[int]
            d: Annotated[int, value]
            def m(self, x: note(2)): pass
    """
    program = programs.load(text)
    for thing in (program.f, program.K, program.K()):
        whorl.fingerprint(thing)
    assert not program.ran


@deferred
def test_what_an_annotation_names_counts(programs: Programs) -> None:
    text = "from typing import *\nN = {}\ndef make(x): return {}\ndef f(x: {}): pass\n"
    for said in ("Annotated[int, N]", "make(N)", "[N for _ in 'ab']"):
        assert not programs.same(text.format(1, "int", said), text.format(2, "int", said))
    assert not programs.same(text.format(1, "int", "make(3)"), text.format(1, "str", "make(3)"))
    assert programs.same(text.format(1, "int", "list[int]"), text.format(2, "str", "list[int]"))


def test_a_class_that_is_only_named_counts_by_its_name(programs: Programs) -> None:
    text = "import threading\nclass C:\n    lock = threading.Lock()\n    x = {}\n"
    for said in ("C", "list[C]", "C | None"):
        function = f"{text}def f(x: {said}): pass\n"
        assert programs.same(function.format(1), function.format(2))


def test_changed_annotations_count(programs: Programs) -> None:
    program = programs.load("def f(x: int): pass\nclass K:\n    x: int\n")
    for thing in (program.f, program.K):
        before = whorl.fingerprint(thing)
        thing.__annotations__["x"] = str
        changed = whorl.fingerprint(thing)
        thing.__annotations__["x"] = int
        assert whorl.fingerprint(thing) == before != changed
        thing.__annotations__ = {"x": str}
        assert whorl.fingerprint(thing) == changed
        thing.__annotations__ = {}
        assert whorl.fingerprint(thing) not in (before, changed)


def test_an_annotation_under_a_condition_counts_if_it_was_reached(programs: Programs) -> None:
    text = "FLAG = {}\nclass f:\n    if FLAG:\n        x: int\n    else:\n        x: str\n"
    assert not programs.same(text.format(True), text.format(False))


def test_a_name_of_the_class_is_found_before_a_global(programs: Programs) -> None:
    program = programs.load("T = int\nclass f:\n    T = str\n    x: T\n")
    before = whorl.fingerprint(program.f)
    program.f.__annotations__ = {"x": str}
    assert whorl.fingerprint(program.f) == before


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are new in Python 3.12")
def test_type_parameters_in_annotations_count(programs: Programs) -> None:
    text = "class f[T, U]:\n    x: {}\n    def m[V](self, y: {}) -> V: ...\n"
    texts = [text.format(x, y) for x in "TU" for y in "TV"]
    assert len({programs.digest(each) for each in texts}) == 4


def test_a_function_may_be_named_in_its_own_annotation(programs: Programs) -> None:
    text = "from typing import *\ndef f(x: {}): return {}\n"
    said = "Annotated[int, f]" if DEFERRED else "int"
    assert not programs.same(text.format(said, 1), text.format(said, 2))


@pytest.mark.parametrize("said", ["Undefined", "list[Undefined]", "make()"])
@deferred
def test_a_marker_beside_a_type_that_is_not_evaluated_is_honoured(
    programs: Programs, said: str
) -> None:
    text = f"""
        import whorl
        from typing import *
        class f:
            a: Annotated[{said}, whorl.exclude]
            b: Optional[Annotated[{said}, whorl.exclude]]
            c: {said} | Annotated[{said}, whorl.exclude] | None
            def __init__(self, a, b, c): self.a, self.b, self.c = a, b, c
    """
    f = programs.get(text)
    assert whorl.fingerprint(f(1, 2, 3)) == whorl.fingerprint(f(4, 5, 6))


@deferred
def test_a_marker_that_is_not_defined_yet_is_refused(programs: Programs) -> None:
    f = programs.get("from typing import *\nclass f:\n    a: Annotated[int, later.exclude]\n")
    value = f()
    value.a = 1
    with pytest.raises(whorl.UnsupportedValue, match=r"'a'.*later"):
        whorl.fingerprint(value)


def looks(how: str) -> str:
    return f"""
        import dataclasses, inspect, typing
        def make(x): return helper(x)
        def helper(x): return {{}}
        class Inner:
            value = {{}}
        def said(x: Inner, y: make(3) = None): pass
        def f(): return {how}
    """


@pytest.mark.parametrize(
    "how",
    [
        "said.__annotations__['x'].value",
        "typing.get_type_hints(said)['x'].value",
        "inspect.get_annotations(said)['x'].value",
        "inspect.signature(said).parameters['x'].annotation.value",
        pytest.param("said.__annotate__(1)['x'].value", marks=deferred),
        pytest.param("__import__('annotationlib').get_annotations(said)", marks=deferred),
    ],
)
def test_who_looks_at_annotations_sees_what_they_lead_to(programs: Programs, how: str) -> None:
    text = looks(how)
    assert not programs.same(text.format(int, 1).replace("<class 'int'>", "int"),
                             text.format(int, 2).replace("<class 'int'>", "int"))  # fmt: skip
    if DEFERRED:  # else `make` has run when the function was made, and its result counts
        assert not programs.same(text.format("int", 1), text.format("str", 1))


def test_who_does_not_look_does_not_see_it(programs: Programs) -> None:
    text = looks("said(1)")
    assert programs.same(text.format("int", 1), text.format("int", 2))


def test_a_wrapper_has_the_annotations_of_what_it_wraps(programs: Programs) -> None:
    text = (
        "import functools\ndef wrap(g):\n    @functools.wraps(g)\n"
        "    def wrapper(*args): return g(*args)\n    return wrapper\n"
        "@wrap\ndef f(x: {}): pass\n"
    )
    assert not programs.same(text.format("int"), text.format("str"))
    assert programs.same(text.format("int"), text.format("int") + "f.__annotations__\n")


def test_differences_say_what_annotations_say(programs: Programs) -> None:
    one = programs.get("class f:\n    x: int\n")
    other = programs.get("class f:\n    x: str\n")
    (found,) = whorl.diff(one, other)
    assert found.path == "value.__annotations__"
    assert (str(found.left), str(found.right)) == ("x: class int", "x: class str")


@deferred
@pytest.mark.parametrize(
    "said",
    ["Missing", "list[Missing]", "Missing | None", "make(3, x=int)", "Missing.part[1]", "C.none"],
)
def test_differences_say_what_is_not_evaluated_as_it_was_written(
    programs: Programs, said: str
) -> None:
    text = "def make(*a, **k): pass\nclass C: pass\nclass f:\n    x: {}\n"
    (found,) = whorl.diff(programs.get(text.format("int")), programs.get(text.format(said)))
    assert str(found.right) == f"x: {said}"


def test_an_annotated_module_counts_no_more_than_its_values(programs: Programs) -> None:
    before = whorl.fingerprint(programs.load("x = 3\n"))
    assert whorl.fingerprint(programs.load("x: int = 3\nif x:\n    y: int\n")) == before
