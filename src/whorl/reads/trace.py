"""What one compile has read, in order, as data: paths, reads, facts, traces, shapes, keys of items.

A read takes a path under an aspect; with the fact that answered it, it is `Seen`.
All that one compile has seen is its trace; the reads of a trace without their facts are its
shape. Two compiles of one shape differ by facts alone.

Paths and reads are named tuples because a new process makes dozens of them before its first hit.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Hashable
from enum import Enum
from typing import Any, Final, TypeAlias, cast

from whorl.fast_dataclasses import NamedTuple, dataclass
from whorl.fingerprint.names import known_module_name, resolve
from whorl.fingerprint.static_lookup import ABSENT, derives, module_name, qualname

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


# -- keys of items ---------------------------------------------------------------------
#
# Keys of items as plain data that means the same in every process, and back.
#
#     int, str, bytes, None               themselves
#     a tuple of these                    itself
#     bool, float, complex                ("bool", "True"), ("float", hex), ("complex", hex, hex)
#     ...                                 ("...",)
#     an enum member                      ("enum", module, class, name)
#     a class                             ("class", module, class)
#     other tuples, frozensets            ("tuple", key...), ("frozenset", key...)
#
# Keys that Python takes for equal (1, True and 1.0) are told apart, since a class may do so. Enums
# and other classes are found by name among the modules that are loaded; none is ever imported.


_PLAIN: Final = frozenset((int, str, bytes, type(None)))


class NoKey(Exception):
    """A key that cannot be found again in another process."""


def is_plain_key(key: object) -> bool:
    """Whether a key stands for itself.

    >>> is_plain_key(("a", 1)), is_plain_key(("a", True))
    (True, False)
    """
    cls = type(key)
    if cls is tuple:
        return all(map(is_plain_key, cast("tuple[Any, ...]", key)))
    return type(cls) is type and cls in _PLAIN


def key_code(key: Any) -> Any:
    """A key as plain data; `NoKey` if there is none.

    >>> key_code((True, 0.5, "a"))
    ('tuple', ('bool', 'True'), ('float', '0x1.0000000000000p-1'), 'a')
    """
    cls = type(key)
    if type(cls) is type and cls in _PLAIN:
        return key
    if cls is bool:
        return ("bool", str(key))
    if cls is float and not math.isnan(key):
        return ("float", key.hex())
    if cls is complex and not (math.isnan(key.real) or math.isnan(key.imag)):
        return ("complex", key.real.hex(), key.imag.hex())
    if key is ...:
        return ("...",)
    if cls is tuple:
        return ("tuple", *map(key_code, key))
    if cls is frozenset:
        return ("frozenset", *sorted(map(key_code, key), key=repr))
    if derives(cls, type):
        return ("class", *_class_code(key))
    if derives(type(cls), enum.EnumMeta) and cls._member_map_.get(key._name_) is key:
        return ("enum", *_class_code(cls), key._name_)
    raise NoKey


def key_of(code: Any) -> Hashable:
    """The key that plain data stands for; `NoKey` if it is not to be found here."""
    if type(code) is not tuple:
        return cast("Hashable", code)
    match code:
        case ("bool", text):
            return bool(text == "True")
        case ("float", text):
            return float.fromhex(text)
        case ("complex", real, imaginary):
            return complex(float.fromhex(real), float.fromhex(imaginary))
        case ("...",):
            return ...
        case ("tuple", *codes):
            return tuple(map(key_of, codes))
        case ("frozenset", *codes):
            return frozenset(map(key_of, codes))
        case ("class", module, dotted):
            return _class_named(module, dotted)
        case ("enum", module, dotted, name):
            members: Any = getattr(_class_named(module, dotted), "_member_map_", {})
            if name in members:
                return cast("Hashable", members[name])
    raise NoKey


def key_words(code: Any) -> str:
    """A key as Python writes it.

    >>> key_words(("tuple", ("enum", "solver", "Mode", "FAST"), 3))
    '(Mode.FAST, 3)'
    """
    if type(code) is not tuple:
        return repr(code)
    match code:
        case ("bool", text):
            return str(text)
        case ("float" | "complex", *_):
            return repr(key_of(code))
        case ("tuple", *codes):
            comma = "," if len(codes) == 1 else ""
            return f"({', '.join(map(key_words, codes))}{comma})"
        case ("frozenset", *codes):
            return f"frozenset({{{', '.join(map(key_words, codes))}}})"
        case ("class", _, dotted):
            return str(dotted)
        case ("enum", _, dotted, name):
            return f"{dotted}.{name}"
    return "..."


def _class_code(cls: type) -> tuple[str, str]:
    dotted = qualname(cls)
    for module in (known_module_name(module_name(cls)), module_name(cls)):
        try:
            if _class_named(module, dotted) is cls:
                return module, dotted
        except NoKey:
            continue
    raise NoKey


def _class_named(module: str, dotted: str) -> type:
    cls = resolve(module, dotted)
    if cls is ABSENT and known_module_name("__main__") == module:
        cls = resolve("__main__", dotted)
    if not derives(type(cls), type):
        raise NoKey
    return cast("type", cls)
