"""A kernel and an object in, the bound kernel out: functions for slots of classes, as LLVM's text.

`solver.step.resume(...)` makes two objects that live as long as the call: `solver.step`, and its
`resume`. Both are partials of Python's own (`kernels.bound`), and to make them costs more than the
launch. So the last of each that was let go waits for the next call.

    get      of a kernel that is resumed natively: its bound kernel
    getattr  of a bound kernel: its `resume`; everything else as Python finds it
    call     of that: the resumption, with the object as its first argument
    dealloc  of both: keep one, empty, if nobody could tell it from a new one

What waits is an object like any other, which refers to None alone and to which only the record here
refers. It is used again if that is still so: the collector shows it to whoever asks. What the
collector is about to clear does not wait. Where something is not as expected, the functions do what
Python has done in their place.

All addresses come from a record in memory, for which the image has an entry in its table.

    record   see `RECORD`: classes, what waits, the functions that are gone on to, Python's C API
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any, Final

from whorl.late import NamedTuple

from .class_layout import NotKnown
from .layout import Layout
from .results import counted_text

__all__ = [
    "API", "CALL", "DEALLOC", "GET", "GETATTR", "RECORD", "RECORD_NAME", "PartialLayout",
    "binding_text", "original_slot", "partial_layout", "place_of_slot", "replace_slot",
]  # fmt: skip

GET, GETATTR, DEALLOC = "whorl_bound_get", "whorl_bound_getattr", "whorl_bound_dealloc"
CALL: Final = "whorl_bound_call"
RECORD_NAME: Final = "whorl_binding"
API: Final = (
    "Py_IncRef", "Py_DecRef", "PyObject_Vectorcall", "PyObject_GC_Track",
)  # fmt: skip
RECORD: Final = (
    "kernel_class",  # of kernels that are resumed natively
    "resumption_class",  # of native resumptions
    "bound_class", "resumed_class",
    "bound_waits", "resumed_waits",
    "none", "resume",  # the objects None and "resume"
    "python_get",  # what binds anything else
    "python_getattr", "python_dealloc",  # the slots' functions before
    "bound_call", "python_call",  # how what is bound here is called, and how any partial is
    *API,
)  # fmt: skip
"""What the words of the record are."""

GC_NEXT, GC_FLAGS, COLLECTING = -16, -8, 2
"""Before an object, the collector has two words: its next one, 0 for what is not watched; and the
one before, with a bit for what is being collected."""

_SLOTS: Final = {"dealloc": 52, "descr_get": 54, "getattro": 58}


class PartialLayout(NamedTuple):
    """Offsets in a partial of Python."""

    func: int
    args: int
    keywords: int
    dict: int
    weak: int
    call: int


def partial_layout(*classes: type[functools.partial[Any]]) -> PartialLayout:
    """Where partials of some classes keep what they are made of; `NotKnown` if not as expected."""
    if sys.version_info[:2] not in ((3, 11), (3, 12), (3, 13)) or hasattr(sys, "gettotalrefcount"):
        raise NotKnown("a partial is not laid out in a way that is known")
    found = {_layout_of(cls) for cls in classes}
    if len(found) != 1:
        raise NotKnown("partials are not laid out alike")
    return found.pop()


def _layout_of(cls: type[functools.partial[Any]]) -> PartialLayout:
    function: Any = len  # a builtin that is called as quickly as can be
    sample = cls(function, functools.wraps)
    words = list((ctypes.c_int64 * (cls.__basicsize__ // 8)).from_address(id(sample)))
    wanted = (id(sample.func), id(sample.args), id(sample.keywords))
    if any(words.count(each) != 1 for each in wanted):
        raise NotKnown("a partial does not hold what it is made of")
    offset, weak = cls.__dictoffset__, cls.__weakrefoffset__
    size = functools.partial.__basicsize__
    if cls.__basicsize__ != size or not (0 < offset < size and 0 < weak < size):
        raise NotKnown("a partial does not keep its attributes where expected")
    func, args, keywords = (8 * words.index(each) for each in wanted)
    rest = set(range(object.__basicsize__, size, 8)) - {func, args, keywords, offset, weak}
    if len(rest) != 1 or not words[min(rest) // 8]:
        raise NotKnown("a partial does not say where expected how it is called")
    return PartialLayout(func, args, keywords, offset, weak, rest.pop())


# -- the slots of classes -----------------------------------------------------------------


def original_slot(cls: type, slot: str) -> int:
    """The function in a slot of a class; 0 if there is none."""
    ask = ctypes.pythonapi.PyType_GetSlot
    ask.restype, ask.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
    return ask(cls, _SLOTS[slot]) or 0


def place_of_slot(slot: str, *samples: type) -> int:
    """Where classes have a slot: the one place that holds the function of each sample.

    >>> place_of_slot("dealloc", int, property) == place_of_slot("dealloc", list, dict)
    True
    """
    places: set[int] | None = None
    for cls in samples:
        function = original_slot(cls, slot)
        words = (ctypes.c_uint64 * 48).from_address(id(cls))  # less than any class has
        found = {8 * i for i, word in enumerate(words) if word == function}
        places = found if places is None else places & found
        if not function:
            raise NotKnown(f"a class has no slot {slot}")
    if not places or len(places) != 1:
        raise NotKnown(f"the slot {slot} of a class is not found in it")
    return places.pop()


def replace_slot(cls: type, place: int, function: int) -> None:
    """Put another function into a slot of a class."""
    ctypes.c_uint64.from_address(id(cls) + place).value = function


# -- the text -----------------------------------------------------------------------------


def binding_text(at: Layout, partial: PartialLayout, slot: int) -> str:
    """The functions, for kernels that keep their resumption at an offset."""
    return (counted_text(at.none) + _TEXT).format(
        record=RECORD_NAME,
        size=len(RECORD),
        get=GET,
        getattr=GETATTR,
        dealloc=DEALLOC,
        call=CALL,
        entry=at.base_size,
        type=at.type,
        slot=slot,
        tuple_size=at.tuple_size,
        tuple_items=at.tuple_items,
        dict_size=16,
        gc_next=GC_NEXT,
        gc_flags=GC_FLAGS,
        collecting=COLLECTING,
        **{f"of_{name}": offset for name, offset in partial._asdict().items()},
        **{f"r_{name}": 8 * number for number, name in enumerate(RECORD)},
    )


_TEXT: Final = """
@{record} = external global [{size} x i64]

