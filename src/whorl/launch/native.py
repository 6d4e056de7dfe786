"""The launcher, as LLVM's text: one routine for all kernels, driven by tables.

A callable object holds the address of its header; the header names the tables of the kernel's
specializations. A table is a list of operations: load something into a register, check it, and
put what the kernel needs into the launch record. The first table whose checks all hold launches
its kernel; if none does, the call goes on to Python. Arguments by keyword are put where their
parameters are, by the names of these; names that are equal and not the same object are for Python.

    header   api, slow, calls that are inside, tables if nothing tells more, marks, their number,
             places, their mask, arguments (see `selector` for these five), raised, the names
             of the parameters, their number, how many may be given by position
    special  arguments, registers, words, entry, template, operations, their number, results,
             failed, releases the lock
    operation  kind, from, to, a, b, c, d, e          eight words each

    ARRAYS   arguments and registers that are exact ndarrays: dtype a, dimensions b, flags & low
             half of c == its high half; e: what of it is put down. To: how many; d: the entries
    SLOTTED  the same for members at offsets from what is in a register
    KEYED    the same for attributes of what is held in registers
    INT      an exact int that fits into 64 bits      FLOAT  an exact float
    BOOL     True or False                            SCALAR an object of class a: word at c & b
    ATTR     the attribute named a, as `getattr`      SLOT   the member at offset b; a: keep it
    TYPE     an object of class a                     SAME   the very object a
    CLASS    class a, and it is as it was: version b  EQUAL  the object in register b
    HOLD     the same, and where it keeps attributes: dict at c, inline values at d; 5 registers
    KEY      of what is held, attribute b, at its numbers c; a: keep it
    STAYS    in dicts, keys lead to the very objects they did. To: how many; a: entries of dict,
             key, object, number; keys, their size and kind, pair, values (see `keys`)
    GLOBAL   in dict a, the key b, at its number c; d: keep it
    CODE     a function with the code a               CONST  the object a
    ITEM     the item of key a, as Python would       NOKEY  in dict a, no key b
    EQINT    an exact int of value b                  EQFLOAT  an exact float of bits b
    CELLS    three times, from `from` on: the word at an address is this
    WORDS    at addresses, masked words are these. To: how many; a: entries of address, mask, word

Every address comes from a table, so the routine is the same bytes in every process of one
layout: it is compiled once, kept in the store, and mapped. Nothing but ATTR and ITEM runs code of
the user: dicts are read only while all of their keys are texts. What that code raises is handed to
`raised`, with the table, the register that was to be filled and the arguments: it knows whether the
call would come to that, and then the caller gets it, or whether the table is for other calls.
"""

from __future__ import annotations

from typing import Final

from .keys import keys_bits, keys_word
from .launch_record import STATUS
from .members import ARRAYS, ATTRIBUTES, HELD_WORDS, inline_text
from .object_layout import INT_DIGIT, INT_SIZE, ObjectLayout
from .result_text import RESULTS, none_text, object_text
from .selector import ARRAY_FLAGS, BY_NAME, FACTORS, SELECT

__all__ = ["API", "ENTRY", "KINDS", "OP_WORDS", "SPECIAL_WORDS", "routine_text"]

ENTRY: Final = "whorl_launch"
KINDS: Final = {
    name: number
    for number, name in enumerate(
        (
            "ARRAYS", "INT", "FLOAT", "BOOL", "SCALAR", "ATTR", "SLOT", "TYPE", "SAME", "GLOBAL",
            "CODE", "ITEM", "CONST", "NOKEY", "CELLS", "EQINT", "EQFLOAT", "SLOTTED", "KEYED",
            "CLASS", "HOLD", "KEY", "EQUAL", "STAYS", "WORDS",
        )
    )
}  # fmt: skip
OP_WORDS: Final = 8
SPECIAL_WORDS: Final = 10
API: Final = (
    "ndarray", "int", "float", "true", "false", "none", "exception", "recursion",
    "PyLong_AsLongLongAndOverflow", "PyObject_GetAttr", "PyErr_Clear", "Py_DecRef",
    "PyObject_Vectorcall", "PyFloat_FromDouble", "PyLong_FromLongLong",
    "PyLong_FromUnsignedLongLong", "PyTuple_New", "PyTuple_SetItem", "PyBytes_FromStringAndSize",
    "PyDict_GetItemWithError", "Py_IncRef", "PyEval_SaveThread", "PyEval_RestoreThread",
    "PyObject_GetItem", "PyBool_FromLong", "PyObject_CallOneArg", "PyErr_Occurred",
    "PyErr_GivenExceptionMatches", "PyErr_Fetch", "PyErr_NormalizeException",
    "PyException_SetTraceback",
)  # fmt: skip
"""What the table of addresses holds: objects first, then functions of the C API."""

