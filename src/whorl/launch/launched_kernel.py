"""A kernel as it is called: in Python at first, natively once it was called a few times."""

from __future__ import annotations

import copy
import functools
import types
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from whorl.calls.events import audits, listeners
from whorl.errors import show_users_frames
from whorl.fingerprint.names import full_name
from whorl.fingerprint.static_lookup import uncounted
from whorl.jit import Kernel, Target
from whorl.jit.compiler import target_of
from whorl.lazy import importing
from whorl.reads.replay import live_facts
from whorl.reads.world import Once
from whorl.settings import current

from .graph_status import NO_LABEL
from .launch_errors import Changed, never_the_same
from .native_tables import NativeTables, alive
from .plain_launch import NativeCall, PlainLaunch

if TYPE_CHECKING:
    from whorl.jit.specialization import Specialization
    from whorl.reads import World

# The bound method of a kernel with checkpoints: it can be called, and resumed.


class BoundKernel(functools.partial[Any]):
    """`solver.step`, where `step` is a kernel with checkpoints.

    A plain bound method would do, but that hands on attributes of the kernel without the object,
    and `solver.step.resume(...)` is about the object. Calls like `solver.step()` do not come here
    once the kernel is launched natively.
    """

    __doc__ = property(lambda self: self.func.__doc__)  # the kernel's

    @property
    def __signature__(self) -> Any:
        with importing:
            import inspect

        whole = inspect.signature(self.__whorl_function__)
        return whole.replace(parameters=list(whole.parameters.values())[1:])

    @property
    def __self__(self) -> Any:
        return self.args[0]

    @property
    def __func__(self) -> Kernel:
        return cast("Kernel", self.func)

    @property
    def __whorl_function__(self) -> types.FunctionType:
        """The function behind it, for code that is read."""
        return cast("Kernel", self.func).function

    def resume(self, /, *args: Any, from_checkpoint: Any = NO_LABEL, **kwargs: Any) -> Any:
        """Launch it from a checkpoint on, for this object: `resume(..., from_checkpoint=label)`."""
        kernel: Any = self.func
        if args or kwargs:
            return kernel.resume(self.args[0], *args, from_checkpoint=from_checkpoint, **kwargs)
        return kernel.resume(self.args[0], from_checkpoint=from_checkpoint)  # the usual call

    def __getattr__(self, name: str) -> Any:
        return getattr(self.func, name)

    def __repr__(self) -> str:
        return f"<bound method {self.func!r} of {self.__self__!r}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BoundKernel):
            return NotImplemented
        return self.func is other.func and self.__self__ is other.__self__

    def __hash__(self) -> int:
        return hash((id(self.func), id(self.__self__)))

    def __reduce__(self) -> Any:
        return getattr, (self.__self__, self.__func__.__name__)

    def __deepcopy__(self, memo: dict[int, Any]) -> BoundKernel:
        """The same kernel for a copy of the object, whatever that has under the kernel's name."""
        return BoundKernel(self.func, copy.deepcopy(self.__self__, memo))


# -- kernels ---------------------------------------------------------------------------


TRIES: Final = 20  # of a call, while what it reads changes
Start = Callable[[PlainLaunch, Sequence[Any]], int]


