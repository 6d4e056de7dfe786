"""What the functions of the library demand of their arguments, and how they say so.

The compiler knows `refuse` and `require`: an error is about the call in the user's source. Outside
of a kernel they are these functions.
"""

from __future__ import annotations

from typing import Any, NoReturn

from whorl.kernels.language import static

__all__ = ["axis_of", "refuse", "refuse_complex", "require", "require_ndim"]


def refuse(what: str, *values: Any, remedy: str = "") -> NoReturn:
    """Say at compile time that a call cannot be done; `{}` in the text is a value.

    >>> refuse("there is no axis {}", 3)
    Traceback (most recent call last):
    TypeError: there is no axis 3
    """
    raise TypeError(f"{what.format(*values)} {remedy}".strip())


def require(test, error, text, *values) -> None:
    """End the launch with an error if a test does not hold; `{}` in the text is an int.

    >>> require(1 > 2, ValueError, "{} is not above {}", 1, 2)
    Traceback (most recent call last):
    ValueError: 1 is not above 2
    """
    if not test:
        raise error(text.format(*values))


def axis_of(a, axis):
    """The number of an axis from the front.

    >>> import numpy as np
    >>> axis_of(np.zeros((2, 3)), -1)
    1
    """
    axis = static(axis)
    if not -a.ndim <= axis < a.ndim:
        refuse("there is no axis {} of an array with {} dimensions", axis, a.ndim)
    return axis % a.ndim


def require_ndim(a, ndim, name) -> None:
    """Refuse an array that has not as many dimensions as it has to have.

    >>> import numpy as np
    >>> require_ndim(np.zeros(3), 1, "np.interp")
    """
    if a.ndim != ndim:
        refuse("{} is for arrays with {} dimensions here, not {}", name, ndim, a.ndim)


def refuse_complex(a, name) -> None:
    """Refuse complex numbers.

    >>> import numpy as np
    >>> refuse_complex(np.zeros(3), "np.cov")
    """
    if a.dtype.kind == "c":
        refuse("{} is not for complex numbers in kernels", name, remedy="Use x.real and x.imag.")
