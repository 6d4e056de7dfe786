"""What a second pair of eyes found: values that were wrongly one, wrongly two, or in the way."""

from __future__ import annotations

import collections
import copy
import enum
import functools
import gc
import subprocess
import sys
import types
import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pydantic
import pytest

import whorl
from tests.fingerprint.comparing import different, same
from tests.fingerprint.programs import Programs
from whorl.fingerprint.describe import Describer
from whorl.fingerprint.graph import Graph


def executed(text: str, name: str, **scope: Any) -> Any:
    space: dict[str, Any] = dict(scope)
    exec(compile(text, "<string>", "exec", dont_inherit=True), space)
    return space[name]


# -- wrongly one ------------------------------------------------------------------------


def test_classes_made_by_exec_in_a_bare_scope_count_by_content() -> None:
    one, two = (executed(f"class A:\n def m(self): return {k}", "A") for k in (1, 2))
    assert one.__module__ == "builtins"
    assert different(one, two)
    assert different(one(), two())


def test_a_function_is_the_users_although_another_program_has_taken_its_modules_name(
    tmp_path: Path,
) -> None:
    script = tmp_path / "measured.py"
    text = "import whorl\ndef helper(x): return x + 1\ndef main(x): return helper(x)\n"
    digests = []
    for edited in (text, text.replace("+ 1", "+ 2")):
        script.write_text(edited + "print(whorl.fingerprint(main))\n")
        command = [sys.executable, "-m", "cProfile", str(script)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        digests.append(done.stdout.split()[0])
    assert len(set(digests)) == 2


def test_a_class_looked_at_before_its_name_is_bound_counts_by_name_afterwards(
    programs: Programs,
) -> None:
    text = """
import whorl
def register(cls):
    whorl.fingerprint(cls()); return cls
{early}
class A:
    def __init__(self): self.x = 1
    def run(self): return 1
"""
    early = programs.load(text.format(early="@register"))
    assert whorl.fingerprint(early.A()) == whorl.fingerprint(early.A())
    assert whorl.diff(early.A(), early.A()) == []
    first = whorl.fingerprint(early.A())
    other = type("A", (), {"__module__": early.__name__})()
    other.x = 1
    assert whorl.fingerprint(other) == first  # by name, as every instance counts


def cached_twice(factor: int) -> Callable[[int], int]:
    def plain(x: int) -> int:
        return x

    @functools.wraps(plain)
    @functools.lru_cache
    def double(x: int) -> int:
        return x * 2

    @functools.wraps(plain)
    @functools.lru_cache
    def triple(x: int) -> int:
        return x * 3

    return double if factor == 2 else triple


def test_the_function_behind_a_cache_counts_though_its_wrapper_names_another() -> None:
    assert different(cached_twice(2), cached_twice(3))


def test_classes_that_their_metaclass_calls_equal_have_fields_of_their_own() -> None:
    class ByName(type):
        def __eq__(cls, other: object) -> bool:
            return isinstance(other, ByName) and cls.__name__ == other.__name__

        def __hash__(cls) -> int:
            return hash(cls.__name__)

    first = ByName("P", (), {"__slots__": ("x",)})
    second = ByName("P", (), {"__slots__": ("x", "y")})

    def make(cls: type, **fields: int) -> object:
        value = cls()
        for name, held in fields.items():
            setattr(value, name, held)
        return value

    assert len(whorl.fingerprint(make(first, x=1))) == 32
    assert different(make(second, x=1, y=2), make(second, x=1, y=3))


@pytest.mark.parametrize("read", ['globals()["TILE"]', 'eval("TILE")'])
def test_a_function_that_can_read_any_global_reads_them_all(programs: Programs, read: str) -> None:
    module = programs.load(f"TILE = 1\ndef f(): return {read}\n")
    before = whorl.fingerprint(module.f)
    module.TILE = 2
    assert whorl.fingerprint(module.f) != before


def test_a_module_that_computes_its_attributes_counts_with_what_it_computes(
    programs: Programs,
) -> None:
    text = """
import sys, types
class M(types.ModuleType):
    @property
    def TILE(self): return {tile}
cfg = M("cfg")
def f(): return cfg.TILE
"""
    one, two = (programs.load(text.format(tile=tile)).f for tile in (1, 2))
    assert different(one, two)


def test_methods_written_in_a_dataclass_count_wherever_its_text_is_from() -> None:
    text = """
from dataclasses import dataclass
@dataclass
class D:
    x: int
    def __lt__(self, other): return {answer}
"""
    one, two = (executed(text.format(answer=a), "D", __name__="made") for a in (1, 2))
    assert different(one, two)


def test_a_property_of_an_enum_counts(programs: Programs) -> None:
    text = "import enum\nclass f(enum.Enum):\n A = 1\n @enum.property\n def p(self): return {}\n"
    assert not programs.same(text.format(2), text.format(3))


VALIDATED = """x: int
 y: int
 @pydantic.field_validator({!r})
 @classmethod
 def v(cls, a): return a"""


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("x: int = pydantic.Field(1, validation_alias='a')", "x: int = pydantic.Field(1)"),
        ("x: int = pydantic.Field(1, frozen=True)", "x: int = pydantic.Field(1)"),
        (VALIDATED.format("x"), VALIDATED.format("y")),
    ],
)
def test_what_is_said_of_a_pydantic_model_counts(programs: Programs, one: str, two: str) -> None:
    head = "import pydantic\nclass f(pydantic.BaseModel):\n "
    assert issubclass(programs.get(head + one + "\n"), pydantic.BaseModel)
    assert not programs.same(head + one + "\n", head + two + "\n")


