"""What a kernel keeps in memory is bounded, and what it forgets it finds or makes again."""

from __future__ import annotations

import gc
import threading
import types
import weakref
from typing import Any

import pytest

from tests.jit.compilers import Make, Thing, compiles
from tests.jit.test_drift import look_at_limit, reads_limit
from whorl.jit import specialization
from whorl.jit.kernel import Kernel
from whorl.reads import Inputs
from whorl.store import Cache, NullStore


@pytest.fixture(autouse=True)
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specialization, "FACTS_KEPT", 20)
    monkeypatch.setattr(specialization, "SHAPES_KEPT", 5)


def by_value(make: Make, **choices: Any) -> Kernel:
    return make(lambda inputs: inputs.arg("x").value(), **choices)


def test_specializations_in_memory_are_bounded_and_the_answers_are_right(make: Make) -> None:
    kernel = by_value(make)
    for _ in range(2):
        for value in range(100):
            assert kernel(value) == value
            assert len(kernel.specializations()) <= 41
    assert compiles(kernel) == 100  # the others were found in the store


def test_what_is_used_again_and_again_stays(make: Make) -> None:
    kernel = by_value(make, store=Cache(NullStore()))
    for value in range(200):
        assert (kernel(value), kernel("often")) == (value, "often")
    assert compiles(kernel) == 201


def test_shapes_in_memory_are_bounded_and_the_answers_are_right(make: Make) -> None:
    def look(inputs: Inputs) -> Any:
        x = inputs.arg("x")
        return x.attr(f"m{x.attr('n').value()}").value()

    kernel = make(look)
    for _ in range(2):
        for n in range(30):
            assert kernel(Thing(n=n, **{f"m{n}": -n})) == -n
            generations = (kernel.lookup.table.young, kernel.lookup.table.old)
            assert sum(len(shapes) for each in generations for shapes in each.values()) <= 10
    assert compiles(kernel) == 30


def test_what_is_good_for_this_process_only_is_bounded_too(make: Make) -> None:
    kernel = by_value(make, cache="process")
    for value in range(100):
        assert kernel(value) == value
    assert len(kernel.specializations()) <= 41
    assert [kernel(value) for value in (99, 98, 0)] == [99, 98, 0]


class Named:
    """Known by identity alone: it holds what has no fingerprint."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = threading.Lock()


class Slotted:
    """The same, and it cannot be referenced weakly."""

    __slots__ = ("lock", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = threading.Lock()


def test_an_object_that_is_known_by_identity_is_not_kept_alive(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").value().name, cache="process")
    thing = Named("first")
    assert [kernel(thing) for _ in range(5)] == ["first"] * 5
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("cls", [Named, Slotted])
@pytest.mark.parametrize("on_drift", ["recompile", "ignore", "raise"])
def test_a_new_object_at_an_old_address_is_another(make: Make, cls: Any, on_drift: Any) -> None:
    kernel = make(lambda inputs: inputs.arg("x").value().name, cache="process", on_drift=on_drift)
    for n in range(200):  # each at the address of the one before, most often
        assert kernel(cls(f"{n}")) == f"{n}"
    addresses = {id(cls(f"{n}")) for n in range(200)}
    assert len(addresses) < 200


def test_objects_without_weak_references_are_let_go_of_after_a_while(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").value().name, cache="process")
    kernel(Slotted("first"))
    for n in range(100):
        kernel(Slotted(f"{n}"))
    gc.collect()
    alive = [held for held in gc.get_objects() if type(held) is Slotted]
    assert len(alive) <= 42


def test_a_drift_is_noticed_by_what_is_still_in_memory(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(look_at_limit, reads_limit, on_drift="ignore")
    for value in range(50):
        kernel(value)
    monkeypatch.setitem(reads_limit.__globals__, "LIMIT", 2)
    assert kernel(49) == (49, 1)


def test_a_thread_may_recall_while_others_forget(make: Make) -> None:
    kernel = by_value(make, store=Cache(NullStore()))
    wrong: list[Any] = []

    def work(own: int) -> None:
        for n in range(150):
            value = (own, n % 50)
            if kernel(value) != value:
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(own,)) for own in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_programs_of_many_environments_are_bounded(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(
        lambda inputs: inputs.env("WHORL_TEST_N"), extra={"environment": {"WHORL_TEST_N": "0"}}
    )
    for n in range(100):
        monkeypatch.setenv("WHORL_TEST_N", str(n))
        assert kernel() == str(n)
    assert len(kernel.lookup.starts) <= 65


def test_a_collected_kernel_takes_its_table_with_it(make: Make) -> None:
    def function(x: Any = None) -> None: ...

    kernel = by_value(make, function=function)
    gone = weakref.ref(kernel)
    made = weakref.ref(kernel.specializations()[0]) if kernel(1) else None
    assert made is not None
    assert isinstance(function, types.FunctionType)
    del kernel
    gc.collect()
    assert (gone(), made()) == (None, None)
