"""The first replay takes the facts that the plain one takes, in both spellings."""

from __future__ import annotations

import sys
import uuid
from collections import OrderedDict
from types import FunctionType
from typing import Any, cast

import numpy as np
import pytest

from whorl.fingerprint.static_lookup import ClassTable
from whorl.reads import Aspect, Path, Read, Shape, World, signature
from whorl.reads.facts import durable
from whorl.reads.replay import facts_now, first_facts, live_facts

A_CLASS = Shape((Read(Path("arg", "cls"), Aspect.TYPE),))


class Local:
    pass


def world(cls: type) -> World:
    return World(cast("FunctionType", world), {"cls": cls})


def local_class() -> type:
    class Inner:
        pass

    return Inner


@pytest.mark.parametrize("cls", [int, np.ndarray, uuid.UUID, Local, local_class(), np.float32])
def test_a_class_is_known_by_the_same_facts_in_both_replays(cls: type) -> None:
    assert signature(cls) == durable(Aspect.TYPE, cls)
    found = first_facts(A_CLASS, world(cls))
    assert found.durable == (signature(cls),) == facts_now(A_CLASS, world(cls))
    assert found.live == live_facts(A_CLASS, world(cls))


@pytest.mark.parametrize("held", [{}, {"a": 1}, OrderedDict(a=1), [1, 2], (), {1, 2, 3}, "text"])
def test_how_many_there_are_is_the_same_in_both_ways(held: Any) -> None:
    shape = Shape((Read(Path("arg", "held"), Aspect.LEN),))
    call = World(cast("FunctionType", world), {"held": held})
    found = first_facts(shape, call)
    assert found.durable == facts_now(shape, call)
    assert found.live == live_facts(shape, call)


def test_a_signature_that_is_registered_for_classes_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = ClassTable({type: lambda cls: cls.__name__})
    monkeypatch.setattr(sys.modules["whorl.reads.facts"], "_registered", table)
    assert first_facts(A_CLASS, world(int)).durable == (("own", "builtins:type", "int"),)
