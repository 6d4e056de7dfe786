"""A code object in, what it does and what it reads out.

Two questions about a piece of compiled code, neither of which depends on where it stands
in a file: which instructions it has (`bytecode_digest`), and which names it takes from
the world around it (`reads_of`), found in nested functions, lambdas, comprehensions and
branches as well.
"""

from __future__ import annotations

import dis
import enum
import sys
import types
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from whorl.late import dataclass

from .digest import hash_bytes, marshalled
from .source import constant, once_per_code
from .uses import GlobalRead, Uses, bound_at_first, uses_in

__all__ = [
    "Call",
    "GlobalRead",
    "ImportRead",
    "Reads",
    "Scope",
    "Taken",
    "attributes_taken",
    "bytecode_digest",
    "calls_in",
    "captured_reads",
    "nested_codes",
    "reads_of",
    "uses_of",
    "writes_globals",
]

_GLOBAL_LOADS: Final = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"))
_CELL_LOADS: Final = frozenset(("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"))
# From Python 3.13 on, one instruction may load two names, or store one and load another.
_LOCAL_LOADS: Final = frozenset(
    (
        "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST",
        "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "STORE_FAST_LOAD_FAST",
    )
)  # fmt: skip
_NAME_LOADS: Final = _GLOBAL_LOADS | _CELL_LOADS | _LOCAL_LOADS
_ATTRIBUTE_LOADS: Final = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
_CALLS: Final = frozenset(("PRECALL", "CALL"))
_CONSTANT_LOADS: Final = frozenset(dis.hasconst)
_CONSTANT_TEXTS: Final = ("LOAD_CONST", "LOAD_COMMON_CONSTANT")  # the latter may be an empty one


@dataclass(frozen=True, slots=True)
class Call:
    """A call of something by its name: how many arguments, which by keyword, and the constant
    texts that come first. `is_local`: the name is one of the function's own variables."""

    read: GlobalRead
    is_local: bool
    arguments: int
    keywords: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


class Scope(enum.Enum):
    """Where a name is found that an attribute is taken from; UNKNOWN if it is no name."""

    GLOBAL = "global"
    CAPTURED = "captured"
    LOCAL = "local"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Taken:
    """An attribute that is taken from something: `STORE.open`, `f().open`."""

    attribute: str
    source: GlobalRead | None  # a name and the attributes before this one
    scope: Scope
    is_called: bool


@dataclass(frozen=True, slots=True)
class ImportRead:
    """An import inside a function body: `from module import names`, `import module [as x]`."""

    level: int
    module: str
    names: tuple[str, ...]
    renamed: bool


@dataclass(frozen=True, slots=True)
class Reads:
    """What a piece of code takes from the world around it."""

    globals: tuple[GlobalRead, ...]
    imports: tuple[ImportRead, ...]
    attributes: tuple[str, ...]  # of anything


def _bytecode_digest(code: types.CodeType) -> bytes:
    instructions: list[object] = []
    for step in _steps(code):
        argument: object = step.arg
        if step.opcode in _CONSTANT_LOADS and step.arg is not None:
            # A constant counts by itself, not by its number: a docstring shifts the numbers.
            argument = constant(code.co_consts[step.arg])
        instructions += (step.opcode, argument)
    return hash_bytes(
        marshalled(
            (
                instructions,
                code.co_names,
                code.co_varnames,
                code.co_freevars,
                code.co_cellvars,
                code.co_argcount,
                code.co_posonlyargcount,
                code.co_kwonlyargcount,
                code.co_flags & ~_NO_CODE,
                code.co_exceptiontable,
            )
        )
    )


_HAS_DOCSTRING: Final = 0x4000000  # CO_HAS_DOCSTRING, set from Python 3.13 on
_ANNOTATIONS: Final = 0x1000000  # CO_FUTURE_ANNOTATIONS: an example in a docstring inherits it
_NO_CODE: Final = _HAS_DOCSTRING | _ANNOTATIONS

bytecode_digest: Final[Callable[[types.CodeType], bytes]] = once_per_code(_bytecode_digest)
"""The digest of a code object's instructions: no positions, no file, no docstring."""


