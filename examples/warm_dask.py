"""Compiles a recorded list of calls on the workers of a Dask cluster.

    whorl record -o calls.jsonl -m examples.programs
    python examples/warm_dask.py calls.jsonl                       four workers on this machine
    python examples/warm_dask.py calls.jsonl tcp://scheduler:8786  those of a cluster

The workers import the modules of the kernels, and use the cache that their own settings name: a
directory that all of them see, or WHORL_REMOTE. A thousand ranks that start later find everything.
"""

from __future__ import annotations

import sys

import whorl


def main(calls: str, scheduler: str | None = None) -> int:
    """Compile, and say which worker did what; the exit code."""
    from distributed import Client, LocalCluster  # `pip install distributed`

    place = LocalCluster(4, threads_per_worker=1) if scheduler is None else scheduler
    with Client(place) as client:
        results = whorl.warm(calls, executor=client.get_executor())
    for result in results:
        print(f"{result.kernel}: {result.outcome} by {result.process}, {result.problem or 'ready'}")
    return 0 if all(result.is_ready for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
