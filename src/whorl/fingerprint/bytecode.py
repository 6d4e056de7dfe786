"""Code objects: the bytes and the digest of one, and the names that its instructions read.

Nothing here depends on where code stands in a file. Names are found in nested functions, lambdas,
comprehensions and branches as well.
"""

from __future__ import annotations

import dis
import enum
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final, TypeAlias, TypeVar

from whorl.fast_dataclasses import dataclass

from .digest import LEAVES, dumps, hash_bytes, marshalled
from .refusal import Refused

__all__ = [
    "NOT_CALLED",
    "AttributeRead",
    "Call",
    "CodeMemo",
    "GlobalRead",
    "ImportRead",
    "NameScope",
    "Reads",
    "attribute_reads",
    "bound_at_first",
    "bytecode_digest",
    "calls_in",
    "captured_reads",
    "instructions_of",
    "name_uses",
    "nested_codes",
    "once_per_code",
    "raw_bytes",
    "reads_of",
    "strings_in",
    "writes_globals",
]

T = TypeVar("T")

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
_JUMPS: Final = frozenset((*dis.hasjrel, *dis.hasjabs))
_CONSTANT_LOADS: Final = frozenset(dis.hasconst)
_TEXT_LOADS: Final = ("LOAD_CONST", "LOAD_COMMON_CONSTANT")  # the latter may be an empty one

_HAS_DOCSTRING: Final = 0x4000000  # CO_HAS_DOCSTRING, set from Python 3.13 on
_ANNOTATIONS: Final = 0x1000000  # CO_FUTURE_ANNOTATIONS: an example in a docstring inherits it
_NO_CODE: Final = _HAS_DOCSTRING | _ANNOTATIONS

CodeMemo: TypeAlias = dict[int, "tuple[weakref.ref[types.CodeType], Any]"]
"""Address of a code object -> a weak reference to it, and what was computed for it."""


def once_per_code(
    compute: Callable[[types.CodeType], T], memo: CodeMemo | None = None
) -> Callable[[types.CodeType], T]:
    """A decorator: the function is called once for each code object, as long as that lives.

    Code objects are known by identity: equal ones may come from different files.
    """
    results: CodeMemo = {} if memo is None else memo

    def memoized(code: types.CodeType) -> T:
        result: T
        address = id(code)
        if address in results:
            reference, result = results[address]
            if reference() is code:
                return result
        result = compute(code)
        forget = results.pop
        results[address] = (weakref.ref(code, lambda _: forget(address, None)), result)
        return result

    return memoized


def nested_codes(*codes: types.CodeType) -> Iterator[types.CodeType]:
    """Code objects and those nested in them, outer ones first, in the order of the source."""
    pending = [*reversed(codes)]
    while pending:
        current = pending.pop()
        yield current
        inner = [const for const in current.co_consts if isinstance(const, types.CodeType)]
        pending += reversed(inner)


def instructions_of(code: types.CodeType) -> list[dis.Instruction]:
    """The instructions of a code object, without the prefixes of large arguments."""
    return [each for each in dis.get_instructions(code) if each.opname != "EXTENDED_ARG"]


# -- bytes and digest -------------------------------------------------------------------


def raw_bytes(code: types.CodeType) -> bytes:
    """All of a code object but the name of its file, as the same bytes in every process."""
    constants, mark = code.co_consts, dumps(code.co_filename, 2)
    count = 0 if LEAVES.issuperset(map(type, constants)) else _codes_among(constants)
    if count is not None:
        parts = dumps(code, 2).split(mark)
        if len(parts) == count + 2:  # it stands in each code object, and nowhere else
            return b"".join(parts)
    # There are sets in it, or texts that are named like the file.
    written = [
        ("code", raw_bytes(each)) if isinstance(each, types.CodeType) else _constant(each)
        for each in constants
    ]
    return marshalled((dumps(code.replace(co_consts=(), co_filename=""), 2), written))


def _codes_among(constants: tuple[object, ...]) -> int | None:
    """How many code objects there are among constants and in them; None if there are sets.

    `marshal` writes a set in another order in each process.

    >>> _codes_among((1, (2, "a"), _codes_among.__code__)), _codes_among((1, ({2, "a"},)))
    (1, None)
    """
    count = 0
    for each in constants:
        kind = type(each)
        if kind is tuple or kind is types.CodeType:
            inner: Any = each
            nested = _codes_among(inner if kind is tuple else inner.co_consts)
            if nested is None:
                return None
            count += nested + (kind is types.CodeType)
        elif kind not in LEAVES and kind is not bytes:
            return None
    return count


