"""A store without rights, space, home or a directory: the program runs, and is told once."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import pickle
import pwd
import random
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

import whorl
from tests.processes.store_children import (
    NOBODY,
    as_ordinary_user,
    cache_at,
    entry_of,
    files_below,
    is_right,
    key_of,
    ran,
    start,
)
from whorl.artifacts import Artifact, Entry, Label, Part, decode, encode
from whorl.store import (
    Absent,
    DirectoryStore,
    Ending,
    Failed,
    Found,
    Skipped,
    Stored,
    Totals,
    default_cache,
)

_ROOT: Final = os.geteuid() == 0


class _Said(logging.Handler):
    """What was logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            self.lines.append(record.getMessage())


def _warnings() -> list[str]:
    """The warnings that whorl gives from now on."""
    handler = _Said()
    logging.getLogger("whorl").addHandler(handler)
    return handler.lines


@pytest.fixture
def ordinary() -> Iterator[Path]:
    """A directory of an ordinary user, whom permissions bind; `tmp_path` is closed to others."""
    directory = Path(tempfile.mkdtemp())
    if _ROOT:
        os.chown(directory, NOBODY, NOBODY)
    yield directory
    for at, names, _ in os.walk(directory):
        Path(at).chmod(0o700)
        for name in names:
            (Path(at) / name).chmod(0o700)
    shutil.rmtree(directory)


def _as_ordinary_user(work: Callable[[], object]) -> Any:
    with tempfile.TemporaryDirectory() as place:  # what is imported later is behind closed doors
        cache_at(place).obtain(key_of(1), lambda: entry_of(1))

    def bound() -> object:
        as_ordinary_user()
        return work()

    return start(bound).result()


# -- rights -------------------------------------------------------------------------------


def read_only_directory(root: str) -> Any:
    """Read from and write to a store that may only be read."""

    def work() -> dict[str, Any]:
        said = _warnings()
        DirectoryStore(root).put(entry_of(1))
        directories = [Path(at) for at, _, _ in os.walk(root)]
        before = files_below(root)
        for directory in directories:
            directory.chmod(0o500)
        try:
            cache = cache_at(root)
            answers = {
                "get": type(cache.get(key_of(1))).__name__,
                "put": [type(cache.put(entry_of(n))).__name__ for n in (1, 2, 3)],
                "hit": cache.obtain(key_of(1), lambda: entry_of(1)).how.value,
                "made": [cache.obtain(key_of(4), lambda: entry_of(4)).how.value for _ in range(2)],
                "same": files_below(root) == before,
            }
            store = cache.store
            assert isinstance(store, DirectoryStore)
            store.uses("toolchain")
            store.collect()
            cache.statistics.flush()
        finally:
            for directory in directories:
                directory.chmod(0o700)
        return {**answers, "said": said}

    return _as_ordinary_user(work)


def test_a_read_only_directory_is_read_and_writing_is_skipped_silently(ordinary: Path) -> None:
    ended = ran(__name__, "read_only_directory", ordinary / "store")
    assert ended == {
        "get": "Found",
        "put": ["Skipped"] * 3,
        "hit": "hit",
        "made": [Ending.UNLOCKED.value] * 2,
        "same": True,
        "said": [],
    }


def closed_places(directory: str) -> Any:
    """Put and obtain where nothing may be written, not even looked at."""

    def work() -> dict[str, Any]:
        places = {"nothing may be made": "fixed", "nothing may be seen": "closed"}
        (Path(directory) / "fixed").mkdir(0o500)
        (Path(directory) / "closed").mkdir(0o000)
        found = {}
        for name, place in places.items():
            said = _warnings()
            try:
                cache = cache_at(Path(directory) / place / "store")
                puts = [type(cache.put(entry_of(n))).__name__ for n in (1, 2)]
                how = cache.obtain(key_of(1), lambda: entry_of(1)).how.value
                found[name] = [puts, how, len(said)]
            except Exception as error:
                found[name] = [repr(error)]
        return found

    return _as_ordinary_user(work)


