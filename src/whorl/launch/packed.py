"""The values of a kernel's slots in, its result out: a launch by the documented C API alone.

Where a call is checked in Python, what remains is to pack the launch record, to enter the kernel
and to make its result. This routine does so as a builtin function. It knows nothing about how
objects are laid out: arrays are asked through the buffer protocol, numbers through the functions
for numbers. What it cannot pack goes on to the generated Python function, which also has the words
for what is wrong.

    plan     api, slow, entry, releases the lock, failed, results, words, the template's eight
             words, slots, then for each slot
    slot     kind, word, dimensions, what of an array is put down (see `members`)
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

__all__ = ["PACKED", "PACKED_TEXT", "PLAN", "SLOTS", "packed_function", "plan_of"]

PACKED: Final = "whorl_packed"
SLOTS: Final = {"array": 0, "int": 1, "unsigned": 2, "double": 3, "float": 4, "bool": 5}
_TEMPLATE: Final = 7
_SLOT_COUNT: Final = _TEMPLATE + 8
_FIRST_SLOT: Final = _SLOT_COUNT + 1
_FASTCALL: Final = 0x0080
_STRIDED: Final = 0x0018  # PyBUF_STRIDES


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
def _definition(address: int) -> _MethodDef:
    """How the routine is called, for all functions that are made of it."""
    return _MethodDef(b"launch", address, _FASTCALL, None)


def packed_function(address: int, plan: bytes, *kept: object) -> Any:
    """A builtin function that takes the values of all slots, and launches by a plan."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(_definition(address)), (plan, *kept), None)


def plan_of(
    api: int,
    slow: int,
    entry: int,
    *,
    releases: bool,
    failed: int,
    results: int,
    words: int,
    template: Sequence[int],
    slots: Sequence[tuple[str, int, int, int]],
) -> bytes:
    """The words of a plan. What they point to has to be kept with the function."""
    head = (api, slow, entry, int(releases), failed, results, words, *template, len(slots))
    rows = (part for kind, *rest in slots for part in (SLOTS[kind], *rest))
    return struct.pack(f"<{len(head) + 4 * len(slots)}q", *head, *rows)


PLAN: Final = {
    "plan_slots": _FIRST_SLOT,
    "plan_count": _SLOT_COUNT,
    "plan_template": 8 * _TEMPLATE,
    "strided": _STRIDED,
    **{f"s_{name}": number for name, number in SLOTS.items()},
}
"""The numbers in the text."""