_EVERY: Final = """
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
""" + RESULTS  # fmt: skip


def routine_text(at: ObjectLayout) -> str:
    """The launcher for a layout."""
    every = _EVERY.replace("{none_counted}", none_text(at.none))
    every = every.replace("{object_counted}", object_text(at.none))
    parts = (every, _BASICS, _INTS[at.ints], ARRAYS, ATTRIBUTES, SELECT, _TRY, _BY_NAME, _ENTRY)
    return (
        "".join(parts)
        .replace("{inline_values}", inline_text(at))
        .format(
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
            tuple_size=at.tuple_size,
            tuple_items=at.tuple_items,
            dict_keys=at.inside.keys,
            dict_values=at.inside.values,
            keys_kind=at.inside.kind,
            keys_index_bits=at.inside.index_bits,
            keys_count=at.inside.count,
            keys_start=at.inside.start,
            keys_word=keys_word(at.inside),
            keys_bits=keys_bits(at.inside),
            class_keys=at.instance.class_keys,
            values_start=at.instance.values,
            inline_pointer=at.instance.pointer,
            inline_valid=at.instance.valid,
            int_size=INT_SIZE,
            int_digit=INT_DIGIT,
            held_words=HELD_WORDS,
            status=STATUS,
            by_name=BY_NAME,
            **ARRAY_FLAGS,
            **FACTORS,
            **{f"api_{name}": i for i, name in enumerate(API)},
            **{f"k_{name}": number for name, number in KINDS.items()},
        )
    )


_BASICS: Final = """
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

define internal i1 @is_as_it_was(ptr %object, ptr %class, i64 %version) alwaysinline {{
entry:
  %found = call ptr @class_of(ptr %object)
  %is_class = icmp eq ptr %found, %class
  br i1 %is_class, label %look, label %no
look:
  %place = call ptr @at(ptr %class, i64 {type_version})
  %half = load i32, ptr %place
  %wide = zext i32 %half to i64
  %is_version = icmp eq i64 %wide, %version
  ret i1 %is_version
no:
  ret i1 false
}}

define internal i1 @called_for_int(ptr %api, ptr %object, ptr %out) noinline {{
  %overflow = alloca i32
  %as_long = call ptr @api(ptr %api, i64 {api_PyLong_AsLongLongAndOverflow})
  %long = call i64 %as_long(ptr %object, ptr %overflow)
  store i64 %long, ptr %out
  %has_overflown = load i32, ptr %overflow
  %fits = icmp eq i32 %has_overflown, 0
  ret i1 %fits
}}
"""

_INT_HEAD: Final = """
; The value of an exact int, in %out; whether there is one, in 64 bits.
define internal i1 @int_of(ptr %api, ptr %object, ptr %out) alwaysinline {{
entry:
  %class = call ptr @class_of(ptr %object)
  %int = call ptr @api(ptr %api, i64 {api_int})
  %is_int = icmp eq ptr %class, %int
  br i1 %is_int, label %look, label %no
no:
  ret i1 false
large:
  %is_called = call i1 @called_for_int(ptr %api, ptr %object, ptr %out)
  ret i1 %is_called
look:
"""
_INT_SMALL: Final = """
small:
  %digit_place = call ptr @at(ptr %object, i64 {int_digit})
  %digit = load i32, ptr %digit_place
  %digit_wide = zext i32 %digit to i64
  %value = mul i64 %digit_wide, %sign
  store i64 %value, ptr %out
  ret i1 true
}}
"""
_INTS: Final = {
    "sized": _INT_HEAD + """
  %size_place = call ptr @at(ptr %object, i64 {int_size})
  %sign = load i64, ptr %size_place
  %shifted = add i64 %sign, 1
  %is_small = icmp ult i64 %shifted, 3
  br i1 %is_small, label %small, label %large
""" + _INT_SMALL,
    "tagged": _INT_HEAD + """
  %tag_place = call ptr @at(ptr %object, i64 {int_size})
  %tag = load i64, ptr %tag_place
  %low = and i64 %tag, 3
  %sign = sub i64 1, %low
  %is_small = icmp ult i64 %tag, 16
  br i1 %is_small, label %small, label %large
""" + _INT_SMALL,
    "": _INT_HEAD + "  br label %large\n}}\n",
}  # fmt: skip


