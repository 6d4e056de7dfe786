"""The text of a small package whose functions reach each other in every way there is.

`shop.main.ROOTS` names what is fingerprinted; the tests edit the text and say which of these
have to change.
"""

from __future__ import annotations

from typing import Final

__all__ = ["FILES"]

FILES: Final = {
    "shop/__init__.py": '"""A package."""\n',
    "shop/cfg.py": '''\
"""Settings, read as attributes of the module."""

TILE = 64
UNUSED = 1


class nested:
    DEPTH = 3
''',
    "shop/deep.py": '''\
"""Two calls away from everything."""

import enum
from dataclasses import dataclass

FACTOR = 3
OTHER = 5
LIMITS = {"low": [1, 2], "high": {"a", "b"}}


def leaf(x):
    """Multiply."""
    # by a factor
    y = x * FACTOR
    return y


def unrelated(x):
    return x + OTHER


class Deep:
    """Reached through an instance."""

    scale = 2

    def go(self, x):
        return self.inner(x) * self.scale

    def inner(self, x):
        return x + 1


class Kind(enum.Enum):
    SMALL = 1
    LARGE = 2


@dataclass
class Record:
    size: int = 4

    def area(self):
        return self.size * self.size
''',
    "shop/helpers.py": '''\
"""One call away."""

import functools

from . import deep
from .deep import Deep, leaf


def helper(x):
    return leaf(x) + 1


def build():
    return Deep().go(1)


def traced(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        before = "before"
        return before, function(*args, **kwargs)

    return wrapper


def limited(bound):
    def decorate(function):
        def wrapper(x):
            return min(function(x), bound)

        return wrapper

    return decorate


class Base:
    unit = 10

    def step(self, x):
        return self.inner(x) + self.unit

    def inner(self, x):
        return leaf(x)

    @property
    def doubled(self):
        return self.unit * 2

    @classmethod
    def made(cls):
        return cls()

    @staticmethod
    def fixed(x):
        return x - 1


class Sub(Base):
    def inner(self, x):
        return deep.unrelated(x)
''',
    "shop/late.py": '''\
"""Imported inside a function only."""

SHIFT = 7


def shifted(x):
    return x + SHIFT


def beside(x):
    return x
''',
    "shop/main.py": '''\
"""What is fingerprinted."""

import functools

from . import cfg, deep, helpers
from .deep import LIMITS, Kind, Record
from .helpers import Base, Sub, build, helper, limited, traced

LIMIT = 100
PREFIX = "p"
SUB = Sub()


def calls(x):
    return helper(x)


def attribute():
    return cfg.TILE


def attribute_of_class():
    return cfg.nested.DEPTH


def attribute_of_module_in_module():
    return helpers.deep.FACTOR


def default(x, n=LIMIT, *, name=PREFIX):
    return x, n, name


def closure(n):
    def add(x):
        return helper(x) + n

    return add


@traced
def decorated(x):
    return x + 1


@limited(50)
def decorated_with_argument(x):
    return x + 2


@functools.lru_cache(maxsize=4)
def cached(x):
    return helper(x)


def local_import(x):
    from .late import shifted

    return shifted(x)


def local_module_import(x):
    import shop.late as late

    return late.SHIFT + x


def comprehension(xs):
    return [helper(x) for x in xs]


def branch(x):
    if x > 10**9:
        return deep.FACTOR
    return 0


def nested(x):
    def inner():
        return [lambda: helper(x)]

    return inner


def instance():
    return SUB.step(1)


def two_calls_to_a_class():
    return build()


def enumeration():
    return Kind.LARGE.value


def record():
    return Record().area()


def container():
    return LIMITS["low"]


def keywords():
    return helper(x=1)


def checked(x):
    assert x > 0, "positive"
    return x


def choice(x):
    return x in {"left", "right"}


def typed(x: int) -> str:
    y: int = x
    return str(y)


def generator():
    yield helper(1)


async def coroutine():
    return helper(1)


def matched(x):
    match x:
        case {"kind": Kind.SMALL}:
            return 1
        case [1, *rest]:
            return rest
    return None


def plain(x):
    return (x + 1) * 2


ROOTS = {
    "calls": calls,
    "attribute": attribute,
    "attribute of class": attribute_of_class,
    "attribute of module in module": attribute_of_module_in_module,
    "default": default,
    "closure": closure(5),
    "decorated": decorated,
    "decorated with argument": decorated_with_argument,
    "cached": cached,
    "partial": functools.partial(helper, 2),
    "local import": local_import,
    "local module import": local_module_import,
    "lambda": lambda x: helper(x) - 1,
    "comprehension": comprehension,
    "branch": branch,
    "nested": nested,
    "instance": instance,
    "two calls to a class": two_calls_to_a_class,
    "enumeration": enumeration,
    "record": record,
    "container": container,
    "keywords": keywords,
    "checked": checked,
    "choice": choice,
    "typed": typed,
    "generator": generator,
    "coroutine": coroutine,
    "matched": matched,
    "plain": plain,
    "method of base": Base().step,
    "method of sub": Sub().step,
    "class": Sub,
    "property": Base.doubled,
    "class method": Sub.made,
    "static method": Base.fixed,
}


def digests():
    import whorl

    return {name: str(whorl.fingerprint(root)) for name, root in ROOTS.items()}
''',
}