PACKED_TEXT: Final = """
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyBytes_AsString(ptr)
%buffer = type {{ ptr, ptr, i64, i64, i32, i32, ptr, ptr, ptr, ptr, ptr }}

define internal i1 @pack_array(ptr %api, ptr %object, ptr %target, i64 %ndim, i64 %extents) {{
entry:
  %view = alloca %buffer
  %get = call ptr @api(ptr %api, i64 {api_PyObject_GetBuffer})
  %got = call i32 %get(ptr %object, ptr %view, i32 {strided})
  %is_got = icmp eq i32 %got, 0
  br i1 %is_got, label %have, label %no
have:
  %address = load i64, ptr %view
  store i64 %address, ptr %target
  %ndim_place = getelementptr inbounds %buffer, ptr %view, i32 0, i32 5
  %ndim_found = load i32, ptr %ndim_place
  %ndim_wide = sext i32 %ndim_found to i64
  %is_ndim = icmp eq i64 %ndim_wide, %ndim
  %shape_place = getelementptr inbounds %buffer, ptr %view, i32 0, i32 7
  %shape = load ptr, ptr %shape_place
  %strides_place = getelementptr inbounds %buffer, ptr %view, i32 0, i32 8
  %strides = load ptr, ptr %strides_place
  %has_strides = icmp eq i64 %extents, 1
  br i1 %is_ndim, label %head, label %end
head:
  %axis = phi i64 [ 0, %have ], [ %after, %next ]
  %more = icmp slt i64 %axis, %ndim
  br i1 %more, label %round, label %end
round:
  %extent = call i64 @word(ptr %shape, i64 %axis)
  %after = add i64 %axis, 1
  %extent_place = getelementptr inbounds i64, ptr %target, i64 %after
  store i64 %extent, ptr %extent_place
  br i1 %has_strides, label %stride, label %next
stride:
  %step = call i64 @word(ptr %strides, i64 %axis)
  %number = add i64 %after, %ndim
  %step_place = getelementptr inbounds i64, ptr %target, i64 %number
  store i64 %step, ptr %step_place
  br label %next
next:
  br label %head
end:
  %release = call ptr @api(ptr %api, i64 {api_PyBuffer_Release})
  call void %release(ptr %view)
  ret i1 %is_ndim
no:
  ret i1 false
}}

; Whether a number could be packed: -1 may also say that it could not.
define internal i1 @is_well(ptr %api, i1 %is_odd) alwaysinline {{
entry:
  br i1 %is_odd, label %ask, label %yes
ask:
  %occurred = call ptr @api(ptr %api, i64 {api_PyErr_Occurred})
  %error = call ptr %occurred()
  %is_none = icmp eq ptr %error, null
  ret i1 %is_none
yes:
  ret i1 true
}}

define internal i1 @pack_number(ptr %api, ptr %object, ptr %target, i64 %kind) {{
entry:
  switch i64 %kind, label %no [ i64 {s_int}, label %int i64 {s_unsigned}, label %unsigned
    i64 {s_double}, label %real i64 {s_float}, label %real i64 {s_bool}, label %bool ]
int:
  %as_long = call ptr @api(ptr %api, i64 {api_PyLong_AsLongLong})
  %long = call i64 %as_long(ptr %object)
  store i64 %long, ptr %target
  %is_long_odd = icmp eq i64 %long, -1
  %is_long = call i1 @is_well(ptr %api, i1 %is_long_odd)
  ret i1 %is_long
unsigned:
  %to_int = call ptr @api(ptr %api, i64 {api_PyNumber_Index})
  %index = call ptr %to_int(ptr %object)
  %is_no_index = icmp eq ptr %index, null
  br i1 %is_no_index, label %no, label %has_index
has_index:
  %as_unsigned = call ptr @api(ptr %api, i64 {api_PyLong_AsUnsignedLongLong})
  %positive = call i64 %as_unsigned(ptr %index)
  %drop = call ptr @api(ptr %api, i64 {api_Py_DecRef})
  call void %drop(ptr %index)
  store i64 %positive, ptr %target
  %is_positive_odd = icmp eq i64 %positive, -1
  %is_positive = call i1 @is_well(ptr %api, i1 %is_positive_odd)
  ret i1 %is_positive
real:
  %as_double = call ptr @api(ptr %api, i64 {api_PyFloat_AsDouble})
  %double = call double %as_double(ptr %object)
  %is_double_odd = fcmp oeq double %double, -1.0
  %is_double = call i1 @is_well(ptr %api, i1 %is_double_odd)
  %is_narrow = icmp eq i64 %kind, {s_float}
  br i1 %is_narrow, label %narrow, label %wide
narrow:
  %float = fptrunc double %double to float
  store i64 0, ptr %target
  store float %float, ptr %target
  ret i1 %is_double
wide:
  store double %double, ptr %target
  ret i1 %is_double
bool:
  %is_true = call ptr @api(ptr %api, i64 {api_PyObject_IsTrue})
  %truth = call i32 %is_true(ptr %object)
  %truth_wide = sext i32 %truth to i64
  store i64 %truth_wide, ptr %target
  %is_bool = icmp sge i32 %truth, 0
  ret i1 %is_bool
no:
  ret i1 false
}}

define ptr @whorl_packed(ptr %self, ptr %args, i64 %given) {{
entry:
  %bytes = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %plan = call ptr @PyBytes_AsString(ptr %bytes)
  %api = call ptr @api(ptr %plan, i64 0)
  %words = call i64 @word(ptr %plan, i64 6)
  %count = call i64 @word(ptr %plan, i64 {plan_count})
  %record = alloca i64, i64 %words, align 16
  %template = getelementptr inbounds i8, ptr %plan, i64 {plan_template}
  call void @llvm.memcpy.p0.p0.i64(ptr %record, ptr %template, i64 64, i1 false)
  %is_whole = icmp eq i64 %count, %given
  br i1 %is_whole, label %head, label %python
head:
  %i = phi i64 [ 0, %entry ], [ %after, %next ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %round, label %launch
round:
  %first = shl i64 %i, 2
  %number = add i64 %first, {plan_slots}
  %slot = getelementptr inbounds i64, ptr %plan, i64 %number
  %kind = call i64 @word(ptr %slot, i64 0)
  %to = call i64 @word(ptr %slot, i64 1)
  %ndim = call i64 @word(ptr %slot, i64 2)
  %extents = call i64 @word(ptr %slot, i64 3)
  %target = getelementptr inbounds i64, ptr %record, i64 %to
  %place = getelementptr inbounds ptr, ptr %args, i64 %i
  %object = load ptr, ptr %place
  %is_array = icmp eq i64 %kind, {s_array}
  br i1 %is_array, label %array, label %scalar
array:
  %is_packed = call i1 @pack_array(ptr %api, ptr %object, ptr %target, i64 %ndim, i64 %extents)
  br i1 %is_packed, label %next, label %failed_to_pack
scalar:
  %is_number = call i1 @pack_number(ptr %api, ptr %object, ptr %target, i64 %kind)
  br i1 %is_number, label %next, label %failed_to_pack
next:
  %after = add i64 %i, 1
  br label %head
failed_to_pack:
  %clear = call ptr @api(ptr %api, i64 {api_PyErr_Clear})
  call void %clear()
  br label %python
python:
  %slow = call ptr @api(ptr %plan, i64 1)
  %call = call ptr @api(ptr %api, i64 {api_PyObject_Vectorcall})
  %answer = call ptr %call(ptr %slow, ptr %args, i64 %given, ptr null)
  ret ptr %answer
launch:
  %entry_point = call ptr @api(ptr %plan, i64 2)
  %releases = call i64 @word(ptr %plan, i64 3)
  %is_locked = icmp eq i64 %releases, 0
  br i1 %is_locked, label %locked, label %free
locked:
  call void %entry_point(ptr %record)
  br label %done
free:
  %save = call ptr @api(ptr %api, i64 {api_PyEval_SaveThread})
  %state = call ptr %save()
  call void %entry_point(ptr %record)
  %restore = call ptr @api(ptr %api, i64 {api_PyEval_RestoreThread})
  call void %restore(ptr %state)
  br label %done
done:
  %status = call i64 @word(ptr %record, i64 {status})
  %is_good = icmp eq i64 %status, 0
  br i1 %is_good, label %good, label %failed
good:
  %results = call ptr @api(ptr %plan, i64 5)
  %made = call ptr @result(ptr %api, ptr %results, ptr %record)
  ret ptr %made
failed:
  %failure = call ptr @api(ptr %plan, i64 4)
  %to_bytes = call ptr @api(ptr %api, i64 {api_PyBytes_FromStringAndSize})
  %status_place = getelementptr inbounds i64, ptr %record, i64 {status}
  %said = call ptr %to_bytes(ptr %status_place, i64 32)
  %one_arg = call ptr @api(ptr %api, i64 {api_PyObject_CallOneArg})
  %raised = call ptr %one_arg(ptr %failure, ptr %said)
  %drop = call ptr @api(ptr %api, i64 {api_Py_DecRef})
  call void %drop(ptr %said)
  ret ptr %raised
}}
"""
