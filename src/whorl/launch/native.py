"""The launcher, as LLVM's text: one routine for all kernels, driven by tables.

A callable object holds the address of its header; the header names the tables of the kernel's
specializations. A table is a list of operations: load something into a register, check it, and
put what the kernel needs into the launch record. The first table whose checks all hold launches
its kernel; if none does, the call goes on to Python.

    header   api, slow, count, specialization...
    special  arguments, registers, words, entry, template, operations, their number, results,
             failed, releases the lock
    operation  kind, from, to, a, b, c, d, e          eight words each

    ARRAY    an exact ndarray: dtype a, dimensions b, flags & low half of c == its high half;
             e: with strides
    SLOTTED  the same for the member at offset d of what is in a register
    KEYED    the same for the value of key d in the dict that is in a register
    INT      an exact int that fits into 64 bits      FLOAT  an exact float
    BOOL     True or False                            SCALAR an object of class a: b bytes at c
    ATTR     the attribute named a, as `getattr`      SLOT   the member at offset b; a: keep it
    TYPE     an object of class a                     SAME   the very object a
    CLASS    class a, and it is as it was: version b  DICT   the instance dict of an object
    KEY      the value of key b; a: keep it           EQUAL  the object in register b
    STAYS    in dict a, the key b leads to the very object c
    GLOBAL   in dict a, the key b                     CODE   a function with the code a
    ITEM     the item of key a, as Python would       CONST  the object a
    NOKEY    in dict a, no key b                      CELL   the word at a is b
    EQINT    an exact int of value b                  EQFLOAT  an exact float of bits b
    TEXTS    a dict of which all keys are texts

Every address comes from a table, so the routine is the same bytes in every process of one
layout: it is compiled once, kept in the store, and mapped.
"""

from __future__ import annotations

from typing import Final

from .layout import Layout

__all__ = ["API", "ENTRY", "KINDS", "OP_WORDS", "SPECIAL_WORDS", "launcher_text"]

ENTRY: Final = "whorl_launch"
KINDS: Final = {
    name: number
    for number, name in enumerate(
        (
            "ARRAY", "INT", "FLOAT", "BOOL", "SCALAR", "ATTR", "SLOT", "TYPE", "SAME", "GLOBAL",
            "CODE", "ITEM", "CONST", "NOKEY", "CELL", "EQINT", "EQFLOAT", "SLOTTED", "KEYED",
            "CLASS", "DICT", "KEY", "EQUAL", "STAYS", "TEXTS",
        )
    )
}  # fmt: skip
OP_WORDS: Final = 8
SPECIAL_WORDS: Final = 10
BY_KEYWORD: Final = 1 << 32
"""Added to the number of arguments where the last one is the keyword `from_checkpoint`."""
API: Final = (
    "ndarray", "int", "float", "true", "false", "none", "exception", "from_checkpoint",
    "PyLong_AsLongLongAndOverflow", "PyObject_GetAttr", "PyErr_Clear", "Py_DecRef",
    "PyObject_Vectorcall", "PyFloat_FromDouble", "PyLong_FromLongLong",
    "PyLong_FromUnsignedLongLong", "PyTuple_New", "PyTuple_SetItem", "PyBytes_FromStringAndSize",
    "PyDict_GetItemWithError", "Py_IncRef", "PyEval_SaveThread", "PyEval_RestoreThread",
    "PyObject_GetItem", "PyBool_FromLong", "PyObject_CallOneArg", "PyErr_Occurred",
    "PyObject_GenericGetDict", "PyErr_GivenExceptionMatches", "PyTuple_Size", "PyTuple_GetItem",
)  # fmt: skip
"""What the table of addresses holds: objects first, then functions of the C API."""

_STATUS_WORD: Final = 3


def launcher_text(at: Layout) -> str:
    """The routine for a layout."""
    numbers = {f"api_{name}": i for i, name in enumerate(API)}
    return _TEXT.format(
        header=at.base_size + 8,
        type=at.type,
        float_value=at.float_value,
        data=at.array_data,
        ndim=at.array_ndim,
        shape=at.array_shape,
        strides=at.array_strides,
        dtype=at.array_dtype,
        flags=at.array_flags,
        code=at.function_code,
        type_version=at.type_version,
        dict_keys=at.dict_keys,
        keys_kind=at.keys_kind,
        status=_STATUS_WORD,
        by_keyword=BY_KEYWORD + 1,
        **numbers,
        **{f"k_{name}": number for name, number in KINDS.items()},
    )


