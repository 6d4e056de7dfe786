"""`kernel.resume`: launches a kernel from a checkpoint on.

It is called as kernels are: in Python at first, natively after some calls. The label is one more
parameter, by keyword alone; a native table is made for one label.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from whorl.errors import NoCheckpoints, show_users_frames
from whorl.fingerprint import exclude
from whorl.settings import current

from .graph_status import NO_LABEL, labels_of, number_of
from .native_tables import NativeTables, alive, native_classes
from .plain_launch import PlainLaunch

if TYPE_CHECKING:
    from whorl.reads import World

__all__ = ["Resumption", "resumption_of"]

LABEL = "from_checkpoint"


class Resumable(Protocol):
    """What a resumption needs of its kernel."""

    tables: NativeTables
    interpret_resumed: Callable[..., Any]

    @property
    def recipe(self) -> tuple[Any, ...]: ...

    def launch_in_python(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], start: Any = None
    ) -> Any: ...

    def make_native(
        self, called: Any, args: tuple[Any, ...], kwargs: dict[str, Any], number: int = 0
    ) -> None: ...

    def world_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> World: ...

    def lacks_checkpoints(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool: ...


@exclude("python_calls", "tables")
class Resumption:
    """`kernel.resume`, once it was called."""

    family: type[Resumption]

    def __init__(self, kernel: Resumable) -> None:
        self.kernel = kernel
        self.tables = NativeTables(f"{kernel.tables.name}.resume")
        self.python_calls = 0
        alive.add(self)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Compile if need be, and run from a checkpoint on."""
        try:
            return self.call_in_python(*args, **kwargs)
        except Exception as error:
            show_users_frames(error)
            raise

    def call_in_python(self, /, *args: Any, **kwargs: Any) -> Any:
        """A call that is not, or not yet, launched natively."""
        kernel = self.kernel
        label = kwargs.pop(LABEL, NO_LABEL)
        if kernel.lacks_checkpoints(args, kwargs):
            raise NoCheckpoints(kernel.tables.name)
        if label is NO_LABEL:
            raise TypeError(f"{self.tables.name}() needs a label: {LABEL}=status.checkpoint")
        if current().interpret.value:
            return kernel.interpret_resumed(*args, from_checkpoint=label, **kwargs)
        start = _Start(label, kernel.tables.name)
        result = kernel.launch_in_python(args, kwargs, start)
        with contextlib.suppress(LookupError):  # a label that was rebound meanwhile
            kernel.make_native(self, args, kwargs, start.number)
        return result

    def world_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> World:
        """The world of a call."""
        return self.kernel.world_of(
            args, {name: value for name, value in kwargs.items() if name != LABEL}
        )

    @property
    def recipe(self) -> tuple[Any, ...]:
        """How to make another one."""
        return (_again, *self.kernel.recipe)

    def __repr__(self) -> str:
        return f"<resume of {self.kernel!r}>"

    def __reduce__(self) -> Any:
        return getattr, (self.kernel, "resume")


Resumption.family = Resumption


class _Start:
    """The checkpoint that a launch begins at: a label in, its number in a specialization out."""

    def __init__(self, label: object, kernel: str) -> None:
        self._label = label
        self._kernel = kernel
        self.number = 0

    def __call__(self, launch: PlainLaunch, values: Sequence[Any]) -> int:
        plain = launch.parts.checkpoints
        if plain is None:
            raise NoCheckpoints(self._kernel)
        labels = labels_of(plain, launch.world(values))
        self.number = number_of(self._label, labels, self._kernel)
        return self.number


def resumption_of(kernel: Resumable) -> Resumption:
    """One that can become native, where there are native launches."""
    classes = native_classes(Resumption)
    cls = Resumption if classes is None else classes.python
    return cast("Resumption", cls(kernel))


def _again(make: Any, *recipe: Any) -> Resumption:
    return Resumption(make(*recipe))
