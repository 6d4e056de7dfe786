"""Edits of a program of Numba functions: each function reads one thing that is edited."""

from __future__ import annotations

from tests.adapters.numba_programs import RECORDING
from whorl.fast_dataclasses import NamedTuple

__all__ = ["EDITS", "FILES", "Edit"]

KERNELS = """\
import enum
from collections import namedtuple
import numpy as np
from numba import cfunc, guvectorize, literal_unroll, njit, prange, types, vectorize
import package.constants
import values
from values import IMPORTED, OPTIONS, LOCALS, scalar_options
import callees
from callees import chosen as alias

X = np.arange(4.0)


def cached(function=None, **options):
    return njit(cache=True, **options)(function) if function else njit(cache=True, **options)


@cached
def callee(x): return callees.direct(x)
def run_callee(): return callee(1), callee

@cached
def deep(x): return callees.outer(x)
def run_deep(): return deep(1), deep

@cached
def imported(x): return x + IMPORTED
def run_imported(): return imported(1), imported

@cached
def attribute(x): return x + values.ATTRIBUTE
def run_attribute(): return attribute(1), attribute

@cached
def dotted(x): return x + package.constants.DOTTED
def run_dotted(): return dotted(1), dotted

@cached
def default(x, y=10): return x + y
def run_default(): return default(1), default

@cached
def default_of_callee(x): return callees.with_default(x)
def run_default_of_callee(): return default_of_callee(1), default_of_callee

def make(k):
    @cached
    def closure(x): return x + k
    return closure
closure = make(values.CAPTURED)
def run_closure(): return closure(1), closure

def make_calling(g):
    @cached
    def calling(x): return g(x)
    return calling
over_dispatcher = make_calling(callees.captured)
def run_over_dispatcher(): return over_dispatcher(1), over_dispatcher

@cached
def array(i): return values.ARRAY[i]
def run_array(): return array(1), array

@cached
def dtype(i): return values.TYPED[i]
def run_dtype(): return dtype(1), dtype

@cached
def record(i): return values.RECORDS[i].b
def run_record(): return record(0), record

@cached
def a_tuple(i): return values.TUPLE[1] + i
def run_a_tuple(): return a_tuple(1), a_tuple

@cached
def named(i): return values.NAMED.left + i
def run_named(): return named(1), named

@cached
def text(i): return values.TEXT[i]
def run_text(): return text(0), text

@cached
def flag(i): return 1 if values.FLAG else 2
def run_flag(): return flag(0), flag

@cached
def nothing(i): return 1 if values.NOTHING is None else 2
def run_nothing(): return nothing(0), nothing

@cached
def sign(x): return np.copysign(x, values.ZERO)
def run_sign(): return sign(1.0), sign

@cached
def number_type(x): return x * values.SCALAR
def run_number_type(): return number_type(np.float32(1.1)), number_type

@cached
def one_or_true(x): return (x, values.ONE)[1]
def run_one_or_true(): return one_or_true(1), one_or_true

@cached
def member(x): return x + values.Color.RED.value
def run_member(): return member(1), member

@cached
def member_argument(c): return c.value
def run_member_argument(): return member_argument(values.Tint.A), member_argument

@cached(**OPTIONS)
def options(x): return x + 1.0
def run_options(): return options(1.0), options

@cached(**scalar_options())
def error_model(x): return 1.0 / x
def run_error_model():
    try: return error_model(0.0), error_model
    except ZeroDivisionError: return "error", error_model

@cached
def option_of_callee(x): return callees.divides(x)
def run_option_of_callee():
    try: return option_of_callee(0.0), option_of_callee
    except ZeroDivisionError: return "error", option_of_callee

@cached(locals=LOCALS)
def local_types(x):
    y = x
    return y
def run_local_types(): return local_types(0.1), local_types

@cached
def alias_of(x): return alias(x)
def run_alias_of(): return alias_of(1), alias_of

@cached
def calls_later(x): return later(x)
def run_calls_later(): return calls_later(1), calls_later
@njit
def later(x): return x + values.LATER

@cached
def recursive(n): return values.BASE if n <= 0 else n + recursive(n - 1)
def run_recursive(): return recursive(3), recursive

@cached
def even(n): return 10 if n == 0 else odd(n - 1)
@cached
def odd(n): return values.ODD if n == 0 else even(n - 1)
def run_mutual(): return even(3), even

scope = {"__name__": __name__}
exec(values.GENERATED, scope)
generated = njit(cache=True)(scope["generated"])
def run_generated(): return generated(1), generated

@cached
def unrolled(x):
    total = 0
    for f in literal_unroll(callees.FUNCTIONS):
        total += f(x)
    return total
def run_unrolled(): return unrolled(1), unrolled

@cached(parallel=True)
def parallel(x):
    total = 0.0
    for i in prange(x.size):
        total += x[i] + values.PARALLEL
    return total
def run_parallel(): return parallel(X), parallel

@cached
def counting(n):
    for i in range(n):
        yield i + values.YIELDED
def run_generator(): return list(counting(2)), counting

@cached
def numpy_dtype(n): return np.zeros(n, values.DTYPE)
def run_numpy_dtype(): return numpy_dtype(2), numpy_dtype

@cfunc("float64(float64)", cache=True)
def callback(x): return x + values.CALLBACK
def run_callback(): return callback.ctypes(1.0), callback

@vectorize(["float64(float64)"], cache=True)
def ufunc(x): return x + values.UFUNC
def run_ufunc(): return ufunc(X).tolist(), None

@guvectorize(["(float64[:], float64[:])"], "(n)->(n)", cache=True)
def gufunc(x, y):
    for i in range(x.size):
        y[i] = x[i] + values.GUFUNC
def run_gufunc(): return gufunc(X).tolist(), None
"""

