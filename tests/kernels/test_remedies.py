"""What an error about a kernel advises to write, once written, compiles and is right.

Each case is a kernel that is refused, what the error says to do, and the same kernel after that
was done. It has to give what it gives as plain Python.
"""

from __future__ import annotations

import copy
import importlib.util
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl

HEAD = """\
import enum, functools, math
import numpy as np
import whorl
from whorl.graph import do_while, parallel, parallel_context
TABLE = {"a": 1, "b": 2}
ROW = (1, 2, 3)
ROWS = [0]
class Point:
    def __init__(self, x): self.x = x
class Count(int): pass
class Base:
    def shape(self, x): return x + 1
class Derived(Base):
    def shape(self, x): return x + 2
class Colour(enum.Enum):
    RED = 1
class IntColour(enum.IntEnum):
    RED = 1
@functools.lru_cache
def kept(n): return n + 1
def mine(n): return n + 1
CONST = 4
STOP = np.zeros((), np.int32)
X = np.arange(6.0)
def x(): return np.arange(6.0)
"""

_numbers = itertools.count()

# What is advised; the kernel that is refused; the kernel after that was done; the arguments of
# the first, and of the second if these are others.
CASES: list[tuple[str, ...]] = [
    # -- statements
    ("Check before; what a kernel raises ends its launch.",
     "def k(n):\n    try:\n        m = 6 // n\n    except ZeroDivisionError:\n        m = 0\n"
     "    return m",
     "def k(n):\n    m = 0\n    if n != 0:\n        m = 6 // n\n    return m", "2"),
    ("Define it at the top of a module, or raise a builtin exception.",
     "def made():\n    class E(Exception): pass\n    return E\nE = made()\n"
     "def k(n):\n    if n < 0:\n        raise E('n')\n    return n",
     "def k(n):\n    if n < 0:\n        raise ValueError('n')\n    return n", "2"),
    ("can be shown.",
     "def k(a):\n    if a[0] < 0:\n        raise ValueError(f'{a}')\n    return a[0]",
     "def k(a):\n    if a[0] < 0:\n        raise ValueError(f'{a[0]}')\n    return a[0]", "x()"),
    ("Define it outside of the kernel.",
     "def k(n):\n    class C:\n        m = 1\n    return n + C.m",
     "class C:\n    m = 1\ndef k(n):\n    return n + C.m", "2"),
    ("Import at the top of the module.",
     "def k(v):\n    import math as m\n    return m.sqrt(v)",
     "import math as m\ndef k(v):\n    return m.sqrt(v)", "2.0"),
    ("Write into an array, or return the value.",
     "def k(n):\n    global G\n    G = n", "def k(n):\n    return n", "2"),
    ("Write if, elif and else.",
     "def k(n):\n    match n:\n        case 1:\n            return 2\n        case _:\n"
     "            return 3",
     "def k(n):\n    if n == 1:\n        return 2\n    else:\n        return 3", "2"),
    ("Return the value.",
     "def k(n):\n    y = 1\n    def f():\n        nonlocal y\n        y = n\n    f()\n    return y",
     "def k(n):\n    y = 1\n    def f():\n        return n\n    y = f()\n    return y", "2"),
    ("Define it outside.",
     "def k(n):\n    @whorl.func\n    def f(): return 1\n    return n + f()",
     "@whorl.func\ndef f(): return 1\ndef k(n):\n    return n + f()", "2"),
    ("Write def.", "async def k(n):\n    return n", "def k(n):\n    return n", "2"),
    ("Name the parameters.",
     "def k(*n):\n    return n[0]", "def k(n):\n    return n", "2"),
    ("Pass such a value, or change the annotation.",
     "def k(n: int):\n    return n * 2", "def k(n: int):\n    return n * 2", "2.5", "2"),
    ("Pass such a value, or change the annotation.",
     "def k(n: int):\n    return n * 2", "def k(n: float):\n    return n * 2", "2.5"),
    # -- expressions
    ("Use arrays, or parameters of their own.",
     "def k(n):\n    d = {'a': n}\n    return d['a']", "def k(a):\n    return a", "2"),
    ("Use arrays.",
     "def k(n):\n    s = {n}\n    return n in s",
     "def k(a, n):\n    return n == a[0]", "2", "np.array([2]), 2"),
    ("Write a loop.",
     "def k(a):\n    return sum(v for v in a if v > 1)",
     "def k(a):\n    t = 0.0\n    for v in a:\n        if v > 1:\n            t += v\n    return t",
     "x()"),
    ("whorl.static(f'...')",
     "def k(n):\n    return 1 if f'{CONST}' == '4' else n",
     "def k(n):\n    return 1 if whorl.static(f'{CONST}') == '4' else n", "2"),
    ("Give print the values: print('x is', x).",
     "def k(x):\n    print(f'x is {x}')\n    return x",
     "def k(x):\n    print('x is', x)\n    return x", "2"),
    ("Write results into an array.",
     "def k(n):\n    for i in range(n):\n        yield i",
     "def k(n, a):\n    for i in range(n):\n        a[i] = i", "2", "2, x()"),
    ("Write the loops, or use small vectors: whorl.vec(...).",
     "def k(m):\n    return m @ m",
     "def k(m):\n    v = whorl.vec(m, 1.0)\n    return v @ v", "2.0"),
    ("Write == to compare numbers.",
     "def k(n, m):\n    return n is m", "def k(n, m):\n    return n == m", "1000, 1000"),
    ("Convert the other side first, such as with np.int64(...).",
     "def k(a):\n    return a[0] + 300",
     "def k(a):\n    return np.int64(a[0]) + 300", "np.ones(2, np.uint8)"),
    ("Write np.uint64(...).",
     "def k(n):\n    return n + 0xFFFFFFFFFFFFFFFF",
     "def k(n):\n    return n + np.uint64(0xFFFFFFFFFFFFFFFF)", "0"),
    ("Write `not x`",
     "def k(b):\n    return -b", "def k(b):\n    return not b", "np.True_"),
    ("int(x) first.", "def k(b):\n    return -b", "def k(b):\n    return -int(b)", "np.True_"),
    ("Make the base a float.",
     "def k(n):\n    return n ** -2", "def k(n):\n    return float(n) ** -2", "np.int64(2)"),
    ("Give it a value before.",
     "def k(n):\n    if n > 1:\n        y = 1\n    return y",
     "def k(n):\n    y = 0\n    if n > 1:\n        y = 1\n    return y", "2"),
    ("Make it the same kind in every branch: a number, or a tuple of one length.",
     "def k(n):\n    y = 1\n    if n > 1:\n        y = (1, 2)\n    return y",
     "def k(n):\n    y = (1, 0)\n    if n > 1:\n        y = (1, 2)\n    return y", "2"),
    ("Return the value, or keep it in an array: x[()] = value for a 0-d array.",
     "def k(p):\n    p.x = 1", "def k(p):\n    p.x[()] = 1", "Point(1)", "Point(np.zeros(()))"),
    ("Make it a NumPy array, or index it by something known at compile time.",
     "def k(n):\n    return TABLE[n]",
     "NUMBERS = np.array([1, 2])\ndef k(n):\n    return NUMBERS[n]", "1"),
    ("index it by something known at compile time.",
     "def k(n):\n    return TABLE[n]", "def k(n):\n    return TABLE['a'] + n", "1"),
    ("Make it an array: np.array(...).",
     "def k(n):\n    return (1, n)[n:][0]", "def k(n):\n    return np.array([1, n])[n:][0]", "1"),
    ("Use an array, or whorl.vec(...).",
     "def k(t):\n    t[0] = 1", "def k(t):\n    t[0] = 1", "(1, 2)", "np.array((1, 2))"),
    ("assign to a part of an array: x[:] = ...",
     "def k(a, b):\n    b[0] = -a", "def k(a, b):\n    b[:] = -a", "x(), x()"),
    ("It has 1 dimension.",
     "def k(a):\n    return a[0, 1]", "def k(a):\n    return a[1]", "x()"),
    ("Convert it with int(...).",
     "def k(a, v):\n    return a[v]", "def k(a, v):\n    return a[int(v)]", "x(), 1.5"),
    ("Loop over range(len(...)) and use an index.",
     "def k(a):\n    p, *q = a\n    return p",
     "def k(a):\n    t = 0.0\n    for i in range(len(a)):\n        t += a[i]\n    return t", "x()"),
    ("convert it outside, for instance with x.astype(np.float64)",
     "def k(x):\n    return x[0]", "def k(x):\n    return x[0]",
     "np.ones(2, 'f2')", "np.ones(2, 'f2').astype(np.float64)"),
    ("x.astype(np.complex128)",
     "def k(x):\n    return x[0]", "def k(x):\n    return x[0]",
     "np.ones(2, 'G')", "np.ones(2, 'G').astype(np.complex128)"),
    ("Write x.real, x.imag or abs(x).",
     "def k(a, z):\n    a[0] = z\n    return a[0]",
     "def k(a, z):\n    a[0] = z.real\n    return a[0]", "x(), 2j"),
    ("Compare abs(x), x.real or x.imag.",
     "def k(z):\n    return z < 1", "def k(z):\n    return abs(z) < 1", "2j"),
    ("Use an element for each iteration, or two arrays of floats.",
     "def k(z):\n    for i in whorl.prange(3):\n        z[0] *= 1j",
     "def k(z):\n    for i in whorl.prange(3):\n        z[i] *= 1j", "np.ones(3, complex)"),
    ("Pass np.asarray(x), or x.data and x.mask of a masked array.",
     "def k(x):\n    return x[0]", "def k(x, mask):\n    return 0.0 if mask[0] else x[0]",
     "np.ma.array([1.0, 2.0], mask=[1, 0])",
     "*(lambda x: (x.data, x.mask))(np.ma.array([1.0, 2.0], mask=[1, 0]))"),
    ("Write what it returns as an annotation: def f(n: int) -> int.",
     "def f(n):\n    return f(n - 1) if n else f(n)\ndef k(n):\n    return 0 if n else f(n)",
     "def f(n) -> int:\n    return f(n - 1) if n else f(n)\n"
     "def k(n):\n    return 0 if n else f(n)", "5"),
    ("Define it outside, and pass what it uses as arguments.",
     "def k(n):\n    def f(m):\n        return n if m == 0 else f(m - 1)\n    return f(n)",
     "def f(m, n):\n    return n if m == 0 else f(m - 1, n)\ndef k(n):\n    return f(n, n)", "5"),
    ("Pass numbers and arrays, or write a loop.",
     "def f(v, n):\n    return v[0] if n == 0 else f(v, n - 1)\n"
     "def k(n):\n    return f(whorl.vec(n, 2), n)",
     "def f(a, n):\n    return a[0] if n == 0 else f(a, n - 1)\n"
     "def k(n):\n    return f(np.array([n, 2]), n)", "5"),
    ("Make it outside and pass it in; tuples can be made and returned.",
     "def k(n):\n    return Point(n).x", "def k(p):\n    return p.x", "2", "Point(2)"),
    ("Make it outside and pass it in; tuples can be made and returned.",
     "def k(n):\n    return Point(n).x", "def k(n):\n    p = (n,)\n    return p[0]", "2"),
    ("Make it outside and pass it in",
     "def k(n):\n    return 1 if Colour(n) is Colour.RED else 2",
     "def k(colour):\n    return 1 if colour is Colour.RED else 2", "1", "Colour.RED"),
    ("Write it in the for statement.",
     "def k(a):\n    z = zip(a, a)\n    t = 0.0\n    for _ in range(2):\n        for u, v in z:\n"
     "            t += u * v\n    return t",
     "def k(a):\n    t = 0.0\n    for _ in range(2):\n        for u, v in zip(a, a):\n"
     "            t += u * v\n    return t", "x()"),
    ("Name the class whose method is meant: Base.method(self, ...).",
     "class K(Base):\n    @whorl.kernel\n    def run(self, x):\n        return super().shape(x)\n"
     "def k(x): return K().run(x)",
     "class K(Base):\n    @whorl.kernel\n    def run(self, x):\n"
     "        return Base.shape(self, x)\ndef k(x): return K().run(x)", "2"),
    ("Write the slice where it is used: x[a:b].",
     "def k(x, n):\n    s = slice(1, n)\n    return x[s][0]",
     "def k(x, n):\n    return x[1:n][0]", "x(), 3"),
    ("Write the items out",
     "def k(n):\n    t = set(ROW)\n    return n", "def k(n):\n    t = (3, 1)\n    return n", "2"),
    ("use an array that is passed in.",
     "def k(n):\n    t = 0\n    for i in set(ROW):\n        t += i\n    return t",
     "def k(a):\n    t = 0\n    for i in range(a.size):\n        t += a[i]\n    return t",
     "3", "np.arange(3)"),
    ("Use np.float32 or np.float64.",
     "def k(v):\n    return np.float16(v)", "def k(v):\n    return np.float32(v)", "2.5"),
    ("Use np.zeros(...), which makes an array of any length.",
     "def k(a):\n    return whorl.zeros(a.size)[0]",
     "def k(a):\n    return np.zeros(a.size)[0]", "x()"),
    ("If it is known at compile time: whorl.static(str(CONST)).",
     "def k(n):\n    return 1 if str(CONST) == '4' else n",
     "def k(n):\n    return 1 if whorl.static(str(CONST)) == '4' else n", "2"),
    ("If it is known at compile time: whorl.static(s.startswith('a')).",
     "def k(s):\n    return s.startswith('a')",
     "def k(s):\n    return whorl.static(s.startswith('a'))", "'ab'"),
    ("Read an item as d['name'], and loop over the keys",
     "def k(d):\n    return d.get('a', 1)", "def k(d):\n    return d['a']", "{'a': 3}"),
    ("Lists and sets are read in a kernel, never changed: write into an array.",
     "def k(n):\n    ROWS.append(n)", "def k(n, a):\n    a[0] = n", "2", "2, x()"),
    ("It cannot grow or change: write into an array that is passed in.",
     "def k(n):\n    r = [1]\n    r.append(n)\n    return r[1]",
     "def k(n, r):\n    r[1] = n\n    return r[1]", "2", "2, x()"),
    ("Write a = a + [...].",
     "def k(n):\n    a = [1]\n    a += [n]\n    return a[1]",
     "def k(n):\n    a = [1]\n    a = a + [n]\n    return a[1]", "2"),
    ("pass it in, and draw from it: rng.random(), rng.normal(), rng.integers(n).",
     "def k(n):\n    return np.random.rand() + n",
     "def k(n, rng):\n    return rng.random() + rng.normal() + rng.integers(n)",
     "2", "2, np.random.default_rng(3)"),
    ("In parallel loops write whorl.random(key, i).",
     "def k(n):\n    np.random.seed(n)\n    return n",
     "def k(n):\n    return whorl.random(n, 1)", "2"),
    ("Call it outside, and pass the array in.",
     "def k(n):\n    return np.frombuffer(b'ab', np.uint8)[0]", "def k(a):\n    return a[0]",
     "2", "np.frombuffer(b'ab', np.uint8)"),
    ("Write a loop over the elements, or compute it outside and pass the result in.",
     "def k(x):\n    return np.i0(x)[0]", "def k(values):\n    return values[0]",
     "x()", "np.i0(x())"),
    ("Call the function that is wrapped: kept.__wrapped__(...).",
     "def k(n):\n    return kept(n)", "def k(n):\n    return kept.__wrapped__(n)", "2"),
    ("Write a Python function that does it",
     "def k(a, b):\n    return sorted((a, b))[0]",
     "def lower(a, b): return a if a < b else b\ndef k(a, b):\n    return lower(a, b)", "2, 1"),
    ("compute it outside and pass the result in.",
     "def k(a, b):\n    return sorted((a, b))[0]", "def k(lower):\n    return lower", "2, 1", "1"),
    ("Use a parameter, a member, a global, or a loop over whorl.static(range(...)).",
     "def k(n):\n    y = n + 1\n    return whorl.static(y)",
     "def k(n):\n    return whorl.static(n)", "2"),
    ("a loop over whorl.static(range(...))",
     "def k(n):\n    t = 0\n    for i in range(3):\n"
     "        t += whorl.static(ROW[i])\n    return t",
     "def k(n):\n    t = 0\n    for i in whorl.static(range(3)):\n"
     "        t += whorl.static(ROW[i])\n    return t", "2"),
    ("Compute it outside and pass the result in as an argument, a member or a global.",
     "def k(n):\n    return whorl.static(open('x')) + n", "def k(n, m):\n    return m + n",
     "2", "2, 3"),
    ("Write range(...) to count.",
     "def k(n):\n    t = 0\n    for i in n:\n        t += i\n    return t",
     "def k(n):\n    t = 0\n    for i in range(n):\n        t += i\n    return t", "3"),
    ("Pass a NumPy array: np.asarray(...).",
     "def k(a):\n    return a.size", "def k(a):\n    return a.size",
     "[1, 2]", "np.asarray([1, 2])"),
    ("Arrays have .shape, .ndim, .size, .dtype, .flat, .T, .real and .imag.",
     "def k(a):\n    return a.shap[0]", "def k(a):\n    return a.shape[0]", "x()"),
    ("Convert a number with int(...), float(...), np.float32(...) and the like.",
     "def k(v):\n    return np.floor(v).astype(int)",
     "def k(v):\n    return int(np.floor(v))", "2.5"),
    ("Make one with whorl.vec(...), or write a loop.",
     "def k(a):\n    return whorl.dot(a, a)",
     "def k(a):\n    t = 0.0\n    for i in range(a.size):\n        t += a[i] * a[i]\n    return t",
     "np.arange(20.0)"),
    ("Make one with whorl.vec(...)",
     "def k(a):\n    return whorl.dot(a, a)",
     "def k(a):\n    v = whorl.vec(a[0], a[1])\n    return np.dot(v, v)", "np.arange(20.0)"),
    ("Pass a copy, or an array that may be written to",
     "def k(a):\n    a[0] = 1", "def k(a):\n    a[0] = 1",
     "np.broadcast_to(1.0, 3)", "np.broadcast_to(1.0, 3).copy()"),
    ("Pass a plain int: int(...).",
     "def k(n):\n    return n * 2", "def k(n):\n    return n * 2", "Count(2)", "int(Count(2))"),
    ("Pass a number, or ask `is None` before.",
     "def k(n):\n    return n * 2", "def k(n):\n    return n * 2", "None", "3"),
    ("ask `is None` before.",
     "def k(n):\n    return n * 2", "def k(n):\n    return 0 if n is None else n * 2", "None"),
    ("Write other results into an array that is passed in.",
     "def k(a):\n    return 'done'", "def k(a):\n    a[0] = 1", "x()"),
    ("Ask about a parameter or a member.",
     "def k(a):\n    y = whorl.vec(1.0, 2.0)\n    return type(y) is float",
     "def k(a):\n    return type(a) is float", "x()"),
    ("Make v one of f64",
     "def k(n):\n    v = whorl.vec(1, 2)\n    v += 0.5\n    return v[0]",
     "def k(n):\n    v = whorl.vec(1.0, 2.0)\n    v += 0.5\n    return v[0]", "2"),
    ("or write v = v + 0.5.",
     "def k(n):\n    v = whorl.vec(1, 2)\n    v += 0.5\n    return v[0]",
     "def k(n):\n    v = whorl.vec(1, 2)\n    v = v + 0.5\n    return v[0]", "2"),
    ("Make a vector of its own before: v = v.copy().",
     "def k(n):\n    a = whorl.vec(1, 2)\n    v = a\n    if n > 1:\n        v = whorl.vec(3, 4)\n"
     "    v[0] = 9\n    return a[0]",
     "def k(n):\n    a = whorl.vec(1, 2)\n    v = a\n    if n > 1:\n        v = whorl.vec(3, 4)\n"
     "    v = v.copy()\n    v[0] = 9\n    return a[0]", "2"),
    ("Index it down to a number, or unroll the loop with whorl.static(range(...)).",
     "def k(n):\n    m = whorl.vec(whorl.vec(1, 2), whorl.vec(3, 4))\n    t = 0\n"
     "    for i in range(2):\n        r = m[i]\n        t += r[0]\n    return t",
     "def k(n):\n    m = whorl.vec(whorl.vec(1, 2), whorl.vec(3, 4))\n    t = 0\n"
     "    for i in range(2):\n        t += m[i, 0]\n    return t", "2"),
    ("unroll the loop with whorl.static(range(...)).",
     "def k(n):\n    m = whorl.vec(whorl.vec(1, 2), whorl.vec(3, 4))\n    t = 0\n"
     "    for i in range(2):\n        r = m[i]\n        t += r[0]\n    return t",
     "def k(n):\n    m = whorl.vec(whorl.vec(1, 2), whorl.vec(3, 4))\n    t = 0\n"
     "    for i in whorl.static(range(2)):\n        r = m[i]\n        t += r[0]\n    return t",
     "2"),
    ("There are a, b.",
     "def f(a, b=1): return a + b\ndef k(n):\n    return f(n, d=1)",
     "def f(a, b=1): return a + b\ndef k(n):\n    return f(n, b=1)", "2"),
    ("Write the keywords out.",
     "def f(a, b=1): return a + b\ndef k(n):\n    return f(n, **TABLE)",
     "def f(a, b=1): return a + b\ndef k(n):\n    return f(n, b=TABLE['b'])", "2"),
    ("Pass 'z' to f as an argument, or return what it would return.",
     "def pick(n):\n    z = 1\n    def f(): return z\n    if n > 1:\n        return f\n    z = 2\n"
     "    return f\ndef k(n):\n    return pick(n)()",
     "def pick(n):\n    if n > 1:\n        return 1\n    return 2\ndef k(n):\n    return pick(n)",
     "2"),
    # -- prange
    ("The iterations run at the same time.",
     "def k(a):\n    for i in whorl.prange(a.size):\n        if a[i] > 3:\n            break\n"
     "        a[i] = 1",
     "def k(a):\n    for i in range(a.size):\n        if a[i] > 3:\n            break\n"
     "        a[i] = 1", "x()"),
    ("Write the statements after the loop.",
     "def k(a):\n    for i in whorl.prange(a.size):\n        a[i] = 1\n    else:\n        a[0] = 2",
     "def k(a):\n    for i in whorl.prange(a.size):\n        a[i] = 1\n    a[0] = 2", "x()"),
    ("A sum (s += x; also *=, min, max) that is not read in the loop comes out whole",
     "def k(n):\n    s = 0\n    for i in whorl.prange(n):\n        s = s - i\n    return s",
     "def k(n):\n    s = 0\n    for i in whorl.prange(n):\n        s += -i\n    return s", "4"),
    ("keep anything else in an array, an element for each iteration.",
     "def k(a):\n    s = 0.0\n    for i in whorl.prange(a.size):\n        s = s - a[i]\n"
     "        a[i] = s\n    return s",
     "def k(a):\n    for i in whorl.prange(a.size):\n        a[i] = -a[i]\n    return a[0]", "x()"),
    ("Copy it inside of the loop",
     "def k(a):\n    v = whorl.vec(1.0, 2.0)\n    for i in whorl.prange(2):\n        v[i] = 3.0\n"
     "        a[i] = v[i]",
     "def k(a):\n    v = whorl.vec(1.0, 2.0)\n    for i in whorl.prange(2):\n"
     "        w = v.copy()\n        w[i] = 3.0\n        a[i] = w[i]", "x()"),
    # -- graphs
    ("Make it with np.zeros((), np.int32); set it with x[()] = 1.",
     "def k(a, go):\n    while do_while(go):\n        a[0] += 1\n        go[0] = 0",
     "def k(a, go):\n    while do_while(go):\n        a[0] += 1\n        go[()] = 0",
     "x(), np.zeros(1)", "x(), np.zeros((), np.int32)"),
    ("Write `while whorl.graph.do_while(condition):` and nothing beside it.",
     "def k(a, go):\n    while do_while(go) and a[0] < 3:\n        a[0] += 1\n        go[()] = 0",
     "def k(a, go):\n    while whorl.graph.do_while(go):\n        a[0] += 1\n"
     "        go[()] = 0", "x(), STOP.copy()"),
    ("Write a plain while, or put the prange into the loop.",
     "def k(a, go):\n    for i in whorl.prange(2):\n        while do_while(go):\n"
     "            a[i] += 1\n            go[()] = 0",
     "def k(a, go):\n    while do_while(go):\n        for i in whorl.prange(2):\n"
     "            a[i] += 1\n        go[()] = 0", "x(), STOP.copy()"),
    ("Derive the enum from enum.IntEnum.",
     "def k(a, stop):\n    with whorl.checkpoint(Colour.RED, yield_on=stop):\n        a[0] = 1",
     "def k(a, stop):\n    with whorl.checkpoint(IntColour.RED, yield_on=stop):\n        a[0] = 1",
     "x(), STOP.copy()"),
    ("Use an int, a module's constant, or the member of an IntEnum.",
     "def k(a, stop, n):\n    with whorl.checkpoint(n + 1, yield_on=stop):\n        a[0] = 1",
     "def k(a, stop, n):\n    with whorl.checkpoint(CONST, yield_on=stop):\n        a[0] = 1",
     "x(), STOP.copy(), 1"),
    ("Write checkpoint(label, yield_on=flag).",
     "def k(a, stop):\n    with whorl.checkpoint(1, stop):\n        a[0] = 1",
     "def k(a, stop):\n    with whorl.checkpoint(1, yield_on=stop):\n        a[0] = 1",
     "x(), STOP.copy()"),
    ("Give each a label of its own",
     "def k(a):\n    with whorl.checkpoint(1):\n        a[0] = 1\n    with whorl.checkpoint(1):\n"
     "        a[1] = 1",
     "def k(a):\n    with whorl.checkpoint(1):\n        a[0] = 1\n    with whorl.checkpoint(2):\n"
     "        a[1] = 1", "x()"),
    ("End that one first: a launch stops at the end of a checkpoint.",
     "def k(a):\n    with whorl.checkpoint(1):\n        a[0] = 1\n"
     "        with whorl.checkpoint(2):\n            a[1] = 1",
     "def k(a):\n    with whorl.checkpoint(1):\n        a[0] = 1\n    with whorl.checkpoint(2):\n"
     "        a[1] = 1", "x()"),
    ("Write `while whorl.graph.do_while(...)`, and keep the count in an array.",
     "def k(a, go, n):\n    for i in range(2):\n        with whorl.checkpoint(1):\n"
     "            a[0] += 1",
     "def k(a, go, n):\n    while whorl.graph.do_while(go):\n        with whorl.checkpoint(1):\n"
     "            a[0] += 1\n        n[0] += 1\n        go[()] = n[0] < 2",
     "x(), STOP.copy(), np.zeros(1, int)"),
    ("Put it before or after.",
     "def k(a):\n    for i in whorl.prange(2):\n        with whorl.checkpoint(1):\n"
     "            a[i] = 1",
     "def k(a):\n    for i in whorl.prange(2):\n        a[i] = 1\n    with whorl.checkpoint(1):\n"
     "        a[2] = 1", "x()"),
    ("Write the result into an array that is passed in.",
     "def k(a):\n    with whorl.checkpoint(1):\n        a[0] = 1\n    return 4",
     "def k(a, result):\n    with whorl.checkpoint(1):\n        a[0] = 1\n    result[0] = 4",
     "x()", "x(), x()"),
    ("Write the with of the context around it.",
     "def k(a):\n    with parallel():\n        a[0] = 1",
     "def k(a):\n    with parallel_context():\n        with parallel():\n            a[0] = 1",
     "x()"),
    ("Write `with whorl.graph.parallel():` around it.",
     "def k(a):\n    with parallel_context():\n        a[0] = 1",
     "def k(a):\n    with parallel_context():\n        with whorl.graph.parallel():\n"
     "            a[0] = 1", "x()"),
    ("Keep it in an array.",
     "def k(a):\n    n = 0\n    with parallel_context():\n        with parallel():\n"
     "            n = 2\n    a[0] = n",
     "def k(a, n):\n    with parallel_context():\n        with parallel():\n            n[0] = 2\n"
     "    a[0] = n[0]", "x()", "x(), x()"),
    ("Put both into one section",
     "def k(a, b):\n    with parallel_context():\n        with parallel():\n            a[0] = 1\n"
     "        with parallel():\n            b[0] = a[0]",
     "def k(a, b):\n    with parallel_context():\n        with parallel():\n            a[0] = 1\n"
     "            b[0] = a[0]", "x(), x()"),
    ("give each an array of its own.",
     "def k(a, b, i):\n    with parallel_context():\n        with parallel():\n"
     "            a[0] = 1\n        with parallel():\n            b[i] = a[0]",
     "def k(a, b, i):\n    with parallel_context():\n        with parallel():\n"
     "            a[0] = 1\n        with parallel():\n            b[i] = b[i] + 1", "x(), x(), 1"),
    ("Keep it in an array, or work it out again",
     "def k(a):\n    n = a[0] + 1\n    with whorl.checkpoint(1):\n        a[1] = n",
     "def k(a):\n    with whorl.checkpoint(1):\n        n = a[0] + 1\n        a[1] = n", "x()"),
    ("It is for whorl.checkpoint and whorl.graph.parallel_context.",
     "def k(a, stop):\n    with whorl.checkpoint:\n        a[0] = 1",
     "def k(a, stop):\n    with whorl.checkpoint(1, yield_on=stop):\n        a[0] = 1",
     "x(), STOP.copy()"),
]  # fmt: skip


