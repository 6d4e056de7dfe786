"""The annotations of functions and classes, evaluated as far as that runs no code of the user.

Until Python 3.13 annotations are values, evaluated when the function or class is defined. From 3.14
on they are expressions that are evaluated on demand (PEP 649). That would run the user's code, and
fail if a name is not defined. So the code of the expressions is run over `Term`s in place of the
names, which is what PEP 649 has it for: each operation on a term only makes another term. The terms
are then evaluated as far as that runs nothing of the user: names, attributes of modules and
classes, `list[int]`, `int | None`. The rest is an `Unevaluated`: the operation and its operands.

It makes no difference whether the annotations have been evaluated before, unless they have been
changed since then.
"""

from __future__ import annotations

import enum
import gc
import opcode
import operator
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from whorl.signals import pass_on

from .boundary import DEFAULT_BOUNDARY
from .bytecode import nested_codes
from .digest import LEAVES
from .static_lookup import (
    ABSENT,
    captured,
    class_vars,
    derives,
    find,
    lazy_submodule,
    module_attribute,
    module_vars,
    qualname,
    reified,
    type_name,
)

__all__ = ["Unevaluated", "annotations_of", "names_in_annotations"]


class Unevaluated:
    """An operation that would run code of the user, and its operands, evaluated if possible.

    >>> Unevaluated("getitem", list, Unevaluated("undefined", "Node"))
    list[Node]
    """

    __slots__ = ("operands", "operation")

    def __init__(self, operation: str, *operands: object) -> None:
        self.operation = operation
        self.operands = operands

    def __repr__(self) -> str:
        """The expression for people."""
        if self.operation == "undefined":
            return str(self.operands[0])
        if self.operation == ".":
            return f"{_shown(self.operands[0])}.{self.operands[1]}"
        shown = [_shown(each) for each in self.operands]
        match self.operation, shown:
            case "getitem", [around, inside]:
                return f"{around}[{inside}]"
            case "or", [left, right]:
                return f"{left} | {right}"
            case "call", [called, arguments, keywords]:
                return f"{called}({', '.join(filter(None, (arguments, keywords)))})"
            case "tuple", _:
                return ", ".join(shown)
        return f"{self.operation}({', '.join(shown)})"


def _shown(value: Any) -> str:
    """An operand as text, without running any code of its class."""
    kind = type(value)
    if kind in LEAVES or kind is bytes or kind is Unevaluated:
        return repr(value)
    if derives(kind, type):
        return qualname(value)
    if kind is types.FunctionType or kind is types.BuiltinFunctionType:
        return str(value.__qualname__)
    if kind is tuple:
        return ", ".join(map(_shown, value))
    if kind is dict:
        return ", ".join(f"{name}={_shown(each)}" for name, each in value.items())
    return repr(value) if kind.__module__ in _TYPING else f"<{type_name(kind)}>"


def annotations_of(owner: types.FunctionType | type) -> dict[str, Any]:
    """The annotations of a function or of a class itself, by name.

    >>> def f(a: int, b: "Node") -> None: ...
    >>> annotations_of(f)
    {'a': 'int', 'b': "'Node'", 'return': 'None'}
    """
    annotate, evaluated = _stored(owner)
    if annotate is None:
        return evaluated if type(evaluated) is dict else {}
    if not _is_compiled(annotate.__code__):
        return _in_library(annotate) or evaluated or {}
    written = _written(annotate)
    if evaluated is None or _WHOLE in written:
        return written
    # Others see the evaluated value, which may have been changed since.
    return {
        name: part if type(part := written.get(name, value)) is Unevaluated else value
        for name, value in evaluated.items()
    }


def names_in_annotations(function: types.FunctionType) -> tuple[str, ...]:
    """The global names that are looked up when the annotations of a function are evaluated."""
    annotate, _ = _stored(function)
    return () if annotate is None else annotate.__code__.co_names


