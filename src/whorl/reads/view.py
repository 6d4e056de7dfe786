"""Views of values, which record what a compile reads of them.

Walking records nothing, except that something is absent. Asking for an aspect records it,
with the fact and the source line. A read that was made before is not made again.
"""

from __future__ import annotations

import linecache
import os
import sys
import types
import typing
from collections.abc import Hashable, Iterator
from pathlib import PurePath
from typing import Any, Final

import numpy as np

from whorl.errors import UnsupportedRead
from whorl.fingerprint.bytecode import reads_of
from whorl.fingerprint.names import known_module_name
from whorl.fingerprint.source import code_digest
from whorl.fingerprint.static_lookup import qualname, type_name

from .facts import durable, is_array
from .trace import Aspect, NoKey, Path, Plain, Read, Seen, Step, Trace, is_plain_key, key_code
from .value_fact import SIMPLE, NotRecorded, OnlyHere, is_only_here, known_here, refusal_fact
from .world import ABSENT, World, function_behind, global_path, own_module, walk, walk_or_error

_HERE: Final = PurePath(__file__).parent


class AbsentRead(AttributeError, LookupError):
    """A compile asked for something that is not there. That it is not is recorded.

    >>> issubclass(AbsentRead, AttributeError)
    True
    """


class Recorder:
    """The reads of one compile, in the order of their first occurrence."""

    def __init__(self, world: World, *, by_identity: bool = False) -> None:
        self.world = world
        self.only_here: list[str] = []  # why the result is good for this process only
        self._by_identity = by_identity
        self._seen: dict[Read, Seen] = {}
        self._refused: dict[Read, Seen] = {}  # what has no fact: who goes on knows that much
        self._walked: dict[Path, str] = {}
        self._values: dict[Path, Any] = {}
        self.program_line: str | None = None  # that is being compiled, if the compiler says which

    @property
    def trace(self) -> Trace:
        """What has been seen so far.

        That something was walked to says that it is there. Most often a later read of it, or of
        what is behind it, says so anyway.
        """
        known: set[Path] = set()
        for seen in self._seen.values():
            if seen.read.aspect is not Aspect.PRESENT or seen.fact is True:
                for path in (seen.read.path, *seen.read.beside):
                    known.update(
                        Path(path.root, path.name, path.steps[:n])
                        for n in range(len(path.steps) + 1)
                    )
        there = (
            Seen(Read(path, Aspect.PRESENT), True, line)
            for path, line in self._walked.items()
            if path not in known
        )
        return Trace((*self._seen.values(), *self._refused.values(), *there))

    def walked(self, path: Path) -> None:
        """Take note that there is something at a path. Parameters are always there."""
        if (path.steps or path.root != "arg") and path not in self._walked:
            self._walked[path] = self.line

    def view(self, path: Path, value: Any, error: Exception | None = None) -> View:
        """The view of the value at a path; `AbsentRead` if there is none.

        The first value at a path stays the one of this compile: a property may return
        something else each time, and another thread may bind something else meanwhile.
        """
        value = self._values.setdefault(path, value)
        if value is ABSENT:
            try:
                raise self.absent(path) from error
            finally:
                del error  # with which this frame would keep itself alive
        self.walked(path)
        return View(path, value, self)

    def see(self, read: Read, value: Any, *beside: Any) -> Plain:
        """Record a read, and return the fact."""
        known = self._seen.get(read)
        if known is not None:
            return known.fact
        line = self.line
        try:
            fact = durable(read.aspect, value, *beside)
        except NotRecorded as error:
            if not self._by_identity:
                self._refused[read] = Seen(read, refusal_fact(value, error), line)
                path, culprit, remedy = read.path, value, ""
                if read.aspect is Aspect.ALIAS:
                    remedy = "Look whether both are arrays before asking which memory they share."
                    if is_array(value):
                        path, culprit = read.beside[0], beside[0]
                raise UnsupportedRead(
                    str(path), type_name(type(culprit)), error.reason, line, remedy
                ) from error
            fact = OnlyHere(("identity", known_here(value)))
        if is_only_here(fact):
            self.only_here.append(f"{read} is known by identity alone")
        self._seen[read] = Seen(read, fact, line)
        return fact

    @property
    def line(self) -> str:
        """The source line that makes a read: the program's if the compiler names it, or its own."""
        return _calling_line() if self.program_line is None else self.program_line

    def key_step(self, path: Path, key: Any) -> Step:
        """The step to the item of a key."""
        if is_plain_key(key):
            return Step("item", key)
        try:
            return Step("keyed", key_code(key))
        except NoKey:
            reason = "what it is the key of cannot be found again in another process"
            if not self._by_identity or not isinstance(key, Hashable):
                raise UnsupportedRead(
                    f"{path}[...]", type_name(type(key)), reason, self.line
                ) from None
            self.only_here.append(f"{path}[...] is known by identity alone: {reason}")
            return Step("item", key)

    def absent(self, path: Path) -> AbsentRead:
        """Record that there is nothing at a path; the error to raise."""
        read = Read(path, Aspect.PRESENT)
        if read not in self._seen:
            self._seen[read] = Seen(read, False, self.line)
        return AbsentRead(f"there is no {path}")


