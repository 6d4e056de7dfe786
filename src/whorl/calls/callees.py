"""Finds the functions that a call can lead to, in a graph of its code.

A class counts with all that is in it, but not all of it is called: a prediction of a model does
not call the method that saves the model. A method can be called if its name is written, as an
attribute or as a text, in a function that can be called; special methods can be called without
being named. So this begins with what is reached without going through a class, and goes on until
no name is new. It decides which functions are checked for impure reads. Keys do not use it.
"""

from __future__ import annotations

import types
from collections.abc import Iterator

from whorl.fingerprint.bytecode import strings_in
from whorl.fingerprint.value_graph import Graph

__all__ = ["callees"]


def callees(
    graph: Graph, entry_points: frozenset[str] = frozenset()
) -> Iterator[types.FunctionType]:
    """The functions in a graph that can be called from its root, as far as names tell.

    `entry_points` are the names of methods that are called from outside.
    """
    waiting = {
        id(function): (function, _method_names(graph, function))
        for function in graph.reached(types.FunctionType)
        if isinstance(function, types.FunctionType)
    }
    names = {*entry_points}
    while True:
        reached = [row for row in waiting.values() if row[1] <= names]
        if not reached:
            return
        for function, _ in reached:
            del waiting[id(function)]
            names |= strings_in(function.__code__)
            yield function


def _method_names(graph: Graph, function: types.FunctionType) -> frozenset[str]:
    """The names of attributes of classes on the path by which a function was found."""
    names = []
    path = graph.path_to(function)
    for i, (node, label) in enumerate(path):
        if i and path[i - 1][0].tag == b"class" and node.keys is not None:
            name = label.strip("[]'")
            if not (name.startswith("__") and name.endswith("__")):
                names.append(name)
    return frozenset(names)