define internal ptr @recorded(i64 %offset) alwaysinline {{
  %place = getelementptr inbounds i8, ptr @{record}, i64 %offset
  %found = load ptr, ptr %place
  ret ptr %found
}}

define internal void @let_wait(i64 %offset, ptr %object) alwaysinline {{
  %place = getelementptr inbounds i8, ptr @{record}, i64 %offset
  store ptr %object, ptr %place
  ret void
}}

define internal ptr @in(ptr %object, i64 %offset) alwaysinline {{
  %place = getelementptr inbounds i8, ptr %object, i64 %offset
  %found = load ptr, ptr %place
  ret ptr %found
}}

define internal void @put(ptr %object, i64 %offset, ptr %value) alwaysinline {{
  %place = getelementptr inbounds i8, ptr %object, i64 %offset
  store ptr %value, ptr %place
  ret void
}}

define internal i1 @is_null(ptr %object, i64 %offset) alwaysinline {{
  %found = call ptr @in(ptr %object, i64 %offset)
  %is_null = icmp eq ptr %found, null
  ret i1 %is_null
}}

define internal i1 @is_mine(ptr %object) alwaysinline {{
  %count = load i64, ptr %object
  %is_one = icmp eq i64 %count, 1
  ret i1 %is_one
}}

; Whether a partial is like a new one, but for what it calls and the one argument: nobody else
; has its parts, and it has no attributes.
define internal i1 @is_like_new(ptr %object) alwaysinline {{
entry:
  %is_without_dict = call i1 @is_null(ptr %object, i64 {of_dict})
  %is_without_weak = call i1 @is_null(ptr %object, i64 {of_weak})
  %is_bare = and i1 %is_without_dict, %is_without_weak
  %has_no_called = call i1 @is_null(ptr %object, i64 {of_func})
  %args = call ptr @in(ptr %object, i64 {of_args})
  %has_no_args = icmp eq ptr %args, null
  %keywords = call ptr @in(ptr %object, i64 {of_keywords})
  %has_no_keywords = icmp eq ptr %keywords, null
  %is_without = or i1 %has_no_args, %has_no_keywords
  %is_cleared = or i1 %is_without, %has_no_called
  %is_not_cleared = xor i1 %is_cleared, true
  %is_whole = and i1 %is_bare, %is_not_cleared
  br i1 %is_whole, label %look, label %no
look:
  %args_mine = call i1 @is_mine(ptr %args)
  %keywords_mine = call i1 @is_mine(ptr %keywords)
  %args_size = call ptr @in(ptr %args, i64 {tuple_size})
  %args_count = ptrtoint ptr %args_size to i64
  %is_one = icmp eq i64 %args_count, 1
  %is_empty = call i1 @is_null(ptr %keywords, i64 {dict_size})
  %are_mine = and i1 %args_mine, %keywords_mine
  %are_usual = and i1 %is_one, %is_empty
  %is_new = and i1 %are_mine, %are_usual
  ret i1 %is_new
no:
  ret i1 false
}}