def _constant(value: object) -> object:
    """A constant of a code object as data that marshals the same in every process."""
    kind = type(value)
    if kind in LEAVES:
        return ("leaf", value)
    if kind is bytes:
        return ("bytes", value)
    if isinstance(value, types.CodeType):
        return ("code", bytecode_digest(value))
    if isinstance(value, tuple):
        return ("tuple", tuple(_constant(x) for x in value))
    if isinstance(value, frozenset):
        return ("frozenset", tuple(sorted(marshalled((_constant(x),)) for x in value)))
    if isinstance(value, slice):  # from Python 3.14 on
        return ("slice", tuple(_constant(x) for x in (value.start, value.stop, value.step)))
    raise Refused(f"a code object in it holds a constant of type {kind.__name__!r}")


@once_per_code
def bytecode_digest(code: types.CodeType) -> bytes:
    """The digest of a code object's instructions: no positions, no file, no docstring."""
    instructions: list[object] = []
    for step in instructions_of(code):
        argument: object = step.arg
        if step.opcode in _CONSTANT_LOADS and step.arg is not None:
            # A constant counts by itself, not by its number: a docstring shifts the numbers.
            argument = _constant(code.co_consts[step.arg])
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


# -- names ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GlobalRead:
    """A global name and the attributes that are taken from it at once: `cfg.tiles.N`."""

    name: str
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A call of something by its name: how many arguments, which by keyword, and the constant
    texts that come first. `is_local`: the name is one of the function's own variables."""

    read: GlobalRead
    is_local: bool
    arguments: int
    keywords: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


NOT_CALLED: Final = -1
"""The number of arguments where a name is loaded and not called."""


class NameScope(enum.Enum):
    """Where a name is found that an attribute is taken from; UNKNOWN if it is no name."""

    GLOBAL = "global"
    CAPTURED = "captured"
    LOCAL = "local"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AttributeRead:
    """An attribute that is taken from something: `STORE.open`, `f().open`."""

    attribute: str
    source: GlobalRead | None  # a name and the attributes before this one
    scope: NameScope
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


@once_per_code
def reads_of(code: types.CodeType) -> Reads:
    """The names that a code object and the code nested in it take from the world."""
    seen: dict[GlobalRead, None] = {}
    imports: dict[ImportRead, None] = {}
    attributes: dict[str, None] = {}
    for inner in nested_codes(code):
        steps = instructions_of(inner)
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


@once_per_code
def captured_reads(code: types.CodeType) -> tuple[GlobalRead, ...]:
    """The captured variables and parameters that are used, with the attributes taken at once."""
    given = code.co_argcount + code.co_kwonlyargcount
    names = {*code.co_freevars, *code.co_varnames[:given]}
    seen: dict[GlobalRead, None] = {}
    for inner in nested_codes(code):
        steps = instructions_of(inner)
        for i, step in enumerate(steps):
            if step.opname in _CELL_LOADS or (inner is code and step.opname in _LOCAL_LOADS):
                loaded = _loaded_names(step)
                after = _attributes_after(steps, i)
                for name in names.intersection(loaded):
                    seen[GlobalRead(name, after if name == loaded[-1] else ())] = None
    return tuple(seen)


@once_per_code
def calls_in(code: types.CodeType) -> tuple[Call, ...]:
    """What is called by a name, and how; `a[b]` and `b in a` are calls with one argument."""
    return tuple(use for use in name_uses(code) if use.arguments != NOT_CALLED)


@once_per_code
def name_uses(code: types.CodeType) -> tuple[Call, ...]:
    """The calls of `calls_in`, and the names that are loaded for anything else (`NOT_CALLED`)."""
    calls: dict[Call, None] = {}
    for inner in nested_codes(code):
        steps = instructions_of(inner)
        for i, step in enumerate(steps):
            if step.opname not in _NAME_LOADS:
                continue
            name = _loaded_names(step)[-1]
            read = GlobalRead(name, _attributes_after(steps, i))
            after = i + 1 + len(read.attributes)
            after += steps[after].opname == "PUSH_NULL"  # 3.13 has it there
            given = _arguments(steps[after:], inner)
            if given is None and steps[after].opname == "CONTAINS_OP" and i:
                given = 1, (), _texts(steps[i - 1 : i])
            elif given is None and any(map(_is_subscript, steps[after + 1 : after + 2])):
                given = 1, (), _texts(steps[after : after + 1])
            is_local = step.opname not in _GLOBAL_LOADS and name not in code.co_freevars
            calls[Call(read, is_local, *(given or (NOT_CALLED,)))] = None
    return tuple(calls)


