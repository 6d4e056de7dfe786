"""Dataclasses and named tuples that cost 30 µs to define.

`dataclasses` needs half a millisecond for a frozen class, nearly all of it for methods that most
programs never call. A warm process defines sixty of whorl's classes: with the library's own
decorator it starts 17 ms later, with its named tuples 6 ms. Here `__init__` is generated once a
class has many instances, the other methods are the same few functions for every class, and what
`dataclasses` records about a class is computed when it is used.

To type checkers, and to `dataclasses.fields`, `replace`, `match` and `pickle`, these are
dataclasses. Only what whorl uses is here: slots always, defaults, default factories, bases,
`__post_init__`.

Named tuples cost as much, half of it for a `__new__` of their own; here they share one.
"""

from __future__ import annotations

import collections
from operator import attrgetter, itemgetter
from reprlib import recursive_repr
from types import MethodType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from whorl.lazy import importing

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass, field, replace
    from typing import NamedTuple

    T = TypeVar("T")

    def make(cls: type[T], values: tuple[Any, ...]) -> T:
        """What `tuple.__new__` does here."""


__all__ = ["NamedTuple", "dataclass", "field", "make", "replace", "setters"]


class _Required:
    """In place of a default that there is none of, or that is made: as `dataclasses` shows it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<factory>"


_REQUIRED: Final = _Required()
_FEW: Final = 8  # instances that are not worth the 60 µs of an `__init__` of their own


class _Factory:
    """The default of a field that is made anew for every instance."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


class _LazyInit:
    """Stands for `__init__`, and generates it once the class has many instances."""

    __slots__ = ("cls", "fields", "instances", "simple")

    cls: type

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields
        self.instances = 0
        self.simple: bool | None = None  # nothing is to be done when all values are given

    def __get__(self, instance: object, owner: type) -> Any:
        self.instances += 1
        if instance is None or instance is self.cls or self.instances > _FEW:  # `inspect` asks so
            return self._written().__get__(instance, owner)
        return MethodType(self._first, instance)

    def _written(self) -> Any:
        init = self.cls.__dict__["__init__"]
        if init is self:
            init = _init_of(self.cls)
            type.__setattr__(self.cls, "__init__", init)
        return init

    def _first(self, instance: Any, /, *args: Any, **kwargs: Any) -> None:
        """What the written one does, in 2 µs instead of one, without the 60 of writing it."""
        fields = self.fields
        if self.simple is None:
            self.simple = not hasattr(self.cls, "__post_init__")
        if self.simple and not kwargs and len(args) == len(fields):
            put = object.__setattr__
            for name, value in zip(fields, args, strict=True):
                put(instance, name, value)
            return
        given = dict(zip(fields, args, strict=False))
        if len(args) > len(fields) or given.keys() & kwargs or kwargs.keys() - fields.keys():
            self._written()(instance, *args, **kwargs)  # which says what is wrong
        given.update(kwargs)
        for name, default in fields.items():
            value = given.get(name, default)
            if value is _REQUIRED:
                self._written()(instance, *args, **kwargs)
            if value is default and type(value) is _Factory:
                value = value.make()
            object.__setattr__(instance, name, value)
        if hasattr(instance, "__post_init__"):
            instance.__post_init__()


class LazyAttribute:
    """Stands for what `dataclasses` keeps on a class until somebody looks at it."""

    __slots__ = ("cls", "name")

    cls: type

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        twin = _library_twin(self.cls)
        value = getattr(twin, self.name)
        type.__setattr__(self.cls, self.name, value)
        return value


def _fields(cls: type) -> dict[str, Any]:
    """The fields of a finished class and of its bases with their defaults, in order."""
    fields: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        fields.update(each.__dict__.get("__own_fields__", {}))
    return fields


def _own_fields(cls: type) -> dict[str, Any]:
    """The fields that a class, not yet finished, is written with."""
    return {
        name: cls.__dict__.get(name, _REQUIRED)
        for name in cls.__dict__.get("__annotations__", ())  # noqa: RUF063 -- as cheap as can be
    }