def _reads_of(code: types.CodeType) -> Reads:
    seen: dict[GlobalRead, None] = {}
    imports: dict[ImportRead, None] = {}
    attributes: dict[str, None] = {}
    for inner in nested_codes(code):
        steps = _steps(inner)
        bound = bound_at_first(steps)
        for i, step in enumerate(steps):
            if step.opname == "LOAD_NAME" and i > bound.get(step.argval, i):
                continue  # a name of the class body itself
            if step.opname in _ATTRIBUTE_LOADS:
                attributes[step.argval] = None
            elif step.opname in _GLOBAL_LOADS:
                seen[GlobalRead(step.argval, _attributes_after(steps, i))] = None
            elif step.opname == "IMPORT_NAME":
                names = steps[i - 1].argval or ()
                renamed = not names and steps[i + 1].opname == "IMPORT_FROM"
                read = ImportRead(steps[i - 2].argval, step.argval, tuple(names), renamed)
                imports[read] = None
    return Reads(tuple(seen), tuple(imports), tuple(attributes))


reads_of: Final[Callable[[types.CodeType], Reads]] = once_per_code(_reads_of)
"""The names that a code object and the code nested in it take from the world."""


def _captured_reads(code: types.CodeType) -> tuple[GlobalRead, ...]:
    given = code.co_argcount + code.co_kwonlyargcount
    names = {*code.co_freevars, *code.co_varnames[:given]}
    seen: dict[GlobalRead, None] = {}
    for inner in nested_codes(code):
        steps = _steps(inner)
        for i, step in enumerate(steps):
            if step.opname in _CELL_LOADS or (inner is code and step.opname in _LOCAL_LOADS):
                loaded = _loaded_names(step)
                after = _attributes_after(steps, i)
                for name in names.intersection(loaded):
                    seen[GlobalRead(name, after if name == loaded[-1] else ())] = None
    return tuple(seen)


captured_reads: Final[Callable[[types.CodeType], tuple[GlobalRead, ...]]] = once_per_code(
    _captured_reads
)
"""The captured variables and parameters that are used, with the attributes taken at once."""


def _calls(code: types.CodeType) -> tuple[Call, ...]:
    found: dict[Call, None] = {}
    for inner in nested_codes(code):
        steps = _steps(inner)
        for i, step in enumerate(steps):
            if step.opname not in _NAME_LOADS:
                continue
            name = _loaded_names(step)[-1]
            read = GlobalRead(name, _attributes_after(steps, i))
            after = i + 1 + len(read.attributes)
            after += steps[after].opname == "PUSH_NULL"  # 3.13 has it there
            given = _given(steps[after:], inner)
            if given is None and steps[after].opname == "CONTAINS_OP" and i:
                given = 1, (), _texts(steps[i - 1 : i])
            elif given is None and any(map(_is_subscript, steps[after + 1 : after + 2])):
                given = 1, (), _texts(steps[after : after + 1])
            if given is not None:
                is_local = step.opname not in _GLOBAL_LOADS and name not in code.co_freevars
                found[Call(read, is_local, *given)] = None
    return tuple(found)


def _loaded_names(step: dis.Instruction) -> tuple[str, ...]:
    """The names that an instruction loads, the last one on top."""
    names: tuple[str, ...] = step.argval if type(step.argval) is tuple else (step.argval,)
    return names[1:] if step.opname == "STORE_FAST_LOAD_FAST" else names


def _is_subscript(step: dis.Instruction) -> bool:
    """Whether an instruction is `a[b]`; from Python 3.14 on, that is an operator."""
    return step.opname == "BINARY_SUBSCR" or (step.opname == "BINARY_OP" and step.argrepr == "[]")


def _given(
    steps: list[dis.Instruction], code: types.CodeType
) -> tuple[int, tuple[str, ...], tuple[str, ...]] | None:
    """What is given to something that was just loaded; None if it is not called.

    It is, by the call that takes all that has been put on the stack since.
    """
    depth = 0
    keywords: tuple[str, ...] = ()
    loaded: list[dis.Instruction] = []
    for step, following in pairwise(steps):
        given = step.arg or 0
        if (step.opname in _CALLS and depth == given) or (
            step.opname == "CALL_KW" and depth == given + 1
        ):
            are_plain = all(each.opname in _PLAIN_LOADS for each in loaded)
            return given, keywords, _texts(loaded[:given]) if are_plain else ()
        if step.opname not in _AROUND_CALLS:
            loaded.append(step)
        if step.opname == "KW_NAMES":
            keywords = code.co_consts[given]
        elif following.opname == "CALL_KW":
            keywords = step.argval
        argument = step.arg if step.opcode >= dis.HAVE_ARGUMENT else None
        depth += dis.stack_effect(step.opcode, argument, jump=False)
        if depth < 0:
            return None
    return None