def _stored(
    owner: types.FunctionType | type,
) -> tuple[types.FunctionType | None, dict[str, Any] | None]:
    """The function that evaluates deferred annotations, and those that are evaluated already."""
    if type(owner) is types.FunctionType:
        function = cast("Any", owner)
        annotate = function.__annotate__ if sys.version_info >= (3, 14) else None
        if type(annotate) is types.FunctionType:
            return annotate, _evaluated_before(owner)
        return None, owner.__annotations__
    stored = class_vars(owner)
    evaluated = stored.get("__annotations_cache__", stored.get("__annotations__"))
    annotate = stored.get("__annotate_func__", stored.get("__annotate__"))
    if sys.version_info < (3, 14) or type(annotate) is not types.FunctionType:
        annotate = None
    return annotate, evaluated if type(evaluated) is dict else None


def _evaluated_before(function: types.FunctionType) -> dict[str, Any] | None:
    """The evaluated annotations of a function; its attribute would evaluate the others.

    They are the one dict that it refers to beside those that its other attributes give.
    """
    others = (
        function.__dict__,
        function.__globals__,
        cast("Any", function).__builtins__,
        function.__kwdefaults__,
        function.__doc__,
    )
    for referent in gc.get_referents(function):
        if type(referent) is dict and not any(referent is other for other in others):
            return referent
    return None


# -- terms ------------------------------------------------------------------------------


class Term:
    """An expression that records the operations on it. It has no attributes."""

    __slots__ = ("operands", "operation")

    def __init__(self, operation: str, *operands: object) -> None:
        _set_operation(self, operation)
        _set_operands(self, operands)

    def __getattribute__(self, name: str) -> Term:
        return Term(".", self, name)

    def __call__(self, *arguments: object, **keywords: object) -> Term:
        return Term("call", self, arguments, keywords)

    def __iter__(self) -> Iterator[Term]:
        yield Term("*", self)

    def _undecided(self, *others: object) -> Any:
        raise _Undecided

    __bool__ = __str__ = __repr__ = __format__ = _undecided
    __hash__ = object.__hash__


class _Undecided(Exception):
    """The value of an expression would have to be known."""


_set_operation: Final = Term.operation.__set__  # type: ignore[attr-defined]  # a slot
_set_operands: Final = Term.operands.__set__  # type: ignore[attr-defined]  # as above
_operation: Final[Callable[[Term], str]] = Term.operation.__get__  # type: ignore[attr-defined]
_operands: Final[Callable[[Term], tuple[Any, ...]]] = Term.operands.__get__  # type: ignore[attr-defined]

_UNARY: Final = ("neg", "pos", "invert")
_BINARY: Final = (
    "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and",
    "or", "xor",
)  # fmt: skip
_COMPARING: Final = ("eq", "ne", "lt", "le", "gt", "ge", "getitem")


def _operations() -> None:
    """Add the operators of terms, which are all alike."""

    def forwards(name: str) -> Callable[..., Term]:
        return lambda *operands: Term(name, *operands)

    def backwards(name: str) -> Callable[..., Term]:
        return lambda right, left: Term(name, left, right)

    for name in (*_UNARY, *_BINARY, *_COMPARING):
        setattr(Term, f"__{name}__", forwards(name))
    for name in _BINARY:
        setattr(Term, f"__r{name}__", backwards(name))


_operations()


class _Names(dict[str, object]):
    """A scope in which every name is defined, as a term."""

    def __missing__(self, name: str) -> Term:
        return Term("name", name)


_FAKE_GLOBALS: Final = 2  # annotationlib.Format.VALUE_WITH_FAKE_GLOBALS
_CONDITIONS: Final = "__conditional_annotations__"  # numbers of those that were reached
_CLASS: Final = "__classdict__"
_WHOLE: Final = "__annotate__"  # the name of what stands for all annotations together


