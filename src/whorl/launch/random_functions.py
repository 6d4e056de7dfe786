"""Finds NumPy's functions of random distributions, when code that draws from a stream is loaded.

The extension behind `np.random.Generator` exports them: whoever calls them with the state of a bit
generator draws what the methods of `Generator` draw, by the algorithms of the installed NumPy. An
address is 0 where the names are hidden; code then ends with an error. See decision 0058.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from typing import Any, Final

from .image import PREFIX

_OF_NUMBERS: Final = (
    "standard_uniform", "standard_uniform_f", "standard_normal", "standard_normal_f",
    "standard_exponential", "standard_exponential_f", "standard_gamma", "standard_gamma_f",
    "normal", "uniform", "exponential", "gamma", "beta", "chisquare", "f", "standard_cauchy",
    "pareto", "weibull", "power", "laplace", "gumbel", "logistic", "lognormal", "rayleigh",
    "standard_t", "wald", "vonmises", "triangular", "poisson", "geometric", "logseries", "zipf",
    "negative_binomial", "noncentral_chisquare", "bounded_uint64", "interval",
)  # fmt: skip
_OF_ARRAYS: Final = (
    "bounded_uint64_fill", "bounded_uint32_fill", "bounded_uint16_fill", "bounded_uint8_fill",
    "bounded_bool_fill",
)  # fmt: skip
DISTRIBUTIONS: Final = frozenset(f"{PREFIX}random_{name}" for name in (*_OF_NUMBERS, *_OF_ARRAYS))
"""The names that code may have for distributions."""


def address(name: str) -> int:
    """The address of a distribution by its name in machine code; 0 if it cannot be found.

    >>> address("whorl_random_standard_normal") >= 0
    True
    """
    try:
        function = getattr(_extension(), name.removeprefix(PREFIX))
    except (AttributeError, ImportError, OSError):
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def _extension() -> Any:
    return ctypes.CDLL(import_module("numpy.random._generator").__file__)
