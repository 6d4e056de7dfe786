"""A kernel with checkpoints and an object in, its bound method out: to call, and to resume."""

from __future__ import annotations

import copy
import functools
import types
from typing import TYPE_CHECKING, Any, cast

from whorl.lazy import importing

if TYPE_CHECKING:
    from .kernel import NumericKernel
    from .resumption import Resumption

__all__ = ["BoundKernel", "BoundResumption"]


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
    def __func__(self) -> NumericKernel:
        return cast("NumericKernel", self.func)

    @property
    def __whorl_function__(self) -> types.FunctionType:
        """The function behind, for whoever reads its code."""
        return cast("NumericKernel", self.func).function

    def resume(self, /, *args: Any, from_checkpoint: Any, **kwargs: Any) -> Any:
        """Launch it from a checkpoint on, for this object: `resume(..., from_checkpoint=label)`."""
        kernel: Any = self.func
        if args or kwargs:
            return kernel.resume(self.args[0], *args, from_checkpoint=from_checkpoint, **kwargs)
        return kernel.resume(self.args[0], from_checkpoint=from_checkpoint)  # as most do

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


class BoundResumption(functools.partial[Any]):
    """`solver.step.resume`, once the kernel is resumed natively: a bound method in other clothes.

    It is called without a frame of Python's; see `resuming`. One that waits to be used again has
    nothing to call.
    """

    __doc__ = property(lambda self: BoundKernel.resume.__doc__)

    @property
    def __self__(self) -> BoundKernel:
        return BoundKernel(cast("Resumption", self.func).kernel, self.args[0])

    @property
    def _method(self) -> types.MethodType:
        return types.MethodType(BoundKernel.resume, self.__self__)

    @property
    def __signature__(self) -> Any:
        with importing:
            import inspect

        return inspect.signature(self._method)

    def __getattr__(self, name: str) -> Any:
        if self.func is None:
            raise AttributeError(name)
        return getattr(self._method, name)

    def __repr__(self) -> str:
        return super().__repr__() if self.func is None else repr(self._method)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BoundResumption):
            return NotImplemented
        return self.func is other.func and self.args[0] is other.args[0]

    def __hash__(self) -> int:
        return hash((id(self.func), id(self.args[0])))

    def __reduce__(self) -> Any:
        return getattr, (self.__self__, "resume")

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self.__self__, memo).resume