def test_where_no_directory_may_be_made_there_is_one_warning_and_the_program_runs(
    ordinary: Path,
) -> None:
    said_once = [["Failed", "Failed"], Ending.UNLOCKED.value, 1]
    assert ran(__name__, "closed_places", ordinary) == {
        "nothing may be made": said_once,
        "nothing may be seen": said_once,
    }


def closed_default(directory: str) -> Any:
    """Use the default cache whose directory may not even be looked at."""

    def work() -> list[Any]:
        (Path(directory) / "closed").mkdir(0o000)
        os.environ["WHORL_CACHE_DIR"] = str(Path(directory) / "closed" / "store")
        said = _warnings()
        try:
            obtained = default_cache().obtain(key_of(1), lambda: entry_of(1))
        except Exception as error:
            return [repr(error)]
        return [is_right(obtained.entry, 1), len(said)]

    return _as_ordinary_user(work)


def test_a_default_directory_that_may_not_be_looked_at_is_one_warning(ordinary: Path) -> None:
    assert ran(__name__, "closed_default", ordinary) == [True, 1]


def unreadable_entry(root: str) -> Any:
    """Get an entry whose file may not be read."""

    def work() -> list[Any]:
        store = DirectoryStore(root)
        store.put(entry_of(1))
        path = Path(store.path(key_of(1)))
        path.chmod(0o000)
        got = store.get(key_of(1))
        there = path.exists()
        path.chmod(0o600)
        again = store.get(key_of(1))
        ending = got.ending.value if isinstance(got, Failed) else repr(got)
        return [ending, there, type(again).__name__]

    return _as_ordinary_user(work)


def test_an_entry_that_may_not_be_read_is_a_miss_and_stays(ordinary: Path) -> None:
    ended = ran(__name__, "unreadable_entry", ordinary / "store")
    assert ended == ["miss: unreadable", True, "Found"]


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_an_entry_that_others_may_write_is_not_loaded(tmp_path: Path, mode: int) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1))
    path = Path(store.path(key_of(1)))
    path.chmod(mode)
    got = store.get(key_of(1))
    assert isinstance(got, Failed)
    assert got.ending is Ending.UNSAFE
    assert path.exists()
    assert store.put(entry_of(1)) == Stored()
    assert isinstance(store.get(key_of(1)), Found)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(not _ROOT, reason="only root can give files away")
def test_an_entry_of_another_user_is_not_loaded(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1))
    os.chown(store.path(key_of(1)), NOBODY, NOBODY)
    got = store.get(key_of(1))
    assert isinstance(got, Failed)
    assert got.ending is Ending.UNSAFE
    assert f"belongs to user {NOBODY}" in got.reason
    assert store.put(entry_of(1)) == Stored()
    assert isinstance(store.get(key_of(1)), Found)


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_directory_that_others_may_write_to_is_refused_with_a_remedy(
    tmp_path: Path, mode: int
) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(whorl.UnsafeDirectory, match=f"chmod -R go-w {tmp_path}"):
        DirectoryStore(tmp_path)


def unsafe_default(directory: str) -> list[Any]:
    """Use the default cache in a directory that others may write to."""
    os.environ["WHORL_CACHE_DIR"] = directory
    said = _warnings()
    hows = [default_cache().obtain(key_of(1), lambda: entry_of(1)).how.value for _ in range(3)]
    return [hows, said]