_TEXT: Final = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal ptr @api(ptr %table, i64 %number) alwaysinline {{
  %place = getelementptr inbounds ptr, ptr %table, i64 %number
  %found = load ptr, ptr %place
  ret ptr %found
}}

define internal i64 @word(ptr %table, i64 %number) alwaysinline {{
  %place = getelementptr inbounds i64, ptr %table, i64 %number
  %found = load i64, ptr %place
  ret i64 %found
}}

define internal ptr @at(ptr %object, i64 %offset) alwaysinline {{
  %place = getelementptr inbounds i8, ptr %object, i64 %offset
  ret ptr %place
}}

define internal ptr @class_of(ptr %object) alwaysinline {{
  %place = getelementptr inbounds i8, ptr %object, i64 {type}
  %found = load ptr, ptr %place
  ret ptr %found
}}

define internal void @release(ptr %api, ptr %owned, i64 %count) {{
entry:
  %decref = call ptr @api(ptr %api, i64 {api_Py_DecRef})
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %round ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %round, label %end
round:
  %place = getelementptr inbounds ptr, ptr %owned, i64 %i
  %object = load ptr, ptr %place
  call void %decref(ptr %object)
  %next = add i64 %i, 1
  br label %head
end:
  ret void
}}

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
define internal ptr @result(ptr %api, ptr %results, ptr %record) {{
entry:
  %count = call i64 @word(ptr %results, i64 0)
  switch i64 %count, label %several [ i64 -1, label %nothing i64 -2, label %one
    i64 -3, label %chosen ]
nothing:
  %none = call ptr @api(ptr %api, i64 {api_none})
  %incref = call ptr @api(ptr %api, i64 {api_Py_IncRef})
  call void %incref(ptr %none)
  ret ptr %none
chosen:
  %choice_word = call i64 @word(ptr %results, i64 1)
  %choice = call i64 @word(ptr %record, i64 %choice_word)
  %choice_at = add i64 %choice, 2
  %object = call ptr @api(ptr %results, i64 %choice_at)
  %incref_object = call ptr @api(ptr %api, i64 {api_Py_IncRef})
  call void %incref_object(ptr %object)
  ret ptr %object
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

; Tries one specialization. 0: it does not fit; 1: the result, or an error, is in %out.
define internal i1 @try(ptr %special, ptr %api, ptr %args, i64 %count, ptr %out) {{
entry:
  %wanted = call i64 @word(ptr %special, i64 0)
  %fits = icmp eq i64 %wanted, %count
  br i1 %fits, label %begin, label %miss
begin:
  %registers_count = call i64 @word(ptr %special, i64 1)
  %words = call i64 @word(ptr %special, i64 2)
  %entry_point = call ptr @api(ptr %special, i64 3)
  %template = call ptr @api(ptr %special, i64 4)
  %operations = call ptr @api(ptr %special, i64 5)
  %last = call i64 @word(ptr %special, i64 6)
  %results = call ptr @api(ptr %special, i64 7)
  %registers = alloca ptr, i64 %registers_count
  %owned = alloca ptr, i64 %registers_count
  %record = alloca i64, i64 %words, align 16
  %overflow = alloca i32
  %args_count = and i64 %count, 4294967295
  %args_size = shl i64 %args_count, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %registers, ptr %args, i64 %args_size, i1 false)
  %ndarray = call ptr @api(ptr %api, i64 {api_ndarray})
  br label %head
head:
  %i = phi i64 [ 0, %begin ], [ %after, %next ]
  %kept = phi i64 [ 0, %begin ], [ %kept_after, %next ]
  %more = icmp slt i64 %i, %last
  br i1 %more, label %round, label %launch
round:
  %first = shl i64 %i, 3
  %op = getelementptr inbounds i64, ptr %operations, i64 %first
  %kind = call i64 @word(ptr %op, i64 0)
  %from = call i64 @word(ptr %op, i64 1)
  %to = call i64 @word(ptr %op, i64 2)
  %a = call ptr @api(ptr %op, i64 3)
  %b = call i64 @word(ptr %op, i64 4)
  %source_place = getelementptr inbounds ptr, ptr %registers, i64 %from
  %target = getelementptr inbounds i64, ptr %record, i64 %to
  %register = getelementptr inbounds ptr, ptr %registers, i64 %to
  switch i64 %kind, label %fail [ i64 {k_ARRAY}, label %array i64 {k_INT}, label %int
    i64 {k_FLOAT}, label %float i64 {k_BOOL}, label %bool i64 {k_SCALAR}, label %scalar
    i64 {k_ATTR}, label %attr i64 {k_SLOT}, label %slot i64 {k_TYPE}, label %class
    i64 {k_SAME}, label %identity i64 {k_GLOBAL}, label %global i64 {k_CODE}, label %code
    i64 {k_ITEM}, label %item i64 {k_CONST}, label %const i64 {k_NOKEY}, label %nokey
    i64 {k_CELL}, label %cell i64 {k_EQINT}, label %eqint i64 {k_EQFLOAT}, label %eqfloat
    i64 {k_SLOTTED}, label %slotted i64 {k_KEYED}, label %keyed i64 {k_CLASS}, label %version
    i64 {k_DICT}, label %dict i64 {k_KEY}, label %key_of i64 {k_EQUAL}, label %equal
    i64 {k_STAYS}, label %stays
    i64 {k_TEXTS}, label %texts ]

slotted:
  %slotted_owner = load ptr, ptr %source_place
  %slotted_offset = call i64 @word(ptr %op, i64 6)
  %slotted_place = call ptr @at(ptr %slotted_owner, i64 %slotted_offset)
  %slotted_object = load ptr, ptr %slotted_place
  %slotted_empty = icmp eq ptr %slotted_object, null
  br i1 %slotted_empty, label %fail, label %found_array
keyed:
  %keyed_dict = load ptr, ptr %source_place
  %keyed_key = call ptr @api(ptr %op, i64 6)
  %get_keyed = call ptr @api(ptr %api, i64 {api_PyDict_GetItemWithError})
  %keyed_object = call ptr %get_keyed(ptr %keyed_dict, ptr %keyed_key)
  %keyed_empty = icmp eq ptr %keyed_object, null
  br i1 %keyed_empty, label %error, label %found_array
array:
  %plain_object = load ptr, ptr %source_place
  br label %found_array
found_array:
  %array_object = phi ptr [ %plain_object, %array ], [ %slotted_object, %slotted ],
    [ %keyed_object, %keyed ]
  %array_class = call ptr @class_of(ptr %array_object)
  %is_array = icmp eq ptr %array_class, %ndarray
  br i1 %is_array, label %array_checks, label %fail
array_checks:
  %dtype_place = call ptr @at(ptr %array_object, i64 {dtype})
  %dtype_found = load ptr, ptr %dtype_place
  %is_dtype = icmp eq ptr %dtype_found, %a
  %ndim_place = call ptr @at(ptr %array_object, i64 {ndim})
  %ndim_found = load i32, ptr %ndim_place
  %ndim_wide = sext i32 %ndim_found to i64
  %is_ndim = icmp eq i64 %ndim_wide, %b
  %mask_and_bits = call i64 @word(ptr %op, i64 5)
  %mask = and i64 %mask_and_bits, 4294967295
  %bits = lshr i64 %mask_and_bits, 32
  %flags_place = call ptr @at(ptr %array_object, i64 {flags})
  %flags_found = load i32, ptr %flags_place
  %flags_wide = zext i32 %flags_found to i64
  %flags_masked = and i64 %flags_wide, %mask
  %is_flags = icmp eq i64 %flags_masked, %bits
  %both = and i1 %is_dtype, %is_ndim
  %all = and i1 %both, %is_flags
  br i1 %all, label %array_data, label %fail
array_data:
  %data_place = call ptr @at(ptr %array_object, i64 {data})
  %data = load i64, ptr %data_place
  store i64 %data, ptr %target
  %shape_place = call ptr @at(ptr %array_object, i64 {shape})
  %shape = load ptr, ptr %shape_place
  %strides_place = call ptr @at(ptr %array_object, i64 {strides})
  %strides = load ptr, ptr %strides_place
  %with_strides = call i64 @word(ptr %op, i64 7)
  %has_strides = icmp ne i64 %with_strides, 0
  br label %axis_head
axis_head:
  %axis = phi i64 [ 0, %array_data ], [ %axis_after, %axis_next ]
  %axis_more = icmp slt i64 %axis, %b
  br i1 %axis_more, label %axis_round, label %keep
axis_round:
  %extent = call i64 @word(ptr %shape, i64 %axis)
  %axis_after = add i64 %axis, 1
  %extent_place = getelementptr inbounds i64, ptr %target, i64 %axis_after
  store i64 %extent, ptr %extent_place
  br i1 %has_strides, label %axis_stride, label %axis_next
axis_stride:
  %stride = call i64 @word(ptr %strides, i64 %axis)
  %stride_number = add i64 %axis_after, %b
  %stride_place = getelementptr inbounds i64, ptr %target, i64 %stride_number
  store i64 %stride, ptr %stride_place
  br label %axis_next
axis_next:
  br label %axis_head
keep:
  br label %next

int:
  %int_object = load ptr, ptr %source_place
  %int_class = call ptr @class_of(ptr %int_object)
  %int_type = call ptr @api(ptr %api, i64 {api_int})
  %is_int = icmp eq ptr %int_class, %int_type
  br i1 %is_int, label %int_value, label %fail
int_value:
  %as_long = call ptr @api(ptr %api, i64 {api_PyLong_AsLongLongAndOverflow})
  %long = call i64 %as_long(ptr %int_object, ptr %overflow)
  %has_overflown = load i32, ptr %overflow
  %fits_long = icmp eq i32 %has_overflown, 0
  store i64 %long, ptr %target
  br i1 %fits_long, label %next, label %fail

float:
  %float_object = load ptr, ptr %source_place
  %float_class = call ptr @class_of(ptr %float_object)
  %float_type = call ptr @api(ptr %api, i64 {api_float})
  %is_float = icmp eq ptr %float_class, %float_type
  br i1 %is_float, label %float_value, label %fail
float_value:
  %float_place = call ptr @at(ptr %float_object, i64 {float_value})
  %float_bits = load i64, ptr %float_place
  store i64 %float_bits, ptr %target
  br label %next

bool:
  %bool_object = load ptr, ptr %source_place
  %true = call ptr @api(ptr %api, i64 {api_true})
  %false = call ptr @api(ptr %api, i64 {api_false})
  %is_true = icmp eq ptr %bool_object, %true
  %is_false = icmp eq ptr %bool_object, %false
  %truth = zext i1 %is_true to i64
  store i64 %truth, ptr %target
  %is_bool = or i1 %is_true, %is_false
  br i1 %is_bool, label %next, label %fail

scalar:
  %scalar_object = load ptr, ptr %source_place
  %scalar_class = call ptr @class_of(ptr %scalar_object)
  %is_scalar = icmp eq ptr %scalar_class, %a
  br i1 %is_scalar, label %scalar_value, label %fail
scalar_value:
  %scalar_offset = call i64 @word(ptr %op, i64 5)
  %scalar_place = call ptr @at(ptr %scalar_object, i64 %scalar_offset)
  store i64 0, ptr %target
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %scalar_place, i64 %b, i1 false)
  br label %next

attr:
  %attr_owner = load ptr, ptr %source_place
  %get_attr = call ptr @api(ptr %api, i64 {api_PyObject_GetAttr})
  %attr_found = call ptr %get_attr(ptr %attr_owner, ptr %a)
  br label %taken
item:
  %item_owner = load ptr, ptr %source_place
  %get_item = call ptr @api(ptr %api, i64 {api_PyObject_GetItem})
  %item_found = call ptr %get_item(ptr %item_owner, ptr %a)
  br label %taken
taken:
  %found = phi ptr [ %attr_found, %attr ], [ %item_found, %item ], [ %dict_found, %dict ]
  %is_absent = icmp eq ptr %found, null
  br i1 %is_absent, label %error, label %own
own:
  %own_place = getelementptr inbounds ptr, ptr %owned, i64 %kept
  store ptr %found, ptr %own_place
  store ptr %found, ptr %register
  %kept_more = add i64 %kept, 1
  br label %next
error:
  %error_occurred = call ptr @api(ptr %api, i64 {api_PyErr_Occurred})
  %error_found = call ptr %error_occurred()
  %is_no_error = icmp eq ptr %error_found, null
  br i1 %is_no_error, label %fail, label %error_kind
error_kind:
  %exception = call ptr @api(ptr %api, i64 {api_exception})
  %error_matches = call ptr @api(ptr %api, i64 {api_PyErr_GivenExceptionMatches})
  %error_match = call i32 %error_matches(ptr %error_found, ptr %exception)
  %is_ordinary = icmp ne i32 %error_match, 0
  br i1 %is_ordinary, label %error_clear, label %error_raise
error_clear:
  %clear = call ptr @api(ptr %api, i64 {api_PyErr_Clear})
  call void %clear()
  br label %fail
error_raise:
  call void @release(ptr %api, ptr %owned, i64 %kept)
  store ptr null, ptr %out
  ret i1 true

texts:
  %texts_dict = load ptr, ptr %source_place
  %texts_keys_place = call ptr @at(ptr %texts_dict, i64 {dict_keys})
  %texts_keys = load ptr, ptr %texts_keys_place
  %texts_kind_place = call ptr @at(ptr %texts_keys, i64 {keys_kind})
  %texts_kind = load i8, ptr %texts_kind_place
  %is_texts = icmp ne i8 %texts_kind, 0
  br i1 %is_texts, label %next, label %fail

version:
  %version_owner = load ptr, ptr %source_place
  %version_class = call ptr @class_of(ptr %version_owner)
  %is_version_class = icmp eq ptr %version_class, %a
  br i1 %is_version_class, label %version_value, label %fail
version_value:
  %version_place = call ptr @at(ptr %version_class, i64 {type_version})
  %version_found = load i32, ptr %version_place
  %version_wide = zext i32 %version_found to i64
  %is_version = icmp eq i64 %version_wide, %b
  br i1 %is_version, label %next, label %fail

dict:
  %dict_owner = load ptr, ptr %source_place
  %get_dict = call ptr @api(ptr %api, i64 {api_PyObject_GenericGetDict})
  %dict_found = call ptr %get_dict(ptr %dict_owner, ptr null)
  br label %taken

key_of:
  %key_dict = load ptr, ptr %source_place
  %key_key = call ptr @api(ptr %op, i64 4)
  %get_key = call ptr @api(ptr %api, i64 {api_PyDict_GetItemWithError})
  %key_found = call ptr %get_key(ptr %key_dict, ptr %key_key)
  %is_no_key = icmp eq ptr %key_found, null
  br i1 %is_no_key, label %error, label %member
slot:
  %slot_owner = load ptr, ptr %source_place
  %slot_place = call ptr @at(ptr %slot_owner, i64 %b)
  %slot_loaded = load ptr, ptr %slot_place
  %is_empty = icmp eq ptr %slot_loaded, null
  br i1 %is_empty, label %fail, label %member
member:
  %slot_found = phi ptr [ %slot_loaded, %slot ], [ %key_found, %key_of ]
  store ptr %slot_found, ptr %register
  %is_borrowed = icmp eq ptr %a, null
  br i1 %is_borrowed, label %borrowed, label %slot_own
borrowed:
  br label %next
slot_own:
  %slot_incref = call ptr @api(ptr %api, i64 {api_Py_IncRef})
  call void %slot_incref(ptr %slot_found)
  %slot_own_place = getelementptr inbounds ptr, ptr %owned, i64 %kept
  store ptr %slot_found, ptr %slot_own_place
  %kept_slot = add i64 %kept, 1
  br label %next

class:
  %class_object = load ptr, ptr %source_place
  %class_found = call ptr @class_of(ptr %class_object)
  %is_class = icmp eq ptr %class_found, %a
  br i1 %is_class, label %next, label %fail

identity:
  %identity_object = load ptr, ptr %source_place
  %is_same = icmp eq ptr %identity_object, %a
  br i1 %is_same, label %next, label %fail

stays:
  %get_stays = call ptr @api(ptr %api, i64 {api_PyDict_GetItemWithError})
  %stays_key = call ptr @api(ptr %op, i64 4)
  %stays_found = call ptr %get_stays(ptr %a, ptr %stays_key)
  %is_no_stays = icmp eq ptr %stays_found, null
  br i1 %is_no_stays, label %error, label %stays_value
stays_value:
  %stays_wanted = call ptr @api(ptr %op, i64 5)
  %is_stays = icmp eq ptr %stays_found, %stays_wanted
  br i1 %is_stays, label %next, label %fail

global:
  %get_global = call ptr @api(ptr %api, i64 {api_PyDict_GetItemWithError})
  %key = call ptr @api(ptr %op, i64 4)
  %global_found = call ptr %get_global(ptr %a, ptr %key)
  %is_no_global = icmp eq ptr %global_found, null
  br i1 %is_no_global, label %error, label %global_own
global_own:
  %global_incref = call ptr @api(ptr %api, i64 {api_Py_IncRef})
  call void %global_incref(ptr %global_found)
  %global_own_place = getelementptr inbounds ptr, ptr %owned, i64 %kept
  store ptr %global_found, ptr %global_own_place
  store ptr %global_found, ptr %register
  %kept_global = add i64 %kept, 1
  br label %next

code:
  %code_object = load ptr, ptr %source_place
  %code_class = call ptr @class_of(ptr %code_object)
  %function_class = call ptr @api(ptr %op, i64 4)
  %is_function = icmp eq ptr %code_class, %function_class
  br i1 %is_function, label %code_value, label %fail
code_value:
  %code_place = call ptr @at(ptr %code_object, i64 {code})
  %code_found = load ptr, ptr %code_place
  %is_code = icmp eq ptr %code_found, %a
  br i1 %is_code, label %next, label %fail

equal:
  %equal_one = load ptr, ptr %source_place
  %equal_place = getelementptr inbounds ptr, ptr %registers, i64 %b
  %equal_other = load ptr, ptr %equal_place
  %is_equal = icmp eq ptr %equal_one, %equal_other
  br i1 %is_equal, label %next, label %fail

const:
  store ptr %a, ptr %register
  br label %next

nokey:
  %get_missing = call ptr @api(ptr %api, i64 {api_PyDict_GetItemWithError})
  %missing_key = call ptr @api(ptr %op, i64 4)
  %missing = call ptr %get_missing(ptr %a, ptr %missing_key)
  %is_missing = icmp eq ptr %missing, null
  br i1 %is_missing, label %no_error, label %fail
no_error:
  %occurred = call ptr @api(ptr %api, i64 {api_PyErr_Occurred})
  %raised_one = call ptr %occurred()
  %is_clean = icmp eq ptr %raised_one, null
  br i1 %is_clean, label %next, label %error

cell:
  %held_word = load i64, ptr %a
  %is_held_word = icmp eq i64 %held_word, %b
  br i1 %is_held_word, label %next, label %fail

eqint:
  %eqint_object = load ptr, ptr %source_place
  %eqint_class = call ptr @class_of(ptr %eqint_object)
  %eqint_type = call ptr @api(ptr %api, i64 {api_int})
  %is_eqint = icmp eq ptr %eqint_class, %eqint_type
  br i1 %is_eqint, label %eqint_value, label %fail
eqint_value:
  %eq_as_long = call ptr @api(ptr %api, i64 {api_PyLong_AsLongLongAndOverflow})
  %eq_long = call i64 %eq_as_long(ptr %eqint_object, ptr %overflow)
  %eq_overflow = load i32, ptr %overflow
  %eq_fits = icmp eq i32 %eq_overflow, 0
  %eq_same = icmp eq i64 %eq_long, %b
  %eq_both = and i1 %eq_fits, %eq_same
  br i1 %eq_both, label %next, label %fail

eqfloat:
  %eqfloat_object = load ptr, ptr %source_place
  %eqfloat_class = call ptr @class_of(ptr %eqfloat_object)
  %eqfloat_type = call ptr @api(ptr %api, i64 {api_float})
  %is_eqfloat = icmp eq ptr %eqfloat_class, %eqfloat_type
  br i1 %is_eqfloat, label %eqfloat_value, label %fail
eqfloat_value:
  %eqfloat_place = call ptr @at(ptr %eqfloat_object, i64 {float_value})
  %eqfloat_bits = load i64, ptr %eqfloat_place
  %is_same_float = icmp eq i64 %eqfloat_bits, %b
  br i1 %is_same_float, label %next, label %fail

next:
  %kept_after = phi i64 [ %kept, %keep ], [ %kept, %int_value ], [ %kept, %float_value ],
    [ %kept, %bool ], [ %kept, %scalar_value ], [ %kept_more, %own ], [ %kept_slot, %slot_own ],
    [ %kept, %class ], [ %kept, %identity ], [ %kept_global, %global_own ], [ %kept, %code_value ],
    [ %kept, %const ], [ %kept, %no_error ], [ %kept, %cell ], [ %kept, %eqint_value ],
    [ %kept, %eqfloat_value ], [ %kept, %version_value ], [ %kept, %borrowed ],
    [ %kept, %equal ], [ %kept, %stays_value ], [ %kept, %texts ]
  %after = add i64 %i, 1
  br label %head

fail:
  call void @release(ptr %api, ptr %owned, i64 %kept)
  br label %miss
miss:
  ret i1 false

launch:
  call void @llvm.memcpy.p0.p0.i64(ptr %record, ptr %template, i64 64, i1 false)
  %releases = call i64 @word(ptr %special, i64 9)
  %is_held = icmp eq i64 %releases, 0
  br i1 %is_held, label %held, label %free
held:
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
  call void @release(ptr %api, ptr %owned, i64 %kept)
  %status = call i64 @word(ptr %record, i64 {status})
  %is_well = icmp eq i64 %status, 0
  br i1 %is_well, label %well, label %failed
well:
  %made = call ptr @result(ptr %api, ptr %results, ptr %record)
  store ptr %made, ptr %out
  ret i1 true
failed:
  %failure = call ptr @api(ptr %special, i64 8)
  %bytes = call ptr @api(ptr %api, i64 {api_PyBytes_FromStringAndSize})
  %status_place = getelementptr inbounds i64, ptr %record, i64 {status}
  %said = call ptr %bytes(ptr %status_place, i64 32)
  %one_arg = call ptr @api(ptr %api, i64 {api_PyObject_CallOneArg})
  %raised = call ptr %one_arg(ptr %failure, ptr %said)
  %drop = call ptr @api(ptr %api, i64 {api_Py_DecRef})
  call void %drop(ptr %said)
  store ptr %raised, ptr %out
  ret i1 true
}}

