"""Values of pandas, polars, Arrow, SciPy, PyTorch and xarray: by content, and by nothing else.

`make test-libraries` installs the libraries; elsewhere the tests of those that are missing are
skipped.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
import whorl.testing

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")

NUMBERS = np.arange(12.0)

Make = Callable[[Any], object]


def pandas_use(table: Any) -> None:
    table.describe()
    table.iloc[1]
    table.index.get_loc(2)


def polars_use(table: Any) -> None:
    table.sort("a")
    table["a"].n_unique()
    table["a"].set_sorted()


def scipy_use(matrix: Any) -> None:
    matrix @ np.ones(matrix.shape[1])
    matrix.sum()
    for name in ("has_sorted_indices", "has_canonical_format"):
        getattr(matrix, name, None)


def xarray_use(array: Any) -> None:
    array.mean()
    array.sel(t=3)
    array.coords["t"].to_index()


def nothing(value: Any) -> None:
    pass


VALUES: list[tuple[str, Make, Make, Callable[[Any], None]]] = [
    (
        "pandas",
        lambda pd: pd.DataFrame({"a": NUMBERS, "b": ["x", None, "y"] * 4}),
        lambda pd: pd.DataFrame({"a": NUMBERS, "b": ["x", None, "z"] * 4}),
        pandas_use,
    ),
    (
        "pandas",
        lambda pd: pd.Series(pd.date_range("2020", periods=3, tz="UTC")),
        lambda pd: pd.Series(pd.date_range("2020", periods=3, tz="Asia/Tokyo")),
        nothing,
    ),
    (
        "polars",
        lambda pl: pl.DataFrame({"a": NUMBERS, "b": ["x", None, "yz"] * 4}),
        lambda pl: pl.DataFrame({"a": NUMBERS, "b": ["xy", None, "z"] * 4}),
        polars_use,
    ),
    (
        "polars",
        lambda pl: pl.Series("s", [[1, 2], [], None, [3]]),
        lambda pl: pl.Series("s", [[1], [2], None, [3]]),
        nothing,
    ),
    (
        "polars",
        lambda pl: pl.Series([{"a": 1, "b": [1.5]}, None]),
        lambda pl: pl.Series([{"a": 1, "c": [1.5]}, None]),
        nothing,
    ),
    (
        "polars",
        lambda pl: pl.Series(["a", "b"], dtype=pl.Categorical),
        lambda pl: pl.Series(["a", "b"]),
        nothing,
    ),
    (
        "pyarrow",
        lambda pa: pa.table({"a": NUMBERS, "b": ["x", None, "yz"] * 4}),
        lambda pa: pa.table({"a": NUMBERS, "b": ["xy", None, "z"] * 4}),
        nothing,
    ),
    (
        "pyarrow",
        lambda pa: pa.array([[1, 2], [], None, [3]]),
        lambda pa: pa.array([[1], [2], None, [3]]),
        nothing,
    ),
    ("pyarrow", lambda pa: pa.scalar(3), lambda pa: pa.scalar(3, pa.int32()), nothing),
    (
        "pyarrow",
        lambda pa: pa.schema([("a", pa.int64())]),
        lambda pa: pa.schema([("a", pa.int64())], metadata={"unit": "m"}),
        nothing,
    ),
    *(
        (
            "scipy.sparse",
            lambda sparse, name=name: getattr(sparse, name)(np.eye(4)),
            lambda sparse, name=name: getattr(sparse, name)(np.tri(4)),
            scipy_use,
        )
        for name in ("csr_array", "csr_matrix", "csc_array", "coo_array", "bsr_array", "dok_array")
    ),
    (
        "torch",
        lambda torch: torch.arange(12.0).reshape(3, 4),
        lambda torch: torch.arange(12.0).reshape(4, 3),
        lambda tensor: tensor.sum(),
    ),
    (
        "torch",
        lambda torch: torch.ones(3, dtype=torch.bfloat16),
        lambda torch: torch.ones(3, dtype=torch.float16),
        nothing,
    ),
    (
        "torch",
        lambda torch: torch.ones(3, requires_grad=True),
        lambda torch: torch.ones(3),
        lambda tensor: (tensor * 2).sum(),
    ),
    ("torch", lambda torch: torch.eye(3).to_sparse(), lambda torch: torch.eye(3), nothing),
    (
        "xarray",
        lambda xr: xr.DataArray(NUMBERS, dims="t", coords={"t": np.arange(12)}, attrs={"u": "m"}),
        lambda xr: xr.DataArray(NUMBERS, dims="t", coords={"t": np.arange(12)}, attrs={"u": "s"}),
        xarray_use,
    ),
    (
        "xarray",
        lambda xr: xr.Dataset({"a": ("t", NUMBERS)}, coords={"t": np.arange(12)}),
        lambda xr: xr.Dataset({"a": ("t", NUMBERS)}, coords={"t": np.arange(1, 13)}),
        lambda data: xarray_use(data.a),
    ),
]


@pytest.mark.parametrize(("library", "make", "make_other", "use"), VALUES)
def test_a_value_of_a_library_counts_by_content_whatever_it_was_used_for(
    library: str, make: Make, make_other: Make, use: Callable[[Any], None]
) -> None:
    module = pytest.importorskip(library)
    value = make(module)
    digest = whorl.fingerprint(value)
    assert whorl.fingerprint(make(module)) == digest
    assert whorl.fingerprint(pickle.loads(pickle.dumps(value))) == digest
    assert whorl.fingerprint(make_other(module)) != digest
    use(value)
    assert whorl.fingerprint(value) == digest


@pytest.mark.parametrize(("library", "make", "make_other", "use"), VALUES)
def test_a_value_of_a_library_is_an_argument_and_a_result_of_a_cached_function(
    library: str, make: Make, make_other: Make, use: Callable[[Any], None]
) -> None:
    module = pytest.importorskip(library)

    def same(value: object) -> object:
        return value

    with whorl.testing.fresh_cache():
        cached = whorl.cached(same)
        first, second = make(module), make(module)
        cached(first)
        result = cached(second)
        cached(make_other(module))
        assert cached.stats()["ran"] == 2
        assert whorl.fingerprint(result) == whorl.fingerprint(first)


def test_how_columns_are_divided_makes_no_difference() -> None:
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    parts = [pl.DataFrame({"a": [1, 2], "b": ["x", None]}), pl.DataFrame({"a": [3], "b": ["y"]})]
    whole = pl.DataFrame({"a": [1, 2, 3], "b": ["x", None, "y"]})
    assert whorl.fingerprint(pl.concat(parts, rechunk=False)) == whorl.fingerprint(whole)
    for values in ([0, 1, 2, 3], [0, 1, None, 3], ["a", "b", "c", "d"], [True, False, None, True]):
        array = pa.array(values)
        assert whorl.fingerprint(array[1:]) == whorl.fingerprint(pa.array(values[1:], array.type))
        chunks = pa.chunked_array([array[:1], array[1:]])
        assert whorl.fingerprint(chunks) == whorl.fingerprint(pa.chunked_array([array]))


def test_strides_and_shared_memory_of_tensors_make_no_difference() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.arange(6).reshape(2, 3)
    assert whorl.fingerprint(tensor.T) == whorl.fingerprint(tensor.T.contiguous())
    assert whorl.fingerprint(tensor[0]) == whorl.fingerprint(tensor[0].clone())
    assert whorl.fingerprint([tensor, tensor]) == whorl.fingerprint([tensor, tensor.clone()])


def test_a_module_of_torch_counts_by_its_parameters() -> None:
    torch = pytest.importorskip("torch")

    def layer(seed: int) -> object:
        torch.manual_seed(seed)
        return torch.nn.Linear(3, 4)

    assert whorl.fingerprint(layer(1)) == whorl.fingerprint(layer(1)) != whorl.fingerprint(layer(2))


def test_a_class_of_tensors_with_code_of_its_own_is_refused() -> None:
    torch = pytest.importorskip("torch")

    class Logging(torch.Tensor):  # type: ignore[misc,name-defined]  # torch may be missing
        @classmethod
        def __torch_function__(cls, *args: Any, **kwargs: Any) -> object:
            raise AssertionError("nobody asked")

    value = torch.Tensor._make_subclass(Logging, torch.ones(2))
    with pytest.raises(whorl.UnsupportedValue, match="code of its own"):
        whorl.fingerprint(value)


def test_a_query_of_polars_is_refused_and_what_it_gives_is_not() -> None:
    pl = pytest.importorskip("polars")
    query = pl.DataFrame({"a": [1]}).lazy().filter(pl.col("a") > 0)
    with pytest.raises(whorl.UnsupportedValue, match=r"\.collect\(\)"):
        whorl.fingerprint(query)
    assert whorl.fingerprint(query.collect()) == whorl.fingerprint(pl.DataFrame({"a": [1]}))


PROGRAM = """
import sys
import numpy as np, whorl
library = __import__(sys.argv[1])
make = {
    "polars": lambda: library.DataFrame({"a": [1, None], "b": ["x", "y"]}),
    "pyarrow": lambda: library.table({"a": [1, None], "b": ["x", "y"]}),
    "torch": lambda: library.arange(4.0),
    "xarray": lambda: library.DataArray(np.arange(3), dims="t"),
    "pandas": lambda: library.DataFrame({"a": [1, 2], "b": ["x", "y"]}),
}[sys.argv[1]]
print(whorl.fingerprint(make()))
"""


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "torch", "xarray"])
def test_the_digest_of_a_value_is_the_same_in_another_process(library: str, tmp_path: Path) -> None:
    pytest.importorskip(library)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    seen = set()
    for seed in ("1", "2"):
        ended = subprocess.run(
            [sys.executable, str(program), library],
            env={"PYTHONHASHSEED": seed, "PATH": "", "WHORL_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        )
        seen.add(ended.stdout)
    assert len(seen) == 1
