"""What comes of a miss: a line of the journal, counts for the program, or an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import whorl
import whorl.testing
from tests.jit.compilers import Looking, Make, compiles
from whorl import settings
from whorl.calls.explanation import COMPARED
from whorl.jit import explain
from whorl.store import Cache, DirectoryStore, MemoryStore, NullStore, ReadOnly, Totals
from whorl.store.journal import Journal, Miss


@pytest.fixture(autouse=True)
def same_settings() -> Iterator[None]:
    before = settings.current()
    yield
    settings.restore(before)


def noted(store: Cache) -> list[Miss]:
    assert isinstance(store.store, DirectoryStore)
    return Journal(store.store.root).misses()


def by_value(inputs: Any) -> Any:
    return inputs.arg("x").value()


def by_type(inputs: Any) -> Any:
    return str(inputs.arg("x").type())


def test_a_first_compile_is_noted_with_what_was_made(make: Make, store: Cache) -> None:
    kernel = make(by_type)
    kernel(1)
    (miss,) = noted(store)
    assert (miss.cause, miss.ending, miss.differences) == ("first compile", "made", ())
    assert miss.program.endswith(".kernel")
    assert miss.key == str(kernel.specializations()[0].key)
    assert miss.seconds > 0


def test_a_read_that_differs_is_noted_with_old_and_new(make: Make, store: Cache) -> None:
    kernel = make(by_value)
    kernel(1)
    kernel(2)
    (difference,) = noted(store)[1].differences
    assert noted(store)[1].cause == "a read differs"
    assert (difference.path, difference.old, difference.new) == ("arg:x", "1", "2")


def test_another_process_compares_with_what_is_stored(make: Make, store: Cache) -> None:
    make(by_value)(1)
    make(by_value)(2)  # a kernel that has nothing in memory
    assert noted(store)[1].differences[0].old == "1"


def test_an_edit_of_the_function_is_noted_with_the_place_of_the_function(
    make: Make, store: Cache
) -> None:
    def kernel(x: Any = None) -> Any:
        return x

    make(by_type, kernel)(1)

    def kernel(x: Any = None) -> Any:  # type: ignore[no-redef]  # that is the edit
        return x + 1

    make(by_type, kernel)(1)
    miss = noted(store)[1]
    assert miss.cause == "its code was edited"
    assert [each.path for each in miss.differences] == ["code"]
    assert "test_misses.py:" in miss.differences[0].line
    assert "def kernel" in miss.differences[0].line


def test_what_was_evicted_is_noted_as_not_kept_any_more(make: Make, store: Cache) -> None:
    kernel = make(by_type)
    kernel(1)
    made = kernel.specializations()[0]
    assert made.key is not None
    assert made.entry is not None
    store.store.remove(made.key, made.entry.under)
    kernel._renew()
    kernel(1)
    assert noted(store)[1].cause == "no longer stored"


def test_another_version_of_the_compiler_is_another_compiler(make: Make, store: Cache) -> None:
    make(by_type)(1)
    make(by_type, extra={"version": "2"})(1)
    miss = noted(store)[1]
    assert miss.cause == "another compiler"
    assert ("compiler", "looking 1", "looking 2") in [each[:3] for each in miss.differences]


def test_a_compile_that_raises_is_noted_and_raised(make: Make, store: Cache) -> None:
    def fails(inputs: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        make(fails)(1)
    (miss,) = noted(store)
    assert (miss.ending, miss.key) == ("raised ZeroDivisionError", "")
    store.statistics.flush()
    assert not store.statistics.totals.programs


def test_a_miss_is_compared_with_few_when_nobody_listens(
    make: Make, store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make(by_value)
    for i in range(COMPARED + 20):
        kernel(i)
    compared = []
    changes_to = explain.EarlierCompile.changes_to

    def counted(self: explain.EarlierCompile, *args: Any) -> Any:
        compared.append(self)
        return changes_to(self, *args)

    monkeypatch.setattr(explain.EarlierCompile, "changes_to", counted)
    kernel("new")
    assert len(compared) == COMPARED
    assert noted(store)[-1].differences[0].new == "'new'"


def test_a_miss_that_cannot_be_explained_is_compiled_all_the_same(
    make: Make, store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(explain, "_miss", fails)
    assert make(by_value)(1) == 1
    assert noted(store)[0].cause == "unknown"


def test_hits_and_compiles_are_counted_for_the_program(make: Make, store: Cache) -> None:
    make(by_type)(1)
    for _ in range(3):
        make(by_type)(1)
    store.statistics.flush()
    assert isinstance(store.store, DirectoryStore)
    totals = Totals.of(store.store.root / "statistics")
    (sums,) = totals.programs.values()
    assert (sums.found, sums.made) == (3, 1)
    assert totals.causes == {"first compile": 1}


def test_kernels_of_this_process_and_of_memory_note_nothing(make: Make, store: Cache) -> None:
    make(by_type, cache="process")(1)
    make(by_type, store=Cache(MemoryStore()))(1)
    assert noted(store) == []


# -- only hits --------------------------------------------------------------------------


def test_where_a_hit_is_required_a_miss_raises_with_its_explanation(
    make: Make, store: Cache
) -> None:
    kernel = make(by_value)
    kernel(1)
    settings.configure(require_hit=True)
    assert kernel(1) == 1
    with pytest.raises(whorl.RequiredHit) as caught:
        kernel(2)
    assert "arg:x: 1 -> 2" in str(caught.value)
    assert caught.value.name.endswith(".kernel")
    assert caught.value.why == str(kernel.explain(2))
    assert compiles(kernel) == 1
    assert noted(store)[-1].ending == "refused"


def test_what_is_stored_is_found_where_a_hit_is_required(make: Make) -> None:
    make(by_value)(1)
    settings.configure(require_hit=True)
    again = make(by_value)
    assert again(1) == 1
    assert compiles(again) == 0


def test_kernels_of_this_process_are_refused_too() -> None:
    settings.configure(require_hit=True)
    kernel = whorl.jit(Looking(by_type), cache="process")(lambda x: None)
    with pytest.raises(whorl.RequiredHit, match="first compile"):
        kernel(1)


def test_it_is_a_variable_too() -> None:
    assert settings.Settings.from_environment({"WHORL_REQUIRE_HIT": "1"}).require_hit.value
    with pytest.raises(whorl.BadSetting):
        settings.Settings.from_environment({"WHORL_REQUIRE_HIT": "perhaps"})


def test_allowing_it_again_compiles(make: Make) -> None:
    kernel = make(by_value)
    settings.configure(require_hit=True)
    with pytest.raises(whorl.RequiredHit):
        kernel(1)
    settings.configure(require_hit=False)
    assert kernel(1) == 1


# -- where filling the cache does not help -------------------------------------------------


def by_default_cache(make: Make, **choices: Any) -> Any:
    return make(by_type, store=None, **choices)


def test_a_cache_that_is_off_is_to_be_switched_on(make: Make) -> None:
    with whorl.testing.fresh_cache():
        whorl.configure(cache="off", require_hit=True)
        with pytest.raises(whorl.RequiredHit, match=r"Switch the cache on \(WHORL_CACHE=on\)"):
            by_default_cache(make)(1)
        whorl.configure(cache="on", require_hit=False)
        by_default_cache(make)(1)
        whorl.configure(require_hit=True)
        assert by_default_cache(make)(1) == by_default_cache(make)(1)


def test_a_cache_that_is_read_only_is_filled_while_it_is_on(make: Make) -> None:
    with whorl.testing.fresh_cache():
        whorl.configure(cache="readonly", require_hit=True)
        with pytest.raises(whorl.RequiredHit, match="WHORL_CACHE=on whorl import BUNDLE"):
            by_default_cache(make)(1)


def test_a_store_of_its_own_does_not_depend_on_the_setting(make: Make) -> None:
    whorl.configure(cache="off", require_hit=True)
    with pytest.raises(whorl.RequiredHit, match="Fill the cache first"):
        make(by_type)(1)


def test_what_is_kept_in_a_process_only_is_to_be_kept_on_disk(make: Make, store: Cache) -> None:
    whorl.configure(require_hit=True)
    with pytest.raises(whorl.RequiredHit, match="in this process only: keep it on disk"):
        make(by_type, cache="process")(1)
    whorl.configure(require_hit=False)
    make(by_type)(1)
    whorl.configure(require_hit=True)
    make(by_type)(1)


@pytest.mark.parametrize("wrap", [ReadOnly, lambda store: NullStore()])
def test_what_the_store_does_not_take_is_counted_as_not_kept(make: Make, wrap: Any) -> None:
    kernel = make(by_type, store=wrap(MemoryStore()))
    kernel(1)
    assert kernel.stats()["not kept"] == 1
    kept = make(by_type, store=MemoryStore())
    kept(1)
    assert kept.stats()["not kept"] == 0
