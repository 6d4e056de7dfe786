"""A recorded call leads to the very specialization that was used, without the data of the run."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whorl
from tests.fleet.kernels import CALLS, Body, Mode, Shape, total
from whorl.fleet import BadCall, RecordedCall, read_calls, write_calls
from whorl.fleet.description import describe
from whorl.fleet.recording import record
from whorl.fleet.stand_in import BadNode, stand_ins
from whorl.fleet.wanted import NOTHING
from whorl.reads.facts import signature
from whorl.testing import forbid_compile, fresh_cache


@pytest.mark.parametrize("what", CALLS)
def test_what_was_recorded_is_what_is_found(what: str) -> None:
    kernel, args, kwargs = CALLS[what]
    with fresh_cache():
        kernel(*args, **kwargs)
        specialization = kernel.specialize(*args, **kwargs)
        values = kernel.lookup.binding.bind(*args, **kwargs)
        line = record(kernel, values, specialization).line()
    assert len(line) < 4000  # no data of the run
    with fresh_cache():
        (result,) = whorl.warm([RecordedCall.from_line(line)])
        assert (result.outcome, result.key) == ("compiled", specialization.key), result.problem
        with forbid_compile():
            kernel(*args, **kwargs)


@pytest.mark.parametrize("what", CALLS)
def test_a_live_call_is_described_whole_for_other_processes(what: str) -> None:
    with fresh_cache(), ThreadPoolExecutor(1) as pool:
        (result,) = whorl.warm([CALLS[what]], executor=pool)
        assert result.outcome == "compiled", result.problem
        kernel, args, kwargs = CALLS[what]
        with forbid_compile():
            kernel(*args, **kwargs)


def test_processes_compile_what_this_one_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [CALLS[what] for what in ("an array", "a method", "an enum")]
    with fresh_cache() as directory:
        monkeypatch.setenv("WHORL_CACHE_DIR", str(directory))
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            results = whorl.warm(calls, executor=pool)
        assert [result.problem for result in results] == [""] * 3
        with forbid_compile():
            for kernel, args, kwargs in calls:
                kernel(*args, **kwargs)


def test_nothing_is_run() -> None:
    body = Body()
    with fresh_cache():
        (result,) = whorl.warm([(body.step, (1.0,))])  # type: ignore[list-item]  # to type checkers it is a method
        assert result.outcome == "compiled"
        assert not body.x.any()


def test_a_run_records_what_it_uses_each_once(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with fresh_cache():
        whorl.configure(record=path)
        for _ in range(3):
            total(np.ones(3))
            total(np.ones(4, np.float32))
        total(np.ones(3, int)[::2])
    calls = read_calls(path)
    assert [call.kernel for call in calls] == ["tests.fleet.kernels:total"] * 3
    assert len(path.read_text().splitlines()) == 3


def test_what_is_found_is_recorded_as_what_is_compiled(tmp_path: Path) -> None:
    lists = []
    with fresh_cache():
        for name in ("one", "two"):
            path = tmp_path / name
            whorl.configure(record=path)
            kernel = total.with_options(debug=True)  # has nothing in memory
            kernel(np.ones(3))
            lists.append((path.read_text(), dict(kernel.stats())))
    assert lists[0][0] == lists[1][0]
    assert [stats.get("compiled", 0) for _, stats in lists] == [1, 0]


def test_what_cannot_be_recorded_is_said_once_and_the_call_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @whorl.kernel
    def local(x):  # type: ignore[no-untyped-def]
        return x[0]

    with fresh_cache(), caplog.at_level(logging.WARNING, "whorl.record"):
        whorl.configure(record=tmp_path / "calls.jsonl")
        assert local(np.ones(1)) == 1.0
        assert local(np.ones(1, int)) == 1
    assert not (tmp_path / "calls.jsonl").exists()
    (message,) = caplog.messages
    assert "define it at the top of a module or a class" in message


def test_a_place_that_cannot_be_written_to_breaks_no_call(tmp_path: Path) -> None:
    with fresh_cache():
        whorl.configure(record=tmp_path / "missing" / "calls.jsonl")
        assert total(np.ones(3)) == 3.0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "no JSON"),
        ("[]", "no recorded call"),
        ('{"whorl_call": 2}', "format 2"),
        ('{"whorl_call": 1}', "names no kernel"),
        ('{"whorl_call": 1, "kernel": "m:f", "args": 3}', "args is 3"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_bad_line_is_an_error_with_its_place(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(f"# a list\n\n{line}\n")
    with pytest.raises(BadCall, match=words) as raised:
        read_calls(path)
    assert raised.value.where == "calls.jsonl:3"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({"kernel": "no_such_module:f"}, "no_such_module cannot be imported"),
        ({"kernel": "math:nothing"}, "there is no nothing in math"),
        ({"kernel": "os:system", "args": [0], "values": [["str", "false"]]}, "is no kernel"),
        ({"kernel": "tests.fleet.kernels:total", "args": [5], "values": []}, "no value"),
        ({"kernel": "tests.fleet.kernels:total", "args": []}, "missing"),
        (
            {"kernel": "tests.fleet.kernels:total", "args": [0], "values": [["str", "x"]]},
            "without an attribute 'size'",
        ),
    ],
)
def test_a_call_that_cannot_be_compiled_is_a_result(call: dict[str, Any], words: str) -> None:
    line = json.dumps({"whorl_call": 1, **call})
    (result,) = whorl.warm([RecordedCall.from_line(line)])
    assert result.outcome == "failed"
    assert words in result.problem
    assert not result.is_ready


@pytest.mark.parametrize(
    "nodes",
    [
        [["run", "x"]],
        [["object", "os:system", {}]],
        [["object", "builtins:int", {}]],
        [["tuple", "collections:OrderedDict", []]],
        [["array", "O", [1], "C", "rw", {}]],
        [["array", "<f8", [-1], "C", "rw", {}]],
        [["view", "<f8", [10], [8], 0, "rw", 1], ["array", "<f8", [2], "C", "rw", {}]],
        [["tuple", None, [0]]],
        [["list", [7]]],
        [3],
        [["enum", "builtins:int", "x"]],
    ],
)
def test_data_that_describes_nothing_is_refused(nodes: Any) -> None:
    with pytest.raises(BadNode):
        stand_ins(nodes)


def test_what_refers_to_itself_and_what_is_shared_stays_so() -> None:
    first, second = stand_ins([["list", [0, 1]], ["tuple", None, [0, 0]]])
    assert first[0] is first
    assert second[0] is second[1] is first


def test_no_calls_and_no_executor_that_can(tmp_path: Path) -> None:
    assert whorl.warm([]) == []
    assert write_calls(tmp_path / "calls.jsonl", []) == 0
    assert whorl.warm(tmp_path / "calls.jsonl") == []
    wrong: Any = 3
    with pytest.raises(TypeError, match="submit"):
        whorl.warm([], executor=wrong)
    with pytest.raises(TypeError, match="a call is"):
        whorl.warm([wrong])
    with pytest.raises(TypeError, match="no kernel"):
        whorl.warm([(wrong, ())])


def test_a_live_call_that_others_cannot_make_is_a_result_among_others() -> None:
    @whorl.kernel
    def local(x):  # type: ignore[no-untyped-def]
        return x[0]

    good = CALLS["an array"]
    with fresh_cache(), ThreadPoolExecutor(1) as pool:
        results = whorl.warm([good, (local, (np.ones(1),)), (total, ()), good], executor=pool)
        assert [result.outcome for result in results] == [
            "compiled",
            "failed",
            "failed",
            "compiled",
        ]
        assert "define it at the top" in results[1].problem
        assert "missing" in results[2].problem
        assert [result.outcome for result in whorl.warm([(local, (np.ones(1),)), (total, ())])] == [
            "compiled",
            "failed",
        ]


@given(
    dtype=st.sampled_from(["<f8", "<f4", "<i8", "<i2", "|u1", "|b1", ">f8", "<c16", "<M8[s]"]),
    shape=st.lists(st.integers(0, 3), max_size=4).map(tuple),
    layout=st.sampled_from(["C", "F", "strided", "reversed", "unaligned", "view"]),
    is_writeable=st.booleans(),
    is_whole=st.booleans(),
)
def test_a_stand_in_has_the_signature_of_the_array(
    dtype: str, shape: tuple[int, ...], layout: str, is_writeable: bool, is_whole: bool
) -> None:
    count = int(np.prod(shape))
    array: Any = np.zeros(shape, dtype, order="F" if layout == "F" else "C")
    if layout == "strided" and shape:
        array = np.zeros((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]
    if layout == "reversed" and shape:
        array = array[..., ::-1]
    if layout == "unaligned":
        raw = np.zeros(count * array.itemsize + 1, np.uint8)
        array = raw[1:].view(dtype).reshape(shape)
    if layout == "view":
        array = np.zeros((2, *shape), dtype)[1, ...]
    array.flags.writeable = is_writeable
    described = describe([array], [None if is_whole else NOTHING])
    (place,) = described.roots
    stand_in = stand_ins(json.loads(json.dumps(described.nodes)))[place]
    assert signature(stand_in) == signature(array)
    if is_whole:
        assert stand_in.tobytes() == array.tobytes()
        assert stand_in.shape == array.shape


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.complex_numbers(allow_nan=False)
        | st.text()
        | st.binary(max_size=20)
        | st.sampled_from([Mode.FAST, Mode.EXACT, range(3), slice(1, None), np.float32(2), len]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.tuples(inner, inner)
            | st.dictionaries(st.text(max_size=3), inner, max_size=3)
            | st.builds(Shape, inner, inner)
        ),
        max_leaves=12,
    )
)
def test_a_value_that_is_described_whole_comes_back_the_same(value: Any) -> None:
    described = describe([value], [None])
    again = stand_ins(json.loads(json.dumps(described.nodes)))[described.roots[0]]
    assert whorl.fingerprint(again) == whorl.fingerprint(value)
