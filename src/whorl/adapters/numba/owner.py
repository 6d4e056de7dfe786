"""The decorated object that Numba makes a cache for, found when the cache is made.

Numba hands the bare function to a cache, without the options of its decorator. The object that
has them is the one whose method is making the cache.
"""

from __future__ import annotations

import sys
import types
from typing import Any, Final

from numba.core import compiler, config
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack

from whorl.adapters.host_library import say_once
from whorl.fingerprint.rules.compiled_functions import row_of
from whorl.fingerprint.survey import module_of

_FRAMES: Final = 12  # Numba 0.68 needs five
INHERITED: Final = ("nrt", "fastmath", "error_model", "forceinline")
"""The options that a function takes from the one that it is first compiled for."""

# What does not change the code that is compiled. A setting that is not known here counts.
_SETTINGS_APART: Final = frozenset(
    (
        "ALWAYS_WARN_UNINIT_VAR", "ANNOTATE", "CACHE_DIR", "CACHE_LOCATOR_CLASSES", "CHROME_TRACE",
        "COLOR_SCHEME", "DEBUG", "DEBUG_ARRAY_OPT", "DEBUG_ARRAY_OPT_STATS", "DEBUG_CACHE",
        "DEBUG_FRONTEND", "DEBUG_INLINE_CLOSURE", "DEBUG_JIT", "DEBUG_PRINT_AFTER",
        "DEBUG_PRINT_BEFORE", "DEBUG_PRINT_WRAP", "DEBUG_TYPEINFER", "DEVELOPER_MODE", "DIFF_IR",
        "DISABLE_CUDA", "DISABLE_JIT", "DISABLE_PERFORMANCE_WARNINGS",
        "DISABLE_TYPEINFER_FAIL_CACHE", "ENABLE_CUDASIM", "FORCE_CUDA_CC", "FULL_TRACEBACKS",
        "FUNCTION_CACHE_SIZE", "GDB_BINARY", "HIGHLIGHT_DUMPS", "HTML", "IS_32BITS", "IS_OSX",
        "IS_WIN32", "JIT_COVERAGE", "LLVM_PASS_TIMINGS", "MACHINE_BITS",
        "NUMBA_DEFAULT_NUM_THREADS", "NUMBA_NUM_THREADS", "PARALLEL_DIAGNOSTICS", "PYVERSION",
        "RUNNING_UNDER_PROFILER", "SHOW_HELP", "THREADING_LAYER", "THREADING_LAYER_PRIORITY",
        "TRACE",
    )
)  # fmt: skip
_PREFIXES_APART: Final = ("CUDA_", "DUMP_", "_")


def find_owner(function: types.FunctionType) -> object | None:
    """The object of Numba that is making a cache for a function; None if it is not a known one."""
    frame = sys._getframe(1)
    for _ in range(_FRAMES):
        owner: object = frame.f_locals.get("self")
        if owner is not None and _function_of(owner) is function:
            if row_of(type(owner)) is not None:
                return owner
            if type(owner).__name__ == "_GufuncWrapper":
                return None  # its code is linked with what is compiled already
        if frame.f_back is None:
            break
        frame = frame.f_back
    say_once(f"{name_of(function)} is not cached: whorl does not know what makes a cache for it")
    return None


def _function_of(owner: object) -> object:
    found = getattr(owner, "py_func", None)
    return getattr(owner, "_pyfunc", None) if found is None else found


def name_of(function: types.FunctionType) -> str:
    """The name of a function in lists, alike in every process: `solver.step`."""
    return f"{module_of(function)}.{function.__qualname__}"


def options_of(owner: Any) -> dict[str, object]:
    """The options of the decorator."""
    return dict(
        getattr(owner, "targetoptions", None) or getattr(owner, "_targetoptions", None) or {}
    )


def resolved_options(options: dict[str, object]) -> tuple[str, ...]:
    """The options of `INHERITED` for a function with these options, if it were compiled now.

    What it does not set it takes from the function that is being compiled, if there is one.
    """
    flags = compiler.Flags()
    cpu_target.options.parse_as_flags(flags, dict(options))
    return tuple(f"{name}={_text(getattr(flags, name))}" for name in INHERITED)


def own_options(owner: Any) -> tuple[str, ...]:
    """The options that a function passes on to those that are compiled for it."""
    return resolved_options(options_of(owner))


def flags_of_ufunc(owner: Any) -> str:
    """The options of a ufunc, which are not those of its inner function; empty for others."""
    flags = ConfigStack.top_or_none()
    if type(owner).__name__ != "UFuncDispatcher" or flags is None:
        return ""
    return " ".join(f"{name}={_text(getattr(flags, name))}" for name in sorted(flags.options))


def _text(value: object) -> str:
    members = getattr(value, "flags", None)  # of fast math: a set, which has no order
    return repr(sorted(members)) if isinstance(members, set | frozenset) else str(value)


def settings() -> dict[str, object]:
    """The settings of Numba, from the environment and `numba.config`, that change what it makes."""
    found = {}
    for name in sorted(vars(config)):
        if name.isupper() and not name.startswith(_PREFIXES_APART) and name not in _SETTINGS_APART:
            value = getattr(config, name)
            found[f"setting:{name}"] = value if type(value) in (int, str, bool) else str(value)
    return found


def place_in_debug_information(owner: Any, function: types.FunctionType) -> str:
    """File and line, where the compiled code holds them: a moved function is another then."""
    options = options_of(owner)
    if options.get("debug") or ("debug" not in options and config.DEBUGINFO_DEFAULT):
        return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
    return ""