@uncounted("_has_checkpoints", "_reaching", "python_calls", "resume", "tables")
class LaunchedKernel(Kernel):
    """A kernel whose specializations are machine code with a launch record."""

    family: type[LaunchedKernel]  # the public class, whichever kind of it an object is
    interpret: Callable[..., Any]
    interpret_resumed: Callable[..., Any]

    def __init__(self, function: types.FunctionType, *rest: Any) -> None:
        self.tables = NativeTables(full_name(function))
        self.python_calls = 0
        self._reaching: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()
        self._has_checkpoints = False  # one of the specializations that were loaded
        super().__init__(function, *rest)
        alive.add(self)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        if self._has_checkpoints or self._may_have_checkpoints(instance):
            return BoundKernel(self, instance)
        return types.MethodType(self, instance)

    def _may_have_checkpoints(self, instance: object) -> bool:
        """Whether the code could come to a checkpoint: worked out once for each class."""
        cls = type(instance)
        reaches = self._reaching.get(cls)
        if reaches is None:
            reaches = self._reaching[cls] = self.reaches_checkpoints(instance)
        return reaches

    def reaches_checkpoints(self, instance: object) -> bool:
        """Whether the code could come to a checkpoint when it is a method of an object."""
        raise NotImplementedError

    def lacks_checkpoints(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether `resume` was called without the arguments of a kernel that has no checkpoints.

        The bound method of such a kernel is a plain one: its `resume` does not get the object.
        """
        if self._has_checkpoints or not self._reaching or any(self._reaching.values()):
            return False
        try:
            self.lookup.binding.bind(*args, **kwargs)
        except TypeError:
            return True
        return False

    # -- calling ------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Compile if need be, and run."""
        try:
            return self.call_in_python(*args, **kwargs)
        except Exception as error:
            show_users_frames(error)
            raise

    def call_in_python(self, /, *args: Any, **kwargs: Any) -> Any:
        """A call that is not, or not yet, launched natively."""
        if current().interpret.value:
            return self.interpret(*args, **kwargs)
        result = self.launch_in_python(args, kwargs)
        self.make_native(self, args, kwargs)
        return result

    def launch_in_python(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], start: Start | None = None
    ) -> Any:
        """Find or compile the specialization of a call, and launch it in Python.

        What was checked is what is launched with: a member that is of another type by the time
        its slot is read makes the call begin again. `start` works out the checkpoint to begin at.
        """
        for _ in range(TRIES):
            launch, values, _, target = self._prepare(*args, **kwargs)
            assert isinstance(launch, PlainLaunch)
            try:
                slots = launch.read(values)
            except Changed as changed:
                path = changed.path
                once = self._read_once(values, target)
                if once is None:
                    continue
                launch, slots = once
            number = 0 if start is None else start(launch, values)
            return launch.enter(slots, values, number)
        raise never_the_same(self.lookup.name, path)

    def _read_once(
        self, values: tuple[Any, ...], target: Target
    ) -> tuple[PlainLaunch, Sequence[Any]] | None:
        """What to launch with which slots, by reading each member once and for all; None if no
        specialization in memory is for that."""
        for known in self.lookup.table.young.get(target.architecture, ()):
            once = cast("World", Once(self.lookup.world(values, target)))
            facts = live_facts(known.shape, once, by_identity=self.lookup.is_by_identity)
            match = known.by_facts.get(facts)
            if match is not None:
                launch = cast("PlainLaunch", self._load(match[0], target))
                return launch, [once.find(path) for path, _ in launch.parts.slots]
        return None

    def world_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> World:
        """The world of a call."""
        return self.lookup.world(
            self.lookup.binding.bind(*args, **kwargs), target_of(self.compiler)
        )

    def resume(self, /, *args: Any, from_checkpoint: Any = NO_LABEL, **kwargs: Any) -> Any:
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
        resumption = self.__dict__.setdefault("resume", resumption_of(self))
        try:
            return resumption(*args, from_checkpoint=from_checkpoint, **kwargs)
        except Exception as error:
            show_users_frames(error)
            raise

    # -- native launches ----------------------------------------------------------------

    def make_native(
        self, called: Any, args: tuple[Any, ...], kwargs: dict[str, Any], number: int = 0
    ) -> None:
        """Let calls like this one enter natively from now on, if it is time to try.

        With a number they are calls of `resume` from the checkpoint of that number.
        """
        tables: NativeTables = called.tables
        called.python_calls += 1
        if called.python_calls < tables.try_at or listeners or audits:
            return
        is_made = self._add_table_for(called, args, kwargs, number)
        tables.note_try(called.python_calls, is_made=is_made)

    def _add_table_for(
        self, called: Any, args: tuple[Any, ...], kwargs: dict[str, Any], number: int
    ) -> bool:
        tables: NativeTables = called.tables
        epoch = tables.epoch
        if self.choices.cache == "process" or tables.is_off:
            return False
        values, target = self.lookup.binding.bind(*args, **kwargs), target_of(self.compiler)
        for known in self.lookup.table.young.get(target.architecture, ()):
            match = known.by_facts.get(known.replay(values, target.properties))
            launch = None if match is None else match[0].loaded.get(target.device)
            if isinstance(launch, PlainLaunch):
                world, given = self.lookup.world(values, target), (len(args), frozenset(kwargs))
                call = NativeCall(known, match, world, launch.parts, given, number)
                return tables.add(called, call, epoch, self.lookup.cache)
        return False

    @property
    def recipe(self) -> tuple[Any, ...]:
        """How to make another one."""
        return (self.family, self.function, self.compiler, self.choices, self.own_cache)

    def _renew(self) -> None:
        super()._renew()
        self.tables.drop(self)
        resumption = self.__dict__.get("resume")
        tables = getattr(resumption, "tables", None)
        if isinstance(tables, NativeTables):  # and not what somebody has put in its place
            tables.drop(cast("Any", resumption))

    def _callable(self, specialization: Specialization, target: Target) -> Any:
        launch = super()._callable(specialization, target)
        launch.function = self.function
        self._has_checkpoints |= launch.parts.checkpoints is not None
        return launch