def _calling_line() -> str:
    """The line outside of this package that makes a read."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and PurePath(frame.f_code.co_filename).parent == _HERE:
        frame = frame.f_back
    if frame is None:
        return ""
    name, number = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(name, number).strip()
    return f"{PurePath(name).name}:{number}" + (f": `{text}`" if text else "")


class View:
    """A value at a path, looked at through a recorder.

    >>> import types
    >>> def kernel(state): ...
    >>> recorder = Recorder(World(kernel, {"state": types.SimpleNamespace(tile=64, uid=object())}))
    >>> view = Inputs(recorder).arg("state")
    >>> view.attr("tile").value()
    64
    >>> [str(seen) for seen in recorder.trace.seen]
    ['arg:state.tile value = 64']
    """

    __slots__ = ("_recorder", "_value", "path")

    def __init__(self, path: Path, value: Any, recorder: Recorder) -> None:
        self.path = path
        self._value = value
        self._recorder = recorder

    def __repr__(self) -> str:
        return f"<view of {self.path}>"

    # -- walking ------------------------------------------------------------------------

    def attr(self, name: str) -> View:
        """The attribute of this name; `AbsentRead` if there is none."""
        return self._step(Step("attr", name))

    def item(self, key: Plain) -> View:
        """The item at an index or key; `AbsentRead` if there is none.

        What a `defaultdict` would make up for it is not there either: looking inserts nothing.
        """
        if isinstance(key, np.integer):
            key = int(key)
        return self._step(self._recorder.key_step(self.path, key))

    def _step(self, step: Step) -> View:
        value, error = walk_or_error(self._value, step)
        try:
            return self._recorder.view(self.path.then(step), value, error)
        finally:
            del error  # with which this frame would keep itself alive

    # -- looking ------------------------------------------------------------------------

    def peek(self) -> Any:
        """The value, unrecorded: only to decide in which way it is looked at.

        What is made of it must not depend on more than is then asked for.
        """
        return self._value

    def has(self, name: str) -> bool:
        """Whether there is an attribute of this name (aspect `present`)."""
        step = Step("attr", name)
        path = self.path.then(step)
        if walk(self._value, step) is ABSENT:
            self._recorder.absent(path)
            return False
        self._recorder.see(Read(path, Aspect.PRESENT), True)
        return True

    def attr_if_any(self, name: str) -> View | None:
        """The attribute of this name, or None, which is recorded; what it raises otherwise."""
        step = Step("attr", name)
        path = self.path.then(step)
        value, error = walk_or_error(self._value, step)
        if value is not ABSENT:
            return self._recorder.view(path, value)
        self._recorder.absent(path)
        if error is not None and not isinstance(error, AttributeError):
            raise error
        return None

    def type(self) -> Plain:
        """The signature (aspect `type`): the value is then free to change."""
        return self._see(Aspect.TYPE)

    def array(self) -> Plain:
        """dtype, dimensions, layout and access of an array (aspect `array`)."""
        return self._see(Aspect.ARRAY)

    def value(self) -> Any:
        """The value itself (aspect `value`): it is then a constant of the compile."""
        self._see(Aspect.VALUE)
        return self._value

    def len(self) -> int:
        """How many items there are (aspect `len`)."""
        fact = self._see(Aspect.LEN)
        if type(fact) is OnlyHere:
            return len(self._value)
        number: int = fact[-1] if type(fact) is tuple else fact  # as recorded, not as it is now
        return number

    def code(self) -> CodeView:
        """The function that is really called here (aspect `code`)."""
        self._see(Aspect.CODE)
        function = function_behind(self._value)
        if not isinstance(function, types.FunctionType):
            raise UnsupportedRead(
                str(self.path),
                type_name(type(self._value)),
                "it has no code in Python",
                self._recorder.line,
                "Let it be a function that is written in Python.",
            )
        return CodeView(self.path, self._value, function, self._recorder)

    def alias(self, other: View) -> str:
        """Whether two arrays are "same", "overlapping" or "distinct" (aspect `alias`)."""
        read = Read(self.path, Aspect.ALIAS, (other.path,))
        return str(self._recorder.see(read, self._value, other._value))

    def c_signature(self) -> str:
        """What a function of C returns and takes, which is read by value."""
        text: str = self._step(Step("C signature", None)).value()
        return text

    def c_address(self) -> View:
        """Where a function of C is: a number of the launch."""
        view = self._step(Step("C address", None))
        view.type()
        return view

    def is_none(self) -> bool:
        """Whether this is None: a question about the type, not the value."""
        return bool(self.type() == ("NoneType",))

    def is_instance(self, classes: Any) -> bool:
        """Whether this is an instance of a class, or of one of some.

        What is recorded is the answer, unless the type says it anyway.
        """
        if isinstance(classes, types.UnionType) or typing.get_origin(classes) is typing.Union:
            classes = classes.__args__
        if type(classes) is tuple:
            return any(map(self.is_instance, classes))
        check: Any = type(classes).__instancecheck__  # of an abstract class, methods decide
        is_plain = check is type.__instancecheck__
        if is_plain and self._tells_bases():
            return isinstance(self._value, classes)
        if not isinstance(classes, type):
            raise TypeError("isinstance() arg 2 must be a type, a tuple of types, or a union")
        try:
            step = Step("isinstance", key_code(classes))
        except NoKey:
            reason = f"{qualname(classes)} cannot be found again in another process"
            name = type_name(type(self._value))
            remedy = "Define the class at the top of its module."
            raise UnsupportedRead(
                str(self.path), name, reason, self._recorder.line, remedy
            ) from None
        return bool(self._step(step).value())

    def _tells_bases(self) -> bool:
        """Whether the type, which is read here, says what the class is derived from."""
        cls = type(self._value)
        if cls is np.ndarray or (type(cls) is type and cls in SIMPLE):
            self.type()
            return True
        known = self.type()
        return type(known) is tuple and known[:1] == ("object",)

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} is neither true nor false: ask for its value()")

    def __iter__(self) -> Iterator[View]:
        """The items of a list or tuple, the keys of a dict: how many is recorded (aspect `len`).

        A set has no order, so it is read by value first.
        """
        if isinstance(self._value, set | frozenset):
            self.value()
            operation = "member"
        else:
            operation = "item" if isinstance(self._value, list | tuple) else "key"
        for i in range(self.len()):
            yield self._step(Step(operation, i))

    def _see(self, aspect: Aspect) -> Plain:
        return self._recorder.see(Read(self.path, aspect), self._value)


class CodeView:
    """A function whose code was read: its text, and what that reads, as views."""

    __slots__ = ("_recorder", "_value", "function", "path")

    def __init__(
        self, path: Path, value: Any, function: types.FunctionType, recorder: Recorder
    ) -> None:
        self.path = path
        self.function = function
        self._value = value
        self._recorder = recorder

    @property
    def digest(self) -> str:
        """The digest of the function's own code."""
        return code_digest(self.function.__code__).hex

    @property
    def source(self) -> str | None:
        """The text, without comments and decorators; None where there is none to trust.

        It shows docstrings and how annotations and defaults are written, which are not part of the
        code's digest: so the text is read by value.
        """
        text: str | None = self._at(self.path.then(Step("written", None))).value()
        return text

    @property
    def name(self) -> str:
        """The module and the name of the function, which are read by value."""
        module = own_module(self.function)  # which is part of the fact of its code
        if module is None:
            name = self._at(self.path.then(Step("behind", "__module__"))).value()
            module = known_module_name(str(name))
        qualname = self._at(self.path.then(Step("behind", "__qualname__"))).value()
        return f"{module}.{qualname}"

    @property
    def global_names(self) -> tuple[str, ...]:
        """The names of the globals it reads, those in functions nested in it too."""
        return tuple(sorted({read.name for read in reads_of(self.function.__code__).globals}))

    @property
    def cell_names(self) -> tuple[str, ...]:
        """The names of the variables it closes over."""
        return self.function.__code__.co_freevars

    def glob(self, name: str) -> View:
        """A global of the function; `AbsentRead` if it is not defined."""
        return self._at(global_path(self.path, self.function, name))

    def cell(self, name: str) -> View:
        """A variable that the function closes over."""
        return self._at(self.path.then(Step("cell", name)))

    def default(self, name: str) -> View:
        """The default of a parameter."""
        return self._at(self.path.then(Step("default", name)))

    def annotation(self, name: str) -> str:
        """The annotation of a parameter as it is written; `AbsentRead` if there is none.

        It is read by value: the digest of the code says only that there is one.
        """
        annotation: str = self._at(self.path.then(Step("annotation", name))).value()
        return annotation

    def evaluated_annotation(self, name: str) -> View:
        """What the annotation of a parameter was when the function was made."""
        every = self.path.then(Step("behind", "__annotations__"))
        if self._recorder.world.find(every) is ABSENT:  # some cannot be evaluated
            return self._at(self.path.then(Step("evaluated", name)))
        return self._at(every.then(Step("item", name)))

    def _at(self, path: Path) -> View:
        return self._recorder.view(path, self._recorder.world.find(path))


