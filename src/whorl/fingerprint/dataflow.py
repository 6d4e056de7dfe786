"""Finds which values a function takes from globals, captured variables and imports, and what for.

A module that a function uses counts by the names that the function takes from it. The names are
found here, in the instructions: `n.X`, `m = n; m.X`, `import n` in the body, `getattr(n, "X")`,
`n.__dict__["X"]`, `vars(n)["X"]`, a function's `__globals__["X"]` and so on. What the names stand
for is not known here; `rules/references` resolves them with the objects that are there.

The instructions are executed on a stack of symbols, in the order in which they stand. A symbol is a
`Use`: where a value comes from, and the steps that were made from it. An operation on a symbol that
is not known here ends it: then the value that it stands for counts as it is, a module with all its
content. Where the code branches, all symbols on the stack end. A local variable stands for
everything that is ever assigned to it, in any order.

An instruction that is not in the table ends all symbols on the stack, and so does one for which
the interpreter states another stack effect: a new version of Python makes the answer coarser, not
wrong.
"""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal

from whorl.fast_dataclasses import dataclass

from .bytecode import GlobalRead, bound_at_first, instructions_of, once_per_code

__all__ = ["GETTERS", "METHODS", "SCOPE", "Root", "Use", "UseStep", "Uses", "uses_of"]


@dataclass(frozen=True, slots=True)
class Root:
    """Where a value comes from: a global, a captured variable, or an import in the body.

    For an import, `name` is the module's, `level` the number of dots before it, and `top` says
    that the value is the package in which it is: what `import a.b` binds.
    """

    kind: Literal["global", "captured", "import"]
    name: str
    level: int = 0
    top: bool = False


@dataclass(frozen=True, slots=True)
class UseStep:
    """One step from a value to another.

    | how         |                                                                    |
    |-------------|--------------------------------------------------------------------|
    | "attribute" | `value.name`                                                       |
    | "import"    | `from value import name`                                           |
    | "item"      | `value[name]`, `name in value`                                     |
    | "method"    | `value.by(name)`                                                   |
    | "function"  | `by(value, name)`, `by(value)`, `by(name)(value)`                  |
    | "call"      | `value()`                                                          |

    A name may be written in the code, or be the value of a global.
    """

    how: Literal["attribute", "import", "item", "method", "function", "call"]
    name: str | GlobalRead = ""
    by: str | GlobalRead = ""