def _written(annotate: types.FunctionType) -> dict[str, Any]:
    """The annotations of deferred expressions."""
    code, scope = annotate.__code__, _ExpressionScope(annotate)
    terms = _terms(annotate)
    if terms is not None:
        try:
            return {name: scope.value(term) for name, term in terms.items()}
        except _Undecided:
            pass
    # They branch, loop or have functions in them: their code counts, and the values of its names.
    names = {name for inner in nested_codes(code) for name in (*inner.co_names, *inner.co_freevars)}
    values = {name: scope.find(name) for name in sorted(names - {_CLASS, _CONDITIONS, "format"})}
    return {_WHOLE: Unevaluated("code", code, values)}


def _is_compiled(code: types.CodeType) -> bool:
    """Whether code was compiled from annotations, rather than written as a function."""
    around, _, name = code.co_qualname.rpartition(".")
    return name == "__annotate__" and around[-8:] != "<locals>" and code.co_argcount == 1


def _in_library(annotate: types.FunctionType) -> dict[str, Any]:
    """The annotations of a typed dict, named tuple or dataclass, which the library has captured."""
    contents = [*captured(annotate).values()]
    annotations: dict[str, Any] = {}
    for each in contents:
        if type(each) is types.FunctionType and _is_compiled(each.__code__):
            annotations |= _written(each)
    if not annotations:
        for each in contents:
            if type(each) is dict:
                annotations |= {
                    name: annotation for name, annotation in each.items() if type(name) is str
                }
    return annotations


def _terms(annotate: types.FunctionType) -> dict[str, object] | None:
    code = annotate.__code__
    if any(type(each) is types.CodeType for each in code.co_consts) or _loops(code):
        return None
    names = _Names()
    cells: list[types.CellType] = []
    for name, cell in zip(code.co_freevars, annotate.__closure__ or (), strict=True):
        if name == _CONDITIONS:
            cells.append(cell)
        else:
            cells.append(types.CellType(names if name == _CLASS else names[name]))
    if _CONDITIONS in annotate.__globals__:  # of a module
        names[_CONDITIONS] = annotate.__globals__[_CONDITIONS]
    function = types.FunctionType(code, names, closure=tuple(cells))
    try:
        return cast("dict[str, object]", function(_FAKE_GLOBALS))
    except (RecursionError, MemoryError):
        raise
    except Exception as error:  # a term is compared, formatted, counted
        pass_on(error)
        return None


def _loops(code: types.CodeType) -> bool:
    return opcode.opmap["FOR_ITER"] in code.co_code[::2]


# -- values -----------------------------------------------------------------------------


class _ExpressionScope:
    """The scope of an expression: finds its names and evaluates its terms."""

    def __init__(self, annotate: types.FunctionType) -> None:
        variables = captured(annotate)
        around = variables.pop(_CLASS, None)
        self._places: tuple[Mapping[str, object], ...] = (
            cast("Mapping[str, object]", around)
            if type(around) in (dict, types.MappingProxyType)
            else {},
            {name: value for name, value in variables.items() if value is not ABSENT},
            annotate.__globals__,
            cast("Any", annotate).__builtins__,
        )

    def find(self, name: str) -> object:
        """The value of a name."""
        for place in self._places:
            if name in place:
                return reified(place[name])
        return Unevaluated("undefined", name)

    def value(self, part: object) -> object:
        """A part of an expression, evaluated if that runs nothing of the user."""
        kind = type(part)
        if kind in LEAVES or kind is bytes:
            return part
        if kind is Term:
            operation = _operation(cast("Term", part))
            operands = _operands(cast("Term", part))
            if operation == "name":
                return self.find(operands[0])
            return _evaluated(operation, *map(self.value, operands))
        if kind is tuple or kind is list:
            parts = [self.value(each) for each in cast("Any", part)]
            return _together(kind.__name__, tuple(parts) if kind is tuple else parts, parts)
        if kind is dict:
            pairs = cast("dict[Any, object]", part)
            if all(type(key) in LEAVES for key in pairs):
                entries = {key: self.value(each) for key, each in pairs.items()}
                return _together("dict", entries, [*entries.values()])
        if kind is slice:
            bounds = cast("slice[Any, Any, Any]", part)
            ends = [self.value(each) for each in (bounds.start, bounds.stop, bounds.step)]
            return _together("slice", slice(*ends), ends)
        if kind is frozenset:  # a constant
            return part
        raise _Undecided


