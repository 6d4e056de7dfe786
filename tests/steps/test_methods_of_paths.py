"""A method is refused where it may be a path's, not where a class of the user's has its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import whorl


class Report:
    """Has methods whose names a path's have too, and reads nothing."""

    def __init__(self, text: str = "text") -> None:
        self.text = text

    def read_text(self) -> str:
        return self.text

    def stat(self) -> int:
        return len(self.text)

    def both(self) -> tuple[str, int]:
        return self.read_text(), self.stat()

    @classmethod
    def open(cls) -> str:
        return cls("opened").read_text()

    @property
    def first(self) -> str:
        return self.read_text()[0]


REPORT = Report()
HERE = Path(__file__)
ONE_OF: Any = (REPORT, HERE)


def of_a_global() -> object:
    return REPORT.read_text(), REPORT.stat()


def of_a_local() -> object:
    report = Report()
    return report.read_text(), report.stat()


def of_what_is_made() -> object:
    return Report().read_text()


def of_a_class() -> object:
    return Report.open()


def of_self() -> object:
    return REPORT.both(), REPORT.first


def of_a_captured_variable() -> Callable[[], object]:
    report = Report()
    return lambda: report.read_text()  # noqa: PLW0108  # the lambda is the case


def of_an_argument(report: Report) -> object:
    return report.read_text(), report.stat()


@pytest.mark.parametrize(
    "function",
    [
        of_a_global, of_a_local, of_what_is_made, of_a_class, of_self, of_a_captured_variable(),
        lambda: of_an_argument(REPORT),
    ],
)  # fmt: skip
def test_methods_of_the_users_own_are_kept(function: Callable[[], object]) -> None:
    kept = whorl.cached(function)
    assert kept() == kept() == function()
    assert kept.stats()["ran"] == 1


def test_methods_of_an_argument_of_the_users_own_are_kept() -> None:
    kept = whorl.cached(of_an_argument)
    assert kept(Report("a")) == kept(Report("a")) == ("a", 1)
    assert kept(Report("bc")) == ("bc", 2)
    assert kept.stats()["ran"] == 2


def of_a_global_path() -> object:
    return HERE.read_text()


def of_what_may_be_either() -> object:
    one = ONE_OF[1]
    return one.read_text() if REPORT.stat() else ""


def of_one_of_two_names() -> object:
    return (HERE if REPORT.stat() else REPORT).stat()


def of_a_path_that_is_made() -> object:
    return REPORT.stat(), Path("x").stat()


def by_a_text() -> object:
    return getattr(HERE, "read_text")()  # noqa: B009  # so is the text


def imported_inside() -> object:
    from pathlib import Path as Place

    return REPORT.stat(), Place("x").stat()


class Folder(type(Path())):  # type: ignore[misc]  # which class it is depends on the system
    """A path of the user's own."""

    def text(self) -> str:
        return str(self.read_text())


def of_a_path_of_the_users() -> object:
    return Folder(__file__).text()


@pytest.mark.parametrize(
    "function",
    [
        of_a_global_path, of_what_may_be_either, of_one_of_two_names, of_a_path_that_is_made,
        by_a_text, imported_inside, of_a_path_of_the_users,
    ],
)  # fmt: skip
def test_methods_of_paths_are_refused_beside_methods_of_the_users_own(
    function: Callable[[], object],
) -> None:
    with pytest.raises(whorl.UnsupportedFunction, match="depends on the file system"):
        whorl.cached(function).key()


def test_a_path_as_an_argument_is_refused_where_a_class_has_such_a_method() -> None:
    def size(place: Any) -> object:
        return place.stat(), REPORT.stat()

    kept = whorl.cached(size)
    assert kept(Report("a")) == (1, 4)
    for argument in (HERE, [HERE], {"place": HERE}):
        with pytest.raises(whorl.UnsupportedFunction, match="depends on the file system"):
            kept.key(argument)


class Counter:
    """Writes down how often it was opened, for nobody's result."""

    def __init__(self) -> None:
        self.path = HERE

    def open(self) -> None:
        self.path.open().close()


COUNT = Counter()


def counted(x: int) -> int:
    COUNT.open()
    return x + 1


def counted_by_a_path(x: int) -> int:
    HERE.stat()
    return x + 1


def test_a_global_that_is_ignored_is_ignored_with_what_is_done_through_it() -> None:
    with pytest.raises(whorl.UnsupportedFunction):
        whorl.cached(counted).key(1)
    assert whorl.cached(ignores=["COUNT"])(counted)(1) == 2
    assert whorl.cached(ignores=["HERE"])(counted_by_a_path)(1) == 2
