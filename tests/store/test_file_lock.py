"""Locks on files: one holder at a time, none in a forked child, none on a file that is gone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from whorl.store.atomic_file import lock_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks are of another make there")


def test_a_lock_is_held_by_one_and_then_by_another(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    first = lock_file(path)
    assert first is not None
    assert lock_file(path) is None
    first.release()
    second = lock_file(path)
    assert second is not None
    first.release()  # which has nothing to release any more
    assert lock_file(path) is None
    second.release()


def test_another_process_does_not_get_it_and_its_end_frees_it(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    text = f"""
from whorl.store.atomic_file import lock_file
lock = lock_file({path!r})
print(lock)
input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert b"None" not in child.stdout.readline()
        assert lock_file(path) is None
        child.kill()
    lock = lock_file(path, 5.0)
    assert lock is not None
    lock.release()


def test_who_has_patience_gets_it_when_it_is_free(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    first = lock_file(path)
    assert first is not None
    threading.Timer(0.1, first.release).start()
    begun = time.monotonic()
    second = lock_file(path, 20.0)
    assert second is not None
    assert time.monotonic() - begun < 10
    second.release()


def test_the_lock_of_a_file_that_was_removed_is_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "file"
    first = lock_file(str(path))
    assert first is not None
    path.unlink()
    second = lock_file(str(path))  # another file of the same name
    assert second is not None
    first.release()
    assert lock_file(str(path)) is None
    second.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_holds_no_lock_of_its_parent(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    text = f"""
import os, signal, sys
from whorl.store.atomic_file import lock_file
lock = lock_file({path!r})
child = os.fork()
if not child:
    taken = os.open({path!r}, os.O_RDONLY)  # has the number that the lock had
    lock.release()  # ends nothing of the child
    os.fstat(taken)
    print(lock_file({path!r}) is None, flush=True)  # the parent has it still
    signal.pause()
sys.stdin.readline()
os.kill(os.getpid(), signal.SIGKILL)  # the parent ends without releasing it, the child lives
"""
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        start_new_session=True, text=True,
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        assert parent.stdin is not None
        try:
            assert parent.stdout.readline() == "True\n"
            assert lock_file(path) is None
            parent.stdin.write("\n")
            parent.stdin.flush()
            parent.wait(30)
            lock = lock_file(path, 5.0)
            assert lock is not None
            lock.release()
        finally:
            os.killpg(parent.pid, 9)


def test_the_file_is_its_users_alone_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "file"
    before = os.umask(0o777)
    try:
        lock = lock_file(str(path))
    finally:
        os.umask(before)
    assert lock is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lock.release()


def test_a_link_under_the_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        lock_file(str(tmp_path / "link"))
    assert not (tmp_path / "elsewhere").exists()