def _together(name: str, value: object, parts: list[object]) -> object:
    return Unevaluated(name, *parts) if any(type(each) is Unevaluated for each in parts) else value


def _evaluated(operation: str, *operands: Any) -> object:
    if not any(type(each) is Unevaluated for each in operands):
        evaluate = _EVALUATED.get(operation)
        value = ABSENT if evaluate is None else evaluate(*operands)
        if value is not ABSENT:
            return value
    return Unevaluated(operation, *operands)


def _attribute(holder: object, name: str) -> object:
    """An attribute of a module or class, or ABSENT if the access would run code."""
    if derives(type(holder), types.ModuleType):
        module = cast("types.ModuleType", holder)
        value = reified(module_attribute(module, name))
        if value is ABSENT:
            value = lazy_submodule(module_vars(module), name)
        if value is ABSENT and _is_library(module):
            value = getattr(holder, name, ABSENT)  # many load their parts on demand
        return value
    if derives(type(holder), type):
        cls = cast("type", holder)
        if derives(type(cls), enum.EnumMeta):
            return class_vars(cls).get("_member_map_", {}).get(name, ABSENT)
        value = find(cls, name)
        if type(value) in LEAVES or derives(type(value), type):
            return value
    return ABSENT


def _is_library(module: types.ModuleType) -> bool:
    stored = module_vars(module)
    name, file = stored.get("__name__"), stored.get("__file__")
    if type(name) is not str:
        return False
    home = DEFAULT_BOUNDARY.home(name, file if type(file) is str else None)
    return home.kind != "user"


def _item(generic: object, key: object) -> object:
    """`list[int]`, or ABSENT for a class with a `__class_getitem__` of the user."""
    parts = key if type(key) is tuple else (key,)
    if not _is_generic(generic) or not all(map(_is_inert, parts)):
        return ABSENT
    try:
        return cast("Any", generic)[key]
    except (RecursionError, MemoryError):
        raise
    except Exception as error:  # there is no such type
        pass_on(error)
        return ABSENT


def _either(left: object, right: object) -> object:
    """`int | None`."""
    if not (_is_inert(left) and _is_inert(right)):
        return ABSENT
    try:
        return operator.or_(cast("Any", left), right)
    except (RecursionError, MemoryError):
        raise
    except Exception as error:  # there is no such type
        pass_on(error)
        return ABSENT


def _is_generic(value: object) -> bool:
    """Whether `value[...]` is evaluated by Python or by typing."""
    if not derives(type(value), type):
        return type(value).__module__ in _TYPING
    cls = cast("type", value)
    getitem = find(cls, "__class_getitem__")
    if find(type(cls), "__getitem__") is not ABSENT:
        return False
    inner = getitem.__func__ if type(getitem) is classmethod else getitem
    if type(inner) is types.FunctionType:
        return inner.__globals__.get("__name__") == "typing"
    return inner is types.GenericAlias or type(inner) in _BUILTIN


_TYPING: Final = ("typing", "types")
_BUILTIN: Final = (types.ClassMethodDescriptorType, types.BuiltinFunctionType)


def _is_inert(value: object) -> bool:
    """Whether comparison, hash and `|` of a value are Python's own code."""
    kind = type(value)
    if kind in LEAVES or kind is bytes:
        return True
    if kind is tuple or kind is list:
        return all(map(_is_inert, cast("Any", value)))
    if derives(kind, type):
        plain = class_vars(type)
        return all(
            find(kind, name) is plain.get(name, class_vars(object).get(name))
            for name in _METHODS_USED
        )
    return kind.__module__ in _TYPING or kind.__module__.partition(".")[0] == "whorl"


_METHODS_USED: Final = ("__hash__", "__eq__", "__or__", "__ror__")
_EVALUATED: Final[dict[str, Callable[..., object]]] = {
    ".": _attribute,
    "getitem": _item,
    "or": _either,
}