def _loaded_names(step: dis.Instruction) -> tuple[str, ...]:
    """The names that an instruction loads, the last one on top."""
    names: tuple[str, ...] = step.argval if type(step.argval) is tuple else (step.argval,)
    return names[1:] if step.opname == "STORE_FAST_LOAD_FAST" else names


def _is_subscript(step: dis.Instruction) -> bool:
    """Whether an instruction is `a[b]`; from Python 3.14 on, that is an operator."""
    return step.opname == "BINARY_SUBSCR" or (step.opname == "BINARY_OP" and step.argrepr == "[]")


def _arguments(
    steps: list[dis.Instruction], code: types.CodeType
) -> tuple[int, tuple[str, ...], tuple[str, ...]] | None:
    """The arguments of a call of what was just loaded; None if that is not called.

    Its call is the one that takes all that has been put on the stack since.
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
        if step.opname not in _TEXT_LOADS or type(step.argval) is not str:
            break
        texts.append(step.argval)
    return tuple(texts)


@once_per_code
def attribute_reads(code: types.CodeType) -> tuple[AttributeRead, ...]:
    """Every attribute that code reads, with the name of what it is read from."""
    reads: dict[AttributeRead, None] = {}
    for inner in nested_codes(code):
        steps = instructions_of(inner)
        named: dict[int, tuple[GlobalRead, NameScope]] = {}  # what is loaded, by its step
        for i, (step, following) in enumerate(pairwise(steps)):
            if step.opname in _NAME_LOADS:
                name = _loaded_names(step)[-1]
                named[i] = GlobalRead(name), _scope_of(step, name, inner, code)
            if step.opname not in _ATTRIBUTE_LOADS:
                continue
            # Where branches join, the name that is loaded just before is one of several.
            source = None if step.is_jump_target else named.get(i - 1)
            holder, scope = source or (None, NameScope.UNKNOWN)
            is_called = _is_called(step, following)
            reads[AttributeRead(step.argval, holder, scope, is_called)] = None
            if holder is not None:
                attributes = (*holder.attributes, step.argval)
                named[i] = GlobalRead(holder.name, attributes), scope
    return tuple(reads)


def _scope_of(
    step: dis.Instruction, name: str, inner: types.CodeType, code: types.CodeType
) -> NameScope:
    if step.opname in _GLOBAL_LOADS:
        return NameScope.GLOBAL
    if name in code.co_freevars:
        return NameScope.CAPTURED
    return NameScope.LOCAL if inner is code else NameScope.UNKNOWN


def _is_called(step: dis.Instruction, following: dis.Instruction) -> bool:
    """Whether an attribute is called where it is taken."""
    if step.opname == "LOAD_METHOD":
        return True
    flagged = sys.version_info >= (3, 12) and (step.arg or 0) & 1
    return bool(flagged) or following.opname == "PUSH_NULL"


@once_per_code
def writes_globals(code: types.CodeType) -> bool:
    """Whether a code object, or code nested in it, assigns to a global or deletes one."""
    return any(
        step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")
        for inner in nested_codes(code)
        for step in instructions_of(inner)
    )


def _attributes_after(steps: list[dis.Instruction], i: int) -> tuple[str, ...]:
    names: list[str] = []
    for step in steps[i + 1 :]:
        if step.opname not in _ATTRIBUTE_LOADS:
            break
        names.append(step.argval)
    return tuple(names)


@once_per_code
def strings_in(code: types.CodeType) -> frozenset[str]:
    """The names and texts that occur in a code object and the code nested in it."""
    names: set[str] = set()
    for inner in nested_codes(code):
        names.update(inner.co_names)
        names.update(each for each in inner.co_consts if type(each) is str)
    return frozenset(names)


def bound_at_first(steps: list[dis.Instruction]) -> dict[str, int]:
    """The names that a class body binds before it can branch, and where."""
    bound: dict[str, int] = {}
    for i, step in enumerate(steps):
        if step.opcode in _JUMPS or step.opname == "DELETE_NAME":
            break
        if step.opname == "STORE_NAME":
            bound.setdefault(step.argval, i)
    return bound
