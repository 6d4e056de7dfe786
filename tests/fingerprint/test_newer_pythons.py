"""Values and syntax that Python got in 3.14 and 3.15. New syntax stands in texts."""

from __future__ import annotations

import builtins
import functools
import importlib
import sys
import typing
import warnings
from pathlib import Path
from typing import Any

import pytest

import whorl
from tests.fingerprint.comparing import different, refusal, same
from tests.fingerprint.programs import Programs

since_3_14 = pytest.mark.skipif(sys.version_info < (3, 14), reason="new in Python 3.14")
since_3_15 = pytest.mark.skipif(sys.version_info < (3, 15), reason="new in Python 3.15")


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    return Programs(tmp_path)


def template(text: str, **names: object) -> Any:
    return eval(f't"{text}"', names)


@since_3_14
def test_templates_count_by_texts_values_expressions_and_formats() -> None:
    assert same(template("a{x}b", x=3), template("a{x}b", x=3))
    assert different(
        template("a{x}b", x=3), template("a{x}b", x=4), template("a{y}b", y=3),
        template("a{x!r}b", x=3), template("a{x:>3}b", x=3), template("a{x}c", x=3),
        template("a{x}b", x=True), template("{x}ab", x=3), "a3b",
    )  # fmt: skip
    (interpolation,) = template("a{x}b", x=3).interpolations
    (other,) = template("a{x}b", x=4).interpolations
    assert different(interpolation, other, 3)
    assert refusal(template("{x}", x=object())).path.startswith("value")


@since_3_14
@pytest.mark.parametrize(
    "edited", ["t'a{x}c'", "t'a{y}b'", "t'a{x!r}b'", "t'a{x:>3}b'", "f'a{x}b'", "t'a{ x}b'"]
)
def test_templates_in_code_count_as_they_are_written(programs: Programs, edited: str) -> None:
    text = "y = 1\ndef f(x): return {}\n"
    assert not programs.same(text.format("t'a{x}b'"), text.format(edited))
    assert programs.same(text.format("t'a{x}b'"), text.format("t'a{x}b'  # a comment"))


@since_3_14
def test_what_a_template_reads_counts(programs: Programs) -> None:
    text = "N = {}\ndef f(): return t'{{N}}'\n"
    assert not programs.same(text.format(1), text.format(2))


@since_3_14
def test_exceptions_without_parentheses_are_the_same_code(programs: Programs) -> None:
    text = "def f():\n    try: g()\n    except {}: pass\n"
    assert programs.same(text.format("ValueError, KeyError"), text.format("(ValueError, KeyError)"))
    assert not programs.same(
        text.format("ValueError, KeyError"), text.format("ValueError, OSError")
    )


def test_a_return_in_finally_warns_nobody_again(programs: Programs) -> None:
    text = "def f():\n    try:\n        pass\n    finally:\n        return {}\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.14 warns who compiles it
        functions = [programs.get(text.format(value)) for value in (1, 1, 2)]
    first, second, edited = map(whorl.fingerprint, functions)
    assert first == second != edited
    assert whorl.diff(functions[0], functions[2])


@since_3_14
def test_a_place_that_a_partial_leaves_open_counts() -> None:
    open_place: Any = functools.Placeholder  # type: ignore[attr-defined, unused-ignore]
    assert same(functools.partial(pow, open_place, 2), functools.partial(pow, open_place, 2))
    assert different(
        functools.partial(pow, open_place, 2),
        functools.partial(pow, 2),
        functools.partial(pow, open_place, 3),
        functools.partial(pow, open_place, open_place, 2),
    )


def test_all_spellings_of_a_union_are_one_type() -> None:
    spellings = (typing.Optional[int], typing.Union[int, None], int | None, None | int)
    assert same(*spellings)
    assert different(int | None, int | str, int)


@since_3_15
def test_frozen_dicts_count_by_content_in_any_order_and_are_no_dicts() -> None:
    frozen: Any = builtins.frozendict  # type: ignore[attr-defined, unused-ignore]
    assert same(frozen(a=1, b=2), frozen(b=2, a=1))
    assert same(frozen({1: 2, "a": 3}), frozen({"a": 3, 1: 2}))
    named = type("Named", (frozen,), {})
    assert different(
        frozen(a=1), {"a": 1}, frozen(a=2), frozen(b=1), frozen(), named(a=1), named(a=2)
    )
    with_attribute = named(a=1)
    with_attribute.more = 3
    assert different(named(a=1), with_attribute)
    assert same({frozen(a=1): 2}, {frozen(a=1): 2})
    assert refusal(frozen(a=[object()])).path == "value['a'][0]"


@since_3_15
def test_a_frozen_dict_may_be_in_a_cycle() -> None:
    def made(value: int) -> Any:
        held: list[object] = [value]
        frozen = builtins.frozendict(me=held)  # type: ignore[attr-defined, unused-ignore]
        held.append(frozen)
        return frozen

    assert same(made(1), made(1))
    assert different(made(1), made(2))


@since_3_15
def test_the_order_of_a_frozen_dict_counts_where_code_can_see_it(programs: Programs) -> None:
    text = "D = frozendict({})\ndef f(): return [*D]\n"
    assert not programs.same(text.format("a=1, b=2"), text.format("b=2, a=1"))


@since_3_15
def test_sentinels_count_by_the_name_that_leads_to_them(programs: Programs) -> None:
    text = "A = sentinel('A')\nB = sentinel('B')\nclass C:\n    D = sentinel('C.D')\n"
    second = programs.load(text)
    assert different(second.A, second.B, second.C.D)
    before = whorl.fingerprint(second.A)
    assert whorl.fingerprint(programs.load(text).A) == before
    assert programs.same(*[f"{text}def f(x=A): return x\n"] * 2)
    other = f"{text}def f(x=B): return x\n"
    assert not programs.same(f"{text}def f(x=A): return x\n", other)


@since_3_15
def test_a_sentinel_that_no_name_leads_to_is_refused(programs: Programs) -> None:
    module = programs.load("def make(): return sentinel('S')\nS = make()\nlocal = make()\n")
    assert whorl.fingerprint(module.S)
    refused = refusal([module.local])
    assert refused.path == "value[0]"
    assert "top of its module" in str(refused)


@since_3_14
def test_interpreters_and_what_leads_to_them_are_refused() -> None:
    interpreters = importlib.import_module("concurrent.interpreters")
    interpreter = interpreters.create()
    try:
        assert "interpreter" in refusal([interpreter]).reason
        assert "interpreter" in refusal({"q": interpreters.create_queue()}).reason
    finally:
        interpreter.close()


@since_3_14
def test_compressors_and_files_of_zstd_are_refused(tmp_path: Path) -> None:
    zstd: Any = pytest.importorskip("compression.zstd", reason="Python was built without zstd")
    assert refusal(zstd.ZstdCompressor()).path == "value"
    with zstd.open(tmp_path / "file.zst", "w") as file:
        assert "stream" in refusal([file]).reason
    assert same(zstd.CompressionParameter.window_log, zstd.CompressionParameter.window_log)