; Gives a partial another function and argument; those before are in %before.
define internal void @exchange(ptr %object, ptr %args, ptr %called, ptr %instance, ptr %before)
    alwaysinline {{
  %called_before = call ptr @in(ptr %object, i64 {of_func})
  %instance_before = call ptr @in(ptr %args, i64 {tuple_items})
  %second = getelementptr inbounds ptr, ptr %before, i64 1
  store ptr %called_before, ptr %before
  store ptr %instance_before, ptr %second
  call void @counted_more(ptr %called)
  call void @counted_more(ptr %instance)
  call void @put(ptr %object, i64 {of_func}, ptr %called)
  call void @put(ptr %args, i64 {tuple_items}, ptr %instance)
  ret void
}}

define internal void @let_go_of(ptr %before) alwaysinline {{
  %second = getelementptr inbounds ptr, ptr %before, i64 1
  %called = load ptr, ptr %before
  %instance = load ptr, ptr %second
  call void @counted_less(ptr %called)
  call void @counted_less(ptr %instance)
  ret void
}}

; What has waited, filled with what is bound and its object; null if there is none to be used.
define internal ptr @again(i64 %waits, ptr %called, ptr %instance) alwaysinline {{
entry:
  %before = alloca [2 x ptr]
  %object = call ptr @recorded(i64 %waits)
  %is_none = icmp eq ptr %object, null
  br i1 %is_none, label %no, label %look
look:
  %is_alone = call i1 @is_mine(ptr %object)
  br i1 %is_alone, label %look_inside, label %no
look_inside:
  %is_new = call i1 @is_like_new(ptr %object)
  br i1 %is_new, label %take, label %no
take:
  call void @let_wait(i64 %waits, ptr null)
  %args = call ptr @in(ptr %object, i64 {of_args})
  call void @exchange(ptr %object, ptr %args, ptr %called, ptr %instance, ptr %before)
  call void @let_go_of(ptr %before)
  ; The collector stops watching a tuple of None.
  %next_watched = call ptr @in(ptr %args, i64 {gc_next})
  %is_watched = icmp ne ptr %next_watched, null
  br i1 %is_watched, label %done, label %watch
watch:
  %track = call ptr @recorded(i64 {r_PyObject_GC_Track})
  call void %track(ptr %args)
  br label %done
done:
  ret ptr %object
no:
  ret ptr null
}}