class Inputs:
    """What a compile may look at.

    >>> def kernel(n): ...
    >>> recorder = Recorder(World(kernel, {"n": 3}, options={"opt_level": 2}))
    >>> inputs = Inputs(recorder)
    >>> inputs.arg("n").type(), inputs.option("opt_level")
    (('int',), 2)
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def asking(self, line: str) -> None:
        """Say which line of the program the reads from here on are for."""
        self._recorder.program_line = line

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(self._recorder.world.arguments)

    def arg(self, name: str) -> View:
        """An argument."""
        return self._at(Path("arg", name))

    def glob(self, module: str, name: str) -> View:
        """A global of a module."""
        return self._at(Path("global", f"{module}.{name}"))

    def function(self) -> CodeView:
        """The function that is compiled. Its code is part of the program, not a read."""
        function = self._recorder.world.function
        return CodeView(Path("func", function.__qualname__), function, function, self._recorder)

    def env(self, name: str) -> str | None:
        """A declared environment variable; its default if it is not set."""
        world = self._recorder.world
        if name not in world.environment:
            raise KeyError(
                f"the compiler does not declare the environment variable {name!r}: add it to "
                "its `environment`, with the default that being unset means"
            )
        value: str | None = self._value(Path("env", name))
        return value

    def file(self, name: str | os.PathLike[str]) -> bytes:
        """The content of a file, beside that of the function if the name is relative."""
        text = os.fspath(name) if isinstance(name, str | os.PathLike) else None
        if type(text) is not str:
            raise TypeError(f"a file is named by a str or a path, not by {name!r}")
        content: bytes = self._value(Path("file", text))
        return content

    def option(self, name: str) -> Any:
        """An option of the kernel."""
        return self._value(Path("option", name))

    def target(self, name: str) -> Any:
        """A property of the target."""
        return self._value(Path("target", name))

    def target_names(self) -> tuple[str, ...]:
        """The names of the target's properties, in their order."""
        names: tuple[str, ...] = self._value(Path("target", ""))
        return names

    def everything(self) -> dict[str, Any]:
        """Every argument, option, declared variable and property of the target, by value.

        The safe wide key, for a compiler that cannot say what it reads: arrays by type and shape,
        all else by value, with the code of the classes it is of, functions with all they call.
        What arrays hold is free to change.
        """
        world = self._recorder.world
        for name, argument in world.arguments.items():
            view = self.arg(name)
            if isinstance(argument, np.ndarray):
                view.array()
                view.attr("shape").value()
            else:
                view.value()
                if type(argument) not in SIMPLE:
                    view._step(Step("with code", None)).value()
        for path in (
            *(Path("env", name) for name in world.environment),
            *(Path("option", name) for name in world.options),
            *(Path("target", name) for name in world.target),
        ):
            self._value(path)
        self._at(Path("func", world.function.__qualname__)).value()
        return dict(world.arguments)

    def _value(self, path: Path) -> Any:
        return self._at(path).value()

    def _at(self, path: Path) -> View:
        return self._recorder.view(path, self._recorder.world.find(path))