def test_with_an_unsafe_default_directory_there_is_one_warning_and_no_cache(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    hows, (said,) = ran(__name__, "unsafe_default", tmp_path)
    assert hows == ["produced"] * 3
    assert "chmod -R go-w" in said
    assert list(tmp_path.iterdir()) == []


def masked(root: str, mask: str) -> Any:
    """Use every part of a new store under a umask, in two processes, as an ordinary user."""

    def work() -> dict[str, Any]:
        os.umask(int(mask, 8))
        said = _warnings()

        def use(number: int) -> list[str]:
            cache = cache_at(root)
            store = cache.store
            assert isinstance(store, DirectoryStore)
            hows = [cache.obtain(key_of(n), partial(entry_of, n)).how.value for n in (1, number)]
            store.uses("a toolchain")
            cache.put(entry_of(10, under=key_of(11)))
            with contextlib.suppress(OSError):  # if it was not stored, that is found below
                Path(store.path(key_of(number))).write_bytes(b"damaged")
            cache.get(key_of(number))
            store.collect()
            cache.statistics.flush()
            return hows

        hows = [start(partial(use, n)).result() for n in (2, 3)]
        said[:] = [line for line in said if "is damaged" not in line]
        modes = {}
        for at, _, names in os.walk(root):
            modes[at] = Path(at).stat().st_mode
            modes.update({f"{at}/{name}": (Path(at) / name).lstat().st_mode for name in names})
        odd = {
            os.path.relpath(path, root): oct(stat.S_IMODE(mode))
            for path, mode in sorted(modes.items())
            if stat.S_IMODE(mode) != (0o700 if stat.S_ISDIR(mode) else 0o600)
        }
        return {"hows": hows, "odd": odd, "said": said}

    return _as_ordinary_user(work)


@pytest.mark.parametrize("mask", ["000", "022", "077", "777"])
def test_whatever_the_umask_the_store_works_and_is_its_users_alone(
    ordinary: Path, mask: str
) -> None:
    ended = ran(__name__, "masked", ordinary / "store", mask)
    assert ended["hows"] == [["produced", "produced"], ["hit", "produced"]]
    assert ended["odd"] == {}
    assert ended["said"] == []


def test_a_directory_that_an_obtain_made_carries_the_tag_for_backups(tmp_path: Path) -> None:
    cache_at(tmp_path / "store").obtain(key_of(1), lambda: entry_of(1))
    tag = tmp_path / "store" / "CACHEDIR.TAG"
    assert tag.exists()
    assert tag.read_bytes().startswith(b"Signature: 8a477f597d28d172789f06886806bc55")


# -- trouble with the medium --------------------------------------------------------------

_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def _refuse_writing(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Have every call that changes something fail with an error number."""
    real_open = os.open

    def open_(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if flags & _WRITING:
            raise OSError(number, os.strerror(number), path)
        return real_open(path, flags, *rest, **options)

    def refuse(path: Any, *rest: Any, **options: Any) -> None:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(os, "open", open_)
    for name in ("mkdir", "unlink", "replace", "rename", "utime", "truncate", "chmod"):
        monkeypatch.setattr(os, name, refuse)


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_read_only_file_system_is_read_and_writing_is_skipped(
    tmp_path: Path,
    number: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cache = cache_at(tmp_path)
    cache.put(entry_of(1))
    store = cache.store
    assert isinstance(store, DirectoryStore)
    with monkeypatch.context() as patch:
        _refuse_writing(patch, number)
        assert isinstance(cache.get(key_of(1)), Found)
        assert isinstance(cache.put(entry_of(2)), Skipped)
        obtained = cache.obtain(key_of(3), lambda: entry_of(3))
        assert obtained.how is Ending.UNLOCKED
        assert isinstance(obtained.put, Skipped)
        store.uses("toolchain")
        store.collect(1)
        cache.statistics.flush()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert cache.put(entry_of(2)) == Stored()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_no_space_at_any_byte_is_no_entry_no_leftover_and_one_warning(
    tmp_path: Path,
    number: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = DirectoryStore(tmp_path)
    old, new = entry_of(1, 5_000, version=1), entry_of(1, 5_000, version=2)
    assert store.put(old) == Stored()
    chance = random.Random("no space")
    real_write = os.write
    for _ in range(50):
        left = chance.randrange(len(new.data))

        def write(file: int, data: bytes | memoryview) -> int:
            nonlocal left
            if not left:
                raise OSError(number, os.strerror(number))
            written = real_write(file, memoryview(data)[: min(left, 1000)])
            left -= written
            return written

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", write)
            put = store.put(new)
        assert isinstance(put, Failed)
        full = number != errno.EIO
        assert put.ending is (Ending.NO_SPACE if full else Ending.NOT_STORED)
        assert files_below(tmp_path / "v1" / "incoming") == []
        got = store.get(key_of(1))
        assert isinstance(got, Found)
        assert got.entry.data == old.data
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1
    assert store.put(new) == Stored()
    got = store.get(key_of(1))
    assert isinstance(got, Found)
    assert got.entry.data == new.data


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ESTALE, errno.EMFILE])
@pytest.mark.parametrize("call", ["open", "read", "fstat"])
def test_trouble_with_reading_is_a_miss_and_the_file_stays(
    tmp_path: Path,
    number: int,
    call: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = DirectoryStore(tmp_path)
    for size in (100, 2_000_000):
        entry = entry_of(size, size)
        assert store.put(entry) == Stored()

        def fail(*arguments: Any, **options: Any) -> Any:
            raise OSError(number, os.strerror(number))

        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            got = store.get(entry.key)
        assert isinstance(got, Failed)
        assert got.ending is Ending.UNREADABLE
        assert Path(store.path(entry.key)).read_bytes() == entry.data
        assert isinstance(store.get(entry.key), Found)
    assert not (tmp_path / "quarantine").exists()
    assert len(caplog.records) == 1


def test_reads_that_give_less_than_was_asked_for_are_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirectoryStore(tmp_path)
    real_read, real_write = os.read, os.write
    monkeypatch.setattr(os, "read", lambda file, size: real_read(file, min(size, 777)))
    monkeypatch.setattr(os, "write", lambda file, data: real_write(file, memoryview(data)[:999]))
    for size in (0, 100, 50_000, 1_500_000):
        assert store.put(entry_of(size, size)) == Stored()
        got = store.get(key_of(size))
        assert isinstance(got, Found)
        assert is_right(got.entry, size)


def in_odd_places(directory: str) -> dict[str, Any]:
    """Use a store whose directory cannot be there, in one way or another."""
    base = Path(directory)
    (base / "file").write_text("a file")
    (base / "dangling").symlink_to(base / "nowhere")
    (base / "loop").symlink_to(base / "loop")
    places = {
        "below a file": base / "file" / "store",
        "a link to nothing": base / "dangling",
        "below a link to nothing": base / "dangling" / "store",
        "a link to itself": base / "loop",
        "a name too long": base / ("x" * 300),
        "where nothing can be made": Path("/proc/whorl/store"),
    }
    found: dict[str, Any] = {}
    for name, place in places.items():
        said = _warnings()
        try:
            cache = cache_at(place)
            puts = {type(cache.put(entry_of(n))).__name__ for n in (1, 2)}
            right = is_right(cache.obtain(key_of(1), lambda: entry_of(1)).entry, 1)
            store = cache.store
            assert isinstance(store, DirectoryStore)
            store.collect()
            store.uses("toolchain")
            cache.statistics.flush()
            found[name] = [sorted(puts), right, len(said)]
        except Exception as error:
            found[name] = [type(error).__name__]
    return found


def test_a_directory_that_cannot_be_is_one_warning_and_the_program_runs(tmp_path: Path) -> None:
    found = ran(__name__, "in_odd_places", tmp_path)
    linked = {name: found.pop(name) for name in list(found) if "link to nothing" in name}
    assert found == {name: [["Failed"], True, 1] for name in found}
    # Whether what a link names is made or not, the program runs.
    works, fails = [["Stored"], True, 0], [["Failed"], True, 1]
    assert all(ended in (works, fails) for ended in linked.values()), linked


def test_a_store_that_was_removed_meanwhile_is_made_again(tmp_path: Path) -> None:
    cache = cache_at(tmp_path / "store")
    cache.put(entry_of(1))
    shutil.rmtree(tmp_path / "store")
    assert cache.get(key_of(1)) == Absent()
    assert cache.obtain(key_of(1), lambda: entry_of(1)).put == Stored()
    assert isinstance(cache.get(key_of(1)), Found)
    assert stat.S_IMODE((tmp_path / "store").stat().st_mode) == 0o700


# -- settings -----------------------------------------------------------------------------


def default_without_home(temporary: str, home: str) -> Any:
    """Use the default cache without a home in the environment or in the list of users."""
    for name in ("HOME", "XDG_CACHE_HOME", "WHORL_CACHE_DIR"):
        os.environ.pop(name, None)
    if home:
        os.environ["HOME"] = home
    os.environ["TMPDIR"] = temporary
    tempfile.tempdir = None  # whoever has asked before has the old one

    def nobody(_: int) -> Any:
        raise KeyError("no such user")

    pwd.getpwuid = nobody
    said = _warnings()
    try:
        hows = [default_cache().obtain(key_of(1), lambda: entry_of(1)).how.value for _ in range(2)]
    except Exception as error:
        return [type(error).__name__]
    return [hows[0], len(said)]


def test_without_a_home_the_default_cache_is_a_temporary_directory_of_the_user(
    tmp_path: Path,
) -> None:
    how, said = ran(__name__, "default_without_home", tmp_path, "")
    assert how == "produced"
    (made,) = tmp_path.iterdir()
    assert made.name == f"whorl-{os.getuid()}"
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert said == 0


@pytest.mark.parametrize("home", ["/dev/null", "/proc/nowhere", "/proc"])
def test_a_home_that_is_none_is_one_warning(tmp_path: Path, home: str) -> None:
    ended = ran(__name__, "default_without_home", tmp_path, home)
    assert ended in (["produced", 1], [Ending.UNLOCKED.value, 1])


def default_with(number: str) -> dict[str, Any]:
    """What the default cache does with an entry, as the environment says."""
    said = _warnings()
    try:
        cache = default_cache()
    except whorl.BadSetting as error:
        return {"error": str(error), "name": error.name}
    obtained = cache.obtain(key_of(int(number)), lambda: entry_of(int(number)))
    put = type(obtained.put).__name__ if obtained.put is not None else ""
    return {"how": obtained.how.value, "put": put, "said": said}


def _files(directory: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in files_below(directory)}


def test_a_cache_that_is_off_neither_finds_nor_keeps(tmp_path: Path) -> None:
    root = tmp_path / "store"
    cache_at(root).put(entry_of(1))
    before = _files(root)
    environment = {"WHORL_CACHE_DIR": str(root), "WHORL_CACHE": "off"}
    for number in ("1", "2"):
        ended = ran(__name__, "default_with", number, environment=environment)
        assert ended == {"how": "produced", "put": "Skipped", "said": []}
    assert _files(root) == before


def test_a_cache_that_is_readonly_finds_and_does_not_keep(tmp_path: Path) -> None:
    root = tmp_path / "store"
    cache_at(root).put(entry_of(1))
    before = _files(root)
    environment = {"WHORL_CACHE_DIR": str(root), "WHORL_CACHE": "readonly"}
    hit = ran(__name__, "default_with", "1", environment=environment)
    assert hit == {"how": "hit", "put": "", "said": []}
    made = ran(__name__, "default_with", "2", environment=environment)
    assert made == {"how": "produced", "put": "Skipped", "said": []}
    assert _files(root) == before


def test_a_cache_that_is_on_keeps_and_finds_in_the_next_process(tmp_path: Path) -> None:
    environment = {"WHORL_CACHE_DIR": str(tmp_path / "store"), "WHORL_CACHE_MAX_SIZE": "50M"}
    ended = [ran(__name__, "default_with", "1", environment=environment) for _ in range(2)]
    assert ended == [
        {"how": "produced", "put": "Stored", "said": []},
        {"how": "hit", "put": "", "said": []},
    ]
    totals = Totals.of(tmp_path / "store" / "statistics").endings
    assert totals[Ending.PRODUCED] == totals[Ending.HIT] == totals[Ending.STORED] == 1


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("WHORL_CACHE_MAX_SIZE", "banana"),
        ("WHORL_CACHE_MAX_SIZE", "-1"),
        ("WHORL_CACHE", "maybe"),
    ],
)
def test_a_variable_that_makes_no_sense_is_an_error_that_names_it(
    tmp_path: Path, variable: str, value: str
) -> None:
    environment = {"WHORL_CACHE_DIR": str(tmp_path / "store"), variable: value}
    ended = ran(__name__, "default_with", "1", environment=environment)
    assert ended["name"] == variable
    assert variable in ended["error"]
    assert value in ended["error"]


# -- ends ---------------------------------------------------------------------------------


def ends_right_after(root: str) -> None:
    """Obtain entries in processes that end in the next instruction."""

    def leave(number: int) -> None:
        cache_at(root).obtain(key_of(number), lambda: entry_of(number, 100_000))
        if number == 1:
            os._exit(1)
        os.kill(os.getpid(), signal.SIGKILL)

    for n in (1, 2):
        start(partial(leave, n)).result()


def test_everything_is_on_disk_when_obtain_returns_however_the_process_ends(
    tmp_path: Path,
) -> None:
    ran(__name__, "ends_right_after", tmp_path / "store")
    store = DirectoryStore(tmp_path / "store")
    for number in (1, 2):
        got = store.get(key_of(number))
        assert isinstance(got, Found)
        assert is_right(got.entry, number)
    totals = Totals.of(tmp_path / "store" / "statistics").endings
    assert totals == {Ending.ABSENT: 2, Ending.PRODUCED: 2, Ending.STORED: 2}


# -- what is in an entry ------------------------------------------------------------------


class _Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, file: str) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return os.mkdir, (self.file,)


def _baited(number: int, trap: str) -> Entry:
    code = compile(f"import os; os.mkdir({trap!r})", "antigravity", "exec")
    made = Artifact(
        {
            "__reduce__": pickle.dumps(_Trap(trap)),
            "this.py": f"import os; os.mkdir({trap!r})".encode(),
            "code": repr(code).encode(),
        },
        {
            "__import__": "antigravity",
            "py/object": "this.s",
            "module": ("poisoned", _Trap.__name__),
        },
    )
    return encode(
        made,
        Label("poisoned", key_of(number), parts=(Part("this", "antigravity"),), toolchain="this"),
    )


def loads_bait(root: str, trap: str) -> dict[str, Any]:
    """Load an entry full of bait in every way there is, and see what was imported."""
    store = DirectoryStore(root)
    wholesome = store.get(key_of(1))
    assert isinstance(wholesome, Found)
    decode(wholesome.entry)
    assert wholesome.entry.label.kind  # what is imported for any entry is imported by now
    assert cache_at(root).obtain(key_of(1), lambda: entry_of(1)).how is Ending.HIT
    assert key_of(1) in set(store.iterate())
    before = set(sys.modules)
    got = store.get(key_of(2))
    assert isinstance(got, Found)
    artifact = decode(got.entry)
    assert isinstance(artifact, Artifact)
    kinds = {type(value).__name__ for value in artifact.metadata.values()}
    label = got.entry.label
    assert [bytes(got.entry.payload(place.name)) for place in got.entry.payloads]
    assert cache_at(root).obtain(key_of(2), lambda: entry_of(2)).how is Ending.HIT
    assert set(store.iterate()) == {key_of(1), key_of(2)}
    return {
        "imported": sorted(set(sys.modules) - before),
        "trapped": Path(trap).exists(),
        "kinds": sorted(kinds),
        "label": [label.kind, label.toolchain],
    }


def test_loading_an_entry_imports_nothing_that_it_names_and_unpickles_nothing(
    tmp_path: Path,
) -> None:
    root, trap = tmp_path / "store", tmp_path / "trap"
    store = DirectoryStore(root)
    store.put(entry_of(1))
    store.put(_baited(2, str(trap)))
    poison = f"import os; os.mkdir({str(trap)!r})"
    for name in ("poisoned", "this", "antigravity"):
        (tmp_path / f"{name}.py").write_text(poison)
    ended = ran(__name__, "loads_bait", root, trap, path=[tmp_path])
    assert ended == {
        "imported": [],
        "trapped": False,
        "kinds": ["str", "tuple"],
        "label": ["poisoned", "this"],
    }
