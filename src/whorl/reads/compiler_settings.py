"""The settings of a compiler, and their reads, which are made with every compile.

A compiler reads its own attributes without a record, so all of them count, by value, unless it
names in `settings` those that do. That no attribute was added since is a read too.

    settings = ("flags",)        these, wherever they are found: instance, class, property
    no `settings`                all that the instance holds, but for what the protocol knows,
                                 what is marked `whorl.exclude`, and cached properties
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whorl.lazy import lazy_module

from .trace import Aspect, Path, Read, Step

if TYPE_CHECKING:
    from whorl.fingerprint import layout as layouts
else:
    layouts = lazy_module(
        "whorl.fingerprint.layout", globals()
    )  # not for those that declare settings


PROTOCOL: Final = frozenset(
    (
        "name", "version", "environment", "toolchain", "target", "settings", "compile", "load",
        "before_compile", "ignores", "code",
    )
)  # fmt: skip
"""What the protocol asks a compiler for: part of the program, or asked anew for every call."""


def declared_settings(compiler: object) -> tuple[str, ...] | None:
    """The attributes that a compiler names; None if it names none."""
    declared = getattr(compiler, "settings", None)
    if declared is None:
        return None
    if not isinstance(declared, tuple | list) or not all(type(name) is str for name in declared):
        raise TypeError(
            f"{type(compiler).__name__}.settings names the attributes that decide what it makes: "
            f'a tuple such as ("flags",), not {declared!r}'
        )
    return tuple(declared)


def setting_reads(compiler: object) -> tuple[Read, ...]:
    """What a compile depends on of its compiler.

    >>> class Compiler:
    ...     def __init__(self): self.flags = "-O2"
    >>> [str(read) for read in setting_reads(Compiler())]
    ['compiler:flags value', 'compiler:__dict__ len']
    """
    declared = declared_settings(compiler)
    if declared is not None:
        return tuple(map(_setting, declared))
    if layouts.has_hidden_state(type(compiler)):  # part of it is seen by nobody but a fingerprint
        return (Read(Path("compiler", ""), Aspect.VALUE),)
    layout = layouts.layout_of(type(compiler))
    slots = tuple(name for name, _ in layout.slots if type(name) is str)
    names = sorted({*slots, *attribute_names(compiler)} - PROTOCOL)
    return (*map(_setting, names), *_none_other(layout))


def attribute_names(compiler: object) -> tuple[str, ...]:
    """The names of the attributes that an instance holds and that count."""
    state = layouts.state_of(layouts.layout_of(type(compiler)), compiler)
    return tuple(sorted(name for name in state if type(name) is str))


def _none_other(layout: layouts.Layout) -> tuple[Read, ...]:
    """How many there are says that there are no others; where some do not count, their names."""
    if not layout.has_dict:
        return ()
    if layout.hidden == layouts.layout_of(object).hidden:
        return (Read(Path("compiler", "__dict__"), Aspect.LEN),)
    return (Read(Path("compiler", "", (Step("settings", None),)), Aspect.VALUE),)


def _setting(name: str) -> Read:
    return Read(Path("compiler", name), Aspect.VALUE)
