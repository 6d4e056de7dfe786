"""The decorator of the kernel language, and what a kernel offers beside being called."""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, cast, overload

import numpy as np

from whorl.calls.events import audits, listeners
from whorl.fingerprint.lookup import uncounted
from whorl.jit import Kernel, Target
from whorl.jit.kernel import CacheMode, Choices, OnDrift, check_choices
from whorl.jit.specialization import KnownShape, Specialization
from whorl.late import NamedTuple
from whorl.lazy import importing, load, room
from whorl.settings import Settings, current
from whorl.store import Cache

from .compiler import KernelCompiler
from .launch import TRIES, Changed, Parts, unpacked
from .level import check_level
from .native import CALLS_IN_PYTHON, NativeTables, alive, native_classes
from .plain_launch import PlainLaunch

if TYPE_CHECKING:
    from whorl.reads import World

    from . import machine, raised
    from .bound import BoundKernel
    from .resumption import Resumption
else:
    machine = room("whorl.kernels.machine", globals())
    raised = room("whorl.kernels.raised", globals())

__all__ = ["NumericKernel", "kernel"]

Form = Literal["ir", "llvm", "optimised", "asm"]
ANY_NUMBER: Final = 0x04 | 0x08  # flags of code: *args, **kwargs


@cache
def _bound_class() -> type[BoundKernel]:
    """The class of bound kernels, for whoever has checkpoints. An import each time takes 1 µs."""
    with importing:
        from .bound import BoundKernel

    return BoundKernel


class _Recent(NamedTuple):
    """What was launched before, and how it was found; the facts hold what they are about."""

    arity: int  # arguments that need no binding; -1: all need it
    settings: Settings
    level: str | None
    debug: bool | None
    target: Target
    shape: KnownShape
    facts: Any
    found: Any
    launch: Callable[..., Any]

    def launch_for(self, values: tuple[Any, ...]) -> Callable[..., Any] | None:
        """What is launched for these values; None if their facts are not known."""
        facts = self.shape.replay(values, self.target.properties)
        if facts == self.facts:
            return self.launch
        found = self.shape.by_facts.get(facts)
        return None if found is None else found[0].loaded.get(self.target.device)


