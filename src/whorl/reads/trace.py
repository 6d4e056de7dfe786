"""What one compile has read, in order, as data: paths, reads, facts, traces, shapes.

A read takes a path under an aspect; with the fact that answered it, it is `Seen`.
All that one compile has seen is its trace; the reads of a trace without their facts are its
shape. Two compiles of one shape differ by facts alone.

Paths and reads are named tuples because a new process makes dozens of them before its first hit.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, TypeAlias

from whorl.fast_dataclasses import NamedTuple, dataclass

from .item import key_words

__all__ = ["ASPECTS", "ROOTS", "Aspect", "Path", "Plain", "Read", "Seen", "Shape", "Step", "Trace"]

Plain: TypeAlias = Any
"""None, bool, int, float, complex, str, bytes, and tuples, lists and dicts of these, exactly."""


ROOTS: Final = frozenset(("arg", "global", "func", "env", "compiler", "file", "option", "target"))
"""Where a path can begin."""


class Aspect(Enum):
    """What a compile has read of a value.

    >>> Aspect("array")
    <Aspect.ARRAY: 'array'>
    """

    TYPE = "type"
    VALUE = "value"
    ARRAY = "array"
    PRESENT = "present"
    CODE = "code"
    ALIAS = "alias"
    LEN = "len"

    __hash__ = object.__hash__  # there is one of each; that of `Enum` is a function in Python


ASPECTS: Final = {aspect.value: aspect for aspect in Aspect}
"""By the texts that they are kept as."""


class Step(NamedTuple):
    """One step of a path: the operation that makes it, and its name, index or key.

    >>> str(Step("attr", "dofs")), str(Step("item", 3))
    ('.dofs', '[3]')
    """

    operation: str
    name: Plain

    def __str__(self) -> str:
        match self.operation:
            case "attr":
                return f".{self.name}"
            case "item":
                return f"[{self.name!r}]"
            case "keyed":
                return f"[{key_words(self.name)}]"
            case "isinstance":
                return f".isinstance({key_words(self.name)})"
            case operation:
                return f".{operation}({self.name!r})"


class Path(NamedTuple):
    """Where a value is found: a root, such as an argument, and steps from there.

    >>> str(Path("arg", "self", (Step("attr", "dofs"), Step("attr", "x"))))
    'arg:self.dofs.x'
    """

    root: str
    name: str
    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        return f"{self.root}:{self.name}{''.join(map(str, self.steps))}"

    def then(self, step: Step) -> Path:
        """The path that is one step longer."""
        return Path(self.root, self.name, (*self.steps, step))


class Read(NamedTuple):
    """One read of a compile. `beside` are the other paths of a read of several.

    >>> str(Read(Path("arg", "n"), Aspect.TYPE))
    'arg:n type'
    """

    path: Path
    aspect: Aspect
    beside: tuple[Path, ...] = ()

    def __str__(self) -> str:
        return f"{', '.join(map(str, (self.path, *self.beside)))} {self.aspect.value}"


@dataclass(frozen=True, slots=True)
class Seen:
    """A read and the fact that answered it; `line` is the source line that asked.

    >>> str(Seen(Read(Path("arg", "tile"), Aspect.VALUE), 64))
    'arg:tile value = 64'
    """

    read: Read
    fact: Plain
    line: str = ""

    def __str__(self) -> str:
        return f"{self.read} = {self.fact!r}"


@dataclass(frozen=True, slots=True)
class Shape:
    """The reads of a trace, in order, without their facts.

    >>> Shape() == Trace().shape
    True
    """

    reads: tuple[Read, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """What one compile has seen, in order.

    >>> tile = Seen(Read(Path("arg", "tile"), Aspect.VALUE), 64)
    >>> [str(read) for read in Trace((tile,)).shape.reads]
    ['arg:tile value']
    """

    seen: tuple[Seen, ...] = ()

    @property
    def shape(self) -> Shape:
        """What was read, whatever the answers were."""
        return Shape(tuple(seen.read for seen in self.seen))
