"""Compiles a recorded list of calls on the ranks of an MPI job, before the job itself starts.

    whorl record -o calls.jsonl -m examples.programs
    mpiexec -n 5 python -m mpi4py.futures examples/warm_mpi.py calls.jsonl

Rank 0 hands out the calls, and the others compile them. Under a scheduler this is one more step in
front of the job: `srun -n 5 python -m mpi4py.futures ...`.
"""

from __future__ import annotations

import sys

import whorl


def main(calls: str) -> int:
    """Compile, and say which rank did what; the exit code."""
    from mpi4py.futures import MPIPoolExecutor  # `pip install mpi4py`

    with MPIPoolExecutor() as ranks:
        results = whorl.warm(calls, executor=ranks)
    for result in results:
        print(f"{result.kernel}: {result.outcome} by {result.process}, {result.problem or 'ready'}")
    return 0 if all(result.is_ready for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
