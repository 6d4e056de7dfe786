"""Many classes, many threads, little stack: the digest is right or there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes.programs import forked, printed, written

_GROWTH = """
import gc, json, resource, sys
import whorl
from whorl.fingerprint.walk_choice import NATIVE

def resident():
    gc.collect()
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()

def make(i):
    {make}

NATIVE.prepare(compiles=True)  # otherwise it is whenever plain walks have taken long enough
sizes = []
for i in range(22_001):
    whorl.fingerprint(make(i))
    if i % 11_000 == 0:
        sizes.append(resident())
print(json.dumps(sizes))
"""
_CLASSES = {
    "classes of one name": """
    class Made:
        def __init__(self): self.x = i
    return Made()""",
    "lambdas": """
    return lambda x: x + i""",
    "functions compiled anew": """
    scope = {}
    exec(f"def f(x): return x + {i}", scope)
    return scope["f"]""",
    "dicts with ever new keys": """
    return {f"key {i}": i, f"other {i}": [i]}""",
    "objects with ever new attributes": """
    made = Plain(); made.__dict__[f"name{i}"] = i
    return made

class Plain:
    pass
""",
}


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads memory from /proc")
@pytest.mark.parametrize("make", _CLASSES)
def test_what_is_made_and_dropped_in_a_loop_does_not_pile_up(make: str) -> None:
    program = _GROWTH.replace("    {make}", _CLASSES[make].lstrip("\n"))
    start, half, end = printed("-c", program, timeout=120)
    # What is kept for speed is bounded: the second half may not cost like the first.
    assert end - half < max(8_000_000, 0.35 * (half - start)), (start, half, end)


def test_the_text_of_generated_code_is_dropped_with_the_code() -> None:
    program = """
import json, linecache
import whorl

def make(i):
    made = type(f"Made{i}", (), {"__slots__": ("x",)})()
    made.x = i
    return made

for i in range(13_000): whorl.fingerprint(make(i))
print(json.dumps(sum("whorl" in name for name in linecache.cache)))
"""
    assert printed("-c", program, timeout=120) < 11_000


def test_instances_and_their_parts_are_not_kept_alive() -> None:
    program = """
import gc, json, weakref, dataclasses
import whorl

@dataclasses.dataclass
class Part: x: object
class Plain: pass
@dataclasses.dataclass(slots=True, weakref_slot=True)
class Slotted: x: object

def local():
    class Local: pass
    made = Local(); made.x = [1]
    return made

alive = {}
for name, value in {
    "dataclass": Part([1]), "slotted": Slotted({"a": 1}), "plain": Plain(), "local": local(),
    "cycle": (lambda p: (setattr(p, "x", p), p)[1])(Part(0)),
    "identity": Part(2),
}.items():
    whorl.fingerprint(value, by="identity" if name == "identity" else "value")
    whorl.diff(value, Part([2]))
    alive[name] = weakref.ref(value)
del value
gc.collect()
print(json.dumps([name for name, value in alive.items() if value() is not None]))
"""
    assert printed("-c", program) == []


_THREADS = """
import dataclasses, functools, json, sys, threading
import whorl
sys.setswitchinterval(1e-6)

def shapes():
    @dataclasses.dataclass
    class Made: x: object; y: object
    @dataclasses.dataclass(slots=True)
    class Slotted: x: object; y: object
    class Plain:
        def __init__(self, x, y): self.x, self.y = x, y
    def reads(x): return helper(x), Made
    made = Made({"a": Slotted([1, 2], Plain(3, "b"))}, {1, "x", None})
    ring = [made, reads, functools.partial(reads, 1)]
    ring.append(ring)
    return [made, ring, reads, Made, [made] * 40, {"k": [list(range(200))] * 50}]

def helper(x): return x + 1

expected = [whorl.fingerprint(value) for value in shapes()]
fresh = whorl.Fingerprinter()
wrong = []
start = threading.Barrier(8)

def work():
    start.wait()
    for _ in range(6):
        for by in (whorl.fingerprint, fresh):
            found = [by(value) for value in shapes()]
            if found != expected:
                wrong.append([i for i in range(len(found)) if found[i] != expected[i]])

def guarded():
    try: work()
    except BaseException as error: wrong.append(repr(error))

threads = [threading.Thread(target=guarded) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps(wrong))
"""


def test_threads_that_meet_new_classes_at_once_all_get_the_right_digests(tmp_path: Path) -> None:
    script = written(tmp_path, {"threads.py": _THREADS}) / "threads.py"
    assert printed(script) == []


_IDENTITIES_IN_THREADS = """
import json, sys, threading
import whorl
sys.setswitchinterval(1e-6)
kinds = {"stable": set(), "process": set()}

def stable():
    for _ in range(2000): kinds["stable"].add(type(whorl.fingerprint([1, {"a": 2}])).__name__)

def process():
    for _ in range(2000):
        kinds["process"].add(type(whorl.fingerprint(object(), by="identity")).__name__)

