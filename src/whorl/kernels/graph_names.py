"""The names of graphs: loops that run on, checkpoints to stop at, and how a launch ended.

In a kernel the compiler knows each of them, and so does the interpreter. Outside of one there is
nothing that could loop, stop or be resumed, and they say so.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NoReturn

from whorl.launch.graph_status import GraphStatus

__all__ = ["GraphStatus", "checkpoint", "do_while", "parallel", "parallel_context"]


def do_while(condition: Any) -> bool:
    """`while whorl.graph.do_while(condition):` runs its body, and again while that is not zero.

    The condition is an int32 array without dimensions, which the body changes.

    >>> import numpy as np, whorl
    >>> @whorl.kernel
    ... def halve(x, left):
    ...     while whorl.graph.do_while(left):
    ...         x[0] /= 2
    ...         left[()] -= 1
    >>> x, left = np.array([8.0]), np.array(3, np.int32)
    >>> halve(x, left)
    >>> float(x[0]), int(left)
    (1.0, 0)
    """
    _only_in_a_kernel("whorl.graph.do_while", "while")


def checkpoint(label: int, *, yield_on: Any = None) -> AbstractContextManager[None]:
    """`with whorl.checkpoint(label, yield_on=flag):` a block at whose end a launch can stop.

    It stops if the flag, an int32 array without dimensions, is not zero then. `kernel.resume`
    begins with the block again. A label is an int or the member of an IntEnum, and known when the
    kernel is compiled.

    >>> import numpy as np, whorl
    >>> @whorl.kernel
    ... def fill(x, count, is_full):
    ...     with whorl.checkpoint(0, yield_on=is_full):
    ...         if count[()] > x.size:
    ...             is_full[()] = 1
    ...     for i in range(count[()]):
    ...         x[i] = 1.0
    >>> x, count, is_full = np.zeros(2), np.array(3), np.array(0, np.int32)
    >>> fill(x, count, is_full)
    GraphStatus(yielded=True, checkpoint=0)
    >>> x, is_full[()] = np.zeros(4), 0
    >>> fill.resume(x, count, is_full, from_checkpoint=0), float(x.sum())
    (GraphStatus(yielded=False, checkpoint=None), 3.0)
    """
    _only_in_a_kernel("whorl.checkpoint", "with")


def parallel_context() -> AbstractContextManager[None]:
    """`with whorl.graph.parallel_context():` holds sections that may run at the same time.

    Its statements are `with whorl.graph.parallel():` and nothing else. It ends when all of them
    have ended.

    >>> import numpy as np, whorl
    >>> @whorl.kernel
    ... def both(x, y):
    ...     with whorl.graph.parallel_context():
    ...         with whorl.graph.parallel():
    ...             for i in range(x.size):
    ...                 x[i] = 1.0
    ...         with whorl.graph.parallel():
    ...             for i in range(y.size):
    ...                 y[i] = 2.0
    >>> x, y = np.zeros(3), np.zeros(3)
    >>> both(x, y)
    >>> float(x.sum()), float(y.sum())
    (3.0, 6.0)
    """
    _only_in_a_kernel("whorl.graph.parallel_context", "with")


def parallel() -> AbstractContextManager[None]:
    """`with whorl.graph.parallel():` one section of a `whorl.graph.parallel_context()`.

    Sections have to be independent: none reads or writes an element that another one writes. See
    `parallel_context` for an example.
    """
    _only_in_a_kernel("whorl.graph.parallel", "with")


def _only_in_a_kernel(name: str, statement: str) -> NoReturn:
    raise RuntimeError(
        f"{name} is for the `{statement}` of a kernel. Decorate the function that is called first "
        "with whorl.kernel; its .interpret() runs it as plain Python."
    )
