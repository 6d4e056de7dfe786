"""A walk over code in, the functions that a call can come to out.

A class counts with all that is in it, but not all of it is called: a model that can save itself
is not saved by whoever asks it for a prediction. A method can be called if its name is written,
as an attribute or as a text, in a function that can be called; special methods can be called
without being named. So this begins with what is reached without going through a class, and
goes on until no name is new. It is used to decide what is complained about, never for keys.
"""

from __future__ import annotations

import types
from collections.abc import Iterator

from whorl.fingerprint.bytecode import strings_in
from whorl.fingerprint.value_graph import Graph

__all__ = ["called"]


def called(graph: Graph) -> Iterator[types.FunctionType]:
    """The functions in a graph that can be called from its root, as far as names tell."""
    waiting = {
        id(function): (function, _doors(graph, function))
        for function in graph.reached(types.FunctionType)
        if isinstance(function, types.FunctionType)
    }
    names: set[str] = set()
    while True:
        found = [row for row in waiting.values() if row[1] <= names]
        if not found:
            return
        for function, _ in found:
            del waiting[id(function)]
            names |= strings_in(function.__code__)
            yield function


def _doors(graph: Graph, function: types.FunctionType) -> frozenset[str]:
    """The names by which one gets from classes to a function, along the way it was found."""
    doors = []
    way = graph.path_to(function)
    for i, (node, label) in enumerate(way):
        if i and way[i - 1][0].tag == b"class" and node.keys is not None:
            name = label.strip("[]'")
            if not (name.startswith("__") and name.endswith("__")):
                doors.append(name)
    return frozenset(doors)
