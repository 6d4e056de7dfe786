"""What a kernel left in its record in, a Python object out: the launcher's part that does so."""

from __future__ import annotations

from typing import Final

__all__ = ["RESULTS", "none_text", "object_text"]


def none_text(none: str) -> str:
    """How a new reference to None is made, where a layout says this of it."""
    match none:
        case "for ever":
            return ""
        case "counted":
            return """
  %counted = load i64, ptr %none
  %counted_more = add i64 %counted, 1
  store i64 %counted_more, ptr %none"""
        case _:
            return """
  %incref = call ptr @api(ptr %api, i64 {api_Py_IncRef})
  call void %incref(ptr %none)"""


def object_text(none: str) -> str:
    """The same for an object of any kind."""
    if none != "for ever":
        text = none_text(none).replace("%none", "%object")
        return text.replace("%counted", "%object_counted").replace("%incref", "%object_incref")
    return """
  %object_counted = load i32, ptr %object
  %is_mortal = icmp sge i32 %object_counted, 0
  %counted_by = zext i1 %is_mortal to i32
  %object_more = add i32 %object_counted, %counted_by
  store i32 %object_more, ptr %object"""


RESULTS: Final = """
define internal ptr @number(ptr %api, i64 %kind, ptr %place) {{
entry:
  switch i64 %kind, label %long [ i64 0, label %double i64 1, label %float i64 2, label %bool
    i64 3, label %i8 i64 4, label %i16 i64 5, label %i32 i64 7, label %u8 i64 8, label %u16
    i64 9, label %u32 i64 10, label %u64 ]
double:
  %d = load double, ptr %place
  br label %make_float
float:
  %f = load float, ptr %place
  %fd = fpext float %f to double
  br label %make_float
make_float:
  %value = phi double [ %d, %double ], [ %fd, %float ]
  %from_double = call ptr @api(ptr %api, i64 {api_PyFloat_FromDouble})
  %made_float = call ptr %from_double(double %value)
  ret ptr %made_float
bool:
  %b = load i8, ptr %place
  %wide = zext i8 %b to i64
  %from_bool = call ptr @api(ptr %api, i64 {api_PyBool_FromLong})
  %made_bool = call ptr %from_bool(i64 %wide)
  ret ptr %made_bool
i8:
  %v8 = load i8, ptr %place
  %s8 = sext i8 %v8 to i64
  br label %make_long
i16:
  %v16 = load i16, ptr %place
  %s16 = sext i16 %v16 to i64
  br label %make_long
i32:
  %v32 = load i32, ptr %place
  %s32 = sext i32 %v32 to i64
  br label %make_long
u8:
  %w8 = load i8, ptr %place
  %z8 = zext i8 %w8 to i64
  br label %make_long
u16:
  %w16 = load i16, ptr %place
  %z16 = zext i16 %w16 to i64
  br label %make_long
u32:
  %w32 = load i32, ptr %place
  %z32 = zext i32 %w32 to i64
  br label %make_long
long:
  %v64 = load i64, ptr %place
  br label %make_long
make_long:
  %integer = phi i64 [ %s8, %i8 ], [ %s16, %i16 ], [ %s32, %i32 ], [ %z8, %u8 ], [ %z16, %u16 ],
    [ %z32, %u32 ], [ %v64, %long ]
  %from_long = call ptr @api(ptr %api, i64 {api_PyLong_FromLongLong})
  %made_long = call ptr %from_long(i64 %integer)
  ret ptr %made_long
u64:
  %w64 = load i64, ptr %place
  %from_unsigned = call ptr @api(ptr %api, i64 {api_PyLong_FromUnsignedLongLong})
  %made_unsigned = call ptr %from_unsigned(i64 %w64)
  ret ptr %made_unsigned
}}

; What is returned: -1 None, -2 one number, -3 the object of the number in a word, otherwise a
; tuple of so many; kind and word of each.
define internal ptr @result(ptr %api, ptr %results, ptr %record) alwaysinline {{
entry:
  %count = call i64 @word(ptr %results, i64 0)
  switch i64 %count, label %something [ i64 -1, label %nothing i64 -3, label %chosen ]
chosen:
  %choice_word = call i64 @word(ptr %results, i64 1)
  %choice = call i64 @word(ptr %record, i64 %choice_word)
  %choice_at = add i64 %choice, 2
  %object = call ptr @api(ptr %results, i64 %choice_at)
{object_counted}
  ret ptr %object
nothing:
  %none = call ptr @api(ptr %api, i64 {api_none})
{none_counted}
  ret ptr %none
something:
  %made = call ptr @made(ptr %api, ptr %results, ptr %record, i64 %count)
  ret ptr %made
}}

define internal ptr @made(ptr %api, ptr %results, ptr %record, i64 %count) noinline {{
entry:
  %is_one = icmp eq i64 %count, -2
  br i1 %is_one, label %one, label %several
one:
  %kind = call i64 @word(ptr %results, i64 1)
  %number = call i64 @word(ptr %results, i64 2)
  %place = getelementptr inbounds i64, ptr %record, i64 %number
  %made = call ptr @number(ptr %api, i64 %kind, ptr %place)
  ret ptr %made
several:
  %new = call ptr @api(ptr %api, i64 {api_PyTuple_New})
  %tuple = call ptr %new(i64 %count)
  %is_none = icmp eq ptr %tuple, null
  br i1 %is_none, label %failed, label %head
head:
  %i = phi i64 [ 0, %several ], [ %next, %stored ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %round, label %end
round:
  %twice = shl i64 %i, 1
  %first = add i64 %twice, 1
  %second = add i64 %twice, 2
  %kind_i = call i64 @word(ptr %results, i64 %first)
  %word_i = call i64 @word(ptr %results, i64 %second)
  %place_i = getelementptr inbounds i64, ptr %record, i64 %word_i
  %item = call ptr @number(ptr %api, i64 %kind_i, ptr %place_i)
  %is_bad = icmp eq ptr %item, null
  br i1 %is_bad, label %dropped, label %stored
stored:
  %set = call ptr @api(ptr %api, i64 {api_PyTuple_SetItem})
  %ignored = call i32 %set(ptr %tuple, i64 %i, ptr %item)
  %next = add i64 %i, 1
  br label %head
dropped:
  %decref = call ptr @api(ptr %api, i64 {api_Py_DecRef})
  call void %decref(ptr %tuple)
  br label %failed
end:
  ret ptr %tuple
failed:
  ret ptr null
}}

"""
