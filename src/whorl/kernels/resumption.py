"""The arguments of a launch and a label in, the rest of the launch out: what `resume` is.

It is called as kernels are: in Python at first, natively after some calls. The label is one more
argument to a native table, which is made for one label.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, cast

from whorl.errors import NoCheckpoints
from whorl.fingerprint import exclude
from whorl.lazy import importing, load
from whorl.settings import current

from .labels import labels_of, number_of
from .launch import TRIES, Changed
from .native import NativeTables, alive, native_classes, turned_off
from .raised import never_the_same

if TYPE_CHECKING:
    from .kernel import NumericKernel

__all__ = ["Resumption", "resumption_of"]


@exclude("_calls", "tables")
class Resumption:
    """`kernel.resume`, once it was called."""

    family: type[Resumption]

    def __init__(self, kernel: NumericKernel) -> None:
        self.kernel = kernel
        self.tables = NativeTables()
        self.tables.parts = kernel.tables.parts
        self._calls = 0
        alive.add(self)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Compile if need be, and run from a checkpoint on."""
        try:
            return self.call_in_python(*args, **kwargs)
        except Exception as error:
            load("whorl.frames").show_users_frames(error)
            raise

    def call_in_python(self, /, *args: Any, **kwargs: Any) -> Any:
        """The way of a call that is not, or not yet, taken natively."""
        kernel = self.kernel
        if "from_checkpoint" not in kwargs:
            raise TypeError(f"{self._name}() needs a label: from_checkpoint=status.checkpoint")
        from_checkpoint = kwargs.pop("from_checkpoint")
        if current().interpret.value:
            return kernel.interpret_resumed(*args, from_checkpoint=from_checkpoint, **kwargs)
        for _ in range(TRIES):
            try:
                result, number = self._resumed(args, kwargs, from_checkpoint)
            except Changed as changed:
                path = changed.path
            else:
                break
        else:
            raise never_the_same(self._name, path)
        self._calls += 1
        is_whole = len(args) == kernel.function.__code__.co_argcount
        if self._calls >= self.tables.try_at and is_whole and kernel.is_plain(args, kwargs):
            is_made = False
            with contextlib.suppress(LookupError):  # a label that was rebound meanwhile
                is_made = kernel.make_native(self, self.tables, number, args)
            self.tables.tried(self._calls, is_made=is_made)
            if is_made:
                self._found_natively()
        return result

    def _found_natively(self) -> None:
        """Let the kernel's `resume` be found natively; where that fails, it is found in Python."""
        try:
            with importing:
                from .resuming import let_resume

            let_resume(self.kernel, self)
        except Exception as error:  # the call has its result
            turned_off(error, self._name)

    def _resumed(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], from_checkpoint: Any
    ) -> tuple[Any, int]:
        """The result, and the number of the checkpoint."""
        kernel = self.kernel
        launch, values, specialization, target = kernel._prepare(*args, **kwargs)
        plain = specialization.artifact.metadata["checkpoints"]
        if plain is None:
            raise NoCheckpoints(kernel.lookup.name)
        labels = labels_of(plain, kernel.lookup.world(values, target))
        number = number_of(from_checkpoint, labels, kernel.lookup.name)
        return launch(*values, number), number

    # What its tables need to know of it.

    @property
    def _name(self) -> str:
        return f"{self.kernel.lookup.name}.resume"

    @property
    def _cache(self) -> Any:
        return self.kernel.lookup.cache

    @property
    def made_of(self) -> tuple[Any, ...]:
        """How to make another one."""
        return (_again, *self.kernel.made_of)

    def __repr__(self) -> str:
        return f"<resume of {self.kernel!r}>"

    def __reduce__(self) -> Any:
        return getattr, (self.kernel, "resume")


Resumption.family = Resumption


def resumption_of(kernel: NumericKernel) -> Resumption:
    """One that can become native, where there is a native way."""
    classes = native_classes(Resumption)
    cls = Resumption if classes is None else classes.python
    return cast("Resumption", cls(kernel))


def _again(make: Any, *made_of: Any) -> Resumption:
    return Resumption(make(*made_of))
