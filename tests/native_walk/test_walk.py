"""The native walk: any depth, shared parts, hostile objects, threads, forks; it owns no memory."""

from __future__ import annotations

import collections
import ctypes
import enum
import gc
import os
import resource
import sys
import threading
import time
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.native_walk.compiled_walk import compiled_walk, needs_native_walk, new_walks
from whorl.fingerprint.describe import Describer
from whorl.fingerprint.digest import hash_hex
from whorl.fingerprint.policy import Policy
from whorl.fingerprint.static_lookup import class_vars
from whorl.fingerprint.tokens import FLAT, FORMAT, Node
from whorl.fingerprint.walk import walk
from whorl.fingerprint.walk_choice import Walks
from whorl.native_walk import walk_state as words
from whorl.native_walk.native_digest import workspace
from whorl.native_walk.walk_layout import walk_layout

pytestmark = needs_native_walk


@dataclass(slots=True)
class Link:
    value: int
    rest: Link | None


@dataclass
class Options:
    name: str
    tags: list[str] = field(default_factory=list)


class Bare:
    pass


class Colour(enum.Enum):
    RED = 1
    SENTINEL = object()


class Level(enum.IntEnum):
    LOW = 1


class Mode(enum.Flag):
    READ = 1
    WRITE = 2


class Marked(enum.Enum):
    ONE = 1

    def __init__(self, value: int) -> None:
        self.extra = [value]


class Text(str):
    __slots__ = ()


class Replaced(dict[str, object]):
    pass


def bare(**attributes: object) -> Bare:
    made = Bare()
    vars(made).update(attributes)
    return made


def local_class() -> type[Any]:
    @dataclass
    class Local:
        x: int

    return Local


def with_own_dict() -> Bare:
    made = Bare()
    made.__dict__ = Replaced(x=1)
    return made


def emptied() -> dict[str, int]:
    made = {"a": 1, "b": 2, "c": 3}
    del made["b"]
    return made


def materialized() -> Bare:
    made = bare(x=1, y=[2])
    assert vars(made) is vars(made)
    del made.x  # type: ignore[attr-defined]  # it was set
    return made


