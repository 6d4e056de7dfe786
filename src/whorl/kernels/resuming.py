"""A kernel that is resumed natively in, the same kernel out whose `resume` is found as quickly.

A launch takes less time than Python takes to find `kernel.resume`, and much less than it takes to
make `solver.step` and its `resume`. So a kernel whose resumption has become native is given a third
class. There `resume` is a slot that holds the resumption; and what binds such kernels, and what
finds the `resume` of a bound one, is machine code (`whorl.launch.binding`). Nothing of this is
imported before.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from whorl.launch.binding import (
    API,
    CALL,
    DEALLOC,
    GET,
    GETATTR,
    RECORD,
    RECORD_NAME,
    binding_text,
    original_slot,
    partial_layout,
    place_of_slot,
    replace_slot,
)
from whorl.launch.callable import LINKED, VECTORCALL, make_native, native_base, set_flags
from whorl.launch.class_layout import NotKnown
from whorl.launch.failure import turns_off
from whorl.launch.instances import slot_offset
from whorl.launch.layout import layout
from whorl.launch.mapped import Unmappable
from whorl.launch.routine import functions_with
from whorl.lazy import importing, logger
from whorl.locks import RLock

from .bound import BoundKernel, BoundResumption
from .level import host_level
from .machine import machine_code
from .native import native_classes

if TYPE_CHECKING:
    from .kernel import NumericKernel
    from .resumption import Resumption

__all__ = ["let_resume", "resuming_class"]

log = logger("whorl.launch")

_lock: Final = [RLock()]  # another one in a forked child
_made: dict[type, type | None] = {}  # by the class of native kernels


def let_resume(kernel: NumericKernel, resumption: Resumption) -> None:
    """Let a kernel's `resume` be found natively from now on, where that can be."""
    classes = native_classes(kernel.family)
    if classes is None or kernel.__dict__.get("resume") is not resumption:
        return  # done already, or somebody has put something else there
    cls = resuming_class(kernel, resumption)
    if cls is None:
        return
    kernel.tables.enter(kernel, classes)
    if type(kernel) is classes.native:
        setattr(kernel, LINKED, resumption)
        kernel.__class__ = cls  # which has the same layout
        kernel.__dict__.pop("resume", None)


def resuming_class(kernel: NumericKernel, resumption: Resumption) -> type | None:
    """The class of kernels that are resumed natively; None where there is none."""
    classes = native_classes(kernel.family)
    if classes is None:
        return None
    with _lock[0]:
        if classes.native not in _made:
            _made[classes.native] = None
            try:
                made = _class_of(kernel, classes.native, type(resumption))
                _made[classes.native] = made
            except (NotKnown, Unmappable, OSError, RuntimeError) as reason:
                log.info("bound kernels are resumed through Python: %s", reason)
            except Exception as error:  # a call that has its result must not fail for this
                turns_off(error, "the resume of a bound kernel")
        return _made[classes.native]


def _class_of(kernel: NumericKernel, native: type, resumption_class: type) -> type:
    """The class, after what binds its kernels was made and put into place."""
    at, partial = layout(), partial_layout(BoundKernel, BoundResumption)
    descriptor = vars(native_base())[LINKED]
    slot = slot_offset(descriptor, at.descriptor)
    if not 0 < slot < native.__basicsize__:
        raise NotKnown("the slot of a kernel is not found in it")
    places = {
        "dealloc": place_of_slot("dealloc", BoundKernel, BoundResumption, functools.partial),
        "getattro": place_of_slot("getattro", BoundKernel, functools.partial, type),
        "descr_get": place_of_slot("descr_get", native, property, classmethod),
    }
    names = {"__module__": native.__module__, "__doc__": native.__doc__, "__slots__": ()}
    own = {"resume": descriptor, "__delattr__": _without}
    cls = type(native.__name__, (native,), {**names, **own})
    cls.__qualname__ = native.__qualname__
    make_native(cls)
    record = _record(cls, native, resumption_class, partial.call)
    level = host_level()
    functions = functions_with(
        kernel.lookup.cache,
        level,
        at,
        binding_text(at, partial, slot),
        lambda text: machine_code(text, level, effort=2),
        {RECORD_NAME: ctypes.addressof(record)},
    )
    record[RECORD.index("bound_call")] = functions[CALL]
    for bound in (BoundKernel, BoundResumption):
        set_flags(bound, VECTORCALL)  # as a partial has it; a class made in Python 3.11 has not
        replace_slot(bound, places["dealloc"], functions[DEALLOC])
    replace_slot(BoundKernel, places["getattro"], functions[GETATTR])
    replace_slot(cls, places["descr_get"], functions[GET])
    return cls


def _without(kernel: NumericKernel, name: str) -> None:
    """Delete an attribute of a kernel; what has replaced `resume` gives way to the kernel's own."""
    if name == "resume":
        with importing:
            from .resumption import resumption_of

        setattr(kernel, LINKED, resumption_of(kernel))
    else:
        object.__delattr__(kernel, name)


_NAME: Final = sys.intern("resume")


def _record(cls: type, native: type, resumption_class: type, call: int) -> Any:
    """The record of what binds, filled, and kept for ever with what it refers to."""
    objects = {
        "kernel_class": cls,
        "resumption_class": resumption_class,
        "bound_class": BoundKernel,
        "resumed_class": BoundResumption,
        "none": None,
        "resume": _NAME,
        "python_get": native.__get__,  # type: ignore[attr-defined] # a kernel's
    }
    words = {name: id(each) for name, each in objects.items()}
    sample = functools.partial(len)
    words["python_call"] = ctypes.c_int64.from_address(id(sample) + call).value
    words["python_getattr"] = original_slot(BoundKernel, "getattro")
    words["python_dealloc"] = original_slot(functools.partial, "dealloc")
    for name in API:
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        if not address:
            raise NotKnown(f"Python has no {name}")
        words[name] = address
    record = (ctypes.c_int64 * len(RECORD))(*(words.get(name, 0) for name in RECORD))
    # At the end of the process, objects are let go after this module.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object((record, *objects.values())))
    return record


def _after_fork() -> None:
    _lock[0] = RLock()  # a thread that is not in the child may hold the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
