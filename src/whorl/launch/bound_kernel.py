"""The bound method of a kernel with checkpoints: it can be called, and resumed."""

from __future__ import annotations

import copy
import functools
import types
from typing import TYPE_CHECKING, Any, Final, cast

from whorl.lazy import importing

if TYPE_CHECKING:
    from whorl.jit import Kernel

__all__ = ["NO_LABEL", "BoundKernel"]

NO_LABEL: Final = ...  # `resume` was called without one


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