@uncounted(
    "_has_checkpoints", "_python_calls", "_reaching", "_recent", "_resumption", "resume", "tables"
)
class NumericKernel(Kernel):
    """A kernel of whorl's own language. Made by `whorl.kernel`."""

    compiler: KernelCompiler
    _can_say_otherwise = False  # it is whorl's own
    _recent: _Recent | None
    family: type[NumericKernel]  # this class, whichever kind of it an object is

    def __init__(self, *args: Any) -> None:
        self.tables = NativeTables()
        self._python_calls = 0
        self._reaching: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()
        self._has_checkpoints = False  # one of the specializations that were loaded
        super().__init__(*args)
        alive.add(self)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        if self._has_checkpoints or self._may_have_checkpoints(instance):
            return _bound_class()(self, instance)
        return types.MethodType(self, instance)

    def _may_have_checkpoints(self, instance: object) -> bool:
        """Whether the code could come to one: known for each class after the first look."""
        cls = type(instance)
        found = self._reaching.get(cls)
        if found is None:
            with importing:
                from .reach import reached

            found = self._reaching[cls] = reached(self.function, (instance,)).has_checkpoints
        return found

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Compile if need be, and run."""
        try:
            return self.call_in_python(*args, **kwargs)
        except Exception as error:
            load("whorl.frames").show_users_frames(error)
            raise

    def call_in_python(self, /, *args: Any, **kwargs: Any) -> Any:
        """The way of a call that is not, or not yet, taken natively."""
        settings = current()
        if settings.interpret.value:
            return self.interpret(*args, **kwargs)
        launch, values = None, args
        recent = self._recent
        if recent is not None and self._is_as_it_was(recent, settings):
            if kwargs or len(args) != recent.arity:
                values = self._binding.bind(*args, **kwargs)
            launch = recent.launch_for(values)
        try:
            result = Kernel.__call__(self, *args, **kwargs) if launch is None else launch(*values)
        except Changed:
            result = self._read_once(args, kwargs)
        self._python_calls += 1
        if self._python_calls >= self.tables.try_at and self.is_plain(args, kwargs):
            is_made = self.make_native(self, self.tables, 0, args)
            self.tables.tried(self._python_calls, is_made=is_made)
        elif launch is None and self._python_calls >= CALLS_IN_PYTHON:
            self._make_quick(args, kwargs)
        return result

    def _read_once(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call whose members change while it looks at them: each is read once, and launched."""
        with importing:
            from whorl.reads.once import Once
            from whorl.reads.replay import live_facts

        for _ in range(TRIES):
            values, target = self._binding.bind(*args, **kwargs), self.compiler.target()
            for known in self._shapes.young.get(target.architecture, ()):
                once = cast("World", Once(self.world(values, target)))
                facts = live_facts(known.shape, once, by_identity=self._by_identity)
                found = known.by_facts.get(facts)
                parts = None if found is None else self._with_slots(found[0], target.device)
                if parts is not None and parts.from_slots is not None:
                    return parts.from_slots(*(once.find(path) for path, _ in parts.slots))
            try:
                return Kernel.__call__(self, *args, **kwargs)
            except Changed as changed:
                path = changed.path
        raise raised.never_the_same(self._name, path)

    def _with_slots(self, specialization: Specialization, device: str) -> Parts | None:
        """The parts of what is loaded, with the function that takes the values of all slots."""
        plain = specialization.loaded.get(device)
        if isinstance(plain, PlainLaunch):
            self.tables.parts[specialization] = plain.generated()[1]
        return self.tables.parts.get(specialization)

    def _is_as_it_was(self, recent: _Recent, settings: Settings) -> bool:
        """Whether a call can be looked for where an earlier one was found."""
        compiler = self.compiler
        return (
            settings is recent.settings
            and compiler.level is recent.level
            and compiler.debug is recent.debug
            and self.function.__code__ is self._code
            and sys.modules.get(self._home) is self._module
            and not listeners
            and not audits
        )

    def is_plain(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call like this one could be native: others go on to Python anyway."""
        missing = self.function.__code__.co_argcount - len(args)
        is_whole = not kwargs and 0 <= missing <= len(self.function.__defaults__ or ())
        return is_whole and not listeners and not audits

    def resume(self, /, *args: Any, from_checkpoint: int, **kwargs: Any) -> Any:
        """Launch it from a checkpoint on: its block, and all that follows.

        Nothing before the block runs. It is as valid in another process as in this one.

        >>> import numpy as np, whorl
        >>> @whorl.kernel
        ... def steps(x, stop):
        ...     x[0] += 1
        ...     with whorl.checkpoint(7, yield_on=stop):
        ...         x[1] += 1
        ...     x[2] += 1
        >>> x, stop = np.zeros(3), np.ones((), np.int32)
        >>> status = steps(x, stop)
        >>> stop[()] = 0
        >>> steps.resume(x, stop, from_checkpoint=status.checkpoint)
        GraphStatus(yielded=False, checkpoint=None)
        >>> x.tolist()
        [1.0, 2.0, 1.0]
        """
        with importing:
            from .resumption import resumption_of

        # From now on the attribute is an object that can become native.
        made = self.__dict__.setdefault("resume", resumption_of(self))
        try:
            return made(*args, from_checkpoint=from_checkpoint, **kwargs)
        except Exception as error:
            load("whorl.frames").show_users_frames(error)
            raise

    def make_native(
        self, called: Any, tables: NativeTables, number: int, args: tuple[Any, ...]
    ) -> bool:
        """Let calls like this one enter natively from now on; whether they do.

        With a number they are calls of `resume` from the checkpoint of that number.
        """
        epoch = tables.epoch
        values = self._binding.bind(*args)
        target = self.compiler.target()
        known, found = self._known_now(values, target)
        if known is None:
            return False
        if called is self:
            tables.pack(self, found[0], target.device)
            self._remember_recent(known, values, target, found)
        world = self.world(values, target)
        return tables.add(called, known, world, found, epoch, number, len(args))

    def _make_quick(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Let calls like this one, by keyword or with defaults, be launched by a builtin."""
        if listeners or audits or self.choices.cache == "process":
            return
        values, target = self._binding.bind(*args, **kwargs), self.compiler.target()
        known, found = self._known_now(values, target)
        if known is not None:
            self.tables.pack(self, found[0], target.device)
            self._remember_recent(known, values, target, found)

    def _known_now(self, values: tuple[Any, ...], target: Target) -> tuple[KnownShape | None, Any]:
        """The shape and what the facts of a call lead to, if they are known in memory."""
        if self.choices.cache != "process":
            for known in self._shapes.young.get(target.architecture, ()):
                found = known.by_facts.get(known.replay(values, target.properties))
                if found is not None:
                    return known, found
        return None, None

    def _remember_recent(
        self, known: KnownShape, values: tuple[Any, ...], target: Target, found: Any
    ) -> None:
        """Let calls of the same facts be launched without looking for what they need."""
        code, settings, compiler = self.function.__code__, current(), self.compiler
        facts = known.replay(values, target.properties)
        launch = found[0].loaded.get(target.device)
        if launch is None or known.by_facts.get(facts) is not found:
            return
        if self.choices.cache != "disk" or compiler.target() is not target:
            return
        arity = -1 if code.co_kwonlyargcount or code.co_flags & ANY_NUMBER else code.co_argcount
        self._recent = _Recent(
            arity, settings, compiler.level, compiler.debug, target, known, facts, found, launch
        )

    @property
    def made_of(self) -> tuple[Any, ...]:
        """How to make another one."""
        return (self.family, self.function, self.compiler, self.choices, self._own_cache)

    def _again(self, choices: Choices) -> Kernel:
        return _made(self.function, self.compiler, choices, self._own_cache)

    def _forget(self) -> None:
        super()._forget()
        self._recent = None
        self.tables.drop(self)
        resumption = self.__dict__.get("resume") or getattr(self, "_resumption", None)
        tables = getattr(resumption, "tables", None)
        if isinstance(tables, NativeTables):  # and not what somebody has put in its place
            tables.drop(cast("Resumption", resumption))

    def interpret(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the function as plain Python, with the same results: for pdb, and for tests.

        >>> import whorl
        >>> @whorl.kernel
        ... def double(n: int):
        ...     return 2 * n
        >>> double.interpret(21)
        42
        """
        with importing:
            from .reach import reached

        with np.errstate(all="ignore"):
            found = reached(self.function, (*args, *kwargs.values()))
            if not found.graph:
                return _as_python(self.function(*args, **kwargs))
            with importing:
                from .interpreter import interpreted  # graphs are walked

            return _as_python(interpreted(self.function, args, kwargs, found, self._name))

    def interpret_resumed(self, /, *args: Any, from_checkpoint: int, **kwargs: Any) -> Any:
        """What `resume` does, as plain Python."""
        with importing:
            from .interpreter import interpreted
            from .reach import reached

        with np.errstate(all="ignore"):
            found = reached(self.function, (*args, *kwargs.values()))
            return interpreted(self.function, args, kwargs, found, self._name, from_checkpoint)

    def inspect(self, form: Form = "ir", which: int = -1) -> str:
        """The program of a specialization: as "ir", "llvm", "optimised" LLVM, or "asm".

        `which` counts the specializations that are in memory, the last one by default.
        """
        if form not in ("ir", "llvm", "optimised", "asm"):
            raise ValueError(f"the forms are ir, llvm, optimised and asm, not {form!r}")
        made = self.specializations()
        if not made:
            raise LookupError(f"{self._name} has not been called yet: nothing is compiled")
        artifact = made[which].artifact
        if form in ("ir", "llvm"):
            return unpacked(artifact, form).decode()
        show = machine.assembly if form == "asm" else machine.optimised_text
        return show(unpacked(artifact, "llvm").decode(), artifact.metadata["level"])

    def with_options(self, **options: Any) -> NumericKernel:
        """The same function with some options of `whorl.kernel` as given.

        It is a new kernel; this one stays as it is.

        >>> import numpy as np, whorl
        >>> @whorl.kernel
        ... def pick(x, i):
        ...     return x[i]
        >>> pick.with_options(debug=True)(np.zeros(4), 9)
        Traceback (most recent call last):
        ...
        IndexError: ...index 9 is out of bounds for axis 0 of arg:x, of size 4...
        """
        said = {**self._said(), "store": self._own_cache}
        unknown = options.keys() - said.keys()
        if unknown:
            raise TypeError(
                f"{self._name} has no option {min(unknown)!r}; it has {', '.join(sorted(said))}"
            )
        return kernel(**cast("Any", said | options))(self.function)

    def _is_variant_of(self, other: Kernel) -> bool:
        return (
            isinstance(other, NumericKernel)
            and other.function is self.function
            and other._own_cache is self._own_cache
        )

    def _said(self) -> dict[str, Any]:
        compiler, choices = self.compiler, self.choices
        return {
            "cache": choices.cache,
            "debug": compiler.debug,
            "nogil": compiler.nogil,
            "on_drift": choices.on_drift,
            "target": compiler.level,
        }

    def _before_compile(self) -> None:
        machine.binding()

    def _made_callable(self, specialization: Specialization, target: Target) -> Any:
        launch, parts = self.compiler.load_for(specialization.artifact, self.function)
        self.tables.parts[specialization] = parts
        self._has_checkpoints |= parts.checkpoints is not None
        return launch


NumericKernel.family = NumericKernel


def _made(
    function: types.FunctionType, compiler: KernelCompiler, choices: Choices, store: Cache | None
) -> NumericKernel:
    """A kernel that can become native, where there is a native way."""
    classes = native_classes(NumericKernel)
    cls = NumericKernel if classes is None else classes.python
    return cast("NumericKernel", cls(function, compiler, choices, store))


def _as_python(value: Any) -> Any:
    """Numbers as Python has them, as compiled kernels return them."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    if isinstance(value, tuple):
        return tuple(map(_as_python, value))
    return value


@overload
def kernel(function: Callable[..., Any], /) -> NumericKernel: ...
@overload
def kernel(
    *,
    debug: bool | None = None,
    target: str | None = None,
    nogil: bool = False,
    on_drift: OnDrift = "recompile",
    cache: CacheMode = "disk",
    store: Cache | None = None,
) -> Callable[[Callable[..., Any]], NumericKernel]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    debug: bool | None = None,
    target: str | None = None,
    nogil: bool = False,
    on_drift: OnDrift = "recompile",
    cache: CacheMode = "disk",
    store: Cache | None = None,
) -> NumericKernel | Callable[[Callable[..., Any]], NumericKernel]:
    """Compile a function over NumPy arrays and numbers when it is called, and keep the result.

    `debug` checks indices, integer divisors and powers; `target` is a level such as "x86-64-v3";
    `nogil` lets other threads run meanwhile. `on_drift`, `cache` and `store` are as for
    `whorl.jit`.

    >>> import numpy as np, whorl
    >>> @whorl.kernel
    ... def total(x):
    ...     s = 0.0
    ...     for i in range(x.size):
    ...         s += x[i]
    ...     return s
    >>> total(np.arange(4.0))
    6.0
    """
    check_choices(on_drift, cache, store)
    if target is not None:
        check_level(target)

    def decorate(function: Callable[..., Any]) -> NumericKernel:
        if not isinstance(function, types.FunctionType):
            raise TypeError(f"whorl.kernel compiles functions, not {type(function).__name__}")
        compiler = KernelCompiler(target, debug, nogil)
        choices = Choices({}, on_drift, cache, False)
        return _made(function, compiler, choices, store)

    return decorate if function is None else decorate(function)
