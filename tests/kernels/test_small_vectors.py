"""Small vectors and matrices: components by name, methods, rows of arrays, what is refused."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

import copy
import enum
import pickle
from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.array_agreement import assert_same
from tests.kernels.native_calls import needs_native, warmed

MATRIX = np.array([[4.0, 1.0, 0.5], [2.0, 5.0, 1.0], [0.25, 1.0, 3.0]])
NESTED = ((1.0, 2.0), (3.0, 4.0))


def agree(kernel: Any, *args: Any) -> Any:
    """A kernel does what it does as plain Python: results, their types, and arrays."""
    theirs, ours = copy.deepcopy(args), copy.deepcopy(args)
    expected, found = kernel.interpret(*theirs), kernel(*ours)
    assert_same(found, expected, ulps=8)
    for one, other in zip(ours, theirs, strict=True):
        if isinstance(one, np.ndarray):
            assert_same(one, other, ulps=8)
    return found


def rows(dtype: Any = np.float64) -> Any:
    return (np.arange(12.0).reshape(4, 3) * 1.5 + 1).astype(dtype)


@whorl.kernel
def named_components(x, s):
    v = whorl.vec(s, 2.0, 3.0, 4.0)
    v.x = 5
    v.w += v.y
    v.z *= 2
    return v.x, v.wzyx, v.xy, v.zz, x[1].z, x[2].zyx, (x[0] + x[1]).yx


@whorl.kernel
def set_components(x):
    for i in range(len(x)):
        x[i].y = 10.0 * i
        x[i].z += x[i].x
    return x[0].y


@whorl.kernel
def methods(x):
    v, w = whorl.vec(x[0]), whorl.vec(*x[1])
    return (
        v.norm(), v.norm_sqr(), v.normalized(), v.dot(w), v.cross(w), v.outer(w), v.max(), v.min(),
        v.sum(), v.cast(np.float32), v.cast(int), v.copy(), x[2].norm(), x[2].norm_sqr(),
        x[2].normalized(), x[2].cross(v), x[2].outer(x[3]), x[2].dot(v), v.outer(whorl.vec(2.0)),
    )  # fmt: skip


@whorl.kernel
def of_matrices(a, x):
    m = whorl.mat(a)
    return (
        m.determinant(), m.inverse(), m.trace(), m.T, m.transpose(), m @ x[0], x[0] @ m, m @ m.T,
        m.norm(), m.norm_sqr(), m.max(), m * 2 + m, m * whorl.vec(1.0, 2.0, 3.0), m[1], m[:, 1].x,
        m.cast(whorl.f32), whorl.mat(np.eye(3)) - m, whorl.mat(whorl.vec(1, 2), whorl.vec(3, 4)),
    )  # fmt: skip


@whorl.kernel
def operators(x):
    v, w = whorl.vec(1.0, -2.0, 3.0), whorl.vec(2, 3, 4)
    r = x[1]
    return (
        v + r, r - v, v * w, r / w, v // w, v % w, v**2, -v, +v, abs(v), v < w, v == r, w & 3,
        w << 1, ~w, 2 - v, np.sqrt(r + v), np.minimum(v, r), np.floor(v / 2), (r * 2 + v).x,
        whorl.mat((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)) + v, whorl.dot(x[0], v), whorl.norm(x[0]),
    )  # fmt: skip


@whorl.kernel
def from_globals(x):
    return (
        whorl.vec(*MATRIX),
        whorl.mat(MATRIX),
        whorl.mat(NESTED),
        whorl.vec(NESTED[1]),
        whorl.vec(*NESTED),
        whorl.vec(MATRIX[0]).zx,
        whorl.vec([x, x]),
        whorl.mat((x, 1), [2, x]),
    )


@whorl.kernel
def numpy_functions(x, a, n):
    v, w, m = whorl.vec(x[0]) - 1.25, whorl.vec(x[1]), whorl.mat(a)
    return (
        v.mean(),
        v.argmax(),
        np.sum(v),
        np.max(v),
        np.where(v > 0, v, w).zy,
        np.clip(v, 0.0, 1.0).y,
        (v < w).all(),
        np.any(v == w),
        np.sign(v).x,
        max(v),
        min(v),
        sum(v * w),
        v.prod(),
        v.real,
        np.array([1.0, 2.0, 3.0]) + v,
        np.linalg.norm(v),
        whorl.vec(np.cross(v, w)).x,
        np.dot(v, w),
        v.round(),
        np.outer(v, w)[0, 1],
        np.linalg.det(m),
        np.linalg.inv(m),
        np.linalg.solve(m, v),
        np.trace(m),
        v.astype(np.float32),
        v[::-1].x,
        v[1:].norm(),
        v.shape,
        v.size,
        len(v),
        v.ndim,
        v[n],
        m[n, 1],
        np.sqrt(v * v).norm(),
        (m @ v).normalized().dot(w),
        whorl.vec(v, w, v).determinant(),
        2**v,
        whorl.vec(1, 2) // 2,
        whorl.vec(1.0, 2.0, dtype=np.float32),
        np.isnan(v).any(),
        np.exp(v).z,
        whorl.vec(True, False),
        (v > 0) & (w > 0),
        np.eye(3) @ v,
        m.sum(axis=1),
        np.hypot(v.x, v.y),
    )


def test_components_are_read_and_set_by_name() -> None:
    agree(named_components, rows(), 2.5)
    agree(set_components, rows())


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_operators_and_methods_are_those_of_plain_python(dtype: Any) -> None:
    agree(methods, rows(dtype))
    agree(of_matrices, MATRIX.astype(dtype), rows(dtype))
    if dtype != np.int64:
        agree(operators, rows(dtype))


def test_vectors_and_matrices_are_made_of_globals_tuples_and_rows() -> None:
    agree(from_globals, 0.5)


def test_functions_of_numpy_take_vectors_and_make_vectors() -> None:
    agree(numpy_functions, rows(), MATRIX, 2)
    assert repr(np.where(whorl.vec(1.0, -1.0) > 0, 2.0, 3.0)) == "vec([2., 3.])"


@whorl.kernel
def inverses(a, b, c, d):
    every = whorl.mat(a), whorl.mat(b), whorl.mat(c), whorl.mat(d)
    return tuple([m.inverse() for m in every]), tuple([m.determinant() for m in every])


def test_inverses_and_determinants_are_numpys() -> None:
    random = np.random.default_rng(3)
    matrices = [random.normal(size=(n, n)) for n in (1, 2, 3, 4)]
    found, determinants = inverses(*matrices)
    for matrix, inverse, determinant in zip(matrices, found, determinants, strict=True):
        np.testing.assert_allclose(inverse, np.linalg.inv(matrix), rtol=1e-10)
        np.testing.assert_allclose(determinant, np.linalg.det(matrix), rtol=1e-10)
    agree(inverses, *matrices)


# -- elements of arrays -----------------------------------------------------------------


@whorl.kernel
def as_elements(x, v, f):
    for p in range(len(x)):
        x[p] = whorl.vec(1.0, 2.0, 3.0) * p
        v[p] += x[p] * 0.5
        f[p] = f[p] @ f[p].T + whorl.mat(np.eye(3)) * whorl.mat(f[p]).trace() + v[p].outer(x[p])
        f[p] *= 0.5


@whorl.kernel
def scattered(x, cells, grid, count):
    for p in whorl.prange(len(x)):
        grid[cells[p]] += x[p] * 2
        grid[cells[p]] -= whorl.vec(0.5, 0.25, 0.125)
        grid[cells[p]].y += 1.0
        count[0] += whorl.vec(1, 2, 3)


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_and_matrices_are_elements_of_arrays(order: Any) -> None:
    random = np.random.default_rng(1)
    x, v, f = random.random((5, 3)), random.random((5, 3)), random.random((5, 3, 3))
    agree(as_elements, *(each.copy(order) for each in (x, v, f)))
    agree(as_elements, np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3, 3)))
    assert "= allocate" not in as_elements.inspect()


def test_rows_are_changed_atomically_in_parallel_loops() -> None:
    x = np.ones((20000, 3))
    cells = np.arange(20000) % 3
    grid, count = np.zeros((3, 3)), np.zeros((1, 3), np.int64)
    scattered(x, cells, grid, count)
    expected, count_expected = np.zeros((3, 3)), np.zeros((1, 3), np.int64)
    scattered.interpret(x[:300], cells[:300], expected, count_expected)
    np.testing.assert_allclose(grid.sum(axis=0), expected.sum(axis=0) * (20000 / 300))
    assert count.tolist() == [[20000, 40000, 60000]]


@whorl.kernel
def set_row(x, i):
    x[i] = whorl.vec(1.0, 2.0, 3.0)


@whorl.kernel
def set_part(x, k):
    x[k : k + 3] = whorl.vec(1.0, 2.0, 3.0)


def test_a_vector_that_does_not_fit_into_a_row_is_an_error_and_writes_nothing() -> None:
    memory = np.zeros((4, 2))
    for make in (lambda: memory, lambda: np.zeros((4, 20))[:, :2], lambda: np.zeros((4, 20))):
        x = make()
        with pytest.raises(ValueError, match="does not fit"):
            set_row(x, 0)
        assert not x.any()
    flat = np.zeros(5)
    set_part(flat, 1)
    assert flat.tolist() == [0, 1, 2, 3, 0]
    with pytest.raises(ValueError, match="does not fit"):
        set_part(flat, 4)


class Bodies:
    def __init__(self) -> None:
        self.position: Any = rows()
        self.gravity: Any = np.array([0.0, -9.8, 0.0])
        self.mass = 2.0

    @whorl.kernel
    def fall(self, dt: float):
        for i in range(len(self.position)):
            self.position[i] += self.gravity * dt
            self.position[i].x += self.gravity.y * self.mass
        return self.position[1].zx, self.gravity.normalized()


def test_members_of_objects_are_read_as_vectors_too() -> None:
    compiled, plain = Bodies(), Bodies()
    expected = Bodies.fall.interpret(plain, 0.5)
    assert_same(compiled.fall(0.5), expected, ulps=8)
    assert_same(compiled.position, plain.position, ulps=8)
    assert type(plain.position) is np.ndarray


class Kind(enum.Enum):
    HERE = 1


class Slotted:
    __slots__ = ("__dict__", "scale")

    def __init__(self) -> None:
        self.scale, self.x = 2.0, np.ones((2, 3))


class Held:
    def __init__(self) -> None:
        self.pair, self.kind = (np.ones((2, 3)), np.zeros(2)), Kind.HERE


@whorl.kernel
def of_members(slotted, held):
    held.pair[0][1].y += slotted.scale
    first = held.pair[0][1].zy if held.kind is Kind.HERE else held.pair[0][0].zy
    return first, slotted.x.sum()


def test_objects_of_all_kinds_are_read_in_plain_python() -> None:
    ours, theirs = Held(), Held()
    assert_same(of_members(Slotted(), ours), of_members.interpret(Slotted(), theirs))
    assert_same(ours.pair[0], theirs.pair[0])


def test_lengths_of_rows_that_are_used_as_vectors_are_facts() -> None:
    kernel = whorl.kernel(set_components.function)
    for n in (4, 5, 4):
        kernel(np.zeros((n, 3)))
    assert kernel.stats()["compiled"] == 1
    kernel(np.zeros((4, 4)))
    assert kernel.stats()["compiled"] == 2


@whorl.kernel
def raised(x):
    for i in range(len(x)):
        x[i] = x[i] * 2 + whorl.vec(1.0, 2.0, 3.0)
        x[i] -= whorl.vec(1.0, 1.0, 1.0)


def test_kernels_are_compiled_ahead_for_rows_whose_length_no_type_says() -> None:
    kernel = whorl.kernel(raised.function)
    kernel.compile("f64[:, ::1]")
    for n in (2, 3):
        ours, theirs = np.ones((n, 3)), np.ones((n, 3))
        kernel(ours)
        kernel.interpret(theirs)
        assert np.array_equal(ours, theirs)
    with pytest.raises(ValueError, match="do not fit"):
        kernel(np.ones((2, 10)))
    with pytest.raises(TypeError, match="Give an example in place of the type"):
        set_components.compile("f64[:, ::1]")
    set_components.compile(np.ones((2, 3)))


@needs_native
def test_launches_with_vectors_are_native() -> None:
    x = rows()
    warmed(set_components, x)


# -- functions and loops ----------------------------------------------------------------


def reflected(v, n):
    return v - n * (2 * v.dot(n))


@whorl.kernel
def loops(x, steps):
    v, m = whorl.vec(1.0, 2.0, 3.0), whorl.mat((1.0, 0.0), (0.0, 1.0))
    longest = v
    for k in range(steps):
        v = reflected(v, x[k % len(x)].normalized())
        m = m @ whorl.mat((0.5, -1.0), (1.0, 0.5))
        if v.z > longest.z:
            longest = v
    total = whorl.zeros(3)
    for row in x:
        total += row
    a, b, c = total
    return v, m, longest, a + b * c


@pytest.mark.parametrize("steps", [0, 1, 9])
def test_vectors_go_through_functions_branches_and_loops(steps: int) -> None:
    agree(loops, rows(), steps)


# -- what is refused --------------------------------------------------------------------


@whorl.kernel
def no_such_component(x):
    return x[0].w


@whorl.kernel
def no_such_component_set(x):
    v = whorl.vec(1.0, 2.0)
    v.z = x[0, 0]


@whorl.kernel
def several_set(x):
    v = whorl.vec(1.0, 2.0)
    v.xy = whorl.vec(x[0, 0], 1.0)


@whorl.kernel
def component_of_matrix(x):
    return x.x


@whorl.kernel
def determinant_of_vector(x):
    return whorl.vec(x[0]).determinant()


@whorl.kernel
def uneven(x):
    return whorl.mat(whorl.vec(x[0]), whorl.vec(1.0, 2.0))


@whorl.kernel
def misfits(x):
    return whorl.vec(x[0]) + whorl.vec(1.0, 2.0)


@whorl.kernel
def matrix_of_numbers(x):
    return whorl.mat(1.0, 2.0)


@whorl.kernel
def unknown_length(x, n):
    return whorl.vec(x[0, :n]).norm()


@pytest.mark.parametrize(
    ("kernel", "words", "error"),
    [
        (no_such_component, "has no component 'w'", AttributeError),
        (no_such_component_set, "has no component 'z'", AttributeError),
        (several_set, "several components are read, and not set", AttributeError),
        (component_of_matrix, "has no component 'x'", AttributeError),
        (determinant_of_vector, "determinant is for square matrices", TypeError),
        (uneven, "rows of a matrix are of one length", TypeError),
        (misfits, "they do not fit", ValueError),
        (matrix_of_numbers, "takes the rows of a matrix", TypeError),
    ],
)
def test_what_vectors_do_not_have_is_refused_in_both(kernel: Any, words: str, error: Any) -> None:
    with pytest.raises(whorl.KernelError) as caught:
        kernel(rows())
    assert words in str(caught.value)
    with pytest.raises(error):
        kernel.interpret(rows())


def test_a_part_of_unknown_length_is_no_vector() -> None:
    with pytest.raises(whorl.KernelError, match="is no small vector") as caught:
        unknown_length(rows(), 2)
    assert "name the components" in caught.value.remedy


# -- in plain Python --------------------------------------------------------------------


def test_vectors_are_arrays_like_others_outside_of_kernels() -> None:
    v = whorl.vec(3.0, 4.0)
    assert repr(v) == "vec([3., 4.])"
    assert repr(whorl.mat((1, 2), (3, 4)).inverse() * 2).startswith("mat([[")
    assert type(v.sum()) is np.float64
    assert type(v.max()) is np.float64
    assert pickle.loads(pickle.dumps(v)).yx.tolist() == [4.0, 3.0]
    assert type(copy.deepcopy(v)) is type(v)
    assert named_components(rows(), 1.0)[0] == 5.0
    assert set_components(whorl.mat((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))) == 0.0
    for wrong in (
        whorl.vec,
        lambda: whorl.vec(1, (2, 3)),
        lambda: whorl.mat((1,), (1, 2)),
    ):
        with pytest.raises(TypeError, match="takes"):
            wrong()
    with pytest.raises(AttributeError, match="no attribute 'q'"):
        _ = v.q
    with pytest.raises(TypeError, match="up to 4 rows"):
        whorl.zeros((5, 5)).inverse()


CONSTANT = whorl.vec(0.5, -1.0, 2.0)


@whorl.kernel
def beside_a_constant(x: Any, v: Any) -> Any:
    return (x[0] + CONSTANT).zxy, np.minimum(x[1], CONSTANT).norm(), (v * x[0]).y, x + CONSTANT


def test_a_row_beside_a_vector_of_plain_python_is_a_vector() -> None:
    x, v = np.arange(6.0).reshape(2, 3), whorl.vec(1.0, 2.0, 3.0)
    compiled, plain = beside_a_constant(x, v), beside_a_constant.interpret(x, v)
    for ours, theirs in zip(compiled, plain, strict=True):
        assert np.array_equal(ours, theirs)
    with pytest.raises(whorl.KernelError, match="they do not fit"):
        beside_a_constant(np.arange(8.0).reshape(2, 4), v)


def test_a_vector_of_text_is_refused() -> None:
    with pytest.raises(TypeError, match="takes numbers, not"):
        whorl.vec("a", "b")


@pytest.mark.parametrize("bounds", ["a", (1, "a"), (1, 2, 3), 1.5])
def test_a_range_of_ndrange_is_a_length_or_a_start_and_a_stop(bounds: Any) -> None:
    with pytest.raises(TypeError, match="a range is a length, or a start and a stop, not"):
        whorl.ndrange(bounds)