@dataclass(frozen=True, slots=True)
class Use:
    """A value that a piece of code uses: where it comes from, and the steps to it."""

    root: Root
    steps: tuple[UseStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Uses:
    """All values that a piece of code uses; `assigned` are those that have a local name.

    `is_scope_taken`: code takes the `__globals__` of a value that is not known here.
    """

    values: tuple[Use, ...]
    assigned: tuple[Use, ...]
    is_scope_taken: bool = False


GETTERS: Final = frozenset(("getattr", "hasattr", "getattr_static", "__getattribute__"))
"""Names of functions that take a value and the name of an attribute."""

METHODS: Final = frozenset(("get", "__getitem__", "__contains__", "__getattribute__"))
"""Names of methods that take a name."""

SCOPE: Final = "__globals__"
"""The attribute of a function that leads to all names of its module."""

_MOST_STEPS: Final = 16
_MOST_ASSIGNED: Final = 16


@dataclass(frozen=True, slots=True)
class _Variable:
    """A local variable of a code object, known by its number; of none: a captured one."""

    owner: int
    name: str


@dataclass(frozen=True, slots=True)
class _Symbol:
    """A value on the stack, before local variables are replaced by their values."""

    root: Root | _Variable
    steps: tuple[UseStep, ...] = ()

    def then(self, step: UseStep) -> _Symbol:
        return _Symbol(self.root, (*self.steps, step))


@dataclass(frozen=True, slots=True)
class _Constant:
    """A constant on the stack."""

    value: object


@dataclass(frozen=True, slots=True)
class _Getter:
    """`operator.attrgetter(name)` on the stack."""

    by: GlobalRead
    name: str | GlobalRead


_NULL: Final = _Constant(None)  # pushed with a function that is no method
_Value = _Symbol | _Constant | _Getter | None


@once_per_code
def uses_of(code: types.CodeType) -> Uses:
    """What a code object and the code nested in it use."""
    return _Analysis(code).uses()


class _Analysis:
    """One walk over a code object and the code nested in it."""

    def __init__(self, code: types.CodeType) -> None:
        self._ended: dict[_Symbol, None] = {}
        self._assigned: dict[_Variable, dict[_Symbol, None]] = {}
        self._circular: set[_Variable] = set()
        self._may_be_others: set[_Variable] = set()
        self._scope_owners: set[Root | _Variable | None] = set()
        self._numbers = 0
        captured = {name: _Variable(-1, name) for name in code.co_freevars}
        for name, variable in captured.items():
            self._assign(variable, _Symbol(Root("captured", name)))
        self._walk(code, captured)

    def _walk(self, code: types.CodeType, captured: dict[str, _Variable]) -> None:
        pending = [(code, captured)]
        while pending:
            current, free = pending.pop()
            number = self._numbers
            self._numbers += 1
            own = (*current.co_varnames, *current.co_cellvars)
            variables = {**free, **{name: _Variable(number, name) for name in own}}
            count = current.co_argcount + current.co_kwonlyargcount
            self._may_be_others |= {variables[name] for name in current.co_varnames[:count]}
            cells = frozenset((*current.co_cellvars, *current.co_freevars))
            _Stack(self, variables, cells).run(instructions_of(current))
            inner = [const for const in current.co_consts if isinstance(const, types.CodeType)]
            pending += [
                (each, {name: variables[name] for name in each.co_freevars if name in variables})
                for each in reversed(inner)
            ]

    def end(self, value: _Value) -> None:
        """Note an unknown use of a value."""
        if type(value) is _Symbol:
            self._ended[value] = None

    def _assign(self, variable: _Variable, value: _Symbol) -> None:
        self._assigned.setdefault(variable, {})[value] = None

    def assign(self, variable: _Variable | None, value: _Value) -> None:
        """Note that a value gets a local name."""
        if type(value) is not _Symbol:
            self._may_be_others |= set() if variable is None else {variable}
        elif variable is None or len(value.steps) > _MOST_STEPS:
            self.end(value)
        else:
            self._assign(variable, value)

    def takes(self, owner: _Value, name: str | GlobalRead) -> None:
        """Note that an attribute is taken from a value."""
        if name == SCOPE:
            self._scope_owners.add(owner.root if type(owner) is _Symbol else None)

    def uses(self) -> Uses:
        """All uses, with local names replaced by their values."""
        known: dict[_Variable, tuple[Use, ...]] = {}
        values: dict[Use, None] = {}
        for symbol in self._ended:
            values.update(dict.fromkeys(self._uses_of(symbol, known, values)))
        assigned: dict[Use, None] = {}
        for variable in self._assigned:
            assigned.update(dict.fromkeys(self._values_of(variable, known, values)))
        known_owners = self._assigned.keys() - self._may_be_others
        is_scope_taken = any(
            type(owner) is not Root and owner not in known_owners for owner in self._scope_owners
        )
        return Uses(tuple(values), tuple(assigned), is_scope_taken)

    def _uses_of(
        self, symbol: _Symbol, known: dict[_Variable, tuple[Use, ...]], values: dict[Use, None]
    ) -> Iterable[Use]:
        if type(symbol.root) is Root:
            return [Use(symbol.root, symbol.steps)]
        assert isinstance(symbol.root, _Variable)
        uses = self._values_of(symbol.root, known, values)
        return [Use(use.root, (*use.steps, *symbol.steps)) for use in uses]

    def _values_of(
        self,
        variable: _Variable,
        known: dict[_Variable, tuple[Use, ...]],
        values: dict[Use, None],
        above: tuple[_Variable, ...] = (),
    ) -> tuple[Use, ...]:
        """The values of a variable. If they depend on the variable itself, they count whole."""
        if variable in known:
            return known[variable]
        uses: dict[Use, None] = {}
        for symbol in self._assigned.get(variable, ()):
            if type(symbol.root) is Root:
                uses[Use(symbol.root, symbol.steps)] = None
                continue
            assert isinstance(symbol.root, _Variable)
            if symbol.root == variable or symbol.root in above:
                self._circular |= {symbol.root, variable}
                continue
            for use in self._values_of(symbol.root, known, values, (*above, variable)):
                uses[Use(use.root, (*use.steps, *symbol.steps))] = None
        longest = max((len(use.steps) for use in uses), default=0)
        if variable in self._circular or len(uses) > _MOST_ASSIGNED or longest > _MOST_STEPS:
            values.update(uses)
            uses = {}
        known[variable] = tuple(uses)
        return known[variable]


class _Stack:
    """The symbols on the stack of one code object while its instructions are executed."""

    def __init__(
        self, analysis: _Analysis, variables: dict[str, _Variable], cells: frozenset[str]
    ) -> None:
        self._analysis = analysis
        self._variables = variables
        self._cells = cells
        self._values: list[_Value] = []  # and below them any number of which nothing is known
        self._depth = 0
        self._keywords = False

    def run(self, steps: list[dis.Instruction]) -> None:
        """Execute the instructions."""
        bound = bound_at_first(steps)
        for i, step in enumerate(steps):
            if step.is_jump_target:
                self._end_all()
            if step.opname == "LOAD_NAME" and i > bound.get(step.argval, i):
                self._push(None)  # a name of the class body itself
                continue
            handler = _HANDLERS.get(step.opname)
            if handler is None:
                self._end_all()
                continue
            before = self._depth
            handler(self, step, steps[i - 2 : i])
            if self._depth - before != _effect(step):
                self._end_all()
        self._end_all()

    def _end_all(self) -> None:
        for value in self._values:
            self._analysis.end(value)
        self._values.clear()

    def _pop(self) -> _Value:
        self._depth -= 1
        return self._values.pop() if self._values else None

    def _pops(self, count: int) -> list[_Value]:
        return [self._pop() for _ in range(count)][::-1]

    def _push(self, *values: _Value) -> None:
        self._depth += len(values)
        self._values += values

    def _take(self, count: int, *, push: int = 0) -> None:
        """Use values, and push unknown ones."""
        for value in self._pops(count):
            self._analysis.end(value)
        self._push(*[None] * push)

    # -- loads and stores -----------------------------------------------------------------

    def load_constant(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        self._push(_Constant(step.argval))

    def load_unknown(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        self._push(None)

    def push_null(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        self._push(_NULL)

    def load_global(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        value = _Symbol(Root("global", step.argval))
        has_null = step.opname == "LOAD_GLOBAL" and (step.arg or 0) & 1
        self._push(*((_NULL, value) if has_null else (value,)))

    def load_local(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        for name in _names(step):
            self._push(self._local(name, is_fast="FAST" in step.opname))

    def _local(self, name: str, *, is_fast: bool) -> _Value:
        variable = self._variables.get(name)
        is_cell = is_fast and name in self._cells  # the cell itself, for a function that is created
        return None if variable is None or is_cell else _Symbol(variable)

    def load_from_dict(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        self._take(1)
        (self.load_global if step.opname.endswith("GLOBALS") else self.load_local)(step, before)

    def store_local(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        names = _names(step)
        values = self._pops(len(names))
        for name in names:  # which of two is which does not matter
            for value in values:
                self._analysis.assign(self._variables.get(name), value)

    def store_and_load(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        stored, loaded = _names(step)
        self._analysis.assign(self._variables.get(stored), self._pop())
        self._push(self._local(loaded, is_fast=True))

    def pop(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        value = self._pop()
        if not (
            type(value) is _Symbol and type(value.root) is Root and value.root.kind == "import"
        ):
            self._analysis.end(value)  # evaluated and dropped

    def copy(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        count = step.arg or 1
        self._push(self._values[-count] if count <= len(self._values) else None)

    def swap(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        count = step.arg or 1
        missing = count - len(self._values)
        if missing > 0:
            self._values[:0] = [None] * missing
        self._values[-1], self._values[-count] = self._values[-count], self._values[-1]

    def nothing(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        """An instruction without effect on the stack."""

    # -- attributes and items -------------------------------------------------------------

    def load_attribute(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        owner = self._pop()
        self._analysis.takes(owner, step.argval)
        value = owner.then(UseStep("attribute", step.argval)) if type(owner) is _Symbol else None
        is_method = step.opname == "LOAD_METHOD" or (
            sys.version_info >= (3, 12) and bool((step.arg or 0) & 1)
        )
        self._push(*((_NULL, value) if is_method else (value,)))

    def change_attribute(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        owner = self._pop()
        if type(owner) is _Symbol:
            self._analysis.end(owner.then(UseStep("attribute", step.argval)))
        if step.opname == "STORE_ATTR":
            self._take(1)

    def binary(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        owner, key = self._pops(2)
        if step.opname == "CONTAINS_OP":
            owner, key = key, owner
        is_item = step.opname in ("CONTAINS_OP", "BINARY_SUBSCR") or step.argrepr == "[]"
        name = _key(key)
        if is_item and name is not None and type(owner) is _Symbol:
            owner = owner.then(UseStep("item", name))
            self._analysis.end(key)
            if step.opname != "CONTAINS_OP":
                self._push(owner)
                return
        self._analysis.end(owner)
        self._analysis.end(key)
        self._push(None)

    # -- imports --------------------------------------------------------------------------

    def import_name(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        names, level = before[1].argval, before[0].argval
        self._take(2)
        self._push(_Symbol(Root("import", step.argval, level, top=not names)))

    def import_from(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        owner = self._pop()
        value = owner.then(UseStep("import", step.argval)) if type(owner) is _Symbol else None
        self._push(owner, value)

    # -- calls ----------------------------------------------------------------------------

    def keywords(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        self._keywords = True

    def call(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        has_keywords, self._keywords = self._keywords, False
        arguments = self._pops(step.arg or 0)
        two = [value for value in self._pops(2) if value is not _NULL]
        value = None
        if not has_keywords and len(two) == 1:
            value = self._call_result(two[0], arguments)
        if value is None:
            for each in (*two, *arguments):
                self._analysis.end(each)
        self._push(value)

    def call_with_keywords(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        self._take(3 + (step.arg or 0), push=1)

    def _call_result(self, function: _Value, arguments: list[_Value]) -> _Value:
        """The result of a call that leads from one value to another; None for other calls."""
        if type(function) is _Getter and len(arguments) == 1 and type(arguments[0]) is _Symbol:
            return arguments[0].then(UseStep("function", function.name, function.by))
        if type(function) is not _Symbol:
            return None
        by, name = _global_name(function), _name_of(function)
        keys = [_key(value) for value in arguments[:2]]
        if by is not None and name == "globals" and not arguments:
            return function.then(UseStep("call"))
        if by is not None and name == "vars" and len(arguments) == 1:
            owner = arguments[0]
            return owner.then(UseStep("function", "", by)) if type(owner) is _Symbol else None
        if by is not None and name == "attrgetter" and len(arguments) == 1 and keys[0] is not None:
            self._analysis.end(function)
            self._analysis.end(arguments[0])
            return _Getter(by, keys[0])
        if by is not None and name in GETTERS and len(arguments) > 1 and keys[1] is not None:
            owner = arguments[0]
            self._analysis.takes(owner, keys[1])
            if type(owner) is _Symbol:
                for value in (function, *arguments[1:]):
                    self._analysis.end(value)
                return owner.then(UseStep("function", keys[1], by))
        last = function.steps[-1:]
        if (
            last
            and last[0].how == "attribute"
            and name in METHODS
            and arguments
            and keys[0] is not None
        ):
            for value in arguments:
                self._analysis.end(value)
            return _Symbol(function.root, (*function.steps[:-1], UseStep("method", keys[0], name)))
        return None

    def use(self, step: dis.Instruction, before: Sequence[dis.Instruction]) -> None:
        """An instruction that takes some values and pushes unknown ones."""
        takes, leaves = _EFFECTS[step.opname]
        self._take((step.arg or 0) if takes is None else takes, push=leaves)


def _names(step: dis.Instruction) -> tuple[str, ...]:
    """From Python 3.13 on, one instruction may name two variables."""
    return step.argval if type(step.argval) is tuple else (step.argval,)


def _effect(step: dis.Instruction) -> int:
    """How many more values an instruction pushes than it takes."""
    if step.opname == "PRECALL":  # of Python 3.11, with the call that follows it
        return 0
    if step.opname == "CALL":
        return -1 - (step.arg or 0)
    argument = step.arg if step.opcode >= dis.HAVE_ARGUMENT else None
    return dis.stack_effect(step.opcode, argument, jump=False)


def _key(value: _Value) -> str | GlobalRead | None:
    """The name in a value, if it is known."""
    if type(value) is _Constant:
        return value.value if type(value.value) is str else None
    return _global_name(value)


def _global_name(value: _Value) -> GlobalRead | None:
    if type(value) is not _Symbol or type(value.root) is not Root or value.root.kind != "global":
        return None
    names = [str(step.name) for step in value.steps if step.how == "attribute"]
    return GlobalRead(value.root.name, tuple(names)) if len(names) == len(value.steps) else None


def _name_of(value: _Symbol) -> str:
    """The last name of what is called."""
    if value.steps:
        return str(value.steps[-1].name)
    return value.root.name


_EFFECTS: Final[dict[str, tuple[int | None, int]]] = {
    **dict.fromkeys(("BUILD_LIST", "BUILD_TUPLE", "BUILD_SET", "BUILD_STRING"), (None, 1)),
    **dict.fromkeys(("COMPARE_OP", "IS_OP"), (2, 1)),
    **dict.fromkeys(("UNARY_NOT", "UNARY_NEGATIVE", "UNARY_INVERT", "UNARY_POSITIVE"), (1, 1)),
    "STORE_GLOBAL": (1, 0),
    "STORE_SUBSCR": (3, 0),
    "DELETE_SUBSCR": (2, 0),
}
"""Instructions that use values in other ways: how many (None: the argument tells), and
how many they push."""

_HANDLERS: Final[
    dict[str, Callable[[_Stack, dis.Instruction, Sequence[dis.Instruction]], None]]
] = {
    **dict.fromkeys(
        (
            "RESUME", "NOP", "CACHE", "MAKE_CELL", "COPY_FREE_VARS", "PRECALL", "NOT_EFFECTS",
            "DELETE_FAST", "DELETE_DEREF", "DELETE_GLOBAL",
        ),
        _Stack.nothing,
    ),
    **dict.fromkeys(("LOAD_CONST", "LOAD_CONST_IMMORTAL"), _Stack.load_constant),
    **dict.fromkeys(
        ("LOAD_SMALL_INT", "LOAD_CLOSURE", "LOAD_BUILD_CLASS", "LOAD_LOCALS"), _Stack.load_unknown
    ),
    "PUSH_NULL": _Stack.push_null,
    **dict.fromkeys(("LOAD_GLOBAL", "LOAD_NAME"), _Stack.load_global),
    **dict.fromkeys(
        (
            "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_FAST_AND_CLEAR",
            "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
            "LOAD_DEREF", "LOAD_CLASSDEREF",
        ),
        _Stack.load_local,
    ),
    **dict.fromkeys(
        ("LOAD_FROM_DICT_OR_GLOBALS", "LOAD_FROM_DICT_OR_DEREF"), _Stack.load_from_dict
    ),
    **dict.fromkeys(
        ("STORE_FAST", "STORE_FAST_MAYBE_NULL", "STORE_FAST_STORE_FAST", "STORE_DEREF"),
        _Stack.store_local,
    ),
    "STORE_FAST_LOAD_FAST": _Stack.store_and_load,
    "POP_TOP": _Stack.pop,
    "COPY": _Stack.copy,
    "SWAP": _Stack.swap,
    **dict.fromkeys(("LOAD_ATTR", "LOAD_METHOD"), _Stack.load_attribute),
    **dict.fromkeys(("STORE_ATTR", "DELETE_ATTR"), _Stack.change_attribute),
    **dict.fromkeys(("BINARY_SUBSCR", "BINARY_OP", "CONTAINS_OP"), _Stack.binary),
    "IMPORT_NAME": _Stack.import_name,
    "IMPORT_FROM": _Stack.import_from,
    "KW_NAMES": _Stack.keywords,
    "CALL": _Stack.call,
    "CALL_KW": _Stack.call_with_keywords,
    **dict.fromkeys(_EFFECTS, _Stack.use),
}  # fmt: skip