_TRY: Final = """
; Tries one specialization. 0: it does not fit; 1: the result, or an error, is in %out. If code of
; the user has raised, that is set, %pending is not 0, and the register is behind it. %given says
; which parameters are given; the first %args_count arguments are loaded into registers.
define internal i1 @try(ptr %special, ptr %api, ptr %args, i64 %given, i64 %args_count, ptr %out,
    ptr %pending) alwaysinline "no-builtins" {{
entry:
  %number = alloca i64
  %wanted = call i64 @word(ptr %special, i64 0)
  %fits = icmp eq i64 %wanted, %given
  br i1 %fits, label %begin, label %miss
begin:
  %registers_count = call i64 @word(ptr %special, i64 1)
  %words = call i64 @word(ptr %special, i64 2)
  %operations = call ptr @api(ptr %special, i64 5)
  %last = call i64 @word(ptr %special, i64 6)
  %twice = shl i64 %registers_count, 1
  %room = add i64 %words, %twice
  %record = alloca i64, i64 %room, align 16
  %registers = getelementptr inbounds i64, ptr %record, i64 %words
  %owned = getelementptr inbounds ptr, ptr %registers, i64 %registers_count
  %ndarray = call ptr @api(ptr %api, i64 {api_ndarray})
  br label %copy_head
copy_head:  ; a call of memcpy would take longer
  %copied = phi i64 [ 0, %begin ], [ %copied_more, %copy ]
  %is_copied = icmp eq i64 %copied, %args_count
  br i1 %is_copied, label %head, label %copy
copy:
  %given_place = getelementptr inbounds ptr, ptr %args, i64 %copied
  %argument = load ptr, ptr %given_place
  %given_register = getelementptr inbounds ptr, ptr %registers, i64 %copied
  store ptr %argument, ptr %given_register
  %copied_more = add i64 %copied, 1
  br label %copy_head
head:
  %i = phi i64 [ 0, %copy_head ], [ %after, %next ]
  %kept = phi i64 [ 0, %copy_head ], [ %kept_after, %next ]
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
  switch i64 %kind, label %fail [ i64 {k_ARRAYS}, label %arrays i64 {k_INT}, label %int
    i64 {k_FLOAT}, label %float i64 {k_BOOL}, label %bool i64 {k_SCALAR}, label %scalar
    i64 {k_ATTR}, label %attr i64 {k_SLOT}, label %slot i64 {k_TYPE}, label %class
    i64 {k_SAME}, label %identity i64 {k_GLOBAL}, label %global i64 {k_CODE}, label %code
    i64 {k_ITEM}, label %item i64 {k_CONST}, label %const i64 {k_NOKEY}, label %nokey
    i64 {k_CELLS}, label %cells i64 {k_EQINT}, label %eqint i64 {k_EQFLOAT}, label %eqfloat
    i64 {k_SLOTTED}, label %slotted i64 {k_KEYED}, label %keyed i64 {k_CLASS}, label %version
    i64 {k_HOLD}, label %hold i64 {k_KEY}, label %key_of i64 {k_EQUAL}, label %equal
    i64 {k_STAYS}, label %stays i64 {k_WORDS}, label %words_at ]

slotted:
  %slotted_owner = load ptr, ptr %source_place
  br label %arrays
arrays:
  %arrays_owner = phi ptr [ %registers, %round ], [ %slotted_owner, %slotted ]
  %are_arrays = call i1 @arrays(ptr %arrays_owner, ptr %op, ptr %ndarray, ptr %record)
  br i1 %are_arrays, label %next, label %fail
keyed:
  %are_members = call i1 @members(ptr %api, ptr %source_place, ptr %op, ptr %ndarray, ptr %record)
  br i1 %are_members, label %next, label %error

int:
  %int_object = load ptr, ptr %source_place
  %is_int = call i1 @int_of(ptr %api, ptr %int_object, ptr %target)
  br i1 %is_int, label %next, label %fail

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
  %scalar_word = load i64, ptr %scalar_place
  %scalar_masked = and i64 %scalar_word, %b
  store i64 %scalar_masked, ptr %target
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
  %found = phi ptr [ %attr_found, %attr ], [ %item_found, %item ]
  %is_absent = icmp eq ptr %found, null
  br i1 %is_absent, label %raised_here, label %own
raised_here:
  store i64 1, ptr %pending
  %pending_register = getelementptr inbounds i64, ptr %pending, i64 1
  store i64 %to, ptr %pending_register
  br label %error
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
  br i1 %is_ordinary, label %error_depth, label %error_raise
error_depth:  ; whoever asks again at every depth never comes to an end
  %recursion = call ptr @api(ptr %api, i64 {api_recursion})
  %depth_match = call i32 %error_matches(ptr %error_found, ptr %recursion)
  %is_deep = icmp ne i32 %depth_match, 0
  br i1 %is_deep, label %error_raise, label %error_whose
error_whose:
  %pending_here = load i64, ptr %pending
  %is_own = icmp eq i64 %pending_here, 0
  br i1 %is_own, label %error_clear, label %fail
error_clear:
  %clear = call ptr @api(ptr %api, i64 {api_PyErr_Clear})
  call void %clear()
  br label %fail
error_raise:
  call void @release(ptr %api, ptr %owned, i64 %kept)
  store ptr null, ptr %out
  ret i1 true

version:
  %version_owner = load ptr, ptr %source_place
  %is_version = call i1 @is_as_it_was(ptr %version_owner, ptr %a, i64 %b)
  br i1 %is_version, label %next, label %fail
hold:
  %hold_object = load ptr, ptr %source_place
  %is_hold_class = call i1 @is_as_it_was(ptr %hold_object, ptr %a, i64 %b)
  br i1 %is_hold_class, label %hold_places, label %fail
hold_places:
  %hold_dict = call i64 @word(ptr %op, i64 5)
  %hold_inline = call i64 @word(ptr %op, i64 6)
  %is_held = call i1 @hold(ptr %hold_object, ptr %a, i64 %hold_dict, i64 %hold_inline,
    ptr %register)
  br i1 %is_held, label %next, label %fail

key_of:
  %key_key = call ptr @api(ptr %op, i64 4)
  %key_numbers = call i64 @word(ptr %op, i64 5)
  %key_found = call ptr @member(ptr %api, ptr %source_place, ptr %key_key, i64 %key_numbers)
  %is_no_key = icmp eq ptr %key_found, null
  br i1 %is_no_key, label %error, label %member
slot:
  %slot_owner = load ptr, ptr %source_place
  %slot_place = call ptr @at(ptr %slot_owner, i64 %b)
  %slot_loaded = load ptr, ptr %slot_place
  %is_empty = icmp eq ptr %slot_loaded, null
  br i1 %is_empty, label %fail, label %member
global:
  %global_key = call ptr @api(ptr %op, i64 4)
  %global_number = call i64 @word(ptr %op, i64 5)
  %global_keep = call ptr @api(ptr %op, i64 6)
  %global_found = call ptr @looked_up(ptr %api, ptr %a, ptr %global_key, i64 %global_number)
  %is_no_global = icmp eq ptr %global_found, null
  br i1 %is_no_global, label %error, label %member
member:
  %member_found = phi ptr [ %slot_loaded, %slot ], [ %key_found, %key_of ],
    [ %global_found, %global ]
  %member_keep = phi ptr [ %a, %slot ], [ %a, %key_of ], [ %global_keep, %global ]
  store ptr %member_found, ptr %register
  %is_borrowed = icmp eq ptr %member_keep, null
  br i1 %is_borrowed, label %next, label %member_own
member_own:
  %member_incref = call ptr @api(ptr %api, i64 {api_Py_IncRef})
  call void %member_incref(ptr %member_found)
  %member_own_place = getelementptr inbounds ptr, ptr %owned, i64 %kept
  store ptr %member_found, ptr %member_own_place
  %kept_member = add i64 %kept, 1
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
  br label %stays_head
stays_head:
  %stays_done = phi i64 [ 0, %stays ], [ %stays_more, %stays_same ]
  %is_stays_end = icmp eq i64 %stays_done, %to
  br i1 %is_stays_end, label %next, label %stays_round
stays_round:
  %stays_at = shl i64 %stays_done, 6
  %stays_entry = getelementptr inbounds i8, ptr %a, i64 %stays_at
  %stays_dict = call ptr @api(ptr %stays_entry, i64 0)
  %stays_key = call ptr @api(ptr %stays_entry, i64 1)
  %stays_wanted = call ptr @api(ptr %stays_entry, i64 2)
  %stays_number = call i64 @word(ptr %stays_entry, i64 3)
  %stays_keys = call ptr @api(ptr %stays_entry, i64 4)
  %stays_keys_place = call ptr @at(ptr %stays_dict, i64 {dict_keys})
  %stays_keys_now = load ptr, ptr %stays_keys_place
  %stays_more = add i64 %stays_done, 1
  %is_stays_keys = icmp eq ptr %stays_keys, %stays_keys_now
  br i1 %is_stays_keys, label %stays_near, label %stays_far
stays_near:
  %stays_size = call i64 @word(ptr %stays_entry, i64 5)
  %stays_pair = call ptr @api(ptr %stays_entry, i64 6)
  %stays_size_place = call ptr @at(ptr %stays_keys, i64 {keys_word})
  %stays_size_now = load i64, ptr %stays_size_place
  %stays_size_bits = and i64 %stays_size_now, {keys_bits}
  %stays_row = call ptr @api(ptr %stays_entry, i64 7)
  %stays_row_place = call ptr @at(ptr %stays_dict, i64 {dict_values})
  %stays_row_now = load ptr, ptr %stays_row_place
  %is_stays_row = icmp eq ptr %stays_row, %stays_row_now
  %stays_count_place = call ptr @at(ptr %stays_keys, i64 {keys_count})
  %stays_count = load i64, ptr %stays_count_place
  %is_stays_size = icmp eq i64 %stays_size_bits, %stays_size
  %is_stays_there = icmp ult i64 %stays_number, %stays_count
  %is_stays_known = and i1 %is_stays_size, %is_stays_there
  %is_stays_place = and i1 %is_stays_known, %is_stays_row
  br i1 %is_stays_place, label %stays_look, label %stays_far
stays_look:
  %stays_key_now = load ptr, ptr %stays_pair
  %stays_beside = call ptr @at(ptr %stays_pair, i64 8)
  %stays_in_row = getelementptr i64, ptr %stays_row, i64 %stays_number
  %stays_apart = getelementptr i8, ptr %stays_in_row, i64 {values_start}
  %is_stays_beside = icmp eq ptr %stays_row, null
  %stays_value_place = select i1 %is_stays_beside, ptr %stays_beside, ptr %stays_apart
  %stays_value = load ptr, ptr %stays_value_place
  %is_stays_key = icmp eq ptr %stays_key_now, %stays_key
  %is_stays_value = icmp eq ptr %stays_value, %stays_wanted
  %is_stays_pair = and i1 %is_stays_key, %is_stays_value
  br i1 %is_stays_pair, label %stays_same, label %stays_far
stays_far:
  %stays_found = call ptr @looked_up(ptr %api, ptr %stays_dict, ptr %stays_key, i64 %stays_number)
  %is_stays = icmp eq ptr %stays_found, %stays_wanted
  br i1 %is_stays, label %stays_same, label %error
stays_same:
  br label %stays_head

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
  %missing_key = call ptr @api(ptr %op, i64 4)
  %missing_texts = call i1 @has_texts(ptr %a)
  br i1 %missing_texts, label %nokey_ask, label %fail
nokey_ask:
  %missing = call ptr @asked(ptr %api, ptr %a, ptr %missing_key)
  %is_missing = icmp eq ptr %missing, null
  br i1 %is_missing, label %no_error, label %fail
no_error:
  %occurred = call ptr @api(ptr %api, i64 {api_PyErr_Occurred})
  %raised_one = call ptr %occurred()
  %is_clean = icmp eq ptr %raised_one, null
  br i1 %is_clean, label %next, label %error

cells:
  %cell_1 = call ptr @api(ptr %op, i64 1)
  %cell_2 = call ptr @api(ptr %op, i64 3)
  %cell_3 = call ptr @api(ptr %op, i64 5)
  %cell_3_wanted = call i64 @word(ptr %op, i64 6)
  %cell_1_found = load i64, ptr %cell_1
  %cell_2_found = load i64, ptr %cell_2
  %cell_3_found = load i64, ptr %cell_3
  %is_cell_1 = icmp eq i64 %cell_1_found, %to
  %is_cell_2 = icmp eq i64 %cell_2_found, %b
  %is_cell_3 = icmp eq i64 %cell_3_found, %cell_3_wanted
  %are_two_cells = and i1 %is_cell_1, %is_cell_2
  %are_cells = and i1 %are_two_cells, %is_cell_3
  br i1 %are_cells, label %next, label %fail

words_at:
  br label %words_head
words_head:
  %words_done = phi i64 [ 0, %words_at ], [ %words_more, %words_round ]
  %is_words_end = icmp eq i64 %words_done, %to
  br i1 %is_words_end, label %next, label %words_round
words_round:
  %words_at_byte = mul i64 %words_done, 24
  %words_entry = getelementptr inbounds i8, ptr %a, i64 %words_at_byte
  %words_place = call ptr @api(ptr %words_entry, i64 0)
  %words_mask = call i64 @word(ptr %words_entry, i64 1)
  %words_wanted = call i64 @word(ptr %words_entry, i64 2)
  %words_found = load i64, ptr %words_place
  %words_masked = and i64 %words_found, %words_mask
  %is_word = icmp eq i64 %words_masked, %words_wanted
  %words_more = add i64 %words_done, 1
  br i1 %is_word, label %words_head, label %fail

eqint:
  %eqint_object = load ptr, ptr %source_place
  %is_eqint = call i1 @int_of(ptr %api, ptr %eqint_object, ptr %number)
  br i1 %is_eqint, label %eqint_value, label %fail
eqint_value:
  %eqint_found = load i64, ptr %number
  %is_same_int = icmp eq i64 %eqint_found, %b
  br i1 %is_same_int, label %next, label %fail

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
  %kept_after = phi i64 [ %kept, %arrays ], [ %kept, %keyed ], [ %kept, %int ],
    [ %kept, %float_value ], [ %kept, %bool ], [ %kept, %scalar_value ], [ %kept_more, %own ],
    [ %kept, %class ], [ %kept, %identity ], [ %kept, %code_value ], [ %kept, %const ],
    [ %kept, %no_error ], [ %kept, %cells ], [ %kept, %eqint_value ], [ %kept, %eqfloat_value ],
    [ %kept, %version ], [ %kept, %hold_places ], [ %kept, %member ], [ %kept_member, %member_own ],
    [ %kept, %equal ], [ %kept, %stays_head ], [ %kept, %words_head ]
  %after = add i64 %i, 1
  br label %head

fail:
  call void @release(ptr %api, ptr %owned, i64 %kept)
  br label %miss
miss:
  ret i1 false

launch:
  %entry_point = call ptr @api(ptr %special, i64 3)
  %template = call ptr @api(ptr %special, i64 4)
  call void @llvm.memcpy.p0.p0.i64(ptr %record, ptr %template, i64 64, i1 false)
  %releases = call i64 @word(ptr %special, i64 9)
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
  call void @release(ptr %api, ptr %owned, i64 %kept)
  %status = call i64 @word(ptr %record, i64 {status})
  %is_well = icmp eq i64 %status, 0
  br i1 %is_well, label %well, label %failed
well:
  %results = call ptr @api(ptr %special, i64 7)
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
"""

