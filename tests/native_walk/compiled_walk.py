"""The native walk for tests, compiled once in a process."""

from __future__ import annotations

import sys
from functools import cache, partial

import pytest

from whorl.fingerprint.describe import Describer
from whorl.fingerprint.policy import Policy
from whorl.fingerprint.tokens import FORMAT
from whorl.fingerprint.walk_choice import Walks
from whorl.launch import link, map_image
from whorl.launch.callable import NotKnown
from whorl.launch.level import lowest_level
from whorl.launch.machine import machine_code
from whorl.native_walk.native_digest import NativeDigest
from whorl.native_walk.token_walk import ENTRY
from whorl.native_walk.walk_layout import walk_layout
from whorl.native_walk.walk_loading import walk_text


@cache
def is_possible() -> bool:
    """Whether this interpreter and this machine can walk natively."""
    try:
        walk_layout()
    except NotKnown:
        return False
    return sys.platform == "linux" and lowest_level() != "generic"


needs_native_walk = pytest.mark.skipif(
    not is_possible(), reason="images are for x86-64 Linux, and for interpreters with a lock"
)


@cache
def compiled_walk() -> partial[NativeDigest]:
    """What makes the native walk of a describer."""
    code = machine_code(walk_text(walk_layout()), lowest_level(), effort=2)
    image = map_image(link(code))
    made = partial(NativeDigest, image.addresses[ENTRY], walk_layout())
    made.image = image  # type: ignore[attr-defined]  # so that it stays in memory
    return made


def new_walks(policy: Policy | None = None) -> tuple[NativeDigest, Walks]:
    """The native walk and the plain one of a policy, which share a describer."""
    describer = Describer(policy or Policy())
    return compiled_walk()(describer, (FORMAT,)), Walks(describer, (FORMAT,))