# Where anything else comes between, a text may be a part of what is given.
_PLAIN_LOADS: Final = frozenset(
    (
        "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT", "LOAD_DEREF", "LOAD_NAME",
        *_LOCAL_LOADS,
    )
)  # fmt: skip
_AROUND_CALLS: Final = ("KW_NAMES", "PRECALL", "CACHE")


def _texts(steps: list[dis.Instruction]) -> tuple[str, ...]:
    """The constant texts that are loaded, up to the first instruction that loads none."""
    texts: list[str] = []
    for step in steps:
        if step.opname not in _CONSTANT_TEXTS or type(step.argval) is not str:
            break
        texts.append(step.argval)
    return tuple(texts)


uses_of: Final[Callable[[types.CodeType], Uses]] = once_per_code(lambda code: uses_in(code, _steps))
"""The values that a code object and the code nested in it take from the world, with the steps
that are made from them."""


calls_in: Final[Callable[[types.CodeType], tuple[Call, ...]]] = once_per_code(_calls)
"""What is called by a name, with its attributes, and how; a look-up with `[...]` or `in` is a call
with one argument."""


def _attributes_taken(code: types.CodeType) -> tuple[Taken, ...]:
    found: dict[Taken, None] = {}
    for inner in nested_codes(code):
        steps = _steps(inner)
        named: dict[int, tuple[GlobalRead, Scope]] = {}  # what is loaded, by its step
        for i, (step, following) in enumerate(pairwise(steps)):
            if step.opname in _NAME_LOADS:
                name = _loaded_names(step)[-1]
                named[i] = GlobalRead(name), _scope_of(step, name, inner, code)
            if step.opname not in _ATTRIBUTE_LOADS:
                continue
            # Where ways join, the name that is loaded just before is one of several.
            source = None if step.is_jump_target else named.get(i - 1)
            taken_from, scope = source or (None, Scope.UNKNOWN)
            found[Taken(step.argval, taken_from, scope, _is_called(step, following))] = None
            if taken_from is not None:
                way = (*taken_from.attributes, step.argval)
                named[i] = GlobalRead(taken_from.name, way), scope
    return tuple(found)


def _scope_of(
    step: dis.Instruction, name: str, inner: types.CodeType, code: types.CodeType
) -> Scope:
    if step.opname in _GLOBAL_LOADS:
        return Scope.GLOBAL
    if name in code.co_freevars:
        return Scope.CAPTURED
    return Scope.LOCAL if inner is code else Scope.UNKNOWN


def _is_called(step: dis.Instruction, following: dis.Instruction) -> bool:
    """Whether an attribute is called where it is taken."""
    if step.opname == "LOAD_METHOD":
        return True
    flagged = sys.version_info >= (3, 12) and (step.arg or 0) & 1
    return bool(flagged) or following.opname == "PUSH_NULL"


attributes_taken: Final[Callable[[types.CodeType], tuple[Taken, ...]]] = once_per_code(
    _attributes_taken
)
"""Every attribute that is taken from something, with the name of what it is taken from."""


def _writes_globals(code: types.CodeType) -> bool:
    return any(
        step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")
        for inner in nested_codes(code)
        for step in _steps(inner)
    )


writes_globals: Final[Callable[[types.CodeType], bool]] = once_per_code(_writes_globals)
"""Whether a code object, or code nested in it, assigns to a global or deletes one."""


def _steps(code: types.CodeType) -> list[dis.Instruction]:
    """The instructions; one with a large argument is one, not two."""
    return [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]


def _attributes_after(steps: list[dis.Instruction], i: int) -> tuple[str, ...]:
    names: list[str] = []
    for step in steps[i + 1 :]:
        if step.opname not in _ATTRIBUTE_LOADS:
            break
        names.append(step.argval)
    return tuple(names)


def nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those nested in it, each before its own, in the order of the source."""
    pending = [code]
    while pending:
        current = pending.pop()
        yield current
        inner = [const for const in current.co_consts if isinstance(const, types.CodeType)]
        pending += reversed(inner)