define ptr @{get}(ptr %kernel, ptr %instance, ptr %owner) {{
entry:
  %given = alloca [3 x ptr]
  %none = call ptr @recorded(i64 {r_none})
  %is_null = icmp eq ptr %instance, null
  %is_none = icmp eq ptr %instance, %none
  %is_without = or i1 %is_null, %is_none
  br i1 %is_without, label %python, label %look
look:
  %class = call ptr @in(ptr %kernel, i64 {type})
  %wanted = call ptr @recorded(i64 {r_kernel_class})
  %is_class = icmp eq ptr %class, %wanted
  br i1 %is_class, label %bind, label %python
bind:
  %bound = call ptr @again(i64 {r_bound_waits}, ptr %kernel, ptr %instance)
  %is_bound = icmp ne ptr %bound, null
  br i1 %is_bound, label %end, label %python
end:
  ret ptr %bound
python:
  %instance_given = select i1 %is_null, ptr %none, ptr %instance
  %has_owner = icmp ne ptr %owner, null
  %owner_given = select i1 %has_owner, ptr %owner, ptr %none
  %second = getelementptr inbounds ptr, ptr %given, i64 1
  %third = getelementptr inbounds ptr, ptr %given, i64 2
  store ptr %kernel, ptr %given
  store ptr %instance_given, ptr %second
  store ptr %owner_given, ptr %third
  %function = call ptr @recorded(i64 {r_python_get})
  %call = call ptr @recorded(i64 {r_PyObject_Vectorcall})
  %made = call ptr %call(ptr %function, ptr %given, i64 3, ptr null)
  ret ptr %made
}}

define ptr @{getattr}(ptr %self, ptr %name) {{
entry:
  %given = alloca [2 x ptr]
  %resume = call ptr @recorded(i64 {r_resume})
  %is_resume = icmp eq ptr %name, %resume
  br i1 %is_resume, label %look, label %python
look:
  %kernel = call ptr @in(ptr %self, i64 {of_func})
  %args = call ptr @in(ptr %self, i64 {of_args})
  %is_without = icmp eq ptr %kernel, null
  %is_empty = icmp eq ptr %args, null
  %is_cleared = or i1 %is_without, %is_empty
  br i1 %is_cleared, label %python, label %look_at_kernel
look_at_kernel:
  %class = call ptr @in(ptr %kernel, i64 {type})
  %wanted = call ptr @recorded(i64 {r_kernel_class})
  %is_class = icmp eq ptr %class, %wanted
  %size = call ptr @in(ptr %args, i64 {tuple_size})
  %count = ptrtoint ptr %size to i64
  %is_one = icmp eq i64 %count, 1
  %is_usual = and i1 %is_class, %is_one
  %has_no_attributes = call i1 @is_null(ptr %self, i64 {of_dict})
  %is_plain = and i1 %is_usual, %has_no_attributes
  br i1 %is_plain, label %look_inside, label %python
look_inside:
  %resumption = call ptr @in(ptr %kernel, i64 {slot})
  %is_unset = icmp eq ptr %resumption, null
  br i1 %is_unset, label %python, label %look_at_resumption
look_at_resumption:
  %found = call ptr @in(ptr %resumption, i64 {type})
  %native = call ptr @recorded(i64 {r_resumption_class})
  %is_native = icmp eq ptr %found, %native
  br i1 %is_native, label %bind, label %python
bind:
  %instance = call ptr @in(ptr %args, i64 {tuple_items})
  %bound = call ptr @again(i64 {r_resumed_waits}, ptr %resumption, ptr %instance)
  %is_bound = icmp ne ptr %bound, null
  br i1 %is_bound, label %end, label %new
end:
  %quick = call ptr @recorded(i64 {r_bound_call})
  call void @put(ptr %bound, i64 {of_call}, ptr %quick)
  ret ptr %bound
new:
  %second = getelementptr inbounds ptr, ptr %given, i64 1
  store ptr %resumption, ptr %given
  store ptr %instance, ptr %second
  %make = call ptr @recorded(i64 {r_resumed_class})
  %call = call ptr @recorded(i64 {r_PyObject_Vectorcall})
  %made = call ptr %call(ptr %make, ptr %given, i64 2, ptr null)
  ret ptr %made
python:
  %hook = call ptr @recorded(i64 {r_python_getattr})
  %got = call ptr %hook(ptr %self, ptr %name)
  ret ptr %got
}}