def _dataclass(
    *, frozen: bool = False, slots: bool, eq: bool = True, weakref_slot: bool = False
) -> Callable[[type], type]:
    assert slots, "all of these have slots"

    def finish(cls: type) -> type:
        own = _own_fields(cls)
        fields = {**_fields(cls), **own}
        body = {
            name: value
            for name, value in cls.__dict__.items()
            if name not in own and name not in ("__dict__", "__weakref__")
        }
        later = (
            _LazyInit(fields),
            LazyAttribute("__dataclass_fields__"),
            LazyAttribute("__dataclass_params__"),
        )
        body.update(
            __qualname__=cls.__qualname__,
            __slots__=(*own, "__weakref__") if weakref_slot else tuple(own),
            __own_fields__=own,
            __dataclass_options__={"frozen": frozen, "eq": eq},
            __match_args__=tuple(fields),
            __dataclass_fields__=later[1],
            __dataclass_params__=later[2],
        )
        body.setdefault("__init__", later[0])
        body.setdefault("__repr__", _repr)
        if eq:
            _add_equality(body, attrgetter(*fields) if fields else _nothing, frozen)
        if frozen:
            body.update(_FROZEN)
        result = type(cls)(cls.__name__, cls.__bases__, body)
        for each in later:
            each.cls = result
        return result

    return finish


def _nothing(instance: object) -> tuple[()]:
    return ()


def _add_equality(body: dict[str, Any], values: Callable[[Any], Any], frozen: bool) -> None:
    def __eq__(self: object, other: object) -> bool:
        if other.__class__ is self.__class__:
            return bool(values(self) == values(other))
        return NotImplemented

    def __hash__(self: object) -> int:
        return hash(values(self))

    if "__hash__" not in body or ("__eq__" in body and body["__hash__"] is None):
        body["__hash__"] = __hash__ if frozen else None
    body.setdefault("__eq__", __eq__)


def _init_of(cls: type) -> Any:
    """`__init__` in straight lines: each value goes to its slot, past a frozen class's guard."""
    fields = _fields(cls)
    names: dict[str, Any] = {"REQUIRED": _REQUIRED}
    parameters, lines = [], []
    for name, default in fields.items():
        names[f"set_{name}"] = getattr(cls, name).__set__
        if default is _REQUIRED:
            parameters.append(name)
        else:
            names[f"default_{name}"] = default
            parameters.append(f"{name}=default_{name}")
        if type(default) is _Factory:
            names[f"default_{name}"] = _REQUIRED
            names[f"make_{name}"] = default.make
            lines.append(f"    if {name} is REQUIRED: {name} = make_{name}()")
        lines.append(f"    set_{name}(self, {name})")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    text = f"def __init__(self, {', '.join(parameters)}):\n" + "\n".join(lines or ["    pass"])
    names["__name__"] = cls.__module__
    exec(text, names)
    init = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = _annotations(cls)
    return init


def _annotations(cls: type) -> dict[str, Any]:
    return {
        name: annotation
        for base in reversed(cls.__mro__)
        if "__own_fields__" in base.__dict__
        for name, annotation in base.__dict__.get("__annotations__", {}).items()  # noqa: RUF063 # as above
    }


def setters(cls: type) -> tuple[Callable[[Any, Any], None], ...]:
    """What sets each field, past a frozen class's guard: for an `__init__` that is written by hand.

    `object.__setattr__` does the same, with twice as many instructions.

    >>> @dataclass(frozen=True, slots=True)
    ... class Point:
    ...     x: int
    >>> (put_x,), point = setters(Point), Point(1)
    >>> put_x(point, 2)
    >>> point
    Point(x=2)
    """
    return tuple([getattr(cls, name).__set__ for name in _fields(cls)])


def _library_twin(cls: type) -> type:
    """A dataclass with the same fields, made by `dataclasses`."""
    with importing:
        import dataclasses

    body: dict[str, Any] = {"__annotations__": _annotations(cls), "__module__": cls.__module__}
    for name, default in _fields(cls).items():
        if type(default) is _Factory:
            body[name] = dataclasses.field(default_factory=default.make)
        elif default is not _REQUIRED:
            body[name] = default
    options = cls.__dict__["__dataclass_options__"]
    return dataclasses.dataclass(**options)(type(cls.__name__, (), body))


