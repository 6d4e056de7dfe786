"""How many threads can run at once, as control groups say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whorl import processors
from whorl.processors import allowed


def system(root: Path, groups: str, **files: str) -> str:
    """A root directory with these groups of the process, and files of the control groups."""
    for name, text in {"proc/self/cgroup": groups, **files}.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


HERE = "0::/user/job\n"


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({}, None),
        ({"sys/fs/cgroup/user/job/cpu.max": "max 100000\n"}, None),
        ({"sys/fs/cgroup/user/job/cpu.max": "150000 100000\n"}, 1.5),
        ({"sys/fs/cgroup/user/cpu.max": "200000 100000\n"}, 2.0),
        ({"sys/fs/cgroup/cpu.max": "50000 100000\n"}, 0.5),  # a container that is not told its path
        (
            {
                "sys/fs/cgroup/user/job/cpu.max": "400000 100000\n",
                "sys/fs/cgroup/user/cpu.max": "300000 100000\n",
                "sys/fs/cgroup/cpu.max": "max 100000\n",
            },
            3.0,
        ),
        ({"sys/fs/cgroup/user/job/cpu.max": "nonsense"}, None),
        ({"sys/fs/cgroup/user/job/cpu.max": ""}, None),
        ({"sys/fs/cgroup/user/job/cpu.max": "0 0\n"}, None),
    ],
)
def test_the_least_of_all_groups_around_counts(
    tmp_path: Path, files: dict[str, str], limit: float | None
) -> None:
    assert allowed(system(tmp_path, HERE, **files)) == limit


@pytest.mark.parametrize("home", ["cpu", "cpu,cpuacct"])
@pytest.mark.parametrize(("quota", "limit"), [("200000", 2.0), ("-1", None)])
def test_older_groups_are_asked_in_their_own_files(
    tmp_path: Path, home: str, quota: str, limit: float | None
) -> None:
    groups = "5:cpu,cpuacct:/docker/ab\n3:memory:/docker/ab\n0::/elsewhere\n"
    place = f"sys/fs/cgroup/{home}/docker/ab"
    files = {f"{place}/cpu.cfs_quota_us": quota, f"{place}/cpu.cfs_period_us": "100000"}
    assert allowed(system(tmp_path, groups, **files)) == limit


def test_without_control_groups_there_is_no_limit(tmp_path: Path) -> None:
    assert allowed(str(tmp_path)) is None
    assert allowed(system(tmp_path, "what is this")) is None


@pytest.mark.parametrize(("limit", "threads"), [(None, 4), (0.2, 1), (1.5, 2), (64.0, 4)])
def test_part_of_a_processor_counts_as_one_and_no_more_than_there_are(
    limit: float | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(4)), raising=False)
    monkeypatch.setattr(processors, "allowed", lambda: limit)
    assert processors.processors() == threads


def test_without_affinity_all_processors_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    monkeypatch.setattr(processors, "allowed", lambda: None)
    assert processors.processors() == 1