VALUES: dict[str, Any] = {
    "leaves": (None, True, False, 1, -1, 2**30, -(2**31), 2**31, 2**63, 1.5, -0.0, 1j, ..., "a"),
    "texts": ["", "a" * 199, "a" * 201, "\xe4" * 300, "\u0436", "\U0001f600", "\ud800", "a\0b"],
    "long texts": ["x" * 100_000, "\xff" * 100_000],
    "ints": [s * (2**n + d) for n in range(0, 2100, 7) for d in (-1, 0, 1) for s in (1, -1)],
    "bytes": [b"", b"x", b"x" * 255, b"x" * 256, b"x" * 4095, b"x" * 4096, b"x" * 100_000],
    "flat": [list(range(FLAT)), list(range(FLAT + 1)), tuple(range(FLAT)), (1,), (1, 2), (1, 2, 3)],
    "empty": [[], (), {}, set(), frozenset(), b"", ""],
    "dicts": [{"b": 1, "a": 2}, {2: 1, -1: 2, 0: 3}, {2**40: 1, 3: 2}, {"a": 1, 2: 3}, emptied()],
    "texts as keys": [{"\xe4": 1, "a": 2}, {Text("a"): 1}, {f"k{i}": i for i in range(5_000)}],
    "keys with one beginning": {f"a common beginning {i % 7} {i}": i for i in range(300)},
    "many keys": {i * 7 % 1009: i for i in range(1009)},
    "enums": [Colour.RED, Colour.SENTINEL, Level.LOW, Mode.READ | Mode.WRITE, Marked.ONE],
    "instances": [bare(x=1, y=[2]), bare(), Options("a", ["b"]), materialized(), with_own_dict()],
    "a local class": [local_class()(1), local_class()(1)],
    "described": [collections.deque([1, [2]]), collections.OrderedDict(a=1), range(3), Replaced()],
    "arrays": [np.arange(6).reshape(2, 3), np.float32(1), np.dtype("f8")],
    "arrays of objects": np.array([[1], "a"], object),
    "functions": [hash_hex, len, local_class],
    "classes": [Bare, int, Colour],
    "wide": [[i, [i]] for i in range(3_000)],
    "nested": [[[i] * 3, {"k": (i,)}] for i in range(400)],
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_the_digest_is_that_of_the_plain_walk(name: str) -> None:
    native, plain = new_walks()
    for value in (VALUES[name], [VALUES[name], VALUES[name]], {"k": VALUES[name]}):
        expected = plain.plain_digest(value)
        walk.forget()
        assert [native(value), native(value)] == [expected, expected]
        walk.forget()


def chain(depth: int) -> Link:
    head = Link(0, None)
    for i in range(1, depth):
        head = Link(i, head)
    return head


@contextmanager
def less_memory() -> Iterator[None]:
    """What has no end is stopped before the machine is."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 28), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def nested(depth: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(depth):
        made = [made, 1]
    return made


def test_depth_does_not_matter() -> None:
    native, plain = new_walks()
    for depth in (3_000, 100_000):  # the plain walk takes seconds for the second
        value, lists = chain(depth), nested(depth)
        digests = native(value), native(lists)
        assert None not in digests
        if depth == 3_000:
            assert digests == (plain.plain_digest(value), plain.plain_digest(lists))


def test_a_graph_with_many_paths_is_walked_once_or_twice() -> None:
    native, plain = new_walks()
    top: Any = ["bottom"]
    for i in range(60):
        top = [top, top] if i % 2 else bare(left=top, right={"k": top})
    start = time.perf_counter()
    assert native(top) == plain.plain_digest(top)
    assert time.perf_counter() - start < 5
    shared = [[i] for i in range(1_000)]
    copies = [[[i] for i in range(1_000)], [[i] for i in range(1_000)]]
    assert native([shared, shared, shared]) == native([shared, *copies])


def test_a_graph_of_described_objects_with_many_paths_is_walked_too() -> None:
    native, plain = new_walks()
    top: Any = collections.deque(["bottom"])
    for _ in range(25):
        top = collections.deque([top, top])
    assert native(top) == plain.plain_digest(top)


def test_a_graph_of_dicts_that_are_described_with_many_paths_is_walked_too() -> None:
    native, plain = new_walks()
    for key in ("s", Bare()):
        top: Any = "bottom"
        for _ in range(40):
            top = {1: top, key: top}
        start = time.perf_counter()
        assert native(top) == plain.plain_digest(top)
        assert time.perf_counter() - start < 5


def test_a_cycle_through_nothing_but_items_is_for_the_plain_walk() -> None:
    native, plain = new_walks()
    keyed: dict[object, object] = {}
    keyed[Bare()] = keyed
    mixed: dict[object, object] = {"s": 1}
    mixed[1] = mixed
    for value in (keyed, mixed, [mixed]):
        with less_memory():
            assert native(value) is None
        assert workspace(walk_layout()).words[words.STATUS] == words.CYCLE
        assert plain.digest(value) == plain.plain_digest(value)


class _Changer(Describer):
    """Sets the field of an object that lacked it, as another thread may, once it is described."""

    def __call__(self, value: object) -> Node:
        node = super().__call__(value)
        if type(value) is Options:
            value.tags = [["late"]]  # type: ignore[list-item]  # a part of a part
        return node


def test_an_object_that_is_described_in_one_walk_and_changed_before_the_next_is_read_anew() -> None:
    describer = _Changer(Policy())
    native = compiled_walk()(describer, (FORMAT,))
    options = Options("a")
    del options.tags
    digest = native([options, options])
    assert options.tags
    assert digest == Walks(describer, (FORMAT,)).plain_digest([options, options])


def test_a_cycle_is_for_the_plain_walk() -> None:
    native, plain = new_walks()
    loop: list[Any] = [1]
    loop.append(loop)
    cyclic = bare(beside=[[i] for i in range(10_000)])
    cyclic.me = {"x": (cyclic,)}  # type: ignore[attr-defined]  # as attributes are
    for value in (loop, [loop, loop], cyclic):
        assert native(value) is None
        assert plain.digest(value) == plain.plain_digest(value)


class Hostile:
    """Whoever asks it anything fails."""

    def __init__(self) -> None:
        self.x = [1]

    def _fail(self, *args: object) -> Any:
        raise AssertionError("user code was run")

    __eq__ = __hash__ = __repr__ = __len__ = __iter__ = __getattr__ = __bool__ = _fail


class Slotted:
    __slots__ = ("x", "y")

    def __getattr__(self, name: str) -> Any:
        raise AssertionError("user code was run")


def test_no_code_of_the_user_runs() -> None:
    native, plain = new_walks()
    half = Slotted()
    half.x = 1  # type: ignore[attr-defined]  # a slot
    value = [Hostile(), {1: Hostile()}, half, (Hostile(),)]
    assert native(value) == plain.plain_digest(value)


class MetaEqual(type):
    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return 1


class OneMeta(metaclass=MetaEqual):
    def __init__(self) -> None:
        self.x = 1


class OtherMeta(metaclass=MetaEqual):
    def __init__(self) -> None:
        self.x = 1


def test_classes_that_call_themselves_equal_are_told_apart() -> None:
    native, plain = new_walks()
    one, other = native(OneMeta()), native(OtherMeta())
    assert one != other
    assert [one, other] == [plain.plain_digest(OneMeta()), plain.plain_digest(OtherMeta())]


def test_what_is_refused_is_for_the_plain_walk() -> None:
    _, plain = new_walks()
    with pytest.raises(Exception, match="lock") as refused:
        plain.digest([{"a": [1, threading.Lock()]}])
    assert "value[0]['a'][1]" in str(refused.value)


def test_many_short_lived_classes_do_not_pile_up() -> None:
    native, plain = new_walks()
    first = weakref.ref(type("Made", (), {}))
    for i in range(6_000):
        made = type(f"Made{i % 7}", (), {"__module__": "nowhere"})
        if i == 0:
            first = weakref.ref(made)
        if i % 500 == 0:
            assert native([made()]) == plain.plain_digest([made()])
            walk.forget()
        else:
            native.plans.learn(made)
    del made
    plain.describer._rules.clear()
    gc.collect()
    assert len(native.plans) < 5_100
    assert first() is None


def test_threads_that_change_a_value_get_one_of_its_digests() -> None:
    native, _ = new_walks()
    shared: dict[str, Any] = {"inner": {"n": 0}, "list": [[0]], "object": bare(x=[0])}
    digests = set()
    for n in range(2):
        shared["inner"], shared["list"], shared["object"].x = {"n": n}, [[n]], [n]
        digests.add(native(shared["inner"]))
        digests.add(native(shared["list"]))
        digests.add(native(shared["object"]))
    until, met = time.perf_counter() + 1.0, set[Any]()

    def change() -> None:
        n = 0
        while time.perf_counter() < until:
            n = 1 - n
            shared["inner"] = {"n": n}
            shared["list"][:] = [[n]]
            shared["object"].__dict__ = {"x": [n]}

    def read() -> None:
        while time.perf_counter() < until:
            met.update((native(shared["inner"]), native(shared["list"]), native(shared["object"])))

    threads = [threading.Thread(target=each) for each in (change, read, read, change)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert met == digests


def test_threads_that_meet_new_classes_at_once_agree() -> None:
    native, plain = new_walks()
    made = [type(f"Class{i}", (), {}) for i in range(64)]
    for cls in made:
        setattr(sys.modules[__name__], cls.__name__, cls)
        cls.__module__, cls.__qualname__ = __name__, cls.__name__
    value = [collections.deque([cls()]) for cls in made]
    met: set[Any] = set()
    threads = [threading.Thread(target=lambda: met.add(native(value))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met == {plain.plain_digest(value)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_walks_on() -> None:
    native, _ = new_walks()
    value = [bare(x=[i]) for i in range(2_000)]
    expected = native(value)
    child = os.fork()
    if not child:
        os._exit(0 if native(value) == expected and native([value]) != expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_references_and_memory_stay_as_they_are() -> None:
    native, _ = new_walks()
    deque = collections.deque([[1], bare(x=1)])
    value = [{"a": [bare(x=[2]), deque]}, deque, Colour.RED, local_class()(1), 2**80, "\xe4"]
    native(value)
    before = sys.getrefcount(deque), sys.getrefcount(value), sys.getrefcount(Colour.RED)
    tracemalloc.start()
    try:
        for _ in range(50):
            native(value)
            walk.forget()
        gc.collect()
        first = tracemalloc.get_traced_memory()[0]
        for _ in range(500):
            native(value)
            walk.forget()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - first
    finally:
        tracemalloc.stop()
    after = sys.getrefcount(deque), sys.getrefcount(value), sys.getrefcount(Colour.RED)
    assert after == before
    assert grown < 20_000


def test_a_tree_takes_less_than_64_bytes_a_node() -> None:
    workspace.cache_clear()  # what other tests needed is kept
    native, _ = new_walks()
    nodes = [bare(kind=f"k{i % 8}", children=[]) for i in range(20_000)]
    for i in range(1, len(nodes)):
        nodes[(i - 1) // 3].children.append(nodes[i])  # type: ignore[attr-defined]
    root, count = nodes[0], len(nodes)
    del nodes
    native(bare(x=1))
    tracemalloc.start()
    try:
        native(root)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 * count


def test_where_there_is_no_memory_the_plain_walk_is_taken() -> None:
    native, plain = new_walks()
    wide = [[str(i)] * 60 for i in range(5_000)]
    expected = plain.plain_digest(wide)
    calls: list[int] = []

    def nothing(size: int) -> int:
        calls.append(size)
        return 0

    refusing = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(nothing)
    given: Any = native._state.words
    before = list(given)
    try:
        given[0] = given[1] = ctypes.cast(refusing, ctypes.c_void_p).value
        for buffer in (words.OUT, words.STACK, words.MEMO):
            given[buffer : buffer + 2] = given[buffer + 2 : buffer + 4]
        assert native(wide) is None
        assert native([1, [2]]) == plain.plain_digest([1, [2]])
    finally:
        given[:] = before
    assert calls
    assert native(wide) == expected


def test_the_layout_of_a_node_is_known() -> None:
    native, _ = new_walks()
    node = Node(b"tag", (1, 2), items=((3,),))
    for place, name in (
        (words.NODE_TAG, "tag"), (words.NODE_VALUES, "values"), (words.NODE_ITEMS, "items"),
    ):  # fmt: skip
        offset = native._state.words[place]
        assert ctypes.c_uint64.from_address(id(node) + offset).value == id(getattr(node, name))
        assert name in class_vars(Node)


forbidden: list[bool] = []  # pytest itself asks every class of a module


class AskedMeta(type):
    def __getattribute__(cls, name: str) -> Any:
        assert not forbidden, f"the metaclass was asked for {name}"
        return super().__getattribute__(name)


class OfAskedMeta(metaclass=AskedMeta):
    pass


def test_metaclasses_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "forbidden", [True])
    native, plain = new_walks()
    value = object.__new__(OfAskedMeta)
    object.__setattr__(value, "x", [1])
    assert native([value]) == plain.plain_digest([value])


class Lost(enum.Enum):
    ONE = 1


def test_an_enum_that_loses_its_name_is_the_same_in_both_walks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    native, plain = new_walks()
    member = Lost.ONE
    before = native(member)
    monkeypatch.delattr(sys.modules[__name__], "Lost")
    assert native(member) == plain.plain_digest(member) == before


class _Forgetter(Describer):
    """Lets go of all plans, as another thread may, after it has said what a class's code is."""

    forget: Callable[[], None] = staticmethod(lambda: None)

    def own_code(self, cls: type) -> Node | None:
        own = super().own_code(cls)
        self.forget()
        return own


def test_a_class_that_is_forgotten_while_python_answers_is_never_left_out() -> None:
    describer = _Forgetter(Policy())
    native, plain = compiled_walk()(describer, (FORMAT,)), Walks(describer, (FORMAT,))
    value = [local_class()(1), "the end"]
    expected = plain.plain_digest(value)
    assert native(value) == expected
    describer.forget = native.plans.forget
    assert native(value) in (expected, None)
    describer.forget = lambda: None
    assert native(value) == expected


def test_threads_walk_on_while_classes_are_forgotten() -> None:
    native, _ = new_walks()
    value = [bare(x=[1]), Options("a"), Link(1, None), Colour.RED]
    expected, met = native(value), set[Any]()
    until = time.perf_counter() + 1.0

    def forget() -> None:
        while time.perf_counter() < until:
            native.plans.forget()

    def read() -> None:
        while time.perf_counter() < until:
            met.add(native(value))

    threads = [threading.Thread(target=each) for each in (forget, read, read, forget)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert met <= {expected, None}  # None: forgotten as often as it was learned