@recursive_repr()
def _repr(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({values})"


def _refuse(self: Any, name: str, doing: str) -> None:
    """A subclass that is no dataclass may have attributes of its own."""
    if "__own_fields__" in type(self).__dict__ or name in self.__match_args__:
        with importing:
            from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot {doing} field {name!r}")


def _set(self: Any, name: str, value: object) -> None:
    _refuse(self, name, "assign to")
    object.__setattr__(self, name, value)


def _delete(self: Any, name: str) -> None:
    _refuse(self, name, "delete")
    object.__delattr__(self, name)


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__match_args__]


def _restore(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__match_args__, state, strict=True):
        object.__setattr__(self, name, value)


_FROZEN: Final = {
    "__setattr__": _set,
    "__delattr__": _delete,
    "__getstate__": _state,
    "__setstate__": _restore,
}


def _field(*, default_factory: Callable[[], Any]) -> Any:
    return _Factory(default_factory)


def _replace(instance: Any, /, **changes: Any) -> Any:
    for name in instance.__match_args__:
        if name not in changes:
            changes[name] = getattr(instance, name)
    return instance.__class__(**changes)


# -- Named tuples ------------------------------------------------------------------------------


_getter: Any = getattr(collections, "_tuplegetter", lambda place, _: property(itemgetter(place)))
"""What reads one item of a tuple; where there is none in C, a property does the same."""


class _MakesTuples(type):
    """Whatever is derived from `NamedTuple` is a tuple with names, of no class of ours."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
        if not bases:
            return super().__new__(cls, name, bases, body)
        fields = tuple(body.get("__annotations__", ()))
        defaults = {each: body.pop(each) for each in fields if each in body}
        getters = {each: _getter(place, "") for place, each in enumerate(fields)}
        body_of_tuple = {
            "__slots__": (),
            "__match_args__": fields,
            "_fields": fields,
            "_field_defaults": defaults,
            "__new__": _tuple_new(len(fields), tuple(defaults.values())),
        }
        return type(name, (tuple,), {**_SHARED, **body_of_tuple, **getters, **body})


def _tuple_new(count: int, defaults: tuple[Any, ...]) -> Callable[..., Any]:
    make, least = tuple.__new__, count - len(defaults)

    def __new__(_cls: Any, *args: Any, **named: Any) -> Any:
        given = len(args)
        if named or not least <= given <= count:
            args = _complete(_cls, args, named)
        elif given != count:
            args += defaults[given - least :]
        return make(_cls, args)

    return __new__


def _complete(cls: Any, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """All values in the order of their fields; a call that cannot be is refused as Python would."""
    fields = cls._fields
    values = {**cls._field_defaults, **named, **dict(zip(fields, args, strict=False))}
    if len(args) > len(fields) or len(values) != len(fields) or named.keys() & fields[: len(args)]:
        defaults = cls._field_defaults.values()
        return collections.namedtuple(cls.__name__, fields, defaults=defaults)(*args, **named)
    return tuple([values[each] for each in fields])


def _tuple_repr(self: Any) -> str:
    values = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"{type(self).__name__}({values})"


def _replace_in_tuple(_self: Any, /, **changes: Any) -> Any:
    values = dict(zip(_self._fields, _self, strict=True))
    if not changes.keys() <= values.keys():
        unknown = [name for name in changes if name not in values]
        raise TypeError(f"Got unexpected field names: {unknown!r}")
    return _self._make({**values, **changes}.values())


def _plain_tuple(self: Any) -> tuple[Any, ...]:
    return tuple(self)


def _make_tuple(cls: Any, values: Any) -> Any:
    result = tuple.__new__(cls, values)
    if len(result) != len(cls._fields):
        raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(result)}")
    return result


def _as_dict(self: Any) -> dict[str, Any]:
    return dict(zip(self._fields, self, strict=True))


_SHARED: Final = {
    "__repr__": _tuple_repr,
    "__getnewargs__": _plain_tuple,
    "_replace": _replace_in_tuple,
    "__replace__": _replace_in_tuple,
    "_make": classmethod(_make_tuple),
    "_asdict": _as_dict,
}


class _NamedTuple(metaclass=_MakesTuples):
    """Stands for `typing.NamedTuple`."""


if not TYPE_CHECKING:
    dataclass, field, replace, NamedTuple = _dataclass, _field, _replace, _NamedTuple
    # `make(Hint, (rows, shapes))` is `Hint(rows, shapes)` where nothing is left to a default and
    # where it counts: a quarter of the instructions.
    make = tuple.__new__