class Token:
    def __init__(self, text: str) -> None:
        self.text = text


@pytest.mark.parametrize("rule", [lambda t: (t, "extra"), lambda t: {"self": t}])
def test_a_rule_that_returns_something_around_the_value_is_refused(
    rule: Callable[[Token], object],
) -> None:
    with pytest.raises(whorl.UnsupportedValue, match="rule"):
        whorl.Fingerprinter({Token: rule})(Token("a"))


def test_a_slot_and_an_entry_of_its_name_in_the_dictionary_are_two_places() -> None:
    class Both:
        __slots__ = ("__dict__", "x")

    slot: Any = Both()
    entry = Both()
    slot.x = 1
    entry.__dict__["x"] = 1
    assert different(slot, entry)


@dataclass
class Inner:
    data: Annotated[Any, whorl.by_type]


@dataclass
class Outer:
    inner: Annotated[Inner, whorl.by_type]


def test_a_field_by_type_inside_a_value_by_type_keeps_its_type() -> None:
    small, large = Outer(Inner(np.zeros(3))), Outer(Inner(np.zeros((4, 4), "f4")))
    assert different(small, large)
    assert same(small, Outer(Inner(np.ones(3))))


def test_a_local_class_beside_its_instances_counts_with_what_its_methods_read(
    programs: Programs,
) -> None:
    module = programs.load(
        """
from dataclasses import dataclass
K = 1
def make():
    @dataclass(slots=True)
    class L:
        x: int
        def m(self): return K
    return L
L = make()
"""
    )
    values = [[module.L(1), module.L], [module.L, module.L(1)]]
    before = [whorl.fingerprint(value) for value in values]
    module.K = 2
    assert all(whorl.fingerprint(v) != b for v, b in zip(values, before, strict=True))


def test_a_rule_that_reaches_an_identity_gives_a_digest_for_this_process() -> None:
    @whorl.by_identity("handle")
    class Holder:
        def __init__(self) -> None:
            self.handle = object()

    holder = Holder()
    own = whorl.Fingerprinter({Token: lambda token: (holder is None, token.text)})
    assert type(own(Token("a"))) is whorl.ProcessDigest


# -- wrongly two ------------------------------------------------------------------------


def test_copying_an_instance_does_not_change_its_class() -> None:
    class Plain:
        def __init__(self) -> None:
            self.x = 1

    value = Plain()
    before = whorl.fingerprint(Plain), whorl.fingerprint(value)
    copy.copy(value)
    assert (whorl.fingerprint(Plain), whorl.fingerprint(value)) == before


def test_an_iterator_over_a_set_is_refused() -> None:
    with pytest.raises(whorl.UnsupportedValue, match="order"):
        whorl.fingerprint(iter({"a", "b"}))