VALUES = """\
import enum
from collections import namedtuple
import numpy as np
from numba import types
IMPORTED = 1
ATTRIBUTE = 2
CAPTURED = 3
ARRAY = np.array([1, 2, 3])
TYPED = np.array([1, 2, 3], np.int64)
RECORDS = np.array([(1, 2.5)], [("a", "i4"), ("b", "f8")])
TUPLE = (1, 2)
Pair = namedtuple("Pair", ["left", "right"])
NAMED = Pair(1, 2)
TEXT = "text"
FLAG = True
NOTHING = None
ZERO = 0.0
SCALAR = np.float32(1.5)
ONE = 1
class Color(enum.Enum):
    RED = 1
class Tint(enum.IntEnum):
    A = 1
OPTIONS = {"fastmath": False}
LOCALS = {"y": types.float64}
def scalar_options(): return {"error_model": "python"}
LATER = 5
BASE = 0
ODD = 20
GENERATED = "def generated(x): return x + 1"
PARALLEL = 1.0
YIELDED = 1
DTYPE = np.float64
CALLBACK = 1.0
UFUNC = 1.0
GUFUNC = 1.0
"""

CALLEES = '''\
from numba import njit
@njit
def direct(x):
    """Adds one."""
    return x + 1
@njit
def inner(x): return x + 2
@njit
def outer(x): return inner(x)
@njit
def with_default(x, y=1): return x + y
@njit
def captured(x): return x + 3
@njit(error_model="python")
def divides(x): return 1.0 / x
@njit
def first(x): return x
@njit
def second(x): return x + 100
chosen = first
@njit
def one(x): return x + 1
@njit
def two(x): return x + 2
FUNCTIONS = (one, two)
'''

FILES = {
    "main.py": RECORDING,
    "kernels.py": KERNELS,
    "values.py": VALUES,
    "callees.py": CALLEES,
    "package/__init__.py": "",
    "package/constants.py": "DOTTED = 4\n",
}