_BY_NAME: Final = """
; Puts the arguments of a call by keyword where their parameters are, null where there is none.
; Returns which are given: how many, if they are the first ones and none is for keywords alone, or a
; bit for each and one more. -1: the call is for Python, which has the words for what is wrong.
define internal i64 @by_name(ptr %header, ptr %args, i64 %count, ptr %names, ptr %bound)
    noinline "no-builtins" {{
entry:
  %parameters = call ptr @api(ptr %header, i64 10)
  %size = call i64 @word(ptr %header, i64 11)
  %positional = call i64 @word(ptr %header, i64 12)
  %names_size_place = call ptr @at(ptr %names, i64 {tuple_size})
  %names_size = load i64, ptr %names_size_place
  %names_items = call ptr @at(ptr %names, i64 {tuple_items})
  %is_more = icmp ugt i64 %count, %positional
  br i1 %is_more, label %python, label %copy_head
copy_head:
  %i = phi i64 [ 0, %entry ], [ %i_next, %copy ]
  %is_copied = icmp eq i64 %i, %size
  br i1 %is_copied, label %mask, label %copy
copy:
  %is_given = icmp ult i64 %i, %count
  %from_place = getelementptr inbounds ptr, ptr %args, i64 %i
  %safe_place = select i1 %is_given, ptr %from_place, ptr %names_items
  %copied = load ptr, ptr %safe_place
  %put = select i1 %is_given, ptr %copied, ptr null
  %to_place = getelementptr inbounds ptr, ptr %bound, i64 %i
  store ptr %put, ptr %to_place
  %i_next = add i64 %i, 1
  br label %copy_head
mask:
  %one_more = shl i64 1, %count
  %first_bits = sub i64 %one_more, 1
  br label %name_head
name_head:
  %j = phi i64 [ 0, %mask ], [ %j_next, %found ]
  %bits = phi i64 [ %first_bits, %mask ], [ %bits_next, %found ]
  %is_named = icmp eq i64 %j, %names_size
  br i1 %is_named, label %end, label %name
name:
  %name_place = getelementptr inbounds ptr, ptr %names_items, i64 %j
  %wanted = load ptr, ptr %name_place
  br label %search_head
search_head:
  %k = phi i64 [ %count, %name ], [ %k_next, %search_next ]
  %is_nowhere = icmp uge i64 %k, %size
  br i1 %is_nowhere, label %python, label %search
search:
  %parameter_place = getelementptr inbounds ptr, ptr %parameters, i64 %k
  %parameter = load ptr, ptr %parameter_place
  %is_it = icmp eq ptr %parameter, %wanted
  br i1 %is_it, label %found, label %search_next
search_next:
  %k_next = add i64 %k, 1
  br label %search_head
found:
  %argument_number = add i64 %count, %j
  %argument_place = getelementptr inbounds ptr, ptr %args, i64 %argument_number
  %argument = load ptr, ptr %argument_place
  %bound_place = getelementptr inbounds ptr, ptr %bound, i64 %k
  store ptr %argument, ptr %bound_place
  %bit = shl i64 1, %k
  %bits_next = or i64 %bits, %bit
  %j_next = add i64 %j, 1
  br label %name_head
end:
  %total = add i64 %count, %names_size
  %bits_more = add i64 %bits, 1
  %holes = and i64 %bits, %bits_more
  %is_whole = icmp eq i64 %holes, 0
  %is_positional = icmp ule i64 %total, %positional
  %is_by_count = and i1 %is_whole, %is_positional
  %named_bits = or i64 %bits, {by_name}
  %given = select i1 %is_by_count, i64 %total, i64 %named_bits
  ret i64 %given
python:
  ret i64 -1
}}
"""