def _loaded(source: str, folder: Path) -> Any:
    """A module with a kernel `k`."""
    name = f"remedied_kernel_{next(_numbers)}"
    path = folder / f"{name}.py"
    is_kernel = "@whorl.kernel" not in source
    path.write_text(HEAD + (_decorated(source) if is_kernel else source) + "\n")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _decorated(source: str) -> str:
    for start in ("async def k(", "def k("):
        if start in source:
            return source.replace(start, f"@whorl.kernel\n{start}", 1)
    raise AssertionError(source)


def _arguments(module: Any, text: str) -> tuple[Any, ...]:
    given: tuple[Any, ...] = eval(f"({text},)", vars(module))
    return given


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray):
        return bool(np.array_equal(left, right))
    if isinstance(left, np.random.Generator):
        return bool(left.bit_generator.state == right.bit_generator.state)
    return bool(left == right) if not hasattr(left, "x") else _same(left.x, right.x)


@pytest.mark.parametrize("case", CASES, ids=[f"{i} {case[0][:40]}" for i, case in enumerate(CASES)])
def test_what_is_advised_compiles_and_is_right(case: tuple[str, ...], tmp_path: Path) -> None:
    advice, refused, mended, *given = case
    wrong = _loaded(refused, tmp_path)
    with pytest.raises(whorl.KernelError) as caught:
        wrong.k(*_arguments(wrong, given[0]))
    assert advice in caught.value.remedy
    right = _loaded(mended, tmp_path)
    compiled, plain = (_arguments(right, given[-1]) for _ in range(2))
    result = right.k(*compiled)
    if not hasattr(right.k, "interpret"):
        assert result == right.Base().shape(*plain)
        return
    expected = right.k.interpret(*copy.copy(plain))
    assert result == expected
    assert type(result) is type(expected)
    assert all(map(_same, compiled, plain))
