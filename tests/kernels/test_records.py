"""Records: fields of structured arrays, in every layout, and what is refused."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whorl
from tests.kernels.native_calls import needs_native, warmed
from tests.properties.test_kernels import loaded

PLACE = np.dtype([("x", "f8"), ("y", "f8")])
FIELDS: Any = [
    ("kind", "i1"), ("place", PLACE), ("mass", "f4"), ("tags", "i2", (3,)), ("is_on", "?"),
    ("stress", "f8", (2, 2)), ("corners", PLACE, (2,)), ("z", "c16"),
]  # fmt: skip
PACKED, ALIGNED = np.dtype(FIELDS), np.dtype(FIELDS, align=True)
GLOBAL = np.zeros(2, PACKED)
GLOBAL["mass"] = 2.5


def particles(dtype: Any, n: int = 5) -> Any:
    p = np.zeros(n, dtype)
    p["kind"], p["mass"], p["is_on"] = np.arange(n), np.arange(n) + 2, np.arange(n) % 2
    p["place"]["x"], p["place"]["y"] = np.arange(n) * 1.5, -1.0
    p["tags"] = np.arange(3 * n).reshape(n, 3)
    p["stress"] = np.random.default_rng(0).random((n, 2, 2))
    p["corners"]["x"], p["z"] = 7, 1j
    return p


LAYOUTS: dict[str, Callable[[], Any]] = {
    "aligned": lambda: particles(ALIGNED),
    "packed": lambda: particles(PACKED),
    "every other": lambda: particles(PACKED, 10)[::2],
    "backwards": lambda: particles(ALIGNED)[::-1],
    "record array": lambda: particles(PACKED).view(np.recarray),
    "at an odd address": lambda: np.frombuffer(
        bytearray(b" " + particles(PACKED).tobytes()), PACKED, offset=1
    ),
}


@whorl.kernel
def reads(p):
    total = 0.0
    for i in range(len(p)):
        total += p[i].place.x * p["mass"][i] + p[i]["kind"] + p[i].tags[1] + p.place.y[i]
        total += p[i].corners[1].x + abs(p[i].z) + p["corners"][i, 0]["y"]
        if p[i].is_on:
            total += whorl.mat(p[i].stress).trace()
    for r in p[1:]:
        total += r.mass * 2
    last = p[-1]
    return (
        total,
        p.shape[0],
        p.size,
        p.ndim,
        last.kind,
        p["mass"].sum(),
        p["stress"] @ p[0].tags[:2],
    )


@whorl.kernel
def writes(p):
    for i in range(len(p)):
        p[i].place.x += 1.5
        p["mass"][i] *= 2
        p[i]["tags"][0] = 9
        p[i].tags = p[i].tags * 2
        p[i].is_on = p[i].mass > 5
        p[i].stress[0] += whorl.vec(1.0, 2.0)
        p[i].corners[1].y = i
        p[i].z *= 2j
    p["kind"] = 4
    p["place"]["y"][1:] += 3
    p.mass[0] = 0.5
    p[0] = p[1]
    p[2].place = (1.0, 2.5)
    for r in p[::2]:
        r.kind -= 1
        r["place"] = p[3].place


@whorl.kernel
def in_parallel(p):
    for i in whorl.prange(len(p)):
        p[i].place.x += 1.5
        p["place"].y[i] -= 1
        p[i].mass += 1
        p[i].stress += whorl.mat((1.0, 0.0), (0.0, 1.0))
        p[i].tags[1] *= 2


@whorl.kernel
def shared(p):
    for i in whorl.prange(1000):
        p[i % 2].place.y += 1.0
        p["mass"][0] += 1


def same(one: Any, other: Any) -> None:
    """The same in every field: what is between fields does not count."""
    if one.dtype.names:
        for name in one.dtype.names:
            same(one[name], other[name])
    else:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kernel", [reads, writes, in_parallel])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_records_are_those_of_numpy(kernel: Any, layout: str) -> None:
    ours, theirs = LAYOUTS[layout](), LAYOUTS[layout]()
    found, expected = kernel(ours), kernel.interpret(theirs)
    same(ours, theirs)
    if found is not None:
        assert found[:-1] == expected[:-1]
        np.testing.assert_allclose(found[-1], expected[-1], rtol=1e-12)


def test_fields_of_packed_records_are_own_or_refused_in_parallel_loops() -> None:
    p = particles(ALIGNED)
    shared(p)
    assert p["place"]["y"][:2].tolist() == [499.0, 499.0]
    assert p["mass"][0] == 1002
    even = np.zeros(2, [("place", PLACE), ("mass", "f8")])  # packed, and yet in step
    shared(even)
    assert even["place"]["y"].tolist() == [500.0, 500.0]
    assert even["mass"].tolist() == [1000.0, 0.0]
    with pytest.raises(whorl.KernelError, match="one field of packed records") as caught:
        shared(particles(PACKED))
    assert "align=True" in caught.value.remedy


NUMBERS = ("i1", "u2", "i4", "u8", "f4", "f8", "c8", "c16", "?")


@st.composite
def dtypes(draw: st.DrawFn) -> Any:
    names = draw(st.permutations(["a", "b", "c", "spare"]))
    kinds = {"a": draw(st.sampled_from(NUMBERS)), "b": draw(st.sampled_from(("f4", "f8", "i2")))}
    inner = [(name, draw(st.sampled_from(NUMBERS[:6]))) for name in draw(st.permutations("xy"))]
    kinds["spare"] = draw(st.sampled_from(("i1", "i4", "S3")))
    fields: list[Any] = []
    for name in names:
        if name == "c":
            fields.append((name, np.dtype(inner, align=draw(st.booleans()))))
        else:
            fields.append((name, kinds[name], (2,)) if name == "b" else (name, kinds[name]))
    return np.dtype(fields, align=draw(st.booleans()))


@whorl.kernel
def copied(p, q):
    for i in whorl.prange(len(p)):
        q[i].a = p[-1 - i].a
        q["b"][i] = p[i].b[::-1]
        q[i]["b"][0] += 1
        q[i].c.x, q[i].c.y = p[i]["c"]["x"], p["c"].y[i]
    return p["b"].sum()


@settings(max_examples=12)
@given(dtype=dtypes(), seed=st.integers(0, 99))
def test_records_of_all_kinds_agree(dtype: Any, seed: int) -> None:
    random = np.random.default_rng(seed)
    p = np.zeros(4, dtype)
    for field in ("a", "b"):
        p[field] = random.integers(0, 2, p[field].shape)
    p["c"]["x"], p["c"]["y"] = random.integers(0, 99, 4), random.integers(0, 99, 4)
    ours, theirs = np.zeros(4, dtype), np.zeros(4, dtype)
    assert copied(p, ours) == copied.interpret(p, theirs)
    same(ours, theirs)


class World:
    def __init__(self, p: Any) -> None:
        self.p = p

    @whorl.kernel
    def step(self, dt: float):
        for i in whorl.prange(len(self.p)):
            self.p[i].place.x += dt
        return self.p[1].place.x


def test_members_and_globals_can_be_records() -> None:
    world = World(particles(ALIGNED))
    assert [world.step(0.5) for _ in range(6)] == [2.0, 2.5, 3.0, 3.5, 4.0, 4.5]
    assert World.step.interpret(world, 0.5) == 5.0
    for other in (particles(PACKED), particles(ALIGNED)[::2].copy(), particles(ALIGNED, 10)[::2]):
        world.p = other
        expected = other["place"]["x"][1] + 0.5
        assert world.step(0.5) == expected
        assert world.step(0.5) == expected + 0.5
    memory = bytearray(b"   " + particles(ALIGNED).tobytes())
    world.p = np.frombuffer(memory, ALIGNED, offset=3)
    assert [world.step(0.5), world.step(0.5)] == [2.0, 2.5]

    @whorl.kernel
    def of_global(i):
        return GLOBAL[i]["mass"] + GLOBAL["mass"][0]

    assert of_global(1) == of_global.interpret(1) == 5.0


@needs_native
def test_launches_with_records_are_native() -> None:
    warmed(in_parallel, particles(ALIGNED))


def test_another_dtype_is_another_specialization() -> None:
    kernel = whorl.kernel(mass_of.function)
    one = np.zeros(2, [("x", "f8"), ("m", "f8")])
    other = np.zeros(2, [("m", "f8"), ("x", "f8")])
    one["m"], other["m"] = 3, 4
    for _ in range(4):
        assert (kernel(one), kernel(other)) == (3, 4)
    assert kernel.stats()["compiled"] == 2


@whorl.kernel
def mass_of(p):
    return p[1].m


def zero_dimensions(z):
    z["x"] = 4
    return z["x"] + 1


def test_an_array_without_dimensions_is_one_record() -> None:
    z = np.zeros((), PLACE)
    assert whorl.kernel(zero_dimensions)(z) == 5.0
    assert z["x"] == 4.0


ODD = np.dtype([("x", "f8"), ("s", "S3"), ("big", ">f8")])
WRONG = {
    "return p[0].nothing": "has no field 'nothing'",
    "return p['s'][0]": "the field 's' of an array of records",
    "return p[0].big": "the field 'big' of a record",
    "return p[p['x'] > 0]": "records are selected by ints and slices",
    "return p[0]": "a kernel returns numbers",
    "p[0] = (1, 2)": "2 values for the fields x, s, big",
    "p[0] = 1.5": "is no record with the fields x, s, big",
    "return p + 1": "is no number",
    "return p[0][0]": "is indexed by the names of its fields",
    "return p.sum()": "has no field 'sum'",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_records_cannot_do_is_refused_with_its_place(line: str, tmp_path: Any) -> None:
    kernel = loaded(
        f"import whorl\n\n@whorl.kernel\ndef program(p):\n    {line}\n", tmp_path
    ).program
    with pytest.raises(whorl.KernelError) as caught:
        kernel(np.zeros(3, ODD))
    assert WRONG[line] in str(caught.value)
    assert caught.value.text.strip() == line


def test_read_only_records_are_not_written() -> None:
    p = particles(ALIGNED)
    p.flags.writeable = False
    assert reads(p)[1] == 5
    with pytest.raises(whorl.KernelError, match="is read-only"):
        writes(p)