_ENTRY: Final = """
; Hands what code of the user has raised to the function for that, with the table, the register and
; the arguments of the call. Without such a function it stays raised.
define internal ptr @hand_over(ptr %header, ptr %api, ptr %special, i64 %register, ptr %args,
    i64 %count, i64 %names_count, ptr %names) noinline "no-builtins" {{
entry:
  %class = alloca ptr
  %error = alloca ptr
  %trace = alloca ptr
  %function = call ptr @api(ptr %header, i64 9)
  %is_none = icmp eq ptr %function, null
  br i1 %is_none, label %stays, label %fetch
stays:
  ret ptr null
fetch:
  %fetch_it = call ptr @api(ptr %api, i64 {api_PyErr_Fetch})
  call void %fetch_it(ptr %class, ptr %error, ptr %trace)
  %normalize = call ptr @api(ptr %api, i64 {api_PyErr_NormalizeException})
  call void %normalize(ptr %class, ptr %error, ptr %trace)
  %error_object = load ptr, ptr %error
  %trace_object = load ptr, ptr %trace
  %class_object = load ptr, ptr %class
  %has_no_trace = icmp eq ptr %trace_object, null
  br i1 %has_no_trace, label %arguments, label %with_trace
with_trace:
  %set_trace = call ptr @api(ptr %api, i64 {api_PyException_SetTraceback})
  %ignored = call i32 %set_trace(ptr %error_object, ptr %trace_object)
  br label %arguments
arguments:
  %decref = call ptr @api(ptr %api, i64 {api_Py_DecRef})
  call void %decref(ptr %trace_object)
  call void %decref(ptr %class_object)
  %to_int = call ptr @api(ptr %api, i64 {api_PyLong_FromLongLong})
  %table = ptrtoint ptr %special to i64
  %table_object = call ptr %to_int(i64 %table)
  %register_object = call ptr %to_int(i64 %register)
  %is_no_table = icmp eq ptr %table_object, null
  %is_no_register = icmp eq ptr %register_object, null
  %is_no_memory = or i1 %is_no_table, %is_no_register
  %given = add i64 %count, %names_count
  %all = add i64 %given, 3
  %handed = alloca ptr, i64 %all
  store ptr %error_object, ptr %handed
  %second = getelementptr inbounds ptr, ptr %handed, i64 1
  store ptr %table_object, ptr %second
  %third = getelementptr inbounds ptr, ptr %handed, i64 2
  store ptr %register_object, ptr %third
  br i1 %is_no_memory, label %end, label %head
head:
  %i = phi i64 [ 0, %arguments ], [ %after, %round ]
  %more = icmp slt i64 %i, %given
  br i1 %more, label %round, label %call_it
round:
  %from = getelementptr inbounds ptr, ptr %args, i64 %i
  %argument = load ptr, ptr %from
  %number = add i64 %i, 3
  %to = getelementptr inbounds ptr, ptr %handed, i64 %number
  store ptr %argument, ptr %to
  %after = add i64 %i, 1
  br label %head
call_it:
  %positional = add i64 %count, 3
  %call = call ptr @api(ptr %api, i64 {api_PyObject_Vectorcall})
  %answer = call ptr %call(ptr %function, ptr %handed, i64 %positional, ptr %names)
  br label %end
end:
  %result = phi ptr [ null, %arguments ], [ %answer, %call_it ]
  call void @release(ptr %api, ptr %handed, i64 3)
  ret ptr %result
}}

define ptr @whorl_launch(ptr %self, ptr %args, i64 %counted, ptr %names) "no-builtins" {{
entry:
  %out = alloca ptr
  %pending = alloca i64, i64 2
  %header_place = getelementptr inbounds i8, ptr %self, i64 {header}
  %header = load ptr, ptr %header_place
  %api = call ptr @api(ptr %header, i64 0)
  %slow = call ptr @api(ptr %header, i64 1)
  %count = and i64 %counted, 9223372036854775807
  %is_plain = icmp eq ptr %names, null
  br i1 %is_plain, label %begin, label %named
named:
  %size = call i64 @word(ptr %header, i64 11)
  %is_nameless = icmp eq i64 %size, 0
  br i1 %is_nameless, label %python, label %bind
bind:
  %names_size_place = call ptr @at(ptr %names, i64 {tuple_size})
  %names_size = load i64, ptr %names_size_place
  %bound = alloca ptr, i64 %size
  %named_given = call i64 @by_name(ptr %header, ptr %args, i64 %count, ptr %names, ptr %bound)
  %is_odd = icmp eq i64 %named_given, -1
  br i1 %is_odd, label %python, label %begin
begin:
  %given = phi i64 [ %count, %entry ], [ %named_given, %bind ]
  %used = phi ptr [ %args, %entry ], [ %bound, %bind ]
  %used_count = phi i64 [ %count, %entry ], [ %size, %bind ]
  %names_count = phi i64 [ 0, %entry ], [ %names_size, %bind ]
  %inside_place = getelementptr inbounds i64, ptr %header, i64 2
  %inside = load i64, ptr %inside_place
  %inside_more = add i64 %inside, 1
  store i64 %inside_more, ptr %inside_place
  store i64 0, ptr %pending
  %tables = call ptr @tables_for(ptr %header, ptr %api, ptr %used, i64 %given)
  br label %head
head:
  %place = phi ptr [ %tables, %begin ], [ %next, %not_hit ]
  %special = load ptr, ptr %place
  %is_last = icmp eq ptr %special, null
  br i1 %is_last, label %missed, label %round
round:
  %hit = call i1 @try(ptr %special, ptr %api, ptr %used, i64 %given, i64 %used_count, ptr %out,
    ptr %pending)
  %next = getelementptr inbounds ptr, ptr %place, i64 1
  br i1 %hit, label %end, label %not_hit
not_hit:
  %pending_found = load i64, ptr %pending
  %is_pending = icmp ne i64 %pending_found, 0
  br i1 %is_pending, label %raised, label %head
raised:
  %inside_raised = load i64, ptr %inside_place
  %inside_left = sub i64 %inside_raised, 1
  store i64 %inside_left, ptr %inside_place
  %register_place = getelementptr inbounds i64, ptr %pending, i64 1
  %register = load i64, ptr %register_place
  %handed = call ptr @hand_over(ptr %header, ptr %api, ptr %special, i64 %register, ptr %args,
    i64 %count, i64 %names_count, ptr %names)
  ret ptr %handed
end:
  %inside_now = load i64, ptr %inside_place
  %inside_less = sub i64 %inside_now, 1
  store i64 %inside_less, ptr %inside_place
  %result = load ptr, ptr %out
  %is_first = icmp eq ptr %place, %tables
  br i1 %is_first, label %return, label %swap
swap:
  ; Another thread may have done so too: what is in both places now is exchanged.
  %here = load ptr, ptr %place
  %front = load ptr, ptr %tables
  store ptr %here, ptr %tables
  store ptr %front, ptr %place
  br label %return
return:
  ret ptr %result
missed:
  %inside_then = load i64, ptr %inside_place
  %inside_gone = sub i64 %inside_then, 1
  store i64 %inside_gone, ptr %inside_place
  br label %python
python:
  %call = call ptr @api(ptr %api, i64 {api_PyObject_Vectorcall})
  %answer = call ptr %call(ptr %slow, ptr %args, i64 %counted, ptr %names)
  ret ptr %answer
}}
"""