class Edit(NamedTuple):
    """A text of a file that is replaced, and the function that reads it."""

    function: str
    file: str
    old: str
    new: str
    changes: bool = True  # what the function returns
    counted: bool = True  # whether Numba counts the hits of such a function
    kept: bool = True


EDITS = (
    Edit("callee", "callees.py", '"""Adds one."""\n    return x + 1', "return x + 11"),
    Edit("deep", "callees.py", "return x + 2\n@njit\ndef outer", "return x + 22\n@njit\ndef outer"),
    Edit("imported", "values.py", "IMPORTED = 1", "IMPORTED = 11"),
    Edit("attribute", "values.py", "ATTRIBUTE = 2", "ATTRIBUTE = 22"),
    Edit("dotted", "package/constants.py", "DOTTED = 4", "DOTTED = 44"),
    Edit("default", "kernels.py", "y=10", "y=20"),
    Edit("default_of_callee", "callees.py", "y=1)", "y=2)"),
    Edit("closure", "values.py", "CAPTURED = 3", "CAPTURED = 33"),
    Edit("over_dispatcher", "callees.py", "return x + 3", "return x + 33"),
    Edit("array", "values.py", "ARRAY = np.array([1, 2, 3])", "ARRAY = np.array([1, 5, 3])"),
    Edit("dtype", "values.py", "np.int64)", "np.float64)"),
    Edit("record", "values.py", "[(1, 2.5)]", "[(1, 3.5)]"),
    Edit("a_tuple", "values.py", "TUPLE = (1, 2)", "TUPLE = (1, 5)"),
    Edit("named", "values.py", '["left", "right"]', '["right", "left"]'),
    Edit("text", "values.py", 'TEXT = "text"', 'TEXT = "other"'),
    Edit("flag", "values.py", "FLAG = True", "FLAG = False"),
    Edit("nothing", "values.py", "NOTHING = None", "NOTHING = 0"),
    Edit("sign", "values.py", "ZERO = 0.0", "ZERO = -0.0"),
    Edit("number_type", "values.py", "np.float32(1.5)", "np.float64(1.5)"),
    Edit("one_or_true", "values.py", "ONE = 1", "ONE = True"),
    Edit("member", "values.py", "RED = 1", "RED = 5"),
    Edit("member_argument", "values.py", "    A = 1", "    A = 2"),
    Edit("options", "values.py", '"fastmath": False', '"fastmath": True', changes=False),
    Edit("error_model", "values.py", '"error_model": "python"', '"error_model": "numpy"'),
    Edit("option_of_callee", "callees.py", 'error_model="python"', 'error_model="numpy"'),
    Edit("local_types", "values.py", "types.float64}", "types.float32}"),
    Edit("alias_of", "callees.py", "chosen = first", "chosen = second"),
    Edit("calls_later", "values.py", "LATER = 5", "LATER = 55"),
    Edit("recursive", "values.py", "BASE = 0", "BASE = 100"),
    Edit("mutual", "values.py", "ODD = 20", "ODD = 21", kept=False),
    Edit("generated", "values.py", "return x + 1", "return x + 7"),
    Edit("unrolled", "callees.py", "return x + 2\nFUNCTIONS", "return x + 20\nFUNCTIONS"),
    Edit("parallel", "values.py", "PARALLEL = 1.0", "PARALLEL = 2.0"),
    Edit("generator", "values.py", "YIELDED = 1", "YIELDED = 2"),
    Edit("numpy_dtype", "values.py", "DTYPE = np.float64", "DTYPE = np.float32"),
    Edit("callback", "values.py", "CALLBACK = 1.0", "CALLBACK = 2.0"),
    Edit("ufunc", "values.py", "UFUNC = 1.0\nG", "UFUNC = 2.0\nG", counted=False),
    Edit("gufunc", "values.py", "GUFUNC = 1.0", "GUFUNC = 2.0", counted=False),
)
