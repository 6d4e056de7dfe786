"""What is promised of reads and keys, one program for each sentence, in two processes.

The first process compiles what it has to, the second finds all of it: same answers, no compile.
Beside these, for the same sentences: `test_warm_kernels` (what an edit between two processes comes
to), `test_ccompiler` (a real compiler), `test_kernel_homes` (where a kernel is defined).
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from tests.processes.test_kernel_homes import ran

PRELUDE = """
import copy, enum, functools, gc, json, os, sys, threading, types, uuid, weakref
from dataclasses import dataclass
import numpy as np
import whorl
from tests.jit.compilers import Looking, Thing
from whorl.reads import AbsentRead

compilers = []

def jit(look, function=None, extra={}, **choices):
    compiler = Looking(look, version=str(len(compilers)), **extra)
    compilers.append(compiler)
    def kernel(x=None, y=None): ...
    return whorl.jit(compiler, **choices)(function or kernel)

def or_absent(look):
    def safely(inputs):
        try:
            return look(inputs)
        except AbsentRead:
            return "absent"
    return safely
"""

END = """
print(json.dumps([answers, sum(compiler.compiles for compiler in compilers)]))
"""

# number and sentence, program, answers, compiles of the first process
SENTENCES: list[tuple[str, str, object, int]] = [
    ("14 an unread member neither changes the key nor fails", """
        kernel = jit(lambda inputs: inputs.arg("x").attr("tile").value())
        cyclic = Thing(tile=64)
        cyclic.me = cyclic
        things = (Thing(tile=64, uid=uuid.uuid4()), Thing(tile=64, file=sys.stdout), cyclic)
        answers = [kernel(thing) for thing in things]
     """, [64, 64, 64], 1),
    ("15 an unknown type is an error with its path, or one call at a time by option", """
        kernel = jit(lambda inputs: inputs.arg("x").attr("lock").value() is None)
        answers = []
        try:
            kernel(Thing(lock=threading.Lock()))
        except whorl.UnsupportedRead as error:
            answers.append(error.path)
        uncached = jit(lambda inputs: inputs.arg("x").value().name, cache="call")
        class Named:
            def __init__(self, name): self.name, self.lock = name, threading.Lock()
        answers += [uncached(Named(name)) for name in "abab"]
        del compilers[:]  # compiled in every process
     """, ["arg:x.lock", "a", "b", "a", "b"], 0),
    ("16 a run-time value does not compile again, a constant does", """
        free = jit(lambda inputs: inputs.arg("x").type()[0])
        fixed = jit(lambda inputs: inputs.arg("x").value())
        answers = [[free(n) for n in (1, 2, 3)], [fixed(n) for n in (1, 2, 1)]]
     """, [["int"] * 3, [1, 2, 1]], 3),
    ("17 the code of a function is a read, however it is reached", """
        def one(x): return x + 1
        def two(x): return x + 2
        REACHED = one
        class Base:
            def method(self): return 1
        class Sub(Base):
            def method(self): return 2
        def holding(captured):
            def kernel(x, default=captured): return captured
            return kernel
        def look(inputs):
            code = inputs.function()
            views = (code.cell("captured"), code.default("default"), inputs.arg("x").attr("f"),
                     inputs.arg("x").attr("method"), inputs.arg("x").attr("bound"))
            return [view.code().digest for view in views]
        def thing(cls, f):
            made = cls()
            made.f, made.bound = f, functools.partial(f)
            return made
        first = jit(look, holding(one))
        second = jit(look, holding(two))
        a, b, c = first(thing(Base, one)), first(thing(Sub, one)), second(thing(Base, two))
        by_global = jit(lambda i: i.function().glob("REACHED").code().digest, lambda x: REACHED)
        d = by_global(1)
        REACHED = two
        answers = [sum(p != q for p, q in zip(a, b)), sum(p != q for p, q in zip(a, c)),
                   d != by_global(1)]
     """, [1, 4, True], 5),
    ("18 attributes of all kinds, enums, tuples, dicts and arrays are constants", """
        class Mode(enum.Enum):
            FAST = 1
        class Rigid:
            __slots__ = ("slot",)
            gravity = 9.81
            @property
            def twice(self): return 2 * self.slot
            def __getattr__(self, name):
                if name == "dynamic": return "made"
                raise AttributeError(name)
        cfg = types.SimpleNamespace(TILE=8, module=types.ModuleType("cfg"))
        cfg.module.TILE = 16
        values = {"mode": Mode.FAST, "tuple": (1, (2,)), "dict": {"a": 1}, "np": np.float32(1.5),
                  "array": np.arange(3)}
        def look(inputs):
            x, y = inputs.arg("x"), inputs.arg("y")
            held = [x.attr(name).value() for name in ("gravity", "twice", "dynamic", "slot")]
            held += [y.attr("TILE").value(), y.attr("module").attr("TILE").value()]
            return held + [str(y.attr("values").item(name).value()) for name in values]
        kernel = jit(look)
        rigid = Rigid()
        rigid.slot, cfg.values = 3, values
        answers = [kernel(rigid, cfg)]
        Rigid.gravity, cfg.module.TILE = 1.62, 32
        values["array"] = np.arange(4)
        answers.append(kernel(rigid, cfg))
     """, [[9.81, 6, "made", 3, 8, 16, "Mode.FAST", "(1, (2,))", "{'a': 1}", "1.5", "[0 1 2]"],
           [1.62, 6, "made", 3, 8, 32, "Mode.FAST", "(1, (2,))", "{'a': 1}", "1.5", "[0 1 2 3]"]],
     2),
    ("19 a global that is defined later or deleted is noticed", """
        kernel = jit(or_absent(lambda inputs: inputs.function().glob("LATER").value()))
        answers = [kernel()]
        kernel.function.__globals__["LATER"] = 1
        answers.append(kernel())
        del kernel.function.__globals__["LATER"]
        answers.append(kernel())
     """, ["absent", 1, "absent"], 2),
    ("20 names in lambdas, nested functions and branches are found, attributes are no globals", """
        IN_LAMBDA = IN_DEF = IN_COMPREHENSION = IN_BRANCH = ATTRIBUTE = 1
        def function(x):
            f = lambda: IN_LAMBDA
            def g(): return IN_DEF
            if x.ATTRIBUTE:
                return [IN_COMPREHENSION for _ in x]
            return IN_BRANCH
        def look(inputs):
            code = inputs.function()
            return {name: code.glob(name).value() for name in code.global_names}
        kernel = jit(look, function)
        before = kernel(1)
        ATTRIBUTE = 2
        answers = [sorted(before), kernel(1) == before]
        IN_DEF = 3
        answers.append(kernel(1)["IN_DEF"])
     """, [["IN_BRANCH", "IN_COMPREHENSION", "IN_DEF", "IN_LAMBDA"], True, 3], 2),
    ("21 globals of one name are two paths, and a subclass has its own reads", """
        other = types.ModuleType("other")
        sys.modules["other"] = other
        exec("SCALE = 3\\ndef helper(x): return SCALE", other.__dict__)
        SCALE = 2
        def function(x): return SCALE
        kernel = jit(lambda i: [i.function().glob("SCALE").value(),
                                i.arg("x").code().glob("SCALE").value()], function)
        answers = [kernel(other.helper)]
        class Base:
            def reads(self): return "a"
            a, b = 1, 2
        class Sub(Base):
            def reads(self): return "b"
        def look(inputs):
            x = inputs.arg("x")
            x.attr("reads").code()
            return x.attr("a" if type(x._value) is Base else "b").value()
        method = jit(look)
        answers.append([method(cls()) for cls in (Base, Sub, Base, Sub)])
     """, [[2, 3], [1, 2, 1, 2]], 3),
    ("22 two specializations that read different members never answer for each other", """
        def look(inputs):
            x = inputs.arg("x")
            return x.attr("a" if x.attr("flag").value() else "b").value()
        kernel = jit(look)
        answers = [kernel(Thing(flag=True, a=1, b=5)), kernel(Thing(flag=False, a=1, b=2)),
                   kernel(Thing(flag=True, a=1, b=99)), kernel(Thing(flag=False, b=2))]
     """, [1, 2, 1, 2], 2),
    ("23 which arrays alias is a fact", """
        kernel = jit(lambda inputs: inputs.arg("x").attr("a").alias(inputs.arg("x").attr("b")))
        a, b = np.zeros(4), np.zeros(4)
        thing = Thing(a=a, b=b)
        answers = [kernel(thing)]
        thing.b = a
        answers.append(kernel(thing))
        thing.b = a[1:]
        answers.append(kernel(thing))
     """, ["distinct", "same", "overlapping"], 3),
    ("24 a grad buffer counts exactly when it is read", """
        plain = jit(lambda inputs: inputs.arg("x").attr("data").array()[1])
        def look(inputs):
            return [inputs.arg("x").attr("data").array()[1], inputs.arg("x").has("grad")]
        reading = jit(look)
        things = (Thing(data=np.zeros(3)), Thing(data=np.zeros(3), grad=np.zeros(3)))
        answers = [[plain(thing) for thing in things], [reading(thing) for thing in things]]
     """, [["<f8"] * 2, [["<f8", False], ["<f8", True]]], 3),
    ("25 instances of different make work in both orders", """
        look = lambda inputs: (inputs.arg("x").attr("extra").type()[0]
                               if inputs.arg("x").has("extra") else "none")
        things = [Thing(extra=np.zeros(3), unread=1), Thing(), Thing(extra=3)]
        one, other = jit(look), jit(look)
        answers = [[one(thing) for thing in things], [other(thing) for thing in things[::-1]]]
        del things[0].unread
        answers.append(one(things[0]))
     """, [["array", "none", "int"], ["int", "none", "array"], "array"], 6),
    ("26 constants that compare equal never share, and a NaN is found again", """
        kernel = jit(lambda inputs: repr(inputs.arg("x").value()))
        answers = [kernel(value) for value in (1, True, 1.0, 0.0, -0.0, float("nan"), np.nan)]
     """, ["1", "True", "1.0", "0.0", "-0.0", "nan", "nan"], 6),
    ("27 a declared variable is in the very next key, and unset is its default", """
        kernel = jit(lambda i: i.env("BEHAVIOUR_X"), extra={"environment": {"BEHAVIOUR_X": "2"}})
        answers = []
        for value in (None, "2", "3", None):
            os.environ.pop("BEHAVIOUR_X", None)
            if value: os.environ["BEHAVIOUR_X"] = value
            answers.append(kernel())
        from whorl import testing
        aside = jit(lambda inputs: os.environ.get("ASIDE"), cache="process")
        with testing.audit(rate=0) as report:
            aside()
        compilers.remove(aside.compiler)
        answers.append([finding.detail for finding in report.findings])
     """, ["2", "2", "3", "2", ["ASIDE"]], 2),
    ("28 a new target or device is honoured at once", """
        target = [whorl.Target("x86", "cpu:0", {"lanes": 4})]
        kernel = jit(lambda i: i.target("lanes"), extra={"target": lambda: target[0]})
        answers = [kernel()]
        for changed in (whorl.Target("x86", "cpu:1", {"lanes": 4}),
                        whorl.Target("arm", "cpu:1", {"lanes": 8})):
            target[0] = changed
            answers.append(kernel())
        answers.append(kernel.compiler.loads)
     """, [4, 4, 8, ["cpu:0", "cpu:1", "cpu:1"]], 2),
    ("29 a drift is raised with its name and both values, and restoring recovers", """
        SCALE = 2
        def function(x): return SCALE
        look = lambda inputs: inputs.function().glob("SCALE").value()
        careful, following = jit(look, function, on_drift="raise"), jit(look, function)
        answers = [careful(1), following(1)]
        SCALE = 3
        try:
            careful(1)
        except whorl.Drifted as error:
            answers.append(list(error.changes[0]))
        answers.append(following(1))
        SCALE = 2
        answers += [careful(1), following(1)]
     """, [2, 2, ["global:behaviour.SCALE", "2", "3"], 3, 2, 2], 3),
    ("30 a warm call builds no adaptor", """
        class Adapted:
            built = 0
            ndim, dtype = 1, "f4"
            def __dlpack__(self, **kwargs): Adapted.built += 1
            def __dlpack_device__(self): return (1, 0)
            def __array__(self): Adapted.built += 1; return np.zeros(3)
        kernel = jit(lambda inputs: inputs.arg("x").array()[2])
        answers = [[kernel(Adapted()) for _ in range(5)], Adapted.built]
     """, [["f4"] * 5, 0], 1),
    ("31 options give a new kernel and leave the old one as it was", """
        kernel = jit(lambda inputs: inputs.option("n"), options={"n": 1})
        other = kernel.with_options(n=2)
        answers = [kernel(), other(), kernel(), kernel.choices.options["n"]]
     """, [1, 2, 1, 1], 2),
    ("32 keys of functions that call each other do not depend on which was asked first", """
        def even(n): return True if n == 0 else odd(n - 1)
        def odd(n): return False if n == 0 else even(n - 1)
        order = (even, odd) if os.environ["ORDER"] == "0" else (odd, even)
        kernel = jit(lambda inputs: inputs.arg("x").value().__name__)
        answers = sorted(kernel(function) for function in order)
     """, ["even", "odd"], 2),
    ("33 an array that is rebound, cast, reshaped or resized is looked at anew", """
        kernel = jit(lambda inputs: list(inputs.arg("x").attr("a").array()[1:3]))
        thing = Thing(a=np.zeros(4))
        answers = [kernel(thing)]
        thing.a = thing.a.reshape(2, 2)
        answers.append(kernel(thing))
        thing.a = thing.a.astype("f4")
        answers.append(kernel(thing))
        thing.a = np.zeros(4)
        thing.a.resize((3, 3), refcheck=False)
        answers.append(kernel(thing))
     """, [["<f8", 1], ["<f8", 2], ["<f4", 2], ["<f8", 2]], 3),
    ("34 a copy runs on the copy, threads may call at once, nothing leaks", """
        class Solver:
            def __init__(self, n): self.n = n
            def step(self): ...
        Solver.step = jit(lambda inputs: inputs.arg("self").attr("n").value(), Solver.step)
        one = Solver(1)
        other = copy.copy(one)
        other.n = 2
        answers = [one.step(), other.step(), one.step()]
        found = []
        work = lambda: found.extend(Solver(n % 3).step() for n in range(30))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        answers.append(sorted(set(found)))
        gone = weakref.ref(other)
        del other
        gc.collect()
        answers.append(gone() is None)
     """, [1, 2, 1, [0, 1, 2], True], 3),
]  # fmt: skip


@pytest.mark.parametrize("sentence", SENTENCES, ids=[sentence[0] for sentence in SENTENCES])
def test_a_sentence_holds_in_the_first_process_and_in_the_next(
    tmp_path: Path, sentence: tuple[str, str, object, int]
) -> None:
    _, program, answers, compiles = sentence
    home = tmp_path / "home"
    home.mkdir()
    (home / "behaviour.py").write_text(PRELUDE + textwrap.dedent(program) + END)
    for order, expected in enumerate((compiles, 0)):
        printed = ran(home, "behaviour.py", ORDER=str(order), PYTHONHASHSEED=str(order))
        assert json.loads(printed) == [answers, expected]