define ptr @whorl_launch(ptr %self, ptr %args, i64 %counted, ptr %names) {{
entry:
  %out = alloca ptr
  %header_place = getelementptr inbounds i8, ptr %self, i64 {header}
  %header = load ptr, ptr %header_place
  %api = call ptr @api(ptr %header, i64 0)
  %slow = call ptr @api(ptr %header, i64 1)
  %count = and i64 %counted, 9223372036854775807
  %is_plain = icmp eq ptr %names, null
  br i1 %is_plain, label %begin, label %named
named:
  %size_of = call ptr @api(ptr %api, i64 {api_PyTuple_Size})
  %names_size = call i64 %size_of(ptr %names)
  %is_one = icmp eq i64 %names_size, 1
  br i1 %is_one, label %one_name, label %python
one_name:
  %item_of = call ptr @api(ptr %api, i64 {api_PyTuple_GetItem})
  %name = call ptr %item_of(ptr %names, i64 0)
  %wanted_name = call ptr @api(ptr %api, i64 {api_from_checkpoint})
  %is_label = icmp eq ptr %name, %wanted_name
  %with_label = add i64 %count, {by_keyword}
  br i1 %is_label, label %begin, label %python
begin:
  %given = phi i64 [ %count, %entry ], [ %with_label, %one_name ]
  %specials = call i64 @word(ptr %header, i64 2)
  br label %head
head:
  %i = phi i64 [ 0, %begin ], [ %next, %missed ]
  %more = icmp slt i64 %i, %specials
  br i1 %more, label %round, label %python
round:
  %number = add i64 %i, 3
  %special = call ptr @api(ptr %header, i64 %number)
  %hit = call i1 @try(ptr %special, ptr %api, ptr %args, i64 %given, ptr %out)
  br i1 %hit, label %end, label %missed
missed:
  %next = add i64 %i, 1
  br label %head
end:
  %result = load ptr, ptr %out
  ret ptr %result
python:
  %call = call ptr @api(ptr %api, i64 {api_PyObject_Vectorcall})
  %answer = call ptr %call(ptr %slow, ptr %args, i64 %counted, ptr %names)
  ret ptr %answer
}}
"""
