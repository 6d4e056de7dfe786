"""What a signal handler raises at any moment of a miss reaches the caller as it is."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import whorl
from tests.store.interrupting import interrupted
from whorl.store import Cache, DirectoryStore

K = 0
MOMENTS = 60  # of each kind of call; there are thousands


class Alarm(Exception):
    """What the handler raises."""


def handler(number: int, frame: object) -> None:
    raise Alarm


@pytest.fixture(autouse=True)
def _installed() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, handler)
    yield
    signal.signal(signal.SIGALRM, before)


def change_constant() -> None:
    """Have the next call miss."""
    globals()["K"] += 1


class Reading:
    """Compiles to the value of a global, which it reads."""

    name, version = "reading", "1"

    def compile(self, program: Any, inputs: Any) -> whorl.Artifact:
        return whorl.Artifact(metadata={"k": inputs.function().glob("K").value()})

    def load(self, artifact: whorl.Artifact, device: str) -> Callable[[int], Any]:
        return lambda x: artifact.metadata["k"]


def added(x: int) -> int:
    from tests.steps import programs  # noqa: F401  # which the fingerprint follows

    return x + K


KINDS: dict[str, Callable[[Cache], Callable[[int], Any]]] = {
    "cached": lambda cache: whorl.cached(store=cache)(added),
    "jit": lambda cache: whorl.jit(Reading(), store=cache)(added),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_alarm_at_any_moment_of_a_miss_reaches_the_caller(kind: str, tmp_path: Path) -> None:
    cache = Cache(DirectoryStore(tmp_path))
    call = KINDS[kind](cache)
    for _ in range(3):
        change_constant()
        call(1)
    change_constant()
    with interrupted(-1, lambda: None, ("whorl",)) as moments:
        call(1)
    stride = max(moments.count // MOMENTS, 1)
    lost = []
    for number in range(1, moments.count, stride):
        change_constant()
        try:
            with interrupted(number, lambda: handler(0, None), ("whorl",)) as moments:
                call(1)
        except Alarm:
            continue
        except Exception as error:
            lost.append((number, repr(error)[:200]))
        else:
            if moments.count >= number:
                lost.append((number, "nothing is raised"))
    assert not lost


def test_an_alarm_during_an_explanation_for_the_journal_is_no_fault_of_the_journal() -> None:
    from whorl.calls.explanation import explain_miss

    def explain(most: int | None) -> Any:
        handler(0, None)

    with pytest.raises(Alarm):
        explain_miss("f", explain, is_journaled=True)


class Slow:
    """Its state is taken while the alarm goes off."""

    def __reduce_ex__(self, protocol: object) -> Any:
        handler(0, None)


def test_an_alarm_while_a_fact_is_taken_is_no_fact() -> None:
    from whorl.reads import Aspect
    from whorl.reads.facts import durable

    class Long(list[int]):
        def __len__(self) -> int:
            handler(0, None)
            return 0

    with pytest.raises(Alarm):
        durable(Aspect.LEN, Long())


def test_an_alarm_while_a_module_is_imported_is_no_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_to_import.py").write_text(
        "import signal\nsignal.raise_signal(signal.SIGALRM)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def function() -> Any:
        import slow_to_import  # type: ignore[import-not-found]

        return slow_to_import.x

    with pytest.raises(Alarm):
        whorl.fingerprint(function)


def test_an_alarm_while_a_result_is_pickled_ends_the_call(tmp_path: Path) -> None:
    @whorl.cached(store=Cache(DirectoryStore(tmp_path)))
    def function() -> Slow:
        return Slow()

    with pytest.raises(Alarm):
        function()