threads = [threading.Thread(target=work) for work in (stable, process) * 3]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps({name: sorted(found) for name, found in kinds.items()}))
"""


def test_an_identity_taken_in_one_thread_does_not_make_the_digests_of_another_unstable() -> None:
    assert printed("-c", _IDENTITIES_IN_THREADS) == {
        "stable": ["StableDigest"],
        "process": ["ProcessDigest"],
    }


_DEEP = """
import dataclasses, json, sys
import whorl
from {module} import *

def at_depth(depth, action):
    return action() if depth <= 0 else at_depth(depth - 1, action)

def attempt(action):
    try: return action()
    except RecursionError: return "RecursionError"

def room():
    depth = 0
    frame = sys._getframe()
    while frame: depth, frame = depth + 1, frame.f_back
    return sys.getrecursionlimit() - depth

found = {}
limit = room()
# From the deepest stack to the shallowest: what is remembered comes from the worst place.
for left in (*range(3, 100, 2), 150, 200, 300):
    for name, value in values().items():
        digest = attempt(lambda: at_depth(limit - left, lambda: whorl.fingerprint(value)))
        found.setdefault(name, []).append(digest)
for name, value in values().items():
    found[name].append(whorl.fingerprint(value))
result = found
"""
_DEEP_VALUES = """
from __future__ import annotations
import dataclasses, functools, typing, whorl

Uncounted = typing.Annotated[int, whorl.exclude]

@dataclasses.dataclass
class Marked:
    x: int
    uid: Uncounted = 0

@dataclasses.dataclass
class Node:
    x: object

class Late:
    def go(self): return helper(1)

def helper(x):
    return [y * 2 for y in range(x)]

def caller(x):
    return helper(x) + [Late().go()]

def chain(n):
    value = None
    for _ in range(n): value = [value]
    return value

def long_sum(x):
    return LONG_SUM

RING = [1, {"a": [2]}]
RING.append(RING)

VALUES = {
    "list": [1, [2, [3]]], "dict": {"a": {1: "x", "y": {2, "z"}}}, "chain": chain(120),
    "dataclass": Node(Node(Node(1))), "ring": RING, "marked": Marked(1, 2),
    "function": caller, "class": Late, "long sum": long_sum,
    "method": Late().go, "partial": functools.partial(caller, 2),
    "long": [list(range(300)), {str(i): [i] for i in range(100)}],
}

def values(): return VALUES
"""


def test_near_the_end_of_the_stack_the_digest_is_right_or_there_is_a_recursion_error(
    tmp_path: Path,
) -> None:
    folder = written(
        tmp_path, {"deep_values.py": _DEEP_VALUES.replace("LONG_SUM", " + ".join("x" * 80))}
    )
    (found,) = forked(_DEEP.replace("{module}", "deep_values"), [folder])
    assert "error" not in found, found["error"]
    (shallow,) = forked(
        "import whorl, deep_values as d\n"
        "result = {name: whorl.fingerprint(value) for name, value in d.values().items()}",
        [folder],
    )
    for name, digests in found.items():
        assert set(digests) - {"RecursionError"} == {shallow[name]}, name
        assert digests[-1] == shallow[name]
        # With room for a few hundred frames there is no excuse.
        assert digests[-2] == shallow[name], name


_LONG_WAYS = """
import json, resource, sys
import whorl

resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))  # no room for what grows too fast

class Link:
    __slots__ = ("next", "value")
    def __init__(self, next, value): self.next, self.value = next, value

class Loose:
    def __init__(self, next): self.next = next

WRAPS = {
    "list": lambda v: [v, 1], "tuple": lambda v: (v, 1), "dict": lambda v: {"k": v, "i": v},
    "dict with keys of two kinds": lambda v: {1: v, "s": v},
    "set": lambda v: frozenset((v, (v, 1))),
    "slotted": lambda v: Link(v, v), "object": lambda v: Loose(v),
    "dict by object": lambda v: {Loose(v): v, 1: v},
}

def chain(length, end):
    value = end
    for _ in range(length): value = wrap(value)
    return value

wrap, length = WRAPS[sys.argv[1]], int(sys.argv[2])
print(json.dumps([str(whorl.fingerprint(chain(length, end))) for end in (0, 0, 1)]))
"""
_WRAPS = (
    "list", "tuple", "dict", "dict with keys of two kinds", "set", "slotted", "object",
    "dict by object",
)  # fmt: skip


@pytest.mark.parametrize(
    "wrap", [wrap for wrap in _WRAPS if wrap not in ("list", "tuple", "object")]
)
def test_a_value_with_a_trillion_paths_costs_no_more_than_its_objects(wrap: str) -> None:
    one, again, other = printed("-c", _LONG_WAYS, wrap, "40", timeout=10)
    assert one == again != other


# A frozenset is hashed when it is made, through all that it holds; the others are not.
@pytest.mark.parametrize("wrap", [wrap for wrap in _WRAPS if wrap != "set"])
def test_depth_beyond_the_recursion_limit_is_no_obstacle(wrap: str) -> None:
    one, again, other = printed("-c", _LONG_WAYS, wrap, "20000", timeout=30)
    assert one == again != other