def test_the_warnings_of_a_file_and_who_filters_them_do_not_matter(programs: Programs) -> None:
    text = 'def f(): return "\\d"\n'
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = whorl.fingerprint(programs.get(text))
        second = programs.get("\n" + text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert whorl.fingerprint(second) == first


def test_rules_of_a_library_hold_from_the_first_value_on() -> None:
    program = """
import whorl
whorl.fingerprint(int); whorl.fingerprint(1, by="type"); whorl.fingerprint([whorl.Digest])
import numpy as np
first = [whorl.fingerprint(np.zeros(3), by="type"), whorl.fingerprint(np.float32)]
assert first == [whorl.fingerprint(np.ones(3), by="type"), whorl.fingerprint(np.float32)]
print(*first)
"""
    fresh = """
import numpy, whorl
print(whorl.fingerprint(numpy.zeros(3), by="type"), whorl.fingerprint(numpy.float32))
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, check=True
        ).stdout
        for text in (program, fresh)
    }
    assert len(outputs) == 1


class Sentinel(enum.Enum):
    MISSING = object()
    EMPTY = object()


def test_a_sentinel_enum_counts_by_name() -> None:
    assert different(Sentinel.MISSING, Sentinel.EMPTY)


# -- in the way -------------------------------------------------------------------------


def test_a_lock_has_a_type() -> None:
    import threading

    assert same_by_type(threading.Lock(), threading.Lock())
    assert whorl.fingerprint([object()], by="type") != whorl.fingerprint([1], by="type")


def same_by_type(left: object, right: object) -> bool:
    return whorl.fingerprint(left, by="type") == whorl.fingerprint(right, by="type")


def test_a_registry_of_functions_that_read_it_is_walked_once(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"def f{i}(x): return OPS, x + {i}" for i in range(50)]
    lines.append(f"OPS = {{{', '.join(f'{i}: f{i}' for i in range(50))}}}")
    module = programs.load("\n".join(lines) + "\n")
    walks = []
    graph = Describer.graph

    def counted(self: Describer, value: object, where: str = "value") -> Graph:
        walks.append(value)
        return graph(self, value, where)

    monkeypatch.setattr(Describer, "graph", counted)
    whorl.fingerprint(module.OPS)
    assert len(walks) == 1


@functools.lru_cache
def cached(x: int) -> int:
    return x


def test_a_cached_function_has_a_name() -> None:
    assert whorl.fingerprint(cached, by="name") == whorl.fingerprint(cached, by="name")


class Measured(np.ndarray[Any, Any]):
    """An array with a class of its own."""


@pytest.mark.parametrize(
    ("left", "right", "path"),
    [
        (np.zeros(1).view(Measured), np.ones(1).view(Measured), "value"),
        (collections.deque([1], 3), collections.deque([1], 4), "value.maxlen"),
        ({10**5000: 1}, {10**5000: 2}, "value[<int>]"),
    ],
)
def test_odd_values_have_differences_too(left: object, right: object, path: str) -> None:
    assert [d.path for d in whorl.diff(left, right)] == [path]
    assert all(str(d) for d in whorl.diff(left, right))


def test_large_numbers_can_be_told_apart_and_refused_beside() -> None:
    assert str(whorl.diff(10**5000, 10**5000 + 1)[0])
    with pytest.raises(whorl.UnsupportedValue):
        whorl.fingerprint({10**5000: object()})


def test_differences_can_be_asked_for_by_type() -> None:
    assert whorl.diff([1, "a"], [2, "b"], by="type") == []
    (found,) = whorl.diff({"p": np.zeros(3)}, {"p": np.zeros(4)}, by="type")
    assert found.path == "value['p'].shape[0]"


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: whorl.fingerprint(1, by=np.array([1, 2])),  # type: ignore[arg-type]  # misuse
        lambda: whorl.Fingerprinter(boundary=None),  # type: ignore[arg-type]  # misuse
        lambda: whorl.Fingerprinter({Token: whorl.exclude("text")}),
        lambda: whorl.Boundary(user="numpy"),  # type: ignore[arg-type]  # misuse
        lambda: whorl.fields(exclude=[3]),  # type: ignore[list-item]  # misuse
        lambda: whorl.Fingerprinter({int: whorl.exclude}),
    ],
)
def test_misuse_is_said_at_once(misuse: Callable[[], object]) -> None:
    with pytest.raises((TypeError, ValueError), match=r"\w+"):
        misuse()


def test_a_method_of_a_callable_object_does_not_ask_it_for_its_name() -> None:
    class Callee:
        asked: list[str] = field(default_factory=list)

        def __call__(self, x: int) -> int:
            return x

        @property
        def __name__(self) -> str:
            raise AssertionError("it was asked")

    assert len(whorl.fingerprint(types.MethodType(Callee(), 1))) == 32


# -- what one walk remembers ends with it -----------------------------------------------


def test_a_refused_value_leaves_nothing_behind_for_the_next(programs: Programs) -> None:
    module = programs.load("K = 1\ndef f(): return K\n")
    before = whorl.fingerprint(module.f)
    with pytest.raises(whorl.UnsupportedValue):
        whorl.fingerprint([module.f, object()])
    module.K = 2
    assert whorl.fingerprint(module.f) != before


def test_a_difference_leaves_nothing_behind_for_the_next(programs: Programs) -> None:
    module = programs.load("K = 1\ndef f(): return K\ndef g(): return K + 1\n")
    before = whorl.fingerprint(module.f)
    assert whorl.diff([module.f], [module.g])
    module.K = 2
    assert whorl.fingerprint(module.f) != before
    assert whorl.diff([module.f], [module.f]) == []


def test_a_policy_leaves_nothing_behind_for_the_next(programs: Programs) -> None:
    module = programs.load("K = 1\ndef f(t): return K\n")
    first = whorl.Fingerprinter({Token: module.f})(Token("a"))
    module.K = 2
    assert whorl.Fingerprinter({Token: module.f})(Token("a")) != first


def test_what_was_walked_is_let_go() -> None:
    def make() -> Callable[[], int]:
        return lambda: 1

    function = make()
    gone = weakref.ref(function)
    with pytest.raises(whorl.UnsupportedValue):
        whorl.fingerprint([function, object()])
    whorl.diff(function, 1)
    del function
    gc.collect()
    assert gone() is None