define ptr @{call}(ptr %self, ptr %args, i64 %counted, ptr %names) {{
entry:
  ; By its highest bit, the number of arguments says that there is room for one before them.
  %has_room = icmp slt i64 %counted, 0
  %called = call ptr @in(ptr %self, i64 {of_func})
  %first = call ptr @in(ptr %self, i64 {of_args})
  %keywords = call ptr @in(ptr %self, i64 {of_keywords})
  %class = call ptr @in(ptr %called, i64 {type})
  %native = call ptr @recorded(i64 {r_resumption_class})
  %is_native = icmp eq ptr %class, %native
  %size = call ptr @in(ptr %first, i64 {tuple_size})
  %size_count = ptrtoint ptr %size to i64
  %is_one = icmp eq i64 %size_count, 1
  %is_empty = call i1 @is_null(ptr %keywords, i64 {dict_size})
  %is_known = and i1 %has_room, %is_native
  %is_usual = and i1 %is_one, %is_empty
  %is_plain = and i1 %is_known, %is_usual
  br i1 %is_plain, label %enter, label %python
enter:
  %instance = call ptr @in(ptr %first, i64 {tuple_items})
  %before = getelementptr inbounds ptr, ptr %args, i64 -1
  %kept = load ptr, ptr %before
  store ptr %instance, ptr %before
  %count = and i64 %counted, 9223372036854775807
  %count_more = add i64 %count, 1
  %launch = call ptr @in(ptr %called, i64 {entry})
  %result = call ptr %launch(ptr %called, ptr %before, i64 %count_more, ptr %names)
  store ptr %kept, ptr %before
  ret ptr %result
python:
  %call = call ptr @recorded(i64 {r_python_call})
  %answer = call ptr %call(ptr %self, ptr %args, i64 %counted, ptr %names)
  ret ptr %answer
}}

define void @{dealloc}(ptr %self) {{
entry:
  %before = alloca [2 x ptr]
  %class = call ptr @in(ptr %self, i64 {type})
  %bound = call ptr @recorded(i64 {r_bound_class})
  %resumed = call ptr @recorded(i64 {r_resumed_class})
  %is_bound = icmp eq ptr %class, %bound
  %is_resumed = icmp eq ptr %class, %resumed
  %is_either = or i1 %is_bound, %is_resumed
  %waits = select i1 %is_bound, i64 {r_bound_waits}, i64 {r_resumed_waits}
  br i1 %is_either, label %look, label %python
look:
  %other = call ptr @recorded(i64 %waits)
  %is_free = icmp eq ptr %other, null
  %flags = call ptr @in(ptr %self, i64 {gc_flags})
  %flag_bits = ptrtoint ptr %flags to i64
  %collecting = and i64 %flag_bits, {collecting}
  %is_not_collected = icmp eq i64 %collecting, 0
  %is_able = and i1 %is_free, %is_not_collected
  br i1 %is_able, label %look_inside, label %python
look_inside:
  %is_new = call i1 @is_like_new(ptr %self)
  br i1 %is_new, label %keep, label %python
keep:
  %none = call ptr @recorded(i64 {r_none})
  %args = call ptr @in(ptr %self, i64 {of_args})
  call void @exchange(ptr %self, ptr %args, ptr %none, ptr %none, ptr %before)
  store i64 1, ptr %self
  call void @let_wait(i64 %waits, ptr %self)
  ; Code of the user may run now, and take it again.
  call void @let_go_of(ptr %before)
  ret void
python:
  %let_go = call ptr @recorded(i64 {r_python_dealloc})
  call void %let_go(ptr %self)
  ret void
}}
"""
